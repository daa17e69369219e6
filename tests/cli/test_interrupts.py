"""Ctrl-C: before there is anything to lose, in the middle of work, in what must be whole, in the clean-up, at the end."""

import os
import signal
import subprocess
import sys
import time

import pytest

from autograder.interrupts import STOPPED

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="sends signals"),
    pytest.mark.usefixtures("signals_as_in_a_terminal"),
]

BEGIN = """
import os, signal, sys, time
from autograder import interrupts
from autograder.interrupts import listen, whole, working

def press():
    os.kill(os.getpid(), signal.SIGINT)

def say(word):
    print(word, end=" ", flush=True)

listen()
"""


def run(body, **options):
    line = [sys.executable, "-c", BEGIN + body]
    done = subprocess.run(line, capture_output=True, text=True, timeout=30, check=False, **options)
    return done.returncode, done.stdout.split(), done.stderr


def test_at_the_start_the_program_ends_at_once_with_a_sentence():
    assert run("say('a'); press(); say('b')") == (130, ["a"], STOPPED + "\n")


def test_inside_a_command_it_raises_and_the_end_is_not_disturbed():
    code, said, errors = run("""
try:
    with working():
        say('a'); press(); say('b')
except KeyboardInterrupt:
    press(); say('c')
press(); say('d')
""")
    assert (code, said, errors) == (0, ["a", "c", "d"], "")


def test_a_block_that_must_be_whole_is_finished_first():
    code, said, errors = run("""
try:
    with working():
        with whole():
            with whole():
                press(); say('a')
            say('b'); press(); say('c')
        say('d')
except KeyboardInterrupt:
    say('e')
""")
    assert (code, said, errors) == (0, ["a", "b", "c", "e"], "")


def test_an_error_in_such_a_block_is_not_lost_without_ctrl_c():
    code, _, errors = run("""
with working(), whole():
    raise ValueError('mine')
""")
    assert code == 1 and "ValueError: mine" in errors


def test_a_second_press_does_not_disturb_the_clean_up_but_a_much_later_one_does():
    code, said, errors = run("""
interrupts.PATIENCE = 0.3
try:
    with working():
        try:
            press()
        finally:
            press(); say('clean')
            time.sleep(0.4)
            press(); say('stuck')
except KeyboardInterrupt:
    say('out')
""")
    assert (code, said, errors) == (0, ["clean", "out"], "")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_the_interpreter_s_own_end_is_not_disturbed(name):
    """It puts the defaults back, which kill, and then still takes its time."""
    code, said, errors = run(f"""
class Late:
    def __del__(self, kill=os.kill, pid=os.getpid(), number=signal.{name}, write=os.write):
        kill(pid, number)
        write(1, b"late")
with working():
    sys.late = Late()  # goes with the module sys, the last of all
""")
    assert (code, said, errors) == (0, ["late"], "")


def test_other_threads_are_not_interrupted():
    code, said, errors = run("""
import threading
def other():
    with whole():
        press(); say('other')
try:
    with working():
        thread = threading.Thread(target=other)
        thread.start(); time.sleep(10)
except KeyboardInterrupt:
    thread.join(); say('main')
""")
    assert (code, said, errors) == (0, ["other", "main"], "")


def test_a_program_that_was_told_to_ignore_it_goes_on():
    ignore = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    assert run("press(); say('a')", **ignore) == (0, ["a"], "")


def test_a_program_that_never_listens_is_as_it_was():
    before = signal.getsignal(signal.SIGINT)
    from autograder import cli  # noqa: F401

    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("imported", ["autograder.interrupts", "click", "rich.console"])
def test_the_command_is_stopped_while_it_imports(imported):
    line = [sys.executable, "-X", "importtime", "-m", "autograder", "doctor"]  # names what it has imported
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while (shown := process.stderr.readline()) and shown.split("|")[-1].strip() != imported:
        pass
    time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and errors.endswith(STOPPED + "\n") and "Traceback" not in errors


def test_a_press_while_python_ends_does_not_kill():
    code, said, errors = run("""
class Late:
    def __del__(self):  # in the very end, when Python has put its signals back
        os_kill(pid, 2)

import builtins
os_kill, pid = os.kill, os.getpid()
with working():
    say('a')
builtins.late = Late()
""")
    assert (code, said, errors) == (0, ["a"], "")
