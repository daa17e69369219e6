"""Draw the README's pictures: python docs/make_images.py writes docs/images/*.png."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Literal

import matplotlib.pyplot as plt
import torch

from autograder.checks import verdict
from autograder.checks.observe import observe
from autograder.checks.table import CheckTable, Row
from autograder.lab import draw_graph, find_dot

IMAGES = Path(__file__).parent / "images"


def training_step(theme: Literal["light", "dark"]) -> bytes:
    """The graph of a two-layer network's loss, as PNG."""
    torch.manual_seed(0)
    images, labels = torch.randn(64, 256), torch.randint(0, 10, (64,))
    w1, b1 = torch.randn(256, 1024, requires_grad=True), torch.zeros(1024, requires_grad=True)
    w2, b2 = torch.randn(1024, 10, requires_grad=True), torch.zeros(10, requires_grad=True)
    hidden = torch.nn.functional.silu(images @ w1 + b1)
    logits = hidden @ w2 + b2
    loss = torch.nn.functional.cross_entropy(logits, labels)
    drawing = draw_graph(loss, theme=theme)
    drawing.attr(dpi="144")
    return bytes(drawing.pipe(format="png", quiet=True))


def check_table() -> bytes:
    """The table that a learner sees after a wrong answer, as PNG."""
    parameter = torch.tensor([1.0, 2.0], requires_grad=True)
    edges = (parameter * parameter).grad_fn.next_functions
    outcomes = [
        ("the root comes first", verdict.judge_value(observe("MulBackward0"), observe("MulBackward0")), ""),
        (
            "one entry per path",
            verdict.judge_value(observe(len(set(edges))), observe(len(edges))),
            "x * x has two edges to one leaf.",
        ),
        ("an operand without gradient is skipped", None, ""),
    ]
    rows = [Row(label, how is None, f"{how} {hint}" if how else "") for label, how, hint in outcomes]
    table = CheckTable("walk", rows, 3.0)
    lines = repr(table).split("\n")
    figure = plt.figure(figsize=(7.2, 0.3 * len(lines) + 0.3), dpi=144, facecolor="#ffffff")
    for number, line in enumerate(lines):
        color = {"pass": "#1a7f37", "FAIL": "#cf222e"}.get(line.strip()[:4], "#1f2328")
        weight = "bold" if number == 0 else "normal"
        height = 1 - (number + 0.7) / (len(lines) + 0.4)
        figure.text(0.03, height, line, family="monospace", size=10, color=color, weight=weight)
    picture = BytesIO()
    figure.savefig(picture, format="png", metadata={"Software": None})
    plt.close(figure)
    return picture.getvalue()


def main() -> None:
    """Write the pictures; say what to install where there is nothing to draw with."""
    if find_dot() is None:
        raise SystemExit("No `dot` program was found. Install one with: pip install graphviz-pure")
    IMAGES.mkdir(exist_ok=True)
    for theme, name in (("light", "training-step.png"), ("dark", "training-step-dark.png")):
        (IMAGES / name).write_bytes(training_step(theme))
        print(IMAGES / name)
    (IMAGES / "check-table.png").write_bytes(check_table())
    print(IMAGES / "check-table.png")


if __name__ == "__main__":
    main()
