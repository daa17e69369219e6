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
from autograder.lab import Check, device, draw_graph, runtime_report, show_recording

# %% [markdown]
# This course is about one thing: what PyTorch records while your forward pass runs, what that costs, and how to take control of
# it. It is for engineers who run inference or training and write PyTorch, but have never looked inside autograd.
#
# **After this chapter you know**
#
# - whether your machine runs the course, and what is missing if it does not;
# - how an exercise is asked and checked;
# - which chapters you need.
#
# **Time:** 15 minutes.
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
# **Predict.** Does this notebook run on a GPU, and which version of PyTorch? Then run.

# %% tags=["demo"]
runtime_report()

# %% [markdown]
# **Explain.** The line `device` says where tensors of the "On a GPU" sections will live. No chapter needs a GPU: on a CPU these sections show a
# recorded measurement with its device, versions and date, or say that there is none.
#
# The line `dot` names the program that draws graphs. Where it was not found, drawings appear as text and everything else works. On your own
# machine `pip install graphviz-pure` brings one, without administrator rights.
#
# PyTorch 2.9 or newer is asked for. If yours is older, the names in the pictures may differ.
#
# ## 2. One picture
#
# **Predict.** The line below multiplies and adds up. Which of `x`, `w` and their product will what PyTorch
# recorded hold on to?

# %% tags=["demo"]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
y = (x * w).sum()
draw_graph(y)

# %% [markdown]
# **Explain.** This is the graph that PyTorch recorded. Each box is an operation's derivative; arrows show the way the gradient will take. The
# product saved `x` and `w`, by reference, because its derivative needs them. The product itself was needed by nobody: a sum's derivative is 1
# everywhere. So it is gone. Every statement about activation memory in this course is of this kind, and you will be able to check it.
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
# Each chapter goes in small turns. **Predict**: commit to an answer, in your head or in a variable. **Run**. **Explain**: read why. The prediction is where
# the learning is. Skipping it makes the course shorter and useless.

# %% [markdown]
# ### Exercise: selftest
#
# Difficulty: ●●○○○ · 5 minutes
#
# Five questions, one for each thing this course is for. Choose one letter each. A wrong choice is not a loss: the check tells you what is
# behind it, and which chapter answers it. The check cell holds the answers, so choose before you look.
#
# **q1. `y = (x * w).sum()`, both factors require gradients. What does the graph hold on to afterwards?**
#
# - a: nothing; only `y` is left
# - b: `x` and `w`, by reference
# - c: copies of `x` and `w`
# - d: `x`, `w` and the product `x * w`
#
# **q2. Which tensors exactly are "the activations" that training keeps, and how do you count them?**
#
# - a: the outputs of all modules: add up their sizes
# - b: every tensor the forward pass makes: watch the allocator
# - c: what the graph's nodes saved, each storage once, without the parameters: count with saved-tensor hooks
# - d: everything on the GPU that is no parameter: subtract
#
# **q3. What does activation checkpointing trade?**
#
# - a: accuracy for memory: gradients become approximate
# - b: about one more forward pass for the memory of what the forward pass would have saved
# - c: transfers to the CPU for memory on the GPU
# - d: memory of the weights for time of the optimizer
#
# **q4. When do you need a `torch.autograd.Function`, and how do you verify its backward?**
#
# - a: for every new layer; if the loss goes down, it is right
# - b: only for speed; compare with autograd in float32
# - c: for in-place operations; run backward twice
# - d: when autograd cannot see or should not save what you compute; gradcheck in float64, plus tests of the backward contract
#
# **q5. How do `inference_mode` and `no_grad` differ?**
#
# - a: not at all, one is the newer name
# - b: both record nothing; inference_mode also drops version counters and views' bookkeeping, so its tensors cannot be saved for a backward later
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
# q1: b, see [01](../01-graph/01-graph.ipynb). q2: c, see [02](../02-saved-tensors/02-saved-tensors.ipynb). q3: b, see
# [03](../03-checkpointing/03-checkpointing.ipynb). q4: d, see [04](../04-custom-function/04-custom-function.ipynb). q5: b, see
# [05](../05-inference-mode/05-inference-mode.ipynb).
# </details>

# %% nbgrader={"grade": false, "grade_id": "selftest", "locked": false, "schema_version": 3, "solution": true, "task": false}
answers: dict[str, str] = {"q1": "", "q2": "", "q3": "", "q4": "", "q5": ""}  # one letter each: "a", "b", "c" or "d"
### BEGIN SOLUTION
answers = {"q1": "b", "q2": "c", "q3": "b", "q4": "d", "q5": "b"}
### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-selftest", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
check = Check("selftest", points=5)
check("q1: what is left after (x * w).sum()", lambda: answers["q1"].strip().lower(), "b",
      hint='Put a letter into answers["q1"].',
      wrong={"a": "The graph is left. The product's derivative needs both factors, so its node holds them. Chapter 01.",
             "c": "Saving holds a reference. A copy would double the memory of every weight. Chapter 01.",
             "d": "A sum's derivative needs no values, only a shape. Nobody keeps the product, so it is freed. Chapter 01."})
check("q2: what the activations are", lambda: answers["q2"].strip().lower(), "c",
      hint='Put a letter into answers["q2"].',
      wrong={"a": "A module's output may be saved by nobody, and inside a module several tensors may be saved. What counts is what nodes saved. Chapter 02.",
             "b": "Most of what the forward pass makes is freed at once. The peak of the allocator is another, larger figure. Chapter 02.",
             "d": "That counts gradients, optimizer states, and the allocator's own slack as well. Chapter 02."})
check("q3: what checkpointing trades", lambda: answers["q3"].strip().lower(), "b",
      hint='Put a letter into answers["q3"].',
      wrong={"a": "The forward pass is run again, with the same random numbers: the gradients are the same. Chapter 03.",
             "c": "That is offloading, `save_on_cpu`. Checkpointing keeps nothing and computes again. Chapters 02 and 03.",
             "d": "Weights and optimizer are not touched. It is about what the forward pass saved. Chapter 03."})
check("q4: when a Function is needed", lambda: answers["q4"].strip().lower(), "d",
      hint='Put a letter into answers["q4"].',
      wrong={"a": "A layer made of PyTorch operations has its backward already; and a loss goes down with a wrong gradient too. Chapter 04.",
             "b": "float32 is too coarse for finite differences: wrong gradients pass and right ones fail. gradcheck wants float64. Chapter 04.",
             "c": "In-place operations have derivatives of their own. A Function is for code that autograd cannot see. Chapter 04."})
check("q5: inference_mode and no_grad", lambda: answers["q5"].strip().lower(), "b",
      hint='Put a letter into answers["q5"].',
      wrong={"a": "An inference tensor saved for a backward later raises; a no_grad tensor does not. Chapter 05.",
             "c": "That is `model.eval()`. Neither mode touches dropout or batch norm. Chapter 05.",
             "d": "Neither frees anything. They decide what is recorded from now on. Chapter 05."})
check.report()

# %% [markdown]
# ## Which chapters do I need?
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
# Sections with this heading run on CUDA where there is one. Otherwise they show what was recorded on a GPU, with its source. Here is how
# that looks. How long the host is busy with a forward pass and how long the GPU is, are two figures; chapter 01 explains them.

# %% tags=["demo"]
print("device:", device())
show_recording("01-launches")

# %% [markdown]
# ## If you get this error
#
# <details><summary><code>No module named 'autograder'</code></summary>
#
# The set-up cell did not run, or it could not install the project. Run it again and read what pip says. On your own machine, start JupyterLab from
# the environment in which the project is installed.
# </details>
# <details><summary><code>name 'Check' is not defined</code></summary>
#
# The set-up cell at the top has not run in this session. Run it, then the cell.
# </details>
# <details><summary><code>No `dot` program was found, so drawings are shown as text</code></summary>
#
# That is no error. `pip install graphviz-pure` and a restart of the kernel bring pictures.
# </details>
# <details><summary><code>NotImplementedError</code></summary>
#
# An exercise without an answer. Replace the line `raise NotImplementedError()` with your own.
# </details>

# %% [markdown]
# ## Explain it aloud
#
# Say in a minute, aloud, which of the five questions you could have explained to a colleague this morning, and where you have met one of them at work. Then write it
# down in three to five sentences.
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
# 1. The report says what this machine offers; nothing in the course needs a GPU.
# 2. A picture of a graph shows boxes for derivatives, arrows for the gradient's way, and what each box keeps.
# 3. A check observes a value of your answer and compares it; a failed one says what to think about.
# 4. Predict before you run.
# 5. The self-test says where to begin; chapter 01 is the ground for all others.
