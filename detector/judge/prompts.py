"""The words of the judge's prompts and which codes see which evidence, read from ``prompts.yaml``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

from dialint.detector.artifacts import fingerprint
from dialint.detector.records import Record
from dialint.detector.taxonomy import Code, Need, Text
from dialint.detector.yaml_document import read_document

PromptLanguage = Literal["en", "es", "ru"]


class DetailTexts(Record):
    """The question about one turn and one code."""

    system: Text
    answer: Text


class ScreenTexts(Record):
    """The question about the numbered turns of a dialogue and a list of codes."""

    system: Text


class Texts(Record):
    """All words of one language."""

    detail: DetailTexts
    screen: ScreenTexts
    evidence: Text
    examples: Text


class Prompts(Record):
    """The data file. `evidence` lists, for each kind, the codes that see it; a code that `needs` a kind by
    the taxonomy sees it as well."""

    version: Text
    languages: dict[PromptLanguage, Texts]
    evidence: dict[Need, tuple[str, ...]]

    @property
    def fingerprint(self) -> str:
        """Changes with any word."""
        return fingerprint(self.model_dump(mode="json"))

    def sees(self, code: Code, kind: Need) -> bool:
        """Whether a question about `code` carries this kind of evidence, where there is any."""
        return kind in code.needs or code.code in self.evidence[kind]


@cache
def load_prompts() -> Prompts:
    """The packaged prompts."""
    document = read_document(Path(__file__).with_name("prompts.yaml"), "E_JUDGE")
    return Prompts.model_validate(document.value, strict=False)
