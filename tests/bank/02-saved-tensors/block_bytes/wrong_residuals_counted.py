# misconception: a residual addition keeps a tensor
# fails: the block of section 4
# message: A residual addition keeps nothing
def block_bytes(batch, seq, hidden, heads, ffn, itemsize=4):
    rows = batch * seq
    return itemsize * (9 * rows * hidden + heads * rows * seq + 2 * rows * ffn + 4 * rows)
