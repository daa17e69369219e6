"""Finding hand-ins: one for each student and chapter, whatever lies in the folders; nothing is written there."""

import hashlib
import os
import tempfile
from datetime import datetime
from pathlib import Path

import pytest

from autograder.grading.intake import attempts
from autograder.grading.intake.handins import find, hidden_folders, strays
from tests.grading.corpus import DAMAGES, Files, blank, encode, made, write, zipped
from tests.grading.intake.looking import CHAPTERS, OTHER, WHOLE, found, hand_in
from tests.grading.small_chapter import NAME, another_chapter


def test_one_hand_in_per_student_and_chapter(tmp_path):
    hand_in(tmp_path, anna=WHOLE, ben={})
    (tmp_path / "notes.txt").write_text("no student")
    (tmp_path / ".hidden").mkdir()
    handins = list(find(tmp_path, CHAPTERS, ["anna", "zoe"]))
    assert [(h.student, h.chapter, h.status) for h in handins] == [
        ("anna", NAME, "found"),
        ("anna", OTHER, "missing"),
        ("ben", NAME, "missing"),
        ("ben", OTHER, "missing"),
        ("zoe", NAME, "missing"),
        ("zoe", OTHER, "missing"),
    ]
    anna = handins[0]
    assert anna.data == WHOLE and anna.path == f"anna/{NAME}/{NAME}.ipynb" and anna.attempt == 1
    assert anna.sha256 == anna.mark == hashlib.sha256(WHOLE).hexdigest()
    assert anna.notes == [] and anna.files == () and anna.timestamp is None
    assert strays(tmp_path) == ["notes.txt"] and hidden_folders(tmp_path) == [".hidden"]


ODD = [".anna", "...", "???", "$$", " ", "-", "_", "\u200b", "\n", "linked", "broken", "notes.txt", ".hidden"]


def test_everything_below_submitted_has_a_row_or_is_named(tmp_path):
    for name in ODD:
        if name in ("linked", "broken"):
            (tmp_path / name).symlink_to("/etc" if name == "linked" else "nowhere")
        elif name == "notes.txt":
            (tmp_path / name).write_text("no student")
        else:
            (tmp_path / name).mkdir()
    rows = set(found(tmp_path))
    named = {*strays(tmp_path), *hidden_folders(tmp_path)}
    assert rows == {"???", "$$", " ", "-", "_", "\u200b", "\ufffd", "linked"}
    assert named == {".anna", "...", ".hidden", "broken", "notes.txt"}


def test_nothing_is_written(tmp_path):
    for kind in DAMAGES:
        write(tmp_path / "".join(filter(str.isalnum, kind.kind)), made(kind))
    before = sorted((path, path.lstat().st_mtime_ns) for path in tmp_path.rglob("*"))
    list(find(tmp_path, CHAPTERS))
    assert sorted((path, path.lstat().st_mtime_ns) for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        ({"a.ipynb": (WHOLE, 5), "b.ipynb": (WHOLE, 9)}, "a.ipynb"),  # the newest
        ({"a.ipynb": (WHOLE, 9), "b.ipynb": (blank(), 5)}, "a.ipynb"),  # answered beats blank
        ({"a.ipynb": (WHOLE, 5), "b.ipynb": (WHOLE, 5)}, "b.ipynb"),  # by name
        ({"a 9.ipynb": (WHOLE, 5), "a 10.ipynb": (WHOLE, 5)}, "a 10.ipynb"),  # numbers as numbers
        ({"a.ipynb": (WHOLE, 9), "b.ipynb": (b"{", 5)}, "a.ipynb"),  # readable beats broken
        ({"a.ipynb": (WHOLE, 9), "b.ipynb": (b'{"cells": [{"cell_type": "code", "source": "x"}]}', 5)}, "a.ipynb"),
    ],
)
def test_which_attempt_counts(tmp_path, files, chosen):
    for name, (data, days) in files.items():
        write(tmp_path / "anna", Files({f"{NAME}/{name}": data}))
        os.utime(tmp_path / "anna" / NAME / name, (1e9 - days * 86400, 1e9 - days * 86400))
    handin = found(tmp_path)["anna"]
    assert handin.path == f"anna/{NAME}/{chosen}"
    several = sum(data in (WHOLE, blank()) for data, _ in files.values()) > 1
    assert ("several-attempts" in {note.code for note in handin.notes}) == several


def test_attempts_that_are_too_large_to_keep_are_read_again(tmp_path, monkeypatch):
    files = {f"{number} {NAME}.ipynb": blank() for number in (1, 2)}
    hand_in(tmp_path, anna={**files, "more.zip": zipped({f"3 {NAME}.ipynb": WHOLE})})
    kept = found(tmp_path)["anna"]
    monkeypatch.setattr(attempts, "HELD", 0)
    again = found(tmp_path)["anna"]
    assert kept.data == WHOLE
    assert (again.data, again.path, again.attempt, again.mark) == (kept.data, kept.path, kept.attempt, kept.mark)


def test_attempts_are_numbered_by_time(tmp_path):
    for number in range(1, 5):
        write(tmp_path / "anna", Files({f"attempt {number}/{NAME}.ipynb": WHOLE if number < 4 else blank()}))
        write(tmp_path / "anna", Files({f"attempt {number}/timestamp.txt": f"2026-01-0{number} 10:00:00 UTC".encode()}))
    handin = found(tmp_path)["anna"]
    assert (handin.attempt, handin.path) == (3, f"anna/attempt 3/{NAME}.ipynb")
    assert handin.timestamp == datetime(2026, 1, 3, 10)


def test_the_chapter_is_told_by_folder_by_name_and_by_content(tmp_path):
    other = encode(another_chapter())
    hand_in(
        tmp_path,
        anna={"one.ipynb": WHOLE, "two.ipynb": other},
        ben={f"{NAME}/{OTHER}.ipynb": other, f"{NAME}/{NAME}.ipynb": WHOLE},
        chen={"everything.zip": zipped({f"{NAME}/{NAME}.ipynb": WHOLE, "b/02_other.ipynb": other})},
        dora={f"{NAME}/homework.zip": zipped({"x.ipynb": WHOLE, "y.ipynb": other})},
    )
    assert {s: h.data == WHOLE for s, h in found(tmp_path).items()} == dict.fromkeys(
        ["anna", "ben", "chen", "dora"], True
    )
    assert {s: h.data == other for s, h in found(tmp_path, OTHER).items()} == {
        "anna": True,
        "ben": True,
        "chen": True,
        "dora": True,
    }


@pytest.mark.parametrize(
    "name",
    ["hw2.ipynb", "Assignment 2.ipynb", f"{OTHER}.ipynb", "hw2/x.ipynb", f"{OTHER}/hw1.ipynb", f"{OTHER}/x.ipynb"],
)
def test_cells_go_before_a_number_in_a_name(tmp_path, name):
    hand_in(tmp_path, anna={name: WHOLE}, ben={name: WHOLE, "week 1.ipynb": encode(another_chapter())})
    handins = found(tmp_path)
    assert handins["anna"].data == handins["ben"].data == WHOLE
    assert {note.code for note in handins["ben"].notes} == {"found-elsewhere"}
    assert found(tmp_path, OTHER)["ben"].data == encode(another_chapter())
    # In the folder of another chapter a notebook was handed in: `grade` will say that it holds the wrong one.
    wrong = found(tmp_path, OTHER)["anna"]
    assert (wrong.status, wrong.data) == (("found", WHOLE) if name.startswith(f"{OTHER}/") else ("missing", None))


def test_what_is_found_does_not_depend_on_the_chapters_asked_for(tmp_path):
    other = encode(another_chapter())
    hand_in(tmp_path, mia={f"{NAME}/{NAME}.pdf": b"%PDF", f"{OTHER}/{OTHER}.ipynb": other})
    hand_in(tmp_path, noa={f"{NAME}/essay.docx": b"PK"}, ole={"essay.docx": b"PK"})
    both = {h.student: h for h in find(tmp_path, CHAPTERS) if h.chapter == NAME}
    alone = {h.student: h for h in find(tmp_path, {NAME: CHAPTERS[NAME]}, others={OTHER: CHAPTERS[OTHER]})}
    assert both == alone and {h.status for h in alone.values()} == {"missing"}
    sentence = f"No notebook was handed in for {NAME}, only {{}}; the .ipynb file is needed."
    assert [h.notes[0].text for h in alone.values()] == [
        sentence.format(name) for name in (f"{NAME}.pdf", "essay.docx", "essay.docx")
    ]
    texts = {s: [note.text for note in h.notes] for s, h in found(tmp_path, OTHER).items()}
    assert texts["mia"] == [] and texts["noa"] == ["Nothing was handed in."] and "essay.docx" in texts["ole"][0]


def test_a_name_decides_where_the_cells_say_nothing(tmp_path):
    own = encode({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []})
    hand_in(tmp_path, anna={"hw2.ipynb": own}, ben={f"{OTHER}/{OTHER}.ipynb": WHOLE}, chen={f"{OTHER}/hw1.ipynb": own})
    assert {s: h.data for s, h in found(tmp_path, OTHER).items()} == {"anna": own, "ben": WHOLE, "chen": own}
    assert {h.status for h in found(tmp_path).values()} == {"missing"}


def test_files_beside_the_notebook_are_named_and_bounded(tmp_path):
    folder = f"{NAME}/"
    files = {folder + f"{NAME}.ipynb": WHOLE, folder + "data/table.csv": b"1,2", folder + "mine.py": b"x = 1"}
    root, spool = tmp_path / "in", tmp_path / "spool"
    spool.mkdir()
    hand_in(root, anna={**files, folder + "link.py": "/etc/passwd", "private.txt": b"not beside it"})
    hand_in(root, ben={**files, **{folder + f"many/{n}.txt": b"x" for n in range(60)}})
    handins = found(root, spool=spool)
    anna, ben = handins["anna"], handins["ben"]
    assert {name: path.read_bytes() for name, path in anna.files} == {"data/table.csv": b"1,2", "mine.py": b"x = 1"}
    assert all(path.parent == spool for _, path in anna.files)
    assert len(ben.files) == 50 and "files-left-out" in {note.code for note in ben.notes}
    assert anna.mark != anna.sha256
    assert found(root)["anna"].mark == anna.mark and found(root)["anna"].files == ()
    (root / "anna" / NAME / "mine.py").write_text("x = 2")
    assert found(root)["anna"].mark != anna.mark


def test_files_beside_a_notebook_in_an_archive_come_along(tmp_path):
    archive = zipped({f"work/{NAME}.ipynb": WHOLE, "work/mine.py": b"x = 1", "elsewhere.txt": b"no"})
    hand_in(tmp_path / "in", anna={f"{NAME}/work.zip": archive})
    (tmp_path / "spool").mkdir()
    ((name, path),) = found(tmp_path / "in", spool=tmp_path / "spool")["anna"].files
    assert (name, path.read_bytes(), path.parent) == ("mine.py", b"x = 1", tmp_path / "spool")
    without = found(tmp_path / "in")["anna"]
    assert without.files == () and [n.code for n in without.notes if n.needs_person] == ["files-left-out"]


def test_no_link_is_followed_and_no_pipe_is_waited_for(tmp_path):
    hand_in(
        tmp_path, anna={f"{NAME}/{NAME}.ipynb": "/etc/hostname"}, ben={NAME: "/etc"}, chen={f"{NAME}/x.ipynb": "gone"}
    )
    (tmp_path / "dora").symlink_to("/etc")
    (tmp_path / "eve" / NAME).mkdir(parents=True)
    os.mkfifo(tmp_path / "eve" / NAME / f"{NAME}.ipynb")
    handins = found(tmp_path)
    assert {handin.status for handin in handins.values()} == {"unreadable"} and len(handins) == 5
    assert all(handin.data is None and handin.notes[0].needs_person for handin in handins.values())
    assert "link" in handins["anna"].notes[0].text and "regular file" in handins["eve"].notes[0].text


def test_what_may_not_be_read_says_so():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)
        hand_in(root, anna=WHOLE, ben=WHOLE, chen=WHOLE, dora=WHOLE)
        shut = [root / "anna" / NAME / f"{NAME}.ipynb", root / "ben" / NAME, root / "chen"]
        for path in shut:
            path.chmod(0)
        user = os.geteuid()
        try:
            if user == 0:  # root may read everything
                os.seteuid(65534)
            handins = found(root)
        finally:
            os.seteuid(user)
            for path in shut:
                path.chmod(0o700)
    assert handins.pop("dora").status == "found"
    assert len(handins) == 3
    for handin in handins.values():
        assert handin.status == "unreadable" and "Permission denied" in handin.notes[0].text


@pytest.mark.parametrize("name", ["b\udcffad", "new\nline", "tab\t", "\u202egnp"])
def test_names_that_cannot_be_printed_are_changed(tmp_path, name):
    hand_in(tmp_path, **{name: WHOLE})
    (handin,) = found(tmp_path).values()
    assert handin.status == "found" and "\ufffd" in handin.student and handin.student.encode()
