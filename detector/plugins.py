"""Plugins: what installed packages and local Python files add to dialint, in the form of dialint's own
entries in this module.

A package offers something by an entry point in its ``pyproject.toml``:

    [project.entry-points."dialint.checks"]
    shouting = "acme_dialint.checks:shouting"

`OWN` has the groups and dialint's own entries, as ``name: "module:attribute"``; a module is imported when
its entry is loaded. The room that owns a group says what an entry is, and asks for it:

    entries = plugins("dialint.checks", config.check, Check)  # also what the files of an option hold
    check = entries["shouting"].load(Check)                   # E_PLUGIN, if it is none
    manifest["plugins"] = describe(entries.values())          # those of others: package and version, or file

A local file is executed only where an option names it, never by a search path, and offers every instance of
the kind at its top level, by the name of the variable. A name that is offered twice is refused.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from dialint.detector.environment import extra_providing, require_library
from dialint.detector.errors import ConfigError

PACKAGE = "dialint"
CHECKS = "dialint.detector.checks"
PAGES = "dialint.app.console.pages"
FORMATS, MASKING = "dialint.detector.ingest.formats", "dialint.detector.masking"
OWN: dict[str, dict[str, str]] = {
    "dialint.formats": {
        "canonical": f"{FORMATS}.canonical:canonical",
        "tau": f"{FORMATS}.research:tau",
        "tau2": f"{FORMATS}.research:tau2",
        "multiwoz": f"{FORMATS}.research:multiwoz",
        "opentelemetry": f"{FORMATS}.traces:opentelemetry",
        "openinference": f"{FORMATS}.traces:openinference",
        "openai": f"{FORMATS}.chats:openai",
        "sharegpt": f"{FORMATS}.chats:sharegpt",
        "webvtt": f"{FORMATS}.transcripts:webvtt",
        "srt": f"{FORMATS}.transcripts:srt",
        "whatsapp": f"{FORMATS}.transcripts:whatsapp",
        "transcript": f"{FORMATS}.transcripts:transcript",
    },
    "dialint.checks": {
        "unfilled_placeholder": f"{CHECKS}.raw_text:unfilled_placeholder",
        "same_text_again": f"{CHECKS}.repeats:same_text_again",
        "ignores_distress": f"{CHECKS}.answers:ignores_distress",
        "missing_greeting": f"{CHECKS}.answers:missing_greeting",
        "passes_over_question": f"{CHECKS}.answers:passes_over_question",
        "answers_in_part": f"{CHECKS}.answers:answers_in_part",
        "cut_message": f"{CHECKS}.answers:cut_message",
        "insult": f"{CHECKS}.phrases:insult",
        "asks_secret": f"{CHECKS}.phrases:asks_secret",
        "asks_secret_for_tool": f"{CHECKS}.phrases:asks_secret_for_tool",
        "passes_over_person": f"{CHECKS}.phrases:passes_over_person",
        "claims_undone_write": f"{CHECKS}.claims:claims_undone_write",
        "claims_failed_write": f"{CHECKS}.claims:claims_failed_write",
        "claims_undone_lookup": f"{CHECKS}.facts:claims_undone_lookup",
        "unsupported_fact": f"{CHECKS}.facts:unsupported_fact",
        "contradicts_result": f"{CHECKS}.results:contradicts_result",
        "wrong_level": f"{CHECKS}.results:wrong_level",
        "wrong_stock": f"{CHECKS}.results:wrong_stock",
        "wrong_refund": f"{CHECKS}.results:wrong_refund",
        "tells_of_another": f"{CHECKS}.results:tells_of_another",
        "format_slip": f"{CHECKS}.grammar:format_slip",
        "asks_for_known": f"{CHECKS}.questions:asks_for_known",
        "insists_on_number": f"{CHECKS}.questions:insists_on_number",
        "asks_for_given": f"{CHECKS}.questions:asks_for_given",
        "wrong_call": f"{CHECKS}.calls:wrong_call",
        "unstated_argument": f"{CHECKS}.arguments:unstated_argument",
        "policy": f"{CHECKS}.policy:policy",
        "unconfirmed_change": f"{CHECKS}.policy:unconfirmed_change",
        "raw_tool_call": f"{CHECKS}.raw_text:raw_tool_call",
        "needless_transfer": f"{CHECKS}.calls:needless_transfer",
        "raw_text_again": f"{CHECKS}.raw_text:raw_text_again",
        "refused_write": f"{CHECKS}.calls:refused_write",
        "leaves_request_open": f"{CHECKS}.answers:leaves_request_open",
        "misspelt_word": f"{CHECKS}.spelling:misspelt_word",
        "grammar_slip": f"{CHECKS}.grammar:grammar_slip",
        "long_wait": f"{CHECKS}.waits:long_wait",
        "wrong_sum": f"{CHECKS}.figures:wrong_sum",
        "misread_figure": f"{CHECKS}.figures:misread_figure",
        "miscopied_argument": f"{CHECKS}.arguments:miscopied_argument",
        "other_than_agreed": f"{CHECKS}.agreement:other_than_agreed",
    },
    "dialint.judges": {
        "local": "dialint.detector.engines.judge_local:open_judge",
        "http": "dialint.detector.engines.judge_http:open_judge",
    },
    "dialint.label_formats": {  # in order of detection: those with the most distinctive fields first
        "dialint": "dialint.labeling.exchange.format:NATIVE",
        "label-studio": "dialint.labeling.exchange.label_studio:FORMAT",
        "toloka": "dialint.labeling.exchange.crowd_table:TOLOKA",
        "crowd": "dialint.labeling.exchange.crowd_table:FORMAT",
        "prodigy": "dialint.labeling.exchange.turn_records:PRODIGY",
        "argilla": "dialint.labeling.exchange.turn_records:ARGILLA",
        "doccano": "dialint.labeling.exchange.turn_records:DOCCANO",
    },
    "dialint.aggregators": {
        "joint": "dialint.labeling.aggregation.joint:joint_posterior",
        "majority": "dialint.labeling.aggregation.methods:majority",
        "wawa": "dialint.labeling.aggregation.methods:wawa",
        "dawid-skene": "dialint.labeling.aggregation.methods:dawid_skene",
        "one-coin": "dialint.labeling.aggregation.methods:one_coin",
        "glad": "dialint.labeling.aggregation.methods:glad",
    },
    "dialint.recognizers": {
        "email_addresses": f"{MASKING}.addresses:find_emails",
        "online_ids": f"{MASKING}.identifiers:find_online_ids",
        "id_numbers": f"{MASKING}.identifiers:find_numbers",
        "cued_values": f"{MASKING}.identifiers:find_cued_values",
        "street_addresses": f"{MASKING}.addresses:find_streets",
        "digit_runs": f"{MASKING}.digit_runs:find",
        "names": f"{MASKING}.names:find",
    },
    "dialint.pages": {
        "overview": f"{PAGES}:OVERVIEW",
        "explore": f"{PAGES}:EXPLORE",
        "dialogue": f"{PAGES}:DIALOGUE",
        "coaching": f"{PAGES}:COACHING",
        "people": f"{PAGES}:PEOPLE",
        "review": f"{PAGES}:REVIEW",
        "label": f"{PAGES}:LABEL",
        "adjudicate": f"{PAGES}:ADJUDICATE",
        "calibration": f"{PAGES}:CALIBRATION",
        "my_findings": f"{PAGES}:MY_FINDINGS",
        "appeals": f"{PAGES}:APPEALS",
        "score": f"{PAGES}:SCORE",
        "releases": f"{PAGES}:RELEASES",
        "rules": f"{PAGES}:RULES",
        "admin": f"{PAGES}:ADMIN",
        "password": f"{PAGES}:PASSWORD",
    },
}
"""Every group with dialint's own entries."""


@dataclass(frozen=True)
class Plugin:
    """One entry of a group. `origin` is the package or the file that offers it, `version` the version of the
    package or the SHA-256 of the file; `content` is the object of a file, which is loaded already."""

    name: str
    group: str
    target: str
    origin: str
    version: str = ""
    content: Any = None

    @property
    def is_own(self) -> bool:
        return self.origin == PACKAGE

    def load(self, kind: Any = object) -> Any:
        """Return the object of the entry, an instance of `kind`.

        Raises:
            ConfigError: E_PLUGIN, it cannot be imported or is something else; E_EXTRA, one of ours lacks an
                extra.
        """
        try:
            content = self.content
            if content is None:
                content = EntryPoint(self.name, self.target, self.group).load()
        except Exception as error:
            if self.is_own and isinstance(error, ModuleNotFoundError) and extra_providing(str(error.name)):
                require_library(str(error.name), self.name)
            raise self._refusal(f"cannot import {self.target}: {type(error).__name__}: {error}") from error
        if not isinstance(content, kind):
            expected = getattr(kind, "__name__", kind)
            raise self._refusal(f"{self.target} is a {type(content).__name__}, expected a {expected}")
        return content

    def _refusal(self, problem: str) -> ConfigError:
        return ConfigError(
            "E_PLUGIN", "{origin}: {name} of {group}: {problem}",
            origin=self.origin, name=self.name, group=self.group, problem=problem,
        )  # fmt: skip


def plugins(group: str, files: Sequence[Path] = (), kind: Any = object) -> Mapping[str, Plugin]:
    """Return the entries of a group by name: dialint's own, those of the installed packages, and the
    instances of `kind` in `files`, which are executed.

    Raises:
        ConfigError: E_PLUGIN, a name is offered twice, or a file cannot be executed or offers nothing.
    """
    entries: dict[str, Plugin] = {}
    for plugin in (*_installed()[group], *(each for path in files for each in _load_file(group, path, kind))):
        other = entries.setdefault(plugin.name, plugin)
        if other is not plugin:
            raise ConfigError(
                "E_PLUGIN", "{group}: {first} and {second} both offer {name}; remove one of them",
                group=group, first=other.origin, second=plugin.origin, name=plugin.name,
            )  # fmt: skip
    return entries


def describe(used: Iterable[Plugin]) -> list[dict[str, str]]:
    """Return the packages and files of others that offer `used`, for manifests and fingerprints; without
    dialint itself."""
    sources = {
        (plugin.origin, plugin.version, plugin.content is not None) for plugin in used if not plugin.is_own
    }
    return [
        {"file": origin, "sha256": version} if is_file else {"package": origin, "version": version}
        for origin, version, is_file in sorted(sources)
    ]


@cache
def _installed() -> Mapping[str, tuple[Plugin, ...]]:
    """dialint's own entries and those of the installed packages by group, as they are read in one go."""
    entries = entry_points()
    return {
        group: (
            *(Plugin(name, group, target, PACKAGE) for name, target in own.items()),
            *(
                Plugin(entry.name, group, entry.value, entry.dist.name, entry.dist.version)
                for entry in entries.select(group=group)
                if entry.dist is not None
            ),
        )
        for group, own in OWN.items()
    }


def _load_file(group: str, path: Path, kind: Any) -> list[Plugin]:
    try:
        source = path.read_bytes()
        digest = hashlib.sha256(source).hexdigest()
        module = ModuleType(f"dialint_file_{digest[:16]}")
        module.__file__ = str(path)
        sys.modules[module.__name__] = module  # dataclasses look their module up
        exec(compile(source, str(path), "exec"), module.__dict__)
    except Exception as error:
        raise ConfigError(
            "E_PLUGIN", "{path}: {problem}", path=path, problem=f"{type(error).__name__}: {error}"
        ) from error
    offered = [
        Plugin(name, group, f"{path.name}:{name}", path.name, digest, value)
        for name, value in vars(module).items()
        if isinstance(value, kind)
    ]
    if not offered:
        expected = getattr(kind, "__name__", kind)
        raise ConfigError("E_PLUGIN", "{path}: has no {kind} at its top level", path=path, kind=expected)
    return offered
