# misconception: the printed figures are the answer
# fails: a small layer, as measured
# message: These are the figures of the text.
def linear_gelu(batch, d_in, d_out, itemsize=4):
    return [((8, 4096), 131072), ((4096, 4096), 67108864), ((8, 4096), 131072)]
