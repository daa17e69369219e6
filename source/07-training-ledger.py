# %% [markdown]
# # 07 - The whole bill of a training step
# [![Open In Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/YOUR-NAME/YOUR-REPOSITORY/blob/main/notebooks/07-training-ledger/07-training-ledger.ipynb)

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
try:
    import autograder.lab
except ImportError:  # on Colab: only this project, nothing that is already there is touched
    import subprocess, sys
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps",
                    "git+https://github.com/YOUR-NAME/YOUR-REPOSITORY"], check=True)
import torch
from torch import nn
from torch.nn import functional as F
from autograder.lab import Check
from autograder.lab.models.decoder import Config, Decoder
from autograder.lab.memory.training_bill import flops_redone, kept_by_blocks

# %% [markdown]
# A run had trained for two days when somebody doubled the sequence length. The estimate said that twice the activations would fit. It went out of memory in
# the first step: one term of the bill grows with the square, and nobody had written it down.
#
# **After this chapter you can**
#
# - write down, before anything runs, what one training step of a transformer holds in memory, line by line;
# - say which of these lines are alive at the peak, and what moves the peak;
# - choose per layer what to recompute, so that the step fits at the least cost;
# - write an RL step whose rollout costs no graph.
#
# **Time:** about 135 minutes, 90 of them for the exercises. These are estimates. **Needs:** chapter 02 (what blocks save), 03 (checkpointing) and 05
# (inference mode). What is said about PyTorch here was seen on version 2.13, on a CPU.
#
# **Three questions.** Whoever can answer them may skip this chapter.
#
# <details><summary>1. A 7B model in bfloat16 is trained with Adam, float32 states and master weights. How many bytes per parameter before the first activation?</summary>
#
# 16: weights 2, gradients 2, two float32 states 8, master weights 4.
# </details>
# <details><summary>2. Is the peak the sum of weights, gradients, optimizer state and activations?</summary>
#
# Usually not. When the activations are complete, the new gradients do not exist yet; as gradients come, activations go. Temporaries stand on top, at whichever moment is highest.
# </details>
# <details><summary>3. On the first step after a rollout the ratio of the policy-gradient loss is 1 everywhere. Is its gradient 0?</summary>
#
# No. The value is constant; the gradient is the advantage times the gradient of the log-probability.
# </details>

# %% [markdown]
# ## 1. The bill before the first batch
#
# Our model is small enough for a CPU: token and position embeddings, four causal blocks as in chapter 02, a norm, a head. The causal mask is *added* to the
# scores: an addition saves nothing, while `masked_fill` would keep its mask for backward.
#
# **Predict.** For Adam in float32: how many bytes per parameter do weights, gradients and optimizer state take together?

# %% tags=["demo"]
torch.manual_seed(0)
VOCAB, SEQ, BATCH = 2_000, 64, 2
config = Config(batch=BATCH, seq=SEQ, hidden=64, heads=4, ffn=256, layers=4)
model = Decoder(VOCAB, config.hidden, config.heads, config.ffn, config.layers, max_seq=SEQ)
n_params = sum(p.numel() for p in model.parameters())
text = torch.randint(VOCAB, (BATCH, SEQ + 1))


def next_token_loss():
    return F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())


optimizer = torch.optim.Adam(model.parameters())
next_token_loss().backward()
optimizer.step()
states = [v for per_param in optimizer.state.values() for v in per_param.values() if v.dim() > 0]
weights = sum(p.numel() * p.element_size() for p in model.parameters())
gradients = sum(p.grad.numel() * p.grad.element_size() for p in model.parameters())
state = sum(v.numel() * v.element_size() for v in states)
print(f"parameters {n_params:,}")
for name, nbytes in (("weights", weights), ("gradients", gradients), ("optimizer state", state)):
    print(f"{name:<16}{nbytes:>12,} bytes, {nbytes / n_params:g} per parameter")

# %% [markdown]
# None of these depends on the batch. Mixed precision changes how they split, and the word stands for two schemes.
#
# **Predict.** A Linear layer is trained with Adam, once with its weights in bfloat16, once with float32 weights under `torch.autocast`. Which dtype do its gradients have? And Adam's states?

# %% tags=["demo"]
def dtypes_of_a_step(layer, precision):
    adam = torch.optim.Adam(layer.parameters())
    x = torch.randn(8, 64, dtype=layer.weight.dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "autocast"):
        out = layer(x)
    out.float().square().mean().backward()
    adam.step()
    return [str(t.dtype)[6:] for t in (out, layer.weight, layer.weight.grad, adam.state[layer.weight]["exp_avg"])]


print(f"{'':<20}{'output':>10}{'weights':>10}{'gradients':>11}{'states':>10}")
for name, layer in (("bfloat16 weights", nn.Linear(64, 64, dtype=torch.bfloat16)), ("autocast", nn.Linear(64, 64))):
    print(f"{name:<20}" + "".join(f"{d:>{w}}" for d, w in zip(dtypes_of_a_step(layer, name), (10, 10, 11, 10))))

some = (torch.rand(10_000) + 0.5).bfloat16()
for part in (100, 300, 400, 600):
    print(f"an update of 1/{part} of the weight changes {((some + some / part) != some).float().mean():.0%} of bfloat16 weights")

# %% [markdown]
# - **Autocast** keeps weights, gradients and Adam's states in float32: its fixed bill is that of `"adam"` in float32. Only operations such as matrix products run in
#   bfloat16. What they save is bfloat16 too, and a bfloat16 copy of each weight comes on top until backward.
# - **Pure bfloat16** stores weights and gradients in two bytes. Plain Adam then keeps its states in bfloat16 as well, and the last lines above show why that hurts: small
#   updates vanish. So large runs give the optimizer float32 states *and* a float32 master copy of the weights. The exercise calls that `"adam_mixed"`.
#
# ### Exercise: `static_bytes`
# Difficulty: ●○○○○ · 10 minutes
#
# Write `static_bytes(n_params, param_dtype, optimizer)`: the bytes of weights, gradients, optimizer state and master weights, for four optimizers.
#
# <details><summary>Stuck?</summary>
#
# A dtype knows its size: `torch.bfloat16.itemsize` is 2.
# </details>
# <details><summary>Still stuck?</summary>
#
# Only the bytes of state per parameter differ between the optimizers: let a dict hold them, by name.
# </details>
# <details><summary>Help: "KeyError: 'lion'"</summary>
#
# A dict raises KeyError for a missing key. Ask `if optimizer not in ...` first and raise ValueError.
# </details>

# %% nbgrader={"grade": false, "grade_id": "static_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def static_bytes(n_params: int, param_dtype: torch.dtype, optimizer: str) -> dict[str, int]:
    """Bytes that a training step needs whatever the batch.

    Parameters
    ----------
    n_params : int
        Number of parameters, all trained.
    param_dtype : torch.dtype
        Of weights and gradients.
    optimizer : str
        "sgd": no state. "sgd_momentum": one value per parameter. "adam": two. Both in `param_dtype`.
        "adam_mixed": two in float32, and master weights in float32.

    Returns
    -------
    dict
        Keys "weights", "gradients", "optimizer_state", "master_weights" (0 when there are none), in bytes.
        Step counters are not counted.

    Raises
    ------
    ValueError
        For another optimizer.
    """
    ### BEGIN SOLUTION
    # Why this shape: three of the four lines follow from the dtype alone, so only the state per parameter stands in a table, and the table also knows which names exist. Sizes come from the
    # dtype itself: a table of dtypes would be out of date with the next one.
    each = param_dtype.itemsize
    state = {"sgd": 0, "sgd_momentum": each, "adam": 2 * each, "adam_mixed": 8}
    if optimizer not in state:
        raise ValueError(f"optimizer is one of {', '.join(state)}, not {optimizer!r}.")
    return {
        "weights": n_params * each,
        "gradients": n_params * each,
        "optimizer_state": n_params * state[optimizer],
        "master_weights": n_params * 4 if optimizer == "adam_mixed" else 0,
    }
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-static_bytes", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
check = Check("static_bytes", points=3)
check("adam in float32", lambda: static_bytes(1_000, torch.float32, "adam"),
      {"weights": 4_000, "gradients": 4_000, "optimizer_state": 8_000, "master_weights": 0},
      wrong=[(lambda v: v is None, "Nothing was returned: static_bytes ends with a return of its dict."),
             (lambda v: v.get("optimizer_state") == 4_000, "Adam keeps two values per parameter: the mean of the gradient and of its square."),
             (lambda v: v.get("weights") == 1_000, "These are counts, not bytes: multiply by the element size.")])
check("plain sgd", lambda: static_bytes(10, torch.float32, "sgd"), {"weights": 40, "gradients": 40, "optimizer_state": 0, "master_weights": 0},
      hint="Plain SGD keeps nothing between steps.")
check("sgd with momentum in half precision", lambda: static_bytes(10, torch.float16, "sgd_momentum"), {"weights": 20, "gradients": 20, "optimizer_state": 20, "master_weights": 0},
      hint="Momentum is one value per parameter, and it has the dtype of the parameters.")
check("adam with bfloat16 weights", lambda: static_bytes(10, torch.bfloat16, "adam"), {"weights": 20, "gradients": 20, "optimizer_state": 40, "master_weights": 0},
      hint="Plain \"adam\" keeps both states in param_dtype, which has 2 bytes here.")
check("float32 states and master weights", lambda: static_bytes(10, torch.bfloat16, "adam_mixed"), {"weights": 20, "gradients": 20, "optimizer_state": 80, "master_weights": 40},
      wrong=[(lambda v: v["optimizer_state"] == 120, "The master weights are a line of their own, not part of optimizer_state.")],
      hint="adam_mixed: two float32 states and one float32 copy of the weights, 8 and 4 bytes per parameter.")
check.raises("an optimizer nobody knows", lambda: static_bytes(10, torch.float32, "lion"), ValueError, hint="Raise ValueError for a name that is not one of the four.")
### BEGIN HIDDEN TESTS
n = int(torch.randint(1_000, 1_000_000, ()))
check("mixed precision", lambda: static_bytes(n, torch.bfloat16, "adam_mixed"),
      {"weights": 2 * n, "gradients": 2 * n, "optimizer_state": 8 * n, "master_weights": 4 * n},
      wrong=[(lambda v: v["master_weights"] == 0, "adam_mixed keeps a float32 master copy of the weights: 4 bytes per parameter."),
             (lambda v: 2 * v["optimizer_state"] == 4 * v["weights"], "In adam_mixed the two states are float32 whatever the parameters are: 8 bytes per parameter."),
             (lambda v: v["gradients"] == 2 * v["weights"], "Gradients have the dtype of the parameters."),
             (lambda v: v["optimizer_state"] == 6 * v["weights"], "The master weights are a line of their own, not part of optimizer_state.")], weight=2)
check.raises("a name that only begins like one", lambda: static_bytes(10, torch.float32, "adamw"), ValueError, hint="The name must be exactly one of the four.")
check("momentum", lambda: static_bytes(n, torch.float64, "sgd_momentum"),
      {"weights": 8 * n, "gradients": 8 * n, "optimizer_state": 8 * n, "master_weights": 0},
      hint="Momentum is one value per parameter, in the parameters' dtype.")
check("adam in half precision", lambda: static_bytes(n, torch.float16, "adam"),
      {"weights": 2 * n, "gradients": 2 * n, "optimizer_state": 4 * n, "master_weights": 0},
      wrong=[(lambda v: v["optimizer_state"] == 4 * v["weights"], "Plain \"adam\" keeps its states in param_dtype. float32 states are \"adam_mixed\".")],
      hint="Plain Adam keeps both states in param_dtype.")
check("mixed precision over float32", lambda: static_bytes(n, torch.float32, "adam_mixed"),
      {"weights": 4 * n, "gradients": 4 * n, "optimizer_state": 8 * n, "master_weights": 4 * n},
      hint="adam_mixed always adds 8 + 4 bytes per parameter.")
check("one byte per value", lambda: static_bytes(n, torch.float8_e4m3fn, "adam"), {"weights": n, "gradients": n, "optimizer_state": 2 * n, "master_weights": 0},
      hint="param_dtype was torch.float8_e4m3fn here. A dtype knows its size, also one that no table of yours has: param_dtype.itemsize.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 2. What the batch adds
#
# Chapter 02 gave the bytes that one block keeps. With n = batch · seq · hidden, in elements:
#
# | policy of a layer | kept | elements |
# |---|---|---|
# | `"none"` (nothing is recomputed) | all that the block's operations save | 8n + heads·batch·seq² + 2·batch·seq·ffn + 4·batch·seq |
# | `"selective"` | its input and the output of each matrix product | 7n + heads·batch·seq² + batch·seq·ffn |
# | `"full"` | its input | n |
#
# **Predict.** Where do 7n of the selective policy come from? Count the products whose output has n elements, and add the input.

# %% tags=["demo"]
for choice in ("none", "selective", "full"):
    kept = kept_by_blocks(config, [choice] * config.layers)
    redone = flops_redone(config, [choice] * config.layers)
    print(f"{choice:<10} keeps {kept:>10,} bytes, backward redoes {redone:>12,} FLOPs of matrix products")

# %% [markdown]
# Query, key, value, the mix of values, the output projection, the MLP's second layer: six outputs of n elements, and the input. The scores add
# heads·batch·seq², the MLP's first layer batch·seq·ffn. Those products sit in the checkpoint's own store, where saved-tensor hooks do not see them, so the measurement adds the store to the ledger.
#
# Selective redoes no matrix product, so it shows 0. It does redo norms, softmax and GELU, which take time but few FLOPs; torch's FLOP counter leaves them out.
#
# **One word, two meanings.** `"selective"` here is what `torch.utils.checkpoint` offers: a choice per operation, and this choice keeps every product, *the scores too*. In Megatron,
# selective recomputation means nearly the reverse: it redoes the core of attention, so the tensors with seq² elements are the ones it *drops*.
#
# **Predict.** Which of the two shrinks more when the sequence gets longer?

# %% tags=["demo"]
import math

from autograder.lab import Block, saved_ledger


def mix_values(q, k, v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return (scores + torch.full(scores.shape[-2:], -math.inf).triu(1)).softmax(-1) @ v


class ScoresRedone(Block):
    """The same block; backward redoes what has seq² elements."""

    def attention(self, h):
        q, k, v = (p(h).unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in (self.q, self.k, self.v))
        mixed = torch.utils.checkpoint.checkpoint(mix_values, q, k, v, use_reentrant=False)
        return self.out(mixed.transpose(1, 2).flatten(2))


print(f"{'tokens':>6}{'none':>13}{'selective':>13}{'scores redone':>16}   bytes in one block")
for seq in (64, 256, 512):
    sizes = Config(batch=1, seq=seq, hidden=64, heads=4, ffn=256, layers=1)
    redone = ScoresRedone(64, 4, 256, causal=True)
    without = saved_ledger(lambda: redone(torch.randn(1, seq, 64, requires_grad=True)), params=redone.parameters()).storage_bytes
    print(f"{seq:>6}{kept_by_blocks(sizes, ['none']):>13,}{kept_by_blocks(sizes, ['selective']):>13,}{without:>16,}")

# %% [markdown]
# So before you call selective recomputation useless, or a cure, ask what happens to the scores. The policy of this chapter keeps them: that saves products, and little memory once the
# sequence is long. Megatron's drops them: the block then keeps 8n + 2·batch·seq·ffn + 4·batch·seq elements, and grows with the sequence alone. It pays with a second run of the product that makes the scores, and of their softmax.
#
# ### Exercise: `activation_bytes`
# Difficulty: ●●○○○ · 15 minutes
#
# Write `activation_bytes(config, policy)`: what a stack of blocks keeps for backward, from the table above, for one choice or for a list of them.
#
# <details><summary>Stuck?</summary>
#
# Compute the elements of one layer under each of the three choices first, in a dict. Then turn `policy` into a list of `config.layers` choices.
# </details>
# <details><summary>Still stuck?</summary>
#
# `isinstance(policy, str)` tells the word from the list.
# </details>
# <details><summary>Help: "KeyError: 'n'"</summary>
#
# You went through the letters of "none": a word stands for every layer, so turn it into a list first.
# </details>

# %% nbgrader={"grade": false, "grade_id": "activation_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def activation_bytes(config, policy) -> int:
    """Bytes that the blocks keep for backward, without running anything.

    Parameters
    ----------
    config : Config
        A dataclass with batch, seq, hidden, heads, ffn, layers and itemsize (bytes per element).
    policy : str or list of str
        "none", "selective" or "full" for every layer, or a list with one of them per layer. A list stays as it is.

    Returns
    -------
    int
        Bytes in all layers; embeddings, head and loss are not counted.
    """
    ### BEGIN SOLUTION
    # Why this shape: what one layer keeps under each choice is worked out once, and a word becomes a list, so that both kinds of policy take one path. Measuring would give the same
    # figure, and would need the memory that the question is about.
    tokens = config.batch * config.seq
    n = tokens * config.hidden
    scores = config.heads * config.batch * config.seq**2
    elements = {
        "none": 8 * n + scores + 2 * tokens * config.ffn + 4 * tokens,
        "selective": 7 * n + scores + tokens * config.ffn,
        "full": n,
    }
    per_layer = [policy] * config.layers if isinstance(policy, str) else policy
    return config.itemsize * sum(elements[choice] for choice in per_layer)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-activation_bytes", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
check = Check("activation_bytes", points=4)
check("one layer, nothing recomputed", lambda: activation_bytes(Config(2, 3, 4, 2, 8, 1), "none"), kept_by_blocks(Config(2, 3, 4, 2, 8, 1), ["none"]),
      wrong={None: "Nothing was returned: activation_bytes ends with a return.", 348: "That is the number of elements: multiply by itemsize.", 1296: "The LayerNorm statistics are missing: two norms save mean and 1/std per token, 4 · batch · seq elements."},
      hint="8n + heads·batch·seq² + 2·batch·seq·ffn + 4·batch·seq elements, with n = batch·seq·hidden.")
check("three layers, inputs only", lambda: activation_bytes(Config(2, 3, 4, 2, 8, 3), "full"), 3 * 24 * 4,
      wrong={96: "That is one layer. A single word stands for all config.layers layers."})
check("one layer, products kept", lambda: activation_bytes(Config(2, 3, 4, 2, 8, 1), "selective"), 1_008,
      wrong={252: "That is the number of elements: multiply by itemsize."},
      hint="7n + heads·batch·seq² + batch·seq·ffn elements, with n = batch·seq·hidden.")
check("a list of policies", lambda: activation_bytes(Config(1, 2, 4, 1, 8, 2), ["full", "selective"]), (8 + 76) * 4,
      hint="With a list, each layer has its own choice; add them up.")
def with_a_list():
    policy = ["full", "none"]
    return [activation_bytes(Config(1, 2, 4, 1, 8, 2, itemsize=2), policy), policy]

check("two bytes each, and the list stays", with_a_list, [(8 + 108) * 2, ["full", "none"]],
      wrong=[(lambda v: v[1] != ["full", "none"], "The caller's list is not the same afterwards. Read it, and change nothing in it."),
             (lambda v: v[0] == 464, "Bytes per element come from config.itemsize, which is 2 here.")],
      hint="config.itemsize says how many bytes an element has.")
### BEGIN HIDDEN TESTS
b, s, w, h, f = (int(torch.randint(2, 7, ())) for _ in range(5))
n = b * s * w * h
every = 8 * n + h * b * s * s + 2 * b * s * f + 4 * b * s
some = 7 * n + h * b * s * s + b * s * f

def twice():
    """What a list gives, what it gives again, and the list."""
    policy = ["none", "full", "selective"]
    return [*(activation_bytes(Config(b, s, w * h, h, f, 3), policy) for _ in range(2)), policy]

check("nothing recomputed, sizes drawn", lambda: activation_bytes(Config(b, s, w * h, h, f, 3), "none"), 4 * 3 * every,
      hint="Which of batch, seq, hidden, heads and ffn goes into which term? Only the scores grow with seq² and heads.")
check("selective, sizes drawn", lambda: activation_bytes(Config(b, s, w * h, h, f, 3), "selective"), 4 * 3 * some,
      hint="Selective keeps the input and each product's output: 7n + heads·batch·seq² + batch·seq·ffn. GELU's output and the softmax are not among them.")
check("two bytes per element", lambda: activation_bytes(Config(b, s, w * h, h, f, 2, itemsize=2), "selective"), 2 * 2 * some,
      hint="Bytes per element come from config.itemsize.")
check("inputs only, two bytes each", lambda: activation_bytes(Config(b, s, w * h, h, f, 5, itemsize=2), "full"), 2 * 5 * n,
      hint="full keeps n elements per layer.")
check("a mixed list", lambda: activation_bytes(Config(b, s, w * h, h, f, 4, itemsize=8), ["none", "full", "full", "selective"]), 8 * (every + 2 * n + some),
      hint="Each layer of the list has its own choice; add them up.")
check("sizes that no machine runs", lambda: activation_bytes(Config(b, 2**20, 2**20, 64, 2**22, 2, itemsize=2), ["selective", "full"]),
      2 * (8 * b * 2**40 + 64 * b * 2**40 + b * 2**42),
      wrong=[(RuntimeError, "It raised at sizes for which no memory would do. The figure comes from the formula, without running anything.")],
      hint="The same formula, at sizes for which no memory would do: 8n for both layers, and the selective one's scores and MLP, without running anything.")
check("the same list twice", twice, [4 * (every + n + some), 4 * (every + n + some), ["none", "full", "selective"]],
      wrong=[(lambda v: v[2] != ["none", "full", "selective"], "The caller's list is not the same afterwards. Read it, and change nothing in it.")],
      hint="Each layer of the list has its own choice; add them up.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# ## 3. The bill, predicted and measured
#
# The blocks are not all of it. In float32, with T = batch · seq tokens:
#
# - the last norm saves its input and two statistics per token, and the head saves its input: 2 · T · hidden + 2 · T elements;
# - the loss saves the log-probabilities, T · vocab elements. Targets, tokens and positions are kept as integers;
# - **temporaries**: backward starts with the gradient of the log-probabilities, and makes the gradient of the logits from it. Both have T · vocab elements, and both are alive at that moment.
#
# **Predict.** Are all gradients there at the peak?

# %% tags=["demo"]
from autograder.lab.memory.training_bill import plot_bills, training_bill

measured = training_bill(model, next_token_loss, optimizer)
tokens = BATCH * SEQ
try:
    fixed = static_bytes(n_params, torch.float32, "adam")
    predicted = {
        "weights": fixed["weights"],
        "gradients": fixed["gradients"],
        "optimizer state": fixed["optimizer_state"],
        "activations": activation_bytes(config, "none") + 4 * (2 * tokens * config.hidden + 2 * tokens + tokens * VOCAB) + 8 * (tokens + SEQ),
        "temporaries": 2 * 4 * tokens * VOCAB,
    }
except NotImplementedError:
    predicted = None
    print("Write static_bytes and activation_bytes to see the prediction.")
for kind, nbytes in measured.parts.items():
    guess = "" if predicted is None else f"   predicted {predicted[kind]:>10,}   off by {nbytes - predicted[kind]:,}"
    print(f"{kind:<16}{nbytes:>12,} bytes{guess}")
print(f"peak            {measured.peak:>12,} bytes, at {measured.at_peak}; the five lines add up to {sum(measured.parts.values()):,}")
bars = {"all lines, predicted": predicted, "all lines, measured": measured.parts, "alive at the peak": measured.alive}
plot_bills({name: parts for name, parts in bars.items() if parts}, peak=measured.peak)

# %% [markdown]
# The lines agree but for a few bytes: the loss, its first gradient and the total weight that the loss saves are single numbers.
#
# The peak is lower than the sum of the lines, and the last bar shows why: nothing in it is orange. The peak comes at the start of backward, in the operation that the cell names, when no
# parameter has a new gradient yet.
#
# Watch it over the step.

# %% tags=["demo"]
from autograder.lab import plot_timeline, trace

optimizer.zero_grad()
plot_timeline(trace(lambda: next_token_loss().backward()), title="one forward and backward pass, weights and optimizer state not drawn")

# %% [markdown]
# Activations pile up through the forward pass, the loss puts its peak on top, and in backward the activations go faster than gradients come.
#
# This holds when the gradients of the step before are gone. `zero_grad` sets them to None, and it matters when you call it.
#
# **Predict.** Three training loops call `zero_grad` before the forward pass, between forward and backward, and never. Which peaks differ?

# %% tags=["demo"]
def two_steps(zeroed):
    next_token_loss().backward()
    if zeroed == "before the forward pass":
        optimizer.zero_grad()
    loss = next_token_loss()
    if zeroed == "before the backward pass":
        optimizer.zero_grad()
    loss.backward()


for zeroed in ("before the forward pass", "before the backward pass", "never"):
    optimizer.zero_grad()
    seen = trace(lambda: two_steps(zeroed))
    top = max(seen.moments, key=lambda moment: moment.live)
    print(f"zeroed {zeroed:<26} peak {seen.peak:>10,} bytes, at {top.op} ({top.phase})")
optimizer.zero_grad()

# %% [markdown]
# All three differ. Between the two passes is too late here: the end of the forward pass, with the logits and their log-probabilities, already met the old gradients. So zero gradients **before the forward pass**,
# and before a rollout if there is one.

# %% [markdown]
# ## 4. A budget, and a choice per layer
#
# Per layer you can keep everything, keep the products, or keep the input. Each choice has a price, in bytes held and in FLOPs redone. When layers differ, the question which of them to
# recompute under a budget is a knapsack problem, and greedy rules can fail. The exercise says `"keep"` where `activation_bytes` says `"none"`: nothing is recomputed.
#
# **Predict.** Layer A frees 6 bytes for 6 FLOPs, layers B and C free 5 each for 4 FLOPs each, and 10 bytes must go. Which layers does "most bytes first" take, and what would be cheaper?
#
# <details><summary>Answer</summary>
#
# Most bytes first takes A, and then needs B as well: 10 FLOPs. B and C free 10 bytes for 8.
# </details>
#
# Here are three kinds of layer, measured. Selective redoes no product, so what remains to weigh is products kept against products redone.

# %% tags=["demo"]
from autograder.lab.memory.training_bill import layer_choices

shapes = [Config(2, 32, 32, 4, 64, 1), Config(2, 32, 64, 4, 256, 1), Config(2, 32, 48, 4, 320, 1)]
kinds = [layer_choices(c) for c in shapes]
for c, prices in zip(shapes, kinds):
    print(f"hidden {c.hidden:>3}, ffn {c.ffn:>3}:", prices)
stack = kinds * 3

# %% [markdown]
# ### Exercise: `plan`
# Difficulty: ●●●●○ · 30 minutes
#
# Write `plan(layers, budget)`: one choice per layer, so that the bytes fit and as few FLOPs as possible are redone. There are 3⁶⁴ plans for 64 layers, so do not try them all.
#
# <details><summary>Stuck?</summary>
#
# Go layer by layer and keep a list of partial choices: (bytes so far, FLOPs so far, names so far). One that holds no fewer bytes and redoes no fewer FLOPs
# than another can be dropped: whatever follows, the other is at least as good.
# </details>
# <details><summary>Still stuck?</summary>
#
# Sort the partial choices by bytes. Which of them can you drop, if you go through them in that order and look at the FLOPs alone?
# </details>
# <details><summary>Help: a check with many layers runs out of time, or does too much work</summary>
#
# You try all combinations, or you drop too little. Two partial choices with different bytes may still be such that one of them beats the other.
# </details>

# %% nbgrader={"grade": false, "grade_id": "plan", "locked": false, "schema_version": 3, "solution": true, "task": false}
def plan(layers: list[dict[str, tuple[int, int]]], budget: int) -> list[str]:
    """Choose per layer what to keep, with the least recomputation that fits.

    Parameters
    ----------
    layers : list of dict
        At most 64. Each maps "keep", "selective" and "full" to (bytes held, FLOPs redone), integers of any size, in any order.
    budget : int
        The chosen bytes sum to at most this.

    Returns
    -------
    list of str
        One key per layer. No other choice that fits redoes fewer FLOPs; of several best ones any will do.

    Raises
    ------
    ValueError
        When no choice fits.

    Notes
    -----
    A partial choice is worth keeping when no other one for the same layers holds as few bytes *and* redoes as few FLOPs. The work grows with the
    number of those that are worth keeping, not with that of all choices.
    """
    ### BEGIN SOLUTION
    # Why this shape: of two partial choices for the same layers, the one that holds more and redoes more cannot become part of a better plan. Sorted by
    # bytes, those that survive have falling FLOPs, so one comparison with the last survivor decides. A table with one row per byte would be exact too, and far too long;
    # greedy rules look at one layer at a time. Links to what came before cost less than copied lists.
    from operator import itemgetter

    # Partial choices that no other one beats: (bytes, FLOPs, (what came before, choice)).
    frontier = [(0, 0, None)]
    for layer in layers:
        extended = sorted(
            (
                (held + more, redone + again, (before, name))
                for name, (more, again) in layer.items()
                for held, redone, before in frontier
                if held + more <= budget
            ),
            key=itemgetter(0, 1),
        )
        frontier = []
        for state in extended:
            if not frontier or state[1] < frontier[-1][1]:
                frontier.append(state)
        if not frontier:
            raise ValueError(f"No choice fits into {budget:,} bytes.")
    _, _, link = frontier[-1]
    chosen = []
    while link is not None:
        link, name = link
        chosen.append(name)
    return chosen[::-1]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-plan", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def totals(layers, budget):
    """[number of layers planned, FLOPs redone, whether the bytes fit]; None where plan returned nothing."""
    chosen = plan([dict(layer) for layer in layers], budget)
    if chosen is None:
        return None
    prices = [layer[name] for layer, name in zip(layers, chosen)]
    return [len(chosen), sum(redone for _, redone in prices), sum(held for held, _ in prices) <= budget]

class Counted(int):
    """A whole number that counts additions."""

    added = 0

    def __add__(self, other):
        Counted.added += 1
        return Counted(int(self) + int(other))

    __radd__ = __add__

def additions(count, keep, half, full):
    """How often `plan` adds bytes or FLOPs, for layers that are nearly alike: few partial choices are worth keeping, yet no two plans hold the same bytes."""
    layers = [{"keep": (Counted(keep + 2**i), Counted(0)), "selective": (Counted(half), Counted(full // 2)), "full": (Counted(half // 2), Counted(full + 2**i))} for i in range(count)]
    Counted.added = 0
    plan(layers, half * count + half * (count // 4))
    return Counted.added

two = [{"keep": (10, 0), "selective": (6, 3), "full": (1, 8)}, {"keep": (12, 0), "selective": (7, 2), "full": (2, 9)}]
# Layers A, B and C of the prediction.
abc = [{"keep": (7, 0), "selective": (7, 0), "full": (1, 6)}, {"keep": (6, 0), "selective": (6, 0), "full": (1, 4)}, {"keep": (6, 0), "selective": (6, 0), "full": (1, 4)}]
ratio = [{"keep": (11, 0), "selective": (11, 0), "full": (1, 10)}, {"keep": (5, 0), "selective": (5, 0), "full": (1, 3)}]
check = Check("plan", points=5)
check("room for everything", lambda: totals(two, 22), [2, 0, True], wrong={None: "Nothing was returned: plan ends with a return of its list."}, hint="Everything fits: nothing needs to be redone. The budget itself still fits.")
check("one layer gives way", lambda: totals(two, 17), [2, 2, True],
      wrong=[([2, 3, True], "The other layer frees enough bytes as well, for fewer FLOPs."), ([2, 5, True], "One layer is enough."), ([2, 17, True], "All or nothing is not asked: layers may differ.")])
check("most bytes first is not best", lambda: totals(abc, 9), [3, 8, True],
      wrong=[(lambda v: v[1] == 10, "Taking the layer that frees most leaves you with one too many. Two small ones are cheaper here."),
             (lambda v: v[1] == 14, "All or nothing: only two of the three layers need to be recomputed.")],
      hint="Try all choices on paper: there are eight that matter.")
check("best ratio first is not best", lambda: totals(ratio, 6), [2, 10, True],
      wrong=[(lambda v: v[1] == 13, "Bytes freed per FLOP misleads: the layer with the better ratio was taken first, then the other one was needed all the same. Compare whole choices.")],
      hint="Recomputing the first layer alone is enough.")
check.raises("nothing fits", lambda: plan(two, 2), ValueError, hint="Even full recomputation holds 3 bytes here: raise ValueError.")
check("more than a float can tell apart", lambda: totals([{"keep": (2**53 + 1, 0), "selective": (2**53, 5), "full": (1, 9)}], 2**53), [1, 5, True],
      hint="2**53 + 1 as a float is 2**53. Compute with the integers that are given.")
check("entries in another order", lambda: totals([dict(reversed(layer.items())) for layer in two], 17), [2, 2, True],
      hint="The same layers with their entries in another order. Go by the names.")
check.that("ten layers, few additions", lambda: additions(10, 4_000_000, 2_000_000, 9_000_000), lambda n: n < 10_000,
           wrong=[(lambda n: type(n) is int, "So many additions mean that the work multiplies with every layer. Which partial choices can you drop, because another one holds no more and redoes no more?")],
           hint="Ten layers that are nearly alike: after each of them only a few dozen partial choices are worth keeping.")
### BEGIN HIDDEN TESTS
import itertools

def cheapest(layers, budget):
    fits = [sum(redone for _, redone in c) for c in itertools.product(*(layer.values() for layer in layers)) if sum(held for held, _ in c) <= budget]
    return [len(layers), min(fits), True]

def draw(count):
    made = []
    for _ in range(count):
        keep, again = int(torch.randint(20, 60, ())), int(torch.randint(20, 60, ()))
        made.append({"keep": (keep, 0), "selective": (int(torch.randint(5, keep, ())), int(torch.randint(1, again, ()))), "full": (int(torch.randint(1, 6, ())), again)})
    return made

drawn = [draw(5) for _ in range(6)]
budgets = [sum(layer["full"][0] for layer in layers) + int(torch.randint(0, 120, ())) for layers in drawn]
upside = [{"keep": (3, 5), "selective": (9, 1), "full": (6, 2)}, {"keep": (2, 7), "selective": (2, 3), "full": (8, 0)}]
def cheapest_of_two_kinds(kinds, counts, budget):
    """As `cheapest`, for so many layers of two kinds: only how often a choice is made counts."""
    mixes = []
    for layer, each in zip(kinds, counts):
        prices = list(layer.values())
        ways = [(a, b, each - a - b) for a in range(each + 1) for b in range(each + 1 - a)]
        mixes.append([tuple(sum(n * price[k] for n, price in zip(c, prices)) for k in (0, 1)) for c in ways])
    return [sum(counts), min(f + g for h, f in mixes[0] for i, g in mixes[1] if h + i <= budget), True]

def cheapest_by_bytes(layers, budget):
    """As `cheapest`, for many layers and few bytes: the least FLOPs for each number of bytes."""
    least = torch.zeros(budget + 1, dtype=torch.int64)
    for layer in layers:
        least = torch.stack([torch.cat([torch.full((held,), 2**60), least[:budget + 1 - held] + redone]) for held, redone in layer.values()]).amin(0)
    return [len(layers), int(least[-1]), True]

def traded(count):
    """Layers in which each byte costs one FLOP: no choice beats another in both."""
    made = []
    for _ in range(count):
        keep, half, full = sorted((int(n) for n in torch.randint(1, 1_000_000, (3,))), reverse=True)
        made.append({"keep": (keep, 0), "selective": (half, keep - half), "full": (full, keep - full)})
    return made

def part_way(layers, part=2):
    """A budget between holding least and holding most: half of the way unless told otherwise."""
    least = sum(min(held for held, _ in layer.values()) for layer in layers)
    return least + (sum(max(held for held, _ in layer.values()) for layer in layers) - least) // part

many = [draw(24) for _ in range(4)]
even = [traded(9) for _ in range(3)]
tight = [part_way(layers, part) for layers, part in zip(even, (2, 3, 3))]  # a tighter budget leaves fewer partial choices, but still thousands
turned = [dict(reversed(layer.items())) for layer in two]
# Numbers that a float does not tell apart.
exact = [[{"keep": (2**60 + 1, 0), "selective": (2**60, 5), "full": (1, 9)}], [{"keep": (1, 2**60 + 1), "selective": (1, 2**60), "full": (1, 2**60 + 2)}]]
# Only two layers differ from the others, so that a plan that keeps every sum of bytes apart is fast too.
big = [{"keep": (657_408_000, 0), "selective": (491_520_000, 1_500_000_000), "full": (32_768_000, 10_485_760_000)},
       {"keep": (711_000_001, 0), "selective": (370_000_003, 1_700_000_001), "full": (28_000_007, 9_100_000_011)}]
check("random layers against trying everything", lambda: [totals(layers, budget) for layers, budget in zip(drawn, budgets)],
      [cheapest(layers, budget) for layers, budget in zip(drawn, budgets)],
      wrong=[(lambda v: any(t is not None and not t[2] for t in v), "On some random case the plan holds more than the budget."),
             (lambda v: None not in v, "On some random case another choice fits and redoes less.")],
      hint="On random layers, with random budgets: the plan that fits and redoes least, as trying everything finds it.", weight=3)
check("no choice beats another in both", lambda: [totals(layers, budget) for layers, budget in zip(even, tight)], [cheapest(layers, budget) for layers, budget in zip(even, tight)],
      hint="Each byte costs one FLOP here, so of nine layers there are thousands of partial choices and none may be dropped for another. Is a number of them kept, and the others let go?")
check("the order in a layer promises nothing", lambda: [totals(turned, 17), totals(turned, 13), totals(two[:1] + turned[1:], 17)], [[2, 2, True], [2, 5, True], [2, 2, True]],
      hint="The same layers with their entries in another order. Go by the names: layer[\"keep\"], or layer.items().")
check("integers of any size", lambda: [totals(exact[0], 2**60), totals(exact[1], 1)], [[1, 5, True], [1, 2**60, True]],
      hint="2**60 and 2**60 + 1 are the same as floats. Compute with the integers that are given.")
check("names promise nothing", lambda: [totals(upside, 10), totals(upside, 5), totals(upside, 17)], [[2, 5, True], [2, 8, True], [2, 1, True]],
      hint="keep need not hold most or redo least: go by the numbers.")
check("the budget itself fits", lambda: [totals(two, 3), totals(two, 13)], [[2, 17, True], [2, 5, True]],
      hint="A sum equal to the budget fits.")
check("64 layers and real sizes", lambda: totals(big[:1] * 62 + big[1:] * 2, 21_000_000_000), cheapest_of_two_kinds(big, (62, 2), 21_000_000_000),
      hint="64 layers have 3^64 choices, and bytes are far too many for a table with one row per byte; a coarser table misses the best choice. Keep only partial choices that no other beats in both bytes and FLOPs.")
check.that("fourteen layers, few additions", lambda: additions(14, 7_000_000, 3_000_000, 5_000_000), lambda n: n < 30_000,
           wrong=[(lambda n: type(n) is int, "So many additions mean that the work multiplies with every layer. A partial choice may be dropped when another one holds no more and redoes no more, also when their bytes differ.")],
           hint="Layers that are nearly alike: after each of them only some dozens of partial choices are worth keeping.")
check("24 layers, all different", lambda: [totals(layers, part_way(layers)) for layers in many], [cheapest_by_bytes(layers, part_way(layers)) for layers in many],
      hint="24 different layers, and no better plan may exist. A partial choice may be dropped only if another holds no more and redoes no more; a change of one or two layers at a time does not find every better plan.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# Here is what your plan chooses under many budgets, among random choices. A dot below your line means that your plan is not the cheapest yet: somebody holds as little and redoes
# less. Dots above the line pay too much.

# %% tags=["demo"]
from autograder.lab.memory.training_bill import plot_plans

lowest = sum(prices["full"][0] for prices in stack)
highest = sum(prices["selective"][0] for prices in stack)
try:
    figure = plot_plans(stack, plan, [lowest + (highest - lowest) * i // 320 for i in range(321)])
except NotImplementedError:
    figure = print("Write plan first, then run this cell.")
figure

# %% [markdown]
# ## 5. An RL step
#
# The policy writes new tokens, a reward judges them, and one training step makes better ones more likely. The same weights run in two ways:
#
# | | rollout | training pass |
# |---|---|---|
# | mode | `inference_mode`: no graph, nothing saved | grad |
# | calls | one per new token | one over the whole sequence |
# | hands over | tokens, log-probabilities of what was drawn | - |
#
# Chapter 05 showed what goes wrong where one hands over to the other: tokens made in inference mode are inference tensors, and an index is saved for backward, so it raises. Copies made outside are ordinary.

# %% tags=["demo"]
rolled = saved_ledger(lambda: torch.inference_mode()(model)(text[:, :-1]), params=model.parameters())
trained = saved_ledger(lambda: model(text[:, :-1]), params=model.parameters())
print(f"kept for backward by a rollout call: {rolled.storage_bytes:,} bytes; by the training pass: {trained.storage_bytes:,} bytes")

with torch.inference_mode():
    drawn = model(text[:, :-1])[:, -1].argmax(-1, keepdim=True)
try:
    model(text[:, :-1])[:, -1].log_softmax(-1).gather(1, drawn)
except RuntimeError as error:
    print("RuntimeError:", error)
print("after .clone() outside:", model(text[:, :-1])[:, -1].log_softmax(-1).gather(1, drawn.clone()).shape)

# %% [markdown]
# **The loss.** For a new token, ratio = exp(logp − old_logp), where old_logp is the log-probability it was drawn with. The loss is −mean(min(ratio · A, clamp(ratio, 1 − clip, 1 + clip) · A)), over all
# new tokens, with A = reward − mean reward of the batch.
#
# **Predict.** On the first step after a rollout ratio is 1. What are the loss and its gradient?
#
# <details><summary>Answer</summary>
#
# The loss is −mean(A), which is 0. The gradient is −mean(A · ∇logp), and that moves the policy. A ratio of 1 is a number; its gradient comes from the graph behind it.
# </details>
#
# Mind the shift: the logits at position t predict the token at t + 1.
#
# ### Exercise: `rl_step`
# Difficulty: ●●●●○ · 35 minutes
#
# Write `rl_step(policy, prompts, reward_fn, optimizer, ...)`: roll out without a graph, judge, and take one step on the clipped loss above.
#
# <details><summary>Stuck?</summary>
#
# Three parts. The rollout, under `torch.inference_mode()`: a loop over new tokens that keeps their log-probabilities. Then copies, made outside. Then the training pass: one call on the
# whole sequence, of which only some positions predict new tokens. Which ones?
# </details>
# <details><summary>Still stuck?</summary>
#
# `gather` picks the log-probability of each new token from [B, new_tokens, V]. Write down the shapes of logp, old_logp and the advantages before you multiply.
# </details>
# <details><summary>Help: "RuntimeError: Inference tensors cannot be saved for backward"</summary>
#
# Tokens (an index, which gather saves), advantages or old log-probabilities came straight from the rollout. Clone them outside inference mode.
# </details>
# <details><summary>Help: "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"</summary>
#
# The training pass ran inside the rollout's `with` block, or logp is the rollout's own.
# </details>
# <details><summary>Help: "The size of tensor a (8) must match the size of tensor b (5)"</summary>
#
# Advantages have shape [B]; the ratio has [B, new_tokens]. Add a dimension: `advantages[:, None]`.
# </details>
# <details><summary>Help: "The size of tensor a (7) must match the size of tensor b (8)", or "Size does not match at dimension 1"</summary>
#
# Two slices differ by one. N new tokens after T prompt tokens are predicted by the logits at T − 1 up to T + N − 2: N of them.
# </details>

# %% nbgrader={"grade": false, "grade_id": "rl_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rl_step(policy, prompts, reward_fn, optimizer, *, new_tokens=8, clip=0.2, generator=None) -> dict[str, float]:
    """One step of clipped policy gradient: roll out, judge, update.

    Parameters
    ----------
    policy : nn.Module
        Maps token ids int64 [B, T] to logits [B, T, V]. Its training flag is as found afterwards.
    prompts : torch.Tensor
        int64 [B, T].
    reward_fn : callable
        Maps all tokens int64 [B, T + new_tokens], prompt first, to rewards [B]. Called once.
    optimizer : torch.optim.Optimizer
        Over the policy's parameters; gradients found there are zeroed first, and one step is taken.
    new_tokens : int
        Each is drawn by one `torch.multinomial(softmax(logits[:, -1]), 1)`, without a graph.
    clip : float
        The ratio is clipped to [1 - clip, 1 + clip].
    generator : torch.Generator, optional
        When given, all draws come from it and from nothing else.

    Returns
    -------
    dict
        "loss": the clipped loss, mean over the new tokens of all sequences; advantage = reward - mean(reward), old
        log-probabilities are those the tokens were drawn with (one step follows each rollout, so those of the training
        pass, as a constant, will do as well). "reward": the mean reward. Both float.
    """
    ### BEGIN SOLUTION
    # Why this shape: old gradients go first, so that neither the rollout nor the training pass holds them. The rollout keeps the log-probabilities that it has
    # computed anyway, and everything that crosses over is cloned once, in one place. The training pass leaves the last token out: nothing follows it.
    optimizer.zero_grad()
    start = prompts.shape[1]
    with torch.inference_mode():
        tokens, old_logp = prompts, []
        for _ in range(new_tokens):
            logits = policy(tokens)[:, -1]
            token = torch.multinomial(logits.softmax(-1), 1, generator=generator)
            old_logp.append(logits.log_softmax(-1).gather(1, token))
            tokens = torch.cat([tokens, token], dim=1)
        rewards = reward_fn(tokens)
        old_logp = torch.cat(old_logp, dim=1)

    # Copies made outside inference mode are ordinary tensors, which backward may save.
    tokens, old_logp, rewards = tokens.clone(), old_logp.clone(), rewards.clone()
    advantages = (rewards - rewards.mean()).unsqueeze(1)
    logits = policy(tokens[:, :-1])[:, start - 1 :]
    logp = logits.log_softmax(-1).gather(2, tokens[:, start:].unsqueeze(2)).squeeze(2)
    ratio = (logp - old_logp).exp()
    loss = -torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()

    loss.backward()
    optimizer.step()
    return {"loss": loss.item(), "reward": rewards.mean().item()}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-rl_step", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
class Toy(nn.Module):
    """Logits that depend on all tokens so far; small, and without any draw of its own."""

    def __init__(self, start):
        super().__init__()
        self.table = nn.Parameter(start[0].clone())
        self.out = nn.Parameter(start[1].clone())
        self.grad_modes = []

    def forward(self, tokens):
        self.grad_modes.append(torch.is_grad_enabled())
        x = F.embedding(tokens, self.table).cumsum(1)
        return x.tanh() @ self.out

class Descent:
    """Plain gradient descent behind an optimizer's interface: it loads nothing, so the checks start at once."""

    def __init__(self, params, lr):
        self.param_groups, self.lr, self.calls = [{"params": list(params), "lr": lr}], lr, 0

    def zero_grad(self, set_to_none=True):
        for p in self.param_groups[0]["params"]:
            p.grad = None if set_to_none or p.grad is None else torch.zeros_like(p.grad)

    @torch.no_grad()
    def step(self, closure=None):
        self.calls += 1
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for p in self.param_groups[0]["params"]:
            if p.grad is not None:
                p -= self.lr * p.grad
        return loss

start = [torch.randn(7, 4, dtype=torch.float64), torch.randn(4, 7, dtype=torch.float64)]
prompts = torch.randint(7, (5, 3))

def small_tokens(tokens):
    return (tokens < 3).double().mean(1)

def one_call(policy, reward=small_tokens, prompts=prompts, lr=0.1, **options):
    """What one call returned, and what could be seen of it. An error over inference tensors or sizes comes back as its text."""
    found = {"rewarded": [], "descent": Descent(policy.parameters(), lr=lr)}
    def judged(tokens):
        found["rewarded"].append(tokens.clone())
        return reward(tokens)
    try:
        found["result"] = rl_step(policy, prompts, judged, found["descent"], **options)
    except RuntimeError as error:
        if not any(word in str(error).lower() for word in ("inference tensor", "size", "shape")):
            raise
        found["raised"] = str(error)
    return found

def figure(result, name):
    """One of the figures that rl_step returns; None where it returned nothing."""
    return None if result is None else result[name]

def seen_by_the_reward():
    found = one_call(Toy(start))
    return found.get("raised") or [list(found["rewarded"][0].shape), found["rewarded"][0][:, :3]]

def first_loss():
    found = one_call(Toy(start))
    return found.get("raised") or figure(found["result"], "loss")

def mean_reward():
    found = one_call(Toy(start), reward=lambda t: torch.arange(5.0), new_tokens=2)
    return found.get("raised") or figure(found["result"], "reward")

def flags():
    policy = Toy(start)
    found = []
    for mode in (True, False):
        policy.train(mode)
        one_call(policy, new_tokens=2)
        found.append(policy.training)
    return found

def how_often():
    found = one_call(Toy(start), new_tokens=1)
    return {"rewards asked": len(found["rewarded"]), "optimizer steps": found["descent"].calls}

def rollout_modes():
    policy = Toy(start)
    one_call(policy, new_tokens=2)
    return policy.grad_modes

class ByPosition(nn.Module):
    """Its logits depend on the position alone: position t has a row of its own, so one sees which positions learn."""

    def __init__(self):
        super().__init__()
        self.rows = nn.Parameter(torch.zeros(6, 2, dtype=torch.float64))

    def forward(self, tokens):
        return self.rows[: tokens.shape[1]].expand(tokens.shape[0], -1, 2)

def positions(stale=False):
    """Eight prompts of three tokens, two new ones, uneven rewards: what was drawn, and how far the logit of token 1 moved at each position."""
    policy = ByPosition()
    if stale:
        policy.rows.grad = torch.full_like(policy.rows, 7.0)
    found = one_call(policy, reward=lambda t: torch.arange(8.0, dtype=torch.float64) ** 1.5, prompts=torch.zeros(8, 3, dtype=torch.int64), lr=1.0, new_tokens=2,
                     generator=torch.Generator().manual_seed(3))
    return {"drawn": found["rewarded"][0][:, 3:], "moved": policy.rows[:, 1].detach() + 0.0, "raised": found.get("raised")}

def learning():
    found = positions()
    return found["raised"] or [i for i, far in enumerate(found["moved"].tolist()) if abs(far) > 1e-9]

def same_draws():
    """What two calls drew with generators of one seed, and whether torch's own generator was left alone."""
    drawn = []
    before = torch.get_rng_state()
    for _ in range(2):
        drawn.append(one_call(Toy(start), new_tokens=6, generator=torch.Generator().manual_seed(5))["rewarded"][0].tolist())
    return {"the same": drawn[0] == drawn[1], "torch's own is untouched": torch.equal(before, torch.get_rng_state())}

class Disagrees(nn.Module):
    """Rollout and training pass compute other logits, as a quantized rollout kernel might: in training, token 1 is four times as likely as token 0, in the rollout as likely."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(2, dtype=torch.float64))

    def forward(self, tokens):
        odds = torch.tensor([1.0, 4.0 if torch.is_grad_enabled() else 1.0], dtype=torch.float64)
        return (self.bias + odds.log()).expand(*tokens.shape, 2)

def clipped_loss():
    found = one_call(Disagrees(), reward=lambda t: torch.arange(8.0, dtype=torch.float64) ** 0.5, prompts=torch.zeros(8, 1, dtype=torch.int64), new_tokens=1, clip=0.25)
    return {"drawn": found["rewarded"][0][:, 1], "loss": figure(found.get("result"), "loss")}

check = Check("rl_step", points=6)
check("reward_fn sees prompt and new tokens", seen_by_the_reward, [[5, 11], prompts.clone()],
      wrong=[(lambda v: type(v) is str and "nference tensor" in v, "Tensors of the rollout went into the training pass. Copy tokens and log-probabilities outside inference_mode before it uses them."),
             (lambda v: type(v) is str, "Two shapes do not fit. N new tokens after T prompt tokens are tokens[:, T:], and the logits that predict them are those at T - 1 up to T + N - 2. Print the shapes: is a slice off by one, or does an advantage need a dimension more?"),
             (lambda v: v[0] == [5, 8], "reward_fn got the new tokens alone. It judges prompt and answer together.")],
      hint="Eight new tokens follow each prompt unless told otherwise.")
check("the loss of a first step", first_loss, 0.0, atol=1e-6,
      wrong=[(lambda v: type(v) is str and "nference tensor" in v, "Tensors of the rollout went into the training pass. Copy what it made outside inference_mode."),
             (lambda v: type(v) is str, "Two shapes do not fit. The logits that predict the N new tokens are those at T - 1 up to T + N - 2: is a slice off by one, or does an advantage need a dimension more?"),
             (lambda v: v is None, "Nothing was returned: rl_step ends with a return of its dict.")],
      hint="The ratio is 1 for each token, so the loss is -mean(advantage), which is 0. Is it the ratio that is weighted, and is the mean reward taken off?")
check("the reward is a mean", mean_reward, 2.0,
      wrong=[(lambda v: type(v) is str, "The step raised an error; the checks above say more.")],
      hint="\"reward\" is the mean of what reward_fn returned, as a float.")
check("positions that learn", learning, [2, 3],
      wrong=[([3, 4], "Off by one: the logits at position 3 predict the token at position 4. With three prompt tokens the first new one is at position 3, and position 2 predicts it."),
             ([0, 1, 2, 3], "The prompt learns, too. The loss is over new tokens only."),
             ([0, 1], "The prompt learns in place of the new tokens. Which logits predict the token at position 3?"),
             (lambda v: type(v) is str and "nference tensor" in v, "Tensors of the rollout went into the training pass. Copy what it made outside inference_mode."),
             (lambda v: type(v) is str, "Two shapes do not fit: is a slice off by one? With three prompt tokens and two new ones, the logits at positions 2 and 3 predict the new ones."),
             (lambda v: v == [], "No position learned anything. A ratio of 1 has a gradient all the same: is old_logp the only constant? Does backward come before step, and zero_grad not in between?")],
      hint="With three prompt tokens and two new ones, the logits at positions 2 and 3 predict the new tokens. These two learn, and no other.")
check.that("how far they move", positions,
           # Before the step both tokens are equally likely, so the gradient of logp is token - 1/2.
           lambda v: all(abs(v["moved"][2 + k] - sum((i ** 1.5 - sum(j ** 1.5 for j in range(8)) / 8) * (row[k] - 0.5) for i, row in enumerate(v["drawn"])) / 16) < 1e-6 for k in (0, 1)),
           hint="A step with lr 1 moves a logit by the mean over all sixteen new tokens of advantage times the gradient of logp; the advantage is the reward less the mean reward, and nothing more.")
check.that("old gradients do not count", lambda: positions(stale=True), lambda v: all(abs(far) < 2.0 for far in v["moved"]),
           wrong=[(lambda v: any(abs(far) > 2.0 for far in v["moved"]), "A gradient of 7 that was there before the call moved the parameters. Zero gradients first.")],
           hint="The parameters had a gradient of 7 before the call. It must not matter.")
check("asked once, one step", how_often, {"rewards asked": 1, "optimizer steps": 1}, hint="Call reward_fn once and keep what it returned; call optimizer.step() once.")
check.that("no graph in the rollout", rollout_modes, lambda modes: not any(modes[:2]) and any(modes),
           wrong=[(lambda modes: any(modes[:2]), "A rollout call ran with grad mode on: its graph holds memory for nothing. Use inference_mode.")],
           hint="Two rollout calls without a graph, then a training pass with one.")
check("one generator, the same draws", same_draws, {"the same": True, "torch's own is untouched": True},
      wrong=[(lambda v: not v["torch's own is untouched"], "The state of torch's own generator is another one. Pass generator=generator to torch.multinomial, and set no seed."),
             (lambda v: not v["the same"], "Two calls with generators of one seed drew different tokens: does every draw come from the given generator?")])
check.that("the ratio is clipped", clipped_loss,
           # Drawn as 1 to 1, trained on as 1 to 4: ratios 0.4 and 1.6, clipped 0.75 and 1.25. Or 1, where old log-probabilities are those of the training pass.
           lambda v: v["loss"] is not None and any(
               abs(v["loss"] + sum(min(ratio[t] * a, held[t] * a) for i, t in enumerate(v["drawn"]) for a in [i ** 0.5 - sum(j ** 0.5 for j in range(8)) / 8]) / 8) < 1e-5
               for ratio, held in (((0.4, 1.6), (0.75, 1.25)), ((1, 1), (1, 1)))),
           wrong=[(lambda v: v["loss"] is None, "Nothing was returned, or the step raised an error; the checks above say more.")],
           hint="Here rollout and training pass disagree, so the ratio is 0.4 or 1.6 and clip is 0.25. The loss takes the smaller of ratio · A and clipped ratio · A, per token.")
check("the training flag", flags, [True, False], hint="Whatever mode the rollout uses, policy.training is as found afterwards.")
### BEGIN HIDDEN TESTS
seed = int(torch.randint(1_000_000, ()))

class Drifting(nn.Module):
    """Draws tokens 0 and 1 as 1 to 3, whatever came before; its training pass doubles the logits, which makes that 1 to 9, as a quantized rollout kernel might."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.tensor([1.0, 3.0], dtype=torch.float64).log())

    def forward(self, tokens):
        return (self.bias * (2 if torch.is_grad_enabled() else 1)).expand(*tokens.shape, 2)

def steps_once(prompts=prompts, reward=small_tokens, stale=None, generator=True, **options):
    """One step with lr 1: the reward, what was seen of it, and by how much each parameter moved."""
    policy, seen = Toy(start), []
    if stale is not None:
        for p in policy.parameters():
            p.grad = torch.full_like(p, stale)
    drawn = torch.Generator().manual_seed(seed) if generator else None
    optimizer = Descent(policy.parameters(), lr=1.0)
    result = rl_step(policy, prompts, lambda t: (seen.append(t.clone()), reward(t))[1], optimizer, generator=drawn, **options)
    return {"reward": figure(result, "reward"), "tokens": seen[0], "judged": len(seen), "calls": optimizer.calls, "modes": policy.grad_modes,
            "moved": [(a - b.detach()) for a, b in zip(start, policy.parameters())], "prompts": prompts}

def by_hand(prompts=prompts, reward=small_tokens, new_tokens=8):
    """The same without an optimizer: reward, tokens and gradients. The ratio is 1, so nothing is clipped."""
    policy, draws, tokens = Toy(start), torch.Generator().manual_seed(seed), prompts.clone()
    with torch.no_grad():
        for _ in range(new_tokens):
            tokens = torch.cat([tokens, torch.multinomial(policy(tokens)[:, -1].softmax(-1), 1, generator=draws)], 1)
    rewards = reward(tokens)
    logp = policy(tokens).log_softmax(-1)[:, prompts.shape[1] - 1:-1].gather(2, tokens[:, prompts.shape[1]:, None])[..., 0]
    loss = -(logp * (rewards - rewards.mean())[:, None]).mean()
    return {"reward": rewards.mean().item(), "tokens": tokens, "moved": list(torch.autograd.grad(loss, list(policy.parameters())))}

def drifted():
    """What was drawn, the loss and the move of both logits where training pass and rollout disagree."""
    policy, seen, rewards = Drifting(), [], torch.arange(12, dtype=torch.float64) ** 0.3  # of which no sum is 0 by chance
    before = policy.bias.detach().clone()
    result = rl_step(policy, torch.zeros(12, 1, dtype=torch.int64), lambda t: (seen.append(t.clone()), rewards.clone())[1],
                     Descent(policy.parameters(), lr=1.0), new_tokens=3, clip=0.1, generator=torch.Generator().manual_seed(seed))
    return {"drawn": seen[0][:, 1:], "loss": figure(result, "loss"), "moved": before - policy.bias.detach()}

def generator_use():
    torch.manual_seed(seed)
    policy, drawn = Toy(start), torch.Generator().manual_seed(seed)
    rl_step(policy, prompts, small_tokens, Descent(policy.parameters(), lr=0.1), new_tokens=3, generator=drawn)
    return [torch.rand(2), torch.rand(2, generator=drawn)]

def used_up(count):
    draws = torch.Generator().manual_seed(seed)
    for _ in range(count):
        torch.multinomial(torch.ones(5, 7, dtype=torch.float64) / 7, 1, generator=draws)
    return torch.rand(2, generator=draws)

def from_the_global_generator():
    torch.manual_seed(seed)
    return steps_once(generator=False)["tokens"]

def twice_without_a_generator():
    torch.manual_seed(seed)
    return [steps_once(generator=False)["tokens"].tolist() for _ in range(2)]

one = prompts[:, :1]
check("the update", lambda: steps_once()["moved"], by_hand()["moved"], rtol=1e-6, atol=1e-6,
      wrong=[(lambda v: not any(x for m in v for row in m for x in row), "No parameter moved, so the gradient was 0, or none was there. A ratio of 1 has a gradient: is old_logp the only constant? Are ratio and advantages multiplied as [B, new_tokens] and [B, 1]? Does backward come before step, and zero_grad not in between?")],
      hint="The parameters did not move by the gradient of the loss. Look at the shift (logits at t predict token t + 1), at the mean over new tokens only, and at the advantage.", weight=3)
check("large rewards", lambda: steps_once(reward=lambda t: 1000 * small_tokens(t))["moved"], by_hand(reward=lambda t: 1000 * small_tokens(t))["moved"], rtol=1e-6, atol=1e-6,
      hint="A thousand times the reward is a thousand times the gradient here. Is the gradient clipped, or the advantage scaled? Only the ratio is clipped.")
check("what was drawn", lambda: [steps_once()["tokens"], steps_once(prompts=one, new_tokens=4)["tokens"]], [by_hand()["tokens"], by_hand(prompts=one, new_tokens=4)["tokens"]],
      hint="One torch.multinomial(softmax(logits[:, -1]), 1, generator=generator) per new token, each from the sequence so far.")
check("the reward is reported", lambda: [steps_once()["reward"], steps_once(new_tokens=2)["reward"]], [by_hand()["reward"], by_hand(new_tokens=2)["reward"]], rtol=1e-6,
      wrong=[([None, None], "Nothing was returned: rl_step ends with a return of its dict.")],
      hint="\"reward\" is the mean reward of the batch, a float.")
check("a prompt of one token", lambda: steps_once(prompts=one, new_tokens=1)["moved"], by_hand(prompts=one, new_tokens=1)["moved"], rtol=1e-6, atol=1e-6,
      hint="With one prompt token and one new token the only logits that count are those at position 0.")
check("equal rewards teach nothing", lambda: steps_once(reward=lambda t: torch.full((5,), 3.0, dtype=torch.float64))["moved"], [torch.zeros(7, 4, dtype=torch.float64), torch.zeros(4, 7, dtype=torch.float64)], atol=1e-6,
      hint="When all rewards are equal every advantage is 0. Take the mean reward off.")
check("gradients found there", lambda: steps_once(stale=5.0, new_tokens=4)["moved"], by_hand(new_tokens=4)["moved"], rtol=1e-6, atol=1e-6,
      wrong=[(lambda v: abs(v[0][0][0]) > 4.0, "A gradient from before was added to this step's. Zero gradients before backward.")],
      hint="A gradient that was there before the call must not matter.")
check("one optimizer step", lambda: steps_once(new_tokens=2)["calls"], 1, hint="Call optimizer.step() once.")
check("the reward is asked once", lambda: steps_once(new_tokens=2)["judged"], 1, hint="Call reward_fn once, and keep what it returned: a reward may be dear, or drawn.")
check.that("the rollout records no graph", lambda: steps_once(new_tokens=6)["modes"], lambda modes: not any(modes[:6]) and any(modes),
           wrong=[(lambda modes: any(modes[:6]), "A rollout call ran with grad mode on: its graph keeps memory for nothing. Use inference_mode.")],
           hint="Six rollout calls without a graph, then a training pass with one.")
check("draws come from the generator alone", generator_use, [torch.rand(2, generator=torch.Generator().manual_seed(seed)), used_up(3)],
      hint="With a generator given, the global one is left alone, and each new token takes one draw from the given one.")
check("draws without a generator", from_the_global_generator, by_hand()["tokens"],
      hint="Without a generator torch's own is used, one draw per new token.")
check.that("two calls draw different tokens", twice_without_a_generator, lambda v: v[0] != v[1],
           wrong=[(lambda v: v[0] == v[1], "Without a generator, the second call drew the same tokens as the first. The state of torch's own generator is neither set nor put back.")],
           hint="Two calls without a generator: each draws from torch's own, and goes on where the other one stopped.")
check.that("clipping", drifted,
           # Per token its ratio and the clipped one: 0.1 / 0.25 and 0.9 / 0.75, or 1 where old log-probabilities are those of the training pass. Both are right.
           # A token whose clipped product is the smaller one moves nothing; another moves the logit of token 1 by twice (token - 0.9), that of token 0 by the opposite.
           lambda v: (drawn := [(i ** 0.3 - sum(j ** 0.3 for j in range(12)) / 12, token) for i, row in enumerate(v["drawn"]) for token in row]) and any(
               abs(v["loss"] + sum(min(ratio[t] * a, held[t] * a) for a, t in drawn) / 36) < 1e-5
               and all(abs(move + sign * sum(ratio[t] * a * 2 * (t - 0.9) for a, t in drawn if ratio[t] * a <= held[t] * a) / 36) < 1e-5 for move, sign in zip(v["moved"], (-1, 1)))
               for ratio, held in (((0.4, 1.2), (0.9, 1.1)), ((1, 1), (1, 1)))),
           wrong=[(lambda v: v["loss"] is None, "Nothing was returned: rl_step ends with a return of its dict.")],
           hint="Here the training pass computes other logits than the rollout, so the ratio of the two is not 1 and clipping matters: the loss takes the smaller of both products.")
check("prompts are left as they were", lambda: steps_once(new_tokens=2)["prompts"], prompts.clone(), hint="Do not write into prompts.")
### END HIDDEN TESTS
check.report()

# %% [markdown]
# Does it learn? A reward for small token ids, on the decoder of section 1, a few steps.

# %% tags=["demo"]
import matplotlib.pyplot as plt

torch.manual_seed(1)
small = Decoder(vocab=16, hidden=32, heads=2, ffn=64, layers=1, max_seq=16)
adam = torch.optim.Adam(small.parameters(), lr=5e-3)
try:
    rewards = [rl_step(small, torch.randint(16, (32, 4)), lambda t: (t[:, 4:] < 8).float().mean(1), adam, new_tokens=4)["reward"] for _ in range(30)]
    print(f"mean reward of the first step {rewards[0]:.2f}, of the last {rewards[-1]:.2f}")
    figure, ax = plt.subplots(figsize=(5.5, 2.6), layout="constrained")
    figure.patch.set_facecolor("white")
    ax.plot(rewards)
    ax.set(xlabel="step", ylabel="mean reward")
    plt.show()
except NotImplementedError:
    print("Write rl_step first, then run this cell.")

# %% [markdown]
# ## 6. The same bill for 7B parameters
#
# Nothing below runs a model. It is your two functions, on a model of about seven billion parameters in bfloat16, one sequence at a time. One column is not yours: `scores redone` is
# section 2's other meaning of selective, 8n + 2·batch·seq·ffn + 4·batch·seq elements per layer.
#
# **Predict.** Which term wins at 128k tokens: the ones linear in the sequence, or the scores?

# %% tags=["demo"]
import matplotlib.pyplot as plt

GIB = 1024**3


def seven_b(seq):
    return Config(batch=1, seq=seq, hidden=4096, heads=32, ffn=16_384, layers=32, itemsize=2)


c = seven_b(4096)
per_block = 4 * c.hidden**2 + 2 * c.hidden * c.ffn + 9 * c.hidden + c.ffn  # weights, biases, two norms
big_params = c.layers * per_block + 2 * 32_000 * c.hidden + 2 * c.hidden
lengths = [4096 * 2**i for i in range(6)]
try:
    fixed = sum(static_bytes(big_params, torch.bfloat16, "adam_mixed").values())
    print(f"{big_params / 1e9:.2f} billion parameters, {fixed / GIB:.0f} GiB before the first activation")
    curves = {}
    for seq in lengths:
        kept = {choice: activation_bytes(seven_b(seq), choice) for choice in ("none", "selective", "full")}
        kept["scores redone"] = kept["none"] - c.layers * c.heads * seq**2 * c.itemsize
        # While backward redoes a block, all that this block keeps is there as well.
        kept["full + one block"] = kept["full"] + kept["none"] // c.layers
        for name, nbytes in kept.items():
            curves.setdefault(name, []).append(nbytes / GIB)
    print(f"{'tokens':>18}" + "".join(f"{seq:>9,}" for seq in lengths) + f"{'last step':>12}   GiB of activations")
    for name, values in curves.items():
        print(f"{name:>18}" + "".join(f"{v:>9.1f}" for v in values) + f"{'x ' + format(values[-1] / values[-2], '.2f'):>12}")
    scores = c.heads * lengths[-1] ** 2 * c.itemsize
    print(f"at {lengths[-1]:,} tokens the scores of a single layer take {scores / GIB:.0f} GiB")
    room = 80 - fixed / 8 / GIB
    print(f"8 devices of 80 GiB, everything fixed split evenly: {room:.0f} GiB are left on each")

    figure, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
    figure.patch.set_facecolor("white")
    looks = {"none": ("#4c72b0", "-", 5, 7), "selective": ("#1f2328", "--", 1.5, -7), "full + one block": ("#dd8452", "-", 2, 0),
             "scores redone": ("#55a868", "-", 2, 0), "full": ("#8172b3", "-", 2, 0)}
    for name, (color, dashes, width, up) in looks.items():
        ax.loglog(lengths, curves[name], dashes, color=color, lw=width, base=2, solid_capstyle="round")
        ax.annotate(name, (lengths[-1], curves[name][-1]), textcoords="offset points", xytext=(8, up), va="center", fontsize=9, color=color)
    ax.axhline(room, color="#c44e52", ls=":", lw=1.5)
    ax.annotate("left on each of 8 x 80 GiB, if all that is fixed is split evenly", (lengths[-1] * 2.4, room), textcoords="offset points", xytext=(0, 4), ha="right", fontsize=8, color="#c44e52")
    ax.set_xticks(lengths, [f"{n // 1024}k" for n in lengths])
    ax.set_yticks([4**i for i in range(1, 9)], [f"{4**i:,}" for i in range(1, 9)])
    ax.minorticks_off()
    ax.set_xlim(lengths[0] * 0.9, lengths[-1] * 2.4)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set(xlabel="tokens in the sequence", ylabel="GiB of activations, per sequence")
    ax.set_title("7B in bfloat16, attention spelled out", fontsize=10, loc="left")
    plt.show()
except NotImplementedError:
    print("Write static_bytes and activation_bytes first, then run this cell.")

# %% [markdown]
# The last column is the factor for twice the tokens. Where the scores are kept it comes close to 4, and `selective` lies on `none`: nearly all there is are scores, and it keeps them. Where
# no scores are kept it is 2, exactly. Even full checkpointing needs the scores of one block while that block is at work, and in the long run they win.
#
# That is the case for attention kernels that never write the scores down, and recompute them tile by tile in backward: the idea of checkpointing, inside one operation.
# `F.scaled_dot_product_attention` saves no tensor with seq² elements.
#
# The dotted line is for eight devices that split weights, gradients and optimizer state evenly, while each works on a sequence of its own. One device of 80 GiB has no line: the fixed part
# alone is larger. Perfect splitting is an assumption: a real run also holds the gathered weights of the block at work, and buffers for communication. Two more things that no paper bill
# has: temporaries at the loss (two times tokens · vocabulary elements, section 3), and what the allocator loses to fragmentation.

# %% [markdown]
# ## On a GPU
#
# There the allocator keeps statistics of its own. Run the next cell where there is a GPU: it holds the ledger against `torch.cuda.max_memory_allocated()`. The ledger should say nearly what
# section 3 printed as the peak. Expect more from the allocator: it rounds every tensor up, and it counts whatever else is on the device, the token ids and the workspace of the matrix library. For a model as
# small as this, that workspace may be larger than the model.

# %% tags=["demo"]
from autograder.lab import show_recording

if torch.cuda.is_available():
    cuda_model, cuda_text = Decoder(VOCAB, 64, 4, 256, 4, max_seq=SEQ).cuda(), text.cuda()
    cuda_adam = torch.optim.Adam(cuda_model.parameters())

    def cuda_loss():
        return F.cross_entropy(cuda_model(cuda_text[:, :-1]).flatten(0, 1), cuda_text[:, 1:].flatten())

    by_ledger = training_bill(cuda_model, cuda_loss, cuda_adam)
    cuda_adam.zero_grad()
    torch.cuda.reset_peak_memory_stats()
    cuda_loss().backward()
    here = f"by the ledger {by_ledger.peak:,} bytes, by the allocator {torch.cuda.max_memory_allocated():,} (all that is on the device)"
else:
    here = show_recording("07-training-ledger")
here

# %% [markdown]
# ## Help, I get this error
#
# <details><summary><code>Inference tensors cannot be saved for backward</code></summary>
#
# Something that the rollout made reached the training pass. Clone it outside inference mode.
# </details>
# <details><summary><code>element 0 of tensors does not require grad and does not have a grad_fn</code></summary>
#
# The loss has no graph: the training pass ran inside the rollout's `with` block, or logp is the rollout's own.
# </details>
# <details><summary><code>The size of tensor a (7) must match the size of tensor b (8)</code>, or <code>Size does not match at dimension 1</code></summary>
#
# A slice is off by one. With T prompt tokens and N new ones, the logits at T − 1 up to T + N − 2 predict the new tokens. Where the two sizes are those of batch and new tokens,
# the advantages need a dimension more.
# </details>
# <details><summary><code>KeyError: 'n'</code> in activation_bytes</summary>
#
# You went through the letters of "none". A word stands for every layer.
# </details>
# <details><summary>A check of <code>plan</code> runs out of time</summary>
#
# Drop every partial choice that another one beats in both bytes and FLOPs, after each layer.
# </details>

# %% [markdown]
# ## Explain it aloud
#
# A colleague wants to train a 7B model at 32k tokens, and asks whether it fits on one device with 80 GiB. In a minute, aloud: which lines does the bill have, which of them depend on the batch,
# what would you change first, and what does that cost? Then write it down.
#
# It is graded by hand, two points. One point: weights, gradients, optimizer state, activations, temporaries, and which of them grow with batch and sequence. One point: a remedy with
# its price (checkpointing: up to one more forward pass; splitting what is fixed over devices; attention that never stores the scores), and that the peak is not the sum of the lines.

# %% [markdown] nbgrader={"grade": true, "grade_id": "explain-07-training-ledger", "locked": false, "points": 2, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# There are five lines: weights, gradients, optimizer state with its master weights, activations, temporaries. The first three are bytes per parameter, 16 with Adam in mixed
# precision, so about 100 GiB for 7B: they alone do not fit, whatever the batch. Activations and temporaries grow with batch and sequence, and the scores with the square of the sequence. So I
# would split what is fixed over eight devices first; the price is communication. Then I would use attention that never stores the scores, which redoes them in backward. If that is still
# too much I would checkpoint blocks, for up to one more forward pass. The peak is not the sum of the lines: it comes at the start of backward, when activations and the loss's temporaries are
# there and most gradients are not yet, provided that the old gradients were dropped before the forward pass.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# 1. Weights, gradients, optimizer state and master weights are bytes per parameter. You know them before anything runs.
# 2. Activations are a sum over layers, and each layer has a choice. At long sequences ask first what happens to the scores.
# 3. The peak is a moment, not a sum: gradients come as activations go, and temporaries stand on top. Zero gradients before the forward pass.
# 4. Under a budget compare whole choices, and drop those that another one beats in both. Greedy rules fail when layers differ.
# 5. A rollout costs no graph. Copy what it hands over, outside inference mode. A ratio of 1 still has a gradient.
