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
# # 02 - Activation memory has an exact answer
# [![Open In Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/YOUR-NAME/YOUR-REPOSITORY/blob/main/notebooks/02-saved-tensors/02-saved-tensors.ipynb)

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
try:
    import autograder.lab
except ImportError:  # on Colab: only this project, nothing that is already there is touched
    import subprocess, sys
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps",
                    "git+https://github.com/YOUR-NAME/YOUR-REPOSITORY"], check=True)
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional as F

from autograder.lab import Block, Check, saved_ledger

# %% [markdown]
# The job was sized on paper: weights, gradients, Adam, and "about 20 GB for activations". It ran out of memory at step 1. The profiler put
# 31 GB on the activations, and nobody could name the other eleven.
#
# Activations need no guess. Autograd keeps a list, and you can read it.
#
# **After this chapter you can**
#
# - list every tensor that a forward pass keeps for backward, and count its bytes without double entries;
# - write down the figure for a Linear with GELU, and for a whole transformer block, before anything runs;
# - change what is kept: in fewer bits, on disk, on the CPU;
# - say why the peak is not the same number, and what lies between the two.
#
# **Time:** about 110 minutes, 75 of them for the exercises (both are estimates). **Needs:** chapter 01 (nodes, saved tensors, release after
# backward). What is said about PyTorch here was seen on version 2.13, on a CPU.
#
# **Three questions.** If you can answer them, skip to [chapter 03](../03-checkpointing/03-checkpointing.ipynb).
#
# <details><summary>1. A Linear layer with a frozen input: which tensors does it save?</summary>
#
# Its input, because the weight's gradient needs it. The weight is saved only when the input needs a gradient.
# </details>
# <details><summary>2. Why is <code>data_ptr()</code> a bad key for "the same storage"?</summary>
#
# An address says who lives there now. When a tensor dies during the run, the next one may move in. Only a storage that you hold
# cannot be replaced. Besides, all empty tensors have the address 0.
# </details>
# <details><summary>3. ReLU after a Linear, or GELU after a Linear: which keeps more?</summary>
#
# GELU. ReLU saves its output, which the next Linear saves as well: one storage, counted once. GELU saves its input, which nobody
# else saves, and the next Linear saves GELU's output.
# </details>

# %% [markdown]
# ## 1. Autograd hands over every tensor that it keeps
#
# When an operation needs a tensor in backward, autograd *packs* it. Backward *unpacks* it again. With
# `torch.autograd.graph.saved_tensors_hooks(pack, unpack)` you put two functions of yours there. `pack(tensor)` may return anything.
# `unpack(that)` has to give back the tensor.
#
# **Predict.** An MLP: `F.silu(x @ w1) @ w2`, with `x` of shape [64, 256], `w1` [256, 1024] and `w2` [1024, 256]. All are float32 and require
# gradients. How many tensors are packed? How many bytes?

# %% tags=["demo"]
x = torch.randn(64, 256, requires_grad=True)
w1 = torch.randn(256, 1024, requires_grad=True)
w2 = torch.randn(1024, 256, requires_grad=True)
packed = []


def pack(tensor):
    packed.append((tuple(tensor.shape), tensor.numel() * tensor.element_size()))
    return tensor.detach()


with saved_tensors_hooks(pack, lambda tensor: tensor):
    out = F.silu(x @ w1) @ w2

for shape, nbytes in packed:
    print(f"{shape!s:<14}{nbytes:>12,} bytes")
print(f"{len(packed)} tensors, {sum(nbytes for _, nbytes in packed):,} bytes")

# %% tags=["demo"]
import matplotlib.pyplot as plt


def bars_of_bytes(rows, colors, title):
    """One horizontal bar per row (label, bytes, kind), in the color of its kind."""
    figure, axes = plt.subplots(figsize=(8, 0.9 + 0.34 * len(rows)), layout="constrained", facecolor="white")
    for number, (_, nbytes, kind) in enumerate(rows):
        first = kind not in [earlier for _, _, earlier in rows[:number]]
        axes.barh(number, nbytes / 2**10, color=colors[kind], height=0.65, label=kind if first else None)
        axes.text(nbytes / 2**10, number, f" {nbytes / 2**10:,.1f} KiB", va="center", fontsize=10)
    axes.set_yticks(range(len(rows)), [label for label, _, _ in rows], fontsize=10)
    axes.invert_yaxis()
    axes.set_xlabel("KiB")
    axes.margins(x=0.15)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title, fontsize=10, loc="left")
    axes.legend(fontsize=9, loc="center right")
    plt.show()


names = ["w1", "x", "x @ w1", "w2", "silu(x @ w1)"]
kinds = ["a weight: only a reference", "an activation", "an activation", "a weight: only a reference", "an activation"]
colors = {"a weight: only a reference": "#b9c2ce", "an activation": "#dd8452"}
bars_of_bytes([(name, nbytes, kind) for name, (_, nbytes), kind in zip(names, packed, kinds)], colors, "what the MLP packs, in order of packing")

# %% [markdown]
# **Explain.** Read the bars from top to bottom.
#
# - `x @ w1` needs `w1` for the gradient of `x`, and `x` for the gradient of `w1`. The second operand comes first.
# - `silu` keeps its *input*, `x @ w1`.
# - The second product keeps `w2` and its own input, silu's output.
# - Nobody keeps `out`.
#
# The gray bars are weights. Packing a weight copies nothing: the graph holds a *reference* to it. So the total above is what was
# packed, not what was allocated for backward. Section 3 takes this apart.
#
# **Predict.** How many are packed when `x` needs no gradient?

# %% tags=["demo"]
packed.clear()
with saved_tensors_hooks(pack, lambda tensor: tensor):
    F.silu(x.detach() @ w1) @ w2
print(len(packed), "tensors:", [shape for shape, _ in packed])

# %% [markdown]
# Four. Without a gradient for `x`, nobody needs `w1`. What is saved depends on *who needs a gradient*, not on the operation alone. Freeze the layers below, and the bill changes.
#
# Two habits for pack functions:
#
# - **Return `tensor.detach()`, not `tensor`.** Some operations save their own output (`exp`, `relu`, `softmax`). Then the tensor that
#   arrives *is* that output, with its `grad_fn`. Store it as it is, and the node holds a tensor that holds the node.
# - **Count elements times element size.** `numel()` alone is not bytes.
#
# **Predict** what comes of the first habit when it is missing: is the output still in memory after its last name is deleted and the garbage collector has run?

# %% tags=["demo"]
import gc
import weakref


def survives(pack):
    """Does the storage of an output outlive its last name?"""
    leaf = torch.randn(1000, requires_grad=True)
    with saved_tensors_hooks(pack, lambda tensor: tensor):
        out = leaf.exp()
    storage = weakref.ref(out.untyped_storage())
    del out
    gc.collect()
    return storage() is not None


print("pack returns the tensor:            still in memory:", survives(lambda tensor: tensor))
print("pack returns the detached tensor:   still in memory:", survives(lambda tensor: tensor.detach()))

# %% [markdown]
# The first line is a leak, and not even the garbage collector mends it. A backward pass would have prevented it, because backward releases what the
# node holds. But graphs are often dropped without one.
#
# ### Exercise: `saved_bytes`
# Difficulty: ●●○○○ · about 8 minutes
#
# Count the tensors, and the bytes, that autograd packs while a function runs. Leave nothing behind.
#
# <details><summary>Stuck?</summary>
#
# You need one list that `pack` appends to, and a `with saved_tensors_hooks(...)` around the call `fn(*args)`.
# </details>
# <details><summary>Still stuck?</summary>
#
# `unpack` must give back the tensor, or backward inside `fn` fails. So `pack` has two jobs: write down the bytes, and return something that `unpack` can use. One of the two habits above is about what it returns.
# </details>

# %% nbgrader={"grade": false, "grade_id": "saved_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def saved_bytes(fn: Callable, *args) -> tuple[int, int]:
    """Count the tensors that autograd packs while `fn(*args)` runs.

    Parameters
    ----------
    fn : callable
        Called once, with `args`. May run backward itself: what is packed then counts, what is unpacked does not.

    Returns
    -------
    (int, int)
        How many tensors were packed, and the sum of their bytes: number of elements times element size.
        Every packing counts: duplicates, parameters and views too, a view with its own elements. Nothing that `fn` computed
        outlives the call.
    """
    ### BEGIN SOLUTION
    # Why this shape: only sizes are kept, so nothing can outlive the call. The first thing people write is a list of the tensors
    # themselves; it holds them all in memory, and an output that its own node holds is never freed.
    sizes = []

    def pack(tensor):
        sizes.append(tensor.numel() * tensor.element_size())
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return len(sizes), sum(sizes)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-saved_bytes", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
import gc
import weakref


def mlp(x, w1, w2):
    return F.silu(x @ w1) @ w2


def square_and_back(x):
    (x * x).exp().sum().backward()


def weights():
    return torch.ones(256, 1024, requires_grad=True), torch.ones(1024, 256, requires_grad=True)



def weights_as_parameters():
    return [nn.Parameter(weight.detach()) for weight in weights()]


def gradient_with_a_graph(x):
    """exp packs its result; its backward, recorded, packs the incoming gradient."""
    torch.autograd.grad(x.exp().sum(), x, create_graph=True)


def calls_of_fn():
    calls = []
    saved_bytes(lambda x: calls.append(x) or x.sin(), torch.ones(3, requires_grad=True))
    return len(calls)


def outlives(fn):
    """Whether the storage of fn's result is in memory after the call."""
    seen = []

    def watched(x):
        out = fn(x)
        seen.append(weakref.ref(out.untyped_storage()))
        return out

    saved_bytes(watched, torch.ones(3, requires_grad=True))
    if any(storage() is not None for storage in seen):
        gc.collect()  # a cycle of Python's own is no leak
    return [storage() is not None for storage in seen]


check = Check("saved_bytes", points=3)
check("the MLP of section 1", lambda: saved_bytes(mlp, torch.ones(64, 256, requires_grad=True), *weights()), (5, 2_686_976),
      wrong={(5, 671_744): "You summed elements. A float32 element has 4 bytes: multiply by element_size().",
             (3, 589_824): "You left the weights out. Here every packed tensor counts, parameters too."})
check("x needs no gradient", lambda: saved_bytes(mlp, torch.ones(64, 256), *weights()), (4, 1_638_400),
      wrong={(4, 409_600): "You summed elements. A float32 element has 4 bytes: multiply by element_size().",
             (3, 589_824): "You left the weights out. Here every packed tensor counts, parameters too."},
      hint="Without a gradient for x, nobody packs w1.")
check("x * x packs x twice", lambda: saved_bytes(lambda x: x * x, torch.ones(6, requires_grad=True)), (2, 48),
      wrong={(1, 24): "You counted distinct tensors. saved_bytes counts every packing, and x * x packs x twice.",
             (2, 12): "You summed elements. A float32 element has 4 bytes: multiply by element_size()."})
check("a view counts its own elements", lambda: saved_bytes(lambda x, w: x.expand(4, 5) * w, torch.ones(5, requires_grad=True), torch.ones(4, 5, requires_grad=True)), (2, 160),
      wrong={(2, 100): "You took the bytes of the storage. Here a view counts its own elements: numel() times element_size().",
             (2, 40): "You summed elements. A float32 element has 4 bytes: multiply by element_size()."},
      hint="Two tensors of 4 x 5 are packed, one of them an expanded view: numel() times element_size() for each.")
check("an nn.Parameter counts too", lambda: saved_bytes(mlp, torch.ones(64, 256, requires_grad=True), *weights_as_parameters()), (5, 2_686_976),
      wrong={(3, 589_824): "You left out what is an nn.Parameter. Here every packed tensor counts."},
      hint="The weights are nn.Parameter here. The count is the same as for plain tensors.")
check("fn runs backward itself", lambda: saved_bytes(square_and_back, torch.ones(6, requires_grad=True)), (3, 72),
      wrong=[(lambda v: v[0] > 3, "You counted unpacking too. Count in pack only."),
             (lambda v: v[0] == 2, "You counted distinct tensors. Every packing counts, and x * x packs x twice."),
             (lambda v: v[0] == 0, "You read the graph after fn had run: by then it was released. Count while fn runs.")],
      hint="fn may run backward itself; count in pack, while fn runs, and let unpack give back the tensor.")
check("an element of float64 has eight bytes, of bool one", lambda: [saved_bytes(torch.exp, torch.ones(3, dtype=torch.float64, requires_grad=True)), saved_bytes(lambda x: x.masked_fill(torch.ones(3, dtype=torch.bool), 0.0), torch.ones(3, requires_grad=True))], [(1, 24), (1, 3)],
      hint="Elements have different sizes: 8 bytes in float64, 1 in a bool mask. Ask the tensor: element_size().")
check("what backward packs inside fn", lambda: saved_bytes(gradient_with_a_graph, torch.ones(3, dtype=torch.float64, requires_grad=True)), (2, 48),
      wrong=[(lambda v: v[0] == 2, "Both tensors were counted, but not their bytes: numel() times element_size() for each."),
             (lambda v: v[0] > 2, "You counted unpacking too. Count in pack only.")],
      hint="fn ran backward with create_graph=True, so backward recorded a graph and packed tensors as well. The hooks have to be on as long as fn runs.")
check("fn is called once", lambda: calls_of_fn(), 1, hint="fn may be costly, and what it does must not be done twice. Call it once, under the hooks.")
check("nothing outlives the call", lambda: outlives(torch.exp), [False],
      hint="What fn computed is still in memory after the call. Either pack returned the tensor itself, and the node holds an output that holds the node: return tensor.detach(). Or you keep tensors somewhere: sizes are enough.")
### BEGIN HIDDEN TESTS
n = int(torch.randint(5, 40, ()))


class Keeps(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x.double())
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        x, _ = ctx.saved_tensors
        return grad * 2


check("backward inside fn, another size", lambda: saved_bytes(square_and_back, torch.ones(n, requires_grad=True)), (3, 12 * n),
      wrong=[(lambda v: v[0] > 3, "You counted unpacking too. Count in pack only."),
             (lambda v: v[0] == 2, "You counted distinct tensors. Every packing counts, and x * x packs x twice."),
             (lambda v: v[0] == 0, "You read the graph after fn had run: by then it was released. Count while fn runs.")],
      hint="fn may run backward itself; count in pack, while fn runs, and let unpack give back the tensor.")
check("float64", lambda: saved_bytes(lambda x: (x * 3).exp(), torch.ones(n, 3, dtype=torch.float64, requires_grad=True)), (1, 24 * n), weight=2,
      hint="An element of float64 has 8 bytes. Ask the tensor: element_size().")
check("a mask is packed as bool", lambda: saved_bytes(lambda x: x.masked_fill(torch.ones(2, n, dtype=torch.bool), 0.0), torch.ones(2, n, requires_grad=True)), (1, 2 * n),
      hint="masked_fill packs its mask, one byte per element. Ask the tensor: element_size().")
check("a view of another size", lambda: saved_bytes(lambda x, w: x[:3].t() * w, torch.ones(n, 5, requires_grad=True), torch.ones(5, 3, requires_grad=True)), (2, 120),
      wrong=[(lambda v: v[0] == 2 and v[1] > 120, "You took the bytes of the storage. Here a view counts its own elements: numel() times element_size().")],
      hint="Two tensors of 5 x 3 are packed, one of them a view of a larger one: numel() times element_size() for each.")
check("what backward packs, another size", lambda: saved_bytes(gradient_with_a_graph, torch.ones(n, dtype=torch.float64, requires_grad=True)), (2, 16 * n),
      weight=2,
      wrong=[(lambda v: v[0] == 2, "Both tensors were counted, but not their bytes: numel() times element_size() for each."),
             (lambda v: v[0] > 2, "You counted unpacking too. Count in pack only.")],
      hint="fn ran backward with create_graph=True, so backward recorded a graph and packed tensors as well. The hooks have to be on as long as fn runs.")
check("a custom Function", lambda: saved_bytes(Keeps.apply, torch.ones(n, requires_grad=True)), (2, 12 * n),
      wrong=[(lambda v: v[0] == 2, "Both tensors were counted, but not their bytes: a float32 element has 4, a float64 element 8.")],
      hint="What a custom Function saves with save_for_backward is packed too. Attributes named _saved_* do not show it; the hooks do.")
check("a graph that fn drops", lambda: saved_bytes(lambda x: [(x + i).sin() for i in range(3)] and None, torch.ones(n, requires_grad=True)), (3, 12 * n),
      hint="fn may return nothing and drop its graph. Count while fn runs, not afterwards.")
check("a Parameter's own function", lambda: saved_bytes(lambda p, x: (p * x).sin(), nn.Parameter(torch.ones(n)), torch.ones(n, requires_grad=True)), (3, 12 * n),
      wrong=[(lambda v: v[0] == 2, "You left out what is an nn.Parameter. Here every packed tensor counts.")],
      hint="Both factors and the sine's input are packed, whatever class they have.")
check("nothing of a softmax outlives the call", lambda: outlives(lambda x: (x * n).softmax(0)), [False],
      hint="What fn computed is still in memory after the call. Keep sizes, not tensors, and let pack return tensor.detach().")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 2. What each operation keeps
#
# `x` requires a gradient, and so does `w`. The mask, the index and the target are made beforehand, by whoever calls the operation.
#
# **Predict**, per line: does the operation keep its input, its output, something else, or nothing?

# %% tags=["demo"]
x = torch.randn(4, 6, requires_grad=True)
w = torch.randn(6, 6, requires_grad=True)
b = torch.randn(6, requires_grad=True)
mask = torch.ones(4, 6, dtype=torch.bool)
index, target = torch.tensor([0, 2]), torch.tensor([0, 1, 2, 3])
operations = {
    "x + b": lambda: x + b,
    "x * 2.0": lambda: x * 2.0,
    "x.view(-1)": lambda: x.view(-1),
    "x.sum()": lambda: x.sum(),
    "x.exp()": lambda: x.exp(),
    "x.relu()": lambda: x.relu(),
    "x.softmax(-1)": lambda: x.softmax(-1),
    "x * x": lambda: x * x,
    "x @ w": lambda: x @ w,
    "F.gelu(x)": lambda: F.gelu(x),
    "F.layer_norm(x, (6,), b, b)": lambda: F.layer_norm(x, (6,), b, b),
    "x.masked_fill(mask, 0)": lambda: x.masked_fill(mask, 0.0),
    "x[index]": lambda: x[index],
    "F.dropout(x, 0.5)": lambda: F.dropout(x, 0.5),
    "x.max(-1)": lambda: x.max(-1).values,
    "F.cross_entropy(x, target)": lambda: F.cross_entropy(x, target),
}


def origins(kept, out):
    """Whose storage is each: one that has a name here, or one that the operation made?"""
    named = {"x": x, "w": w, "b": b, "mask": mask, "index": index, "target": target, "out": out}
    known = {tensor.untyped_storage().data_ptr(): name for name, tensor in named.items()}
    words = []
    for tensor in kept:
        address = tensor.untyped_storage().data_ptr()
        if address not in known:
            known[address] = f"new {str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
            words.append(known[address])
        else:
            words.append(f"{known[address]} again" if known[address].startswith("new") else known[address])
    return ", ".join(words) or "nothing"


for name, operation in operations.items():
    kept = []
    with saved_tensors_hooks(lambda tensor: kept.append(tensor) or tensor.detach(), lambda tensor: tensor):
        out = operation()
    print(f"{name:<30}{origins(kept, out)}")

# %% [markdown]
# **Explain.** The derivative decides.
#
# - **Nothing:** the derivative is known without values (addition, a product with a number, view, sum).
# - **The output:** the derivative is written with it (`exp`, `relu`, `softmax`). This is mostly cheap, since the next operation often keeps the same tensor.
# - **The input:** products, `gelu`, `layer_norm`. `layer_norm` adds two statistics, one element of each per row.
# - **The caller's own tensor:** `masked_fill` keeps its mask, and indexing keeps its index. Call `masked_fill` in every layer with one mask, and there is one storage of masks.
# - **Something new:** dropout keeps the mask that it drew. `max` along a dimension keeps only *where* the maximum was. `cross_entropy` is two operations: `log_softmax` keeps its output, and
#   the loss after it keeps the same tensor, the target, and a total weight of one element.
#
# What the function `origins` cannot know: whether anybody else holds a new tensor as well. It sees one call. Only a count over the whole forward pass tells what is shared.
#
# (All these tensors are alive while we compare addresses, so here comparing them is safe. The next section shows when it is not.)
#
# **Predict** for a layer you know: `nn.Linear(4096, 4096)` and GELU, on `x` of shape [8, 4096] that requires a gradient.

# %% tags=["demo"]
layer = nn.Sequential(nn.Linear(4096, 4096), nn.GELU())
for entry in saved_ledger(layer, torch.randn(8, 4096, requires_grad=True)):
    print(f"{entry.node:<18}{entry.shape!s:<16}{entry.nbytes:>12,} bytes")
del layer

# %% [markdown]
# Three rows. The second is 64 MiB, and it is the weight: a reference, nothing new. A Linear packs the view `weight.t()`. So the
# pack function does not see an `nn.Parameter` here, and `isinstance(tensor, nn.Parameter)` would not find the weight.
#
# ### Exercise: `linear_gelu`
# Difficulty: ●○○○○ · about 5 minutes
#
# Predict these three rows for any size, by arithmetic alone. The function has to answer at once, also for a layer that fits on no machine.
#
# <details><summary>Stuck?</summary>
#
# Three tensors, in the order printed above. Which of them has `batch` in its shape?
# </details>
# <details><summary>Still stuck?</summary>
#
# The bytes are the product of the shape and `itemsize`. For the third row, ask which tensor GELU keeps: what goes into it, or what comes out?
# </details>

# %% nbgrader={"grade": false, "grade_id": "linear_gelu", "locked": false, "schema_version": 3, "solution": true, "task": false}
def linear_gelu(batch: int, d_in: int, d_out: int, itemsize: int = 4) -> list[tuple[tuple, int]]:
    """Predict what `F.gelu(nn.Linear(d_in, d_out)(x))` saves for x of shape [batch, d_in] that requires a gradient.

    Parameters
    ----------
    batch, d_in, d_out : int
        May be larger than any machine: nothing is run.
    itemsize : int
        Bytes per element.

    Returns
    -------
    list of (tuple, int)
        (shape, bytes) in order of packing. The weight's row is the saved view, of shape (d_in, d_out).
    """
    ### BEGIN SOLUTION
    # Why this shape: three shapes, one rule for the bytes. Python's ints are exact at any size, so no machine has to hold the layer.
    shapes = [(batch, d_in), (d_in, d_out), (batch, d_out)]
    return [(shape, shape[0] * shape[1] * itemsize) for shape in shapes]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-linear_gelu", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
def measured(batch, d_in, d_out, dtype=torch.float32):
    layer = nn.Sequential(nn.Linear(d_in, d_out, dtype=dtype), nn.GELU())
    return [(entry.shape, entry.nbytes) for entry in saved_ledger(layer, torch.ones(batch, d_in, dtype=dtype, requires_grad=True))]


check = Check("linear_gelu", points=2)
check("the layer of section 2", lambda: linear_gelu(8, 4096, 4096), [((8, 4096), 131_072), ((4096, 4096), 67_108_864), ((8, 4096), 131_072)],
      hint="Compare with the three rows that the cell above printed.")
check("a small layer, as measured", lambda: linear_gelu(2, 3, 5), measured(2, 3, 5),
      wrong=[(lambda v: len(v) == 2, "The weight is saved as well: the gradient of x needs it. It has a row of its own."),
             (lambda v: [row[0] for row in v] == [(2, 3), (5, 3), (2, 5)], "The product sees the transposed weight, so the saved view has shape (d_in, d_out)."),
             (lambda v: len(v) == 4, "GELU keeps its input only. Its output belongs to the next operation, and the bias is needed by nobody."),
             (lambda v: [row[1] for row in v] == [6, 15, 10], "These are elements. Bytes are elements times itemsize."),
             (lambda v: v == [((8, 4096), 131072), ((4096, 4096), 67108864), ((8, 4096), 131072)], "These are the figures of the text. Compute them from the arguments.")])
check("two bytes per element", lambda: linear_gelu(2, 3, 5, itemsize=2), [((2, 3), 12), ((3, 5), 30), ((2, 5), 20)],
      wrong=[(lambda v: [row[1] for row in v] == [24, 60, 40], "These are the bytes with 4 per element. Use itemsize.")], hint="Bytes are elements times itemsize.")
check("a layer that fits nowhere", lambda: linear_gelu(10**6, 10**9, 10**9)[1], ((10**9, 10**9), 4 * 10**18),
      hint="Predict without running anything: arithmetic on the arguments is enough, and ints of any size are exact.")
### BEGIN HIDDEN TESTS
batch, d_in, d_out = (int(size) for size in torch.randint(2, 40, (3,)) + torch.tensor([0, 40, 80]))
check("another layer", lambda: linear_gelu(batch, d_in, d_out), measured(batch, d_in, d_out), weight=2,
      wrong=[(lambda v: len(v) > 1 and v[0][0] != v[2 % len(v)][0] and v[1][0][0] > v[1][0][1], "The product sees the transposed weight, so the saved view has shape (d_in, d_out).")],
      hint="The order is: input, weight, GELU's input. Each row depends on the arguments.")
check("another element size", lambda: linear_gelu(batch, d_in, d_out, itemsize=8), measured(batch, d_in, d_out, torch.float64),
      hint="Bytes are elements times itemsize; itemsize need not be 4.")
check("a layer that fits nowhere, in two bytes", lambda: linear_gelu(10**9, 10**9, 10**9 + batch, 2), [((10**9, 10**9), 2 * 10**18), ((10**9, 10**9 + batch), 2 * 10**18 + 2 * 10**9 * batch), ((10**9, 10**9 + batch), 2 * 10**18 + 2 * 10**9 * batch)],
      hint="Predict without running anything: arithmetic on the arguments is enough, and ints of any size are exact.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 3. Counting without double entries
#
# Three corrections turn "packed" into "memory":
#
# 1. **Parameters are references.** They are there anyway.
# 2. **Views share a storage.** A *storage* is the block of memory; tensors are windows on it. What is saved twice was allocated once.
# 3. **A view keeps its whole storage alive.** Save one row of a large matrix, and the matrix stays.
#
# **Predict.** `nn.Linear(4, 4)`, ReLU, `nn.Linear(4, 4)` on a batch of 8 that needs no gradient. How many tensors are packed? On how many storages, if the parameters' do not count?

# %% tags=["demo"]
net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
print(saved_ledger(net, torch.randn(8, 4), params=net.parameters()))

# %% [markdown]
# Read the last column. ReLU's output and the second Linear's input are storage 1, one block of memory. So there are two storages of activations: the input (0) and
# ReLU's output (1).
#
# **Predict.** `row` is one row of a 1000 × 1000 matrix. What does autograd keep alive when we compute `row * w`?

# %% tags=["demo"]
matrix = torch.randn(1000, 1000)
w = torch.randn(1000, requires_grad=True)
for entry in saved_ledger(lambda: matrix[0] * w):
    print(f"packed {entry.shape}: {entry.nbytes:,} bytes, kept alive: {entry.storage_bytes:,} bytes")

# %% [markdown]
# Four thousand bytes packed, four million kept.
#
# ### Telling storages apart
#
# Two tensors are on the same storage when `a.untyped_storage()` and `b.untyped_storage()` are the same object. An *address* is no identity.
#
# **Predict.** The next function computes forty sines and drops each graph. There are forty storages. How many addresses does a pack hook see?

# %% tags=["demo"]
def forty(x):
    for _ in range(40):
        (x * 2.0).sin()  # saves x * 2.0, then the graph is dropped


def addresses(hold):
    seen, held = set(), []

    def pack(tensor):
        seen.add(tensor.untyped_storage().data_ptr())
        if hold:
            held.append(tensor.untyped_storage())
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        forty(torch.randn(5_000, requires_grad=True))
    return len(seen)


print("addresses seen, storages dropped:", addresses(hold=False))
print("addresses seen, storages held:   ", addresses(hold=True))

# %% [markdown]
# Nothing in the function changed, only who held on. When a storage dies, the allocator may give its address to the next one, and the set
# takes two lives for one. A storage that you hold cannot be replaced. (With empty tensors even that does not help: all of them are at address 0.)
#
# ### Exercise: `ledger`
# Difficulty: ●●●○○ · about 15 minutes
#
# Write the count that the three corrections ask for: one row for every distinct storage that autograd packs while a function runs, the parameters' storages left out.
#
# <details><summary>Stuck?</summary>
#
# Keep a list of the storages that you have met, the parameters' among them. A new tensor adds a row when its storage *is* none of these.
# </details>
# <details><summary>Still stuck?</summary>
#
# Turn `params` into storages before `fn` runs: it may be a generator, which can be read only once. Where do the bytes of a row come from, the tensor or the storage?
# </details>

# %% nbgrader={"grade": false, "grade_id": "ledger", "locked": false, "schema_version": 3, "solution": true, "task": false}
def ledger(fn: Callable, *args, params: Iterable[torch.Tensor] = ()) -> list[tuple[tuple, torch.dtype, int]]:
    """List the distinct storages that autograd keeps while `fn(*args)` runs.

    Parameters
    ----------
    fn : callable
        Called once, with `args`. It may drop its graph at any time.
    params : iterable of Tensor
        Storages of these tensors are left out. May be a generator.

    Returns
    -------
    list of (tuple, torch.dtype, int)
        One row per distinct storage, in order of first packing: shape and dtype of the tensor first packed from it (plain
        tuple), and the bytes of the whole storage. Storages are told apart by identity: two empty tensors are two storages.
    """
    ### BEGIN SOLUTION
    # Why this shape: the dict finds a storage at once, and it holds what it names, so no key is ever given away again. A set of
    # addresses is shorter, and wrong as soon as something dies.
    held = {}  # key of a storage -> the storage; held, so no key is used twice

    def known(storage):
        return held.setdefault(storage._cdata, storage)

    for param in params:
        known(param.untyped_storage())
    rows = []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage._cdata not in held:
            known(storage)
            rows.append((tuple(tensor.shape), tensor.dtype, storage.nbytes()))
        return tensor.detach()

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        fn(*args)
    return rows
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-ledger", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def count(rows):
    """Rows and bytes, for lists too long to print."""
    return len(rows), sum(row[2] for row in rows)


def forgetful(x):
    for _ in range(40):
        (x * 2.0).sin()


def reads_itself(x):
    """Backward inside: what it unpacks adds nothing."""
    (x * 2.0).sin().sum().backward()


def calls_of_fn():
    calls = []
    ledger(lambda x: calls.append(x) or x.sin(), torch.ones(3, requires_grad=True))
    return len(calls)


check = Check("ledger", points=4)
layer = nn.Linear(3, 5)
check("a Linear saves its input", lambda: ledger(layer, torch.ones(2, 3, requires_grad=True), params=list(layer.parameters())), [((2, 3), torch.float32, 24)],
      wrong=[(lambda v: any(row[0] == (3, 5) for row in v), "The weight is still there. A Linear packs the view weight.t(), which is no nn.Parameter: compare storages.")])
check("one storage, one row", lambda: ledger(lambda x: x * x, torch.ones(6, requires_grad=True)), [((6,), torch.float32, 24)],
      wrong=[(lambda v: len(v) == 2, "x was packed twice, but it is one storage: one row.")])
check("two views of one storage", lambda: ledger(lambda x: x[:2] * x[2:5, None], torch.ones(6, requires_grad=True)), [((3, 1), torch.float32, 24)],
      wrong=[(lambda v: len(v) == 2, "Both are views of x: one storage, one row. Compare storages, not tensors or their own addresses."),
             ([((2,), "torch.float32", 24)], "The row's shape is that of the tensor that was packed first. A later one on the same storage changes nothing."),
             (lambda v: len(v) == 1 and v[0][2] in (8, 12), "These are the bytes of the view. It keeps the whole storage alive: storage.nbytes().")])
check("params may be a generator", lambda: ledger(nn.Sequential(layer, nn.Linear(5, 5)), torch.ones(2, 3, requires_grad=True), params=(p for p in layer.parameters())), [((2, 3), torch.float32, 24), ((2, 5), torch.float32, 40), ((5, 5), torch.float32, 100)],
      wrong=[(lambda v: v == [], "Nothing is left. Leave out the storages of params, and only these.")],
      hint="Three storages are not in params: two inputs, and the second Linear's weight. params may be a generator, which can be read only once; and what is left out is told by its storage, not by its class or its shape.")
check("a view keeps its whole storage", lambda: ledger(lambda a, w: a[1] * w, torch.ones(3, 5), torch.ones(5, requires_grad=True)), [((5,), torch.float32, 60)],
      wrong=[(lambda v: len(v) == 1 and v[0][2] == 20, "These are the bytes of the view. It keeps the whole storage alive: storage.nbytes().")],
      hint="One row: the shape of the view that was packed, and the bytes of the whole storage behind it.")
check("forty graphs, each dropped", lambda: count(ledger(forgetful, torch.ones(500, requires_grad=True))), (40, 80_000),
      wrong=[(lambda v: v[0] == 1 and v[1] > 0, "Forty tensors came out as one. Equal shapes are no reason; and a freed address, or id, is used again. Hold every storage that you have met, and compare identity."),
             (lambda v: v[0] < 40, "Storages that died were mistaken for one: a freed address, or id, is used again. Hold every storage that you have met.")],
      hint="Forty sines keep forty inputs, one after the other. Each is a storage of its own, also when its graph is gone by now.")
check("two empty tensors", lambda: ledger(lambda a, b: a * b, torch.ones(0, requires_grad=True), torch.ones(0, 2, requires_grad=True).view(-1)), [((0,), torch.float32, 0)] * 2,
      wrong=[(lambda v: len(v) == 1, "Empty tensors all have the address 0, yet these are two storages. Compare identity."),
             (lambda v: v == [], "Empty tensors are packed too.")],
      hint="Two empty tensors are two storages of 0 bytes: two rows.")
check("dtypes, and backward inside fn", lambda: ledger(lambda x: reads_itself(x[torch.tensor([1])]), torch.ones(4, dtype=torch.float64, requires_grad=True)), [((1,), torch.int64, 8), ((1,), torch.float64, 8)],
      hint="An index is saved too, in its own dtype, and what backward unpacks adds no row.")
check("fn is called once", lambda: calls_of_fn(), 1, hint="fn may be costly, and what it does must not be done twice. Call it once, under the hooks.")
### BEGIN HIDDEN TESTS
n = int(torch.randint(5, 30, ()))
double = nn.Sequential(nn.Linear(n, n), nn.Linear(n, n))
check("a generator again, and equal shapes", lambda: ledger(double, torch.ones(n, n, requires_grad=True), params=double.parameters()), [((n, n), torch.float32, 4 * n * n)] * 2, weight=2,
      wrong=[(lambda v: len(v) == 1, "Input and weight have the same shape here, yet they are different storages."),
             (lambda v: len(v) > 2, "A weight is still there. params may be a generator, which can be read only once, and a Linear packs a view of its weight."),
             (lambda v: v == [], "You left out activations that only look like a parameter. Compare storages by identity.")],
      hint="Two Linears on one batch keep two inputs; both weights are left out. params may be any iterable, a generator too.")
check("equal shapes, different storages", lambda: ledger(lambda a, b: a * b, torch.ones(n, requires_grad=True), torch.ones(n, requires_grad=True)), [((n,), torch.float32, 4 * n)] * 2,
      wrong=[(lambda v: len(v) == 1, "Two tensors of one shape are still two storages.")],
      hint="A product of two tensors packs both: two storages, two rows.")
check("a view of a large storage", lambda: ledger(lambda a, w: a[1] * w, torch.ones(n, 50), torch.ones(50, requires_grad=True)), [((50,), torch.float32, 200 * n)],
      wrong=[(lambda v: len(v) == 1 and v[0][2] == 200, "A saved view keeps its whole storage alive: storage.nbytes(), not the view's elements.")],
      hint="One row: the shape of the view that was packed, and the bytes of the whole storage behind it.")
check("dtypes", lambda: ledger(lambda x: x.masked_fill(torch.ones(n, dtype=torch.bool), 0.0).double()[torch.zeros(3, dtype=torch.int64)].exp(), torch.ones(n, requires_grad=True)),
      [((n,), torch.bool, n), ((3,), torch.int64, 24), ((3,), torch.float64, 24)],
      hint="The row's dtype is the packed tensor's; masks and indices are saved tensors too.")
check("forty larger graphs", lambda: count(ledger(forgetful, torch.ones(5000 + n, requires_grad=True))), (40, 160 * (5000 + n)), weight=3,
      wrong=[(lambda v: v[0] == 1 and v[1] > 0, "Forty tensors came out as one. Equal shapes are no reason; and a freed address, or id, is used again. Hold every storage that you have met, and compare identity."),
             (lambda v: v[0] < 40, "Storages that died were mistaken for one: a freed address, or id, is used again. Hold every storage that you have met.")],
      hint="Forty sines keep forty inputs, one after the other. Each is a storage of its own, also when its graph is gone by now.")
check("empty tensors", lambda: ledger(lambda a, b: a * b, torch.ones(0, n, requires_grad=True), torch.ones(0, n, requires_grad=True)), [((0, n), torch.float32, 0)] * 2,
      wrong=[(lambda v: len(v) == 1, "These two have the same shape and, being empty, the same address 0. Yet they are two storages. Compare identity."),
             (lambda v: v == [], "Empty tensors are packed too.")],
      hint="Two empty tensors are two storages of 0 bytes: two rows.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 4. A transformer block, to the byte
#
# This is the block whose memory you will predict, here and again in chapters 03 and 07. Attention is spelled out: no fused kernel, no dropout.

# %% tags=["demo"]
import inspect

print(inspect.getsource(Block.forward))
print(inspect.getsource(Block.attention))

# %% [markdown]
# **Predict** before you run the next cell. Walk through `attention` line by line, and write down what each operation keeps.
# Which tensors have `seq²` elements per head? How many of these are kept?

# %% tags=["demo"]
block = Block(hidden=8, heads=2, ffn=20)
table = saved_ledger(block, torch.randn(3, 5, 8, requires_grad=True), params=block.parameters())
print(table)
print(f"\n{table.storage_bytes:,} bytes on {len(table.storages)} storages that are no parameter's")

# %% [markdown]
# **Explain.** Count the distinct storages in the table, not the rows.
#
# - The normed input of q, k and v appears three times, on one storage.
# - Scores divided by a number keep nothing. Softmax keeps its output, and the product with v keeps the same storage.
# - The two residual additions keep nothing. Their results are kept by whoever comes next: the second LayerNorm keeps the first sum.
# - Each LayerNorm adds two statistics of one element per row.
# - A mask that is *added* would change nothing in this table; `masked_fill` would keep its mask.
#
# ### Exercise: `block_bytes`
# Difficulty: ●●●○○ · about 15 minutes
#
# Write the closed form: the bytes that one block keeps, for any sizes. Compare it with `saved_ledger(block, x, params=block.parameters()).storage_bytes` on blocks of your own.
#
# <details><summary>Stuck?</summary>
#
# Sort the storages of the table by their size. How many have batch · seq · hidden elements, how many heads · batch · seq², how many batch · seq · ffn, how many batch · seq?
# </details>
# <details><summary>Still stuck?</summary>
#
# Change one argument at a time, and see which rows of the table grow with it. Start with `ffn`, which is in two of them.
# </details>

# %% nbgrader={"grade": false, "grade_id": "block_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def block_bytes(batch: int, seq: int, hidden: int, heads: int, ffn: int, itemsize: int = 4) -> int:
    """Predict the activation memory of one `Block(hidden, heads, ffn)` on x of shape [batch, seq, hidden] that requires a gradient.

    Parameters
    ----------
    batch, seq, hidden, heads, ffn : int
        May be larger than any machine: nothing is run.
    itemsize : int
        Bytes per element; the statistics of LayerNorm count with the same size.

    Returns
    -------
    int
        Bytes of the distinct storages that autograd keeps, parameters left out.
    """
    ### BEGIN SOLUTION
    # Why this shape: one term per kind of storage, so each number can be pointed at in the table. A sum over operations would count shared
    # storages twice.
    rows = batch * seq
    elements = 8 * rows * hidden + heads * rows * seq + 2 * rows * ffn + 4 * rows
    return elements * itemsize
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-block_bytes", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def kept(batch, seq, hidden, heads, ffn, dtype=torch.float32):
    block = Block(hidden, heads, ffn).to(dtype)
    return saved_ledger(block, torch.ones(batch, seq, hidden, dtype=dtype, requires_grad=True), params=block.parameters()).storage_bytes


check = Check("block_bytes", points=4)
check("the block of section 4", lambda: block_bytes(3, 5, 8, 2, 20), kept(3, 5, 8, 2, 20),
      wrong={1770: "These are elements. Multiply by itemsize.",
             6840: "The statistics are missing: two LayerNorms keep a mean and an inverse deviation per row.",
             6780: "The attention weights are missing a factor: one [seq, seq] matrix per head.",
             6680: "The attention weights are missing a factor: one [seq, seq] matrix per head and per batch element.",
             7680: "You counted the scores as well as the weights. Dividing by a number keeps nothing, and softmax keeps only its output.",
             5880: "The MLP keeps two tensors of batch x seq x ffn: GELU's input, and GELU's output for the next Linear.",
             6120: "The outputs of the two LayerNorms are missing: the Linears after them keep their inputs.",
             8040: "q, k and v share one input: one storage, counted once.",
             7560: "One tensor of batch x seq x hidden too many. A residual addition keeps nothing, and the block's output is kept by nobody."},
      hint="Sort the storages in the table above by size and count each kind.")
check("half the element size", lambda: block_bytes(2, 3, 4, 1, 6, itemsize=2), kept(2, 3, 4, 1, 6) // 2,
      hint="Everything counts with itemsize, the statistics too.")
check("a block that fits nowhere", lambda: block_bytes(1, 10**6, 8, 2, 20), 4 * (8 * 8 * 10**6 + 2 * 10**12 + 2 * 20 * 10**6 + 4 * 10**6),
      hint="Compute in whole numbers, without running anything. The attention weights are heads x batch x seq x seq.")
### BEGIN HIDDEN TESTS
heads, width, batch, seq, ffn = (int(size) for size in torch.randint(2, 6, (5,)) + torch.tensor([0, 0, 0, 3, 30]))
check("a random block", lambda: block_bytes(batch, seq, heads * width, heads, ffn), kept(batch, seq, heads * width, heads, ffn),
      wrong={7080: "This is the figure of the example. Compute it from the arguments."}, hint="Vary one argument at a time and compare with saved_ledger.")
check("a long sequence", lambda: block_bytes(1, 64 + seq, heads, heads, 3), kept(1, 64 + seq, heads, heads, 3),
      hint="With a long sequence the attention weights dominate: heads x batch x seq x seq.")
check("float64", lambda: block_bytes(batch, 1, 6, 3, ffn, itemsize=8), kept(batch, 1, 6, 3, ffn, torch.float64),
      hint="Everything counts with itemsize, the statistics too.")
check("a model of today", lambda: block_bytes(4 + batch, 8192, 4096, 32, 14336, 2), 2 * (4 + batch) * 8192 * (8 * 4096 + 32 * 8192 + 2 * 14336 + 4),
      hint="Compute in whole numbers, without running anything.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ### What it means for a real model
#
# All four terms are proportional to batch × seq. Two of them grow with a width as well, hidden or ffn. One grows with seq once more.
#
# **Predict:** hidden 4096, 32 heads, MLP 16384, bfloat16, batch 1. From which sequence length on do the attention weights take more than everything else?

# %% tags=["demo"]
from matplotlib.ticker import FuncFormatter

lengths = [2**k for k in range(7, 15)]
everything = [2 * seq * (8 * 4096 + 2 * 16384 + 4) / 2**20 for seq in lengths]
weights_only = [2 * 32 * seq * seq / 2**20 for seq in lengths]
figure, axes = plt.subplots(figsize=(8, 3.4), layout="constrained", facecolor="white")
axes.loglog(lengths, everything, "o-", color="#4c72b0", label="hidden, MLP, statistics: grows with seq")
axes.loglog(lengths, weights_only, "s-", color="#dd8452", label="attention weights: grows with seq squared")
axes.axvline(2048, color="#8c8c8c", linestyle=":", label="seq 2048")
axes.set_xticks(lengths, [f"{seq:,}" for seq in lengths])
axes.minorticks_off()
axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
axes.set_xlabel("sequence length")
axes.set_ylabel("kept per block, MiB")
axes.grid(alpha=0.3)
axes.legend(fontsize=8)
plt.show()
for seq, rest, square in zip(lengths, everything, weights_only):
    print(f"seq {seq:>6}: {rest:>8,.0f} MiB + {square:>8,.0f} MiB")
print("equal at seq", (8 * 4096 + 2 * 16384 + 4) / 32)

# %% [markdown]
# The curves cross a hair above 2048. Beyond that, the [seq, seq] matrices are the bill. This is why fused attention
# kernels exist. They keep q, k, v, the output and one number per row, and compute the matrix again in backward. Compare:

# %% tags=["demo"]
q, k, v = (torch.randn(1, 4, 128, 16, requires_grad=True) for _ in range(3))
spelled = saved_ledger(lambda: (q @ k.transpose(-2, -1) / 4.0).softmax(-1) @ v)
fused = saved_ledger(lambda: F.scaled_dot_product_attention(q, k, v))
print(f"spelled out: {spelled.storage_bytes:>9,} bytes  {[e.shape for e in spelled.storages]}")
print(f"fused:       {fused.storage_bytes:>9,} bytes  {[e.shape for e in fused.storages]}")

# %% [markdown]
# ## 5. Changing what is kept
#
# A pack hook may store something else than the tensor. Three uses:
#
# - **Elsewhere.** `torch.autograd.graph.save_on_cpu()` moves saved tensors to the CPU and back. On a GPU it trades transfers for memory.
# - **Smaller.** Keep float32 activations as bfloat16. Forward is exact, gradients are slightly off.
# - **On disk.** Slow and large.
#
# **Predict.** What does `save_on_cpu` do when everything is on the CPU already? Count the bytes it keeps, and put it through the test of section 1: does an output outlive its last name?

# %% tags=["demo"]
from torch.autograd.graph import save_on_cpu

leaf = torch.randn(1000, requires_grad=True)
with save_on_cpu():
    out = leaf.exp()
print("a copy was made:", out.grad_fn._saved_result.data_ptr() != out.data_ptr())
storage = weakref.ref(out.untyped_storage())
del out
gc.collect()
print("still in memory:", storage() is not None)

# %% [markdown]
# It saves no bytes here: `tensor.cpu()` returns the very tensor when that is on the CPU. And it repeats the leak of section 1, because its pack function does not detach. Use it where there is a GPU.
#
# **Predict.** The hooks below keep everything as float16. Does `y` change? Does the gradient?

# %% tags=["demo"]
x = torch.tensor([0.1, 1.0, 3.0], requires_grad=True)
plain = x.exp()
with saved_tensors_hooks(lambda tensor: tensor.half(), lambda half: half.float()):
    y = x.exp()
y.sum().backward()
print("y changed by       ", (y - plain).abs().max().item())
print("gradient changed by", (x.grad - plain).abs().max().item())

# %% [markdown]
# The forward pass is untouched. Backward of `exp` uses the saved output, which lost some bits.
#
# These hooks have three faults. They turn an index into float16. They "shrink" a bool to twice its size. And a saved float64 comes back as float32.
#
# ### Exercise: `cast_hooks`
# Difficulty: ●●○○○ · about 12 minutes
#
# Write the hooks without these faults: keep what is floating and wider than `dtype` in `dtype`, leave everything else alone, and give every tensor back in the dtype that it had.
#
# <details><summary>Stuck?</summary>
#
# `pack` has to tell `unpack` what to do. Let it return a pair: the tensor to keep, and the dtype to go back to.
# </details>
# <details><summary>Still stuck?</summary>
#
# "Wider" compares bytes per element: `tensor.element_size()` and `dtype.itemsize`. Which tensors may be cast at all? `tensor.is_floating_point()` is False for complex ones.
# </details>

# %% nbgrader={"grade": false, "grade_id": "cast_hooks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def cast_hooks(dtype: torch.dtype) -> tuple[Callable, Callable]:
    """Make hooks that keep saved tensors in a smaller floating dtype.

    Parameters
    ----------
    dtype : torch.dtype
        A floating dtype. Floating tensors that are wider (larger element size) are kept in it. All others (integer, bool, complex,
        not wider) are kept untouched.

    Returns
    -------
    (pack, unpack)
        For `saved_tensors_hooks`. A cast tensor comes back in its original dtype; nothing holds a reference to the original.
    """
    ### BEGIN SOLUTION
    # Why this shape: the dtype travels with each tensor, so unpack needs to know nothing else. One variable for all would remember
    # only the last. `tensor.to(same_dtype)` returns the tensor itself, so going back needs no second question.
    def pack(tensor):
        if tensor.is_floating_point() and tensor.element_size() > dtype.itemsize:
            return tensor.detach().to(dtype), tensor.dtype
        return tensor.detach(), tensor.dtype

    def unpack(kept):
        tensor, original = kept
        return tensor.to(original)

    return pack, unpack
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-cast_hooks", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
import gc
import types
import weakref


def round_trip(dtype, *tensors):
    """Pack all, then unpack all."""
    pack, unpack = cast_hooks(dtype)
    packed = [pack(tensor) for tensor in tensors]
    return [unpack(item) for item in packed]


def storages_within(*roots):
    """Bytes of the distinct storages that can be reached from these objects."""
    todo, seen, found = list(roots), set(), {}
    while todo:
        item = todo.pop()
        if id(item) in seen or isinstance(item, (type, types.ModuleType)) or item is globals():
            continue
        seen.add(id(item))
        if isinstance(item, torch.Tensor):
            found[item.untyped_storage()._cdata] = item.untyped_storage().nbytes()
        elif isinstance(item, types.FunctionType):
            todo.extend(cell.cell_contents for cell in item.__closure__ or ())
        else:
            todo.extend(gc.get_referents(item))
    return sum(found.values())


def held(dtype, tensor):
    pack, unpack = cast_hooks(dtype)
    packed = pack(tensor)
    return storages_within(packed, pack, unpack)


def originals_alive(dtype):
    """How many of three packed tensors are still in memory when only the packed objects are left."""
    pack, unpack = cast_hooks(dtype)
    tensors = [torch.ones(50), torch.ones(5, 7), torch.ones(9, dtype=torch.float64)]
    alive = [weakref.ref(tensor.untyped_storage()) for tensor in tensors]
    packed = [pack(tensor) for tensor in tensors]
    del tensors
    return sum(ref() is not None for ref in alive), len(packed)


def gradient(values, dtype):
    leaf = values.clone().requires_grad_()
    with saved_tensors_hooks(*cast_hooks(dtype)):
        out = leaf.exp()
    out.sum().backward()
    return leaf.grad


check = Check("cast_hooks", points=4)
check("the gradient of exp, kept in float16", lambda: gradient(torch.tensor([0.1, 1.0, 3.0]), torch.float16), torch.tensor([0.1, 1.0, 3.0]).exp().half().float(), rtol=1e-6, atol=1e-6,
      wrong=[(lambda v: all(abs(a - math.exp(b)) < 4e-6 for a, b in zip(v, (0.1, 1.0, 3.0))), "This is the exact gradient: the tensor was kept as it was. pack has to return it in dtype.")])
check("the dtype comes back", lambda: [tensor.dtype for tensor in round_trip(torch.bfloat16, torch.ones(2), torch.ones(2, dtype=torch.float64))], [torch.float32, torch.float64],
      wrong=[(["torch.bfloat16", "torch.bfloat16"], "unpack has to give back the original dtype, not the small one.")],
      hint="unpack has to give back each tensor's own dtype: pack must keep it beside the tensor, once per tensor.")
check("half the bytes are kept", lambda: held(torch.float16, torch.ones(100)), 200,
      wrong={400: "400 bytes are kept: the float32 tensor itself. Return it in dtype.", 600: "600 bytes are kept: the small tensor and the original. Let the original go."})
check("an integer, a bool and a complex tensor stay as they are", lambda: round_trip(torch.float16, torch.tensor([16777217, -5]), torch.tensor([True, False]), torch.tensor([1.0001 + 2.0002j])),
      [torch.tensor([16777217, -5]), torch.tensor([True, False]), torch.tensor([1.0001 + 2.0002j])], rtol=0.0, atol=0.0,
      hint="Only floating tensors may be cast. An int64 or complex64 element is wide, too, but it is left untouched.")
check("what is not wider stays as it is", lambda: round_trip(torch.bfloat16, torch.tensor([1.001]).half(), torch.tensor([3.0]).bfloat16()), [torch.tensor([1.001]).half(), torch.tensor([3.0]).bfloat16()], rtol=0.0, atol=0.0,
      hint="float16 is not wider than bfloat16: casting saves nothing and loses bits. Compare element sizes, not dtypes.")
check("float16 is wider than float8", lambda: held(torch.float8_e5m2, torch.ones(4).half()), 4,
      wrong={12: "12 bytes are kept: the small tensor and the original. Let the original go.", 8: "A float16 tensor is wider than float8, so it is kept in it too. Compare element sizes, do not list dtypes."},
      hint="Wider means a larger element size, whatever the two dtypes are called.")
### BEGIN HIDDEN TESTS
values = torch.randn(6)
shift = int(torch.randint(9, ()))
check("a gradient, kept in bfloat16", lambda: gradient(values, torch.bfloat16), values.exp().bfloat16().float(), rtol=1e-6, atol=1e-6, weight=2,
      hint="A saved float32 tensor is kept in dtype and comes back rounded to it.")
check("integers stay exact", lambda: round_trip(torch.float16, torch.tensor([16777217, 5, -70001]) + shift, torch.tensor([True, False])),
      [torch.tensor([16777217, 5, -70001]) + shift, torch.tensor([True, False])],
      wrong=[(lambda v: True, "An int or bool tensor was cast. An int64 element is wide too, but only floating tensors may be cast.")],
      hint="Integer and bool tensors are left untouched.")
check("complex stays complex", lambda: round_trip(torch.float16, torch.tensor([1.0001 + 2.0002j])), [torch.tensor([1.0001 + 2.0002j])],
      hint="A complex tensor is left untouched; casting it to a real dtype drops its imaginary part.")
check("float16 and bfloat16 do not mix", lambda: round_trip(torch.bfloat16, values.half(), values.bfloat16()), [values.half(), values.bfloat16()], rtol=0.0, atol=0.0,
      hint="float16 is not wider than bfloat16: casting saves nothing and loses bits. Compare element sizes, not dtypes.")
check("nothing grows", lambda: held(torch.float64, torch.ones(50)), 200,
      wrong={400: "A float32 tensor was kept as float64. Cast only what is wider than dtype."}, hint="A tensor that is not wider than dtype is kept as it is.")
check("half the bytes of float16", lambda: held(torch.float8_e5m2, values.half()), 6, weight=2,
      wrong={18: "18 bytes are kept: the small tensor and the original. Let the original go.", 12: "A float16 tensor is wider than float8, so it is kept in it too. Compare element sizes, do not list dtypes."},
      hint="Wider means a larger element size, whatever the two dtypes are called.")
check("float64 to float32", lambda: round_trip(torch.float32, values.double() / 3), [(values.double() / 3).float().double()], rtol=1e-12, atol=1e-12,
      hint="float64 is wider than float32: keep it in float32 and give back float64.")
check("tensors of several dtypes in turn", lambda: [tensor.dtype for tensor in round_trip(torch.float16, torch.ones(2, dtype=torch.float64), torch.ones(2), torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.bfloat16))],
      [torch.float64, torch.float32, torch.float64, torch.bfloat16],
      hint="The dtype belongs to each packed tensor. One variable for all remembers only the last.")
check("the originals are gone", lambda: originals_alive(torch.float16), (0, 3),
      wrong=[(lambda v: v[0] > 0, "Something still holds the original. Keep the cast tensor and the dtype, nothing else.")],
      hint="Keep the cast tensor and the dtype, nothing else.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ### To disk and back
#
# With files a new question comes up: who deletes them? `unpack` must not, since with `retain_graph` it is called again. A backward that releases the graph
# lets go of what `pack` returned. So does a graph that is simply dropped. So the packed object itself has to take its file along when it dies.
#
# **Predict.** When does the object die in the next cell: after (1), after (2) or after (3)?

# %% tags=["demo"]
class Talks:
    def __init__(self, tensor):
        self.tensor = tensor.detach()

    def __del__(self):
        print("   the packed object is gone")


x = torch.ones(3, requires_grad=True)
with saved_tensors_hooks(Talks, lambda packed: packed.tensor):
    y = x.exp()
print("(1) backward with retain_graph")
y.sum().backward(retain_graph=True)
print("(2) backward without")
y.sum().backward()
print("(3) the last name is deleted")
del y

# %% [markdown]
# ### Exercise: `disk_hooks`
# Difficulty: ●●●●○ · about 20 minutes
#
# Write hooks that keep every saved tensor in a file of its own, and let the file go with the graph.
#
# File names are the second trap. An `id` or an address is used again once its owner is gone. A counter starts at zero again in the next pair of hooks, or in the next
# process. A name from `random` repeats whenever someone sets the seed. The standard library has a module whose only job is files with names that collide with nothing.
#
# <details><summary>Stuck?</summary>
#
# `tempfile.mkstemp(dir=folder)` creates a file that did not exist, and returns an open descriptor and its path. `torch.save` and `torch.load` handle every dtype.
# </details>
# <details><summary>Still stuck?</summary>
#
# What `pack` returns decides how long the file lives. Think of a small object that holds the path only, and of what Python calls when such an object dies. One more trap: `torch.save` of a view writes its whole storage.
# </details>

# %% nbgrader={"grade": false, "grade_id": "disk_hooks", "locked": false, "schema_version": 3, "solution": true, "task": false}
def disk_hooks(folder: str | Path) -> tuple[Callable, Callable]:
    """Make hooks that keep saved tensors as files.

    Parameters
    ----------
    folder : str or Path
        Exists. Files go into it (or below it); other files that stand there are never touched.

    Returns
    -------
    (pack, unpack)
        For `saved_tensors_hooks`. Any dtype. Nothing of a tensor stays in memory; a packed tensor can be read any number of times; its
        file is deleted when the graph lets go of it. File names do not depend on generators that can be seeded.
    """
    ### BEGIN SOLUTION
    # Why this shape: the file belongs to one object, and that object belongs to the graph. So nobody has to keep a list of files, and
    # whatever ends the graph ends the file. mkstemp opens no file that exists, whoever else writes into the folder.
    import os
    import tempfile

    class OnDisk:
        def __init__(self, tensor):
            descriptor, self.path = tempfile.mkstemp(suffix=".pt", dir=folder)
            with os.fdopen(descriptor, "wb") as file:
                torch.save(tensor.detach().clone(), file)

        def __del__(self):
            Path(self.path).unlink(missing_ok=True)

    def unpack(packed):
        return torch.load(packed.path, weights_only=True)

    return OnDisk, unpack
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-disk_hooks", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
import gc
import random
import re
import sys
import tempfile
import time
import weakref


def files(folder):
    return sorted(path for path in Path(folder).rglob("*") if path.is_file())


def left(folder):
    """How many files are left; cycles get a chance to be collected first."""
    if files(folder):
        gc.collect()
    return len(files(folder))


def life(fn, values, drop=False):
    """The gradient of fn, bytes on disk while the graph lives, and how many files are left afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        leaf = values.clone().requires_grad_()
        hooks = disk_hooks(folder)  # they may outlive many graphs
        with saved_tensors_hooks(*hooks):
            out = fn(leaf)
        stored = sum(path.stat().st_size for path in files(folder))
        if drop:
            del out
        else:
            out.sum().backward()
        return {"gradient": leaf.grad, "stored": stored, "left": left(folder)}


def again(values):
    """The gradient after two backward passes through one graph."""
    with tempfile.TemporaryDirectory() as folder:
        leaf = values.clone().requires_grad_()
        with saved_tensors_hooks(*disk_hooks(folder)):
            out = leaf.exp()
        out.sum().backward(retain_graph=True)
        out.sum().backward()
        return leaf.grad


def stored_and_read(tensors, pairs=1, reseed=False, form=str):
    """Pack all tensors, in turn with `pairs` pairs of hooks on one folder, then unpack all."""
    with tempfile.TemporaryDirectory() as folder:
        hooks = [disk_hooks(form(folder)) for _ in range(pairs)]
        packed = []
        for number, tensor in enumerate(tensors):
            if reseed:
                random.seed(0)
                torch.default_generator.manual_seed(0)
                if "numpy" in sys.modules:
                    sys.modules["numpy"].random.seed(0)
            packed.append((number % pairs, hooks[number % pairs][0](tensor)))
        result = [hooks[pair][1](item) for pair, item in packed]
        result = [tensor.clone() for tensor in result]
        del packed[:]
        return result


def where_from(values):
    """Overwrite the files behind the hooks' back: does the packed tensor still come back?"""
    with tempfile.TemporaryDirectory() as folder:
        pack, unpack = disk_hooks(folder)
        packed = pack(values)
        for path in files(folder):
            path.write_bytes(bytes(path.stat().st_size))
        try:
            same = torch.equal(unpack(packed), values)
        except Exception:
            same = False
        del packed
        return "memory" if same else "file"


def alive():
    """Is a packed tensor's storage still in memory?"""
    with tempfile.TemporaryDirectory() as folder:
        pack, unpack = disk_hooks(folder)
        tensor = torch.ones(100)
        storage = weakref.ref(tensor.untyped_storage())
        packed = pack(tensor)
        del tensor
        answer = [storage() is None, len(files(folder)) > 0]
        del packed
        return answer


def with_a_clock_that_stands_still(tensors):
    clocks = {name: getattr(time, name) for name in ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns")}
    for name, clock in clocks.items():
        setattr(time, name, lambda now=clock(): now)
    try:
        return stored_and_read(tensors)
    finally:
        for name, clock in clocks.items():
            setattr(time, name, clock)


def existing_files_touched():
    """Make files whose names are like the next ones, or were in use before, pack, and count those that changed."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        pack, unpack = disk_hooks(one)
        packed = pack(torch.ones(2))
        names = {path.name for path in files(one)} | {"0", "1", "0.pt", "1.pt", "0.npy", "1.npy"}
        for name in [*names]:
            for found in re.finditer(r"\d+", name):
                for step in (1, 2):
                    names.add(name[: found.start()] + str(int(found[0]) + step).zfill(len(found[0])) + name[found.end() :])
        pack, unpack = disk_hooks(two)
        del packed  # from now on ids and addresses are used again
        touched, mine, new = 0, set(), {Path(two, name) for name in names}
        for _ in range(5):
            for path in new:
                path.write_bytes(b"mine")
            mine |= new
            packed = pack(torch.ones(2))
            new = {Path(two, path.name) for path in files(two)} - mine
            del packed
            changed = {path for path in mine if not path.exists() or path.stat().st_size != 4}
            touched += len(changed)
            new |= changed
        return touched


def some_dropped(values):
    """Pack three values, let the first go, pack another, then unpack what is left."""
    with tempfile.TemporaryDirectory() as folder:
        pack, unpack = disk_hooks(folder)
        packed = [pack(value) for value in values[:3]]
        del packed[0]
        packed.append(pack(values[3]))
        result = [unpack(item).clone() for item in packed]
        del packed[:]
        return result


check = Check("disk_hooks", points=5)
check("the gradient", lambda: life(lambda x: x.exp() * x.sin(), torch.tensor([0.5, 1.0]))["gradient"], torch.tensor([0.5, 1.0]).exp() * (torch.tensor([0.5, 1.0]).sin() + torch.tensor([0.5, 1.0]).cos()),
      wrong={FileNotFoundError: "A file was gone before it was read. Either it went with the tensor instead of with what pack returned, or two tensors had the same name: an id, an address or a shape is no name."},
      hint="unpack has to give back the tensor that was packed.")
check.that("the bytes are in files", lambda: life(torch.exp, torch.randn(1000))["stored"], lambda v: v >= 3_000,
           wrong={0: "There is no file below the folder while the graph is alive."}, hint="A tensor of 4,000 bytes was saved; the files hold less than that.")
check("no file after backward", lambda: life(torch.exp, torch.ones(3))["left"], 0,
      hint="Backward releases the graph, which lets go of the packed object: its file has to go with it, for example in __del__. The hooks may live on, so the file must not wait for them.")
check("a graph that is dropped", lambda: life(torch.exp, torch.ones(3), drop=True)["left"], 0,
      hint="A graph may be dropped without backward. Delete the file when the packed object dies, not when it is read.")
check("read twice", lambda: again(torch.tensor([0.5, 1.0])), 2 * torch.tensor([0.5, 1.0]).exp(),
      wrong={FileNotFoundError: "A file was gone when it was read again. With retain_graph a packed tensor is read twice: unpack must not delete its file."},
      hint="With retain_graph a packed tensor is read more than once, and comes back the same.")
check("bfloat16, and a Path for the folder", lambda: stored_and_read([torch.tensor([1.5, -2.0]).bfloat16()], form=Path), [torch.tensor([1.5, -2.0]).bfloat16()],
      hint="folder may be a str or a Path, and every dtype has to survive. NumPy has no bfloat16; torch.save and torch.load keep it.")
check("two pairs of hooks, and seeds set in between", lambda: stored_and_read([torch.ones(2), torch.zeros(2), torch.full((2,), 3.0)], pairs=2, reseed=True), [torch.ones(2), torch.zeros(2), torch.full((2,), 3.0)],
      hint="A tensor came back as another, or not at all: two files had the same name. A counter that starts again in each pair collides, and so do names from a generator that somebody seeds.")
check("one dropped before the next", lambda: some_dropped(torch.arange(4.0)), [torch.tensor(1.0), torch.tensor(2.0), torch.tensor(3.0)],
      hint="A tensor was packed while a file had just gone, and its file took the name of one that is still needed. The number of files in the folder is no name.")
check("a clock that stands still", lambda: with_a_clock_that_stands_still([torch.ones(2), torch.zeros(2)]), [torch.ones(2), torch.zeros(2)],
      hint="A clock may show the same time twice, so a time alone is no name. Use tempfile or uuid.")
check("files that stood there before", lambda: existing_files_touched(), 0,
      hint="A file that already stood in the folder was overwritten or deleted. Create files so that an existing one is never opened: tempfile.mkstemp, or open with mode 'x'.")
check("nothing stays in memory", lambda: [where_from(torch.ones(4)), *alive()], ["file", True, True],
      wrong=[(lambda v: not v[2], "The packed object was alive, and its file was gone. The file belongs to what pack returned, not to the tensor.")],
      hint="A copy of the tensor, or the tensor itself, is still in memory. Keep the path only.")
### BEGIN HIDDEN TESTS
def short_lived(count):
    """Sums of tensors that died right after they were packed."""
    with tempfile.TemporaryDirectory() as folder:
        pack, unpack = disk_hooks(folder)
        packed = [pack(torch.full((3,), float(number))) for number in range(count)]
        sums = [float(unpack(item).sum()) for item in packed]
        del packed
        return sums


values = torch.randn(7)
check("no file once the graph is dropped", lambda: life(torch.exp, values, drop=True)["left"], 0,
      hint="A graph may be dropped without backward. Delete the file when the packed object dies, not when it is read.")
check("a folder given as a Path", lambda: stored_and_read([values], form=Path), [values],
      hint="folder may be a str or a Path.")
check("reading twice, other values", lambda: again(values), 2 * values.exp(),
      wrong={FileNotFoundError: "The file was gone at the second reading. With retain_graph a packed tensor is read again: unpack must not delete it."},
      hint="With retain_graph a packed tensor is read more than once.")
check("every dtype", lambda: stored_and_read([values.bfloat16(), values.double(), values > 0, torch.complex(values, values), torch.arange(3), torch.tensor(2.5), torch.ones(0, 2)]),
      [values.bfloat16(), values.double(), values > 0, torch.complex(values, values), torch.arange(3), torch.tensor(2.5), torch.ones(0, 2)], weight=3,
      wrong={TypeError: "NumPy has no bfloat16. torch.save and torch.load keep every dtype."}, hint="dtype and shape have to survive; torch.save and torch.load keep them.")
check("float8", lambda: stored_and_read([values.to(torch.float8_e5m2)])[0].view(torch.uint8), values.to(torch.float8_e5m2).view(torch.uint8),
      hint="NumPy has no float8. torch.save and torch.load keep every dtype.")
check("views", lambda: stored_and_read([values.view(7, 1).expand(7, 3), torch.arange(12.0).view(3, 4).t(), values[2:5]]), [values.view(7, 1).expand(7, 3), torch.arange(12.0).view(3, 4).t(), values[2:5]], weight=2,
      hint="A saved tensor may be a view with any strides; values and shape have to come back.")
check("short-lived tensors", lambda: short_lived(5), [0.0, 3.0, 6.0, 9.0, 12.0],
      wrong={FileNotFoundError: "A file was gone before it was read. Either it went with the tensor instead of with what pack returned, or two tensors had the same name: an id, an address or a shape is no name."},
      hint="Some tensors came back as others: their files had the same name. When a tensor dies, its id and its address are used again: an id, an address or a shape is no name.")
check("one of four dropped", lambda: some_dropped(values[:4]), [values[1], values[2], values[3]], weight=2,
      hint="A tensor was packed while a file had just gone, and its file took the name of one that is still needed. The number of files in the folder is no name.")
check("two pairs of hooks on one folder", lambda: stored_and_read([values, values + 1], pairs=2), [values, values + 1],
      hint="Two pairs of hooks used the same name. A counter that starts again at zero collides; take names that nobody else can take.")
check("generators seeded in between", lambda: stored_and_read([values, values + 1], reseed=True), [values, values + 1],
      hint="The names repeat when someone seeds random or torch. Use tempfile or uuid, which do not depend on seeds.")
check("a clock that stands still, other values", lambda: with_a_clock_that_stands_still([values, values + 1, values + 2]), [values, values + 1, values + 2],
      hint="A clock may show the same time twice, so a time alone is no name. Use tempfile or uuid.")
check("nothing of other values stays in memory", lambda: where_from(values.double()), "file", weight=2,
      hint="A copy of the tensor, or the tensor itself, is still in memory. Keep the path only.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 6. A warning: hooks switch off a safety check
#
# Autograd notices when a saved tensor is changed in place before backward: its *version counter* has moved. With hooks it takes what `unpack` returns, and asks no counter.
#
# **Predict.** `z = y * y` saves `y`. Then `y` is multiplied by ten in place. What happens in backward, without hooks, and with hooks that change nothing?

# %% tags=["demo"]
def change_after_saving(hooked):
    x = torch.ones(3, requires_grad=True)
    y = x * 2.0
    if hooked:
        with saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
            z = y * y
    else:
        z = y * y
    with torch.no_grad():
        y.mul_(10.0)
    z.sum().backward()
    return x.grad


try:
    change_after_saving(hooked=False)
except RuntimeError as error:
    print("without hooks: RuntimeError:", str(error)[:100], "...")
print("with hooks:   ", change_after_saving(hooked=True), " - right is", torch.full((3,), 8.0))

# %% [markdown]
# An error became a wrong gradient. Counting hooks belong in a measurement. Even hooks that change nothing are not neutral, so do not leave them in a training loop.

# %% [markdown]
# ## 7. From what is kept to the peak
#
# The hooks count what is *kept for backward*. The peak is what is *alive at one moment*. These are answers to different questions, and everything between them has a name.
# `reconcile` runs a forward pass under a ledger and under a tracer of live storages, and puts the results into one table.
#
# **Predict.** Will the peak of the forward pass be above the kept bytes, or below? What could be alive that nobody keeps?

# %% tags=["demo"]
from autograder.lab import peak_bytes, plot_timeline, reconcile, trace

batch, seq, hidden, heads, ffn = 4, 32, 64, 4, 256
block = Block(hidden, heads, ffn)
x = torch.randn(batch, seq, hidden, requires_grad=True)
by_hand = 4 * batch * seq * (8 * hidden + heads * seq + 2 * ffn + 4)
bill = reconcile(block, x, params=block.parameters(), predicted=by_hand)
print(bill)
bill.plot()

# %% [markdown]
# **Read** it from top to bottom. "Packed" counts weights and duplicates. "Without parameters" still counts duplicates. One row per storage agrees with the hand count to the byte.
#
# The peak is another number. The input is kept, but this run did not allocate it: that part is subtracted. And at the highest moment some results are alive that nobody keeps.
#
# The tracer follows storages that operations hand out. Scratch memory inside a kernel belongs to no tensor, so the tracer cannot see it.
#
# **Predict.** Where is the peak of a whole training step: at the end of forward, or in backward?

# %% tags=["demo"]
def step():
    block(x).sum().backward()


print(f"peak of forward and backward: {peak_bytes(step):,} bytes")
plot_timeline(trace(step), title="one step of the block: live bytes beyond weights and input")

# %% [markdown]
# Early in backward. Everything that forward kept is still there, and the first gradients come on top. From then on each node lets go of what it saved, while the new
# gradients of the weights stay until they have been added to `.grad`.
#
# ### The other half, by name
#
# Saved tensors are one half of training memory, the half that grows with the batch. The other half stands there for every batch size: **weights**, **gradients** and **optimizer state**. Its sizes follow from the
# number of parameters alone.
#
# **Predict** for AdamW in float32: how many bytes per parameter, all three together?

# %% tags=["demo"]
optimizer = torch.optim.AdamW(block.parameters())
block(x).sum().backward()
optimizer.step()
parameters = list(block.parameters())
half = {
    "weights": sum(p.nbytes for p in parameters),
    "gradients": sum(p.grad.nbytes for p in parameters),
    "optimizer state": sum(t.nbytes for p in parameters for t in optimizer.state[p].values()),
}
count = sum(p.numel() for p in parameters)
for name, nbytes in half.items():
    print(f"{name:<18}{nbytes:>9,} bytes, {nbytes / count:5.2f} per parameter")
print(f"{'saved tensors':<18}{by_hand:>9,} bytes at batch {batch}, and twice as many at batch {2 * batch}")

# %% [markdown]
# Four bytes for the weight, four for its gradient, eight for Adam's two averages. (The few bytes on top are the step counters, one number per tensor of parameters.) Chapter 07 makes a whole bill of both halves.
#
# What remains has no tensor at all: the workspaces of kernels, what the allocator has reserved and does not use, and the memory of the CUDA context itself.
#
# ## On a GPU
#
# With CUDA, the next cell measures the same bill for a block of hidden size 1024. The last row then says "by the allocator", and one more part stands between: what the allocator rounds up, and the kernels' workspaces.
# Without CUDA the cell prints what to expect, from the closed form. `save_on_cpu` should take nearly all of that out of the GPU's memory between forward and backward. The price is the way there and back over the bus.

# %% tags=["demo"]
from autograder.lab import show_recording

expected = 4 * 8 * 512 * (8 * 1024 + 16 * 512 + 2 * 4096 + 4)  # batch 8, seq 512, hidden 1024, 16 heads, MLP 4096, float32


def on_gpu():
    block = Block(1024, 16, 4096).cuda()
    x = torch.randn(8, 512, 1024, device="cuda", requires_grad=True)
    block(x).sum().backward()  # the first call allocates workspaces and .grad
    bill = reconcile(block, x, params=block.parameters(), predicted=expected)

    def step():
        block(x).sum().backward()

    def offloaded():
        with save_on_cpu(pin_memory=True):
            out = block(x)
        out.sum().backward()

    return {**bill.steps, "peak of a step": peak_bytes(step), "peak of a step, save_on_cpu": peak_bytes(offloaded)}


if torch.cuda.is_available():
    for name, nbytes in on_gpu().items():
        print(f"{name:<32}{nbytes:>16,} bytes")
else:
    print(f"one row per storage, to expect: {expected:,} bytes = {expected / 2**20:,.0f} MiB")
show_recording("02-saved-tensors")

# %% [markdown]
# ## Help, I get this error
#
# <details><summary><code>TypeError: Output of saved tensor unpack_hook expected to be a Tensor</code></summary>
#
# `unpack` returned what `pack` had stored, and that was no tensor. Whatever `pack` returns, `unpack` has to turn it back into the tensor.
# </details>
# <details><summary><code>IndexError: tensors used as indices must be long, int, byte or bool tensors</code></summary>
#
# In `cast_hooks`: an index was packed, and came back as a floating tensor. Leave integer and bool tensors alone.
# </details>
# <details><summary><code>TypeError: Got unsupported ScalarType BFloat16</code></summary>
#
# NumPy has no bfloat16. Use `torch.save` and `torch.load`.
# </details>
# <details><summary><code>FileNotFoundError</code> in the second backward</summary>
#
# `unpack` deleted the file. Delete it when the packed object dies, not when it is read.
# </details>
# <details><summary>My ledger has too few rows, but only sometimes</summary>
#
# An address is the key, or the `id` of something that has died. Hold what you compare.
# </details>
#
# ## Explain it aloud
#
# A colleague says: "The profiler shows 31 GB at the peak, the formula says 20 GB, so the formula is wrong." Answer in a minute, aloud, then write it down: which tensors
# does the formula count, which does it leave out and why, and how would you find out what the rest is?
#
# It is graded by hand, two points. One point: saved tensors are what backward needs; parameters are references; views share storages, so one row per storage. One point: the peak is a moment,
# with results and gradients alive that nobody keeps and inputs that were there before; a ledger beside a timeline names the rest.

# %% [markdown] nbgrader={"grade": true, "grade_id": "explain-02-saved-tensors", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# The formula counts what autograd keeps between forward and backward: the tensors that derivatives need, one row per storage. Two views of one storage are one row, and a product that
# keeps its weight keeps a reference to something that is there anyway, so parameters stay out. The peak answers another question: what is alive at one moment. It falls early in backward, when
# everything kept is still there and the first gradients come on top, and it includes results that nobody keeps. Inputs that were there before the step are kept but not allocated by it. On a GPU the allocator's rounding and the kernels' workspaces
# come on top. So both numbers may be right. I would put a ledger by hooks beside a timeline of live bytes, and give every part of the difference a name before I doubt the formula.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# 1. Autograd packs what backward needs; `saved_tensors_hooks` sees every packing.
# 2. The derivative decides what is kept: nothing, the input, the output, a mask or an index. It also depends on who needs a gradient.
# 3. Count one row per storage, leave the parameters out, and hold the storages while you compare them. Then a closed form agrees to the byte.
# 4. Pack may keep something smaller, or somewhere else. Then dtype, lifetime and correctness are your job.
# 5. The peak is a moment, not the sum of what is kept, and weights, gradients and optimizer state are the other half.
