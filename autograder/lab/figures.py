"""How figures of matplotlib are shown: as SVG that turns dark with its page, beside the PNG that a notebook shows anyway."""

from __future__ import annotations

import base64
import io
import re
import sys
from typing import TYPE_CHECKING

from autograder.lab.theme import adaptive, mirror

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SCOPE = "autograd-figure"
_COLOR = re.compile(r"(?:fill|stroke): (#[0-9a-f]{6})")
_SELECTORS = (('[style*="fill: {}"]', "fill"), ('[style*="stroke: {}"]', "stroke"))
_MOST = 500_000  # characters; a notebook with a larger drawing is slow to open, and a PNG shows it as well


def svg(figure: Figure) -> str:
    """The figure as SVG text, light or dark as its page is."""
    from matplotlib import rc_context

    written = io.StringIO()
    with rc_context({"svg.hashsalt": _SCOPE, "svg.fonttype": "path"}):  # the same text for the same figure
        figure.savefig(written, format="svg", bbox_inches="tight", metadata={"Date": None})
    text = written.getvalue()
    colors = sorted({"#000000", *_COLOR.findall(text)})
    return adaptive(text[text.index("<svg ") :], _SCOPE, {color: mirror(color) for color in colors}, _SELECTORS)


def image(figure: Figure, alt: str) -> str:
    """The figure as an HTML image."""
    text = base64.b64encode(svg(figure).encode()).decode()
    return f'<img alt="{alt}" src="data:image/svg+xml;base64,{text}">'


def _unless_large(figure: Figure) -> str | None:
    text = svg(figure) if hasattr(figure, "savefig") else ""  # a SubFigure has none
    return text if 0 < len(text) <= _MOST else None


def show_figures_as_svg() -> None:
    """Tell IPython, where it runs. Does not import matplotlib; what shows figures already is left as it is."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    # Figure's base: what stands under Figure itself is lost when matplotlib first meets the notebook.
    if shell is not None:
        shell.display_formatter.formatters["image/svg+xml"].for_type_by_name(
            "matplotlib.figure", "FigureBase", _unless_large
        )
