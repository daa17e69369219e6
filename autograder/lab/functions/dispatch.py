"""A dispatch mode that starts at once.

PyTorch wraps `__torch_dispatch__` of every mode so that torch.compile skips it. The wrapper imports torch._dynamo when
it is first called: 0.7 to 2.6 s and some 900 modules (seen with torch 2.13 on 2 cores). Nothing here is compiled.
"""

from __future__ import annotations

from torch.utils._python_dispatch import TorchDispatchMode


class LightMode(TorchDispatchMode):
    """Base class for modes that watch eager operators."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False
