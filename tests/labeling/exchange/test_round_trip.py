"""Out to another tool and back: the same people said the same of the same words, whatever the words."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from uuid import uuid5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialint.detector.ingest.outcomes import Reject
from dialint.detector.ingest.sources import open_logs
from dialint.detector.plugins import plugins
from dialint.detector.records import Dialogue, ToolCall, Turn
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.annotation import Annotation, Rejection, questions_in
from dialint.labeling.exchange.export_labels import table_format_for, write_rows
from dialint.labeling.exchange.format import (
    GROUP,
    DialogueView,
    ExportItem,
    LabelContext,
    detect_format,
    format_by_name,
)
from dialint.labeling.exchange.import_labels import LabelReader, LocatedAnnotation
from dialint.labeling.exchange.turn_records import NAMESPACE

TAXONOMY = load_taxonomy()
CODES = ("L1", "C1", "R1")
OF_DIALOGUE = frozenset({"R1"})

pieces = st.sampled_from(
    ["Hi", "😀", "👩‍👩‍👧", "𝔘nd", "\r\n", "\n", "\r", "\t", '"', ",", "=1+1", "'", "é", "  ", "你好", "\u2028",
     "call 555-0100-4471", "<b>", "#3", "/4/L1", "ann@example.org"]
)  # fmt: skip
plain = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff"), min_size=1, max_size=6
)
texts = st.lists(pieces | plain, min_size=1, max_size=8).map("".join).filter(str.strip)
names = st.text(st.sampled_from("abc/#-é 1"), min_size=1, max_size=6).filter(str.strip)


@st.composite
def items(draw: st.DrawFn) -> list[ExportItem]:
    """Dialogues whose agent acts last, in words or in calls alone, each with answers of several labelers."""
    made = []
    for name in draw(st.lists(names, min_size=1, max_size=3, unique=True)):
        words = draw(st.lists(texts, min_size=2, max_size=6, unique=True))
        turns = tuple(
            Turn(index=i, role="agent", text="", tool_calls=draw(calls(t)))
            if i % 2 and draw(st.integers(0, 3)) == 0
            else Turn(index=i, role="agent" if i % 2 else "customer", text=t)
            for i, t in enumerate(words)
        )
        view = DialogueView(Dialogue(id=name, turns=turns, masked=draw(st.booleans())))
        annotations = tuple(draw(answers(view, number)) for number in range(draw(st.integers(1, 3))))
        made.append(ExportItem(view, CODES, OF_DIALOGUE, annotations))
    return made


def calls(value: str) -> st.SearchStrategy[tuple[ToolCall, ...]]:
    """One to three calls."""
    call = st.builds(ToolCall, name=st.text("get_", min_size=1), arguments=st.just({"of": value}))
    return st.lists(call, min_size=1, max_size=3).map(tuple)


@st.composite
def answers(draw: st.DrawFn, view: DialogueView, number: int) -> Annotation:
    context = LabelContext(TAXONOMY, {view.dialogue.id: view.dialogue})
    turn = draw(st.none() | st.sampled_from(view.judged))
    codes = tuple(draw(st.lists(st.sampled_from(CODES), min_size=1, unique=True)))
    findings = []
    for _ in range(draw(st.integers(0, 3))):
        where = turn if turn is not None else draw(st.sampled_from(view.judged))
        masked, n_calls = view.masked_text(where), len(view.dialogue.turns[where].tool_calls)
        start = draw(st.integers(0, (n_calls or len(masked.text)) - 1))
        end = draw(st.integers(start + 1, n_calls or len(masked.text)))
        span = (start, end) if n_calls else masked.to_original(start, end)
        findings.append(context.finding(view, where, draw(st.sampled_from(codes)), span))
    turns = [turn] if turn is not None else view.judged
    why = st.text("ab_é😀", min_size=1, max_size=9)
    reasons = st.builds(Rejection, turn=st.sampled_from(turns), code=st.sampled_from(codes), reason=why)
    rejections = tuple(draw(st.lists(reasons, max_size=2)))
    return Annotation(
        id=f"{view.dialogue.id}~{number}", dialogue_id=view.dialogue.id, labeler=str(uuid5(NAMESPACE, f"w{number}")), kind="crowd",
        codes=codes, turn=turn, findings=tuple(dict.fromkeys(findings)), rejections=rejections,
    )  # fmt: skip


Answers = set[tuple[object, ...]]


def answers_in(annotations: list[Annotation], made: list[ExportItem], *, spans: bool) -> Answers:
    """Answers by labeler: with spans, or yes or no with a code of the dialogue moved to its last turn."""
    by_id = {item.view.dialogue.id: item for item in made}
    spans_by_answer: dict[tuple[str, str, int, str], set[tuple[int, int]]] = {}
    for annotation in annotations:
        item = by_id[annotation.dialogue_id]
        for turn, code, findings in questions_in(annotation, item.view.judged, OF_DIALOGUE):
            where = turn if spans or code not in OF_DIALOGUE else item.view.judged[-1]
            key = (annotation.labeler, annotation.dialogue_id, where, code)
            spans_by_answer.setdefault(key, set()).update((f.start, f.end) for f in findings)
    return {(*key, frozenset(where) if spans else bool(where)) for key, where in spans_by_answer.items()}


def there_and_back(name: str, made: list[ExportItem], ending: str) -> tuple[list[Annotation], list[Reject]]:
    shape = format_by_name(name)
    context = LabelContext(TAXONOMY, {item.view.dialogue.id: item.view.dialogue for item in made})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"labels{ending}"
        with open(path, "wb") as file:
            columns = shape.columns(True) if shape.columns else ()
            write_rows(file, shape.rows(made), table_format_for(shape, path), columns)
        (source,) = open_logs([str(path)])
        assert detect_format(source)[0].load() is shape
        outcomes = list(LabelReader(context).read(source))
    return (
        [item.annotation for item in outcomes if isinstance(item, LocatedAnnotation)],
        [item for item in outcomes if isinstance(item, Reject)],
    )


WITH_SPANS = [("label-studio", ".json"), ("prodigy", ".jsonl"), ("doccano", ".jsonl"), ("argilla", ".jsonl"),
              ("dialint", ".jsonl")]  # fmt: skip
WITHOUT = [("toloka", ".tsv"), ("crowd", ".csv"), ("crowd", ".parquet"), ("crowd", ".jsonl")]


def test_no_shape_is_left_out_here() -> None:
    assert set(plugins(GROUP)) == {name for name, _ in WITH_SPANS + WITHOUT}


@pytest.mark.parametrize(("name", "ending"), WITH_SPANS + WITHOUT)
@settings(max_examples=15)
@given(made=items())
def test_what_was_said_comes_back(name: str, ending: str, made: list[ExportItem]) -> None:
    """With its spans, or answer by answer of a turn; our own shape loses nothing at all."""
    back, rejects = there_and_back(name, made, ending)
    assert rejects == []
    whole = [annotation for item in made for annotation in item.annotations]
    spans = (name, ending) in WITH_SPANS
    assert answers_in(back, made, spans=spans) == answers_in(whole, made, spans=spans)
    assert spans or all(annotation.codes and annotation.turn is not None for annotation in back)
    assert name != "dialint" or back == whole


def test_what_a_tool_writes_is_what_we_wrote_and_read(tmp_path: Path) -> None:
    """By hand: one emoji before the error moves Label Studio's offsets by one, nobody else's."""
    dialogue = Dialogue(
        id="d",
        turns=(Turn(index=0, role="customer", text="?"), Turn(index=1, role="agent", text="😀 teh parcel")),
    )
    view = DialogueView(dialogue)
    finding = LabelContext(TAXONOMY, {"d": dialogue}).finding(view, 1, "L1", (2, 5))
    assert finding.quote == "teh"
    annotation = Annotation(
        id="a", dialogue_id="d", labeler="w", kind="crowd", codes=("L1",), findings=(finding,)
    )
    item = ExportItem(view, ("L1",), OF_DIALOGUE, (annotation,))
    (studio,) = format_by_name("label-studio").rows([item])
    value = studio["annotations"][0]["result"][0]["value"]
    assert (value["start"], value["startOffset"], value["endOffset"], value["text"]) == ("1", 3, 6, "teh")
    (prodigy,) = format_by_name("prodigy").rows([item])
    assert prodigy["spans"] == [{"start": 2, "end": 5, "label": "L1", "token_start": 1, "token_end": 1}]
    assert [token["text"] for token in prodigy["tokens"]] == ["😀", "teh", "parcel"]
    (doccano,) = format_by_name("doccano").rows([item])
    assert doccano["label"] == [[2, 5, "L1"]]
    (crowd,) = format_by_name("crowd").rows([item])
    assert (crowd["task"], crowd["worker"], crowd["label"]) == ("d/1/L1", "w", "yes")
    assert json.dumps(doccano)
