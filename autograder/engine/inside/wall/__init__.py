"""The wall around a run: namespaces, a root folder of its own, limits, a filter on system calls.

Imports the standard library, `inside.exhaustion` and `inside.births.memory`. Begin with `isolate`.
"""
