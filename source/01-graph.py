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
from autograder.lab import (Check, device, draw_graph, launch_times, read_dot, saved_ledger, short_stack, show_recording,
                            steps_per_node)

# %% [markdown]
# A training run is fine for a thousand steps. Then somebody adds up the validation losses for the log, and forgets `no_grad`. From there on every
# validation batch takes more memory than the one before, until the job dies. Elsewhere the second step fails with *Trying to backward through the
# graph a second time*. Somebody types `retain_graph=True`. Now it fails with *modified by an inplace operation*, and nobody has modified anything.
#
# Both have one cause: a tensor from an earlier step still holds the graph of that step. You cannot see it in the code. You can see it in the graph
# that PyTorch records while your forward pass runs, and this chapter teaches you to read that graph.
#
# **After this chapter you can**
#
# - walk the graph behind any tensor, and list its nodes and its leaves in time that grows with the graph;
# - say what each node keeps in memory, what it computes, and why a leaf gets no gradient;
# - run your own code inside backward, where distributed training does its work;
# - run backward twice on purpose, and explain the error when it happens by accident;
# - draw the graph of a training step on paper, from the code alone.
#
# **Time:** about 150 minutes, 90 of them for the exercises. These are estimates. **Needs:** PyTorch as a user. What is said about PyTorch
# here was seen on version 2.13, on a CPU.
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
# Here are two leaves and one line of arithmetic. A **leaf** is a tensor that no recorded operation made: an input, or a parameter.
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
# **Explain.** `y.grad_fn` is a **node**: the object that will compute the gradient of the operation that made `y`. Hence "Backward"
# in its name. Its `next_functions` are pairs `(node, output number)`. Each says where a gradient goes next: to a node, and to which
# of that node's outputs. There is one pair per operand that a gradient could go to. An index or a mask has none, and leaves no pair.
#
# That is the whole graph. Every node is reached from `y.grad_fn` by `next_functions`.
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
# the line is what it saved. The legend says what the colors mean. Find the two places where the same memory is named.

# %% tags=["demo"]
draw_graph(y)

# %% [markdown]
# MulBackward0 saved `self` and `other`, the two factors, because the derivative of a product needs them. The picture says
# `= w` and `= x`: nothing was copied. The node refers to the memory that the leaves have anyway. SumBackward0 saved no tensor. To send
# a gradient back through a sum, a shape is enough.

# %% [markdown]
# ### Exercise: walk
#
# Difficulty: ●○○○○ · 8 minutes
#
# Write a function that lists the graph below a node as an indented outline would: each node with its depth, a node before
# what lies below it, operands in order. A node that can be reached along two paths is listed twice.
#
# <details><summary>Stuck?</summary>
#
# The list for a node is the node itself, followed by the lists of its next functions, each one deeper.
# </details>
# <details><summary>Still stuck?</summary>
#
# A function that calls itself can carry the depth along as an extra argument. Look at what `next_functions` of
# `(torch.ones(3) * x).grad_fn` prints before you use its entries.
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
    # Why this shape: the outline of a node is its own line and the outlines of its operands, one deeper. That sentence is the
    # inner function, word for word. One list that all calls append to spares joining lists at every level; it is made anew
    # in every call of walk, so that two walks share nothing. No set of visited nodes: walk lists paths.
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
grown = x.exp()
square = grown * grown
check = Check("walk", points=3)
check("the graph of (x * w).sum()", lambda: walk(y.grad_fn),
      [(0, "SumBackward0"), (1, "MulBackward0"), (2, "AccumulateGrad"), (2, "AccumulateGrad")],
      hint="Four entries: the sum at depth 0, the product at 1, and one AccumulateGrad per leaf at 2.",
      wrong=[([(0, "SumBackward0")], "Only fn itself is listed. Add what the calls for its operands return, too."),
             (lambda v: len(v) > 0 and v[0][0] == 1, "The depth of fn itself is 0."),
             (lambda v: any("::" in name for _, name in v), "Use type(node).__name__. node.name() is the C++ name."),
             (lambda v: any(" at 0x" in str(name) for _, name in v), "The name is type(node).__name__, not the node's text."),
             (lambda v: v[-1][1] == "SumBackward0", "A node comes before what lies below it. You listed it after."),
             ([(0, "SumBackward0"), (1, "MulBackward0")], "AccumulateGrad is a node too. The walk ends at the leaves, not above them."),
             (TypeError, "If walk returned None to itself, a `return` is missing.")])
check("one entry per path", lambda: walk(square.grad_fn), [(0, "MulBackward0"), (1, "ExpBackward0"), (2, "AccumulateGrad"), (1, "ExpBackward0"), (2, "AccumulateGrad")],
      hint="square has two edges to one exp: the product, and then along each edge the exp and its leaf.",
      wrong=[([(0, "MulBackward0"), (1, "ExpBackward0"), (2, "AccumulateGrad")], "You listed the exp once. walk lists paths, so it appears once per edge."),
             ([(0, "MulBackward0"), (1, "ExpBackward0"), (2, "AccumulateGrad"), (1, "ExpBackward0")],
              "What lies below a shared node was listed once. walk follows every path to its end: keep no set of visited nodes.")])
check("a None edge is skipped", lambda: walk((torch.ones(3) * x).grad_fn), [(0, "MulBackward0"), (1, "AccumulateGrad")],
      hint="torch.ones(3) needs no gradient, so the first entry of next_functions is (None, 0). Skip it, and go on with the next.",
      wrong={AttributeError: "Where an operand needs no gradient, next_functions holds None. Skip it.",
             TypeError: "If walk returned None to itself, a `return` is missing. Where an operand needs no gradient, next_functions holds None: skip it."})
check("pre-order", lambda: walk((x.exp() * w).grad_fn),
      [(0, "MulBackward0"), (1, "ExpBackward0"), (2, "AccumulateGrad"), (1, "AccumulateGrad")],
      hint="Pre-order: a node, then everything below its first operand, then everything below its second.",
      wrong=[([(0, "MulBackward0"), (1, "ExpBackward0"), (1, "AccumulateGrad"), (2, "AccumulateGrad")],
              "That is level by level. Pre-order goes down before it goes sideways."),
             ([(0, "MulBackward0"), (1, "AccumulateGrad"), (1, "ExpBackward0"), (2, "AccumulateGrad")],
              "The operands come in the wrong order: the first one first.")])
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
      hint="A node that is reached along two paths is listed twice, each time with everything below it.",
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
# Real models share nodes all the time. A residual connection uses its input twice. A tied weight is used twice. The
# loss of an RL step uses the same log-probabilities in several terms. Code that follows paths is fine for five layers and never
# returns for sixty. Code that calls itself runs into Python's recursion limit on a long chain. So keep a set of the nodes that
# you have seen, and a list of nodes still to visit.
#
# The next cell builds a chain of 400 nodes. The checks of three exercises go down it on a *short stack*, with room for
# 100 calls inside each other. Code that calls itself once per node fails there, as it fails on a longer chain with Python's usual room.
# The cell also makes one leaf of every kind. An answer that works for one kind must work for all of them.

# %% nbgrader={"grade": false, "grade_id": "long-chain", "locked": true, "schema_version": 3, "solution": false, "task": false}
def long_chain(length: int) -> torch.Tensor:
    """A leaf, then `length` negations one after the other: a graph of length + 1 nodes that saves nothing."""
    link = torch.zeros((), requires_grad=True)
    for _ in range(length):
        link = -link
    return link


def doublings(times: int, leaf: torch.Tensor) -> torch.Tensor:
    """`leaf` doubled so many times: times + 1 nodes and 2 ** times paths."""
    for _ in range(times):
        leaf = leaf + leaf
    return leaf


def leaf_kinds() -> dict[str, torch.Tensor]:
    """One leaf of every kind, with random numbers."""
    return {"a Parameter": torch.nn.Parameter(torch.randn(2)),
            "a view": torch.randn(6)[2:].requires_grad_(),
            "transposed": torch.randn(3, 2).t().clone().requires_grad_(),
            "no dimensions": torch.randn((), requires_grad=True),
            "empty": torch.randn(0, requires_grad=True)}


CHAIN = long_chain(400)

# %% [markdown]
# ### Exercise: nodes
#
# Difficulty: ●●○○○ · 12 minutes
#
# Write a function that lists every distinct node once. Two nodes are distinct when they are two objects (`is`), whatever they are called.
#
# <details><summary>Stuck?</summary>
#
# Nodes can be put into a set or a dict: they are hashed by identity. Take a node off a list, look at its operands, put those that
# are new on the list.
# </details>
# <details><summary>Still stuck?</summary>
#
# Mark a node as seen when you put it on the list. If you mark it when you take it off, a shared node can be on the list twice by then.
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
    # Why this shape: a dict answers "is it new?" without a search, and it keeps the order in which things went in, so it is the
    # set of seen nodes and the answer at once. It holds the nodes themselves: a remembered id() may come to mean another node.
    # The list of waiting nodes stands in for Python's own stack, which a long chain would use up.
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
check("every node of (x * w).sum()", lambda: sorted(names_of(nodes(y.grad_fn))),
      ["AccumulateGrad", "AccumulateGrad", "MulBackward0", "SumBackward0"],
      hint="The sum, the product, and one AccumulateGrad per leaf.",
      wrong=[(["AccumulateGrad", "MulBackward0", "SumBackward0"], "Two nodes of the same type are two nodes. Compare nodes, not their names."),
             (lambda v: v.count("SumBackward0") > 1, "The root is listed twice.")])
check("a list, with the root first", lambda: [type(nodes(y.grad_fn)).__name__, names_of(nodes(y.grad_fn))[:1]], ["list", ["SumBackward0"]],
      hint="The list begins with root itself.",
      wrong=[(lambda v: v[0] != "list", "list(...) makes a list of anything that can be gone through.")])
check("a shared node is listed once", lambda: len(nodes((x * x).grad_fn)), 2,
      hint="x * x has two nodes: the product, and one AccumulateGrad with two edges to it.",
      wrong={3: "You listed the leaf once per edge. It is one node: mark it as seen when you put it on your list."})
check("what lies below a second operand", lambda: sorted(names_of(nodes((x * w.sin().exp()).grad_fn))),
      ["AccumulateGrad", "AccumulateGrad", "ExpBackward0", "MulBackward0", "SinBackward0"],
      hint="Five nodes: the product, its first operand's leaf, and below its second operand an exp, a sin and another leaf.",
      wrong=[(["AccumulateGrad", "ExpBackward0", "MulBackward0"], "The exp is there, but not what lies below it. Each new node goes on the list of nodes to visit, not only a first operand.")])
check("None is no node", lambda: names_of(nodes((torch.ones(3) * x).grad_fn)), ["MulBackward0", "AccumulateGrad"],
      hint="torch.ones(3) needs no gradient, so the first entry of next_functions is (None, 0). Skip it, and go on with the next.",
      wrong=[(lambda v: "NoneType" in v, "None is not a node. Skip it."),
             (AttributeError, "Where an operand needs no gradient, next_functions holds None. Skip it.")])
check.that("a node is looked up, not searched for", lambda: [steps_per_node(nodes, 20), steps_per_node(nodes, 80)], lambda steps: steps[1] - steps[0] <= 15,
           hint="Counted were the steps per node, on 20 nodes and on 80. They grow with the graph, so the work grows with the square of it: a search through a list looks at every entry. Use a set or a dict.")
check("a chain of 400 nodes, on a short stack", lambda: short_stack(lambda: len(nodes(CHAIN.grad_fn))), 401,
      hint="The chain has 400 negations and one leaf.",
      wrong={RecursionError: "Your function calls itself once per node, and Python's stack is not that deep. Keep your own list of nodes still to visit."})
check.that("twelve doublings take twelve visits", lambda: steps_per_node(nodes, 12, width=2), lambda steps: steps <= 300,
           hint="Counted were the steps per node on twelve doublings: 13 nodes, but 2**12 paths. Visit every node once, not every path.")
### BEGIN HIDDEN TESTS
z = torch.randn(4, requires_grad=True)
branches = int(torch.randint(20, 60, ()))
wide = z * torch.randn(4)
for _ in range(branches):
    wide = wide + z.sin()


def how_many(root):
    """Entries of a list, and distinct nodes in it."""
    found = nodes(root)
    return [len(found), len({id(node) for node in found})]


check("many nodes of a few kinds", lambda: how_many(wide.grad_fn),
      [2 * branches + 2, 2 * branches + 2],
      hint="Every operation of the forward pass made a node of its own; the leaf adds one; None is no node.",
      wrong=[(lambda v: v[0] == v[1] <= 4, "Two nodes of the same type are two nodes. Compare nodes, not their names."),
             (lambda v: v[0] > v[1], "Some nodes are listed twice. Mark a node as seen when you put it on your list.")])
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
check("the root may be a leaf's own node", lambda: names_of(nodes((z * 2).grad_fn.next_functions[0][0])), ["AccumulateGrad"],
      hint="Below an AccumulateGrad nothing follows: it is the only node.")
check.that("looked up on longer chains, too", lambda: [steps_per_node(nodes, 40), steps_per_node(nodes, 120)], lambda steps: steps[1] - steps[0] <= 20,
           hint="The steps per node grow with the graph, so the work grows with the square of it: a search through a list looks at every entry. Use a set or a dict.")
check("as deep as you like", lambda: short_stack(lambda: len(nodes((CHAIN * z).sin().grad_fn)), 90), 404,
      hint="400 negations and their leaf, a product with a leaf of its own, and a sine.",
      wrong={RecursionError: "Your function calls itself once per node, and Python's stack is not that deep. Keep your own list of nodes still to visit."})
check("sixty doublings", lambda: len(nodes(doublings(60, z).grad_fn)), 61, limit=2,
      hint="There are 61 nodes but 2**60 paths. Visit every node once, not every path.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 3. Who receives a gradient
#
# A leaf gets a gradient if it has an AccumulateGrad at the bottom of the graph. Three kinds of tensor go into the next line: a weight that
# is trained, a bias that is frozen, and data.
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
# parameters stay out of the graph. (It is so where the operand *could* have a gradient. A mask, an index or a label never could,
# so not even a None stands for it: `x.gather(0, index)` has one entry, for `x`.)
#
# Look closer at MmBackward0. It saved `self`, which is `data`: the data gets no gradient, but the gradient of `weight` needs the data.
# It did not save `weight`. Only the gradient of `data` would need it, and nobody asks for that. Whether a tensor is *saved* and whether it
# *gets a gradient* are two questions. A factor is saved when the *other* one needs a gradient.
#
# The decision is made when the operation runs. Freezing a leaf afterwards does not cut the edge. But its AccumulateGrad then adds nothing.

# %% tags=["demo"]
accumulator = out.grad_fn.next_functions[0][0].next_functions[1][0]
print("the leaf in the graph is our weight:", accumulator.variable is weight)
weight.requires_grad_(False)
print("frozen after the fact, the node is still there:", out.grad_fn.next_functions[0][0].next_functions[1][0])
print("but its leaf now says requires_grad =", accumulator.variable.requires_grad)
out.sum().backward()
print("and backward leaves its .grad alone:", weight.grad)
print("thawed again:", weight.requires_grad_(True).requires_grad)

# %% [markdown]
# ### Exercise: leaves
#
# Difficulty: ●●●○○ · 15 minutes
#
# Write a function that lists the tensors that would receive a gradient if you called backward now. It answers the question "why
# is this parameter's `.grad` None?": is the parameter in the list at all?
#
# <details><summary>Stuck?</summary>
#
# An AccumulateGrad node has its leaf in `.variable`. Visit every node once, as in `nodes`, and collect the leaves.
# </details>
# <details><summary>Still stuck?</summary>
#
# The order is that of `walk`: first operand first, all the way down. A node that was pushed early can be met earlier along another
# way. So mark a node as seen when you *take it off* the stack.
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
    # Why this shape: a stack goes down before it goes sideways, which is pre-order, if operands are pushed in reverse. A node can
    # be pushed twice before it is met; the earlier meeting counts, so it is marked when it comes off. The set holds nodes, never
    # tensors: `in` would compare a tensor's elements. Whether a leaf is frozen is asked now, since the graph does not know.
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


def frozen_since():
    """A product of x and of a leaf that was frozen after it was recorded."""
    frozen = torch.ones(3, requires_grad=True)
    out = x * frozen
    frozen.requires_grad_(False)
    return out


def of_every_kind():
    """What leaves returns for a sum of one leaf of every kind: its type, and the names in it."""
    kinds = leaf_kinds()
    found = leaves(sum(leaf.sum() for leaf in kinds.values()).grad_fn)
    return [type(found).__name__, called(found, kinds)]


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
check = Check("leaves", points=3)
check("the leaves of (x * w).sum()", lambda: called(leaves((x * w).sum().grad_fn), {"x": x, "w": w}), ["x", "w"],
      hint="x is the first operand, w the second.",
      wrong=[(lambda v: "a stranger" in v, "Return the leaves themselves, node.variable: no nodes, no copies, no detached tensors."),
             (["w", "x"], "The first operand comes first. A stack turns the order round: push the operands in reverse."),
             (RuntimeError, "`in` on a list of tensors compares their elements, and that raises. Compare nodes, or use `is`.")])
check("a leaf used twice is listed once", lambda: called(leaves((x * x * w).grad_fn), {"x": x, "w": w}), ["x", "w"],
      hint="Distinct leaves: x once, then w.",
      wrong=[(lambda v: "a stranger" in v, "Return the leaves themselves, node.variable: no nodes, no copies, no detached tensors."),
             (["w", "x"], "Both are there, but not in pre-order. Go down the first operand to the end before you turn to the second."),
             (lambda v: v.count("x") == 2, "x is listed twice: once per edge. Visit every node once."),
             (RuntimeError, "`in` on a list of tensors compares their elements, and that raises. Compare nodes, or use `is`.")])
check("data is no leaf of the graph", lambda: called(leaves((torch.ones(3) * x).grad_fn), {"x": x}), ["x"],
      wrong=[(lambda v: "a stranger" in v, "Return the leaves themselves, node.variable: no nodes, no copies, no detached tensors."),
             (AttributeError, "Where an operand needs no gradient, next_functions holds None. Skip it.")],
      hint="torch.ones(3) needs no gradient, so the first entry of next_functions is (None, 0). Skip it, and go on with the next.")
check("a leaf is listed where it is first met", lambda: called(leaves(((w.exp() + x.sin()) * w).grad_fn), {"x": x, "w": w}), ["w", "x"],
      hint="Pre-order goes down the first factor to the end: it meets w below exp, then x below sin. The second factor is w again.",
      wrong=[(lambda v: "a stranger" in v, "Return the leaves themselves, node.variable: no nodes, no copies, no detached tensors."),
             (["x", "w"], "w is met first, below exp. If you mark nodes as seen when you push them, the later meeting wins. Mark them when you pop them."),
             (RuntimeError, "`in` on a list of tensors compares their elements, and that raises. Compare nodes, or use `is`.")])
check("a leaf that was frozen since is left out", lambda: called(leaves(frozen_since().grad_fn), {"x": x, "w": w}), ["x"],
      hint="Ask the leaf now: node.variable.requires_grad.",
      wrong=[(lambda v: v == ["x", "a stranger"], "Freezing leaves the node in the graph. Ask the leaf now: node.variable.requires_grad.")])
check("a list, with leaves of every kind", lambda: of_every_kind(), ["list", ["a Parameter", "a view", "transposed", "no dimensions", "empty"]],
      hint="The order is that of the sum. A leaf counts whatever it is: a Parameter, a view, transposed, without dimensions, without elements.",
      wrong=[(lambda v: v[0] != "list", "list(...) makes a list of anything that can be gone through."),
             (lambda v: v[1] == ["a view", "transposed", "no dimensions", "empty"], "A Parameter is a leaf like any other.")])
check("a leaf's own node as root, a leaf without dimensions", lambda: [list(leaf.shape) for leaf in leaves((torch.zeros((), requires_grad=True) * 2).grad_fn.next_functions[0][0])], [[]],
      hint="Look at the root as at any other node: here it is an AccumulateGrad, and its leaf has shape ().")
check.that("a node is looked up, not searched for", lambda: [steps_per_node(leaves, 20), steps_per_node(leaves, 80)], lambda steps: steps[1] - steps[0] <= 15,
           hint="Counted were the steps per node, on 20 nodes and on 80. They grow with the graph, so the work grows with the square of it: a search through a list looks at every entry. Use a set or a dict.")
check("a chain of 400 nodes, on a short stack", lambda: short_stack(lambda: [list(leaf.shape) for leaf in leaves(CHAIN.grad_fn)]), [[]],
      hint="One leaf, of no dimensions, at the end of the chain.",
      wrong={RecursionError: "Your function calls itself once per node, and Python's stack is not that deep. Keep your own list of nodes still to visit."})
check.that("twelve doublings take twelve visits", lambda: steps_per_node(leaves, 12, width=2), lambda steps: steps <= 300,
           hint="Counted were the steps per node on twelve doublings: 13 nodes, but 2**12 paths. Visit every node once, not every path.")
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
check("in pre-order", lambda: called(leaves(leftmost.grad_fn), pool), ["abcde"[i] for i in order],
      hint="Everything below the first operand comes before the second operand.",
      wrong=[(lambda v: sorted(v) == sorted(set(v)) and len(v) == 5,
              "All leaves are there, but not in pre-order. Go down the first operand to the end before you turn to the second.")])
check("the first meeting counts", lambda: called(leaves(((b.exp() + a.sin() + pool["c"].cos()) * b).grad_fn), pool), ["b", "a", "c"],
      hint="Pre-order meets b below exp first, then a, then c.",
      wrong=[(["a", "c", "b"],
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
check.that("looked up on longer chains, too", lambda: [steps_per_node(leaves, 40), steps_per_node(leaves, 120)], lambda steps: steps[1] - steps[0] <= 20,
           hint="The steps per node grow with the graph, so the work grows with the square of it: a search through a list looks at every entry. Use a set or a dict.")
check("as deep as you like", lambda: short_stack(lambda: called(leaves((CHAIN * a).sum().grad_fn), {"a": a}), 90), ["a stranger", "a"],
      hint="The chain's own leaf at its end, then a.",
      wrong={RecursionError: "Your function calls itself once per node, and Python's stack is not that deep. Keep your own list of nodes still to visit."})
check("sixty doublings", lambda: called(leaves(doublings(60, a).grad_fn), pool), ["a"], limit=2,
      hint="There are 61 nodes but 2**60 paths. Visit every node once, not every path.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 4. What a node keeps
#
# A node has an attribute `_saved_…` for each thing its derivative needs. The underscore says that these names are private: look at
# them, and build nothing on them.
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
# their result, so they keep that; it exists anyway. `_saved_alpha` of the addition is a number, and `_saved_self_sym_sizes` of the sum
# is a shape, a tuple of ints. Both cost next to nothing.
#
# So what a node saves is of three kinds: tensors, tuples that may hold tensors, and plain values. Only tensors are memory.
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
# Saving is holding a reference. Nothing is copied. But as long as the graph lives, what it refers to cannot be freed. For a
# weight that costs nothing, because the weight lives anyway. An **activation** is a tensor that the forward pass made on the way, and
# often the graph is the only one that still needs it. At a large batch this is most of what training keeps in memory. (At a small batch the
# weights, their gradients and Adam's two tensors per weight are more.) [Chapter 02](../02-saved-tensors/02-saved-tensors.ipynb)
# counts activations to the byte.
#
# **Read the picture.** In the next drawing, an amber box holds on to memory that is no leaf's, and the stronger the amber, the more
# bytes. Before you run the cell: which of the four operations will be amber, and which the strongest?

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
# Three of four. The first product keeps `x`, the data: 8 KiB, the weakest. silu keeps its input, and the second product keeps silu's
# output: two tensors of the same shape, 16 KiB each. Neither has a name any more, for `h` went out of scope with the function. The graph
# holds them all the same. The second product also saved `w2`, but that is the leaf's memory, and costs nothing more. The sum is gray.

# %% [markdown]
# ### Exercise: saved
#
# Difficulty: ●●○○○ · 12 minutes
#
# Write a function that returns the tensors which one node saved, by name.
#
# <details><summary>Stuck?</summary>
#
# `dir(node)` lists the attributes. Those you want begin with `_saved_`. `getattr(node, name)` reads one.
# </details>
# <details><summary>Still stuck?</summary>
#
# Print all of them for `(x * w).grad_fn`, `x.sum(0).grad_fn` and the node of `picked` above. There are three kinds of values.
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
        By attribute name without `_saved_`. The tensor at place i of a tuple is `name[i]`: None keeps its place. The tensors
        themselves: no copies, not detached. What is no tensor is left out.
        Empty for the node of a custom `torch.autograd.Function`.

    Raises
    ------
    RuntimeError
        If the graph was released and the node had saved a tensor: PyTorch's own error, passed through.
    """
    ### BEGIN SOLUTION
    # Why this shape: a tuple and a single value are made alike first, as a dict of names and values, and then there is one rule
    # for both: keep the tensors. Numbering before filtering lets None keep its place. Nothing is caught: on a released graph
    # getattr raises PyTorch's own error, and no other words would be better.
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
class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / 2

    @staticmethod
    def backward(ctx, grad):
        return grad / 2


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
over = x.exp()
over.sum().backward()
check = Check("saved", points=3)
check("a product saves both factors", lambda: {key: tensor.detach() for key, tensor in saved((x * w).grad_fn).items()},
      {"other": torch.tensor([0.5, -1.0, 2.0]), "self": torch.tensor([1.0, 2.0, 3.0])},
      hint="Two entries, named by the attribute without its prefix: other and self.",
      wrong=[(lambda v: any(key.startswith("_") for key in v), "Take the prefix `_saved_` off the keys, and leave `_raw_saved_` alone."),
             (lambda v: any(key.startswith("raw") for key in v), "`_raw_saved_...` is the packed form of the same tensor. Leave it.")])
check("what is no tensor is left out", lambda: sorted(saved(x.sum(0).grad_fn)), [],
      hint="The sum saved a dimension and a shape, but no tensor.",
      wrong=[(lambda v: len(v) > 0, "A dimension, a flag and a shape are no tensors.")])
check("a tuple's tensors at their places", lambda: saved((x * torch.ones(2, 2, 3))[torch.tensor([1, 0]), :, torch.tensor([2, 0])].grad_fn),
      {"indices[0]": torch.tensor([1, 0]), "indices[2]": torch.tensor([2, 0])},
      hint="[rows, :, columns] saved the tuple (rows, None, columns): two tensors, at places 0 and 2.",
      wrong=[(lambda v: "indices[1]" in v, "Number the entries before you leave out None: the second tensor is at place 2."),
             (lambda v: "indices" in v, "Look inside a tuple: its tensors are name[i]."),
             (lambda v: len(v) == 1, "The tuple holds two tensors. Take every one, not only the first."),
             (lambda v: len(v) == 0, "A tuple may hold tensors. Look inside.")])
check("tensors of every kind", lambda: {kind: sorted(saved((leaf * leaf).grad_fn)) for kind, leaf in leaf_kinds().items()},
      {kind: ["other", "self"] for kind in ("a Parameter", "a view", "transposed", "no dimensions", "empty")},
      hint="A square saved its operand twice, whatever kind of tensor it is. isinstance(value, torch.Tensor) is true of all of them.",
      wrong=[(lambda v: v["a Parameter"] == [] and v["a view"] != [], "A Parameter is a tensor too: isinstance(value, torch.Tensor) is true of it.")])
check("a leaf's own node", lambda: saved((x * 2).grad_fn.next_functions[0][0]), {},
      hint="AccumulateGrad saved nothing. It holds its leaf in `.variable`, and that is no `_saved_` attribute.")
check("the tensors themselves", lambda: ["x" if tensor is x else "another tensor" for tensor in saved((x * x).grad_fn).values()], ["x", "x"],
      hint="Saving is a reference. Return what the attribute holds: no clone, no detach.")
check("nothing for a custom Function", lambda: saved(Half.apply(x).grad_fn), {},
      hint="A custom Function's node has no `_saved_` attributes. `saved_tensors` is another door: leave it.")
check.raises("a released graph raises PyTorch's error", lambda: saved(over.grad_fn), RuntimeError, match="second time|freed",
             hint="On a released graph PyTorch raises when you read what was saved. Let it through.")
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
line = torch.randn(8, requires_grad=True)
pick = torch.randint(0, 8, (3, 2))
picks = {"a Parameter": torch.nn.Parameter(pick[0], requires_grad=False), "a view": pick[1:], "transposed": pick.t().clone(),
         "no dimensions": pick[0, 0].clone(), "empty": torch.empty(0, dtype=torch.int64)}
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
check("a tuple with a tensor of every kind", lambda: {kind: saved(line.index_put((index,), torch.ones(())).grad_fn)["indices[0]"] for kind, index in picks.items()},
      {"a Parameter": pick[0], "a view": pick[1:], "transposed": pick.t(), "no dimensions": pick[0, 0], "empty": torch.empty(0, dtype=torch.int64)},
      hint="index_put saved a tuple with one index. The index may be a tensor of any kind: a Parameter, a view, transposed, without dimensions, without elements.")
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
# Write a function that draws a graph, with the graphviz package: `graphviz.Digraph()` is a drawing, `.node(name, label)` adds a box and
# `.edge(tail, head)` an arrow. It needs no `dot` program until it is shown. Names are strings; two boxes with one name are one box.
#
# <details><summary>Stuck?</summary>
#
# Go through the distinct nodes. Give each a name of its own, for instance its number in a dict. Then add one edge for each entry of
# its next_functions that is not None.
# </details>
# <details><summary>Still stuck?</summary>
#
# An edge may be added before its head has a box of its own: graphviz goes by names. So all of a node's edges can be added when you
# visit it.
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
        `str(tuple(leaf.shape))`; other labels contain `type(node).__name__`. Time linear in nodes and edges, at any depth.
    """
    ### BEGIN SOLUTION
    # Why this shape: it is `nodes` with two lines more. A number per node is a short name that no other node has, and the dict
    # that gives it is the set of seen nodes as well. Each node adds its own edges, when it is visited, so each edge comes once.
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


def counts(drawing):
    """How many boxes and arrows."""
    shown = picture(drawing)
    return [len(shown.labels), len(shown.edges)]


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
y = (x * w).sum()
chain = long_chain(150)
check = Check("draw", points=2)
check("one box per node", lambda: boxes(draw(y.grad_fn)), ["AccumulateGrad", "AccumulateGrad", "MulBackward0", "SumBackward0"],
      hint="Four boxes: the sum, the product, and one per leaf. Each label contains the node's type.",
      wrong=[(["AccumulateGrad", "MulBackward0", "SumBackward0"], "Two boxes became one: they have the same name. Give each node a name of its own."),
             (lambda v: any("no node" in kind for kind in v), "A label must contain type(node).__name__. An edge to a name without a box makes an empty box.")])
check("arrows go from a node to its next functions", lambda: arrows(draw(y.grad_fn)),
      [("MulBackward0", "AccumulateGrad"), ("MulBackward0", "AccumulateGrad"), ("SumBackward0", "MulBackward0")],
      hint="Three arrows: from the sum to the product, and from the product to each leaf.",
      wrong=[(lambda v: ("AccumulateGrad", "MulBackward0") in v, "Your arrows point from operand to result. Draw them the way next_functions points.")])
check("an operand that is used twice has two arrows", lambda: arrows(draw((x * x).grad_fn)), [("MulBackward0", "AccumulateGrad")] * 2,
      hint="x * x has two edges to one leaf. Draw both.",
      wrong=[(lambda v: len(v) == 1, "Parallel edges became one. Draw one per entry of next_functions, in a drawing that is not strict.")])
check("a leaf's label has its shape", lambda: shapes(draw((x * 2).grad_fn), ["(3,)"]), [["(3,)"]],
      hint="A leaf's label contains str(tuple(leaf.shape)), here (3,).",
      wrong=[([[]], "A leaf's label needs the shape as a tuple: str(tuple(leaf.shape)), not torch.Size([...]).")])
check("None has no box and no arrow", lambda: [boxes(draw((torch.ones(3) * x).grad_fn)), counts(draw((torch.ones(3) * x).grad_fn))],
      [["AccumulateGrad", "MulBackward0"], [2, 1]],
      hint="torch.ones(3) needs no gradient, so the first entry of next_functions is (None, 0). Skip it, and go on with the next.",
      wrong=[(lambda v: any("no node" in kind for kind in v[0]), "None is no node and has no box."),
             (AttributeError, "Where an operand needs no gradient, next_functions holds None. Skip it.")])
check.that("a node is looked up, not searched for", lambda: [steps_per_node(draw, 20), steps_per_node(draw, 80)], lambda steps: steps[1] - steps[0] <= 15,
           hint="Counted were the steps per node, on 20 nodes and on 80. They grow with the graph, so the work grows with the square of it: a search through a list looks at every entry. Use a set or a dict.")
check("a chain of 150 nodes, on a short stack", lambda: type(short_stack(lambda: draw(chain.grad_fn))).__name__, "Digraph",
      hint="150 negations and one leaf make a drawing like any other: return a graphviz.Digraph.",
      wrong={RecursionError: "Your function calls itself once per node, and Python's stack is not that deep. Keep your own list of nodes still to visit."})
check.that("twelve doublings take twelve visits", lambda: steps_per_node(draw, 12, width=2), lambda steps: steps <= 300,
           hint="Counted were the steps per node on twelve doublings: 13 nodes, but 2**12 paths. Visit every node once, not every path.")
### BEGIN HIDDEN TESTS
rows, cols = int(torch.randint(2, 90, ())), int(torch.randint(2, 90, ()))
z = torch.randn(rows, cols, requires_grad=True)
scalar = torch.randn((), requires_grad=True)
branches = int(torch.randint(20, 60, ()))
wide = torch.zeros(())
for _ in range(branches):
    wide = wide + z.exp().sin().sum()
check("both edges of x * x", lambda: arrows(draw((z * z).grad_fn)), [("MulBackward0", "AccumulateGrad")] * 2,
      hint="x * x has two edges to one leaf. Draw both.",
      wrong=[(lambda v: len(v) == 1, "Parallel edges became one. Draw one per entry of next_functions, in a drawing that is not strict."),
             ([("AccumulateGrad", "MulBackward0"), ("AccumulateGrad", "MulBackward0")], "Your arrows point from operand to result. Draw them the way next_functions points.")])
check("the shape of each leaf", lambda: shapes(draw((z * scalar).grad_fn), [str(tuple(z.shape)), str(tuple(scalar.shape))]),
      [["()"], [f"({rows}, {cols})"]],
      hint="A leaf's label contains str(tuple(leaf.shape)).",
      wrong=[(lambda v: v == [[], []], "A leaf's label needs the shape as a tuple: str(tuple(leaf.shape)), not torch.Size([...]).")])
check("many nodes of a few kinds", lambda: counts(draw(wide.grad_fn)),
      [4 * branches + 1, 5 * branches - 1],
      hint="One box for each operation, one for the leaf, none for a None; each branch adds its arrows.",
      wrong=[(lambda v: 1 < v[0] <= 5, "All nodes of one type became one box. Give each node a name of its own.")])
check("an operand without gradient is no box", lambda: boxes(draw((z * torch.randn(rows, cols)).exp().grad_fn)),
      ["AccumulateGrad", "ExpBackward0", "MulBackward0"],
      hint="Where an operand needs no gradient, next_functions holds None. Skip it.",
      wrong=[(lambda v: any("no node" in kind for kind in v), "None is no node and has no box.")])
check("one drawing after another", lambda: [boxes(drawing) for drawing in (draw(torch.stack([z, z.exp(), z.sin()]).sum().grad_fn), draw(z.exp().grad_fn))],
      [["AccumulateGrad", "ExpBackward0", "SinBackward0", "StackBackward0", "SumBackward0"], ["AccumulateGrad", "ExpBackward0"]],
      hint="Two drawings, one after the other: an operation of three operands, then one of one. Go through all of next_functions, and let each call make a drawing of its own.")
check.that("looked up on longer chains, too", lambda: [steps_per_node(draw, 40), steps_per_node(draw, 120)], lambda steps: steps[1] - steps[0] <= 20,
           hint="The steps per node grow with the graph, so the work grows with the square of it: a search through a list looks at every entry. Use a set or a dict.")
check("as deep as you like", lambda: counts(short_stack(lambda: draw((chain * scalar).sin().grad_fn), 90)), [154, 153],
      hint="150 negations and their leaf, a product with a leaf of its own, and a sine.",
      wrong={RecursionError: "Your function calls itself once per node, and Python's stack is not that deep. Keep your own list of nodes still to visit."})
check("sixty doublings", lambda: counts(draw(doublings(60, scalar).grad_fn)), [61, 120], limit=2,
      hint="There are 61 nodes, 120 edges and 2**60 paths. Visit every node once.",
      wrong=[(lambda v: 1 < v[0] < 61, "Several boxes became one: they have the same name. Give each node a name of its own."),
             (lambda v: v[1] == 60, "Parallel edges became one. Draw one per entry of next_functions, in a drawing that is not strict.")])
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 5. What a node computes
#
# Backward hands a node one number per element of its output: how much the loss changes when that element changes. The node must
# return one number per element of each operand. What does it do in between?
#
# The cell below has an operation with three inputs and three outputs, the running product `cumprod`. Its derivatives make a table, the
# **Jacobian**: row i says how output i changes with each input.
#
# **Predict.** A node can be called by hand. The cell calls this one with `[1, 0, 0]`, `[0, 0, 1]` and `[1, 1, 1]`. Which rows of the table
# will you see, and what comes of the third call?

# %% tags=["demo"]
v = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
out = v.cumprod(0)
table = torch.autograd.functional.jacobian(lambda u: u.cumprod(0), v)
print("out =", out.tolist())
for i, row in enumerate(table.tolist()):
    print(f"  d out[{i}] / d v =", row)
for vector in ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]):
    vector = torch.tensor(vector)
    print("the node, called with", vector.tolist(), "->", out.grad_fn(vector).tolist(), "| vector @ table:", (vector @ table).tolist())

# %% [markdown]
# **Explain.** The first two calls pick a row each. The third adds up all three rows. A node multiplies the vector that arrives
# with the Jacobian of its operation: it computes a **vector-Jacobian product**, VJP for short. A backward pass is made of such products, one after the
# other from the loss down, and of sums where paths meet. That is the chain rule.
#
# A node never builds the table. The next cell says what that would cost for one `exp` of a million numbers, and what the node does instead.

# %% tags=["demo"]
u = torch.randn(1_000_000, requires_grad=True)
result = u.exp()
arrives = torch.randn(1_000_000)
print(f"the Jacobian of exp would take {result.numel() * u.numel() * 4 / 1e12:.0f} TB, nearly all of it zeros")
print(f"the vector and the saved result take {arrives.nbytes / 1e6:.0f} MB each")
print("the node multiplies the two:", torch.equal(result.grad_fn(arrives), arrives * result))

# %% [markdown]
# Three things follow.
#
# - **Why a loss is one number.** Its Jacobian has one row, and the vector is `[1]`. For an output of more elements you have to
#   say which mixture of rows you want: that is the argument of `out.backward(vector)`, and the `grad_outputs` of `torch.autograd.grad`.
# - **Why one backward is enough for a million parameters.** The vector comes in from the loss and picks up one node's table after the
#   other. A whole Jacobian takes one backward pass per output instead.
# - **What you write when you write a backward.** A function from the vector to the VJP, from what you saved, without the table.
#   [Chapter 04](../04-custom-function/04-custom-function.ipynb) is about that.

# %% [markdown]
# ## 6. Recorded anew, every time
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
# is a straight line, and Python did the branching. This is what "dynamic graph" means. Three things follow:
#
# - the gradient is that of the branch that was taken, as if the condition were a constant;
# - a debugger, `print`, or any Python works inside the forward pass;
# - each step pays for the memory of its graph, from the forward pass until backward or until the result is dropped.

# %% [markdown]
# ## 7. Backward walks the graph
#
# `y.backward()` hands the gradient 1 to the root node. A node turns the gradient of its output into gradients of its
# operands and passes them on. There is one rule: **a node runs once, after all its consumers have run**. The vector that it
# needs is the sum of what they send.
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
# **Explain.** MulBackward0 waited for both of its consumers. Among operations that are ready, the one that was recorded last goes
# first: `sin` was called after `exp`, so its node runs before. An AccumulateGrad that is ready goes before all of them. You need not
# remember which of two ready nodes goes first. Remember that a shared node waits, because it needs a sum. (In
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
# ## 8. Gradients add up
#
# **Predict.** The cell computes the same loss again and calls backward a second time, on a new graph. What is `x.grad` afterwards?

# %% tags=["demo"]
guess = None

(x * w).sum().backward()
print(f"x.grad: {x.grad.tolist()}, you said {guess}")

# %% [markdown]
# **Explain.** AccumulateGrad *adds* to what is there already, and what is there came from an earlier backward.
#
# Do not mix this up with the sum of section 7. **Predict.** A leaf is used three times in one loss. How often does its AccumulateGrad run,
# and with what?

# %% tags=["demo"]
thrice = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
loss = (thrice * 2 + thrice * 3 + thrice).sum()
accumulator = torch.autograd.graph.get_gradient_edge(thrice).node
hook = accumulator.register_prehook(lambda grads: print("AccumulateGrad runs, with", grads[0].tolist()))
loss.backward()
hook.remove()

# %% [markdown]
# It runs once, with the sum. Within one pass the engine adds up whatever meets at a node, before the node runs. Only *several passes* need
# AccumulateGrad to add: a batch that was cut into micro-batches, or two losses with a graph each. So gradient accumulation is a loop
# around `backward()`, with the loss divided by the number of rounds where it is a mean. And so a training loop has to clear gradients.
#
# The figure shows what happens to one that does not. It is the same descent on (v − 3)², with and without clearing.

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
# One more thing in that cell: the update is under `torch.no_grad()`. Outside of it PyTorch refuses to change a leaf in
# place, because the change itself would have to be recorded.

# %% [markdown]
# ### Exercise: descend
#
# Difficulty: ●●●○○ · 15 minutes
#
# Write plain gradient descent: `p ← p − lr · ∂loss/∂p`, for each parameter, in place, as often as asked.
#
# <details><summary>Stuck?</summary>
#
# In each step: compute the loss once, note it as a float, get the gradients, update under `torch.no_grad()` with an operation
# that ends in `_` or with `-=`.
# </details>
# <details><summary>Still stuck?</summary>
#
# Ask yourself of every parameter what lies in its `.grad` before the first backward, and what lies there after a backward whose loss
# does not use it.
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
    # Why this shape: gradients are set to None before the first step and right after each use, so that backward never adds to
    # anything old and nothing is left at the end. None also tells which parameters the loss did not use. All gradients are there
    # before the first parameter changes, since backward has run for all of them.
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


def idle_too(start, stays):
    """One step on (v - 3)**2 with a parameter before v that the loss does not use: where both end."""
    idle, v = (torch.tensor(values, requires_grad=True) for values in ([stays], start))
    descend([idle, v], lambda: ((v - 3) ** 2).sum(), 0.25, 1)
    return [v.tolist(), idle.tolist()]


def calls_in(steps):
    """How often the loss is computed."""
    v, u, calls = torch.ones(1, requires_grad=True), torch.ones(2, requires_grad=True), []

    def loss_fn():
        calls.append(len(calls))
        return (v ** 2).sum() + u.sum()

    descend([v, u], loss_fn, 0.1, steps)
    return len(calls)


def every_kind():
    """One step of size 1 on half the squares, with something stale in .grad: how far each leaf ends from 0, and its gradient."""
    kinds = leaf_kinds()
    for leaf in kinds.values():
        leaf.grad = torch.ones_like(leaf)
    descend(list(kinds.values()), lambda: sum((leaf ** 2).sum() for leaf in kinds.values()) / 2, 1.0, 1)
    return {kind: [0.0 if number is None else number.abs().sum().item() for number in (leaf, leaf.grad)] for kind, leaf in kinds.items()}


check = Check("descend", points=3)
check("the loss before each step", lambda: parabola([1.0], 0.25, 3)["losses"], [4.0, 1.0, 0.25],
      hint="From v = 1 with lr = 0.25 the distance to 3 halves in each step: 2, 1, 0.5, so the losses are 4, 1, 0.25.",
      wrong=[(lambda v: v == [1.0, 0.25, 0.0625], "That is the loss after each step. Note the loss first, then step."),
             (lambda v: v == [4.0, 4.0, 4.0], "The parameter never changed. `p = p - ...` makes a new tensor; update the one you were given."),
             (lambda v: v == [4.0, 1.0, 0.25], "Return a list of floats: loss.item() makes one of a tensor."),
             (RuntimeError, "A leaf that requires a gradient may be changed in place only under torch.no_grad(), and a loss needs a graph, so compute it outside.")])
check("the parameter itself moves", lambda: parabola([1.0], 0.25, 2)["v"].tolist(), [2.5],
      hint="After two steps v is 2.5, in the memory that it had.",
      wrong=[(lambda v: v == [1.0], "Nothing was written into v's memory. `p = p - ...` makes a new tensor, and `p.data = ...` gives p other memory. Write into the one you were given."),
             (lambda v: v == [3.5], "The second step went wrong: the gradient of the first step is still in .grad."),
             (RuntimeError, "A leaf may be changed in place only under torch.no_grad().")])
check("a gradient found there is ignored, and gone afterwards", lambda: [parabola([1.0], 0.25, 1, stale=100.0)[key] for key in ("v", "left")], [torch.tensor([2.0], dtype=torch.float64), 0.0],
      hint="v goes from 1 to 2, and its .grad is None or zero afterwards.",
      wrong=[(lambda v: v[0] == [-23.0], "Something may lie in .grad before the first step. backward adds to it: clear it first."),
             (lambda v: v[0] == [2.0] and v[1] != 0, "The step is right, but a gradient is left. Clear it after the last step too.")])
check("a parameter that the loss does not use stays", lambda: idle_too([1.0], 7.0), [[2.0], [7.0]],
      hint="The loss uses v, which comes last, and not idle, which comes first. v goes from 1 to 2, idle stays at 7.",
      wrong=[(TypeError, "A parameter that the loss does not use has no gradient: it is None. Skip it."),
             ([[1.0], [7.0]], "v was not changed. If you end the loop at the parameter that the loss does not use, go on with the next instead."),
             (RuntimeError, "Two causes are common: a leaf was changed outside torch.no_grad(), or autograd.grad met a parameter that the loss does not use. It needs allow_unused=True; then skip the None.")])
check("parameters of every kind", lambda: every_kind(), {kind: [0.0, 0.0] for kind in ("a Parameter", "a view", "transposed", "no dimensions", "empty")},
      hint="One step goes from p to p - 1 * p, which is 0, and no gradient is left: for a Parameter, a view, a transposed tensor, one without dimensions and one without elements alike.",
      wrong=[(lambda v: v["a Parameter"] != [0.0, 0.0] and v["a view"] == v["transposed"] == v["no dimensions"] == [0.0, 0.0], "A Parameter is a parameter like any other: clear its .grad, step, and clear it again.")])
check("loss_fn is called once per step", lambda: [calls_in(3), calls_in(0)], [3, 0],
      hint="loss_fn is costly. Call it once per step, and use that loss for its value and for the gradients of all parameters. With steps = 0 nothing is computed.")
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
      wrong=[(lambda v: v[1] == [[0.5, 0.5], [0.5, 0.5]], "b, which comes last, was not changed. If you end the loop at the parameter that the loss does not use, go on with the next instead."),
             (TypeError, "A parameter that the loss does not use has no gradient: it is None. Skip it."),
             (RuntimeError, "Two causes are common: a leaf was changed outside torch.no_grad(), or autograd.grad met a parameter that the loss does not use. It needs allow_unused=True; then skip the None.")])
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
# ## 9. Hooks: your code inside backward
#
# A **hook** is a function of yours that backward calls on its way. There are three places to hang one.
#
# | call | when it runs | what it gets | for what |
# |---|---|---|---|
# | `tensor.register_hook(f)` | when the gradient of this tensor is complete | the gradient; what `f` returns goes on in its place | to look at a gradient, to scale or clip it |
# | `leaf.register_post_accumulate_grad_hook(f)` | after `.grad` of this leaf was written | the leaf | to send a gradient away, or to use it up, while backward goes on |
# | `node.register_hook(f)`, `node.register_prehook(f)` | after the node, before the node | gradients of its operands and of its output; of its output | for tools, as in sections 7 and 8 |
#
# **Predict.** Three layers, one after the other, and a hook on each weight. Which weight's gradient is ready first? How many of the three
# layers has backward been through by then?

# %% tags=["demo"]
torch.manual_seed(4)
layers = [torch.randn(8, 8, requires_grad=True) for _ in range(3)]
activation = torch.randn(2, 8)
for number, layer in enumerate(layers):
    activation = (activation @ layer).relu()
    activation.register_hook(lambda grad, number=number: print(f"the gradient of activation {number} has arrived, {tuple(grad.shape)}"))
    layer.register_post_accumulate_grad_hook(lambda leaf, number=number: print(f"    layer {number} has its .grad"))
activation.sum().backward()

# %% [markdown]
# **Explain.** The last layer's gradient is complete first, while backward still has two layers to go. Distributed training lives on that
# gap. `DistributedDataParallel` hangs hooks on the AccumulateGrad nodes: as soon as all gradients of a bucket are there, it starts to
# average them over the machines, and backward goes on meanwhile. `fully_shard` (FSDP) hangs a tensor hook on a module's outputs. When the
# gradient arrives there, it fetches the weights of that module, which it had let go after the forward pass.
#
# The second use is memory. A gradient that is used up in a hook need not wait for the others.
#
# **Predict.** The same three layers. The hook steps its weight and drops the gradient. How many gradients are there after each hook?

# %% tags=["demo"]
torch.manual_seed(4)
layers = [torch.randn(8, 8, requires_grad=True) for _ in range(3)]


def step_and_drop(leaf):
    with torch.no_grad():
        leaf -= 0.1 * leaf.grad
    alive = sum(layer.grad is not None for layer in layers)
    leaf.grad = None
    print(f"{alive} gradient in memory, then {sum(layer.grad is not None for layer in layers)}")


for layer in layers:
    layer.register_post_accumulate_grad_hook(step_and_drop)
activation = torch.randn(2, 8)
for layer in layers:
    activation = (activation @ layer).relu()
activation.sum().backward()

# %% [markdown]
# Never more than one. A loop with `optimizer.step()` after backward holds all of them at once. What you give up is everything that needs all gradients
# together, such as clipping by their common norm.
#
# Three rules for hooks. A tensor hook must not change its gradient in place: return a new one. A hook lives as long as its tensor, so keep the
# handle and call `.remove()` on it. And a tensor hook runs when backward comes by; the gradient itself is kept only for leaves, or after
# `.retain_grad()`.

# %% [markdown]
# ## 10. After backward the graph is spent
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
# **Predict.** The next loss has two parts, one that saved tensors and one that saved none. A second backward fails. What will the gradients be
# after it: as they were, or changed?

# %% tags=["demo"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
b = torch.zeros(3, requires_grad=True)
loss = (x * w).sum() + b.sum()
loss.backward()
print("after the first: ", {"x": x.grad.tolist(), "b": b.grad.tolist()})
try:
    loss.backward()
except RuntimeError as error:
    print("the second fails:", str(error)[:55], "...")
print("after the second:", {"x": x.grad.tolist(), "b": b.grad.tolist()})

# %% [markdown]
# **Explain.** `b.grad` has doubled, `x.grad` has not. Backward met the part of `b` first, and nothing undoes what has run before the error. So
# whoever catches this error and goes on trains with gradients that are partly wrong. Clear them first.
#
# When you meet this error in training, the question is not where to put `retain_graph=True`. It is *which tensor is left over from
# the last step*: a hidden state that was not detached, a loss added to a running sum, a cached forward pass. Retaining hides it at best, and the
# graph grows with each step. More often it only changes the message: the optimizer has changed the weights in place meanwhile, and the old graph
# had saved them.

# %% [markdown]
# ### Exercise: twice
#
# Difficulty: ●●●○○ · 12 minutes
#
# Write a function that runs backward twice through one graph, on purpose, and leaves nothing behind.
#
# <details><summary>Stuck?</summary>
#
# `torch.autograd.grad(loss, params)` returns gradients and leaves `.grad` alone. It releases the graph as backward does, unless
# told not to.
# </details>
# <details><summary>Still stuck?</summary>
#
# Which of the two passes has to keep the graph, and which has to release it? `help(torch.autograd.grad)` lists the arguments.
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
    # Why this shape: autograd.grad hands gradients out and writes no .grad, so there is nothing to set aside and put back, and no
    # sum to take apart. retain_graph stands at the first pass alone: the last one to need a graph should release it.
    first = torch.autograd.grad(loss, params, retain_graph=True)
    second = torch.autograd.grad(loss, params)
    return list(first), list(second)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "check-twice", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
class Tally(torch.autograd.Function):
    """The identity. It notes each backward pass that goes through it, and multiplies the gradient by the number of the pass."""

    @staticmethod
    def forward(ctx, x, notes):
        ctx.notes = notes
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        ctx.notes.append(len(ctx.notes))
        return grad * len(ctx.notes), None


def product():
    """The loss of section 1, and its leaves."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    return (x * w).sum(), [x, w]


def found_before(*found):
    """What .grad holds afterwards, and what the tensors hold that were there before."""
    loss, params = product()
    for param, grad in zip(params, found):
        param.grad = None if grad is None else torch.full((3,), grad)
    held = [param.grad for param in params]
    twice(loss, params)
    return [[None if grad is None else grad.tolist() for grad in grads] for grads in ([param.grad for param in params], held)]


def numbered():
    """What twice returns where the gradient is the number of the pass."""
    v = torch.ones(3, requires_grad=True)
    return twice(Tally.apply(v, []).sum(), [v])


def every_kind():
    """How far gradients, and the .grad found before, are from what they must be."""
    kinds = leaf_kinds()
    for leaf in kinds.values():
        leaf.grad = torch.full_like(leaf, 7.0)
    passes = twice(sum((leaf ** 2).sum() for leaf in kinds.values()) / 2, list(kinds.values()))
    return {kind: [(one - leaf).abs().sum().item(), (two - leaf).abs().sum().item(), (leaf.grad - 7).abs().sum().item()]
            for (kind, leaf), one, two in zip(kinds.items(), *passes)}


def third_pass():
    loss, params = product()
    twice(loss, params)
    return torch.autograd.grad(loss, params)


check = Check("twice", points=3)
check("the first pass", lambda: twice(*product())[0], [torch.tensor([0.5, -1.0, 2.0]), torch.tensor([1.0, 2.0, 3.0])],
      hint="The gradient of x is w, that of w is x.",
      wrong=[(lambda v: v == ([0.5, -1.0, 2.0], [1.0, 2.0, 3.0]), "Return two lists: list(...) makes one of a tuple."),
             ([[1.0, -2.0, 4.0], [2.0, 4.0, 6.0]],
              "That is the sum of two passes: .grad accumulates, and you handed out the tensor itself. Copy it, or use torch.autograd.grad."),
             (AttributeError, "A parameter's .grad may be None. If you clear or copy it, ask first; torch.autograd.grad spares you the question."),
             (RuntimeError, "The first pass must keep the graph for the second: retain_graph=True.")])
check("the second pass", lambda: twice(*product())[1], [torch.tensor([0.5, -1.0, 2.0]), torch.tensor([1.0, 2.0, 3.0])],
      hint="The same gradients again, not their sum.",
      wrong=[(lambda v: v == ([0.5, -1.0, 2.0], [1.0, 2.0, 3.0]), "Return two lists: list(...) makes one of a tuple."),
             ([[1.0, -2.0, 4.0], [2.0, 4.0, 6.0]],
              "That is the sum of two passes: .grad accumulates. Clear it in between, or use torch.autograd.grad."),
             (RuntimeError, "The first pass must keep the graph for the second: retain_graph=True.")])
check("the graph is run through twice", lambda: numbered(), ([torch.tensor([1.0, 1.0, 1.0])], [torch.tensor([2.0, 2.0, 2.0])]),
      hint="Two real passes, in a tuple, the first one first. The node here multiplies the gradient by the number of the pass.",
      wrong=[(([[1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0]]), "The graph was run through once, and its result handed out twice."),
             (([[2.0, 2.0, 2.0]], [[1.0, 1.0, 1.0]]), "The gradients of the first pass come first."),
             (([[3.0, 3.0, 3.0]], [[3.0, 3.0, 3.0]]), "1 + 2: that is the sum of two passes. .grad accumulates; clear it in between, or use torch.autograd.grad."),
             (lambda v: list(v) == [[[1.0] * 3], [[2.0] * 3]], "The two lists belong in a tuple."),
             (AttributeError, "A parameter's .grad may be None. If you clear or copy it, ask first; torch.autograd.grad spares you the question."),
             (RuntimeError, "The first pass must keep the graph for the second: retain_graph=True.")])
check("parameters of every kind", lambda: every_kind(), {kind: [0.0] * 3 for kind in ("a Parameter", "a view", "transposed", "no dimensions", "empty")},
      hint="Zeros where both gradients are right and .grad is as it was. A Parameter, a view, a transposed tensor, one without dimensions and one without elements are all treated alike.",
      wrong=[(lambda v: v["a Parameter"] != [0.0] * 3 and v["a view"] == v["transposed"] == v["no dimensions"] == [0.0] * 3, "A Parameter is a parameter like any other: set its .grad aside, too."),
             (RuntimeError, "The first pass must keep the graph for the second: retain_graph=True.")])
check("no gradient has a grad_fn", lambda: [type(grad.grad_fn).__name__ for grads in twice(*product()) for grad in grads], ["NoneType"] * 4,
      hint="Gradients are data here. create_graph=True records the backward pass as well: use retain_graph=True.",
      wrong=[(RuntimeError, "The first pass must keep the graph for the second: retain_graph=True.")])
check("every .grad is as it was found", lambda: found_before(None, 7.0), [[None, [7.0] * 3]] * 2,
      hint="x.grad was None, w.grad was a tensor of sevens. Both must be so again, and that tensor must still hold sevens: backward adds to it in place. Set it aside, with .grad = None, before the first pass, or use torch.autograd.grad.",
      wrong=[(AttributeError, "A parameter's .grad may be None. If you clear or copy it, ask first; torch.autograd.grad spares you the question."), (RuntimeError, "The first pass must keep the graph for the second: retain_graph=True.")])
check.raises("afterwards the graph is released", lambda: third_pass(), RuntimeError, match="second time|freed",
             hint="The graph is still there. Retain it in the first pass only; the second one releases it.")
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


def broadcast():
    """A loss of leaves that were broadcast."""
    params = [torch.randn(shape, requires_grad=True) for shape in ((), (2, 1), (5,))]
    return (params[0] * params[1] * params[2]).exp().sum(), params


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
      [[[number * values["b"] * values["c"], number * values["a"] * values["c"], values["a"] * values["b"]][i] for i in order] for number in (1, 2)],
      hint="Two lists, the first pass first, with one gradient per parameter in the order in which the parameters were given. Neither is the sum of both. One node multiplies by the number of the pass.",
      wrong={RuntimeError: "The first pass must keep the graph for the second: retain_graph=True."})
check("each gradient has its parameter's shape", lambda: [[list(grad.shape) for grad in grads] for grads in twice(*broadcast())], [[[], [2, 1], [5]]] * 2,
      hint="A parameter that was broadcast has a gradient of its own shape.",
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
# ## 11. The graph of a training step
#
# You can now draw it without running anything. Here is the recipe:
#
# 1. Each operation of the forward pass is a box. The last one is on top.
# 2. From each box goes one arrow per operand that needs a gradient: to the box that made it, or to a leaf.
# 3. Data and frozen tensors get no arrow.
# 4. Into each box goes what its derivative needs: a product keeps each factor whose *other* factor needs a gradient, an addition nothing, relu its result.
# 5. What belongs to a leaf costs nothing more. The rest is memory that the graph holds on to.
#
# **Predict.** On paper, draw the graph of the step below: two layers, a relu and a cross-entropy. Count boxes and leaves, and shade the boxes
# that will be amber. Then run the cell and compare.

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
# the log-probabilities. The second keeps its result, which is the same tensor, so its bytes are written once. Each layer is an addition over a
# product. The upper product keeps both factors: `w2`, a weight, by reference, and `hidden`, an activation, which is amber. The lower one keeps
# `images` alone, for the gradient of `w1`. It would need `w1` only for the gradient of `images`, and nobody asks for that. The relu keeps its
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
# The small `v1` at the leaves is a **version counter**. It counts changes in place, and here it counted our update. Suppose we had
# retained the graph and called backward again after the update. PyTorch would have compared counters and refused, since the
# weights it had saved are no longer the ones that made the loss. [Chapter 04](../04-custom-function/04-custom-function.ipynb) comes back to it.

# %% [markdown]
# ## On a GPU
#
# The call that launches a kernel also records its node, at once, on the host. The kernel runs later. So the graph is complete, with all its saved
# tensors, while the numbers in them are still being computed.
#
# You can see that without a GPU. On PyTorch's device `meta` tensors have shapes and no numbers, and no kernel ever runs. **Predict.** Will there be
# a graph for eight products of 4096 × 4096 matrices on `meta`? How many bytes will it keep?

# %% tags=["demo"]
weights = [torch.empty(4096, 4096, device="meta", requires_grad=True) for _ in range(8)]


def eight_products():
    result = torch.empty(4096, 4096, device="meta")
    for weight in weights:
        result = result @ weight / 4096**0.5
    return result.sum()


ledger = saved_ledger(eight_products, params=weights)
print(eight_products())
print(f"it keeps {len(ledger.storages)} activations, {ledger.storage_bytes / 2**20:.0f} MiB, without a single number")

# %% [markdown]
# On a GPU the same chain takes the same bytes, besides the weights and their gradients. `launch_times()` runs it there and times both ends: when the
# call returns, and when the GPU has finished. Expect the forward call to return long before the GPU has finished, and backward alike. Whoever times a step
# without `torch.cuda.synchronize()` measures the first figure and reports it as the second.

# %% tags=["demo"]
if device().type == "cuda":
    for name, times in launch_times().items():
        print(f"{name}: returns after {times['returns']:.2f} ms, finished after {times['finished']:.2f} ms")
show_recording("01-launches")

# %% [markdown]
# ## Help, I get this error
#
# <details><summary><code>'NoneType' object has no attribute 'next_functions'</code></summary>
#
# You followed an edge that is None, or asked a leaf for its graph: `leaf.grad_fn` is None. Skip None edges, and start from a tensor that an
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
# Section 10. Find the tensor that is left over from an earlier step, and detach it. Clear the gradients: some may have been added already.
# </details>
# <details><summary><code>a leaf Variable that requires grad is being used in an in-place operation</code></summary>
#
# You changed a parameter in place while PyTorch was recording. Put the update under `torch.no_grad()`.
# </details>
# <details><summary><code>The .grad attribute of a Tensor that is not a leaf Tensor is being accessed</code> (a warning)</summary>
#
# You asked an activation for its gradient. Only leaves keep theirs. Call `.retain_grad()` on it before backward, or ask for it with
# `torch.autograd.grad`.
# </details>
# <details><summary><code>maximum recursion depth exceeded</code></summary>
#
# Your function calls itself once per node of a chain. Keep a list of nodes still to visit.
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
# the weights live anyway. References to activations are what keeps them alive, and that is the extra memory. Backward runs each node once,
# after all its consumers, and adds the result into the leaves' `.grad`. When a node has run it lets its saved tensors go. So a
# second backward raises at the first node that wants one, and passes where no node had saved any. `retain_graph=True` keeps the saved tensors, and their
# memory, for another pass.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# 1. The forward pass records a graph: a node per operation, an edge per operand that needs a gradient, an AccumulateGrad per leaf. It is a DAG: visit nodes, not paths.
# 2. Nodes save what their derivative needs, by reference: leaves cost nothing more, activations their full size.
# 3. A node turns a vector into a vector-Jacobian product. It never builds the Jacobian.
# 4. Backward runs each node once, after all its consumers, calls your hooks on the way, and adds into `.grad`. Nobody clears that but you.
# 5. Backward releases what was saved. A second pass needs `retain_graph=True`, and mostly you should not need one.
