# misconception: a None among the kept arguments says that a tensor stood there
# fails: other values and frozen tensors pass
# message: They reach fn unchanged
def checkpoint(fn, *args):
    class Redo(torch.autograd.Function):
        @staticmethod
        def forward(ctx, anchor, *args):
            ctx.state = torch.get_rng_state()
            ctx.args = [None if isinstance(a, torch.Tensor) else a for a in args]
            ctx.save_for_backward(*[a for a in args if isinstance(a, torch.Tensor)])
            return fn(*args)

        @staticmethod
        def backward(ctx, *grads):
            saved = list(ctx.saved_tensors)
            args = [saved.pop(0) if a is None and saved else a for a in ctx.args]
            args = [a.detach().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a for a in args]
            with torch.random.fork_rng(devices=[]), torch.enable_grad():
                torch.set_rng_state(ctx.state)
                outs = fn(*args)
            outs = outs if isinstance(outs, tuple) else (outs,)
            pairs = [(o, g) for o, g in zip(outs, grads) if o.requires_grad]
            torch.autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
            return None, *[a.grad if isinstance(a, torch.Tensor) else None for a in args]

    return Redo.apply(torch.empty(0, requires_grad=True), *args)
