"""Mending: whatever a student or a tool did to a notebook, the grade is that of the answers in it, or a sentence."""

import json

import pytest
from hypothesis import HealthCheck, given, settings

from autograder.grading.reading.notebook import Reading, Unreadable, read_notebook
from autograder.grading.restore.graft import restore
from tests.grading.corpus import DAMAGES, encode, made, write
from tests.grading.fuzzing import submissions
from tests.grading.grading_small import grade
from tests.grading.running import right_answers
from tests.grading.small_chapter import (
    ANSWERS,
    FULL_MARKS,
    NAME,
    answered_notebook,
    code_cell,
    find_cell,
    position,
    released_notebook,
    small_chapter,
)

CHAPTER = small_chapter()
KINDS = {f"s{number:03}": kind for number, kind in enumerate(DAMAGES)}


def restored(notebook):
    return restore(read_notebook(encode(notebook)), CHAPTER)


def ran(result):
    return [cell.id for cell in result.cells if cell.run]


# --- the corpus, through the engine -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def graded(engine, tmp_path_factory):
    """Every kind of damage, handed in by a student of its own, in one run of the grader."""
    root = tmp_path_factory.mktemp("corpus")
    for student, kind in KINDS.items():
        write(root / "submitted" / student, made(kind))
    return grade(engine, root / "submitted", root / "out")


def test_the_table_of_damages(graded):
    """Run with -s to read it."""
    assert len(KINDS) >= 60
    print()
    for student, kind in KINDS.items():
        result = graded[student]
        score = "-" if result.score is None else f"{result.score:g}/{result.max_score:g}"
        notes = " ".join(f"[{note.code}] {note.text}" for note in result.notes)
        print(f"{kind.kind:58} {result.status:10} {score:5} {notes}")
    assert set(graded) == set(KINDS)


@pytest.mark.parametrize("student", KINDS, ids=[kind.kind for kind in DAMAGES])
def test_each_damage_is_graded_as_it_should_be(graded, student):
    kind, result = KINDS[student], graded[student]
    assert (result.status, result.score) == (kind.status, kind.score), result.notes
    assert set(kind.codes) <= {note.code for note in result.notes}
    for note in result.notes:
        assert note.text and "\n" not in note.text and note.text.endswith((".", "?")) and len(note.text) < 400
        assert note.code == note.code.lower() and " " not in note.code
    assert result.needs_person == (result.status == "unreadable" or any(note.needs_person for note in result.notes))
    if result.status in ("graded", "repaired"):
        assert result.max_score == FULL_MARKS and len(result.exercises) == 4


def test_fuzzed_submissions_are_graded_by_their_answers(engine, tmp_path):
    """A hundred through the engine; benchmarks/fuzz_submissions.py does two thousand."""
    fuzzed = []

    @settings(max_examples=100, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(submissions())
    def collect(submission):
        fuzzed.append(submission)

    collect()
    for number, submission in enumerate(fuzzed):
        write(tmp_path / "submitted" / f"f{number:03}", submission.data)
    results = grade(engine, tmp_path / "submitted", tmp_path / "out")
    assert len(results) == len(fuzzed) >= 100
    for result, submission in zip((results[name] for name in sorted(results)), fuzzed, strict=True):
        full = {
            exercise.id.removeprefix("check-") for exercise in result.exercises if exercise.score == exercise.max_score
        }
        assert result.status in ("graded", "repaired"), (submission.edits, result.notes)
        assert full == submission.right, (submission.edits, result.notes)


# --- without the engine -----------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(submissions())
def test_right_answers_survive_any_edit_and_wrong_ones_stay_wrong(submission):
    result = restore(read_notebook(submission.data), CHAPTER)
    assert right_answers(result) == submission.right, submission.edits
    ids = [cell.id for cell in result.cells]
    assert len(set(ids)) == len(ids)
    assert [name for name in ids if name in {check.id for check in CHAPTER.checks}] == [c.id for c in CHAPTER.checks]
    for cell in result.cells:
        course = CHAPTER.by_id.get(cell.id)
        if course is not None:
            assert cell.metadata == course.metadata and cell.role == course.role
            assert not course.locked or cell.source == course.released
        else:
            assert not cell.metadata.get("nbgrader")
        assert not (cell.run and cell.cell_type != "code")
    json.dumps([vars(cell) for cell in result.cells], ensure_ascii=False).encode()


def test_an_untouched_submission_is_the_chapter():
    result = restored(answered_notebook())
    assert not result.repaired and result.notes == []
    assert [cell.id for cell in result.cells] == [cell.id for cell in CHAPTER.cells]
    assert {cell.id: cell.source for cell in result.cells if cell.role == "answer"} == ANSWERS
    assert ran(result) == [c.id for c in CHAPTER.cells if c.role in ("course", "answer", "check")]
    assert result.answered == set(ANSWERS) and result.unanswered == set()


def test_what_was_left_blank_is_named():
    result = restored(released_notebook())
    assert result.answered == set() and result.unanswered == {*ANSWERS, f"explain-{NAME}"}
    assert not result.repaired


def test_nothing_of_the_instructors_is_in_a_restored_submission():
    for kind in DAMAGES:
        data = made(kind)
        if isinstance(data, bytes):
            try:
                cells = restore(read_notebook(data), CHAPTER).cells
            except Unreadable:
                continue
            assert not any("HIDDEN" in cell.source or "SOLUTION" in cell.source for cell in cells)


def test_own_cells_keep_their_place():
    notebook = answered_notebook()
    notebook["cells"].insert(0, code_cell("first = 1"))
    notebook["cells"].insert(position(notebook, "check-double"), code_cell("between = 2"))
    notebook["cells"].append(code_cell("last = 3"))
    order = [cell.source for cell in restored(notebook).cells]
    assert order[0] == "first = 1" and order[-1] == "last = 3"
    assert order.index("between = 2") == order.index(ANSWERS["double"]) + 1


def test_what_is_typed_into_a_set_up_cell_may_use_its_imports_and_answers_may_use_it():
    notebook = answered_notebook(double="def double(x):\n    return times(x, TWO)")
    find_cell(notebook, "setup")["source"] += (
        "\nTWO = math.sqrt(4)\ndef times(x: float, by: float = math.pi):\n    return x * by"
    )
    result = restored(notebook)
    assert right_answers(result) == {"double", "total", "guess"}
    typed = next(cell.id for cell in result.cells if "TWO = " in cell.source)
    assert ran(result).index("setup") < ran(result).index(typed) < ran(result).index("double")


def test_many_copies_of_one_cell_have_ids_of_their_own():
    notebook = answered_notebook()
    copies = [
        {**find_cell(notebook, "double"), "source": f"def double(x):\n    return 2 * x + {n} - {n}"} for n in range(40)
    ]
    notebook["cells"] += copies
    result = restored(notebook)
    assert len({cell.id for cell in result.cells}) == len(result.cells)
    assert right_answers(result) == {"double", "total", "guess"}


def test_cells_that_moved_take_their_neighbors_along():
    notebook = answered_notebook()
    place = position(notebook, "total")
    block = [notebook["cells"].pop(place), notebook["cells"].pop(place), code_cell("after_total = 1")]
    notebook["cells"][3:3] = block
    result = restored(notebook)
    order = [cell.source for cell in result.cells]
    assert order.index("after_total = 1") == order.index(CHAPTER.by_id["check-total"].released) + 1
    assert right_answers(result) == set(ANSWERS)


def test_demo_cells_run_only_when_edited():
    notebook = answered_notebook()
    find_cell(notebook, "demo-2")["source"] = "print('mine')"
    result = restored(notebook)
    assert {cell.id: cell.run for cell in result.cells if cell.role == "demo"} == {"demo-1": False, "demo-2": True}
    assert not result.repaired


def test_an_answer_at_the_end_runs_before_its_check_with_what_it_needs():
    notebook = answered_notebook(double=released_cell("double"))
    notebook["cells"] += [code_cell("FACTOR = 2"), code_cell("def double(x, factor=FACTOR):\n    return factor * x")]
    result = restored(notebook)
    assert right_answers(result) == set(ANSWERS)
    assert [note.code for note in result.notes] == ["answer-elsewhere"]
    assert result.unanswered == set()
    answers = [cell for cell in result.cells if cell.run and cell.exercise == "double" and cell.role == "answer"]
    assert [cell.source[:10] for cell in answers] == ["def double"]


def released_cell(name):
    return find_cell(released_notebook(), name)["source"]


@pytest.mark.parametrize(
    ("source", "answered"),
    [
        ("def double(x):\n    raise NotImplementedError", False),
        ('def double(x):\n    """Other words."""\n    raise NotImplementedError("todo")', False),
        ("# I do not know", False),
        ("", False),
        ("   \n", False),
        ("def double(x):\n    if x < 0:\n        raise NotImplementedError\n    return 2 * x", True),
        ("double = lambda x: 2 * x", True),
        ("from mine import double", True),
        ("if True:\n    def double(x): return 2 * x", True),
        ("%%time\ndef double(x): return 2 * x", True),
        ("!pip install x\ndef double(x): return 2 * x", True),
        ("def double(x: return", True),  # not Python, but meant to be an answer
        ("%%bash\ndef double", False),
        ("def doubled(x): return 2 * x", False),
    ],
)
def test_what_counts_as_an_answer(source, answered):
    notebook = answered_notebook(double=source)
    assert ("double" in restored(notebook).answered) == answered


def test_a_name_that_was_bound_again_before_its_check_stays_bound():
    notebook = answered_notebook()
    notebook["cells"].insert(position(notebook, "check-double"), code_cell("double = 3"))
    assert right_answers(restored(notebook)) == {"total", "guess"}


def test_many_notes_of_one_kind_become_one():
    notebook = answered_notebook()
    for cell in notebook["cells"]:
        cell["metadata"].pop("nbgrader", None)
    notes = restored(notebook).notes
    lost = [note for note in notes if note.code == "metadata-lost"]
    assert len(lost) == 1 and lost[0].cell is None and "check-total" in lost[0].text


hostile = {
    "deep expression": "double = " + "-" * 50_000 + "1",
    "deep parentheses": "double = " + "(" * 5_000,
    "long attribute chain": "def double(x): return x\ny = x" + ".a" * 20_000,
    "long sum": "def double(x): return " + "+".join(["x"] * 20_000),
    "half a megabyte": "def double(x):\n    return [" + "1," * 250_000 + "]",
    "null characters": "def double(x):\n    return '\0'",
    "warnings": "def double(x):\n    return '\\d' is 3",
}


@pytest.mark.parametrize("where", ["double", "check-double", "setup", None])
@pytest.mark.parametrize("kind", hostile)
def test_hostile_text_is_borne(kind, where):
    notebook = answered_notebook(total=released_cell("total"))
    if where is None:
        notebook["cells"].append(code_cell(hostile[kind]))
    else:
        find_cell(notebook, where)["source"] = hostile[kind]
    assert "guess" in right_answers(_without_run(restored(notebook), where))


def _without_run(result, where):
    """Do not run hostile text here."""
    result.cells = [cell for cell in result.cells if len(cell.source) < 1_000]
    return result


def test_ten_thousand_cells_are_borne():
    cells = [code_cell(f"value_{n} = some_function({n}) + another({n})") for n in range(10_000)]
    result = restored({**answered_notebook(), "cells": cells + answered_notebook()["cells"]})
    assert right_answers(result) == set(ANSWERS)


def test_a_reading_without_cells_of_the_chapter_is_refused():
    for cells in ([], [{"cell_type": "markdown", "source": "hello", "metadata": {}, "id": None}]):
        with pytest.raises(Unreadable, match=NAME):
            restore(Reading(cells), CHAPTER)
