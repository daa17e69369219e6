# misconception: forgets the return
# fails: two accumulators at once
# message: If your function returned None, a `return` is missing.
def order(root):
    missing, waiting = ({root: 0}, [root])
    while waiting:
        for n in waiting.pop().next:
            if n is not None:
                if n not in missing:
                    missing[n] = 0
                    waiting.append(n)
                missing[n] += 1
    ready, ran = ([root], [])
    while ready:
        node = max(ready, key=lambda n: n.sequence)
        ready.remove(node)
        ran.append(node)
        for n in node.next:
            if n is not None:
                missing[n] -= 1
                if missing[n] == 0:
                    ready.append(n)
    ran
