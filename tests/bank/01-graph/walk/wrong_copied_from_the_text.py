# misconception: hard-coded figures from the text
# fails: a tower of operations
# message: The last operation is the root.
def walk(fn):
    return [(0, "SumBackward0"), (1, "MulBackward0"), (2, "AccumulateGrad"), (2, "AccumulateGrad")]
