"""Pictures are read on a light page and on a dark one: contrasts are computed, and the style sheet says which color when."""

import re
import subprocess
import sys
from types import SimpleNamespace

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import pytest
from IPython.core.formatters import DisplayFormatter
from IPython.core.pylabtools import select_figure_formats

from autograder.lab import figures
from autograder.lab.graph.style import DARK, LIGHT
from autograder.lab.theme import DARK_PAGE, LIGHT_PAGE, adaptive, mirror
from tests.contrast import contrast

AA = 4.5
TEXT = ("ink", "muted", "memory_text", "leaf_text", "name", "wrong")
_OTHERS = {"leaf_text": {"leaf"}, "memory_text": {"op", "memory1", "memory2", "memory3", "memory4", "custom"}}
DARK_PAGES = (DARK_PAGE, "#1f1f1f")  # JupyterLab's, VS Code's


def surfaces(palette):
    return {role for role in palette if role not in TEXT and not role.endswith("_line") and role not in ("edge",)}


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("role", TEXT)
def test_the_text_of_a_graph_can_be_read_on_its_surfaces(palette, role):
    poor = {
        surface: round(contrast(palette[role], palette[surface]), 2)
        for surface in surfaces(palette) & _OTHERS.get(role, surfaces(palette))
        if contrast(palette[role], palette[surface]) < AA
    }
    assert poor == {}


def test_what_can_be_read_on_a_light_page_can_be_read_mirrored_on_a_dark_one():
    steps = range(0, 256, 15)
    readable = [f"#{r:02x}{g:02x}{b:02x}" for r in steps for g in steps for b in steps]
    readable = [color for color in readable if contrast(color, LIGHT_PAGE) >= AA]
    assert len(readable) > 1000
    assert min(contrast(mirror(color), DARK_PAGE) for color in readable) >= AA
    assert mirror("#ffffff") == DARK_PAGE and all(contrast(mirror("#000000"), page) > 12 for page in DARK_PAGES)


def drawn():
    figure, axes = plt.subplots(figsize=(3, 2), facecolor="white")
    axes.plot([1, 3, 2], color="#2458c5")
    axes.set_title("bytes")
    plt.close(figure)
    return figure


def applied(svg, dark):
    """The color of every element that has one, on a light or a dark page: a small reading of the style sheet."""
    sheet = re.search(r"<style>(.*?)</style>", svg).group(1)
    variables = dict(re.findall(r"(--on-\w+):([^;}]+)", re.search(r"@media[^{]*{[^{]*{([^}]*)}", sheet).group(1)))
    found = set()
    for color in re.findall(r"(?:fill|stroke): (#\w{6})", svg):
        value = variables[f"--on-{color[1:]}"] if dark else color
        found.add(re.sub(r"var\([^,]+,(#\w+)\)", r"\1", value))
    return found


def test_a_figure_has_a_light_and_a_dark_look():
    svg = figures.svg(drawn())
    assert {LIGHT_PAGE, "#2458c5"} <= applied(svg, dark=False)
    assert {DARK_PAGE, mirror("#2458c5")} <= applied(svg, dark=True) and LIGHT_PAGE not in applied(svg, dark=True)
    assert svg.count("<style>") == 1 and svg == figures.svg(drawn())


def test_a_picture_knows_the_pages_that_say_what_they_are():
    sheet = adaptive('<svg width="1">', "x", {LIGHT_PAGE: DARK_PAGE, "#000000": "#eeeeee"}, [('[fill="{}"]', "fill")])
    for mark in (".vscode-dark", '[data-jp-theme-light="false"]', '[theme="dark"]'):
        assert f"{mark} .x" in sheet
    assert sheet.index('[data-jp-theme-light="true"] .x') > sheet.index("@media")  # the page outdoes the system
    assert sheet.startswith('<svg class="x" width="1"><style>')


def test_a_notebook_shows_figures_as_svg_and_a_large_one_as_before(monkeypatch):
    formatter = DisplayFormatter()
    shell = SimpleNamespace(display_formatter=formatter)
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    figures.show_figures_as_svg()
    select_figure_formats(shell, {"png"})  # as a kernel does when a cell first draws
    assert {"image/svg+xml", "image/png"} < formatter.format(drawn())[0].keys()
    assert "image/svg+xml" not in formatter.format(plt.figure().subfigures())[0]
    monkeypatch.setattr(figures, "_MOST", 100)
    assert "image/svg+xml" not in formatter.format(drawn())[0]


def test_the_lab_does_not_load_matplotlib_to_say_so():
    code = "import sys, autograder.lab; assert 'matplotlib' not in sys.modules and 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
