"""The child's side of a birth: the parent that children are forked from, the process that starts cold, what both import.

Imports `inside`, `checks` and `lab`. Begin with `zygote` or `cold`.
"""
