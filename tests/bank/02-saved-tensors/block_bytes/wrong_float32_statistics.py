# misconception: LayerNorm statistics are float32 whatever the block's dtype
# fails: half the element size
# fails: float64
# message: the statistics too
def block_bytes(batch, seq, hidden, heads, ffn, itemsize=4):
    rows = batch * seq
    return itemsize * (8 * rows * hidden + heads * rows * seq + 2 * rows * ffn) + 4 * 4 * rows
