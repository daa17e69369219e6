# %% [markdown]
# # 04 - When PyTorch cannot differentiate your code
# [![Open In Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/YOUR-NAME/YOUR-REPOSITORY/blob/main/notebooks/04-custom-function/04-custom-function.ipynb)
#
# A fused kernel, a quantizer, a call into C++: autograd sees none of it. You give it a backward by hand, and from then on you are
# responsible for it. After this chapter you can
#
# - write a `torch.autograd.Function` that saves the least, computes only what is asked, and survives production;
# - prove it: gradcheck for the mathematics, a contract suite for everything that gradcheck does not see;
# - give a Triton kernel a backward, and register it as an operator of its own.
#
# Time: about 155 minutes, 105 of them for the exercises. You need chapter 01 (nodes, saved tensors); chapter 02 helps.
#
# **May you skip it?** Try these first.
#
# <details><summary>1. Why <code>ctx.save_for_backward(x)</code> and not <code>ctx.x = x</code>?</summary>
#
# `save_for_backward` remembers the tensor's version, so a later in-place edit raises instead of giving a wrong gradient. It goes through the
# saved-tensor hooks, is released after backward, and makes no reference cycle when `x` is the output. An attribute does none of this.
# </details>
# <details><summary>2. gradcheck passes in float64. Name three faults that it did not look for.</summary>
#
# Strided or expanded incoming gradients; work done for inputs that need no gradient; tensors kept that nobody needs; a gradient that is wrong in
# half precision; an incoming gradient edited in place; a missing mask at odd sizes.
# </details>
# <details><summary>3. Your backward returns a gradient of the output's shape for a broadcast weight. What does the engine do?</summary>
#
# It sums the gradient to the weight's shape and says nothing. You have allocated and written the full-size gradient for nothing.
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
try:
    import autograder.lab
except ImportError:  # on Colab: only this project, nothing that is already there is touched
    import subprocess, sys
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps",
                    "git+https://github.com/YOUR-NAME/YOUR-REPOSITORY"], check=True)
import os

import torch
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # Triton reads it when it is imported, by us or by torch

from autograder.lab import (Check, backward_contract, count_work, draw_graph, has_triton, idle_work, load_triton, on_ctx, sentinels,
                            show_recording, vjp)

# %% [markdown]
# ## 1. A Function is a node that you write
#
# A `torch.autograd.Function` has two static methods. `forward(ctx, ...)` computes; nothing inside is recorded. `backward(ctx, ...)` gets one
# incoming gradient per output and returns one gradient per argument of `forward`. The graph gets one node for the whole of it, and `ctx` *is*
# that node.
#
# **Predict.** The class below is called `Square`. What is the node called? How many tensors does it save, and which?

# %% tags=["demo"]
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
y = Square.apply(x)
node = y.grad_fn
print("node:         ", type(node).__name__)
print("saves:        ", node.saved_tensors, "x itself:", node.saved_tensors[0] is x)
print("by hand:      ", Square.backward(node, torch.ones(3)))
y.sum().backward()
print("by the engine:", x.grad)

# %% [markdown]
# **Explain.** The node carries the class's name and `Backward`. It saved `x` itself: not a copy, the same object. And `Square.backward(node, g)` is an
# ordinary call. This is what "called outside the engine" means in this chapter. The engine adds checks and repairs of its own; the plain call shows
# what your code really returns.
#
# ### What is on `ctx`
#
# | on `ctx` | what for |
# |---|---|
# | `save_for_backward(*tensors)` | tensors that backward needs: inputs or outputs, once, at the end of forward |
# | `saved_tensors` | the same tensors again, in backward; raises when one was changed since |
# | any attribute | numbers, shapes, flags: everything that is not a tensor |
# | `needs_input_grad` | one bool per argument: skip the work where it is False |
# | `mark_non_differentiable(out)` | this output has no gradient |
# | `mark_dirty(x)` | forward changed this input in place and returns it |
# | `set_materialize_grads(False)` | backward gets None, and not zeros, for an output that nobody used |
#
# ## 2. save_for_backward and the version counter
#
# Every tensor counts its in-place edits in `_version`. Saving remembers the count, unpacking compares it.
#
# **Predict.** Two Functions compute `exp` and need their output `y` in backward: one saves it with `save_for_backward`, one puts it on `ctx`. Before backward
# the caller doubles `y` in place, once as usual and once through `.data`. Who notices?

# %% tags=["demo"]
class ExpSaved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * y


class ExpAttribute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x.exp()
        return ctx.y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y


def double(y):
    with torch.no_grad():
        y.mul_(2)


def double_data(y):
    y.data.mul_(2)


x = torch.zeros(3, requires_grad=True)
for name, function, edit in [("save_for_backward", ExpSaved, double), ("attribute", ExpAttribute, double), (".data", ExpSaved, double_data)]:
    y = function.apply(x)
    edit(y)
    try:
        (g,) = torch.autograd.grad(y.sum(), x)
        print(f"{name:<18} {g}  (right would be ones)   version {y._version}")
    except RuntimeError as error:
        print(f"{name:<18} RuntimeError: {str(error).split(':')[0]}")

# %% [markdown]
# **Explain.** Only the saved tensor whose version moved is noticed. The attribute gave a gradient twice too large, and so did `.data`, which edits the values and
# leaves the counter alone. A raw kernel does the same as `.data`: it gets a pointer and counts nothing. Saved-tensor hooks go round the check too (chapter 02).
#
# There is a second price. An output on `ctx` makes a cycle: the tensor holds its node, the node holds the tensor. Such memory waits for Python's cycle collector.

# %% tags=["demo"]
import gc
import weakref

gc.collect()
gc.disable()
for function in (ExpSaved, ExpAttribute):
    y = function.apply(x)
    alive = weakref.ref(y)
    del y
    print(f"{function.__name__:<13} output still in memory after del: {alive() is not None}")
gc.enable()

# %% [markdown]
# ### Exercise: SiluMul
#
# `silu(gate) * up` stands in the MLP of most language models. Composed of two operators it keeps `silu(gate)` besides its inputs. Yours keeps the two inputs and recomputes the rest.
# Why that is a bargain: an elementwise operator is bound by memory traffic, so recomputing a sigmoid from a tensor that must be read anyway costs next to nothing.
# **Liger Kernel** and **Unsloth** live by this pattern.

# %% tags=["demo"]
gate = torch.randn(64, 1024, requires_grad=True)
up = torch.randn(64, 1024, requires_grad=True)
composed = F.silu(gate) * up
draw_graph(composed)

# %% [markdown]
# Read the picture: whose bytes would vanish if one node did the work of both? The amber node keeps `silu(gate)`, which nobody else needs.
#
# With σ the sigmoid, g the gate and u up:
#
# $$\frac{\partial}{\partial g}\,\mathrm{silu}(g)\,u = u\,\sigma(g)\,\bigl(1 + g\,(1 - \sigma(g))\bigr), \qquad \frac{\partial}{\partial u}\,\mathrm{silu}(g)\,u = \mathrm{silu}(g) = g\,\sigma(g).$$
#
# Multiply each by the incoming gradient.
#
# Difficulty: ●●○○○ &nbsp; Time: 15 minutes

# %% nbgrader={"grade": false, "grade_id": "SiluMul", "locked": false, "schema_version": 3, "solution": true, "task": false}
class SiluMul(torch.autograd.Function):
    """silu(gate) * up, saving nothing but its two inputs.

    apply(gate, up) takes two floating tensors of one shape and dtype (no broadcasting) and returns a tensor like them.

    - Saves `gate` and `up` themselves, by `ctx.save_for_backward`, and no other tensor anywhere.
    - An input that needs no gradient gets None, and no work is done for it.
    - Inputs, saved tensors and the incoming gradient stay as they are.
    """

    @staticmethod
    def forward(ctx, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        ### BEGIN SOLUTION
        ctx.save_for_backward(gate, up)
        return F.silu(gate) * up
        ### END SOLUTION

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        ### BEGIN SOLUTION
        gate, up = ctx.saved_tensors
        needs_gate, needs_up = ctx.needs_input_grad
        sig = torch.sigmoid(gate)
        grad_gate = grad * up * sig * (1 + gate * (1 - sig)) if needs_gate else None
        grad_up = grad * gate * sig if needs_up else None
        return grad_gate, grad_up
        ### END SOLUTION

# %% [markdown]
# <details><summary>Stuck?</summary>
#
# `forward` is two lines: save, then compute with `F.silu`. In `backward`, recompute `sig = torch.sigmoid(gate)` and write the two formulas down.
# </details>
# <details><summary>Still stuck?</summary>
#
# `ctx.needs_input_grad` is a tuple of two bools, in the order of `apply`'s arguments. Put each formula behind its bool:
# `grad_up = grad * gate * sig if ctx.needs_input_grad[1] else None`.
# </details>
# <details><summary>Help: "function SiluMulBackward returned an incorrect number of gradients (expected 2, got 1)"</summary>
#
# backward returns one value per argument of `forward`, `ctx` not counted. Return None where there is no gradient.
# </details>
# <details><summary>Help: "Trying to backward through the graph a second time"</summary>
#
# `ctx.saved_tensors` was read after the graph had been released. Run the forward again, or pass `retain_graph=True`.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-SiluMul", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
gate = torch.tensor([[-2.0, 0.0, 1.0], [0.5, -0.5, 3.0]], dtype=torch.float64)
up = torch.tensor([[3.0, 2.0, -1.0], [0.25, 4.0, -2.0]], dtype=torch.float64)

def leaves(*tensors):
    return [tensor.clone().requires_grad_() for tensor in tensors]

def kept():
    g, u = leaves(gate, up)
    node = SiluMul.apply(g, u).grad_fn
    names = ["gate" if t is g else "up" if t is u else "another tensor" for t in node.saved_tensors]
    return {"saved": sorted(names), "on ctx": on_ctx(node)}

check = Check("SiluMul", points=6)
check("the output is silu(gate) * up", lambda: SiluMul.apply(gate, up), F.silu(gate) * up,
      wrong=[(lambda v: v is None, "Nothing was returned: forward ends with a return.")],
      hint="Mind the order of the arguments, and compute in the dtype of the inputs.")
check("the node carries the class's name", lambda: type(SiluMul.apply(*leaves(gate, up)).grad_fn).__name__, "SiluMulBackward")
check("gradient of gate", lambda: vjp(SiluMul.apply, (gate, up))[0], vjp(lambda g, u: F.silu(g) * u, (gate, up))[0],
      hint="It is up · σ(gate) · (1 + gate · (1 − σ(gate))) times the incoming gradient.")
check("gradient of up", lambda: vjp(SiluMul.apply, (gate, up))[1], vjp(lambda g, u: F.silu(g) * u, (gate, up))[1],
      hint="It is silu(gate) times the incoming gradient.")
check("it saves its two inputs and nothing else", kept, {"saved": ["gate", "up"], "on ctx": []},
      wrong=[(lambda v: v["on ctx"], "A tensor hangs on ctx as an attribute. There the version counter and the hooks do not see it: use save_for_backward."),
             (lambda v: "another tensor" in v["saved"], "You saved a copy, an output or an intermediate. Save gate and up themselves and recompute the rest.")],
      hint="save_for_backward(gate, up), once.")
### BEGIN HIDDEN TESTS
a, b, upstream = (torch.randn(4, 5, dtype=torch.float64) for _ in range(3))

def frozen(needs):
    g, u = (t.clone().requires_grad_(need) for t, need in zip((a, b), needs))
    out = SiluMul.apply(g, u)
    return [None if r is None else tuple(r.shape) for r in SiluMul.backward(out.grad_fn, torch.ones_like(out))]

def after_backward():
    g, u = leaves(a, b)
    grad = upstream.clone()
    out = SiluMul.apply(g, u)
    torch.autograd.grad(out, (g, u), grad)
    return {"gate": g, "up": u, "incoming": grad, "versions": [g._version, u._version, grad._version]}

def twice():
    g, u = leaves(a, b)
    out = SiluMul.apply(g, u)
    return [[t.clone() for t in torch.autograd.grad(out, (g, u), upstream.clone(), retain_graph=True)] for _ in range(2)]

def edited(which):
    inputs = leaves(a, b)
    out = SiluMul.apply(*inputs)
    with torch.no_grad():
        inputs[which].add_(1)
    return torch.autograd.grad(out, inputs, upstream)

def types():
    rows = []
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        g, u = leaves(a.to(dtype), b.to(dtype))
        out = SiluMul.apply(g, u)
        grads = torch.autograd.grad(out, (g, u), upstream.to(dtype))
        rows.append([t.dtype for t in (out, *grads)] + [tuple(t.shape) for t in (out, *grads)])
    return rows

def two_calls(apply):
    g, u = leaves(a, b)
    return torch.autograd.grad(apply(g, u) + 2 * apply(u + 1, g), (g, u), upstream)

def large(apply):
    inputs = torch.tensor([100.0, -100.0, 0.5]), torch.tensor([2.0, -3.0, 1.0])
    return [apply(*inputs), *vjp(apply, inputs)]

check("gradients for any incoming gradient", lambda: vjp(SiluMul.apply, (a, b), upstream), vjp(lambda g, u: F.silu(g) * u, (a, b), upstream),
      hint="Multiply both formulas by the incoming gradient, and compute in the dtype of the inputs: float32 inside is not enough for float64.")
check("a transposed incoming gradient", lambda: vjp(SiluMul.apply, (a, b), upstream.t().contiguous().t()), vjp(lambda g, u: F.silu(g) * u, (a, b), upstream),
      hint="The incoming gradient may have any strides.")
check("an expanded incoming gradient", lambda: vjp(SiluMul.apply, (a, b), upstream[:1, :1].expand(4, 5)), vjp(lambda g, u: F.silu(g) * u, (a, b), upstream[:1, :1].expand(4, 5).contiguous()),
      hint="sum() sends a gradient whose strides are 0: one number in memory for all elements.")
check("transposed inputs", lambda: [SiluMul.apply(a.t(), b.t()), *vjp(SiluMul.apply, (a.t(), b.t()), upstream.t().contiguous())],
      [F.silu(a.t()) * b.t(), *vjp(lambda g, u: F.silu(g) * u, (a.t(), b.t()), upstream.t().contiguous())],
      hint="The inputs may have any strides.")
check("None for a frozen input", lambda: [frozen((False, True)), frozen((True, False))], [[None, (4, 5)], [(4, 5), None]],
      hint="Return None where ctx.needs_input_grad is False.")
check.that("no work for a frozen input", lambda: [idle_work(SiluMul.apply, (a, b), needs).elements for needs in ((True, True), (True, False), (False, True))],
           # 20 elements are one pass. One pass more is allowed: whoever runs the whole forward again makes silu(gate) without need.
           lambda idle: idle[1] <= idle[0] + 20 and idle[2] <= idle[0] + 20,
           wrong=[(lambda v: True, "Something was computed and then dropped: no gradient that was asked for needed it. Compute only what ctx.needs_input_grad asks for.")],
           hint="So there is nothing to compare.")
check("nothing is changed in place", after_backward, {"gate": a, "up": b, "incoming": upstream, "versions": [0, 0, 0]},
      wrong=[(lambda v: v["versions"][2], "The incoming gradient was edited in place. It may be shared with another node: use new tensors."),
             (lambda v: v["versions"][0] or v["versions"][1], "An input was edited in place. It belongs to the caller, and other nodes may have saved it."),
             (lambda v: True, "Values changed although no version counter moved: .data and raw writes go round the check. Use new tensors.")],
      hint="So there is nothing to compare.")
check("a second backward gives the same", twice, [vjp(lambda g, u: F.silu(g) * u, (a, b), upstream), vjp(lambda g, u: F.silu(g) * u, (a, b), upstream)],
      hint="With retain_graph the same node runs again. What it saved must still be there, unchanged.")
check("two calls in one graph", lambda: two_calls(SiluMul.apply), two_calls(lambda g, u: F.silu(g) * u),
      hint="Each call needs what it saved itself. The class is shared by all calls: keep nothing on it.")
check("large gates", lambda: large(SiluMul.apply), large(lambda g, u: F.silu(g) * u),
      hint="In float32 exp(x) is infinite from x = 89 on, and infinite / infinite is NaN. torch.sigmoid has no such limit.")
check.raises("an edit of gate is noticed", lambda: edited(0), RuntimeError, match="modified by an inplace operation",
             hint="gate was edited after the forward and backward did not notice. Save gate itself, by save_for_backward.")
check("dtype and shape are kept", types, [[d, d, d, (4, 5), (4, 5), (4, 5)] for d in (torch.float16, torch.bfloat16, torch.float32)],
      hint="Output and gradients have the dtype of the inputs.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 3. What gradcheck proves, and what it does not see
#
# `torch.autograd.gradcheck(fn, inputs)` moves every input element by ±10⁻⁶ and compares the slope with your backward. That needs float64: in float32 the
# difference of two outputs is mostly rounding.
#
# **Predict.** PyTorch's own `silu(g) * u`, surely right. Does it pass gradcheck in float32?

# %% tags=["demo"]
def silu_mul(g, u):
    return F.silu(g) * u


torch.manual_seed(0)
for dtype in (torch.float64, torch.float32):
    inputs = [torch.randn(3, 4, dtype=dtype, requires_grad=True) for _ in range(2)]
    try:
        print(dtype, torch.autograd.gradcheck(silu_mul, inputs))
    except RuntimeError as error:
        print(dtype, "fails:", str(error).strip().splitlines()[0])

# %% [markdown]
# PyTorch warns, and in float32 a right answer fails. Whoever then raises the tolerance until it passes has a check that a wrong answer passes too.
#
# Now the other side. The Function below passes gradcheck. It has four faults that production will find.

# %% tags=["demo"]
class Careless(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        sig = torch.sigmoid(gate)
        ctx.save_for_backward(gate, up, sig)
        ctx.up = up
        return gate * sig * up

    @staticmethod
    def backward(ctx, grad):
        gate, up, sig = ctx.saved_tensors
        if not grad.is_contiguous():  # as a kernel that takes the pointer and counts on
            start, storage = grad.storage_offset(), torch.empty(0, dtype=grad.dtype).set_(grad.untyped_storage())
            grad = storage[(start + torch.arange(grad.numel())) % storage.numel()].reshape(grad.shape)
        return grad * ctx.up * sig * (1 + gate * (1 - sig)), grad.mul_(gate * sig)


def two_like(shape, dtype):
    """The arguments of one call, drawn in any shape and dtype: this is all that the contract suite needs to know."""
    return torch.randn(shape, dtype=dtype), torch.randn(shape, dtype=dtype)


print("gradcheck:", torch.autograd.gradcheck(Careless.apply, [t.requires_grad_() for t in two_like((3, 4), torch.float64)]))
backward_contract(Careless.apply, two_like)

# %% [markdown]
# **Read the table.** Each line is one way in which training code calls a backward. The four faults:
#
# 1. *transposed*, *column-sliced*: `.t()` and `torch.cat` send gradients with such strides, and this code reads on from the pointer. `sum()` sends one element in memory, which it happens to survive by wrapping around.
# 2. *two consumers*, *nothing mutated*: `grad.mul_` writes into a buffer that an addition shares with its other operand. A gradcheck in fast mode, as *odd and empty sizes* runs it, calls backward twice with one gradient and notices as well.
# 3. *only needed gradients*: the work is the same when one input is frozen.
# 4. *saved tensors*: `ctx.up` bypasses `save_for_backward`, and `sig` is kept although it could be computed again.
#
# *Double backward* is refused, but by luck: the edited gradient had been saved. Section 5 shows what a saved intermediate does otherwise.
#
# `backward_contract(apply, make_inputs)` is part of this course's `autograder.lab`. It works on any Function, also on yours at work. Point it at your `SiluMul`:

# %% tags=["demo"]
try:
    report = backward_contract(SiluMul.apply, two_like)
except NotImplementedError:
    report = "SiluMul is not written yet."
report

# %% [markdown]
# ## 4. A gradient has the shape of its input
#
# A norm's weight has one element per column and is used in every row. Its gradient is a sum over rows.
#
# **Predict.** A careless backward returns the full-size product and does not sum. What arrives in `w.grad`?

# %% tags=["demo"]
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad * w, grad * x  # the second has the output's shape


x = torch.randn(5, 3)
w = torch.randn(3, requires_grad=True)
out = Scale.apply(x, w)
print("outside the engine:", tuple(Scale.backward(out.grad_fn, torch.ones(5, 3))[1].shape))
out.sum().backward()
print("in w.grad:         ", tuple(w.grad.shape), "right:", torch.allclose(w.grad, x.sum(0)))

# %% [markdown]
# **Explain.** The engine sums a gradient to the input's shape when that is possible, and says nothing. The result is right here, by luck: somebody wrote a
# gradient as large as the activations first. And a Function that is called in another way (`vmap`, a compiler, another framework) has no such repair.
#
# ### Exercise: RMSNorm
#
# With $r = (\mathrm{mean}(x^2) + \varepsilon)^{-1/2}$ per row and $\hat x = x\,r$, the output is $\hat x\,w$. For the incoming gradient $\bar y$, let $h = \bar y\,w$. Then
#
# $$\bar x = r\,\bigl(h - \hat x\;\mathrm{mean}(h\,\hat x)\bigr), \qquad \bar w = \sum_{\text{rows}} \bar y\,\hat x.$$
#
# The second term of $\bar x$ is there because every element of a row moves the row's $r$. Saving $r$ costs one element per row and spares the reduction.
#
# Difficulty: ●●●○○ &nbsp; Time: 20 minutes

# %% nbgrader={"grade": false, "grade_id": "RMSNorm", "locked": false, "schema_version": 3, "solution": true, "task": false}
class RMSNorm(torch.autograd.Function):
    """x * rsqrt(mean(x**2 over the last dimension) + eps) * weight.

    apply(x, weight, eps) takes x of shape [..., D] with any number of leading dimensions (none too), weight [D], and a float.

    - Saves x, weight, and one statistic of one element per row.
    - The gradient of weight has weight's shape, also outside the engine. eps gets None.
    - x and weight have one dtype, which is the output's too; x may have any strides.
    - Inputs, saved tensors and the incoming gradient stay as they are.
    """

    @staticmethod
    def forward(ctx, x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
        ### BEGIN SOLUTION
        rstd = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, rstd)
        return x * rstd * weight
        ### END SOLUTION

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None, None]:
        ### BEGIN SOLUTION
        x, weight, rstd = ctx.saved_tensors
        normed = x * rstd
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            h = grad * weight
            grad_x = rstd * (h - normed * (h * normed).mean(-1, keepdim=True))
        if ctx.needs_input_grad[1]:
            grad_weight = (grad * normed).reshape(-1, x.shape[-1]).sum(0)
        return grad_x, grad_weight, None
        ### END SOLUTION

# %% [markdown]
# <details><summary>Stuck?</summary>
#
# Keep the last dimension in the mean (`keepdim=True`), so that r has shape [..., 1] and broadcasts. All means run over the last dimension, the sum for the weight
# over all *other* dimensions.
# </details>
# <details><summary>Still stuck?</summary>
#
# `(grad * normed).reshape(-1, D).sum(0)` sums over however many leading dimensions there are. `sum(dim=())` would sum everything, so
# `sum(tuple(range(x.dim() - 1)))` is wrong for an x of one dimension.
# </details>
# <details><summary>Help: "returned an invalid gradient at index 1 - got [] but expected shape compatible with [4]"</summary>
#
# The weight's gradient was summed over its own dimension as well.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-RMSNorm", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([[1.0, -2.0, 3.0, 0.5], [2.0, 0.0, -1.0, 4.0]], dtype=torch.float64)
weight = torch.tensor([1.0, 2.0, -1.0, 0.5], dtype=torch.float64)
grad = torch.tensor([[1.0, 0.5, -1.0, 2.0], [0.0, 1.0, 3.0, -2.0]], dtype=torch.float64)

def norm(x, weight, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight

def outside(x, grad):
    out = RMSNorm.apply(x.clone().requires_grad_(), weight.clone().requires_grad_(), 1e-5)
    others = [None] * (len(out.grad_fn._input_metadata) - 1)  # the statistic may be an output of its own, which has no gradient
    return [None if g is None else tuple(g.shape) for g in RMSNorm.backward(out.grad_fn, grad.clone(), *others)]

def kept(x):
    x, w = x.clone().requires_grad_(), weight.clone().requires_grad_()
    node = RMSNorm.apply(x, w, 1e-5).grad_fn
    saved = node.saved_tensors
    return {"inputs": sorted("x" if t is x else "weight" for t in saved if t is x or t is w),
            "other elements": [t.numel() for t in saved if t is not x and t is not w], "on ctx": on_ctx(node)}

check = Check("RMSNorm", points=5)
check("the output", lambda: RMSNorm.apply(x, weight, 1e-5), x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * weight,
      wrong=[(lambda v: v is None, "Nothing was returned: forward ends with a return.")],
      hint="mean of the squares over the last dimension, plus eps, then rsqrt.")
check("gradient of x", lambda: vjp(RMSNorm.apply, (x, weight, 1e-5), grad.clone())[0], vjp(norm, (x, weight, 1e-5), grad)[0],
      wrong=[(lambda v: abs(v[0][0] - 0.5298128) < 1e-4, "You took r for a constant. Every element of a row moves its r: the second term is missing.")],
      hint="r · (h − x̂ · mean(h · x̂)) with h = grad · weight.")
check("shapes of the gradients outside the engine", lambda: outside(x, grad), [(2, 4), (4,), None],
      wrong=[(lambda v: len(v) == 3 and v[1] == (1, 4), "The sum is right, but leading dimensions of size one are still there: the gradient has exactly weight's shape."),
             (lambda v: len(v) == 3 and v[1] == (2, 4), "The weight's gradient has the output's shape. The engine would sum it for you and hide that you wrote it in full."),
             (lambda v: len(v) == 3 and v[2] is not None, "eps is a number; its gradient is None.")],
      hint="One gradient per argument: x's shape, weight's shape, None.")
check("it saves x, weight and one element per row", lambda: kept(x), {"inputs": ["weight", "x"], "other elements": [2], "on ctx": []},
      wrong=[(lambda v: v["on ctx"], "A tensor hangs on ctx as an attribute. Use save_for_backward."),
             (lambda v: sum(v["other elements"]) > 2, "You saved an intermediate as large as x. Save r and compute x · r again."),
             (lambda v: not v["other elements"], "The statistic is not saved, so backward repeats the reduction over x.")],
      hint="save_for_backward(x, weight, r).")
### BEGIN HIDDEN TESTS
x3, upstream = torch.randn(2, 3, 4, dtype=torch.float64), torch.randn(2, 3, 4, dtype=torch.float64)
w = torch.randn(4, dtype=torch.float64)

def two_calls(apply):
    x, weight = x3.clone().requires_grad_(), w.clone().requires_grad_()
    return torch.autograd.grad(apply(x, weight, 0.3) + 2 * apply(x + 1, 3 * weight, 2.0), (x, weight), upstream.clone())

def after_backward():
    x, weight, grad = x3.clone().requires_grad_(), w.clone().requires_grad_(), upstream.clone()
    torch.autograd.grad(RMSNorm.apply(x, weight, 0.3), (x, weight), grad)
    return {"x": x, "weight": weight, "incoming": grad, "versions": [x._version, weight._version, grad._version]}

def twice():
    x, weight = x3.clone().requires_grad_(), w.clone().requires_grad_()
    out = RMSNorm.apply(x, weight, 0.3)
    return [[t.clone() for t in torch.autograd.grad(out, (x, weight), upstream.clone(), retain_graph=True)] for _ in range(2)]

check("the output in three dimensions, with a large eps", lambda: RMSNorm.apply(x3, w, 0.3), norm(x3, w, 0.3),
      hint="eps stands under the root: rsqrt(mean + eps).")
check("the gradient of x in three dimensions", lambda: vjp(RMSNorm.apply, (x3, w, 0.3), upstream.clone())[0], vjp(norm, (x3, w, 0.3), upstream)[0],
      hint="All means run over the last dimension, and eps counts in backward too.")
check("the gradient of weight in three dimensions", lambda: vjp(RMSNorm.apply, (x3, w, 0.3), upstream.clone())[1], vjp(norm, (x3, w, 0.3), upstream)[1],
      hint="Sum grad · x̂ over all leading dimensions.")
check("shapes outside the engine in three dimensions", lambda: outside(x3, upstream), [(2, 3, 4), (4,), None],
      wrong=[(lambda v: v[1] == (3, 4), "You summed over the first dimension only. There may be any number of leading dimensions.")],
      hint="The weight's gradient has weight's shape however many leading dimensions x has.")
check("both gradients for a single row", lambda: vjp(RMSNorm.apply, (x3[0, 0], w, 0.3), upstream[0, 0].clone())[:2], vjp(norm, (x3[0, 0], w, 0.3), upstream[0, 0])[:2],
      hint="An x of one dimension has no rows to sum over. Mind that sum(dim=()) sums everything.")
check("one element per row in three dimensions", lambda: kept(x3), {"inputs": ["weight", "x"], "other elements": [6], "on ctx": []},
      hint="Save x, weight and a statistic of one element per row.")
check("two calls in one graph", lambda: two_calls(RMSNorm.apply), two_calls(norm),
      hint="Each call has an x, a weight and an eps of its own. The class is shared by all calls: keep nothing on it.")
check("nothing is changed in place", after_backward, {"x": x3, "weight": w, "incoming": upstream, "versions": [0, 0, 0]},
      wrong=[(lambda v: v["versions"][2], "The incoming gradient was edited in place. It may be shared with another node: use new tensors."),
             (lambda v: v["versions"][0] or v["versions"][1], "An input was edited in place. It belongs to the caller, and other nodes may have saved it."),
             (lambda v: True, "Values changed although no version counter moved: .data goes round the check. Use new tensors.")],
      hint="So there is nothing to compare.")
check("a second backward gives the same", twice, [vjp(norm, (x3, w, 0.3), upstream)[:2], vjp(norm, (x3, w, 0.3), upstream)[:2]],
      hint="With retain_graph the same node runs again. What it saved, the statistic too, must still be there, unchanged.")
check("transposed x and incoming gradient", lambda: [RMSNorm.apply(x3.transpose(0, 1), w, 0.3), *vjp(RMSNorm.apply, (x3.transpose(0, 1), w, 0.3), upstream.transpose(0, 1))[:2]],
      [norm(x3.transpose(0, 1), w, 0.3), *vjp(norm, (x3.transpose(0, 1), w, 0.3), upstream.transpose(0, 1).contiguous())[:2]],
      hint="x and the incoming gradient may have any strides. Is there a view? It needs rows that lie one after the other in memory; reshape does not.")
check("float32 stays float32", lambda: RMSNorm.apply(x3.float(), w.float(), 0.3).dtype, torch.float32,
      hint="The output has the dtype of x and weight.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 5. Double backward
#
# A gradient penalty, a Hessian-vector product, MAML: they differentiate your backward. It is recorded while it runs, if the caller asked with
# `create_graph=True`. So it must consist of operations that autograd knows, on tensors that have a graph: the *inputs*, as `saved_tensors` gives them back.
#
# **Predict.** `forward` computes x² on the way to x³ and saves it, to spare a multiplication. The first derivative is right. And the second?

# %% tags=["demo"]
class CubeOfIntermediate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        square = x * x
        ctx.save_for_backward(square)
        return square * x

    @staticmethod
    def backward(ctx, grad):
        (square,) = ctx.saved_tensors
        return 3 * square * grad


def derivatives(fn, x):
    """First and second derivative of an elementwise function, zeros where the second is not connected to x."""
    x = x.clone().requires_grad_()
    (first,) = torch.autograd.grad((fn(x) ** 2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, allow_unused=True)
    return first.detach(), torch.zeros_like(x) if second is None else second


import matplotlib.pyplot as plt

points = torch.linspace(-1, 1, 101, dtype=torch.float64)
figure, axes = plt.subplots(1, 2, figsize=(8, 3), facecolor="white", sharex=True)
for name, fn, style in [("x ** 3", lambda x: x**3, "-"), ("intermediate saved", CubeOfIntermediate.apply, "--")]:
    for axis, values in zip(axes, derivatives(fn, points)):
        axis.plot(points, values, style, label=name)
axes[0].set_title("first derivative of (x³)²", fontsize=10)
axes[1].set_title("second derivative of (x³)²", fontsize=10)
for axis in axes:
    axis.set_xlabel("x")
    axis.legend(frameon=False)
figure.tight_layout()
plt.show()

# %% [markdown]
# **Read the curves.** On the left the two lines lie on each other. On the right the dashed one is too low everywhere but at 0, and nothing was raised. `square` was made inside
# `forward`, where nothing is recorded; for the second derivative it is a constant.
#
# Where you do not promise double backward, say so: `@once_differentiable` between `@staticmethod` and `def backward`. It turns the silent error into a loud one. Know its limits:

# %% tags=["demo"]
class CubeOnce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad


x = torch.tensor([2.0], requires_grad=True)
(first,) = torch.autograd.grad((CubeOnce.apply(x) ** 2).sum(), x, create_graph=True)
try:
    first.sum().backward()
except RuntimeError as error:
    print("loss on top, backward():      ", error)
(first,) = torch.autograd.grad((CubeOnce.apply(x) ** 2).sum(), x, create_graph=True)
try:
    print(torch.autograd.grad(first.sum(), x))
except RuntimeError as error:
    print("loss on top, autograd.grad(): ", str(error).split(".")[0])
(first,) = torch.autograd.grad(CubeOnce.apply(x).sum(), x, create_graph=True)
print("the Function itself on top:   ", first, "requires grad:", first.requires_grad)

# %% [markdown]
# Seen on torch 2.13: the refusal is a node that raises when it runs. A full `backward()` runs it. `autograd.grad` for chosen inputs does not pass there and complains about an unused input, which
# `allow_unused=True` would silence. And when the incoming gradient is no part of a graph, as the ones that `sum()` sends, the result is a plain constant.
#
# ### Exercise: Cube
#
# Difficulty: ●●○○○ &nbsp; Time: 10 minutes

# %% nbgrader={"grade": false, "grade_id": "Cube", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Cube(torch.autograd.Function):
    """x ** 3 that can be differentiated twice: in x, and in the incoming gradient.

    apply(x) takes a floating tensor of any shape and strides, and saves it by `ctx.save_for_backward`. Output and derivatives
    are exact at 0. Passes gradgradcheck.
    """

    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        return x * x * x
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> torch.Tensor:
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad
        ### END SOLUTION

# %% [markdown]
# <details><summary>Stuck?</summary>
#
# Save `x`, and write the derivative with ordinary operations on the saved `x` and on `grad`. No `.detach()`, no `.data`, no `no_grad`.
# </details>
# <details><summary>Still stuck?</summary>
#
# The derivative is 3x² times the incoming gradient. Computing it from the output, as 3 y / x, breaks at 0.
# </details>
# <details><summary>Help: "element 0 of tensors does not require grad and does not have a grad_fn"</summary>
#
# Your first gradient has no graph: something in `backward` cut it, or `@once_differentiable` is left over.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-Cube", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([-2.0, 0.5, 3.0], dtype=torch.float64)

def orders(x, grad, second):
    """The gradient, and the derivatives of it in x and in the incoming gradient."""
    x, grad = x.clone().requires_grad_(), grad.clone().requires_grad_()
    (first,) = torch.autograd.grad(Cube.apply(x), x, grad, create_graph=True)
    return [first, *torch.autograd.grad(first, (x, grad), second, allow_unused=True)]

check = Check("Cube", points=4)
check("the output is x ** 3", lambda: Cube.apply(x), torch.tensor([-8.0, 0.125, 27.0], dtype=torch.float64),
      wrong=[(lambda v: v is None, "Nothing was returned: forward ends with a return.")],
      hint="x ** 3, below 0 too.")
check("the gradient", lambda: vjp(Cube.apply, (x,), torch.tensor([1.0, 2.0, -1.0], dtype=torch.float64)), [torch.tensor([12.0, 1.5, -27.0], dtype=torch.float64)],
      wrong=[([None], "No gradient arrived: backward ends with a return.")],
      hint="3 x² times the incoming gradient.")
check("the second derivative in x", lambda: orders(x, torch.ones_like(x), torch.ones_like(x))[1], torch.tensor([-12.0, 3.0, 18.0], dtype=torch.float64),
      wrong=[(lambda v: v is None, "The gradient has no path back to x: save x itself, compute on it with ordinary operations, and drop once_differentiable."),
             (RuntimeError, "The first gradient has no graph, or there is none: no_grad, .data or .detach() in backward cut it, or backward returns nothing.")],
      hint="6 x times both incoming gradients. An intermediate made in forward counts as a constant: save x itself.")
### BEGIN HIDDEN TESTS
z, grad, second = (torch.randn(3, 2, dtype=torch.float64) for _ in range(3))

def two_calls():
    x = z.clone().requires_grad_()
    return torch.autograd.grad(Cube.apply(x) + Cube.apply(2 * x + 1), x, grad)[0]

def edited():
    x = z.clone().requires_grad_()
    out = Cube.apply(x)
    with torch.no_grad():
        x.add_(1)
    return torch.autograd.grad(out, x, grad)

check("the gradient elsewhere", lambda: vjp(Cube.apply, (z,), grad), [3 * z * z * grad], hint="3 x² times the incoming gradient.")
check("the second derivative elsewhere", lambda: orders(z, grad, second)[1], 6 * z * grad * second,
      wrong=[(lambda v: v is None, "The gradient has no path back to x: save x itself and drop once_differentiable.")],
      hint="6 x times both incoming gradients. An intermediate made in forward counts as a constant: save x itself.")
check("the derivative in the incoming gradient", lambda: orders(z, grad, second)[2], 3 * z * z * second,
      wrong=[(lambda v: v is None, "The gradient does not depend on the incoming gradient: something cut the graph between them.")],
      hint="The gradient is linear in the incoming one, so its derivative is 3 x².")
check("exact at 0", lambda: [Cube.apply(torch.zeros(2)), *orders(torch.zeros(2), torch.ones(2), torch.ones(2))], [torch.zeros(2)] * 4,
      wrong=[(lambda v: any(one != one for values in v for one in values), "NaN at 0: you divided by x, or took a logarithm.")],
      hint="At 0 the output and its derivatives are 0, exactly.")
check("small values", lambda: orders(1e-7 * z, grad, second), [3e-14 * z * z * grad, 6e-7 * z * grad * second, 3e-14 * z * z * second], rtol=1e-9, atol=0.0,
      hint="Near 0 the derivatives are not exact. Does a small number added to x hide a division by x?")
check("a number without dimensions", lambda: orders(z[0, 0], grad[0, 0], second[0, 0]), [3 * z[0, 0] ** 2 * grad[0, 0], 6 * z[0, 0] * grad[0, 0] * second[0, 0], 3 * z[0, 0] ** 2 * second[0, 0]],
      hint="Any shape, also none.")
check("two calls in one graph", two_calls, (3 * z**2 + 6 * (2 * z + 1) ** 2) * grad,
      hint="Each call needs the x that it was given. The class is shared by all calls: keep nothing on it.")
check("transposed x and incoming gradient", lambda: [Cube.apply(z.t()), *orders(z.t(), grad.t(), second.t())], [(z**3).t(), (3 * z * z * grad).t(), (6 * z * grad * second).t(), (3 * z * z * second).t()],
      hint="x and the incoming gradient may have any strides. Is there a view? It needs elements that lie one after the other in memory; the formula needs none.")
check.raises("an edit of x is noticed", edited, RuntimeError, match="modified by an inplace operation",
             hint="x was edited after the forward and backward did not notice. Save x itself, by save_for_backward.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 6. Outputs without a gradient, inputs changed in place
#
# Not every output has a gradient. Quantized codes are integers; an index is. For a *float* output without one, `ctx.mark_non_differentiable(out)` is the only way to say so: unmarked it
# requires a gradient, and somebody downstream will ask for it. Integer outputs never require one; marking them tells the reader.
#
# The mirror case: `forward` changes an input in place and returns it. `ctx.mark_dirty(x)` says so. **Predict** what is missing without it:

# %% tags=["demo"]
class ReluInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.relu_()
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * (y > 0)


class ReluInPlaceUnmarked(ReluInPlace):
    @staticmethod
    def forward(ctx, x):
        x.relu_()
        ctx.save_for_backward(x)
        return x


for function in (ReluInPlace, ReluInPlaceUnmarked):
    w = torch.tensor([-1.0, 2.0], requires_grad=True)
    h = w * 1
    out = function.apply(h)
    print(f"{function.__name__:<20} h is now {h.detach().tolist()}, its node {type(h.grad_fn).__name__}, out is h: {out is h}")

# %% [markdown]
# Unmarked, `h` has new values under its old node: whoever uses `h` afterwards gets the gradient of a graph that knows nothing of the relu.
#
# ### Exercise: Quantize
#
# Training with quantization rounds in the forward and pretends in the backward that it did not: the *straight-through* gradient. Where the value was clipped, moving x changes nothing, so there the gradient is zero.

# %% tags=["demo"]
ratio = torch.linspace(-5, 5, 1001)
low, high = -3, 3  # a narrow range, to see the steps; int8 has [-128, 127]
figure, axes = plt.subplots(figsize=(6, 3), facecolor="white")
axes.plot(ratio, ratio.round().clamp(low, high), label="code")
axes.plot(ratio, ((ratio >= low) & (ratio <= high)).float(), "--", label="straight-through gradient")
axes.axvspan(high, high + 0.5, alpha=0.2, color="gray", label="rounds to the last code, gradient 0")
axes.axvspan(low - 0.5, low, alpha=0.2, color="gray")
axes.set_xlabel("x / scale")
axes.legend(frameon=False, fontsize=8)
figure.tight_layout()
plt.show()

# %% [markdown]
# **Read the figure.** The shaded strips are where the two usual conditions differ: x / scale lies outside the range, but rounds back into it. The condition here is on x / scale *before* rounding.
#
# Difficulty: ●●●○○ &nbsp; Time: 15 minutes

# %% nbgrader={"grade": false, "grade_id": "Quantize", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Quantize(torch.autograd.Function):
    """Round to int8 steps of `scale`, with a straight-through gradient.

    apply(x, scale) takes a floating tensor and a positive scale, a float or a 0-d tensor, and returns (dequantized, codes):

    - codes, int8: round(x / scale), as torch.round rounds, clamped to [-128, 127], marked non-differentiable;
    - dequantized: codes * scale, in x's dtype.

    The gradient of x is the incoming gradient where x / scale, before rounding, lies in [-128, 127] (ends included), else 0.
    scale gets None. Inputs and the incoming gradient stay as they are.
    """

    @staticmethod
    def forward(ctx, x: torch.Tensor, scale: float | torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        ### BEGIN SOLUTION
        ratio = x / scale
        codes = ratio.round().clamp(-128, 127).to(torch.int8)
        ctx.save_for_backward((ratio >= -128) & (ratio <= 127))
        ctx.mark_non_differentiable(codes)
        return (codes.to(x.dtype) * scale).to(x.dtype), codes
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad: torch.Tensor, grad_codes: torch.Tensor | None) -> tuple[torch.Tensor, None]:
        ### BEGIN SOLUTION
        (inside,) = ctx.saved_tensors
        return grad * inside, None
        ### END SOLUTION

# %% [markdown]
# <details><summary>Stuck?</summary>
#
# backward gets one gradient per *output*, so two; the second belongs to the codes and is ignored. It returns one per *input*, so two again.
# </details>
# <details><summary>Still stuck?</summary>
#
# A bool mask is the smallest thing to save: `ctx.save_for_backward((ratio >= -128) & (ratio <= 127))`. It is an intermediate, which is fine here: the gradient does not depend on it smoothly.
# </details>
# <details><summary>Help: "backward() takes 2 positional arguments but 3 were given"</summary>
#
# `forward` returns two tensors, so `backward` gets `ctx` and two gradients.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-Quantize", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([-1.0, 0.24, 0.26, 40.0, -70.0, 63.5, 63.7], dtype=torch.float64)

def gradient(x, scale, grad):
    return vjp(lambda x: Quantize.apply(x, scale)[0], (x,), grad.clone())[0]

check = Check("Quantize", points=5)
check("the codes", lambda: Quantize.apply(x, 0.5)[1], torch.tensor([-2, 0, 1, 80, -128, 127, 127], dtype=torch.int8),
      wrong=[(lambda v: v[4] == 116 or v[5] == -128, "The cast wrapped around. Clamp before you turn the values into int8."),
             (lambda v: v[0] == -2.0 and type(v[0]) is float, "The codes are still floating. Codes are int8."),
             (TypeError, "If it speaks of None: forward ends with a return of two tensors, dequantized and codes.")],
      hint="round(x / scale), clamped to [-128, 127], as int8.")
check("the dequantized values", lambda: Quantize.apply(x, 0.5)[0], torch.tensor([-1.0, 0.0, 0.5, 40.0, -64.0, 63.5, 63.5], dtype=torch.float64),
      hint="codes * scale, in x's dtype.")
check("the straight-through gradient", lambda: gradient(x, 0.5, torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], dtype=torch.float64)),
      torch.tensor([1.0, 2.0, 3.0, 4.0, 0.0, 6.0, 0.0], dtype=torch.float64),
      wrong=[(lambda v: v[0] == 0.0, "Rounding has slope 0, but straight-through means: as if nothing had been rounded."),
             (lambda v: v[4] == 5.0, "The gradient passes where the value was clipped. There it is 0."),
             (lambda v: v[6] == 7.0, "63.7 / 0.5 = 127.4 lies outside and only rounds back to 127. Ask x / scale before rounding."),
             (lambda v: v[5] == 0.0, "127 itself lies inside: the range is closed."),
             (lambda v: v[0] in (0.5, 2.0), "The scale cancels: down by scale, up by scale. The gradient passes unchanged.")],
      hint="The incoming gradient where -128 <= x / scale <= 127, else 0.")
### BEGIN HIDDEN TESTS
from unittest import mock

scale = 2.0 ** -float(torch.randint(2, 6, ()))
wide = torch.randn(40, dtype=torch.float64) * 100 * scale
upstream = torch.randn(40, dtype=torch.float64)
edges = torch.tensor([-128.0, -128.25, -127.75, 127.0, 127.25, 126.75, 0.0], dtype=torch.float64) * scale

def halves():
    return Quantize.apply(torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, -2.5], dtype=torch.float64) * scale, scale)[1]

def marked():
    """The dtypes of the outputs that were marked."""
    noted = []

    def note(ctx, *tensors):
        noted.extend(tensor.dtype for tensor in tensors)
        ctx.non_differentiable = tensors

    with mock.patch.object(torch.autograd.function.FunctionCtx, "mark_non_differentiable", note):
        Quantize.apply(wide.clone().requires_grad_(), scale)
    return noted

def types():
    rows = []
    for dtype in (torch.float64, torch.float32, torch.float16):
        for step in (0.25, torch.tensor(0.25), torch.tensor(0.25, dtype=torch.float64)):
            x = torch.tensor([1.0, -2.0], dtype=dtype, requires_grad=True)
            out, codes = Quantize.apply(x, step)
            rows.append([out.dtype, codes.dtype, out.requires_grad, codes.requires_grad])
    return rows

def learned_scale():
    x, step = wide.clone().requires_grad_(), torch.tensor(scale, dtype=torch.float64, requires_grad=True)
    out, codes = Quantize.apply(x, step)
    out.backward(upstream.clone())
    return [x.grad, step.grad]

def two_calls():
    x = wide.clone().requires_grad_()
    return torch.autograd.grad(Quantize.apply(x, scale)[0] + 2 * Quantize.apply(x, scale / 2)[0], x, upstream.clone())[0]

def after_backward():
    x, grad = wide.clone().requires_grad_(), upstream.clone()
    torch.autograd.grad(Quantize.apply(x, scale)[0], x, grad)
    return {"x": x, "incoming": grad, "versions": [x._version, grad._version]}

check("codes and values elsewhere", lambda: list(Quantize.apply(wide, scale)), [(wide / scale).round().clamp(-128, 127) * scale, (wide / scale).round().clamp(-128, 127).to(torch.int8)],
      hint="round(x / scale), clamped to [-128, 127], as int8; then times scale.")
check("halves go to the even code", halves, torch.tensor([0, 2, 2, 0, -2, -2], dtype=torch.int8),
      hint="round is torch.round: a value halfway between two codes goes to the even one. floor(ratio + 0.5) does not.")
check("the codes are marked", marked, [torch.int8],
      hint="Call ctx.mark_non_differentiable(codes), and mark nothing else.")
check("the gradient elsewhere", lambda: gradient(wide, scale, upstream), upstream * ((wide / scale >= -128) & (wide / scale <= 127)),
      hint="The incoming gradient inside the range, 0 where the value was clipped.")
check("the ends of the range", lambda: gradient(edges, scale, torch.ones_like(edges)), torch.tensor([1.0, 0, 1, 1, 0, 1, 1], dtype=torch.float64),
      wrong=[(lambda v: v[0] == 0.0 or v[3] == 0.0, "-128 and 127 themselves lie inside: the range is closed."),
             (lambda v: v[1] == 1.0 or v[4] == 1.0, "A value that lies outside and rounds back into the range gets no gradient. Ask x / scale before rounding.")],
      hint="The closed range [-128, 127], before rounding.")
check("dtypes, and who requires a gradient", types, [[d, torch.int8, True, False] for d in (torch.float64, torch.float32, torch.float16) for _ in range(3)],
      wrong=[(lambda v: any(row[3] for row in v), "The codes require a gradient. They are int8, and marked by ctx.mark_non_differentiable."),
             (lambda v: v[0][0] == "torch.float32", "int8 times a float is float32. The dequantized values have x's dtype.")],
      hint="dequantized has x's dtype whatever scale is; codes are int8.")
check("scale gets None", learned_scale, [upstream * ((wide / scale >= -128) & (wide / scale <= 127)), None],
      hint="The gradient of scale is None, also when scale is a tensor that requires one.")
check("two calls in one graph", two_calls, upstream * ((wide / scale >= -128) & (wide / scale <= 127)) + 2 * upstream * ((2 * wide / scale >= -128) & (2 * wide / scale <= 127)),
      hint="Each call clips other elements. The class is shared by all calls: keep nothing on it.")
check("nothing is changed in place", after_backward, {"x": wide, "incoming": upstream, "versions": [0, 0]},
      wrong=[(lambda v: v["versions"][1], "The incoming gradient was edited in place. It may be shared with another node: use new tensors."),
             (lambda v: v["versions"][0], "x was edited in place. It belongs to the caller."),
             (lambda v: True, "Values changed although no version counter moved: .data goes round the check. Use new tensors.")],
      hint="So there is nothing to compare.")
check("halves at a scale that is no power of two", lambda: Quantize.apply((torch.arange(-60, 60, dtype=torch.float64) + 0.5) * 0.013, 0.013)[1],
      ((torch.arange(-60, 60, dtype=torch.float64) + 0.5) * 0.013 / 0.013).round().to(torch.int8),
      wrong=[(lambda v: True, "Codes next to a half are one step off. Divide by scale: 1 / scale is rounded, and x * (1 / scale) is not always x / scale.")],
      hint="So there is nothing to compare.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 7. Memory that is not yours
#
# Backward is handed three kinds of memory: saved tensors, which the caller still uses; the incoming gradient, which other nodes may share; and what it allocates itself. Only the last is its own.
#
# The class below was written to save memory. It computes the gradient of the gate *into the saved gate*.

# %% nbgrader={"grade": false, "grade_id": "broken-gate", "locked": true, "schema_version": 3, "solution": false, "task": false}
class BrokenGate(torch.autograd.Function):
    """SiluMul as somebody optimized it."""

    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return F.silu(gate) * up

    @staticmethod
    def backward(ctx, grad_output):
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        grad_up = gate * sig * grad_output
        grad_gate = gate.mul_(1 - sig).add_(1).mul_(sig).mul_(up).mul_(grad_output)
        return grad_gate, grad_up

# %% [markdown]
# **Predict.** Is the first gradient right? What happens to the caller's `gate`? And to a second backward?

# %% tags=["demo"]
gate = torch.tensor([-1.0, 0.5, 2.0], requires_grad=True)
up = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
out = BrokenGate.apply(gate, up)
right = vjp(silu_mul, (gate, up))
first = torch.autograd.grad(out, (gate, up), torch.ones(3), retain_graph=True)
print("first gradient right:", all(torch.allclose(a, b) for a, b in zip(first, right)))
print("the caller's gate:   ", gate.detach(), "version", gate._version)
try:
    torch.autograd.grad(out, (gate, up), torch.ones(3))
except RuntimeError as error:
    print("second backward:     ", str(error).split(": [")[0])

# %% [markdown]
# **Explain.** The first gradient is right, so a training script with one backward per step sees a falling loss, while every step replaces activations, or weights, by gradients. The version counter catches the
# second backward. With `gate.data.mul_` it would not even catch that.
#
# ### Exercise: SafeGate
#
# Repair it. Working in place is fine, on memory that you allocated.
#
# Difficulty: ●●○○○ &nbsp; Time: 10 minutes

# %% nbgrader={"grade": false, "grade_id": "SafeGate", "locked": false, "schema_version": 3, "solution": true, "task": false}
class SafeGate(torch.autograd.Function):
    """BrokenGate, repaired: the same gradients on every call, and nothing of the caller's changes.

    apply(gate, up) is silu(gate) * up. Inputs, their version counters and the incoming gradient stay as they were.
    """

    @staticmethod
    def forward(ctx, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(gate, up)
        return F.silu(gate) * up

    @staticmethod
    def backward(ctx, grad_output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        # BrokenGate: gate.mul_(1 - sig).add_(1).mul_(sig).mul_(up).mul_(grad_output)
        ### BEGIN SOLUTION
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        grad_up = gate * sig * grad_output
        grad_gate = (1 - sig).mul_(gate).add_(1).mul_(sig).mul_(up).mul_(grad_output)
        return grad_gate, grad_up
        ### END SOLUTION

# %% [markdown]
# <details><summary>Stuck?</summary>
#
# Which tensor in the chain is first written to? It must be one that this backward made.
# </details>
# <details><summary>Still stuck?</summary>
#
# `1 - sig` and `gate * (1 - sig)` are new tensors; after that every `mul_` and `add_` of the chain is harmless. A `clone()` helps only before the first write.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-SafeGate", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
gate = torch.tensor([-1.0, 0.5, 2.0, -3.0], dtype=torch.float64)
up = torch.tensor([1.0, 2.0, -3.0, 0.5], dtype=torch.float64)
ones = torch.ones(4, dtype=torch.float64)

def passes(gate, up, grad, times):
    """Gradients of so many backward passes through one graph."""
    g, u = gate.clone().requires_grad_(), up.clone().requires_grad_()
    out = SafeGate.apply(g, u)
    return [[t.clone() for t in torch.autograd.grad(out, (g, u), grad.clone(), retain_graph=True)] for _ in range(times)]

check = Check("SafeGate", points=4)
check("output and gradients", lambda: [SafeGate.apply(gate, up), *passes(gate, up, ones, 1)[0]], [F.silu(gate) * up, *vjp(lambda g, u: F.silu(g) * u, (gate, up))],
      hint="silu(gate) · up; then up · σ · (1 + gate · (1 − σ)) and gate · σ, each times the incoming gradient.")
check("the same gradients the second time", lambda: passes(gate, up, ones, 2)[1], vjp(lambda g, u: F.silu(g) * u, (gate, up)),
      wrong=[(RuntimeError, "If it speaks of an inplace operation: the saved gate was edited in place, so the second backward refuses it. Write only to tensors that you made.")],
      hint="The first backward left other values in a saved tensor. Write only to tensors that you made.")
### BEGIN HIDDEN TESTS
a, b, upstream = (torch.randn(3, 4, dtype=torch.float64) for _ in range(3))

def after():
    g, u, grad = a.clone().requires_grad_(), b.clone().requires_grad_(), upstream.clone()
    torch.autograd.grad(SafeGate.apply(g, u), (g, u), grad)
    return {"gate": g, "up": u, "incoming": grad, "versions": [g._version, u._version, grad._version]}

def two_gradients():
    g, u = a.clone().requires_grad_(), b.clone().requires_grad_()
    out = SafeGate.apply(g, u)
    return [[t.clone() for t in torch.autograd.grad(out, (g, u), grad, retain_graph=True)] for grad in (upstream.clone(), upstream.flip(0))]

def outside():
    g, u = a.clone().requires_grad_(), b.clone().requires_grad_()
    out = SafeGate.apply(g, u)
    return [list(SafeGate.backward(out.grad_fn, upstream.clone())) for _ in range(2)]

check("three passes elsewhere", lambda: passes(a, b, upstream, 3), [vjp(lambda g, u: F.silu(g) * u, (a, b), upstream)] * 3,
      wrong=[(RuntimeError, "A backward raised. If one passes above: the saved gate was edited in place, so the second refuses it. Write only to tensors that you made.")],
      hint="The same graph, three times, must give the same gradients.")
check("what the caller sees afterwards", lambda: {k: v for k, v in after().items() if k != "versions"}, {"gate": a, "up": b, "incoming": upstream},
      wrong=[(lambda v: True, "After one backward the caller's tensors hold other values. `.data` hides an edit from the version counter, not from the caller.")])
check("version counters", lambda: after()["versions"], [0, 0, 0],
      wrong=[(lambda v: v[2], "The incoming gradient was edited in place. It may be shared with another node."),
             (lambda v: True, "A saved input was written to, even if its values were put back: others who saved it will refuse it.")])
check("an expanded incoming gradient", lambda: passes(a, b, upstream[0, 0].expand(3, 4), 1), [vjp(lambda g, u: F.silu(g) * u, (a, b), upstream[0, 0].expand(3, 4).contiguous())],
      hint="sum() sends a gradient of stride 0; whoever writes into it gets an error or nonsense.")
check("outside the engine, twice", outside, [vjp(lambda g, u: F.silu(g) * u, (a, b), upstream)] * 2,
      wrong=[(RuntimeError, "A call raised. If one backward passes above: the saved gate was edited in place, so the second call refuses it. Write only to tensors that you made.")],
      hint="backward gives both gradients, the same on each call. Write only to tensors that you made.")
check("another incoming gradient the second time", two_gradients, [vjp(lambda g, u: F.silu(g) * u, (a, b), upstream), vjp(lambda g, u: F.silu(g) * u, (a, b), upstream.flip(0))],
      wrong=[(lambda v: v[0] == v[1], "Two different incoming gradients gave the same result. Compute it anew in every backward.")],
      hint="Every backward starts from the incoming gradient that it was given, and from saved tensors that nothing has changed.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 8. setup_context and vmap
#
# `torch.func` (vmap, grad, jacrev) wants the context apart from the computation: `forward(x)` without `ctx`, and `setup_context(ctx, inputs, output)`. With `generate_vmap_rule = True` PyTorch then vectorizes
# forward and backward itself. **Predict** what happens with the older style.

# %% tags=["demo"]
class SquareSplit(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


rows = torch.arange(6.0).reshape(2, 3)
for function in (SquareSplit, Square):
    try:
        print(function.__name__, torch.func.vmap(torch.func.grad(lambda x: function.apply(x).sum()))(rows))
    except RuntimeError as error:
        print(function.__name__, "raises:", str(error).split(". For")[0])

# %% [markdown]
# A gradient per row, without a loop. The split style is the better default. Only the older one can save an intermediate without returning it.
#
# ## 9. A kernel of your own
#
# Triton kernels are Python functions that a GPU runs once per *block* of elements. The kernel gets pointers: no shape, no strides, no bounds. What autograd does for you elsewhere is yours to do here:
#
# - the last block reaches past the end: **mask** loads and stores;
# - a half type loses digits in every operation: load, widen to float32, compute, and narrow **at the store** (float64 stays float64);
# - the memory may be strided: make it contiguous before you take a pointer, or pass the strides;
# - the incoming gradient may have stride 0 (from `sum()`): the pointer then shows *one* element.
#
# The cell below imports Triton. On a machine without a GPU the kernels run in Triton's interpreter: the same code, a block at a time in NumPy. The environment variable that chooses it was set in the first cell.

# %% nbgrader={"grade": false, "grade_id": "setup-triton", "locked": true, "schema_version": 3, "solution": false, "task": false}
triton, tl = load_triton()
if not has_triton():
    print("Triton has no wheel for this machine. Read on; the exercise TritonSiluMul cannot be run or graded here, the others can.")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

# %% tags=["demo"]
@triton.jit
def add_one_kernel(x_ptr, out_ptr, n, MASKED: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if MASKED:
        tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) + 1, mask=i < n)
    else:
        tl.store(out_ptr + i, tl.load(x_ptr + i) + 1)


if has_triton():
    for masked in (True, False):
        with sentinels() as guarded:
            x = guarded.place(torch.arange(20.0, device=DEVICE))
            out = torch.empty_like(x)
            add_one_kernel[(triton.cdiv(20, 16),)](x, out, 20, MASKED=masked, BLOCK=16)
        print(f"masked: {masked!s:<5}  result right: {torch.equal(out, x + 1)}  bytes written outside: {sum(map(sum, guarded.overwritten()))}")
else:
    print("No Triton, no kernel.")

# %% [markdown]
# **Explain.** Without a mask the result is right. The kernel only wrote twelve floats more, into memory that happens to follow. `sentinels()` of this course's lab puts known bytes around every tensor that is allocated inside,
# and counts afterwards how many changed.
#
# ### Exercise: TritonSiluMul
#
# SiluMul again, over two kernels of yours: one for the forward, one for both gradients.
#
# Difficulty: ●●●●○ &nbsp; Time: 35 minutes

# %% nbgrader={"grade": false, "grade_id": "TritonSiluMul", "locked": false, "schema_version": 3, "solution": true, "task": false}
# Write your two kernels here, each under @triton.jit.
### BEGIN SOLUTION
@triton.jit
def silu_mul_forward_kernel(gate_ptr, up_ptr, out_ptr, n, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    gate = tl.load(gate_ptr + i, mask=mask, other=0.0).to(WIDE)
    up = tl.load(up_ptr + i, mask=mask, other=0.0).to(WIDE)
    tl.store(out_ptr + i, gate * tl.sigmoid(gate) * up, mask=mask)


@triton.jit
def silu_mul_backward_kernel(grad_ptr, gate_ptr, up_ptr, grad_gate_ptr, grad_up_ptr, n, WIDE: tl.constexpr,
                             NEEDS_GATE: tl.constexpr, NEEDS_UP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    grad = tl.load(grad_ptr + i, mask=mask, other=0.0).to(WIDE)
    gate = tl.load(gate_ptr + i, mask=mask, other=0.0).to(WIDE)
    sig = tl.sigmoid(gate)
    if NEEDS_GATE:
        up = tl.load(up_ptr + i, mask=mask, other=0.0).to(WIDE)
        tl.store(grad_gate_ptr + i, grad * up * sig * (1 + gate * (1 - sig)), mask=mask)
    if NEEDS_UP:
        tl.store(grad_up_ptr + i, grad * gate * sig, mask=mask)
### END SOLUTION


class TritonSiluMul(torch.autograd.Function):
    """silu(gate) * up by two masked elementwise Triton kernels.

    apply(gate, up) takes two floating tensors of one shape and dtype: any shape (0-d and empty too), any strides.

    - float16 and bfloat16 are computed in float32, float64 in float64, and narrowed at the store.
    - Saves gate and up themselves, not contiguous copies.
    - The incoming gradient may have any strides, 0 too.
    - An input that needs no gradient gets None, and nothing is allocated for it.
    - Nothing is written outside the tensors that apply allocates; inputs and incoming gradient stay as they are.
    """

    @staticmethod
    def forward(ctx, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        ### BEGIN SOLUTION
        ctx.save_for_backward(gate, up)
        out = torch.empty_like(gate, memory_format=torch.contiguous_format)
        n, block = out.numel(), 4096
        wide = tl.float64 if gate.dtype == torch.float64 else tl.float32
        silu_mul_forward_kernel[(triton.cdiv(n, block),)](gate.contiguous(), up.contiguous(), out, n, WIDE=wide, BLOCK=block)
        return out
        ### END SOLUTION

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        ### BEGIN SOLUTION
        gate, up = ctx.saved_tensors
        needs_gate, needs_up = ctx.needs_input_grad
        grad, n, block = grad.contiguous(), gate.numel(), 4096
        grad_gate = torch.empty_like(gate, memory_format=torch.contiguous_format) if needs_gate else None
        grad_up = torch.empty_like(up, memory_format=torch.contiguous_format) if needs_up else None
        wide = tl.float64 if gate.dtype == torch.float64 else tl.float32
        # A kernel takes no None: where nothing is stored, any pointer will do.
        silu_mul_backward_kernel[(triton.cdiv(n, block),)](
            grad, gate.contiguous(), up.contiguous(), grad if grad_gate is None else grad_gate, grad if grad_up is None else grad_up, n,
            WIDE=wide, NEEDS_GATE=needs_gate, NEEDS_UP=needs_up, BLOCK=block)
        return grad_gate, grad_up
        ### END SOLUTION

# %% [markdown]
# <details><summary>Stuck?</summary>
#
# Start from `add_one_kernel` above. The grid is `(triton.cdiv(n, BLOCK),)` with n the number of elements; shape does not matter to an elementwise kernel on contiguous memory. Allocate the output with
# `torch.empty_like(gate, memory_format=torch.contiguous_format)`, because plain `empty_like` copies the strides of a transposed gate.
# </details>
# <details><summary>Still stuck?</summary>
#
# Pass the wide type as a constant: `WIDE: tl.constexpr` in the kernel, `WIDE=tl.float64 if gate.dtype == torch.float64 else tl.float32` at the launch, and `.to(WIDE)` after each load. `tl.store` narrows to the
# pointer's type. For the backward, `needs_input_grad` can be two more constants: an `if` over a constexpr is decided when the kernel is compiled.
# </details>
# <details><summary>Help: "Expected dtype ['fp32', 'fp64'] but got fp16"</summary>
#
# `tl.exp` and `tl.sigmoid` do not take half types. Widen after the load.
# </details>
# <details><summary>Help: "Triton was imported earlier and cannot interpret now"</summary>
#
# Something imported Triton before the set-up cell. Restart the kernel and run the chapter from the top.
# </details>
# <details><summary>Help: "BLOCK" or "arange's range must be a power of 2"</summary>
#
# `tl.arange(0, BLOCK)` needs a power of two. The mask, not the block, fits the kernel to the size.
# </details>

# %% tags=["needs-triton"] nbgrader={"grade": true, "grade_id": "check-TritonSiluMul", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
from functools import cache

def drawn(*shape, dtype=torch.float64):
    return [torch.randn(shape, dtype=dtype, device=DEVICE) for _ in range(3)]

def run(gate, up, grad):
    """Output, gradients, and what was saved; with sentinels around every tensor, so that no kernel can do harm."""
    with sentinels() as guarded:
        g, u = guarded.place(gate).requires_grad_(), guarded.place(up).requires_grad_()
        out = TritonSiluMul.apply(g, u)
        saved = saved_by(out.grad_fn, g, u)
        return [*(t.detach() for t in (out, *torch.autograd.grad(out, (g, u), grad))), saved]

def outside(gate, up, grad):
    """Bytes written outside the inputs, the incoming gradient, and every tensor that apply allocated; and the last values."""
    with sentinels() as guarded:
        g, u, grad = guarded.place(gate).requires_grad_(), guarded.place(up).requires_grad_(), guarded.place(grad)
        out = TritonSiluMul.apply(g, u)
        grads = torch.autograd.grad(out, (g, u), grad)
    return [sum(map(sum, guarded.overwritten())), *(t.detach()[-3:] for t in (out, *grads))]

def expected(gate, up, grad):
    """Output and gradients by PyTorch: half types computed in float32 and narrowed at the end."""
    dtype, wide = gate.dtype, torch.float64 if gate.dtype == torch.float64 else torch.float32
    gate, up, grad = gate.to(wide), up.to(wide), grad.to(wide)
    return [t.to(dtype) for t in (F.silu(gate) * up, *vjp(lambda g, u: F.silu(g) * u, (gate, up), grad))]

def saved_by(node, g, u):
    names = ["gate" if t is g else "up" if t is u else "another tensor" for t in node.saved_tensors]
    return {"saved": sorted(names), "on ctx": on_ctx(node)}

gate, up, grad = drawn(3, 5)

@cache  # a launch in the interpreter takes milliseconds: checks that look at one run share it
def plain():
    return run(gate, up, grad)

check = Check("TritonSiluMul", points=8)
check("no write outside", lambda: outside(gate[0], up[0], grad[0])[0], 0, limit=20,
      wrong=[(lambda v: True, "A store went past the end of its tensor. Mask loads and stores with i < n.")],
      hint="So nothing could be counted. If it speaks of None or of a number of gradients: forward and backward end with a return.")
check("the output", lambda: plain()[0], F.silu(gate) * up,
      hint="gate * sigmoid(gate) * up, computed in float64 for float64.")
check("the gradients", lambda: plain()[1:3], vjp(lambda g, u: F.silu(g) * u, (gate, up), grad),
      hint="The formulas of SiluMul, computed in float64 for float64.")
check("it saves its two inputs and nothing else", lambda: plain()[3], {"saved": ["gate", "up"], "on ctx": []},
      hint="save_for_backward(gate, up): the tensors you were given, before any contiguous().")
### BEGIN HIDDEN TESTS
other_gate, other_up, other_grad = drawn(6, 7)
long_gate, long_up, long_grad = drawn(2**12 + 1 if DEVICE == "cpu" else 2**20 + 1, dtype=torch.float32)
narrow = torch.cat([torch.linspace(-6, 6, 13), torch.linspace(-1.29, -1.26, 13)]).to(DEVICE)
large = 1 + 8 * torch.rand(26, device=DEVICE)
# Chosen so that no exact result is nearer than 0.08 of a step to the middle between two halves: however float32 computes, it narrows to the same ones.
GATES = [-1175, -1115, -943, -939, -811, -785, -725, -657, -609, -447, -235, -123, -39, 39, 211, 519]
UPS = [-1279, -1077, 1077, -1271, -1509, 1507, 1985, 1683, -1225, -1523, 1551, 1695, 1985, -1519, -1673, -1751]
GRADS = [1321, 1709, -1365, 1915, -1853, 1259, 1075, 1067, 1659, 1211, 1873, -1089, 1477, -1769, 1047, -1047]
far_from_ties = [torch.tensor(numbers, device=DEVICE).div(256).half() for numbers in (GATES, UPS, GRADS)]
steep = [torch.tensor(values, device=DEVICE) for values in ([100.0, -100.0, 0.5], [2.0, -3.0, 1.0], [1.0, 0.5, -2.0])]

ARITHMETIC = {"mul", "add", "sub", "rsub", "div", "neg", "exp", "exp2", "sigmoid", "sigmoid_backward", "silu", "silu_backward", "tanh", "pow", "reciprocal",
              "addcmul", "addcdiv", "where", "matmul", "dot"}

@cache
def watched(needs):
    """What PyTorch computed, the shapes that backward returns, how many elements it allocates, and the caller's tensors afterwards."""
    g, u, grad = other_gate.clone(), other_up.clone(), other_grad.clone()
    g.requires_grad_(needs[0]), u.requires_grad_(needs[1])
    with sentinels(), count_work() as work:
        out = TritonSiluMul.apply(g, u)
        before = work.elements
        found = TritonSiluMul.backward(out.grad_fn, grad)
    return {"arithmetic": sorted({op.split(".")[0].rstrip("_") for op in work.ops} & ARITHMETIC), "allocated": work.elements - before,
            "shapes": [None if r is None else tuple(r.shape) for r in found], "after": [g.detach(), u.detach(), grad]}

@cache
def half(dtype):
    return run(narrow.to(dtype), large.to(dtype), large.flip(0).to(dtype))[:3]

@cache
def transposed():
    return run(other_gate.t(), other_up.t(), other_grad.t().contiguous())

check("your kernels do the arithmetic", lambda: watched((True, True))["arithmetic"], [],
      wrong=[(lambda v: True, "PyTorch computed this, not your kernels.")],
      hint="So there is nothing to compare.")
check("many blocks", lambda: outside(long_gate, long_up, long_grad), [0, *(t[-3:] for t in expected(long_gate, long_up, long_grad))], limit=20,
      wrong=[(lambda v: v[0] > 0, "A store went past the end of its tensor. Mask loads and stores with i < n."),
             (lambda v: True, "The last elements are wrong or were never written. The grid needs cdiv(n, BLOCK) blocks.")],
      hint="So there is nothing to compare.")
check("a single number, and none", lambda: [run(*drawn_like)[:3] for drawn_like in ((other_gate[0, 0], other_up[0, 0], other_grad[0, 0]), (other_gate[:0], other_up[:0], other_grad[:0]))],
      [expected(other_gate[0, 0], other_up[0, 0], other_grad[0, 0]), expected(other_gate[:0], other_up[:0], other_grad[:0])],
      hint="Shapes () and (0, 7): use numel(), and keep the shape of the input.")
check("transposed inputs", lambda: transposed()[:3], expected(other_gate.t().contiguous(), other_up.t().contiguous(), other_grad.t().contiguous()),
      wrong=[(lambda v: True, "A transposed input is not stored row by row. Make inputs contiguous, and allocate outputs contiguous too: empty_like copies strides.")])
check("gate and up with different strides", lambda: run(other_gate, other_up.t().contiguous().t(), other_grad)[:3], expected(other_gate, other_up, other_grad),
      hint="Each input has strides of its own.")
check("sliced inputs", lambda: run(other_gate[:, 1:4], other_up[:, 2:5], other_grad[:, :3])[:3], expected(other_gate[:, 1:4], other_up[:, 2:5], other_grad[:, :3]),
      wrong=[(lambda v: True, "A slice of columns skips memory between its rows. Make it contiguous, or pass its strides.")])
check("a transposed incoming gradient", lambda: run(other_gate, other_up, other_grad.t().contiguous().t())[1:3], expected(other_gate, other_up, other_grad)[1:],
      hint="The incoming gradient has strides of its own. Make it contiguous before you take its pointer.")
check("the incoming gradient of sum()", lambda: run(other_gate, other_up, other_grad[0, 0].expand(6, 7))[1:3], expected(other_gate, other_up, other_grad[0, 0].expand(6, 7))[1:],
      hint="sum() sends a gradient of stride 0: behind the pointer lies one element. Make it contiguous first.")
check("float16 is computed in float32", lambda: half(torch.float16), expected(narrow.half(), large.half(), large.flip(0).half()), rtol=2e-3, atol=1e-4,
      hint="Widen to float32 after the load and narrow at the store, not in between.")
check("bfloat16 is computed in float32", lambda: half(torch.bfloat16), expected(narrow.bfloat16(), large.bfloat16(), large.flip(0).bfloat16()), rtol=1.6e-2, atol=1e-4,
      hint="Widen to float32 after the load and narrow at the store, not in between.")
# bfloat16 cannot be asked so: Triton's interpreter cuts digits off at the store.
check("narrowed once, at the store", lambda: run(*far_from_ties)[:3], expected(*far_from_ties), rtol=0.0, atol=0.0,
      wrong=[(lambda v: True, "Some half values are one step off: something was narrowed before the store, and rounded twice. Keep float32 until then.")],
      hint="So there is nothing to compare.")
check("large gates", lambda: run(*steep)[:3], expected(*steep),
      hint="In float32 exp(x) is infinite from x = 89 on, and infinite / infinite is NaN. tl.sigmoid has no such limit.")
check("transposed inputs are saved themselves", lambda: transposed()[3], {"saved": ["gate", "up"], "on ctx": []},
      hint="Save gate and up themselves, and make contiguous copies in backward: a copy that is saved is a tensor that nobody else keeps.")
check.that("nothing for a frozen input", lambda: [[run["shapes"], run["allocated"]] for run in (watched((True, True)), watched((True, False)), watched((False, True)))],
           lambda v: v[1][0] == [(6, 7), None] and v[2][0] == [None, (6, 7)] and v[1][1] < v[0][1] and v[2][1] < v[0][1],
           wrong=[(lambda v: v[1][0][1] is not None or v[2][0][0] is not None, "Return None where ctx.needs_input_grad is False."),
                  (lambda v: True, "A gradient was allocated and written for an input that needs none.")],
           hint="So there is nothing to compare.")
check("inputs and incoming gradient stay", lambda: watched((True, True))["after"], [other_gate, other_up, other_grad],
      wrong=[(lambda v: True, "A kernel wrote into memory of the caller. Write only to tensors that you allocated.")],
      hint="So there is nothing to compare.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 10. An operator of its own
#
# A Function is a Python object. `torch.compile`, export and other dispatch-level tools want an *operator*: a name, a schema, a fake version that only knows shapes, and a backward. `torch.library.custom_op` registers all that, and
# `opcheck` verifies the registration (not the mathematics; gradcheck does that).

# %% tags=["demo"]
@torch.library.custom_op("autograd_course::silu_mul", mutates_args=())
def silu_mul_op(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return F.silu(gate) * up  # a kernel launch would stand here


@silu_mul_op.register_fake
def _(gate, up):
    return torch.empty_like(gate)


def op_setup_context(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def op_backward(ctx, grad):
    gate, up = ctx.saved_tensors
    sig = torch.sigmoid(gate)
    return grad * up * sig * (1 + gate * (1 - sig)), grad * gate * sig


silu_mul_op.register_autograd(op_backward, setup_context=op_setup_context)

inputs = [torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(2)]
for name, outcome in torch.library.opcheck(silu_mul_op, inputs).items():
    print(f"{name:<32}{outcome}")
print("gradcheck:", torch.autograd.gradcheck(silu_mul_op, inputs))

# %% [markdown]
# ## On a GPU
#
# An elementwise kernel cannot be faster than the memory: forward reads two tensors and writes one, backward reads three and writes two. So the measure is bytes moved over time, beside what a plain copy reaches on the same device.
# The cell below measures eager PyTorch, `torch.compile` and your kernels where there is a GPU, and elsewhere shows what was recorded. bfloat16 runs only where the hardware has it; a T4 uses float16.
# On a T4 (compute capability 7.5) Triton's support is best-effort: its own list of GPUs starts at 8.0. These elementwise kernels compile for it, as tried with Triton 3.7 without a device.

# %% tags=["demo"]
def bandwidths(shape=(8192, 8192)):
    """GB/s of forward and backward of silu(gate) * up, and of a copy."""
    from triton.testing import do_bench

    dtype = torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    gate, up, grad = (torch.randn(shape, dtype=dtype, device="cuda") for _ in range(3))
    gate.requires_grad_(), up.requires_grad_()
    target = torch.empty_like(gate)
    rows = {"copy": {"dtype": str(dtype), "forward GB/s": 2 * gate.nbytes / do_bench(lambda: target.copy_(gate.detach())) / 1e6}}
    for name, fn in [("eager", silu_mul), ("torch.compile", torch.compile(silu_mul)), ("your kernels", TritonSiluMul.apply)]:
        out = fn(gate, up)
        forward = do_bench(lambda: fn(gate, up))
        backward = do_bench(lambda: torch.autograd.grad(out, (gate, up), grad, retain_graph=True))
        rows[name] = {"forward GB/s": 3 * gate.nbytes / forward / 1e6, "backward GB/s": 5 * gate.nbytes / backward / 1e6}
    return rows


if torch.cuda.is_available():
    try:
        for name, row in bandwidths().items():
            print(f"{name:<14}", row)
    except NotImplementedError:
        print("TritonSiluMul is not written yet.")
show_recording("04-silu-mul")

# %% [markdown]
# ## Explain it aloud
#
# In one minute, to a colleague who has just written a fused kernel: what does its backward have to promise, and how do you prove it? Write down what you would say.
#
# *Rubric, 2 points.* Half a point each: what is saved and why by `save_for_backward`; gradcheck in float64 and two faults that it does not see; what belongs to the caller and may not be changed;
# why recomputing is cheaper than saving for an elementwise kernel.

# %% [markdown] nbgrader={"grade": true, "grade_id": "explain-04-custom-function", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# (Your words.)

# %% [markdown]
# ## Summary
#
# 1. A Function is one node; `ctx` is that node. One gradient comes in per output, one goes out per input, of the input's shape, or None.
# 2. Tensors go through `save_for_backward`: version check, hooks, release, no cycle. Save inputs, recompute the rest.
# 3. gradcheck in float64 proves the formula. Strides, sizes, second passes, frozen inputs, half types and memory need tests of their own: `backward_contract`.
# 4. Saved tensors and the incoming gradient are not yours. Write only to what you allocated.
# 5. A kernel gets a pointer: mask it, widen before computing, make memory contiguous, and surround it with sentinels in tests.
