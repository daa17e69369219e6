"""From source text to the student release."""

import autograder.grading  # noqa: F401  # which see: before anything imports jsonschema
