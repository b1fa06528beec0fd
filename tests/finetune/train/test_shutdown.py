"""SIGTERM is heard and interrupts nothing; a second one does what it did before."""

from __future__ import annotations

import os
import signal
from types import FrameType

from dialint.finetune.train.shutdown import stop_on_signal


def test_a_signal_is_heard_and_the_next_one_is_not_ours() -> None:
    others: list[int] = []

    def other(signum: int, frame: FrameType | None) -> None:
        others.append(signum)

    before = signal.signal(signal.SIGTERM, other)
    try:
        with stop_on_signal() as told:
            assert not told()
            os.kill(os.getpid(), signal.SIGTERM)
            assert told()
            assert others == []
            os.kill(os.getpid(), signal.SIGTERM)
            assert others == [signal.SIGTERM]
        with stop_on_signal() as told:
            assert not told()
        os.kill(os.getpid(), signal.SIGTERM)
        assert len(others) == 2
    finally:
        signal.signal(signal.SIGTERM, before)
