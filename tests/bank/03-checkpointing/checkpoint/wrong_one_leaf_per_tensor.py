# misconception: a tensor that stands in two places needs one leaf
# fails: one tensor as two arguments
# message: a leaf of its own
def checkpoint(fn, *args):
    class Redo(torch.autograd.Function):
        @staticmethod
        def forward(ctx, anchor, *args):
            ctx.state = torch.get_rng_state()
            ctx.where = [isinstance(a, torch.Tensor) for a in args]
            ctx.others = [a for a in args if not isinstance(a, torch.Tensor)]
            ctx.save_for_backward(*[a for a in args if isinstance(a, torch.Tensor)])
            return fn(*args)

        @staticmethod
        def backward(ctx, *grads):
            saved, others = iter(ctx.saved_tensors), iter(ctx.others)
            leaves, args = {}, []
            for is_tensor in ctx.where:
                if is_tensor:
                    t = next(saved)
                    args.append(leaves.setdefault(id(t), t.detach().requires_grad_(t.requires_grad)))
                else:
                    args.append(next(others))
            with torch.random.fork_rng(devices=[]), torch.enable_grad():
                torch.set_rng_state(ctx.state)
                outs = fn(*args)
            outs = outs if isinstance(outs, tuple) else (outs,)
            pairs = [(o, g) for o, g in zip(outs, grads) if o.requires_grad]
            torch.autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
            return None, *[a.grad if isinstance(a, torch.Tensor) else None for a in args]

    return Redo.apply(torch.empty(0, requires_grad=True), *args)
