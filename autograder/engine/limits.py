"""What one run may use of the machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Limits:
    """What one run may use.

    Attributes
    ----------
    memory : int
        Bytes that the processes of a run may hold together, and that each may map beyond what it starts with.
    disk : int
        Bytes of the work folder, the temporary folder and shared memory together.
    file, descriptors, processes, cpu
        Bytes of one file, open files of a process, processes and threads of a run, seconds of processor time of a
        process.
    grace : float
        Seconds between asking a cell to stop and ending its run.
    """

    memory: int = 4 * 2**30
    disk: int = 256 * 2**20
    file: int = 128 * 2**20
    descriptors: int = 256
    processes: int = 64
    cpu: int = 600
    grace: float = 2.0

    def as_dict(self) -> dict[str, float]:
        """As JSON."""
        return asdict(self)
