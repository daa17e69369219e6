"""Every chapter: with reference answers from top to bottom in a real kernel, with stubs without a wall of tracebacks."""

import copy
import json
import subprocess
import sys
import time
import urllib.request
import uuid

import nbformat
import pytest
from nbclient import NotebookClient

from autograder.authoring.source import read_source, source_names
from autograder.engine import Cell, Job
from tests.mini_course import ROOT

CHAPTERS = source_names(ROOT)


def in_a_kernel(notebook, tmp_path):
    done = copy.deepcopy(notebook)
    NotebookClient(
        done, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()  # an error ends it
    return done


def in_the_engine(notebook, engine):
    """Every code cell as a learner runs it, check cells included."""
    done = copy.deepcopy(notebook)
    codes = {cell.id: cell for cell in done.cells if cell.cell_type == "code"}
    (run,) = engine.run([Job("j", tuple(Cell(id, cell.source, "course") for id, cell in codes.items()), 1)])
    for ran in run.cells:
        assert ran.status in ("ran", "error"), ran
        codes[ran.id].outputs = [nbformat.from_dict(output) for output in ran.outputs]
    return done


def errors(notebook):
    return {
        cell.id: f"{output.ename}: {output.evalue}"
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "error"
    }


def scores(notebook):
    """Points of every check cell: the value it shows."""
    found = {}
    for cell in notebook.cells:
        mark = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and mark.get("grade"):
            shown = [o.data["text/plain"] for o in cell.outputs if o.output_type == "execute_result"]
            found[mark.grade_id] = (float(shown[-1]), float(mark.points))
    return found


@pytest.mark.parametrize("name", CHAPTERS)
def test_reference_answers_run_from_top_to_bottom_with_full_marks(name, tmp_path):
    done = in_a_kernel(read_source(ROOT, name), tmp_path)
    assert scores(done)
    assert all(got == most for got, most in scores(done).values()), scores(done)
    stderr = [
        output.text
        for cell in done.cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade")
        for output in cell.outputs
        if output.output_type == "stream" and output.name == "stderr"
    ]
    assert stderr == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_stubs_fail_in_tables_not_in_tracebacks(name, engine):
    released = nbformat.read(ROOT / "notebooks" / name / f"{name}.ipynb", as_version=4)
    done = in_the_engine(released, engine)
    assert errors(done) == {}
    assert all(got < most for got, most in scores(done).values()), scores(done)
    for cell in done.cells:  # nothing is given away to who only runs all
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade"):
            (shown,) = [output for output in cell.outputs if output.output_type == "execute_result"]
            text = shown.data["text/html"]
            assert "Not answered yet." in text and "expected" not in text and text.count("<tr>") == 2, text


@pytest.mark.parametrize("name", CHAPTERS[:2])
def test_a_chapter_runs_as_a_plain_script(name, tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "source" / f"{name}.py")], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("  FAIL  ") == (1 if name == "00-start" else 0)  # 00 shows one that fails on purpose


class Lab:
    """A real Jupyter server, spoken to as JupyterLab does: contents, sessions, the kernel's websocket."""

    def __init__(self, folder, log):
        self.token = uuid.uuid4().hex
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", "--ServerApp.port=0",
             f"--IdentityProvider.token={self.token}", f"--ServerApp.root_dir={folder}"],
            stdout=subprocess.DEVNULL, stderr=log,
        )  # fmt: skip
        self.address = None

    def wait(self, log_path):
        for _ in range(300):
            for line in log_path.read_text().splitlines():
                if "http://127.0.0.1:" in line or "http://localhost:" in line:
                    self.address = line[line.index("http") :].split("/lab")[0].split("/?")[0]
                    return
            assert self.process.poll() is None, log_path.read_text()
            time.sleep(0.1)
        raise AssertionError(log_path.read_text())

    def call(self, path, body=None, method=None):
        request = urllib.request.Request(
            f"{self.address}{path}", json.dumps(body).encode() if body is not None else None,
            {"Authorization": f"token {self.token}", "Content-Type": "application/json"}, method=method,
        )  # fmt: skip
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    log_path = folder / "server.log"
    with log_path.open("w") as log:
        server = Lab(ROOT, log)
        try:
            server.wait(log_path)
            yield server
        finally:
            server.process.terminate()
            server.process.wait(20)


def test_jupyterlab_opens_a_chapter_and_its_text_and_runs_it(lab):
    from websocket import create_connection

    assert b"jupyter" in lab.call("/lab").lower()
    path = f"source/{CHAPTERS[0]}.py"
    opened = json.loads(
        lab.call(f"/api/contents/{path}?type=notebook&content=1")
    )  # jupytext opens the text as a notebook
    assert opened["type"] == "notebook" and len(opened["content"]["cells"]) > 5
    session = json.loads(
        lab.call("/api/sessions", {"path": path, "type": "notebook", "name": "", "kernel": {"name": "python3"}})
    )
    kernel = session["kernel"]["id"]
    socket = create_connection(
        f"{lab.address.replace('http', 'ws')}/api/kernels/{kernel}/channels?token={lab.token}",
        timeout=60,
        suppress_origin=True,
    )
    shown = []
    for cell in opened["content"]["cells"]:
        if cell["cell_type"] == "code":
            outputs = run_cell(socket, cell["source"])
            assert not [o for o in outputs if o["msg_type"] == "error"], outputs
            shown += [o["content"]["data"] for o in outputs if "data" in o["content"]]
    assert any("text/html" in data and "checks" in data["text/html"] for data in shown)
    assert any("image/svg+xml" in data for data in shown)
    socket.close()
    lab.call(f"/api/sessions/{session['id']}", method="DELETE")


def run_cell(socket, source):
    number = uuid.uuid4().hex
    socket.send(
        json.dumps(
            {
                "header": {"msg_id": number, "msg_type": "execute_request", "username": "", "session": number, "version": "5.3"},
                "parent_header": {}, "metadata": {}, "channel": "shell", "buffers": [],
                "content": {"code": source, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False},
            }
        )
    )  # fmt: skip
    outputs = []
    while True:
        message = json.loads(socket.recv())
        if message["parent_header"].get("msg_id") != number:
            continue
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            return outputs
        if message["msg_type"] in ("stream", "display_data", "execute_result", "error"):
            outputs.append(message)
