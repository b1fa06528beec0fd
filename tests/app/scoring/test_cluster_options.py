"""Options of ``dialint score --cluster``, refused before Ray is needed. What Ray does: ``make test-cluster``."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from dialint.app.scoring import cluster
from dialint.app.scoring.cluster import ClusterDetector, check_reachable
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ClusterConfig, ScoreConfig
from dialint.detector import environment
from dialint.detector.errors import ConfigError
from dialint.detector.interface import DetectorConfig
from dialint.detector.watchdog import WatchConfig

SAMPLE = Path(cluster.__file__).parents[1] / "sample/dialogues.jsonl"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cluster": "ray", "actors": 0}, "--actors: expected at least 1"),
        ({"actors": 2}, "--actors needs --cluster ray"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        ClusterConfig(**options)  # type: ignore[arg-type]
    assert message in refused.value.message


@pytest.mark.parametrize("address", ["head", "head:0", "ray://head:10001"])
def test_an_address_is_a_host_and_a_port(address: str) -> None:
    with pytest.raises(ConfigError, match=r"expected HOST:PORT .*ray:// is not supported"):
        check_reachable(address)


def test_without_ray_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "is_installed", lambda module: module != "ray")
    config = ScoreConfig(out=tmp_path / "v.jsonl", cluster=ClusterConfig(cluster="ray"))
    with pytest.raises(ConfigError) as refused:
        run([str(SAMPLE)], config)
    assert refused.value.message == "--cluster ray needs ray: pip install 'dialint[cluster]'"
    assert list(tmp_path.iterdir()) == []


def test_an_address_where_nothing_listens_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        monkeypatch.setattr(cluster, "require_extra", lambda extra, what: None)
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(ConfigError) as refused:
            ClusterDetector(DetectorConfig(), WatchConfig(), ClusterConfig(cluster="ray"))
    assert refused.value.message == f"RAY_ADDRESS={address}: connection refused"


def test_a_numbered_gpu_is_refused() -> None:
    with pytest.raises(ConfigError, match="each actor gets a GPU") as refused:
        ClusterDetector(DetectorConfig(device="cuda:1"), WatchConfig(), ClusterConfig(cluster="ray"))
    assert refused.value.code == "E_OPTION"
