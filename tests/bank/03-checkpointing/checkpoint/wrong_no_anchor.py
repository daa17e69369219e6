# misconception: a Function's node exists whatever its inputs need
# fails: no argument requires a gradient
# message: An extra input that requires one, an anchor
class _Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, fn, *args):
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
        outs = out if isinstance(out, tuple) else (out,)
        keep = [i for i, one in enumerate(outs) if one.requires_grad]
        torch.autograd.backward([outs[i] for i in keep], [grads[i] for i in keep])
        return (None, *[arg.grad if torch.is_tensor(arg) else None for arg in args])


def checkpoint(fn, *args):
    return _Checkpoint.apply(fn, *args)
