"""Which engine and which wall, and what is said about it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from autograder.engine import EngineUnavailable, describe_machine, open_engine
from autograder.engine.inside.wall import root
from tests.engine.helpers import code_job, text

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("choice", [{"engine": "cold"}, {"sandbox": "maybe"}, {"jobs": 0}, {"device": "tpu"}])
def test_a_choice_that_does_not_exist_is_refused(choice: dict) -> None:
    with pytest.raises(ValueError, match="must be"):
        open_engine(**choice)


@pytest.mark.skipif(sys.platform != "linux", reason="the warm engine needs Linux")
def test_without_a_sandbox_the_warm_engine_says_so() -> None:
    with open_engine("warm", "off", 1) as engine:
        assert (engine.name, engine.sandbox) == ("warm", "none")
        assert "none (you asked for none)" in engine.describe()
        bomb = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(611)\n    os._exit(0)"
        runs = list(engine.run([code_job("print('bare')"), code_job(bomb)]))
        assert {run.sandbox for run in runs} == {"none"} and any(text(run.cells[0]) == "bare\n" for run in runs)
        assert not _sleepers()


def _sleepers() -> list[int]:
    """Processes that detached from an engine of this process. Others, run beside us, are told apart by their command line."""
    zygotes: dict[int, tuple[bytes, int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            line = (path / "cmdline").read_bytes()
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if b"inside.births.zygote" in line:
            zygotes[int(path.name)] = (line, parent)
    ours = {line for line, parent in zygotes.values() if parent == os.getpid()}
    assert ours
    return [pid for pid, (line, parent) in zygotes.items() if parent == 1 and line in ours]


_REFUSED = """
    from autograder.engine.inside.wall import seccomp, syscalls
    from autograder.engine import EngineUnavailable, describe_machine, open_engine
    from autograder.engine.api import Cell, Job
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.shut()  # refuses namespaces and mounts, as a container would
    try:
        open_engine("auto", "require")
    except EngineUnavailable as error:
        print("require:", error)
    try:
        open_engine("warm", "require")
    except EngineUnavailable as error:
        print("require warm:", error)
    with open_engine("warm", "auto", 1) as engine:
        print("warm:", engine.sandbox, engine.describe())
        (run,) = engine.run([Job("a", (Cell("c", "print('ran')"),))])
        print("warm run:", run.sandbox, run.cells[0].outputs)
    with open_engine("auto", "auto", 1) as engine:
        print("auto:", engine.name, engine.sandbox, engine.describe())
        (run,) = engine.run([Job("a", (Cell("c", "print('ran')"),))])
        print("auto run:", run.engine, run.sandbox, run.cells[0].outputs)
    print("doctor:", [(f.name, f.available) for f in describe_machine() if f.name in ("namespaces", "bubblewrap")])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
def test_where_namespaces_are_refused_the_fallback_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_REFUSED)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    lines = dict(line.split(":", 1) for line in done.stdout.splitlines() if ":" in line)
    assert done.returncode == 0, done.stderr
    assert "No sandbox can be had here" in lines["require"]
    assert "Operation not permitted" in lines["require warm"]
    assert lines["warm"].startswith(" none") and "do whatever you can do" in lines["warm"]
    assert "'ran\\n'" in lines["warm run"]
    assert lines["auto"].startswith(" kernel none")
    assert lines["auto run"].startswith(" kernel none") and "'ran\\n'" in lines["auto run"]
    assert lines["doctor"] == " [('namespaces', False), ('bubblewrap', False)]"


_ORDINARY = """
    import os
    from autograder.engine import open_engine
    from autograder.engine.api import Cell, Job
    look = "import os\\nprint(os.getuid(), [p for p in os.listdir('/proc') if p.isdigit()], os.access('/usr', os.W_OK), len(open('/proc/self/uid_map').read().split()))"
    bomb = "import os\\nwhile True:\\n    try:\\n        os.fork()\\n    except OSError:\\n        break"
    with open_engine("warm", "require", 2) as engine:
        jobs = [Job("look", (Cell("c", look), Cell("check", "check('v', lambda: 1)", "check", "e")))]
        jobs += [Job("bomb", (Cell("c", bomb, limit=2.0), Cell("d", "print(1)"))), Job("beside", (Cell("c", "print('fine')"),))]
        for run in sorted(engine.run(jobs), key=lambda run: run.key):
            print(run.key, os.getuid(), run.sandbox, [o.get("text") for o in run.cells[0].outputs], run.cells[-1].observations)
"""


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="root runs it as an ordinary user; others do all the time"
)
def test_an_ordinary_user_is_shut_in_as_well() -> None:
    """The interpreter may lie where only root can look; an own mount namespace opens that folder to the ordinary user."""
    from autograder.engine.inside.wall import syscalls as sc

    def become_ordinary() -> None:
        sc.unshare(sc.CLONE_NEWNS)
        sc.mount(None, "/", None, sc.MS_REC | sc.MS_PRIVATE)
        home = str(Path(sys.base_prefix).parent)
        hidden = "/" + Path(sys.base_prefix).parts[1]
        if hidden not in ("/usr", "/opt"):
            sc.mount(home, "/mnt", None, sc.MS_BIND | sc.MS_REC)
            sc.mount("tmpfs", hidden, "tmpfs", 0, "mode=0755")
            os.makedirs(home, mode=0o755)
            sc.mount("/mnt", home, None, sc.MS_BIND | sc.MS_REC)
            sc.unmount("/mnt")
        os.setgroups([])
        os.setresgid(12345, 12345, 12345)
        os.setresuid(12345, 12345, 12345)

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_ORDINARY)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
        preexec_fn=become_ordinary, env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("beside 12345 namespaces ['fine\\n']"), done.stdout
    assert lines[1].startswith("bomb 12345 namespaces")
    assert lines[2] == "look 12345 namespaces [\"1000 ['1'] False 3\\n\"] {'v': 1}"


@pytest.mark.skipif(sys.platform != "linux", reason="the warm engine needs Linux")
@pytest.mark.parametrize(("place", "linked"), [("/tmp", False), ("/home", False), ("/home", True)])
def test_an_environment_may_lie_anywhere(place: str, linked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a run writes, or would write on most machines, and behind links."""
    from autograder.engine.births import parent

    if not os.access(place, os.W_OK):
        pytest.skip(f"{place} cannot be written")
    with tempfile.TemporaryDirectory(prefix="place-", dir=place) as folder:
        shutil.copytree(
            ROOT / "autograder", Path(folder, "lib", "autograder"), ignore=shutil.ignore_patterns("__pycache__")
        )
        more = Path(folder, "far" if linked else "more")
        more.mkdir()
        (more / "late.py").write_text("found = True")
        if linked:
            Path(folder, "near").symlink_to(more)
            Path(folder, "more").symlink_to("near")
        plain = parent.environment
        monkeypatch.setattr(
            parent, "environment", lambda *a: {**plain(*a), "PYTHONPATH": f"{folder}/lib:{folder}/more"}
        )
        with open_engine("warm", "require", 1) as engine:
            source = (
                "import tempfile, os\nimport autograder.lab.memory.ledger as m\nprint(m.__file__)\n"
                f"print(sorted(os.listdir({folder + '/lib/autograder'!r})))\n"
                "with tempfile.NamedTemporaryFile('w') as f:\n    print(f.write('x'))\n"
                "import late\nprint(late.found)"
            )
            (run,) = engine.run([code_job(source)])
    lines = text(run.cells[0]).splitlines()
    assert lines == [
        f"{folder}/lib/autograder/lab/memory/ledger.py",
        "['__init__.py', 'checks', 'engine', 'lab']",
        "1",
        "True",
    ], run


def test_a_project_that_is_reached_by_a_link_is_not_let_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an installation puts the project's folder on the path: its sources hold the hidden checks."""
    (tmp_path / "link").symlink_to(ROOT)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "link")])
    monkeypatch.chdir(tmp_path)
    let_in = {path for step, path in root.plan(f"{tmp_path}/link/autograder", (), "/nowhere/root") if step == "let in"}
    assert not let_in & {str(tmp_path / "link"), os.path.realpath(ROOT)}
    assert sys.prefix in let_in or os.path.realpath(sys.prefix) in let_in


def test_the_machine_is_described() -> None:
    features = {feature.name: feature for feature in describe_machine()}
    assert {"warm engine", "namespaces", "bubblewrap", "kernel engine", "huge pages", "processors"} <= set(features)
    assert all(feature.detail for feature in features.values())


def test_require_and_off_contradict_nothing() -> None:
    try:
        with open_engine("auto", "require", 1) as engine:
            assert engine.sandbox in ("namespaces", "bubblewrap")
    except EngineUnavailable as error:
        assert "No sandbox" in str(error)
