"""`--engine http:` against a stand-in for vLLM's pooling: the local engine's scores, and servers that fail."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hostile_values import BODIES, HOSTILE, fields, with_value
from pooling_server import PoolingServer, serving_pooling
from tiny import ENCODER, release_info, render_config, write_release

from dialint.detector.engines import model_server
from dialint.detector.engines.local import load_engine
from dialint.detector.engines.model_server import parse_address
from dialint.detector.engines.pooling import PoolingEngine
from dialint.detector.errors import ConfigError, ReleaseRefused, WorldError
from dialint.detector.interface import DetectorConfig
from dialint.detector.pipeline import load_detector
from dialint.detector.records import Dialogue, Turn
from dialint.detector.release import EMBEDDED, Release
from dialint.detector.render import Rendered, Renderer
from dialint.finetune.scanner.export import ExportConfig, export


def dialogues(n: int) -> list[Dialogue]:
    return [
        Dialogue(
            id=f"d{number}",
            turns=tuple(
                Turn(index=i, role=("customer", "agent")[i % 2], text=" ".join(f"w{(number * 7 + i * j) % 200}" for j in range(3 + i)))
                for i in range(2 + number % 9)
            ),
        )
        for number in range(n)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "r"
    return write_release(folder, ENCODER, release_info(render=render_config(history=False)))


@pytest.fixture(scope="module")
def exported(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported") / "scan"
    export(release, config=ExportConfig(out=out))
    return out


@pytest.fixture
def server(exported: Path) -> Iterator[tuple[PoolingServer, str]]:
    state = PoolingServer(exported)
    with serving_pooling(state) as url:
        yield state, url


def windows_of(release: Path, n: int) -> list[Rendered]:
    opened = Release(release)
    renderer = Renderer(opened.info.render, opened.tokenizer_json())
    return [window for dialogue in dialogues(n) for window in renderer.render(dialogue)]


def connect(release: Path, url: str, row_tokens: int = 300) -> PoolingEngine:
    return PoolingEngine(Release(release), parse_address(f"{url}/v1", has_key=False), row_tokens)


@pytest.mark.parametrize("path", ["/v1/models", "/pooling"])
def test_an_answer_that_is_none_is_refused_in_one_line(
    release: Path, server: tuple[PoolingServer, str], path: str
) -> None:
    """Every field replaced by every hostile value: the engine scans as before, or says what is wrong."""
    state, url = server
    windows = windows_of(release, 1)
    engine = connect(release, url, row_tokens=4096)
    expected = engine.scan(windows)
    model = {"id": "scan", "max_model_len": 512}
    valid = {"data": [model]} if path == "/v1/models" else {"data": [{"index": 0, "data": "AAAA"}]}
    bodies = [with_value(valid, place, value) for place in fields(valid) for value in HOSTILE]
    infinite = base64.b64encode(np.full((len(windows[0]), 3 * engine._n_codes), np.nan, "<f4").tobytes())
    bodies.append(b'{"data":[{"index":0,"data":"%s"}]}' % infinite)
    for body in (*bodies, *BODIES):
        state.mutate = lambda at, content, body=body: body if at == path else json.dumps(content).encode()
        try:
            results = engine.scan(windows) if path == "/pooling" else [engine._find_model(64)]
        except ConfigError as refused:
            assert "\n" not in refused.message
            assert "\x1b" not in refused.message
        else:
            assert path == "/v1/models" or np.allclose(results[0].slots, expected[0].slots)


def test_a_response_without_an_end_is_no_answer(
    release: Path, server: tuple[PoolingServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    state, url = server
    engine = connect(release, url)
    monkeypatch.setattr(model_server, "MAX_BODY_BYTES", 1000)
    state.mutate = lambda at, content: b" " * 10**7
    with pytest.raises(WorldError, match="has no end"):
        engine.scan(windows_of(release, 1))


def test_scores_are_those_of_the_local_engine(release: Path, server: tuple[PoolingServer, str]) -> None:
    state, url = server
    windows = windows_of(release, 40)
    engine = connect(release, url)
    state.requests.clear()
    rows = []
    engine.on_row = lambda: rows.append(engine.share_scanned)
    results = engine.scan(windows)
    expected = load_engine(Release(release), "fp32", 4096, "cpu").scan(windows)
    for own, other in zip(results, expected, strict=True):
        np.testing.assert_allclose(own.slots, other.slots, atol=1e-5)
        assert (own.dialogue is None) == (other.dialogue is None)
        if own.dialogue is not None and other.dialogue is not None:
            np.testing.assert_allclose(own.dialogue, other.dialogue, atol=1e-5)
        for ours, theirs in zip(own.spans, other.spans, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert len(state.requests) == len(rows) > 3
    assert rows == sorted(rows)
    assert engine.n_tokens == sum(map(len, windows))
    assert all(sum(map(len, each["input"])) <= 300 for each in state.requests)


def test_verdicts_are_those_of_the_local_engine(release: Path, server: tuple[PoolingServer, str]) -> None:
    config = DetectorConfig(release=release, precision="fp32", threads=1)
    local = load_detector(config)
    there = load_detector(DetectorConfig(release=release, threads=1, engine=server[1]))
    assert there.fingerprint != local.fingerprint
    some = dialogues(30)
    for own, other in zip(
        there.verdicts(some, all_probabilities=True), local.verdicts(some, all_probabilities=True), strict=True
    ):  # fmt: skip
        found, expected = (
            [(each.turn, each.code, each.quote) for each in verdict.findings] for verdict in (own, other)
        )
        assert found == expected
        for turn, row in (other.probabilities or {}).items():
            assert (own.probabilities or {})[turn] == pytest.approx(row, abs=1e-4)


def test_failures_that_pass_are_tried_again(release: Path, server: tuple[PoolingServer, str]) -> None:
    state, url = server
    engine = connect(release, url)
    windows = windows_of(release, 20)
    expected = engine.scan(windows)
    state.statuses = [(500, {}), (503, {}), (429, {"Retry-After": "0"})]
    state.cuts = 2
    for own, other in zip(engine.scan(windows), expected, strict=True):
        np.testing.assert_array_equal(own.slots, other.slots)
    assert state.statuses == []
    assert state.cuts == 0


def test_a_server_that_is_gone_ends_the_job(release: Path, exported: Path) -> None:
    with serving_pooling(PoolingServer(exported)) as url:
        engine = connect(release, url)
    with pytest.raises(WorldError, match="is the server running"):
        engine.scan(windows_of(release, 3))
    with pytest.raises(WorldError, match="is the server running"):
        connect(release, url)


def test_another_model_is_refused(
    release: Path, exported: Path, tmp_path: Path, server: tuple[PoolingServer, str]
) -> None:
    state, url = server
    state.added = 1.0
    with pytest.raises(ConfigError, match="scores otherwise than"):
        connect(release, url)
    state.added = 0.0
    info = release_info(head_codes=("L1", "T1"), dialogue_codes=(), codes={
        code: how for code, how in release_info().codes.items() if code in ("L1", "T1")
    }, render=render_config(history=False))  # fmt: skip
    other = write_release(tmp_path / "other", ENCODER, info)
    with pytest.raises(ConfigError, match="has other outputs than this release"):
        connect(other, url)
    state.max_model_len = 64
    with pytest.raises(ConfigError, match="--max-model-len 64 is under 100"):
        connect(release, url)
    state.models = ("scan", "second")
    with pytest.raises(ConfigError, match="expected a server with one model"):
        connect(release, url)


def test_what_cannot_be_asked_is_one_line(release: Path, tmp_path: Path) -> None:
    for url in ("remote", "ftp://x", "http://"):
        with pytest.raises(ConfigError, match="E_OPTION: --engine"):
            load_detector(DetectorConfig(release=release, engine=url))
    with pytest.raises(ReleaseRefused, match="--history=false, or leave out --engine"):
        load_detector(DetectorConfig(engine="http://127.0.0.1:9"))
    with pytest.raises(ReleaseRefused, match="train with --history=false"):
        export(EMBEDDED, config=ExportConfig(out=tmp_path / "out"))
