"""Every attack costs its own exercise at most: honest work beside it counts, neighbours are untouched, time is bounded."""

from __future__ import annotations

import dataclasses
import getpass
import os
import socket
import subprocess
import sys
import textwrap
import time

import pytest

import autograder
from autograder.engine.api import Job
from autograder.engine.births.warm import WarmEngine
from autograder.engine.processes import descendants
from tests.engine.helpers import DOUBLES, EARLY, LIMIT, attack_job, cells, code_job, error, text

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the warm engine needs Linux")

#: attacks after which the run goes on: name -> answer cell of exercise "bad"
SURVIVED = {
    "endless loop": "while True: pass",
    "sleep": "import time\ntime.sleep(60)",
    "sys.exit": "import sys\nsys.exit(3)",
    "terabyte tensor": "import torch\ntorch.empty(2**40)",
    "builtins broken": "import builtins\nbuiltins.len = builtins.print = builtins.isinstance = None",
    "streams closed": "import sys, os\nsys.stdout = sys.stderr = None\nos.close(1); os.close(2)",
    "shell hooks": (
        "ip = get_ipython()\nip.input_transformers_cleanup.append(lambda lines: [])\n"
        "ip.input_transformers_post.append(lambda lines: ['1/0'])\n"
        "ip.set_custom_exc((Exception,), lambda *a: 1/0)\n"
        "ip.events.register('pre_run_cell', lambda info: 1/0)\nip.events.register('post_execute', lambda: 1/0)"
    ),
    "trace function": "import sys\ndef trace(*_):\n    raise ValueError\nsys.settrace(trace)\nsys.setprofile(trace)",
    "gc and atexit": "import gc, atexit, time\ngc.disable(); gc.set_threshold(0)\natexit.register(time.sleep, 60)",
    "seed functions": "import torch, random, numpy\ntorch.manual_seed = random.seed = numpy.random.seed = lambda *_: None",
    "modes left on": (
        "import torch\ntorch.set_default_dtype(torch.float64); torch.inference_mode().__enter__()\n"
        "torch.autograd.graph.saved_tensors_hooks(lambda t: 1/0, lambda t: t).__enter__()\ntorch.set_num_threads(8)"
    ),
    "recursion": "import sys\nsys.setrecursionlimit(60)",
    "signal handlers": "import signal\nfor s in (signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1): signal.signal(s, signal.SIG_IGN)",
    "reset": "%reset -f",
    "detached children": (
        "import os, time\nfor _ in range(3):\n    if os.fork() == 0:\n        os.setsid()\n"
        "        if os.fork() == 0:\n            time.sleep(600)\n        os._exit(0)"
    ),
    "fork that stays": "import os, time\nif os.fork() == 0:\n    time.sleep(600)",
    "fork that returns": "import os\npid = os.fork()\nprint('both')",
    "pipe holder": "import subprocess\nsubprocess.Popen(['sleep', '600'])",
    "work folder gone": "import os, shutil\nshutil.rmtree(os.getcwd(), ignore_errors=True)\nos.chdir('/')",
    "early observations": (
        "import gc\nfrom autograder.engine.inside.wire import Wire\n"
        "for w in [o for o in gc.get_objects() if isinstance(o, Wire)]:\n"
        "    w.send({'type': 'observation', 'id': 'check-good', 'label': 'doubles', 'value': 'forged'})"
    ),
}

#: Twice, because an interrupt that comes at the jump to a loop's start counts as one before the `try` around it.
SWALLOWS = """
while True:
    try:
        while True:
            try:
                while True: sum(range(99))
            except BaseException: pass
    except BaseException: pass
"""
#: attacks that end the run, so that it happens once more without them
KILLED = {
    "swallows everything": SWALLOWS,
    "SIGINT ignored": "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(60)",
    "os._exit": "import os\nos._exit(0)",
    "segfault": "import ctypes\nctypes.string_at(1)",
    "abort": "import os\nos.abort()",
    "memory bomb": "held = []\nwhile True:\n    held.append(bytearray(64_000_000))",
    "memory of children": (
        "import os, time\nfor _ in range(12):\n    if os.fork() == 0:\n        held = bytearray(b'x') * 300_000_000\n"
        "        time.sleep(60)\ntime.sleep(5)"
    ),
    "fork bomb": "import os, time\nwhile True:\n    try:\n        os.fork()\n    except BaseException:\n        pass",
    "thread bomb": (
        "import threading, time\nwhile True:\n    try:\n        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
        "    except RuntimeError:\n        break"
    ),
    "file bomb": (
        "n = 0\nwhile True:\n    with open(f'f{n}', 'wb') as f:\n        try:\n            f.write(bytes(8_000_000))\n"
        "            n += 1\n        except OSError:\n            break"
    ),
    "inode bomb": "n = 0\nwhile True:\n    try:\n        open(f'e{n}', 'w').close()\n        n += 1\n    except OSError:\n        break",
    "descriptor leak": "import os\nkept = []\nwhile True:\n    try:\n        kept.append(os.open('/dev/null', 0))\n    except OSError:\n        break",
    "garbage on the channel": (
        "import gc\nfrom autograder.engine.inside.wire import Wire\n"
        "for w in [o for o in gc.get_objects() if isinstance(o, Wire)]:\n    w.sock.sendall(b'\\x08\\x00\\x00\\x00not json')"
    ),
    "giant message": (
        "import gc\nfrom autograder.engine.inside.wire import Wire\n"
        "for w in [o for o in gc.get_objects() if isinstance(o, Wire)]:\n    w.sock.sendall(b'\\xff\\xff\\xff\\x7f')"
    ),
    "channel closed": (
        "import gc\nfrom autograder.engine.inside.wire import Wire\n"
        "for w in [o for o in gc.get_objects() if isinstance(o, Wire)]:\n    w.sock.close()"
    ),
}  # fmt: skip

#: those of them that only the time limit ends
ENDLESS = ("swallows everything", "SIGINT ignored", "fork bomb")

#: answers that are harmless until the check calls them; each costs its check, and nothing after it
IN_CHECK = {
    "loop": "def bad():\n    while True: pass",
    "loop that swallows": "def bad():\n" + textwrap.indent(SWALLOWS, "    "),
    "exit": "def bad():\n    import os\n    os._exit(0)",
    "raise SystemExit": "def bad():\n    raise SystemExit",
    "segfault": "def bad():\n    import ctypes\n    ctypes.string_at(1)",
    "terabyte answer": "def bad():\n    import torch\n    return torch.zeros(1).expand(2**40)",
    "deep nest": "def bad():\n    v = []\n    for _ in range(100_000): v = [v]\n    return v",
    "cycle": "def bad():\n    v = []\n    v.append(v)\n    return v",
    "huge integer": "def bad():\n    return 1 << 10_000_000",
    "half a surrogate": "def bad():\n    return '\\ud800'",
    "children": "def bad():\n    import os, time\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(600)\n    return 1",
    "kills its parent": "def bad():\n    import os, signal\n    os.kill(1, signal.SIGKILL)\n    os.kill(-1, signal.SIGKILL)\n    return 1",
    "writes files": "def bad():\n    open('left', 'w').write('x')\n    open('/tmp/left', 'w').write('x')\n    return 1",
}  # fmt: skip


@pytest.fixture(scope="module")
def runs(warm: WarmEngine) -> dict[str, tuple]:
    """All attacks in one run of the engine, an honest neighbour beside each."""
    jobs = []
    for group, attacks in (("survived", SURVIVED), ("killed", KILLED), ("check", IN_CHECK)):
        for name, source in attacks.items():
            limit = LIMIT if group != "killed" or name in ENDLESS else 10.0
            jobs += [
                attack_job(f"{group}: {name}", source, limit=limit),
                attack_job(f"neighbour of {group}: {name}", "def bad():\n    return 5"),
            ]
    start = time.monotonic()
    done = {run.key: run for run in warm.run(jobs)}
    return {"runs": done, "jobs": len(jobs), "seconds": time.monotonic() - start}


def test_every_job_comes_back(runs: dict) -> None:
    assert len(runs["runs"]) == runs["jobs"]


@pytest.mark.parametrize("name", SURVIVED)
def test_a_run_goes_on_after(runs: dict, name: str) -> None:
    run = runs["runs"][f"survived: {name}"]
    got = cells(run)
    assert got["check-early"].observed == EARLY
    assert got["check-good"].observed == DOUBLES, run
    assert not got["bad"].killed
    assert run.seconds < 15


@pytest.mark.parametrize("name", ["endless loop", "sleep"])
def test_what_can_be_interrupted_is(runs: dict, name: str) -> None:
    bad = cells(runs["runs"][f"survived: {name}"])["bad"]
    assert bad.status == "timed-out" and "KeyboardInterrupt" in error(bad)


@pytest.mark.parametrize("name", KILLED)
def test_a_run_happens_once_more_without(runs: dict, name: str) -> None:
    run = runs["runs"][f"killed: {name}"]
    got = cells(run)
    assert got["bad"].killed and got["bad"].status in ("died", "timed-out"), run
    assert got["check-bad"].status == "not-run" and not got["check-bad"].observations
    assert got["check-early"].observed == EARLY
    assert got["check-good"].observed == DOUBLES, run
    assert any("without exercise bad" in note for note in run.notes)
    assert run.seconds < 20


@pytest.mark.parametrize("name", IN_CHECK)
def test_a_check_costs_its_exercise_only(runs: dict, name: str) -> None:
    run = runs["runs"][f"check: {name}"]
    got = cells(run)
    assert got["check-early"].observed == EARLY
    assert got["check-good"].observed == DOUBLES, run
    assert got["bad"].status == "ran"
    assert run.seconds < 20


def test_a_check_that_loops_is_a_timeout(runs: dict) -> None:
    got = cells(runs["runs"]["check: loop that swallows"])["check-bad"]
    assert got.killed and got.status == "timed-out"
    assert cells(runs["runs"]["check: exit"])["check-bad"].killed


def test_neighbours_are_untouched(runs: dict) -> None:
    neighbours = [run for key, run in runs["runs"].items() if key.startswith("neighbour")]
    assert neighbours
    for run in neighbours:
        got = cells(run)
        assert [got[f"check-{name}"].observed for name in ("early", "bad", "good")] == [
            EARLY, {"bad": 5, "bad again": 5}, DOUBLES,
        ], run  # fmt: skip
        assert not run.notes and all(cell.status == "ran" for cell in run.cells), run


def test_nothing_is_left_of_them(runs: dict, warm: WarmEngine) -> None:
    """Of ours only the parent remains, and the process that waits for it."""
    until = time.monotonic() + 5
    while len(left := descendants(warm._parent.process.pid)) > 1 and time.monotonic() < until:
        time.sleep(0.05)
    assert len(left) == 1
    assert len(os.listdir("/proc/self/fd")) < 100


def test_a_killed_grader_leaves_nothing() -> None:
    program = (
        "from autograder.engine import open_engine\nfrom autograder.engine.api import Cell, Job\n"
        "with open_engine('warm', 'auto', 2) as engine:\n"
        "    jobs = [Job('a', (Cell('c', 'import time\\nprint(1)\\ntime.sleep(60)', limit=90.0),)) for _ in range(4)]\n"
        "    print(engine._parent.process.pid, engine._parent.scratch, flush=True)\n    list(engine.run(jobs))"
    )
    grader = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert grader.stdout is not None
    pid, scratch = grader.stdout.readline().split()
    parent = int(pid)
    until = time.monotonic() + 40
    while len(descendants(parent)) < 3 and time.monotonic() < until:  # its init and two notebooks
        time.sleep(0.05)
    started = [parent, *descendants(parent)]
    grader.kill()
    grader.wait()
    grader.stdout.close()
    while any(map(_alive, started)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not os.path.exists(scratch)
    assert len(started) >= 4 and not [pid for pid in started if _alive(pid)]


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


# ------------------------------------------------------------------------------------------------ what can be seen

ROOT = os.path.dirname(os.path.dirname(autograder.__file__))
CANARY = "canary-" + "3f9d61"


@pytest.fixture(scope="module")
def seen(warm: WarmEngine, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a cell finds when it looks for what is not its own."""
    secret = tmp_path_factory.mktemp("secret") / "hidden.py"
    secret.write_text(CANARY)
    os.environ["AUTOGRADER_CANARY"] = CANARY
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0autograder-test")
    abstract.listen()
    path = tmp_path_factory.mktemp("unix") / "socket"
    local = socket.socket(socket.AF_UNIX)
    local.bind(str(path))
    local.listen()
    here = os.path.dirname(os.path.abspath(__file__))
    source = _LOOK.format(
        secret=str(secret), port=server.getsockname()[1], local=str(path), tests=here, root=os.path.dirname(os.path.dirname(here)),
        home=os.path.expanduser("~"), pid=os.getpid(),
    )  # fmt: skip
    (run,) = warm.run([code_job(source)])
    for one in (server, abstract, local):
        one.close()
    assert run.cells[0].status == "ran", run
    return text(run.cells[0])


_LOOK = """
import os, socket, glob, ctypes, errno
def attempt(what, do):
    try:
        print(what, '->', 'OPEN', do())
    except BaseException as e:
        print(what, '->', type(e).__name__)
attempt('secret', lambda: open({secret!r}).read())
attempt('tests', lambda: os.listdir({tests!r}))
attempt('source', lambda: os.listdir({root!r} + '/source'))
attempt('grading', lambda: open({root!r} + '/autograder/grading/judge.py').read(10))
attempt('git', lambda: os.listdir({root!r} + '/.git'))
attempt('ssh', lambda: os.listdir({home!r} + '/.ssh'))
attempt('shadow', lambda: open('/etc/shadow').read())
print('home', sorted(set(os.listdir({home!r})) - {{'.pyenv', '.venv', '.local'}}) if os.path.isdir({home!r}) else [])
print('environment', [k for k, v in os.environ.items() if 'CANARY' in k or {pid} == 0])
pids = [int(p) for p in os.listdir('/proc') if p.isdigit()]
print('processes', pids)
print('cmdline', [open(f'/proc/{{p}}/cmdline').read() for p in pids if p != os.getpid()])
attempt('parent', lambda: os.kill(os.getppid() or {pid}, 0))
attempt('grader', lambda: os.kill({pid}, 0))
attempt('tcp', lambda: socket.create_connection(('127.0.0.1', {port}), 2))
attempt('internet', lambda: socket.create_connection(('1.1.1.1', 53), 2))
attempt('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('1.1.1.1', 53)))
attempt('dns', lambda: socket.getaddrinfo('example.org', 80))
def unix(name):
    s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect(name)
attempt('abstract', lambda: unix('\\0autograder-test'))
attempt('unix', lambda: unix({local!r}))
attempt('vsock', lambda: socket.socket(40, socket.SOCK_STREAM))
attempt('terminal', lambda: os.open('/dev/tty', os.O_RDWR))
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    if libc.syscall(*args) < 0:
        raise OSError(ctypes.get_errno(), 'refused')
import platform
x86 = platform.machine() == 'x86_64'
attempt('unshare user', lambda: call(272 if x86 else 97, 0x10000000))
attempt('unshare mount', lambda: call(272 if x86 else 97, 0x20000))
attempt('ptrace', lambda: call(101 if x86 else 117, 16, 1, 0, 0))
attempt('memfd', lambda: os.memfd_create('hoard'))
attempt('mount', lambda: call(165 if x86 else 40, b'none', b'/learner', b'tmpfs', 0, 0))
attempt('process_vm_readv', lambda: call(310 if x86 else 270, 1, 0, 0, 0, 0, 0))
attempt('memory of pid 1', lambda: open('/proc/1/mem', 'rb'))
attempt('setuid', lambda: os.setuid(0))
attempt('wide socket buffer', lambda: socket.socketpair()[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22))
attempt('wide receive buffer', lambda: socket.socketpair()[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22))
attempt('other socket option', lambda: socket.socketpair()[0].setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1) or 1 / 0)
attempt('key', lambda: call(248 if x86 else 217, b'user', b'a', b'b', 1, -2))
attempt('io_uring', lambda: call(425, 8, ctypes.create_string_buffer(200)))
attempt('perf', lambda: call(298 if x86 else 241, ctypes.create_string_buffer(128), 0, -1, -1, 0))
attempt('bpf', lambda: call(321 if x86 else 280, 0, ctypes.create_string_buffer(128), 128))
attempt('userfaultfd', lambda: call(323 if x86 else 282, 0))
attempt('setns', lambda: call(308 if x86 else 268, os.open('/proc/self/ns/net', 0), 0))
attempt('oom score', lambda: open('/proc/self/oom_score_adj', 'w').write('-1000'))
attempt('priority', lambda: os.setpriority(os.PRIO_PROCESS, 0, -20))
attempt('limits', lambda: __import__('resource').setrlimit(7, (10**6, 10**6)))
attempt('clone new user', lambda: call(56 if x86 else 220, 0x10000000 | 17, 0, 0, 0, 0))
writable = []
for folder, names, files in os.walk('/'):
    if folder.startswith(('/proc', '/sys')):
        names[:] = []
        continue
    if os.access(folder, os.W_OK):
        writable.append(folder)
print('writable', writable)
for name in ('/x', '/usr/x', '/etc/passwd', '/etc/x', '/proc/sys/kernel/hostname', '/dev/x'):
    attempt('write ' + name, lambda: open(name, 'w'))
attempt('write prefix', lambda: open(os.path.dirname(os.__file__) + '/x', 'w'))
attempt('write package', lambda: open(__import__('autograder').__file__, 'a'))
print('uid', os.getuid(), 'caps', [l.split()[1] for l in open('/proc/self/status') if l.startswith('Cap')])
print('top', os.listdir('/'))
here = os.path.dirname(__import__('autograder').__file__)
print('package', [(name, sorted(os.listdir(os.path.join(here, name)))) for name in ('', 'engine')])
print('path', __import__('sys').path)
print('names', *(os.path.basename(v).replace('_', ' ') for v in os.environ.values()))
print('devices', sorted(os.listdir('/dev')))
print('descriptors', len(os.listdir('/proc/self/fd')))
"""


def test_nothing_of_the_machine_is_open(seen: str) -> None:
    # UDP has no handshake: it is refused as there is no route.
    assert "OPEN" not in seen, seen
    assert "other socket option -> ZeroDivisionError" in seen


def test_nothing_of_the_grader_is_visible(seen: str) -> None:
    here = autograder.__file__
    lines = dict(line.split(" ", 1) for line in seen.splitlines() if " " in line)
    assert CANARY not in seen
    assert lines["home"] == "[]" and lines["environment"] == "[]"
    assert lines["processes"] == "[1]" and lines["cmdline"] == "[]"
    assert set(
        eval(lines["writable"])  # the order of a folder's entries is the file system's
    ) == {"/learner/work", "/learner/tmp", "/learner/shm"}
    assert lines["uid"].startswith("1000 caps ['0000000000000000'") and "1'" not in lines["uid"].split("caps")[1]
    tops = set(eval(lines["top"]))
    ours = {os.path.realpath(path).split("/")[1] for path in (sys.prefix, sys.base_prefix, os.path.dirname(here))}
    ours |= {path.split("/")[1] for path in (sys.prefix, sys.base_prefix)}
    system = {"usr", "lib", "lib32", "lib64", "bin", "sbin", "nix", "etc", "dev", "proc", "tmp", "learner"}
    assert tops <= system | ours
    package = dict(eval(lines["package"]))
    assert set(package[""]) == {"__init__.py", "checks", "lab", "engine"}
    assert set(package["engine"]) == {"__init__.py", "api.py", "inside"}
    assert set(eval(lines["path"])) <= {"", *sys.path} and ROOT not in eval(lines["path"])
    assert not any(word in lines["names"].split() for word in (getpass.getuser(), "source", "submitted"))
    assert set(eval(lines["devices"])) <= {"null", "zero", "full", "random", "urandom", "shm", "fd"}


_SCAN = """
import ctypes, re
needle = re.compile(b'canar[y]-in-chec[k]')
def scan():
    hits = 0
    for line in open('/proc/self/maps'):
        m = re.match(r'([0-9a-f]+)-([0-9a-f]+) rw', line)
        if m and '[v' not in line:
            start, end = int(m[1], 16), int(m[2], 16)
            hits += len(needle.findall(ctypes.string_at(start, end - start)))
    return hits
print('hits', scan())
"""


def test_memory_holds_nothing_of_check_cells(warm: WarmEngine) -> None:
    """Neither the check cell that ran, nor the one to come, nor the grader's own strings are in the run's memory."""
    from autograder.engine.api import Cell, Job

    token = "canary" + "-in-" + "check"
    program = f"hidden = '{token}'\ncheck('a', lambda: len(hidden))"
    check = Cell("check", program, "check", "e", 10.0, program.replace("'a'", "'c'"))
    later = Cell("later", program.replace("'a'", "'b'"), "check", "f", 10.0)
    scan = Cell("scan", _SCAN, "student", None, 20.0)
    (run,) = warm.run([Job("memory", (check, scan, later), seed=1)])
    got = cells(run)
    assert got["check"].observed == {"a": 15, "c": 15} and got["later"].observations == {"b": 15}
    assert text(got["scan"]) == "hits 0\n", run


def test_the_scan_would_find_it(warm: WarmEngine) -> None:
    (run,) = warm.run([code_job("kept = ['canary', '-in-', 'check']\nkept = ''.join(kept)", _SCAN)])
    assert text(run.cells[1]) != "hits 0\n"


# ------------------------------------------------------------------------------------------------ what is shown

#: ways to bring what a hidden part holds to what students see: (answer cell, what the check calls, the cell after it)
SMUGGLERS = {
    "shared memory": (
        "import mmap\nroom = mmap.mmap(-1, 4096)",
        "def bad(v):\n    room[:len(v)] = v.encode()\n    return 5",
        "print(room[:20].strip(b'\\0').decode())",
    ),
    "the channel in the check": (
        "import gc\nfrom autograder.engine.inside.wire import Wire",
        "def bad(v):\n    for w in [o for o in gc.get_objects() if isinstance(o, Wire)]:\n"
        "        w.send({'type': 'stream', 'name': 'stdout', 'text': v})\n    return 5",
        "print('fine')",
    ),
    "update of an earlier display": (
        "import gc\nfrom IPython.display import display\nfrom autograder.engine.inside.wire import Wire\n"
        "display('shown early', display_id='one')",
        "def bad(v):\n    for w in [o for o in gc.get_objects() if isinstance(o, Wire)]:\n"
        "        w.send({'type': 'update_display_data', 'display_id': 'one', 'data': {'text/plain': v}, 'metadata': {}})\n"
        "    return 5",
        "display('later', display_id='one')",
    ),
    "the orders themselves": (
        # The answer plays the session: it says that its cell is done, reads what comes, and shows it in the cell after.
        "import gc\nfrom autograder.engine.inside.wire import Wire\n"
        "w = next(o for o in gc.get_objects() if isinstance(o, Wire))\nseen = []",
        "w.send({'type': 'done', 'id': 'bad', 'status': 'ran', 'cut': 0})\n"
        "while True:\n    order = w.receive()\n    seen.append(repr(order))\n"
        "    if 'type' not in order:\n"
        "        w.send({'type': 'done', 'id': 'check', 'status': 'ran', 'cut': 0})\n"
        "    if order.get('id') == 'after':\n"
        "        w.send({'type': 'stream', 'name': 'stdout', 'text': ''.join(seen)})\n"
        "        w.send({'type': 'done', 'id': 'after', 'status': 'ran', 'cut': 0})\n        break",
        "print('fine')",
    ),
    "what an earlier check was called with": (
        "import mmap\nroom = mmap.mmap(-1, 4096)",
        "def bad(v):\n    old = bytes(room[:20])\n    room[:len(v)] = v.encode()\n    return old.strip(b'\\0').decode()",
        "print(bytes(room[:20]))",
    ),
    "the observation of a visible check, late": (
        "import gc\nfrom autograder.engine.inside.wire import Wire\ncalls = []",
        "def bad(v):\n    for w in [o for o in gc.get_objects() if isinstance(o, Wire)]:\n"
        "        for i in 'check', 'last':\n            for l in 'a', 'c':\n"
        "                w.send({'type': 'observation', 'id': i, 'label': l, 'value': v})\n    return 5",
        "print('fine')",
    ),
    "a frame": (
        "import sys",
        "def bad(v):\n    f = sys._getframe()\n    while f.f_back: f = f.f_back\n    return [repr(f.f_code.co_consts), repr(f.f_globals)]",
        "print('fine')",
    ),
    "the word for what is used up": (
        "import gc\nfrom autograder.engine.inside.wire import Wire",
        "def bad(v):\n    for w in [o for o in gc.get_objects() if isinstance(o, Wire)]:\n"
        "        w.send({'type': 'done', 'id': 'check', 'status': 'ran', 'cut': 0, 'exhausted': v})\n    return 5",
        "print('fine')",
    ),
}


@pytest.mark.parametrize("name", SMUGGLERS)
def test_nothing_that_students_see_holds_a_word_of_a_hidden_part(warm: WarmEngine, name: str) -> None:
    from autograder.engine.api import Cell, Job

    token = "hidden" + "-input"
    before, answer, after = SMUGGLERS[name]
    made = (
        Cell("first", "print('early')\n" + before, "student", None, 5.0),
        Cell("bad", answer, "answer", "bad", 2.0),
        Cell("check", "check('a', lambda: bad('fine'))", "check", "bad", 5.0, f"check('b', lambda: bad('{token}'))"),
        Cell("after", after, "student", None, 5.0),
        Cell("last", "check('c', lambda: bad('fine'))", "check", "last", 5.0, f"check('d', lambda: bad('{token}'))"),
    )
    (run,) = warm.run([Job("smuggler", made, seed=1)])
    shown = [(cell.outputs, cell.status, cell.observations) for cell in run.cells]
    assert token not in repr([*shown, run.notes]), run
    got = cells(run)
    assert text(got["first"]) == "early\n"
    assert not got["check"].outputs


_BEACON = """
import ctypes, fcntl, os, struct, time
shared = os.open("/usr/bin/env", os.O_RDONLY)
lock = struct.pack("hhqqi4x", {kind}, 0, 5, 1, 0)
"""


def test_runs_cannot_tell_each_other_by_files_that_all_of_them_see(warm: WarmEngine) -> None:
    """Locks on a library, and watches on its folder, would reach over the wall."""
    lock = (
        _BEACON.format(kind="fcntl.F_RDLCK")
        + "fcntl.fcntl(shared, fcntl.F_SETLK, lock)\nfcntl.flock(shared, fcntl.LOCK_SH)\n"
    )
    hold = lock + "os.listdir('/usr/bin')\ntime.sleep(1.5)\nprint('held')"
    look = _BEACON.format(kind="fcntl.F_WRLCK") + (
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "watch = libc.inotify_add_watch(libc.inotify_init(), b'/usr/bin', 0x20)\nseen = set()\nend = time.monotonic() + 1\n"
        "while time.monotonic() < end:\n    seen.add(struct.unpack('hhqqi4x', fcntl.fcntl(shared, fcntl.F_GETLK, lock))[0])\n"
        "print(watch, seen == {fcntl.F_UNLCK})"
    )
    jobs = [code_job(hold, key="hold"), code_job(look, key="look")]
    runs = {run.key: run for run in warm.run(jobs)}
    assert text(runs["hold"].cells[0]) == "held\n", runs
    assert text(runs["look"].cells[0]) == "-1 True\n", runs


@pytest.mark.parametrize("what", ["os._exit(0)", "ctypes.PyDLL(None).sleep(1000)"])
def test_what_an_answer_leaves_running_costs_nobody_else(warm: WarmEngine, what: str) -> None:
    later = (
        f"import ctypes, os, threading\nthreading.Thread(target=lambda: (threading.Event().wait(0.4), {what}), daemon=True).start()\n"
        "def bad(): return 5"
    )
    job = attack_job("later", later)
    good = dataclasses.replace(job.cells[-2], source="import time\ntime.sleep(0.8)\n" + job.cells[-2].source)
    (run,) = warm.run([dataclasses.replace(job, cells=(*job.cells[:-2], good, job.cells[-1]))])
    got = cells(run)
    assert got["check-early"].observed == EARLY and got["check-good"].observed == DOUBLES, run
    assert not got["check-good"].killed and not got["good"].killed


#: what a later cell does to the copies that wait for their hidden part
WAKERS = {
    "ends them": "import os, signal\nos.kill(-1, signal.SIGKILL)",
    "wakes them": "import os, signal\nos.kill(-1, signal.SIGCONT)",
    "ends them in a check": "def bad():\n    import os, signal\n    os.kill(-1, signal.SIGKILL)\n    return 1",
    "asks what became of them": "import os\nwhile True:\n    try:\n        os.waitpid(-1, os.WNOHANG | os.WUNTRACED)\n    except OSError:\n        pass\n    break",
    "stops itself": "def bad():\n    import os, signal\n    os.kill(os.getpid(), signal.SIGSTOP)\n    return 1",
    "stops them all": "def bad():\n    import os, signal\n    os.kill(-1, signal.SIGSTOP)\n    return 1",
}  # fmt: skip


@pytest.mark.parametrize("name", WAKERS)
def test_copies_that_wait_cost_nobody_else(warm: WarmEngine, name: str) -> None:
    (run,) = warm.run([attack_job(name, WAKERS[name])])
    got = cells(run)
    assert got["check-early"].observed == EARLY, run
    assert got["check-good"].observed == DOUBLES, run
    assert run.seconds < 20


def test_honest_outputs_after_a_check_are_shown(warm: WarmEngine) -> None:
    from autograder.engine.api import Cell, Job

    sources = (
        "import torch\nhandle = display('before', display_id=True)",
        "print(torch.rand(1).item())\nhandle.update('after')",
    )
    made = [Cell(f"c{n}", source, "student", None, 5.0) for n, source in enumerate(sources)]
    check = Cell("check", "check('a', lambda: 1)", "check", "e", 5.0)
    runs = {
        run.key: run for run in warm.run([Job("with", (made[0], check, made[1]), 1), Job("without", tuple(made), 1)])
    }
    for cell in ("c0", "c1"):
        assert cells(runs["with"])[cell].outputs == cells(runs["without"])[cell].outputs != []
    assert cells(runs["with"])["check"].observations == {"a": 1}


def test_an_output_that_is_too_large_is_cut(warm: WarmEngine) -> None:
    (run,) = warm.run(
        [code_job("from IPython.display import HTML, display\ndisplay(HTML('x' * 20_000_000))\nprint('next')")]
    )
    assert run.cells[0].status == "ran" and "next" in text(run.cells[0]) and not run.notes
    assert "characters of output were cut" in text(run.cells[0])


#: what the last check of a notebook may meet, which runs in no copy
LAST = {
    "exits": "import os\ndef bad(): os._exit(0)",
    "crashes": "import ctypes\ndef bad(): ctypes.string_at(0)",
    "never ends": "def bad():\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass",
    "takes the memory": "def bad():\n    held = []\n    while True: held.append(bytearray(2**26))",
    "ends what waits": "import os, signal\ndef bad():\n    os.kill(-1, signal.SIGKILL)\n    return 1",
    "cannot be interrupted": "def bad(): return sum(range(10**12))",
    "replaces what runs the hidden parts": (
        "def bad():\n    import time, autograder.engine.inside.session as s\n"
        "    def hang(self, order):\n        while True:\n            try: time.sleep(100)\n            except BaseException: pass\n"
        "    s.Session._hidden = hang\n    return 1"
    ),
}  # fmt: skip


def last(job: Job) -> Job:
    """The job with the attack in its last exercise."""
    return dataclasses.replace(job, cells=(*job.cells[:-4], *job.cells[-2:], *job.cells[-4:-2]))


@pytest.mark.parametrize("name", LAST)
def test_the_last_check_costs_its_own_exercise_only(warm: WarmEngine, name: str) -> None:
    (run,) = warm.run([last(attack_job(name, LAST[name]))])
    got = cells(run)
    assert got["check-early"].observed == EARLY and got["check-good"].observed == DOUBLES, run
    assert got["early"].status == got["good"].status == "ran", run
    assert run.seconds < 25


def test_what_the_last_check_found_is_there_in_its_hidden_part(warm: WarmEngine) -> None:
    """Also a file that is too large to be written back, though other hidden parts go on among files of their own."""
    answer = (
        "import os, subprocess\nPLACE = os.path.abspath('large.bin')\nopen(PLACE, 'wb').write(b'1' * 20_000_000)\n"
        "def bad():\n    os.chdir('/')\n    subprocess.run(['true'], check=True)\n    return os.path.getsize(PLACE)"
    )
    (run,) = warm.run([last(attack_job("found", answer, limit=5.0))])
    got = cells(run)
    assert got["check-bad"].observed == {"bad": 20_000_000, "bad again": 20_000_000}, run
    assert got["check-early"].observed == EARLY and got["check-good"].observed == DOUBLES, run
