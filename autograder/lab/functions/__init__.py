"""What a custom Function owes its callers. Imports torch, and triton where it is there.

`contract` is the door: it puts a Function through the `clauses`, each a `trial`. `backward` calls a backward outside the engine,
`guard` surrounds tensors with sentinels, `kernels` loads Triton.
"""
