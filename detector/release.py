"""A release on disk: a folder whose files are verified by hash before any of them is loaded.

`manifest.json` lists each file with its sha256; `release.json` describes the release and its coverage;
weights are safetensors only (`detector/engines/quantization.py` says in which forms). No remote code.

A code is judged on a turn only if the release covers the turn's language and, where the turn's words alone do
not show the error, that of the customer's turn before; a code of dialogue scope needs the dialogue's language
too (`LanguageCoverage`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue, TypeAdapter, ValidationError, model_validator

from dialint.detector.artifacts import (
    MANIFEST,
    file_entry,
    fingerprint,
    read_manifest,
    system_reason,
    verify_files,
    write_json,
    write_manifest,
)
from dialint.detector.calibration import POLICY_CHECK, CheckPrecision, CodeRelease
from dialint.detector.checks import Check, load_checks
from dialint.detector.errors import OutputRefused, ReleaseRefused
from dialint.detector.languages import detect_languages
from dialint.detector.log_profile import Domain
from dialint.detector.manifests import Folder
from dialint.detector.records import Dialogue, NotJudged, Record
from dialint.detector.render import RenderConfig, load_tokenizer
from dialint.detector.taxonomy import Taxonomy

EMBEDDED = Path(__file__).with_name("embedded")
WEIGHTS = "model.safetensors"
SCALE = ".scale"
_KINDS = {".json", ".safetensors", ".md"}


class Base(Record):
    """The model it was fine-tuned from; `sha256` is that of its weights."""

    name: str
    revision: str
    sha256: str
    licence: str


class ReleaseInfo(Record):
    """Content of `release.json`. `head_codes` is the order of the head's rows; `codes` what the
    release covers; `report` its measured quality; `training` data hash, seed and versions; `domain` its
    calibration data, without which no log counts as far."""

    id: str
    base: Base
    taxonomy: str
    head_codes: tuple[str, ...]
    dialogue_codes: tuple[str, ...]
    codes: dict[str, CodeRelease]
    render: RenderConfig
    training: dict[str, JsonValue]
    report: dict[str, JsonValue]
    domain: Domain | None = Field(default=None, exclude_if=lambda value: value is None)

    @model_validator(mode="after")
    def _consistent(self) -> ReleaseInfo:
        head = set(self.head_codes)
        if not head or len(head) != len(self.head_codes):
            raise ValueError("head_codes must name each row of the head once")
        scanned = {code for code, how in self.codes.items() if how.scan is not None}
        for name, codes in (("dialogue_codes", set(self.dialogue_codes)), ("scanned codes", scanned)):
            if codes - head:
                raise ValueError(f"{name} {sorted(codes - head)} are not in head_codes")
        checks = {check.name for how in self.codes.values() for check in how.checks}
        if checks - set(load_checks()):
            raise ValueError(f"no exact checks {sorted(checks - set(load_checks()))}")
        return self

    @property
    def covered(self) -> tuple[str, ...]:
        """The codes that something can report. Of others the scan only states probabilities, by which
        dialogues are ranked."""
        return tuple(code for code, how in self.codes.items() if how.covered_by)

    @property
    def scan_reports(self) -> bool:
        """True if the scan reports any code; otherwise it only states probabilities."""
        return any("scan" in how.covered_by for how in self.codes.values())

    def without_scan(self) -> ReleaseInfo:
        """The same release with exact checks and policies only."""
        checks, codes = load_checks(), {}
        for code, how in self.codes.items():
            if how.checks:
                languages = () if how.scan is None else how.scan.languages
                unscanned = tuple(
                    each for each in languages if not any(checks[c.name].covers(each) for c in how.checks)
                )
                update = {"scan": None, "unscanned_languages": unscanned}
                codes[code] = how.model_copy(update=update)
        return self.model_copy(update={"codes": codes})


def expand_checks(content: bytes, *, measured: bool = True) -> bytes:
    """Return a `release.json` in which the name of a check is replaced by its measured precision for the
    code, if they are to be `measured`, which loads all checks. Anything else is returned as it is, for the
    validation to refuse."""
    try:
        info = json.loads(content)
        for code, how in info["codes"].items():
            checks = how.get("checks", ())
            how["checks"] = [
                each
                if not isinstance(each, str)
                else measured_check(each, code).model_dump()
                if measured
                else {"name": each, "precision": 0}
                for each in checks
            ]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return content
    return json.dumps(info).encode()


def load_coverage(
    release: Path, taxonomy: Taxonomy, *, measured: bool = True
) -> Mapping[str, CodeRelease] | None:
    """Returns how the release in a folder finds its codes, by its description alone; None if there is none.
    Checks have no precision if they are not `measured`.

    A release made for another major version of the taxonomy covers none of this one: equal letters
    need not mean the same error.

    Raises:
        ReleaseRefused: the file is there and is not a release's description.
    """
    try:
        described = json.loads(expand_checks((release / "release.json").read_bytes(), measured=measured))
        covered = TypeAdapter(dict[str, CodeRelease]).validate_json(json.dumps(described["codes"]))
        release_taxonomy = described.get("taxonomy", taxonomy.version)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ReleaseRefused(
            "E_RELEASE", "{file}: not a release's description", file=release / "release.json"
        ) from None
    if not taxonomy.fits(release_taxonomy):
        return {}
    return {code: how for code, how in covered.items() if code in taxonomy.codes}


def measured_check(name: str, code: str) -> CheckPrecision:
    """Return the measured precision of a check for a code.

    Raises:
        KeyError: there is no such check, or it does not serve the code.
    """
    evidence = load_checks()[name].codes[code]
    return CheckPrecision(
        name=name, precision=evidence.precision, report=evidence.outcome, is_measured=evidence.is_measured
    )


def _shorten(info: ReleaseInfo) -> dict[str, Any]:
    """Returns the content of `release.json`: of a check with its current precision, the name only."""
    content, loaded = info.model_dump(mode="json"), load_checks()
    for code, how in info.codes.items():
        content["codes"][code]["checks"] = [
            check.name
            if check.name in loaded
            and code in loaded[check.name].codes
            and check == measured_check(check.name, code)
            else check.model_dump(mode="json")
            for check in how.checks
        ]
    return content


class Release:
    """A verified release folder. Opening it verifies all files; nothing is loaded before."""

    def __init__(self, folder: Path, *, has_scan: bool = True) -> None:
        """Without `has_scan` the weights are not read, as nothing is scanned.

        Raises:
            ReleaseRefused: missing, damaged, unsafe, or its parts do not belong together.
        """
        self.folder = folder
        if not folder.is_dir():
            raise ReleaseRefused(
                "E_RELEASE",
                "{path}: a file; a release is a folder"
                if folder.exists()
                else "{path}: there is no such release; `dialint train pack` makes one",
                path=folder,
            )
        if not (folder / MANIFEST).exists():
            raise ReleaseRefused(
                "E_RELEASE", "{path}: no {file}, so this is no complete release", path=folder, file=MANIFEST
            )
        try:
            self.manifest = read_manifest(folder / MANIFEST, expected=Folder)
            verify_files(folder, self.manifest["files"])
        except OutputRefused as error:
            raise ReleaseRefused(error.code, error.text) from None
        except OSError as error:
            path = error.filename or folder
            raise ReleaseRefused(
                "E_RELEASE", "{path}: {reason}", path=path, reason=system_reason(error)
            ) from None
        self._validate_files()
        self.info = self._info()
        if has_scan:
            self._sound_weights()

    @property
    def fingerprint(self) -> str:
        """A hash of all bytes of all files."""
        return fingerprint(self.manifest)

    @cached_property
    def config(self) -> dict[str, Any]:
        """The backbone's shape, as transformers reads it.

        Raises:
            ReleaseRefused: there is none.
        """
        content = json.loads(self._text("config.json"))
        if not isinstance(content, dict):
            path = self.folder / "config.json"
            raise ReleaseRefused("E_RELEASE", "{path}: not a JSON object", path=path)
        return content

    def tokenizer_json(self) -> str:
        """The text of `tokenizer.json`.

        Raises:
            ReleaseRefused: there is none.
        """
        return self._text("tokenizer.json")

    def check_vocabulary(self, n_embedded: int) -> None:
        """
        Raises:
            ReleaseRefused: the tokenizer has more tokens than the model embeds.
        """
        n = max(load_tokenizer(self.tokenizer_json()).get_vocab().values(), default=-1) + 1
        if n > n_embedded:
            raise ReleaseRefused(
                "E_RELEASE", "{path}: the tokenizer has {n} tokens, the model {n_embedded}",
                path=self.folder, n=n, n_embedded=n_embedded,
            )  # fmt: skip

    def _text(self, name: str) -> str:
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise ReleaseRefused(
                "E_RELEASE", "{path}: no {file} that can be read", path=self.folder, file=name
            ) from None

    @cached_property
    def tensors(self) -> dict[str, tuple[str, list[int], bytes]]:
        """Every stored tensor: safetensors type, shape, bytes."""
        from safetensors import SafetensorError, deserialize

        try:
            parts = deserialize((self.folder / WEIGHTS).read_bytes())  # type: ignore[no-untyped-call]
        except (OSError, SafetensorError):
            path = self.folder / WEIGHTS
            raise ReleaseRefused("E_RELEASE", "{path}: not safetensors", path=path) from None
        return {name: (part["dtype"], part["shape"], bytes(part["data"])) for name, part in parts}

    def _validate_files(self) -> None:
        listed = {entry["name"] for entry in self.manifest["files"]}
        for path in sorted(self.folder.iterdir()):
            if path.name == MANIFEST:
                continue
            if path.name not in listed or path.suffix not in _KINDS or not path.is_file():
                raise ReleaseRefused("E_RELEASE", "{path}: no part of a release may be this", path=path)
            try:
                if path.suffix == ".json":
                    json.loads(path.read_bytes())
            except (ValueError, RecursionError):
                raise ReleaseRefused("E_RELEASE", "{path}: not JSON", path=path) from None

    def _info(self) -> ReleaseInfo:
        try:
            return ReleaseInfo.model_validate_json(expand_checks((self.folder / "release.json").read_bytes()))
        except OSError:
            raise ReleaseRefused("E_RELEASE", "{path}: no release.json", path=self.folder) from None
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            position = ".".join(str(part) for part in first["loc"])
            raise ReleaseRefused(
                "E_RELEASE", "{path}: {field}: {problem}",
                path=self.folder / "release.json", field=position, problem=first["msg"],
            ) from None  # fmt: skip

    def _sound_weights(self) -> None:
        """Made from the base that release.json names, and every number finite."""
        tensors = self.tensors
        with open(self.folder / WEIGHTS, "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        if (header.get("__metadata__") or {}).get("base_sha256") != self.info.base.sha256:
            path = self.folder / WEIGHTS
            raise ReleaseRefused("E_RELEASE", "{path}: made from another base model", path=path)
        for name, (kind, _, data) in tensors.items():
            if not _finite(kind, data):
                raise ReleaseRefused(
                    "E_RELEASE", "{path}: {name} holds NaN or infinity", path=self.folder / WEIGHTS, name=name
                )


def _finite(kind: str, data: bytes) -> bool:
    """Returns whether all numbers of a stored tensor are finite; integers always are."""
    import numpy as np

    if kind == "BF16":
        return bool(np.all(np.frombuffer(data, np.uint16) & 0x7F80 != 0x7F80))
    if kind in ("F16", "F32", "F64"):
        return bool(np.isfinite(np.frombuffer(data, {"F16": "f2", "F32": "f4", "F64": "f8"}[kind])).all())
    return kind in ("I8", "U8", "I16", "I32", "I64", "BOOL")


def finalize_release(folder: Path, info: ReleaseInfo) -> None:
    """Write `release.json` and, last, the manifest of all files in `folder`."""
    write_json(folder / "release.json", _shorten(info))
    files = [
        file_entry(path)
        for path in sorted(folder.iterdir())
        if path.suffix in _KINDS and path.name != MANIFEST
    ]
    write_manifest(folder / MANIFEST, {"kind": "release", "id": info.id, "files": files})


@dataclass(frozen=True)
class TurnCoverage:
    """The codes that a release may judge on a turn: by the model, by exact checks and which, and the language
    that decides about each."""

    scanned: frozenset[str]
    checked: Mapping[str, tuple[CheckPrecision, ...]]
    language: Mapping[str, str]
    is_judged: bool
    """True if the model may judge any code; if the release has no model for any, if a check may."""


class LanguageCoverage:
    """The codes that a release may judge, by language; computed once for each combination of languages."""

    def __init__(self, info: ReleaseInfo, taxonomy: Taxonomy, checks: Mapping[str, Check]) -> None:
        self._checks = checks
        self._info, self._covered = info, info.covered
        self._context_free = {code for code, entry in taxonomy.codes.items() if entry.context_free}
        self._by_languages: dict[tuple[str, str, str], TurnCoverage] = {}

    def turns(self, dialogue: Dialogue, forced: tuple[str, ...]) -> dict[int, TurnCoverage]:
        """The coverage of each turn of a dialogue, by its index."""
        whole, languages = detect_languages(dialogue, forced)
        results: dict[int, TurnCoverage] = {}
        last: str | None = None
        for turn in dialogue.turns:
            own = languages[turn.index]
            key = (own, last or own, whole)
            if key not in self._by_languages:
                self._by_languages[key] = self._turn(*key)
            results[turn.index] = self._by_languages[key]
            last = own if turn.role == "customer" else last
        return results

    def _turn(self, own: str, customer: str, whole: str) -> TurnCoverage:
        """Of a turn in the language `own`; the others are the customer's before it and the dialogue's."""
        scanned, checked, languages = set(), dict[str, tuple[CheckPrecision, ...]](), {}
        for code, how in self._info.codes.items():
            with_context = (own,) if code in self._context_free else (own, customer)
            languages[code] = own
            if how.scan is not None:
                needed = (*with_context, *((whole,) if code in self._info.dialogue_codes else ()))
                lacking = next((each for each in needed if not how.scan.covers(each)), None)
                languages[code] = own if lacking is None else lacking
                if lacking is None:
                    scanned.add(code)
            rules = [self._checks[check.name] for check in how.checks]
            checks = tuple(
                check
                for check, rule in zip(how.checks, rules, strict=True)
                if all(map(rule.covers, with_context))
            )
            if checks:
                checked[code] = checks
            elif how.scan is None:  # named is the language that no check covers
                covered = [all(rule.covers(name) for rule in rules) for name in with_context]
                languages[code] = with_context[covered.index(False)] if False in covered else own
        has_model = any(how.scan is not None for how in self._info.codes.values())
        return TurnCoverage(frozenset(scanned), checked, languages, bool(scanned if has_model else checked))

    def gaps(
        self, coverage: Mapping[int, TurnCoverage], turns: Sequence[int], without_policy: Collection[str]
    ) -> tuple[NotJudged, ...]:
        """The codes that were not judged, by the language that is why, and on which of `turns`.
        `without_policy`: codes on which the check of policies has no rules here."""
        results: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[int]] = {}
        for turn in turns:
            own = coverage[turn]
            missing: dict[str, tuple[list[str], list[str]]] = {}
            for code in self._covered:
                how = self._info.codes[code]
                if code in own.scanned or (how.scan is None and code in own.checked):
                    continue
                if own.language[code] in how.unscanned_languages:
                    continue
                is_checked = any(
                    check.name != POLICY_CHECK or code not in without_policy
                    for check in own.checked.get(code, ())
                )
                missing.setdefault(own.language[code], ([], []))[is_checked].append(code)
            for language, (codes, check_only) in missing.items():
                results.setdefault((language, tuple(codes), tuple(check_only)), []).append(turn)
        return tuple(
            NotJudged(language=language, turns=tuple(turns), codes=codes, check_only=check_only)
            for (language, codes, check_only), turns in sorted(results.items())
        )
