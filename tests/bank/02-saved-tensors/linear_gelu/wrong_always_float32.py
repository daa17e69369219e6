# misconception: an element has four bytes
# fails: another element size
# message: itemsize need not be 4
def linear_gelu(batch, d_in, d_out, itemsize=4):
    shapes = [(batch, d_in), (d_in, d_out), (batch, d_out)]
    return [(shape, shape[0] * shape[1] * 4) for shape in shapes]
