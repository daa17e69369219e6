"""Draw the README's pictures of a training step: python docs/make_images.py writes docs/images/training-step*.png."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import torch

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


def main() -> None:
    """Write both pictures; say what to install where there is nothing to draw with."""
    if find_dot() is None:
        raise SystemExit("No `dot` program was found. Install one with: pip install graphviz-pure")
    IMAGES.mkdir(exist_ok=True)
    for theme, name in (("light", "training-step.png"), ("dark", "training-step-dark.png")):
        (IMAGES / name).write_bytes(training_step(theme))
        print(IMAGES / name)


if __name__ == "__main__":
    main()
