"""One dialogue never holds up the rest: hung, greedy and crashing ones are failed alone. Real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from patience import is_running, wait_for

from dialint.detector import watchdog
from dialint.detector.errors import ConfigError, ReleaseRefused, WorldError
from dialint.detector.interface import DetectorConfig, PlainDetector
from dialint.detector.isolation import WorkerFailure, judge_isolated
from dialint.detector.records import Dialogue, Turn, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.watchdog import WatchConfig, WatchedDetector

QUICK = WatchConfig(dialogue_seconds=0.3)
PATIENT = WatchConfig(dialogue_seconds=60.0)
"""For what must not be ended by the clock, however busy the machine is."""


def busy() -> None:
    while True:
        pass


def greedy() -> None:
    held = []
    while True:
        held.append(bytearray(10_000_000))
        time.sleep(0.005)


POISONS: dict[str, Callable[[], object]] = {
    "busy": busy,
    "asleep": lambda: time.sleep(3600),
    "greedy": greedy,
    "crash": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "exit": lambda: os._exit(9),
    "memory": lambda: (_ for _ in ()).throw(MemoryError()),
}


class Fake(PlainDetector):
    """Judges at once, but for dialogues whose text is the name of a poison. `marks` says whether it tells
    which dialogue it is at; `together` is the most dialogues that it takes at a time."""

    release, fingerprint, codes = "fake-1", "fingerprint", ("C1",)

    def __init__(self, marks: bool = True, together: int = 1_000) -> None:
        self.taxonomy = load_taxonomy()
        self._marks = marks
        self._together = together

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        if len(dialogues) > self._together:
            busy()
        results = []
        for place, dialogue in enumerate(dialogues):
            self.monitor.on_step(place if self._marks else None)
            if (text := dialogue.turns[0].text) in POISONS:
                POISONS[text]()
            if text == "defect":
                raise KeyError("what is not there")
            results.append(
                Verdict(dialogue_id=dialogue.id, release="fake-1", taxonomy="1", status="scored", quality=1)
            )
        return results


def dialogues(*texts: str) -> list[Dialogue]:
    return [
        Dialogue(id=f"d{number}", turns=(Turn(index=0, role="agent", text=text),))
        for number, text in enumerate(texts)
    ]


def outcome(watched: WatchedDetector, *texts: str) -> str:
    verdicts = watched.verdicts(dialogues(*texts))
    assert [verdict.dialogue_id for verdict in verdicts] == [f"d{number}" for number in range(len(texts))]
    assert {verdict.failure for verdict in verdicts} <= {None, "E_TIMEOUT"}
    return "".join("-" if verdict.failure else "+" for verdict in verdicts)


@pytest.mark.parametrize("poison", POISONS)
def test_a_dialogue_that_cannot_be_judged_is_failed_and_the_others_are_judged(
    poison: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "DIALOGUE_MEGABYTES", 200)
    messages: list[str] = []
    limits = QUICK if poison in ("busy", "asleep") else PATIENT
    with WatchedDetector(Fake(), limits, messages.append) as watched:
        assert outcome(watched, "hi", "hi", poison, "hi") == "++-+"
        assert outcome(watched, "hi") == "+"
    assert len(messages) == 1
    assert messages[0].startswith("dialogue 'd2': E_TIMEOUT: ")
    words = {"busy": "seconds", "asleep": "seconds", "greedy": "200 MB of memory"}
    assert words.get(poison, "died") in messages[0]


def test_without_marks_the_dialogue_is_found_in_ever_smaller_parts() -> None:
    with WatchedDetector(Fake(marks=False), PATIENT) as watched:
        assert outcome(watched, *["hi"] * 5, "exit", "hi", "exit") == "+++++-+-"


def test_several_in_one_chunk_and_a_chunk_of_nothing_else() -> None:
    with WatchedDetector(Fake(), PATIENT) as watched:
        assert outcome(watched, "exit", "hi", "crash", "hi", "exit") == "-+-+-"
        assert outcome(watched, "exit", "exit") == "--"
        assert outcome(watched, "exit") == "-"


def test_dialogues_that_are_too_much_only_together_are_judged_in_parts() -> None:
    with WatchedDetector(Fake(together=2), QUICK) as watched:
        assert outcome(watched, *["hi"] * 5) == "+++++"


def test_a_long_dialogue_has_longer() -> None:
    text = "x" * 99_000

    class Slow(Fake):
        def verdicts(
            self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False
        ) -> list[Verdict]:
            end = time.thread_time() + 0.9  # a short one has 0.3, this one 1.2
            self.monitor.on_step(0)
            while time.thread_time() < end:
                pass
            return super().verdicts(dialogues)

    with WatchedDetector(Slow(), QUICK) as watched:
        assert outcome(watched, text * 3) == "+"
        assert outcome(watched, "hi") == "-"


def test_defects_come_through_with_their_traceback() -> None:
    with WatchedDetector(Fake(), PATIENT) as watched:
        with pytest.raises(KeyError, match="what is not there") as caught:
            outcome(watched, "hi", "defect")
        assert "in verdicts" in caught.value.__notes__[0]
        assert outcome(watched, "hi") == "+"


def test_what_cannot_be_loaded_is_said_as_ever(tmp_path: Path) -> None:
    with (
        WatchedDetector(DetectorConfig(release=tmp_path / "none"), QUICK) as watched,
        pytest.raises(ReleaseRefused),
    ):
        watched.ready()
    for seconds in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ConfigError):
            WatchConfig(dialogue_seconds=seconds)


def test_a_worker_that_dies_while_it_loads_is_the_worlds_fault() -> None:
    class Dying(Fake):
        @property
        def release(self) -> str:  # type: ignore[override]
            os._exit(7)

    with WatchedDetector(Dying(), QUICK) as watched, pytest.raises(WorldError, match="exit code 7"):
        watched.ready()


def test_the_worker_ends_with_its_parent_even_when_it_hangs() -> None:
    code = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from test_watchdog import *\n"
        "watched = WatchedDetector(Fake(), WatchConfig()).ready()\n"
        "print(watched._workers[0]._pid, flush=True)\n"
        "watched.verdicts(dialogues('busy'))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        os.kill(worker, 0)
        parent.kill()
    wait_for(lambda: not is_running(worker), "the worker lived on")


@pytest.mark.slow
@pytest.mark.new_interpreter
def test_the_description_of_the_release_comes_from_the_worker() -> None:
    with WatchedDetector(DetectorConfig(), WatchConfig()) as watched:
        info = watched.info
        assert info is not None
        assert (info.id, info.covered) == (watched.release, watched.codes)
    with WatchedDetector(Fake(), QUICK) as watched:
        assert watched.info is None


def test_a_pool_gives_the_verdicts_of_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "PART", 2)
    monkeypatch.setattr(watchdog, "MIN_FOR_WORKERS", 2)
    messages: list[str] = []
    with WatchedDetector(Fake(), PATIENT, messages.append, 3) as pool:
        assert outcome(pool, "hi") == "+"
        assert outcome(pool, *["hi"] * 4, "exit", *["hi"] * 5, "crash") == "++++-+++++-"
        assert outcome(pool, *["hi"] * 6) == "++++++"
    assert len(messages) == 2


def test_defects_come_through_a_pool_and_leave_it_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "PART", 1)
    monkeypatch.setattr(watchdog, "MIN_FOR_WORKERS", 2)
    with WatchedDetector(Fake(), PATIENT, print, 3) as pool:
        for texts in (["hi", "hi", "defect"], ["defect", "hi"]):
            with pytest.raises(KeyError):
                pool.verdicts(dialogues(*texts))
        assert outcome(pool, *["hi"] * 5) == "+++++"


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_worker_that_is_killed_from_outside_costs_no_verdict(n: int) -> None:
    for at in (None, *range(n)):
        failures = [WorkerFailure("killed", at)]

        def attempt(part: Sequence[Dialogue]) -> list[Verdict] | WorkerFailure:
            return failures.pop() if failures else Fake().verdicts(part)  # noqa: B023

        verdicts = judge_isolated(
            dialogues(*["hi"] * n), attempt, lambda *_: pytest.fail("a good dialogue was failed")
        )
        assert [verdict.dialogue_id for verdict in verdicts] == [f"d{number}" for number in range(n)]


def test_a_worker_that_died_while_it_loaded_is_replaced_and_its_process_number_left_alone(
    tmp_path: Path,
) -> None:
    class DiesOnce(Fake):
        @property
        def info(self) -> None:  # type: ignore[override]
            if not (tmp_path / "died").exists():
                (tmp_path / "died").touch()
                os._exit(7)

    with WatchedDetector(DiesOnce(), PATIENT) as watched:
        with pytest.raises(WorldError, match="exit code 7"):
            watched.ready()
        dead = watched._workers[0]
        assert outcome(watched, "hi", "hi") == "++"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "kill", lambda *_: pytest.fail("another process may have the number"))
        assert dead is not None
        assert dead.end() == "exit code 7"


class Stop(BaseException):
    """As `Interrupted` of a job."""


def test_a_signal_ends_a_pool_without_what_the_others_are_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise Stop

    monkeypatch.setattr(watchdog, "PART", 1)
    monkeypatch.setattr(watchdog, "MIN_FOR_WORKERS", 2)
    earlier = signal.signal(signal.SIGALRM, stop)
    try:
        with WatchedDetector(Fake(), PATIENT, print, 2) as pool:
            assert outcome(pool, "hi", "hi") == "++"
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            started_s = time.monotonic()
            with pytest.raises(Stop):
                pool.verdicts(dialogues("hi", *["asleep"] * 2))
            assert time.monotonic() - started_s < 60  # of 360
    finally:
        signal.signal(signal.SIGALRM, earlier)
