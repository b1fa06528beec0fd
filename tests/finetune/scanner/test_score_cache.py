"""A pack that was killed goes on: windows that were read are not read again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from dialint.detector.render import Rendered, Slot
from dialint.detector.scanner import WindowScores
from dialint.finetune.scanner import calibrate
from dialint.finetune.scanner.calibrate import ScoreCache


class _Engine:
    """Scores that tell a window from others; is killed at the call of the number `dies_at`."""

    fingerprint = "fake"
    n_tokens = 0

    def __init__(self, dies_at: int = -1) -> None:
        self.scanned: list[tuple[int, ...]] = []
        self.calls, self.dies_at = 0, dies_at

    def on_row(self) -> None: ...

    def scan(self, windows: Sequence[Rendered]) -> list[WindowScores]:
        self.calls += 1
        if self.calls == self.dies_at:
            raise KeyboardInterrupt
        self.scanned += [window.ids for window in windows]
        return [_scores(window) for window in windows]


def _scores(window: Rendered) -> WindowScores:
    slots = np.float32([[sum(window.ids), slot.position] for slot in window.slots])
    return WindowScores(
        slots, tuple(np.float32([[i, slot.turn] for i in window.ids]) for slot in window.slots)
    )


def _window(*ids: int, turns: tuple[int, ...] = (1,)) -> Rendered:
    return Rendered(ids, tuple(Slot(len(ids) - 1, turn, 0, ((0, 1),)) for turn in turns))


def test_no_window_is_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "CHUNK", 2)
    windows = [
        _window(5, 6, 7),
        _window(1),
        _window(2, turns=(3, 4)),
        _window(8, 9),
        _window(1, turns=(9,)),
        _window(4, turns=()),
    ]
    killed = _Engine(dies_at=3)
    with pytest.raises(KeyboardInterrupt):
        ScoreCache(killed, tmp_path, "weights").scan(windows)
    again = _Engine()
    engine = ScoreCache(again, tmp_path, "weights")
    for _ in range(2):
        for scores, window in zip(engine.scan(windows), windows, strict=True):
            np.testing.assert_array_equal(scores.slots, _scores(window).slots)
            assert all(map(np.array_equal, scores.spans, _scores(window).spans))
    assert len(killed.scanned) == 4
    assert len(again.scanned) == 2
    other = _Engine()
    ScoreCache(other, tmp_path, "other weights").scan(windows)
    assert len(other.scanned) == len(windows)
