# misconception: to predict is to run it and look
# fails: a layer that fits nowhere
# message: Predict without running anything
def linear_gelu(batch, d_in, d_out, itemsize=4):
    rows = []
    dtype = {2: torch.bfloat16, 4: torch.float32, 8: torch.float64}[itemsize]

    def pack(tensor):
        rows.append((tuple(tensor.shape), tensor.numel() * tensor.element_size()))
        return tensor.detach()

    layer = nn.Linear(d_in, d_out, dtype=dtype)
    with saved_tensors_hooks(pack, lambda tensor: tensor):
        F.gelu(layer(torch.zeros(batch, d_in, dtype=dtype, requires_grad=True)))
    return rows
