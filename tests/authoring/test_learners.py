"""The repository for learners holds what they need, and no line of an answer, of a hidden check, or of the bank."""

import json
import re
import subprocess
import sys

import pytest

from autograder.authoring.learners import write
from autograder.authoring.source import source_names
from tests.mini_course import ROOT

NAMES = source_names(ROOT)
# What a learner's environment lacks: the extra `learning` does not bring it.
WITHOUT = "import sys; sys.modules |= dict.fromkeys(['nbgrader', 'jupytext', 'nbclient', 'sqlalchemy', 'hypothesis']);"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return write(ROOT, tmp_path_factory.mktemp("learners") / "release")


def lines_of(text):
    return {line.strip() for line in text.splitlines() if line.strip()}


def texts(folder):
    """Every text in a folder, a notebook's as its cells show it."""
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix == ".ipynb":
            for cell in json.loads(path.read_text())["cells"]:
                yield "".join(cell["source"])
        elif path.is_file() and "__pycache__" not in path.parts:
            yield path.read_text(encoding="utf-8", errors="replace")


def secrets_and_shown():
    """Lines of the sources between the marks of answers and hidden checks, and the other ones."""
    secret, shown = set(), set()
    for name in NAMES:
        inside = False
        for line in (ROOT / "source" / f"{name}.py").read_text().splitlines():
            if re.search("### (BEGIN|END) (SOLUTION|HIDDEN TESTS)", line):
                inside = "BEGIN" in line
                secret.add(line.strip())
            elif line.strip():
                (secret if inside else shown).add(line.strip())
                shown |= set() if inside else {line.strip().removeprefix("#").strip()}  # prose is a comment there
    return secret, shown


def test_no_line_of_an_answer_a_hidden_check_or_the_bank_is_in_it(repository):
    secret, shown = secrets_and_shown()
    bank = set().union(*(lines_of(path.read_text()) for path in (ROOT / "tests" / "bank").rglob("*.py")))
    package = set().union(*(lines_of(text) for text in texts(ROOT / "autograder")))
    hidden = (secret | bank) - shown - package
    assert len(hidden) > 3000
    released = set().union(*map(lines_of, texts(repository)))
    assert hidden & released == set()


def test_it_holds_what_a_learner_needs(repository):
    assert {path.name for path in repository.iterdir()} == {
        ".gitignore", "CITATION.cff", "LICENSE", "README.md", "autograder", "constraints.txt", "docs", "notebooks", "pyproject.toml"
    }  # fmt: skip
    assert sorted(path.name for path in (repository / "notebooks").iterdir()) == NAMES
    readme = (repository / "README.md").read_text()
    assert all(f"(notebooks/{name}/{name}.ipynb)" in readme for name in NAMES)
    for link in re.findall(r"\]\(([^)#:]+)\)", readme + (repository / "docs" / "colab.md").read_text()):
        assert (repository / link).exists() or (repository / "docs" / link).exists(), link


def test_a_learner_can_check_there_without_what_grading_needs(repository):
    command = [sys.executable, "-c", f"{WITHOUT} sys.argv = ['autograder', 'check', '00']; from autograder.__main__ import main; main()"]  # fmt: skip
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    assert "Not answered yet." in done.stdout and "0 of 1 exercises of 00-start" in done.stdout


def test_a_second_run_keeps_the_history_and_nothing_that_is_gone(repository):
    (repository / ".git").mkdir()
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (repository / "old.txt").write_text("old")
    before = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file() and path.name != "old.txt"}
    write(ROOT, repository)
    after = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()}
    assert {k: v for k, v in before.items() if "__pycache__" not in k.parts} == after
