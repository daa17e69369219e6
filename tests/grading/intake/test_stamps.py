"""Timestamps: as nbgrader and people write them, and what is odd about one."""

from datetime import datetime

import pytest

from autograder.grading.intake.handins import parse_timestamp
from tests.grading.intake.looking import WHOLE, found, hand_in
from tests.grading.small_chapter import NAME


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-02-03 15:58:23.948203 UTC", datetime(2026, 2, 3, 15, 58, 23, 948203)),
        ("2026-02-03 15:58:23", datetime(2026, 2, 3, 15, 58, 23)),
        ("2026-02-03 15:58:23 America/Los_Angeles\n", datetime(2026, 2, 3, 23, 58, 23)),
        ("2026-07-03 15:58:23 Europe/Berlin", datetime(2026, 7, 3, 13, 58, 23)),
        ("2026-02-03T15:58:23+02:00", datetime(2026, 2, 3, 13, 58, 23)),
        ("2026-02-03 15:58:23 +0530", datetime(2026, 2, 3, 10, 28, 23)),
        ("2026-02-03T15:58:23Z", datetime(2026, 2, 3, 15, 58, 23)),
    ],
)
def test_timestamps(tmp_path, text, moment):
    assert parse_timestamp(text) == moment
    hand_in(tmp_path, anna={f"{NAME}/{NAME}.ipynb": WHOLE, f"{NAME}/timestamp.txt": text.encode()})
    handin = found(tmp_path)["anna"]
    assert handin.timestamp == moment and handin.files == ()


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01", "2026-02-03 15:58:23 Mars/Base", "\ufffd", "0", "2026-02-03 1e9 ../x"]
)
def test_a_broken_timestamp_costs_nothing(tmp_path, text):
    hand_in(tmp_path, anna={f"{NAME}/{NAME}.ipynb": WHOLE, f"{NAME}/timestamp.txt": text.encode()})
    handin = found(tmp_path)["anna"]
    assert handin.status == "found" and handin.timestamp is None
    assert [note.code for note in handin.notes] == ["timestamp-broken"]


def test_what_is_odd_about_a_timestamp_is_said(tmp_path):
    late = {f"{NAME}/{NAME}.ipynb": WHOLE, f"{NAME}/timestamp.txt": b"2999-01-01 10:00:00 UTC"}
    folder = {f"{NAME}/{NAME}.ipynb": WHOLE, f"{NAME}/timestamp.txt/when": b"2026-01-01"}
    hand_in(tmp_path, anna=late, ben=folder, chen={f"{NAME}/{NAME}.ipynb": WHOLE, "timestamp.txt": b"2026-01-01"})
    handins = found(tmp_path)
    assert [handins[name].timestamp for name in ("anna", "ben", "chen")] == [
        datetime(2999, 1, 1, 10),
        None,
        datetime(2026, 1, 1),
    ]
    assert [note.text for name in ("anna", "ben", "chen") for note in handins[name].notes[:1]] == [
        "timestamp.txt says 2999-01-01 10:00 UTC, which is still to come; how late it is was reckoned by it.",
        "timestamp.txt is a folder that holds only when; the file itself is needed, so no late penalty was charged.",
    ]
