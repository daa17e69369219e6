"""`collect`: whatever the platform sends becomes nbgrader's folders, and the source stays as it was."""

import hashlib
import io
import os

import pytest
from rich.console import Console

from autograder.cli.terminal import print_collected
from autograder.grading.intake import collecting
from autograder.grading.intake.collecting import CollectError, collect
from autograder.grading.intake.handins import find
from tests.grading.corpus import blank, encode, zipped
from tests.grading.small_chapter import NAME, another_chapter, answered_notebook, other_chapter, small_chapter

OTHER = "02-other"
CHAPTERS = {NAME: small_chapter(), OTHER: other_chapter()}


def mine(student="", name=NAME):
    """A notebook that differs from student to student."""
    notebook = answered_notebook() if name == NAME else another_chapter()
    notebook["cells"][0]["source"] += f"\n\n{student}"
    return encode(notebook)


def put(root, files):
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def tree(root):
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file()
    }


SHAPES = {
    "nbgrader's folders": lambda s: f"{s}/{NAME}/{NAME}.ipynb",
    "a folder per student, any name": lambda s: f"{s}/homework final.ipynb",
    "chapter first": lambda s: f"{NAME}/{s}/solution.ipynb",
    "chapter folder, flat": lambda s: f"{NAME}/{s}.ipynb",
    "flat, chapter behind": lambda s: f"{s}_{NAME}.ipynb",
    "flat, chapter before": lambda s: f"{NAME} - {s} (1).ipynb",
    "flat, student alone": lambda s: f"{s}.ipynb",
    "flat, homework by number": lambda s: f"hw1_{s}.ipynb",
    "wrapped once more": lambda s: f"submissions/{s}/{NAME}.ipynb",
    "Moodle, with folders": lambda s: f"{s}_{4000 + len(s)}_assignsubmission_file_/{NAME}.ipynb",
    "Moodle, without folders": lambda s: f"{s}_{4000 + len(s)}_assignsubmission_file_{NAME}.ipynb",
    "Canvas": lambda s: f"{s}_1{len(s)}_998{len(s)}_{NAME}-1.ipynb",
    "Canvas, late": lambda s: f"{s}_LATE_1{len(s)}_998{len(s)}_{NAME}.ipynb",
    "nbgrader's inbound": lambda s: f"{s}+{NAME}+2026-02-03 15:58:23.948203 UTC+x1/{NAME}.ipynb",
}


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_becomes_nbgraders(tmp_path, shape, packed):
    files = {SHAPES[shape](student): mine(student) for student in ("anna", "björk", "chen")}
    source, target = tmp_path / "in", tmp_path / "out"
    if packed:
        source = put(tmp_path, {"in.zip": zipped(files)}) / "in.zip"
    else:
        put(source, files)
    rows = collect(source, target, CHAPTERS)
    assert {(row.student, row.chapter, row.target) for row in rows} == {
        (student, NAME, f"{student}/{NAME}/{NAME}.ipynb") for student in ("anna", "björk", "chen")
    }
    for student in ("anna", "björk", "chen"):
        assert (target / student / NAME / f"{NAME}.ipynb").read_bytes() == mine(student)
    found = [handin for handin in find(target, CHAPTERS) if handin.chapter == NAME]
    assert [handin.status for handin in found] == ["found"] * 3
    assert all(handin.timestamp is not None for handin in found) == (shape == "nbgrader's inbound")


def test_the_source_is_never_changed_and_a_second_run_adds_nothing(tmp_path):
    source = put(tmp_path / "in", {f"anna/{NAME}.ipynb": mine("a"), "ben.zip": zipped({f"{NAME}.ipynb": mine("b")})})
    before = tree(source)
    collect(source, tmp_path / "out", CHAPTERS)
    once = tree(tmp_path / "out")
    again = collect(source, tmp_path / "out", CHAPTERS)
    assert tree(source) == before
    assert tree(tmp_path / "out") == once and len(once) == 2
    assert {row.why for row in again} == {"It is there already."}


def test_a_later_attempt_is_put_beside_the_first(tmp_path):
    put(tmp_path / "one", {f"anna/{NAME}.ipynb": mine("first")})
    put(tmp_path / "two", {f"anna/{NAME}.ipynb": mine("second")})
    os.utime(tmp_path / f"one/anna/{NAME}.ipynb", (1e9, 1e9))
    collect(tmp_path / "one", tmp_path / "out", CHAPTERS)
    (row,) = collect(tmp_path / "two", tmp_path / "out", CHAPTERS)
    assert row.target == f"anna/{NAME}/{NAME} (2).ipynb"
    assert (tmp_path / f"out/anna/{NAME}/{NAME}.ipynb").read_bytes() == mine("first")
    handin = next(found for found in find(tmp_path / "out", CHAPTERS) if found.chapter == NAME)
    assert handin.data == mine("second") and handin.attempt == 2


def test_of_several_attempts_the_newest_with_answers_is_copied(tmp_path):
    source = put(tmp_path / "in", {"anna/a.ipynb": mine("old"), "anna/b.ipynb": mine("new"), "anna/c.ipynb": blank()})
    put(source, {f"ben/{NAME}.ipynb": mine()})
    for age, name in enumerate(("c", "b", "a")):
        os.utime(source / f"anna/{name}.ipynb", (1e9 - age, 1e9 - age))
    rows = collect(source, tmp_path / "out", CHAPTERS)
    assert [row.source for row in rows if row.target] == ["anna/b.ipynb", f"ben/{NAME}.ipynb"]
    assert len(rows) == 4


def test_several_chapters_in_one_zip(tmp_path):
    both = zipped({f"{NAME}.ipynb": mine(), "second.ipynb": mine("", OTHER)})
    put(tmp_path / "in", {"anna.zip": both, "ben.zip": zipped({f"{NAME}.ipynb": mine()})})
    rows = collect(tmp_path / "in", tmp_path / "out", CHAPTERS)
    assert {(row.student, row.chapter) for row in rows} == {("anna", NAME), ("anna", OTHER), ("ben", NAME)}


@pytest.mark.parametrize("name", ["hw2.ipynb", "Assignment 2.ipynb", f"{OTHER}.ipynb"])
def test_cells_go_before_a_name(tmp_path, name):
    put(tmp_path / "in", {f"mia/{name}": mine("m"), "mia/week 1.ipynb": mine("m", OTHER), f"ben/{NAME}.ipynb": mine()})
    rows = {row.source: row for row in collect(tmp_path / "in", tmp_path / "out", CHAPTERS)}
    assert rows[f"mia/{name}"].target == f"mia/{NAME}/{NAME}.ipynb"
    assert rows["mia/week 1.ipynb"].target == f"mia/{OTHER}/{OTHER}.ipynb"
    assert {row.why for row in rows.values() if row.student == "mia"} == {"Its cells are this chapter's."}


def test_nbgraders_folders_are_kept_whatever_they_hold(tmp_path):
    put(tmp_path / "in", {f"mia/{OTHER}/{OTHER}.ipynb": mine("m"), f"ben/{NAME}/{NAME}.ipynb": mine()})
    rows = {row.student: row for row in collect(tmp_path / "in", tmp_path / "out", CHAPTERS)}
    assert rows["mia"].target == f"mia/{OTHER}/{OTHER}.ipynb"


def test_two_people_of_one_name_stay_apart(tmp_path):
    files = {f"Jo Li_{n}_assignsubmission_file_/{NAME}.ipynb": mine(str(n)) for n in (11, 22)}
    rows = collect(put(tmp_path / "in", files), tmp_path / "out", CHAPTERS)
    assert {row.student for row in rows} == {"Jo-Li-11", "Jo-Li-22"}
    assert all(row.target for row in rows)


def test_files_beside_a_notebook_come_along(tmp_path):
    files = {"mine.py": b"x = 1", "data/my table.csv": b"1,2", f"{OTHER}/essay.pdf": b"%PDF"}
    put(tmp_path / "in/anna", {f"{NAME}.ipynb": mine(), **files})
    put(tmp_path / "in/ben", {f"{NAME}.ipynb": mine(), "mine.py": b"x = 2"})
    rows = {row.source: row for row in collect(tmp_path / "in", tmp_path / "out", CHAPTERS)}
    assert (tmp_path / f"out/anna/{NAME}/mine.py").read_bytes() == b"x = 1"
    assert (tmp_path / f"out/ben/{NAME}/mine.py").read_bytes() == b"x = 2"
    assert (tmp_path / f"out/anna/{NAME}/data/my table.csv").read_bytes() == b"1,2"
    assert rows["anna/mine.py"].target == f"anna/{NAME}/mine.py"
    assert {row.source for row in rows.values() if not row.settled} == {f"anna/{OTHER}/essay.pdf"}
    assert all(row.why == "It lies with the notebook." for row in rows.values() if row.along)


def test_more_files_than_a_notebook_needs_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "MAX_COMPANIONS", 3)
    put(tmp_path / "in/anna", {f"{NAME}.ipynb": mine(), **{f"{number}.csv": b"" for number in range(9)}})
    put(tmp_path / "in/ben", {f"{NAME}.ipynb": mine()})
    rows = {row.source: row for row in collect(tmp_path / "in", tmp_path / "out", CHAPTERS)}
    assert sum(row.settled for row in rows.values()) == 5 and len(rows) == 6
    assert rows["anna/3.csv"].target is None and "(6)" in rows["anna/3.csv"].why


def test_names_lead_nowhere_else(tmp_path):
    files = {f"../../evil_{NAME}.ipynb": mine(), f"/abs_{NAME}.ipynb": mine(), f"ok_{NAME}.ipynb": mine()}
    put(tmp_path, {"deep/in.zip": zipped(files)})
    rows = collect(tmp_path / "deep/in.zip", tmp_path / "deep/out", CHAPTERS)
    assert [row.student for row in rows if row.target] == ["ok"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["deep"]
    assert sorted(p.name for p in (tmp_path / "deep").iterdir()) == ["in.zip", "out"]


def test_links_are_not_followed(tmp_path):
    put(tmp_path / "in", {f"anna/{NAME}.ipynb": mine()})
    (tmp_path / "secret.ipynb").write_bytes(mine("secret"))
    (tmp_path / "in/ben").mkdir()
    (tmp_path / f"in/ben/{NAME}.ipynb").symlink_to(tmp_path / "secret.ipynb")
    (tmp_path / "in/chen").symlink_to(tmp_path)
    rows = collect(tmp_path / "in", tmp_path / "out", CHAPTERS)
    assert [row.student for row in rows if row.target] == ["anna"]
    assert any("link" in row.why for row in rows)


def test_what_cannot_be_placed_says_why(tmp_path):
    put(
        tmp_path / "in",
        {f"{NAME}.ipynb": mine(), "anna/x.ipynb": b"", "anna/notes.pdf": b"%PDF", "ben/work.rar": b"Rar!"},
    )
    rows = {row.source: row for row in collect(tmp_path / "in", tmp_path / "out", CHAPTERS)}
    assert rows[f"{NAME}.ipynb"].target is None and "student" in rows[f"{NAME}.ipynb"].why
    assert rows["anna/x.ipynb"].target == "anna/x.ipynb"
    assert rows["ben/work.rar"].target == "ben/work.rar"
    assert rows["anna/notes.pdf"].target is None and "there is a notebook" in rows["anna/notes.pdf"].why
    statuses = {(found.student, found.status) for found in find(tmp_path / "out", {NAME: CHAPTERS[NAME]})}
    assert statuses == {("anna", "unreadable"), ("ben", "unreadable")}


def test_an_empty_folder_is_said_to_be_empty(tmp_path):
    console = Console(record=True, file=io.StringIO(), width=80, soft_wrap=True)
    print_collected(console, tmp_path, collect(tmp_path, tmp_path / "out", CHAPTERS))
    assert console.export_text() == f"{tmp_path} holds no notebook and no archive.\n"


def test_the_target_inside_the_source_is_not_collected_again(tmp_path):
    put(tmp_path, {f"anna/{NAME}.ipynb": mine(), f"ben/{NAME}.ipynb": mine()})
    for _ in range(2):
        rows = collect(tmp_path, tmp_path / "submitted", CHAPTERS)
        assert {row.student for row in rows} == {"anna", "ben"}


@pytest.mark.parametrize("name", ["nothing", "file.txt"])
def test_a_source_that_is_none(tmp_path, name):
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(CollectError, match=name):
        collect(tmp_path / name, tmp_path / "out", CHAPTERS)
