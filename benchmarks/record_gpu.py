"""`make gpu`: every chapter on CUDA, and the measurements that chapters show, in one run of less than eight minutes.

Beside this project it needs torch, triton and matplotlib, nothing else. On a machine that has just those:

    python -m benchmarks.record_gpu --out results

Without a GPU it is a dry run: everything is executed on the CPU at the smallest sizes, and no figure is kept.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.gpu import chapters as scripts

LIMIT = 460.0  #: seconds for the whole run
CHAPTER_LIMIT = 120.0  #: seconds for one chapter


def main(arguments: list[str] | None = None) -> int:
    """Run; 0 when every chapter and every measurement went well, else 1."""
    options = _options(arguments)
    begin = time.monotonic()
    if options.dry_run:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if not scripts.HAS_GRAPHVIZ:
        sys.path.append(str(scripts.STAND_IN))
    import torch

    from autograder.lab.machine.recordings import FILE, record, show_recording
    from autograder.lab.machine.runtime import device_name, driver, versions

    gpu = torch.cuda.is_available()
    out = options.out or Path(tempfile.mkdtemp(prefix="record-gpu-"))
    out.mkdir(parents=True, exist_ok=True)
    print(f"{device_name()}, driver {driver() or 'none'}, {versions()}", flush=True)
    if not gpu:
        print("There is no GPU here. This is a dry run: smallest sizes, no figure is kept.", flush=True)

    measured, faults = _measure(dry=not gpu, only=options.only)
    file = out / ("recordings.json" if gpu else "dry-run.json")
    record(measured, file=file)
    for name in measured:
        print(f"\n{name}\n{show_recording(name, file=file)!r}", flush=True)
    for chapter in options.chapters if options.chapters is not None else scripts.names():
        left = LIMIT - (time.monotonic() - begin) if gpu else CHAPTER_LIMIT
        outcome = scripts.run(chapter, out / f"{chapter}.log", max(1.0, min(CHAPTER_LIMIT, left)), gpu=gpu)
        print(f"{chapter}: {outcome.passed} exercises pass, {outcome.seconds:.0f} s", flush=True)
        faults += outcome.faults

    for fault in faults:
        print(f"FAULT  {fault}", flush=True)
    print(f"{time.monotonic() - begin:.0f} s in all; logs and figures are in {out}.")
    complete = options.chapters is None and options.only is None
    if gpu and complete and not faults and options.out is None:
        FILE.write_bytes(file.read_bytes())
        print(f"Recorded in {FILE}. Build the notebooks again and commit both.")
    elif gpu:
        print(f"The course's own recordings were left as they are. To take these: copy {file} to {FILE}.")
    return 1 if faults else 0


def _measure(dry: bool, only: list[str] | None) -> tuple[dict[str, tuple[str, dict[str, Any]]], list[str]]:
    """Every measurement; one that fails is a fault and does not stop the others."""
    from autograder.lab import load_triton

    load_triton()  # decides between compiling and interpreting, so before anybody else imports Triton
    from benchmarks.gpu import activations, bandwidth, host, segments, step
    from benchmarks.gpu.machine import Machine

    every: dict[str, tuple[str, Callable[[Machine], dict[str, Any]]]] = {
        "02-saved-tensors": (activations.WHAT, activations.measure),  # first: it sees workspaces come
        "03-checkpointing": (segments.WHAT, segments.measure),
        "07-training-ledger": (step.WHAT, step.measure),
        "04-silu-mul": (bandwidth.WHAT, bandwidth.measure),
        "01-launches": (host.LAUNCHES, host.launches),
        "05-modes": (host.MODES, host.modes),
        "06-backward-engine": (host.THREADS, host.threads),
    }
    measured: dict[str, tuple[str, dict[str, Any]]] = {}
    faults = []
    for name, (what, measure) in every.items():
        if only is not None and name not in only:
            continue
        begin = time.monotonic()
        machine = Machine.here(dry)
        try:
            measured[name] = (what, measure(machine))
            print(f"measured {name}, {time.monotonic() - begin:.1f} s", flush=True)
        except Exception as error:
            traceback.print_exc()
            faults.append(
                f"{name} was not measured: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            )
        machine.clear()
    return measured, faults


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record_gpu", description=__doc__.partition("\n")[0])
    parser.add_argument("--dry-run", action="store_true", help="leave the GPU alone, also where there is one")
    parser.add_argument(
        "--out", type=Path, help="folder for figures and logs; the course's recordings are left as they are"
    )
    parser.add_argument("--chapters", nargs="*", metavar="NAME", help="run these chapters only (none: measure only)")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="measure these only")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
