"""What every exercise stands on, put back by one rule whoever has changed it.

The rule: before a cell, the public names of the modules and classes that course cells and checks use are what they were before
the first cell, and so is the code that carries the run. What was replaced or deleted there is put back; a new name on one of the
classes goes where it hides an inherited one. Everything else (torch's inner modules, what an answer bound itself, C++ state) is its
author's own loss. This is courtesy towards the honest part of a notebook: what an answer forges is the judge's business.
"""

from __future__ import annotations

import sys
from operator import is_
from types import FunctionType
from typing import Any

_MODULES = (
    "copy",
    "gc",
    "itertools",
    "json",
    "math",
    "numpy",
    "numpy.random",
    "random",
    "time",
    "torch",
    "torch.autograd",
    "torch.autograd.graph",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.utils.checkpoint",
)
_CLASSES = (
    "torch._C.TensorBase",
    "torch.Tensor",
    "torch.nn.Module",
    "torch.nn.Parameter",
    "torch.autograd.Function",
    "torch.autograd.function._SingleLevelFunction",
    "IPython.core.interactiveshell.InteractiveShell",
)
#: The run itself: besides the names, the code of its functions.
_OURS = (
    "json.encoder",
    "json.decoder",
    "autograder.checks.observe",
    "autograder.checks.probe",
    "autograder.checks.seeds",
    "autograder.engine.inside.elsewhere",
    "autograder.engine.inside.exhaustion",
    "autograder.engine.inside.foundation",
    "autograder.engine.inside.here",
    "autograder.engine.inside.memory",
    "autograder.engine.inside.putback",
    "autograder.engine.inside.session",
    "autograder.engine.inside.shell",
    "autograder.engine.inside.snapshot",
    "autograder.engine.inside.streams",
    "autograder.engine.inside.wire",
)
#: Parts of the shell by which a cell is run and shown. What it counts and remembers is a run's own.
_SHELL = ("compile", "display_formatter", "display_pub", "displayhook", "events", "history_manager",
          "input_transformer_manager")  # fmt: skip
_COUNTED = (int, str, list, dict, set, tuple, type(None))  #: what a run goes on writing


class Names:
    """The names of one module or class, and what they stand for."""

    def __init__(self, owner: Any) -> None:
        self.owner, self.is_class = owner, isinstance(owner, type)
        found = {name: value for name, value in vars(owner).items() if not _is_told(name)}
        self.names, self.values = list(found), list(found.values())
        self.inherited = set().union(*(vars(base) for base in owner.__mro__[1:])) if self.is_class else set()

    def put_back(self) -> None:
        now = vars(self.owner)
        if not all(map(is_, map(now.get, self.names), self.values)):
            for name, value in zip(self.names, self.values, strict=True):
                if now.get(name) is not value:
                    setattr(self.owner, name, value)
        if self.is_class and len(now) != len(self.names):
            for name in (now.keys() & self.inherited) - set(self.names):
                if not _is_told(name):
                    delattr(self.owner, name)


def _is_told(name: str) -> bool:
    """Names by which Python itself tells about a module or class."""
    return name in {"__doc__", "__dict__", "__weakref__", "__spec__", "__loader__", "__builtins__", "__abstractmethods__",
                    "__annotations__", "__module__", "__file__", "__cached__", "__slots__"}  # fmt: skip


class Foundation:
    """Remembers what every exercise stands on.

    Parameters
    ----------
    shell : Shell
        Whose own parts belong to it.
    """

    def __init__(self, shell: Any) -> None:
        self.modules = {name: module for name, module in sys.modules.items() if module is not None}
        self.parts: list[Names] = []
        self.codes: list[tuple[FunctionType, Any]] = []
        for name in (*_MODULES, *_OURS):
            if name in self.modules:
                self.parts.append(Names(self.modules[name]))
        for name in _CLASSES:
            module, _, attribute = name.rpartition(".")
            if (kind := getattr(self.modules.get(module), attribute, None)) is not None:
                self.parts.append(Names(kind))
        for name in _OURS:
            for value in list(vars(self.modules.get(name, self)).values()):
                if getattr(value, "__module__", None) == name:
                    self._remember(value)
        self.shell = shell
        self.traits = {name: shell._trait_values[name] for name in _SHELL if name in shell._trait_values}
        self.held = {name: value for name, value in vars(shell).items() if not isinstance(value, _COUNTED)}

    def _remember(self, value: Any) -> None:
        if isinstance(value, FunctionType):
            self.codes.append((value, value.__code__))
        elif isinstance(value, type):
            self.parts.append(Names(value))
            self.codes += [(each, each.__code__) for each in vars(value).values() if isinstance(each, FunctionType)]

    def put_back(self) -> None:
        """Set what was replaced or deleted."""
        now = sys.modules
        if not all(map(is_, map(now.get, self.modules), self.modules.values())):
            now.update({name: module for name, module in self.modules.items() if now.get(name) is not module})
        for part in self.parts:
            part.put_back()
        for function, code in self.codes:
            if function.__code__ is not code:
                function.__code__ = code
        values = self.shell._trait_values
        for name, value in self.traits.items():
            if values.get(name) is not value:
                values[name] = value
        own = vars(self.shell)
        for name, value in self.held.items():
            if own.get(name) is not value:
                own[name] = value
        for name in [name for name in own.keys() - self.held.keys() if callable(getattr(type(self.shell), name, None))]:
            del own[name]
