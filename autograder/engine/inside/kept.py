"""What modules and classes held before the first cell, so that what a cell replaces there can be put back."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import sys
from collections.abc import Iterable
from types import CodeType, FunctionType, ModuleType
from typing import Any

_DICT_TABLE = 4 * 8  #: where in a dict's memory the address of its table stands, CPython 3.11 to 3.14
_TABLE_HEAD = 4 * 8  #: bytes of a table that lookups may change


class Kept:
    """Remembers what some modules and the classes in them hold: functions, classes, modules, properties.

    Data that a module keeps is its own affair. A name that comes later is left alone, but in a class where it hides what the
    class inherits.

    Parameters
    ----------
    modules : iterable of str
        Those of them that are imported.
    classes : iterable of type
        More classes.
    """

    def __init__(self, modules: Iterable[str], classes: Iterable[type] = ()) -> None:
        self.modules: dict[str, ModuleType] = {}
        self.held: list[tuple[Any, dict[str, Any]]] = []
        self.codes: list[tuple[FunctionType, CodeType]] = []
        self.add(modules, classes)

    def add(self, modules: Iterable[str], classes: Iterable[type] = ()) -> None:
        """Remember more of them."""
        new = {name: sys.modules[name] for name in sorted(modules) if sys.modules.get(name) is not None}
        owners: dict[int, Any] = {id(owner): owner for owner in (*new.values(), *classes)}
        for name, module in new.items():
            root = name.partition(".")[0]
            for value in list(vars(module).values()):
                if isinstance(value, type) and str(value.__module__).partition(".")[0] == root:
                    owners[id(value)] = value
        self.modules |= new
        known = {id(owner) for owner, _ in self.held}
        self.held += [(owner, dict(vars(owner))) for owner in owners.values() if id(owner) not in known]
        self.tables = _Tables([_own_dict(owner) for owner, _ in self.held])

    def add_code(self) -> None:
        """Remember the code of all functions as well: it is replaced without a trace in any dict."""
        values = [value for _, before in self.held for value in before.values()]
        self.codes = [(value, value.__code__) for value in values if isinstance(value, FunctionType)]

    def put_back(self) -> None:
        """Set what was replaced or deleted."""
        for name, module in self.modules.items():
            if sys.modules.get(name) is not module:
                sys.modules[name] = module
        for function, code in self.codes:
            if function.__code__ is not code:
                function.__code__ = code
        changed = self.tables.changed()
        for place in changed:
            with contextlib.suppress(Exception):  # what refuses to be put back is not to keep the others from it
                _put_back(*self.held[place])
        if changed:
            self.tables.remember()


def _put_back(owner: Any, before: dict[str, Any]) -> None:
    now = vars(owner)
    for name, value in before.items():
        if now.get(name) is not value and (name not in now or _is_part(value)):
            setattr(owner, name, value)
    if isinstance(owner, type) and len(now) > len(before):
        for name in [name for name in now if name not in before and hides_inherited(owner, name)]:
            delattr(owner, name)


def hides_inherited(kind: type, name: str) -> bool:
    """Whether a class that is above `kind` has that name."""
    return any(name in vars(above) for above in kind.__mro__[1:])


def _is_part(value: Any) -> bool:
    return callable(value) or isinstance(value, ModuleType) or hasattr(type(value), "__get__")


def _own_dict(owner: Any) -> dict[str, Any]:
    """The dict itself, where a class shows a view of it only."""
    found: Any = vars(owner)
    return found if isinstance(found, dict) else gc.get_referents(found)[0]


class _Tables:
    """Tells whether any of some dicts has changed, by the memory of their tables.

    To look at the values themselves would write to the reference count of each: a fork would have to copy some thousand
    pages for it. Where the memory is not laid out as expected, every dict counts as changed.
    """

    def __init__(self, dicts: list[dict[str, Any]]) -> None:
        self.dicts, self.is_known = dicts, _is_laid_out_as_expected()
        self.places = [(ctypes.c_char * 8).from_address(id(held) + _DICT_TABLE) for held in dicts if self.is_known]
        self.remember()

    def remember(self) -> None:
        """Take every dict as it is now for unchanged."""
        self.addresses = b"".join(self.places)
        self.tables = [_table(held) for held in self.dicts if self.is_known]
        self.bytes = b"".join(self.tables)

    def changed(self) -> list[int]:
        """Which of the dicts hold another value, or one more or less, than they did."""
        every = range(len(self.dicts))
        if not self.is_known:
            return list(every)
        # A dict that has grown lies elsewhere, and its old table is nobody's memory any more.
        if b"".join(self.places) == self.addresses and b"".join(self.tables) == self.bytes:
            return []
        ends = list(itertools.accumulate(map(len, self.tables)))
        return [
            number
            for number in every
            if bytes(self.places[number]) != self.addresses[8 * number : 8 * number + 8]
            or bytes(self.tables[number]) != self.bytes[ends[number] - len(self.tables[number]) : ends[number]]
        ]


def _table(held: dict[str, Any]) -> ctypes.Array[ctypes.c_char]:
    address = ctypes.c_size_t.from_address(id(held) + _DICT_TABLE).value
    size = sys.getsizeof(held) - sys.getsizeof({}) - _TABLE_HEAD
    return (ctypes.c_char * max(0, size)).from_address(address + _TABLE_HEAD)


def _is_laid_out_as_expected() -> bool:
    """Whether a dict's table shows which values it holds."""
    if sys.implementation.name != "cpython" or not (3, 11) <= sys.version_info[:2] <= (3, 14) or sys.maxsize < 2**32:
        return False
    first, second = object(), object()
    held: dict[str, Any] = {f"name {number}": first for number in range(20)}
    table = _table(held)
    before = bytes(table)
    held["name 7"] = second
    return id(first).to_bytes(8, sys.byteorder) in before and id(second).to_bytes(8, sys.byteorder) in bytes(table)


_CARRIES = ("json", "autograder.checks", "autograder.engine.inside")
_USED = (
    "torch", "torch.nn", "torch.nn.functional", "torch.autograd", "torch.autograd.graph", "torch.autograd.function",
    "numpy", "numpy.random", "random",
)  # fmt: skip


def of_run(shell: object, modules: Iterable[str]) -> tuple[Kept, Kept]:
    """What carries a run, put back as soon as a cell ends, and what the course uses, put back before another exercise."""
    machinery = Kept(_below(_CARRIES), type(shell).__mro__[:-1])
    machinery.add_code()
    return machinery, Kept(course(modules))


def course(modules: Iterable[str] = ()) -> set[str]:
    """What the cells of a course use: torch, numpy, `autograder.lab`, and what else its set-up imports.

    But matplotlib, which keeps a state in its functions, and which no check reads.
    """
    wanted = {name for name in modules if name.partition(".")[0] not in ("matplotlib", "sys")}
    return {*_USED, *wanted, *_below(("autograder.lab",))}


def _below(packages: tuple[str, ...]) -> list[str]:
    return [name for name in list(sys.modules) if name in packages or name.startswith(tuple(f"{p}." for p in packages))]
