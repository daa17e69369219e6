"""The repository root is an nbgrader course: source/NN-topic/NN-topic.ipynb becomes notebooks/NN-topic/NN-topic.ipynb.

nbgrader's own commands and formgrader read this file when they run here.
"""

from nbgrader import preprocessors as steps

from autograder.authoring.release_cells import FinishChecks, FoldCells
from autograder.authoring.stubs import ClearSolutions

c = get_config()  # noqa: F821  # traitlets puts get_config here; importing it would give another object

c.CourseDirectory.course_id = "autograd"
c.CourseDirectory.source_directory = "source"
c.CourseDirectory.release_directory = "notebooks"
c.CourseDirectory.submitted_directory = "submitted"
c.CourseDirectory.autograded_directory = "autograded"
c.CourseDirectory.feedback_directory = "feedback"

# What handing in late costs. "none" takes nothing off, "zero" takes all; a plugin of your own can do anything between.
# c.LateSubmissionPlugin.penalty_method = "zero"

# nbgrader's own steps, with our stub for answers at the left margin, our look of check cells, and without its templated tests.
c.GenerateAssignment.preprocessors = [
    steps.LockCells,
    ClearSolutions,
    steps.ClearOutput,
    steps.CheckCellMetadata,
    steps.ComputeChecksums,
    steps.SaveCells,
    steps.ClearHiddenTests,
    steps.ClearMarkScheme,
    FinishChecks,
    FoldCells,
    steps.ComputeChecksums,
    steps.CheckCellMetadata,
]
