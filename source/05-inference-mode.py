# %% [markdown]
# # 05 - no_grad and inference_mode
# [![Open In Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/YOUR-NAME/YOUR-REPOSITORY/blob/main/notebooks/05-inference-mode/05-inference-mode.ipynb)

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
try:
    import autograder.lab
except ImportError:  # on Colab: only this project, nothing that is already there is touched
    import subprocess, sys
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps",
                    "git+https://github.com/YOUR-NAME/YOUR-REPOSITORY"], check=True)
import collections
import copy
import dataclasses
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext

import torch

from autograder.lab import Check, TruthTable, fake_clock, mode_costs, show_recording

# %% [markdown]
# Reinforcement learning runs the same weights twice: a rollout that needs no graph, and a training step that does. A review asked "why not inference_mode here?", and somebody changed one word. The rollout
# got faster. Then training stopped with *Inference tensors cannot be saved for backward*, on a line that nobody had touched, over a tensor of integers. `.detach()` did not help.
#
# **After this chapter you can**
#
# - say exactly what `no_grad` turns off, and what `inference_mode` turns off besides;
# - predict which later use of an inference tensor raises and which passes;
# - hand a rollout over to training without losing what is trained;
# - measure what the modes cost, and write generators and decorators that do not leak a mode.
#
# **Time:** about 125 minutes, 80 of them for the exercises (both are estimates). **Needs:** chapter 01; section 2 of chapter 04 (version counters) helps. What is said about PyTorch here was seen on version 2.13, on a CPU.
#
# **Three questions.** If you can answer them, skip to [chapter 06](../06-backward-engine/06-backward-engine.ipynb).
#
# <details><summary>1. <code>x</code> is an inference tensor, <code>w</code> a parameter. Which of <code>x + w</code> and <code>x * w</code> raises, outside inference mode?</summary>
#
# The product: it has to save `x` for the gradient of `w`. An addition saves nothing.
# </details>
# <details><summary>2. Does <code>x.detach()</code> make an inference tensor ordinary? Does <code>x.clone()</code>?</summary>
#
# `detach` never does. `clone` does, outside inference mode. Inside, the clone is an inference tensor again.
# </details>
# <details><summary>3. A generator has <code>with torch.no_grad(): yield model(x)</code>. What is wrong?</summary>
#
# While it is suspended at the `yield`, its caller runs with gradients off.
# </details>

# %% [markdown]
# ## 1. Two switches
#
# There are two switches, and each thread has its own pair. *Grad mode* says whether operations are recorded. *Inference mode* says whether new tensors carry what autograd would need to know about them later.
#
# **Predict.** `w` requires a gradient. Take `y = w * 2` under each mode. Does `y` require a gradient? Has it a `grad_fn`? Can you read its version counter?

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
# **Explain.** Both modes leave `y` without a graph. Only the third line shows a tensor of another kind: an *inference tensor*, without a version counter. It stays one after the `with` block. `no_grad` belongs to
# a stretch of code. Inference belongs to the *tensor*.
#
# ### What the version counter and view tracking are for
#
# **Predict.** `base` is ordinary. Three views of it are made, one per mode, and each is edited in place. Does `base._version` count all three edits? And does each view know that it is one?

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
print("an ordinary tensor is dispatched by", torch._C._dispatch_keys(torch.zeros(4)))
print("an inference tensor by             ", torch._C._dispatch_keys(base))

# %% [markdown]
# **Explain.** The kind is decided where memory is born. A view of an *ordinary* tensor is ordinary and tracked in every mode: base and view share one version counter. Memory that is born inside inference mode is inference
# memory. Its views are not tracked, because there is nobody to tell.
#
# The last two lines show what that saves. An inference tensor lacks two dispatch keys. `AutogradCPU` is the layer that records, `ADInplaceOrView` is the layer that counts edits and keeps track of views. Every operation skips both.
#
# ### A trap with views
#
# **Predict.** A view is made without gradients, and edited later, where gradients are on. Once the edit is plain, once it would have to be recorded. Which one passes?

# %% tags=["demo"]
def attempt(action):
    try:
        return f"works: {action()}"
    except RuntimeError as error:
        return f"RuntimeError: {str(error).split('. ')[0]}"


for name, mode in [("no_grad", torch.no_grad()), ("inference_mode", torch.inference_mode())]:
    base = torch.zeros(4)
    with mode:
        view = base[:2]
    print(f"{name:<15} view.add_(1)               ", attempt(lambda: view.add_(1)))
    print(f"{name:<15} view.mul_(w[:2])           ", attempt(lambda: view.mul_(w[:2])))
    base.mul_(torch.ones(4, requires_grad=True))
    print(f"{name:<15} base is edited, view.is_leaf", attempt(lambda: view.is_leaf))

# %% [markdown]
# **Explain.** The plain edit passes. Only an edit that would be recorded is refused: the view has no place in a graph, so nobody can say which one to correct. It goes the other way round, too. Edit the *base* in a way that is
# recorded, and the view can no longer say whether it is a leaf.
#
# ### Exercise: describe
#
# **Write a function for code reviews: it says what autograd knows about a tensor, whatever tensor it is given.**
#
# Difficulty: ●○○○○ &nbsp; Time: about 10 minutes

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
    # Why this shape: every property is asked for in the same guarded way, so whatever torch refuses becomes False. A guard around _version
    # alone, which people write first, forgets a view whose base was edited; `not t.is_inference()` forgets a detached one.
    def ask(question):
        try:
            return bool(question())
        except RuntimeError:
            return False

    return {"requires_grad": ask(lambda: t.requires_grad), "is_leaf": ask(lambda: t.is_leaf), "is_inference": ask(t.is_inference),
            "is_view": ask(t._is_view), "has_version": ask(lambda: t._version >= 0)}
    ### END SOLUTION

# %% [markdown]
# <details><summary>Stuck?</summary>
#
# `is_inference` and `_is_view` are methods, the others are attributes. Do not work one out from another: ask for each.
# </details>
# <details><summary>Still stuck?</summary>
#
# Two of them can raise a RuntimeError. Section 1 has shown you both.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-describe", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def inference(*shape):
    with torch.inference_mode():
        return torch.randn(*shape)

leaf = torch.randn(3, requires_grad=True)

def stale(size, mode):
    """A view made in a mode without gradients, whose base has been edited since in a way that is recorded."""
    base = torch.zeros(size)
    with mode():
        view = base[1:]
    base.mul_(torch.ones(size, requires_grad=True))
    return view

check = Check("describe", points=3)
check("a parameter", lambda: describe(leaf), {"requires_grad": True, "is_leaf": True, "is_inference": False, "is_view": False, "has_version": True},
      wrong=[(lambda v: v["has_version"] is False, "has_version asks whether the counter can be read, not what it shows.")],
      hint="Five bools, with exactly these keys.")
check("a result", lambda: describe(leaf * 2), {"requires_grad": True, "is_leaf": False, "is_inference": False, "is_view": False, "has_version": True})
check("an inference tensor", lambda: describe(inference(3)), {"requires_grad": False, "is_leaf": True, "is_inference": True, "is_view": False, "has_version": False},
      wrong=[(RuntimeError, "Reading _version of an inference tensor raises. That means has_version is False."),
             (lambda v: not v["is_leaf"], "A tensor without history is a leaf, whether it requires a gradient or not: t.is_leaf.")])
check("a view of a parameter", lambda: describe(leaf[1:]), {"requires_grad": True, "is_leaf": False, "is_inference": False, "is_view": True, "has_version": True},
      hint="is_view is t._is_view(), is_leaf is t.is_leaf.")
check("a view that cannot say whether it is a leaf", lambda: describe(stale(3, torch.no_grad)), {"requires_grad": True, "is_leaf": False, "is_inference": False, "is_view": True, "has_version": True},
      wrong=[(RuntimeError, "Reading is_leaf raised: the view was made without gradients, and its base edited where they are on. What torch refuses to report is False.")],
      hint="Whatever torch refuses to report is False. The rest is reported as it is.")
check("an inference tensor, detached outside the mode", lambda: describe(inference(3).detach()), {"requires_grad": False, "is_leaf": True, "is_inference": True, "is_view": False, "has_version": True},
      wrong=[(lambda v: v["is_inference"] and not v["has_version"], "It is an inference tensor, and still its version can be read. One does not follow from the other: try to read it.")],
      hint="Ask for each property by itself.")
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
check("views that cannot say whether they are leaves", lambda: [describe(stale(size, mode)) for mode in (torch.no_grad, torch.inference_mode)],
      [{"requires_grad": True, "is_leaf": False, "is_inference": False, "is_view": True, "has_version": True}] * 2,
      hint="Such a view was made without gradients, and its base edited where they are on. What torch refuses to report is False, and the rest is reported.")
check("detached and sliced from outside", lambda: [describe(inference(size).detach()), describe(inference(size)[1:].detach()), describe(inference(size).detach()[1:])],
      [{"requires_grad": False, "is_leaf": True, "is_inference": True, "is_view": False, "has_version": readable} for readable in (True, True, False)],
      hint="has_version asks whether reading t._version succeeds. Try it; it does not follow from is_inference.")
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
# What a mode saves per operation does not matter to a large matrix product. It may matter to a decoding loop of many small operations. So measure it, on your machine.
#
# **Predict.** Four small operations on tensors of eight elements: an addition, an in-place addition, a slice, a product with a parameter. For which does inference mode save most, in per cent of the time under `no_grad`?

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
# **Read the bars.** Compare within a row. In the last row the gap between the first and the second bar is the graph: a node made, a tensor saved. In the other rows nothing requires a gradient, so there is no graph to spare.
# The gap between the second and the third bar is what inference mode adds. Which row has the largest, in per cent? The next cell answers.

# %% tags=["demo"]
shares = {op: 1 - row["inference_mode"] / row["no_grad"] for op, row in costs.median.items()}
for op, share in shares.items():
    print(f"{op:<22} {costs.median[op]['no_grad'] - costs.median[op]['inference_mode']:6.0f} ns less than no_grad, {share:6.1%}")
print("the largest share on this machine:", max(shares, key=shares.get))

# %% [markdown]
# **Explain.** On the machine where this was written it was the product, in every run. Look at the nanoseconds, too: the in-place addition saves about as many, but it takes longer, so its share is small. Two layers of dispatch cost
# what they cost, and the share says how short the rest of the operation is.
#
# The gaps are small, and the noise of a busy machine can be larger. So the measurement takes the modes *in turn*, many times, and reports medians. If it timed all of one mode and then all of the next, it would
# measure which of them met a busy moment.
#
# ### Exercise: measure
#
# **Write that measurement**, for one function.
#
# Difficulty: ●●●○○ &nbsp; Time: about 20 minutes

# %% nbgrader={"grade": false, "grade_id": "measure", "locked": false, "schema_version": 3, "solution": true, "task": false}
def measure(fn: Callable[[], object], repeats: int) -> dict[str, float]:
    """Median nanoseconds of one call of `fn` under "grad", "no_grad" and "inference_mode".

    First at least one untimed call per mode, then `repeats` rounds, each of which times one call in every mode. "grad" turns
    gradients on whatever mode the caller is in; afterwards, and after an error in `fn`, the caller's mode is as it was. The
    error passes through.

    Read a clock of the standard library, such as `time.perf_counter_ns()`. Where there is CUDA, wait for it before each reading:
    `torch.cuda.synchronize()`. Ask `torch.cuda.is_available()` at each call, not once at the top.
    """
    ### BEGIN SOLUTION
    # Why this shape: the modes take turns inside each round, so a slow moment of the machine hits all three; one mode after the other, as
    # people write it first, measures the moment. Context managers restore the caller's mode by themselves, after an error, too.
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
# `torch.enable_grad()` does not switch inference mode off. `torch.inference_mode(False)` does, and it is a context manager like the others.
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

def modes_after(caller, fn=lambda: None):
    """What came out of measure, and the mode of its caller afterwards: gradients on, inference mode on."""
    with caller():
        try:
            raised = "nothing" if measure(fn, 2) else "no result"
        except ZeroDivisionError:
            raised = "ZeroDivisionError"
        return [raised, torch.is_grad_enabled(), torch.is_inference_mode_enabled()]

def on_a_device(nanoseconds):
    """A call that returns at once and leaves work to a device."""
    with fake_clock(measure, cuda=True) as clock:
        return {name: float(value) for name, value in measure(lambda: clock.launch(nanoseconds), 1).items()}

check = Check("measure", points=5)
check("the keys", lambda: sorted(measure(lambda: None, 1)), ["grad", "inference_mode", "no_grad"],
      hint="A dict with one entry per mode.")
check("each round holds every mode once", lambda: rounds(4), [["grad", "inference_mode", "no_grad"]] * 4,
      wrong=[(lambda v: len({name for names in v for name in names}) < 3 or any(len(set(names)) == 1 for names in v),
              "The modes are timed in blocks. A busy moment of the machine then hits one mode only: take them in turn.")],
      hint="repeats rounds, and in each round every mode once.")
check("nanoseconds", lambda: scripted([2000, 2000, 2000]), {"grad": 2000.0, "no_grad": 2000.0, "inference_mode": 2000.0}, rtol=1e-3,
      wrong=[(lambda v: v["grad"] < 0.1, "These are seconds. The result is in nanoseconds.")],
      hint="The clock moved by 2,000 nanoseconds in every call.")
check("a slow first call does not count", lambda: scripted([2000], warm_up=1e9), {"grad": 2000.0, "no_grad": 2000.0, "inference_mode": 2000.0}, rtol=1e-3,
      wrong=[(lambda v: max(v.values()) > 1e6, "The first call in a mode is timed. It allocates and loads; call fn once in every mode before the clock runs.")],
      hint="The untimed calls took a second each, every timed one 2,000 nanoseconds.")
check("an untimed call comes first in every mode", lambda: sorted({name for name, _ in calls(1)[:-3]}), ["grad", "inference_mode", "no_grad"],
      wrong=[(lambda v: len(v) < 3, "The first call in a mode is timed. It allocates and loads; call fn once in every mode before.")],
      hint="At least one untimed call per mode, before the rounds.")
check("the median of four", lambda: scripted([9000, 1000, 2000, 3000]), {"grad": 2500.0, "no_grad": 2500.0, "inference_mode": 2500.0}, rtol=1e-3,
      wrong=[(lambda v: abs(v["grad"] - 3750) < 5, "This is the mean, which one slow call moves. Report the median."),
             (lambda v: abs(v["grad"] - 1000) < 5, "This is the smallest value. Report the median.")],
      hint="In each mode the calls took 9,000, 1,000, 2,000 and 3,000 nanoseconds. The median of four lies halfway between the two in the middle: statistics.median.")
check("grad, asked for inside inference mode", lambda: [recorded for name, recorded in calls(1, torch.inference_mode) if name == "grad"][-1:], [True],
      wrong=[(lambda v: v is not None, 'Under "grad" nothing was recorded when the caller was inside inference_mode. enable_grad does not leave it; torch.inference_mode(False) does.')],
      hint="So there is nothing to compare.")
check("the caller's mode afterwards", lambda: [modes_after(torch.no_grad), modes_after(torch.no_grad, lambda: 1 / 0)], [["nothing", False, False], ["ZeroDivisionError", False, False]],
      wrong=[(lambda v: v[1][0] == "nothing", "fn raised, and the error got lost. Let it through.")],
      hint="The caller is inside no_grad, before and after, also when fn raises.")
check("a device that works on", lambda: on_a_device(5000), {"grad": 5000.0, "no_grad": 5000.0, "inference_mode": 5000.0}, rtol=1e-3,
      hint="The call returns at once, and the device works 5,000 nanoseconds. Where torch.cuda.is_available(), synchronize before each reading of the clock, the first one too. Ask at each call: here a device comes up while the notebook runs.")
### BEGIN HIDDEN TESTS
quick, middle, slow = sorted(float(t) for t in torch.randint(1, 10, (3,)) * torch.tensor([100, 10_000, 1_000_000]))

many = [1000.0 * (i + 1) for i in torch.randperm(21).tolist()]

check("an untimed call in every mode first", lambda: sorted({name for name, _ in calls(5)[:-15]}), ["grad", "inference_mode", "no_grad"],
      wrong=[(lambda v: v == [], "The first call in a mode is timed. It allocates and loads; call fn once in every mode before.")],
      hint="At least one untimed call per mode, before the rounds.")
check("the untimed call does not count", lambda: scripted([middle], warm_up=1e9), {"grad": middle, "no_grad": middle, "inference_mode": middle}, rtol=1e-3,
      wrong=[(lambda v: v["grad"] < 99, "The unit: the result is in nanoseconds."),
             (lambda v: v is not None, "A slow first call shows in the result. Call fn once in every mode before the clock runs.")],
      hint="So there is nothing to compare.")
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
      wrong=[(lambda v: v is not None, 'Under "grad" nothing was recorded when the caller was inside no_grad. Turn gradients on with torch.enable_grad().')],
      hint="So there is nothing to compare.")
check("grad is on inside inference_mode", lambda: [recorded for name, recorded in calls(3, torch.inference_mode) if name == "grad"][-3:], [True] * 3,
      wrong=[(lambda v: v is not None, 'Under "grad" nothing was recorded when the caller was inside inference_mode. enable_grad does not leave it; torch.inference_mode(False) does.')],
      hint="So there is nothing to compare.")
check("the caller's mode is restored", lambda: [modes_after(caller)[1:] for caller in (nullcontext, torch.no_grad, torch.inference_mode)], [[True, False], [False, False], [False, True]],
      wrong=[(lambda v: v is not None, "After measure the caller is in another mode than before. Use the modes as context managers.")],
      hint="So there is nothing to compare.")
check("an error in fn", lambda: [modes_after(caller, lambda: 1 / 0) for caller in (nullcontext, torch.no_grad, torch.inference_mode)],
      [["ZeroDivisionError", True, False], ["ZeroDivisionError", False, False], ["ZeroDivisionError", False, True]],
      wrong=[(lambda v: any(raised == "nothing" for raised, _, _ in v), "fn raised, and the error got lost. Let it through."),
             (lambda v: v is not None, "fn raised, and the caller is left in another mode. Use the modes as context managers.")],
      hint="So there is nothing to compare.")
check("work on a device is waited for", lambda: on_a_device(middle), {"grad": middle, "no_grad": middle, "inference_mode": middle}, rtol=1e-3,
      wrong=[(lambda v: 0 < v["grad"] < 99, "The unit: the result is in nanoseconds.")],
      hint="On CUDA a call returns before its work is done. Synchronize before each reading of the clock, the first one too: untimed calls leave work behind. And ask torch.cuda.is_available() at each call.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 3. An inference tensor, later
#
# The rollout is over, inference mode is off, its tensors are still there. The rule is short. An inference tensor may be *read*. Outside the mode it may not be *saved for backward*, not be *edited in place*, and not be made to
# *require a gradient*. The rest follows from what an operation saves (chapter 02).
#
# ### Exercise: survives
#
# **Predict each of the ten uses below: does it work (True) or raise (False)?** `r` is a fresh rollout of inference tensors, `weight` a parameter.
#
# Difficulty: ●●○○○ &nbsp; Time: about 10 minutes

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
# Why this shape: one question answers all ten. Does the backward need this tensor? If yes, it would be saved, and that raises.
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
# Now the table, made by running: the uses that you have predicted, and some that people meet next.

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
    "detach, then add_ in place": lambda r: r["values"].detach().add_(1.0),
}
predicted = {use: action for use, action in USES.items() if survives.get(use) is not None}
TruthTable(predicted | more, rollout)

# %% [markdown]
# **Read the table.** *Cannot be saved for backward* is the error that you will meet. Look at the rows of `cross_entropy` and `gather`: targets and indices are integers, no gradient flows through them, and still they are saved. A conversion
# that changes the dtype makes a new tensor; one that changes nothing returns the same tensor.
#
# The last row is a side door. A tensor that you detach outside the mode has a version counter of its own, so it lets itself be edited. It shares the memory, so the rollout changes with it. Do not use it: nobody counts those edits where they matter.
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
# - `eval()` is neither mode. It changes what dropout and batch normalization do, and records as before.
# - `enable_grad` inside `inference_mode` turns grad mode on, and still nothing is recorded: what is made there are inference tensors.
# - A decorated function has the mode for the time of the call.
# - The naive generator is suspended *inside* its `with` block. Its caller trains, and nothing is recorded. After an early `break` the block is left only when the generator is closed.
#
# ### Exercise: stream
#
# **Write a generator that runs a model without a graph and leaves its caller's mode alone.**
#
# Difficulty: ●●○○○ &nbsp; Time: about 10 minutes

# %% nbgrader={"grade": false, "grade_id": "stream", "locked": false, "schema_version": 3, "solution": true, "task": false}
def stream(model: Callable[[torch.Tensor], torch.Tensor], batches: Iterable[torch.Tensor]) -> Iterator[torch.Tensor]:
    """Yield `model(batch)` for each batch, one at a time, without a graph. Earlier outputs are not kept.

    Gradients are off only while the model runs. Between items, after an error and after an early stop the caller's mode is as
    the caller left it; `batches` is advanced in the caller's mode. Errors of the model and of `batches` pass through. The
    model's training flag is not touched.
    """
    ### BEGIN SOLUTION
    # Why this shape: the mode surrounds one call and nothing else. A decorator or a with block around the loop is shorter, and takes in the
    # drawing of batches or the time in which the caller runs.
    for batch in batches:
        with torch.no_grad():
            output = model(batch)
        yield output
    ### END SOLUTION

# %% [markdown]
# <details><summary>Stuck?</summary>
#
# What runs while a generator waits at its `yield`, and in which mode?
# </details>
# <details><summary>Still stuck?</summary>
#
# `@torch.no_grad()` on a generator function switches the mode on whenever the generator runs, and back at each yield. That is nearly it. But then the batches are drawn without gradients, too.
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

def watched(log, items):
    for item in items:
        log.append(modes())
        yield item

def progress(items):
    """How many batches were drawn: before the first item, and after each."""
    log = []
    found = stream(Recorder(), watched(log, items))
    counts = [len(log)]
    for _ in found:
        counts.append(len(log))
    return counts

def drawn_in(items):
    """The mode in which each batch was drawn."""
    log = []
    list(stream(Recorder(), watched(log, items)))
    return log

def inside(items):
    """Whether gradients were on while the model ran."""
    model = Recorder()
    list(stream(model, items))
    return [grad for grad, _ in model.notes]

def after_an_error(fail_at):
    seen = []
    try:
        for _ in stream(Recorder(fail_at), batches):
            seen.append(modes())
    except ValueError as error:
        seen.append(str(error))
    return [seen, modes()]

def after_a_stop():
    found = iter(stream(Recorder(), batches))
    next(found)
    suspended = modes()
    del found
    return [suspended, modes()]

def an_error_in_the_batches():
    def broken():
        yield batches[0]
        raise OSError("the file ends here")

    seen = []
    try:
        for _ in stream(Recorder(), broken()):
            seen.append("first")
    except OSError as error:
        seen.append(str(error))
    return [seen, modes()]

def inside_no_grad(items):
    with torch.no_grad():
        return [modes() for _ in stream(Recorder(), items)] + [modes()]

def alive(number):
    """How many outputs are alive while the caller holds one."""
    import weakref
    refs, counts = [], []
    for out in stream(Recorder(), [torch.ones(2) for _ in range(number)]):
        refs.append(weakref.ref(out))
        counts.append(sum(ref() is not None for ref in refs))
    return counts

def flags(training, items):
    model = Recorder().train(training)
    between = [model.training for _ in stream(model, items)]
    return [between, [flag for _, flag in model.notes], model.training]

check = Check("stream", points=4)
check("the outputs", lambda: list(stream(Recorder(), batches)), [torch.full((2,), 2.0), torch.full((2,), 6.0), torch.zeros(2)],
      hint="One output for each batch, as the model gives it.")
check("no graph", lambda: [out.requires_grad for out in stream(Recorder(), batches)], [False, False, False],
      wrong=[(lambda v: v is not None, "The outputs have a graph. Run the model under torch.no_grad().")],
      hint="So there is nothing to compare.")
check("gradients are off while the model runs, and only then", lambda: [inside(batches), drawn_in(batches)], [[False] * 3, [[True, False]] * 3],
      wrong=[(lambda v: any(v[0]), "The model ran with gradients on. A detach afterwards throws away a graph that was built in full."),
             (lambda v: not all(grad for grad, _ in v[1]), "The mode was on while batches were drawn. It belongs around the call of the model only.")],
      hint="Three batches: in each the model runs without gradients, and the batch is drawn with them.")
check("the caller's mode between items", lambda: [modes() for _ in stream(Recorder(), batches)], [[True, False]] * 3,
      wrong=[(lambda v: [False, False] in v or [False, True] in v, "The generator is suspended inside its with block, so the caller runs without gradients. Yield outside of it.")],
      hint="Three items, and between them the caller's own mode.")
check("one at a time", lambda: progress(batches), [0, 1, 2, 3],
      wrong=[(lambda v: len(v) < 2 or v[1] == v[-1], "All batches were drawn before the first output. Yield each output as soon as it is there.")],
      hint="Draw a batch only when its output is asked for.")
check("outputs are let go of", lambda: alive(3), [1, 1, 1],
      hint="The caller holds one output at a time. More are alive, so somebody keeps the earlier ones; or fewer came out than batches went in.")
check("the model raises", lambda: after_an_error(0), [["a bad batch"], [True, False]],
      wrong=[(lambda v: v[0] == [] or v[0][-1] != "a bad batch", "The model raised, and the error got lost. Let it through."),
             (lambda v: v is not None, "The model raised, and the caller's mode was not restored. A with block does that; set_grad_enabled by hand does not.")],
      hint="So there is nothing to compare.")
check("the caller stops early", after_a_stop, [[True, False], [True, False]],
      wrong=[(lambda v: not v[0][0], "While the generator waits, the mode is still on. Switch it on around the call of the model only, and yield outside of that."),
             (lambda v: v is not None, "The caller stopped after one item and is left in another mode.")],
      hint="So there is nothing to compare.")
check("the batches raise", an_error_in_the_batches, [["first", "the file ends here"], [True, False]],
      hint="The second batch raises an error of its own. It comes out after one output, and the caller's mode is as before.")
check("a caller inside no_grad", lambda: inside_no_grad(batches), [[False, False]] * 4,
      wrong=[(lambda v: v != [[False, False]] * 4, "The caller's mode is not always grad: leave it as it was, do not switch gradients on.")],
      hint="So there is nothing to compare.")
check("a model that is any callable", lambda: list(stream(lambda x: x + 1, batches[:1])), [torch.full((2,), 2.0)],
      hint="A model is any callable: it need not have a training flag, parameters or a forward method.")
check("a model that trains goes on training", lambda: flags(True, batches), [[True] * 3, [True] * 3, True],
      hint="eval() is not a mode of autograd, and whether the model trains is the caller's business.")
### BEGIN HIDDEN TESTS
drawn = [torch.randn(3) for _ in range(int(torch.randint(3, 6, ())))]

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

check("outputs elsewhere", lambda: list(stream(Recorder(), drawn)), [2 * item for item in drawn])
check("empty batches, and float64", lambda: list(stream(lambda x: 3 * x, [torch.ones(0), torch.zeros(2, dtype=torch.float64), torch.ones(1)])), [torch.ones(0), torch.zeros(2, dtype=torch.float64), torch.full((1,), 3.0)],
      hint="One output for each batch, an empty one too, as the model gives it.")
check("one batch at a time", lambda: progress(drawn), list(range(len(drawn) + 1)),
      wrong=[(lambda v: len(v) < 2 or v[1] == v[-1], "All batches were drawn before the first output. Yield each output as soon as it is there.")],
      hint="Draw a batch only when its output is asked for.")
check("gradients are off while the model runs", lambda: inside(drawn), [False] * len(drawn),
      wrong=[(lambda v: v is not None, "The model ran with gradients on. A detach afterwards throws away a graph that was built in full.")],
      hint="So there is nothing to compare.")
check("batches are drawn in the caller's mode", lambda: drawn_in(drawn), [[True, False]] * len(drawn),
      wrong=[(lambda v: v is not None, "The mode was on while batches were drawn. It belongs around the call of the model only.")],
      hint="So there is nothing to compare.")
check("after an error", lambda: after_an_error(1), [[[True, False], "a bad batch"], [True, False]],
      wrong=[(lambda v: not v[0][0][0], "While the generator waits, the mode is still on. Switch it on around the call of the model only, and yield outside of that."),
             (lambda v: v is not None, "The model raised, and the caller's mode was not restored. A with block does that; set_grad_enabled by hand does not.")],
      hint="So there is nothing to compare.")
check("other errors", other_errors, [["out of memory", [True, False]], ["the file ends here", [True, False]]],
      wrong=[(lambda v: any("no error" in text for text, _ in v), "The model or the batches raised, and the error got lost: the caller takes what came so far for all. Let it through."),
             (lambda v: v is not None, "The model raised, and the caller's mode was not restored. Whatever the error is, a with block does that.")],
      hint="So there is nothing to compare.")
check("earlier outputs are not kept", lambda: alive(5), [1, 1, 1, 1, 1],
      wrong=[(lambda v: v is not None, "Outputs that the caller has let go of are still alive: a list of them grows with every batch. Yield each, and keep none.")],
      hint="So there is nothing to compare.")
check("after an early stop", after_a_stop, [[True, False], [True, False]],
      wrong=[(lambda v: not v[0][0], "While the generator waits, the mode is still on. Switch it on around the call of the model only, and yield outside of that."),
             (lambda v: v is not None, "The caller stopped early and is left in another mode.")],
      hint="So there is nothing to compare.")
check("callers in other modes", callers, [[[False, False]] * 4, [[False, True]] * 4, [[True, False]] * 4],
      wrong=[(lambda v: not v[2][0][0], "While the generator waits, the mode is still on. Switch it on around the call of the model only, and yield outside of that.")],
      hint="The caller's mode is not always grad: leave it as it was, do not switch gradients on.")
check("a caller that switches between items", switching, [[False, False], [True, False]],
      wrong=[(lambda v: not v[1][0], "While the generator waits, the mode is still on. Switch it on around the call of the model only, and yield outside of that."),
             (lambda v: v is not None, "The mode that was on at the start was put back over the caller's own choice.")],
      hint="So there is nothing to compare.")
check("a model that is a plain function", lambda: list(stream(lambda x: 3 * x, drawn)), [3 * item for item in drawn],
      hint="A model is any callable: it need not have a training flag, parameters or a forward method.")
check("the training flag", lambda: [flags(training, drawn) for training in (True, False)], [[[flag] * len(drawn), [flag] * len(drawn), flag] for flag in (True, False)],
      hint="eval() is not a mode of autograd, and whether the model trains is the caller's business.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 5. From rollout to training
#
# The story in one cell: a policy acts under inference mode, with the weights that are trained right afterwards. **Predict** which lines raise.

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
# Four tensors came out of the rollout. Three of them cannot take part in training: an input, an index, a factor. The fourth can, because a subtraction saves nothing. Now the repairs that people try. **Predict** which ones help:

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
# The opposite mistake is to copy too much. **Predict** what a clone of a parameter does to training:

# %% tags=["demo"]
for name, hand_over in [("the same object", lambda t: t), ("a clone", lambda t: t.clone()), ("a detached clone", lambda t: t.detach().clone())]:
    scale = torch.ones(2, requires_grad=True)
    handed = hand_over(scale)
    loss = (handed * torch.tensor([3.0, 4.0])).sum()
    if loss.requires_grad:
        loss.backward()
    print(f"{name:<17} is a leaf: {handed.is_leaf!s:<6} its .grad {handed.grad if handed.is_leaf else None},  the parameter's .grad {scale.grad}")

# %% [markdown]
# **Explain.** A clone is one more node above the parameter: an optimizer that gets the clone has nothing to step. A detached clone is a new tensor, and training does not reach the parameter at all. So the hand-off is exact: *inference tensors become copies with no history, everything else stays the very object that it was.*
#
# ### Exercise: to_training
#
# **Write the hand-off: everything in a rollout that is an inference tensor becomes fit for training, and nothing else changes.**
#
# A rollout is rarely one tensor. It is a dataclass with a dict of lists in it, and the same mask hangs in two places. Taking containers apart is not what this chapter is about, so here is a function for that:

# %% nbgrader={"grade": false, "grade_id": "containers", "locked": true, "schema_version": 3, "solution": false, "task": false}
def rebuild(value, convert: Callable[[object], object]):
    """One container again, of its exact type, with `convert` applied to what stands in it; anything else as it is.

    Knows dict (OrderedDict too), list, tuple, namedtuple and dataclass (frozen or with slots too). Goes one level deep:
    whether it goes deeper is up to `convert`.
    """
    if isinstance(value, dict):
        new = copy.copy(value)
        for key in value:
            new[key] = convert(value[key])
        return new
    if isinstance(value, (list, tuple)):
        items = [convert(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        new = copy.copy(value)
        for field in dataclasses.fields(value):
            object.__setattr__(new, field.name, convert(getattr(value, field.name)))
        return new
    return value

# %% [markdown]
# `rebuild` calls `convert` on each thing in the container. Your part is what `convert` does with a tensor, in which mode, and with something that it meets a second time.
#
# Difficulty: ●●●○○ &nbsp; Time: about 20 minutes

# %% nbgrader={"grade": false, "grade_id": "to_training", "locked": false, "schema_version": 3, "solution": true, "task": false}
def to_training(batch):
    """Make a rollout fit for training.

    - An inference tensor, integer and bool ones too, becomes an ordinary copy with requires_grad False and no history.
    - Any other tensor is returned as the same object: a parameter is still the one that is trained, and a graph goes on.
    - It works inside inference mode, too, and leaves the mode as it was.
    - dict (OrderedDict too), list, tuple, namedtuple and dataclass (frozen or with slots too), nested at will, are rebuilt
      with their exact type, which `rebuild` does, and converted inside. Other subclasses of these are not asked. The batch
      itself is not changed.
    - An object that is met twice stays one object. Every other value is returned as it is.
    """
    ### BEGIN SOLUTION
    # Why this shape: the copy is made where inference mode is off, and detached first, so it has neither the kind nor the history of its
    # original. Results are remembered by id, with the original beside them: an id is used again as soon as its object dies.
    done = {}

    def convert(value):
        if id(value) not in done:
            done[id(value)] = (value, fresh(value))
        return done[id(value)][1]

    def fresh(value):
        if isinstance(value, torch.Tensor):
            return value.detach().clone() if value.is_inference() else value
        return rebuild(value, convert)

    with torch.inference_mode(False):
        return convert(batch)
    ### END SOLUTION

# %% [markdown]
# <details><summary>Stuck?</summary>
#
# Write an inner function `convert(value)`. A tensor it decides about itself; anything else goes to `rebuild(value, convert)`, which calls it again for each item.
# </details>
# <details><summary>Still stuck?</summary>
#
# For "met twice": remember results by `id(value)`, for the time of one call. Keep the original beside its result: an id is used again when its object dies.
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

def product():
    """A product with a parameter, of what comes out; and the parameter's gradient."""
    weight = torch.ones(2, requires_grad=True)
    (to_training(inference([3.0, 4.0])) * weight).sum().backward()
    return weight.grad

def index_and_mask():
    """An index and a mask of a rollout, used on a parameter; and the parameter's gradient."""
    weight = torch.zeros(3, requires_grad=True)
    out = to_training([inference([2, 0]), inference([True, False])])
    weight[out[0]].masked_fill(out[1], 1.0).sum().backward()
    return weight.grad

def called_inside(values):
    with torch.inference_mode():
        out = to_training([torch.tensor(values)])
        return [*kind(out[0]), torch.is_inference_mode_enabled()]

def demanding(size):
    """A tensor that was made to require a gradient inside the mode: its copy, and whether that has a history."""
    with torch.inference_mode():
        t = torch.ones(size, requires_grad=True)
    out = to_training(t)
    return [*kind(out), out.grad_fn is None]

def trained():
    """A parameter and a graph above it: the same objects, and the gradient arrives."""
    parameter = torch.ones(2, requires_grad=True)
    graph = parameter * 3.0
    out = to_training({"parameter": parameter, "graph": graph})
    if out["graph"].requires_grad:
        out["graph"].sum().backward()
    return [out["parameter"] is parameter, out["graph"] is graph, parameter.grad]

def nested():
    """Types and kinds, at every level."""
    out = to_training(Rollout([Step(inference([1.0]), (inference([2]),))], collections.OrderedDict(a=Frozen(inference([True]), "x"), b=Slotted(inference([1.0]), "y"))))
    step, info = out.steps[0], out.info
    return [[type(value).__name__ for value in (out, step, info, info["a"], info["b"])], [kind(t) for t in (step.observation, step.action[0], info["a"].mask, info["b"].reward)]]

def twice_met():
    """Of a mask, of a list and of a dict that hang in two places each: are they one object afterwards?"""
    mask, steps, info = inference([True]), [inference([1.0])], {"length": inference([2])}
    out = to_training([mask, steps, info, {"mask": mask, "deep": [{"steps": steps, "info": info}]}])
    return [out[0] is out[3]["mask"], out[1] is out[3]["deep"][0]["steps"], out[2] is out[3]["deep"][0]["info"]]

def rollout_itself():
    """Whether the tensors of the batch are inference tensors still, after the call; and whether its containers are new."""
    batch = [inference([1.0]), [torch.ones(1)]]
    out = to_training(batch)
    return [batch[0].is_inference(), out is not batch, out[1] is not batch[1]]

def other_things():
    """Of a set, an object with attributes and a frozenset: are they the same objects? And the keys of a dict."""
    class Settings:
        pass

    things = [{1}, Settings(), frozenset({2})]
    out = to_training({0: 1, ("a", 1): inference([1.0])})
    return [[new is old for new, old in zip(to_training(things), things)], list(out), kind(out["a", 1])]

check = Check("to_training", points=7)
check("one inference tensor", lambda: [to_training(inference([1.0, 2.0])), kind(to_training(inference([1.0, 2.0])))], [torch.tensor([1.0, 2.0]), [False, False]],
      wrong=[(lambda v: v[1][0], "It is an inference tensor still. detach() and .data share its memory; a clone outside inference mode does not."),
             (lambda v: v[1][1], "It requires a gradient. A rollout is data.")],
      hint="The same numbers, in a tensor that is no inference tensor and requires no gradient.")
check("it may be saved for backward", product, torch.tensor([3.0, 4.0]),
      wrong=[(RuntimeError, "If it speaks of inference tensors: what came out is still one. Copy it, and outside of inference mode.")],
      hint="The gradient of the parameter is the rollout's values.")
check("an index and a mask may be saved, too", index_and_mask, torch.tensor([1.0, 0.0, 0.0]),
      wrong=[(RuntimeError, "If it speaks of inference tensors: integers and bools are saved for backward as well. Convert inference tensors of every dtype.")],
      hint="Element 2 was masked, element 0 was not: only the gradient of element 0 is 1.")
check("called where inference mode is on", lambda: called_inside([1.0, 2.0]), [False, False, True],
      wrong=[(lambda v: v[0], "A clone made inside inference mode is an inference tensor again. Switch it off around the work: torch.inference_mode(False)."),
             (lambda v: not v[2], "The mode is off afterwards. It belongs to the caller: use the context manager.")],
      hint="Inference mode is on when to_training is called. What comes out is ordinary, and the mode is still on.")
check("an inference tensor that requires a gradient", lambda: demanding(2), [False, False, True],
      wrong=[(lambda v: v[1], "The copy requires a gradient, or is part of its original's graph. Detach as well.")],
      hint="The copy is data: no gradient, no history.")
check("a parameter and a graph", trained, [True, True, torch.tensor([3.0, 3.0])],
      wrong=[(lambda v: not v[0] or not v[1], "Ordinary tensors have to be the same objects. A parameter that was copied is not the one that is trained.")],
      hint="Ordinary tensors pass as they are: no clone, no detach.")
check("a dict of lists", lambda: {k: [kind(t) for t in v] for k, v in to_training({"a": [inference([1.0])], "b": [inference([2.0]), torch.ones(1)]}).items()},
      {"a": [[False, False]], "b": [[False, False], [False, False]]}, hint="Convert inside containers, at every level.")
check("a dataclass, a namedtuple, a tuple", nested, [["Rollout", "Step", "OrderedDict", "Frozen", "Slotted"], [[False, False]] * 4],
      wrong=[(TypeError, "If it speaks of missing arguments: a namedtuple wants its fields one by one, type(value)(*items)."),
             (AttributeError, "A namedtuple or a dataclass came back as something without its fields. Rebuild it with its exact type.")],
      hint="Containers keep their exact type, and are converted inside at every level.")
check("one mask in two places", twice_met, [True, True, True],
      wrong=[(lambda v: v is not None, "A mask hangs in two places of the batch, and so do a list and a dict. One of them came back as two objects. Remember what you have converted.")],
      hint="So there is nothing to compare.")
check("the rollout itself", rollout_itself, [True, True, True],
      hint="The batch that is given has to stay as it was, and whoever appends to the training batch must not append to it. Build new containers, and copy tensors instead of changing them.")
check("other values", lambda: to_training(["text", 3, None, 2.5]), ["text", 3, None, 2.5],
      hint="What is neither a container nor a tensor is returned as it is.")
check("sets, other objects, other keys", other_things, [[True, True, True], [0, ("a", 1)], [False, False]],
      hint="What is neither one of the containers nor a tensor comes back as the same object, and a dict keeps its keys, whatever they are, and has its values converted.")
check("any dtype", lambda: [str(to_training(inference(torch.ones(2, dtype=dtype))).dtype) for dtype in (torch.float16, torch.int64, torch.bool)],
      ["torch.float16", "torch.int64", "torch.bool"], hint="A copy has the dtype of its original.")
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
    """A hundred tensors in two calls, all different: none may be taken for another."""
    first = to_training([inference([float(v)]) for v in range(50)])
    second = to_training([inference([float(v)]) for v in range(50, 100)])
    return [t.tolist() if isinstance(t, torch.Tensor) else type(t).__name__ for t in [*first, *second]]

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
      wrong=[(lambda v: v is not None, "The same tensor, or the same container, was converted twice and came back as two. Remember results by id.")],
      hint="So there is nothing to compare.")
check("different objects stay different", many, [[float(v)] for v in range(100)],
      wrong=[(lambda v: v is not None, "An id was taken for another object's. Keep the original alive as long as you remember its id, and remember only within one call.")],
      hint="So there is nothing to compare.")
check("a list that grew between two calls", grown, [1, torch.tensor([1.0]), torch.tensor([2.0])],
      wrong=[(lambda v: v is not None, "The second call does not show what was appended after the first. Results are remembered within one call only; a default argument is made once and kept for all calls.")],
      hint="So there is nothing to compare.")
check("the batch itself is unchanged", unchanged, [True, True, True, True, True, torch.tensor(numbers)],
      hint="The batch that is given has to stay as it was. Build new containers.")
check("containers are rebuilt", rebuilt, [True, True, True],
      wrong=[(lambda v: v is not None, "A container without inference tensors came back as the same object. Whoever appends to the training batch would then edit the rollout: rebuild every container.")],
      hint="So there is nothing to compare.")
check("other values pass", passing, ["text", 3, None, True, 2.5, True, [(1, "one")]],
      hint="What is neither a container nor a tensor is returned as it is. A str is a sequence, but no container here.")
check("parameters and graphs pass", parameters, [True, True, [False, False]],
      hint="Ordinary tensors are the same objects: no clone, no detach.")
check("called inside inference mode", inside, [[False, False], [False, False], torch.tensor(numbers), True],
      wrong=[(lambda v: v[0][0], "A clone made inside inference mode is an inference tensor again. Switch it off around the work: torch.inference_mode(False).")],
      hint="It must work inside inference mode and leave the mode on.")
check("no history, whatever the original was", lambda: [demanding(size) for size in (1, 3)], [[False, False, True]] * 2,
      hint="A clone is part of the graph of its original. Detach as well.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ### Exercise: surrogate
#
# **Write the loss of PPO and its relatives, and keep its gradient alive where every ratio is 1.** With the ratio $r = \exp(\log p - \log p_\text{old})$ and the advantage $A$, the loss is
#
# $$-\,\mathrm{mean}\,\min\bigl(r A,\ \mathrm{clip}(r, 1 - c, 1 + c)\,A\bigr).$$
#
# Until the first optimizer step the policy has not moved: `old_logp` equals `logp`, and in lazy code it is even the *same tensor*. Then every ratio is 1. **Predict:** what is the gradient there?

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
# **Read the curves** at the gray line. The ratio is 1, and the slope is not 0: it is A. A constant *value* says nothing about a slope. The curves are flat where the policy has moved far in the direction that pays. On the other side the minimum keeps the slope, so
# a policy that moved too far in the wrong direction is pulled back.
#
# Difficulty: ●●○○○ &nbsp; Time: about 10 minutes

# %% nbgrader={"grade": false, "grade_id": "surrogate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def surrogate(logp: torch.Tensor, old_logp: torch.Tensor, advantages: torch.Tensor, clip: float) -> torch.Tensor:
    """The clipped policy-gradient loss, the mean over all elements (a 0-d tensor).

    All three tensors have one shape, and stay as they are. `old_logp` is a constant, even when it is the same tensor as `logp`;
    then the value is -mean(advantages) and the gradient of logp is -advantages / numel. It works for log-probabilities whose
    exp is 0 in their dtype, too.
    """
    ### BEGIN SOLUTION
    # Why this shape: only old_logp is detached, so the ratio keeps its slope where its value is 1. The difference stands inside the exp:
    # a quotient of two probabilities is 0 / 0 for long sequences.
    ratio = torch.exp(logp - old_logp.detach())
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
    ### END SOLUTION

# %% [markdown]
# <details><summary>Stuck?</summary>
#
# One thing in the formula is a constant. Detach that, and nothing else.
# </details>
# <details><summary>Still stuck?</summary>
#
# `torch.minimum` compares two tensors element by element; `clamp` takes the two bounds.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-surrogate", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def loss_and_gradient(logp, old, advantages, clip):
    logp = logp.clone().requires_grad_()
    loss = surrogate(logp, logp if old is None else old, advantages, clip)
    return [loss, *torch.autograd.grad(loss, logp)]

logp = torch.tensor([-1.0, -0.5, -2.0, -0.25], dtype=torch.float64)
advantages = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=torch.float64)

def left_alone(*given):
    """The tensors after a call, and how far their versions moved."""
    given = [t.clone() for t in given]
    before = [t._version for t in given]
    surrogate(*given, 0.2)
    return [*given, [t._version - version for t, version in zip(given, before)]]

def constant(logp, old, advantages, clip):
    """The gradient of old_logp, where old_logp could have one."""
    logp, old = logp.clone().requires_grad_(), old.clone().requires_grad_()
    return torch.autograd.grad(surrogate(logp, old, advantages, clip), (logp, old), allow_unused=True)[1]

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
check("two dimensions", lambda: surrogate(logp.reshape(2, 2), logp.reshape(2, 2), advantages.reshape(2, 2), 0.2), torch.tensor(-0.625, dtype=torch.float64),
      hint="The loss is one number: the mean over all elements, however many dimensions there are.")
check("no gradient for old_logp", lambda: constant(logp, logp - 0.125, advantages, 0.2), None,
      wrong=[(RuntimeError, "It raised. Is the loss one number, the mean over all elements, and does it have a graph? Only old_logp is a constant; the ratio must keep its gradient."),
             (lambda v: v is not None, "A gradient flows into old_logp. Detach it.")],
      hint="So there is nothing to compare.")
check("very small probabilities", lambda: loss_and_gradient(logp.float() - 200.0, logp.float() - 200.0, advantages.float(), 0.2), [torch.tensor(-0.625), torch.tensor([-0.25, 0.5, -0.125, -0.75])],
      wrong=[(lambda v: v[0] != v[0], "NaN: exp(-200) is 0 in float32, and a quotient of two such probabilities is 0 / 0. Subtract first: the ratio is exp(logp - old_logp).")],
      hint="Every ratio is 1 here, so value and gradient are those above.")
check("the arguments stay", lambda: left_alone(logp, logp - 0.125, advantages), [logp, logp - 0.125, advantages, [0, 0, 0]],
      wrong=[(lambda v: v is not None, "An argument was changed in place. It belongs to the caller, and the next epoch needs it again.")],
      hint="So there is nothing to compare.")
### BEGIN HIDDEN TESTS
new, old = 0.4 * torch.randn(3, 4, dtype=torch.float64) - 1, 0.4 * torch.randn(3, 4, dtype=torch.float64) - 1
gains = torch.randn(3, 4, dtype=torch.float64)
width = 0.1 + 0.2 * float(torch.rand(()))

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
check("old_logp is a constant", lambda: constant(new, old, gains, width), None,
      wrong=[(RuntimeError, "It raised. Is the loss one number, the mean over all elements, and does it have a graph? Only old_logp is a constant; the ratio must keep its gradient."),
             (lambda v: v is not None, "A gradient flows into old_logp. Detach it.")],
      hint="So there is nothing to compare.")
check("log-probabilities of -120", lambda: loss_and_gradient(torch.tensor([-120.0, -130.0, -110.0]), torch.tensor([-120.125, -129.875, -110.0]), torch.tensor([1.0, -2.0, 3.0]), 0.2),
      [-(torch.tensor([0.125, -0.125, 0.0]).exp() * torch.tensor([1.0, -2.0, 3.0])).mean(), -torch.tensor([0.125, -0.125, 0.0]).exp() * torch.tensor([1.0, -2.0, 3.0]) / 3],
      wrong=[(RuntimeError, "It raised. Is the loss one number, the mean over all elements, and does it have a graph? Only old_logp is a constant; the ratio must keep its gradient.")],
      hint="exp(-120) is 0 in float32, and a quotient of two such probabilities is 0 / 0. Subtract first: the ratio is exp(logp - old_logp).")
check("the arguments are left as they were", lambda: left_alone(new, old, gains), [new, old, gains, [0, 0, 0]],
      wrong=[(lambda v: v is not None, "An argument was changed in place. It belongs to the caller, and the next epoch needs it again.")],
      hint="So there is nothing to compare.")
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
# For small operations on a GPU the CPU's side often costs more than the work itself. What a mode saves there is time on the CPU, so it helps only where the GPU waits for the CPU. With CUDA, the cell below measures two rows of section 2 on the device. **Expect** longer bars, because a launch comes on top, and a
# gap between the modes of about as many nanoseconds as on the CPU. So the share should be smaller.

# %% tags=["demo"]
if torch.cuda.is_available():
    on_gpu = torch.ones(8, device="cuda")
    print(mode_costs({"add": lambda: on_gpu + on_gpu, "slice [:4]": lambda: on_gpu[:4]}))
else:
    print("No CUDA device here. A slice launches nothing, so on a GPU its bar should be as long as on the CPU: " + ", ".join(f"{name} {ns:,.0f} ns" for name, ns in costs.median["slice [:4]"].items()))
show_recording("05-modes")

# %% [markdown]
# ## Help, I get this error
#
# <details><summary><code>Inference tensors cannot be saved for backward</code></summary>
#
# Something that was made under inference mode reached an operation that saves it. It may be an index, a mask or a target. Copy it outside the mode: `clone()`.
# </details>
# <details><summary>The same, although you cloned</summary>
#
# The clone was made while inference mode was on. Then it is an inference tensor again.
# </details>
# <details><summary><code>Inplace update to inference tensor outside InferenceMode is not allowed</code></summary>
#
# A buffer was filled under inference mode and is edited later. Make it outside, or copy it.
# </details>
# <details><summary><code>Setting requires_grad=True on inference tensor outside InferenceMode is not allowed</code></summary>
#
# Weights were loaded or a model was built under inference mode. Build it outside.
# </details>
# <details><summary><code>Inference tensors do not track version counter</code></summary>
#
# Somebody reads `_version`. An inference tensor has none.
# </details>
# <details><summary><code>A view was created in no_grad mode and is being modified inplace with grad mode enabled</code></summary>
#
# Section 1, the trap with views. Make the view where gradients are on, or the edit where they are off.
# </details>
# <details><summary><code>element 0 of tensors does not require grad and does not have a grad_fn</code></summary>
#
# In `surrogate`: the ratio lost its graph. `logp` itself was detached, or everything ran under no_grad. Elsewhere: a generator has left a mode on.
# </details>
# <details><summary>The first value that I measure is a hundred times the others</summary>
#
# The first call of an operation allocates and loads. Call `fn` once in every mode before you start the clock.
# </details>
#
# ## Explain it aloud
#
# A colleague moves rollout code from `no_grad` to `inference_mode` and asks: "What changes, what will break, and what do I do at the hand-off?" Answer in a minute, aloud, then write it down.
#
# It is graded by hand, two points. Half a point each: what inference mode turns off beyond recording (version counters, view tracking); that inference belongs to the tensor and outlives the block; which later uses raise and why (saving, of
# indices and masks, too); the hand-off by a copy made outside the mode, and what it costs.

# %% [markdown] nbgrader={"grade": true, "grade_id": "explain-05-inference-mode", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# no_grad stops recording, and what it makes are ordinary tensors. inference_mode also makes tensors that have no version counter and whose views are not tracked, so each operation skips two layers of dispatch. That kind
# belongs to the tensor and outlives the block. Reading such a tensor is fine, and so is adding it to a parameter, because an addition saves nothing. Whatever has to be saved for backward raises: a factor, an input of a layer, and
# integers and bools too, because indices, masks and targets are saved. Editing it in place outside the mode raises, and so does asking for a gradient. detach does not help, since it shares the memory. At the hand-off I
# clone every inference tensor once, outside the mode, and leave every other tensor the object that it is, or training would not reach the parameters. That costs one copy of the batch. Where the rollout is a few large operations, no_grad is as
# fast and needs no copy.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# 1. `no_grad` stops recording for a stretch of code. `inference_mode` also makes tensors without version counter and view tracking, and they stay so.
# 2. An inference tensor may be read. Outside the mode it may not be saved for backward, edited in place, or made to require a gradient.
# 3. Indices, masks and targets are saved, too. `detach` does not help; a copy made outside inference mode does. Everything else stays the object that it is.
# 4. Put the mode around the model, never around a `yield`. `eval()` is neither mode.
# 5. Measure modes in turn, with a warm-up, and report medians.
