"""Cells that a parent runs before it is copied, so that what they import and cache is there in every copy."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from autograder.engine.inside.cells.shell import Shell, runner
from autograder.engine.inside.snapshot import Observer

_REHEARSAL = """
def fail():
    raise ValueError
--
fail()
--
import asyncio
await asyncio.sleep(0)
--
import matplotlib.pyplot as plt
plt.plot([0.5, 1.5], label="$x$"); plt.legend(); plt.title("rehearsal")
--
%time None
--
{"a": [1.0, 2.0]}
--
import tempfile, torch
from pathlib import Path
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2))
with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda packed: packed):
    out = (net(torch.randn(3, 4)).exp() * 2).sum()
out.grad_fn.next_functions, repr(out), [torch.equal(p, p.clone()) for p in net.parameters()]
with tempfile.TemporaryDirectory() as folder:
    torch.save(net.state_dict(), Path(folder) / "state.pt")
    net.load_state_dict(torch.load(*Path(folder).rglob("*")))
with torch.no_grad():
    net(torch.randn(3, 4))
"""
_CHECK = "check('rehearsal', lambda: [torch.ones(2), (1, 'a', 2.5, None)])\ncheck('error', lambda: 1 / 0)"


def rehearse(shell: Shell) -> None:
    """Run cells of every kind, so that what they import or cache is there before the first fork. No backward: the engine of
    autograd would start threads."""
    streams = sys.stdout, sys.stderr
    with open(os.devnull, "w") as nowhere:
        sys.stdout = sys.stderr = nowhere
        shell.desk = _Nobody()
        run = runner(shell)
        for cell in _REHEARSAL.split("--\n"):
            run(cell)
        order = {"id": "rehearsal", "exercise": None, "seed": 0}
        Observer(order, shell.user_ns, lambda message: json.dumps(message)).run({"source": _CHECK})
        run.keywords["loop"].close()
        sys.stdout, sys.stderr = streams
    shell.reset(new_session=True)
    asyncio.set_event_loop(None)


class _Nobody:
    """A desk that keeps nothing."""

    def post(self, message: dict[str, Any]) -> None: ...

    def flush(self) -> None: ...
