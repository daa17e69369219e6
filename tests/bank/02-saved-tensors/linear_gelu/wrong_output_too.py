# misconception: GELU keeps its output as well
# fails: a small layer, as measured
# message: GELU keeps its input only.
def linear_gelu(batch, d_in, d_out, itemsize=4):
    shapes = [(batch, d_in), (d_in, d_out), (batch, d_out), (batch, d_out)]
    return [(shape, shape[0] * shape[1] * itemsize) for shape in shapes]
