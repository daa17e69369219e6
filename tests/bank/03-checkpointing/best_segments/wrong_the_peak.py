# misconception: the minimum is asked, not where it is
# fails: 64 layers
# message: This is the peak itself.
def best_segments(n_layers, kept=1):
    return min(s + -(-n_layers // s) * kept for s in range(1, n_layers + 1))
