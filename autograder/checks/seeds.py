"""Seeds that follow from names: the same run seed and the same name give the same numbers, whatever ran before."""

from __future__ import annotations

import hashlib
import random
import sys

PRACTICE = 0  #: the seed of a learner's own run; grading picks another


def derive(*parts: object) -> int:
    """A 32-bit seed from any parts, for example (run seed, cell id)."""
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:4], "big")


def seed_everything(*parts: object) -> None:
    """Seed random, and numpy and torch where they are imported, from `derive(*parts)`."""
    value = derive(*parts)
    random.seed(value)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(value)
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        torch.default_generator.manual_seed(
            value
        )  # torch.manual_seed takes 100 times as long to note it for absent devices
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(value)
