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
        self._trees: dict[str, tuple[ast.Module | None, str]] = {}

    def tree(self, source: str) -> ast.Module | None:
        """The syntax tree, shell lines and magics taken out; None where the text is not Python or too long."""
        return self._parsed(source)[0]

    def _parsed(self, source: str) -> tuple[ast.Module | None, str]:
        """The tree, and the text that it is the tree of."""
        if source not in self._trees:
            self._trees[source] = self._parse(source)
        return self._trees[source]

    def _parse(self, source: str) -> tuple[ast.Module | None, str]:
        if len(source) > min(_PER_SOURCE, self._budget):
            return None, source
        self._budget -= len(source)
        tree = parse(source)
        if tree is None and (plain := plain_python(source)) != source:
            return parse(plain), plain
        return tree, source

    def names(self, source: str) -> set[str]:
        """Names that running the cell would bind at top level."""
        tree = self.tree(source)
        if tree is not None:
            return set(bound(tree.body))
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

    def answers(self, source: str, names: frozenset[str], released: str) -> bool:
        """Whether the cell binds one of these names to something else than what was released, or than a bare raise."""
        if not self.binds(source, names):
            return False
        if not _may_be_stub(source, released) or (tree := self.tree(source)) is None:
            return True
        stub = self._statements(released)
        return any(not _is_stub(node, stub) for node in tree.body if not names.isdisjoint(bound([node])))

    def without_stub(self, source: str, names: frozenset[str], released: str) -> str:
        """The cell without the statements that bind these names to what was released or to a bare raise.

        The source itself where there are none; "" where nothing else is left.
        """
        if not _may_be_stub(source, released) or not self.binds(source, names):
            return source
        tree, text = self._parsed(source)
        if tree is None:
            return source
        stub = self._statements(released)
        dropped = [node for node in tree.body if not names.isdisjoint(bound([node])) and _is_stub(node, stub)]
        if not dropped:
            return source
        if len(dropped) == len(tree.body):
            return ""
        lines = text.split("\n")
        gone = {number for node in dropped for number in range(*_lines(node))}
        return "\n".join(line for number, line in enumerate(lines) if number not in gone)

    def _statements(self, source: str) -> set[str]:
        tree = self.tree(source)
        return {_dump(node) for node in tree.body} if tree is not None else set()

    def typed_in(self, source: str, released: str) -> str | None:
        """Imports and definitions that a student typed into a locked cell, as the text of a cell of their own.

        Returns
        -------
        str or None
            "" where nothing was added; None where the text was changed and cannot be read.
        """
        course, known = self.tree(released), self._statements(released)
        taken = set(bound(course.body)) if course is not None else set()
        tree, text = self._parsed(source)
        if tree is None:  # perhaps what was added reads well by itself
            old = {line.strip() for line in released.splitlines()}
            tree, text = self._parsed("\n".join(line for line in source.splitlines() if line.strip() not in old))
            if tree is None:
                return None
        lines = text.split("\n")
        kept: dict[tuple[int, int], None] = {}
        for node in tree.body:
            if _dump(node) not in known and _worth_keeping(node, taken):
                kept[_lines(node)] = None
        return "\n".join("\n".join(lines[start:end]) for start, end in kept)


def parse(source: str) -> ast.Module | None:
    """The syntax tree, or None where the text is not Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _dump(node: ast.AST) -> str:
    """The node as text without positions; its own, unlike any other's, where it is nested too deeply to be written."""
    try:
        return ast.dump(node)
    except RecursionError:
        return repr(node)


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


def bound(body: Iterable[ast.stmt]) -> Iterator[str]:
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
                yield from bound(node.body)
                yield from bound(node.orelse)
            case ast.If():
                yield from bound(node.body)
                yield from bound(node.orelse)
            case ast.With() | ast.AsyncWith():
                yield from bound(node.body)
            case ast.Try():
                for part in (node.body, node.orelse, node.finalbody, *(handler.body for handler in node.handlers)):
                    yield from bound(part)


def _names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for item in target.elts:
            yield from _names(item)
    elif isinstance(target, ast.Starred):
        yield from _names(target.value)


def _lines(node: ast.stmt) -> tuple[int, int]:
    """The lines of a statement, decorators included, as a range from 0."""
    decorators = [item.lineno for item in getattr(node, "decorator_list", ())]
    return min([node.lineno, *decorators]) - 1, node.end_lineno or node.lineno


def _bodies(body: Iterable[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """The bodies of functions, and of the methods of classes."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.body
        elif isinstance(node, ast.ClassDef):
            yield from _bodies(node.body)


def _only_raises(body: list[ast.stmt]) -> bool:
    """Whether a function does nothing but raise NotImplementedError, its docstring aside."""
    rest = body[1:] if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) else body
    return len(rest) == 1 and isinstance(rest[0], ast.Raise) and "NotImplementedError" in _dump(rest[0])


def _may_be_stub(source: str, released: str) -> bool:
    """False, quickly, for almost every answer: the raise of the stub is gone."""
    return "NotImplementedError" in source or "NotImplementedError" not in released


def _is_stub(node: ast.stmt, stub: set[str]) -> bool:
    bodies = list(_bodies([node]))
    return (bool(bodies) and all(_only_raises(body) for body in bodies)) or _dump(node) in stub


def _worth_keeping(node: ast.stmt, taken: set[str]) -> bool:
    """Whether an added statement imports or defines something, and hides nothing that the locked cell makes."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    names = set(bound([node]))
    return bool(names) and names.isdisjoint(taken)
