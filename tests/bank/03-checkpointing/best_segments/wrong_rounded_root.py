# misconception: the minimum lies at the rounded square root
# fails: 10 layers
# message: Rounding the square root does not see that.
def best_segments(n_layers, kept=1):
    return min(n_layers, round((n_layers * kept) ** 0.5))
