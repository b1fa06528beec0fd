"""Files into the store and out again, on both databases: nothing twice, nothing unknown (bad input 43)."""

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import make
import pytest
from answering import answer, answer_all, claim, make_project
from patience import WAIT_S
from sqlalchemy import select

from dialint.detector.artifacts import file_entry, write_manifest
from dialint.detector.errors import ConfigError, OutputRefused, TooManyBad
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import Counts, Loaded
from dialint.detector.ingest.read import open_logs, read
from dialint.detector.records import Dialogue, Turn, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import manifest_path, verdict_line
from dialint.labeling.aggregation.question_posteriors import (
    StoreLabelsConfig,
    aggregate_store,
    load_posteriors,
)
from dialint.labeling.annotation import Annotation, read_annotations
from dialint.labeling.dataset.examples import DatasetConfig
from dialint.labeling.dataset.export import run as make_dataset
from dialint.labeling.exchange.import_labels import ImportConfig, open_rejects
from dialint.labeling.exchange.store_transfer import (
    export_annotations,
    export_dataset,
    import_labels,
    import_logs,
    import_verdicts,
)
from dialint.labeling.store import (
    annotations,
    dialogues,
    gold,
    projects,
    stored_annotations,
    task_view,
    tasks,
)
from dialint.labeling.store.database.audit import Head
from dialint.labeling.store.database.schema import audit, verdicts
from dialint.labeling.store.database.transactions import Store, Transaction
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.records import Gold, NewTask, NotAllowed, Project, StoreRefused
from dialint.labeling.store.stored_annotations import import_annotations

SILENT: Any = lambda *_: None  # noqa: E731


def log(path: Path, n: int, extra: str = "") -> str:
    turns = [{"role": "customer", "text": "Where is it?"}, {"role": "agent", "text": "Anything else? 1"}]
    lines = [json.dumps({"id": f"d{i}", "turns": turns, "agent": f"a{i}"}) for i in range(n)]
    path.write_text("\n".join(lines) + "\n" + extra)
    return str(path)


def test_logs_come_in_once_and_whole(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialint.labeling.exchange.store_transfer.MAX_PER_CALL", 10)
    path = log(tmp_path / "log.jsonl", 22, '{"id": "bad"}\n')
    shares: list[int] = []
    with open_rejects(tmp_path / "folder" / "bad.jsonl") as bad:
        first = import_logs(store, "lea", [path], ReadConfig(), lambda done, share: shares.append(done), bad)
    assert (first.new, first.existing, bad.codes.total(), shares) == (22, 0, 1, [10, 20, 22])
    (row,) = map(json.loads, (tmp_path / "folder" / "bad.jsonl").read_text().splitlines())
    assert (row["line"], row["path"], row["code"]) == (23, bad.first[0].path, bad.first[0].code)
    again = import_logs(store, "lea", [path], ReadConfig(), SILENT)
    assert (again.new, again.existing) == (0, 22)
    dialogue = dialogues.read(store, "rob", "d7")[0]
    loaded = next(read(open_logs([log(tmp_path / "one.jsonl", 8)]), ReadConfig(), Counts()))
    assert isinstance(loaded, Loaded)
    assert dialogue.turns == loaded.dialogue.turns
    other = tmp_path / "other.jsonl"
    other.write_text((tmp_path / "one.jsonl").read_text().replace("Anything", "Something"))
    with pytest.raises(StoreRefused, match="E_CHANGED"):
        import_logs(store, "lea", [str(other)], ReadConfig(), SILENT)


def verdict_file(path: Path, *rows: Verdict) -> Path:
    path.write_bytes(b"".join(map(verdict_line, rows)))
    manifest = {"kind": "verdicts", "format": "jsonl", "files": [file_entry(path, len(rows))]}
    write_manifest(manifest_path(path), manifest)
    return path


def test_verdicts_come_in_once_and_only_of_known_dialogues(store: Store, tmp_path: Path) -> None:
    dialogues.add(store, "lea", [make.dialogue("d0"), make.dialogue("d1")])
    made = [make.verdict(name, make.finding(), risk=0.5) for name in ("d0", "d1", "d9")]
    path = verdict_file(tmp_path / "v.jsonl", *made[:2])
    assert import_verdicts(store, "lea", path, SILENT).new == 2
    assert dialogues.read(store, "rob", "d1")[1] == made[1]
    assert import_verdicts(store, "lea", path, SILENT).existing == 2
    with pytest.raises(StoreRefused, match="E_VERDICT"):
        import_verdicts(store, "lea", verdict_file(tmp_path / "w.jsonl", made[2]), SILENT)
    path.write_bytes(path.read_bytes().replace(b"0.5", b"0.6"))
    with pytest.raises(OutputRefused):
        import_verdicts(store, "lea", path, SILENT)


def test_another_run_of_a_release_comes_in_under_another_name(store: Store, tmp_path: Path) -> None:
    """Without one it is refused: the store keeps one verdict by dialogue and release."""
    dialogues.add(store, "lea", [make.dialogue("d0")])
    import_verdicts(store, "lea", verdict_file(tmp_path / "v.jsonl", make.verdict("d0", risk=0.5)), SILENT)
    other = make.verdict("d0", risk=0.2)
    path = verdict_file(tmp_path / "w.jsonl", other)
    with pytest.raises(
        StoreRefused, match=f"d0: the store has another verdict of {other.release}; .*--release-name"
    ):
        import_verdicts(store, "lea", path, SILENT)
    for new in (1, 0):
        imported = import_verdicts(store, "lea", path, SILENT, "with a judge")
        assert (imported.new, imported.existing) == (new, 1 - new)
    assert dialogues.read(store, "rob", "d0")[1] == other.model_copy(update={"release": "with a judge"})
    releases = store.read(lambda transaction: transaction.run(select(verdicts.c.release)).scalars().all())
    assert sorted(releases) == sorted((other.release, "with a judge"))
    for name in ("", "x" * 201, "a\nb"):
        with pytest.raises(ConfigError, match="E_NAME"):
            import_verdicts(store, "lea", path, SILENT, name)


def test_suggestions_come_in_with_their_verdict_and_reviewers_alone_see_them(
    store: Store, tmp_path: Path
) -> None:
    """They flag nothing, nobody can appeal against them, and another set of them is another verdict."""
    dialogues.add(store, "lea", [make.dialogue("d0"), make.dialogue("d1")])
    plain = make.verdict("d0", risk=0.5)
    suggested = plain.model_copy(update={"suggestions": (make.finding(),)})
    path = verdict_file(tmp_path / "v.jsonl", suggested)
    assert import_verdicts(store, "lea", path, SILENT).new == 1
    assert import_verdicts(store, "lea", path, SILENT).existing == 1
    row = dialogues._verdict_row(suggested, 0)
    assert (row["flagged"], row["risk"]) == (False, 0.91)
    for other in (plain, plain.model_copy(update={"findings": suggested.suggestions})):
        with pytest.raises(StoreRefused, match="E_CHANGED"):
            dialogues.add_verdicts(store, "lea", [other])
    assert dialogues.read(store, "rob", "d0")[1] == suggested
    for name, purpose, actor in (("r", "review", "rob"), ("l", "label", "ann")):
        projects.create(store, "lea", Project(id=name, codes=("C1",), purpose=purpose, prelabelled=True))
        tasks.add(store, "lea", name, [NewTask(dialogue="d0")])
        lease = claim(store, actor, name)
        verdict = task_view.view_task(store, actor, lease.task).verdict
        assert verdict is not None
        assert (len(verdict.findings), len(verdict.suggestions)) == (0, purpose == "review")


def table(path: Path, *rows: str) -> str:
    path.write_text("\n".join(("task,worker,label", *rows)) + "\n")
    return str(path)


@pytest.fixture
def filled(store: Store) -> Store:
    dialogues.add(store, "lea", [make.dialogue(f"d{i}") for i in range(3)])
    return store


def test_bad_input_43_is_rejected_on_every_way_in(filled: Store, tmp_path: Path) -> None:
    """Unknown dialogue, code and worker; a second label in the file, by another file, and by one who
    answered here."""
    make_project(filled, ["d2"], codes=("C1", "L1"))
    answer(filled, "cem", "p", "k")
    good = ["d0/1/L1,ann,yes", "d0/1/L1,ben,no", "d1/1/L1,ann,no", "d2/1/T1,cem,no"]
    bad = ["d9/1/L1,ann,no", "d0/1/Z9,ann,no", "d0/1/L1,zoe,no", "d1/0/L1,ann,no"]
    bad += ["d0/1/L1,ben,yes", "d2/1/L1,cem,no"]
    first = table(tmp_path / "first.csv", *good, *bad)
    for new, existing in ((4, 0), (0, 4)):
        imported = import_labels(filled, "ada", ImportConfig(labels=(first,), max_bad=1.0), "crowd", SILENT)
        assert (imported.existing, imported.new, imported.rejects.codes.total()) == (existing, new, 6)
        assert [(one.line, one.code) for one in imported.rejects.first] == [
            (n, "E_LABEL") for n in range(6, 12)
        ]
    second = table(tmp_path / "second.csv", "d0/1/L1,ann,no", "d0/1/C1,ann,no")
    imported = import_labels(filled, "ada", ImportConfig(labels=(second,), max_bad=1.0), "crowd", SILENT)
    assert (imported.new, imported.rejects.codes.total(), imported.rejects.first[0].found) == (
        1,
        1,
        "a second answer",
    )
    stored = annotations.list_annotations(filled, "rob", "d0")
    assert [(one.labeler, one.kind, one.codes, bool(one.findings)) for one in stored] == [
        ("ann", "crowd", ("L1",), True), ("ben", "crowd", ("L1",), False), ("ann", "crowd", ("C1",), False),
    ]  # fmt: skip
    with pytest.raises(TooManyBad):
        import_labels(filled, "ada", ImportConfig(labels=(second,)), "crowd", SILENT)


def test_strangers_are_taken_where_they_are_named(filled: Store, tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", "d0/1/L1,zoe,yes", "d0/1/L1,yan,yes")
    some = ImportConfig(labels=(path,), labelers=("zoe",), max_bad=1.0)
    assert import_labels(filled, "ada", some, "crowd", SILENT).new == 1
    everybody = ImportConfig(labels=(path,), labelers=("*",))
    assert import_labels(filled, "ada", everybody, "crowd", SILENT).new == 1


def crowd_answer(name: str, labeler: str = "ann", **more: Any) -> Annotation:
    return Annotation(**{
        "id": name, "dialogue_id": "d0", "labeler": labeler, "kind": "crowd", "codes": ("C1",), "turn": 1, **more,
    })  # fmt: skip


def test_what_becomes_of_annotations_from_elsewhere(filled: Store) -> None:
    projects.create(filled, "lea", Project(id="p", codes=("C1", "L1")))
    projects.create(filled, "lea", Project(id="q", codes=("C1",)))
    one = crowd_answer("7")
    assert import_annotations(filled, "ada", [one, one], "toloka", "p") == ("new", "known")
    assert import_annotations(filled, "ada", [one], "toloka", "q") == ("an answer of another project",)
    assert import_annotations(filled, "ada", [one], "toloka") == ("an answer of another project",)
    other = crowd_answer("7", "ben")
    assert import_annotations(filled, "ada", [other], "toloka", "p") == ("an id again",)
    assert import_annotations(filled, "ada", [crowd_answer("8", codes=("C1", "T1"))], "toloka", "p") == (
        "a code that is not asked",
    )
    again = [crowd_answer("9"), crowd_answer("10", turn=None)]
    again += [crowd_answer("11", codes=("L1",)), crowd_answer("12", turn=0)]
    assert import_annotations(filled, "ada", again, "toloka", "p", once=True) == (
        "a second answer", "a second answer", "new", "new",
    )  # fmt: skip
    assert import_annotations(filled, "ada", again[:1], "toloka", "p") == ("new",)
    with pytest.raises(StoreRefused, match="no such project"):
        import_annotations(filled, "ada", [one], "elsewhere", "z")
    with pytest.raises(StoreRefused, match="no such dialogue"):
        import_annotations(filled, "ada", [crowd_answer("13", dialogue_id="d9")], "elsewhere")


def test_of_two_imports_at_once_one_sees_what_the_other_brought(place: str, filled: Store) -> None:
    """The first import has looked and written, and is held back before its commit; the second must wait."""
    done, fates = threading.Event(), list[tuple[str, ...]]()

    def second() -> None:
        with Store.open(place) as own:
            fates.append(import_annotations(own, "ada", [crowd_answer("2")], "second", once=True))
        done.set()

    def first(transaction: Transaction) -> None:
        fates.append(import_annotations(transaction, "ada", [crowd_answer("1")], "first", once=True))
        thread.start()
        done.wait(0.5)

    thread = threading.Thread(target=second)
    filled.write(first)
    thread.join(timeout=WAIT_S)
    assert fates == [("new",), ("a second answer",)]


def test_labels_of_a_project_are_answers_to_what_it_asks(filled: Store, tmp_path: Path) -> None:
    """They count in the project, in the store, and nowhere else; Prodigy does not say which codes it asked."""
    projects.create(filled, "lea", Project(id="p", codes=("C1", "L1")))
    projects.create(filled, "lea", Project(id="q", codes=("T1",)))
    path = table(tmp_path / "t.csv", "d0/1/C1,ann,yes", "d0/1/L1,ann,no", "d0/1/T1,ann,no", "d1/1/C1,ben,no")
    imported = import_labels(
        filled, "ada", ImportConfig(labels=(path,), max_bad=1.0), "crowd", SILENT, project="p"
    )
    assert (imported.new, [(bad.line, bad.path) for bad in imported.rejects.first]) == (3, [(4, "codes")])
    for project, n in (("p", 3), ("q", 0), (None, 3)):
        assert len(list(stored_annotations.iterate_counted(filled, "rob", project))) == n
    assert [projects.count_annotations(filled, "rob", name) for name in "pq"] == [3, 0]
    assert {(one.dialogue, one.code) for one in load_posteriors(filled, "lea", "p", load_taxonomy())} == {
        ("d0", "C1"), ("d0", "L1"), ("d1", "C1"),
    }  # fmt: skip
    assert export_annotations(filled, "rob", tmp_path / "a.jsonl", "p")["files"][0]["rows"] == 3
    marked = {"text": "Anything else?", "spans": [], "answer": "accept", "_annotator_id": "ann"}
    marked |= {"_task_hash": 1, "meta": {"dialogue_id": "d2", "turn": 1}}
    other = tmp_path / "prodigy.jsonl"
    other.write_text(json.dumps(marked) + "\n")
    imported = import_labels(
        filled, "ada", ImportConfig(labels=(str(other),)), "prodigy", SILENT, project="p"
    )
    assert imported.new == 1
    assert annotations.list_annotations(filled, "rob", "d2")[0].codes == ("C1", "L1")


def test_answers_to_other_questions_about_a_turn_all_count(filled: Store, tmp_path: Path) -> None:
    """A crowd table has a row for each code; a correction of ours comes in the place of the same questions."""
    rows = ("d0/1/C1,ann,yes", "d0/1/L1,ann,yes", "d0/1/T1,ann,no", "d1/1/C1,ann,no")
    path = table(tmp_path / "t.csv", *rows)
    import_labels(filled, "ada", ImportConfig(labels=(path,)), "crowd", SILENT)
    codes = [one.codes[0] for one in stored_annotations.iterate_counted(filled, "lea")]
    assert codes == ["C1", "L1", "T1", "C1"]
    import_annotations(filled, "ada", [crowd_answer("corrected")], "ours")
    counted = list(stored_annotations.iterate_counted(filled, "lea"))
    assert [(one.codes[0], bool(one.findings)) for one in counted] == [
        ("L1", True), ("T1", False), ("C1", False), ("C1", False),
    ]  # fmt: skip


@pytest.fixture
def answered(store: Store) -> Store:
    make_project(store, overlap=2)
    dialogues.add_verdicts(store, "lea", [make.verdict(f"d{i}", make.finding(), risk=0.9) for i in range(3)])
    for who in ("ann", "rob"):
        answer_all(store, who, {"d0"})
    return store


def test_annotations_go_out_and_come_into_another_store(answered: Store, tmp_path: Path) -> None:
    out = tmp_path / "folder" / "a.jsonl"
    first = next(one for one in annotations.list_annotations(answered, "rob", "d1") if one.labeler == "ann")
    annotations.correct(answered, "ann", int(first.id), "correction", [make.finding()])
    manifest = export_annotations(answered, "rob", out, "p")
    assert manifest["files"][0]["rows"] == 6
    rows = list(read_annotations(out))
    assert sorted((one.labeler, one.dialogue_id, bool(one.findings)) for one in rows) == [
        ("ann", "d0", True), ("ann", "d1", True), ("ann", "d2", False),
        ("rob", "d0", True), ("rob", "d1", False), ("rob", "d2", False),
    ]  # fmt: skip
    with pytest.raises(OutputRefused):
        export_annotations(answered, "rob", out, "p")
    imported = import_labels(answered, "ada", ImportConfig(labels=(str(out),)), "other", SILENT)
    assert (imported.new, imported.rejects.codes.total()) == (6, 0)


def test_annotations_are_masked_unless_a_lead_asks_for_originals(store: Store, tmp_path: Path) -> None:
    """The reviewer quotes a mail address and names a person in the reason."""
    text = "Thanks Anna! I have written to anna.k@example.com. Anything else?"
    turns = (
        Turn(index=0, role="customer", text="Hi, I am Anna Kowalska."),
        Turn(index=1, role="agent", text=text),
    )
    dialogues.add(store, "lea", [Dialogue(id="d", turns=turns, agent="a1")])
    mail = {"quote": "anna.k@example.com", "start": 31, "end": 49, "reason": "Anna Kowalska's own mail"}
    projects.create(store, "lea", Project(id="p", codes=("C1",)))
    tasks.add(store, "lea", "p", [NewTask(dialogue="d")])
    answer(store, "rob", "p", "once", [make.finding(**mail)])
    manifest = export_annotations(store, "rob", tmp_path / "a.jsonl", "p")
    assert manifest["config"]["masked"] is True
    written = (tmp_path / "a.jsonl").read_text()
    assert not [word for word in ("anna", "kowalska", "example.com") if word in written.lower()]
    ((finding,),) = [one.findings for one in read_annotations(tmp_path / "a.jsonl")]
    assert (finding.quote, finding.start, finding.end) == ("[EMAIL_1]", 35, 44)
    with pytest.raises(NotAllowed):
        export_annotations(store, "rob", tmp_path / "b.jsonl", "p", masked=False)
    assert not (tmp_path / "b.jsonl").exists()
    export_annotations(store, "lea", tmp_path / "b.jsonl", "p", masked=False)
    assert "anna.k@example.com" in (tmp_path / "b.jsonl").read_text()
    rows = store.read(
        lambda t: t.run(select(audit.c.action).where(audit.c.action.startswith("export"))).all()
    )
    assert [row.action for row in rows] == ["export.annotations"] * 2


def json_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_dataset_straight_from_the_store(answered: Store, tmp_path: Path) -> None:
    """d0 has the error by both; the reviewer rejects the model's findings in d1 and d2; gold beats all."""
    config = DatasetConfig(out=tmp_path / "set", key="k", shares=(1.0, 0.0, 0.0, 0.0), near=0)
    manifest = export_dataset(answered, "lea", config, "p")
    rows = {file["name"]: file["rows"] for file in manifest["files"]}
    assert (rows["train.jsonl"], rows["preferences.jsonl"]) == (3, 2)
    examples = json_lines(tmp_path / "set/train.jsonl")
    labels = {one["dialogue"]["id"]: len(one.get("labels", [])) for one in examples}
    assert labels == {"d0": 1, "d1": 0, "d2": 0}
    pairs = json_lines(tmp_path / "set/preferences.jsonl")
    assert {(pair["outcome"], pair["release"]) for pair in pairs} == {("overturned", "embedded-1")}
    assert (manifest["inputs"], manifest["store"]["project"]) == ([], "p")
    assert verify(answered, Head.parse(manifest["store"]["head"]))
    assert make.dialogue("d0").turns[1].text == examples[0]["dialogue"]["turns"][1]["text"]
    with pytest.raises(ConfigError, match="store or of files"):
        export_dataset(answered, "lea", DatasetConfig(out=tmp_path / "x", key="k", dialogues=("a",)), None)
    projects.create(answered, "lea", Project(id="q", codes=("C1",)))
    with pytest.raises(ConfigError, match="no answers in q"):
        export_dataset(answered, "lea", DatasetConfig(out=tmp_path / "x", key="k"), "q")
    gold.set_gold(answered, "eve", Gold(dialogue="d0", turn=1, code="C1", present=False, source="expert"))
    aggregate_store(answered, "lea", StoreLabelsConfig("p"), load_taxonomy())
    export_dataset(answered, "lea", replace(config, out=tmp_path / "known"), "p")
    rows = json_lines(tmp_path / "known/train.jsonl")
    assert {one["dialogue"]["id"] for one in rows} == {"d0", "d1", "d2"}
    all_labels = [label for one in rows for label in one.get("labels", [])]
    assert not [label for label in all_labels if label["code"] == "C1" and label["probability"] > 0.2]


def test_what_was_stripped_from_a_log_moves_no_finding(store: Store, tmp_path: Path) -> None:
    """A log in HTML with a note: the verdict's offsets are of the log; those of the store and of a dataset made
    from it are of the text that people read, and the turns keep their number."""
    question = "<p>Where &amp; when?</p>"
    reply = "<p>Tom &amp; I: <b>it arrived</b></p><blockquote type=cite>a</blockquote>"
    turns = [("customer", question), ("agent", "[Internal note] he lies"), ("agent", reply)]
    path = tmp_path / "log.jsonl"
    record = {"id": "d0", "turns": [{"role": role, "text": text} for role, text in turns]}
    path.write_text(json.dumps(record) + "\n")
    import_logs(store, "lea", [str(path)], ReadConfig(), SILENT)
    start = reply.index("it arrived")
    finding = make.finding(turn=2, start=start, end=start + 10, quote="it arrived")
    verdicts = verdict_file(tmp_path / "v.jsonl", make.verdict("d0", finding))
    assert import_verdicts(store, "lea", verdicts, SILENT).new == 1
    assert import_verdicts(store, "lea", verdicts, SILENT).existing == 1
    stored, verdict = dialogues.read(store, "rob", "d0")
    assert verdict is not None
    texts = {turn.index: turn.text for turn in stored.turns}
    assert texts == {0: "Where & when?", 2: "Tom & I: it arrived"}
    (placed,) = verdict.findings
    assert (placed.start, placed.end, placed.quote) == (9, 19, "it arrived")
    projects.create(store, "lea", Project(id="p", codes=("C1",)))
    tasks.add(store, "lea", "p", [NewTask(dialogue="d0")])
    answer(store, "rob", "p", "k", [placed.model_copy(update={"probability": 1.0})])
    config = DatasetConfig(out=tmp_path / "set", key="k", shares=(1.0, 0.0, 0.0, 0.0), near=0)
    export_dataset(store, "lea", config, "p")
    (example,) = json_lines(tmp_path / "set/train.jsonl")
    (label,) = example["labels"]
    assert [turn["index"] for turn in example["dialogue"]["turns"]] == [0, 2]
    assert (label["turn"], label["start"], label["end"]) == (2, 9, 19)
    assert "edits" not in (tmp_path / "set/train.jsonl").read_text()
    annotated = tmp_path / "a.jsonl"
    export_annotations(store, "rob", annotated, "p")
    from_files = replace(
        config, out=tmp_path / "files", dialogues=(str(path),), annotations=(annotated,), verdicts=verdicts
    )
    make_dataset(from_files)
    (again,) = json_lines(tmp_path / "files/train.jsonl")
    assert again["dialogue"] == example["dialogue"]
    assert [(each["start"], each["end"]) for each in again["labels"]] == [(9, 19)]
