"""An IPython shell whose outputs are messages, equal to those of a Jupyter kernel."""

from __future__ import annotations

import asyncio
import base64
import builtins
import contextlib
import getpass
import os
import re
import signal
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from functools import partial
from typing import Any, cast

from IPython.core import page
from IPython.core.compilerop import CachingCompiler
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import StdinNotImplementedError
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Any as AnyTrait
from traitlets import CBool, Instance, Type
from traitlets.config import Config

from autograder.engine.inside.cells.streams import Desk, Stream
from autograder.engine.inside.snapshot import raw_input


def jsonable(value: Any) -> Any:
    """Rich display data as JSON: bytes in base64, keys as strings, whatever else JSON does not know as its repr."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    return repr(value)


class Hook(DisplayHook):
    """Publishes the value of a cell's last expression."""

    message: Any = None

    def start_displayhook(self) -> None:
        self.message = {"type": "execute_result", "data": {}, "metadata": {}}

    def write_output_prompt(self) -> None:
        self.message["execution_count"] = self.prompt_count

    def write_format_data(self, format_dict: dict[str, Any], md_dict: dict[str, Any] | None = None) -> None:
        self.message["data"] = jsonable(format_dict)
        self.message["metadata"] = jsonable(md_dict or {})

    def finish_displayhook(self) -> None:
        message, self.message = self.message, None
        if message and message["data"]:
            self.outer.publish(message)

    @property
    def outer(self) -> Shell:
        """The shell."""
        return cast(Shell, self.shell)


class Publisher(DisplayPublisher):
    """Publishes what `display` is given."""

    def publish(  # type: ignore[override]  # IPython's own takes less by name
        self, data: Any, metadata: Any = None, *, transient: Any = None, update: bool = False, **_: Any
    ) -> None:
        self._validate_data(data, metadata or {})
        self.shell.publish(
            {
                "type": "update_display_data" if update else "display_data",
                "data": jsonable(data),
                "metadata": jsonable(metadata or {}),
                "display_id": (transient or {}).get("display_id"),
            }
        )

    def clear_output(self, wait: bool = False) -> None:
        self.shell.publish({"type": "clear_output", "wait": bool(wait)})


class Compiler(CachingCompiler):
    """Names cells as a kernel does. IPython formats a traceback by the look of the file's name."""

    def get_code_name(self, raw_code: str, transformed_code: str, number: int) -> str:
        place = f"{tempfile.gettempdir()}/ipykernel_{os.getpid()}"
        return f"{place}/{zlib.crc32(raw_code.encode('utf-8', 'replace'))}.py"


class Transformer(TransformerManager):
    """IPython's, but it does not look at every line and token of a cell that is plain Python, as most are."""

    #: What a line that IPython changes needs: a help mark, a command, an escape at its start, a magic assigned; and line ends
    #: that Python does not count as such.
    _special = re.compile(r"[?\r\v\f\x1c-\x1e\x85\u2028\u2029]|!(?!=)|^\s*[%,;/]|=[\s\\]*%", re.MULTILINE)

    #: What it takes off: prompts, and blanks on a line or before the first one.
    _laid_out = re.compile(r">>>|\.\.\.|\bIn \[|^[ \t]+$|\A\s|\A\Z", re.MULTILINE)

    def __init__(self) -> None:
        super().__init__()
        self._own = self._lists()

    def _lists(self) -> list[list[Any]]:
        return [list(self.cleanup_transforms), list(self.line_transforms), list(self.token_transformers)]

    def transform_cell(self, cell: str) -> str:
        if self._laid_out.search(cell) or self._special.search(cell) or self._lists() != self._own:
            return super().transform_cell(cell)
        return cell if cell.endswith("\n") else cell + "\n"

    def do_token_transforms(self, lines: list[str]) -> list[str]:
        if self.token_transformers == self._own[-1] and not self._special.search("".join(lines)):
            return lines
        return cast(list[str], super().do_token_transforms(lines))


class Shell(InteractiveShell):
    """Runs cells as a kernel would, without a kernel's sockets and threads."""

    input_transformer_manager = Instance(Transformer, ())
    compiler_class = Type(Compiler)
    displayhook_class = Type(Hook)
    display_pub_class = Type(Publisher)
    autoindent = CBool(False)
    desk = AnyTrait()
    display_failed = False  # a kernel calls a cell whose value cannot be shown an error

    def publish(self, message: dict[str, Any]) -> None:
        """Send a message after whatever the streams still hold."""
        self.desk.flush()
        self.desk.post(message)

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
        if getattr(self.displayhook, "message", None) is not None:
            self.display_failed = True
        try:
            text = str(evalue)
        except Exception:
            text = "<unprintable>"
        self.publish({"type": "error", "ename": str(etype.__name__), "evalue": text, "traceback": list(stb)})

    def init_environment(self) -> None:
        os.environ.update(
            TERM="xterm-color", CLICOLOR="1", FORCE_COLOR="1", CLICOLOR_FORCE="1", PAGER="cat", GIT_PAGER="cat"
        )

    def system(self, cmd: str) -> None:
        """`!command`: what it writes goes to the cell's stdout. Without a terminal, unlike a kernel."""
        done = subprocess.run(
            self.var_expand(cmd, depth=1), shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        sys.stdout.write(done.stdout.decode("utf-8", "replace"))
        self.user_ns["_exit_code"] = done.returncode

    def init_hooks(self) -> None:
        super().init_hooks()
        self.set_hook(
            "show_in_pager", page.as_hook(lambda *_, **__: None), 99
        )  # `name?` opens a pane, which no output shows

    def enable_gui(self, gui: Any = None) -> None:
        """There is no other event loop to hook in."""

    def ask_exit(self) -> None:
        """`exit` in a leftover cell ends nothing: the cells after it count."""

    def init_virtualenv(self) -> None:
        """The parent runs in the right environment already."""


def build(ipython_dir: str) -> Shell:
    """The shell, before any fork: no history file, no thread."""
    config = Config()
    config.HistoryManager.enabled = False
    return Shell.instance(config=config, ipython_dir=ipython_dir)


def attach(shell: Shell, desk: Desk) -> None:
    """Give the shell its streams."""
    shell.desk = desk
    sys.stdout, sys.stderr = Stream(desk, "stdout", 1), Stream(desk, "stderr", 2)


def no_getpass(prompt: str = "", stream: Any = None, **_: Any) -> str:
    raise StdinNotImplementedError("getpass was called, but this frontend does not support input requests.")


@contextlib.contextmanager
def _cancel_on_interrupt(future: asyncio.Future[Any], loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """While it lasts SIGINT cancels the future: raised in an event loop, KeyboardInterrupt would end the loop."""
    before = signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(future.cancel))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def _execute(shell: Shell, code: str) -> bool:
    """As `run_cell` of IPython does, but transforms the cell once; a kernel does so twice."""
    shell.display_failed, result = False, None
    try:
        transformed, failure = shell.transform_cell(code), None
    except Exception:
        transformed, failure = code, sys.exc_info()
    prepared: Any = {"transformed_cell": transformed, "preprocessing_exc_tuple": failure}
    running = shell.run_cell_async(code, store_history=True, **prepared)
    try:
        # To tell costs a compilation, and no cell waits without one of these words.
        if ("await" in transformed or "async" in transformed) and shell.should_run_async(code, **prepared):
            future = asyncio.ensure_future(running)
            with _cancel_on_interrupt(future, asyncio.get_running_loop()):
                result = await future
        else:
            result = await running  # which never waits, so that a cell may start a loop of its own
    finally:
        shell.events.trigger("post_execute")
        shell.events.trigger("post_run_cell", result)
    return bool(result is not None and result.success and not shell.display_failed)


def run(shell: Shell, code: str, loop: asyncio.AbstractEventLoop) -> bool:
    """Run one cell inside the running loop, as a kernel does; returns whether it ended without an exception."""
    builtins.input, getpass.getpass = raw_input, no_getpass
    task = loop.create_task(_execute(shell, code))
    return bool(loop.run_until_complete(task))


def runner(shell: Shell) -> partial[bool]:
    """A function that runs cells in one event loop, so that tasks go on living between cells."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return partial(run, shell, loop=loop)
