"""What is shown beside a finding as its evidence: the clause of a policy that it says was broken, and the
sources that the dialogue came with.

A finding names its clause in its reason. The clause's text is that of the policy's published version; where
there is none, that is said, and the finding's own quotation stands in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from dialint.app.console.i18n import _
from dialint.app.console.text import lookup_code, safe_text
from dialint.detector.checks.policy import CitedClause, find_cited_clause
from dialint.detector.errors import ConfigError
from dialint.detector.policy import Policy, parse_policy
from dialint.detector.records import Dialogue, Finding, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.documents import PublishedText, load_policies

Policies = Mapping[str, PublishedText]
"""Published policies by name."""
MIN_PASSAGE, MAX_PASSAGE = 8, 400
_QUOTED = re.compile(rf"[“«\"]([^“”«»\"]{{{MIN_PASSAGE},{MAX_PASSAGE}}})[”»\"]")
_NUMBERED = re.compile(r"\b[Ss]ource ([0-9]{1,3})\b")


class Evidence(NamedTuple):
    """A text with its title, and a note on where it comes from; `passages` are parts of it, in order, of
    which some are marked as what the finding quotes."""

    id: str
    title: str
    passages: tuple[tuple[str, bool], ...]
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """As the browser gets it: nothing in it is markup, or reverses or hides what is beside it."""
        pieces = [{"text": safe_text(text), "marked": marked} for text, marked in self.passages]
        return {"title": safe_text(self.title), "note": safe_text(self.note), "pieces": pieces}


def load_cited_policies(store: Store, actor: str, dialogue: Dialogue, verdict: Verdict | None) -> Policies:
    """The published versions of the policies that the findings of a verdict cite, or the dialogue names.

    Raises:
        NotAllowed: the actor does not review.
    """
    findings = () if verdict is None else (*verdict.findings, *verdict.suggestions)
    cited = (find_cited_clause(finding.reason) for finding in findings)
    names = {each.policy for each in cited if each is not None}
    if dialogue.policy is not None:
        names.add(dialogue.policy)
    return load_policies(store, actor, sorted(names)) if names else {}


def find_evidence(dialogue: Dialogue, finding: Finding, policies: Policies) -> tuple[Evidence, ...]:
    """The clause that a finding cites, or those of the dialogue's policy for its code; then the sources that
    its reason names or quotes, or all, for a code of information."""
    cited = find_cited_clause(finding.reason)
    clauses: Iterator[Evidence] = iter(())
    if cited is not None:
        clauses = iter((_describe_cited(cited, policies.get(cited.policy)),))
    elif dialogue.policy is not None and _needs(finding.code, "policy"):
        clauses = _list_clauses(dialogue.policy, finding.code, policies.get(dialogue.policy))
    return (*clauses, *_list_sources(dialogue, finding))


def _needs(code: str, kind: str) -> bool:
    return kind in lookup_code(code, load_taxonomy()).needs


def _describe_cited(cited: CitedClause, published: PublishedText | None) -> Evidence:
    name = f"clause:{cited.policy}:{cited.clause}"
    title = _("Clause {clause} of the policy {policy}").format(clause=cited.clause, policy=cited.policy)
    policy = None if published is None else _parse(published.text)
    if published is None or policy is None:
        note = _("This policy is not published here. So the finding quotes the clause:")
        return Evidence(name, title, ((cited.text, False),), note)
    text = next((clause.text for clause in policy.clauses if clause.id == cited.clause), None)
    if text is None:
        note = _("The published version {version} has no such clause. So the finding quotes it:")
        return Evidence(name, title, ((cited.text, False),), note.format(version=published.version))
    if text.startswith(cited.text.removesuffix(" …")):
        note = _("As published, version {version}.").format(version=published.version)
    else:
        note = _("As published, version {version}. The finding quotes other words: “{quote}”").format(
            version=published.version, quote=cited.text
        )
    return Evidence(name, title, ((text, False),), note)


def _list_clauses(name: str, code: str, published: PublishedText | None) -> Iterator[Evidence]:
    policy = None if published is None else _parse(published.text)
    if published is None or policy is None:
        note = _("This policy is not published here, so its clauses cannot be shown.")
        yield Evidence(f"policy:{name}", _("Policy {name}").format(name=name), (), note)
        return
    for clause in policy.clauses:
        if clause.found_as == code:
            yield Evidence(
                f"clause:{name}:{clause.id}",
                _("Clause {clause} of the policy {policy}").format(clause=clause.id, policy=name),
                ((clause.text, False),),
                _("As published, version {version}.").format(version=published.version),
            )


@lru_cache(16)
def _parse(text: str) -> Policy | None:
    try:
        return parse_policy(text)
    except ConfigError:  # published by a version that knew other rules
        return None


def _list_sources(dialogue: Dialogue, finding: Finding) -> Iterator[Evidence]:
    if not (finding.code.startswith("I") or _needs(finding.code, "sources")):
        return
    numbers = {int(match[1]) for match in _NUMBERED.finditer(finding.reason)}
    quoted = [match[1].strip() for match in _QUOTED.finditer(finding.reason)]
    every = [
        (number, source, next((words for words in quoted if words in source), ""))
        for number, source in enumerate(dialogue.sources, 1)
    ]
    named = [each for each in every if each[0] in numbers or each[2] or each[1] in finding.reason]
    for number, source, passage in named or every:
        yield describe_source(number, source, passage)


def describe_source(number: int, source: str, passage: str = "") -> Evidence:
    """A source of the dialogue, the `number`-th from 1, with a passage of it marked."""
    before, marked, after = source.partition(passage) if passage else (source, "", "")
    parts = ((before, False), (marked, True), (after, False))
    note = "" if " " in source.strip() else _("The log has only the name of this source.")
    title = _("Source {n}").format(n=number)
    name = f"source:{number}" + (f":{len(before)}:{len(marked)}" if marked else "")
    return Evidence(name, title, tuple(part for part in parts if part[0]), note)
