"""How the CPU time of some work grows with its input: for tests of algorithms that must not take time by the
square."""

from __future__ import annotations

import time
from collections.abc import Callable

Make = Callable[[int], Callable[[], object]]
"""The work on an input of a size."""


def seconds(work: Callable[[], object]) -> float:
    """CPU time of the thread in seconds, the better of two, and a millisecond for what does not grow."""
    times = []
    for _ in range(2):
        start = time.thread_time()
        work()
        times.append(time.thread_time() - start)
    return min(times) + 0.001


def growth(make: Make, n: int, cost: Callable[[Callable[[], object]], float] = seconds) -> float:
    """How many times as much four times as much costs: about 4 if it is linear, 16 if by the square."""
    make(n)()  # what is imported and compiled at the first use
    return cost(make(4 * n)) / cost(make(n))
