def checkpoint(fn, *args):
    where = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
    constants = {i: arg for i, arg in enumerate(args) if i not in where}
    count = len(args)
    state = torch.get_rng_state()

    class Redo(torch.autograd.Function):
        @staticmethod
        def forward(ctx, anchor, *tensors):
            ctx.save_for_backward(*tensors)
            ctx.wanted = [tensor.requires_grad for tensor in tensors]
            return fn(*args_of(tensors))

        @staticmethod
        def backward(ctx, *grads):
            leaves = [tensor.detach() for tensor in ctx.saved_tensors]
            for leaf, wanted in zip(leaves, ctx.wanted):
                leaf.requires_grad = wanted
            found = torch.get_rng_state()
            try:
                torch.set_rng_state(state)
                with torch.enable_grad():
                    outputs = fn(*args_of(leaves))
                    outputs = outputs if isinstance(outputs, (tuple, list)) else [outputs]
                    total = sum((out * grad).sum() for out, grad in zip(outputs, grads) if out.requires_grad)
                total.backward()
            finally:
                torch.set_rng_state(found)
            return None, *[leaf.grad for leaf in leaves]

    def args_of(tensors):
        values = dict(constants)
        values.update(zip(where, tensors))
        return [values[i] for i in range(count)]

    args_tensors = [args[i] for i in where]
    del args
    return Redo.apply(torch.ones(1, requires_grad=True), *args_tensors)
