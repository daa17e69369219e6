# %% [markdown]
# # 00 - Start here
# [![Open In Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/YOUR-NAME/YOUR-REPOSITORY/blob/main/notebooks/00-start/00-start.ipynb)

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
try:
    import autograder.lab
except ImportError:  # on Colab: only this project, nothing that is already there is touched
    import subprocess, sys
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps",
                    "git+https://github.com/YOUR-NAME/YOUR-REPOSITORY"], check=True)
import torch
from autograder.lab import Check, device, draw_graph, runtime_report, saved_ledger

# %% [markdown]
# A job fits in memory on Monday and dies at step 1 on Tuesday. Nobody touched the model: somebody made the batch a little larger, or replaced a
# fused kernel by three plain lines. On Wednesday the loss goes down nicely, and one gradient is silently wrong.
#
# Such days have one thing in common. PyTorch records something while your forward pass runs, and few people could say what. This course is
# about that record: what is in it, what it costs, and how to take control of it. It is for engineers who run inference or training and write PyTorch,
# but have never looked inside autograd.
#
# **After this chapter you can**
#
# - tell whether your machine runs the course, and what is missing if it does not;
# - answer an exercise, and read what its checks say;
# - choose the chapters you need.
#
# **Time:** about 15 minutes. This is an estimate.
#
# **Two questions.** If you can answer both, run the next cell and go straight to the self-test.
#
# <details><summary>1. Where do the points of an exercise come from?</summary>
#
# From its check cell. Each check observes a value that your answer produces and compares it. When a class is graded, more checks on other
# inputs are added.
# </details>
# <details><summary>2. What happens to cells that you change or add?</summary>
#
# Your own cells are kept and run. Check cells and locked cells are taken from the course, so changing them changes nothing for the grade.
# </details>

# %% [markdown]
# ## 1. Does my machine work?
#
# **Predict.** Does this notebook run on a GPU, and which version of PyTorch does it have? Then run.

# %% tags=["demo"]
runtime_report()

# %% [markdown]
# **Explain.** The line `device` says where tensors of the "On a GPU" sections will live. No chapter needs a GPU.
#
# The line `dot` names the program that draws graphs. Where none was found, drawings appear as text and everything else works. On your own
# machine `pip install graphviz-pure` brings one, without administrator rights.
#
# The course asks for PyTorch 2.9 or newer. With an older one the names in the pictures may differ.
#
# ## 2. One picture
#
# **Predict.** The line below multiplies and adds up. Afterwards PyTorch has a record of it. What does that record keep in memory: `x`, `w`, or their
# product?

# %% tags=["demo"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
y = (x * w).sum()
draw_graph(y)

# %% [markdown]
# **Explain.** This is the graph that PyTorch recorded. Each box computes the gradient of one operation, and arrows show the way the gradient will
# take. The product saved `x` and `w`, because its derivative needs them. It saved them by reference: nothing was copied. Nobody saved the product
# itself. A sum's derivative is 1 everywhere, so a shape is enough for it. That is why the product is gone.
#
# Every statement about activation memory in this course is of this kind, and you will be able to check it.
#
# ## 3. One exercise, to see how it goes
#
# Exercises are functions to write, or predictions to make. A cell with checks follows. Each check has a label, and a sentence when it fails. This
# one passes.

# %% tags=["demo"]
check = Check("a check that passes", points=1)
check("the gradient of x is w", lambda: torch.autograd.grad((x * w).sum(), x)[0], torch.tensor([0.5, -1.0, 2.0]))
check.report()

# %% [markdown]
# And this one fails on purpose. **Predict** what the message says before you run it: somebody believed that two backward passes
# leave the gradient as it was.

# %% tags=["demo"]
def gradient_after_two_passes():
    v = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    for _ in range(2):
        (v * 5).sum().backward()
    return v.grad


check = Check("a check that fails", points=1)
check("the gradient after two passes", gradient_after_two_passes, torch.tensor([5.0, 5.0, 5.0]),
      hint="It is twice as large: backward adds to .grad, and nobody cleared it in between.")
check.report()

# %% [markdown]
# A failed check costs its share of the points and stops nothing. Run the check cell as often as you like. On the command line,
# `autograder check my-notebook.ipynb` does the same for a whole chapter.
#
# Each chapter goes in small turns. **Predict**: commit to an answer, in your head or in a variable. **Run**. **Explain**: read why. You learn most
# where your prediction was wrong, so make one each time.

# %% [markdown]
# ### Exercise: selftest
#
# Difficulty: ●●○○○ · 5 minutes
#
# Answer five questions, one for each thing this course is for. Choose one letter each. A wrong choice is no loss: the check tells you what is
# behind it, and which chapter answers it. The check cell holds the answers, so choose before you look.
#
# **q1. `y = (x * w).sum()`, both factors require gradients. What does the graph hold on to afterwards?**
#
# - a: nothing; only `y` is left
# - b: copies of `x` and `w`
# - c: `x` and `w`, by reference
# - d: `x`, `w` and the product `x * w`
#
# **q2. Which tensors exactly are "the activations" that training keeps, and how do you count them?**
#
# - a: what the graph's nodes saved, each storage once, without the parameters: count with saved-tensor hooks
# - b: the outputs of all modules: add up their sizes
# - c: every tensor the forward pass makes: watch the allocator
# - d: everything on the GPU that is no parameter: subtract
#
# **q3. What does activation checkpointing trade?**
#
# - a: accuracy for memory: gradients become approximate
# - b: transfers to the CPU for memory on the GPU
# - c: memory of the weights for time of the optimizer
# - d: about one more forward pass for the memory of what the forward pass would have saved
#
# **q4. When do you need a `torch.autograd.Function`, and how do you verify its backward?**
#
# - a: for every new layer; if the loss goes down, it is right
# - b: when autograd cannot see or should not save what you compute; gradcheck in float64, plus tests of the backward contract
# - c: only for speed; gradcheck in float32, as the layer will run
# - d: for in-place operations; run backward twice
#
# **q5. How do `inference_mode` and `no_grad` differ?**
#
# - a: both record nothing; inference_mode also drops version counters and views' bookkeeping, so its tensors cannot be saved for a backward later
# - b: not at all, one is the newer name
# - c: inference_mode also switches dropout and batch norm to evaluation
# - d: no_grad frees saved tensors, inference_mode frees the parameters' gradients
#
# <details><summary>Stuck?</summary>
#
# Look at the picture above for q1. For the others, go by what you would tell a colleague today.
# </details>
# <details><summary>Still stuck?</summary>
#
# Put a letter down anyway. What the check says about it is the point of this exercise.
# </details>
#
# <details><summary>The answers, with the chapters that explain them</summary>
#
# q1: c, see [01](../01-graph/01-graph.ipynb). q2: a, see [02](../02-saved-tensors/02-saved-tensors.ipynb). q3: d, see
# [03](../03-checkpointing/03-checkpointing.ipynb). q4: b, see [04](../04-custom-function/04-custom-function.ipynb). q5: a, see
# [05](../05-inference-mode/05-inference-mode.ipynb).
# </details>

# %% nbgrader={"grade": false, "grade_id": "selftest", "locked": false, "schema_version": 3, "solution": true, "task": false}
answers: dict[str, str] = {"q1": "", "q2": "", "q3": "", "q4": "", "q5": ""}  # one letter each: "a", "b", "c" or "d"
### BEGIN SOLUTION
# Why this shape: a dict says which letter answers which question, in whatever order the questions are read.
answers = {"q1": "c", "q2": "a", "q3": "d", "q4": "b", "q5": "a"}
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-selftest", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check = Check("selftest", points=5)
check("q1: what is left after (x * w).sum()", lambda: answers["q1"].strip().lower(), "c",
      hint='Put a letter into answers["q1"].',
      wrong={"a": "The graph is left. The product's derivative needs both factors, so its node holds them. Chapter 01.",
             "b": "Saving holds a reference. A copy would take the memory of every weight a second time. Chapter 01.",
             "d": "A sum's derivative needs no values, only a shape. Nobody keeps the product, so it is freed. Chapter 01."})
check("q2: what the activations are", lambda: answers["q2"].strip().lower(), "a",
      hint='Put a letter into answers["q2"].',
      wrong={"b": "A module's output may be saved by nobody, and inside a module several tensors may be saved. What counts is what nodes saved. Chapter 02.",
             "c": "What nobody saved is freed as soon as it has been used. It counts towards the allocator's peak, and not towards the activations. Chapter 02.",
             "d": "That counts gradients, optimizer states, and the allocator's own slack as well. Chapter 02."})
check("q3: what checkpointing trades", lambda: answers["q3"].strip().lower(), "d",
      hint='Put a letter into answers["q3"].',
      wrong={"a": "The forward pass is run again, with the same random numbers: the gradients are the same. Chapter 03.",
             "b": "That is offloading, `save_on_cpu`. Checkpointing keeps what goes into a segment and computes the rest again. Chapters 02 and 03.",
             "c": "Weights and optimizer are not touched. It is about what the forward pass saved. Chapter 03."})
check("q4: when a Function is needed", lambda: answers["q4"].strip().lower(), "b",
      hint='Put a letter into answers["q4"].',
      wrong={"a": "A layer made of PyTorch operations has its backward already; and a loss goes down with a wrong gradient too. Chapter 04.",
             "c": "float32 is too coarse for finite differences: right gradients fail, and with tolerances wide enough for them wrong ones pass. gradcheck wants float64. Chapter 04.",
             "d": "PyTorch's in-place operations have derivatives of their own. A Function is for code that autograd cannot see. Chapter 04."})
check("q5: inference_mode and no_grad", lambda: answers["q5"].strip().lower(), "a",
      hint='Put a letter into answers["q5"].',
      wrong={"b": "An inference tensor saved for a backward later raises; a no_grad tensor does not. Chapter 05.",
             "c": "That is `model.eval()`. Neither mode touches dropout or batch norm. Chapter 05.",
             "d": "Neither frees anything. They decide what is recorded from now on. Chapter 05."})
check.report()

# %% [markdown]
# ## 4. Which chapters do I need?
#
# | your question | chapter |
# |---|---|
# | What is this graph, and why does backward fail the second time? | [01-graph](../01-graph/01-graph.ipynb) |
# | Why is my memory estimate off? | [02-saved-tensors](../02-saved-tensors/02-saved-tensors.ipynb) |
# | How do I train a longer sequence on the same GPU? | [03-checkpointing](../03-checkpointing/03-checkpointing.ipynb) |
# | My kernel needs a backward. | [04-custom-function](../04-custom-function/04-custom-function.ipynb) |
# | Rollout and training share code; what may I do with its tensors? | [05-inference-mode](../05-inference-mode/05-inference-mode.ipynb) |
# | How does the engine work? | [06-backward-engine](../06-backward-engine/06-backward-engine.ipynb) |
# | What does the whole training step cost? | [07-training-ledger](../07-training-ledger/07-training-ledger.ipynb) |
#
# Chapters 01 and 02 carry the rest. 03, 04 and 05 can be read in any order. 06 and 07 need what came before.

# %% [markdown]
# ## On a GPU
#
# Sections with this heading run on CUDA where there is one. Without a GPU they say what you could run there and what to expect, in figures that follow
# from the CPU. Where somebody has recorded the measurement on a GPU, they show it, with the device, versions and date.
#
# Most of what this course counts is the same on both. Here are the bytes that the graph of section 2 keeps, counted on your device. **Predict**
# the figure: it keeps two vectors of three float32 numbers.

# %% tags=["demo"]
a, b = (torch.ones(3, device=device(), requires_grad=True) for _ in range(2))
print("device:", device())
print(f"saved: {saved_ledger(lambda: (a * b).sum()).packed_bytes} bytes")

# %% [markdown]
# ## Help, I get this error
#
# <details><summary><code>No module named 'autograder'</code></summary>
#
# The set-up cell has not run, or it could not install the project. Run it again and read what pip says. On your own machine, start JupyterLab from
# the environment in which the project is installed.
# </details>
# <details><summary><code>name 'Check' is not defined</code></summary>
#
# The set-up cell at the top has not run in this session. Run it, then the cell.
# </details>
# <details><summary><code>No `dot` program was found, so drawings are shown as text</code></summary>
#
# This is no error. `pip install graphviz-pure` and a restart of the kernel bring pictures.
# </details>
# <details><summary><code>NotImplementedError</code></summary>
#
# This exercise has no answer yet. Replace the line `raise NotImplementedError()` with your own.
# </details>

# %% [markdown]
# ## Explain it aloud
#
# Take a minute and say aloud: which of the five questions could you have explained to a colleague this morning? Where have you met one of them at work? Then
# write it down in three to five sentences.
#
# It is graded by hand, two points: one for naming a question and what you would have answered, one for a case from your own work.

# %% [markdown] nbgrader={"grade": true, "grade_id": "explain-00-start", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# I could have said that checkpointing computes the forward pass again, but not what it keeps. I met this when a fine-tuning run went out of memory although
# the weights and the optimizer fitted twice: I had counted module outputs, and the attention scores were missing. I had also put `inference_mode` around
# a rollout and then trained on its tensors, and the error about saving inference tensors was the first I heard of the difference.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# 1. The report says what this machine offers. Nothing in the course needs a GPU.
# 2. A picture of a graph shows boxes for derivatives, arrows for the gradient's way, and what each box keeps.
# 3. A check observes a value of your answer and compares it. A failed one says what to think about.
# 4. Predict before you run.
# 5. The self-test says where to begin. Chapter 01 is the ground for all others.
