class _Checkpoint(torch.autograd.Function):
    """apply(fn, memo, anchor, *args): the outputs come as a tuple always; memo says whether it was one tensor."""

    @staticmethod
    def forward(ctx, fn, memo, anchor, *leaves):
        ctx.set_materialize_grads(False)
        ctx.fn, ctx.memo = fn, memo
        memo["state"] = torch.random.get_rng_state()
        memo["leaves"] = [("tensor", None) if isinstance(leaf, torch.Tensor) else ("value", leaf) for leaf in leaves]
        ctx.save_for_backward(*[leaf for leaf in leaves if isinstance(leaf, torch.Tensor)])
        outputs = fn(*leaves)
        memo["single"] = isinstance(outputs, torch.Tensor)
        return (outputs,) if memo["single"] else tuple(outputs)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, *grads):
        tensors = iter(ctx.saved_tensors)
        leaves = []
        for number, (kind, value) in enumerate(ctx.memo["leaves"]):
            if kind == "tensor":
                value = next(tensors).detach().clone()
                if ctx.needs_input_grad[3 + number]:
                    value.requires_grad_()
            leaves.append(value)
        now = torch.random.get_rng_state()
        torch.random.set_rng_state(ctx.memo["state"])
        try:
            with torch.set_grad_enabled(True):
                outputs = ctx.fn(*leaves)
        finally:
            torch.random.set_rng_state(now)
        outputs = [outputs] if ctx.memo["single"] else list(outputs)
        wanted = [(o, g) for o, g in zip(outputs, grads) if g is not None and o.grad_fn is not None]
        if wanted:
            torch.autograd.backward([o for o, _ in wanted], [g for _, g in wanted])
        return (None, None, None, *[getattr(leaf, "grad", None) for leaf in leaves])


def checkpoint(fn, *args):
    memo = {}
    outputs = _Checkpoint.apply(fn, memo, torch.zeros(1, requires_grad=True), *args)
    return outputs[0] if memo["single"] else outputs
