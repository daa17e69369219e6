"""Archives: opened safely or not at all, whatever they are called."""

import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.grading.intake import archives
from autograder.grading.intake.handins import find
from tests.grading.corpus import blank, zipped
from tests.grading.intake.looking import CHAPTERS, OTHER, WHOLE, found, hand_in
from tests.grading.small_chapter import NAME


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({f"{NAME}/{NAME}.ipynb": None}, f"No notebook was handed in: {NAME}.ipynb is a folder that holds nothing; "),
        ({f"{NAME}/{NAME}.ipynb/a.pdf": b"%PDF"}, f"No notebook was handed in: {NAME}.ipynb is a folder that holds only a.pdf; "),
        ({f"{NAME}/{NAME}.ipynb": zipped({"b/c.xml": b""})}, f"{NAME}.ipynb is a zip archive that holds no notebook, only c.xml; "),
        ({f"{NAME}/{NAME}.ipynb": zipped({})}, f"{NAME}.ipynb is a zip archive that holds nothing; "),
    ],
)  # fmt: skip
def test_what_lies_under_a_notebooks_name_is_said(tmp_path, files, words):
    handin = found(hand_in(tmp_path, anna=files))["anna"]
    assert handin.notes[0].text.startswith(words) and handin.notes[0].needs_person


def test_a_zip_under_a_notebooks_name_says_where_the_notebook_was(tmp_path):
    both = zipped({f"{NAME}.ipynb": WHOLE, "mine.py": b"x = 1"})
    handin = found(hand_in(tmp_path, anna={f"{NAME}/{NAME}.ipynb": both}))["anna"]
    assert handin.data == WHOLE and handin.path == f"anna/{NAME}/{NAME}/{NAME}.ipynb"
    (opened,) = [note.text for note in handin.notes if note.code == "zip-opened"]
    assert opened == f"The notebook was taken out of the zip archive {NAME}/{NAME}.ipynb."


def nested(times):
    data = WHOLE
    for number in range(times):
        data = zipped({f"{number}.zip" if number else "x.ipynb": data})
    return data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (lambda: zipped({f"n{n}.txt": b"" for n in range(5_001)}), "5,000 files"),
        (
            lambda: zipped({"a.zip": zipped({"b.zip": zipped({"c.zip": zipped({"x.ipynb": WHOLE})})})}),
            "archive in archives",
        ),
        (lambda: zipped({"x.ipynb": WHOLE})[:-60], "damaged"),
        (lambda: b"PK\x05\x06" + b"\0" * 8 + b"\xff" * 8 + b"\0\0", "lists more files"),
        (lambda: b"", "empty file"),
        (lambda: zipped({"../x.ipynb": WHOLE}), "unsafe path"),
        (lambda: zipped({"/x.ipynb": WHOLE}), "unsafe path"),
        (lambda: zipped({"C:\\x.ipynb": WHOLE}), "unsafe path"),
        (lambda: locked(), "password"),
        (lambda: link(), "link"),
    ],
)
def test_an_archive_is_opened_safely_or_not_at_all(tmp_path, data, words):
    hand_in(tmp_path, anna={f"{NAME}/work.zip": data()})
    handin = found(tmp_path)["anna"]
    assert handin.status == "unreadable" and words in handin.notes[0].text, handin
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(["anna", NAME, "work.zip"])


def test_an_archive_that_would_fill_the_memory_is_not_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_UNPACKED", 10_000)
    hand_in(
        tmp_path,
        anna={f"{NAME}/a.zip": zipped({f"{NAME}.ipynb": b" " * 20_000})},
        ben={f"{NAME}/a.zip": lying_zip({f"{NAME}.ipynb": b" " * 20_000})},
        chen=WHOLE,
    )
    handins = found(tmp_path)
    assert handins["anna"].status == handins["ben"].status == "unreadable"
    assert handins["chen"].status == "found"


def locked():
    data = bytearray(zipped({"x.ipynb": WHOLE}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    return bytes(data)


def link():
    info = zipfile.ZipInfo(f"{NAME}.ipynb")
    info.external_attr = 0o120777 << 16
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    return buffer.getvalue()


def lying_zip(files):
    """A zip whose list says that its file is small."""
    data = bytearray(zipped(files))
    place = data.index(b"PK\x01\x02") + 24
    data[place : place + 4] = b"\x10\0\0\0"
    return bytes(data)


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=400), st.sampled_from(["x.ipynb", "x.zip", "x.json", "x", "timestamp.txt"]))
def test_any_bytes_in_any_file_are_found_or_refused(tmp_path_factory, data, name):
    root = tmp_path_factory.mktemp("any")
    hand_in(root, anna={f"{NAME}/{name}": data, f"{NAME}/{name}.zip": zipped({name: data})})
    assert [h.chapter for h in find(root, CHAPTERS)] == [NAME, OTHER]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=8))
def test_any_damage_to_a_zip_is_borne(tmp_path_factory, place, junk):
    root = tmp_path_factory.mktemp("zip")
    data = zipped({f"{NAME}.ipynb": WHOLE, "b/c.ipynb": blank()})
    place %= len(data)
    hand_in(root, anna={f"{NAME}/x.zip": data[:place] + junk + data[place + len(junk) :]})
    for handin in find(root, CHAPTERS):
        assert handin.status in ("found", "unreadable", "missing")
