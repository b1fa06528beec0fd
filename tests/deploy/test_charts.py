"""The Helm chart, as Helm's own engine renders it, and the other files of `deploy/`, against the schemas of
Kubernetes and Compose. What no schema knows: that options, routes, metrics and names exist, and that nothing
runs as root or is reached by who need not.

Kinds of operators (HTTPRoute, ScaledObject, RayJob, InferenceService) have no schema here: their pods and what
they refer to are checked.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import helm_python
import kubernetes_validate
import pytest
import yaml
from compose_spec import PyCompose
from starlette.testclient import TestClient

from dialint.app.cli import app as command_line
from dialint.app.serving.api import create_app
from dialint.app.serving.api_config import ApiConfig
from dialint.app.serving.api_keys import create_key, keys_path
from dialint.detector.interface import DetectorConfig
from dialint.detector.watchdog import WatchConfig

DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = DEPLOY / "helm" / "dialint"
EVERYTHING = {
    "components": {"vllm": {"enabled": True}},
    "canary": {"weight": 10, "image": "dialint:0.2.0"},
    "autoscaling": {"enabled": True},
    "nightly": {"enabled": True},
    "ray": {"enabled": True},
}
OPERATORS = ("gateway.networking.k8s.io", "keda.sh", "ray.io", "serving.kserve.io")
PINNED = re.compile(r"[\w./-]+:v?\d+\.\d+[\w.-]*")


def render(values: dict[str, Any]) -> list[dict[str, Any]]:
    with helm_python.Chart.load(str(CHART)) as chart:
        files = chart.render(values, name="x", namespace="support")
    return [each for text in files.values() for each in yaml.safe_load_all(text) if each]


def pods(documents: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of each object that makes pods, its kind and name with their template."""
    for each in documents:
        name, spec = f"{each['kind']} {each['metadata']['name']}", each.get("spec", {})
        if each["kind"] in ("Deployment", "StatefulSet"):
            yield name, spec["template"]
        elif each["kind"] == "CronJob":
            yield name, spec["jobTemplate"]["spec"]["template"]
        elif each["kind"] == "RayJob":
            cluster = spec["rayClusterSpec"]
            for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
                yield name, group["template"]
        elif each["kind"] == "InferenceService":
            yield name, {"spec": {key: spec["predictor"][key] for key in PREDICTOR_POD}}


PREDICTOR_POD = (
    "automountServiceAccountToken", "containers", "securityContext", "terminationGracePeriodSeconds", "volumes",
)  # fmt: skip


@pytest.fixture(scope="module")
def chart() -> list[dict[str, Any]]:
    return render(EVERYTHING)


@pytest.fixture(scope="module")
def judge() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((DEPLOY / "kserve/inferenceservice.yaml").read_text())
    return content


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return content


def validate(document: dict[str, Any], version: str = "1.37") -> None:
    kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize(
    ("values", "version"),
    [
        (EVERYTHING, "1.32"),
        (EVERYTHING, "1.37"),
        ({"components": {"database": {"enabled": False}}, "gateway": {"enabled": False}}, "1.37"),
    ],
)
def test_what_helm_renders_is_valid_for_kubernetes(values: dict[str, Any], version: str) -> None:
    documents = render(values)
    for each in documents:
        if not each["apiVersion"].startswith(OPERATORS):
            validate(each, version)
    for name, template in pods(documents):
        if name.startswith("RayJob"):
            validate(
                {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": template["spec"]},
                version,
            )
    assert helm_python.lint(str(CHART))["errors"] == []


def test_a_value_that_does_not_exist_or_is_out_of_range_is_refused() -> None:
    for values in (
        {"apis": {}},
        {"canary": {"weight": 101}},
        {"image": "dialint:latest"},
        {"image": "dialint"},
        {"components": {"api": {"replica": 1}}},
    ):
        with helm_python.Chart.load(str(CHART)) as chart, pytest.raises(helm_python.HelmError):
            chart.validate_schema(values)


def test_the_judge_and_compose_are_valid(judge: dict[str, Any], compose: dict[str, Any]) -> None:
    [(_, template)] = pods([judge])
    validate({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, **template})
    PyCompose.from_json(json.dumps(compose)).validate()
    broken = {**compose, "services": {**compose["services"], "api": {"healthchek": {}}}}
    with pytest.raises(ValueError, match="healthchek"):
        PyCompose.from_json(json.dumps(broken))


def test_nothing_runs_as_root_or_writes_beside_its_volumes(
    chart: list[dict[str, Any]], judge: dict[str, Any], compose: dict[str, Any]
) -> None:
    templates = list(pods([*chart, judge]))
    assert len(templates) == 9
    for name, template in templates:
        spec = template["spec"]
        assert spec["automountServiceAccountToken"] is False, name
        shared = spec["securityContext"]
        assert (shared["runAsNonRoot"], shared["runAsUser"] > 0) == (True, True), name
        assert shared["seccompProfile"] == {"type": "RuntimeDefault"}, name
        volumes = {each["name"] for each in spec["volumes"]} | {"data"}
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
            }, name  # fmt: skip
            assert PINNED.fullmatch(container["image"]), name
            assert {"limits", "requests"} <= container["resources"].keys(), name
            assert {each["name"] for each in container["volumeMounts"]} <= volumes, name
            for variable in container.get("env", ()):
                assert ("value" in variable) != bool(re.search("_KEY|PASSWORD", variable["name"])), name
    for name, service in compose["services"].items():
        assert not service["user"].startswith(("0", "root")), name
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"]), name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert PINNED.fullmatch(service["image"]), name


def test_services_claims_and_routes_lead_somewhere(chart: list[dict[str, Any]]) -> None:
    by_kind: dict[str, dict[str, dict[str, Any]]] = {}
    for each in chart:
        by_kind.setdefault(each["kind"], {})[each["metadata"]["name"]] = each
    workloads = {**by_kind["Deployment"], **by_kind["StatefulSet"]}
    services = by_kind["Service"]
    assert services.keys() == workloads.keys()
    for name, service in services.items():
        template = workloads[name]["spec"]["template"]
        assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
        assert workloads[name]["spec"]["selector"]["matchLabels"] == service["spec"]["selector"]
        [port] = service["spec"]["ports"]
        assert {"name": port["targetPort"], "containerPort": port["port"]} in template["spec"]["containers"][
            0
        ]["ports"]
    for route in by_kind["HTTPRoute"].values():
        backends = route["spec"]["rules"][0]["backendRefs"]
        for backend in backends:
            assert backend["port"] == services[backend["name"]]["spec"]["ports"][0]["port"]
        assert sum(backend.get("weight", 100) for backend in backends) == 100
    assert len(by_kind["HTTPRoute"]["x-api"]["spec"]["rules"][0]["backendRefs"]) == 2
    canary = workloads["x-api-canary"]["spec"]["template"]["spec"]["containers"][0]
    assert canary["image"] == "dialint:0.2.0"
    target = by_kind["ScaledObject"]["x-api"]["spec"]["scaleTargetRef"]["name"]
    assert "replicas" not in workloads[target]["spec"]  # else each upgrade would undo what KEDA did


def test_only_who_must_reaches_the_database_and_the_judge(chart: list[dict[str, Any]]) -> None:
    policies = {each["metadata"]["name"]: each["spec"] for each in chart if each["kind"] == "NetworkPolicy"}
    labelled = {"app.kubernetes.io/name": "dialint", "app.kubernetes.io/instance": "x"}
    assert policies["x-default"]["podSelector"] == {"matchLabels": labelled}
    assert policies["x-default"]["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policies["x-default"]
    for name, template in pods(chart):
        assert labelled.items() <= template["metadata"]["labels"].items(), name

    def callers(name: str) -> set[str]:
        label = "app.kubernetes.io/component"
        rules = policies[f"x-{name}"]["ingress"] or []
        return {
            peer["podSelector"]["matchLabels"][label] if "podSelector" in peer else "namespace"
            for rule in rules
            for peer in rule["from"]
        }

    assert callers("database") == {"console", "nightly"}
    assert callers("vllm") == {"nightly", "ray"}
    assert callers("ray") == {"ray", "namespace"}
    assert callers("api") == callers("console") == {"namespace"}
    assert not policies["x-api"]["egress"]


def parse(words: list[str]) -> None:
    """The real command line takes these words; nothing runs. An option that it lacks would be a log's name."""
    _, bound, _ = command_line.parse_args(words, print_error=False, exit_on_error=False)
    assert [word for word in bound.arguments.get("logs", ()) if word.startswith("--")] == []


def test_every_command_line_is_one_of_dialint(chart: list[dict[str, Any]], compose: dict[str, Any]) -> None:
    lines = [
        container["args"]
        for _, template in pods(chart)
        for container in (*template["spec"]["containers"], *template["spec"].get("initContainers", ()))
        if container["image"].startswith("dialint:")
    ]
    [job] = [each for each in chart if each["kind"] == "RayJob"]
    lines.append(shlex.split(job["spec"]["entrypoint"])[1:])
    lines += [[word.replace("${CONSOLE_HOST:-localhost}", "localhost") for word in compose["services"][name]["command"]] for name in ("console", "api")]  # fmt: skip
    assert len(lines) == 8
    for words in lines:
        parse(words)
    with pytest.raises(Exception, match="--prot"):
        parse(["serve", "api", "--prot", "1"])


def test_probes_ask_routes_and_the_scaler_a_metric_of_the_api(
    chart: list[dict[str, Any]], compose: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DIALINT_HOME", str(tmp_path))
    paths = {re.search(r"8080(/\w+)", compose["services"]["api"]["healthcheck"]["test"][-1])[1]}  # type: ignore[index]
    for _, template in pods(chart):
        if template["metadata"]["labels"]["app.kubernetes.io/component"].startswith("api"):
            [container] = template["spec"]["containers"]
            paths |= {
                container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("liveness", "readiness", "startup")
            }
    assert paths == {"/health", "/ready"}
    [scaler] = [each for each in chart if each["kind"] == "ScaledObject"]
    [metric] = re.findall(r"dialint_\w+", scaler["spec"]["triggers"][0]["metadata"]["query"])
    key = create_key(keys_path(None), "prometheus", ["metrics"], 1)
    config = ApiConfig(detector=DetectorConfig(scan="off"), watch=WatchConfig(dialogue_seconds=0))
    with TestClient(create_app(config)) as client:
        assert {path: client.get(path).status_code for path in paths} == dict.fromkeys(paths, 200)
        metrics = client.get("/metrics", headers={"authorization": f"Bearer {key}"}).text
    assert re.search(rf'^{metric}{{route="', metrics, re.MULTILINE)
