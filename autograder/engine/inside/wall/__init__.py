"""The wall around a run: namespaces, a root folder of its own, limits, a filter on system calls.

Imports nothing but the standard library and `inside.memory`. Begin with `isolate`.
"""
