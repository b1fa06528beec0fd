"""The growth of the CPU time of some work with its input: for tests of algorithms that must not take time by the
square."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import _lru_cache_wrapper

Make = Callable[[int], Callable[[], object]]
"""The work on an input of a size."""


def seconds(work: Callable[[], object]) -> float:
    """CPU time of the thread in seconds, and a millisecond for what does not grow."""
    start = time.thread_time()
    work()
    return time.thread_time() - start + 0.001


def forget_texts() -> None:
    """Clear the bounded caches of dialint's modules, in which a short dialogue fits and a long one does not."""
    for name, module in list(sys.modules.items()):
        for value in list(vars(module).values()) if name.startswith("dialint.") else ():
            if isinstance(value, _lru_cache_wrapper) and value.cache_parameters()["maxsize"] is not None:
                value.cache_clear()


def growth(make: Make, n: int, cost: Callable[[Callable[[], object]], float] = seconds) -> float:
    """Returns the ratio of the costs of four times as much work: about 4 if it is linear, 16 if by the square. Where it seems
    much, a busy machine may be why: then the least of three times counts."""
    make(max(1, n // 8))()  # what is imported and compiled at the first use
    ratios = list[float]()
    while len(ratios) < 3 and min(ratios, default=9) > 6:
        costs = []
        for size in (n, 4 * n):
            work = make(size)
            forget_texts()
            costs.append(cost(work))
        ratios.append(costs[1] / costs[0])
    return min(ratios)
