# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 03 - Checkpointing: one more forward pass for memory
# [![Open In Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/YOUR-NAME/YOUR-REPOSITORY/blob/main/notebooks/03-checkpointing/03-checkpointing.ipynb)

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
try:
    import autograder.lab
except ImportError:  # on Colab: only this project, nothing that is already there is touched
    import subprocess, sys
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps",
                    "git+https://github.com/YOUR-NAME/YOUR-REPOSITORY"], check=True)
from collections.abc import Callable

import torch
import torch._dynamo  # a checkpoint imports it at its first call, which takes seconds; here no check has to wait for it
import torch.utils.checkpoint
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional as F
from torch.utils.checkpoint import CheckpointPolicy

from autograder.lab import Block, Check

# %% [markdown]
# Out of memory at step 1. So you wrapped the whole model in one checkpoint. Now every step pays for a second forward pass, and the run still dies in the same place: the peak has not moved by a byte.
#
# A checkpoint throws saved tensors away, and computes them again when backward needs them. Where you put it decides whether that helps.
#
# **After this chapter you can**
#
# - say what a checkpoint keeps, what it runs again, and how often;
# - write one yourself, with the random numbers right;
# - choose where to cut from a formula, and know when the famous square root is wrong;
# - keep the matrix products and redo the rest, and count the bytes of both stores.
#
# **Time:** about 110 minutes, 75 of them for the exercises (both are estimates). **Needs:** chapter 02 (the ledger of saved tensors). What is said about
# PyTorch here was seen on version 2.13, on a CPU.
#
# **Three questions.** If you can answer them, skip to [chapter 04](../04-custom-function/04-custom-function.ipynb).
#
# <details><summary>1. A stack of 48 transformer blocks: seven checkpoints, about √48, or one per block?</summary>
#
# One per block. The square root holds for layers that keep no more than their input. A transformer block keeps many times its input, so rebuilding seven blocks at once costs far more
# than keeping 48 inputs.
# </details>
# <details><summary>2. A checkpointed block contains BatchNorm in training mode. What changes?</summary>
#
# The gradients do not. But the forward runs twice, so the running statistics are updated twice per step.
# </details>
# <details><summary>3. The weights get no gradient after you froze the embedding. The checkpoint is reentrant. Why?</summary>
#
# The reentrant variant is an autograd.Function whose inputs are the arguments. When none of them requires a gradient, the output does not either, and the
# graph ends there.
# </details>

# %% [markdown]
# ## 1. What is kept, what is redone
#
# `torch.utils.checkpoint.checkpoint(fn, *args, use_reentrant=False)` runs `fn(*args)`. It keeps the tensors among `args`, and nothing of what `fn` saves. In
# backward it runs `fn` again, keeps what is needed this time, and goes on as usual. (The text writes the name in full, because an exercise below is called `checkpoint`.)
#
# **Predict.** The MLP of chapter 02 packs 5 tensors and 2,686,976 bytes. How many under a checkpoint with the arguments `x, w1, w2`?

# %% tags=["demo"]
from autograder.lab import saved_ledger

x = torch.randn(64, 256, requires_grad=True)
w1 = torch.randn(256, 1024, requires_grad=True)
w2 = torch.randn(1024, 256, requires_grad=True)


def mlp(x, w1, w2):
    return F.silu(x @ w1) @ w2


plain = saved_ledger(mlp, x, w1, w2)
redone = saved_ledger(lambda: torch.utils.checkpoint.checkpoint(mlp, x, w1, w2, use_reentrant=False))
print(f"plain:      {len(plain)} tensors, {plain.packed_bytes:,} bytes")
print(f"checkpoint: {len(redone)} tensors, {redone.packed_bytes:,} bytes  {[entry.shape for entry in redone]}")

# %% [markdown]
# Three: its inputs. The two results of 256 KiB in between are gone. The weights are references, so what remains *as memory* is `x` alone.
#
# **Predict.** Six layers of Linear and Tanh, one training step: plain, with one checkpoint around all six, and cut into three. Which peak is the highest, and in which phase?

# %% tags=["demo"]
from autograder.lab import plot_timeline, trace

six = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(6)])
batch = torch.randn(256, 64)
six(batch).sum().backward()  # fills .grad, so that every run finds it there

ways = {
    "plain": lambda: six(batch).sum().backward(),
    "one checkpoint": lambda: torch.utils.checkpoint.checkpoint(six, batch, use_reentrant=False).sum().backward(),
    "three segments": lambda: torch.utils.checkpoint.checkpoint_sequential(six, 3, batch, use_reentrant=False).sum().backward(),
}
seen = {name: trace(way) for name, way in ways.items()}
for name, run in seen.items():
    print(f"{name:<16} peak {run.peak:>9,} bytes, {len(run.moments):>4} operations")
plot_timeline(seen)

# %% [markdown]
# **Explain.** Read the three panels on their common axis.
#
# - Plain: bytes pile up during forward, and are let go during backward.
# - One checkpoint around everything: forward stays flat, but backward first rebuilds the whole pile. The peak has moved, not shrunk. The run is longer: that is the price.
# - Three segments: backward rebuilds one segment at a time. That is the point of segments. Section 4 makes a law of it. (The last of the three runs plainly, so this run is shorter than the one above.)
#
# ### Exercise: `forwards`
# Difficulty: ●●○○○ · about 8 minutes
#
# The next cell counts how often a function `work` runs in one training step, in four cases. Read it, and predict the four counts.

# %% nbgrader={"grade": false, "grade_id": "setup-runs", "locked": true, "schema_version": 3, "solution": false, "task": false}
def runs(case: str) -> int:
    """How often `work` runs in one training step, by case: plain, checkpoint, nested, no_backward."""
    calls = 0

    def work(x):
        nonlocal calls
        calls += 1
        return x.sin()

    def redo(fn, x):
        return torch.utils.checkpoint.checkpoint(fn, x, use_reentrant=False)

    x = torch.ones(3, requires_grad=True)
    if case == "plain":
        out = work(x).exp()
    elif case == "nested":
        out = redo(lambda x: redo(work, x).exp(), x)  # exp saves its output, after the inner checkpoint
    else:
        out = redo(work, x).exp()
    if case != "no_backward":
        out.sum().backward()
    return calls


# %% [markdown]
# Write down your prediction before you call `runs`.
#
# <details><summary>Stuck?</summary>
#
# A checkpoint runs its function once in forward, and once more in backward if somebody needs what it saved.
# </details>
# <details><summary>Still stuck?</summary>
#
# Nested: backward redoes the *outer* function in order to get exp's output, and runs `work` on the way, inside the inner checkpoint. What does an inner checkpoint do with saved tensors?
# </details>

# %% nbgrader={"grade": false, "grade_id": "forwards", "locked": false, "schema_version": 3, "solution": true, "task": false}
# How often does `work` run? Replace every None.
forwards = {"plain": None, "checkpoint": None, "nested": None, "no_backward": None}
### BEGIN SOLUTION
# Why this shape: forward always counts one. Each checkpoint adds one when backward needs something from inside it, and "nested" has two of them.
forwards = {"plain": 1, "checkpoint": 2, "nested": 3, "no_backward": 1}
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-forwards", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check = Check("forwards", points=2)
check("plain", lambda: forwards["plain"], runs("plain"), wrong={2: "Without a checkpoint nothing is redone: backward uses what forward saved."})
check("checkpoint", lambda: forwards["checkpoint"], runs("checkpoint"),
      wrong={1: "The checkpoint saved nothing of what work needs, so backward runs work again.", 3: "Forward once, backward once more. There is no third run."})
check("nested", lambda: forwards["nested"], runs("nested"),
      wrong={2: "Redoing the outer function runs work a second time, but the inner checkpoint throws its saved tensors away again: one more.",
             1: "Both checkpoints throw away what work saved, so work runs again.",
             4: "Each level redoes once: forward, the outer redo, the inner redo. Levels add up, they do not multiply here."})
check("no_backward", lambda: forwards["no_backward"], runs("no_backward"),
      wrong={2: "Nothing is redone in advance. Without backward, work ran in forward only."})
check.report()

# %% [markdown]
# ### Early stop
#
# The redo ends as soon as everything that was saved has been saved again.
#
# **Predict.** A checkpoint around Linear, Tanh, and a module that only adds one. Which of them run again?

# %% tags=["demo"]
class Says(nn.Module):
    def __init__(self, name, fn):
        super().__init__()
        self.name, self.fn = name, fn

    def forward(self, x):
        print("   ", self.name)
        return self.fn(x)


three = nn.Sequential(Says("linear", nn.Linear(4, 4)), Says("tanh", torch.tanh), Says("plus one", lambda x: x + 1.0))
small = torch.randn(2, 4, requires_grad=True)
print("forward:")
out = torch.utils.checkpoint.checkpoint(three, small, use_reentrant=False)
print("backward:")
out.sum().backward()
with torch.utils.checkpoint.set_checkpoint_early_stop(False):
    print("forward again:")
    out = torch.utils.checkpoint.checkpoint(three, small, use_reentrant=False)
    print("backward, early stop off:")
    out.sum().backward()

# %% [markdown]
# The addition saved nothing, so nobody waits for it.
#
# **Predict** for a transformer block with its six Linears. Its last operations are the Linear `down` and an addition. Which of the six run again?

# %% tags=["demo"]
ran = []
block = Block(64, 4, 256)
linears = {name: item for name, item in block.named_children() if isinstance(item, nn.Linear)}
for name, item in linears.items():
    item.register_forward_hook(lambda item, args, out, name=name: ran.append(name))  # after the product
out = torch.utils.checkpoint.checkpoint(block, torch.randn(2, 8, 64, requires_grad=True), use_reentrant=False)
print("forward: ", *ran)
ran.clear()
out.sum().backward()
print("backward:", *ran)
size = {name: item.weight.numel() for name, item in linears.items()}
print(f"spared: {size['down'] / sum(size.values()):.0%} of the multiplications of the Linears")

# %% [markdown]
# Five of six. The last thing that the block saves is the *input* of `down`, and that is saved before the product is computed. So early stop spares the last product itself, and everything after it. With an MLP four times as
# wide as the model, that is a third of the Linears' work.
#
# **Predict.** Now nest checkpoints: one inside another, up to four deep. How often does the innermost function run, when nothing else is in them? And when each level takes an exponential after the inner one?

# %% tags=["demo"]
def runs_at_depth(depth, then=lambda x: x):
    """How often the innermost function runs in one training step, `then` applied after each inner checkpoint."""
    calls = []
    fn = lambda x: calls.append(1) or x.sin()
    for level in range(depth):
        inner = fn if level == 0 else lambda x, fn=fn: then(fn(x))
        fn = lambda x, inner=inner: torch.utils.checkpoint.checkpoint(inner, x, use_reentrant=False)
    fn(torch.ones(3, requires_grad=True)).sum().backward()
    return len(calls)


print("depth                               ", [1, 2, 3, 4])
print("nothing after the inner checkpoint  ", [runs_at_depth(depth) for depth in (1, 2, 3, 4)])
print("an exponential after each inner one ", [runs_at_depth(depth, torch.exp) for depth in (1, 2, 3, 4)])
with torch.utils.checkpoint.set_checkpoint_early_stop(False):
    print("nothing after it, early stop off    ", [runs_at_depth(depth) for depth in (1, 2, 3, 4)])

# %% [markdown]
# In a pure nest the outer levels have saved nothing, so early stop ends their redo before it begins any work: two runs at any depth. Every level that saves something after its inner checkpoint adds one run.

# %% [markdown]
# ## 2. Running twice has consequences
#
# **Predict** for a checkpointed function with dropout: may the second run draw another mask? And for BatchNorm: what happens to its running statistics?

# %% tags=["demo"]
def dropped(x):
    return F.dropout(x * x, 0.5)


for preserve in (True, False):
    torch.manual_seed(3)
    x = torch.ones(8, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(dropped, x, use_reentrant=False, preserve_rng_state=preserve)
    y.sum().backward()
    print(f"preserve_rng_state={preserve}: kept in forward {(y > 0).int().tolist()}, has a gradient {(x.grad > 0).int().tolist()}")

norm = nn.BatchNorm1d(4)
torch.utils.checkpoint.checkpoint(norm, torch.randn(8, 4, requires_grad=True), use_reentrant=False).sum().backward()
print("BatchNorm counted", norm.num_batches_tracked.item(), "batches in one step")

# %% [markdown]
# **Explain.**
#
# - With the random state restored, both runs draw the same mask. Without, the gradient belongs to another mask than the output. Nothing raises an error; it is just wrong.
# - Side effects happen twice. Counters, caches, prints, BatchNorm's statistics. A function under a checkpoint should have none, or not mind.
#
# When the second run saves fewer tensors than the first, the non-reentrant variant notices:

# %% tags=["demo"]
visits = []


def moody(x):
    visits.append(1)
    return x.sin().exp() if len(visits) == 1 else x.sin()


try:
    torch.utils.checkpoint.checkpoint(moody, torch.randn(3, requires_grad=True), use_reentrant=False).sum().backward()
except torch.utils.checkpoint.CheckpointError as error:
    print("CheckpointError:", str(error).split("\n\n")[0])

# %% [markdown]
# Something that `moody` reads had changed between forward and backward. In real code that is a global flag, a call of `model.eval()`, or a cache that the first run filled. Autocast is no such case: a checkpoint remembers its state and restores it.
#
# ### Two variants
#
# The older *reentrant* variant is an `autograd.Function`: its backward runs a whole new backward inside. The *non-reentrant* one works with saved-tensor hooks, and leaves the graph of
# `fn` in place.
#
# **Predict.** A frozen input, and a Linear with trainable weights. Which variant trains the weights?

# %% tags=["demo"]
import warnings

layer = nn.Linear(4, 4)
frozen = torch.randn(2, 4)
for reentrant in (True, False):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = torch.utils.checkpoint.checkpoint(layer, frozen, use_reentrant=reentrant)
    print(f"use_reentrant={reentrant}: output requires a gradient: {out.requires_grad}")

out = torch.utils.checkpoint.checkpoint(layer, frozen.clone().requires_grad_(), use_reentrant=True)
try:
    torch.autograd.grad(out.sum(), list(layer.parameters()))
except RuntimeError as error:
    print("autograd.grad over the weights, reentrant:", str(error)[:90], "...")

# %% [markdown]
# ## 3. Write one
#
# You write the older kind, because it is short and shows everything that matters. It is an `autograd.Function`. Its forward runs `fn` without a graph; its backward runs `fn` again with one.
#
# ```
# forward:   remember fn, the RNG state, the arguments (tensors by ctx.save_for_backward)   ->  run fn without a graph
# backward:  fresh leaves for the tensor arguments  ->  RNG state of forward  ->  run fn with a graph
#            ->  backward through that small graph with the incoming gradients  ->  RNG state as found  ->  return the leaves' gradients
# ```
#
# The inner backward fills `.grad` of the parameters that `fn` closes over. But backward is called at all only if one *input* of the Function requires a gradient. When no argument
# does, a small extra input that requires one, an *anchor*, keeps the node alive.
#
# ### Exercise: `checkpoint`
# Difficulty: ●●●●○ · about 30 minutes
#
# Write a checkpoint of your own: the outputs and gradients of a plain run, with nothing kept but the tensor arguments.
#
# <details><summary>Stuck?</summary>
#
# `apply` gives back one gradient per input: None for `fn`, for the anchor, and for every argument that is no tensor. Grad mode is off in `forward` and in `backward`; `torch.enable_grad()` turns it on. `torch.get_rng_state()` and
# `torch.set_rng_state()` are the CPU's generator; `torch.random.fork_rng(devices=[])` puts it back at the end of a block.
# </details>
# <details><summary>Still stuck?</summary>
#
# Start with one tensor in and one tensor out, and get the fresh leaf right: it must be detached, and require a gradient exactly where the argument did. Then think of the places of the arguments: an argument may be None itself, so a None does not say that a tensor was there.
# </details>

# %% nbgrader={"grade": false, "grade_id": "checkpoint", "locked": false, "schema_version": 3, "solution": true, "task": false}
def checkpoint(fn: Callable, *args):
    """Run `fn(*args)` through a torch.autograd.Function of yours that redoes it in backward.

    Parameters
    ----------
    fn : callable
        Returns a tensor or a tuple of tensors; some of a tuple may not require a gradient. May close over parameters, and may draw random numbers on the CPU.
    *args
        Tensors, with or without gradient, and any other values.

    Returns
    -------
    Tensor or tuple of Tensor
        As `fn(*args)`. After `.backward()` the gradients of tensor arguments and of closed-over parameters are those of a plain run, also when no
        argument requires one. Only the tensors among `args` are saved. Backward runs `fn` once, with the RNG state of the first run, and leaves the
        RNG as it found it. Double backward and autograd.grad over closed-over parameters are not asked.
    """
    ### BEGIN SOLUTION
    # Why this shape: everything that one call has to remember is on its own ctx, so calls cannot mix. The anchor comes first, so the gradients
    # of the arguments follow in order. torch.autograd.backward fills .grad of closed-over parameters, which autograd.grad would not.
    class Redo(torch.autograd.Function):
        @staticmethod
        def forward(ctx, anchor, *args):
            ctx.rng = torch.get_rng_state()
            ctx.places = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
            ctx.others = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
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
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-checkpoint", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def saved_shapes(run):
    """Shapes of what is packed while `run()` runs, sorted."""
    shapes = []

    def pack(tensor):
        shapes.append(tuple(tensor.shape))
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        run()
    return sorted(shapes)


def grads_of(call, fn, *args):
    """Gradients of the tensor arguments that require one, after backward from the sum of squares of the first output."""
    leaves = [arg.clone().requires_grad_() if isinstance(arg, torch.Tensor) and arg.is_floating_point() else arg for arg in args]
    out = call(fn, *leaves)
    out = out[0] if isinstance(out, tuple) else out
    (out * out).sum().backward()
    return [leaf.grad for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]


def plainly(fn, *args):
    return fn(*args)


def scaled(x, factor, y):
    return (x * factor).sin() * y


def function_nodes():
    """Whose autograd.Function nodes stand below the output: "yours", or torch's own."""
    out = checkpoint(lambda t: t.sin().exp(), torch.ones(3, requires_grad=True))
    found, waiting = [], [out.grad_fn]
    while waiting:
        node = waiting.pop()
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            found.append("torch's" if node._forward_cls.__module__.startswith("torch.") else "yours")
        waiting.extend(below for below, _ in node.next_functions if below is not None)
    return found


x, y = torch.linspace(-1.0, 1.5, 12).view(4, 3), torch.linspace(2.0, -1.0, 12).view(4, 3)
weight = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [-2.0, 1.0, 0.75]])


def counted(outputs=1):
    """How often fn, with that many outputs, had run after forward, and after backward."""
    calls = []

    def fn(x):
        calls.append(1)
        return x.sin().exp() if outputs == 1 else tuple((x * i).exp() for i in range(1, outputs + 1))

    out = checkpoint(fn, torch.ones(3, requires_grad=True))
    first = len(calls)
    (out if outputs == 1 else sum(out)).sum().backward()
    return first, len(calls)


def closure_grads(call, *args, backwards=1):
    """Gradients of the parameters that fn closes over."""
    params = [weight.clone().requires_grad_(), torch.ones(3, requires_grad=True)]

    def fn(x, *rest):
        return (x @ params[0] + params[1]).tanh()

    for _ in range(backwards):
        call(fn, *args).square().sum().backward()
    return [param.grad for param in params]


def two_outputs(x, y):
    return (x * y).exp(), x.detach().sum(), (x * x * y).sum()


def tuple_result(call):
    p, q = x.clone().requires_grad_(), y.clone().requires_grad_()
    first, second, third = call(two_outputs, p, q)
    (first.sum() + 2.0 * third).backward()
    return first, second, third, p.grad, q.grad


def dropout_run(call):
    """Output and gradient of a dropout, with random numbers drawn in between."""
    torch.manual_seed(11)
    torch.rand(5)  # the state is no longer that of the seed
    leaf = x.clone().requires_grad_()
    out = call(lambda t: F.dropout(t * t, 0.5), leaf)
    torch.rand(17)
    out.sum().backward()
    return out, leaf.grad


def drawn_after_backward(call):
    """What the generator gives after backward, when it was seeded just before."""
    out = call(lambda t: F.dropout(t, 0.5).sin(), x.clone().requires_grad_())
    torch.manual_seed(12)
    out.sum().backward()
    return torch.rand(3)


def mixed(nothing, x, scale, index, name, extra):
    assert name == "rows" and nothing is None
    return x[index] * scale * extra["factor"]


def one_of_a_tuple(call):
    return call(lambda t: (t.sin(),), x)


def two_in_a_row(call):
    """Two dropouts one after the other: the second must not repeat the first one's mask."""
    torch.manual_seed(13)
    fn = lambda t: F.dropout(t * t, 0.5)
    return call(fn, x.clone().requires_grad_()), call(fn, x.clone().requires_grad_())


def chained(call):
    """Two checkpoints with functions of their own, the second on the output of the first."""
    torch.manual_seed(14)
    leaf = x.repeat(5, 1).requires_grad_()  # so many that two masks differ where it shows
    out = call(lambda t: F.dropout(t.sin(), 0.5), call(lambda t: F.dropout(t * t, 0.5), leaf))
    out.sum().backward()
    return out, leaf.grad


def in_order(call):
    """Gradients of two checkpoints with graphs of their own, backward in the order of the calls."""
    torch.manual_seed(15)
    p, q = x.repeat(5, 1).requires_grad_(), x.repeat(5, 1).requires_grad_()
    first, second = call(lambda t: F.dropout(t * t, 0.5), p), call(lambda t: F.dropout(t.sin(), 0.5), q)
    first.sum().backward()
    second.sum().backward()
    return p.grad, q.grad


a, b = torch.tensor([0.5, -1.0, 2.0]), torch.tensor([3.0, 0.25, -2.0])
check = Check("checkpoint", points=6)
check("the output is fn's", lambda: checkpoint(scaled, a, 2.0, b), (a * 2.0).sin() * b, hint="Return what fn returns.")
check("gradients of the arguments", lambda: grads_of(checkpoint, scaled, a, 2.0, b), grads_of(plainly, scaled, a, 2.0, b),
      wrong=[(lambda v: v == [None, None], "No gradient arrived. backward returns one value per argument of apply, in their order."),
             (lambda v: abs(v[0][0] - 32.734707) < 1e-3, "The gradients are twice as large: the inner backward went on into the caller's own tensors, and then you returned the gradient as well. Detach the arguments before the second run.")],
      hint="Run fn again on fresh leaves, go backward through that small graph, and return the leaves' gradients.")
check("the node is that of a Function of yours", lambda: function_nodes(), ["yours"], weight=8,
      wrong=[([], "There is no autograd.Function node in the graph: fn ran plainly, or torch's own checkpoint did the work. Write a Function with a forward and a backward."),
             (lambda v: "torch's" in v, "That is torch's own checkpoint. Write a Function of yours.")],
      hint="Call apply of one autograd.Function, written by you, once.")
check("only the tensor arguments are saved", lambda: saved_shapes(lambda: checkpoint(scaled, a.clone().requires_grad_(), 2.0, b[:1].clone().requires_grad_())), [(1,), (3,)], weight=2,
      wrong=[([], "Nothing was saved with save_for_backward. Tensors that are kept as attributes of ctx go round the hooks and the in-place check."),
             (lambda v: len(v) > 2, "More than the two tensor arguments was saved. Results in between are what a checkpoint does not keep, and the RNG state and the anchor need not be saved tensors.")])
check("one run in forward and one in backward, also with three outputs", lambda: [counted(), counted(3)], [(1, 2), (1, 2)],
      wrong=[([(1, 1), (1, 1)], "fn ran once in all: what it computed was kept. A checkpoint throws it away and runs fn again in backward."),
             (lambda v: v[0] == (1, 2) and v[1] == (1, 4), "fn ran once per output in backward. Run it once, and go backward from all its outputs together."),
             (lambda v: v[0][0] == 1 and v[0][1] > 2, "Backward ran fn more than once. Run it once, with grad mode on: the same run gives the outputs and their graph."),
             (lambda v: v[0][0] > 1, "Forward ran fn more than once.")],
      hint="fn runs once when checkpoint is called, and once more in backward, however many outputs it has.")
check("closed-over parameters", lambda: closure_grads(checkpoint, x.clone().requires_grad_()), closure_grads(plainly, x.clone().requires_grad_()),
      wrong=[([None, None], "The parameters got no gradient. torch.autograd.backward fills .grad of every leaf; autograd.grad over the arguments does not.")],
      hint="The parameters that fn closes over get gradients as in a plain run, in their .grad.")
check("closed-over parameters, and no argument requires a gradient", lambda: closure_grads(checkpoint, x), closure_grads(plainly, x),
      hint="No argument requires a gradient, yet the parameters need theirs. An extra input that requires one, an anchor, keeps the node in the graph.")
check("three outputs, one of them without a gradient", lambda: tuple_result(checkpoint), tuple_result(plainly),
      hint="fn may return a tuple; each output has its own incoming gradient, and one that requires none is left out of the inner backward.")
check("a tuple of one tensor", lambda: type(one_of_a_tuple(checkpoint)).__name__, "tuple", hint="fn returned a tuple of one tensor. Return a tuple of one tensor too.")
check("None, a number, a string, a dict and integers pass", lambda: grads_of(checkpoint, mixed, None, x, 2, torch.tensor([0, 2]), "rows", {"factor": y[:2]}), grads_of(plainly, mixed, None, x, 2, torch.tensor([0, 2]), "rows", {"factor": y[:2]}),
      hint="Arguments may be ints, strings, dicts, None or integer tensors. They reach fn unchanged, both times, and have no gradient.")
check("integers are saved like other tensors", lambda: saved_shapes(lambda: checkpoint(mixed, None, x.clone().requires_grad_(), 2, torch.tensor([3]), "rows", {"factor": 3.0})), [(1,), (4, 3)],
      wrong=[([(4, 3)], "The integer tensor was not saved. Kept as an attribute of ctx, it goes round the hooks and the in-place check: save every tensor, whatever its dtype.")],
      hint="Save the tensors among the arguments, all of them and nothing else.")
check("one tensor in two places", lambda: grads_of(lambda fn, t: checkpoint(fn, t, t), lambda p, q: (p * q).sin(), a), grads_of(lambda fn, t: fn(t, t), lambda p, q: (p * q).sin(), a),
      hint="The same tensor stands in two places. Each place needs a leaf of its own, and returns that leaf's gradient; the engine adds the two.")
check("the second run draws the same mask", lambda: dropout_run(checkpoint), dropout_run(plainly),
      hint="The gradient must belong to the mask of the first run. Save torch.get_rng_state() before the first run and set it before the second; the seed alone does not tell how much was drawn since.")
check("two calls draw two masks, and each gets its own back", lambda: [two_in_a_row(checkpoint), in_order(checkpoint)], [two_in_a_row(plainly), in_order(plainly)],
      hint="Forward draws from the generator and moves it on, as fn does; only backward puts it back. And each call needs its own fn, arguments and RNG state when backward comes: keep them on ctx.")
check("backward leaves the generator as it found it", lambda: drawn_after_backward(checkpoint), drawn_after_backward(plainly),
      hint="What is drawn after backward is not what would have been drawn without it. Put the state back: torch.random.fork_rng(devices=[]), or get_rng_state and set_rng_state.")
### BEGIN HIDDEN TESTS
x, y = torch.randn(4, 3), torch.randn(4, 3)
weight = torch.randn(3, 3)
check("fn runs once in forward and once in backward", lambda: counted(), (1, 2), weight=6,
      wrong={(1, 1): "fn ran once in all: what it computed was kept. A checkpoint throws it away and runs fn again in backward.",
             (1, 3): "Backward ran fn twice. Run it once, with grad mode on: the same run gives the outputs and their graph.",
             (2, 3): "Forward ran fn twice."},
      hint="fn runs once when checkpoint is called, and once more in backward.")
check("one run in backward for two outputs", lambda: counted(2), (1, 2),
      wrong={(1, 3): "fn ran once per output in backward. Run it once, and go backward from all its outputs together."},
      hint="fn runs once when checkpoint is called, and once more in backward, however many outputs it has.")
check("parameters that fn closes over", lambda: closure_grads(checkpoint, x.clone().requires_grad_()), closure_grads(plainly, x.clone().requires_grad_()), weight=2,
      wrong=[([None, None], "The parameters got no gradient. torch.autograd.backward fills .grad of every leaf; autograd.grad over the arguments does not.")],
      hint="The parameters that fn closes over lost their gradients, or have wrong ones. torch.autograd.backward fills .grad of every leaf; autograd.grad over the arguments does not.")
check("no argument requires a gradient", lambda: closure_grads(checkpoint, x), closure_grads(plainly, x), weight=2,
      hint="No argument requires a gradient, yet the parameters need theirs. An extra input that requires one, an anchor, keeps the node in the graph.")
check("no tensor among the arguments", lambda: closure_grads(lambda fn, *rest: checkpoint(lambda scale: fn(scale * x), 2.0)), closure_grads(lambda fn, *rest: fn(2.0 * x)),
      hint="fn may have no tensor argument at all; the anchor keeps the node in the graph.")
check("gradients of parameters accumulate", lambda: closure_grads(checkpoint, x.clone().requires_grad_(), backwards=2), closure_grads(plainly, x.clone().requires_grad_(), backwards=2),
      hint="A second backward adds to .grad of the parameters.")
check("a tuple of outputs", lambda: tuple_result(checkpoint), tuple_result(plainly), weight=2,
      hint="fn may return a tuple; each output has its own incoming gradient, and one that requires none is left out of the inner backward.")
check("a tuple of one", lambda: one_of_a_tuple(checkpoint), one_of_a_tuple(plainly), hint="fn returned a tuple of one tensor. Return a tuple of one tensor too.")
check("an argument from a graph, and its leaf", lambda: grads_of(lambda fn, t: checkpoint(fn, t * 3.0, t), lambda p, q: p.sin() * q, x), grads_of(lambda fn, t: fn(t * 3.0, t), lambda p, q: p.sin() * q, x),
      hint="The gradient has to go on beyond the checkpoint. Detach the arguments before the second run, so that the inner backward stops there, and return their gradients.")
check("other values and frozen tensors pass", lambda: grads_of(checkpoint, mixed, None, x, 2, torch.tensor([0, 2]), "rows", {"factor": y[:2]}), grads_of(plainly, mixed, None, x, 2, torch.tensor([0, 2]), "rows", {"factor": y[:2]}),
      hint="Arguments may be ints, strings, dicts, None or integer tensors. They reach fn unchanged, both times, and have no gradient.")
check("an integer tensor is saved too", lambda: saved_shapes(lambda: checkpoint(mixed, None, x.clone().requires_grad_(), 2, torch.tensor([0, 2]), "rows", {"factor": 3.0})), [(2,), (4, 3)],
      wrong=[([(4, 3)], "The integer tensor was not saved. Kept as an attribute of ctx, it goes round the hooks and the in-place check: save every tensor, whatever its dtype.")],
      hint="Save the tensors among the arguments, all of them and nothing else.")
check("the same random numbers", lambda: dropout_run(checkpoint), dropout_run(plainly), weight=2,
      hint="The second run drew another dropout mask. Save torch.get_rng_state() before the first run and set it before the second; the seed alone does not tell how much was drawn since.")
check("two dropouts in a row", lambda: two_in_a_row(checkpoint), two_in_a_row(plainly),
      wrong=[((None, None), "If your function returned None, a `return` is missing.")],
      hint="The second call repeats the first one's mask. Forward draws from the generator and moves it on, as fn does; only backward puts it back.")
check("one checkpoint after the other", lambda: chained(checkpoint), chained(plainly),
      hint="Each call needs its own fn, arguments and RNG state when backward comes. A class or a list at module level is shared by all calls: keep them on ctx.")
check("backward in the order of the calls", lambda: in_order(checkpoint), in_order(plainly),
      hint="Backward of the first call may come before that of the second. Each call needs its own fn, arguments and RNG state: keep them on ctx.")
check("one tensor as two arguments", lambda: grads_of(lambda fn, t: checkpoint(fn, t, t), lambda p, q: (p * q).sin(), x), grads_of(lambda fn, t: fn(t, t), lambda p, q: (p * q).sin(), x),
      hint="The same tensor stands in two places. Each place needs a leaf of its own, and returns that leaf's gradient; the engine adds the two.")
check("the generator is left as found", lambda: drawn_after_backward(checkpoint), drawn_after_backward(plainly),
      hint="Backward changed the global generator. Put its state back afterwards: torch.random.fork_rng(devices=[]), or get_rng_state and set_rng_state.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 4. Where to cut
#
# Cut a stack of `n` equal layers into `s` segments, each under a checkpoint of its own. What is alive at the peak? Watch the simplest stack that there is: each layer is `kept` sines in a row, so it saves exactly
# `kept` tensors of the size of its input.
#
# **Predict** the three peaks, in inputs: 6 layers in 3 segments when a layer keeps 1, the same when a layer keeps 4, and 6 segments when a layer keeps 4.

# %% tags=["demo"]
def cut_sines(x, n_layers, segments, kept):
    """One training step of n_layers equal layers in equal segments, each under a checkpoint."""

    def segment(x):
        for _ in range(n_layers // segments * kept):
            x = x.sin()
        return x

    x = x * 1.0  # a tensor of this run: the first segment's input
    for _ in range(segments):
        x = torch.utils.checkpoint.checkpoint(segment, x, use_reentrant=False)
    x.sum().backward()


start = torch.randn(256, requires_grad=True)  # 1 KiB: one unit of the model
cut_sines(start, 6, 3, 1)  # fills .grad
plot_timeline({f"6 layers that keep {kept}, {segments} segments": trace(cut_sines, start, 6, segments, kept) for segments, kept in ((3, 1), (3, 4), (6, 4))})

# %% [markdown]
# One KiB is one unit here: the input of one layer. In forward there is a staircase with one step per segment: its input, and nothing else stays. Each saw tooth in backward is one segment that is rebuilt and let go.
#
# (The measured peaks are two units above the model of the next exercise: the first sine's backward makes a cosine and a product. Two more things cancel out: the model counts a
# segment's input beside what its first layer keeps, which is that very tensor, and it leaves out the last output. All this is the same wherever you cut.)
#
# ### Exercise: `peak_units`
# Difficulty: ●●○○○ · about 8 minutes
#
# Find the closed form of the peak in the model that the docstring describes: how many units are alive at the highest moment? The pictures above tell you when that is.
#
# <details><summary>Stuck?</summary>
#
# The highest moment is in the first saw tooth: when the first segment has been rebuilt, and nothing has been let go. Which two kinds of tensors are alive then?
# </details>
# <details><summary>Still stuck?</summary>
#
# 10 layers in 4 segments: write down the four lengths. Which of them is the peak made of? Python rounds up with `-(-a // b)`, without a detour over floats.
# </details>

# %% nbgrader={"grade": false, "grade_id": "peak_units", "locked": false, "schema_version": 3, "solution": true, "task": false}
def peak_units(n_layers: int, segments: int, kept: int = 1) -> int:
    """The most units that are alive at one moment of a checkpointed training step. One unit is a layer's input.

    The model, event by event:

    - The layers are cut into `segments` runs, whose lengths differ by at most one. No run is shorter than the one before it.
    - Forward: every run keeps its input, one unit, and nothing else.
    - Backward takes the runs from the last to the first. It redoes the run: each of its layers now keeps `kept` units, beside the run's input.
      When all are kept, backward goes through the run, and then lets go of all of this and of the input.
    - Weights, gradients and outputs do not count.

    Parameters
    ----------
    n_layers, segments : int
        1 <= segments <= n_layers.
    kept : int
        What one layer saves for backward, in units of its input; at least 1.

    Returns
    -------
    int
    """
    ### BEGIN SOLUTION
    # Why this shape: at the highest moment every run's input is there, and the longest run, the last one, is rebuilt whole. Rounding up the
    # layers, not the units, because a layer is in one run or in the other.
    return segments + -(-n_layers // segments) * kept
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-peak_units", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check = Check("peak_units", points=1)
check("64 layers in 8 segments", lambda: peak_units(64, 8), 16,
      wrong={8: "You counted one of the two parts. Inputs of the segments and the segment that is redone are alive together.", 72: "Only one segment is redone at a time, not all layers."},
      hint="Count what is alive when the first segment has been rebuilt.")
check("10 layers in 4 segments", lambda: peak_units(10, 4), 7,
      wrong={3: "You counted one of the two parts. Inputs of the segments and the segment that is redone are alive together.",
             14: "Only one segment is redone at a time, not all layers.", 6: "The longest segment decides: round up.", 6.5: "A layer is kept whole or not at all: round up, to an int."},
      hint="Count what is alive when the first segment has been rebuilt.")
check("6 layers in 3 segments, a layer keeps four", lambda: peak_units(6, 3, kept=4), 11,
      wrong={5: "kept was not used: every layer that is rebuilt keeps that many units.", 20: "The input of a segment is one unit, whatever a layer keeps.",
             8: "You counted one of the two parts. Inputs of the segments and the segment that is redone are alive together."},
      hint="It is the second picture above, less the two units that backward itself makes.")
check("7 layers in 3 segments, a layer keeps two", lambda: peak_units(7, 3, kept=2), 9,
      wrong={8: "Round the layers up, then multiply: a layer is in one segment or in the other.", 7: "The longest segment decides: round up."},
      hint="The longest segment has three layers.")
### BEGIN HIDDEN TESTS
n, s, kept = int(torch.randint(20, 90, ())), int(torch.randint(3, 15, ())), int(torch.randint(2, 30, ()))
check("another chain", lambda: [peak_units(n, s), peak_units(n + 1, s), peak_units(n + 2, s)], [s - (-(n + i) // s) for i in range(3)], weight=2,
      hint="All inputs count one unit each, and the longest segment decides; the result is an int.")
check("layers that keep more", lambda: [peak_units(n + i, s, kept=kept) for i in range(3)], [s - (-(n + i) // s) * kept for i in range(3)], weight=2,
      hint="Inputs count one unit each, whatever a layer keeps. Each layer of the longest segment counts kept units.")
check("the ends", lambda: [peak_units(n, 1), peak_units(n, n), peak_units(1, 1), peak_units(n, 1, kept=5), peak_units(n, n, kept=5)], [n + 1, n + 1, 2, 5 * n + 1, n + 5], weight=2,
      hint="With one segment everything is rebuilt at once; with one per layer all inputs are kept.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# <details><summary>The law, once <code>peak_units</code> passes</summary>
#
# With `a` for the bytes of a layer's input and `A` for all that a layer saves, the peak is about
#
# `s · a + (n / s) · A` bytes.
#
# The first part grows with `s`, the second falls. Both are equal, and their sum is lowest, at `s = √(n · A / a)`. When a layer keeps no more than its input, `A = a`, this is the famous `√n`.
# </details>
#
# ### Exercise: `best_segments`
# Difficulty: ●●○○○ · about 7 minutes
#
# Find the number of segments with the lowest peak in the same model, whole numbers and all.
#
# <details><summary>Stuck?</summary>
#
# You need not solve for the minimum. There are only `n_layers` candidates.
# </details>
# <details><summary>Still stuck?</summary>
#
# Python's `min` takes a `key`. Which of several equal candidates does it return, and which is asked for?
# </details>

# %% nbgrader={"grade": false, "grade_id": "best_segments", "locked": false, "schema_version": 3, "solution": true, "task": false}
def best_segments(n_layers: int, kept: float = 1) -> int:
    """The number of segments with the lowest peak, in the model that `peak_units` describes.

    Write the model out again: no exercise calls another one's answer.

    Parameters
    ----------
    n_layers : int
        At least 1.
    kept : int or float
        What one layer saves for backward, in units of its input; at least 1.

    Returns
    -------
    int
        Between 1 and n_layers: the smallest number that reaches the minimum.
    """
    ### BEGIN SOLUTION
    # Why this shape: rounding up makes steps, so the minimum may lie away from the root, or be reached several times. Trying all is exact, and `min`
    # returns the first of equals.
    return min(range(1, n_layers + 1), key=lambda segments: segments + -(-n_layers // segments) * kept)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-best_segments", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
check = Check("best_segments", points=2)
check("64 layers", lambda: best_segments(64), 8, wrong={16: "This is the peak itself. The number of segments is asked."}, hint="Compute the model for every candidate and take the lowest.")
check("10 layers", lambda: best_segments(10), 2,
      wrong={3: "3 segments reach the minimum too, but 2 is smaller. Rounding the square root does not see that.", 4: "4 segments reach the minimum too, but 2 is smaller.",
             5: "5 segments reach the minimum too, but 2 is smaller.", 7: "This is the peak itself. The number of segments is asked."},
      hint="Compute the model for every candidate and take the lowest.")
check("7 layers", lambda: best_segments(7), 2,
      wrong={1: "In one segment the peak is 8 units, in two it is 6. The segments need not be equally long.", 3: "3 segments reach the minimum too, but 2 is smaller.", 4: "4 segments reach the minimum too, but 2 is smaller."},
      hint="Compute the model for every candidate and take the lowest.")
check("48 layers that keep eighteen", lambda: best_segments(48, kept=18), 24,
      wrong={6: "kept was not used: this is the answer for layers that keep no more than their input.", 29: "The root of n · kept is 29.4, but 29 segments have two layers in the longest, as 24 have, and five inputs more."},
      hint="Compute the model for every candidate: inputs count one unit, a layer that is rebuilt counts kept.")
check("5 layers that keep three", lambda: best_segments(5, kept=3), 5,
      wrong={3: "With 3 segments the longest has two layers: 3 + 2 · 3 = 9 units. One per layer has 5 + 3 = 8."},
      hint="Compute the model for every candidate, up to one segment per layer.")
check("60 layers that keep much", lambda: best_segments(60, kept=60), 60,
      hint="When a layer keeps much, one segment per layer is best. Compute the model for every candidate, not up to a limit.")
### BEGIN HIDDEN TESTS
start, more = int(torch.randint(60, 300, ())), int(torch.randint(2, 40, ()))
check("small chains", lambda: [best_segments(n) for n in range(1, 40)], [min(range(1, n + 1), key=lambda s: s + -(-n // s)) for n in range(1, 40)], weight=2,
      hint="The ceiling makes steps: of several numbers with the same peak the smallest is asked, and rounding the square root does not find it.")
check("long chains", lambda: [best_segments(start + n) for n in range(20)], [min(range(1, start + n + 1), key=lambda s: s + -(-(start + n) // s)) for n in range(20)],
      hint="Of several numbers with the same peak the smallest is asked; compute the model for every candidate.")
check("layers that keep more", lambda: [best_segments(n, kept=more) for n in range(1, 60)], [min(range(1, n + 1), key=lambda s: s + -(-n // s) * more) for n in range(1, 60)], weight=3,
      hint="Inputs count one unit, a layer that is rebuilt counts kept. Of several numbers with the same peak the smallest is asked.")
check("kept need not be whole", lambda: [best_segments(start, kept=kept) for kept in (1.5, 18.25, 32.001)], [min(range(1, start + 1), key=lambda s: s + -(-start // s) * kept) for kept in (1.5, 18.25, 32.001)],
      hint="kept may be any number from 1 on; only the number of layers in a segment is rounded.")
check("hundreds of layers", lambda: [best_segments(n) for n in (442, 485, 962, 1850, 20_000)], [min(range(1, n + 1), key=lambda s: s + -(-n // s)) for n in (442, 485, 962, 1850, 20_000)],
      hint="The smallest number with the lowest peak moves away from the square root as n grows. Compute the model for every candidate, not for those next to the root or up to a limit.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ### The curve, measured: where the square root holds
#
# 36 layers of Linear and Tanh. Tanh keeps its output, and the next Linear keeps the same storage. So such a layer keeps as much as its input, `A = a`. The peak is measured by the tracer of chapter 02, over a whole training step.
#
# **Predict.** Where is the minimum, and how high are both ends?

# %% tags=["demo"]
from autograder.lab import peak_bytes, plot_sweep

n_layers, rows, width = 36, 128, 32
unit = 4 * rows * width
deep = nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(n_layers)])
batch = torch.randn(rows, width)
deep(batch).sum().backward()

def sequential(layers, x, segments):
    torch.utils.checkpoint.checkpoint_sequential(layers, segments, x, use_reentrant=False).sum().backward()


peaks = {s: peak_bytes(sequential, deep, batch, s) for s in (1, 2, 3, 6, 12, 18, 36)}
plain = peak_bytes(lambda: deep(batch).sum().backward())
for segments, peak in peaks.items():
    print(f"{segments:>3} segments: {peak / unit:6.2f} inputs   model {segments + -(-n_layers // segments):>3}")
plot_sweep(peaks, lambda s: unit * (s + n_layers / s), plain, (unit, "in inputs of a layer"), "36 layers of Linear and Tanh, one training step")

# %% [markdown]
# **Explain.** The minimum lies at √36 = 6 segments, where both parts are 6. More segments cost memory again, because inputs are kept too. At both ends nothing is gained. The measured peak is the model and a constant of a fraction of a unit: small change, such as
# a weight's gradient before it is added to `.grad`.
#
# ### Why one checkpoint per block wins
#
# Now 48 of the transformer blocks of chapter 02. "√48 is about 7, so cut into 6 or 8", says one colleague. "One per block", says another.
#
# **Predict.** How many times its own input does a block keep? Who is right?

# %% tags=["demo"]
threads = torch.get_num_threads()
torch.set_num_threads(1)  # tensors as small as these are slower on several
many = nn.Sequential(*[Block(16, 2, 64) for _ in range(48)])
tokens = torch.randn(2, 16, 16, requires_grad=True)
sequential(many, tokens, 48)  # fills .grad

a = tokens.nbytes
A = saved_ledger(many[0], tokens, params=many[0].parameters()).storage_bytes
print(f"a block keeps {A / a:.2f} times its input; the root of 48 is {48**0.5:.1f}, of 48 · A / a it is {(48 * A / a) ** 0.5:.1f}\n")
peaks = {s: peak_bytes(sequential, many, tokens, s) for s in (6, 8, 12, 24, 48)}
for segments, peak in peaks.items():
    print(f"{segments:>3} segments: {peak / a:7.1f} inputs   model {segments + 48 // segments * A / a:7.1f}")
plain = peak_bytes(lambda: many(tokens).sum().backward())
torch.set_num_threads(threads)
plot_sweep(peaks, lambda s: s * a + 48 / s * A, plain, (a, "in inputs of a block"), "48 transformer blocks, one training step")

# %% [markdown]
# **Explain.** A block keeps many times its input: norms, q, k, v, attention weights, and the wide tensors of the MLP. So rebuilding a block is dear, and keeping an input is cheap. Six or eight segments peak at about twice what one per block does. The
# lowest point is at 24 segments of two blocks, and one per block comes close to it.
#
# Between 24 and 48 there is nothing to win: the longest segment has two blocks at 25 segments as at 24. So one per block is the best of all as soon as `A / a` is larger than half the number of layers. And it needs no counting,
# no list of layers to cut, and each block may be different. Block by block is a good first choice.
#
# **Predict** for the block of chapter 02's curve (hidden 4096, 32 heads, MLP 16384, sequence 2048): how large is `A / a`? Up to how many layers is one per block the best?

# %% tags=["demo"]
seq, hidden, heads, ffn = 2048, 4096, 32, 16384
ratio = (8 * seq * hidden + heads * seq * seq + 2 * seq * ffn + 4 * seq) / (seq * hidden)
print(f"A / a = {ratio:.2f}, so up to {int(2 * ratio)} layers")
for s in (6, 16, 32):
    print(f"32 layers in {s:>2} segments: {s + -(-32 // s) * ratio:6.1f} inputs")

# %% [markdown]
# ### What it costs
#
# A checkpointed forward runs twice. `checkpoint_sequential` leaves the *last* segment plain, because that would be rebuilt at once anyway.
#
# **Predict.** How many products do forward and redo of the 36 layers need, in 1, 2, 3, 6 and 36 segments? And with a checkpoint around every layer, the last too?

# %% tags=["demo"]
from torch.utils._python_dispatch import TorchDispatchMode


class Products(TorchDispatchMode):
    """Counts the products of forward and redo. Those of backward itself have another name, mm."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += func is torch.ops.aten.addmm.default
        return func(*args, **(kwargs or {}))


def products(step):
    with Products() as seen:
        step()
    return seen.count


def each():
    h = batch
    for layer in deep:
        h = torch.utils.checkpoint.checkpoint(layer, h, use_reentrant=False)
    h.sum().backward()


print("segments                         ", [1, 2, 3, 6, 36])
print("products by checkpoint_sequential", [products(lambda: sequential(deep, batch, s)) for s in (1, 2, 3, 6, 36)])
print("every layer in a checkpoint      ", products(each))

# %% [markdown]
# With `s` segments `checkpoint_sequential` redoes (s - 1) / s of a forward pass. With one segment it redoes nothing: it *is* the plain run. With every segment under a checkpoint the extra work is one forward pass, less what early stop spares, wherever you cut. So the price hardly depends on the number of segments. Time is another matter: every checkpoint has a cost of its own, which shows when layers are small. Measure that on your device.
#
# **Predict.** 10 layers in 4 segments. How does `checkpoint_sequential` cut?

# %% tags=["demo"]
tags = [Says(str(i), torch.tanh) for i in range(10)]
cuts = torch.utils.checkpoint.checkpoint_sequential(nn.Sequential(*tags), 4, torch.randn(2, requires_grad=True), use_reentrant=False)
print("backward:")
cuts.sum().backward()

# %% [markdown]
# Backward redoes 4, 5, then 2, 3, then 0, 1. The last four ran plainly. It rounds the length down, and gives the rest to the last segment. Yours will do better.
#
# ### Exercise: `chain`
# Difficulty: ●●●○○ · about 15 minutes
#
# Run a list of layers one after the other, cut into segments as equal as can be, with every segment under a checkpoint.
#
# <details><summary>Stuck?</summary>
#
# Cut points at `n * i // segments`, for i from 0 to segments, give lengths that differ by at most one.
# </details>
# <details><summary>Still stuck?</summary>
#
# The function under the checkpoint runs again in backward, when your loop is long over. Which layers does it see then, if it reads them from the loop's variable?
# </details>

# %% nbgrader={"grade": false, "grade_id": "chain", "locked": false, "schema_version": 3, "solution": true, "task": false}
def chain(layers: list[Callable], x: torch.Tensor, segments: int) -> torch.Tensor:
    """Run `layers` one after the other in `segments` checkpointed runs.

    Parameters
    ----------
    layers : list of callable
        Each maps a tensor to a tensor; it need not be a Module. The list is not changed.
    x : Tensor
        Of any dtype: where the first layer is an embedding, integers.
    segments : int
        1 <= segments <= len(layers).

    Returns
    -------
    Tensor
        As running the layers one by one, an error in a layer included. Every run is checkpointed, the last too, and their lengths differ by at
        most one. x gets its gradient when it requires one, and weights get theirs also when x needs none. Random numbers repeat in backward. x
        itself is left as it was. Under no_grad the layers run all the same.

    Raises
    ------
    ValueError
        If segments is out of range.
    """
    ### BEGIN SOLUTION
    # Why this shape: n * i // segments spreads the rest over the runs, where a rounded length leaves it to the last one. `part=` gives each function
    # its own layers; a closure over `begin` and `end` would read them when backward comes, long after the loop.
    if not 1 <= segments <= len(layers):
        raise ValueError(f"segments must lie between 1 and {len(layers)}, not {segments}.")
    cuts = [len(layers) * i // segments for i in range(segments + 1)]
    for begin, end in zip(cuts, cuts[1:]):

        def segment(x, part=layers[begin:end]):
            for layer in part:
                x = layer(x)
            return x

        x = torch.utils.checkpoint.checkpoint(segment, x, use_reentrant=False)
    return x
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-chain", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
class Logged(nn.Module):
    """tanh(x * weight) that writes its number into a log when it runs."""

    def __init__(self, number, log, width=3):
        super().__init__()
        self.number, self.log = number, log
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, width) + 0.1 * number)

    def forward(self, x):
        self.log.append(self.number)
        return torch.tanh(x * self.weight)


class Calls(nn.Module):
    """A module around a function."""

    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x):
        return self.fn(x)


def redone(n, segments, needs_grad=True):
    """What backward runs again: the numbers of the layers, sorted, and the lengths of the runs, sorted."""
    log = []
    out = chain([Logged(i, log) for i in range(n)], torch.ones(3, requires_grad=needs_grad), segments)
    del log[:]
    out.sum().backward()
    cuts = [i for i in range(1, len(log)) if log[i] != log[i - 1] + 1]
    return {"layers": sorted(log), "lengths": sorted(end - begin for begin, end in zip([0, *cuts], [*cuts, len(log)]))}


def plain_chain(layers, x, segments):
    for layer in layers:
        x = layer(x)
    return x


def weight_grads(run, n, segments, x):
    layers = [Logged(i, []) for i in range(n)]
    run(list(layers), x, segments).square().sum().backward()
    return [layer.weight.grad for layer in layers]


def noisy(run, segments):
    """Weight gradients of a chain with dropout, random numbers drawn before backward."""
    torch.manual_seed(21)
    layers = [Logged(0, [], 40), nn.Dropout(0.5), Logged(1, [], 40), nn.Dropout(0.5), Logged(2, [], 40)]
    out = run(list(layers), wide.clone().requires_grad_(), segments)
    torch.rand(5)
    out.sum().backward()
    return [layers[i].weight.grad for i in (0, 2, 4)]


def left_alone():
    """What chain leaves of x: whether it requires a gradient, its .grad, its version, its values."""
    mine = x.clone()
    out = chain([Logged(i, []) for i in range(4)], mine, 2)
    if out.requires_grad:
        out.sum().backward()
    return mine.requires_grad, mine.grad, mine._version, mine


def input_grad(run):
    leaf = x.clone().requires_grad_()
    run([Logged(i, []) for i in range(5)], leaf, 2).sum().backward()
    return [leaf.grad]


def trig(run, dtype=torch.float32, wrap=None):
    """Output and gradient of a chain of three functions, as modules or, with wrap, as they are."""
    leaf = x.to(dtype).clone().requires_grad_()
    out = run([(wrap or Calls)(fn) for fn in (torch.tanh, torch.sin, lambda t: t * t)], leaf, 2)
    out.sum().backward()
    return out, leaf.grad


def as_it_is(fn):
    return fn


def tokens(run):
    """Output, and the gradient of the table, of a chain that begins with an embedding."""
    table = nn.Parameter(torch.linspace(-1.0, 1.0, 12).view(4, 3))
    out = run([Calls(lambda t: F.embedding(t, table)), Calls(torch.tanh), Calls(torch.sin)], torch.tensor([3, 0, 3]), 2)
    out.sum().backward()
    return out, table.grad


def left_of_the_list():
    """The numbers of the layers that the caller's list holds afterwards, in its order."""
    mine = [Logged(i, []) for i in range(5)]
    chain(mine, x, 2)
    return [layer.number for layer in mine]


def without_a_graph():
    with torch.no_grad():
        return chain([Calls(torch.tanh), Calls(torch.sin), Calls(torch.exp)], x, 2)


def breaks(t):
    raise ZeroDivisionError("a layer of the caller's")


x, wide = torch.tensor([0.5, -1.0, 2.0]), torch.linspace(-1.0, 1.0, 40)
check = Check("chain", points=4)
check("the output of seven layers in three runs", lambda: chain([Logged(i, []) for i in range(7)], torch.ones(3), 3).detach(), plain_chain([Logged(i, []) for i in range(7)], torch.ones(3), 3).detach(),
      hint="The layers run one after the other, each exactly once in forward.")
check("seven layers in three runs", lambda: redone(7, 3), {"layers": [0, 1, 2, 3, 4, 5, 6], "lengths": [2, 2, 3]}, weight=2,
      wrong=[(lambda v: v["lengths"] == [2, 2] and v["layers"] == [0, 1, 2, 3], "The last run was not redone. It is checkpointed too."),
             (lambda v: v["layers"] in ([0], []), "Nothing was redone: there is no checkpoint."),
             (lambda v: v["layers"] != list(range(7)), "Not every layer was redone once. Each run redoes its own layers: mind closures over a loop variable, which see the last run."),
             (lambda v: v["lengths"] == [1, 3, 3], "Lengths differ by two. Distribute the rest: cut at n * i // segments."),
             (lambda v: len(v["lengths"]) > 3, "There were more runs than segments."),
             (lambda v: len(v["lengths"]) == 3, "Lengths may differ by at most one. Distribute the rest: cut at n * i // segments.")])
check.raises("no segments", lambda: chain([nn.Tanh()], torch.ones(2), 0), ValueError)
check.raises("more segments than layers", lambda: chain([nn.Tanh(), nn.Sigmoid()], torch.ones(2), 3), ValueError)
check.raises("fewer than none", lambda: chain([nn.Tanh(), nn.Sigmoid()], torch.ones(2), -1), ValueError,
             hint="segments must be at least 1; everything else is a ValueError, a negative number too.")
check("eleven layers in four runs", lambda: redone(11, 4)["lengths"], [2, 3, 3, 3],
      wrong=[(lambda v: max(v) - min(v) > 1, "Lengths may differ by at most one. Rounding the length up or down leaves a rest for the last run; distribute it: cut at n * i // segments.")],
      hint="Every run is checkpointed, and each layer is redone exactly once.")
check("the weights' gradients, when x needs none", lambda: weight_grads(chain, 4, 2, x), weight_grads(plain_chain, 4, 2, x),
      hint="x requires no gradient, but the weights do. The reentrant variant cuts the graph there; use_reentrant=False does not.")
check("the gradient of x, and x left alone", lambda: [input_grad(chain), left_alone()], [input_grad(plain_chain), (False, None, 0, x)],
      wrong=[(lambda v: v[0] == [None], "x required a gradient and got none: do not detach it."),
             (lambda v: v[1][0], "x requires a gradient now. It belongs to the caller: do not call requires_grad_() on it.")],
      hint="x gets a gradient where it requires one, and is not changed in any other way.")
check("an embedding comes first", lambda: tokens(chain), tokens(plain_chain),
      hint="The first layer is an embedding, so x holds integers, which take no gradient. use_reentrant=False needs none.")
check("plain functions as layers", lambda: trig(chain, wrap=as_it_is), trig(plain_chain, wrap=as_it_is),
      hint="A layer is any callable, torch.tanh too. nn.Sequential takes modules only; a loop calls everything.")
check("random numbers repeat", lambda: noisy(chain, 2), noisy(plain_chain, 2), hint="The second run has to draw the same dropout masks: leave preserve_rng_state on.")
check("no graph wanted", without_a_graph, plain_chain([torch.tanh, torch.sin, torch.exp], x, 2),
      hint="Where the caller records no graph, the layers run all the same.")
check("the caller's list", left_of_the_list, [0, 1, 2, 3, 4],
      hint="The list belongs to the caller: cut it with slices, layers[begin:end], and take nothing out of it.")
check.raises("a layer that raises", lambda: chain([nn.Tanh(), Calls(breaks)], torch.ones(2), 1), ZeroDivisionError,
             hint="The error that a layer raises goes to the caller as it is.")
### BEGIN HIDDEN TESTS
segments = int(torch.randint(4, 7, ()))
n = 2 * segments + int(torch.randint(2, segments, ()))  # at least two runs are longer than the others
x, wide = torch.randn(3), torch.randn(40)
check.raises("a number far below zero", lambda: chain([nn.Tanh(), nn.Sigmoid()], torch.ones(2), -2), ValueError,
             hint="segments must be at least 1; everything else is a ValueError, a negative number too.")
check("another chain", lambda: redone(n, segments)["lengths"], sorted([n // segments] * (segments - n % segments) + [n // segments + 1] * (n % segments)), weight=2,
      wrong=[(lambda v: max(v) - min(v) > 1, "Lengths may differ by at most one. Rounding the length up or down leaves a rest for the last run; distribute it: cut at n * i // segments.")],
      hint="Every run is checkpointed, and each layer is redone exactly once.")
check("one run, and one per layer", lambda: [redone(6, 1), redone(5, 5)], [{"layers": [0, 1, 2, 3, 4, 5], "lengths": [6]}, {"layers": [0, 1, 2, 3, 4], "lengths": [1, 1, 1, 1, 1]}],
      hint="segments may be 1 or len(layers); every run is checkpointed.")
check("each layer once, in its own run", lambda: redone(n, segments, needs_grad=False)["layers"], list(range(n)), weight=2,
      hint="In backward each layer runs exactly once, also when x needs no gradient. A closure over a loop variable sees the last run; a reentrant checkpoint needs an input that requires a gradient.")
check("weights, when x needs no gradient", lambda: weight_grads(chain, n, segments, x), weight_grads(plain_chain, n, segments, x), weight=2,
      hint="x requires no gradient, but the weights do. The reentrant variant cuts the graph there; use_reentrant=False does not.")
check("the gradient of x", lambda: input_grad(chain), input_grad(plain_chain), weight=2, hint="When x requires a gradient it gets one: do not detach it.")
check("an embedding first", lambda: tokens(chain), tokens(plain_chain), weight=2,
      hint="The first layer is an embedding, so x holds integers, which take no gradient. use_reentrant=False needs none.")
check("float64", lambda: trig(chain, torch.float64), trig(plain_chain, torch.float64), weight=2,
      hint="x keeps its dtype: layers get what the layer before them gave.")
check("under no_grad", without_a_graph, plain_chain([torch.tanh, torch.sin, torch.exp], x, 2),
      hint="Where the caller records no graph, the layers run all the same.")
check("the list of layers is left as it was", left_of_the_list, [0, 1, 2, 3, 4],
      hint="The list belongs to the caller: cut it with slices, layers[begin:end], and take nothing out of it.")
check.raises("an error in a layer", lambda: chain([nn.Tanh(), Calls(breaks)], torch.ones(2), 2), ZeroDivisionError,
             hint="The error that a layer raises goes to the caller as it is.")
check("layers that are no modules", lambda: trig(chain, wrap=as_it_is), trig(plain_chain, wrap=as_it_is), weight=2,
      hint="A layer is any callable, torch.tanh too. nn.Sequential takes modules only; a loop calls everything.")
check("dropout masks repeat", lambda: noisy(chain, 2), noisy(plain_chain, 2), weight=2, hint="The second run has to draw the same dropout masks: leave preserve_rng_state on.")
check("x is left as it was", lambda: left_alone(), (False, None, 0, x),
      wrong=[(lambda v: v[0], "x requires a gradient now. It belongs to the caller: do not call requires_grad_() on it.")], hint="x belongs to the caller: do not change it.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 5. Keep the products, redo the rest
#
# Counted in multiplications, nearly all the work of a transformer block is in its matrix products. Yet much of what it keeps is cheap to compute again: norms, softmax, GELU. *Selective* checkpointing asks a policy about every operation: keep its
# output, or compute it again? The policy is called as `policy(ctx, op, *args, **kwargs)`, and `op` is an *overload* such as `torch.ops.aten.mm.default`.
#
# **Predict.** Is `torch.ops.aten.mm.default in {torch.ops.aten.mm}` true?

# %% tags=["demo"]
print("overload:", torch.ops.aten.mm.default, "| packet:", torch.ops.aten.mm)
print("overload in a set of packets: ", torch.ops.aten.mm.default in {torch.ops.aten.mm})
print("its packet in a set of packets:", torch.ops.aten.mm.default.overloadpacket in {torch.ops.aten.mm})

# %% [markdown]
# A set of packets matches nothing. The policy then recomputes everything, and there is no error.
#
# ### Exercise: `save_matmuls`
# Difficulty: ●●○○○ · about 12 minutes
#
# Write a policy that keeps the output of every matrix product, fused attention included, and has everything else computed again.
#
# <details><summary>Stuck?</summary>
#
# Name what is kept, and recompute the rest; the other way round you will forget something. An overload knows its packet, `op.overloadpacket`, and that has a name.
# </details>
# <details><summary>Still stuck?</summary>
#
# The docstring names four products. What do the names of the attention operations have in common? Compare whole names: `lgamma` has an mm in it, too.
# </details>

# %% nbgrader={"grade": false, "grade_id": "save_matmuls", "locked": false, "schema_version": 3, "solution": true, "task": false}
def save_matmuls(ctx, op, *args, **kwargs) -> CheckpointPolicy:
    """A policy for selective checkpointing: keep matrix products, recompute the rest.

    Parameters
    ----------
    ctx : torch.utils.checkpoint.SelectiveCheckpointContext
        `ctx.is_recompute` tells forward from recomputation. The answer is the same in both.
    op : torch._ops.OpOverload
        For example `torch.ops.aten.mm.default`.

    Returns
    -------
    CheckpointPolicy
        MUST_SAVE or PREFER_SAVE for mm, addmm, bmm, baddbmm and the fused attention operations
        (`_scaled_dot_product_flash_attention`, `..._flash_attention_for_cpu`, `..._efficient_attention`, `..._cudnn_attention`);
        MUST_RECOMPUTE or PREFER_RECOMPUTE for everything else. (mv, dot and convolutions are not asked.)
    """
    ### BEGIN SOLUTION
    # Why this shape: products are named, everything else falls through. The packet's name takes in every overload. `ctx.is_recompute` is not asked: what
    # forward kept is what the recomputation looks for.
    name = op.overloadpacket.__name__
    attention = name.startswith("_scaled_dot_product_") and "attention" in name
    if attention or name in ("mm", "addmm", "bmm", "baddbmm"):
        return CheckpointPolicy.MUST_SAVE
    return CheckpointPolicy.PREFER_RECOMPUTE
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-save_matmuls", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from functools import partial
from types import SimpleNamespace

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import create_selective_checkpoint_contexts


class Tally(TorchDispatchMode):
    """Counts the operations that really run."""

    def __init__(self):
        super().__init__()
        self.counts = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        self.counts[name] = self.counts.get(name, 0) + 1
        return func(*args, **(kwargs or {}))


def tally(fn, *args, policy=None):
    """How often each operation runs in forward and backward, plainly or under a selective checkpoint."""
    with Tally() as seen:
        if policy is None:
            out = fn(*args)
        else:
            context = partial(create_selective_checkpoint_contexts, policy)
            out = torch.utils.checkpoint.checkpoint(fn, *args, use_reentrant=False, context_fn=context)
        out.sum().backward()
    return seen.counts


def pick(counts, *names):
    return [counts.get(name, 0) for name in names]


def asked(*ops, redo=False):
    """The policy's answers."""
    return [save_matmuls(SimpleNamespace(is_recompute=redo), op) for op in ops]


aten = torch.ops.aten
block = Block(8, 2, 12)
sample = torch.linspace(-1.0, 1.0, 48).view(2, 3, 8).requires_grad_()
check = Check("save_matmuls", points=4)
check.that("a matrix product is kept", lambda: asked(aten.mm.default), lambda v: all(item in ("MUST_SAVE", "PREFER_SAVE") for item in v),
           wrong=[(lambda v: any(type(item) is bool or item is None for item in v), "A CheckpointPolicy is asked here, neither True or False nor None: MUST_SAVE or PREFER_SAVE, MUST_RECOMPUTE or PREFER_RECOMPUTE."),
                  (lambda v: all(item in ("MUST_RECOMPUTE", "PREFER_RECOMPUTE") for item in v), "op is an overload, aten.mm.default. It is not equal to the packet aten.mm: compare overloads, or op.overloadpacket.")],
           hint="Return a CheckpointPolicy.")
check.that("an exponential is recomputed", lambda: asked(aten.exp.default), lambda v: all(item in ("MUST_RECOMPUTE", "PREFER_RECOMPUTE") for item in v),
           wrong=[(lambda v: any(type(item) is bool or item is None for item in v), "A CheckpointPolicy is asked here, neither True or False nor None: MUST_SAVE or PREFER_SAVE, MUST_RECOMPUTE or PREFER_RECOMPUTE.")],
           hint="Only matrix products are kept. A policy that keeps everything saves no memory.")
check.that("the four kinds of products, and fused attention", lambda: asked(aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default, aten._scaled_dot_product_flash_attention.default, aten._scaled_dot_product_flash_attention_for_cpu.default, aten._scaled_dot_product_efficient_attention.default, aten._scaled_dot_product_cudnn_attention.default),
           lambda v: all(item in ("MUST_SAVE", "PREFER_SAVE") for item in v),
           hint="mm, addmm, bmm and baddbmm are matrix products, and the operations named _scaled_dot_product_..._attention hold two each. In this order: which answer is no SAVE?")
check.that("everything else", lambda: asked(aten.gelu.default, aten._softmax.default, aten.softmax.int, aten._log_softmax.default, aten.native_dropout.default, aten.div.Tensor, aten.cat.default, aten.clone.default, aten._to_copy.default, aten.embedding.default, aten.index.Tensor, aten.lgamma.default, aten.view.default, aten.tanh.default, aten.native_layer_norm.default),
           lambda v: all(item in ("MUST_RECOMPUTE", "PREFER_RECOMPUTE") for item in v),
           hint="Something that is no matrix product is kept: gelu, softmax, dropout, div, cat, clone, a cast, embedding, an index, lgamma, view, tanh or a norm. Name the products, by whole names, and recompute everything else.")
check.that("forward and recomputation agree", lambda: [asked(aten.mm.default, aten.gelu.default, redo=False), asked(aten.mm.default, aten.gelu.default, redo=True)],
           lambda v: v[0] == v[1] and v[0][0] != v[0][1],
           wrong=[(lambda v: v[0] == v[1], "The answer is the same in both, but it is also the same for mm and for gelu.")],
           hint="The answer must not depend on ctx.is_recompute: what forward kept is what recomputation looks for.")
check("no product of a block runs more often", lambda: pick(tally(block, sample, policy=save_matmuls), "mm", "addmm", "bmm"), pick(tally(block, sample), "mm", "addmm", "bmm"),
      hint="A product ran again in backward. The products of the block reach the policy as aten.addmm.default and aten.bmm.default.")
### BEGIN HIDDEN TESTS
rows, width = (int(size) for size in torch.randint(2, 7, (2,)))
q = torch.randn(1, 2, rows, 4 * width, requires_grad=True)
w = torch.randn(width, width, requires_grad=True)
batched = torch.randn(rows, width, width, requires_grad=True)


def every_product(x, batched):
    y = torch.addmm(w[0], x, w).tanh() @ w
    return torch.baddbmm(batched, batched, batched).tanh() @ y.t().unsqueeze(0).expand(rows, width, rows)


check.that("every kind of product is kept", lambda: asked(aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default), lambda v: all(item in ("MUST_SAVE", "PREFER_SAVE") for item in v),
           hint="mm, addmm, bmm and baddbmm are all matrix products; op is an overload of them, such as aten.addmm.default.")
check.that("fused attention is kept", lambda: asked(aten._scaled_dot_product_flash_attention.default, aten._scaled_dot_product_efficient_attention.default, aten._scaled_dot_product_cudnn_attention.default, aten._scaled_dot_product_flash_attention_for_cpu.default),
           lambda v: all(item in ("MUST_SAVE", "PREFER_SAVE") for item in v), hint="The operations named _scaled_dot_product_...attention hold two products each; keep their outputs.")
check.that("the rest is recomputed", lambda: asked(aten.add.Tensor, aten.mul.Tensor, aten.gelu.default, aten._softmax.default, aten.native_layer_norm.default, aten.t.default, aten.view.default, aten.transpose.int, aten.sum.default, aten.lgamma.default, aten.relu.default),
           lambda v: all(item in ("MUST_RECOMPUTE", "PREFER_RECOMPUTE") for item in v),
           hint="Something that is no matrix product is kept. Match whole names: lgamma has an mm in it too. A policy that keeps everything saves no memory.")
check.that("dropout, activations, copies and look-ups too", lambda: asked(aten.native_dropout.default, aten.bernoulli.p, aten.div.Tensor, aten.sub.Tensor, aten.exp.default, aten.log.default, aten.sqrt.default, aten.rsqrt.default, aten.pow.Tensor_Scalar,
                                                                          aten.mean.dim, aten.amax.default, aten.tanh.default, aten.sigmoid.default, aten.silu.default, aten.erf.default, aten.softmax.int, aten._log_softmax.default, aten.native_batch_norm.default, aten.where.self,
                                                                          aten.cat.default, aten.clone.default, aten._to_copy.default, aten._unsafe_view.default, aten.expand.default, aten.slice.Tensor, aten.embedding.default, aten.index.Tensor, aten.addcmul.default),
           lambda v: all(item in ("MUST_RECOMPUTE", "PREFER_RECOMPUTE") for item in v),
           hint="Something that is no matrix product is kept: a dropout, a division, an activation, a norm, a copy or a look-up. Name the products and recompute everything else, not the other way round.")
check.that("the same answer when recomputing", lambda: [asked(aten.mm.default, aten.bmm.default, aten.gelu.default, redo=False), asked(aten.mm.default, aten.bmm.default, aten.gelu.default, redo=True)],
           lambda v: v[0] == v[1] and len(set(v[0])) == 2 and v[0][0] == v[0][1],
           wrong=[(lambda v: v[0] == v[1] and len(set(v[0])) == 1, "The answer is the same in both, but it is also the same for products and for everything else.")], hint="The answer must not depend on ctx.is_recompute: what forward kept is what recomputation looks for.")
check("products in a real run", lambda: pick(tally(every_product, torch.randn(rows, width, requires_grad=True), batched, policy=save_matmuls), "mm", "addmm", "bmm", "baddbmm"), pick(tally(every_product, torch.randn(rows, width, requires_grad=True), batched), "mm", "addmm", "bmm", "baddbmm"),
      hint="A product ran again in backward: keep mm, addmm, bmm and baddbmm, by their overloads.")
check("attention in a real run", lambda: tally(lambda q: F.scaled_dot_product_attention(q, q, q).sin(), q, policy=save_matmuls).get("_scaled_dot_product_flash_attention_for_cpu", 0), tally(lambda q: F.scaled_dot_product_attention(q, q, q).sin(), q).get("_scaled_dot_product_flash_attention_for_cpu", 0),
      hint="The fused attention ran again in backward. On a CPU it is aten._scaled_dot_product_flash_attention_for_cpu.default.")
check("what is cheap does run again", lambda: pick(tally(block, sample, policy=save_matmuls), "gelu", "_softmax"), [2, 2],
      wrong=[([1, 1], "Nothing was recomputed: the policy keeps everything, and no memory is saved.")], hint="GELU and softmax are recomputed once.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ### Two stores
#
# **Predict.** A block is checkpointed, and the policy keeps the products. How many bytes do saved-tensor hooks around it see: all that is kept, or less?

# %% tags=["demo"]
from functools import partial

import matplotlib.pyplot as plt

from torch.utils.checkpoint import create_selective_checkpoint_contexts

products = {torch.ops.aten.mm.default, torch.ops.aten.addmm.default, torch.ops.aten.bmm.default}


def keep_products(ctx, op, *args, **kwargs):
    return CheckpointPolicy.MUST_SAVE if op in products else CheckpointPolicy.PREFER_RECOMPUTE


batch_size, seq, hidden, heads, ffn = 4, 32, 64, 4, 256
block = Block(hidden, heads, ffn)
x = torch.randn(batch_size, seq, hidden, requires_grad=True)
block(x).sum().backward()
context = partial(create_selective_checkpoint_contexts, keep_products)
settings = {
    "none": block,
    "selective": lambda x: torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False, context_fn=context),
    "full": lambda x: torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False),
}
n = batch_size * seq * hidden
scores, inner = heads * batch_size * seq * seq, batch_size * seq * ffn
by_hand = {"none": 8 * n + scores + 2 * inner + 4 * batch_size * seq, "selective": 7 * n + scores + inner, "full": n}
output_bytes = 4 * n  # the block's output is alive after forward, but nothing keeps it for backward


print(f"{'':<12}{'by hand':>12}{'hooks':>12}{'own store':>12}{'sum':>12}{'peak of a step':>16}")
bars = {}
for name, setting in settings.items():
    hooks = saved_ledger(setting, x, params=block.parameters()).storage_bytes
    seen = trace(lambda: (setting(x), torch.empty(0)))  # one more operation, when the temporaries are gone
    alive = seen.moments[-1].live - output_bytes  # beyond x, which was there before
    store = alive - (hooks - 4 * n)
    peak = peak_bytes(lambda: setting(x).sum().backward())
    bars[name] = (hooks, store)
    print(f"{name:<12}{4 * by_hand[name]:>12,}{hooks:>12,}{store:>12,}{hooks + store:>12,}{peak:>16,}")

figure, axes = plt.subplots(figsize=(9, 2.8), layout="constrained", facecolor="white")
for row, (hooks, store) in enumerate(bars.values()):
    axes.barh(row, hooks / 1024, height=0.6, color="#4c72b0", label="seen by hooks" if row == 0 else None)
    axes.barh(row, store / 1024, left=hooks / 1024, height=0.6, color="#dd8452", label="in the checkpoint's own store" if row == 0 else None)
    parts = f"{hooks / 1024:,.0f}" + (f" + {store / 1024:,.0f}" if store else "")
    axes.text((hooks + store) / 1024, row, f" {parts} KiB", va="center", fontsize=10)
axes.set_yticks(range(3), list(bars))
axes.invert_yaxis()
axes.set_xlim(0, 1.22 * sum(bars["none"]) / 1024)
axes.set_xlabel("KiB")
axes.spines[["top", "right"]].set_visible(False)
axes.set_title("one block: what is kept between forward and backward", fontsize=10, loc="left")
axes.legend(fontsize=9, loc="lower right")
plt.show()

# %% [markdown]
# **Explain.** Hooks see the input only, as with a full checkpoint. The outputs of the products lie in a store of the checkpoint's own, outside the hooks. A ledger by hooks alone would report a saving that is not there: count both.
#
# By hand: `7·n + heads·batch·seq² + batch·seq·ffn` elements. That is the *block's* input, and the output of every one of its eight products. The inputs of the products in between are computed again.
#
# The last column shows that for *one* block a checkpoint hardly lowers the peak of the step, and a selective one raises it. When its turn comes, the block is rebuilt, beside whatever the store holds. Checkpoints pay when many blocks wait.
#
# **Predict** for eight blocks: the order of the three peaks.

# %% tags=["demo"]
blocks = nn.ModuleList([Block(64, 4, 256) for _ in range(8)])
asked = 0


def keep_and_count(ctx, op, *args, **kwargs):
    global asked
    asked += 1
    return keep_products(ctx, op)


def model(setting):
    h = x
    for item in blocks:
        if setting == "none":
            h = item(h)
        else:
            options = {"context_fn": partial(create_selective_checkpoint_contexts, keep_and_count)} if setting == "selective" else {}
            h = torch.utils.checkpoint.checkpoint(item, h, use_reentrant=False, **options)
    h.sum().backward()


model("none")
for setting in ("none", "selective", "full"):
    print(f"8 blocks, {setting:<10} peak {peak_bytes(model, setting):>11,} bytes")
asked = 0
model("selective")
print(f"the policy was asked {asked:,} times in one step")

# %% [markdown]
# With eight blocks the order is clear. Mind the last line: the policy is called for every operation of forward, in Python. (Seen on torch 2.13: in forward only. Another version may ask again in the second run, so answer alike in both.) Whether keeping the products pays for that depends on how large they are. Measure it with
# your sizes, on your device.

# %% [markdown]
# ## On a GPU
#
# With CUDA, the next cell measures 64 layers of Linear and Tanh by the allocator's statistics, with times: medians of five rounds in which the settings take turns. Counted in products, a backward is twice a forward, so one more forward is a third more work. See whether the times say the same. Without CUDA
# the cell prints the peaks to expect, from the model: the curve of section 4 in units of 32 MiB.

# %% tags=["demo"]
from autograder.lab import show_recording, sweep_segments

n_layers, rows, width = 64, 4096, 2048
unit = 4 * rows * width  # bytes of a layer's input in float32


def on_gpu():
    deep = nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(n_layers)]).cuda()
    batch = torch.randn(rows, width, device="cuda")
    deep(batch).sum().backward()
    return sweep_segments(lambda s: sequential(deep, batch, s), [1, 2, 4, 8, 16, 32, 64], repeats=5)


if torch.cuda.is_available():
    for point in on_gpu():
        print(f"{point.segments:>4} segments: {point.peak:>14,} bytes = {point.peak / unit:6.2f} units, {1e3 * point.seconds:8.2f} ms")
else:
    for segments in (1, 2, 4, 8, 16, 32, 64):
        expected = segments + n_layers // segments
        print(f"{segments:>4} segments: expect about {expected:>3} units = {expected * unit / 2**20:>5,.0f} MiB")
show_recording("03-checkpointing")

# %% [markdown]
# ## Help, I get this error
#
# <details><summary><code>CheckpointError: ... A different number of tensors was saved during the original forward and recomputation</code></summary>
#
# Something that the function reads changed between forward and backward: a global flag, `model.eval()`, a cache filled by the first run.
# </details>
# <details><summary><code>UserWarning: None of the inputs have requires_grad=True. Gradients will be None</code></summary>
#
# The reentrant variant, and no argument requires a gradient. Use `use_reentrant=False`. Section 2 shows it.
# </details>
# <details><summary><code>element 0 of tensors does not require grad and does not have a grad_fn</code></summary>
#
# In `checkpoint`, inside `backward`: the second run of `fn` recorded no graph, because grad mode is off there. Wrap it in `with torch.enable_grad():`. In front of `backward`: no input of your Function required a gradient; it needs an anchor.
# </details>
# <details><summary><code>_CheckpointBackward returned an incorrect number of gradients (expected 4, got 2)</code></summary>
#
# `backward` returns one value per argument of `apply`, `fn` and the anchor among them, None where there is no gradient.
# </details>
# <details><summary>In <code>chain</code>, the weights' <code>.grad</code> is None</summary>
#
# A reentrant checkpoint, and `x` requires no gradient. Pass `use_reentrant=False`. Do not call `x.requires_grad_()`: x belongs to the caller.
# </details>
# <details><summary><code>TypeError: ... is not a Module subclass</code></summary>
#
# `nn.Sequential` takes modules only. A loop over the layers calls everything.
# </details>
#
# ## Explain it aloud
#
# A colleague wraps each of 48 transformer blocks in a checkpoint. Another says: "√48 is about seven. Seven segments would need far less memory." Who is right, and why? Answer in a minute, aloud, then write it down: what is kept, what is
# rebuilt, what does it cost? Name one thing that goes wrong when a function runs twice.
#
# It is graded by hand, two points. One point: the inputs of the segments are kept, one segment is rebuilt at a time, `s · a + (n / s) · A`, lowest at √(n · A / a). A block keeps many times its input, so one checkpoint per block needs far less than seven segments; √n
# holds only for layers that keep no more than their input. The price is at most one forward pass, wherever the cuts are. One point: a
# correct example of a consequence of running twice (random numbers, BatchNorm's statistics, other side effects), or of the store that hooks do not see in selective checkpointing.

# %% [markdown] nbgrader={"grade": true, "grade_id": "explain-03-checkpointing", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# The first colleague is right. A checkpoint keeps the input of its segment and throws away the rest; in backward one segment at a time is rebuilt, and everything its layers save is alive together. So the peak is about s inputs plus n / s times what a layer saves. If a layer saves no more than its
# input, the two balance at √n segments. A transformer block saves many times its input: the lowest point moves to √(n · A / a), which for these blocks is near 30, and one checkpoint per block is within a tenth of the best, while seven segments need about twice as much. It is also simpler, since nothing has to be cut. The price is
# at most one more forward pass in either case. And the forward does run twice: dropout has to draw the same mask again, which the checkpoint takes care of, but BatchNorm counts every batch twice.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# 1. A checkpoint keeps its function's inputs, and runs the function again in backward, up to the last thing that was saved. A checkpoint around another adds a run only where it saves something after the inner one.
# 2. The second run needs the random state of the first. Every other side effect happens twice.
# 3. The non-reentrant variant trains weights behind frozen inputs. The reentrant one cuts the graph there.
# 4. The peak is about `s · a + (n / s) · A`, lowest at √(n · A / a) segments. That is √n only where a layer keeps no more than its input; for transformer blocks, one checkpoint per block.
# 5. Selective checkpointing keeps products in a store that hooks do not see. Count both.
