"""Pictures that turn dark with the page they stand on.

A picture is an SVG for light pages, with a style sheet laid over its colors. Shown as an image, it asks the page for its
scheme: JupyterLab and Notebook tell it. Written into the page, it looks for the marks that VS Code, JupyterLab and Colab
put on a dark one. Its ground is always painted, so that a page which tells nothing shows it light, and readable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

LIGHT_PAGE, DARK_PAGE = "#ffffff", "#111111"  # JupyterLab's own
_EDITOR = "--vscode-editor-background"  # a page of VS Code says what its ground is
_LIGHT_MARKS = (".vscode-light", '[data-jp-theme-light="true"]', '[theme="light"]')
_DARK_MARKS = (".vscode-dark", ".vscode-high-contrast", '[data-jp-theme-light="false"]', '[theme="dark"]')


def adaptive(svg: str, scope: str, dark: Mapping[str, str], selectors: Iterable[tuple[str, str]]) -> str:
    """Lay a dark palette over a light SVG.

    Parameters
    ----------
    svg : str
        The drawing.
    scope : str
        A CSS class for it. Drawings of one class must agree on `dark`: on a page they share their rules.
    dark : mapping
        Color to the color it becomes, both "#rrggbb". That of `LIGHT_PAGE` is the ground.
    selectors : iterable of (str, str)
        How an element says its color: a selector with `{}` for the color, and the property, "fill" or "stroke".
    """
    selectors = tuple(selectors)
    rules = [
        f".{scope} {selector.format(color)}{{{name}:var({_variable(color)},{_ground(color)})!important}}"
        for color in dark
        for selector, name in selectors
    ]
    is_dark = ";".join(f"{_variable(light)}:{_ground(to) if light == LIGHT_PAGE else to}" for light, to in dark.items())
    is_light = ";".join(f"{_variable(light)}:initial" for light in dark)
    sheet = [
        *rules,
        f".{scope}{{fill:var({_variable('#000000')},#000000)}}",
        f"@media (prefers-color-scheme:dark){{.{scope}{{{is_dark}}}}}",
        f"{_on(_LIGHT_MARKS, scope)}{{{is_light}}}",
        f"{_on(_DARK_MARKS, scope)}{{{is_dark}}}",
    ]
    head, tag, rest = svg.partition("<svg ")
    opening, close, body = rest.partition(">")
    return f'{head}{tag}class="{scope}" {opening}{close}<style>{"".join(sheet)}</style>{body}'


def mirror(color: str) -> str:
    """The color with its luma mirrored and its hue kept: dark on a light page becomes light on a dark one.

    Luma by the weights of Rec. 709. Black becomes a soft white, white the dark page, and what could be told apart still can.
    """
    red, green, blue = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    shift = 1 - 2 * (0.2126 * red + 0.7152 * green + 0.0722 * blue)
    low, high = int(DARK_PAGE[1:3], 16), 0xF2
    return "#" + "".join(
        f"{round(low + (high - low) * min(max(part + shift, 0), 1)):02x}" for part in (red, green, blue)
    )


def _variable(color: str) -> str:
    return f"--on-{color[1:]}"


def _ground(color: str) -> str:
    return f"var({_EDITOR},{color})" if color in (LIGHT_PAGE, DARK_PAGE) else color


def _on(marks: Iterable[str], scope: str) -> str:
    return ",".join(f"{mark} .{scope}" for mark in marks)
