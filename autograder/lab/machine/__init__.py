"""What this machine is and what was measured on others: devices, clocks, launches, modes, recordings. Imports torch.

Begin with `runtime`; `recordings` keeps and shows what a GPU measured.
"""
