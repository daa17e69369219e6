# misconception: parameters are not saved
# fails: a small layer, as measured
# message: The weight is saved as well
def linear_gelu(batch, d_in, d_out, itemsize=4):
    return [((batch, d_in), batch * d_in * itemsize), ((batch, d_out), batch * d_out * itemsize)]
