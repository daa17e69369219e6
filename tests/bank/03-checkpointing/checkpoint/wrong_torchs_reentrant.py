# misconception: torch's reentrant Function with an anchor of one's own is a checkpoint of one's own
# fails: the node is that of a Function of yours
# message: torch's own
def checkpoint(fn, *args):
    anchor = torch.ones((), requires_grad=True)
    return torch.utils.checkpoint.checkpoint(lambda anchor, *args: fn(*args), anchor, *args, use_reentrant=True)
