"""The parts that touch no process: messages, outputs, and what happens to a job whose cell had to be killed."""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from dataclasses import replace

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.engine.api import Cell, CellRun, Job
from autograder.engine.inside.wire import LARGEST, Inbox, Wire, WireError
from autograder.engine.outputs import Collector, clean
from autograder.engine.schedule import Attempt, SharedOrAlone, run_all, run_job

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def packed(message: object) -> bytes:
    body = json.dumps(message).encode()
    return struct.pack("<I", len(body)) + body


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.text(), json_values, max_size=3), max_size=5), st.data())
def test_messages_arrive_whatever_the_pieces(messages: list[dict], data: st.DataObject) -> None:
    stream = b"".join(map(packed, messages))
    inbox, got = Inbox(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        inbox.feed(stream[:size])
        stream = stream[size:]
        while (message := inbox.next()) is not None:
            got.append(message)
    assert got == messages


@pytest.mark.parametrize(
    "body",
    [b"[1]", b"not json", b"\xff\xfe", b"[" * 100_000, b"1" * 5000, b"3", b'{"a":[' + b"[]," * 3_000_000 + b"0]}"],
    ids=["list", "text", "bytes", "nest", "digits", "number", "parts"],
)
def test_what_is_no_message_is_refused(body: bytes) -> None:
    inbox = Inbox()
    inbox.feed(struct.pack("<I", len(body)) + body)
    with pytest.raises(WireError):
        inbox.next()


def test_a_message_that_is_too_long_is_not_sent() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with pytest.raises(WireError) as caught:
            Wire(ours).send({"text": "x" * LARGEST})
        assert caught.value.size > LARGEST
        Wire(ours).send({"text": "x"})
        assert Wire(theirs).receive() == {"text": "x"}


def test_numbers_that_no_json_file_can_hold_become_text() -> None:
    nested = {"a": [float("inf"), {"b": float("nan")}, 1.5]}
    assert json.loads(json.dumps(clean(nested), allow_nan=False)) == {"a": ["inf", {"b": "nan"}, 1.5]}


def test_a_message_that_is_too_long_is_refused_before_it_is_read() -> None:
    inbox = Inbox()
    inbox.feed(struct.pack("<I", LARGEST + 1))
    with pytest.raises(WireError):
        inbox.next()


kinds = st.sampled_from(
    ["stream", "display_data", "execute_result", "update_display_data", "clear_output", "error", "observation", "x"]
)
hostile = st.dictionaries(
    st.sampled_from(["name", "text", "data", "metadata", "ename", "evalue", "traceback", "wait", "display_id", "label", "value", "execution_count"]),
    json_values | st.sampled_from(["stdout", "stderr"]) | st.just({"text/plain": "x"}),
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(kinds, hostile), max_size=6))
def test_whatever_a_run_sends_the_outputs_are_a_notebook(messages: list[tuple[str, dict]]) -> None:
    collector, run = Collector(), CellRun("c")
    collector.begin(run)
    for kind, message in messages:
        collector.apply({**message, "type": kind})
    collector.end()
    cell = nbformat.v4.new_code_cell(outputs=[nbformat.from_dict(output) for output in run.outputs])
    nbformat.validate(nbformat.v4.new_notebook(cells=[cell]))
    json.dumps([run.outputs, run.observations], ensure_ascii=False).encode("utf-8")


def test_the_first_observation_counts() -> None:
    collector, run = Collector(), CellRun("c")
    collector.begin(run)
    for value in (1, 2):
        collector.apply({"type": "observation", "label": "a", "value": value})
    collector.apply({"type": "observation", "label": "huge", "value": ["x" * 5_000_000]})
    assert run.observations == {"a": 1}


def test_a_deep_nest_is_left_out() -> None:
    collector, run = Collector(), CellRun("c")
    collector.begin(run)
    deep: list = []
    for _ in range(900):
        deep = [deep]
    collector.apply({"type": "observation", "label": "deep", "value": deep})
    collector.apply({"type": "display_data", "data": {"application/json": deep}})
    collector.apply({"type": "observation", "label": "flat", "value": 1})
    assert run.observations == {"flat": 1} and not run.outputs


def test_display_updates_reach_earlier_cells() -> None:
    collector, first, second = Collector(), CellRun("1"), CellRun("2")
    collector.begin(first)
    collector.apply({"type": "display_data", "data": {"text/plain": "old"}, "display_id": "d"})
    collector.begin(second)
    collector.apply({"type": "update_display_data", "data": {"text/plain": "new"}, "display_id": "d"})
    assert first.outputs[0]["data"] == {"text/plain": "new"} and not second.outputs


def test_a_notebook_keeps_so_much_and_no_more() -> None:
    collector = Collector()
    kept = 0
    for number in range(8):
        run = CellRun(str(number))
        collector.begin(run)
        collector.apply({"type": "display_data", "data": {"image/png": "x" * 7_000_000}})
        collector.end()
        kept += len(run.outputs[0].get("data", {}))
        assert "output_type" in run.outputs[0]
    assert kept == 4
    assert "were cut" in run.outputs[-1]["text"]


def test_clean_leaves_good_text_alone() -> None:
    assert clean({"ü": ["漢字", 1, None]}) == {"ü": ["漢字", 1, None]}
    assert clean("a\ud800") == "a?"


# ------------------------------------------------------------------------------------------------ retries


class Script:
    """A runner whose cells do what their source says: "ran", "slow", "kill", "once slow"."""

    name, sandbox = "script", "none"

    def __init__(self) -> None:
        self.attempts: list[frozenset[str]] = []
        self.cells: list[list[str]] = []
        self.slow_once: set[str] = set()

    def attempt(self, job: Job, skip: frozenset[str], until: float) -> Attempt:
        self.attempts.append(skip)
        self.cells.append([cell.id for cell in job.cells])
        result = Attempt([CellRun(cell.id) for cell in job.cells])
        for cell, run in zip(job.cells, result.cells, strict=True):
            if cell.id in skip:
                continue
            if cell.source == "once slow" and cell.id not in self.slow_once:
                self.slow_once.add(cell.id)
                run.status, result.slow = "timed-out", True
            elif cell.source in ("slow", "slow kill"):
                run.status, result.slow = "timed-out", True
            else:
                run.status = "ran"
            if cell.source in ("kill", "slow kill"):
                run.status, run.killed = ("died" if cell.source == "kill" else "timed-out"), True
                result.stopped_at = cell
                break
        return result


def play(*sources: str, deadline: float = 60.0) -> tuple[list[str], Script, list[str]]:
    made = []
    for number, source in enumerate(sources):
        made.append(Cell(f"a{number}", source, "answer", f"e{number}"))
        made.append(Cell(f"check{number}", "ran", "check", f"e{number}"))
    script = Script()
    run = run_job(script, Job("job", tuple(made), deadline=deadline), SharedOrAlone())
    return [cell.status for cell in run.cells], script, run.notes


def test_a_quiet_job_runs_once() -> None:
    statuses, script, notes = play("ran", "ran")
    assert statuses == ["ran"] * 4 and len(script.attempts) == 1 and not notes


def test_a_killed_cell_costs_its_exercise_and_the_rest_runs_again() -> None:
    statuses, script, notes = play("ran", "kill", "ran")
    assert statuses == ["ran", "ran", "died", "not-run", "ran", "ran"]
    assert script.attempts == [frozenset(), {"a1", "check1"}, frozenset()] and len(notes) == 1
    assert script.cells[-1] == ["a1", "check1"]  # it dies there as well


def test_every_killed_cell_costs_its_own() -> None:
    statuses, script, _ = play("kill", "ran", "slow kill")
    assert statuses == ["died", "not-run", "ran", "ran", "timed-out", "not-run"]
    # as it is, without the first, that again alone, without the third, the first and the third without the others
    assert len(script.attempts) == 6


def test_a_cell_that_dies_by_what_another_answer_left_running_counts() -> None:
    class Bomb(Script):
        def attempt(self, job: Job, skip: frozenset[str], until: float) -> Attempt:
            is_there = "a0" in {cell.id for cell in job.cells} - skip
            cells = tuple(replace(c, source="kill") if c.id == "a1" and is_there else c for c in job.cells)
            return super().attempt(replace(job, cells=cells), skip, until)

    made = [
        Cell(f"{kind}{n}", "ran", role, f"e{n}") for n in (0, 1) for kind, role in (("a", "answer"), ("check", "check"))
    ]
    run = run_job(Bomb(), Job("job", tuple(made)), SharedOrAlone())
    assert [cell.status for cell in run.cells] == ["ran"] * 4 and not any(cell.killed for cell in run.cells)
    assert "went through" in run.notes[-1]


def with_threads(**observed: object) -> tuple[Script, CellRun]:
    """A job whose first check says this in a copy that lacks threads, and 1 and 2 where it runs in no copy."""

    class Threads(Script):
        def attempt(self, job: Job, skip: frozenset[str], until: float) -> Attempt:
            result = super().attempt(job, skip, until)
            self.jobs = [*getattr(self, "jobs", []), job]
            for cell, run in zip(job.cells, result.cells, strict=True):
                if cell.id == "check0":
                    run.threads = cell.copied
                    said = observed if run.threads else {"a": 1, "b": 2}
                    run.observations = {label: value for label, value in said.items() if label == "a"}
                    run.hidden = {label: value for label, value in said.items() if label == "b"}
            return result

    made = [
        Cell(f"{kind}{n}", "ran", role, f"e{n}", hidden_checks=int(kind == "check" and n == 0))
        for n in (0, 1) for kind, role in (("a", "answer"), ("check", "check"))
    ]  # fmt: skip
    script = Threads()
    run = run_job(
        script, Job("job", (Cell("set-up", "ran"), Cell("check-x", "ran", "check", "x"), *made)), SharedOrAlone()
    )
    return script, run.cells[3]


def test_a_check_that_missed_threads_gets_a_run_of_its_own() -> None:
    for observed in ({"a": {"timeout": 5}}, {"a": 1, "b": {"error": {"type": "Empty"}}}, {"a": 1}):
        script, check = with_threads(**observed)
        assert [cell.id for cell in script.jobs[1].cells] == ["set-up", "a0", "check0"]
        assert len(script.attempts) == 2 and check.observed == {"a": 1, "b": 2}


def test_a_check_that_said_everything_needs_no_threads() -> None:
    script, check = with_threads(a=3, b=4)
    assert len(script.attempts) == 1 and check.observed == {"a": 3, "b": 4}


def test_a_time_out_that_does_not_repeat_does_not_count() -> None:
    statuses, script, notes = play("once slow", "ran")
    assert statuses == ["ran"] * 4 and len(script.attempts) == 2 and not notes


def test_a_time_out_that_repeats_counts() -> None:
    statuses, script, _ = play("slow", "ran")
    assert statuses == ["timed-out", "ran", "ran", "ran"] and len(script.attempts) == 2


def test_what_ran_before_a_time_out_is_kept_where_the_repeat_has_no_time_for_it() -> None:
    class Short(Script):
        def attempt(self, job: Job, skip: frozenset[str], until: float) -> Attempt:
            result = super().attempt(job, skip, until)
            if len(self.attempts) == 2:
                result.cells[1:] = [CellRun(cell.id) for cell in job.cells[1:]]
            else:
                result.cells[1].observations["a"] = 1
            return result

    made = (Cell("a", "ran", "answer", "e"), Cell("check", "ran", "check", "e"), Cell("b", "slow", "answer", "f"))
    run = run_job(Short(), Job("job", made), SharedOrAlone())
    assert [cell.status for cell in run.cells] == ["ran", "ran", "timed-out"] and run.cells[1].observed == {"a": 1}


def test_an_exercise_that_is_lost_in_the_repeat_earns_nothing() -> None:
    class Worse(Script):
        def attempt(self, job: Job, skip: frozenset[str], until: float) -> Attempt:
            source = "slow kill" if len(self.attempts) == 1 else "slow"
            cells = tuple(replace(cell, source=source) if cell.id == "a" else cell for cell in job.cells)
            return super().attempt(replace(job, cells=cells), skip, until)

    made = (Cell("a", "slow", "answer", "e"), Cell("check", "ran", "check", "e"), Cell("b", "ran", "answer", "f"))
    run = run_job(Worse(), Job("job", made), SharedOrAlone())
    assert [cell.status for cell in run.cells] == ["timed-out", "not-run", "ran"] and run.cells[0].killed


def test_after_its_deadline_nothing_runs_again() -> None:
    statuses, script, notes = play("kill", "ran", deadline=0.0)
    assert statuses == ["died", "not-run", "not-run", "not-run"] and len(script.attempts) == 1
    assert "was over" in notes[0]


def test_alone_means_alone() -> None:
    lane, inside, worst = SharedOrAlone(), set(), []

    def work(number: int) -> None:
        for _ in range(20):
            with lane.alone() if number == 0 else lane.shared():
                inside.add(number)
                worst.append(len(inside) if 0 in inside else 1)
                time.sleep(0.0005)
                inside.discard(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert max(worst) == 1 and len(worst) == 80


def test_an_error_of_the_engine_reaches_the_caller() -> None:
    def one(job: Job) -> object:
        raise ZeroDivisionError

    stopped = []
    with pytest.raises(ZeroDivisionError):
        list(run_all(one, [Job("a", ()), Job("b", ())], 1, lambda: stopped.append(1)))  # type: ignore[arg-type]


@pytest.mark.skipif(sys.platform != "linux", reason="the filter is Linux's")
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_jumps_of_the_filter_stay_inside(machine: str) -> None:
    from autograder.engine.inside.wall.seccomp import program

    code = program(machine)
    steps = [struct.unpack("HBBI", code[place : place + 8]) for place in range(0, len(code), 8)]
    for place, (kind, yes, no, _) in enumerate(steps):
        if kind & 7 == 5:
            assert place + 1 + max(yes, no) < len(steps)
    assert steps[-1][:1] == (6,) and len(steps) < 4096
