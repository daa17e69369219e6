"""The little world of chapter 06: tensors, nodes and rules without an engine. Imports no torch, but for `against_torch`.

Begin with `world`, then `arrays`; `against_torch` asks torch the same question, `counted` counts steps, `ready_queue` draws them.
"""
