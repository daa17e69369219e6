# misconception: each output needs a run of its own
# fails: one run in forward and one in backward, also with three outputs
# fails: one run in backward for two outputs
# message: fn ran once per output
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
        for i, grad in enumerate(grads):
            with torch.random.fork_rng(devices=[]), torch.enable_grad():
                torch.set_rng_state(ctx.state)
                out = ctx.fn(*args)
            out = out[i] if isinstance(out, tuple) else out
            if out.requires_grad:
                out.backward(grad)
        return (None, None, *[arg.grad if torch.is_tensor(arg) else None for arg in args])


def checkpoint(fn, *args):
    return _Checkpoint.apply(fn, torch.zeros((), requires_grad=True), *args)
