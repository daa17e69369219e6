# %% [markdown]
# # 06 - Write the backward engine
# [![Open In Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/YOUR-NAME/YOUR-REPOSITORY/blob/main/notebooks/06-backward-engine/06-backward-engine.ipynb)

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
try:
    import autograder.lab
except ImportError:  # on Colab: only this project, nothing that is already there is touched
    import subprocess, sys
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps",
                    "git+https://github.com/YOUR-NAME/YOUR-REPOSITORY"], check=True)
import torch
from autograder.lab import Check
from autograder.lab.small_world.against_torch import (
    edge_counts, leaves_of, random_program, steps, torch_edge_counts, torch_gradients, torch_steps,
)
from autograder.lab.small_world.arrays import copy, ones_like, reshape, sizes, sum_over
from autograder.lab.small_world.world import Node, Tensor, chain, record_runs

# %% [markdown]
# A fused layer saved one allocation: its backward scaled the incoming gradient in place. Nothing raised, and the loss still went down.
# But the layer beside it trained on half its gradient, because the engine had handed one array to both.
#
# **After this chapter you can**
#
# - write the loop that `loss.backward()` runs, and say why it visits nodes in this order;
# - undo broadcasting in any backward that you write by hand;
# - recognize four faults that raise no error: a node that runs too early, a shared buffer that is edited, a leaf's gradient in somebody else's memory,
#   a buffer that outlives its call;
# - predict in which order hooks fire.
#
# **Time:** about 140 minutes, 95 of them for the exercises. These are estimates, and this is the hard chapter: it goes in steps, and each step runs by
# itself. **Needs:** chapter 01. What is said about PyTorch here was seen on version 2.13, on a CPU.
#
# **Three questions.** If you can answer them, skip to [chapter 07](../07-training-ledger/07-training-ledger.ipynb).
#
# <details><summary>1. Two operations use a value. When may its node run in the backward pass?</summary>
#
# When both have delivered. Before it starts, the engine counts how many edges lead to each node from nodes that
# will run. A node is ready when its count is down to zero.
# </details>
# <details><summary>2. Why must the engine not add into a gradient buffer in place?</summary>
#
# The rule of an addition hands the same buffer to both operands. Adding into one would change the other.
# </details>
# <details><summary>3. Two nodes are ready. Which one does torch run first?</summary>
#
# The one that the forward pass created later: it has the higher sequence number. An accumulator that is ready goes before both.
# </details>

# %% [markdown]
# ## 1. A world without an engine
#
# The lab gives you a small world. Its `Tensor` wraps an array and computes like torch; each operation that needs a gradient leaves a
# `Node` behind, with a rule for its own derivative. Nothing in it runs backward. That part is yours.
#
# | `Node` | |
# |---|---|
# | `name` | `"AddBackward"`, `"MulBackward"`, ..., `"AccumulateGrad"` |
# | `next` | one node per tensor operand, `None` where no gradient is needed |
# | `sequence` | rises with creation; 2⁶⁴ − 1 for an AccumulateGrad |
# | `saved` | what the rule needs, `None` once released |
# | `rule(grad)` | one gradient per entry of `next`, each of its operand's shape; changes nothing |
# | `leaf` | the `Tensor` whose `grad` an AccumulateGrad stands for; `None` for operations. An AccumulateGrad has no rule: **you** write `leaf.grad` |
#
# | `Tensor` | |
# |---|---|
# | `data` | the array: here a torch tensor that autograd knows nothing about |
# | `shape`, `requires_grad` | as in torch |
# | `grad` | `None` until an engine writes it |
# | `node` | the node that hands on this tensor's gradient. A leaf keeps one AccumulateGrad for life |
#
# Read the two classes. They are short, and everything you need is there.

# %% tags=["demo"]
import inspect

print(inspect.getsource(Node))
print(inspect.getsource(Tensor.__mul__))
print(inspect.getsource(Tensor.sum))

# %% tags=["demo"]
x = Tensor(torch.tensor([1.0, 2.0, 3.0]), requires_grad=True)
w = Tensor(torch.tensor([0.5, -1.0, 2.0]), requires_grad=True)
y = (x * w).sum()

node = y.node
while node is not None:
    print(node, "-> next", node.next, "| saved", node.saved)
    node = node.next[0] if node.next else None

# %% [markdown]
# **Predict.** `y.node` is the SumBackward. What does its rule return for the gradient 1, and what does MulBackward's rule make of that?

# %% tags=["demo"]
(to_product,) = y.node.rule(torch.tensor(1.0))
print("SumBackward hands on", to_product, "strides", to_product.stride())
to_x, to_w = y.node.next[0].rule(to_product)
print("MulBackward hands on", to_x, "to x and", to_w, "to w")

# %% [markdown]
# That is a whole backward pass by hand. The sum repeats its gradient over every element, as a **view** with stride 0: three
# elements, one number in memory. Torch's own sum does the same. The product multiplies with the other operand. Two things are left to an engine: in which
# order to call the rules, and what to do where several gradients meet.
#
# The same world runs over plain Python numbers, and over a tiny array that needs no torch. An answer written with `+`, `*` and the
# five functions below works in all three.
#
# | function | |
# |---|---|
# | `sizes(a)` | the shape as a tuple; `()` for a number |
# | `sum_over(a, dim, keepdim=False)` | sum over a tuple of dimensions; as in torch, `dim=()` sums **all** of them |
# | `reshape(a, shape)` | the same elements in another shape |
# | `ones_like(a)` | ones |
# | `copy(a)` | equal values in memory of their own |

# %% tags=["demo"]
number = Tensor(3.0, requires_grad=True)
square = number * number
print("plain numbers:", square.data, square.node, "rule(1.0) =", square.node.rule(1.0))

# %% [markdown]
# ## 2. Undo broadcasting
#
# `x + b` with x of shape [4, 3] and b of shape [3] reads each element of b four times. So each element of b receives four gradients,
# and b's own gradient is their sum: it must come out with b's shape.
#
# **Predict.** A gradient of shape [4, 2, 3] arrives at an operand of shape [2, 1]. Which dimensions are summed?

# %% tags=["demo"]
import matplotlib.pyplot as plt


def draw_broadcast(operand, result):
    """Both shapes aligned at the right; the dimensions to sum are filled."""
    fig, ax = plt.subplots(figsize=(5.2, 1.6), layout="constrained")
    fig.patch.set_facecolor("white")
    padded = ("",) * (len(result) - len(operand)) + operand
    for row, (title, dims) in enumerate((("gradient", result), ("operand", padded))):
        ax.text(-0.75, -row, title, ha="right", va="center", fontsize=10, color="black")
        for d, n in enumerate(dims):
            summed = padded[d] in ("", 1) and result[d] != 1
            ax.add_patch(plt.Rectangle((d - 0.45, -row - 0.38), 0.9, 0.76, ec="black", fc="#f4a259" if summed else "white",
                                       ls=":" if n == "" else "-"))
            ax.text(d, -row, "new" if n == "" else n, ha="center", va="center", fontsize=11, color="black")
    ax.set(xlim=(-2.2, len(result)), ylim=(-1.6, 0.6))
    ax.set_axis_off()
    ax.set_title("orange dimensions are summed", fontsize=9, loc="left", color="black")
    plt.show()


draw_broadcast((2, 1), (4, 2, 3))

# %% [markdown]
# Dimension 0 is new, dimension 2 had size one in the operand. Sum both, then bring the result to [2, 1].
#
# ### Exercise: `unbroadcast`
# Difficulty: ●●○○○ · 15 minutes
#
# Write `unbroadcast(grad, shape)`: sum a gradient down to the shape of the operand that was broadcast, and leave the gradient as it is. The world's rules
# do this for you already. Write it yourself once: every custom backward with a bias needs it.
#
# <details><summary>Stuck?</summary>
#
# `len(sizes(grad)) - len(shape)` dimensions are new. They are the first ones. The others are compared pairwise, from there on.
# </details>
# <details><summary>Still stuck?</summary>
#
# Collect all dimensions to sum in one tuple, and sum once with `keepdim=True`: then no dimension changes its number on the way.
# </details>
# <details><summary>Help: "RuntimeError: shape '[...]' is invalid for input of size ..."</summary>
#
# The size is 1: `dim=()` summed everything; when there is nothing to sum, return `grad`. Else you reshaped before summing, or summed too few
# dimensions: by then the number of elements must be that of `shape`.
# </details>
# <details><summary>Help: "IndexError: Dimension out of range"</summary>
#
# You summed one dimension after another without `keepdim`, and the later numbers no longer fit. Sum once, over a tuple.
# </details>

# %% nbgrader={"grade": false, "grade_id": "unbroadcast", "locked": false, "schema_version": 3, "solution": true, "task": false}
def unbroadcast(grad, shape: tuple[int, ...]):
    """Reduce a gradient to the shape of the operand that was broadcast.

    Parameters
    ----------
    grad : array
        The gradient of the result; `shape` broadcasts to its shape. It is never changed.
    shape : tuple of int
        The operand's shape, for example (), (3,), (2, 1).

    Returns
    -------
    array
        Of shape `shape`: `grad` summed over the dimensions that were new or had size one. May be `grad` itself
        when the shapes agree.
    """
    ### BEGIN SOLUTION
    # Why this shape: the shapes alone say what to sum, so one list of dimensions and one sum do it, for every mix of new and stretched ones. keepdim leaves the numbers of the
    # dimensions in place until the end. Summing dimension by dimension works too, but then the later numbers shift, and that is where most first answers go wrong.
    new = len(sizes(grad)) - len(shape)
    stretched = tuple(new + d for d, n in enumerate(shape) if n == 1)
    dims = tuple(range(new)) + stretched
    if not dims:  # an empty dim would sum everything
        return grad
    return reshape(sum_over(grad, dims, keepdim=True), shape)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-unbroadcast", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check = Check("unbroadcast", points=3)
check("shapes that agree", lambda: unbroadcast(torch.ones(2, 3), (2, 3)), torch.ones(2, 3),
      wrong=[(lambda v: v in (6.0, [[6.0]]), "sum with dim=() sums everything. When there is nothing to sum, return grad."),
             (RuntimeError, "Nothing is to be summed here. If your dims were empty, sum_over with dim=() has summed everything, and a single number does not fit into (2, 3). When there is nothing to sum, return grad.")])
check("a new leading dimension", lambda: unbroadcast(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), (3,)),
      torch.tensor([5.0, 7.0, 9.0]),
      wrong=[([[5.0, 7.0, 9.0]], "The sum is right, but a leading dimension of size one is still there: the result must have exactly `shape`."),
             ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "Nothing was summed: the leading dimension is new, so it goes.")])
check("a dimension of size one", lambda: unbroadcast(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), (2, 1)),
      torch.tensor([[6.0], [15.0]]),
      wrong=[([6.0, 15.0], "The sum is right, but the dimension of size one is gone: the result must have exactly `shape`."),
             (lambda v: v == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "Nothing was summed. A dimension of size one was stretched too: it is summed, and stays with size one."),
             (lambda v: v in ([[5.0], [7.0], [9.0]], [5.0, 7.0, 9.0], [[5.0, 7.0, 9.0]]), "That is the sum over the other axis. Align the shapes at the right and sum where the operand has size one.")])
check("both at once, and a single number", lambda: [unbroadcast(torch.ones(4, 2, 3), (2, 1)), unbroadcast(torch.ones(2, 3), ())],
      [torch.full((2, 1), 12.0), torch.tensor(6.0)],
      wrong=[(lambda v: v[1] is not None and v[1] in ([[6.0]], [6.0]), "() is the shape of a single number: no dimension is left.")])
row = torch.tensor([[1.0, 2.0, 3.0]])
check("the gradient keeps its shape and values", lambda: (unbroadcast(row, (3,)), row), (torch.tensor([1.0, 2.0, 3.0]), torch.tensor([[1.0, 2.0, 3.0]])),
      wrong=[(lambda v: v[1] == [1.0, 2.0, 3.0], "grad itself has lost a dimension. It belongs to the caller: a method whose name ends in _ changes its tensor.")])
### BEGIN HIDDEN TESTS
g = torch.randn(4, 2, 3, 5, dtype=torch.float64)
square = torch.randn(3, 3, dtype=torch.float64)
ones = torch.randn(2, 1, 3, dtype=torch.float64)
targets = [(4, 2, 3, 5)[lead:lead + 4] for lead in range(5)]
targets = [tuple(1 if mask >> d & 1 else n for d, n in enumerate(t)) for t in targets for mask in range(2 ** len(t))]
check("leading and size-one dimensions at once", lambda: unbroadcast(g, (2, 1, 5)), g.sum_to_size(2, 1, 5),
      wrong=[(lambda v: type(v) is list and len(v) == 1, "A leading dimension of size one is left over.")],
      hint="Here one dimension is new and another had size one: both are summed, and the result has exactly `shape`.")
check("every combination of the two", lambda: [unbroadcast(g.clone(), t) for t in targets], [g.sum_to_size(t) for t in targets],
      weight=2, wrong=[(lambda v: None in v, "If your function returned None, a `return` is missing.")],
      hint="Some combination of new and size-one dimensions fails. Count the new ones, shift the others by that many.")
check("a square gradient, one axis at a time", lambda: [unbroadcast(square, (3, 1)), unbroadcast(square, (1, 3)), unbroadcast(square, (3,))],
      [square.sum(1, keepdim=True), square.sum(0, keepdim=True), square.sum(0)],
      wrong=[(lambda v: None in v, "If your function returned None, a `return` is missing.")],
      hint="Shapes are aligned at the right: (3,) against (3, 3) keeps the last axis, (3, 1) the first.")
check("a gradient that has ones itself", lambda: [unbroadcast(ones.clone(), (1, 3)), unbroadcast(ones.clone(), (2, 1, 1)), unbroadcast(ones.clone(), (3,)), unbroadcast(ones.clone(), ()), unbroadcast(ones[:1], (3,)), unbroadcast(ones[:1, :, :1], ())],
      [ones.sum(0), ones.sum(2, keepdim=True), ones.sum((0, 1)), ones.sum(), ones[0, 0], ones[0, 0, 0]],
      wrong=[(lambda v: None in v, "If your function returned None, a `return` is missing.")],
      hint="A size of one in the gradient is no sign of broadcasting. Go by the operand's shape.")
check("in half precision", lambda: unbroadcast(torch.ones(2, 3, dtype=torch.float16), (3,)), torch.full((3,), 2.0, dtype=torch.float16),
      hint="The result has the dtype of the gradient.")
check("dimensions of size zero", lambda: [unbroadcast(torch.ones(0, 3), (3,)), unbroadcast(torch.ones(0, 3), (1, 3)), unbroadcast(torch.ones(0, 3), ()), unbroadcast(torch.ones(2, 0), (0,)), unbroadcast(torch.ones(2, 0), (2, 1))],
      [torch.zeros(3), torch.zeros(1, 3), torch.zeros(()), torch.zeros(0), torch.zeros(2, 1)],
      hint="A size may be 0, for a batch without rows. A sum over no elements is 0, and a dimension of size 0 that the operand has stays.")
check("the gradient is left as it was", lambda: (unbroadcast(g, (3, 1)), unbroadcast(g, (4, 2, 3, 5)), unbroadcast(ones, (1, 3)), unbroadcast(ones, (3,)), unbroadcast(ones, ()), [g, ones])[-1], [g.clone(), ones.clone()],
      wrong=[(lambda v: v[1] is not None and (len(v[1]) != 2 or type(v[1][0]) is not list or type(v[1][0][0]) is not list), "A gradient of shape (2, 1, 3) has another shape after the calls. grad belongs to the caller: a method whose name ends in _ changes its tensor.")],
      hint="grad has to stay as it was: it belongs to the caller, and others may hold it.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 3. When may a node run?
#
# Most people's first idea is this: start at the root, call the rule, go on with each operand.
#
# **Predict.** `h = a * b`, then `(h.exp() + h * a).sum()`. Which leaves get a wrong gradient from this engine, and how often does h's node run?

# %% tags=["demo"]
def visit_at_first_sight(root):
    """Wrong on purpose: runs each node once, as soon as it is met."""
    ran, grads = [], {root.node: ones_like(root.data)}

    def visit(node):
        if node in ran:
            return
        ran.append(node)
        if node.leaf is not None:
            node.leaf.grad = grads[node]
            return
        for following, grad in zip(node.next, node.rule(grads[node])):
            if following is not None:
                grads[following] = grads[following] + grad if following in grads else grad
                visit(following)

    visit(root.node)
    return ran


def diamond(a, b):
    h = a * b
    return (h.exp() + h * a).sum()


data = [torch.tensor([0.5, 1.0]), torch.tensor([1.0, -1.0])]
a, b = leaves_of(*data)
root = diamond(a, b)
too_early = visit_at_first_sight(root)
print("this engine:", a.grad, b.grad)
print("torch:      ", *torch_gradients(diamond, *data))

# %% [markdown]
# No error, and both gradients are wrong. Watch the run. The number beside a node says for how many deliveries it still waits.

# %% tags=["demo"]
from autograder.lab import draw_ready_queue

draw_ready_queue(root.node, too_early, {"a": a, "b": b})

# %% [markdown]
# The red nodes ran while something was still on its way to them. What arrived afterwards was lost.
#
# So run them again for each arrival? That gives the right gradients, since every rule is linear in what arrives. It is also hopeless: each node runs once
# per *path* from the root, and every `x = x + x` doubles the number of paths.

# %% tags=["demo"]
def runs_per_path(root):
    """Correct and hopeless: each arrival goes all the way down at once. Returns how many rules were called."""
    if root.leaf is not None:
        return 0
    return 1 + sum(runs_per_path(following) for following in root.next if following is not None)


depths = list(range(1, 15))
calls = []
for depth in depths:
    v = Tensor(1.0, requires_grad=True)
    for _ in range(depth):
        v = v + v
    calls.append(runs_per_path(v.node))
print(f"{depths[-1]} doublings: {calls[-1]:,} calls, {depths[-1]} nodes")

fig, ax = plt.subplots(figsize=(5.5, 3), layout="constrained")
fig.patch.set_facecolor("white")
ax.semilogy(depths, calls, "o-", color="#b3541e", label="one run per path")
ax.semilogy(depths, depths, "s-", color="#2b6cb0", label="one run per node")
ax.set(xlabel="doublings x = x + x", ylabel="rules called")
ax.legend(frameon=False)
plt.show()

# %% [markdown]
# Both engines share one more fault: they call themselves. One call per node needs a stack as deep as the graph, and Python's is short.

# %% tags=["demo"]
v = Tensor(torch.tensor(1.0), requires_grad=True)
try:
    visit_at_first_sight(chain(v, 5_000))
except RecursionError as error:
    print("RecursionError:", error)

# %% [markdown]
# Graphs get that deep. A recurrent step `h = tanh(x @ u + h @ w)` puts three operations in a row: product, addition and tanh. Two thousand
# tokens make six thousand. So an engine keeps its own list of what is left to do.
#
# Each node runs **once**, when all its consumers have delivered. For that the engine must know how many deliveries to expect, so it counts edges before it
# starts. It counts only those that start at nodes the root reaches. A consumer that belongs to another loss never delivers, and whoever waits for it waits forever.
#
# ### Exercise: `dependencies`
# Difficulty: ●●○○○ · 15 minutes
#
# Write `dependencies(root)`: for each node that `root` reaches, how many edges lead to it. Go through the graph once, and without recursion.
#
# <details><summary>Stuck?</summary>
#
# Two questions per edge. Has this node been met before? If not, remember to visit it. Either way its count goes up by one.
# </details>
# <details><summary>Still stuck?</summary>
#
# Keep two things: a dict from node to count, and a list of nodes whose own edges nobody has followed yet. Both begin with the root.
# </details>
# <details><summary>Help: "RecursionError: maximum recursion depth exceeded"</summary>
#
# Python stops at about 1,000 nested calls; a training step easily records more nodes in a row. Replace the recursion by a list that you append to and pop from.
# </details>

# %% nbgrader={"grade": false, "grade_id": "dependencies", "locked": false, "schema_version": 3, "solution": true, "task": false}
def dependencies(root: Node) -> dict[Node, int]:
    """Count the edges that lead to each node from nodes that `root` reaches.

    Parameters
    ----------
    root : Node
        The node where the backward pass starts; it reaches itself.

    Returns
    -------
    dict of Node to int
        One entry per reachable node, accumulators included. 0 for the root. Two edges from one node count twice.
        Time linear in nodes and edges; no recursion, so that a chain of 20,000 nodes is fine.
    """
    ### BEGIN SOLUTION
    # Why this shape: a list of nodes to visit in place of recursion, and the dict of counts also says which nodes were met, so that nothing has to be kept in step with it.
    # Recursion is shorter to write and ends near depth 1,000. A list of visited nodes would be searched for every edge.
    counts = {root: 0}
    waiting = [root]
    while waiting:
        for following in waiting.pop().next:
            if following is not None:
                if following not in counts:
                    counts[following] = 0
                    waiting.append(following)
                counts[following] += 1
    return counts
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-dependencies", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
class Counted(Node):
    """A node that notes when it is compared with another one."""

    compared = 0
    __hash__ = object.__hash__

    def __eq__(self, other):
        Counted.compared += 1
        return self is other

def two_factors():
    p, q = leaves_of(torch.ones(2), torch.ones(2))
    return edge_counts(dependencies((p * q).node), [p, q])

def one_factor_twice():
    p = Tensor(torch.ones(2), requires_grad=True)
    return edge_counts(dependencies((p * p).node), [p])

def small_diamond():
    p, q = leaves_of(torch.ones(2), torch.ones(2))
    h = p * q
    return edge_counts(dependencies((h.exp() + h * p).sum().node), [p, q])

def second_operands():
    """Every operation that goes on stands second: whoever follows first edges alone stops at once."""
    p, q = leaves_of(torch.ones(2), torch.ones(2))
    return edge_counts(dependencies((p + (q + (p * q).exp())).node), [p, q])

def with_a_constant():
    p = Tensor(torch.ones(2), requires_grad=True)
    return edge_counts(dependencies((2.0 * (p * 3.0)).node), [p])

def another_loss():
    p, q = leaves_of(torch.ones(2), torch.ones(2))
    h = p * q
    _other = h.exp() + q
    return edge_counts(dependencies(h.sum().node), [p, q])

def long_chain():
    Counted.compared = 0
    counts = dependencies(chain(Tensor(torch.ones(()), requires_grad=True), 1_200, Counted).node)
    return {"nodes": len(counts), "edges": sum(counts.values()), "few comparisons": Counted.compared < 15_000}

check = Check("dependencies", points=3)
check("a product of two leaves", two_factors, {"0 Mul": 0, "leaf 0": 1, "leaf 1": 1},
      wrong=[({"leaf 0": 1, "leaf 1": 1}, "The root is missing. It is reachable, with 0 edges."),
             ({"0 Mul": 1, "leaf 0": 1, "leaf 1": 1}, "The root counts 0: only edges are counted, and no edge leads to it."),
             ({"0 Mul": 0}, "The accumulators are missing. They are nodes too, and the engine must know when they are ready.")])
check("the same leaf twice", one_factor_twice, {"0 Mul": 0, "leaf 0": 2},
      wrong=[({"0 Mul": 0, "leaf 0": 1}, "x * x has two edges to one accumulator. Count edges, not nodes.")])
check("a value used twice", small_diamond, {"4 Sum": 0, "3 Add": 1, "2 Mul": 1, "1 Exp": 1, "0 Mul": 2, "leaf 0": 2, "leaf 1": 1},
      wrong=[(lambda v: v.get("leaf 1") == 2, "You went through h's edges once per arrival, so what lies below was counted twice. Follow each node's edges once."),
             (lambda v: v.get("0 Mul") == 1, "h is used twice: two edges lead to its node.")])
check("what stands second goes on, too", second_operands, {"3 Add": 0, "2 Add": 1, "1 Exp": 1, "0 Mul": 1, "leaf 0": 2, "leaf 1": 2},
      wrong=[(lambda v: len(v) < 6, "Nodes are missing. Every entry of `next` has edges of its own, not the first alone.")])
check("operands that need no gradient", with_a_constant, {"1 Mul": 0, "0 Mul": 1, "leaf 0": 1},
      wrong=[(AttributeError, "None is no node: skip the entries of `next` that are None."),
             (lambda v: len(v) < 3, "An entry of `next` is None here. Skip it, and go on with the next entry.")])
check("a consumer that the root does not reach", another_loss, {"1 Sum": 0, "0 Mul": 1, "leaf 0": 1, "leaf 1": 1},
      hint="Another result uses h as well, but this root does not reach it: its edges do not count.")
check("a long chain", long_chain, {"nodes": 1_201, "edges": 1_200, "few comparisons": True},
      wrong=[(RecursionError, "Recursion ends near depth 1,000. Keep a list of nodes still to visit."),
             (lambda v: not v["few comparisons"], "Nodes were compared one by one with many others: is a node looked up in a list? Use a dict or a set.")])
### BEGIN HIDDEN TESTS
programs = [random_program(9) for _ in range(4)]
inputs = [p.data() for p in programs]
made = [leaves_of(*d) for d in inputs]
ends = [p(*leaves).node for p, leaves in zip(programs, made)]

def shared_with_another_loss():
    p, q = leaves_of(torch.ones(2), torch.ones(2))
    h = p * q
    _others = [h.exp(), h + q, h.sum()]
    return edge_counts(dependencies((h * q).node), [p, q])

def from_the_middle():
    p, q = leaves_of(torch.ones(2), torch.ones(2))
    h = p * q
    _end = (h + h).sum()
    return edge_counts(dependencies(h.node), [p, q])

def without_gradient():
    p = Tensor(torch.ones(2), requires_grad=True)
    return edge_counts(dependencies((Tensor(torch.ones(2)) * (p * Tensor(torch.ones(2)))).node), [p])

def comparisons():
    Counted.compared = 0
    dependencies(chain(Tensor(torch.ones(()), requires_grad=True), 400, Counted).node)
    return Counted.compared

def doublings():
    v = Tensor(torch.ones(()), requires_grad=True)
    for _ in range(60):
        v = v + v
    return sorted(dependencies(v.node).values())

def deep():
    counts = dependencies(chain(Tensor(torch.ones(()), requires_grad=True), 20_000).node)
    return [len(counts), min(counts.values()), max(counts.values()), sum(counts.values())]

def asked_again():
    p, q = leaves_of(torch.ones(2), torch.ones(2))
    h = p * q
    one, two = h.exp() + h, h * q
    return [edge_counts(dependencies(end.node), [p, q]) for end in (one, two, one)]

def recursion_limit():
    import sys
    before = sys.getrecursionlimit()
    end = chain(Tensor(torch.ones(()), requires_grad=True), 2_200)
    sys.setrecursionlimit(2_000)
    try:
        dependencies(end.node)
        return sys.getrecursionlimit()
    finally:
        sys.setrecursionlimit(before)

check("random graphs", lambda: [edge_counts(dependencies(end), leaves) for end, leaves in zip(ends, made)],
      [torch_edge_counts(p, *d) for p, d in zip(programs, inputs)],
      hint="On random graphs of nine operations every count has to be torch's. Each node's edges are followed once, each edge counted once.", weight=2)
check("consumers that the root does not reach", shared_with_another_loss, {"1 Mul": 0, "0 Mul": 1, "leaf 0": 1, "leaf 1": 2},
      hint="Other results use the same values, but the root does not reach them: they will never deliver, so only edges from nodes that the root reaches count.")
check("a root with consumers of its own", from_the_middle, {"0 Mul": 0, "leaf 0": 1, "leaf 1": 1},
      hint="The root counts 0 whatever uses it: only edges from nodes that the root reaches count.")
check("operands without gradient", without_gradient, {"1 Mul": 0, "0 Mul": 1, "leaf 0": 1},
      wrong=[(AttributeError, "None is no node: skip the entries of `next` that are None.")],
      hint="An operand that needs no gradient has None in `next`. That is no edge, and the next entry may be one.")
check.that("nodes are looked up, not searched for", comparisons, lambda n: n < 5_000,
           wrong=[(lambda n: type(n) is int, "Linear time is asked, but nodes were compared one by one with many others: is a node looked up in a list? Use a dict or a set.")],
           hint="400 nodes in a row: each is met once and looked up in a dict or a set.")
check("a chain of 20,000 nodes", deep, [20_001, 0, 1, 20_000],
      wrong=[(RecursionError, "Recursion ends near depth 1,000. Keep a list of nodes still to visit.")],
      hint="A long chain must be counted like a short one, in linear time.")
check("the recursion limit is left as it was", recursion_limit, 2_000,
      wrong=[(RecursionError, "With Python's limit at 2,000 the chain is too deep. Keep a list of nodes still to visit.")],
      hint="The recursion limit has to be what it was. It belongs to the whole process: keep a list of nodes still to visit instead.")
check("one root after another", asked_again,
      [{"2 Add": 0, "1 Exp": 1, "0 Mul": 2, "leaf 0": 1, "leaf 1": 1}, {"1 Mul": 0, "0 Mul": 1, "leaf 0": 1, "leaf 1": 2}, {"2 Add": 0, "1 Exp": 1, "0 Mul": 2, "leaf 0": 1, "leaf 1": 1}],
      hint="Three calls on graphs that share nodes. Each counts for itself: does anything of an earlier call remain, on a node or in a variable that outlives the call?")
check("sixty doublings", doublings, [0] + [2] * 60, limit=2.0,
      hint="60 nodes, but 2^60 paths: follow each node's edges once.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 4. Where gradients meet
#
# A node with several consumers gets a gradient from each of them. The engine keeps a buffer for every node that still waits, and adds.
#
# **Predict.** An addition hands the *same* array to both operands. This engine adds in place to save an allocation. Which of the numbers it prints is wrong?

# %% tags=["demo"]
p, q = leaves_of(torch.tensor([1.0]), torch.tensor([10.0]))
m, n = p * 2.0, q * 3.0
first = m.exp()
total = (m + n) + first

seed = torch.tensor([1.0])
to_sum, to_first = total.node.rule(seed)
print("is it one array?", to_sum is seed and to_first is seed)
to_m, to_n = (m + n).node.rule(to_sum)
(again,) = first.node.rule(to_first)
to_m += again  # the shortcut
print("m's gradient:", to_m, " n's gradient:", to_n, " the seed:", seed)

# %% [markdown]
# m's gradient is right. n's must be 1, and it is not: it is the same memory. Even the seed changed, and that belongs to the caller. Torch does not notice
# such an edit either. Here is the fused layer of the first paragraph.

# %% tags=["demo"]
class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 0.5

    @staticmethod
    def backward(ctx, grad):
        return grad.mul_(0.5)  # saves an allocation


fused, beside = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
older = beside * 1.0
(Fused.apply(fused) + older).backward(torch.ones(2))
print("beside's gradient is", beside.grad, "and should be", torch.ones(2))

# %% [markdown]
# So an engine replaces its buffers (`old + new`) and never edits them. Torch's engine does edit a buffer, but only one that nobody else holds.
#
# The same holds at the end of the line. `x.grad` belongs to whoever reads it. If it were the array that a rule handed over, writing to it could change the
# gradient of another leaf. After a sum it would change all elements at once: remember the stride 0. So a leaf's gradient gets memory of its own.
#
# **Predict.** `y = (x * 2) * 5`, and backward runs twice. Each call should add 10 to x's gradient. This engine keeps its buffers in a variable that outlives the call. What does it end with?

# %% tags=["demo"]
kept = {}  # node -> gradient; never emptied, which is the fault


def backward_with_old_buffers(root):
    """Wrong on purpose. Good enough for a chain: one consumer per node."""
    node, grad = root.node, ones_like(root.data)
    while node.leaf is None:
        kept[node] = kept[node] + grad if node in kept else grad
        (grad, *_) = node.rule(kept[node])
        node = node.next[0]
    node.leaf.grad = grad if node.leaf.grad is None else node.leaf.grad + grad


x = Tensor(torch.tensor(3.0), requires_grad=True)
y = (x * 2.0) * 5.0
for call in (1, 2):
    backward_with_old_buffers(y)
    print("after call", call, "x.grad is", x.grad.item())

# %% [markdown]
# Not 20. Both inner nodes still held what the first call had brought, and handed it on again. The deeper the graph, the worse it gets.
#
# Two more rules, and the engine is complete:
#
# - **Buffers live for one call.** What an inner node received belongs to this backward pass. Only leaves accumulate over calls.
# - **Released means released.** A node that ran gives up `saved`, unless the caller said `retain_graph=True`. Reaching it again is an error.
#
# **Predict.** In torch, `loss = b * b + a`, and `loss.backward()` runs twice. The second call raises, because `b * b` has released what it saved. What is `a.grad` after the
# error: 1, as before, or 2?

# %% tags=["demo"]
a, b = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
loss = b * b + a
loss.backward()
print("after the first call:       a.grad", a.grad, " b.grad", b.grad)
try:
    loss.backward()
except RuntimeError as error:
    print("RuntimeError:", str(error).split(" (")[0])
print("after the call that failed: a.grad", a.grad, " b.grad", b.grad)

# %% [markdown]
# It is 2. Torch looks at a node when its turn comes, and `a` had its turn before `b * b`. So after an error in backward some leaves have this call's gradient and others do not, and you
# cannot tell which: set the gradients to None before you try again.
#
# A small engine can do better. It goes through the whole graph anyway, to count. **Yours looks for released nodes there, and raises before it has touched any leaf.**
#
# ### Exercise: `backward`
# Difficulty: ●●●●● · 45 minutes
#
# Write `backward(root, grad=None, retain_graph=False)`: the whole engine, with the rules above. It adds to the `grad` of every leaf that `root` reaches.
#
# <details><summary>Stuck?</summary>
#
# Four parts: refuse bad roots; count edges below the root, and look for released nodes on the way; a dict of buffers and a list of ready nodes;
# the loop. In the loop a node is either an accumulator, which adds to its leaf, or an operation, which calls its rule and delivers.
# </details>
# <details><summary>Still stuck?</summary>
#
# To deliver is three steps per edge: the target's buffer becomes what it was plus the new gradient, its count goes down by one, and at 0 it joins the ready list.
# </details>
# <details><summary>Help: "TypeError: 'NoneType' object is not callable"</summary>
#
# You called the rule of an AccumulateGrad. It has none: `node.leaf.grad` is where its gradient goes.
# </details>
# <details><summary>Help: "RuntimeError: unsupported operation: more than one element of the written-to tensor refers to a single memory location"</summary>
#
# You added in place (`+=`) to a view with stride 0, which a sum handed on. Write `old + new`.
# </details>
# <details><summary>Help: "RuntimeError: ... was released: its rule has nothing left to work with"</summary>
#
# Either a node ran twice in one call: it joined the ready list at each arrival, and not only at the last. Or an earlier call released it.
# </details>

# %% nbgrader={"grade": false, "grade_id": "backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def backward(root: Tensor, grad=None, retain_graph: bool = False) -> None:
    """Run the graph below `root` backward and add to the `grad` of each leaf it reaches.

    Parameters
    ----------
    root : Tensor
        Where to start.
    grad : array, optional
        Gradient of `root`, of its shape; one if not given, for a root of one element. It is not changed.
    retain_graph : bool
        Whether the nodes keep `saved`. If not, each operation node that ran gets `saved = None`; accumulators never do.

    Raises
    ------
    RuntimeError
        When `root` has no node; when it has more than one element and no `grad` is given; when a released node is reached,
        and then before anything is changed.

    Notes
    -----
    Each node runs once, after all of its consumers that `root` reaches. No array that came from a rule or from the caller
    is changed in place. Each leaf's `grad` has memory of its own. No recursion.
    """
    ### BEGIN SOLUTION
    # Why this shape: counting, looking for released nodes and refusing come before the first rule, so that an error leaves everything as it was. Buffers live in a dict of this call
    # and are replaced by old + new, since a rule may have given one array to two parents. Most first answers add in place, or run a node at its first delivery.
    if root.node is None:
        raise RuntimeError("This tensor has no node: nothing it was computed from requires a gradient.")
    if grad is None:
        elements = 1
        for n in sizes(root.data):
            elements *= n
        if elements != 1:
            raise RuntimeError("Only a root of one element has an obvious gradient. Pass grad.")
        grad = ones_like(root.data)

    missing = {root.node: 0}
    waiting = [root.node]
    while waiting:
        node = waiting.pop()
        if node.saved is None:
            raise RuntimeError(f"{node.name} was released by an earlier backward. Pass retain_graph=True there.")
        for following in node.next:
            if following is not None:
                if following not in missing:
                    missing[following] = 0
                    waiting.append(following)
                missing[following] += 1

    buffers = {root.node: grad}
    ready = [root.node]
    while ready:
        node = ready.pop()
        grad = buffers.pop(node)
        if node.leaf is not None:
            node.leaf.grad = copy(grad) if node.leaf.grad is None else node.leaf.grad + grad
            continue
        handed_on = node.rule(grad)
        if not retain_graph:
            node.saved = None
        for following, grad in zip(node.next, handed_on):
            if following is not None:
                buffers[following] = buffers[following] + grad if following in buffers else grad
                missing[following] -= 1
                if missing[following] == 0:
                    ready.append(following)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-backward", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
def gradients(expression, *data, grad=None):
    made = leaves_of(*data)
    backward(expression(*made), grad)
    return [leaf.grad for leaf in made]

def nodes_below(root):
    found = [root]
    for node in found:
        found += [n for n in node.next if n is not None and n not in found]
    return found

def one_product(x, w):
    return (x * w).sum()

def waits(a, b):
    h = a * b
    return (h.exp() + h * a).sum()

def two_losses():
    x, w = leaves_of(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0]))
    h = x * w
    one, two = h.sum(), (h * x).sum()
    backward(one, retain_graph=True)
    backward(two)
    return [x.grad, w.grad]

def twice_the_same():
    x = Tensor(torch.tensor(3.0), requires_grad=True)
    inner = x * 2.0
    end = inner * 5.0
    backward(end, retain_graph=True)
    backward(end)
    return [x.grad, inner.grad, end.grad]

def scribble(leaf):
    if leaf.grad is not None:
        leaf.grad[0] = 100.0

def scribbled():
    a, b = leaves_of(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    given = torch.tensor([1.0, 1.0])
    backward(a + b, given)
    scribble(a)
    return [a.grad, b.grad, given]

def after_a_run(retain):
    a, b = leaves_of(torch.ones(2), torch.ones(2))
    end = ((a * b).exp() + a).sum()
    backward(end, retain_graph=retain)
    return sorted((n.name, n.saved is None) for n in nodes_below(end.node))

def second_operands(p, q):
    """What goes on stands second each time, so that whoever follows first edges alone stops at once."""
    return p + (q + (p * q).exp())

def released_again():
    a = Tensor(torch.tensor(2.0), requires_grad=True)
    end = a * a
    backward(end)
    backward(end)

def left_by_an_error():
    """The leaves' gradients after a backward that met a released node, and whether the part that was fresh still is."""
    a, c = leaves_of(torch.tensor(2.0), torch.tensor(5.0))
    old, fresh = a * a, c * 3.0
    backward(old)
    try:
        backward(old + fresh)
    except RuntimeError:
        pass
    return {"a": a.grad, "c": c.grad, "fresh is released": fresh.node.saved is None}

class Counted(Node):
    """A node that notes when it is compared with another one."""

    compared = 0
    __hash__ = object.__hash__

    def __eq__(self, other):
        Counted.compared += 1
        return self is other

def long_chain():
    Counted.compared = 0
    x = Tensor(torch.tensor(1.0), requires_grad=True)
    backward(chain(x, 1_200, Counted))
    return {"gradient": x.grad, "few comparisons": Counted.compared < 15_000}

row = torch.tensor([1.0, 2.0, 3.0])
other = torch.tensor([0.5, -1.0, 2.0])
check = Check("backward", points=8)
check("one product", lambda: gradients(one_product, row, other), [torch.tensor([0.5, -1.0, 2.0]), torch.tensor([1.0, 2.0, 3.0])],
      wrong=[(lambda v: v == [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]], "The two gradients are swapped: a rule returns them in the order of `next`."),
             (TypeError, "A TypeError. If it says that None cannot be called: an AccumulateGrad has no rule. When node.leaf is not None, add to node.leaf.grad.")])
check("a value used twice", lambda: gradients(lambda x: x * x + x, torch.tensor(3.0)), [torch.tensor(7.0)],
      wrong=[(lambda v: v[0] in (1.0, 3.0, 6.0, 4.0), "x is used three times and gets a gradient each time. They add up; a later one must not replace an earlier one.")])
check("a value is not handed on before it is complete", lambda: gradients(waits, torch.tensor([0.5, 1.0]), torch.tensor([1.0, -1.0])),
      torch_gradients(waits, torch.tensor([0.5, 1.0]), torch.tensor([1.0, -1.0])),
      hint="h has two consumers. Its node may run when both have delivered, and once only.")
check("what stands second goes on, too", lambda: gradients(second_operands, torch.tensor(0.0), torch.tensor(3.0)), [torch.tensor(4.0), torch.tensor(1.0)],
      wrong=[(lambda v: v[0] in (0.0, 1.0, 3.0) or v[1] is None, "Some deliveries are missing. Every entry of `next` has edges of its own, not the first alone.")],
      hint="Deliver along every edge, and let each node run when its last delivery is there.")
check("two losses share a graph", two_losses, [torch.tensor([9.0, 25.0]), torch.tensor([2.0, 6.0])],
      wrong=[(lambda v: v == [[6.0, 20.0], [1.0, 4.0]], "The second call replaced what the first had left in leaf.grad. Leaves accumulate over calls."),
             (lambda v: None in v, "A leaf got nothing. Does the engine wait for consumers that this root does not reach?")],
      hint="Leaves accumulate over calls, and each call counts its own edges.")
check("inner gradients end with the call", twice_the_same, [torch.tensor(20.0), None, None],
      wrong=[(lambda v: v[0] == 30.0 or v[0] == 40.0, "Inner gradients of the first call were added again in the second. Buffers live for one call."),
             (lambda v: v[0] == 20.0, "Inner tensors have a grad now. Only leaves get one.")],
      hint="The second call must add to the leaf exactly what the first did.")
check("a leaf's gradient is its own memory", scribbled, [torch.tensor([100.0, 1.0]), torch.tensor([1.0, 1.0]), torch.tensor([1.0, 1.0])],
      wrong=[(lambda v: v[1] == [100.0, 1.0] or v[2] == [100.0, 1.0], "After writing to a.grad another array changed with it. An addition hands on its own gradient, so copy it when a leaf gets its first.")],
      hint="For a + b both leaves get the given gradient, each in memory of its own, and the given one stays as it was.")
check("released after a run", lambda: after_a_run(False),
      [("AccumulateGrad", False), ("AccumulateGrad", False), ("AddBackward", True), ("ExpBackward", True), ("MulBackward", True), ("SumBackward", True)],
      wrong=[(lambda v: v[0][1], "Accumulators are never released: the next graph uses them again."),
             (lambda v: not any(done for _, done in v), "Nothing was released: set node.saved = None once its rule was called."),],
      hint="Every operation node that ran has saved = None, also one that had saved nothing.")
check("kept when asked", lambda: after_a_run(True),
      [("AccumulateGrad", False), ("AccumulateGrad", False), ("AddBackward", False), ("ExpBackward", False), ("MulBackward", False), ("SumBackward", False)],
      hint="With retain_graph=True every node keeps `saved`.")
check("a gradient is given", lambda: gradients(lambda x: x * 2.0, row, grad=torch.tensor([1.0, 0.0, -1.0])), [torch.tensor([2.0, 0.0, -2.0])],
      wrong=[([[2.0, 2.0, 2.0]], "A gradient was given, and the pass started from ones all the same.")],
      hint="A given gradient is where the pass starts.")
check.raises("many elements and no gradient", lambda: backward(leaves_of(torch.ones(3))[0] * 2.0), RuntimeError,
             hint="A root of several elements has no obvious gradient: raise RuntimeError unless one is given.")
check.raises("nothing requires a gradient", lambda: backward(Tensor(torch.tensor(1.0)) + 1.0), RuntimeError,
             hint="There is nothing to run: raise RuntimeError when root.node is None.")
check.raises("the same root again", released_again, RuntimeError, hint="The first backward released the product. When the second one reaches it, raise RuntimeError.")
check("the error comes before any change", left_by_an_error, {"a": torch.tensor(4.0), "c": None, "fresh is released": False},
      wrong=[(lambda v: v["a"] is None, "a lost the gradient of the first backward, which went well."),
             (lambda v: v["c"] is not None or v["fresh is released"], "The younger branch ran before the released node was found. Look at every reachable node before the first rule runs.")])
check("a long chain", long_chain, {"gradient": torch.tensor(1.0), "few comparisons": True},
      wrong=[(RecursionError, "Recursion ends near depth 1,000. Keep the ready nodes in a list."),
             (lambda v: not v["few comparisons"], "Nodes were compared one by one with many others: is a node looked up in a list? Use a dict or a set.")])
### BEGIN HIDDEN TESTS
programs = [random_program(10) for _ in range(8)]
inputs = [p.data() for p in programs]
u, v, s = (torch.randn(n, dtype=torch.float64) for n in ((2, 3), (3, 4), (2, 4)))

def squared_first(x):
    return (x * x + x.exp()).sum()

def squared_last(x):
    return (x.exp() + x * x).sum()

def squared_inside(x):
    h = x * 2.0
    return (h * h + h.exp() + (h * h).exp()).sum()

def every_run():
    result = []
    for program, data in zip(programs[:4], inputs):
        made = leaves_of(*data)
        end = program(*made)
        with record_runs() as runs:
            backward(end, retain_graph=True)
        result.append(sorted(steps(runs, made)))
    return result

def runs_before_consumers():
    """Names of nodes whose rule was called before that of a reachable consumer."""
    late = []
    for program, data in zip(programs, inputs):
        end = program(*leaves_of(*data))
        with record_runs() as runs:
            backward(end, retain_graph=True)
        place = {node: i for i, node in reversed(list(enumerate(runs)))}
        late += [n.name for c in nodes_below(end.node) for n in c.next if n in place and place[n] < place.get(c, len(runs))]
    return late

def scribbled_sum():
    a = Tensor(torch.zeros(3), requires_grad=True)
    backward(a.sum())
    scribble(a)
    return [a.grad]

def scribbled_root():
    a = Tensor(torch.tensor([1.0, 2.0]), requires_grad=True)
    given = torch.tensor([5.0, 6.0])
    backward(a, given)
    scribble(a)
    return [a.grad, given]

def scribbled_twice():
    a = Tensor(torch.tensor([1.0, 2.0]), requires_grad=True)
    given = torch.tensor([1.0, 1.0])
    backward(a + 0.0, given)
    backward(a + 0.0, given)
    return [a.grad, given]

def two_parents():
    result = []
    for expression in (lambda both, others: both + others, lambda both, others: others + both):
        p, q = leaves_of(torch.tensor([0.5]), torch.tensor([0.25]))
        m, n = p * 2.0, q * 3.0
        others = m.exp() + n.exp()
        backward(expression(m + n, others))
        result += [p.grad, q.grad]
    return result

def reached_again():
    a, b = leaves_of(torch.ones(2), torch.ones(2))
    h = a * b
    backward(h.sum())
    backward((h + a).sum())

def after_the_error():
    a, b, c = leaves_of(torch.ones(2), torch.ones(2), torch.ones(2))
    h = a * b
    backward(h.sum())
    fresh = c * c
    end = (fresh + h).sum()
    try:
        backward(end)
    except RuntimeError:
        pass
    return [a.grad, b.grad, c.grad, [n.saved is None for n in (end.node, fresh.node, h.node)]]

def good_after_the_error():
    result = []
    for released_first in (True, False):
        a, b, c = leaves_of(torch.ones(2), torch.ones(2), torch.ones(2))
        h = a * b
        backward(h.sum())
        used, fresh = h.sum(), (c * c).sum()
        try:
            backward(used + fresh if released_first else fresh + used)
        except RuntimeError:
            pass
        backward(fresh)
        result.append(c.grad)
    return result

class Failing(Node):
    """A node whose rule fails."""

    def _apply(self, grad):
        raise ArithmeticError("a rule of the world")

def only_what_is_reached():
    a, b = leaves_of(torch.ones(2), torch.ones(2))
    h = a * 3.0
    away = h * b
    backward(h.sum())
    return [a.grad, b.grad, away.node.saved is None]

def comparisons():
    Counted.compared = 0
    backward(chain(Tensor(torch.tensor(1.0), requires_grad=True), 400, Counted))
    return Counted.compared

def doublings():
    x = Tensor(torch.ones((), dtype=torch.float64), requires_grad=True)
    y = x
    for _ in range(60):
        y = y + y
    backward(y)
    return [x.grad]

def deep():
    x = Tensor(torch.tensor(1.0), requires_grad=True)
    backward(chain(x, 20_000))
    return [x.grad]

def recursion_limit():
    import sys
    before = sys.getrecursionlimit()
    end = chain(Tensor(torch.tensor(1.0), requires_grad=True), 2_200)
    sys.setrecursionlimit(2_000)
    try:
        backward(end)
        return sys.getrecursionlimit()
    finally:
        sys.setrecursionlimit(before)

check("a root of shape (1, 1)", lambda: gradients(lambda x: x.sum((0, 1), True) * x.sum(), torch.tensor([[1.0, 2.0]])), [torch.tensor([[6.0, 6.0]])],
      wrong=[(RuntimeError, "One element is enough, whatever the number of dimensions: where grad is not given it is a one of root's shape, ones_like(root.data).")],
      hint="The gradient of a root of one element has the shape of the root: ones_like(root.data).")
check("a given gradient for a root of one element", lambda: [gradients(one_product, row, other, grad=torch.tensor(3.0)), gradients(lambda x: x.sum((0, 1), True), torch.tensor([[1.0, 2.0]]), grad=torch.tensor([[-2.0]])), gradients(one_product, row, other, grad=torch.tensor(0.0))],
      [[torch.tensor([1.5, -3.0, 6.0]), torch.tensor([3.0, 6.0, 9.0])], [torch.tensor([[-2.0, -2.0]])], [torch.tensor([0.0, -0.0, 0.0]), torch.tensor([0.0, 0.0, 0.0])]],
      wrong=[(lambda v: v[0] == [[0.5, -1.0, 2.0], [1.0, 2.0, 3.0]], "grad was given as 3, and the leaves got what belongs to 1. Only where grad is None does the pass start with ones."),
             (lambda v: v[0] == [[1.5, -3.0, 6.0], [3.0, 6.0, 9.0]] and v[2] == [[0.5, -1.0, 2.0], [1.0, 2.0, 3.0]], "grad was given as 0, and the leaves got what belongs to 1. Ask `grad is None`, not whether grad is true.")],
      hint="A given gradient is used as it is, also for a root of one element.")
check("used twice by one node, and by another", lambda: [gradients(e, row) for e in (squared_first, squared_last, squared_inside)],
      [torch_gradients(e, row) for e in (squared_first, squared_last, squared_inside)],
      hint="A node that uses a value twice delivers to it twice. Count edges, not consumers.")
check("random graphs", lambda: [gradients(p, *d) for p, d in zip(programs, inputs)], [torch_gradients(p, *d) for p, d in zip(programs, inputs)],
      hint="On random graphs of ten operations the gradients have to be torch's. Does each node wait for its last delivery, and is every delivery added?", weight=3)
check("each rule is called once", every_run,
      [sorted(w for w in torch_edge_counts(p, *d) if "leaf" not in w) for p, d in zip(programs[:4], inputs)],
      hint="A rule is called once per backward: collect a node's gradients first, then run it.", weight=2)
check("no rule before its consumers", runs_before_consumers, [],
      wrong=[(lambda v: type(v) is list, "A node ran before one of its consumers had delivered.")],
      hint="On random graphs: a rule is called when all consumers that the root reaches have delivered.")
check("operands keep their places", lambda: gradients(lambda a, b: a @ b, u, v, grad=s), [s @ v.T, u.T @ s],
      hint="The first gradient of a rule belongs to next[0], the second to next[1]. And a given gradient is used as it is.")
check("a sum's gradient is no view", scribbled_sum, [torch.tensor([100.0, 1.0, 1.0])],
      wrong=[([[100.0, 100.0, 100.0]], "All elements of this gradient are one number in memory: a sum hands on a view with stride 0. Copy it."),
             (RuntimeError, "It raised RuntimeError. If that came as the gradient was written to: a sum hands on a view with stride 0. Copy it.")],
      hint="The leaf's gradient must have memory of its own.")
check("a leaf as root", scribbled_root, [torch.tensor([100.0, 6.0]), torch.tensor([5.0, 6.0])],
      hint="A leaf's node is its AccumulateGrad: it gets a copy of the given gradient, and nothing else happens.")
check("the given gradient is left as it was", scribbled_twice, [torch.tensor([2.0, 2.0]), torch.tensor([1.0, 1.0])],
      wrong=[(lambda v: v[1] != [1.0, 1.0], "The caller's gradient has changed. If leaf.grad is the caller's array, a second call that adds in place writes into it. Copy first.")],
      hint="Two calls with one given gradient: the leaf adds up, and what was given stays as it was.")
check("one buffer, two parents", two_parents, [torch.tensor([2.0 + 2.0 * 2.718281828459045]), torch.tensor([3.0 + 3.0 * 2.117000016612675])] * 2,
      wrong=[(lambda v: any(part[0] > whole for part, whole in zip(v, (7.5, 9.4, 7.5, 9.4))), "A gradient is too large. An addition hands the same array to both operands: if you add to it in place for one, the other changes too. Use old + new.")],
      hint="m + n hands one array to m and to n; both get a second gradient from elsewhere.")
check("kept with retain_graph", lambda: after_a_run(True),
      [("AccumulateGrad", False), ("AccumulateGrad", False), ("AddBackward", False), ("ExpBackward", False), ("MulBackward", False), ("SumBackward", False)],
      hint="With retain_graph=True every node keeps `saved`.")
check.raises("a released node reached again", reached_again, RuntimeError,
             hint="h was released by the first backward; reaching it again must raise RuntimeError.")
check("an error changes nothing", after_the_error, [torch.ones(2), torch.ones(2), None, [False, False, True]],
      wrong=[(lambda v: v[2] is not None or v[3][:2] != [False, False], "c already had a gradient, or fresh nodes were released, when the released node was found. Look at every reachable node before the first rule runs.")],
      hint="A released node is met: the call raises RuntimeError, and leaves and nodes are as before the call.")
check.raises("an error in a rule", lambda: backward(chain(Tensor(torch.tensor(1.0), requires_grad=True), 2, Failing)), ArithmeticError,
             hint="A rule raises ArithmeticError here. Let it through: if the error got lost, the leaves below would have no gradient, or a part of one.")
check("a good backward after the error", good_after_the_error, [torch.tensor([2.0, 2.0])] * 2,
      hint="A call raised, since it met a released node; then the part that was never run is run alone. That must go as if the other call had not been: does anything of it remain, on a node, on a leaf or in a variable that outlives the call?")
check("what the root does not reach stays", only_what_is_reached, [torch.tensor([3.0, 3.0]), None, False],
      hint="Only leaves that the root reaches get a gradient, and only nodes that ran are released.")
check.raises("a root without a node", lambda: backward(Tensor(torch.tensor(1.0)) * 2.0), RuntimeError,
             hint="Nothing to run: raise RuntimeError when root.node is None.")
check.that("nodes are looked up, not searched for", comparisons, lambda n: n < 5_000,
           wrong=[(lambda n: type(n) is int, "Linear time is asked, but nodes were compared one by one with many others: is a node looked up in a list? Use a dict or a set.")],
           hint="400 nodes in a row: each is met once and looked up in a dict or a set.")
check("20,000 nodes in a row", deep, [torch.tensor(1.0)],
      wrong=[(RecursionError, "Recursion ends near depth 1,000. Keep the ready nodes in a list.")],
      hint="A long chain must run like a short one, in linear time.")
check("the recursion limit is left as it was", recursion_limit, 2_000,
      wrong=[(RecursionError, "With Python's limit at 2,000 the chain is too deep. Keep the nodes still to visit in a list.")],
      hint="The recursion limit has to be what it was. It belongs to the whole process: keep the nodes still to visit in a list instead.")
check("sixty doublings", doublings, [torch.tensor(2.0**60, dtype=torch.float64)], limit=3.0,
      hint="60 nodes, but 2^60 paths: each node runs once.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# You can also keep your functions in a plain file and check that on the command line:
#
# ```
# autograder check my_engine.py --chapter 06-backward-engine
# ```

# %% [markdown]
# Now hold your engine against torch, on graphs that nobody has chosen.

# %% tags=["demo"]
import random

draws = random.Random(0)
try:
    agree = 0
    for _ in range(100):
        program = random_program(draws.randint(1, 14), draws)
        values = program.data()
        mine = leaves_of(*values)
        backward(program(*mine))
        theirs = torch_gradients(program, *values)
        agree += all(m.grad is t or torch.allclose(m.grad, t) for m, t in zip(mine, theirs))
    print(f"{agree} of 100 random graphs agree with torch")
except NotImplementedError:
    print("Write backward first, then run this cell.")

# %% [markdown]
# ## 5. Which of the ready nodes goes first
#
# Every order that waits for all consumers gives the same gradients, up to rounding. But the order decides when hooks fire and how long a buffer lives, so it
# is worth knowing torch's: of the ready nodes, the one with the **highest sequence number** runs next. What came last in the forward pass comes first in the backward pass.
# An AccumulateGrad has the highest number there is, so a gradient that is complete goes to its leaf at once.
#
# **Predict.** For `(p * q).exp() + (r * p)`: which of the two products runs first, and when does r get its gradient?

# %% tags=["demo"]
def two_branches(p, q, r):
    return ((p * q).exp() + r * p).sum()


print(torch_steps(two_branches, *(torch.ones(2) for _ in range(3))))

# %% [markdown]
# The cell asked torch itself, with a hook on each node. `2 Mul` is the third operation by creation, `leaf 2` is r. The later product runs first, and r has its
# gradient before the earlier branch has even started. p has to wait for both.
#
# **Predict.** Two accumulators that become ready together have the same number. Which of them goes first? And of five?

# %% tags=["demo"]
for count in (2, 5):
    parts = [torch.ones(1, requires_grad=True) for _ in range(count)]
    fired = []
    for i, part in enumerate(parts):
        part.register_hook(lambda grad, i=i: fired.append(i))
    torch.cat(parts).sum().backward()
    print(count, "leaves of one cat get their gradients in the order", fired)

# %% [markdown]
# Of two, the first operand's goes first. Of five the order is no rule at all: it is how torch's heap happens to turn over equal numbers. The small world has at most two
# operands, so there the rule of two is enough. In your own training code rely on neither.
#
# ### Exercise: `order`
# Difficulty: ●●●○○ · 20 minutes
#
# Write `order(root)`: the nodes below `root` in the order in which torch would run them. Nothing runs, and nothing changes.
#
# <details><summary>Stuck?</summary>
#
# The loop of `backward` without arrays: counts, ready nodes, a list of what ran. Only the choice among the ready ones is new.
# </details>
# <details><summary>Still stuck?</summary>
#
# `max(ready, key=...)` returns the first of equals. A heap from `heapq` is faster, and gives the smallest first: so what would you push in place of the sequence?
# </details>
# <details><summary>Help: "TypeError: '&lt;' not supported between instances of 'Node' and 'Node'"</summary>
#
# Two entries of the heap tie in all that stands before the node. Put a counter before it.
# </details>

# %% nbgrader={"grade": false, "grade_id": "order", "locked": false, "schema_version": 3, "solution": true, "task": false}
def order(root: Node) -> list[Node]:
    """The sequence in which torch's engine would run the nodes below `root`.

    Parameters
    ----------
    root : Node
        Where the backward pass starts.

    Returns
    -------
    list of Node
        Each reachable node once, accumulators included. A node is ready when all of its reachable consumers have run. Of the ready
        nodes the one with the highest `sequence` runs next; of two accumulators that become ready at once, the first operand's.
        Nothing is run, and the graph is left as it was.
    """
    ### BEGIN SOLUTION
    # Why this shape: it is backward without arrays, and a heap in place of the list, because only the choice among ready nodes is new. The arrival number breaks ties
    # between accumulators, which all have one sequence number, and keeps the heap from comparing nodes. Sorting all nodes by sequence does not do: it forgets who waits for whom.
    import heapq
    from itertools import count

    missing = {root: 0}
    waiting = [root]
    while waiting:
        for following in waiting.pop().next:
            if following is not None:
                if following not in missing:
                    missing[following] = 0
                    waiting.append(following)
                missing[following] += 1

    arrivals = count()  # breaks ties between accumulators; nodes themselves cannot be compared
    ready = [(-root.sequence, next(arrivals), root)]
    ran = []
    while ready:
        *_, node = heapq.heappop(ready)
        ran.append(node)
        for following in node.next:
            if following is not None:
                missing[following] -= 1
                if missing[following] == 0:
                    heapq.heappush(ready, (-following.sequence, next(arrivals), following))
    return ran
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-order", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def in_words(expression, *data):
    made = leaves_of(*data)
    return steps(order(expression(*made).node), made)

def branches(p, q, r):
    return ((p * q).exp() + r * p).sum()

def product(p, q):
    return p * q

def second_operands(p, q):
    return p + (q + (p * q).exp())

def two_consumers(a, b):
    h = a * b
    late = h * a
    return late + h.exp()

def another_loss():
    a, b = leaves_of(torch.ones(2), torch.ones(2))
    h = a * b
    _other = h.exp() + b
    return steps(order(h.sum().node), [a, b])

def one_operand():
    a = Tensor(torch.ones(2), requires_grad=True)
    return steps(order((2.0 * a.exp()).node), [a])

def changed_by_order():
    """What was saved no longer, and which leaves got a gradient."""
    made = leaves_of(torch.ones(2), torch.ones(2))
    end = product(*made).node
    ran = order(end)
    return {"released": [n.name for n in ran if n.saved is None], "gradients": [leaf.grad for leaf in made]}

check = Check("order", points=4)
check("two branches", lambda: in_words(branches, torch.ones(2), torch.ones(2), torch.ones(2)),
      ["4 Sum", "3 Add", "2 Mul", "leaf 2", "1 Exp", "0 Mul", "leaf 0", "leaf 1"],
      wrong=[(lambda v: v[2] == "1 Exp", "Exp is older than the other product. Of the ready nodes the one with the highest sequence goes first, not the one that came first."),
             (lambda v: v[3] != "leaf 2" and v[2] == "2 Mul", "leaf 2 was ready after the product, and an accumulator has the highest sequence there is: it goes next."),
             (lambda v: v[0] != "4 Sum", "The root runs first: nothing else is ready."),
             (TypeError, "At the end leaf 0 and leaf 1 are ready together. They have the same sequence: if you use a heap, it went on to compare nodes. Put a counter between the two.")])
check("a list comes back", lambda: type(order(product(*leaves_of(torch.ones(2), torch.ones(2))).node)).__name__, "list",
      hint="list(...) makes a list of anything that can be gone through.")
check("two accumulators at once", lambda: in_words(product, torch.ones(2), torch.ones(2)), ["0 Mul", "leaf 0", "leaf 1"],
      wrong=[(["0 Mul", "leaf 1", "leaf 0"], "Both accumulators have the same sequence and become ready together: the first operand's goes first."),
             (TypeError, "Two accumulators have the same sequence, so the heap went on to compare nodes. Put a counter between the two.")])
check("two consumers", lambda: in_words(two_consumers, torch.ones(2), torch.ones(2)), ["3 Add", "2 Exp", "1 Mul", "0 Mul", "leaf 0", "leaf 1"],
      wrong=[(lambda v: len(set(v)) < len(v), "A node stands in the list twice: it runs once, when its last consumer has run."),
             (lambda v: "0 Mul" in v and "1 Mul" in v and v.index("0 Mul") < v.index("1 Mul"), "0 Mul ran before its consumer 1 Mul.")],
      hint="A node is ready when its last consumer has run.")
check("what stands second goes on, too", lambda: in_words(second_operands, torch.ones(2), torch.ones(2)), ["3 Add", "2 Add", "1 Exp", "0 Mul", "leaf 0", "leaf 1"],
      wrong=[(lambda v: len(set(v)) < 6, "Nodes are missing. Every entry of `next` has edges of its own, not the first alone.")],
      hint="p and q are used again below the exponential. Their accumulators wait for that delivery, too.")
check("a consumer that the root does not reach", another_loss, ["1 Sum", "0 Mul", "leaf 0", "leaf 1"],
      hint="Another result uses h as well, but this root does not reach it. It is neither in the list nor waited for.")
check("an operand that needs no gradient", one_operand, ["1 Mul", "0 Exp", "leaf 0"],
      hint="An operand that needs no gradient has None in `next`. Skip it, and go on with the next operand.")
check("nothing changes", changed_by_order, {"released": [], "gradients": [None, None]},
      hint="order only says in which sequence the nodes would run: it calls no rule and writes nothing on a node or a leaf.")
### BEGIN HIDDEN TESTS
programs = [random_program(12) for _ in range(6)]
inputs = [p.data() for p in programs]

def waits_for_both(a, b):
    h = a * b
    late = (h * a).exp()
    return h * late

def squared_and_more(a):
    return a.exp() + a * a

def older_last(a, b, c):
    one = a * b
    two = one + c
    three = one * 2.0
    return three - two

def shared_with_another_loss():
    a, b = leaves_of(torch.ones(2), torch.ones(2))
    h = a * b
    _other = h.exp() + b
    return steps(order((h + a).node), [a, b])

def a_leaf():
    a = Tensor(torch.ones(2), requires_grad=True)
    return steps(order(a.node), [a])

def constants_first():
    a = Tensor(torch.ones(2), requires_grad=True)
    return steps(order((Tensor(torch.ones(2)) * a.exp()).node), [a])

def released():
    """Which nodes have lost what they saved, afterwards."""
    end = branches(*leaves_of(torch.ones(2), torch.ones(2), torch.ones(2))).node
    return sorted(node.name for node in order(end) if node.saved is None)

def asked_again():
    a, b = leaves_of(torch.ones(2), torch.ones(2))
    h = a * b
    one, two = h.exp() + h, h * b
    return [steps(order(end.node), [a, b]) for end in (one, two, one)]

check("torch's own order on random graphs", lambda: [in_words(p, *d) for p, d in zip(programs, inputs)],
      [torch_steps(p, *d) for p, d in zip(programs, inputs)],
      hint="On random graphs of twelve operations the order has to be torch's: of the ready nodes the highest sequence, of two accumulators the first operand's.", weight=2)
check("a node waits for all its consumers", lambda: in_words(waits_for_both, torch.ones(2), torch.ones(2)),
      ["3 Mul", "2 Exp", "1 Mul", "0 Mul", "leaf 0", "leaf 1"],
      wrong=[(lambda v: len(set(v)) < len(v), "A node stands in the list twice: it runs once, when its last consumer has run."),
             (lambda v: "0 Mul" in v and "1 Mul" in v and v.index("0 Mul") < v.index("1 Mul"), "0 Mul ran before its consumer 1 Mul.")],
      hint="A node is ready when its last consumer has run.")
check("used twice by one node, and by another", lambda: in_words(squared_and_more, torch.ones(2)), ["2 Add", "1 Mul", "0 Exp", "leaf 0"],
      wrong=[(["2 Add", "1 Mul", "leaf 0", "0 Exp"], "a * a delivers twice to a. Count edges, not consumers: the leaf's accumulator was taken for ready too early.")],
      hint="A node that uses a value twice delivers to it twice. Count edges, not consumers.")
check("the older node last", lambda: in_words(older_last, torch.ones(2), torch.ones(2), torch.ones(2)),
      torch_steps(older_last, torch.ones(2), torch.ones(2), torch.ones(2)),
      hint="Sequence decides, not the place among the operands and not the time of becoming ready.")
check("a leaf as root", a_leaf, ["leaf 0"], hint="The root may be an accumulator itself: it is the only node.")
check("an operand without gradient first", constants_first, ["1 Mul", "0 Exp", "leaf 0"],
      hint="An operand that needs no gradient has None in `next`. Skip it, and go on with the next operand.")
check("the graph is left as it was", released, [],
      wrong=[(lambda v: type(v) is list, "Nodes were released. order only says in which sequence they would run: it calls no rule and writes nothing on a node.")],
      hint="order only says in which sequence nodes would run. Afterwards every node has what it saved.")
check("consumers that the root does not reach", shared_with_another_loss, ["1 Add", "0 Mul", "leaf 0", "leaf 1"],
      hint="Another result uses h, but this root does not reach it. It is neither in the list nor waited for.")
check("one root after another", asked_again,
      [["2 Add", "1 Exp", "0 Mul", "leaf 0", "leaf 1"], ["1 Mul", "0 Mul", "leaf 0", "leaf 1"], ["2 Add", "1 Exp", "0 Mul", "leaf 0", "leaf 1"]],
      hint="Three calls on graphs that share nodes. Each counts for itself: does anything of an earlier call remain, on a node or in a variable that outlives the call?")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# Here is the queue, from a real run of your `order` on the diamond of section 3. Hold it against the red frames above.

# %% tags=["demo"]
try:
    a, b = leaves_of(*data)
    root = diamond(a, b)
    frames = draw_ready_queue(root.node, order(root.node), {"a": a, "b": b})
except NotImplementedError:
    frames = print("Write order first, then run this cell.")
frames

# %% [markdown]
# Look at frame 3. Two nodes were ready: the younger Mul runs, and Exp stays in the queue. After that h, the lower Mul, still waits for one delivery. In
# frame 5 it runs, and its gradient is complete.

# %% [markdown]
# ## 6. What else torch does
#
# The loop in torch's C++ engine is the one you wrote: it counts first, it keeps a queue by sequence number and a buffer per node. To that it adds:
#
# - **A queue and a thread per device.** A backward on CPU runs in the thread that called `backward()`. Nodes that belong to a GPU run in a thread of the engine.
# - **Buffers that it edits**, when nobody else holds them.
# - **Hooks** before and after each node. That is how the cells in section 5 could listen.
# - **Release per node.** Only saved tensors are released, so a node that saved none runs again without complaint, as chapter 01 showed. The small world is stricter.
#
# The first of these you can see from Python.

# %% tags=["demo"]
import threading


def thread_of_backward(device):
    """Whether a node's hook runs in the thread that called backward."""
    seen = []
    t = torch.ones(3, device=device, requires_grad=True)
    loss = (t * 2).sum()
    loss.grad_fn.next_functions[0][0].register_prehook(lambda grads: seen.append(threading.get_ident()))
    loss.backward()
    return seen[0] == threading.get_ident()


print("CPU: the node ran in the calling thread:", thread_of_backward("cpu"))

# %% [markdown]
# ## On a GPU
#
# Run the next cell where there is a GPU. The same hook, on a tensor that lives there, should run in a thread of the engine and no longer in yours, so expect `False`.
# `backward()` still returns after the last node has run; the kernels that those nodes launched may then still be at work.
#
# No bytes are measured here: the question is who does the work.

# %% tags=["demo"]
from autograder.lab import show_recording

if torch.cuda.is_available():
    here = f"CUDA: the node ran in the calling thread: {thread_of_backward('cuda')}"
else:
    here = show_recording("06-backward-engine")
here

# %% [markdown]
# ## Help, I get this error
#
# <details><summary><code>RuntimeError: ... was released: its rule has nothing left to work with</code></summary>
#
# A rule of the small world was called after its node had given up `saved`. Either the node ran twice in one call, or an earlier call released it.
# </details>
# <details><summary><code>RuntimeError: unsupported operation: more than one element of the written-to tensor refers to a single memory location</code></summary>
#
# You wrote into a view with stride 0, which a sum handed on. Write `old + new`, and copy what becomes a leaf's gradient.
# </details>
# <details><summary><code>RecursionError: maximum recursion depth exceeded</code></summary>
#
# One call per node is too deep for Python. Keep a list of nodes still to visit.
# </details>
# <details><summary><code>TypeError: '&lt;' not supported between instances of 'Node' and 'Node'</code></summary>
#
# Two entries of a heap tie in all that stands before the node. Put a counter before it.
# </details>
# <details><summary><code>KeyError</code> for a node</summary>
#
# Nodes are looked up by identity. Is `root` a Tensor where you need `root.node`? Or is a node ready that no buffer was made for?
# </details>
# <details><summary><code>AttributeError: 'NoneType' object has no attribute 'next'</code></summary>
#
# An operand that needs no gradient has None in `next`. Skip it. Or the root has no node at all.
# </details>

# %% [markdown]
# ## Explain it aloud
#
# A colleague who knows calculus and Python asks: "What does `backward()` do, step by step?" Answer in a minute, aloud, then write it down.
#
# It is graded by hand, two points. One point: it counts before it starts, each node runs once and after its consumers, and gradients add where they meet. One point: at
# least two of these, each with its reason: why buffers are not edited, why leaves own their gradient, what is released, which ready node goes first.

# %% [markdown] nbgrader={"grade": true, "grade_id": "explain-06-backward-engine", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# First it counts: it goes from the root through the graph, once, and notes for each node how many edges will deliver to it. Then it runs a loop over ready nodes. It puts
# the first gradient into the root's buffer. It takes a ready node, calls its rule with what has arrived, and hands the results on to the operands. Where a second gradient arrives, it adds, and
# when a node's last delivery is there, the node is ready. So each node runs once, and after all its consumers. Buffers are not edited, because two parents may have got the
# same array. A leaf owns its gradient, because the reader may write to it and later calls add to it. A node that ran releases what it saved, unless
# the caller wants another pass. Of the ready nodes the youngest goes first, and an accumulator at once: so buffers are short-lived.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# 1. An engine is a loop over ready nodes: call the rule, deliver to the operands, see who is ready now.
# 2. A node is ready when every edge that leads to it from the root's side has delivered. Counting those edges comes first.
# 3. Where gradients meet they add, into a new array: two parents may share a buffer.
# 4. Leaves add up over calls and own their memory. Inner buffers end with the call, saved values with the release.
# 5. Of the ready nodes torch runs the youngest, and an accumulator at once. After an error in backward, some leaves may already have changed.
