def plan(layers, budget):
    # A table from bytes to the least FLOPs, thinned after each layer; choices are read off by going back.
    tables = [{0: (0, None, None)}]
    for layer in layers:
        found = {}
        for held, (redone, _, _) in tables[-1].items():
            for name, (more, again) in layer.items():
                size, work = held + more, redone + again
                if size <= budget and (size not in found or work < found[size][0]):
                    found[size] = (work, held, name)
        thinned, least = {}, None
        for size in sorted(found):
            if least is None or found[size][0] < least:
                thinned[size] = found[size]
                least = found[size][0]
        tables.append(thinned)
    if not tables[-1]:
        raise ValueError("nothing fits")
    size = max(tables[-1])
    chosen = []
    for table in reversed(tables[1:]):
        _, before, name = table[size]
        chosen.append(name)
        size = before
    return chosen[::-1]
