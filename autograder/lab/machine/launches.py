"""How long the host is busy with a step, and how long the device: on a GPU the two differ."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import torch


def _milliseconds(call: Callable[[], object], wait: bool) -> float:
    _synchronize()
    begin = time.perf_counter()
    call()
    if wait:
        _synchronize()
    return (time.perf_counter() - begin) * 1e3


def _synchronize() -> None:
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def launch_times(
    size: int = 4096, layers: int = 8, repeats: int = 5, device: str = "cuda"
) -> dict[str, dict[str, float]]:
    """Time forward and backward of a chain of matrix products.

    Parameters
    ----------
    size : int
        Side of the square matrices, float32.
    layers : int
        Products in the chain.
    repeats : int
        The median of so many runs, after one that is not counted.
    device : str
        The current CUDA device unless given. On "cpu" a call returns when it is finished.

    Returns
    -------
    dict
        For "forward" and "backward" the milliseconds until the call "returns" and until the GPU has "finished".

    Raises
    ------
    RuntimeError
        If a CUDA device is asked for and there is none.
    """
    if device != "cpu" and not torch.cuda.is_available():
        raise RuntimeError("launch_times needs a CUDA device; there is none here.")
    weights = [torch.randn(size, size, device=device, requires_grad=True) for _ in range(layers)]
    x = torch.randn(size, size, device=device)

    def forward() -> torch.Tensor:
        out = x
        for weight in weights:
            out = out @ weight / size**0.5
        return out.sum()

    found: dict[str, dict[str, float]] = {"forward": {}, "backward": {}}
    for name, wait in (("returns", False), ("finished", True)):
        times: dict[str, list[float]] = {"forward": [], "backward": []}
        for _ in range(repeats + 1):
            times["forward"].append(_milliseconds(forward, wait))
            times["backward"].append(_milliseconds(forward().backward, wait))
        for kind, values in times.items():
            found[kind][name] = median(values[1:])
    return found
