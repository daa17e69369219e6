"""Cells that were written elsewhere: where somebody sat at a debugger, where other packages are, where no name was hidden.

What a learner left in an answer and never missed must not cost it here: an import of `tqdm`, a `breakpoint()`. What it costs a
cell that it really needs it, the cell learns when it gets there. Every cell of a session runs inside `around`.
"""

from __future__ import annotations

import ast
import bdb
import builtins
import cmd
import contextlib
import pdb
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

#: Modules that a learner's machine brings by itself and that do nothing for an answer: Colab's own, debuggers.
HARMLESS = ("google.colab", "ipdb", "pudb")
#: How the lines begin that tell, on a cell's stderr, what was different here. `grading.run_notes` reads them.
MARK = "autograder: "
_BUILTINS = frozenset(name for name in vars(builtins) if not name.startswith("_"))


@contextlib.contextmanager
def around(shell: Any, role: str, course: Mapping[str, Any]) -> Iterator[None]:
    """Run one cell inside.

    Parameters
    ----------
    shell : InteractiveShell
        Runs the cell; its `user_ns` is the namespace.
    role : {"course", "answer", "student"}
        A cell of the course gets Python's own builtins, whatever a learner's cell above it has put over them. In a
        learner's cell an import of a module that is not installed binds a stand-in.
    course : mapping
        The names that cells of the course have bound so far.
    """
    leave_debuggers_alone()
    _told.clear()
    if role == "course":
        with plain_builtins(shell.user_ns, course):
            yield
        return
    before = {name: shell.user_ns.get(name) for name in _BUILTINS}
    guard = Guard()
    shell.ast_transformers.append(guard)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # a cell may do anything to its shell
            shell.ast_transformers.remove(guard)
        if guard.stars:
            _tell_hidden(shell.user_ns, before)


@contextlib.contextmanager
def plain_builtins(space: dict[str, Any], course: Mapping[str, Any]) -> Iterator[None]:
    """Inside, no name of a learner's hides a builtin, as `range` does after `from torch import *`."""
    hiding = {name: space.pop(name) for name in _BUILTINS & space.keys() - course.keys()}
    try:
        yield
    finally:
        for name, value in hiding.items():
            space.setdefault(name, value)


def _tell_hidden(space: dict[str, Any], before: dict[str, Any]) -> None:
    names = sorted(name for name in _BUILTINS & space.keys() if space[name] is not before[name])
    if names:
        _tell(f"import * hides Python's own {', '.join(names)} from every answer below.")


_told: set[str] = set()  #: by the cell that runs


def _tell(sentence: str) -> None:
    if sentence not in _told:
        _told.add(sentence)
        print(f"{MARK}{sentence}", file=sys.stderr)


# --- nobody sits at the debugger ---


def _nothing(*_: Any, **__: Any) -> None:
    """In place of what would wait for a person."""


async def _nothing_async(*_: Any, **__: Any) -> None:
    """The same, to be awaited."""


def leave_debuggers_alone() -> None:
    """Let `breakpoint()`, `pdb.set_trace()` and `%debug` do nothing: every debugger on `bdb` and `cmd`, IPython's too."""
    sys.breakpointhook = _nothing
    bdb.Bdb.set_trace = _nothing  # type: ignore[method-assign]
    cmd.Cmd.cmdloop = _nothing  # type: ignore[method-assign]
    for name, instead in (("set_trace", _nothing), ("set_trace_async", _nothing_async)):
        if name in vars(pdb.Pdb):  # Python 3.14 has its own
            setattr(pdb.Pdb, name, instead)


# --- modules that are not here ---


class Guard:
    """An AST transformer for IPython: an import of a module that is not installed binds a stand-in and goes on.

    An import below `try` or `with` is left as it is: whoever wrote it has thought of what to do.

    Attributes
    ----------
    stars : bool
        Whether the cell imports everything from somewhere.
    """

    def __init__(self) -> None:
        self.stars = False

    def visit(self, tree: ast.Module) -> ast.Module:
        tree.body = self._guarded(tree.body)
        return ast.fix_missing_locations(tree)

    def _guarded(self, body: Iterable[ast.stmt]) -> list[ast.stmt]:
        kept: list[ast.stmt] = []
        for node in body:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    alone = ast.copy_location(ast.Import([alias]), node)
                    root = alias.name.partition(".")[0]
                    bound = (alias.asname, alias.name) if alias.asname else (root, root)
                    kept.append(_tried(alone, alias.name, [bound]))
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level and node.module != "__future__":
                self.stars = self.stars or node.names[0].name == "*"
                names = [(alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names]
                kept.append(_tried(node, node.module, names))
            else:
                if isinstance(
                    node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.If | ast.For | ast.While
                ):
                    node.body = self._guarded(node.body)
                    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                        node.orelse = self._guarded(node.orelse)
                kept.append(node)
        return kept


def _tried(node: ast.stmt, module: str, names: list[tuple[str, str]]) -> ast.stmt:
    """`node` inside `try`, and an assignment of a stand-in to each (name, full name) where its module is not there."""
    lines = ["try: pass", "except ModuleNotFoundError:"]
    for name, full in names:
        call = f"__import__({__name__!r}, fromlist=['stand_in']).stand_in({full!r}, {module!r})"
        lines.append(f" {call}" if name == "*" else f" {name} = {call}")
    tried = ast.parse("\n".join(lines)).body[0]
    assert isinstance(tried, ast.Try)
    for inner in ast.walk(tried):
        ast.copy_location(inner, node)
    tried.body = [node]
    return tried


def stand_in(name: str, module: str) -> Any:
    """What an import binds to a name whose module is not here; called while that error is being handled.

    Parameters
    ----------
    name : str
        The full one, such as "tqdm.auto.tqdm".
    module : str
        The one that was to be imported, such as "tqdm.auto".
    """
    if any(f"{name}.".startswith(f"{known}.") or f"{module}.".startswith(f"{known}.") for known in HARMLESS):
        return Harmless()
    missing = str(getattr(sys.exc_info()[1], "name", None) or module)
    _tell(f"the module {missing} is not installed here; what was imported from it fails when it is used.")
    if name in sys.modules:  # of `import torch.of_tomorrow`: torch itself is there
        return sys.modules[name]
    return Absent(name, missing)


class Harmless:
    """Stands for a module that an answer does not need, and for everything in it: whatever is asked of it does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self

    __getitem__ = __enter__ = __call__

    def __exit__(self, *_: Any) -> None: ...

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class Absent:
    """Stands for a name from a module that is not installed here, and fails when it is used.

    An annotation is no use: `Float[Tensor, "n"] | None` is evaluated where a function is defined.
    """

    def __init__(self, name: str, module: str) -> None:
        self.__name, self.__module = name, module

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name}.{name}", self.__module)

    def __getitem__(self, _: Any) -> Absent:
        return self

    __or__ = __ror__ = __getitem__

    def __fail(self, *_: Any, **__: Any) -> Any:
        sentence = f"{self.__name} was used, but the module {self.__module} is not installed here"
        raise ModuleNotFoundError(sentence, name=self.__module)

    __call__ = __iter__ = __bool__ = __len__ = __enter__ = __exit__ = __mro_entries__ = __instancecheck__ = __fail
    __contains__ = __setitem__ = __float__ = __int__ = __index__ = __add__ = __radd__ = __sub__ = __rsub__ = __fail
    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __matmul__ = __rmatmul__ = __neg__ = __lt__ = __gt__ = __fail
