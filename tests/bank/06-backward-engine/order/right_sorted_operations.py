def order(root):
    # A consumer is always younger than what it consumes, so operations run from young to old.
    reached, waiting = {root}, [root]
    while waiting:
        for n in waiting.pop().next:
            if n is not None and n not in reached:
                reached.add(n)
                waiting.append(n)
    operations = sorted((n for n in reached if n.leaf is None), key=lambda n: n.sequence, reverse=True)
    last_consumer = {n: op for op in operations for n in op.next if n is not None and n.leaf is not None}
    ran = [] if operations else [root]
    for op in operations:
        ran.append(op)
        for n in op.next:
            if n is not None and last_consumer.get(n) is op and n not in ran[-2:]:
                ran.append(n)
    return ran
