"""Take the README's pictures by a browser: python -m docs.make_images writes docs/images/*.png.

A graph and a table of checks, as a notebook shows them, light and dark; the report and a feedback page of the sample class.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image, ImageChops

from autograder.lab.theme import DARK_PAGE, LIGHT_PAGE
from tests import sample_class
from tests.bank_lib import entries

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
CHAPTER, EXERCISE, ANSWER = "01-graph", "walk", "wrong_visits_once"
STUDENT = "wrong-2"
STEP = """\
import torch
from autograder.lab import draw_graph
torch.manual_seed(0)
images, labels = torch.randn(64, 256), torch.randint(0, 10, (64,))
w1, b1 = torch.randn(256, 1024, requires_grad=True), torch.zeros(1024, requires_grad=True)
w2, b2 = torch.randn(1024, 10, requires_grad=True), torch.zeros(10, requires_grad=True)
hidden = torch.nn.functional.silu(images @ w1 + b1)
logits = hidden @ w2 + b2
loss = torch.nn.functional.cross_entropy(logits, labels)
draw_graph(loss)
"""
# As a notebook shows an output: its font, its page, and the scheme that pictures ask for.
PAGE = """\
<!doctype html><meta charset="utf-8"><style>:root{{color-scheme:{scheme}}}
body{{margin:16px;background:{ground};color:{ink};font:14px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif}}</style>
<body data-jp-theme-light="{light}">{body}</body>"""


def outputs(sources: list[str]) -> list[dict[str, str]]:
    """Run cells in a real kernel; of the last value of each, what it shows by kind."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return [next((o.data for o in reversed(cell.outputs) if "data" in o), {}) for cell in notebook.cells]


def table() -> str:
    """The table that a learner sees after a wrong answer of the bank."""
    release = nbformat.read(ROOT / "notebooks" / CHAPTER / f"{CHAPTER}.ipynb", as_version=4)
    cells = {cell.id: cell.source for cell in release.cells}
    answer = next(entry.source for entry in entries(CHAPTER) if entry.path.stem == ANSWER)
    return outputs([cells["setup"], answer, cells[f"check-{EXERCISE}"]])[-1]["text/html"]


def take(browser: str, page: str, to: Path, size: tuple[int, int], *, crop: bool = False) -> None:
    """A screenshot of an address; cropped to what differs from the page's corner, and a margin."""
    with tempfile.TemporaryDirectory() as profile:
        root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        command = [browser, "--headless", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=2", *root]
        command += [f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}", f"--screenshot={to}", page]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    picture = Image.open(to).convert("RGB")
    if crop:
        ground = Image.new("RGB", picture.size, picture.getpixel((0, 0)))
        left, top, right, bottom = ImageChops.difference(picture, ground).getbbox() or (0, 0, *picture.size)
        picture = picture.crop((max(left - 24, 0), max(top - 24, 0), right + 24, bottom + 24))
    picture.quantize(256).save(to, optimize=True)  # flat colors: a third of the bytes
    print(to.relative_to(ROOT))


def main() -> None:
    """Take all of them."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        sys.exit("No browser was found to take pictures with: install chromium (apt install chromium).")
    IMAGES.mkdir(exist_ok=True)
    shown = {"training-step": outputs([STEP])[0]["image/svg+xml"], "check-table": table()}
    with tempfile.TemporaryDirectory() as folder:
        for name, body in shown.items():
            for scheme, ground, ink in (("light", LIGHT_PAGE, "#1f1f1f"), ("dark", DARK_PAGE, "#e0e0e0")):
                page = Path(folder) / "page.html"
                light = str(scheme == "light").lower()
                page.write_text(PAGE.format(scheme=scheme, ground=ground, ink=ink, light=light, body=body))
                end = "" if scheme == "light" else "-dark"
                take(browser, page.as_uri(), IMAGES / f"{name}{end}.png", (1000, 1400), crop=True)
        sample = Path(folder) / "class"
        sample_class.main(str(sample))
        take(browser, (sample / "report.html").as_uri(), IMAGES / "report.png", (1280, 960))
        feedback = next(path for path in sorted((sample / "feedback").rglob("*.html")) if is_feedback(path))
        take(browser, feedback.as_uri(), IMAGES / "feedback.png", (1280, 960))


def is_feedback(path: Path) -> bool:
    """Whether it is our student's page of the chapter."""
    return STUDENT in str(path) and CHAPTER in str(path)


if __name__ == "__main__":
    main()
