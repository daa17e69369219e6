# misconception: saves only what may have a gradient, and keeps integers on ctx
# fails: an integer tensor is saved too
# message: The integer tensor was not saved
def checkpoint(fn, *args):
    class Redo(torch.autograd.Function):
        @staticmethod
        def forward(ctx, anchor, *args):
            ctx.rng = torch.get_rng_state()
            ctx.places = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor) and arg.is_floating_point()]
            ctx.others = [None if isinstance(arg, torch.Tensor) and arg.is_floating_point() else arg for arg in args]
            ctx.save_for_backward(*(args[i] for i in ctx.places))
            return fn(*args)

        @staticmethod
        def backward(ctx, *grads):
            inputs = list(ctx.others)
            for i, tensor in zip(ctx.places, ctx.saved_tensors):
                inputs[i] = tensor.detach().requires_grad_(tensor.requires_grad)
            with torch.random.fork_rng(devices=[]), torch.enable_grad():
                torch.set_rng_state(ctx.rng)
                outputs = fn(*inputs)
            if isinstance(outputs, torch.Tensor):
                outputs = (outputs,)
            pairs = [(out, grad) for out, grad in zip(outputs, grads) if out.requires_grad]
            torch.autograd.backward([out for out, _ in pairs], [grad for _, grad in pairs])
            return None, *(arg.grad if isinstance(arg, torch.Tensor) else None for arg in inputs)

    anchor = torch.empty(0, requires_grad=True)
    return Redo.apply(anchor, *args)
