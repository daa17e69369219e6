# %% [markdown]
# # 04 - When PyTorch cannot differentiate your code
# [![Open In Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/YOUR-NAME/YOUR-REPOSITORY/blob/main/notebooks/04-custom-function/04-custom-function.ipynb)

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
# A team put a fused kernel under its MLP. The loss went down, a little slower than before. Two weeks later somebody compared gradients by hand.
# The kernel took a pointer to the incoming gradient and read on from there. After a `sum()` there is only one number behind that pointer. Nothing had raised.
#
# A fused kernel, a quantizer, a call into C++: autograd sees none of it. You write the backward by hand, and from then on you answer for it.
#
# **After this chapter you can**
#
# - write a `torch.autograd.Function` that saves the least, computes only what is asked for, and survives production;
# - prove it: gradcheck for the mathematics, a contract suite for what gradcheck does not see;
# - say which memory a backward may write to, and when a library that writes elsewhere gets away with it;
# - give a Triton kernel a backward, and register it as an operator.
#
# **Time:** about 155 minutes, 105 of them for the exercises (both are estimates). **Needs:** chapter 01 (nodes, saved tensors); chapter 02 helps.
# What is said about PyTorch here was seen on version 2.13, on a CPU.
#
# **Three questions.** If you can answer them, skip to [chapter 05](../05-inference-mode/05-inference-mode.ipynb).
#
# <details><summary>1. Why <code>ctx.save_for_backward(x)</code> and not <code>ctx.x = x</code>?</summary>
#
# `save_for_backward` remembers the tensor's version, so a later in-place edit raises instead of giving a wrong gradient. It goes through the
# saved-tensor hooks, it is released after backward, and it makes no reference cycle when `x` is the output. An attribute does none of this.
# </details>
# <details><summary>2. gradcheck passes in float64. Name three faults that it did not look for.</summary>
#
# An incoming gradient with other strides, or expanded from one number. Work done for an input that needs no gradient. Tensors kept that nobody
# needs. A gradient that is wrong in half precision. A size that you did not give it.
# </details>
# <details><summary>3. Your backward returns a gradient of the output's shape for a broadcast weight. What does the engine do?</summary>
#
# It sums the gradient to the weight's shape and says nothing. You have allocated and written the full-size gradient for nothing.
# </details>

# %% [markdown]
# ## 1. A Function is a node that you write
#
# A `torch.autograd.Function` has two static methods. `forward(ctx, ...)` computes, and nothing inside it is recorded. `backward(ctx, ...)` gets one
# incoming gradient per output and returns one gradient per argument of `forward`. The graph gets one node for all of it, and `ctx` *is*
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
# **Explain.** The node has the name of your class, with `Backward` behind it. It saved `x` itself: not a copy, the same object. And `Square.backward(node, g)` is an
# ordinary call. In this chapter, "called outside the engine" means this call. The engine checks and repairs what comes back. The plain call shows
# what your code really returns.
#
# ### What is on `ctx`
#
# | on `ctx` | what for |
# |---|---|
# | `save_for_backward(*tensors)` | the tensors that backward needs, all in one call: a second call replaces the first. An intermediate is allowed, but for a second derivative it is a constant (section 5) |
# | `saved_tensors` | the same tensors again, in backward; raises when one was edited in place since |
# | any attribute | numbers, shapes, flags: everything that is not a tensor |
# | `needs_input_grad` | one bool per argument: skip the work where it is False |
# | `mark_non_differentiable(out)` | this output has no gradient |
# | `mark_dirty(x)` | forward changed this input in place and returns it |
# | `set_materialize_grads(False)` | for an output that nobody used, backward gets None instead of zeros |
#
# ## 2. save_for_backward and the version counter
#
# A tensor counts its in-place edits in `_version`. Saving remembers the count, unpacking compares it.
#
# **Predict.** Two Functions compute `exp` and need their output `y` in backward. One saves it with `save_for_backward`, the other puts it on `ctx`. Before backward,
# the caller doubles `y` in place: once as usual, once through `.data`. Who notices?

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
# **Explain.** Only the first one notices. The attribute gave a gradient twice too large. So did `.data`, which edits the values and
# leaves the counter alone. A raw kernel is like `.data`: it gets a pointer, and the counter does not move. Saved-tensor hooks go round the check, too (chapter 02).
#
# An attribute has a second price. An output on `ctx` makes a cycle: the tensor holds its node, and the node holds the tensor. Such memory waits for Python's cycle collector.

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
# `silu(gate) * up` stands in the MLP of many language models. Composed of two operators, it keeps `silu(gate)` besides its inputs. **Write one node that keeps the two inputs and nothing else, and computes the rest again in backward.**
#
# That is a bargain. An elementwise operator waits for memory, so a sigmoid of a tensor that must be read anyway costs next to nothing. **Liger Kernel** and **Unsloth** live by this pattern.

# %% tags=["demo"]
gate = torch.randn(64, 1024, requires_grad=True)
up = torch.randn(64, 1024, requires_grad=True)
composed = F.silu(gate) * up
draw_graph(composed)

# %% [markdown]
# Read the picture: which bytes would go away if one node did the work of both? `MulBackward0` keeps `silu(gate)`, and nobody else needs it.
#
# With σ the sigmoid, g the gate and u up:
#
# $$\frac{\partial}{\partial g}\,\mathrm{silu}(g)\,u = u\,\sigma(g)\,\bigl(1 + g\,(1 - \sigma(g))\bigr), \qquad \frac{\partial}{\partial u}\,\mathrm{silu}(g)\,u = \mathrm{silu}(g) = g\,\sigma(g).$$
#
# Multiply each by the incoming gradient.
#
# Difficulty: ●●○○○ &nbsp; Time: about 15 minutes

# %% nbgrader={"grade": false, "grade_id": "SiluMul", "locked": false, "schema_version": 3, "solution": true, "task": false}
class SiluMul(torch.autograd.Function):
    """silu(gate) * up, saving nothing but its two inputs.

    apply(gate, up) takes two floating tensors of one shape and dtype (no broadcasting) and returns a tensor like them.

    - Saves `gate` and `up` themselves, by `ctx.save_for_backward`, whatever their dtype and strides, and no other tensor anywhere.
    - An input that needs no gradient gets None, and no work is done for it.
    - Inputs and incoming gradient may have any strides, and gates any size. Several calls may wait for one backward.
    - Inputs, saved tensors and the incoming gradient stay as they are.
    """

    @staticmethod
    def forward(ctx, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        ### BEGIN SOLUTION
        # Why this shape: the inputs live on anyway, so saving them costs nothing. silu(gate), which people save first, would be one tensor
        # more for as long as the graph lives. It can be had again from gate.
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
# `forward` is two lines: save, then compute. `backward` starts from `ctx.saved_tensors` and makes the sigmoid again.
# </details>
# <details><summary>Still stuck?</summary>
#
# `ctx.needs_input_grad` is a tuple of two bools, in the order of `apply`'s arguments. Each formula belongs behind its bool.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-SiluMul", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
gate = torch.tensor([[-2.0, 0.0, 1.0], [0.5, -0.5, 1000.0]], dtype=torch.float64)
up = torch.tensor([[3.0, 2.0, -1.0], [0.25, 4.0, -2.0]], dtype=torch.float64)
grad = torch.tensor([[1.0, 2.0, -1.0], [0.5, 3.0, -2.0]], dtype=torch.float64)

def leaves(*tensors):
    return [tensor.clone().requires_grad_() for tensor in tensors]

def kept(gate, up):
    g, u = leaves(gate, up)
    node = SiluMul.apply(g, u).grad_fn
    names = ["gate" if t is g else "up" if t is u else "another tensor" for t in node.saved_tensors]
    return {"saved": sorted(names), "on ctx": on_ctx(node)}

def frozen(gate, up, needs):
    g, u = (t.clone().requires_grad_(need) for t, need in zip((gate, up), needs))
    out = SiluMul.apply(g, u)
    return [None if r is None else tuple(r.shape) for r in SiluMul.backward(out.grad_fn, torch.ones_like(out))]

def idle(gate, up):
    """Elements that backward computes and nobody needs: for both inputs, for the gate alone, for up alone."""
    return [idle_work(SiluMul.apply, (gate, up), needs).elements for needs in ((True, True), (True, False), (False, True))]

def after_backward(gate, up, grad):
    g, u = leaves(gate, up)
    grad = grad.clone()
    out = SiluMul.apply(g, u)
    torch.autograd.grad(out, (g, u), grad)
    return {"gate": g, "up": u, "incoming": grad, "versions": [g._version, u._version, grad._version]}

def together_and_apart(gate, up, grad):
    """What the gradients of two calls in one graph differ by from the sum of each call alone."""
    g, u = leaves(gate, up)
    calls = [lambda: SiluMul.apply(g, u), lambda: 2 * SiluMul.apply(u + 1, g)]
    together = torch.autograd.grad(sum(call() for call in calls), (g, u), grad)
    alone = [torch.autograd.grad(call(), (g, u), grad) for call in calls]
    return [both - one - two for both, one, two in zip(together, *alone)]

def types(gate, up, dtype):
    g, u = leaves(gate.to(dtype), up.to(dtype))
    out = SiluMul.apply(g, u)
    grads = torch.autograd.grad(out, (g, u), torch.ones_like(out))
    return [t.dtype for t in (out, *grads)] + [tuple(t.shape) for t in (out, *grads)]

check = Check("SiluMul", points=6)
check("the output is silu(gate) * up", lambda: SiluMul.apply(gate, up), F.silu(gate) * up,
      wrong=[(lambda v: v is None, "Nothing was returned: forward ends with a return.")],
      hint="It is gate · σ(gate) · up, in the dtype of the inputs.")
check("the node carries the class's name", lambda: type(SiluMul.apply(*leaves(gate, up)).grad_fn).__name__, "SiluMulBackward",
      hint="forward has to return a tensor, and it has to be the class SiluMul that does the work.")
check("gradient of gate", lambda: vjp(SiluMul.apply, (gate, up), grad)[0], vjp(lambda g, u: F.silu(g) * u, (gate, up), grad)[0],
      hint="It is up · σ(gate) · (1 + gate · (1 − σ(gate))) times the incoming gradient, and it stands first.")
check("gradient of up", lambda: vjp(SiluMul.apply, (gate, up), grad)[1], vjp(lambda g, u: F.silu(g) * u, (gate, up), grad)[1],
      hint="It is silu(gate) times the incoming gradient, and it stands second.")
check("it saves its two inputs and nothing else", lambda: kept(gate, up), {"saved": ["gate", "up"], "on ctx": []},
      wrong=[(lambda v: v["on ctx"], "A tensor hangs on ctx as an attribute. There the version counter and the hooks do not see it: use save_for_backward."),
             (lambda v: "another tensor" in v["saved"], "You saved a copy, an output or an intermediate. Save gate and up themselves and recompute the rest.")],
      hint="save_for_backward(gate, up), once.")
check("float16 and transposed inputs are saved themselves", lambda: [kept(gate.half(), up.half()), kept(gate.t(), up.t())], [{"saved": ["gate", "up"], "on ctx": []}] * 2,
      wrong=[(lambda v: v[0]["on ctx"] or v[1]["on ctx"], "A tensor hangs on ctx as an attribute. There the version counter and the hooks do not see it: use save_for_backward."),
             (lambda v: "another tensor" in v[0]["saved"] + v[1]["saved"], "What was saved is not the tensor that you were given. (A float32 copy would be twice as large as it.) Save gate and up as they came, and copy again in backward.")],
      hint="save_for_backward(gate, up), once, whatever their dtype.")
check("float16 gives float16", lambda: types(gate, up, torch.float16), [torch.float16] * 3 + [(2, 3)] * 3,
      hint="Output and gradients have the dtype of the inputs.")
check("None for an up that is frozen", lambda: frozen(gate, up, (True, False)), [(2, 3), None],
      hint="Return None where ctx.needs_input_grad is False.")
check.that("an input that is frozen costs nothing", lambda: idle(gate, up), lambda v: v[1] <= v[0] + 6 and v[2] <= v[0] + 6,
           wrong=[(lambda v: True, "Something was computed and then dropped: no gradient that was asked for needed it. Compute only what ctx.needs_input_grad asks for.")],
           hint="So there is nothing to compare.")
check("transposed inputs, a transposed gradient, and one from sum()",
      lambda: [SiluMul.apply(gate.t(), up.t()), vjp(SiluMul.apply, (gate.t(), up.t()), grad.t()), vjp(SiluMul.apply, (gate, up), grad.t().contiguous().t()), vjp(SiluMul.apply, (gate, up), grad[0, 1].expand(2, 3))],
      [(F.silu(gate) * up).t(), [g.t() for g in vjp(lambda g, u: F.silu(g) * u, (gate, up), grad)], vjp(lambda g, u: F.silu(g) * u, (gate, up), grad), vjp(lambda g, u: F.silu(g) * u, (gate, up), grad[0, 1].expand(2, 3).contiguous())],
      hint="Inputs and incoming gradient may have any strides. sum() sends strides of 0: one number in memory for all elements.")
check("two calls before one backward", lambda: together_and_apart(gate, up, grad), [torch.zeros_like(gate)] * 2,
      hint="Each call needs what it saved itself. The class is shared by all calls: keep nothing on it.")
check("everything of the caller's stays", lambda: after_backward(gate, up, grad), {"gate": gate, "up": up, "incoming": grad, "versions": [0, 0, 0]},
      wrong=[(lambda v: v["versions"][2], "The incoming gradient was edited in place. It may be shared with another node: use new tensors."),
             (lambda v: v["versions"][0] or v["versions"][1], "An input was edited in place. It belongs to the caller, and other nodes may have saved it."),
             (lambda v: True, "Values changed although no version counter moved: .data and raw writes go round the check. Use new tensors.")],
      hint="So there is nothing to compare.")
### BEGIN HIDDEN TESTS
a, b, upstream = (torch.randn(4, 5, dtype=torch.float64) for _ in range(3))

def twice():
    """What the gradients of a second pass differ by from those of the first."""
    g, u = leaves(a, b)
    out = SiluMul.apply(g, u)
    first, second = ([t.clone() for t in torch.autograd.grad(out, (g, u), upstream.clone(), retain_graph=True)] for _ in range(2))
    return [two - one for one, two in zip(first, second)]

def edited(which):
    inputs = leaves(a, b)
    out = SiluMul.apply(*inputs)
    with torch.no_grad():
        inputs[which].add_(1)
    return torch.autograd.grad(out, inputs, upstream)

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
check("inputs are saved themselves in every dtype and layout", lambda: [kept(a.to(dtype), b.to(dtype)) for dtype in (torch.float16, torch.bfloat16, torch.float32)] + [kept(a.t(), b.t())],
      [{"saved": ["gate", "up"], "on ctx": []}] * 4,
      hint="Save gate and up as they came: no float32 copy, no contiguous copy, and nothing on ctx.")
check("None for a frozen input", lambda: [frozen(a, b, (False, True)), frozen(a, b, (True, False))], [[None, (4, 5)], [(4, 5), None]],
      hint="Return None where ctx.needs_input_grad is False.")
check.that("no work for a frozen input", lambda: idle(a, b),
           # 20 elements are one pass. One pass more is allowed: whoever runs the whole forward again makes silu(gate) without need.
           lambda idle: idle[1] <= idle[0] + 20 and idle[2] <= idle[0] + 20,
           wrong=[(lambda v: True, "Something was computed and then dropped: no gradient that was asked for needed it. Compute only what ctx.needs_input_grad asks for.")],
           hint="So there is nothing to compare.")
check("nothing is changed in place", lambda: after_backward(a, b, upstream), {"gate": a, "up": b, "incoming": upstream, "versions": [0, 0, 0]},
      wrong=[(lambda v: v["versions"][2], "The incoming gradient was edited in place. It may be shared with another node: use new tensors."),
             (lambda v: v["versions"][0] or v["versions"][1], "An input was edited in place. It belongs to the caller, and other nodes may have saved it."),
             (lambda v: True, "Values changed although no version counter moved: .data and raw writes go round the check. Use new tensors.")],
      hint="So there is nothing to compare.")
check("a second backward gives the same", twice, [torch.zeros_like(a)] * 2,
      hint="With retain_graph the same node runs again. What it saved must still be there, unchanged.")
check("two calls in one graph", lambda: together_and_apart(a, b, upstream), [torch.zeros_like(a)] * 2,
      hint="Each call needs what it saved itself. The class is shared by all calls: keep nothing on it.")
check("large gates", lambda: large(SiluMul.apply), large(lambda g, u: F.silu(g) * u),
      hint="In float32 exp(x) is infinite from x = 89 on, and infinite / infinite is NaN. torch.sigmoid has no such limit.")
check.raises("an edit of gate is noticed", lambda: edited(0), RuntimeError, match="modified by an inplace operation",
             hint="gate was edited after the forward, and backward did not raise the error about it. Save gate itself, by save_for_backward.")
check("dtype and shape are kept", lambda: [types(a, b, dtype) for dtype in (torch.float16, torch.bfloat16, torch.float32)], [[d, d, d, (4, 5), (4, 5), (4, 5)] for d in (torch.float16, torch.bfloat16, torch.float32)],
      hint="Output and gradients have the dtype of the inputs.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ### Your class is a node now
#
# The same picture, with your class in place of the two operators. **Predict** what the nodes are called, and how many bytes they keep besides the two inputs.

# %% tags=["demo"]
gate = torch.randn(64, 1024, requires_grad=True)
up = torch.randn(64, 1024, requires_grad=True)
try:
    fused = SiluMul.apply(gate, up)
except NotImplementedError:
    fused = None
if fused is None or fused.grad_fn is None:
    picture = "SiluMul returns no node yet. Write it, and run this cell again."
else:
    own = [t for t in fused.grad_fn.saved_tensors if t is not gate and t is not up]
    print("node:", type(fused.grad_fn).__name__, " a kind of ctx:", isinstance(fused.grad_fn, torch.autograd.function.FunctionCtx))
    print("kept besides the inputs:", sum(t.nbytes for t in own), "bytes; the composed version keeps", composed.grad_fn._saved_self.nbytes)
    picture = draw_graph(fused)
picture

# %% [markdown]
# One node stands where two stood, and `ctx` in your `backward` is that node. PyTorch made its class from yours: the name is your class's name with `Backward` behind it.
#
# ## 3. What gradcheck proves, and what it does not see
#
# `torch.autograd.gradcheck(fn, inputs)` moves each element of the inputs by ±10⁻⁶ and compares the slope with your backward. That needs float64: in float32 the
# difference of two outputs is mostly rounding.
#
# **Predict.** Take PyTorch's own `silu(g) * u`, which is surely right. Does it pass gradcheck in float32?

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
# PyTorch warns, and in float32 a right answer fails. If you raise the tolerance until it passes, a wrong answer passes, too.
#
# Now the other side. The Function below passes gradcheck. It has four faults that production will find. Which ones do you see?

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
# 1. *transposed*, *column-sliced*: `.t()` and `torch.cat` send gradients with such strides, and this code reads on from the pointer. `sum()` sends one element in memory. This code survives that by luck, because it starts over at the end of the storage.
# 2. *two consumers*, *nothing mutated*: `grad.mul_` writes into a buffer that an addition shares with its other operand. *odd and empty sizes* notices as well: it runs gradcheck in fast mode, which calls backward twice with one gradient.
# 3. *only needed gradients*: the work is the same when one input is frozen.
# 4. *saved tensors*: `ctx.up` bypasses `save_for_backward`, and `sig` is kept although it could be computed again.
#
# *Double backward* is refused, but by luck: the edited gradient had been saved. Section 5 shows what a saved intermediate does otherwise.
#
# `backward_contract(apply, make_inputs)` is part of this course's `autograder.lab`. It works on any Function, on yours at work, too. Point it at your `SiluMul`:

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
# **Explain.** The engine sums a gradient to the input's shape when that is possible, and says nothing. So the result is right. But somebody allocated and wrote a
# gradient as large as the activations first, and only then it was summed.
#
# Does the repair come along when something else calls the Function? **Predict** for `func.grad`, and for `vmap` over it.

# %% tags=["demo"]
class ScaleSplit(torch.autograd.Function):  # torch.func wants the context apart: section 8
    generate_vmap_rule = True

    @staticmethod
    def forward(x, w):
        return x * w

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    backward = Scale.backward


weights = torch.stack([w.detach(), 2 * w.detach()])
gradient = torch.func.grad(lambda w: ScaleSplit.apply(x, w).square().sum())
right = torch.stack([2 * w * x.square().sum(0) for w in weights])
for name, found, wanted in [("func.grad", gradient(weights[0]), right[0]), ("vmap of func.grad", torch.func.vmap(gradient)(weights), right)]:
    print(f"{name:<18} shape {tuple(found.shape)!s:<7} right: {torch.allclose(found, wanted)}")

# %% [markdown]
# Both repair it, too, and so does `torch.compile` with `fullgraph=True`. What is lost is memory and time, not the result. The wrong shape comes out only where somebody calls your `backward` as a plain function, as we did above: from another backward, or from a test.
#
# ### Exercise: RMSNorm
#
# **Write the whole norm as one Function, and give the weight a gradient of the weight's own shape.**
#
# With $r = (\mathrm{mean}(x^2) + \varepsilon)^{-1/2}$ per row and $\hat x = x\,r$, the output is $\hat x\,w$. For the incoming gradient $\bar y$, let $h = \bar y\,w$. Then
#
# $$\bar x = r\,\bigl(h - \hat x\;\mathrm{mean}(h\,\hat x)\bigr), \qquad \bar w = \sum_{\text{rows}} \bar y\,\hat x.$$
#
# The second term of $\bar x$ is there because every element of a row moves the row's $r$. Saving $r$ costs one element per row and spares the reduction.
#
# Difficulty: ●●●○○ &nbsp; Time: about 20 minutes

# %% nbgrader={"grade": false, "grade_id": "RMSNorm", "locked": false, "schema_version": 3, "solution": true, "task": false}
class RMSNorm(torch.autograd.Function):
    """x * rsqrt(mean(x**2 over the last dimension) + eps) * weight.

    apply(x, weight, eps) takes x of shape [..., D] with any number of leading dimensions (none too), weight [D], and a float.

    - Saves x and weight themselves, whatever their dtype and strides, and one statistic of one element per row.
    - The gradient of weight has weight's shape, also outside the engine. eps gets None.
    - x and weight have one dtype, which is the output's too; x and the incoming gradient may have any strides.
    - Several calls may wait for one backward, and backward may run twice.
    - Inputs, saved tensors and the incoming gradient stay as they are.
    """

    @staticmethod
    def forward(ctx, x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
        ### BEGIN SOLUTION
        # Why this shape: r is the one thing that is dear to compute again (a reduction) and cheap to keep (one element per row).
        # x * r is as large as x and one product away: people save it, and pay for a second activation.
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
# Keep the last dimension in the mean (`keepdim=True`), so that r has shape [..., 1] and broadcasts. All means run over the last dimension. The sum for the weight runs
# over all *other* dimensions.
# </details>
# <details><summary>Still stuck?</summary>
#
# Make two dimensions of however many there are: a reshape to [-1, D]. Then there is always exactly one dimension to sum over. (`sum(dim=())` sums everything, so
# a tuple of the leading dimensions goes wrong where there are none.)
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

def kept(x, weight=weight):
    x, w = x.clone().requires_grad_(), weight.clone().requires_grad_()
    node = RMSNorm.apply(x, w, 1e-5).grad_fn
    saved = node.saved_tensors
    return {"inputs": sorted("x" if t is x else "weight" for t in saved if t is x or t is w),
            "other elements": [t.numel() for t in saved if t is not x and t is not w], "on ctx": on_ctx(node)}

def two_calls(x, weight, grad):
    """What the gradients of two calls in one graph differ by from the sum of each call alone."""
    x, weight = x.clone().requires_grad_(), weight.clone().requires_grad_()
    calls = [lambda: RMSNorm.apply(x, weight, 0.3), lambda: 2 * RMSNorm.apply(x + 1, 3 * weight, 2.0)]
    together = torch.autograd.grad(sum(call() for call in calls), (x, weight), grad.clone())
    alone = [torch.autograd.grad(call(), (x, weight), grad.clone()) for call in calls]
    return [both - one - two for both, one, two in zip(together, *alone)]

def twice(x, weight, grad):
    """What the gradients of a second pass differ by from those of the first."""
    x, weight = x.clone().requires_grad_(), weight.clone().requires_grad_()
    out = RMSNorm.apply(x, weight, 0.3)
    first, second = ([t.clone() for t in torch.autograd.grad(out, (x, weight), grad.clone(), retain_graph=True)] for _ in range(2))
    return [two - one for one, two in zip(first, second)]

def after_backward(x, weight, grad):
    x, weight, grad = x.clone().requires_grad_(), weight.clone().requires_grad_(), grad.clone()
    torch.autograd.grad(RMSNorm.apply(x, weight, 0.3), (x, weight), grad)
    return {"x": x, "weight": weight, "incoming": grad, "versions": [x._version, weight._version, grad._version]}

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
check("gradient of weight", lambda: vjp(RMSNorm.apply, (x, weight, 1e-5), grad.clone())[1], vjp(norm, (x, weight, 1e-5), grad)[1],
      hint="The sum of grad · x̂ over the rows.")
check("it saves x, weight and one element per row", lambda: kept(x), {"inputs": ["weight", "x"], "other elements": [2], "on ctx": []},
      wrong=[(lambda v: v["on ctx"], "A tensor hangs on ctx as an attribute. Use save_for_backward."),
             (lambda v: any(n >= 8 for n in v["other elements"]), "You saved an intermediate as large as x, or a copy of x. Save x itself, and compute x · r again."),
             (lambda v: len(v["inputs"]) < 2, "x or weight is not saved, or a copy of it is. Save the two tensors that you were given."),
             (lambda v: sum(v["other elements"]) > 2, "More than one element per row was saved besides the inputs. One statistic is enough."),
             (lambda v: not v["other elements"], "The statistic is not saved, so backward repeats the reduction over x.")],
      hint="save_for_backward(x, weight, r).")
check("an x of one dimension", lambda: vjp(RMSNorm.apply, (x[0], weight, 1e-5), grad[0].clone())[:2], vjp(norm, (x[0], weight, 1e-5), grad[0])[:2],
      hint="x may have no leading dimension at all: one row, nothing to sum over. The gradient of weight is then grad · x̂.")
check("three dimensions, outside the engine", lambda: outside(x.repeat(3, 1, 1), grad.repeat(3, 1, 1)), [(3, 2, 4), (4,), None],
      hint="However many leading dimensions x has, the gradient of weight has weight's shape.")
check("float32 gives float32, and x may be transposed", lambda: [RMSNorm.apply(x.float(), weight.float(), 0.5).dtype, RMSNorm.apply(x.t(), weight[:2], 0.5), vjp(RMSNorm.apply, (x.t(), weight[:2], 0.5), grad.t())[:2]],
      [torch.float32, norm(x.t(), weight[:2], 0.5), vjp(norm, (x.t(), weight[:2], 0.5), grad.t().contiguous())[:2]],
      hint="The output has the dtype of x and weight; x and the incoming gradient may have any strides.")
check("float16 and transposed rows are saved themselves", lambda: [kept(x.half(), weight.half()), kept(x.repeat(3, 1, 1).transpose(0, 1))], [{"inputs": ["weight", "x"], "other elements": [2], "on ctx": []}, {"inputs": ["weight", "x"], "other elements": [6], "on ctx": []}],
      hint="Save x and weight as they came: no float32 copy, no contiguous copy. Only the statistic is yours.")
check("two calls before one backward, and a second backward", lambda: [two_calls(x, weight, grad), twice(x, weight, grad)], [[torch.zeros_like(x), torch.zeros_like(weight)]] * 2,
      hint="Each call needs what it saved itself, unchanged: keep nothing on the class, and edit nothing that was saved.")
check("everything of the caller's stays", lambda: after_backward(x, weight, grad), {"x": x, "weight": weight, "incoming": grad, "versions": [0, 0, 0]},
      wrong=[(lambda v: v["versions"][2], "The incoming gradient was edited in place. It may be shared with another node: use new tensors."),
             (lambda v: v["versions"][0] or v["versions"][1], "An input was edited in place. It belongs to the caller, and other nodes may have saved it."),
             (lambda v: True, "Values changed although no version counter moved: .data goes round the check. Use new tensors.")],
      hint="So there is nothing to compare.")
### BEGIN HIDDEN TESTS
x3, upstream = torch.randn(2, 3, 4, dtype=torch.float64), torch.randn(2, 3, 4, dtype=torch.float64)
w = torch.randn(4, dtype=torch.float64)

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
check("half types and transposed rows are saved themselves", lambda: [kept(x3.half(), w.half()), kept(x3.bfloat16(), w.bfloat16()), kept(x3.transpose(0, 1), w)],
      [{"inputs": ["weight", "x"], "other elements": [6], "on ctx": []}] * 3,
      hint="Save x and weight as they came: no float32 copy, no contiguous copy. Only the statistic is yours.")
check("two calls in one graph", lambda: two_calls(x3, w, upstream), [torch.zeros_like(x3), torch.zeros_like(w)],
      hint="Each call has an x, a weight and an eps of its own. The class is shared by all calls: keep nothing on it.")
check("nothing is changed in place", lambda: after_backward(x3, w, upstream), {"x": x3, "weight": w, "incoming": upstream, "versions": [0, 0, 0]},
      wrong=[(lambda v: v["versions"][2], "The incoming gradient was edited in place. It may be shared with another node: use new tensors."),
             (lambda v: v["versions"][0] or v["versions"][1], "An input was edited in place. It belongs to the caller, and other nodes may have saved it."),
             (lambda v: True, "Values changed although no version counter moved: .data goes round the check. Use new tensors.")],
      hint="So there is nothing to compare.")
check("a second backward gives the same", lambda: twice(x3, w, upstream), [torch.zeros_like(x3), torch.zeros_like(w)],
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
# A gradient penalty, a Hessian-vector product, MAML: they differentiate your backward. It is recorded while it runs, if the caller asked for that with
# `create_graph=True`. So it must consist of operations that autograd knows, on tensors that have a graph. Inputs and outputs have one when they come back from `saved_tensors`. An intermediate has none.
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
# `forward`, where nothing is recorded. For the second derivative it is a constant.
#
# That is no reason never to save an intermediate. RMSNorm saves one, and so will Quantize. It costs you the double backward, so say so: `@once_differentiable` between `@staticmethod` and `def backward`. It turns the silent error into a loud one. It has limits:

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
# The refusal is a node that raises when it runs. A full `backward()` runs it. `autograd.grad` for chosen inputs does not pass there: it complains about an unused input, and
# `allow_unused=True` would silence that. And when the incoming gradient belongs to no graph, like the ones that `sum()` sends, the result is a plain constant.
#
# ### Exercise: Cube
#
# **Write x³ so that its gradient can be differentiated again**, and that in both things it depends on: `x` and the incoming gradient.
#
# Difficulty: ●●○○○ &nbsp; Time: about 10 minutes

# %% nbgrader={"grade": false, "grade_id": "Cube", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Cube(torch.autograd.Function):
    """x ** 3 that can be differentiated twice: in x, and in the incoming gradient.

    apply(x) takes a floating tensor of any shape and strides, and saves it by `ctx.save_for_backward`, so that a later edit of x is
    noticed. Output and derivatives are exact at 0. Passes gradgradcheck.
    """

    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        ### BEGIN SOLUTION
        # Why this shape: x comes back from saved_tensors with its graph, and 3 * x * x * grad is recorded like any other code.
        # x * x would spare one product and come back as a constant; 3 * y / x would fail at 0.
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
# Which tensor that you can save has a graph when it comes back?
# </details>
# <details><summary>Still stuck?</summary>
#
# Only ordinary operations, on the saved tensor and on `grad`: no `.detach()`, no `.data`, no `no_grad`.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-Cube", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([-2.0, 0.5, 3.0], dtype=torch.float64)

def edited(x):
    x = x.clone().requires_grad_()
    out = Cube.apply(x)
    with torch.no_grad():
        x.add_(1)
    return torch.autograd.grad(out, x, torch.ones_like(out))

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
check("the derivative in the incoming gradient is 3 x²", lambda: orders(x, torch.ones_like(x), torch.ones_like(x))[2], torch.tensor([12.0, 0.75, 27.0], dtype=torch.float64),
      wrong=[(lambda v: v is None, "The gradient does not depend on the incoming gradient: something cut the graph between them.")],
      hint="The gradient is linear in the incoming one, so its derivative is 3 x².")
check("at 0 all of them are 0", lambda: [Cube.apply(0 * x), *orders(0 * x, torch.ones_like(x), torch.ones_like(x))], [torch.zeros(3, dtype=torch.float64)] * 4,
      wrong=[(lambda v: any(one != one for values in v if values for one in values), "NaN at 0: you divided by x, or took a logarithm.")],
      hint="At 0 the output, the gradient and both derivatives of it are 0, exactly.")
check("a single number, and every second column", lambda: [Cube.apply(x[0]), Cube.apply(x.repeat(2, 1)[:, ::2])], [x[0] ** 3, x.repeat(2, 1)[:, ::2] ** 3],
      hint="x may have any shape, none too, and any strides.")
check.raises("x edited before backward", lambda: edited(x), RuntimeError, match="modified by an inplace operation",
             hint="x was edited after the forward, and backward did not raise the error about it. Save x itself, by save_for_backward.")
### BEGIN HIDDEN TESTS
z, grad, second = (torch.randn(3, 2, dtype=torch.float64) for _ in range(3))

def two_calls():
    """What the gradient of two calls in one graph differs by from the sum of each call alone."""
    x = z.clone().requires_grad_()
    calls = [lambda: Cube.apply(x), lambda: Cube.apply(2 * x + 1)]
    together = torch.autograd.grad(sum(call() for call in calls), x, grad)[0]
    return together - sum(torch.autograd.grad(call(), x, grad)[0] for call in calls)

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
check("two calls in one graph", two_calls, torch.zeros_like(z),
      hint="Each call needs the x that it was given. The class is shared by all calls: keep nothing on it.")
check("transposed x and incoming gradient", lambda: [Cube.apply(z.t()), *orders(z.t(), grad.t(), second.t())], [(z**3).t(), (3 * z * z * grad).t(), (6 * z * grad * second).t(), (3 * z * z * second).t()],
      hint="x and the incoming gradient may have any strides. Is there a view? It needs elements that lie one after the other in memory; the formula needs none.")
check.raises("an edit of x is noticed", lambda: edited(z), RuntimeError, match="modified by an inplace operation",
             hint="x was edited after the forward, and backward did not raise the error about it. Save x itself, by save_for_backward.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 6. Outputs without a gradient, inputs changed in place
#
# Not every output has a gradient. Quantized codes are integers, and so is an index. An integer output never requires a gradient; marking it tells the reader. A *float* output requires one
# unless you say otherwise, by `ctx.mark_non_differentiable(out)`. Leave that out, and somebody downstream will ask for its gradient.
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
# Training with quantization rounds in the forward and pretends in the backward that it did not. That is the *straight-through* gradient. Where the value was clipped, moving x changes nothing, so there the gradient is zero. **Write that as one Function with two outputs: the rounded values and their integer codes.**

# %% tags=["demo"]
ratio = torch.linspace(-5, 5, 1001)
low, high = -3, 3  # a narrow range, to see the steps; int8 has [-128, 127]
figure, (above, below) = plt.subplots(2, 1, figsize=(6.5, 4.2), facecolor="white", sharex=True, height_ratios=[3, 1.2])
above.plot(ratio, ratio.round().clamp(low, high), color="#4c72b0")
above.set_ylabel("code (int8)")
above.set_yticks(range(low, high + 1))
below.plot(ratio, ((ratio >= low) & (ratio <= high)).float(), color="#c44e52")
below.set_ylabel("gradient\nfactor")
below.set_yticks([0, 1])
below.set_ylim(-0.2, 1.3)
below.set_xlabel("x / scale, before rounding")
for axes in (above, below):
    axes.axvspan(high, high + 0.5, alpha=0.25, color="gray", linewidth=0)
    axes.axvspan(low - 0.5, low, alpha=0.25, color="gray", linewidth=0)
    axes.spines[["top", "right"]].set_visible(False)
above.annotate("gray: outside the range,\nbut rounds back into it", (high + 0.25, high - 0.1), (-0.6, -2.6), fontsize=9, arrowprops={"arrowstyle": "-", "color": "gray"})
figure.tight_layout()
plt.show()

# %% [markdown]
# **Read the figure.** In the gray strips the two usual conditions differ: x / scale lies outside the range, but rounds back into it. Here the condition is on x / scale *before* rounding, so the gradient is 0 there.
#
# Difficulty: ●●●○○ &nbsp; Time: about 15 minutes

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
        # Why this shape: a bool mask is one byte per element, and all that backward needs; x itself would be up to eight.
        # Clamp before the cast: a float outside the range of int8 does not clip by itself.
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
# What is the smallest thing that tells backward where to let the gradient through? It may be an intermediate: nobody differentiates this backward.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-Quantize", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([-1.0, 0.25, 0.26, 40.0, -70.0, 63.5, 63.7], dtype=torch.float64)

from unittest import mock

def gradient(x, scale, grad):
    return vjp(lambda x: Quantize.apply(x, scale)[0], (x,), grad.clone())[0]

def marked(x, scale):
    """The dtypes of the outputs that were marked."""
    noted = []

    def note(ctx, *tensors):
        noted.extend(tensor.dtype for tensor in tensors)
        ctx.non_differentiable = tensors

    with mock.patch.object(torch.autograd.function.FunctionCtx, "mark_non_differentiable", note):
        Quantize.apply(x.clone().requires_grad_(), scale)
    return noted

def learned_scale(x, scale, grad):
    """The gradients of x and of a scale that requires one."""
    x, step = x.clone().requires_grad_(), torch.tensor(scale, dtype=torch.float64, requires_grad=True)
    out, codes = Quantize.apply(x, step)
    out.backward(grad.clone())
    return [x.grad, step.grad]

def two_calls(x, scale, grad):
    """What the gradient of two calls in one graph differs by from the sum of each call alone."""
    x = x.clone().requires_grad_()
    calls = [lambda: Quantize.apply(x, scale)[0], lambda: 2 * Quantize.apply(x, scale / 2)[0]]
    together = torch.autograd.grad(sum(call() for call in calls), x, grad.clone())[0]
    return together - sum(torch.autograd.grad(call(), x, grad.clone())[0] for call in calls)

def after_backward(x, scale, grad):
    x, grad = x.clone().requires_grad_(), grad.clone()
    torch.autograd.grad(Quantize.apply(x, scale)[0], x, grad)
    return {"x": x, "incoming": grad, "versions": [x._version, grad._version]}

check = Check("Quantize", points=5)
check("the codes", lambda: Quantize.apply(x, 0.5)[1], torch.tensor([-2, 0, 1, 80, -128, 127, 127], dtype=torch.int8),
      wrong=[(lambda v: v[4] == 116 or v[5] == -128, "The cast wrapped around. Clamp before you turn the values into int8."),
             (lambda v: v[0] == -2.0 and type(v[0]) is float, "The codes are still floating. Codes are int8."),
             (TypeError, "If it speaks of None: forward ends with a return of two tensors, dequantized and codes.")],
      hint="round(x / scale), clamped to [-128, 127], as int8. torch.round takes a half to the even code.")
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
check("float16 in, float16 and int8 out", lambda: [t.dtype for t in Quantize.apply(torch.tensor([1.0, -2.0]).half(), torch.tensor(0.25, dtype=torch.float64))], [torch.float16, torch.int8],
      hint="The dequantized values have x's dtype, whatever scale is. The codes are int8.")
check("the codes, and they alone, are marked", lambda: marked(x, 0.5), [torch.int8],
      hint="Call ctx.mark_non_differentiable(codes), and mark nothing else.")
check("a scale that requires a gradient gets None", lambda: learned_scale(x, 0.5, torch.ones_like(x))[1], None,
      hint="Return None in scale's place. scale may be a tensor, and it may require a gradient; here it gets none.")
check("two calls before one backward", lambda: two_calls(x, 0.5, torch.ones_like(x)), torch.zeros_like(x),
      hint="Each call clips other elements. The class is shared by all calls: keep nothing on it.")
check("everything of the caller's stays", lambda: after_backward(x, 0.5, torch.ones_like(x)), {"x": x, "incoming": torch.ones_like(x), "versions": [0, 0]},
      wrong=[(lambda v: v["versions"][1], "The incoming gradient was edited in place. It may be shared with another node: use new tensors."),
             (lambda v: v["versions"][0], "x was edited in place. It belongs to the caller."),
             (lambda v: True, "Values changed although no version counter moved: .data goes round the check. Use new tensors.")],
      hint="So there is nothing to compare.")
### BEGIN HIDDEN TESTS
scale = 2.0 ** -float(torch.randint(2, 6, ()))
wide = torch.randn(40, dtype=torch.float64) * 100 * scale
upstream = torch.randn(40, dtype=torch.float64)
edges = torch.tensor([-128.0, -128.25, -127.75, 127.0, 127.25, 126.75, 0.0], dtype=torch.float64) * scale

def halves():
    return Quantize.apply(torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, -2.5], dtype=torch.float64) * scale, scale)[1]

def types():
    rows = []
    for dtype in (torch.float64, torch.float32, torch.float16):
        for step in (0.25, torch.tensor(0.25), torch.tensor(0.25, dtype=torch.float64)):
            x = torch.tensor([1.0, -2.0], dtype=dtype, requires_grad=True)
            out, codes = Quantize.apply(x, step)
            rows.append([out.dtype, codes.dtype, out.requires_grad, codes.requires_grad])
    return rows

check("codes and values elsewhere", lambda: list(Quantize.apply(wide, scale)), [(wide / scale).round().clamp(-128, 127) * scale, (wide / scale).round().clamp(-128, 127).to(torch.int8)],
      hint="round(x / scale), clamped to [-128, 127], as int8; then times scale.")
check("halves go to the even code", halves, torch.tensor([0, 2, 2, 0, -2, -2], dtype=torch.int8),
      hint="round is torch.round: a value halfway between two codes goes to the even one. floor(ratio + 0.5) does not.")
check("the codes are marked", lambda: marked(wide, scale), [torch.int8],
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
check("scale gets None", lambda: learned_scale(wide, scale, upstream), [upstream * ((wide / scale >= -128) & (wide / scale <= 127)), None],
      hint="The gradient of scale is None, also when scale is a tensor that requires one.")
check("two calls in one graph", lambda: two_calls(wide, scale, upstream), torch.zeros_like(wide),
      hint="Each call clips other elements. The class is shared by all calls: keep nothing on it.")
check("nothing is changed in place", lambda: after_backward(wide, scale, upstream), {"x": wide, "incoming": upstream, "versions": [0, 0]},
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
# A backward meets three kinds of memory: saved tensors, which the caller may still use; the incoming gradient, which other nodes may share; and what it allocates itself. Only the last is its own.
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
# **Explain.** The first gradient is right. A training script with one backward per step notices nothing, while each step puts a gradient in the place of the caller's tensor. The version counter catches the
# second backward. It does not catch a kernel, nor `.data`.
#
# ### Why a library does it all the same
#
# Liger Kernel's SwiGLU saves its two inputs and recomputes, as you did. Then its backward kernel stores both gradients *over* the two saved inputs, by their pointers. So it needs no new memory as large as the activations, and no version counter moves.
#
# Is that a fault? It depends on who else reads the two tensors. The class below does in PyTorch what such a kernel does. **Predict** which of the four cases comes out right.

# %% tags=["demo"]
class OverItsInputs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return F.silu(gate) * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        grad_gate, grad_up = grad * up * sig * (1 + gate * (1 - sig)), grad * gate * sig
        gate.data.copy_(grad_gate), up.data.copy_(grad_up)  # as a kernel that stores through the pointers
        return gate, up


def mlp_gradients(swiglu, penalty=False, passes=1):
    """Gradients of the three weights of a small MLP; with `penalty` another node has saved the gate before."""
    torch.manual_seed(0)
    x, w1, w2, w3 = torch.randn(4, 8), *(torch.randn(8, 8, requires_grad=True) for _ in range(3))
    gate, up = x @ w1, x @ w2
    extra = gate.square().mean() if penalty else 0.0
    loss = (swiglu(gate, up) @ w3).square().mean() + extra
    for _ in range(passes):
        found = torch.autograd.grad(loss, (w1, w2, w3), retain_graph=True)
    return found


for name, options in [("an MLP, one backward", {}), ("the gate has another reader", {"penalty": True}), ("a second backward", {"passes": 2})]:
    pairs = zip(mlp_gradients(OverItsInputs.apply, **options), mlp_gradients(silu_mul, **options))
    print(f"{name:<29} right: {all(torch.allclose(a, b) for a, b in pairs)}")
gate, up = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
before = gate.detach().clone()
OverItsInputs.apply(gate, up).sum().backward()
print(f"{'the gate is a parameter':<29} its values are still there: {torch.equal(gate, before)}, version {gate._version}")

# %% [markdown]
# **Explain.** The first case is Liger's own: inside its MLP, `gate` and `up` are fresh products, nobody else keeps them, and there is one backward. **It is safe as long as nobody reads these two tensors after this backward.** In the other three cases
# somebody does: a node that saved the gate earlier and runs later, the same node in a second pass, the caller. All three are silent.
#
# A module that makes the two tensors itself can keep that promise. A Function that anybody may call cannot.
#
# ### Exercise: SafeGate
#
# **Repair `BrokenGate`: the same gradients on every call, and nothing of the caller's changes.** Working in place is fine, on memory that you allocated.
#
# Difficulty: ●●○○○ &nbsp; Time: about 10 minutes

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
        # Why this shape: the chain starts from 1 - sig, which is new memory, so every edit after it is our own. It costs no more than the broken
        # one. gate.clone() would be right as well, for one allocation more.
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
# The result of an ordinary operation is new memory, and every `mul_` and `add_` on it is harmless. A `clone()` helps only before the first write.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-SafeGate", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
gate = torch.tensor([-1.0, 0.5, 2.0, -3.0], dtype=torch.float64)
up = torch.tensor([1.0, 2.0, -3.0, 0.5], dtype=torch.float64)
ones = torch.ones(4, dtype=torch.float64)

def after(gate, up, grad):
    """The caller's tensors after a backward, and their version counters."""
    g, u, grad = gate.clone().requires_grad_(), up.clone().requires_grad_(), grad.clone()
    torch.autograd.grad(SafeGate.apply(g, u), (g, u), grad)
    return {"gate": g, "up": u, "incoming": grad, "versions": [g._version, u._version, grad._version]}

def two_gradients(gate, up, grads):
    """Gradients of one graph for one incoming gradient after the other."""
    g, u = gate.clone().requires_grad_(), up.clone().requires_grad_()
    out = SafeGate.apply(g, u)
    return [[t.clone() for t in torch.autograd.grad(out, (g, u), grad, retain_graph=True)] for grad in grads]

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
      hint="The second pass over one graph gives other gradients than the right ones. If the first is right: what did it write to?")
check("twice the gradient, twice the result", lambda: two_gradients(gate, up, (ones, 2 * ones))[1], vjp(lambda g, u: F.silu(g) * u, (gate, up), 2 * ones),
      wrong=[(RuntimeError, "If it speaks of an inplace operation: the saved gate was edited in place, so the second backward refuses it. Write only to tensors that you made.")],
      hint="The second pass got an incoming gradient twice as large. Compute it anew in every backward.")
check("the caller's tensors keep their values", lambda: {k: v for k, v in after(gate, up, ones).items() if k != "versions"}, {"gate": gate, "up": up, "incoming": ones},
      wrong=[(lambda v: True, "After one backward the caller's tensors hold other values. Write only to tensors that you made.")],
      hint="So there is nothing to compare.")
check("their version counters stay at 0", lambda: after(gate, up, ones)["versions"], [0, 0, 0],
      wrong=[(lambda v: v[2], "The incoming gradient was edited in place. It may be shared with another node."),
             (lambda v: True, "A saved input was written to, even if its values were put back: others who saved it will refuse it.")],
      hint="So there is nothing to compare.")
### BEGIN HIDDEN TESTS
a, b, upstream = (torch.randn(3, 4, dtype=torch.float64) for _ in range(3))

def outside():
    g, u = a.clone().requires_grad_(), b.clone().requires_grad_()
    out = SafeGate.apply(g, u)
    return [list(SafeGate.backward(out.grad_fn, upstream.clone())) for _ in range(2)]

check("three passes elsewhere", lambda: passes(a, b, upstream, 3), [vjp(lambda g, u: F.silu(g) * u, (a, b), upstream)] * 3,
      wrong=[(RuntimeError, "A backward raised. If one passes above: the saved gate was edited in place, so the second refuses it. Write only to tensors that you made.")],
      hint="The same graph, three times, must give the same gradients.")
check("what the caller sees afterwards", lambda: {k: v for k, v in after(a, b, upstream).items() if k != "versions"}, {"gate": a, "up": b, "incoming": upstream},
      wrong=[(lambda v: True, "After one backward the caller's tensors hold other values. `.data` hides an edit from the version counter, not from the caller.")])
check("version counters", lambda: after(a, b, upstream)["versions"], [0, 0, 0],
      wrong=[(lambda v: v[2], "The incoming gradient was edited in place. It may be shared with another node."),
             (lambda v: True, "A saved input was written to, even if its values were put back: others who saved it will refuse it.")])
check("an expanded incoming gradient", lambda: passes(a, b, upstream[0, 0].expand(3, 4), 1), [vjp(lambda g, u: F.silu(g) * u, (a, b), upstream[0, 0].expand(3, 4).contiguous())],
      hint="sum() sends a gradient of stride 0; whoever writes into it gets an error or nonsense.")
check("outside the engine, twice", outside, [vjp(lambda g, u: F.silu(g) * u, (a, b), upstream)] * 2,
      wrong=[(RuntimeError, "A call raised. If one backward passes above: the saved gate was edited in place, so the second call refuses it. Write only to tensors that you made.")],
      hint="backward gives both gradients, the same on each call. Write only to tensors that you made.")
check("another incoming gradient the second time", lambda: two_gradients(a, b, (upstream.clone(), upstream.flip(0))), [vjp(lambda g, u: F.silu(g) * u, (a, b), upstream), vjp(lambda g, u: F.silu(g) * u, (a, b), upstream.flip(0))],
      wrong=[(lambda v: v[0] == v[1], "Two different incoming gradients gave the same result. Compute it anew in every backward.")],
      hint="Every backward starts from the incoming gradient that it was given, and from saved tensors that nothing has changed.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 8. setup_context and vmap
#
# `torch.func` (vmap, grad, jacrev) wants the context apart from the computation: `forward(x)` without `ctx`, and `setup_context(ctx, inputs, output)`. With `generate_vmap_rule = True`, PyTorch then vectorizes
# forward and backward by itself. **Predict** what happens with the older style.

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
# A gradient per row, without a loop. The split style is the better default. In that style `setup_context` sees the inputs and the outputs and nothing else, so an intermediate can be saved only if `forward` returns it. The older style saves it right away.
#
# ## 9. A kernel of your own
#
# Triton kernels are Python functions that a GPU runs once per *block* of elements. The kernel gets pointers: no shape, no strides, no bounds. What PyTorch does for you elsewhere is your job here:
#
# - The last block reaches past the end: **mask** loads and stores.
# - A half type loses digits in every operation: load, widen to float32, compute, and narrow **at the store**. float64 stays float64.
# - The memory may be strided: make it contiguous before you take a pointer, or pass the strides.
# - The incoming gradient may have stride 0, as `sum()` sends it: then there is *one* element behind the pointer.
#
# The cell below imports Triton. On a machine without a GPU the kernels run in Triton's interpreter: the same code, one block at a time, in NumPy. The environment variable that chooses it was set in the first cell.

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
# **Explain.** Without a mask the result is right, too. But the kernel also wrote into the memory that happens to follow. `sentinels()` of this course's lab puts known bytes around every tensor that is allocated inside,
# and counts afterwards how many have changed.
#
# ### Exercise: TritonSiluMul
#
# **Write SiluMul again, over two kernels of yours: one for the forward, one for both gradients.** The docstring says what they have to survive.
#
# Difficulty: ●●●●○ &nbsp; Time: about 35 minutes

# %% nbgrader={"grade": false, "grade_id": "TritonSiluMul", "locked": false, "schema_version": 3, "solution": true, "task": false}
# Write your two kernels here, each under @triton.jit.
### BEGIN SOLUTION
# Why this shape: contiguous() before the launch keeps the kernels to one index and one mask; passing strides would spare the copy and
# cost two more numbers per tensor in every kernel. Both gradients share one kernel because both read grad and gate: one pass over memory.
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
# Start from `add_one_kernel` above. The grid is `(triton.cdiv(n, BLOCK),)` with n the number of elements: shape does not matter to an elementwise kernel on contiguous memory. Mind that plain `empty_like` copies the strides of a transposed gate.
# </details>
# <details><summary>Still stuck?</summary>
#
# A kernel takes constants: `WIDE: tl.constexpr` can be a type, and `.to(WIDE)` widens what was loaded. `tl.store` narrows to the
# pointer's type. A constant can be a bool, too: an `if` over it is decided when the kernel is compiled.
# </details>
#
# The checks come first, with sentinels around every tensor. If one fails and you do not see why, run the cell below them: the contract suite tries your Function, too.

# %% tags=["needs-triton"] nbgrader={"grade": true, "grade_id": "check-TritonSiluMul", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
from functools import cache

def drawn(*shape, dtype=torch.float64):
    return [torch.randn(shape, dtype=dtype, device=DEVICE) for _ in range(3)]

@cache  # a launch in the interpreter takes milliseconds: checks that look at one run share it
def ran(name, needs=(True, True)):
    """One run on the tensors of CASES[name]: what came out, what was saved, what PyTorch did, and the caller's tensors afterwards.

    Sentinels surround the inputs, the incoming gradient and every tensor that apply allocates, so that no kernel can do harm.
    """
    gate, up, grad = CASES[name]
    with sentinels() as guarded:
        g, u, grad = guarded.place(gate).requires_grad_(needs[0]), guarded.place(up).requires_grad_(needs[1]), guarded.place(grad)
        with count_work() as work:
            out = TritonSiluMul.apply(g, u)
            names = ["gate" if t is g else "up" if t is u else "another tensor" for t in out.grad_fn.saved_tensors]
            before = work.elements
            grads = torch.autograd.grad(out, (g, u), grad) if all(needs) else TritonSiluMul.backward(out.grad_fn, grad)
        saved = {"saved": sorted(names), "on ctx": on_ctx(out.grad_fn)}
    return {"outside": sum(map(sum, guarded.overwritten())), "results": [None if t is None else t.detach().clone() for t in (out, *grads)], "saved": saved,
            "after": [t.detach().clone() for t in (g, u, grad)], "shapes": [None if t is None else tuple(t.shape) for t in grads],
            "allocated": work.elements - before, "arithmetic": sorted({op.split(".")[0].rstrip("_") for op in work.ops} & ARITHMETIC)}

ARITHMETIC = {"mul", "add", "sub", "rsub", "div", "neg", "exp", "exp2", "sigmoid", "sigmoid_backward", "silu", "silu_backward", "tanh", "pow", "reciprocal",
              "addcmul", "addcdiv", "where", "matmul", "dot"}

def expected(gate, up, grad):
    """Output and gradients by PyTorch: half types computed in float32 and narrowed at the end."""
    dtype, wide = gate.dtype, torch.float64 if gate.dtype == torch.float64 else torch.float32
    gate, up, grad = (t.to(wide).contiguous() for t in (gate, up, grad))
    return [t.to(dtype) for t in (F.silu(gate) * up, *vjp(lambda g, u: F.silu(g) * u, (gate, up), grad))]

gate, up, grad = drawn(3, 5)
gate[0, 0] = 1000.0  # exp of it is infinite
near = torch.linspace(-1.29, -1.26, 13, device=DEVICE)  # here the gradient of silu is nearly 0: halves in between lose it
steep = [torch.tensor(values, device=DEVICE) for values in ([100.0, -100.0, 0.5], [2.0, -3.0, 1.0], [1.0, 0.5, -2.0])]
CASES = {
    "plain": (gate, up, grad),
    "sum": (gate, up, grad[0, 0].expand(3, 5)),
    "strided": (gate.t(), drawn(5, 4)[0][:, 1:], grad.t()),
    "number": (gate[0, 0], up[0, 0], grad[0, 0]),
    "float16": tuple(t.half() for t in (near, 4 * near + 9, 3 - near)),
    "long": [torch.cat(pair) for pair in zip(steep, drawn(2**12 - 2 if DEVICE == "cpu" else 2**20 - 2, dtype=torch.float32))],
}

check = Check("TritonSiluMul", points=8)
check("no write outside", lambda: ran("plain")["outside"], 0, limit=20,
      wrong=[(lambda v: v > 0, "A store went past the end of its tensor. Mask loads and stores with i < n.")],
      hint="So nothing could be counted. If it speaks of None or of a number of gradients: forward and backward end with a return.")
check("the output", lambda: ran("plain")["results"][0], F.silu(gate) * up,
      hint="gate * sigmoid(gate) * up, computed in float64 for float64.")
check("the gradients", lambda: ran("plain")["results"][1:], vjp(lambda g, u: F.silu(g) * u, (gate, up), grad),
      hint="The formulas of SiluMul, computed in float64 for float64.")
check("it saves its two inputs and nothing else", lambda: ran("plain")["saved"], {"saved": ["gate", "up"], "on ctx": []},
      hint="save_for_backward(gate, up): the tensors you were given, before any contiguous().")
check("your kernels compute it", lambda: ran("plain")["arithmetic"], [],
      wrong=[(lambda v: True, "PyTorch computed this, not your kernels.")],
      hint="So there is nothing to compare.")
check("the gradient that sum() sends", lambda: ran("sum")["results"][1:], expected(*CASES["sum"])[1:],
      hint="Here the incoming gradient is one number with stride 0. If the gradients above are right, the kernel reads on behind that one element: make the incoming gradient contiguous first.")
check("a transposed gate", lambda: ran("strided")["results"], expected(*CASES["strided"]),
      hint="Here the gate is transposed. If the checks above pass, its elements are read, or the results written, in another order than their shape has: make inputs contiguous, and allocate results contiguous, too.")
check("a single number", lambda: ran("number")["results"], expected(*CASES["number"]),
      hint="A tensor of shape () has one element: use numel(), and keep the shape of the input.")
check("float16", lambda: ran("float16")["results"], expected(*CASES["float16"]), rtol=2e-3, atol=1e-4,
      hint="Widen to float32 after the load, compute there, and narrow at the store. Triton's exp and sigmoid take no half types.")
check("float16 and a transposed gate are saved themselves", lambda: [ran(name)["saved"] for name in ("float16", "strided")], [{"saved": ["gate", "up"], "on ctx": []}] * 2,
      hint="Save gate and up as they came, and make contiguous or wide copies in backward.")
check.that("a frozen up", lambda: [ran("plain", (True, False))["shapes"], ran("plain", (True, False))["allocated"], ran("plain")["allocated"]],
           lambda v: v[0] == [(3, 5), None] and v[1] < v[2],
           wrong=[(lambda v: v[0][1] is not None, "Return None where ctx.needs_input_grad is False."),
                  (lambda v: v[0] == [(3, 5), None], "A gradient was allocated for an input that needs none.")],
           hint="One gradient per input: the gate's shape, and None for the frozen one, for which nothing is allocated.")
check("thousands of elements", lambda: [ran("long")["outside"], *(t[-3:] for t in ran("long")["results"])], [0, *(t[-3:] for t in expected(*CASES["long"]))], limit=20,
      wrong=[(lambda v: v[0] > 0, "A store went past the end of its tensor. Mask loads and stores with i < n."),
             (lambda v: True, "The last three elements are wrong or were never written. The grid needs cdiv(n, BLOCK) blocks.")],
      hint="So there is nothing to compare.")
check("everything of the caller's stays", lambda: ran("plain")["after"], [gate, up, grad],
      wrong=[(lambda v: True, "A kernel wrote into memory of the caller. Write only to tensors that you allocated.")],
      hint="So there is nothing to compare.")
### BEGIN HIDDEN TESTS
other_gate, other_up, other_grad = drawn(6, 7)
narrow = torch.cat([torch.linspace(-6, 6, 13), torch.linspace(-1.29, -1.26, 13)]).to(DEVICE)
large = 1 + 8 * torch.rand(26, device=DEVICE)
# Chosen so that no exact result is nearer than 0.08 of a step to the middle between two halves: however float32 computes, it narrows to the same ones.
GATES = [-1175, -1115, -943, -939, -811, -785, -725, -657, -609, -447, -235, -123, -39, 39, 211, 519]
UPS = [-1279, -1077, 1077, -1271, -1509, 1507, 1985, 1683, -1225, -1523, 1551, 1695, 1985, -1519, -1673, -1751]
GRADS = [1321, 1709, -1365, 1915, -1853, 1259, 1075, 1067, 1659, 1211, 1873, -1089, 1477, -1769, 1047, -1047]
far_from_ties = [torch.tensor(numbers, device=DEVICE).div(256).half() for numbers in (GATES, UPS, GRADS)]
halves = narrow, large, large.flip(0)

CASES |= {  # two questions to one run where they have one dtype: a launch is what costs time here
    "half": [torch.cat([t.half(), tie]) for t, tie in zip(halves, far_from_ties)],
    "bfloat16": [t.bfloat16() for t in halves],
    "transposed": (other_gate.t(), other_up.t(), other_grad.t().contiguous()),
    "different": (other_gate, other_up.t().contiguous().t(), other_grad),
    "sliced": (other_gate[:, 1:4], other_up[:, 2:5], other_grad[:, :3]),
    "turned": (other_gate, other_up, other_grad.t().contiguous().t()),
    "total": (other_gate, other_up, other_grad[0, 0].expand(6, 7)),
    "none": (other_gate[:0], other_up[:0], other_grad[:0]),
}

def results(name, part=slice(None)):
    return [t[part] for t in ran(name)["results"]]

def right(name, part=slice(None)):
    return [t[part] for t in expected(*CASES[name])]

def saved_itself():
    return [ran(name)["saved"] for name in ("transposed", "half", "bfloat16", "sliced")]

check("your kernels do the arithmetic", lambda: [ran(name)["arithmetic"] for name in ("turned", "half", "long")], [[]] * 3,
      wrong=[(lambda v: True, "PyTorch computed this, not your kernels.")],
      hint="So there is nothing to compare.")
check("many blocks", lambda: [ran("long")["outside"], *results("long", slice(None, None, 97)), *results("long", slice(-3, None))], [0, *right("long", slice(None, None, 97)), *right("long", slice(-3, None))], limit=20,
      wrong=[(lambda v: v[0] > 0, "A store went past the end of its tensor. Mask loads and stores with i < n."),
             (lambda v: True, "Elements in the middle or at the end are wrong or were never written. The grid needs cdiv(n, BLOCK) blocks.")],
      hint="So there is nothing to compare.")
check("a single number, and none", lambda: [ran("number")["results"], ran("none")["results"]], [expected(*CASES["number"]), expected(*CASES["none"])],
      hint="Shapes () and (0, 7): use numel(), and keep the shape of the input.")
check("transposed inputs", lambda: results("transposed"), right("transposed"),
      wrong=[(lambda v: True, "A transposed input is not stored row by row. Make inputs contiguous, and allocate outputs contiguous too: empty_like copies strides.")])
check("gate and up with different strides", lambda: results("different"), right("different"),
      hint="Each input has strides of its own.")
check("sliced inputs", lambda: results("sliced"), right("sliced"),
      wrong=[(lambda v: True, "A slice of columns skips memory between its rows. Make it contiguous, or pass its strides.")])
check("a transposed incoming gradient", lambda: results("turned")[1:], right("turned")[1:],
      hint="The incoming gradient has strides of its own. Make it contiguous before you take its pointer.")
check("the incoming gradient of sum()", lambda: results("total")[1:], right("total")[1:],
      hint="sum() sends a gradient of stride 0: behind the pointer lies one element. Make it contiguous first.")
check("float16 is computed in float32", lambda: results("half", slice(0, 26)), right("half", slice(0, 26)), rtol=2e-3, atol=1e-4,
      hint="Widen to float32 after the load and narrow at the store, not in between.")
check("bfloat16 is computed in float32", lambda: results("bfloat16"), right("bfloat16"), rtol=1.6e-2, atol=1e-4,
      hint="Widen to float32 after the load and narrow at the store, not in between.")
# bfloat16 cannot be asked so: Triton's interpreter cuts digits off at the store.
check("narrowed once, at the store", lambda: results("half", slice(26, None)), right("half", slice(26, None)), rtol=0.0, atol=0.0,
      wrong=[(lambda v: True, "Some half values are one step off: something was narrowed before the store, and rounded twice. Keep float32 until then.")],
      hint="So there is nothing to compare.")
check("large gates", lambda: results("long", slice(0, 3)), right("long", slice(0, 3)),
      hint="In float32 exp(x) is infinite from x = 89 on, and infinite / infinite is NaN. tl.sigmoid has no such limit.")
check("inputs are saved themselves in every dtype and layout", saved_itself, [{"saved": ["gate", "up"], "on ctx": []}] * 4,
      hint="Save gate and up as they came, and make contiguous or float32 copies in backward: a copy that is saved is a tensor that nobody else keeps.")
check.that("nothing for a frozen input", lambda: [[run["shapes"], run["allocated"]] for run in (ran("turned"), ran("turned", (False, True)))],
           lambda v: v[1][0] == [None, (6, 7)] and v[1][1] < v[0][1],
           wrong=[(lambda v: v[1][0][0] is not None, "Return None where ctx.needs_input_grad is False."),
                  (lambda v: True, "A gradient was allocated and written for an input that needs none.")],
           hint="So there is nothing to compare.")
check("inputs and incoming gradient stay", lambda: [ran(name)["after"] for name in ("turned", "sliced")], [list(CASES["turned"]), list(CASES["sliced"])],
      wrong=[(lambda v: True, "A kernel wrote into memory of the caller. Write only to tensors that you allocated.")],
      hint="So there is nothing to compare.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# The contract suite knows nothing of Triton, and finds strides, sums, halves and sizes all the same. It has no sentinels, so run it when no write goes outside.

# %% tags=["demo"]
def two_on_device(shape, dtype):
    return tuple(t.to(DEVICE) for t in two_like(shape, dtype))


if has_triton():
    try:
        report = backward_contract(TritonSiluMul.apply, two_on_device)
    except NotImplementedError:
        report = "TritonSiluMul is not written yet."
else:
    report = "No Triton, no kernel."
report

# %% [markdown]
# ## 10. An operator of its own
#
# `torch.compile` and `torch.export` can trace a Function: they look into its `forward` and `backward` and record the operators there. They cannot look into a call that only knows pointers. Such code needs an *operator*: a name, a schema, a fake version that knows only shapes, and a backward.
#
# There are two ways to register one:
#
# - `torch.library.custom_op` makes a closed box. A tracer records one call and asks the fake version for the shape. `opcheck` verifies the registration. It does not verify the mathematics; gradcheck does that.
# - `torch.library.triton_op` is for code made of operators and Triton kernels. A compiler opens it and sees what is inside, so it needs no fake version.

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
# The same for a Triton kernel. What runs on a CPU is the call itself, over the interpreted kernel, and its backward. To trace through it takes a GPU, where the kernel is compiled.

# %% tags=["demo"]
if has_triton():
    wrap = torch.library.wrap_triton if torch.cuda.is_available() else lambda kernel: kernel  # an interpreted kernel is not wrapped

    @torch.library.triton_op("autograd_course::add_one", mutates_args=())
    def add_one_op(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        wrap(add_one_kernel)[(triton.cdiv(x.numel(), 16),)](x, out, x.numel(), MASKED=True, BLOCK=16)
        return out

    add_one_op.register_autograd(lambda ctx, grad: grad)
    x = torch.arange(3.0, device=DEVICE, requires_grad=True)
    y = add_one_op(x)
    y.sum().backward()
    print("output:", y.tolist(), " node:", type(y.grad_fn).__name__, " x.grad:", x.grad.tolist())
else:
    print("No Triton, no kernel.")

# %% [markdown]
# ## On a GPU
#
# An elementwise kernel cannot be faster than the memory. Forward reads two tensors and writes one; backward reads three and writes two. So we count bytes moved per second, and put a plain copy on the same device beside it.
#
# With CUDA, the cell below measures eager PyTorch, `torch.compile` and your kernels; without, it says how many bytes each has to move. **Expect** that your forward comes close to the copy, because it moves nothing twice. Eager PyTorch writes and reads `silu(gate)` in between: five tensors where three would do. So its figure, counted by the three, should stay well below. The compiled version fuses the two operators as you did.
#
# bfloat16 runs only where the hardware has it; elsewhere the cell takes float16. On a T4 (compute capability 7.5), Triton's support is best-effort: its own list of GPUs starts at 8.0.

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
else:
    one = 8192 * 8192 * 2
    for name, tensors in [("a copy", 2), ("silu_mul forward, fused", 3), ("silu_mul forward, two operators", 5), ("silu_mul backward, fused", 5)]:
        print(f"{name:<34}{tensors} tensors of [8192, 8192] in a half type: {tensors * one / 2**20:6,.0f} MiB to move")
show_recording("04-silu-mul")

# %% [markdown]
# ## Help, I get this error
#
# <details><summary><code>function SiluMulBackward returned an incorrect number of gradients (expected 2, got 1)</code></summary>
#
# backward returns one value per argument of `forward`, `ctx` not counted. Return None where there is no gradient.
# </details>
# <details><summary><code>Trying to backward through the graph a second time</code></summary>
#
# `ctx.saved_tensors` was read after the graph had been released. Run the forward again, or pass `retain_graph=True` to the first backward.
# </details>
# <details><summary><code>one of the variables needed for gradient computation has been modified by an inplace operation</code></summary>
#
# A tensor that was saved has been edited since. The error names its version. Look for an operator with an underscore, in the caller or in a backward.
# </details>
# <details><summary><code>returned an invalid gradient at index 1 - got [] but expected shape compatible with [4]</code></summary>
#
# In `RMSNorm`: the weight's gradient was summed over its own dimension as well.
# </details>
# <details><summary><code>element 0 of tensors does not require grad and does not have a grad_fn</code></summary>
#
# In `Cube`: your first gradient has no graph. Something in `backward` cut it, or `@once_differentiable` is left over.
# </details>
# <details><summary><code>backward() takes 2 positional arguments but 3 were given</code></summary>
#
# `forward` returns two tensors, so `backward` gets `ctx` and two gradients.
# </details>
# <details><summary><code>Expected dtype ['fp32', 'fp64'] but got fp16</code></summary>
#
# `tl.exp` and `tl.sigmoid` do not take half types. Widen after the load.
# </details>
# <details><summary><code>arange's range must be a power of 2</code></summary>
#
# `tl.arange(0, BLOCK)` needs a power of two. The mask fits the kernel to the size, not the block.
# </details>
# <details><summary><code>Triton was imported earlier and cannot interpret now</code></summary>
#
# Something imported Triton before the set-up cell. Restart the kernel and run the chapter from the top.
# </details>
#
# ## Explain it aloud
#
# A colleague has just written a fused kernel and asks: "What does its backward have to promise, and how do I prove that it does?" Answer in a minute, aloud, then write it down.
#
# It is graded by hand, two points. Half a point each: what is saved, and why by `save_for_backward`; gradcheck in float64, and two faults that it does not see; what belongs to the caller and may not be changed;
# why recomputing is cheaper than saving for an elementwise kernel.

# %% [markdown] nbgrader={"grade": true, "grade_id": "explain-04-custom-function", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# Backward gets one gradient per output and returns one per input, of the input's shape, or None where none is asked for. It saves its inputs by `save_for_backward`, because there the version counter notices a later edit, hooks see
# the tensor, and it is released after the pass. An attribute on ctx has none of that, and an output there makes a cycle. Saved tensors and the incoming gradient belong to others: a second pass, a node that saved the
# same tensor, the caller. So I write only to memory that I allocated. gradcheck in float64 proves the formula, on the sizes I give it and with a contiguous incoming gradient. It does not see
# strides, the stride-0 gradient of `sum()`, a missing mask at another size, wasted work for a frozen input, or a half type that rounds in between. For those I run a contract suite and put sentinels around every tensor. I
# recompute the sigmoid instead of saving it: the kernel waits for memory, gate has to be read anyway, and the arithmetic costs nearly nothing.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# 1. A Function is one node, and `ctx` is that node. One gradient comes in per output; one goes out per input, of the input's shape, or None.
# 2. Tensors go through `save_for_backward`: version check, hooks, release, no cycle. Save inputs, recompute the rest.
# 3. gradcheck in float64 proves the formula. Strides, sizes, second passes, frozen inputs, half types and memory need tests of their own: `backward_contract`.
# 4. Saved tensors and the incoming gradient are not yours. Write only to what you allocated, unless you know that nobody reads them afterwards.
# 5. A kernel gets a pointer: mask it, widen before computing, make memory contiguous, and put sentinels around it in tests.
