"""Every right answer of the bank gets full marks; every wrong one loses at the check that names its fault, with its message."""

import pytest

from autograder.authoring.source import source_names
from autograder.authoring.verify import verify
from autograder.grading.jobs import missing_package
from autograder.pipeline import open_course
from tests.bank_lib import entries, faults
from tests.mini_course import ROOT

CHAPTERS = source_names(ROOT)


@pytest.fixture(scope="module", params=CHAPTERS)
def chapter(request):
    return open_course(ROOT, [request.param]).chapters[request.param]


def test_the_reference_observes_what_the_checks_expect(chapter, engine):
    assert verify(chapter, engine).broken == []


def test_every_exercise_has_two_right_and_four_wrong_answers(chapter):
    found = entries(chapter.name)
    for exercise in chapter.exercises:
        mine = [entry for entry in found if entry.exercise == exercise]
        assert sum(entry.right for entry in mine) >= 2, exercise
        assert sum(not entry.right for entry in mine) >= 4, exercise
    assert {entry.exercise for entry in found} <= set(chapter.exercises)


def test_the_bank_is_judged_as_its_heads_say(chapter, engine):
    found = entries(chapter.name)
    trouble, judged = [], 0
    for entry, _, problems in faults(chapter, found, engine):
        judged += 1
        trouble += [f"{entry.exercise}/{entry.path.name}: {problem}" for problem in problems]
    assert judged == sum(
        missing_package(cell) is None for e in found for cell in chapter.checks if cell.exercise == e.exercise
    )
    assert trouble == []
