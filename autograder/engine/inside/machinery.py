"""What carries a run, as it was: an answer that replaces a part of it is not to cost the exercises beside it."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

_MODULES = (
    "json",
    "json.encoder",
    "json.decoder",
    "autograder.checks.observe",
    "autograder.checks.probe",
    "autograder.checks.seeds",
    "autograder.engine.inside.exhaustion",
    "autograder.engine.inside.memory",
    "autograder.engine.inside.putback",
    "autograder.engine.inside.session",
    "autograder.engine.inside.shell",
    "autograder.engine.inside.snapshot",
    "autograder.engine.inside.streams",
    "autograder.engine.inside.wire",
)
#: What draws the inputs of checks, and what reads their results.
_TORCH = ("allclose", "equal", "manual_seed", "rand", "randint", "randn", "randn_like", "randperm", "tensor")
_TENSOR = ("__eq__", "cpu", "detach", "numel", "reshape", "resolve_conj", "resolve_neg", "tolist")


class Machinery:
    """Remembers functions and classes, and their code.

    This is courtesy towards the honest part of a notebook. What an answer forges is the judge's business: an observation has
    to agree with the reference's.
    """

    def __init__(self) -> None:
        self.parts: list[tuple[Any, dict[str, Any]]] = []
        self.codes: list[tuple[FunctionType, Any]] = []
        for name in _MODULES:
            module = sys.modules.get(name)
            if module is None:
                continue
            own = [value for value in vars(module).values() if getattr(value, "__module__", None) == name]
            self._remember(module, {key: value for key, value in vars(module).items() if callable(value)})
            for kind in own:
                if isinstance(kind, type):
                    self._remember(kind, {key: v for key, v in vars(kind).items() if isinstance(v, FunctionType)})
        torch = sys.modules.get("torch")
        if torch is not None:
            self._remember(torch, {name: vars(torch)[name] for name in _TORCH})
            self._remember(torch.Tensor, {name: vars(torch.Tensor).get(name) for name in _TENSOR})

    def _remember(self, owner: Any, parts: dict[str, Any]) -> None:
        """`parts`: names, and None for those that the owner inherits."""
        self.parts.append((owner, parts))
        self.codes += [(value, value.__code__) for value in parts.values() if isinstance(value, FunctionType)]

    def put_back(self) -> None:
        """Set what was replaced or deleted."""
        for owner, parts in self.parts:
            now = vars(owner)
            for name, value in parts.items():
                if now.get(name) is not value:
                    if value is None:
                        delattr(owner, name)
                    else:
                        setattr(owner, name, value)
        for function, code in self.codes:
            if function.__code__ is not code:
                function.__code__ = code
