# misconception: q, k and v each keep an input of their own
# fails: the block of section 4
# message: q, k and v share one input
def block_bytes(batch, seq, hidden, heads, ffn, itemsize=4):
    rows = batch * seq
    return itemsize * (10 * rows * hidden + heads * rows * seq + 2 * rows * ffn + 4 * rows)
