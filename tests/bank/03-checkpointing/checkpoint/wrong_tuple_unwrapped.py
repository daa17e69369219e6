# misconception: a tuple of one tensor is that tensor
# fails: a tuple of one
# message: Return a tuple of one tensor too
def checkpoint(fn, *args):
    class Redo(torch.autograd.Function):
        @staticmethod
        def forward(ctx, anchor, *args):
            ctx.others = [None if torch.is_tensor(arg) else arg for arg in args]
            ctx.save_for_backward(*[arg for arg in args if torch.is_tensor(arg)])
            ctx.places = [i for i, arg in enumerate(args) if torch.is_tensor(arg)]
            ctx.state = torch.get_rng_state()
            return fn(*args)

        @staticmethod
        def backward(ctx, *grads):
            inputs = list(ctx.others)
            for i, tensor in zip(ctx.places, ctx.saved_tensors):
                inputs[i] = tensor.detach().requires_grad_(tensor.requires_grad)
            with torch.random.fork_rng(devices=[]), torch.enable_grad():
                torch.set_rng_state(ctx.state)
                outputs = fn(*inputs)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            pairs = [(out, grad) for out, grad in zip(outputs, grads) if out.requires_grad]
            torch.autograd.backward(*zip(*pairs))
            return None, *[arg.grad if torch.is_tensor(arg) else None for arg in inputs]

    out = Redo.apply(torch.zeros(0, requires_grad=True), *args)
    return out[0] if isinstance(out, tuple) and len(out) == 1 else out
