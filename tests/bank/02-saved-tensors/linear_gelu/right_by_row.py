def linear_gelu(batch, d_in, d_out, itemsize=4):
    x = ((batch, d_in), batch * d_in * itemsize)
    weight = ((d_in, d_out), d_in * d_out * itemsize)
    before_gelu = ((batch, d_out), batch * d_out * itemsize)
    return [x, weight, before_gelu]
