def block_bytes(batch, seq, hidden, heads, ffn, itemsize=4):
    n = batch * seq * hidden
    attention = n + n + 3 * n + n  # x, norm1(x), q k v, what `out` reads
    mlp = n + n + 2 * batch * seq * ffn  # the first sum, its norm, gelu's input and output
    probabilities = heads * batch * seq**2
    statistics = 2 * 2 * batch * seq
    return itemsize * (attention + mlp + probabilities + statistics)
