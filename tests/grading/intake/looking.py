"""Students' folders, and what `find` makes of them."""

from autograder.grading.intake.handins import find
from tests.grading.corpus import Files, encode, write
from tests.grading.small_chapter import NAME, answered_notebook, other_chapter, small_chapter

OTHER = "02-other"
CHAPTERS = {NAME: small_chapter(), OTHER: other_chapter()}
WHOLE = encode(answered_notebook())


def hand_in(root, **students):
    for student, files in students.items():
        write(root / student, Files(files) if isinstance(files, dict) else files)
    return root


def found(root, chapter=NAME, **options):
    return {handin.student: handin for handin in find(root, CHAPTERS, **options) if handin.chapter == chapter}
