# misconception: LayerNorm keeps its input only
# fails: the block of section 4
# message: The statistics are missing
def block_bytes(batch, seq, hidden, heads, ffn, itemsize=4):
    rows = batch * seq
    return itemsize * (8 * rows * hidden + heads * rows * seq + 2 * rows * ffn)
