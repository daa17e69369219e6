# misconception: the minimum lies at the rounded square root
# fails: 10 layers
# message: Rounding the square root does not see that.
def best_segments(n_layers):
    return round(n_layers**0.5)
