# %% [markdown]
# # 01 - The graph the forward pass records
# [![Open In Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/YOUR-NAME/YOUR-REPOSITORY/blob/main/notebooks/01-graph/01-graph.ipynb)

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
try:
    import autograder.lab
except ImportError:  # on Colab: only this project, nothing that is already there is touched
    import subprocess, sys
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps",
                    "git+https://github.com/YOUR-NAME/YOUR-REPOSITORY"], check=True)
from collections import Counter

import graphviz
import torch
from autograder.lab import Check, device, draw_graph, launch_times, read_dot, show_recording, steps_per_node

# %% [markdown]
# You call `loss.backward()` and gradients appear. Nothing in your code says how. The answer was recorded while your
# forward pass ran, and you can read it.
#
# **After this chapter you can**
#
# - walk the graph behind any tensor, and list its nodes and its leaves in time that grows with the graph;
# - say what each node keeps in memory, and what keeps a leaf from its gradient;
# - run backward twice on purpose, and explain the error when it happens by accident;
# - draw the graph of a training step on paper, from the code alone.
#
# **Time:** about 135 minutes, 90 of them for the exercises. **Needs:** PyTorch as a user. What is said about PyTorch here was seen on version 2.13, on a CPU.
#
# **Three questions.** If you can answer them, skip to [chapter 02](../02-saved-tensors/02-saved-tensors.ipynb).
#
# <details><summary>1. After <code>y = (x * w).sum()</code>, which nodes does the graph have, and what do they keep?</summary>
#
# Four: SumBackward0, MulBackward0, and one AccumulateGrad for each of `x` and `w`. Only MulBackward0 keeps tensors: `x` and
# `w` themselves, by reference. SumBackward0 keeps a shape.
# </details>
# <details><summary>2. Why does a second <code>backward()</code> sometimes raise, and sometimes not?</summary>
#
# Backward releases what nodes saved. A second pass raises at the first node that needs a saved tensor. Where no node
# saved one, the second pass runs.
# </details>
# <details><summary>3. <code>x = x + x</code>, sixty times. How many nodes, and how many paths from the top to <code>x</code>?</summary>
#
# 61 nodes and 2⁶⁰ paths. A function that follows every path never ends; one that visits every node is done at once.
# </details>

# %% [markdown]
# ## 1. Every result carries a receipt
#
# Two leaves and one line of arithmetic. A **leaf** is a tensor that no recorded operation made: an input, or a parameter.
#
# **Predict.** What does `y` know about how it was made? Write down what you expect `y.grad_fn` to print. Then run.

# %% tags=["demo"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
y = (x * w).sum()
print(y)
print("y was made by:", y.grad_fn)
print("and before that:", y.grad_fn.next_functions)

# %% [markdown]
# **Explain.** `y.grad_fn` is a **node**: the object that will compute the gradient of the operation that made `y`. It is
# named after the derivative, hence "Backward". Its `next_functions` are pairs `(node, output number)`, one per operand:
# where the gradient goes next. That is the whole graph. Every node is reached from `y.grad_fn` by `next_functions`.
#
# Follow it by hand down to the bottom.

# %% tags=["demo"]
top = y.grad_fn
product = top.next_functions[0][0]
print(type(top).__name__)
print("  ", type(product).__name__)
for node, _ in product.next_functions:
    print("     ", type(node).__name__, "for the leaf", node.variable.tolist())

# %% [markdown]
# The bottom nodes are called **AccumulateGrad**. There is one per leaf. It holds the leaf in `.variable`, and it adds the
# gradient that arrives to `leaf.grad`.
#
# **Read the picture.** An arrow is an entry of `next_functions`, so arrows point the way the gradient flows: from the loss
# down to the leaves. A box shows the node, the variable of yours that it made (blue), and the shape of its output. Below
# the line stands what it saved. Find the two places where the same memory is named.

# %% tags=["demo"]
draw_graph(y)

# %% [markdown]
# MulBackward0 saved `self` and `other`, the two factors, because the derivative of a product needs them. The picture says
# `= w` and `= x`: no copy was made. The node refers to the leaves' own memory. SumBackward0 saved no tensor. To send a gradient
# back through a sum, a shape is enough.

# %% [markdown]
# ### Exercise: walk
#
# Difficulty: ●○○○○ · 8 minutes
#
# List the graph below a node as an indented outline would: each node with its depth, a node before what lies below it,
# operands in order. If a node can be reached along two paths, it stands there twice.
#
# <details><summary>Stuck?</summary>
#
# The list for a node is the node itself, followed by the lists of its next functions, each one deeper. That is a recursive
# function with one extra argument.
# </details>
# <details><summary>Still stuck?</summary>
#
# `next_functions` holds pairs. The first entry of a pair is None where an operand needs no gradient: skip it. The name is
# `type(node).__name__`; `node.name()` gives the C++ name, which differs for AccumulateGrad.
# </details>

# %% nbgrader={"grade": false, "grade_id": "walk", "locked": false, "schema_version": 3, "solution": true, "task": false}
def walk(fn) -> list[tuple[int, str]]:
    """Outline of the graph below a node.

    Parameters
    ----------
    fn : node
        A `grad_fn`, not a tensor.

    Returns
    -------
    list of (int, str)
        (depth, `type(node).__name__`) in pre-order; the depth of `fn` is 0. One entry per path; None edges are skipped.
    """
    ### BEGIN SOLUTION
    def below(node, depth):
        found.append((depth, type(node).__name__))
        for operand, _ in node.next_functions:
            if operand is not None:
                below(operand, depth + 1)

    found = []
    below(fn, 0)
    return found
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-walk", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
y = (x * w).sum()
check = Check("walk", points=3)
check("the graph of (x * w).sum()", lambda: walk(y.grad_fn),
      [(0, "SumBackward0"), (1, "MulBackward0"), (2, "AccumulateGrad"), (2, "AccumulateGrad")],
      hint="Four entries: the sum at depth 0, the product at 1, and one AccumulateGrad per leaf at 2.",
      wrong=[(lambda v: len(v) == 1, "Only fn itself is listed. Add what the calls for its operands return, too."),
             (lambda v: len(v) > 0 and v[0][0] == 1, "The depth of fn itself is 0."),
             (lambda v: any("::" in name for _, name in v), "Use type(node).__name__. node.name() is the C++ name."),
             (lambda v: any(" at 0x" in str(name) for _, name in v), "The name is type(node).__name__, not the node's text."),
             (lambda v: v[-1][1] == "SumBackward0", "A node comes before what lies below it. You listed it after."),
             (lambda v: len(v) == 2, "AccumulateGrad is a node too. The walk ends at the leaves, not above them."),
             (TypeError, "If walk returned None to itself, a `return` is missing.")])
check("one entry per path", lambda: len(walk((x * x).grad_fn)), 3,
      hint="x * x has two edges to one leaf: the product, and the leaf once per edge.",
      wrong={2: "You visited the leaf once. walk lists paths, so it appears once per edge."})
### BEGIN HIDDEN TESTS
z = torch.randn(4, requires_grad=True)
picks = torch.randint(0, 4, (6,)).tolist()
tower = z
for pick in picks:
    tower = (torch.exp, torch.sin, torch.tanh, torch.sigmoid)[pick](tower)
left, right = int(torch.randint(12, 20, ())), int(torch.randint(12, 20, ()))
fork_left, fork_right = z, z
for _ in range(left):
    fork_left = fork_left.exp()
for _ in range(right):
    fork_right = fork_right.sin()
fork = fork_left * fork_right
shared = z.exp().sin()
check("a tower of operations", lambda: walk(tower.grad_fn),
      [*enumerate([("ExpBackward0", "SinBackward0", "TanhBackward0", "SigmoidBackward0")[pick] for pick in picks[::-1]]),
       (6, "AccumulateGrad")],
      hint="The last operation is the root. Every step down is one deeper.")
check("a branch is finished before the next begins", lambda: walk(fork.grad_fn),
      [(0, "MulBackward0"), *((1 + i, "ExpBackward0") for i in range(left)), (1 + left, "AccumulateGrad"),
       *((1 + i, "SinBackward0") for i in range(right)), (1 + right, "AccumulateGrad")],
      hint="Pre-order: a node, then everything below its first operand, then everything below its second.",
      wrong=[(lambda v: len(v) > 4 and [depth for depth, _ in v] == sorted(depth for depth, _ in v),
              "That is level by level. Pre-order goes down before it goes sideways."),
             (lambda v: v[1][1] == "SinBackward0", "The operands come in the wrong order: the first one first.")])
check("what lies below a shared node is listed along each path", lambda: walk((shared * shared.tanh()).grad_fn),
      [(0, "MulBackward0"), (1, "SinBackward0"), (2, "ExpBackward0"), (3, "AccumulateGrad"),
       (1, "TanhBackward0"), (2, "SinBackward0"), (3, "ExpBackward0"), (4, "AccumulateGrad")],
      hint="A node that is reached along two paths stands there twice, each time with everything below it.",
      wrong=[(lambda v: 4 < len(v) < 8, "What lies below a shared node was listed once. walk follows every path to its end: keep no set of visited nodes.")])
check("an operand without gradient is skipped", lambda: walk((torch.randn(4) * (z * torch.randn(4)).exp()).grad_fn),
      [(0, "MulBackward0"), (1, "ExpBackward0"), (2, "MulBackward0"), (3, "AccumulateGrad")],
      hint="Where an operand needs no gradient, next_functions holds None. Skip it, and go on with the next operand.",
      wrong={AttributeError: "Where an operand needs no gradient, next_functions holds None. Skip it.",
             TypeError: "If walk returned None to itself, a `return` is missing. Where an operand needs no gradient, next_functions holds None: skip it."})
check("depth counts from the node that is given", lambda: walk(tower.grad_fn.next_functions[0][0])[:1],
      [(0, ("ExpBackward0", "SinBackward0", "TanhBackward0", "SigmoidBackward0")[picks[4]])],
      hint="walk may start anywhere in a graph. The node that it is given has depth 0.")
check("an operation of three operands", lambda: walk(torch.stack([z, z.exp(), z.sin()]).grad_fn),
      [(0, "StackBackward0"), (1, "AccumulateGrad"), (1, "ExpBackward0"), (2, "AccumulateGrad"), (1, "SinBackward0"), (2, "AccumulateGrad")],
      hint="An operation may have any number of operands: go through all of next_functions.")
check("one walk after another", lambda: [walk((z.sin() if i % 2 else z.exp()).grad_fn) for i in range(20)],
      [[(0, "SinBackward0" if i % 2 else "ExpBackward0"), (1, "AccumulateGrad")] for i in range(20)],
      hint="Twenty walks over graphs that live no longer than a call. Each has a list of its own: a list at module level or as a default is shared by all calls, and the id of a node that is gone may be that of the next.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 2. A graph, not a tree
#
# `walk` listed the leaf of `x * x` twice, but there is only one leaf. The outline is a tree; the thing itself is not.
#
# **Predict.** `x = x + x`, four times. How many nodes does the graph have, and how many paths lead from the top to the leaf?
# Put your answers into the first line of the cell.

# %% tags=["demo"]
guess_nodes, guess_paths = None, None

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
doubled = x
for _ in range(4):
    doubled = doubled + doubled

paths = Counter({doubled.grad_fn: 1})  # how many paths lead to each node; on a ladder one rung after the other is enough
rung = doubled.grad_fn
while rung.next_functions:
    for below, _ in rung.next_functions:
        paths[below] += paths[rung]
    rung = below
print(f"{len(paths)} nodes (you said {guess_nodes}), {paths[rung]} paths (you said {guess_paths})")
draw_graph(doubled)

# %% [markdown]
# **Explain.** Each addition adds one node and doubles the number of paths. The two arrows between neighbors are the two operands of `+`,
# which happen to be the same tensor. The graph is a **directed acyclic graph**: nodes are shared, and no arrow leads back.
#
# Real models share nodes all the time. A residual connection uses its input twice, a tied weight is used twice, and the
# loss of an RL step uses the same log-probabilities in several terms. Code that follows paths is fine for five layers and never
# returns for sixty. Code that recurses meets Python's recursion limit in a long chain. So: keep a set of the nodes that
# you have seen, and a list of nodes still to visit.
#
# The next cell builds a chain that two of the exercises use.

# %% nbgrader={"grade": false, "grade_id": "long-chain", "locked": true, "schema_version": 3, "solution": false, "task": false}
def long_chain(length: int) -> torch.Tensor:
    """A leaf, then `length` negations one after the other: a graph of length + 1 nodes that saves nothing."""
    link = torch.zeros((), requires_grad=True)
    for _ in range(length):
        link = -link
    return link


LONG = long_chain(20_000)

# %% [markdown]
# ### Exercise: nodes
#
# Difficulty: ●●○○○ · 12 minutes
#
# Every distinct node once. Two nodes are distinct when they are two objects (`is`), whatever they are called.
#
# <details><summary>Stuck?</summary>
#
# Nodes can be put into a set or a dict: they are hashed by identity. Take a node off a list, look at its operands, put those that
# are new on the list.
# </details>
# <details><summary>Still stuck?</summary>
#
# Mark a node as seen when you put it on the list, not when you take it off. Otherwise a shared node gets onto the list twice.
# A dict keeps its insertion order, so `{root: None}` can be both the set and the answer. And `in` on a list looks at every
# entry: with 20,000 nodes that takes 200 million comparisons.
# </details>

# %% nbgrader={"grade": false, "grade_id": "nodes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def nodes(root) -> list:
    """Every distinct node of the graph below a node.

    Parameters
    ----------
    root : node
        A `grad_fn`, not a tensor.

    Returns
    -------
    list of nodes
        Each once, `root` first, the rest in any order. Time linear in nodes and edges, at any depth.
    """
    ### BEGIN SOLUTION
    found = {root: None}
    waiting = [root]
    while waiting:
        for operand, _ in waiting.pop().next_functions:
            if operand is not None and operand not in found:
                found[operand] = None
                waiting.append(operand)
    return list(found)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-nodes", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def names_of(found):
    return [type(node).__name__ for node in found]


def places(root):
    """Where the root stands in its list, and how long the list is."""
    found = nodes(root)
    return [[i for i, node in enumerate(found) if node is root], len(found)]


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
y = (x * w).sum()
check = Check("nodes", points=3)
check("the root comes first", lambda: names_of(nodes(y.grad_fn))[:1], ["SumBackward0"],
      hint="The list begins with root itself.")
check("every node of (x * w).sum()", lambda: sorted(names_of(nodes(y.grad_fn))),
      ["AccumulateGrad", "AccumulateGrad", "MulBackward0", "SumBackward0"],
      hint="The sum, the product, and one AccumulateGrad per leaf.",
      wrong=[(lambda v: len(v) == 3, "Two nodes of the same type are two nodes. Compare nodes, not their names."),
             (lambda v: v.count("SumBackward0") > 1, "The root stands there twice.")])
check("a list comes back", lambda: type(nodes(y.grad_fn)).__name__, "list",
      hint="list(...) makes a list of anything that can be gone through.")
check("a shared node is listed once", lambda: len(nodes((x * x).grad_fn)), 2,
      hint="x * x has two nodes: the product, and one AccumulateGrad with two edges to it.",
      wrong={3: "You listed the leaf once per edge. It is one node: mark it as seen when you put it on your list."})
### BEGIN HIDDEN TESTS
z = torch.randn(4, requires_grad=True)
branches = int(torch.randint(20, 60, ()))
wide = z * torch.randn(4)
for _ in range(branches):
    wide = wide + z.sin()
deep = z
for _ in range(60):
    deep = deep + deep
check("many nodes of a few kinds", lambda: [len(nodes(wide.grad_fn)), len({id(node) for node in nodes(wide.grad_fn)})],
      [2 * branches + 2, 2 * branches + 2],
      hint="Every operation of the forward pass made a node of its own; the leaf adds one; None is no node.",
      wrong=[(lambda v: 2 < v[0] <= 5, "Two nodes of the same type are two nodes. Compare nodes, not their names."),
             (lambda v: v[0] > v[1], "Some nodes stand in the list twice. Mark a node as seen when you put it on your list.")])
check("an operand without gradient is no node", lambda: sorted(names_of(nodes((torch.randn(4) * z).exp().grad_fn))),
      ["AccumulateGrad", "ExpBackward0", "MulBackward0"],
      hint="Where an operand needs no gradient, next_functions holds None. Skip it.",
      wrong=[(lambda v: "NoneType" in v, "None is not a node. Skip it."),
             (AttributeError, "Where an operand needs no gradient, next_functions holds None. Skip it.")])
check("the root comes first, from the middle of a graph too",
      lambda: places(wide.grad_fn.next_functions[0][0]), [[0], 2 * branches],
      hint="nodes may start anywhere: it lists what lies below the node that it is given.")
check("one graph after another", lambda: [sorted(names_of(found)) for found in (nodes(torch.stack([z, z.exp(), z.sin()]).grad_fn), nodes(z.exp().grad_fn))],
      [["AccumulateGrad", "ExpBackward0", "SinBackward0", "StackBackward0"], ["AccumulateGrad", "ExpBackward0"]],
      hint="Two graphs, one after the other: an operation of three operands, then one of one. Go through all of next_functions, and let each call have a list of its own.")
def on_the_long_chain():
    """What comes of the long chain; whoever searches would be at it for seconds, so that is asked on a short one first."""
    if steps_per_node(nodes, 400) > 180:
        return "a search through a list"
    return len(nodes(LONG.grad_fn))


check.that("a node is looked up, not searched for", lambda: steps_per_node(nodes, 400), lambda steps: steps <= 180,
           hint="The time grows with the square of the graph: a search through a list looks at every entry. Use a set or a dict.",
           wrong={RecursionError: "Python's stack is not that deep. Keep your own list of nodes still to visit."})
check("a chain of 20,000 nodes", lambda: on_the_long_chain(), 20_001,
      hint="The chain has 20,000 negations and one leaf, to be listed in well under a second.",
      wrong={RecursionError: "Python's stack is not that deep. Keep your own list of nodes still to visit.",
             "a search through a list": "A search through a list looks at every entry: 20,000 nodes are 200 million looks. Use a set or a dict."})
check("sixty doublings", lambda: len(nodes(deep.grad_fn)), 61, limit=2,
      hint="There are 61 nodes but 2**60 paths. Visit every node once, not every path.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 3. Who receives a gradient
#
# Whoever has an AccumulateGrad at the bottom of the graph. Three kinds of tensor go into the next line: a weight that is trained,
# a bias that is frozen, and data.
#
# **Predict.** How many AccumulateGrad nodes will the graph have? Which operands of the addition and the product are edges,
# and which are None?

# %% tags=["demo"]
torch.manual_seed(1)
weight = torch.randn(4, 2, requires_grad=True)
bias = torch.zeros(2)  # frozen: requires_grad is False
data = torch.randn(8, 4)
out = data @ weight + bias
print("the addition's operands:", out.grad_fn.next_functions)
print("the product's operands: ", out.grad_fn.next_functions[0][0].next_functions)
draw_graph(out, none_edges=True)

# %% [markdown]
# **Explain.** An operand that needs no gradient leaves an entry **None**: an edge to nowhere. That is how data and frozen
# parameters stay out of the graph. Look closer at MmBackward0: it saved `self`, which is `data`. The data gets no
# gradient, but the gradient of `weight` needs the data. It did not save `weight`: only the gradient of `data` would need it, and nobody
# asks for that. Whether a tensor is *saved* and whether it *gets a gradient* are two questions: a factor is saved when the *other* one needs a gradient.
#
# The decision is made when the operation runs. Freezing a leaf afterwards does not cut the edge.

# %% tags=["demo"]
accumulator = out.grad_fn.next_functions[0][0].next_functions[1][0]
print("the leaf in the graph is our weight:", accumulator.variable is weight)
weight.requires_grad_(False)
print("frozen after the fact, the node is still there:", out.grad_fn.next_functions[0][0].next_functions[1][0])
print("but its leaf now says requires_grad =", accumulator.variable.requires_grad)
print("thawed again:", weight.requires_grad_(True).requires_grad)

# %% [markdown]
# ### Exercise: leaves
#
# Difficulty: ●●●○○ · 15 minutes
#
# The tensors that would receive a gradient if you called backward now. This is the question behind "why is this parameter's
# `.grad` None": is it in the list at all?
#
# <details><summary>Stuck?</summary>
#
# An AccumulateGrad node has its leaf in `.variable`. Visit every node once, as in `nodes`, and collect the leaves. Look at
# `requires_grad` for those frozen since.
# </details>
# <details><summary>Still stuck?</summary>
#
# The order is that of `walk`: first operand first, all the way down. With a list used as a stack, push the operands in reverse.
# Mark a node as seen when you *take it off* the stack: a node pushed early can be met earlier along another way. Keep the nodes
# themselves in your set; an `id(node)` says something only as long as the node lives.
# </details>

# %% nbgrader={"grade": false, "grade_id": "leaves", "locked": false, "schema_version": 3, "solution": true, "task": false}
def leaves(root) -> list[torch.Tensor]:
    """The leaf tensors that would receive a gradient now.

    Parameters
    ----------
    root : node
        A `grad_fn`, not a tensor; may be an AccumulateGrad itself.

    Returns
    -------
    list of torch.Tensor
        The leaves themselves, of any shape, each once, in pre-order of first meeting. A leaf that was frozen since
        (requires_grad is False) is left out. Time linear in nodes and edges, at any depth.
    """
    ### BEGIN SOLUTION
    found, seen, waiting = [], set(), [root]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad" and node.variable.requires_grad:
            found.append(node.variable)
        waiting.extend(operand for operand, _ in reversed(node.next_functions) if operand is not None)
    return found
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-leaves", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def called(found, known):
    """The names of tensors by identity: what is none of the known ones is a stranger."""
    return [next((name for name, tensor in known.items() if tensor is leaf), "a stranger") for leaf in found]


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
check = Check("leaves", points=3)
check("the leaves of (x * w).sum()", lambda: called(leaves((x * w).sum().grad_fn), {"x": x, "w": w}), ["x", "w"],
      hint="x is the first operand, w the second.",
      wrong=[(lambda v: "a stranger" in v, "Return the leaves themselves, node.variable: no nodes, no copies, no detached tensors."),
             (lambda v: v == ["w", "x"], "The first operand comes first. A stack turns the order round: push the operands in reverse."),
             (RuntimeError, "`in` on a list of tensors compares their elements. Compare nodes, or use `is`.")])
check("a leaf used twice is listed once", lambda: called(leaves((x * x * w).grad_fn), {"x": x, "w": w}), ["x", "w"],
      hint="Distinct leaves: x once, then w.",
      wrong=[(lambda v: "a stranger" in v, "Return the leaves themselves, node.variable: no nodes, no copies, no detached tensors."),
             (lambda v: v == ["w", "x"], "Both are there, but not in pre-order. Go down the first operand to the end before you turn to the second."),
             (lambda v: v.count("x") == 2, "x stands there twice: once per edge. Visit every node once."),
             (RuntimeError, "`in` on a list of tensors compares their elements. Compare nodes, or use `is`.")])
check("data is no leaf of the graph", lambda: called(leaves((x * torch.ones(3)).grad_fn), {"x": x}), ["x"],
      wrong=[(lambda v: "a stranger" in v, "Return the leaves themselves, node.variable: no nodes, no copies, no detached tensors.")],
      hint="Where an operand needs no gradient, next_functions holds None. Skip it.")
### BEGIN HIDDEN TESTS
pool = {name: torch.ones(2, requires_grad=True) for name in ("a", "b", "c", "d", "e")}
order = torch.randperm(5).tolist()
picked = [pool["abcde"[i]] for i in order]
leftmost = picked[0] * 2
for leaf in picked[1:]:
    leftmost = leftmost * leaf
a, b = pool["a"], pool["b"]
stack = [torch.randn(3, requires_grad=True) for _ in range(6)]
mixed = (stack[0] * stack[1].exp() * stack[2] + stack[3]) * stack[4] / stack[5]
frozen = torch.randperm(6).tolist()[:3]
for i in frozen:
    stack[i].requires_grad_(False)
sizes = {f"leaf {i}": torch.randn(i + 1, requires_grad=True) for i in range(40)}
fan_order = torch.randperm(40).tolist()
fan = sum((sizes[f"leaf {i}"].exp().sin().sum() for i in fan_order), torch.zeros(()))
double = torch.randn(3, dtype=torch.float64, requires_grad=True)
twin = double.detach().requires_grad_()  # another leaf over the same memory
trained = torch.randn(2, dtype=torch.float64, requires_grad=True)
trained.grad = torch.ones(2, dtype=torch.float64)
relatives = {"double": double, "twin": twin, "trained": trained}
deep = a
for _ in range(60):
    deep = deep + deep
check("in pre-order", lambda: called(leaves(leftmost.grad_fn), pool), ["abcde"[i] for i in order],
      hint="Everything below the first operand comes before the second operand.",
      wrong=[(lambda v: sorted(v) == sorted(set(v)) and len(v) == 5,
              "All leaves are there, but not in pre-order. Go down the first operand to the end before you turn to the second.")])
check("a leaf stands where it is first met", lambda: called(leaves(((b.exp() + a.sin()) * b).grad_fn), pool), ["b", "a"],
      hint="Pre-order meets b below exp first, then a.",
      wrong=[(lambda v: v == ["a", "b"],
              "b is met first, below exp. If you mark nodes as seen when you push them, the later meeting wins. Mark them when you pop them.")])
check("a leaf frozen since is left out", lambda: called(leaves(mixed.grad_fn), {str(i): leaf for i, leaf in enumerate(stack)}),
      [str(i) for i in range(6) if i not in frozen],
      hint="Ask the leaf now: node.variable.requires_grad. The others are listed, in pre-order.",
      wrong=[(lambda v: len(v) == 6, "Freezing leaves the node in the graph. Ask the leaf now: node.variable.requires_grad.")])
check("leaves are told apart by identity", lambda: called(leaves(fan.grad_fn), sizes), [f"leaf {i}" for i in fan_order],
      hint="Forty leaves of different shapes, each behind nodes of its own, in order.",
      wrong={RuntimeError: "`in` on a list of tensors compares their elements. Compare nodes, or use `is`."})
check("leaves of another kind", lambda: called(leaves((double.sum() + twin.sum() * trained.sum()).grad_fn), relatives), ["double", "twin", "trained"],
      hint="A leaf may have any dtype, share its memory with another leaf, or have a .grad already: the next gradient is added to it.",
      wrong=[(lambda v: v == ["double", "twin"], "A leaf that has a .grad receives the next gradient too: it is added."),
             (lambda v: v == ["double", "trained"], "Two leaves over the same memory are two leaves. Distinct means by identity, not by address.")])
check("one graph after another", lambda: [called(found, pool) for found in [leaves((b.exp() if i % 2 else torch.stack([a, b, pool["c"]])).grad_fn) for i in range(20)]], [["b"] if i % 2 else ["a", "b", "c"] for i in range(20)],
      hint="Twenty graphs that live no longer than a call, with an operation of three operands or of one. Go through all of next_functions. Let each call have a list of its own, and remember nothing by id: that of a node that is gone may be that of the next.")
check("the root may be an AccumulateGrad", lambda: called(leaves((a * 2).grad_fn.next_functions[0][0]), pool), ["a"],
      hint="Look at the root as at any other node.")
def on_the_long_chain():
    """What comes of the long chain; whoever searches would be at it for seconds, so that is asked on a short one first."""
    if steps_per_node(leaves, 400) > 180:
        return "a search through a list"
    return [list(leaf.shape) for leaf in leaves(LONG.grad_fn)]


check.that("a node is looked up, not searched for", lambda: steps_per_node(leaves, 400), lambda steps: steps <= 180,
           hint="The time grows with the square of the graph: a search through a list looks at every entry. Use a set or a dict.",
           wrong={RecursionError: "Python's stack is not that deep. Keep your own list of nodes still to visit."})
check("a chain of 20,000 nodes", lambda: on_the_long_chain(), [[]],
      hint="One leaf, of no dimensions, at the end of the chain.",
      wrong={RecursionError: "Python's stack is not that deep. Keep your own list of nodes still to visit.",
             "a search through a list": "A search through a list looks at every entry: 20,000 nodes are 200 million looks. Use a set or a dict."})
check("sixty doublings", lambda: called(leaves(deep.grad_fn), pool), ["a"], limit=2,
      hint="There are 61 nodes but 2**60 paths. Visit every node once, not every path.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 4. What a node keeps
#
# A node has an attribute `_saved_…` for each thing its derivative needs. They are private names, meant for looking and not for
# building on.
#
# **Predict.** Which of these operations keep their input, which keep their *output*, and which keep nothing? Fill in the first
# line with "input", "output" or "nothing". The derivatives: of exp it is exp again; of sin it is cos; of an addition it is 1.

# %% tags=["demo"]
guesses = {"exp": None, "sin": None, "add": None, "sum": None, "sqrt": None, "relu": None}

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
results = {"exp": x.exp(), "sin": x.sin(), "add": x + 1, "sum": x.sum(), "sqrt": x.sqrt(), "relu": x.relu()}
print(f"{'operation':10} {'you said':10} saved")
for name, result in results.items():
    kept = [a for a in dir(result.grad_fn) if a.startswith("_saved_")]
    print(f"{name:10} {guesses[name] or '-':10} {', '.join(kept) or 'nothing'}")

# %% [markdown]
# **Explain.** `_saved_self` is the input, `_saved_result` the output. exp, sqrt and relu can write their derivative in terms of
# their result, so they keep that; it exists anyway. An addition keeps nothing of use. `_saved_self_sym_sizes` of the sum is a
# shape, a tuple of ints, and costs next to nothing.
#
# `_saved_alpha` of the addition is a number as well. So what a node saves is of three kinds: tensors, tuples of tensors, and
# plain values. Only tensors are memory.
#
# **Are these copies?** Run, and see what the saved tensors share.

# %% tags=["demo"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
product = (x * w).grad_fn
print("saved:", [a for a in dir(product) if a.startswith("_saved_")])
print("the saved self is x, the very object:", product._saved_self is x)

picked = torch.randn(5, 4, requires_grad=True)[:, torch.tensor([3, 1])]
print("an index saves a tuple:", picked.grad_fn._saved_indices)

# %% [markdown]
# Saving is holding a reference. Nothing is copied; but as long as the graph lives, what it refers to cannot be freed. For a
# weight that costs nothing, it lives anyway. For an **activation**, a tensor that the forward pass made on the way, the graph is often the
# only one that still needs it. The memory of training is mostly this, and
# [chapter 02](../02-saved-tensors/02-saved-tensors.ipynb) counts it to the byte.
#
# **Read the picture.** In the next drawing, amber boxes hold memory that only the graph keeps, and the stronger the amber the larger
# the share. Before you run the cell: which of the four operations will be amber?

# %% tags=["demo"]
torch.manual_seed(2)
x = torch.randn(32, 64)
w1 = torch.randn(64, 128, requires_grad=True)
w2 = torch.randn(128, 16, requires_grad=True)


def small_network(x):
    h = torch.nn.functional.silu(x @ w1)
    return (h @ w2).sum()


draw_graph(small_network(x))

# %% [markdown]
# Three of four. The first product keeps `x`, the data. silu keeps its input, and the second product keeps silu's output: two
# tensors of the same shape that have no name any more, for `h` went out of scope with the function. The graph holds them
# all the same. The second product also saved `w2`, but that is the leaf's memory, and costs nothing more. The sum is not amber.

# %% [markdown]
# ### Exercise: saved
#
# Difficulty: ●●○○○ · 12 minutes
#
# The tensors that one node saved, by name.
#
# <details><summary>Stuck?</summary>
#
# `dir(node)` lists the attributes. Those you want begin with `_saved_`. `getattr(node, name)` reads one.
# </details>
# <details><summary>Still stuck?</summary>
#
# There are three cases: a tensor, a tuple whose entries may be tensors or None, and everything else. Number a tuple's entries before you drop
# any: the None before an index says which dimension it belongs to. Attributes that begin with `_raw_saved_` are the same things in packed form; leave them.
# </details>

# %% nbgrader={"grade": false, "grade_id": "saved", "locked": false, "schema_version": 3, "solution": true, "task": false}
def saved(node) -> dict[str, torch.Tensor]:
    """The tensors that a node saved for its backward.

    Parameters
    ----------
    node : node
        Any node of a graph.

    Returns
    -------
    dict of str to torch.Tensor
        By attribute name without `_saved_`; the i-th entry of a tuple is `name[i]`. The tensors themselves: no copies, not
        detached. What is no tensor is left out.
        Empty for the node of a custom `torch.autograd.Function`.

    Raises
    ------
    RuntimeError
        If the graph was released and the node had saved a tensor: PyTorch's own error, passed through.
    """
    ### BEGIN SOLUTION
    found = {}
    for attribute in dir(node):
        if not attribute.startswith("_saved_"):
            continue
        name, value = attribute.removeprefix("_saved_"), getattr(node, attribute)
        entries = {f"{name}[{i}]": entry for i, entry in enumerate(value)} if isinstance(value, tuple) else {name: value}
        found.update({key: entry for key, entry in entries.items() if isinstance(entry, torch.Tensor)})
    return found
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-saved", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
check = Check("saved", points=3)
check("a product saves both factors", lambda: {key: tensor.detach() for key, tensor in saved((x * w).grad_fn).items()},
      {"other": torch.tensor([0.5, -1.0, 2.0]), "self": torch.tensor([1.0, 2.0, 3.0])},
      hint="Two entries, named by the attribute without its prefix: other and self.",
      wrong=[(lambda v: any(key.startswith("_") for key in v), "Take the prefix `_saved_` off the keys, and leave `_raw_saved_` alone."),
             (lambda v: any(key.startswith("raw") for key in v), "`_raw_saved_...` is the packed form of the same tensor. Leave it.")])
check("what is no tensor is left out", lambda: sorted(saved(x.sum(0).grad_fn)), [],
      hint="The sum saved a dimension and a shape, but no tensor.",
      wrong=[(lambda v: len(v) > 0, "A dimension, a flag and a shape are no tensors.")])
### BEGIN HIDDEN TESTS
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x, factor)
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad, None


base = torch.rand(4) + 0.5
exponent = torch.randn(4, requires_grad=True)
z = torch.randn(5, 4, requires_grad=True)
columns = torch.randint(0, 4, (3,))
rows = torch.randint(0, 5, (3,))
cube = torch.randn(5, 2, 4, requires_grad=True)
spent = z.exp().sum()
spent.backward()
check("an operation that saves three", lambda: {k: t.detach() for k, t in saved((base ** exponent).grad_fn).items()},
      {"exponent": exponent.detach(), "result": base ** exponent.detach(), "self": base},
      hint="A power keeps its base, its exponent and its result.")
check("None keeps its place in a tuple", lambda: saved(z[:, columns].grad_fn),
      {"indices[1]": columns},
      hint="z[:, columns] saved the tuple (None, columns): one tensor, at place 1.",
      wrong=[(lambda v: "indices[0]" in v, "Number the entries before you leave out None: the tensor stands at place 1."),
             (lambda v: "indices" in v, "Look inside a tuple: its tensors are name[i]."),
             (lambda v: len(v) == 0, "A tuple may hold tensors. Look inside.")])
check("every tensor of a tuple", lambda: saved(cube[rows, :, columns].grad_fn),
      {"indices[0]": rows, "indices[2]": columns},
      hint="cube[rows, :, columns] saved the tuple (rows, None, columns): two tensors, at places 0 and 2.",
      wrong=[(lambda v: len(v) == 1, "The tuple holds two tensors. Take every one, not only the first."),
             (lambda v: "indices[1]" in v, "Number the entries before you leave out None: the second tensor stands at place 2.")])
check("an argument that was None is left out", lambda: sorted(saved(torch.nn.functional.layer_norm(z, (4,)).grad_fn)),
      ["input", "result1", "result2"],
      hint="A layer norm without weight and bias saved None for them. None is no tensor.")
check("the saved tensors themselves, not copies",
      lambda: [("z" if t.requires_grad else "detached") if t.untyped_storage().data_ptr() == z.untyped_storage().data_ptr() else "a copy" for t in saved((z * z).grad_fn).values()],
      ["z", "z"], hint="Return what the attribute holds, without clone.",
      wrong=[(lambda v: "a copy" in v, "Saving is a reference. Return the tensor, without clone."),
             (lambda v: "detached" in v, "A tensor that requires a gradient came back detached. Return what the attribute holds.")])
check("names with an underscore", lambda: sorted(key for key in saved(torch.nn.functional.batch_norm(z, torch.zeros(4), torch.ones(4), training=True).grad_fn) if key.startswith("run")),
      ["running_mean", "running_var"],
      hint="Take off `_saved_` at the beginning and nothing else: a name may have an underscore in it. removeprefix does that.")
check("a custom Function's node", lambda: sorted(saved(Scale.apply(z, torch.randn(4)).grad_fn)), [],
      hint="A custom Function's node has no `_saved_` attributes. `saved_tensors` is another door: leave it.",
      wrong=[(lambda v: len(v) > 0, "A custom Function's node has no `_saved_` attributes. `saved_tensors` is another door: leave it.")])
check.raises("a released graph says so", lambda: saved(spent.grad_fn.next_functions[0][0]), RuntimeError, match="second time|freed",
             hint="On a released graph PyTorch raises when you read what was saved. Let it through.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ### Exercise: draw
#
# Difficulty: ●●●○○ · 15 minutes
#
# Your own drawing of a graph, with the graphviz package: `graphviz.Digraph()` is a drawing, `.node(name, label)` adds a box and
# `.edge(tail, head)` an arrow. It needs no `dot` program until it is shown. Names are strings; two boxes with one name are one box.
#
# <details><summary>Stuck?</summary>
#
# Go through the distinct nodes. Give each a name of its own, for instance its number in a dict. Then add one edge for each entry of
# its next_functions that is not None.
# </details>
# <details><summary>Still stuck?</summary>
#
# Add a node's edges when you visit it, once. Its operands may have a number already, or get the next one. `str(tuple(leaf.shape))` is "(3,)";
# `str(leaf.shape)` would be "torch.Size([3])". If a name is `str(id(node))`, keep the node alive as well.
# </details>

# %% nbgrader={"grade": false, "grade_id": "draw", "locked": false, "schema_version": 3, "solution": true, "task": false}
def draw(root) -> graphviz.Digraph:
    """Draw the graph below a node.

    Parameters
    ----------
    root : node
        A `grad_fn`, not a tensor.

    Returns
    -------
    graphviz.Digraph
        One box per distinct node; one edge per entry of `next_functions` that is not None, from the node to its operand;
        two edges where an operand is used twice. The label of a leaf contains `AccumulateGrad` and the leaf's shape as
        `str(tuple(leaf.shape))`; other labels contain `type(node).__name__`. Time linear in nodes and edges.
    """
    ### BEGIN SOLUTION
    drawing = graphviz.Digraph(node_attr={"shape": "box"})
    numbers, waiting = {root: "0"}, [root]
    while waiting:
        node = waiting.pop()
        label = type(node).__name__
        if label == "AccumulateGrad":
            label += f"\n{tuple(node.variable.shape)}"
        drawing.node(numbers[node], label)
        for operand, _ in node.next_functions:
            if operand is None:
                continue
            if operand not in numbers:
                numbers[operand] = str(len(numbers))
                waiting.append(operand)
            drawing.edge(numbers[node], numbers[operand])
    return drawing
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-draw", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
KINDS = ("AccumulateGrad", "SumBackward0", "MulBackward0", "ExpBackward0", "SinBackward0", "AddBackward0", "StackBackward0")


def picture(drawing):
    """A drawing read back from its text; only a graphviz.Digraph has arrows."""
    if not isinstance(drawing, graphviz.Digraph):
        raise TypeError(f"draw returned {type(drawing).__name__}; it must return a graphviz.Digraph.")
    return read_dot(drawing.source)


def kind_of(label):
    return next((kind for kind in KINDS if kind in label), "no node's name in the label")


def boxes(drawing):
    return sorted(kind_of(label) for label in picture(drawing).labels.values())


def arrows(drawing):
    shown = picture(drawing)
    return sorted((kind_of(shown.labels[tail]), kind_of(shown.labels[head])) for tail, head in shown.edges)


def shapes(drawing, wanted):
    """Of each leaf's box, which of the wanted shapes its label contains."""
    return sorted([text for text in wanted if text in label] for label in picture(drawing).labels.values() if "AccumulateGrad" in label)


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
y = (x * w).sum()
check = Check("draw", points=2)
check("one box per node", lambda: boxes(draw(y.grad_fn)), ["AccumulateGrad", "AccumulateGrad", "MulBackward0", "SumBackward0"],
      hint="Four boxes: the sum, the product, and one per leaf. Each label contains the node's type.",
      wrong=[(lambda v: len(v) == 3, "Two boxes became one: they have the same name. Give each node a name of its own."),
             (lambda v: any("no node" in kind for kind in v), "A label must contain type(node).__name__. An edge to a name without a box makes an empty box.")])
check("arrows go from a node to its next functions", lambda: arrows(draw(y.grad_fn)),
      [("MulBackward0", "AccumulateGrad"), ("MulBackward0", "AccumulateGrad"), ("SumBackward0", "MulBackward0")],
      hint="Three arrows: from the sum to the product, and from the product to each leaf.",
      wrong=[(lambda v: ("AccumulateGrad", "MulBackward0") in v, "Your arrows point from operand to result. Draw them the way next_functions points.")])
### BEGIN HIDDEN TESTS
rows, cols = int(torch.randint(2, 90, ())), int(torch.randint(2, 90, ()))
z = torch.randn(rows, cols, requires_grad=True)
scalar = torch.randn((), requires_grad=True)
branches = int(torch.randint(20, 60, ()))
wide = torch.zeros(())
for _ in range(branches):
    wide = wide + z.exp().sin().sum()
deep = x
for _ in range(60):
    deep = deep + deep
check("both edges of x * x", lambda: arrows(draw((z * z).grad_fn)), [("MulBackward0", "AccumulateGrad")] * 2,
      hint="x * x has two edges to one leaf. Draw both.",
      wrong=[(lambda v: len(v) == 1, "Parallel edges became one. Draw one per entry of next_functions, in a drawing that is not strict."),
             ([("AccumulateGrad", "MulBackward0"), ("AccumulateGrad", "MulBackward0")], "Your arrows point from operand to result. Draw them the way next_functions points.")])
check("the shape of each leaf", lambda: shapes(draw((z * scalar).grad_fn), [str(tuple(z.shape)), str(tuple(scalar.shape))]),
      [["()"], [f"({rows}, {cols})"]],
      hint="A leaf's label contains str(tuple(leaf.shape)).",
      wrong=[(lambda v: v == [[], []], "A leaf's label needs the shape as a tuple: str(tuple(leaf.shape)), not torch.Size([...]).")])
check("many nodes of a few kinds", lambda: [len(boxes(draw(wide.grad_fn))), len(arrows(draw(wide.grad_fn)))],
      [4 * branches + 1, 5 * branches - 1],
      hint="One box for each operation, one for the leaf, none for a None; each branch adds its arrows.",
      wrong=[(lambda v: 1 < v[0] <= 6, "All nodes of one type became one box. Give each node a name of its own.")])
check("an operand without gradient is no box", lambda: boxes(draw((z * torch.randn(rows, cols)).exp().grad_fn)),
      ["AccumulateGrad", "ExpBackward0", "MulBackward0"],
      hint="Where an operand needs no gradient, next_functions holds None. Skip it.",
      wrong=[(lambda v: any("no node" in kind for kind in v), "None is no node and has no box.")])
check("one drawing after another", lambda: [boxes(drawing) for drawing in (draw(torch.stack([z, z.exp(), z.sin()]).sum().grad_fn), draw(z.exp().grad_fn))],
      [["AccumulateGrad", "ExpBackward0", "SinBackward0", "StackBackward0", "SumBackward0"], ["AccumulateGrad", "ExpBackward0"]],
      hint="Two drawings, one after the other: an operation of three operands, then one of one. Go through all of next_functions, and let each call make a drawing of its own.")
check.that("a node is looked up, not searched for", lambda: steps_per_node(draw, 400), lambda steps: steps <= 180,
           hint="The time grows with the square of the graph: a search through a list looks at every entry. Use a set or a dict.")
check("sixty doublings", lambda: [len(boxes(draw(deep.grad_fn))), len(arrows(draw(deep.grad_fn)))], [61, 120], limit=2,
      hint="There are 61 nodes, 120 edges and 2**60 paths. Visit every node once.",
      wrong=[(lambda v: 1 < v[0] < 61, "Several boxes became one: they have the same name. Give each node a name of its own."),
             (lambda v: v[1] == 60, "Parallel edges became one. Draw one per entry of next_functions, in a drawing that is not strict.")])
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 5. Recorded anew, every time
#
# The graph is a record of what ran. It has no `if` and no loop in it.
#
# **Predict.** The function below doubles its argument until it is long enough. Will the two calls leave graphs of the same size?
# How many product nodes does each have?

# %% tags=["demo"]
def grow(v):
    while v.norm() < 10:
        v = v * 2
    return v


near = grow(torch.tensor([3.0, 4.0], requires_grad=True))
far = grow(torch.tensor([0.3, 0.4], requires_grad=True))
for name, result in (("near", near), ("far", far)):
    names, node = [], result.grad_fn
    while node is not None:
        names.append(type(node).__name__)
        node = node.next_functions[0][0] if node.next_functions else None
    print(f"{name}: {' -> '.join(names)}")

# %% [markdown]
# **Explain.** Each call recorded only the products that it ran. `v.norm() < 10` decided how many, and left no trace: the graph
# is a straight line, and Python did the branching. This is what "dynamic graph" means. Three consequences:
#
# - the gradient is that of the branch that was taken, as if the condition were a constant;
# - a debugger, `print`, or any Python works inside the forward pass;
# - the graph costs its memory anew in every step, from the forward pass until backward or until the result is dropped.

# %% [markdown]
# ## 6. Backward walks the graph
#
# `y.backward()` hands the gradient 1 to the root node. A node turns the gradient of its output into gradients of its
# operands and passes them on. There is one rule: **a node runs once, after all its consumers have run**, for its
# gradient is the sum of what they send.
#
# **Predict.** `q` and `r` both come from `p`. In which order will the seven nodes run? Number them on paper.

# %% tags=["demo"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
p = x * w
q = p.exp()
r = p.sin()
total = (q + r).sum()

ran = []
accumulate_x, accumulate_w = (node for node, _ in p.grad_fn.next_functions)
watched = [total.grad_fn, total.grad_fn.next_functions[0][0], q.grad_fn, r.grad_fn, p.grad_fn, accumulate_x, accumulate_w]
hooks = [node.register_prehook(lambda grads, node=node: ran.append(node)) for node in watched]
total.backward(retain_graph=True)
for hook in hooks:
    hook.remove()
print(" -> ".join(type(node).__name__ for node in ran))
draw_graph(total, notes={node: f"runs as number {number}" for number, node in enumerate(ran, 1)})

# %% [markdown]
# **Explain.** MulBackward0 waited for both of its consumers. Among nodes that are ready, the one that was recorded last goes
# first: `sin` was called after `exp`, so its node runs before. You need not remember which of two ready nodes goes
# first. You need to remember that a shared node waits, because its gradient is a sum. (In
# [chapter 06](../06-backward-engine/06-backward-engine.ipynb) you write this engine.)
#
# Now the numbers, for the graph from the beginning.

# %% tags=["demo"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
y = (x * w).sum()
y.backward()
print("x.grad:", x.grad.tolist())
print("w.grad:", w.grad.tolist())

# %% [markdown]
# `x.grad` is `w` and `w.grad` is `x`: the sum sent a 1 to every element, and the product multiplied it by the other factor, which it had
# saved.

# %% [markdown]
# ## 7. Gradients add up
#
# **Predict.** The cell computes the same loss again and calls backward a second time, on a new graph. What is `x.grad` afterwards?

# %% tags=["demo"]
guess = None

(x * w).sum().backward()
print(f"x.grad: {x.grad.tolist()}, you said {guess}")

# %% [markdown]
# **Explain.** AccumulateGrad *adds*. It must: a leaf that is used twice gets the sum of both gradients, and so does a leaf of two
# backward passes. That is why gradient accumulation over micro-batches needs no extra code, and why a training loop has to clear
# gradients. The figure shows what happens to one that does not: the same descent on (v − 3)², with and without clearing.

# %% tags=["demo"]
import matplotlib.pyplot as plt


def losses(clear):
    v = torch.zeros((), requires_grad=True)
    history = []
    for _ in range(40):
        loss = (v - 3) ** 2
        history.append(loss.item())
        loss.backward()
        with torch.no_grad():
            v -= 0.1 * v.grad
        if clear:
            v.grad = None
    return history


figure, axes = plt.subplots(figsize=(7, 3.2), facecolor="white")
axes.plot(losses(clear=True), label="gradient cleared after each step", color="#2458c5")
axes.plot(losses(clear=False), label="gradient never cleared", color="#cf8a1c", linestyle="--")
axes.set_xlabel("step")
axes.set_ylabel("loss before the step")
axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()
plt.show()

# %% [markdown]
# Without clearing, `.grad` is the sum of all gradients so far. The step keeps pushing in a direction that has become wrong, and the
# loss swings. Nothing raises. This bug shows only in the curve.
#
# One more thing to notice in the cell: the update stands under `torch.no_grad()`. Outside of it PyTorch refuses to change a leaf in
# place, because the change itself would have to be recorded.

# %% [markdown]
# ### Exercise: descend
#
# Difficulty: ●●●○○ · 15 minutes
#
# Plain gradient descent: `p ← p − lr · ∂loss/∂p`, for each parameter, in place.
#
# <details><summary>Stuck?</summary>
#
# In each step: compute the loss once, note it as a float, get the gradients, update under `torch.no_grad()` with an operation
# that ends in `_` or with `-=`. Think about what may lie in `.grad` before you start.
# </details>
# <details><summary>Still stuck?</summary>
#
# `p = p - lr * p.grad` makes a new tensor and leaves the caller's untouched. A parameter that the loss does not use has `.grad` None after
# backward, or, with `torch.autograd.grad(..., allow_unused=True)`, a None in its place: skip it. Clear gradients
# before the first step and after the last.
# </details>

# %% nbgrader={"grade": false, "grade_id": "descend", "locked": false, "schema_version": 3, "solution": true, "task": false}
def descend(params, loss_fn, lr, steps) -> list[float]:
    """Plain gradient descent, in place.

    Parameters
    ----------
    params : list of torch.Tensor
        Leaves that require a gradient, of any shape. They are changed in place, on the same storages. One that the loss does
        not use stays as it is.
    loss_fn : callable
        Takes nothing, returns a 0-d tensor. Called once per step.
    lr : float
        Step size.
    steps : int
        How many steps.

    Returns
    -------
    list of float
        The loss before each step. A `.grad` found on a parameter is ignored, and gone afterwards: None or zero.
    """
    ### BEGIN SOLUTION
    history = []
    for p in params:
        p.grad = None
    for _ in range(steps):
        loss = loss_fn()
        history.append(loss.item())
        loss.backward()
        with torch.no_grad():
            for p in params:
                if p.grad is not None:
                    p -= lr * p.grad
                p.grad = None
    return history
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-descend", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def parabola(start, lr, steps, stale=None):
    """Descend on (v - 3)**2 from `start`: losses, the caller's v, and what is left in its gradient."""
    v = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    if stale is not None:
        v.grad = torch.full_like(v, stale)
    alias = v.detach()  # shares v's memory: it shows an update only if it was made in place
    history = descend([v], lambda: ((v - 3) ** 2).sum(), lr, steps)
    return {"losses": history, "v": alias.clone(), "left": 0.0 if v.grad is None else v.grad.abs().sum().item()}


check = Check("descend", points=3)
check("the loss before each step", lambda: parabola([1.0], 0.25, 3)["losses"], [4.0, 1.0, 0.25],
      hint="From v = 1 with lr = 0.25 the distance to 3 halves in each step: 2, 1, 0.5, so the losses are 4, 1, 0.25.",
      wrong=[(lambda v: v == [1.0, 0.25, 0.0625], "That is the loss after each step. Note the loss first, then step."),
             (lambda v: v == [4.0, 4.0, 4.0], "The parameter never changed. `p = p - ...` makes a new tensor; update the one you were given."),
             (lambda v: v == [4.0, 1.0, 0.25], "Return a list of floats: loss.item() makes one of a tensor."),
             (lambda v: len(v) == 3 and v[:2] == [4.0, 1.0], "The third step went wrong: gradients of earlier steps are still in .grad."),
             (RuntimeError, "A leaf may be changed in place only under torch.no_grad(), and a loss needs a graph, so compute it outside.")])
check("the parameter itself moves", lambda: parabola([1.0], 0.25, 2)["v"].tolist(), [2.5],
      hint="After two steps v is 2.5, in the memory that it had.",
      wrong=[(lambda v: v == [1.0], "Nothing was written into v's memory. `p = p - ...` makes a new tensor, and `p.data = ...` gives p other memory. Write into the one you were given."),
             (lambda v: v == [3.5], "The second step went wrong: the gradient of the first step is still in .grad."),
             (RuntimeError, "A leaf may be changed in place only under torch.no_grad().")])
### BEGIN HIDDEN TESTS
start = torch.randn(3, dtype=torch.float64)
rate = 0.1 + 0.2 * torch.rand((), dtype=torch.float64).item()


def several(stale=None):
    """Two parameters of different shapes and one that the loss does not use, each with something stale in .grad if asked for."""
    a = start.clone().requires_grad_()
    b = torch.full((2, 2), 0.5, dtype=torch.float64, requires_grad=True)
    idle = torch.ones(4, requires_grad=True)
    calls = []

    def loss_fn():
        calls.append(len(calls))
        return (a ** 2).sum() + a.sum() * b.sum()

    if stale is not None:
        for p in (a, b, idle):
            p.grad = torch.full_like(p, stale)
    descend([a, idle, b], loss_fn, rate, 1)
    left = sum(0.0 if p.grad is None else p.grad.abs().sum().item() for p in (a, b, idle))
    return {"a": a.detach(), "b": b.detach(), "idle": idle.detach(), "calls": len(calls), "left": left,
            "require": [p.requires_grad and p.is_leaf for p in (a, b, idle)]}


def numbers(history):
    """A list of losses as floats: another check looks at what they are."""
    return [float(loss) for loss in history] if isinstance(history, list) else history


check("many steps, from a random start", lambda: numbers(parabola(start.tolist(), rate, 5)["losses"]),
      [((start - 3) ** 2).sum().item() * (1 - 2 * rate) ** (2 * i) for i in range(5)],
      hint="On (v - 3)**2 each step shrinks the distance by 1 - 2 lr. Clear the gradient between steps.",
      wrong=[(lambda v: len(v) == 5 and abs(v[0] - v[1]) < 1e-9, "The parameter never changed: update it in place.")])
check("in place, on the same storage", lambda: parabola(start.tolist(), rate, 1)["v"],
      3 + (start - 3) * (1 - 2 * rate),
      hint="The caller holds the memory of the parameter. `p -= lr * p.grad` writes into it; `p = p - ...` and `p.data = ...` do not.")
check("a gradient found there is ignored", lambda: numbers(parabola(start.tolist(), rate, 2, stale=100.0)["losses"]),
      [((start - 3) ** 2).sum().item() * (1 - 2 * rate) ** (2 * i) for i in range(2)],
      hint="Something may lie in .grad before the first step. backward adds to it: clear it first.")
check("steps say how many, also when the loss grows", lambda: numbers(parabola([100.0, -50.0, 7.0], 1.25, 4)["losses"]),
      [sum(d * d for d in (97.0, -53.0, 4.0)) * 2.25 ** i for i in range(4)],
      hint="With lr = 1.25 the distance to 3 grows by half in each step. That is what is asked for: do not stop early, and do not clip the gradient.")
check("no steps", lambda: numbers(parabola(start.tolist(), rate, 0)["losses"]), [],
      hint="With steps = 0 nothing is computed: the list is empty.")
check("no gradient is left", lambda: parabola(start.tolist(), rate, 3, stale=1.0)["left"], 0.0,
      hint="Afterwards .grad is None or zero: clear it after the last step too.")
check("all parameters step from the same loss", lambda: [several()["a"], several()["b"]],
      [start - rate * (2 * start + 2.0), torch.full((2, 2), 0.5, dtype=torch.float64) - rate * start.sum()],
      hint="One backward gives the gradients of all parameters. Compute them all before you change any.",
      wrong=[(lambda v: v[1] == [[0.5, 0.5], [0.5, 0.5]], "One parameter was not changed. Before it stands one that the loss does not use: skip that one, and go on with the next."),
             (TypeError, "A parameter that the loss does not use has no gradient: it is None. Skip it."),
             (RuntimeError, "Either a leaf was changed outside torch.no_grad(), or autograd.grad met a parameter that the loss does not use: it needs allow_unused=True; then skip the None.")])
check("the loss is computed once per step", lambda: several()["calls"], 1,
      hint="loss_fn is costly. Call it once per step, and use that loss for its value and for backward.",
      wrong={TypeError: "A parameter that the loss does not use has no gradient: it is None. Skip it."})
check("a parameter that the loss does not use", lambda: [several(stale=100.0)["idle"], several(stale=100.0)["left"]], [torch.ones(4), 0.0],
      hint="It stays as it is, and a gradient found there is gone, not applied.",
      wrong=[(TypeError, "A parameter that the loss does not use has no gradient: it is None. Skip it."),
             (lambda v: v[0] != [1.0] * 4, "You applied a gradient that was left from before. Clear .grad before you begin.")])
check("they are leaves that require a gradient still", lambda: several()["require"], [True, True, True],
      wrong={TypeError: "A parameter that the loss does not use has no gradient: it is None. Skip it."},
      hint="Update in place under no_grad, and leave requires_grad as it was.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 8. After backward the graph is spent
#
# **Predict.** Two losses, and backward twice on each. One of the two second calls raises. Which, and why?

# %% tags=["demo"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
for name, loss in (("(x + w).sum()", (x + w).sum()), ("(x * w).sum()", (x * w).sum())):
    loss.backward()
    try:
        loss.backward()
        print(f"{name}: the second pass ran")
    except RuntimeError as error:
        print(f"{name}: {error}")

# %% [markdown]
# **Explain.** When a node has run, it lets go of its saved tensors, so that memory falls while backward proceeds. The nodes and edges
# stay. A second pass raises at the first node that wants a tensor it no longer has. In `(x + w).sum()` no node had saved one, so a second pass
# has nothing to miss. "It worked in my test" may mean only that the test's operations saved nothing.
#
# `retain_graph=True` keeps the saved tensors for another pass. Compare the two pictures: the same graph, kept and spent.

# %% tags=["demo"]
loss = (x * w).exp().sum()
loss.backward(retain_graph=True)
draw_graph(loss)

# %% tags=["demo"]
loss.backward()
draw_graph(loss)

# %% [markdown]
# When you meet this error in training, the question is not where to put `retain_graph=True`. It is *which tensor is left over from
# the last step*: a hidden state that was not detached, a loss added to a running sum, a cached forward pass. Retaining would hide it, and the
# graph would grow with each step.

# %% [markdown]
# ### Exercise: twice
#
# Difficulty: ●●●○○ · 12 minutes
#
# Two backward passes through one graph, on purpose, and nothing left behind.
#
# <details><summary>Stuck?</summary>
#
# `torch.autograd.grad(loss, params)` returns gradients and leaves `.grad` alone. It releases the graph as backward does, unless
# told not to.
# </details>
# <details><summary>Still stuck?</summary>
#
# Retain in the first pass, release in the second. `create_graph=True` would retain as well, but it records the backward pass
# itself, and then the gradients have a grad_fn.
# </details>

# %% nbgrader={"grade": false, "grade_id": "twice", "locked": false, "schema_version": 3, "solution": true, "task": false}
def twice(loss, params) -> tuple[list, list]:
    """Two backward passes through the same graph.

    Parameters
    ----------
    loss : torch.Tensor
        0-d, with a graph.
    params : list of torch.Tensor
        All leaves of that graph, in any order.

    Returns
    -------
    (list of torch.Tensor, list of torch.Tensor)
        The gradients of the first and of the second pass, in order of `params`, each of its parameter's shape, without
        grad_fn. `.grad` of the parameters is as it was found. The graph is released: a third pass raises RuntimeError where a node saved something.
    """
    ### BEGIN SOLUTION
    first = torch.autograd.grad(loss, params, retain_graph=True)
    second = torch.autograd.grad(loss, params)
    return list(first), list(second)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-twice", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
class Tally(torch.autograd.Function):
    """The identity, which notes each backward pass that goes through it."""

    @staticmethod
    def forward(ctx, x, notes):
        ctx.notes = notes
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        ctx.notes.append(len(ctx.notes))
        return grad, None


def product():
    """The loss of section 1, and its leaves."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    return (x * w).sum(), [x, w]


check = Check("twice", points=3)
check("the first pass", lambda: twice(*product())[0], [torch.tensor([0.5, -1.0, 2.0]), torch.tensor([1.0, 2.0, 3.0])],
      hint="The gradient of x is w, that of w is x.",
      wrong=[(lambda v: v == ([0.5, -1.0, 2.0], [1.0, 2.0, 3.0]), "Return two lists: list(...) makes one of a tuple."),
             (lambda v: v == [[1.0, -2.0, 4.0], [2.0, 4.0, 6.0]],
              "That is the sum of two passes: .grad accumulates, and you handed out the tensor itself. Copy it, or use torch.autograd.grad."),
             (RuntimeError, "The first pass must keep the graph for the second: retain_graph=True.")])
check("the second pass", lambda: twice(*product())[1], [torch.tensor([0.5, -1.0, 2.0]), torch.tensor([1.0, 2.0, 3.0])],
      hint="The same gradients again, not their sum.",
      wrong=[(lambda v: v == ([0.5, -1.0, 2.0], [1.0, 2.0, 3.0]), "Return two lists: list(...) makes one of a tuple."),
             (lambda v: v == [[1.0, -2.0, 4.0], [2.0, 4.0, 6.0]],
              "That is the sum of two passes: .grad accumulates. Clear it in between, or use torch.autograd.grad."),
             (RuntimeError, "The first pass must keep the graph for the second: retain_graph=True.")])
### BEGIN HIDDEN TESTS
values = {name: torch.randn(3) for name in "abc"}
before = torch.randn(())
order = torch.randperm(3).tolist()


def scene(found=None):
    """Three fresh leaves in a drawn order, a loss over them, and the notes of its backward passes."""
    params = {name: value.clone().requires_grad_() for name, value in values.items()}
    if found is not None:
        for param in params.values():
            param.grad = torch.full((3,), found)
    notes = []
    loss = (Tally.apply(params["a"] * params["b"], notes) * params["c"]).sum()
    return loss, [params["abc"[i]] for i in order], notes


def passes():
    loss, params, notes = scene()
    twice(loss, params)
    return len(notes)


def grad_fns():
    loss, params, _ = scene()
    return [type(grad.grad_fn).__name__ for grads in twice(loss, params) for grad in grads]


def grads_after(found):
    """What .grad holds afterwards, and what the tensors hold that were there before."""
    loss, params, _ = scene(found)
    held = [param.grad for param in params]
    twice(loss, params)
    return [[None if grad is None else grad.tolist() for grad in grads] for grads in ([param.grad for param in params], held)]


def third():
    loss, params, _ = scene()
    twice(loss, params)
    return torch.autograd.grad(loss, params)


check("in order of params", lambda: list(twice(*scene()[:2])),
      [[[values["b"] * values["c"], values["a"] * values["c"], values["a"] * values["b"]][i] for i in order]] * 2,
      hint="Two lists, with one gradient per parameter in the order in which the parameters were given. The second holds the same again, not the sum.",
      wrong={RuntimeError: "The first pass must keep the graph for the second: retain_graph=True."})
check("two real passes", lambda: passes(), 2,
      hint="The graph must be run through twice. Handing out one result twice is no second pass.",
      wrong={1: "The graph was run through once, and its result handed out twice.",
             RuntimeError: "The first pass must keep the graph for the second: retain_graph=True."})
check("plain tensors without grad_fn", lambda: grad_fns(), ["NoneType"] * 6,
      hint="Gradients are data here. create_graph=True records the backward pass as well: use retain_graph=True.",
      wrong={RuntimeError: "The first pass must keep the graph for the second: retain_graph=True."})
check("no gradient appears on the parameters", lambda: grads_after(None), [[None, None, None]] * 2,
      hint=".grad was None and must be None again. torch.autograd.grad leaves it alone.",
      wrong={RuntimeError: "The first pass must keep the graph for the second: retain_graph=True."})
check("a gradient found on a parameter stays", lambda: grads_after(before.item()), [[[before.item()] * 3] * 3] * 2,
      hint="Whatever was in .grad before is there afterwards, unchanged: backward adds to that tensor in place. Set it aside, with .grad = None, before the first pass.",
      wrong={RuntimeError: "The first pass must keep the graph for the second: retain_graph=True."})
check.raises("a third pass raises", lambda: third(), RuntimeError, match="second time|freed",
             hint="The graph is still there. Retain it in the first pass only; the second one releases it.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 9. The graph of a training step
#
# You can now draw it without running anything. The recipe:
#
# 1. Each operation of the forward pass is a box. The last one is on top.
# 2. From each box goes one arrow per operand that needs a gradient: to the box that made it, or to a leaf.
# 3. Data and frozen tensors get no arrow.
# 4. Into each box goes what its derivative needs: a product keeps each factor whose *other* factor needs a gradient, an addition nothing, relu its result.
# 5. What is a leaf's memory is a reference. The rest is activation memory.
#
# **Predict.** On paper, draw the graph of the step below: two layers, a relu and a cross-entropy. Count boxes and leaves, and shade the boxes
# that hold memory of their own. Then run the cell and compare.

# %% tags=["demo"]
torch.manual_seed(3)
images, labels = torch.randn(32, 64), torch.randint(0, 10, (32,))
w1 = (torch.randn(64, 128) / 8).requires_grad_()
b1 = torch.zeros(128, requires_grad=True)
w2 = (torch.randn(128, 10) / 11).requires_grad_()
b2 = torch.zeros(10, requires_grad=True)

hidden = torch.relu(images @ w1 + b1)
logits = hidden @ w2 + b2
loss = torch.nn.functional.cross_entropy(logits, labels)
draw_graph(loss)

# %% [markdown]
# **Explain.** Read it from the top. The cross-entropy is two boxes, a negative log-likelihood over a log-softmax. The first keeps the labels and
# the log-probabilities; the second keeps its result, which is the same tensor, so its bytes stand there once. Each layer is an addition over a
# product. The upper product keeps both factors: `w2`, a weight, by reference, and `hidden`, an activation, which is amber. The lower one keeps `images` alone,
# for the gradient of `w1`; `w1` itself would serve only the gradient of `images`, which nobody asks for. The relu keeps its
# result, and that is `hidden`, the very tensor that the upper product keeps: again one storage.
#
# Now the step itself, and the same picture after it: boxes and leaves are there, the memory is gone.

# %% tags=["demo"]
loss.backward()
with torch.no_grad():
    for parameter in (w1, b1, w2, b2):
        parameter -= 0.1 * parameter.grad
        parameter.grad = None
draw_graph(loss, versions=True)

# %% [markdown]
# The small `v1` at the leaves is a **version counter**. It counts changes in place, and here it counted our update. Had we
# retained the graph and called backward again after the update, PyTorch would have compared counters and refused, since the
# weights it had saved are no longer the ones that made the loss.
# [Chapter 04](../04-custom-function/04-custom-function.ipynb) comes back to it.

# %% [markdown]
# ## On a GPU
#
# Recording happens on the host, in Python's time. The kernels run later. So on a GPU the forward pass *returns* before it is *finished*: the graph is
# complete, with all its saved tensors, while the numbers in them are still being computed. Backward works the same way. The cell times both ends, for
# eight products of 4096 × 4096 matrices.

# %% tags=["demo"]
if device().type == "cuda":
    measured = launch_times()
    for name, times in measured.items():
        print(f"{name}: returns after {times['returns']:.2f} ms, finished after {times['finished']:.2f} ms")
else:
    print("There is no GPU here.")
show_recording("01-launches")

# %% [markdown]
# ## If you get this error
#
# <details><summary><code>'NoneType' object has no attribute 'next_functions'</code></summary>
#
# You followed an edge that is None, or asked a leaf for its graph: `leaf.grad_fn` is None. Skip None edges; start from a tensor that an
# operation made.
# </details>
# <details><summary><code>element 0 of tensors does not require grad and does not have a grad_fn</code></summary>
#
# The loss has no graph. Nothing it came from required a gradient, or it was computed under `no_grad`, or it went through
# `.detach()`, `.item()` or NumPy.
# </details>
# <details><summary><code>grad can be implicitly created only for scalar outputs</code></summary>
#
# You called backward on a tensor with more than one element. Reduce it with `.sum()` or `.mean()`, or pass the gradient of the
# output: `out.backward(gradient)`.
# </details>
# <details><summary><code>Trying to backward through the graph a second time</code></summary>
#
# Section 8. Find the tensor that is left over from an earlier step, and detach it.
# </details>
# <details><summary><code>a leaf Variable that requires grad is being used in an in-place operation</code></summary>
#
# An update outside `torch.no_grad()`. Put it inside.
# </details>
# <details><summary><code>The .grad attribute of a Tensor that is not a leaf Tensor is being accessed</code> (a warning)</summary>
#
# You asked an activation for its gradient. Only leaves keep theirs. Call `.retain_grad()` on it before backward, or ask for it with
# `torch.autograd.grad`.
# </details>
# <details><summary><code>maximum recursion depth exceeded</code></summary>
#
# Your walk calls itself once per node of a chain. Keep a list of nodes still to visit.
# </details>
# <details><summary><code>Boolean value of Tensor with more than one value is ambiguous</code></summary>
#
# `tensor in some_list` compares elements. Look tensors up by `is`, or by `id()` while you hold them.
# </details>

# %% [markdown]
# ## Explain it aloud
#
# A colleague asks: "What exactly is in memory between `loss = model(x)` and `loss.backward()`, and why does the second `backward()` fail?"
# Answer in a minute, aloud, then write it down in five to eight sentences.
#
# It is graded by hand, two points. One point: nodes and edges, AccumulateGrad at the leaves, and saved tensors as references, of which
# only the activations are extra memory. One point: backward releases the saved tensors, so a second pass raises where a node had saved one, and what
# `retain_graph` changes.

# %% [markdown] nbgrader={"grade": true, "grade_id": "explain-01-graph", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# While the forward pass ran, each operation that touched a tensor requiring a gradient left a node. `loss.grad_fn` is the last one, and
# `next_functions` lead from it to the nodes of its operands, down to one AccumulateGrad per leaf. It is a graph without cycles in which
# nodes are shared, not a tree. Each node refers to the tensors its derivative needs. References to weights cost nothing, since
# the weights live anyway; references to activations are what keeps them alive, and that is the extra memory. Backward runs each node once,
# after all its consumers, and adds the result into the leaves' `.grad`. When a node has run it lets its saved tensors go. So a
# second backward raises at the first node that wants one, and passes where no node had saved any. `retain_graph=True` keeps the saved tensors, and their
# memory, for another pass.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# 1. The forward pass records a graph: a node per operation, an edge per operand that needs a gradient, an AccumulateGrad per leaf.
# 2. It is a DAG. Visit nodes, not paths, and keep your own stack.
# 3. Nodes save what their derivative needs, by reference: leaves for free, activations at their full size.
# 4. Backward runs each node once, after all its consumers, and adds into `.grad`; nobody clears it but you.
# 5. Backward releases what was saved. A second pass needs `retain_graph=True`, and mostly you should not need one.
