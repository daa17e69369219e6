# misconception: it is enough to wrap the run; keeping its graph does no harm
# fails: only the tensor arguments are saved
# message: Results in between are what a checkpoint does not keep
def checkpoint(fn, *args):
    class Wrap(torch.autograd.Function):
        @staticmethod
        def forward(ctx, anchor, *args):
            ctx.leaves = [arg.detach().requires_grad_(arg.requires_grad) if isinstance(arg, torch.Tensor) else arg for arg in args]
            ctx.save_for_backward(*[arg for arg in args if isinstance(arg, torch.Tensor)])
            with torch.enable_grad():
                out = fn(*ctx.leaves)
            ctx.outs = out if isinstance(out, tuple) else (out,)
            return tuple(one.detach() for one in out) if isinstance(out, tuple) else out.detach()

        @staticmethod
        def backward(ctx, *grads):
            pairs = [(out, grad) for out, grad in zip(ctx.outs, grads) if out.requires_grad]
            torch.autograd.backward([out for out, _ in pairs], [grad for _, grad in pairs])
            return None, *[leaf.grad if isinstance(leaf, torch.Tensor) else None for leaf in ctx.leaves]

    return Wrap.apply(torch.empty(0, requires_grad=True), *args)
