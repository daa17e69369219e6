"""The learner's judge: a parent for one notebook says what the grader's says, and files of answers are recognized."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.engine import open_engine
from autograder.grading.course import CourseError
from autograder.grading.learner import check_file, released_chapters
from autograder.pipeline import open_course
from tests.sample_class import fill

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def course():
    return open_course(ROOT, sorted(path.stem for path in (ROOT / "source").glob("*.py"))).chapters


@pytest.fixture(scope="module")
def released(course):
    return released_chapters(ROOT)


@pytest.fixture(scope="module")
def lean():
    with open_engine(jobs=1) as opened:
        yield opened


def answers_of(chapter):
    return {cell.id: cell.source for cell in chapter.cells if cell.role == "answer"}


def verdict(judged):
    return [(exercise.id, exercise.score, exercise.checks) for exercise in judged.exercises], judged.notes


def test_one_notebook_is_judged_as_in_a_class(engine, lean, course, released, tmp_path):
    for name, chapter in course.items():
        release = json.loads((ROOT / "notebooks" / name / f"{name}.ipynb").read_text(encoding="utf-8"))
        path = tmp_path / f"{name}.ipynb"
        answers = answers_of(chapter)
        path.write_text(json.dumps(fill(release, answers)), encoding="utf-8")
        judged = check_file(lean, released, path)
        assert judged.score == judged.max_score > 0
        assert verdict(judged) == verdict(check_file(engine, released, path))
        path.write_text(json.dumps(fill(release, dict(list(answers.items())[::2]))), encoding="utf-8")
        half = check_file(lean, released, path)
        assert half.score < half.max_score or len(answers) == 1
        assert verdict(half) == verdict(check_file(engine, released, path))


def test_the_command_imports_nothing_that_only_the_grader_needs(tmp_path):
    program = (
        "import sys\nfrom autograder.cli.main import main\ntry:\n    main(['check', '00-start', '--root', sys.argv[1]])\n"
        "finally:\n    print([n for n in ('torch', 'nbgrader', 'sqlalchemy', 'nbformat', 'jsonschema') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program, str(ROOT)], cwd=tmp_path, capture_output=True, text=True)
    assert "00-start" in done.stdout and done.stdout.endswith("\n[]\n")


def test_a_file_of_answers_is_known_by_the_names_that_it_binds(lean, course, released, tmp_path):
    path = tmp_path / "mine.py"
    for name in ("00-start", "06-backward-engine"):
        path.write_text("\n\n".join(answers_of(course[name]).values()), encoding="utf-8")
        judged = check_file(lean, released, path)
        assert (judged.chapter, judged.score) == (name, judged.max_score)


def test_a_file_that_binds_nothing_of_the_course_is_refused(lean, released, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("something = 1\n", encoding="utf-8")
    with pytest.raises(CourseError, match="belongs to no chapter"):
        check_file(lean, released, path)
