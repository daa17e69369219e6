# misconception: believes that nobody needs more than fifty segments
# fails: hundreds of layers
# fails: 60 layers that keep much
# message: up to a limit
def best_segments(n_layers, kept=1):
    return min(range(1, min(n_layers, 50) + 1), key=lambda s: s + -(-n_layers // s) * kept)
