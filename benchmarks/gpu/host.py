"""What the host does beside the device: launching (chapter 01), choosing a mode (05), running backward (06)."""

from __future__ import annotations

import threading
from typing import Any

import torch

from autograder.lab.machine.launches import launch_times
from autograder.lab.machine.modes import mode_costs
from benchmarks.gpu.machine import Machine

LAUNCHES = "Eight products of 4096 x 4096 matrices, float32: milliseconds until the call returns, and until the device has finished."
MODES = "Median nanoseconds per call on tensors of eight elements, the device awaited after every 50 calls."
THREADS = "In which thread backward runs a node."


def launches(machine: Machine) -> dict[str, dict[str, float]]:
    """Chapter 01: when forward and backward return, and when they are finished."""
    found = launch_times(64, 2, 1, "cpu") if machine.dry else launch_times()
    return {kind: {f"{end}, ms": value for end, value in times.items()} for kind, times in found.items()}


def modes(machine: Machine) -> dict[str, dict[str, float]]:
    """Chapter 05: small operations under the three modes."""
    small = torch.ones(8, device=machine.device)
    parameter = torch.ones(8, device=machine.device, requires_grad=True)
    ops = {
        "add": lambda: small + small,
        "add_ in place": lambda: small.add_(0),
        "slice [:4]": lambda: small[:4],
        "mul with a parameter": lambda: small * parameter,
    }
    costs = mode_costs(ops, rounds=1 if machine.dry else 30)
    return {op: {f"{mode}, ns": value for mode, value in row.items()} for op, row in costs.median.items()}


def threads(machine: Machine) -> dict[str, dict[str, Any]]:
    """Chapter 06: whether a node runs in the thread that called backward."""
    return {
        device: {"runs in": "the calling thread" if _calling_thread(device) else "a thread of the engine"}
        for device in dict.fromkeys(("cpu", machine.device.type))
    }


def _calling_thread(device: str) -> bool:
    seen: list[int] = []
    t = torch.ones(3, device=device, requires_grad=True)
    loss = (t * 2).sum()
    loss.grad_fn.next_functions[0][0].register_prehook(lambda grads: seen.append(threading.get_ident()))
    loss.backward()
    return seen == [threading.get_ident()]
