"""The page: escaped text, nothing from outside, and no text at all by --no-text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import tiny
from scripted_detector import ScriptedDetector, example

from dialint.detector.errors import ConfigError
from dialint.detector.interface import DetectorConfig
from dialint.detector.statistics import bootstrap_counts
from dialint.eval.breakdowns import compute_slices, make_excerpt, worst_mistakes
from dialint.eval.figures import compute_figures
from dialint.eval.page import page
from dialint.eval.results import score_examples
from dialint.eval.run import EvalConfig, evaluate_against, figure_table, run

NASTY = '<script>alert("w1")</script> & <img src=http://x.example/a.png> you fool'


EXAMPLES = [
    example(name, {1: "T1"} if error else {}, ("w1 <b>w2", f"I say this: {text} {name}"))
    for name, error, text in (
        ("a9", True, "fine"),
        ("b8", False, NASTY),
        ("a1", False, "fine"),
        ("b2", True, NASTY),
    )
]
DETECTOR = ScriptedDetector({("a9", 1): 0.9, ("b8", 1): 0.8, ("a1", 1): 0.1, ("b2", 1): 0.2})


def made(with_text: bool) -> str:
    results = score_examples(DETECTOR, EXAMPLES)
    content, mistakes = evaluate_against(DETECTOR, results, {"same": DETECTOR}, {"same": results}, 20)
    report = {"release": DETECTOR.release, "fingerprint": "0", "rounds": 20, "sets": {"a <set>": content}}
    json.dumps(report, allow_nan=False)
    return page(report, {"a <set>": [make_excerpt(m, results) for m in mistakes]} if with_text else None)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_text_is_escaped_and_nothing_comes_from_outside() -> None:
    content = made(with_text=True)
    tags = Tags()
    tags.feed(content)
    assert "&lt;script&gt;" in content
    assert "you fool" in content
    assert {"script", "img", "link", "iframe", "object", "b8"}.isdisjoint(tag for tag, _ in tags.tags)
    held = [(name, value or "") for _, attributes in tags.tags for name, value in attributes.items()]
    assert all(value.startswith("#") for name, value in held if name in ("href", "src"))
    assert not re.search(r"url\(|@import|https?:", content.replace("http://x.example/a.png", ""))


def test_the_headline_is_of_the_covered_codes() -> None:
    """Labels of L1, which the detector does not cover, are in the other average alone."""
    results = score_examples(DETECTOR, [*EXAMPLES, example("c1", {1: "L1"})])
    content, _ = evaluate_against(DETECTOR, results, {}, {}, 20)
    covered, whole = content["macro_average_precision_covered"], content["macro_average_precision"]
    assert covered > whole
    title = str(figure_table("a", content).title)
    assert f"macro AP of the 1 covered codes {covered:.3f}" in title
    assert f"of all 2 codes with errors here AP {whole:.3f}" in title
    html = page({"release": "r", "fingerprint": "0", "rounds": 20, "sets": {"a": content}}, None)
    first = html[html.index('<dl class="numbers">') :]
    assert first.index("Macro average precision of the covered codes") < first.index("of all codes")


def test_no_text_leaves_only_places() -> None:
    content = made(with_text=False)
    assert "fool" not in content
    assert "turn 1 of b8" in content


def test_worst_mistakes_are_the_surest_ones() -> None:
    results = score_examples(DETECTOR, EXAMPLES)
    mistakes = worst_mistakes(results, compute_figures(DETECTOR, results, bootstrap_counts(4, 0)).rows)
    assert [(m.kind, m.example, m.probability) for m in mistakes] == [
        ("accused wrongly", 1, 0.8),
        ("not seen", 3, 0.2),
    ]


def test_slices_by_source_have_their_own_figures() -> None:
    results = score_examples(DETECTOR, EXAMPLES)
    counts = bootstrap_counts(4, 20)
    slices = compute_slices(results, compute_figures(DETECTOR, results, counts).rows, counts)
    assert slices["source corpus"]["a"]["precision_of_findings"][0] == 1.0
    assert slices["source corpus"]["b"]["precision_of_findings"][0] == 0.0
    assert slices["source corpus"]["b"]["wrong_findings_per_100_turns"][0] == 50.0
    assert slices["agent turns in the dialogue"]["1 to 3"]["turns"] == 4


def test_the_command_compares_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, html, out = tmp_path / "set.jsonl", tmp_path / "r.html", tmp_path / "r.json"
    path.write_text("".join(item.model_dump_json() + "\n" for item in EXAMPLES))
    release = tiny.write_release(tmp_path / "r")
    config = EvalConfig(against=("clean", str(release)), out=out, html=html, no_text=True, rounds=5)
    run(path, config=config, detector=DetectorConfig(release=release))
    report = json.loads(out.read_text())
    content = report["sets"]["set"]
    assert (report["release"], content["dialogues"]) == ("tiny-1", 4)
    same = content["against"][str(release)]["difference"]["macro"]["average_precision"]
    assert same == {"difference": 0.0, "low": 0.0, "high": 0.0}
    assert "fool" not in html.read_text() + out.read_text()
    assert "clean" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="neither a folder"):
        run(path, config=EvalConfig(against=("nobody",)), detector=DetectorConfig(release=release))
    with pytest.raises(ConfigError, match="at least one file"):
        run(config=EvalConfig())
