# %% [markdown]
# # 05 - no_grad and inference_mode
# [![Open In Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/YOUR-NAME/YOUR-REPOSITORY/blob/main/notebooks/05-inference-mode/05-inference-mode.ipynb)
#
# Reinforcement learning runs the same weights twice: a rollout that needs no graph, and a training step that does. What the rollout made goes into the loss. Then a review asks
# "why not inference_mode here?", somebody changes one word, and training stops with *Inference tensors cannot be saved for backward*. After this chapter you can
#
# - say exactly what `no_grad` turns off, and what `inference_mode` turns off in addition;
# - predict which later use of an inference tensor raises and which passes;
# - hand a rollout over to training, whatever container it comes in;
# - measure what the modes cost, and write generators and decorators that do not leak a mode.
#
# Time: about 135 minutes, 90 of them for the exercises. You need chapter 01; chapter 04 section 2 (version counters) helps.
#
# **May you skip it?** Try these first.
#
# <details><summary>1. <code>x</code> is an inference tensor, <code>w</code> a parameter. Which of <code>x + w</code> and <code>x * w</code> raises, outside inference mode?</summary>
#
# The product: it has to save `x` for the gradient of `w`. An addition saves nothing.
# </details>
# <details><summary>2. Does <code>x.detach()</code> make an inference tensor ordinary? Does <code>x.clone()</code>?</summary>
#
# `detach` never. `clone` does, outside inference mode. Inside, the clone is an inference tensor again.
# </details>
# <details><summary>3. A generator has <code>with torch.no_grad(): yield model(x)</code>. What is wrong?</summary>
#
# While it is suspended at the `yield`, its caller runs with gradients off.
# </details>

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
try:
    import autograder.lab
except ImportError:  # on Colab: only this project, nothing that is already there is touched
    import subprocess, sys
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps",
                    "git+https://github.com/YOUR-NAME/YOUR-REPOSITORY"], check=True)
import collections
import dataclasses
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext

import torch

from autograder.lab import Check, TruthTable, fake_clock, mode_costs, show_recording

# %% [markdown]
# ## 1. Two switches
#
# There are two thread-local switches. *Grad mode* says whether operations are recorded. *Inference mode* says whether tensors get what autograd would need to know about them later.
#
# **Predict.** `w` requires a gradient. For `y = w * 2` under each mode: does `y` require a gradient? Has it a `grad_fn`? Can you read its version counter?

# %% tags=["demo"]
w = torch.ones(3, requires_grad=True)
for name, mode in [("grad", nullcontext()), ("no_grad", torch.no_grad()), ("inference_mode", torch.inference_mode())]:
    with mode:
        y = w * 2
    try:
        version = y._version
    except RuntimeError as error:
        version = f"RuntimeError: {error}"
    print(f"{name:<15} requires_grad {y.requires_grad!s:<6} grad_fn {type(y.grad_fn).__name__:<13} is_inference {y.is_inference()!s:<6} _version {version}")

# %% [markdown]
# **Explain.** Both modes leave `y` without a graph. Only the third line shows a tensor of another kind: an *inference tensor*, without a version counter. It stays one after the `with` block. `no_grad` is a
# property of a stretch of code, inference is a property of the *tensor*.
#
# ### What the version counter and view tracking are for
#
# **Predict.** `base` is ordinary. Three views of it are made, one per mode, and each is then edited in place. Does `base._version` count all three edits? And does each view know that it is one?

# %% tags=["demo"]
base = torch.zeros(4)
for name, mode in [("grad", nullcontext()), ("no_grad", torch.no_grad()), ("inference_mode", torch.inference_mode())]:
    with mode:
        view = base[:2]
        view.add_(1)
    print(f"{name:<15} view of an ordinary tensor:   is_view {view._is_view()!s:<6} is_inference {view.is_inference()!s:<6} base._version {base._version}")

with torch.inference_mode():
    base = torch.zeros(4)
    view = base[:2]
print(f"{'inference_mode':<15} view of an inference tensor: is_view {view._is_view()!s:<6} is_inference {view.is_inference()}")

# %% [markdown]
# **Explain.** Kind is decided where memory is born. A view of an *ordinary* tensor is ordinary and tracked in every mode: base and view share one version counter. Memory allocated inside inference mode is inference
# memory, and its views are not tracked, for there is nobody to tell.
#
# That is also what inference mode saves: per tensor no version counter, per view no view record, per operation one layer less of dispatch.
#
# One trap with views remains. A view made without gradients, later edited where gradients are on, is refused, because it is unclear which graph should be corrected:

# %% tags=["demo"]
for name, mode in [("no_grad", torch.no_grad()), ("inference_mode", torch.inference_mode())]:
    base = torch.zeros(4)
    with mode:
        view = base[:2]
    try:
        view.mul_(w[:2])
    except RuntimeError as error:
        print(f"{name:<15}", str(error).split(". ")[0])

# %% [markdown]
# ### Exercise: describe
#
# A function for code reviews: everything about a tensor that this chapter speaks of.
#
# Difficulty: ●○○○○ &nbsp; Time: 10 minutes

# %% nbgrader={"grade": false, "grade_id": "describe", "locked": false, "schema_version": 3, "solution": true, "task": false}
def describe(t: torch.Tensor) -> dict[str, bool]:
    """What autograd knows about a tensor.

    Returns
    -------
    dict
        Keys requires_grad, is_leaf, is_inference, is_view (`t._is_view()`), has_version (whether reading `t._version`
        succeeds). A property that torch refuses to report is False. Never raises for a tensor.
    """
    ### BEGIN SOLUTION
    try:
        t._version
        has_version = True
    except RuntimeError:
        has_version = False
    return {"requires_grad": t.requires_grad, "is_leaf": t.is_leaf, "is_inference": t.is_inference(), "is_view": t._is_view(),
            "has_version": has_version}
    ### END SOLUTION

# %% [markdown]
# <details><summary>Stuck?</summary>
#
# Four of the five are one expression each. `is_inference` and `_is_view` are methods, the others are attributes.
# </details>
# <details><summary>Still stuck?</summary>
#
# Reading `t._version` of an inference tensor raises a RuntimeError. Put it into `try` / `except`.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-describe", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def inference(*shape):
    with torch.inference_mode():
        return torch.randn(*shape)

leaf = torch.randn(3, requires_grad=True)

check = Check("describe", points=3)
check("a parameter", lambda: describe(leaf), {"requires_grad": True, "is_leaf": True, "is_inference": False, "is_view": False, "has_version": True},
      wrong=[(lambda v: v["has_version"] is False, "has_version asks whether the counter can be read, not what it shows.")],
      hint="Five bools, with exactly these keys.")
check("a result", lambda: describe(leaf * 2), {"requires_grad": True, "is_leaf": False, "is_inference": False, "is_view": False, "has_version": True})
check("an inference tensor", lambda: describe(inference(3)), {"requires_grad": False, "is_leaf": True, "is_inference": True, "is_view": False, "has_version": False},
      wrong=[(RuntimeError, "Reading _version of an inference tensor raises. That means has_version is False."),
             (lambda v: not v["is_leaf"], "A tensor without history is a leaf, whether it requires a gradient or not: t.is_leaf.")])
### BEGIN HIDDEN TESTS
size = int(torch.randint(4, 9, ()))

def made_inside():
    """Views of one ordinary tensor, and a fresh tensor, described while inference mode is on."""
    base = torch.zeros(size)
    with torch.inference_mode():
        return [describe(base), describe(base[1:]), describe(torch.zeros(size)), describe(torch.zeros(size, requires_grad=True))]

def twenty():
    """Twenty tensors of one shape that live no longer than a call: every second one is a view."""
    return [describe(torch.zeros(size)[:] if i % 2 else torch.zeros(size))["is_view"] for i in range(20)]

def changed():
    """One tensor before and after it is asked to require a gradient, and its version after both."""
    t = torch.zeros(size)
    before = describe(t)
    after = describe(t.requires_grad_())
    return [before["requires_grad"], after["requires_grad"], t._version]

check("a view", lambda: describe(torch.zeros(size)[1:]), {"requires_grad": False, "is_leaf": True, "is_inference": False, "is_view": True, "has_version": True},
      hint="is_view is t._is_view().")
check("an edited tensor", lambda: describe(torch.zeros(size).add_(1)), {"requires_grad": False, "is_leaf": True, "is_inference": False, "is_view": False, "has_version": True},
      hint="has_version asks whether the counter can be read, not what it shows.")
check("a view of an inference tensor", lambda: describe(inference(size)[1:]), {"requires_grad": False, "is_leaf": True, "is_inference": True, "is_view": False, "has_version": False},
      hint="Torch does not track views of inference tensors; report what _is_view() says.")
check("four tensors seen from inside inference mode", made_inside,
      [{"requires_grad": False, "is_leaf": True, "is_inference": False, "is_view": False, "has_version": True}, {"requires_grad": False, "is_leaf": True, "is_inference": False, "is_view": True, "has_version": True},
       {"requires_grad": False, "is_leaf": True, "is_inference": True, "is_view": False, "has_version": False}, {"requires_grad": True, "is_leaf": True, "is_inference": True, "is_view": False, "has_version": False}],
      wrong=[(lambda v: v[0] == v[1] == v[2] == v[3], "All four are the same. Make a dict in each call: one at module level is shared by all."),
             (lambda v: v[0] is None, "If your function returned None, a `return` is missing."),
             (lambda v: v[0]["is_inference"], "Inference is a property of the tensor, not of the mode that is on now: t.is_inference().")],
      hint="Ask the tensor, not the mode.")
check("a view that requires a gradient", lambda: describe(leaf[1:]), {"requires_grad": True, "is_leaf": False, "is_inference": False, "is_view": True, "has_version": True})
check("integers and a sparse tensor", lambda: [describe(torch.arange(size)), describe(torch.eye(size).to_sparse())], [{"requires_grad": False, "is_leaf": True, "is_inference": False, "is_view": False, "has_version": True}] * 2,
      wrong=[([None, None], "If your function returned None, a `return` is missing.")],
      hint="Any tensor, whatever its dtype and layout.")
check("one tensor after another", twenty, [bool(i % 2) for i in range(20)],
      hint="Look at the tensor in each call. What was found for another tensor of the same shape, address or id does not count.")
check("a tensor that changed between two calls", changed, [False, True, 0],
      wrong=[(lambda v: v[2] != 0, "describe edited the tensor: its version has risen. Only look.")],
      hint="The tensor requires a gradient by now. Look at it in each call, and remember nothing.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 2. What the modes cost
#
# What a mode saves per operation does not matter to a large matrix product. It may matter to a decoding loop of many small operations. So: measure, on your machine.
#
# **Predict.** Four small operations on tensors of eight elements. For which does inference mode save most, relative to `no_grad`: an addition, an in-place addition, a slice, a small product with a parameter?

# %% tags=["demo"]
small = torch.ones(8)
parameter = torch.ones(8, requires_grad=True)
costs = mode_costs({
    "add": lambda: small + small,
    "add_ in place": lambda: small.add_(0),
    "slice [:4]": lambda: small[:4],
    "mul with a parameter": lambda: small * parameter,
})
costs

# %% tags=["demo"]
import matplotlib.pyplot as plt

figure = costs.plot()
plt.show()

# %% [markdown]
# **Read the bars.** Compare within a row, not between rows. In the last row the gap between the first and the second bar is the graph: a node allocated, a tensor saved. In the other rows nothing requires a gradient, so there is no graph to save.
# The gap between the second and the third is what inference mode adds. Which row has the largest, in per cent? The gaps are small, and the noise of a busy machine can be larger. So the measurement takes the modes *in turn*, many times,
# and reports medians. Timing all of one mode and then all of the next would measure which of them met a busy moment.
#
# ### Exercise: measure
#
# Write that measurement.
#
# Difficulty: ●●●○○ &nbsp; Time: 20 minutes

# %% nbgrader={"grade": false, "grade_id": "measure", "locked": false, "schema_version": 3, "solution": true, "task": false}
def measure(fn: Callable[[], object], repeats: int) -> dict[str, float]:
    """Median nanoseconds of one call of `fn` under "grad", "no_grad" and "inference_mode".

    First at least one untimed call per mode, then `repeats` rounds, each of which times one call in every mode. "grad" turns
    gradients on whatever mode the caller is in; afterwards, and after an error in `fn`, the caller's mode is as it was.

    Read a clock of the standard library, such as `time.perf_counter_ns()`. Where there is CUDA, wait for it before each reading:
    `torch.cuda.synchronize()`. Ask `torch.cuda.is_available()` at each call, not once at the top.
    """
    ### BEGIN SOLUTION
    def once(name):
        with torch.inference_mode(name == "inference_mode"), torch.set_grad_enabled(name == "grad"):
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            begin = time.perf_counter_ns()
            fn()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            return time.perf_counter_ns() - begin

    names = ("grad", "no_grad", "inference_mode")
    times = {name: [] for name in names}
    for name in names:
        once(name)
    for _ in range(repeats):
        for name in names:
            times[name].append(once(name))
    return {name: float(statistics.median(values)) for name, values in times.items()}
    ### END SOLUTION

# %% [markdown]
# <details><summary>Stuck?</summary>
#
# Two loops inside each other: rounds outside, modes inside. Collect the times in a dict of lists and take `statistics.median` at the end.
# </details>
# <details><summary>Still stuck?</summary>
#
# `torch.enable_grad()` does not switch inference mode off. `torch.inference_mode(False)` does. `with torch.inference_mode(False), torch.enable_grad():` is "grad" whatever the caller has.
# </details>
# <details><summary>Help: the first value is a hundred times the others</summary>
#
# The first call of an operation allocates and loads. Call `fn` once in every mode before you start the clock.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-measure", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
NAMES = {(True, False): "grad", (False, False): "no_grad", (False, True): "inference_mode"}

def mode_now():
    return NAMES.get((torch.is_grad_enabled(), torch.is_inference_mode_enabled()), "another mode")

def calls(repeats, caller=nullcontext):
    """The mode of every call, and whether a product with a parameter was recorded in it."""
    seen = []
    parameter = torch.ones(1, requires_grad=True)
    with caller():
        measure(lambda: seen.append((mode_now(), (parameter * 2).requires_grad)), repeats)
    return seen

def rounds(repeats):
    timed = [name for name, _ in calls(repeats)][-3 * repeats:]
    return [sorted(timed[i:i + 3]) for i in range(0, len(timed), 3)]

def scripted(durations, warm_up=0):
    """Results for calls that last so many nanoseconds, on a clock set by hand; untimed calls last `warm_up`."""
    names = [name for name, _ in calls(len(durations))]
    untimed = {name: names.count(name) - len(durations) for name in names}
    done = collections.Counter()

    def fn():
        number = done[mode_now()] - untimed[mode_now()]
        done[mode_now()] += 1
        clock.wait(durations[number] if number >= 0 else warm_up)

    with fake_clock(measure) as clock:
        return {name: float(value) for name, value in measure(fn, len(durations)).items()}

check = Check("measure", points=5)
check("the keys", lambda: sorted(measure(lambda: None, 1)), ["grad", "inference_mode", "no_grad"])
check("each round holds every mode once", lambda: rounds(4), [["grad", "inference_mode", "no_grad"]] * 4,
      wrong=[(lambda v: len({name for names in v for name in names}) < 3 or any(len(set(names)) == 1 for names in v),
              "The modes are timed in blocks. A busy moment of the machine then hits one mode only: take them in turn.")],
      hint="repeats rounds, and in each round every mode once.")
check("nanoseconds", lambda: scripted([2000, 2000, 2000]), {"grad": 2000.0, "no_grad": 2000.0, "inference_mode": 2000.0}, rtol=1e-3,
      wrong=[(lambda v: v["grad"] < 0.1, "These are seconds. The result is in nanoseconds.")],
      hint="The clock moved by 2,000 nanoseconds in every call.")
### BEGIN HIDDEN TESTS
quick, middle, slow = sorted(float(t) for t in torch.randint(1, 10, (3,)) * torch.tensor([100, 10_000, 1_000_000]))

many = [1000.0 * (i + 1) for i in torch.randperm(21).tolist()]

def after_an_error(caller):
    """What comes out of measure when fn raises, and the mode afterwards."""
    with caller():
        try:
            measure(lambda: 1 / 0, 2)
            raised = "nothing"
        except ZeroDivisionError:
            raised = "ZeroDivisionError"
        return [raised, torch.is_grad_enabled(), torch.is_inference_mode_enabled()]

def modes_after(caller):
    with caller():
        measure(lambda: None, 2)
        return [torch.is_grad_enabled(), torch.is_inference_mode_enabled()]

def on_a_device(nanoseconds):
    """A call that returns at once and leaves work to a device."""
    with fake_clock(measure, cuda=True) as clock:
        return {name: float(value) for name, value in measure(lambda: clock.launch(nanoseconds), 1).items()}

check("an untimed call in every mode first", lambda: sorted({name for name, _ in calls(5)[:-15]}), ["grad", "inference_mode", "no_grad"],
      wrong=[(lambda v: v == [], "The first call in a mode is timed. It allocates and loads; call fn once in every mode before.")],
      hint="At least one untimed call per mode, before the rounds.")
check("the untimed call does not count", lambda: scripted([middle], warm_up=1e9), {"grad": middle, "no_grad": middle, "inference_mode": middle}, rtol=1e-3,
      wrong=[(lambda v: v["grad"] < 99, "The unit: the result is in nanoseconds.")],
      hint="A slow first call shows in the result. Call fn once in every mode before the clock runs.")
check("the median", lambda: scripted([slow, quick, middle]), {"grad": middle, "no_grad": middle, "inference_mode": middle}, rtol=1e-3,
      wrong=[(lambda v: v["grad"] < 99, "The unit: the result is in nanoseconds."),
             (lambda v: v["grad"] < 1500, "This is the smallest value. Report the median."),
             (lambda v: v["grad"] > 150_000, "This is the mean, which one slow call moves. Report the median.")],
      hint="Report the median over the rounds.")
check("the median of an even number", lambda: scripted([slow, quick, middle, quick]), {"grad": (quick + middle) / 2, "no_grad": (quick + middle) / 2, "inference_mode": (quick + middle) / 2}, rtol=1e-3,
      wrong=[(lambda v: v["grad"] < 99, "The unit: the result is in nanoseconds.")],
      hint="For an even number of rounds the median lies halfway between the two in the middle: statistics.median.")
check("as many rounds as asked", lambda: scripted(many), {"grad": 11_000.0, "no_grad": 11_000.0, "inference_mode": 11_000.0}, rtol=1e-3,
      wrong=[(lambda v: v["grad"] < 99, "The unit: the result is in nanoseconds.")],
      hint="Twenty-one rounds were asked for. Take them all, and leave none out of the median.")
check("grad is on inside no_grad", lambda: [recorded for name, recorded in calls(3, torch.no_grad) if name == "grad"][-3:], [True] * 3,
      hint='Under "grad" nothing was recorded when the caller was inside no_grad. Turn gradients on with torch.enable_grad().')
check("grad is on inside inference_mode", lambda: [recorded for name, recorded in calls(3, torch.inference_mode) if name == "grad"][-3:], [True] * 3,
      hint='Under "grad" nothing was recorded when the caller was inside inference_mode. enable_grad does not leave it; torch.inference_mode(False) does.')
check("the caller's mode is restored", lambda: [modes_after(caller) for caller in (nullcontext, torch.no_grad, torch.inference_mode)], [[True, False], [False, False], [False, True]],
      hint="After measure the caller is in another mode than before. Use the modes as context managers.")
check("an error in fn", lambda: [after_an_error(caller) for caller in (nullcontext, torch.no_grad, torch.inference_mode)],
      [["ZeroDivisionError", True, False], ["ZeroDivisionError", False, False], ["ZeroDivisionError", False, True]],
      wrong=[(lambda v: any(raised == "nothing" for raised, _, _ in v), "fn raised, and the error got lost. Let it through.")],
      hint="fn raised, and the caller is left in another mode. Use the modes as context managers.")
check("work on a device is waited for", lambda: on_a_device(middle), {"grad": middle, "no_grad": middle, "inference_mode": middle}, rtol=1e-3,
      wrong=[(lambda v: 0 < v["grad"] < 99, "The unit: the result is in nanoseconds.")],
      hint="On CUDA a call returns before its work is done. Synchronize before each reading of the clock, the first one too: untimed calls leave work behind. And ask torch.cuda.is_available() at each call.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 3. An inference tensor, later
#
# The rollout is over, inference mode is off, its tensors are still there. The rule is short: an inference tensor may be *read*. It may not be *saved for backward*, not be *edited in place* outside inference mode, and not be made to
# *require a gradient*. Everything else follows from what an operation saves (chapter 02).
#
# ### Exercise: survives
#
# **Predict** each of the ten uses below: does it work (True) or raise (False)? `r` is a fresh rollout of inference tensors, `weight` a parameter.
#
# Difficulty: ●●○○○ &nbsp; Time: 10 minutes

# %% nbgrader={"grade": false, "grade_id": "uses", "locked": true, "schema_version": 3, "solution": false, "task": false}
weight = torch.ones(3, requires_grad=True)

USES = {
    "mul with a parameter": lambda r: r["values"] * weight,
    "add to a parameter": lambda r: r["values"] + weight,
    "mul by a number": lambda r: r["values"] * 2.0,
    "add_ in place": lambda r: r["values"].add_(1.0),
    "view": lambda r: r["values"][1:],
    "requires_grad_": lambda r: r["values"].requires_grad_(),
    "detach, then mul": lambda r: r["values"].detach() * weight,
    "clone, then mul": lambda r: r["values"].clone() * weight,
    "as an index": lambda r: weight[r["actions"]],
    "as a mask": lambda r: torch.where(r["mask"], weight, torch.zeros(3)),
}


def rollout() -> dict[str, torch.Tensor]:
    """Three inference tensors of three elements: values (float), actions (int64), mask (bool)."""
    with torch.inference_mode():
        return {"values": torch.randn(3), "actions": torch.tensor([0, 2, 1]), "mask": torch.tensor([True, False, True])}


def happens(use: str) -> bool:
    """Whether a use works, found by doing it."""
    try:
        USES[use](rollout())
    except RuntimeError:
        return False
    return True

# %% nbgrader={"grade": false, "grade_id": "survives", "locked": false, "schema_version": 3, "solution": true, "task": false}
# Fill in True (it works) or False (it raises) for each key.
survives = {
    "mul with a parameter": None,
    "add to a parameter": None,
    "mul by a number": None,
    "add_ in place": None,
    "view": None,
    "requires_grad_": None,
    "detach, then mul": None,
    "clone, then mul": None,
    "as an index": None,
    "as a mask": None,
}
### BEGIN SOLUTION
survives = {
    "mul with a parameter": False,
    "add to a parameter": True,
    "mul by a number": True,
    "add_ in place": False,
    "view": True,
    "requires_grad_": False,
    "detach, then mul": False,
    "clone, then mul": True,
    "as an index": False,
    "as a mask": False,
}
### END SOLUTION

# %% [markdown]
# <details><summary>Stuck?</summary>
#
# Ask of each operation: does its backward need the inference tensor? A product needs the other factor, an addition needs nothing, indexing needs to know where to.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-survives", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check = Check("survives", points=5)
check("mul with a parameter", lambda: survives["mul with a parameter"], happens("mul with a parameter"),
      wrong={True: "The gradient of the parameter is the other factor, so the inference tensor would be saved. That raises."})
check("add to a parameter", lambda: survives["add to a parameter"], happens("add to a parameter"),
      wrong={False: "The backward of an addition needs neither operand. Nothing is saved, nothing raises."})
check("mul by a number", lambda: survives["mul by a number"], happens("mul by a number"),
      wrong={False: "Nothing here requires a gradient, so nothing is recorded or saved. The result is an ordinary tensor."})
check("add_ in place", lambda: survives["add_ in place"], happens("add_ in place"),
      wrong={True: "Without a version counter autograd could not notice the edit, so it is refused outside inference mode."})
check("view", lambda: survives["view"], happens("view"),
      wrong={False: "A view reads. It is an inference tensor again, and making it is allowed."})
check("requires_grad_", lambda: survives["requires_grad_"], happens("requires_grad_"),
      wrong={True: "An inference tensor cannot become a leaf that gets gradients; torch refuses."})
check("detach, then mul", lambda: survives["detach, then mul"], happens("detach, then mul"),
      wrong={True: "detach shares the memory, and memory born in inference mode stays inference. Detaching cuts a graph; here there was none."})
check("clone, then mul", lambda: survives["clone, then mul"], happens("clone, then mul"),
      wrong={False: "A clone made outside inference mode has memory of its own: an ordinary tensor, which may be saved."})
check("as an index", lambda: survives["as an index"], happens("as an index"),
      wrong={True: "Indexing a parameter saves the index: backward must know where to put the gradient. Integer tensors are inference tensors as well."})
check("as a mask", lambda: survives["as a mask"], happens("as a mask"),
      wrong={True: "where saves its condition: backward must know which side each element came from."})
check.report()

# %% [markdown]
# Now the table, made by running. The ten uses and some that people meet next:

# %% tags=["demo"]
logits = torch.randn(3, 3, requires_grad=True)
more = {
    "sub": lambda r: weight - r["values"],
    "divide by it": lambda r: weight / r["values"],
    "cat with a parameter": lambda r: torch.cat([r["values"], weight]),
    "copy_ into an ordinary tensor": lambda r: torch.zeros(3).copy_(r["values"]),
    "to(float64), then mul": lambda r: r["values"].to(torch.float64) * weight,
    "to(float32), then mul": lambda r: r["values"].to(torch.float32) * weight,
    "mse_loss target": lambda r: torch.nn.functional.mse_loss(weight, r["values"]),
    "cross_entropy target": lambda r: torch.nn.functional.cross_entropy(logits, r["actions"]),
    "gather index": lambda r: logits.gather(1, r["actions"][:, None]),
    "incoming gradient of backward": lambda r: torch.autograd.grad(weight * 2, weight, r["values"]),
}
TruthTable(USES | more, rollout)

# %% [markdown]
# **Read the table.** Three sentences of three kinds. *Cannot be saved for backward* is the one you will meet; note the rows of `cross_entropy` and `gather`: targets and indices are integers that no gradient flows through, and still they are saved. A conversion
# that changes the dtype makes a new tensor, a conversion that changes nothing returns the same one.
#
# ## 4. Modes in functions, generators, models
#
# **Predict** the four lines before you run the cell.

# %% tags=["demo"]
model = torch.nn.Linear(3, 1)
x = torch.ones(2, 3)

model.eval()
print("eval():                          requires_grad", model(x).requires_grad)
model.train()

with torch.inference_mode(), torch.enable_grad():
    print("enable_grad in inference_mode:   requires_grad", model(x).requires_grad, "  is_grad_enabled", torch.is_grad_enabled())


@torch.no_grad()
def predict(x):
    return model(x)


print("decorated by no_grad():          requires_grad", predict(x).requires_grad, " grad mode afterwards", torch.is_grad_enabled())


def naive(batches):
    with torch.no_grad():
        for batch in batches:
            yield model(batch)


for out in naive([x]):
    print("in the loop over a naive stream: requires_grad", model(x).requires_grad)

# %% [markdown]
# **Explain.**
#
# - `eval()` is neither mode. It changes dropout and batch normalization and records as before.
# - `enable_grad` inside `inference_mode` turns grad mode on and changes nothing: what is made there are inference tensors.
# - A decorated function has the mode for the time of the call.
# - The naive generator is suspended *inside* its `with` block. Its caller trains, and no gradient is recorded. With an early `break` the block is left only when the generator is closed.
#
# ### Exercise: stream
#
# Difficulty: ●●○○○ &nbsp; Time: 10 minutes

# %% nbgrader={"grade": false, "grade_id": "stream", "locked": false, "schema_version": 3, "solution": true, "task": false}
def stream(model: Callable[[torch.Tensor], torch.Tensor], batches: Iterable[torch.Tensor]) -> Iterator[torch.Tensor]:
    """Yield `model(batch)` for each batch, one at a time, without a graph. Earlier outputs are not kept.

    Gradients are off only while the model runs. Between items, after an error and after an early stop the caller's mode is as
    the caller left it; `batches` is advanced in the caller's mode. Errors of the model and of `batches` pass through. The
    model's training flag is not touched.
    """
    ### BEGIN SOLUTION
    for batch in batches:
        with torch.no_grad():
            output = model(batch)
        yield output
    ### END SOLUTION

# %% [markdown]
# <details><summary>Stuck?</summary>
#
# The `yield` must stand outside the `with` block.
# </details>
# <details><summary>Help: a decorator on a generator?</summary>
#
# `@torch.no_grad()` on a generator function switches the mode on whenever the generator runs, and back at each yield. But then the batches are drawn without gradients too.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-stream", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
class Recorder(torch.nn.Module):
    """Doubles its input and notes what it was called with."""

    def __init__(self, fail_at=None):
        super().__init__()
        self.factor, self.fail_at, self.notes = torch.nn.Parameter(torch.tensor(2.0)), fail_at, []

    def forward(self, x):
        self.notes.append((torch.is_grad_enabled(), self.training))
        if len(self.notes) - 1 == self.fail_at:
            raise ValueError("a bad batch")
        return self.factor * x

def modes():
    return [torch.is_grad_enabled(), torch.is_inference_mode_enabled()]

batches = [torch.ones(2), torch.full((2,), 3.0), torch.zeros(2)]

check = Check("stream", points=4)
check("the outputs", lambda: list(stream(Recorder(), batches)), [torch.full((2,), 2.0), torch.full((2,), 6.0), torch.zeros(2)])
check("no graph", lambda: [out.requires_grad for out in stream(Recorder(), batches)], [False, False, False],
      hint="Run the model under torch.no_grad().")
check("the caller's mode between items", lambda: [modes() for _ in stream(Recorder(), batches)], [[True, False]] * 3,
      wrong=[(lambda v: [False, False] in v or [False, True] in v, "The generator is suspended inside its with block, so the caller runs without gradients. Yield outside of it.")])
### BEGIN HIDDEN TESTS
drawn = [torch.randn(3) for _ in range(int(torch.randint(3, 6, ())))]

def watched(log, items):
    for item in items:
        log.append(modes())
        yield item

def progress():
    """How many batches were drawn: before the first item, and after each."""
    log = []
    found = stream(Recorder(), watched(log, drawn))
    counts = [len(log)]
    for _ in found:
        counts.append(len(log))
    return counts

def drawn_in():
    log = []
    list(stream(Recorder(), watched(log, drawn)))
    return log

def inside():
    model = Recorder()
    list(stream(model, drawn))
    return [grad for grad, _ in model.notes]

def after_an_error():
    seen = []
    try:
        for _ in stream(Recorder(fail_at=1), batches):
            seen.append(modes())
    except ValueError as error:
        seen.append(str(error))
    return [seen, modes()]

def other_errors():
    """What comes out when the model or the batches raise, and the mode afterwards."""
    def broken(items):
        yield items[0]
        raise OSError("the file ends here")

    def model(batch):
        if batch[1] == 3.0:
            raise RuntimeError("out of memory")
        return batch

    rows = []
    for found in (stream(model, batches), stream(Recorder(), broken(batches))):
        try:
            rows.append([f"{len(list(found))} outputs, no error", modes()])
        except (RuntimeError, OSError) as error:
            rows.append([str(error), modes()])
    return rows

def alive():
    """How many outputs are alive while the caller holds one."""
    import weakref
    refs, counts = [], []
    for out in stream(Recorder(), [torch.ones(2) for _ in range(5)]):
        refs.append(weakref.ref(out))
        counts.append(sum(ref() is not None for ref in refs))
    return counts

def after_a_stop():
    found = iter(stream(Recorder(), batches))
    next(found)
    suspended = modes()
    del found
    return [suspended, modes()]

def callers():
    """Modes between items and afterwards, for callers in each mode."""
    rows = []
    for caller in (torch.no_grad, torch.inference_mode, torch.enable_grad):
        with caller():
            rows.append([modes() for _ in stream(Recorder(), batches)] + [modes()])
    return rows

def switching():
    """A caller that changes its own mode between items."""
    found = iter(stream(Recorder(), batches))
    next(found)
    with torch.no_grad():
        next(found)
        off = modes()
    next(found)
    return [off, modes()]

def flags():
    rows = []
    for training in (True, False):
        model = Recorder().train(training)
        between = [model.training for _ in stream(model, drawn)]
        rows.append([between, [flag for _, flag in model.notes], model.training])
    return rows

check("outputs elsewhere", lambda: list(stream(Recorder(), drawn)), [2 * item for item in drawn])
check("empty batches, and float64", lambda: list(stream(lambda x: 3 * x, [torch.ones(0), torch.zeros(2, dtype=torch.float64), torch.ones(1)])), [torch.ones(0), torch.zeros(2, dtype=torch.float64), torch.full((1,), 3.0)],
      hint="One output for each batch, an empty one too, as the model gives it.")
check("one batch at a time", progress, list(range(len(drawn) + 1)),
      wrong=[(lambda v: len(v) < 2 or v[1] == v[-1], "All batches were drawn before the first output. Yield each output as soon as it is there.")],
      hint="Draw a batch only when its output is asked for.")
check("gradients are off while the model runs", inside, [False] * len(drawn),
      hint="The model ran with gradients on. A detach afterwards throws away a graph that was built in full.")
check("batches are drawn in the caller's mode", drawn_in, [[True, False]] * len(drawn),
      hint="The mode was on while batches were drawn. It belongs around the call of the model only.")
check("after an error", after_an_error, [[[True, False], "a bad batch"], [True, False]],
      wrong=[(lambda v: not v[0][0][0], "While the generator waits, the mode is still on. Switch it on around the call of the model only, and yield outside of that.")],
      hint="The model raised, and the caller's mode was not restored. A with block does that; set_grad_enabled by hand does not.")
check("other errors", other_errors, [["out of memory", [True, False]], ["the file ends here", [True, False]]],
      wrong=[(lambda v: any("no error" in text for text, _ in v), "The model or the batches raised, and the error got lost: the caller takes what came so far for all. Let it through.")],
      hint="The model raised, and the caller's mode was not restored. Whatever the error is, a with block does that.")
check("earlier outputs are not kept", alive, [1, 1, 1, 1, 1],
      hint="Outputs that the caller has let go of are still alive: a list of them grows with every batch. Yield each, and keep none.")
check("after an early stop", after_a_stop, [[True, False], [True, False]],
      wrong=[(lambda v: not v[0][0], "While the generator waits, the mode is still on. Switch it on around the call of the model only, and yield outside of that.")],
      hint="The caller stopped early and is left in another mode.")
check("callers in other modes", callers, [[[False, False]] * 4, [[False, True]] * 4, [[True, False]] * 4],
      wrong=[(lambda v: not v[2][0][0], "While the generator waits, the mode is still on. Switch it on around the call of the model only, and yield outside of that.")],
      hint="The caller's mode is not always grad: leave it as it was, do not switch gradients on.")
check("a caller that switches between items", switching, [[False, False], [True, False]],
      wrong=[(lambda v: not v[1][0], "While the generator waits, the mode is still on. Switch it on around the call of the model only, and yield outside of that.")],
      hint="The mode that was on at the start was put back over the caller's own choice.")
check("a model that is a plain function", lambda: list(stream(lambda x: 3 * x, drawn)), [3 * item for item in drawn],
      hint="A model is any callable: it need not have a training flag, parameters or a forward method.")
check("the training flag", flags, [[[flag] * len(drawn), [flag] * len(drawn), flag] for flag in (True, False)],
      hint="eval() is not a mode of autograd, and whether the model trains is the caller's business.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 5. From rollout to training
#
# The story in one cell: a policy acts under inference mode, with the weights that are trained right afterwards. **Predict** which line raises.

# %% tags=["demo"]
torch.manual_seed(0)
policy = torch.nn.Linear(4, 2)


def act(observations):
    log_probs = policy(observations).log_softmax(-1)
    actions = torch.distributions.Categorical(logits=log_probs, validate_args=False).sample()
    return actions, log_probs.gather(1, actions[:, None])[:, 0]


with torch.inference_mode():
    observations = torch.randn(5, 4)
    actions, old_logp = act(observations)
    rewards = (actions == 1).float()

for name, step in {
    "policy(observations)": lambda: policy(observations),
    "gather(actions)": lambda: torch.zeros(5, 2, requires_grad=True).gather(1, actions[:, None]),
    "logp * rewards": lambda: torch.zeros(5, requires_grad=True) * rewards,
    "logp - old_logp": lambda: torch.zeros(5, requires_grad=True) - old_logp,
}.items():
    try:
        step()
        print(f"{name:<22} works")
    except RuntimeError as error:
        print(f"{name:<22} {str(error).split('.')[0]}.")

# %% [markdown]
# Four tensors came out of the rollout. Three of them cannot take part in training: an input, an index, a factor. The fourth could, by the luck of a subtraction. Now the repairs that people try:

# %% tags=["demo"]
def clone_inside(t):
    with torch.inference_mode():
        return t.clone()


for name, repair in {
    "detach()": lambda t: t.detach(),
    ".data": lambda t: t.data,
    "requires_grad_(False)": lambda t: t.requires_grad_(False),
    "requires_grad_()": lambda t: t.requires_grad_(),
    "contiguous()": lambda t: t.contiguous(),
    "clone() inside inference_mode": clone_inside,
    "clone() outside": lambda t: t.clone(),
}.items():
    try:
        policy(repair(observations))
        print(f"{name:<30} works")
    except RuntimeError as error:
        print(f"{name:<30} {str(error).split('.')[0]}.")

# %% [markdown]
# **Explain.** Only a copy made outside inference mode is ordinary memory. It costs one copy of the batch, which is small beside the weights and the activations. The alternative is to roll out under `no_grad`: no copy, a little more time per operation.
# Choose by what your rollout consists of: section 2 gives the price per operation.
#
# ### Exercise: to_training
#
# A rollout is rarely one tensor. It is a dataclass with a dict of lists in it, and the same mask hangs in two places. Write the hand-off once.
#
# Difficulty: ●●●●○ &nbsp; Time: 30 minutes

# %% nbgrader={"grade": false, "grade_id": "to_training", "locked": false, "schema_version": 3, "solution": true, "task": false}
def to_training(batch):
    """Make a rollout fit for training.

    dict (OrderedDict too), list, tuple, namedtuple and dataclass (frozen or with slots too), nested at will, are rebuilt with their exact type
    and converted inside; other subclasses of these are not asked. Inference tensors, integer and bool ones too, become ordinary copies with requires_grad False. Ordinary tensors are
    returned as the same objects, and so is every other value. An object met twice stays one object. The batch itself is not
    changed. Works inside inference mode, too.
    """
    ### BEGIN SOLUTION
    import copy

    done = {}  # id -> (original, result); the original is held so that its id is not used again

    def convert(value):
        if id(value) not in done:
            done[id(value)] = (value, rebuild(value))
        return done[id(value)][1]

    def rebuild(value):
        if isinstance(value, torch.Tensor):
            return value.detach().clone() if value.is_inference() else value
        if isinstance(value, dict):
            new = copy.copy(value)
            for key in value:
                new[key] = convert(value[key])
            return new
        if isinstance(value, list):
            new = copy.copy(value)
            new[:] = [convert(item) for item in value]
            return new
        if isinstance(value, tuple):
            items = [convert(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            new = copy.copy(value)
            for field in dataclasses.fields(value):
                object.__setattr__(new, field.name, convert(getattr(value, field.name)))
            return new
        return value

    with torch.inference_mode(False):
        return convert(batch)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Stuck?</summary>
#
# Write a recursive inner function with one branch per kind of container. A namedtuple is a tuple whose constructor wants its fields one by one: `type(value)(*items)`. A dataclass can be rebuilt by `dataclasses.replace(value, **fields)`,
# frozen or not.
# </details>
# <details><summary>Still stuck?</summary>
#
# For "met twice": a dict from `id(value)` to the result, filled by the inner function. Keep the original in it as well; an id is reused when an object dies. For "inside inference mode too": wrap the whole in `with torch.inference_mode(False):`.
# </details>
# <details><summary>Help: "Inference tensors cannot be saved for backward" although you cloned</summary>
#
# The clone was made while inference mode was on. Then it is an inference tensor again.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-to_training", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
Step = collections.namedtuple("Step", ["observation", "action"])

@dataclasses.dataclass
class Rollout:
    steps: list
    info: dict

@dataclasses.dataclass(frozen=True)
class Frozen:
    mask: torch.Tensor
    label: str

@dataclasses.dataclass(slots=True)
class Slotted:
    reward: torch.Tensor
    note: str

def inference(values):
    with torch.inference_mode():
        return torch.as_tensor(values).clone()

def kind(t):
    return [t.is_inference(), t.requires_grad]

check = Check("to_training", points=7)
check("one inference tensor", lambda: [to_training(inference([1.0, 2.0])), kind(to_training(inference([1.0, 2.0])))], [torch.tensor([1.0, 2.0]), [False, False]],
      wrong=[(lambda v: v[1][0], "It is an inference tensor still. detach() and .data share its memory; a clone outside inference mode does not."),
             (lambda v: v[1][1], "It requires a gradient. A rollout is data.")])
check("a dict of lists", lambda: {k: [kind(t) for t in v] for k, v in to_training({"a": [inference([1.0])], "b": [inference([2.0]), torch.ones(1)]}).items()},
      {"a": [[False, False]], "b": [[False, False], [False, False]]}, hint="Convert inside containers, at every level.")
check("an ordinary tensor is the same object", lambda: (lambda t: to_training([t])[0] is t)(torch.ones(2)), True,
      hint="Ordinary tensors need no copy; a parameter that was copied would no longer be trained.")
check("a namedtuple", lambda: (lambda s: [type(s).__name__, kind(s.observation), kind(s.action)])(to_training(Step(inference([1.0]), inference([2])))), ["Step", [False, False], [False, False]],
      wrong=[(TypeError, "A namedtuple wants its fields one by one: type(value)(*items)."), (AttributeError, "A namedtuple came back as something without its fields. Rebuild it with its exact type.")])
### BEGIN HIDDEN TESTS
numbers = [float(n) for n in torch.randn(3)]

def integers():
    out = to_training({"actions": inference([3, 1]), "mask": inference([True, False])})
    weight = torch.zeros(4, requires_grad=True)
    loss = weight[out["actions"]].masked_fill(out["mask"], 1.0).sum()
    loss.backward()
    return [kind(out["actions"]), kind(out["mask"]), out["actions"], out["mask"], weight.grad]

def usable():
    out = to_training(Rollout([inference(numbers)], {}))
    weight = torch.ones(3, requires_grad=True)
    (out.steps[0] * weight).sum().backward()
    return weight.grad

def exact_types():
    batch = to_training({"list": [inference([1.0])], "tuple": (inference([1.0]),), "named": Step(inference([1.0]), None), "data": Rollout([], {}),
                         "frozen": Frozen(inference([True]), "x"), "ordered": collections.OrderedDict(a=inference([1.0]))})
    return [type(value).__name__ for value in batch.values()]

def ordered():
    out = to_training(collections.OrderedDict(second=inference(numbers), first=[inference([1])]))
    return [type(out).__name__, list(out), kind(out["second"]), kind(out["first"][0]), out["second"]]

def grown():
    """One list in two calls; an item came to it between them."""
    steps = [inference([1.0])]
    before = len(to_training(steps))
    steps.append(inference([2.0]))
    return [before, *to_training(steps)]

def frozen():
    out = to_training([Frozen(inference([True, False]), "left")])[0]
    return [out.mask, kind(out.mask), out.label]

def slotted():
    batch = Slotted(inference(numbers), "kept")
    out = to_training({"a": batch})["a"]
    return [type(out).__name__, out.reward, kind(out.reward), out.note, kind(batch.reward)]

def other_keys():
    out = to_training({0: inference(numbers), ("a", 1): [inference([1])]})
    return [len(out), out[0], kind(out[0]), kind(out["a", 1][0])]

def same_things():
    """Of a set and of an object with attributes: do they come back as the same object?"""
    class Settings:
        pass

    things = [{1, 2}, Settings(), frozenset({3})]
    things[1].table = [1, 2]
    return [new is old for new, old in zip(to_training(things), things)]

def dataclass():
    out = to_training(Rollout([Step(inference(numbers), inference([0]))], {"deep": (inference(numbers), 7)}))
    return [out.steps[0].observation, kind(out.steps[0].observation), out.info["deep"][0], kind(out.info["deep"][0]), out.info["deep"][1]]

def shared():
    mask, steps, info = inference([True]), [inference(numbers)], {"k": inference([1])}
    whole, pair = Rollout(steps, info), (mask, steps)
    out = to_training({"a": mask, "b": [mask, Step(mask, steps)], "c": Frozen(mask, "x"), "d": steps, "e": [info, whole, pair], "f": Step(info, whole), "g": pair})
    tensor = [out["a"] is out["b"][0], out["a"] is out["b"][1].observation, out["a"] is out["c"].mask]
    return [tensor, out["d"] is out["b"][1].action is out["e"][1].steps, out["e"][0] is out["f"].observation is out["e"][1].info,
            out["e"][1] is out["f"].action, out["e"][2] is out["g"]]

def many():
    """Two hundred tensors in two calls, all different: none may be taken for another."""
    first = to_training([inference([float(v)]) for v in range(100)])
    return torch.cat(first + to_training([inference([float(v)]) for v in range(100, 200)]))

def unchanged():
    tensor, inner = inference(numbers), {"k": inference([1])}
    batch = Rollout([tensor, inner], {"x": inner})
    to_training(batch)
    return [batch.steps[0] is tensor, batch.steps[1] is inner, batch.info["x"] is inner, tensor.is_inference(), inner["k"].is_inference(), tensor]

def rebuilt():
    batch = {"list": [torch.ones(1)], "data": Rollout([], {})}
    out = to_training(batch)
    return [out is not batch, out["list"] is not batch["list"], out["data"].info is not batch["data"].info]

def passing():
    marker = object()
    out = to_training(["text", 3, None, marker, 2.5, len, {1: "one"}, inference([1.0])])
    return [*out[:3], out[3] is marker, out[4], out[5] is len, list(out[6].items())]

def parameters():
    model = torch.nn.Linear(2, 1)
    out = to_training({"weight": model.weight, "loss": model.weight.sum(), "buffer": torch.ones(1)})
    return [out["weight"] is model.weight, out["loss"].requires_grad, kind(out["buffer"])]

def inside():
    with torch.inference_mode():
        out = to_training([torch.tensor(numbers), (torch.tensor([1]),)])
        mode = torch.is_inference_mode_enabled()
    return [kind(out[0]), kind(out[1][0]), out[0], mode]

def demanding():
    with torch.inference_mode():
        t = torch.ones(2, requires_grad=True)
    return kind(to_training([t])[0])

check("integers and masks", integers, [[False, False], [False, False], torch.tensor([3, 1]), torch.tensor([True, False]), torch.tensor([0.0, 1.0, 0.0, 0.0])],
      hint="Actions, targets and masks are saved for backward too. Convert inference tensors of every dtype.")
check("fit for training", usable, torch.tensor(numbers),
      hint="What comes out must be allowed in a product with a parameter.")
check("exact types", exact_types, ["list", "tuple", "Step", "Rollout", "Frozen", "OrderedDict"],
      wrong=[(TypeError, "A namedtuple or a tuple was rebuilt with the wrong arguments. tuple(items), but Step(*items).")],
      hint="Each container comes back with its exact type, type(value), not the next best.")
check("an OrderedDict", ordered, ["OrderedDict", ["second", "first"], [False, False], [False, False], torch.tensor(numbers)],
      hint="An OrderedDict is a dict: isinstance(value, dict). Rebuild it with its own type, keys in their order, and convert inside.")
check("a frozen dataclass", frozen, [torch.tensor([True, False]), [False, False], "left"],
      hint="A frozen dataclass refuses assignment. Build a new one: dataclasses.replace.")
check("a dataclass with slots", slotted, ["Slotted", torch.tensor(numbers), [False, False], "kept", [True, False]],
      hint="An object with slots has no __dict__. dataclasses.fields names the fields, getattr reads them, and dataclasses.replace builds a new one.")
check("keys that are no text", other_keys, [2, torch.tensor(numbers), [False, False], [False, False]],
      hint="A dict may have keys of any kind: convert all of its values.")
check("sets and other objects", same_things, [True, True, True],
      hint="Every other value comes back as the same object: sets and objects of other classes are not among the containers.")
check("a dataclass with everything in it", dataclass, [torch.tensor(numbers), [False, False], torch.tensor(numbers), [False, False], 7],
      hint="Convert inside dataclasses, at every level.")
def dtypes():
    """Kinds of tensors that a list of numbers does not tell apart."""
    made = [inference(numbers).to(dtype) for dtype in (torch.float64, torch.bfloat16)] + [inference([[], []]), inference([[1.0, 2.0], [3.0, 4.0]]).t()]
    with torch.inference_mode():
        made += [torch.tensor([1, 2], dtype=torch.int8), torch.tensor(7, dtype=torch.int32)]
    return [[t.dtype, tuple(t.shape)] for t in to_training(made)]

check("dtypes and shapes", dtypes, [[torch.float64, (3,)], [torch.bfloat16, (3,)], [torch.float32, (2, 0)], [torch.float32, (2, 2)], [torch.int8, (2,)], [torch.int32, ()]],
      hint="A copy has the shape and dtype of its original: clone().")
check("one object met twice stays one", shared, [[True, True, True], True, True, True, True],
      hint="The same tensor, or the same container, was converted twice and came back as two. Remember results by id.")
check("different objects stay different", many, torch.arange(200.0),
      hint="An id was taken for another object's. Keep the original alive as long as you remember its id, and remember only within one call.")
check("a list that grew between two calls", grown, [1, torch.tensor([1.0]), torch.tensor([2.0])],
      hint="The second call does not show what was appended after the first. Results are remembered within one call only; a default argument is made once and kept for all calls.")
check("the batch itself is unchanged", unchanged, [True, True, True, True, True, torch.tensor(numbers)],
      hint="The batch that is given has to stay as it was. Build new containers.")
check("containers are rebuilt", rebuilt, [True, True, True],
      hint="A container without inference tensors came back as the same object. Whoever appends to the training batch would then edit the rollout: rebuild every container.")
check("other values pass", passing, ["text", 3, None, True, 2.5, True, [(1, "one")]],
      hint="What is neither a container nor a tensor is returned as it is. A str is a sequence, but no container here.")
check("parameters and graphs pass", parameters, [True, True, [False, False]],
      hint="Ordinary tensors are the same objects: no clone, no detach.")
check("called inside inference mode", inside, [[False, False], [False, False], torch.tensor(numbers), True],
      wrong=[(lambda v: v[0][0], "A clone made inside inference mode is an inference tensor again. Switch it off around the work: torch.inference_mode(False).")],
      hint="It must work inside inference mode and leave the mode on.")
check("an inference tensor that requires a gradient", demanding, [False, False],
      hint="A clone is part of the graph of its original. Detach as well.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ### Exercise: surrogate
#
# The training step of PPO and its relatives. With the ratio $r = \exp(\log p - \log p_\text{old})$ and the advantage $A$, the loss is
#
# $$-\,\mathrm{mean}\,\min\bigl(r A,\ \mathrm{clip}(r, 1 - c, 1 + c)\,A\bigr).$$
#
# In the first epoch the policy has not moved: `old_logp` equals `logp`, and in lazy code it is even the *same tensor*. Then every ratio is 1. **Predict:** what is the gradient there?

# %% tags=["demo"]
ratio = torch.linspace(0.4, 1.6, 200)
figure, axes = plt.subplots(figsize=(6, 3), facecolor="white")
for advantage in (1.0, -1.0):
    clipped = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
    axes.plot(ratio, clipped, label=f"A = {advantage:+.0f}")
axes.axvline(1.0, color="gray", linewidth=1)
axes.set_xlabel("ratio")
axes.set_ylabel("objective, per element")
axes.set_title("clip = 0.2", fontsize=10)
axes.legend(frameon=False)
figure.tight_layout()
plt.show()

# %% [markdown]
# **Read the curves** at the gray line: the ratio is 1 and the slope is not 0, it is A. A constant *value* says nothing about a slope. The flat parts are where the policy already moved far in the direction that pays; away from there the minimum keeps the slope, so
# that a policy that moved too far in the wrong direction is pulled back.
#
# Difficulty: ●●○○○ &nbsp; Time: 10 minutes

# %% nbgrader={"grade": false, "grade_id": "surrogate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def surrogate(logp: torch.Tensor, old_logp: torch.Tensor, advantages: torch.Tensor, clip: float) -> torch.Tensor:
    """The clipped policy-gradient loss, the mean over all elements (a 0-d tensor).

    All three tensors have one shape. `old_logp` is a constant, even when it is the same tensor as `logp`; then the value is
    -mean(advantages) and the gradient of logp is -advantages / numel.
    """
    ### BEGIN SOLUTION
    ratio = torch.exp(logp - old_logp.detach())
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
    ### END SOLUTION

# %% [markdown]
# <details><summary>Stuck?</summary>
#
# Detach `old_logp`, not the ratio. Then write the formula down; `torch.minimum` takes two tensors, `clamp` takes the two bounds.
# </details>
# <details><summary>Help: "element 0 of tensors does not require grad"</summary>
#
# The ratio lost its graph: `logp` itself was detached, or everything ran under no_grad.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-surrogate", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def loss_and_gradient(logp, old, advantages, clip):
    logp = logp.clone().requires_grad_()
    loss = surrogate(logp, logp if old is None else old, advantages, clip)
    return [loss, *torch.autograd.grad(loss, logp)]

logp = torch.tensor([-1.0, -0.5, -2.0, -0.25], dtype=torch.float64)
advantages = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=torch.float64)

check = Check("surrogate", points=4)
check("value at ratio 1", lambda: surrogate(logp, logp, advantages, 0.2), torch.tensor(-0.625, dtype=torch.float64),
      wrong={0.625: "The sign: a loss is minimized, so it is minus the objective.", -2.5: "The mean, not the sum."})
check("gradient at ratio 1", lambda: loss_and_gradient(logp, None, advantages, 0.2)[1], torch.tensor([-0.25, 0.5, -0.125, -0.75], dtype=torch.float64),
      wrong=[(lambda v: all(abs(g) < 1e-9 for g in v), "The ratio is 1, but its gradient is not 0. Only old_logp is a constant: detach it, and it alone."),
             (RuntimeError, "It raised. Is the loss one number, the mean over all elements, and does it have a graph? Only old_logp is a constant; the ratio must keep its gradient.")])
check("beyond the clip", lambda: loss_and_gradient(logp, logp - torch.tensor([0.5, 0.5, -0.5, -0.5], dtype=torch.float64), advantages, 0.2)[1] != 0,
      torch.tensor([False, True, True, True]),
      wrong=[(RuntimeError, "It raised. Is the loss one number, the mean over all elements, and does it have a graph? Only old_logp is a constant; the ratio must keep its gradient."),
             (lambda v: v == [False, False, False, False], "Clipped everywhere: without the minimum a policy that moved too far in the wrong direction gets no gradient back."),
             (lambda v: v == [True, True, True, True], "Nothing is clipped.")],
      hint="min(ratio · A, clip(ratio) · A) has slope 0 only where the policy moved far in the direction that pays.")
### BEGIN HIDDEN TESTS
new, old = 0.4 * torch.randn(3, 4, dtype=torch.float64) - 1, 0.4 * torch.randn(3, 4, dtype=torch.float64) - 1
gains = torch.randn(3, 4, dtype=torch.float64)
width = 0.1 + 0.2 * float(torch.rand(()))

def left_alone():
    """The three tensors after a call, and their versions."""
    given = [new.clone(), old.clone(), gains.clone()]
    before = [t._version for t in given]
    surrogate(*given, width)
    return [*given, [t._version - version for t, version in zip(given, before)]]

def constants():
    old_logp = old.clone().requires_grad_()
    new_logp = new.clone().requires_grad_()
    loss = surrogate(new_logp, old_logp, gains, width)
    return list(torch.autograd.grad(loss, (new_logp, old_logp), allow_unused=True))[1]

check("value elsewhere", lambda: loss_and_gradient(new, old, gains, width)[0],
      -torch.minimum((new - old).exp() * gains, (new - old).exp().clamp(1 - width, 1 + width) * gains).mean(),
      wrong=[(RuntimeError, "It raised. Is the loss one number, the mean over all elements, and does it have a graph? Only old_logp is a constant; the ratio must keep its gradient.")],
      hint="−mean of min(ratio · A, clip(ratio) · A), over all elements.")
check("gradient elsewhere", lambda: loss_and_gradient(new, old, gains, width)[1],
      torch.where(torch.where(gains > 0, (new - old).exp() < 1 + width, (new - old).exp() > 1 - width), -(new - old).exp() * gains / 12, 0.0),
      wrong=[(RuntimeError, "It raised. Is the loss one number, the mean over all elements, and does it have a graph? Only old_logp is a constant; the ratio must keep its gradient.")],
      hint="−ratio · A / numel where the minimum is not clipped, else 0.")
check("the same tensor twice", lambda: loss_and_gradient(new, None, gains, width), [-gains.mean(), -gains / 12],
      wrong=[(RuntimeError, "It raised. Is the loss one number, the mean over all elements, and does it have a graph? Only old_logp is a constant; the ratio must keep its gradient."),
             (lambda v: all(abs(g) < 1e-9 for row in v[1] for g in row), "The ratio is 1, but its gradient is not 0. Only old_logp is a constant: detach it, and it alone.")],
      hint="At ratio 1 the value is −mean(A) and the gradient −A / numel.")
check("old_logp is a constant", constants, None,
      wrong=[(RuntimeError, "It raised. Is the loss one number, the mean over all elements, and does it have a graph? Only old_logp is a constant; the ratio must keep its gradient.")],
      hint="A gradient flows into old_logp. Detach it.")
check("log-probabilities of -120", lambda: loss_and_gradient(torch.tensor([-120.0, -130.0, -110.0]), torch.tensor([-120.125, -129.875, -110.0]), torch.tensor([1.0, -2.0, 3.0]), 0.2),
      [-(torch.tensor([0.125, -0.125, 0.0]).exp() * torch.tensor([1.0, -2.0, 3.0])).mean(), -torch.tensor([0.125, -0.125, 0.0]).exp() * torch.tensor([1.0, -2.0, 3.0]) / 3],
      wrong=[(RuntimeError, "It raised. Is the loss one number, the mean over all elements, and does it have a graph? Only old_logp is a constant; the ratio must keep its gradient.")],
      hint="exp(-120) is 0 in float32, and a quotient of two such probabilities is 0 / 0. Subtract first: the ratio is exp(logp - old_logp).")
check("the arguments are left as they were", left_alone, [new, old, gains, [0, 0, 0]],
      hint="An argument was changed in place. It belongs to the caller, and the next epoch needs it again.")
check("far in the direction that pays", lambda: loss_and_gradient(new, new - 2.0 * gains.sign(), gains, width), [-(gains * (1 + width * gains.sign())).mean(), torch.zeros_like(gains)],
      wrong=[(RuntimeError, "It raised. Is the loss one number, the mean over all elements, and does it have a graph? Only old_logp is a constant; the ratio must keep its gradient.")],
      hint="There the clip holds: the value is constant and the gradient 0.")
check("far in the wrong direction", lambda: loss_and_gradient(new, new + 2.0 * gains.sign(), gains, width)[1], -(-2.0 * gains.sign()).exp() * gains / 12,
      wrong=[(RuntimeError, "It raised. Is the loss one number, the mean over all elements, and does it have a graph? Only old_logp is a constant; the ratio must keep its gradient."),
             (lambda v: all(abs(g) < 1e-9 for row in v for g in row), "Without the minimum a policy that moved too far in the wrong direction gets no gradient back.")],
      hint="There the minimum is the unclipped term, and its gradient pulls the policy back.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## On a GPU
#
# On a GPU the CPU side of an operation often costs more than the operation. What the modes save there is launch time, and only where the GPU waits for the CPU.

# %% tags=["demo"]
if torch.cuda.is_available():
    on_gpu = torch.ones(8, device="cuda")
    print(mode_costs({"add": lambda: on_gpu + on_gpu, "slice [:4]": lambda: on_gpu[:4]}))
show_recording("05-modes")

# %% [markdown]
# ## Explain it aloud
#
# In one minute, to a colleague whose rollout code moves from `no_grad` to `inference_mode`: what changes, what will break, and what do you do at the hand-off? Write down what you would say.
#
# *Rubric, 2 points.* Half a point each: what inference mode turns off beyond recording (version counters, view tracking); that inference is a property of the tensor and outlives the block; which later uses raise and why (saving, also of
# indices and masks); the hand-off by a copy made outside the mode, and what it costs.

# %% [markdown] nbgrader={"grade": true, "grade_id": "explain-05-inference-mode", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# (Your words.)

# %% [markdown]
# ## Summary
#
# 1. `no_grad` stops recording for a stretch of code. `inference_mode` also makes tensors without version counter and view tracking, and they stay so.
# 2. An inference tensor may be read. It may not be saved for backward, edited in place outside the mode, or made to require a gradient.
# 3. Indices, masks and targets are saved too. `detach` does not help; a copy made outside inference mode does.
# 4. Put the mode around the model, never around a `yield`. `eval()` is neither mode.
# 5. Measure modes in turn, with a warm-up, and report medians.
