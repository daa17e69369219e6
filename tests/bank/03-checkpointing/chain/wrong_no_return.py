# misconception: forgets the return
# fails: weights, when x needs no gradient
# message: If your function returned None, a `return` is missing.
def chain(layers, x, segments):
    n = len(layers)
    if segments < 1 or segments > n:
        raise ValueError(f'segments is {segments}, but there are {n} layers')
    cuts = [round(i * n / segments) for i in range(segments + 1)]
    for i in range(segments):
        x = torch.utils.checkpoint.checkpoint(nn.Sequential(*map(Wrap, layers[cuts[i]:cuts[i + 1]])), x, use_reentrant=False)
    x

class Wrap(nn.Module):

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)
