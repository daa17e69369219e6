# misconception: calling torch's checkpoint is writing one
# fails: the node is that of a Function of yours
# message: There is no autograd.Function node in the graph
def checkpoint(fn, *args):
    return torch.utils.checkpoint.checkpoint(fn, *args, use_reentrant=False)
