"""Labels as the tools themselves write them: read by hand-computed answers, refused by name, never a crash."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from own_taxonomy import write_taxonomy

from dialint.detector.artifacts import read_manifest, verify_files
from dialint.detector.errors import ConfigError, InputRefused, OutputRefused, TooManyBad
from dialint.detector.ingest.outcomes import Reject
from dialint.detector.ingest.sources import open_logs
from dialint.detector.plugins import plugins
from dialint.detector.records import Dialogue, Turn
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.annotation import Annotation
from dialint.labeling.exchange.format import GROUP, LabelContext, format_by_name
from dialint.labeling.exchange.import_labels import ImportConfig, LabelReader, LocatedAnnotation, run

TAXONOMY = load_taxonomy()
D1 = Dialogue(
    id="d1",
    turns=(
        Turn(index=0, role="customer", text="Where is 4471?"),
        Turn(index=1, role="agent", text="It arrived yesterday."),
        Turn(index=2, role="customer", text="No."),
        Turn(index=3, role="agent", text="😀 Sorry\r\nteh parcel"),
    ),
)
LOG = {"dialogue_id": "d1", "turns": [{"role": turn.role, "text": turn.text} for turn in D1.turns]}


def context(**over: Any) -> LabelContext:
    options = {"requested": ("I1", "L1"), "names": {"wrong_fact": "I1"}, **over}
    return LabelContext(TAXONOMY, {"d1": D1}, **options)


def read_labels(
    path: Path, content: str | bytes, knows: LabelContext | None = None
) -> tuple[list[Annotation], list[Reject], LabelReader]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (source,) = open_logs([str(path)])
    reader = LabelReader(knows or context())
    outcomes = list(reader.read(source))
    return (
        [o.annotation for o in outcomes if isinstance(o, LocatedAnnotation)],
        [o for o in outcomes if isinstance(o, Reject)],
        reader,
    )


def spans(annotation: Annotation) -> list[tuple[str, int, int, int, str]]:
    return [(f.code, f.turn, f.start, f.end, f.quote) for f in annotation.findings]


ARRIVED = [("I1", 1, 3, 20, "arrived yesterday")]


def studio(*annotations: dict[str, Any], **over: Any) -> dict[str, Any]:
    dialogue = [{"author": turn.role, "text": turn.text} for turn in D1.turns]
    data = {"dialogue_id": "d1", "dialogue": dialogue}
    return {"id": 1, "data": data, "annotations": list(annotations), **over}


def region(start: Any, begins: int, end: Any, ends: int, **value: Any) -> dict[str, Any]:
    place = {"start": start, "end": end, "startOffset": begins, "endOffset": ends}
    value = {**place, "paragraphlabels": ["wrong_fact"], **value}
    return {"id": "r1", "type": "paragraphlabels", "origin": "manual", "value": value}


def by(labeler: Any, *results: dict[str, Any], **over: Any) -> dict[str, Any]:
    fields = {
        "id": 11,
        "completed_by": labeler,
        "lead_time": 12.5,
        "created_at": "2026-03-02T10:00:00.000000Z",
    }
    return {**fields, "result": list(results), **over}


def test_label_studio_as_it_exports(tmp_path: Path) -> None:
    why = {"id": "r1", "type": "textarea", "value": {"text": ["tracking says", "in transit"]}}
    tasks = [
        studio(
            by(3, region("1", 3, "1", 20, text="arrived yesterday"), why),
            by({"id": 4, "email": "x@y.z"}, {"type": "choices", "value": {"choices": ["easy"]}}, id=12),
            by(5, was_cancelled=True, id=13),
            by(6, draft=True, id=14),
        )
    ]
    labels, rejects, reader = read_labels(tmp_path / "export.json", json.dumps(tasks))
    assert rejects == []
    assert [spans(a) for a in labels] == [ARRIVED, []]
    assert [(a.id, a.labeler, a.seconds, a.codes, a.seen_verdict) for a in labels] == [
        ("label-studio:1/11", "3", 12.5, ("I1", "L1"), False), ("label-studio:1/12", "4", 12.5, ("I1", "L1"), False)
    ]  # fmt: skip
    assert labels[0].findings[0].reason == "tracking says\nin transit"
    assert reader.left_out == {"skipped": 1, "not submitted": 1, "choices not read": 1}


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([region(3, 9, 3, 12)], [("I1", 3, 8, 11, "\nte")]),  # UTF-16: the emoji is two units
        ([region("3", 10, "3", 13, text="teh")], [("I1", 3, 9, 12, "teh")]),
        ([region("3", 9, "3", 12, text="teh")], [("I1", 3, 9, 12, "teh")]),  # only code points fit the quote
        ([region("3", 8, "3", 11, text="teh")], [("I1", 3, 9, 12, "teh")]),  # or these, of CRLF as one
        ([region("3", 4, "3", 7, text="teh")], [("I1", 3, 9, 12, "teh")]),  # no reading fits, it stands there once
        ([region("3", 500, "3", 503, text=" teh\n")], [("I1", 3, 9, 12, "teh")]),
        ([region("3", 3, "3", 13, text="Sorry teh")], [("I1", 3, 2, 12, "Sorry\r\nteh")]),
        ([region("1", 11, "3", 2)], [("I1", 1, 11, 21, "yesterday."), ("I1", 3, 0, 1, "😀")]),
    ],
)  # fmt: skip
def test_label_studio_offsets_are_utf16_within_a_paragraph(
    tmp_path: Path, results: list[Any], expected: Any
) -> None:
    labels, rejects, _ = read_labels(tmp_path / "export.json", json.dumps([studio(by(3, *results))]))
    assert rejects == []
    assert spans(labels[0]) == expected


@pytest.mark.parametrize(
    "result",
    [region("3", 1, "3", 4), region("1", 3, "1", 99), region("1", 5, "1", 5), region("9", 0, "9", 1), region("0", 0, "0", 3), region("1", -1, "1", 3), region("1", 3, "1", 20, paragraphlabels=["rude"]), region("1", 3, "1", 20, paragraphlabels="I1"), region(None, 0, "1", 2), region("1", 0, "1", 5, text="no such words"), region("1", 9, "1", 9, text="r"), {"type": "choices", "value": {"choices": ["wrong_fact"]}}],
    ids=["half an emoji", "outside", "empty", "no such turn", "customer", "negative", "unknown label", "no list", "no start", "another text", "twice in the text", "a code of another tag"],
)  # fmt: skip
def test_a_bad_region_costs_its_own_answer_only(tmp_path: Path, result: dict[str, Any]) -> None:
    tasks = [studio(by(3, result), by(4, region("1", 3, "1", 20), id=12))]
    labels, rejects, _ = read_labels(tmp_path / "export.json", json.dumps(tasks))
    assert [spans(a) for a in labels] == [ARRIVED]
    assert len(rejects) == 1
    assert rejects[0].code in ("E_LABEL", "E_TYPE")
    assert rejects[0].path.startswith("annotations[0]")


def test_predictions_mean_that_the_labeler_saw_a_verdict(tmp_path: Path) -> None:
    labels, _, _ = read_labels(tmp_path / "a.json", json.dumps([studio(by(3), predictions=[{"result": []}])]))
    assert labels[0].seen_verdict
    accepted = {**region("1", 3, "1", 20), "origin": "prediction-changed"}
    labels, _, _ = read_labels(tmp_path / "b.json", json.dumps([studio(by(3, accepted))]))
    assert labels[0].seen_verdict


def test_a_task_of_another_text_is_refused(tmp_path: Path) -> None:
    task = studio(by(3, region("1", 3, "1", 20)))
    task["data"]["dialogue"][1]["text"] = "It has arrived yesterday."
    _, (reject,), _ = read_labels(tmp_path / "export.json", json.dumps([task]))
    assert (reject.code, reject.found) == ("E_LABEL", "another text than the turn's")


def test_line_ends_that_a_tool_changed_move_offsets_back(tmp_path: Path) -> None:
    place = {"dialogue_id": "d1", "turn": 3, "Comments": []}
    row = {"text": "😀 Sorry\nteh parcel", "label": [[8, 11, "L1"]], **place}
    (labels,), rejects, _ = read_labels(tmp_path / "leo.jsonl", json.dumps(row))
    assert rejects == []
    assert spans(labels) == [("L1", 3, 9, 12, "teh")]


@pytest.mark.parametrize("name", ["export.json", "export.csv"])
def test_a_flat_export_of_label_studio_is_refused_with_the_one_to_choose(tmp_path: Path, name: str) -> None:
    place = {"start": "1", "end": "1", "startOffset": 3, "endOffset": 20}
    task = {**studio()["data"], "id": 1, "label": [{**place, "text": "arrived", "labels": ["I1"]}], "text": "x",
            "annotator": 3, "annotation_id": 11, "created_at": "2026-03-02", "lead_time": 2.5}  # fmt: skip
    out = io.StringIO()
    csv.writer(out).writerows([task.keys(), task.values()])
    with pytest.raises(InputRefused, match=r"E_FORMAT: export: .* choose its JSON export"):
        read_labels(tmp_path / name, out.getvalue() if name == "export.csv" else json.dumps([task]))


def test_labels_in_other_encodings_are_read_as_they_are_or_refused(tmp_path: Path) -> None:
    table = "task,worker,label\nd1/1/I1,Zoë Müller,yes\n"
    for encoding in ("utf-8-sig", "utf-16"):
        ((label,), _, _) = read_labels(tmp_path / "labels.csv", table.encode(encoding))
        assert label.labeler == "Zoë Müller"
    with pytest.raises(InputRefused, match=r"E_ENCODING: .*--encoding cp1252"):
        read_labels(tmp_path / "labels.csv", table.encode("cp1252"))
    made = config(tmp_path, "", encoding="cp1252")
    (tmp_path / "labels.csv").write_bytes(table.encode("cp1252"))
    assert run(made)["counts"]["annotations"] == 1
    assert json.loads((tmp_path / "annotations.jsonl").read_bytes())["labeler"] == "Zoë Müller"


def test_toloka_as_it_exports(tmp_path: Path) -> None:
    head = "INPUT:dialogue_id\tINPUT:text\tOUTPUT:error\tGOLDEN:error\tHINT:text\tASSIGNMENT:assignment_id\tASSIGNMENT:worker_id\tASSIGNMENT:status"
    rows = [
        "d1\tIt arrived yesterday.\twrong_fact\t\t\ta-77\tw-5\tAPPROVED",
        "",
        "d1\tIt arrived yesterday.\t\t\t\ta-78\tw-6\tSUBMITTED",
        "d1\tIt arrived yesterday.\twrong_fact\t\t\ta-79\tw-7\tREJECTED",
        'd1\t"He said ""it arrived"""\twrong_fact\t\t\ta-80\tw-8\tAPPROVED',
    ]
    labels, rejects, reader = read_labels(tmp_path / "pool.tsv", "\n".join([head, *rows]))
    assert [(a.labeler, spans(a), a.codes) for a in labels] == [
        ("w-5", [("I1", 1, 0, 21, "It arrived yesterday.")], ("I1", "L1")), ("w-6", [], ("I1", "L1")),
    ]  # fmt: skip
    assert [(r.line, r.code, r.path) for r in rejects] == [(6, "E_LABEL", "text")]
    assert reader.left_out == {"not accepted": 1}


def test_prodigy_as_it_exports(tmp_path: Path) -> None:
    row = {"text": "It arrived yesterday.", "spans": [{"start": 3, "end": 20, "token_start": 1, "token_end": 2, "label": "wrong_fact"}], "meta": {"dialogue_id": "d1", "turn": 1}, "_input_hash": 18866, "_task_hash": -19528, "_view_id": "spans_manual", "answer": "accept", "_timestamp": 1772442845, "_annotator_id": "errs-leo", "_session_id": "errs-leo"}  # fmt: skip
    bare = {key: value for key, value in row.items() if key != "spans"}
    binary = bare | {"label": "wrong_fact", "answer": "reject"}
    choice = bare | {"options": [{"id": "L1"}, {"id": "C1"}], "accept": ["C1"], "_annotator_id": None}
    others = [row | {"answer": "reject"}, row | {"answer": "ignore"}, {**row}]
    del others[2]["answer"]
    content = "\n".join(map(json.dumps, [row, binary, choice, *others]))
    labels, rejects, reader = read_labels(tmp_path / "p.jsonl", content)
    assert rejects == []
    assert [(a.labeler, a.codes, [s[0] for s in spans(a)]) for a in labels] == [
        ("errs-leo", ("I1", "L1"), ["I1"]), ("errs-leo", ("I1",), []), ("errs-leo", ("L1", "C1"), ["C1"])
    ]  # fmt: skip
    assert spans(labels[0]) == ARRIVED
    assert labels[0].at is not None
    assert labels[0].at.isoformat() == "2026-03-02T09:14:05+00:00"
    assert reader.left_out == {"rejected": 1, "ignored": 1, "unanswered": 1}


def test_doccano_as_it_exports(tmp_path: Path) -> None:
    base = {"id": 7, "text": "It arrived yesterday.", "dialogue_id": "d1", "Comments": []}
    rows = [base | {"label": [[3, 20, "wrong_fact"]]}, base | {"labeler": "b", "entities": [{"id": 1, "label": "wrong_fact", "start_offset": 3, "end_offset": 20}], "relations": []}, base | {"labeler": "c", "label": ["L1"]}]  # fmt: skip
    labels, rejects, _ = read_labels(tmp_path / "leo.jsonl", "\n".join(map(json.dumps, rows)))
    assert rejects == []
    assert [(a.labeler, spans(a)) for a in labels] == [
        ("leo", ARRIVED), ("b", ARRIVED), ("c", [("L1", 1, 0, 21, "It arrived yesterday.")])
    ]  # fmt: skip


def test_argilla_as_it_exports(tmp_path: Path) -> None:
    user, other = "6f1c0d0e-0000-4000-8000-000000000001", "6f1c0d0e-0000-4000-8000-000000000002"
    span = [{"start": 3, "end": 20, "label": "wrong_fact"}]
    nested = {"id": "d1#1", "fields": {"reply": "It arrived yesterday."}, "metadata": {"channel": "chat"}, "suggestions": {"err": {"value": span, "score": None, "agent": "v1"}}, "responses": {"err": [{"value": [], "user_id": user}, {"value": span, "user_id": other}]}, "vectors": {}}  # fmt: skip
    labels, rejects, _ = read_labels(tmp_path / "a.json", json.dumps([nested]))
    assert rejects == []
    answers = [(a.labeler, spans(a), a.seen_verdict) for a in labels]
    assert answers == [(user, [], True), (other, ARRIVED, True)]
    for response in nested["responses"]["err"]:
        response["status"] = "draft" if response["user_id"] == user else "submitted"
    nested["responses"]["err"].append({"value": span, "user_id": "u3", "status": "discarded"})
    labels, rejects, reader = read_labels(tmp_path / "n.json", json.dumps([nested]))
    assert [(a.labeler, spans(a)) for a in labels] == [(other, ARRIVED)]
    assert (rejects, reader.left_out) == ([], {"not submitted": 2})


def test_no_label_in_a_crowd_table_is_no_answer(tmp_path: Path) -> None:
    rows = ["task,worker,label", "d1/1/I1,a,YES ", "d1/1/I1,b,nan", "d1/1/I1,c,NA", "d1/1/I1,d,"]
    labels, rejects, reader = read_labels(tmp_path / "t.csv", "\n".join(rows))
    assert [(a.labeler, len(a.findings)) for a in labels] == [("a", 1)]
    excel = "\ufefftask;worker;label;seconds\r\nd1/1/I1;a;Yes;12,5\r\n"
    assert [(a.labeler, a.seconds) for a in read_labels(tmp_path / "e.csv", excel)[0]] == [("a", 12.5)]
    assert (rejects, reader.left_out) == ([], {"unanswered": 3})


def test_row_43_unknown_dialogue_code_labeler_and_a_second_label(tmp_path: Path) -> None:
    rows = ["task,worker,label", "d1/1/I1,a,yes", "d9/1/I1,a,yes", "d1/1/Z9,a,yes", "d1/1/L1,zed,no", "d1/1/I1,a,no", "d1/1/I1,a,yes", "d1/0/I1,a,no", "d1/1/L1,a,perhaps", "d1/1/L1,a,no"]  # fmt: skip
    labels, rejects, reader = read_labels(
        tmp_path / "c.csv", "\r\n".join(rows), context(labelers=frozenset({"a"}))
    )
    assert [(a.codes, bool(a.findings)) for a in labels] == [(("I1",), True), (("L1",), False)]
    assert [(r.line, r.path) for r in rejects] == [(3, "task"), (4, "task"), (5, "worker"), (6, "labeler"), (8, "task"), (9, "label")]  # fmt: skip
    assert {r.code for r in rejects} == {"E_LABEL"}
    assert reader.counts.duplicates == 1


def test_what_was_asked_must_be_known(tmp_path: Path) -> None:
    row = {"text": "It arrived yesterday.", "label": [], "dialogue_id": "d1", "Comments": []}
    labels, (reject,), _ = read_labels(tmp_path / "leo.jsonl", json.dumps(row), context(requested=()))
    assert labels == []
    assert reject.expected == "the codes that were asked; --codes names them"


def test_rejects_tell_no_text(tmp_path: Path) -> None:
    row = {"text": "my secret word", "label": [["Hunter2"] * 3], "dialogue_id": "Hunter2", "Comments": []}
    content = json.dumps(row) + "\n" + json.dumps({**row, "dialogue_id": "d1", "turn": 1})
    _, rejects, _ = read_labels(tmp_path / "leo.jsonl", content)
    assert len(rejects) == 2
    assert not any(word in json.dumps([r.as_json() for r in rejects]) for word in ("Hunter2", "secret"))


def config(folder: Path, table: str, **over: Any) -> ImportConfig:
    (folder / "log.jsonl").write_text(json.dumps(LOG) + "\n")
    (folder / "labels.csv").write_text(table)
    options = {"labels": (str(folder / "labels.csv"),), "dialogues": (str(folder / "log.jsonl"),)}
    return ImportConfig(**{**options, "out": folder / "annotations.jsonl", **over})


def test_the_stage_writes_annotations_rejects_and_a_manifest(tmp_path: Path) -> None:
    table = "task,worker,label\n" + "".join(f"d1/1/L1,w{n},no\n" for n in range(30)) + "d1/1/L1,w1,yes\n"
    made = config(tmp_path, table)
    counts = {"annotations": 30, "rejected": 1, "duplicates": 0, "left_out": {}, "codes": {"E_LABEL": 1}}
    assert run(made)["counts"] == counts
    manifest = read_manifest(tmp_path / "annotations.manifest.json")
    verify_files(tmp_path, manifest["files"])
    assert [file["rows"] for file in manifest["files"]] == [30, 1]
    first = Annotation.model_validate_json((tmp_path / "annotations.jsonl").read_text().partition("\n")[0])
    assert (first.labeler, first.codes, first.turn, first.findings) == ("w0", ("L1",), 1, ())
    with pytest.raises(OutputRefused):
        run(made)
    labels = (str(tmp_path / "annotations.jsonl"),)
    again = config(tmp_path, table, labels=labels, out=tmp_path / "again.jsonl")
    assert run(again)["counts"]["annotations"] == 30
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "annotations.jsonl").read_bytes()


def test_too_many_bad_answers_stop_the_job_and_the_rejects_stay(tmp_path: Path) -> None:
    with pytest.raises(TooManyBad, match=r"as at line 3 \(.*labels.csv\), task: .*; expected "):
        run(config(tmp_path, "task,worker,label\nd1/1/L1,w,no\nd2/1/L1,w,no\n"))
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"log.jsonl", "labels.csv", "annotations.rejects.jsonl"}


def test_options_that_cannot_be(tmp_path: Path) -> None:
    for wrong in ({"name": ("wrong_fact",)}, {"max_bad": 2.0}, {"format": "excel"}):
        with pytest.raises(ConfigError):
            run(config(tmp_path, "task,worker,label\n", **wrong))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**63) | st.floats(allow_nan=False) | st.sampled_from(["d1", "d1#1", "I1", "L1", "1", "yes", "It arrived yesterday.", "", "2026-01-01"]) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["start", "end", "label", "value", "user_id", "text", "dialogue_id", "turn", "codes", "id", "result", "completed_by", "type"]), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
FIELDS = st.sampled_from(["data", "annotations", "predictions", "text", "spans", "meta", "answer", "label", "entities", "cats", "fields", "metadata", "responses", "suggestions", "err.responses", "err.responses.users", "task", "worker", "seconds", "at", "id", "dialogue_id", "labeler", "kind", "codes", "turn", "findings", "accept", "options", "_annotator_id", "_timestamp", "INPUT:dialogue_id", "INPUT:turn", "INPUT:code", "OUTPUT:label", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"])  # fmt: skip
BASES: list[dict[str, Any]] = [
    studio(by(3, region("1", 3, "1", 20))),
    {"text": "It arrived yesterday.", "spans": [], "meta": {"dialogue_id": "d1", "turn": 1}, "_task_hash": 1, "answer": "accept", "_annotator_id": "a"},
    {"text": "It arrived yesterday.", "label": [[3, 20, "L1"]], "dialogue_id": "d1", "Comments": []},
    {"id": "d1#1", "fields": {"reply": "It arrived yesterday."}, "metadata": {}, "suggestions": {}, "responses": {"err": [{"value": [], "user_id": "u"}]}},
    {"task": "d1/1/L1", "worker": "a", "label": "no"},
    {"id": "a", "dialogue_id": "d1", "labeler": "w", "kind": "crowd", "codes": ["L1"]},
    {"INPUT:dialogue_id": "d1", "INPUT:turn": 1, "INPUT:code": "L1", "OUTPUT:label": "no", "ASSIGNMENT:worker_id": "w"},
]  # fmt: skip


@settings(max_examples=80)
@given(
    base=st.sampled_from(BASES),
    changes=st.dictionaries(FIELDS, VALUES, min_size=1, max_size=3),
    shape=st.sampled_from([format_by_name(name) for name in plugins(GROUP)]),
)
def test_no_record_is_more_than_refused(base: dict[str, Any], changes: dict[str, Any], shape: Any) -> None:
    """Records of every shape with fields of any type: an annotation or a reject, whoever reads them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.jsonl"
        path.write_text(json.dumps(base | changes))
        for name in ("auto", shape.name):
            (source,) = open_logs([str(path)])
            try:
                outcomes = list(LabelReader(context()).read(source, name))
            except InputRefused:
                continue
            assert all(isinstance(outcome, LocatedAnnotation | Reject) for outcome in outcomes)


def test_a_crowd_table_of_codes_that_exclude_one_another(tmp_path: Path) -> None:
    """The label is the code: a yes to it, a no to the others; yes and no are still answers to one code."""
    knows = context(names={"lukewarm": "K2"}, requested=())
    knows.taxonomy = load_taxonomy(write_taxonomy(tmp_path))
    content = "task,worker,label\nd1/1,w1,K1\nd1/1,w2,lukewarm\nd1/3/K3,w1,no\nd1/0,w1,K1\nd1/1/K1,w3,K1\nd1/1,w4,K9\n"
    annotations, rejects, _ = read_labels(tmp_path / "crowd.csv", content, knows)
    whole = ("K1", "K2", "K3")
    answers = [(a.labeler, a.turn, a.codes, [f.code for f in a.findings]) for a in annotations]
    assert answers == [("w1", 1, whole, ["K1"]), ("w2", 1, whole, ["K2"]), ("w1", 3, ("K3",), [])]
    assert annotations[0].findings[0].quote == "It arrived yesterday."
    assert [(r.line, r.code, r.path) for r in rejects] == [
        (5, "E_LABEL", "task"),  # a customer's turn
        (6, "E_LABEL", "task"),  # one code asked, and the answer is a code
        (7, "E_LABEL", "task"),  # no code, and the answer is none that is known
    ]
