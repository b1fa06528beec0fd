"""An option out of its range is one line on standard error, with E_OPTION, and exit code 2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields

import pytest

from dialint.app.cli import main
from dialint.labeling.corpora.contamination import ContaminationConfig
from dialint.labeling.corpora.dedup import DedupConfig
from dialint.labeling.synthetic.run import InjectConfig

DEDUP = ("data", "dedup", "--data", "d", "--out", "o")
CONTAMINATION = ("data", "contamination", "--train", "t", "--against", "a")
INJECT = ("data", "inject", "log.jsonl", "--out", "o")


@pytest.mark.parametrize(
    ("entry", "options", "message"),
    [
        (main, (*DEDUP, "--shard-rows", "0"), "--shard-rows: expected at least 1"),
        (main, (*CONTAMINATION, "--max-share", "1.5"), "--max-share: expected at most 1"),
        (main, (*INJECT, "--share", "1.1"), "--share: expected at most 1"),
        (main, (*INJECT, "--shares", "0.5", "0.6", "0", "0"), "--shares must be four parts of 1"),
    ],
)
def test_an_option_out_of_its_range_is_one_line(
    entry: Callable[[], None],
    options: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["dialint", *options])
    with pytest.raises(SystemExit) as ended:
        entry()
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"dialint: E_OPTION: {message}\n"


@pytest.mark.parametrize(
    "config",
    [
        ContaminationConfig,
        DedupConfig,
        InjectConfig,
    ],
)
def test_configs_take_their_options_by_name(config: type) -> None:
    required = sum(f.default is MISSING and f.default_factory is MISSING for f in fields(config))
    with pytest.raises(TypeError, match="positional"):
        config(*["x"] * max(1, required))
