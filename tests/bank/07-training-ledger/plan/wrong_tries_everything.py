# misconception: tries every combination
# fails: 64 layers and real sizes
# message: Keep only partial choices
import itertools


def plan(layers, budget):
    best = None
    for choice in itertools.product(("keep", "selective", "full"), repeat=len(layers)):
        prices = [layer[name] for layer, name in zip(layers, choice)]
        if sum(held for held, _ in prices) <= budget:
            redone = sum(again for _, again in prices)
            if best is None or redone < best[0]:
                best = (redone, list(choice))
    if best is None:
        raise ValueError("nothing fits")
    return best[1]
