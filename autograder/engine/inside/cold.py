"""A session in a fresh process: started by exec, behind bubblewrap or without a wall, for one notebook.

It needs neither namespaces of its own nor /proc nor pidfds, so it also runs where the warm engine does not: where namespaces are
refused, on macOS, and with CUDA, which no fork can use.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys

from autograder.engine.inside.isolate import WORK, apply_limits, threads_of_user
from autograder.engine.inside.prepare import live_in, prepare
from autograder.engine.inside.streams import capture_descriptors
from autograder.engine.inside.wire import Wire


def main() -> None:
    """Start as `python -m autograder.engine.inside.cold DESCRIPTOR WORK LIMITS DEVICE`, in the work folder."""
    channel, work, limits, device = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), sys.argv[4]
    sys.argv[:], sys.path[0] = [""], ""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wire = Wire(socket.socket(fileno=channel))
    shell = prepare(work, device)
    from autograder.engine.inside.foundation import Foundation
    from autograder.engine.inside.session import Session

    foundation, captured = Foundation(shell), capture_descriptors()
    live_in(work, "/tmp" if work == WORK else work)
    with contextlib.suppress(OSError):
        apply_limits(limits, beside=threads_of_user())
    if sys.platform == "linux":
        from autograder.engine.inside.syscalls import PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, prctl

        prctl(PR_SET_CHILD_SUBREAPER, 1)  # children that detach stay ours to end
        if work == WORK:
            prctl(PR_SET_DUMPABLE, 0)  # a copy cannot write into this process
    wire.send({"type": "ready", "missing": []})
    Session(wire, shell, work, captured, limits["memory"], foundation).serve()
    os._exit(0)


if __name__ == "__main__":
    main()
