"""`dialint release`: a promotion is whole or did not happen, whenever it is killed, and can be taken back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from patience import wait_for

from dialint.app.commands import release
from dialint.app.commands.release import NO_SWAP, SwapConfig, list_, rollback, verify
from dialint.app.serving import server as serving
from dialint.app.serving.server import ServerClient
from dialint.detector.artifacts import MANIFEST, file_entry, write_manifest
from dialint.detector.errors import ConfigError, OutputRefused, UserError, WorldError
from dialint.detector.registry import Registry, resolve_release, verify_folder
from dialint.detector.release import EMBEDDED

Make = Callable[..., Path]
FakeServer = Callable[..., AbstractContextManager[tuple[str, Any]]]


def promote(folder: Path, swap: SwapConfig = NO_SWAP) -> None:
    """Without the gates: the judges here are some bytes."""
    source = verify_folder(folder) if folder.is_dir() else None
    pointer = None if source is None else Registry(source.kind).current()
    if source is None or source.folder == EMBEDDED or (pointer is not None and pointer.id == source.id):
        assert release.promote(folder, by="lea", swap=swap) == 0
    else:
        Registry(source.kind).promote(source, swap.prepare(source.kind), by="lea")


def test_promote_and_roll_back(home: Path, make_judge: Make, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = make_judge("first"), make_judge("second", weights=b"2")
    promote(first)
    promote(second)
    registry = Registry("judge")
    one, two = registry.ids()
    assert (one[:6], two[:7]) == ("first-", "second-")
    assert registry.current() is not None
    assert resolve_release("judge", "current") == home / "releases" / "judge" / two
    assert resolve_release("judge", "current").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in registry.folder.glob("*/*")} == {0o600}
    rollback("judge")
    assert resolve_release("judge", "current").name == one
    shutil.rmtree(first)  # current is the copy
    promote(registry.folder / one)  # nothing changes
    with pytest.raises(ConfigError, match="no judge before the current one"):
        rollback("judge")
    capsys.readouterr()
    list_()
    output = capsys.readouterr().out
    assert output.splitlines()[1].split()[:3] == ["judge", one, "current"]
    assert "current" not in output.splitlines()[2]
    assert [line.action for line in registry.history()] == ["promote", "promote", "rollback"]
    assert verify() == 0


def test_a_scan_is_promoted_too(home: Path) -> None:
    promote(EMBEDDED)
    folder = resolve_release("scan", "current")
    assert folder.parent.name == "scan"
    assert verify_folder(folder).fingerprint == verify_folder(EMBEDDED).fingerprint
    with pytest.raises(ConfigError, match="servers run judges"):
        promote(EMBEDDED, swap=SwapConfig(server="http://127.0.0.1:1"))


@pytest.mark.parametrize("share", [100, 5])
def test_killed_at_any_step_it_shows_the_old_or_the_new_release(
    home: Path, make_judge: Make, share: int
) -> None:
    """F14; and the next promotion completes it, with a history that says what happened. At a share the old one stays,
    with or without the candidate beside it."""
    first, second = make_judge("first"), make_judge("second", weights=b"2")
    promote(first)
    homes = home.parent / "homes"
    driver = Path(__file__).with_name("promote_driver.py")
    ended = subprocess.run(
        [sys.executable, str(driver), str(second), str(home), str(homes), str(share)], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    steps = ended.stdout.split()
    assert steps[-1] == "done"
    assert len(steps) > 25
    seen = []
    for number in map(int, steps[:-1]):
        registry = Registry("judge", homes / f"home-{number}")
        pointer = registry.current()
        assert pointer is not None
        assert verify_folder(registry.folder / pointer.id).fingerprint == pointer.fingerprint
        assert [wrong for _, wrong in registry.verify() if wrong] == []
        rollout = registry.rollout()
        seen.append((pointer.id if rollout is None else rollout.id).split("-")[0])
        assert share == 100 or pointer.id.startswith("first-")
        again = registry.promote(verify_folder(second))
        assert again.id.startswith("second-")
        assert [wrong for _, wrong in registry.verify() if wrong] == []
        assert registry.history()[-1].id == again.id
        assert not list(registry.folder.glob(".*.tmp"))
        assert registry.rollback().id.startswith("first-")
    assert seen == sorted(seen)  # old up to one step, new from then on
    assert set(seen) == {"first", "second"}


def test_damage_is_detected_and_nothing_damaged_becomes_current(
    home: Path, make_judge: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = make_judge("first"), make_judge("second", weights=b"2")
    promote(first)
    promote(second)
    registry = Registry("judge")
    (registry.folder / registry.ids()[0] / "adapter_model.safetensors").write_bytes(b"3")
    assert verify() == 2
    assert "its bytes are not those of the manifest" in capsys.readouterr().err
    with pytest.raises(UserError, match="its bytes"):
        rollback("judge")
    with pytest.raises(UserError, match="its bytes"):
        promote(first)
    history = registry.folder / "history.jsonl"
    history.write_text(history.read_text().replace('"uid": ', '"uid": 7'))
    with pytest.raises(OutputRefused, match="line 1 was changed"):
        registry.history()
    assert verify() == 2
    with pytest.raises(OutputRefused, match="line 1 was changed"):
        resolve_release("judge", "current")


def test_mistakes_of_promotion(home: Path, tmp_path: Path, make_judge: Make) -> None:
    with pytest.raises(ConfigError, match="there is no such folder"):
        promote(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="no trained judge"):
        promote(tmp_path)
    with pytest.raises(ConfigError, match="reward model"):
        promote(make_judge("reward", kind="reward"))
    registry = Registry("judge")
    judge = verify_folder(make_judge("judge"))

    def again(_: Path) -> None:
        registry.promote(judge)

    with pytest.raises(OutputRefused, match="another promotion is running"):
        registry.promote(judge, again)
    assert registry.current() is None


def test_a_server_changes_over_without_a_dropped_request(
    home: Path, make_judge: Make, fake_server: FakeServer
) -> None:
    promote(make_judge("first"))
    first = resolve_release("judge", "current")
    second = make_judge("second", weights=b"2")
    answers: list[tuple[int, str]] = []
    done = threading.Event()
    with fake_server({"judge": str(first)}) as (address, _), ThreadPoolExecutor(4) as pool:
        client = ServerClient.of(address, "sk-1")

        def ask_until_done() -> None:
            while not done.is_set():
                reply = client.ask("/v1/chat/completions", {"model": "judge", "seconds": 0.02})
                answers.append((reply.status, Path(json.loads(reply.body)["folder"]).name.split("-")[0]))

        try:
            clients = [pool.submit(ask_until_done) for _ in range(4)]
            wait_for(lambda: (200, "first") in answers)
            promote(second, swap=SwapConfig(server=f"{address}/v1"))
            wait_for(lambda: (200, "second") in answers)
            rollback("judge", swap=SwapConfig(server=address))
        finally:
            done.set()
        for one in clients:
            one.result()  # a dropped request is raised here
        last = json.loads(client.ask("/v1/chat/completions", {"model": "judge"}).body)["folder"]
    assert {status for status, _ in answers} == {200}
    assert last == str(first)
    assert resolve_release("judge", "current") == first


@pytest.mark.parametrize(
    ("swap", "name", "message"),
    [
        (False, "judge", "start it by `dialint serve vllm --swap`"),
        (True, "judge", "of another base"),
        (True, "whole", "start the server again"),
    ],
)
def test_a_refused_swap_leaves_the_pointer(
    home: Path, make_judge: Make, fake_server: FakeServer, swap: bool, name: str, message: str
) -> None:
    promote(make_judge("first"))
    before = resolve_release("judge", "current")
    other = make_judge("other", base={"sha256": "0"} if swap else {})
    if name == "whole":
        (other / "adapter_config.json").rename(other / "config.json")  # a model that needs no base
        files = [file_entry(path) for path in sorted(other.iterdir()) if path.name != MANIFEST]
        write_manifest(other / MANIFEST, {"kind": "judge", "files": files})
    with (
        fake_server({"judge": str(before)}, swap=swap) as (address, _),
        pytest.raises(ConfigError, match=message),
    ):
        promote(other, swap=SwapConfig(server=address))
    assert resolve_release("judge", "current") == before


def test_an_adapter_that_answers_as_its_base_is_not_served(
    home: Path, make_judge: Make, fake_server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is one that gives no answer."""
    promote(make_judge("first"))
    before = resolve_release("judge", "current")

    def refuse(*_: object) -> str:
        raise WorldError("E_SERVER", "no answer")

    with fake_server({"judge": str(before)}) as (address, handler):
        with pytest.raises(ConfigError, match="it does not act"):
            promote(make_judge("idle", weights=b"0"), swap=SwapConfig(server=address))
        monkeypatch.setattr(serving, "_answer", refuse)
        with pytest.raises(WorldError, match="no answer"):
            promote(make_judge("mute", weights=b"2"), swap=SwapConfig(server=address))
        assert handler.adapters == {"judge": str(before)}
    assert resolve_release("judge", "current") == before


def test_a_server_that_is_away_or_needs_another_key_leaves_the_pointer(
    home: Path, make_judge: Make, fake_server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    promote(make_judge("first"))
    before, second = resolve_release("judge", "current"), make_judge("second", weights=b"2")
    with fake_server({"judge": str(before)}) as (address, _):
        monkeypatch.setenv("DIALINT_JUDGE_KEY", "sk-2")
        with pytest.raises(ConfigError, match="does not take the key"):
            promote(second, swap=SwapConfig(server=address))
    with pytest.raises(WorldError, match="E_SERVER"):
        promote(second, swap=SwapConfig(server=address))
    monkeypatch.delenv("DIALINT_JUDGE_KEY")
    for server, message in ((address, "the key of the server"), ("https://gpu.example", "on loopback only")):
        with pytest.raises(ConfigError, match=message):
            promote(second, swap=SwapConfig(server=server))
    assert resolve_release("judge", "current") == before
