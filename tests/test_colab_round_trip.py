"""A notebook that Colab has saved: other ids, other format, marks of its own everywhere. It is graded as any other."""

import copy
import json
from pathlib import Path

import nbformat
import pytest

from autograder.grading.book.gradebook import Book
from autograder.grading.campaign import Campaign
from autograder.grading.references import observe_references
from autograder.pipeline import open_course
from benchmarks.colab.notebooks import filled
from benchmarks.colab.saves import as_colab_saves
from tests import mini_course

ROOT = Path(__file__).parents[1]
CHAPTER = "06-backward-engine"  # needs nothing that this machine may lack, and has answers of every kind
OUTPUT = {"output_type": "stream", "name": "stdout", "text": ["said\n"]}


def ran(notebook):
    """The notebook with numbers and outputs, as after a run."""
    found = copy.deepcopy(notebook)
    for number, cell in enumerate(c for c in found["cells"] if c["cell_type"] == "code"):
        cell |= {"execution_count": number + 1, "outputs": [OUTPUT]}
    return found


def grade(engine, root, names, submitted, folder):
    course = open_course(root, names)
    references = observe_references(engine, course.chapters.values(), 17)
    folder.mkdir(exist_ok=True)
    with Book.open(f"sqlite:///{folder / 'gradebook.db'}", course.course_id, folder / "autograded") as book:
        for chapter in course.chapters.values():
            book.register(chapter)
        return Campaign(course, engine, book, references, 17).run(submitted).submissions


def test_what_colab_saves_is_notebook_format_4_0_without_ids_of_its_own(course):
    saved = as_colab_saves(ran(mini_course.filled(course, mini_course.RIGHT)))
    assert (saved["nbformat"], saved["nbformat_minor"]) == (4, 0)
    assert not any("id" in cell for cell in saved["cells"])
    assert len({cell["metadata"]["id"] for cell in saved["cells"]}) == len(saved["cells"])
    code = [cell for cell in saved["cells"] if cell["cell_type"] == "code"]
    assert all("outputId" in cell["metadata"] and "colab" in cell["metadata"] for cell in code)
    assert all(isinstance(cell["source"], list) for cell in saved["cells"])
    nbformat.validate(nbformat.from_dict(saved))


def test_rewriting_keeps_sources_outputs_and_the_graders_metadata_and_leaves_its_argument(course):
    before = ran(mini_course.filled(course, mini_course.RIGHT))
    kept = copy.deepcopy(before)
    saved = as_colab_saves(before)
    assert before == kept
    for old, new in zip(before["cells"], saved["cells"], strict=True):
        assert "".join(new["source"]) == "".join(old["source"])
        assert new.get("outputs") == old.get("outputs")
        assert new["metadata"].get("nbgrader") == old["metadata"].get("nbgrader")


@pytest.mark.parametrize("finish", [ran, lambda notebook: notebook], ids=["run", "not run"])
def test_the_small_course_saved_by_colab_has_full_marks(course, engine, tmp_path, finish):
    saved = as_colab_saves(finish(mini_course.filled(course, mini_course.RIGHT)))
    mini_course.hand_in(course, "s01", saved)
    (result,) = grade(engine, course, [mini_course.NAME], course / "submitted", tmp_path / "out")
    assert (result.status, result.score, result.max_score) == ("graded", 5.0, 5.0)


def test_a_wrong_answer_saved_by_colab_loses_what_it_would_lose_elsewhere(course, engine, tmp_path):
    notebook = mini_course.filled(course, {**mini_course.RIGHT, "double": "def double(n):\n    return n\n"})
    mini_course.hand_in(course, "plain", notebook)
    mini_course.hand_in(course, "colab", as_colab_saves(ran(notebook)))
    results = grade(engine, course, [mini_course.NAME], course / "submitted", tmp_path / "out")
    assert [result.score for result in results] == [1.0, 1.0]


def test_a_chapter_saved_by_colab_has_full_marks(engine, tmp_path):
    if not (ROOT / "source" / f"{CHAPTER}.py").exists():
        pytest.skip(f"there is no chapter {CHAPTER}")
    chapter = open_course(ROOT, [CHAPTER]).chapters[CHAPTER]
    release = json.loads((ROOT / "notebooks" / CHAPTER / f"{CHAPTER}.ipynb").read_text(encoding="utf-8"))
    path = tmp_path / "submitted" / "s01" / CHAPTER / f"{CHAPTER}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(as_colab_saves(ran(filled(release, chapter)))), encoding="utf-8")
    (result,) = grade(engine, ROOT, [CHAPTER], tmp_path / "submitted", tmp_path / "out")
    assert result.status == "graded"
    assert result.score == result.max_score > 0
