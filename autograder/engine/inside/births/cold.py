"""A session that is born cold: this process imports everything for itself, and runs one notebook."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys

from autograder.engine.inside.births.prepare import import_ahead, live_in, prepare
from autograder.engine.inside.cells.streams import capture_descriptors
from autograder.engine.inside.wall import root
from autograder.engine.inside.wall.limits import apply_limits, threads_of_user
from autograder.engine.inside.wire import Wire


def main() -> None:
    """Start as `python -m autograder.engine.inside.births.cold DESCRIPTOR SETTINGS`."""
    channel, settings = int(sys.argv[1]), json.loads(sys.argv[2])
    sys.argv[:], sys.path[0] = [""], ""
    os.closerange(3, channel)
    os.closerange(channel + 1, 1024)
    work, limits = settings["work"] or root.WORK, settings["limits"]
    # A GPU's own memory has no such limit, and its driver maps far more than it uses.
    limits["address_space"] = settings["device"] == "cpu"
    isolated = work == root.WORK
    shell = prepare("/tmp" if isolated else os.path.dirname(work), settings["device"])
    import_ahead(settings["modules"])
    from autograder.engine.inside import kept
    from autograder.engine.inside.session import Session

    live_in(work, "/tmp" if isolated else work)
    shell.ipython_dir = work
    if sys.platform == "linux":
        from autograder.engine.inside.wall.syscalls import PR_SET_CHILD_SUBREAPER, prctl

        prctl(PR_SET_CHILD_SUBREAPER, 1)  # children that detach stay ours to end
    with contextlib.suppress(OSError, ValueError):
        apply_limits(limits, beside=threads_of_user())
    wire, captured = Wire(socket.socket(fileno=channel)), capture_descriptors()
    wire.send({"type": "ready"})
    held = kept.of_run(shell, settings["modules"])
    Session(wire, shell, work, captured, limits["memory"], held).serve()
    os._exit(0)


if __name__ == "__main__":
    main()
