# misconception: what is saved can be read off the graph when fn has returned
# fails: fn runs backward itself
# message: You read the graph after fn had run
def saved_bytes(fn, *args):
    out = fn(*args)
    todo, seen, sizes = [getattr(out, "grad_fn", None)], set(), []
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        for name in dir(node):
            if name.startswith("_saved_"):
                value = getattr(node, name)
                if isinstance(value, torch.Tensor):
                    sizes.append(value.numel() * value.element_size())
        todo.extend(parent for parent, _ in node.next_functions)
    return len(sizes), sum(sizes)
