# misconception: there is one attention matrix for all heads
# fails: the block of section 4
# message: one [seq, seq] matrix per head
def block_bytes(batch, seq, hidden, heads, ffn, itemsize=4):
    rows = batch * seq
    return itemsize * (8 * rows * hidden + rows * seq + 2 * rows * ffn + 4 * rows)
