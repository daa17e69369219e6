# misconception: the second run draws the same numbers by itself
# fails: the same random numbers
# message: The second run drew another dropout mask.
class _Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, fn, anchor, *args):
        ctx.fn = fn
        ctx.save_for_backward(*[arg for arg in args if torch.is_tensor(arg)])
        ctx.template = [("tensor", arg.requires_grad) if torch.is_tensor(arg) else ("value", arg) for arg in args]
        return fn(*args)

    @staticmethod
    def backward(ctx, *grads):
        tensors = iter(ctx.saved_tensors)
        args = [next(tensors).detach().requires_grad_(item) if kind == "tensor" else item for kind, item in ctx.template]
        with torch.enable_grad():
            out = ctx.fn(*args)
        outs = out if isinstance(out, tuple) else (out,)
        keep = [i for i, one in enumerate(outs) if one.requires_grad]
        torch.autograd.backward([outs[i] for i in keep], [grads[i] for i in keep])
        return (None, None, *[arg.grad if torch.is_tensor(arg) else None for arg in args])


def checkpoint(fn, *args):
    return _Checkpoint.apply(fn, torch.zeros((), requires_grad=True), *args)
