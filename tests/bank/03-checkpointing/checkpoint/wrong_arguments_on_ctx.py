# misconception: attributes of ctx are as good as save_for_backward
# fails: only the tensor arguments are saved
# message: Nothing was saved with save_for_backward.
class _Checkpoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, fn, anchor, *args):
        ctx.fn, ctx.args, ctx.state = fn, args, torch.get_rng_state()
        return fn(*args)

    @staticmethod
    def backward(ctx, *grads):
        args = [arg.detach().requires_grad_(arg.requires_grad) if torch.is_tensor(arg) else arg for arg in ctx.args]
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.state)
            out = ctx.fn(*args)
        outs = out if isinstance(out, tuple) else (out,)
        keep = [i for i, one in enumerate(outs) if one.requires_grad]
        torch.autograd.backward([outs[i] for i in keep], [grads[i] for i in keep])
        return (None, None, *[arg.grad if torch.is_tensor(arg) else None for arg in args])


def checkpoint(fn, *args):
    return _Checkpoint.apply(fn, torch.zeros((), requires_grad=True), *args)
