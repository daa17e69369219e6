# misconception: the square root law holds for every layer
# fails: 48 layers that keep eighteen
# message: kept was not used
def best_segments(n_layers, kept=1):
    return min(range(1, n_layers + 1), key=lambda s: s + -(-n_layers // s))
