"""No field of any manifest, whatever stands in it, makes a reader read or write outside of the folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny import write_release

from dialint.app.commands.report import ReportConfig, report
from dialint.app.commands.verify import verify_path
from dialint.app.scoring.job import lock_job
from dialint.detector.artifacts import (
    MANIFEST,
    data_fingerprint,
    file_entry,
    fingerprint,
    read_manifest,
    verify_files,
    write_json,
    write_manifest,
)
from dialint.detector.engines.base_models import SMALL_DECODER, weights_sha256
from dialint.detector.errors import ConfigError, DialintError, OutputRefused, UserError
from dialint.detector.records import Dialogue, Example, Label, Turn, Verdict
from dialint.detector.registry import Registry, verify_folder
from dialint.detector.verdict_files import manifest_path, read_verdicts, rejects_path, verdict_line
from dialint.eval.labelled import verify_split
from dialint.finetune.screening import copy_without, open_dataset
from dialint.finetune.train.checkpoint import SEAL, find_latest, seal
from dialint.labeling.dataset.mix import labelled_codes
from dialint.labeling.store.database.backup import backup, read_head, restore
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.upgrade import upgrade

NAMES = (
    "../../../evil.pth", "/etc/passwd", "C:\\x", "c:x", "a/../../b", "a\\b", "..", ".", "", "a//b", "a/", "nul\0",
    "line\nfeed", "\x1b[2J", "x" * 300, "\u00e9" * 200, MANIFEST.upper(),
)  # fmt: skip
VALUES = ("../../../evil.pth", None, 10**400, [["a"]], {"a": 1})


def test_a_manifest_lists_plain_names_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    entry, path = file_entry(tmp_path / "a"), tmp_path / MANIFEST
    refused = [[name] for name in NAMES] + [
        ["a", "A"], ["a", "a"], ["\u00e9", "e\u0301"], ["\u00c9", "e\u0301"], [MANIFEST],
    ]  # fmt: skip
    for names in refused:
        with pytest.raises(OutputRefused, match="E_MANIFEST"):
            write_manifest(path, {"files": [{**entry, "name": name} for name in names]})
    names = ["a", "b b", "b.b", "sub/a", "\u00e9", "..a", "ab:c.jsonl", "x" * 255]
    write_manifest(path, {"files": [{**entry, "name": name} for name in names]})
    assert [each["name"] for each in read_manifest(path)["files"]] == names


@pytest.mark.parametrize("link", ["a", "sub", MANIFEST])
def test_a_link_is_no_file_of_the_folder(tmp_path: Path, link: str) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    (folder / "sub").mkdir(parents=True)
    files = []
    for name in ("a", "sub/b"):
        (folder / name).write_bytes(b"1")
        files.append({**file_entry(folder / name), "name": name})
    write_manifest(folder / MANIFEST, {"files": files})
    (folder / link).rename(outside)
    (folder / link).symlink_to(outside)
    with pytest.raises(OutputRefused, match="a link"):
        verify_files(folder, read_manifest(folder / MANIFEST)["files"])


# -- every reader of every manifest ----------------------------------------------------------------------------

Reader = Callable[[Path], object]


def _release(folder: Path) -> tuple[Path, list[Reader]]:
    write_release(folder)
    return folder / MANIFEST, [lambda f: Registry("scan").promote(verify_folder(f)), verify_path]


def _judge(folder: Path) -> tuple[Path, list[Reader]]:
    folder.mkdir()
    base = {"base": "small_decoder", "revision": None, "sha256": weights_sha256(SMALL_DECODER)}
    (folder / "base.json").write_text(json.dumps(base))
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 4}))
    (folder / "adapter_model.safetensors").write_bytes(b"1")
    write_manifest(folder / MANIFEST, {
        "kind": "judge", "config": {"seed": 0}, "base": {"name": "small_decoder"}, "data": {"dataset": "0"},
        "figures": {"best": 0.5}, "files": [file_entry(path) for path in sorted(folder.iterdir())],
    })  # fmt: skip
    return folder / MANIFEST, [lambda f: Registry("judge").promote(verify_folder(f)), verify_path]


def _dataset(folder: Path) -> tuple[Path, list[Reader]]:
    folder.mkdir()
    turns = (Turn(index=0, role="customer", text="hello"), Turn(index=1, role="agent", text="refund"))
    label = Label(dialogue_id="d1", turn=1, code="T1", probability=1.0, method="expert")
    example = Example(dialogue=Dialogue(id="d1", turns=turns), labels=(label,), split="train")
    (folder / "train.jsonl").write_text(example.model_dump_json() + "\n")
    write_manifest(folder / MANIFEST, {
        "kind": "injected-examples", "codes": ["T1"], "seconds": 0.1,
        "sources": [{"name": "corpus", "rows": 1, "licence": "MIT", "trains": True}],
        "files": [file_entry(folder / "train.jsonl", 1)],
    })  # fmt: skip

    def screen(folder: Path) -> None:
        out = folder.parent / "screened"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        for entry in open_dataset(folder)[0]["files"]:
            copy_without(folder, entry, out, {"d1"})

    return folder / MANIFEST, [
        screen, data_fingerprint, labelled_codes, lambda f: verify_split(f, "train"), verify_path,
    ]  # fmt: skip


def _checkpoint(folder: Path) -> tuple[Path, list[Reader]]:
    (folder / "checkpoint-3").mkdir(parents=True)
    (folder / "checkpoint-3" / "state.pt").write_bytes(b"1")
    seal(folder / "checkpoint-3", "job", 7)
    return folder / "checkpoint-3" / SEAL, [lambda f: find_latest(f, "job")]


def _backup(folder: Path) -> tuple[Path, list[Reader]]:
    store = str(folder.parent / "store.sqlite")
    upgrade(store)
    with Store.open(store) as opened:
        backup(opened, folder)

    def put_back(folder: Path) -> None:
        target = folder.parent / "restored.sqlite"
        target.unlink(missing_ok=True)
        restore(folder, str(target))

    return folder / MANIFEST, [put_back, read_head, verify_path]


def _verdicts(folder: Path) -> tuple[Path, list[Reader]]:
    folder.mkdir()
    out = folder / "v.jsonl"
    verdict = Verdict(dialogue_id="d1", release="tiny-1", taxonomy="1.0.0", status="scored", quality=100)
    out.write_bytes(verdict_line(verdict))
    rejects_path(out).write_bytes(b"")
    write_manifest(manifest_path(out), {
        "kind": "verdicts", "format": "jsonl", "files": [file_entry(out, 1), file_entry(rejects_path(out), 0)],
        "work": {
            "inputs": [{"label": "x", "sha256": "0" * 64}], "log": {"far": "far"},
            "release": {"id": "tiny-1", "demoted": {"T1": "x"}, "overrides": {"thresholds": {"T1": 0.5}}},
            "options": {"codes": ["T1"], "limit": 3},
        },
        "inputs": [{"name": "x", "bytes": 1, "sha256": "0" * 64}], "ended_at": "2026-11-20T08:00:00+00:00",
        "counts": {"scored": 1, "failed": 0, "not_judged": 0, "failures": {}, "findings": {"T1": {"S2": 1}}},
        "reading": {"read": 1, "rejected": 1, "rejects": {"E_ROLE": 1}}, "not_covered": ["T2"],
        "judge": {"name": "j", "questions": {"readings": 1, "second_looks": 1}, "unasked": {"T1": 1}},
    })  # fmt: skip

    work = read_manifest(manifest_path(out))["work"]

    def summarize(folder: Path) -> None:
        made = folder.parent / "report"
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
        report(folder / "v.jsonl", config=ReportConfig(html=made / "a.html", xlsx=made / "a.xlsx"))

    def resume(folder: Path) -> None:
        with lock_job(folder / "v.jsonl") as job:
            job.finished_manifest({"options": {}}, restart=False)

    def publish(folder: Path) -> None:
        """Go on with a job that was killed before its last rename."""
        out = folder / "v.jsonl"
        working = folder / ".v.job"
        working.mkdir()
        write_manifest(working / "job.json", {"kind": "job", "work": work})
        shutil.move(manifest_path(out), working / MANIFEST)
        shutil.move(out, working / "part.jsonl")
        with lock_job(out) as job:
            job.finished_manifest({}, restart=False)

    return manifest_path(out), [
        lambda f: list(read_verdicts(f / "v.jsonl")), summarize, resume, publish, lambda f: verify_path(f / "v.jsonl"),
    ]  # fmt: skip


MAKERS = {make.__name__[1:]: make for make in (_release, _judge, _dataset, _checkpoint, _backup, _verdicts)}


def _mutants(value: Any) -> Iterator[Any]:
    """The value with one field, at any depth, replaced or absent."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        inner = value[key]
        for other in (*(NAMES if key == "name" else VALUES), *_mutants(inner)):
            copy = dict(value) if isinstance(value, dict) else list(value)
            copy[key] = other
            yield copy
        if isinstance(value, dict):
            yield {name: other for name, other in value.items() if name != key}
        else:
            yield [*value, inner]


SLOW = ("release", "verdicts")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if kind in SLOW else kind for kind in MAKERS]
)  # fmt: skip
def test_a_hostile_field_is_refused_in_one_line_and_nothing_leaves_the_folder(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIALINT_HOME", str(tmp_path / "a" / "b" / "home"))
    work = tmp_path / "a" / "b" / "work"
    work.mkdir(parents=True)
    outside = tmp_path / "a" / "evil.pth"
    outside.write_bytes(b"kept")
    evil = {
        **file_entry(outside, 1),
        "name": "../../../evil.pth",
    }  # it exists, with the bytes that are listed
    manifest, readers = MAKERS[kind](work / "source")
    inside = manifest.relative_to(work / "source")
    content = read_manifest(manifest)
    for number, reader in enumerate(readers):  # as it is, each reader reads it
        folder = shutil.copytree(work / "source", work / f"whole-{number}")
        try:
            reader(folder)
        except UserError as error:
            assert error.code == "E_OTHER_JOB", error
    attacks = [{**content, "files": [*content["files"], evil]}] if "files" in content else []
    refused = 0
    for mutant in (*attacks, *_mutants(content)):
        for reader in readers:
            folder = shutil.copytree(work / "source", work / "mutant")
            write_json(folder / inside, {**mutant, "seal": fingerprint(mutant)})  # as an attacker seals it
            try:
                reader(folder)
            except DialintError as error:
                refused += 1
                assert "\n" not in str(error), (reader, mutant)
            except Exception as error:
                raise AssertionError(f"{reader}: {str(mutant)[:1500]}") from error
            shutil.rmtree(folder)
            assert [*tmp_path.rglob("evil*")] == [outside], mutant
    assert refused > 10
    assert outside.read_bytes() == b"kept"


@pytest.mark.parametrize("name", [*NAMES, "model-2.safetensors", 3, None, []])
def test_an_index_of_weights_names_the_folders_own_files(tmp_path: Path, name: object) -> None:
    (tmp_path / "model-1.safetensors").write_bytes(b"1")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "model-1.safetensors"}}))
    assert weights_sha256(tmp_path)
    index.write_text(json.dumps({"weight_map": {"a": "model-1.safetensors", "b": name}}))
    with pytest.raises(ConfigError, match="E_BASE"):
        weights_sha256(tmp_path)
