"""Aggregation methods and label formats of other packages, by their entry points."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dialint.detector import plugins
from dialint.detector.errors import ConfigError
from dialint.labeling.aggregation.aggregate import AggregateConfig
from dialint.labeling.aggregation.aggregate import run as aggregate
from dialint.labeling.exchange.import_labels import ImportConfig
from dialint.labeling.exchange.import_labels import run as import_labels

PACKAGE = """
import numpy as np
from dialint.labeling.aggregation.posterior import Posterior
from dialint.labeling.exchange.format import LabelFormat, make_annotation

def last_label(answers):
    shares = np.zeros((len(answers.tasks), len(answers.labels)))
    shares[:, -1] = 1.0
    return Posterior(shares, shares)

def read(row, state):
    view = state.context.view(row["case"], "case")
    finding = state.context.finding(view, 1, "C1", view.trimmed_span(1))
    yield make_annotation("acme", view, labeler=row["by"], kind=state.kind, codes=("C1",), findings=(finding,))

TOOL = LabelFormat("acme", "jsonl", lambda row: "case" in row, read, lambda items: iter(()))
"""
ENTRIES = """
[dialint.aggregators]
last = acme_labels:last_label
[dialint.label_formats]
acme = acme_labels:TOOL
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "acme_labels.py").write_text(PACKAGE)
    about = tmp_path / "acme_labels-2.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-labels\nVersion: 2.1\n")
    (about / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(tmp_path)
    plugins._installed.cache_clear()
    yield
    plugins._installed.cache_clear()


@pytest.mark.usefixtures("package")
def test_a_method_of_another_package_aggregates_and_stands_in_the_manifest(tmp_path: Path) -> None:
    table = tmp_path / "crowd.csv"
    table.write_text("task,worker,label\nt1,a,no\nt1,b,no\nt2,a,yes\n")
    manifest = aggregate(AggregateConfig(table, tmp_path / "out.jsonl", method="last"))
    assert manifest["plugins"] == [{"package": "acme-labels", "version": "2.1"}]
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["label"] for row in rows] == ["yes", "yes"]


@pytest.mark.usefixtures("package")
def test_a_label_format_of_another_package_is_detected(tmp_path: Path) -> None:
    log = {
        "dialogue_id": "d",
        "turns": [{"role": "customer", "text": "Hi"}, {"role": "agent", "text": "Yes."}],
    }
    (tmp_path / "log.jsonl").write_text(json.dumps(log) + "\n")
    (tmp_path / "labels.jsonl").write_text('{"case": "d", "by": "ann"}\n')
    out = tmp_path / "a.jsonl"
    config = ImportConfig(
        labels=(str(tmp_path / "labels.jsonl"),), dialogues=(str(tmp_path / "log.jsonl"),), out=out
    )
    manifest = import_labels(config)
    assert manifest["plugins"] == [{"package": "acme-labels", "version": "2.1"}]
    assert json.loads(out.read_text())["labeler"] == "ann"


def test_an_unknown_method_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    (tmp_path / "crowd.csv").write_text("task,worker,label\nt1,a,no\n")
    with pytest.raises(ConfigError, match="joint, majority"):
        aggregate(AggregateConfig(tmp_path / "crowd.csv", tmp_path / "o.csv", method="best"))
