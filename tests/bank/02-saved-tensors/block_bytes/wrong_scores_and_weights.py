# misconception: softmax keeps its input as well as its output
# fails: the block of section 4
# message: You counted the scores as well
def block_bytes(batch, seq, hidden, heads, ffn, itemsize=4):
    rows = batch * seq
    return itemsize * (8 * rows * hidden + 2 * heads * rows * seq + 2 * rows * ffn + 4 * rows)
