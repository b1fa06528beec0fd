"""`dialint score --judge http:` while the vLLM server is killed and started again. DIALINT_VLLM_DIALOGUES sets the
number of dialogues; the figures of 1,000 are in docs/experiments/vllm.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rude_dialogues import RUDE, SORRY
from served import Server

DIALOGUES = int(os.environ.get("DIALINT_VLLM_DIALOGUES", "60"))


def test_each_dialogue_is_judged_once_although_the_server_is_killed(server: Server, tmp_path: Path) -> None:
    """At a third the job may not wait and stops; the same command goes on, and at two thirds it waits."""
    log, out = tmp_path / "log.jsonl", tmp_path / "verdicts.jsonl"
    with log.open("w") as file:
        for number in range(DIALOGUES):
            question = (
                f"This is order {number}, where is my parcel? I have been waiting for {number % 9 + 2} days."
            )
            turns = [("customer", question), ("agent", RUDE if number % 2 else SORRY)]
            rows = [{"index": index, "role": role, "text": text} for index, (role, text) in enumerate(turns)]
            file.write(json.dumps({"id": f"d{number}", "turns": rows}) + "\n")

    def score(outage_s: int) -> subprocess.Popen[str]:
        command = [
            sys.executable, "-m", "dialint", "score", log, "--out", out, "--judge", f"http:{server.url}",
            "--judge-model", "judge", "--codes", "T1", "--judge-precision", "0.9", "--judge-detail", "short",
            "--chunk-size", str(max(10, DIALOGUES // 20)), "--judge-outage-s", str(outage_s), "--threads", "1",
        ]  # fmt: skip
        environment = {**os.environ, "LD_PRELOAD": ""}
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )

    def kill_after(process: subprocess.Popen[str], answers: int) -> None:
        start = server.metric("vllm:request_success_total")
        while server.metric("vllm:request_success_total") - start < answers:
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.2)
        server.kill()

    started_s = time.monotonic()
    first = score(outage_s=3)
    kill_after(first, DIALOGUES // 3)
    output, _ = first.communicate(timeout=120)
    assert first.returncode == 3, output
    assert "start the same command again" in output
    server.start()
    second = score(outage_s=300)
    kill_after(second, DIALOGUES // 3)
    time.sleep(3)
    assert second.poll() is None
    server.start()
    output, _ = second.communicate(timeout=900)
    assert second.returncode == 0, output
    verdicts: list[dict[str, Any]] = [json.loads(line) for line in out.read_text().splitlines()]
    ids = [verdict["dialogue_id"] for verdict in verdicts if "dialogue_id" in verdict]
    assert sorted(ids) == sorted(f"d{number}" for number in range(DIALOGUES))
    records = [verdict["judge"] for verdict in verdicts if "judge" in verdict]
    assert len(records) == DIALOGUES
    assert [record for record in records if record.get("failures")] == []
    print(
        f"{DIALOGUES} dialogues, {sum(each['readings'] for each in records)} readings, server killed "
        f"twice: each dialogue once, no failure, {time.monotonic() - started_s:.0f} s"
    )
