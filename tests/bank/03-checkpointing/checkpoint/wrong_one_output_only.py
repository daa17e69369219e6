# misconception: a function returns one tensor, and it requires a gradient
# fails: a tuple of outputs
# message: one that requires none is left out of the inner backward
class _Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, fn, anchor, *args):
        ctx.fn, ctx.state = fn, torch.get_rng_state()
        ctx.save_for_backward(*[arg for arg in args if torch.is_tensor(arg)])
        ctx.template = [("tensor", arg.requires_grad) if torch.is_tensor(arg) else ("value", arg) for arg in args]
        return fn(*args)

    @staticmethod
    def backward(ctx, *grads):
        tensors = iter(ctx.saved_tensors)
        args = [next(tensors).detach().requires_grad_(item) if kind == "tensor" else item for kind, item in ctx.template]
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            out = ctx.fn(*args)
        torch.autograd.backward(out, grads)
        return (None, None, *[arg.grad if torch.is_tensor(arg) else None for arg in args])


def checkpoint(fn, *args):
    return _Checkpoint.apply(fn, torch.zeros((), requires_grad=True), *args)
