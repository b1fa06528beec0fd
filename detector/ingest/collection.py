"""Garbage collection put off while a batch of records is made.

A batch is thousands of new objects without a cycle among them; left on, the collector would walk them
again and again and find nothing. The pause is as long as the making of one batch and never spans a
`yield`: the caller's own garbage is looked after as ever.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """No cyclic garbage collection within; afterwards as before. Two threads that overlap may end
    each other's pause early, never leave it on."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
