"""After each cell: put back names, modes and streams that honest work may have disturbed.

For example a cell that calls `torch.set_grad_enabled(False)` and leaves it so. This is courtesy, not defence: what an answer
forges is the judge's business. What a cell has replaced in modules and classes is for `kept`.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterable
from typing import Any

from autograder.engine.inside.kept import hides_inherited

_OURS = {"In", "Out", "get_ipython", "exit", "quit", "open", "_", "__", "___", "_dh", "_oh", "_ih", "_exit_code"}
#: Parts of the shell by which a cell is run and shown.
_PARTS = {"compile", "display_formatter", "display_pub", "displayhook", "events", "hooks", "input_transformer_manager"}


class Names:
    """Remembers which names course cells and answer cells bound, and what to.

    Parameters
    ----------
    space : dict
        The namespace in which the cells run.
    """

    def __init__(self, space: dict[str, Any]) -> None:
        self.space = space
        self.course: dict[str, Any] = {}
        self.answers: dict[str, Any] = {}
        self._before = dict(space)

    def after(self, role: str) -> None:
        """Note what the cell that just ended has bound. Bind names of course cells again, and those of answers where they
        were deleted."""
        self._note(role)
        for name, value in self.course.items():
            if self.space.get(name, self) is not value:
                self.space[name] = value
        for name, value in self.answers.items():
            self.space.setdefault(name, value)
        self.space["__builtins__"] = builtins
        self._before = dict(self.space)

    def _note(self, role: str) -> None:
        if role not in ("course", "answer"):
            return
        bound = {
            name: value
            for name, value in self.space.items()
            if self._before.get(name, self) is not value and not self._private(name)
        }
        if role == "course":
            self.course.update(bound)
            for name in bound:
                self.answers.pop(name, None)
        else:
            self.answers.update(bound)

    @staticmethod
    def _private(name: str) -> bool:
        return (
            name in _OURS or (name.startswith("_") and name[1:].lstrip("i").isdigit()) or name in ("_i", "_ii", "_iii")
        )


class World:
    """The state of the interpreter, and of the shell where there is one, as it was before the first cell."""

    def __init__(self, work: str, shell: Any = None) -> None:
        self.work, self.shell = work, shell
        if shell is not None:
            manager, self.of_shell = shell.input_transformer_manager, set(vars(shell))
            self.parts = [(held, {name: held[name] for name in _PARTS & held.keys()})
                          for held in (vars(shell), shell._trait_values)]  # fmt: skip
            self.lists = [(held, list(held)) for held in (
                manager.cleanup_transforms, manager.line_transforms, manager.token_transformers,
                shell.input_transformers_post, shell.ast_transformers,
            )]  # fmt: skip
        self.builtins = {name: value for name, value in vars(builtins).items() if name != "_"}
        self.recursion = sys.getrecursionlimit()
        self.path = list(sys.path)
        self.streams = sys.stdin, sys.stdout, sys.stderr
        self.hooks = sys.excepthook, sys.unraisablehook, threading.excepthook

    def put_back_builtins(self) -> None:
        """Uses none of them but those that it was defined with."""
        vars(builtins).update(self.builtins)

    def put_back(self) -> None:
        """Builtins, streams, hooks, traces, alarms, the current folder, torch's and numpy's modes."""
        self.put_back_builtins()
        sys.stdin, sys.stdout, sys.stderr = self.streams
        sys.excepthook, sys.unraisablehook, threading.excepthook = self.hooks
        sys.settrace(None)
        sys.setprofile(None)
        gc.enable()
        if self.shell is not None:
            for held, items in self.lists:
                if held != items:
                    held[:] = items
            self.shell.custom_exceptions = ()
            for held, parts in self.parts:
                held.update({name: part for name, part in parts.items() if held.get(name) is not part})
            for name in vars(self.shell).keys() - self.of_shell:
                if hides_inherited(type(self.shell), name):
                    delattr(self.shell, name)
        if sys.getrecursionlimit() != self.recursion:
            sys.setrecursionlimit(self.recursion)
        missing = [entry for entry in self.path if entry not in sys.path]
        sys.path.extend(missing)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        try:
            os.chdir(self.work)
        except OSError:
            with contextlib.suppress(OSError):
                os.makedirs(self.work, exist_ok=True)
                os.chdir(self.work)
        for restore in _modes():
            with contextlib.suppress(Exception):
                restore()


def _modes() -> Iterable[Any]:
    """One small function per library mode, so that a broken one does not keep the others from being put back."""
    torch = sys.modules.get("torch")
    if torch is not None:
        yield lambda: _torch_stacks(torch)
        yield lambda: torch.set_default_dtype(torch.float32)
        yield lambda: torch.set_default_device(None)
        yield lambda: _torch_modes(torch)
        yield lambda: torch.set_num_threads(1) if torch.get_num_threads() != 1 else None
        yield lambda: torch.set_printoptions(profile="default")
        yield lambda: torch._C._set_deterministic_algorithms(False)  # the public name imports half of torch
        yield lambda: torch.set_float32_matmul_precision("highest")
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        yield lambda: numpy.seterr(divide="warn", over="warn", under="ignore", invalid="warn")


_ENTERED: list[Any] = []


def _torch_modes(torch: Any) -> None:
    if torch.is_inference_mode_enabled():
        mode = torch.inference_mode(False)
        mode.__enter__()
        _ENTERED.append(mode)  # it ends with the object
    if not torch.is_grad_enabled():
        torch.set_grad_enabled(True)
    if torch.is_anomaly_enabled():
        torch.autograd.set_detect_anomaly(False)
    for kind in ("cpu", "cuda"):
        if torch.is_autocast_enabled(kind):
            torch.set_autocast_enabled(kind, False)


def _torch_stacks(torch: Any) -> None:
    """Context managers that were entered and never left: function modes, dispatch modes, saved-tensor hooks."""
    for length, pop, *arguments in (
        ("_len_torch_function_stack", "_pop_torch_function_stack"),
        ("_len_torch_dispatch_stack", "_pop_torch_dispatch_stack", None),
    ):
        if hasattr(torch._C, length) and hasattr(torch._C, pop):
            while getattr(torch._C, length)():
                getattr(torch._C, pop)(*arguments)
    autograd = torch._C._autograd
    if hasattr(autograd, "_top_saved_tensors_default_hooks"):
        while autograd._top_saved_tensors_default_hooks(True) is not None:
            autograd._pop_saved_tensors_default_hooks()
