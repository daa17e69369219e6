"""A course on PyTorch's autograd, and the autograder that grades its notebooks."""

__version__ = "0.1.0"
