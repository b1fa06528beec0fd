"""What an actor of a cluster does with a judge, without Ray: any chunk, in any order, gets one machine's verdicts."""

from __future__ import annotations

from pathlib import Path

from cluster_log import write_log
from fake_llm import FakeLLM, serving

from dialint.app.scoring.cluster_actor import Scorer
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.ingest.read import load_dialogues
from dialint.detector.interface import DetectorConfig, DetectorFacts, JudgeUsage
from dialint.detector.isolation import message_value
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.log_profile import profile_log
from dialint.detector.release import EMBEDDED, Release
from dialint.detector.verdict_files import read_verdicts
from dialint.detector.watchdog import WatchConfig

CHUNK = 4


def test_chunks_in_any_order_get_the_verdicts_of_one_machine(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    write_log(log, 12)
    what, watch = DetectorConfig(threads=1), WatchConfig(dialogue_seconds=0)
    with serving(FakeLLM(false_positives={"": 0.1})) as url:
        config = ScoreConfig(
            out=tmp_path / "v.jsonl", chunk_size=CHUNK, detector=what, watch=watch, quiet=True,
            judge=JudgeConfig(judge=url, judge_budget="500 questions", judge_precision=0.9),
        )  # fmt: skip
        assert run([str(log)], config) == 0
        expected = list(read_verdicts(tmp_path / "v.jsonl"))
        dialogues = list(load_dialogues([str(log)]).values())
        profile = profile_log(dialogues, Release(EMBEDDED).info.domain)
        scorer = Scorer(what, watch, config)
        facts: DetectorFacts = message_value(scorer.facts())
        assert facts.judge is not None
        assert facts.judge.name == "fake-4b"
        results, usage = {}, JudgeUsage()
        for first in (8, 0, 4):
            chunk = dialogues[first : first + CHUNK]
            fingerprint, _, message = scorer.verdicts(chunk, False, first, 1, profile)
            assert fingerprint == facts.fingerprint
            verdicts, taken = message_value(message)
            results |= {verdict.dialogue_id: verdict for verdict in verdicts}
            usage.add(taken)
        scorer._detector.engine.close()  # type: ignore[union-attr]
    for one in expected:
        other = results[one.dialogue_id]
        assert (one.findings, one.suggestions, one.judge) == (other.findings, other.suggestions, other.judge)
    assert usage.questions == usage.spent == usage.allowed == 6
