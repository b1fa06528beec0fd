"""Metrics: `/metrics`, the file of a run; dashboard and alerts use no other series."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from api_client import CONFIG, FEW, RUDE, bearer, record
from patience import wait_for
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from dialint.app.scoring.loop import run
from dialint.app.scoring.metrics import write_metrics
from dialint.app.scoring.options import ScoreConfig
from dialint.app.serving.api import create_app
from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.interface import DetectorConfig
from dialint.detector.watchdog import WatchConfig

ROOT = Path(__file__).parents[3]
DASHBOARD = json.loads((ROOT / "deploy/monitoring/dashboard.json").read_text())
ALERTS = [
    rule
    for group in yaml.safe_load((ROOT / "deploy/monitoring/alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]
PAGE = ROOT / "docs/howto/monitor.md"
TARGET_LABELS = {"job", "instance"}
"""Labels that Prometheus adds to each sample; `up` is its own series."""


@pytest.fixture
def client(home: Path) -> Iterator[TestClient]:
    with TestClient(create_app(CONFIG), raise_server_exceptions=False) as client:
        client.headers.update(bearer())
        yield client


def samples(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """The values of each series by its labels' values, in the order of their names."""
    values: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = tuple(value for _, value in sorted(sample.labels.items()))
            values.setdefault(sample.name, {})[key] = sample.value
    return values


def exposed(text: str) -> dict[str, set[str]]:
    """The labels of each series; of a family without samples none."""
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                labels.setdefault(sample.name, set()).update(sample.labels)
        if not family.samples:
            labels[f"{family.name}_total" if family.type == "counter" else family.name] = set()
    return labels


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """The manifest of a run over a few dialogues of the sample, and the file of its metrics."""
    folder = tmp_path_factory.mktemp("run")
    config = ScoreConfig(
        out=folder / "v.jsonl", metrics=folder / "v.prom", quiet=True, detector=DetectorConfig(scan="off"),
        watch=WatchConfig(dialogue_seconds=0),
    )  # fmt: skip
    (folder / "log.jsonl").write_bytes(FEW)
    assert run([str(folder / "log.jsonl")], config) == 0
    return json.loads((folder / "v.manifest.json").read_text()), (folder / "v.prom").read_text()


JUDGE = {
    "questions": {"readings": 9, "second_looks": 1}, "failures": {"E_ANSWER": 2}, "cost_usd": 0.25,
    "tokens": {"prompt": 900, "cached": 100, "output": 80},
}  # fmt: skip
"""The part of a manifest that a run with a judge has."""


def test_the_api_counts_what_it_has_judged_in_requests_and_jobs(client: TestClient) -> None:
    lines = [json.dumps(record("Hi", RUDE, name="a")), '{"dialogue_id": 1}']
    assert client.post("/v1/score", content="\n".join(lines)).status_code == 200
    client.get("/v1/jobs/0123456789abcdef")
    job = client.post("/v1/jobs", content=FEW).json()
    wait_for(lambda: samples(client.get("/metrics").text)["dialint_jobs"][("done",)] == 1)
    place = f"/v1/jobs/{job['id']}/files/verdicts.jsonl"
    verdicts = [json.loads(line) for line in client.get(place).text.splitlines()]
    wait_for(lambda: samples(client.get("/metrics").text)["dialint_verdicts_total"][("scored",)] > 1)
    figures = samples(client.get("/metrics").text)
    statuses = [verdict["status"] for verdict in verdicts]
    assert figures["dialint_verdicts_total"] == {
        ("scored",): 1 + statuses.count("scored"), ("failed",): statuses.count("failed"),
        ("not_judged",): statuses.count("not_judged"),
    }  # fmt: skip
    findings = [(each["code"], each["severity"]) for verdict in verdicts for each in verdict["findings"]]
    assert sum(figures["dialint_findings_total"].values()) == len(findings) + 1
    assert figures["dialint_rejects_total"] == {("E_TYPE",): 1}
    assert figures["dialint_stage_seconds_total"][("checks",)] > 0
    assert figures["dialint_request_seconds_count"][("/v1/score", "200")] == 1
    assert figures["dialint_request_seconds_count"][("/v1/jobs/{job_id}", "404")] == 1
    assert figures["dialint_requests_running"] == {(): 0}
    assert "d1" not in client.get("/metrics").text


def test_a_run_leaves_gauges_of_its_manifest(scored: tuple[dict[str, Any], str], tmp_path: Path) -> None:
    manifest, text = scored
    figures, counts = samples(text), manifest["counts"]
    assert figures["dialint_run_verdicts"][("scored",)] == counts["scored"] == FEW.count(b"\n")
    assert figures["dialint_run_findings"] == {
        (code, severity): n for code, by in counts["findings"].items() for severity, n in by.items()
    }
    assert figures["dialint_run_seconds"] == {(): manifest["seconds"]}
    write_metrics(tmp_path / "judged.prom", {**manifest, "judge": JUDGE})
    judged = samples((tmp_path / "judged.prom").read_text())
    assert judged["dialint_run_judge_questions"] == {("readings",): 9, ("second_looks",): 1}
    assert judged["dialint_run_judge_cost_usd"] == {(): 0.25}
    with pytest.raises(WorldError, match="E_WRITE"):
        write_metrics(tmp_path / "none" / "x.prom", manifest)
    with pytest.raises(ConfigError, match="--metrics needs --out"):
        ScoreConfig(metrics=tmp_path / "x.prom")


def queries() -> Iterator[tuple[str, str]]:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"].replace("$__rate_interval", "5m")
    for rule in ALERTS:
        yield rule["alert"], rule["expr"]


class Selectors(list[promql_parser.VectorSelector]):
    """The series that a query names."""

    def __init__(self, query: str) -> None:
        super().__init__()
        self._visit(promql_parser.parse(query))

    def _visit(self, node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            self.append(node)
        for name in ("expr", "lhs", "rhs", "args", "param", "vector_selector"):
            inner = getattr(node, name, None)
            for each in inner if isinstance(inner, list) else [inner]:
                if each is not None:
                    self._visit(each)


def test_no_panel_and_no_alert_names_a_series_or_a_label_that_is_not_there(
    client: TestClient, scored: tuple[dict[str, Any], str], tmp_path: Path
) -> None:
    body = "\n".join([json.dumps(record("Hi", RUDE)), json.dumps(record("Hi", name="b")), "{}"])
    client.post("/v1/score", content=body)
    client.app.state.api.metrics.note_webhook("delivered")  # type: ignore[attr-defined]
    write_metrics(tmp_path / "x.prom", {**scored[0], "judge": JUDGE})
    series = exposed(client.get("/metrics").text) | exposed((tmp_path / "x.prom").read_text())
    used = set()
    for title, query in queries():
        selectors = Selectors(query)
        assert selectors, title
        for selector in selectors:
            labels = TARGET_LABELS | series.get(selector.name, set())
            assert selector.name in series or selector.name == "up", (title, selector.name)
            assert {each.name for each in selector.matchers.matchers} <= labels, (title, selector.name)
            used.add(selector.name)
        allowed = TARGET_LABELS.union(*(series.get(each.name, set()) for each in selectors))
        grouped = ", ".join(re.findall(r"by \(([\w, ]+)\)", query))
        assert set(re.findall(r"\w+", grouped)) <= allowed, title
    own = {name for name in series if re.match("dialint_", name) and not name.endswith(("_sum", "_bucket"))}
    unused = own - used - {"dialint_run_failures", "dialint_run_rejects", "dialint_run_scanned_tokens"}
    assert unused == set()


def test_the_page_lists_every_metric(client: TestClient, scored: tuple[dict[str, Any], str]) -> None:
    table, runs = PAGE.read_text().split("Jobs are counted when")
    names = {re.sub("_(count|sum|bucket)$", "", name) for name in exposed(client.get("/metrics").text)}
    assert [name for name in names if name.startswith("dialint_") and f"`{name}`" not in table] == []
    for name in exposed(scored[1]):
        assert f"`{name}`" in runs or f"`{name.removeprefix('dialint_run')}`" in runs, name


def test_the_dashboard_is_one_that_grafana_takes() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) > 15
    places = [panel["gridPos"] for panel in panels]
    cells = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) == 23
    for panel in panels:
        if panel["type"] != "row":
            assert panel["description"]
            assert panel["datasource"]["uid"] == "${datasource}"


def test_every_alert_has_a_runbook() -> None:
    headings = re.findall(r"^### (\w+)$", PAGE.read_text(), re.MULTILINE)
    assert [rule["alert"] for rule in ALERTS] == headings
    for rule in ALERTS:
        name = rule["alert"]
        assert rule["annotations"]["runbook_url"] == f"docs/howto/monitor.md#{name.lower()}"
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert re.search(r"> |== 0", rule["expr"]), name
    documented = {
        name
        for panel in DASHBOARD["panels"]
        for name in re.findall(r"Dialint\w+", panel.get("description", ""))
    }
    assert documented <= set(headings)
