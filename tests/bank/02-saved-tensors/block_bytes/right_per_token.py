def block_bytes(batch: int, seq: int, hidden: int, heads: int, ffn: int, itemsize: int = 4) -> int:
    per_token = sum([8 * hidden, heads * seq, 2 * ffn, 4])
    return per_token * seq * batch * itemsize
