"""Every command that README names is run, so that a wrong one fails: in order, in a course of two chapters.

What `make` would do is printed, not done; servers are started, asked once, and stopped.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from http.cookiejar import CookieJar
from pathlib import Path

import pytest
import torch

from autograder.cli.main import main
from autograder.cli.terminal import FORMGRADER
from tests.mini_course import ROOT

PROGRAMS = {"autograder", "nbgrader", "jupyter", "make"}
CHAPTERS = ("00-start", "01-graph")
#: what a sentence leaves out where it names a command
LEFT_OUT = {
    "autograder compare": "grades.json grades.json",
    "autograder grade": "--submitted submitted",
    "autograder grade --device cuda": "--submitted submitted",
}
BIN = Path(sys.executable).parent
ENVIRONMENT = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}


def commands(text: str) -> list[str]:
    """The commands in code spans and code blocks, in order, each once."""
    pieces = []
    for block, span in re.findall(r"^```[a-z]*\n(.*?)^```|`([^`\n]+)`", text.replace("\\\n", " "), re.S | re.M):
        pieces += block.splitlines() if block else [span]
    found = []
    for piece in pieces:
        for command in re.split(r"&&|;", re.split(r"\s#", piece)[0]):
            words = command.split()
            if words and Path(words[0]).name in PROGRAMS and (len(words) > 1 or words == ["make"]):
                found.append(" ".join([Path(words[0]).name, *words[1:]]))
    return list(dict.fromkeys(found))


COMMANDS = commands((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A course of two real chapters, and what somebody downloaded."""
    root = tmp_path_factory.mktemp("readme")
    for file in ("nbgrader_config.py", "pyproject.toml", "Makefile", "constraints.txt"):
        shutil.copy(ROOT / file, root / file)
    (root / "source").mkdir()
    with zipfile.ZipFile(root / "download.zip", "w") as archive:
        for chapter in CHAPTERS:
            shutil.copy(ROOT / "source" / f"{chapter}.py", root / "source")
            shutil.copytree(ROOT / "notebooks" / chapter, root / "notebooks" / chapter)
            archive.write(root / "notebooks" / chapter / f"{chapter}.ipynb", f"ada/{chapter}.ipynb")
    return root


def run(root: Path, line: str) -> subprocess.CompletedProcess:
    return subprocess.run(["bash", "-c", line], cwd=root, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)


def fault_of(root: Path, command: str) -> str:
    """What is wrong with a command; empty where it works."""
    program, *words = shlex.split(command)
    if program == "make":
        return fault_of_target(root, command)
    if program == "jupyter":
        return serve(root, command)
    done = run(root, f"{command} {LEFT_OUT.get(command, '')}")
    said = done.stdout + done.stderr
    if "cuda" in words and not torch.cuda.is_available():
        return "" if done.returncode == 2 and "CUDA" in said else said
    if program == "nbgrader":  # it exits 0 over a command that it does not know, and over its own errors
        wrong = done.returncode or "List of subcommands" in said or "ERROR" in said
    else:
        wrong = done.returncode not in (0, 1)
    return said or "failed" if wrong or "Traceback" in said else ""


def fault_of_target(root: Path, command: str) -> str:
    """make knows the target, and the programs and commands in its recipe exist."""
    done = run(root, f"{command} -n" if command != "make" else command)
    if done.returncode:
        return done.stderr
    for name in re.findall(r"bin/autograder ([a-z]+)", done.stdout):
        if name not in main.commands:
            return f"there is no autograder {name}"
    for module in re.findall(r"-m ((?:tests|benchmarks)\.[\w.]+)", done.stdout):
        if importlib.util.find_spec(module) is None:
            return f"there is no {module}"
    servers = [line for line in done.stdout.splitlines() if "bin/jupyter lab" in line]
    return "".join(serve(root, line.replace(".venv/bin/", "")) for line in servers)


def serve(root: Path, line: str) -> str:
    """Start a server, ask it for its first page, stop it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = f"--no-browser --allow-root --port={port} --ServerApp.port_retries=0 --ServerApp.token=t"
    with (root / "server.log").open("w+") as log:
        server = subprocess.Popen(
            ["bash", "-c", f"exec env {line} {options}"],
            cwd=root, env=ENVIRONMENT, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        try:
            for _ in range(240):
                try:
                    with opener.open(f"http://127.0.0.1:{port}/?token=t", timeout=30) as answer:
                        where, body = answer.url, answer.read().decode()
                    right = ("/formgrader" in where and "Assignments" in body) if "formgrader" in line else body
                    return "" if right else f"{where} is another page"
                except urllib.error.HTTPError as error:
                    return f"{error.url}: {error}"
                except OSError:
                    if server.poll() is not None:
                        break
                    time.sleep(0.25)
            log.seek(0)
            return f"the server did not answer: {log.read()[-2000:]}"
        finally:
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                os.killpg(server.pid, signal.SIGTERM)
            server.wait(20)


def test_readme_names_commands():
    assert {Path(command.split()[0]).name for command in COMMANDS} == PROGRAMS
    assert FORMGRADER in COMMANDS  # the command line names the way that README gives


@pytest.mark.parametrize("kind", ["make", "the rest"])
def test_every_command_of_readme_works(root, kind):
    chosen = [command for command in COMMANDS if (command.split()[0] == "make") == (kind == "make")]
    faults = {command: said for command in chosen if (said := fault_of(root, command))}
    assert not faults, json.dumps(faults, indent=1)


@pytest.mark.parametrize(
    "wrong",
    ["nbgrader formgrader", "autograder reprot", "make frobnicate", "jupyter lab --LabApp.default_url=/formgradr",
     "nbgrader db assignment ad 01-graph", "autograder feedback --too 1"],
)  # fmt: skip
def test_a_wrong_command_is_noticed(root, wrong):
    assert fault_of(root, wrong)


def test_commands_are_found_in_spans_and_blocks():
    text = "`make` and `grade`:\n```sh\n. x\nautograder a && nbgrader b  # not c\n```\n`.venv/bin/autograder d`, `make`"
    assert commands(text) == ["make", "autograder a", "nbgrader b", "autograder d"]
