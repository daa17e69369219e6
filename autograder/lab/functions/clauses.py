"""The trials of the backward contract. Each takes a `Subject` and returns a verdict, a sentence and the observation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.gradcheck import GradcheckError

from autograder.lab.functions.backward import (
    as_leaves,
    backward_work,
    first_output,
    incoming,
    on_ctx,
    packed,
    pull,
    vjp,
)
from autograder.lab.functions.trial import Finding, Subject, first_line, floating, holds, same, wanted_of, wants


def gradcheck(subject: Subject) -> Finding:
    if not subject.numeric:
        return "n/a", "the gradient is not meant to be the derivative", None
    leaves = as_leaves(subject.draw())
    try:
        torch.autograd.gradcheck(subject.of_tensors(leaves), wanted_of(leaves))
    except GradcheckError as error:
        return "fail", first_line(error), str(error)
    return "pass", "", None


def double_backward(subject: Subject) -> Finding:
    if not subject.numeric:
        return "n/a", "the gradient is not meant to be the derivative", None
    leaves, output = subject.forward()
    try:
        # once_differentiable refuses only where the incoming gradient is itself part of a graph, and only in a full
        # backward: autograd.grad for chosen inputs never reaches the node that raises.
        grad = incoming("contiguous", output).requires_grad_() * 1
        first = pull(output, leaves, grad, create_graph=True)
        # As in a gradient penalty: beside the inputs, a first gradient that came back as a constant goes unseen.
        terms = [g.square().sum() for g in first if g is not None] + [leaf.sum() for leaf in wanted_of(leaves)]
        torch.stack(terms).sum().backward()
    except RuntimeError as error:
        refusal = f"refuses: {first_line(error)}"
        return holds(not subject.double_backward, refusal, str(error), refusal)
    try:
        torch.autograd.gradgradcheck(subject.of_tensors(leaves), wanted_of(leaves))
    except (GradcheckError, RuntimeError) as error:
        return "fail", f"neither right nor refused: {first_line(error)}", str(error)
    return "pass", "right", None


def gradient_layout(layout: str) -> Callable[[Subject], Finding]:
    """The gradient must not depend on the strides of the incoming gradient."""

    def trial(subject: Subject) -> Finding:
        leaves, output = subject.forward()
        grad = incoming(layout, output)
        dense = grad.contiguous().clone()
        found = pull(output, leaves, grad)
        expected = vjp(subject.apply, subject.draw(), dense)
        fault = f"strides {grad.stride()} give another gradient than the same values made contiguous"
        return holds(same(found, expected), fault, found, f"strides {grad.stride()}")

    return trial


def strided_inputs(subject: Subject) -> Finding:
    """Neither may the result depend on the strides of the inputs."""
    grad = incoming("contiguous", subject.value(subject.draw()))
    runs = {}
    for layout in ("transposed", "sliced"):
        dense = subject.draw()
        strided = [
            incoming(layout, value).copy_(value)
            if isinstance(value, torch.Tensor) and value.is_floating_point()
            else value
            for value in dense
        ]
        runs[layout] = found = [subject.value(strided), *vjp(subject.apply, strided, grad.clone())]
        if not same(found, [subject.value(dense), *vjp(subject.apply, dense, grad.clone())]):
            return "fail", f"{layout} inputs give another result than the same values made contiguous", runs
    return "pass", ", ".join(runs), runs


def second_backward(subject: Subject) -> Finding:
    leaves, output = subject.forward()
    grad, runs = incoming("contiguous", output), []
    for _ in range(2):
        found = pull(output, leaves, grad.clone(), retain_graph=True)
        runs.append([None if g is None else g.clone() for g in found])
    return holds(same(*runs), "the second pass with retain_graph gives another gradient", runs)


def two_consumers(subject: Subject) -> Finding:
    leaves, output = subject.forward()
    one, two = incoming("contiguous", output), incoming("contiguous", output)
    loss = (output * one).sum() + (output * two).sum()
    found = pull(loss, leaves, torch.ones_like(loss))
    if not same(found, vjp(subject.apply, subject.draw(), one + two)):
        return "fail", "the gradients of two uses of the output do not add up", found
    # An addition hands one gradient buffer to both operands: whoever edits it corrupts the neighbor.
    leaves, output = subject.forward()
    neighbor = torch.zeros_like(output, requires_grad=True)
    shared = pull(output + neighbor, [*leaves, neighbor], one.clone())[-1]
    return holds(same([shared], [one]), "edits the gradient buffer that it shares with a neighbor", (found, shared))


def nothing_mutated(subject: Subject) -> Finding:
    leaves = as_leaves(subject.draw())
    watched = {f"input {i}": leaf for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)}
    before = {name: (tensor.detach().clone(), tensor._version) for name, tensor in watched.items()}
    output, kept = packed(lambda: first_output(subject.apply(*leaves)))
    grad = incoming("contiguous", output)
    watched |= {f"saved tensor {i}": tensor for i, tensor in enumerate(kept)} | {"the incoming gradient": grad}
    before |= {name: (watched[name].detach().clone(), watched[name]._version) for name in watched if name not in before}
    pull(output, leaves, grad)
    changed = [
        name
        for name, (values, version) in before.items()
        if watched[name]._version != version or not torch.equal(watched[name].detach(), values)
    ]
    return holds(not changed, f"changed: {', '.join(changed)}", changed)


def odd_sizes(subject: Subject) -> Finding:
    shapes = {}
    for size in subject.sizes:
        leaves, output = subject.forward(size)
        found = pull(output, leaves, incoming("contiguous", output))
        for g, leaf in zip(found, leaves, strict=True):
            if g is not None and (g.shape != leaf.shape or g.dtype != leaf.dtype):
                fault = f"an input {tuple(leaf.shape)} {leaf.dtype} gets a gradient {tuple(g.shape)} {g.dtype}"
                return "fail", fault, (size, found)
        shapes[size] = [None if g is None else tuple(g.shape) for g in found]
        if subject.numeric and output.numel():
            try:
                torch.autograd.gradcheck(subject.of_tensors(leaves), wanted_of(leaves), fast_mode=True)
            except GradcheckError as error:
                return "fail", f"at {size}: {first_line(error)}", (size, str(error))
    return "pass", ", ".join(map(str, shapes)), shapes


def only_needed(subject: Subject) -> Finding:
    inputs = subject.draw()
    wanted = [i for i, leaf in enumerate(as_leaves(inputs)) if wants(leaf)]
    if len(wanted) < 2:
        return "n/a", "one differentiable input", None
    total = backward_work(subject.apply, inputs).elements
    alone = {i: backward_work(subject.apply, inputs, [j == i for j in range(len(inputs))]).elements for i in wanted}
    idle = [str(i) for i in wanted if alone[i] >= total]
    detail = f"elements written: {total} for all, " + ", ".join(f"{n} for input {i} alone" for i, n in alone.items())
    fault = f"input {', '.join(idle)} alone costs as much as all inputs; {detail}"
    return holds(not idle, fault, {"all": total, "alone": alone}, detail)


def saved_tensors(subject: Subject) -> Finding:
    leaves = as_leaves(subject.draw())
    output, kept = packed(lambda: first_output(subject.apply(*leaves)))
    known = [*leaves, output]
    own = [t for t in kept if not any(isinstance(k, torch.Tensor) and _storage(k) == _storage(t) for k in known)]
    rows = [(tuple(t.shape), t.dtype, t.nbytes) for t in kept]
    outside = on_ctx(output.grad_fn)
    detail = f"{len(kept)} tensors, {sum(t.nbytes for t in kept)} bytes: {', '.join(str(tuple(t.shape)) for t in kept)}"
    if own:
        detail += f"; neither input nor output: {', '.join(str(tuple(t.shape)) for t in own)}"
    fault = f"ctx.{', ctx.'.join(outside)} holds a tensor outside save_for_backward; {detail}"
    return holds(not outside, fault, {"saved": rows, "on ctx": outside}, detail)


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def edit_caught(subject: Subject) -> Finding:
    """After an input is edited in place, backward must raise, or not have needed it."""
    results: dict[int, Any] = {}
    for position, value in enumerate(subject.draw()):
        if not floating(value):
            continue
        leaves, output = subject.forward()
        grad = incoming("contiguous", output)
        with torch.no_grad():
            leaves[position].add_(1.0)
        try:
            found = pull(output, leaves, grad.clone())
        except RuntimeError as error:
            results[position] = first_line(error)
            continue
        results[position] = found
        if not same(found, vjp(subject.apply, subject.draw(), grad)):
            return "fail", f"input {position} edited after the forward: a wrong gradient and no error", results
    raised = [str(i) for i, result in results.items() if isinstance(result, str)]
    return (
        "pass",
        f"raises for input {', '.join(raised)}" if raised else "no gradient depends on the edited input",
        results,
    )


def half_type(dtype: torch.dtype) -> Callable[[Subject], Finding]:
    """Output and gradients in a half type against the same values in float64."""

    def trial(subject: Subject) -> Finding:
        inputs = subject.draw(dtype=dtype)
        exact = [v.double() if floating(v) else v for v in inputs]
        output = subject.value(inputs)
        grad = incoming("contiguous", output)
        half = [output, *vjp(subject.apply, inputs, grad.clone())]
        full = [subject.value(exact), *vjp(subject.apply, exact, grad.double())]
        worst = 0.0
        for a, b in zip(half, full, strict=True):
            if a is None or b is None or not b.numel():
                continue
            if a.dtype != dtype:
                return "fail", f"a {dtype} input gives a {a.dtype} result", half
            scale = b.abs().max().clamp(min=torch.finfo(dtype).tiny)
            error = (a.double() - b).abs().max() / scale / torch.finfo(dtype).eps
            worst = max(worst, float(error.nan_to_num(float("inf"), float("inf"))))
        detail = f"error {worst:.2f} eps of the largest value, bound {subject.half_bound:g}"
        return holds(worst <= subject.half_bound, detail, {"eps": worst, "half": half, "float64": full}, detail)

    return trial


CLAUSES: dict[str, Callable[[Subject], Finding]] = {
    "gradcheck in float64": gradcheck,
    "double backward": double_backward,
    "gradient expanded (sum)": gradient_layout("expanded"),
    "gradient transposed": gradient_layout("transposed"),
    "gradient column-sliced": gradient_layout("sliced"),
    "strided inputs": strided_inputs,
    "second backward": second_backward,
    "two consumers": two_consumers,
    "nothing mutated": nothing_mutated,
    "odd and empty sizes": odd_sizes,
    "only needed gradients": only_needed,
    "saved tensors": saved_tensors,
    "in-place edit is caught": edit_caught,
}
