# misconception: backward passes come in the reverse order of the calls
# fails: backward in the order of the calls
# message: may come before that of the second
_states = []


class Redo(torch.autograd.Function):
    @staticmethod
    def forward(ctx, fn, anchor, *args):
        _states.append(torch.get_rng_state())
        ctx.fn = fn
        ctx.where = [isinstance(a, torch.Tensor) for a in args]
        ctx.others = [a for a in args if not isinstance(a, torch.Tensor)]
        ctx.save_for_backward(*[a for a in args if isinstance(a, torch.Tensor)])
        return fn(*args)

    @staticmethod
    def backward(ctx, *grads):
        saved, others = iter(ctx.saved_tensors), iter(ctx.others)
        args = [next(saved) if w else next(others) for w in ctx.where]
        args = [a.detach().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a for a in args]
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(_states.pop())
            outs = ctx.fn(*args)
        outs = outs if isinstance(outs, tuple) else (outs,)
        pairs = [(o, g) for o, g in zip(outs, grads) if o.requires_grad]
        torch.autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
        return None, None, *[a.grad if isinstance(a, torch.Tensor) else None for a in args]


def checkpoint(fn, *args):
    return Redo.apply(fn, torch.empty(0, requires_grad=True), *args)
