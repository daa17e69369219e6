"""How one cell runs: a shell and streams whose outputs are a Jupyter kernel's.

Imports IPython and `inside.wire`. Begin with `shell`.
"""
