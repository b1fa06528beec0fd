"""Hostile logs, the large ones made small: no traceback, no hang, bounded memory. With ``DIALINT_CLAIMS=1`` they are
measured in full."""

from __future__ import annotations

import os
from pathlib import Path

import hostile_logs
import pytest
from marked_dialogues import in_turn

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.records import Dialogue
from dialint.detector.release import EMBEDDED, Release
from dialint.detector.render import Renderer, visible_text

TIMEOUT_S = 100  # a backstop
IS_FULL = "DIALINT_CLAIMS" in os.environ
"""At full size, masked and checked."""


@pytest.mark.slow
def test_no_hostile_log_ends_in_a_traceback_or_takes_too_much(tmp_path: Path) -> None:
    names = set()
    for name, data in hostile_logs.hostile(seed=7, scale=1.0 if IS_FULL else 0.02):
        path, megabytes = tmp_path / name, max(1.0, len(data) / 1e6)
        path.write_bytes(data)
        outcome = hostile_logs.measure(
            path, ReadConfig(max_bad=1.0), int(TIMEOUT_S * megabytes), mask=IS_FULL
        )
        path.unlink()
        print(f"{name:32} {outcome.seconds / megabytes:6.2f} s a MB {outcome.mebibytes:6.0f} MiB")
        assert not outcome.traceback, f"{name}: {outcome.traceback}"
        assert outcome.mebibytes < hostile_logs.MAX_MEBIBYTES, name
        assert outcome.refused or outcome.loaded or outcome.rejects, name
        names.add(name)
    assert len(names) == 79


def long_dialogue(n_turns: int, text: str) -> Dialogue:
    return in_turn(*(f"{k} {text}" for k in range(n_turns)))


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    release = Release(EMBEDDED)
    return Renderer(release.info.render, release.tokenizer_json())


def test_a_long_dialogue_is_read_in_bounded_memory(renderer: Renderer) -> None:
    dialogue = long_dialogue(2_000, "Nobody answered, and the cable is late again today. " * 6)
    size = sum(len(turn.text) for turn in dialogue.turns) / (1 << 20)
    assert hostile_logs.peak_mebibytes(lambda: renderer.render(dialogue)) < 40 * size


def test_a_long_dialogue_is_read_as_its_turns_are(renderer: Renderer) -> None:
    turns = long_dialogue(700, "Where is it? My number is 4111.").turns
    texts = [turn.text for turn in turns]
    assert [visible_text(text)[0] for text in texts] == texts
    together = renderer._encode(texts)
    alone = [renderer._encode([text])[0] for text in texts]
    assert [(one.ids, one.offsets) for one in together] == [(one.ids, one.offsets) for one in alone]
