"""What a student's code binds: told from its text, never by running it."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator

_PER_SOURCE = 100_000  #: characters that are parsed at once; longer text is only searched
_IN_ALL = 2_000_000  #: characters that are parsed for one submission

_BINDS = re.compile(
    r"^(?:(?:async[ \t]+)?def|class)[ \t]+(?P<definition>\w+)|^(?P<assigned>\w+)[ \t]*(?::[^=\n]*)?=(?!=)",
    re.MULTILINE,
)
_SHELL_LINE = re.compile(r"^([ \t]*)[%!?].*$|^([ \t]*)\S.*\?$", re.MULTILINE)
_PYTHON_MAGICS = {"time", "timeit", "capture", "prun", "python", "python3", "memit", "mprun"}


class Definitions:
    """Finds top-level names and statements in the cells of one submission, in bounded time.

    Code that does not parse, or is too much to parse, is searched line by line instead.
    """

    def __init__(self) -> None:
        self._budget = _IN_ALL
        self._trees: dict[str, ast.Module | None] = {}

    def tree(self, source: str) -> ast.Module | None:
        """The syntax tree, shell lines and magics taken out; None where the text is not Python or too long."""
        if source not in self._trees:
            self._trees[source] = self._parse(source)
        return self._trees[source]

    def _parse(self, source: str) -> ast.Module | None:
        if len(source) > min(_PER_SOURCE, self._budget):
            return None
        self._budget -= len(source)
        tree = parse(source)
        if tree is None and (plain := plain_python(source)) != source:
            tree = parse(plain)
        return tree

    def names(self, source: str) -> set[str]:
        """Names that running the cell would bind at top level."""
        tree = self.tree(source)
        if tree is not None:
            return set(_bound(tree.body))
        plain = plain_python(source)
        return {match["definition"] or match["assigned"] for match in _BINDS.finditer(plain)}

    def binds(self, source: str, names: Iterable[str]) -> bool:
        """Whether running the cell would bind one of these names; quick where the text says so plainly."""
        names = [name for name in names if name in source]
        if not names:
            return False
        if any(source.startswith((f"def {name}(", f"class {name}(", f"{name} = ")) for name in names):
            return True
        if any(f"\ndef {name}(" in source or f"\nclass {name}(" in source for name in names) and "%%" not in source:
            return True
        return not self.names(source).isdisjoint(names)

    def same_code(self, one: str, other: str) -> bool:
        """Whether two sources differ at most in comments and layout."""
        first, second = self.tree(one), self.tree(other)
        return first is not None and second is not None and ast.dump(first) == ast.dump(second)

    def typed_in(self, source: str, released: str) -> str | None:
        """Imports and definitions that a student typed into a locked cell, as the text of a cell of their own.

        Returns
        -------
        str or None
            "" where nothing was added; None where the text was changed and cannot be read.
        """
        course = self.tree(released)
        known = {ast.dump(node) for node in course.body} if course is not None else set()
        taken = set(_bound(course.body)) if course is not None else set()
        text, tree = source, self.tree(source)
        if tree is None:  # perhaps what was added reads well by itself
            old = {line.strip() for line in released.splitlines()}
            text = "\n".join(line for line in source.splitlines() if line.strip() not in old)
            if (tree := self.tree(text)) is None:
                return None
        lines = plain_python(text).splitlines()
        kept: dict[tuple[int, int], None] = {}
        for node in tree.body:
            if ast.dump(node) not in known and _worth_keeping(node, taken):
                decorators = [item.lineno for item in getattr(node, "decorator_list", ())]
                kept[min([node.lineno, *decorators]) - 1, node.end_lineno or node.lineno] = None
        return "\n".join("\n".join(lines[start:end]) for start, end in kept)


def parse(source: str) -> ast.Module | None:
    """The syntax tree, or None where the text is not Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def plain_python(source: str) -> str:
    """The text with IPython's shell lines and line magics replaced by `pass`; "" for a cell of another language."""
    if source.lstrip().startswith("%%"):
        head, _, rest = source.lstrip().partition("\n")
        words = head[2:].split()
        if not words or words[0] not in _PYTHON_MAGICS:
            return ""
        source = "\n" + rest
    if "%" in source or "!" in source or "?" in source:
        source = _SHELL_LINE.sub(lambda found: f"{found[1] or found[2] or ''}pass", source)
    return source


def _bound(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    yield alias.asname or alias.name.partition(".")[0]
            case ast.Assign():
                for target in node.targets:
                    yield from _names(target)
            case ast.AnnAssign():
                if node.value is not None:
                    yield from _names(node.target)
            case ast.AugAssign():
                yield from _names(node.target)
            case ast.For() | ast.AsyncFor() | ast.While():
                yield from _bound(node.body)
                yield from _bound(node.orelse)
            case ast.If():
                yield from _bound(node.body)
                yield from _bound(node.orelse)
            case ast.With() | ast.AsyncWith():
                yield from _bound(node.body)
            case ast.Try():
                for part in (node.body, node.orelse, node.finalbody, *(handler.body for handler in node.handlers)):
                    yield from _bound(part)


def _names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for item in target.elts:
            yield from _names(item)
    elif isinstance(target, ast.Starred):
        yield from _names(target.value)


def _worth_keeping(node: ast.stmt, taken: set[str]) -> bool:
    """Whether an added statement imports or defines something, and hides nothing that the locked cell makes."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    names = set(_bound([node]))
    return bool(names) and names.isdisjoint(taken)
