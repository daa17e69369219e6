# misconception: the weight is saved as the parameter, of shape (d_out, d_in)
# fails: a small layer, as measured
# fails: another layer
# message: The product sees the transposed weight
def linear_gelu(batch, d_in, d_out, itemsize=4):
    shapes = [(batch, d_in), (d_out, d_in), (batch, d_out)]
    return [(shape, shape[0] * shape[1] * itemsize) for shape in shapes]
