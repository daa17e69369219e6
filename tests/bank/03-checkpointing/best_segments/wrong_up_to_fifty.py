# misconception: believes that nobody needs more than fifty segments
# fails: hundreds of layers
# message: up to a limit
def best_segments(n_layers):
    return min(range(1, min(n_layers, 50) + 1), key=lambda s: s + -(-n_layers // s))
