# misconception: of equals any will do
# fails: 10 layers
# message: but 2 is smaller
def best_segments(n_layers, kept=1):
    return max(range(1, n_layers + 1), key=lambda s: (-(s + -(-n_layers // s) * kept), s))
