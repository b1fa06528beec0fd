"""A dataset from a log, annotations, aggregated labels and verdicts, by answers worked out by hand."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from own_taxonomy import write_taxonomy

from dialint.detector.artifacts import (
    MANIFEST,
    file_entry,
    fingerprint,
    read_manifest,
    verify_files,
    write_manifest,
)
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused
from dialint.detector.records import Example, Preference
from dialint.labeling.dataset.examples import SPLITS, DatasetConfig
from dialint.labeling.dataset.export import run
from dialint.labeling.dataset.splits import assign_split, split_key

WORDS = ["kettle", "ladder", "carpet", "lantern", "mirror", "saddle", "hammer", "basket", "violin", "anchor", "pillow", "bucket"]  # fmt: skip
TEXTS = ["Where is my order?", "It arrived yesterday I think.", "It did not arrive.", "Have a nice day!"]


def dialogue(
    name: str, texts: list[str] | None = None, customer: str | None = None, agent: str | None = None
) -> dict[str, Any]:
    rng = Random(name)
    lines = texts or [" ".join(rng.choices(WORDS, k=14)) for _ in range(4)]
    turns = [{"role": ("customer", "agent")[n % 2], "text": text} for n, text in enumerate(lines)]
    metadata = {"metadata": {"customer": customer}} if customer else {}
    return {"dialogue_id": name, "turns": turns, **metadata, **({"agent": agent} if agent else {})}


def finding(code: str, turn: int, start: int, end: int, **over: Any) -> dict[str, Any]:
    place = {"code": code, "turn": turn, "start": start, "end": end, "quote": TEXTS[turn][start:end]}
    return {**place, "severity": "S2", "probability": 1.0, "reason": "", **over}


def annotation(name: str, of: str, labeler: str, *findings: dict[str, Any], **over: Any) -> dict[str, Any]:
    row = {"id": name, "dialogue_id": of, "labeler": labeler, "kind": "crowd", "codes": ["C1", "L1", "R1"]}
    return {**row, "findings": list(findings), **over}


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def verdict(
    of: str, *findings: dict[str, Any], probabilities: dict[str, Any] | None = None
) -> dict[str, Any]:
    row = {"dialogue_id": of, "release": "r1", "taxonomy": "1.0.0", "status": "scored", "quality": 90.0}
    return {**row, "findings": list(findings), **({"probabilities": probabilities} if probabilities else {})}


class House:
    """A folder with a log and what was said of it."""

    def __init__(
        self, folder: Path, dialogues: list[dict[str, Any]], annotations: list[dict[str, Any]]
    ) -> None:
        self.folder = folder
        self.log = lines(folder / "log.jsonl", dialogues)
        self.annotations = lines(folder / "annotations.jsonl", annotations)

    def verdicts(self, rows: list[dict[str, Any]]) -> Path:
        path = lines(self.folder / "verdicts.jsonl", rows)
        entry = file_entry(path, len(rows))
        write_manifest(
            self.folder / "verdicts.manifest.json", {"kind": "verdicts", "format": "jsonl", "files": [entry]}
        )
        return path

    def run(self, name: str = "out", **over: Any) -> tuple[Path, dict[str, Any]]:
        options: dict[str, Any] = {
            "dialogues": (str(self.log),),
            "annotations": (self.annotations,),
            "key": "k",
        }
        return self.folder / name, run(DatasetConfig(out=self.folder / name, **{**options, **over}))


def examples(out: Path) -> Iterator[Example]:
    for split in SPLITS:
        for line in (out / f"{split}.jsonl").read_text().splitlines():
            example = Example.model_validate_json(line)
            assert example.split == split
            yield example


def labels(out: Path) -> dict[tuple[str, int, str], tuple[float, str, int, int | None, int | None]]:
    return {
        (e.dialogue.id, own.turn, own.code): (round(own.probability, 6), own.method, own.n_labelers, own.start, own.end)
        for e in examples(out)
        for own in e.labels
    }  # fmt: skip


def pairs(out: Path) -> list[Preference]:
    lines = (out / "preferences.jsonl").read_text().splitlines()
    return [Preference.model_validate_json(line) for line in lines]


def lineage(out: Path) -> dict[str, dict[str, Any]]:
    rows = map(json.loads, (out / "lineage.jsonl").read_text().splitlines())
    return {row["dialogue_id"]: row for row in rows}


def test_soft_labels_are_shares_with_the_span_most_agree_on(tmp_path: Path) -> None:
    rows = [
        annotation("a1", "d", "w1", finding("C1", 1, 0, 10)),
        annotation("a2", "d", "w2", finding("C1", 1, 2, 12), finding("L1", 3, 0, 4)),
        annotation("a3", "d", "w3", finding("C1", 1, 3, 12)),
        annotation("a4", "d", "w4"),
        annotation("m", "d", "model", finding("L1", 1, 0, 2), kind="model"),
    ]
    out, manifest = House(tmp_path, [dialogue("d", TEXTS)], rows).run()
    # 2:12 overlaps 0:10 by 8/12 and 3:12 by 9/10; 3:12 overlaps 0:10 by 7/12 only
    assert labels(out) == {
        ("d", 1, "C1"): (0.75, "people:share", 4, 2, 12),
        ("d", 3, "L1"): (0.25, "people:share", 4, 0, 4),
    }
    assert manifest["codes"] == ["L1", "C1", "R1"]
    entry = lineage(out)["d"]
    assert entry["labelers"] == {"a1": "w1", "a2": "w2", "a3": "w3", "a4": "w4"}
    assert [(row["turn"], row["code"], row["annotations"]) for row in entry["labels"]] == [
        (1, "C1", ["a1", "a2", "a3", "a4"]),
        (3, "L1", ["a1", "a2", "a3", "a4"]),
    ]


def test_the_last_answer_of_a_labeler_counts_and_an_expert_decides(tmp_path: Path) -> None:
    rows = [
        annotation("a1", "d", "w1", finding("C1", 1, 0, 10), finding("L1", 1, 0, 2)),
        annotation("a2", "d", "w1", codes=["C1"], turn=1),
        annotation("a3", "d", "w2", finding("C1", 1, 0, 10)),
        annotation("a4", "d", "boss", kind="expert", codes=["L1"]),
        annotation("b1", "e", "w1"),
    ]
    out, _ = House(tmp_path, [dialogue("d", TEXTS), dialogue("e")], rows).run()
    assert labels(out) == {("d", 1, "C1"): (0.5, "people:share", 2, 0, 10)}


def test_a_code_of_the_dialogue_is_one_label_where_most_found_it(tmp_path: Path) -> None:
    findings = (finding("R1", 1, 0, 4), finding("R1", 3, 0, 4), finding("R1", 3, 0, 6))
    rows = [annotation(f"a{n}", "d", f"w{n}", each) for n, each in enumerate(findings)]
    out, _ = House(tmp_path, [dialogue("d", TEXTS)], [*rows, annotation("a4", "d", "w4")]).run()
    assert labels(out) == {("d", 3, "R1"): (0.75, "people:share", 4, 0, 4)}


def test_aggregated_labels_replace_shares(tmp_path: Path) -> None:
    rows = [annotation("a1", "d", "w1", finding("C1", 1, 0, 10)), annotation("a2", "d", "w2")]
    house = House(tmp_path, [dialogue("d", TEXTS)], rows)
    table = [{"task": "d/1/C1", "label": "yes", "probability": 0.9, "n_labelers": 2, "probabilities": {"yes": 0.9, "no": 0.1}},
             {"task": "d/3", "code": "L1", "label": "no", "probability": 0.95, "n_labelers": 2}]  # fmt: skip
    out, _ = house.run(labels=lines(tmp_path / "labels.jsonl", table))
    assert labels(out) == {
        ("d", 1, "C1"): (0.9, "aggregated", 2, 0, 10),
        ("d", 3, "L1"): (0.05, "aggregated", 2, None, None),
    }
    own = [{"dialogue_id": "d", "turn": 1, "code": "C1", "probability": 0.0, "method": "expert"}]
    own += [{**own[0], "code": "L2", "probability": 1.0}]  # nobody was asked about it
    out, manifest = house.run("again", labels=lines(tmp_path / "own.jsonl", own))
    assert labels(out) == {}
    assert manifest["left_out"]["labels of other codes"] == 1
    head = "task,label,probability,n_labelers,probability:no,probability:yes"
    (tmp_path / "t.csv").write_text(f"{head}\nd/1/C1,yes,0.8,2,0.2,0.8\n")
    out, _ = house.run("csv", labels=tmp_path / "t.csv")
    assert labels(out) == {("d", 1, "C1"): (0.8, "aggregated", 2, 0, 10)}
    (tmp_path / "binary.csv").write_text(
        "task,label,probability,probability:0,probability:1\nd/1/C1,1,0.8,0.2,0.8\n"
    )
    out, _ = house.run("binary", labels=tmp_path / "binary.csv")
    assert labels(out) == {("d", 1, "C1"): (0.8, "aggregated", 0, 0, 10)}
    only_no = [{"task": "d/1/C1", "label": "FALSE", "probability": 0.7, "probability:FALSE": 0.7}]
    out, _ = house.run("no", labels=lines(tmp_path / "no.jsonl", only_no))
    assert round(labels(out)["d", 1, "C1"][0], 6) == 0.3
    with pytest.raises(InputRefused, match="E_LABEL"):
        house.run(
            "never",
            labels=lines(tmp_path / "odd.jsonl", [{**only_no[0], "label": "x", "probability:FALSE": None}]),
        )


def test_nothing_is_made_of_annotations_of_other_logs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="1 annotated ones are not in the logs"):
        House(tmp_path, [dialogue("e", TEXTS)], [annotation("a", "d", "w")]).run()


def cups(name: str, labeler: str, turn: int, code: str) -> dict[str, Any]:
    """An answer that names one of three codes which exclude one another."""
    own = finding(code, turn, 0, 5, severity="S3")
    return annotation(name, "d", labeler, own, codes=["K1", "K2", "K3"], turn=turn)


@pytest.fixture
def of_turns(tmp_path: Path) -> House:
    rows = [cups("a1", "w1", 1, "K1"), cups("a2", "w2", 1, "K2"), cups("a3", "w1", 3, "K3")]
    return House(tmp_path, [dialogue("d", TEXTS)], [*rows, cups("a4", "w2", 3, "K3")])


def test_labels_of_codes_that_exclude_one_another_stand_together(of_turns: House) -> None:
    folder = of_turns.folder
    own: dict[str, Any] = {"taxonomy": write_taxonomy(folder)}
    table = [
        {"task": "d/1", "label": "K2", "n_labelers": 2, "probabilities": {"K1": 0.25, "K2": 0.75, "K3": 0.0}},
        {"task": "d/3", "label": "K3", "probability:K1": 0.1, "probability:K2": 0.1, "probability:K3": 0.8},
    ]
    out, _ = of_turns.run(labels=lines(folder / "labels.jsonl", table), **own)
    assert {key: label[:3] for key, label in labels(out).items()} == {
        ("d", 1, "K1"): (0.25, "aggregated", 2),
        ("d", 1, "K2"): (0.75, "aggregated", 2),
        ("d", 3, "K1"): (0.1, "aggregated", 0),
        ("d", 3, "K2"): (0.1, "aggregated", 0),
        ("d", 3, "K3"): (0.8, "aggregated", 0),
    }
    (folder / "winners.csv").write_text("task,label\nd/1,K2\nd/3,K3\n")
    out, _ = of_turns.run("hard", labels=folder / "winners.csv", **own)
    assert {key: label[0] for key, label in labels(out).items()} == {("d", 1, "K2"): 1.0, ("d", 3, "K3"): 1.0}
    out, _ = of_turns.run("people", **own)
    assert labels(out)["d", 1, "K1"][:2] == (0.5, "people:share")


@pytest.mark.parametrize(
    "row",
    [
        {"task": "d/1", "label": "K1", "probability": 0.9},
        {"task": "d/1", "label": "K1", "worker": "w"},
        {"task": "d/1", "label": "K1", "probabilities": {"K1": 0.9}},
        {"task": "d/1", "label": "K1", "probabilities": {"K1": 0.9, "C1": 0.1}},
        {"task": "d/1", "label": "K1", "probabilities": {"K1": 1.5, "K2": -0.5}},
        {"task": "d/1", "label": "K1", "probabilities": [1.0]},
        {"task": "d/1", "label": "K9"},
        {"task": "1", "label": "K1"},
    ],
    ids=[
        "of the winner only",
        "an answer",
        "no whole",
        "another code",
        "below 0",
        "a list",
        "unknown",
        "no turn",
    ],
)
def test_what_is_no_distribution_over_them_is_refused(of_turns: House, row: dict[str, Any]) -> None:
    path = lines(of_turns.folder / "labels.jsonl", [row])
    with pytest.raises(InputRefused, match="E_LABEL"):
        of_turns.run(labels=path, taxonomy=write_taxonomy(of_turns.folder))


def test_an_aggregated_label_of_the_dialogue_moves_to_where_people_found_it(tmp_path: Path) -> None:
    """Crowd tables ask it of the last turn; it must not become a second label."""
    rows = [annotation("a1", "d", "w1", finding("R1", 1, 0, 4)), annotation("a2", "d", "w2")]
    house = House(tmp_path, [dialogue("d", TEXTS)], rows)
    row = {"task": "d/3/R1", "probability:yes": 0.7, "n_labelers": 2}
    out, _ = house.run(labels=lines(tmp_path / "labels.jsonl", [row]))
    assert labels(out) == {("d", 1, "R1"): (0.7, "aggregated", 2, 0, 4)}


def test_only_dialogues_asked_of_in_full_are_examples(tmp_path: Path) -> None:
    """No label means no error, so a code nobody asked of must keep a dialogue out."""
    rows = [
        annotation("a", "whole", "w"),
        annotation("b", "by-turn", "w", turn=1), annotation("c", "by-turn", "w", turn=3),
        annotation("d", "one-turn", "w", turn=1),
        annotation("e", "one-code", "w", codes=["L1"]),
        annotation("f", "model-only", "m", kind="model"),
        annotation("g", "gone", "w"),
    ]  # fmt: skip
    names = ("whole", "by-turn", "one-turn", "one-code", "model-only", "untouched")
    house = House(tmp_path, [dialogue(name) for name in names], rows)
    out, manifest = house.run()
    assert {e.dialogue.id for e in examples(out)} == {"whole", "by-turn"}
    left_out = {
        "annotated, not in the logs": 1,
        "not asked of in full": 3,
        "with labels, not annotated": 0,
        "labels of other codes": 0,
    }
    assert manifest["left_out"] == left_out
    out, _ = house.run("fewer", codes=("L1",))
    assert {e.dialogue.id for e in examples(out)} == {"whole", "by-turn", "one-code"}


def reviewed(
    name: str, *findings: dict[str, Any], kind: str = "reviewer", codes: tuple[str, ...] = ("C1", "L1")
) -> dict[str, Any]:
    return annotation(name, "d", "boss", *findings, kind=kind, codes=list(codes), seen_verdict=True)


def made_pairs(tmp_path: Path, rows: list[dict[str, Any]], model: dict[str, Any]) -> list[Preference]:
    house = House(tmp_path, [dialogue("d", TEXTS)], [annotation("c", "d", "w"), *rows])
    return pairs(house.run(verdicts=house.verdicts([model]))[0])


MODEL = finding("C1", 1, 0, 10, reason="model says", probability=0.9)


def test_an_overturned_finding_loses_to_no_error(tmp_path: Path) -> None:
    why = [{"turn": 1, "code": "C1", "reason": "answered"}, {"turn": 3, "code": "C1", "reason": "too_small"}]
    (pair,) = made_pairs(tmp_path, [{**reviewed("r"), "rejections": why}], verdict("d", MODEL))
    assert (pair.outcome, pair.turn, pair.code) == ("overturned", 1, "C1")
    assert (pair.annotation, pair.release) == ("r", "r1")
    assert (pair.chosen.verdict, pair.chosen.quote) == ("no_error", None)
    assert (pair.rejected.verdict, pair.rejected.quote) == ("error", "It arrived")
    assert pair.rejected.reason == "model says"
    assert [turn.text for turn in pair.dialogue.turns] == TEXTS[:2]
    assert pair.reason == "answered"


def test_an_amended_finding_loses_to_the_persons(tmp_path: Path) -> None:
    persons = finding("C1", 1, 3, 10, severity="S1", rewrite="Let me check.")
    (pair,) = made_pairs(tmp_path, [reviewed("r", persons)], verdict("d", MODEL))
    assert (pair.outcome, pair.rejected.severity) == ("amended", "S2")
    chosen = pair.chosen
    assert (chosen.severity, chosen.quote, chosen.rewrite) == ("S1", "arrived", "Let me check.")


def test_a_missed_error_is_a_pair_where_the_model_looked(tmp_path: Path) -> None:
    model = verdict("d", probabilities={"3": {"L1": 0.1}})
    (pair,) = made_pairs(tmp_path, [reviewed("r", finding("L1", 3, 0, 4))], model)
    assert (pair.outcome, pair.chosen.quote, pair.rejected.verdict) == ("missed", "Have", "no_error")


@pytest.mark.parametrize(
    "rows",
    [
        [reviewed("r", finding("C1", 1, 0, 10))],
        [reviewed("r", codes=("L1",))],
        [reviewed("r", kind="crowd")],
        [reviewed("r", kind="appeal")],
        [reviewed("r"), reviewed("x", finding("C1", 1, 0, 10), kind="expert")],
        [reviewed("r"), reviewed("again", finding("C1", 1, 0, 10))],
    ],
    ids=[
        "confirmed",
        "not asked",
        "a labeler",
        "the agent",
        "an expert restores it",
        "the reviewer restores it",
    ],
)
def test_no_pair_where_nobody_decided_against_the_model(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    assert made_pairs(tmp_path, rows, verdict("d", MODEL)) == []


def test_customers_agents_and_near_copies_stay_on_one_side(tmp_path: Path) -> None:
    rng = Random(1)
    dialogues = [
        dialogue(f"d{number}", customer=f"c{rng.randrange(90)}", agent=f"a{rng.randrange(40)}")
        for number in range(300)
    ]
    for number in range(60):
        copy = dialogue(f"d{number}", customer=f"other{number}", agent=f"x{number}")
        copy["turns"][3]["text"] += " Bye."
        dialogues.append({**copy, "dialogue_id": f"copy{number}"})
    rng.shuffle(dialogues)
    rows = [annotation(f"a{n}", row["dialogue_id"], "w") for n, row in enumerate(dialogues)]
    house = House(tmp_path, dialogues, rows)

    def sides(name: str, **options: Any) -> dict[str, str]:
        """The set of each dialogue."""
        out, manifest = house.run(name, shares=(0.5, 0.2, 0.15, 0.15), **options)
        assert sum(file["rows"] for file in manifest["files"][:4]) == 360
        return {e.dialogue.id: e.split for e in examples(out)}

    by_customer, blind, by_agent = sides("out"), sides("without", near=0.0), sides("agents", by=("agent",))
    assert len(by_customer) == 360
    assert len(set(by_customer.values())) == 4
    assert all(by_customer[f"copy{n}"] == by_customer[f"d{n}"] for n in range(60))
    assert any(blind[f"copy{n}"] != blind[f"d{n}"] for n in range(60))  # the check above can fail
    customers = {(row["metadata"]["customer"], by_customer[row["dialogue_id"]]) for row in dialogues}
    agents = {(row["agent"], by_agent[row["dialogue_id"]]) for row in dialogues}
    for side in (customers, agents):
        assert len(side) == len({name for name, _ in side}), "one set each"


def test_the_manifest_is_whole_and_nothing_is_overwritten(tmp_path: Path) -> None:
    house = House(tmp_path, [dialogue("d", TEXTS)], [annotation("a", "d", "w", finding("C1", 1, 0, 10))])
    out, _ = house.run()
    manifest = read_manifest(out / MANIFEST)
    verify_files(out, manifest["files"])
    assert [entry["name"] for entry in manifest["inputs"]] == ["log.jsonl", "annotations.jsonl"]
    assert "arrived" not in (out / MANIFEST).read_text() + (out / "lineage.jsonl").read_text()
    with pytest.raises(OutputRefused):
        house.run()


def test_inputs_that_are_wrong_are_named(tmp_path: Path) -> None:
    bad = {
        "outside": annotation("a", "d", "w", finding("C1", 1, 0, 999)),
        "turn": annotation("a", "d", "w", {**finding("C1", 1, 0, 4), "turn": 9}),
        "code": annotation("a", "d", "w", codes=["Z9"]),
        "asked": annotation("a", "d", "w", finding("C1", 1, 0, 4), codes=["L1"]),
    }
    for name, row in bad.items():
        (tmp_path / name).mkdir()
        with pytest.raises(InputRefused, match="E_ANNOTATION"):
            House(tmp_path / name, [dialogue("d", TEXTS)], [row]).run()
        assert not list((tmp_path / name).glob("out/*"))
    house = House(tmp_path, [dialogue("d", TEXTS)], [annotation("a", "d", "w")])
    tasks = [
        {"task": task, "probability:yes": p} for task, p in (("d/x/C1", 1), ("d/1/C1", 7), ("d/9/C1", 1))
    ]
    for number, row in enumerate([{"task": "d/1"}, {"dialogue_id": "d"}, *tasks]):
        with pytest.raises(InputRefused, match="E_LABEL"):
            house.run(f"o{number}", labels=lines(tmp_path / "labels.jsonl", [row]))
    for over in ({"shares": (1.0, 1.0, 0.0, 0.0)}, {"near": 0.2}, {"codes": ("Z",)}):
        with pytest.raises(ConfigError):
            house.run("never", **over)


SECRET = "a secret that nobody guesses"


def test_the_key_comes_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DIALINT_SPLIT_KEY", raising=False)
    with pytest.raises(ConfigError, match="DIALINT_SPLIT_KEY"):
        split_key(None)
    monkeypatch.setenv("DIALINT_SPLIT_KEY", SECRET)
    assert split_key(None) == SECRET
    made = tmp_path / "new" / "split.key"
    assert re.fullmatch("[0-9a-f]{64}", split_key(made))
    assert split_key(made) == split_key(made), "made once"
    assert made.stat().st_mode & 0o777 == 0o600
    made.chmod(0o640)
    with pytest.raises(ConfigError, match="chmod 600"):
        split_key(made)
    made.chmod(0o600)
    made.write_text(" \n")
    with pytest.raises(ConfigError, match="empty"):
        split_key(made)
    with pytest.raises(ConfigError, match="cannot be read"):
        split_key(tmp_path)
    with pytest.raises(ConfigError, match="there is a key already"):
        DatasetConfig(out=tmp_path / "x", key=SECRET, key_file=made)
    assert SECRET not in repr(DatasetConfig(out=tmp_path / "x", key=SECRET))


def test_the_same_key_gives_the_same_splits_as_ever() -> None:
    """Worked out with the version before keys were stretched: the stretching is of what is told, not of this."""
    shares = list(zip(SPLITS, (0.4, 0.2, 0.2, 0.2), strict=True))
    sides = "train dev dev calibration calibration test train dev calibration train"
    assert " ".join(assign_split(f"dialogue:d{n}", "k", shares) for n in range(10)) == sides


def test_no_file_gives_the_key_away(tmp_path: Path) -> None:
    house = House(tmp_path, [dialogue("a", TEXTS)], [annotation("1", "a", "ann")])
    folder, manifest = house.run(key=SECRET)
    assert "key" not in manifest["config"]
    quick = {hashlib.new(name, SECRET.encode()).hexdigest() for name in ("sha256", "md5", "sha1", "blake2b")}
    for path in folder.iterdir():
        assert not any(word in path.read_text() for word in (SECRET, fingerprint(SECRET), *quick))


def test_a_dataset_is_masked_unless_asked_not_to(tmp_path: Path) -> None:
    """Labels, evidence and preferences move along; groups and splits do not change."""
    bob = "bob@mail.example"
    texts = [f"I am {bob}, where is it?", f"Dear {bob}, it did not arrive.", "Oh.", f"Bye {bob} now"]

    def of(turn: int, words: str, code: str = "C1", **over: Any) -> dict[str, Any]:
        start = texts[turn].index(words)
        return finding(code, turn, start, start + len(words), quote=words, **over)

    wrong = of(1, "did not arrive", rewrite=f"{bob}, sorry.")
    rows = [annotation("1", "a", "ann", wrong), annotation("2", "a", "rob", wrong, kind="reviewer")]
    named = dialogue("a", texts, customer=bob, agent=bob)
    named["turns"][0]["author"] = bob
    house = House(tmp_path, [named, dialogue("b")], [*rows, annotation("3", "b", "ann")])
    verdicts = house.verdicts([verdict("a", of(3, "now", code="L1"), probabilities={"1": {"C1": 0.4}})])
    splits = []
    for masked in (True, False):
        out = house.run(f"masked-{masked}", verdicts=verdicts, masked=masked)[0]
        n_names = sum(path.read_text().count(bob) for path in out.glob("*.jsonl"))
        assert (n_names == 0) if masked else (n_names > 5)
        (example,) = (one for one in examples(out) if one.dialogue.id == "a")
        (label,) = (one for one in example.labels if one.code == "C1")
        assert label.start is not None
        assert example.dialogue.turns[1].text[label.start : label.end] == "did not arrive"
        assert example.dialogue.masked is masked
        assert {pair.outcome for pair in pairs(out)} == {"missed", "overturned"}
        assert ("[EMAIL_1], sorry." in {pair.chosen.rewrite for pair in pairs(out)}) is masked
        splits.append({one.dialogue.id: one.split for one in examples(out)})
    assert splits[0] == splits[1]


def test_an_aggregated_label_moves_with_the_masked_text(tmp_path: Path) -> None:
    texts = ["Hi", "Dear bob@mail.example, it did not arrive."]
    house = House(tmp_path, [dialogue("a", texts)], [annotation("1", "a", "ann")])
    start = texts[1].index("did")
    place = {"dialogue_id": "a", "turn": 1, "code": "C1", "start": start, "end": start + 7}
    row = {**place, "probability": 0.7, "method": "joint", "n_labelers": 3}
    out, _ = house.run(labels=lines(tmp_path / "labels.jsonl", [row]))
    (example,) = examples(out)
    (label,) = example.labels
    assert label.start is not None
    assert example.dialogue.turns[1].text[label.start : label.end] == "did not"
