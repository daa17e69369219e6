# misconception: only equal segments count
# fails: small chains
# message: The ceiling makes steps
def best_segments(n_layers, kept=1):
    divisors = [s for s in range(1, n_layers + 1) if n_layers % s == 0]
    return min(divisors, key=lambda s: s + n_layers // s * kept)
