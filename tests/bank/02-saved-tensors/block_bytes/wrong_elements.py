# misconception: elements are bytes
# fails: the block of section 4
# message: These are elements.
def block_bytes(batch, seq, hidden, heads, ffn, itemsize=4):
    rows = batch * seq
    return 8 * rows * hidden + heads * rows * seq + 2 * rows * ffn + 4 * rows
