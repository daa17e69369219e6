# a generator
from collections.abc import Iterator


def walk(fn) -> list[tuple[int, str]]:
    def outline(node, depth=0) -> Iterator[tuple[int, str]]:
        yield depth, type(node).__name__
        for pair in node.next_functions:
            if pair[0]:
                yield from outline(pair[0], depth + 1)

    return list(outline(fn))
