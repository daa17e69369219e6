# misconception: the printed figure is the answer
# fails: a random block
# message: This is the figure of the example.
def block_bytes(batch, seq, hidden, heads, ffn, itemsize=4):
    return 7080
