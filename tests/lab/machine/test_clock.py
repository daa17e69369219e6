"""The fake clock reaches every way to read the time, and leaves nothing behind."""

import time
import timeit
from time import perf_counter_ns

import pytest
import torch

from autograder.lab.machine.clock import fake_clock


def by_default(*, read=time.perf_counter_ns):
    return read()


READERS = {
    "module": lambda: time.perf_counter_ns(),
    "bound": lambda: perf_counter_ns(),
    "seconds": lambda: round(time.perf_counter() * 1e9),
    "monotonic": lambda: time.monotonic_ns(),
    "timeit": lambda: round(timeit.default_timer() * 1e9),
    "wall": lambda: time.time_ns(),
    "system call": lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC),
    "default argument": lambda read=time.perf_counter_ns: read(),
    "default of a helper": lambda: by_default(),
    "decorated": torch.inference_mode(False)(lambda: perf_counter_ns()),
}


@pytest.mark.parametrize("name", READERS)
def test_every_clock_stands_still_until_it_is_moved(name):
    read = READERS[name]
    with fake_clock(read) as clock:
        before = read()
        assert read() == before
        clock.wait(1500)
        assert read() == before + 1500
    assert abs(read() - before) > 10_000_000  # the real one


def test_timers_of_the_standard_library_read_it_too():
    def measure():
        return [
            timeit.timeit(lambda: clock.wait(300), number=2),
            timeit.Timer(lambda: clock.wait(300)).timeit(1),
            timeit.repeat(lambda: clock.wait(300), repeat=1, number=1)[0],
        ]

    defaults = timeit.Timer.__init__.__defaults__
    with fake_clock(measure) as clock:
        assert [round(seconds * 1e9) for seconds in measure()] == [600, 300, 300]
    assert timeit.Timer.__init__.__defaults__ == defaults


def test_a_clock_bound_while_it_was_fake_runs_on_afterwards():
    kept = []
    with fake_clock(lambda: None):
        kept.append(time.perf_counter_ns)
    assert abs(kept[0]() - time.perf_counter_ns()) < 10**9
    with fake_clock(lambda: None) as clock:
        assert kept[0]() == clock.now


def test_a_device_is_waited_for_by_its_stream_as_well():
    def measure():
        begin = time.perf_counter_ns()
        clock.launch(700)
        torch.cuda.current_stream().synchronize()
        return time.perf_counter_ns() - begin

    with fake_clock(measure, cuda=True) as clock:
        assert measure() == 700


def test_a_device_is_waited_for_by_synchronizing():
    def measure(synchronize):
        begin = time.perf_counter_ns()
        clock.launch(700)
        if synchronize and torch.cuda.is_available():
            torch.cuda.synchronize()
        return time.perf_counter_ns() - begin

    real = torch.cuda.synchronize, torch.cuda.is_available
    with fake_clock(measure, cuda=True) as clock:
        assert (measure(True), measure(False)) == (700, 0)
    assert real == (torch.cuda.synchronize, torch.cuda.is_available)


def test_everything_is_back_after_an_error():
    real = time.perf_counter_ns
    with pytest.raises(KeyError), fake_clock(lambda: None):
        raise KeyError
    assert time.perf_counter_ns is real and perf_counter_ns is real
