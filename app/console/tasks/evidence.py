"""Evidence beside a finding: the clause of a policy that it cites, and the sources that came with the
dialogue.

A finding names its clause in its reason. The clause's text is that of the version that the dialogue was
scored with, as the verdict records it, else of the published one; a note says which. Where neither is to be
had, that is said, and the finding's own quotation stands in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from dialint.app.console.i18n import _
from dialint.app.console.text import lookup_code, safe_text
from dialint.detector.checks.policy import CitedClause, find_cited_clause
from dialint.detector.errors import ConfigError
from dialint.detector.policy import Clause, Policy, parse_policy
from dialint.detector.records import Dialogue, Finding, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store.api import Store
from dialint.labeling.store.documents import PublishedText, find_policy_version, load_policies


class PolicyTexts(NamedTuple):
    """The `published` and `scored` versions of a policy, None if not in the store; `is_recorded`: the verdict
    records the latter."""

    published: PublishedText | None = None
    scored: PublishedText | None = None
    is_recorded: bool = False

    @property
    def displayed(self) -> PublishedText | None:
        """The version whose clauses are displayed."""
        return self.scored if self.is_recorded else self.published


Policies = Mapping[str, PolicyTexts]
"""The policies of an item by name."""
UNKNOWN_POLICY = PolicyTexts()
MIN_PASSAGE, MAX_PASSAGE = 8, 400
_QUOTED = re.compile(rf"[“«\"]([^“”«»\"]{{{MIN_PASSAGE},{MAX_PASSAGE}}})[”»\"]")
_NUMBERED = re.compile(r"\b[Ss]ource ([0-9]{1,3})\b")


class Evidence(NamedTuple):
    """A text with its title and a note on its origin; `passages` are its parts, and whether the finding
    quotes each."""

    id: str
    title: str
    passages: tuple[tuple[str, bool], ...]
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it for the browser: nothing in it is markup, or reverses or hides what is beside it."""
        pieces = [{"text": safe_text(text), "marked": marked} for text, marked in self.passages]
        return {"title": safe_text(self.title), "note": safe_text(self.note), "pieces": pieces}


def load_cited_policies(store: Store, actor: str, dialogue: Dialogue, verdict: Verdict | None) -> Policies:
    """Load the policies that findings cite, that the verdict was made with, or that the dialogue names."""
    findings = () if verdict is None else (*verdict.findings, *verdict.suggestions)
    cited = (find_cited_clause(finding.reason) for finding in findings)
    names = {each.policy for each in cited if each is not None}
    if dialogue.policy is not None:
        names.add(dialogue.policy)
    used = None if verdict is None else verdict.policy
    if used is not None:
        names.add(used.name)
    published = load_policies(store, actor, sorted(names)) if names else {}
    texts = {name: PolicyTexts(published.get(name)) for name in names}
    if used is not None:
        scored = published.get(used.name)
        policy = None if scored is None else _parse(scored.text)
        if policy is None or policy.fingerprint != used.sha256:
            scored = find_policy_version(store, actor, used.name, used.sha256)
        texts[used.name] = PolicyTexts(published.get(used.name), scored, is_recorded=True)
    return texts


def find_evidence(dialogue: Dialogue, finding: Finding, policies: Policies) -> tuple[Evidence, ...]:
    """Return the clause that a finding cites, or those for its code, then the sources that its reason names
    or quotes."""
    cited = find_cited_clause(finding.reason)
    name = dialogue.policy or next((each for each, policy in policies.items() if policy.is_recorded), None)
    clauses: Iterator[Evidence] = iter(())
    if cited is not None:
        clauses = iter((_describe_cited(cited, policies.get(cited.policy, UNKNOWN_POLICY)),))
    elif name is not None and _needs(finding.code, "policy"):
        clauses = _list_clauses(name, finding.code, policies.get(name, UNKNOWN_POLICY))
    return (*clauses, *_list_sources(dialogue, finding))


def _needs(code: str, kind: str) -> bool:
    return kind in lookup_code(code, load_taxonomy()).needs


def _describe_cited(cited: CitedClause, policy: PolicyTexts) -> Evidence:
    text = next((each.text for each in _list_parsed(policy) if each.id == cited.clause), None)
    note = _describe_version(policy)
    if text is None and policy.displayed is not None:
        note = _("Version {version} has no such clause. So the finding quotes it:")
        note = note.format(version=policy.displayed.version)
    elif text is None:
        note = f"{note} {_('So the finding quotes the clause:')}"
    elif not text.startswith(cited.text.removesuffix(" …")):
        note = f"{note} {_('The finding quotes other words: “{quote}”').format(quote=cited.text)}"
    return Evidence(
        f"clause:{cited.policy}:{cited.clause}",
        _("Clause {clause} of the policy {policy}").format(clause=cited.clause, policy=cited.policy),
        ((cited.text if text is None else text, False),),
        note,
    )


def _list_clauses(name: str, code: str, policy: PolicyTexts) -> Iterator[Evidence]:
    clauses = _list_parsed(policy)
    if not clauses:
        note = f"{_describe_version(policy)} {_('So its clauses cannot be shown.')}"
        yield Evidence(f"policy:{name}", _("Policy {name}").format(name=name), (), note)
    for clause in clauses:
        if clause.violation_code == code:
            title = _("Clause {clause} of the policy {policy}").format(clause=clause.id, policy=name)
            passages = ((clause.text, False),)
            yield Evidence(f"clause:{name}:{clause.id}", title, passages, _describe_version(policy))


def _describe_version(policy: PolicyTexts) -> str:
    """Say which version of the policy is displayed, or why none is, and which is published now."""
    displayed, published = policy.displayed, policy.published
    if displayed is None and not policy.is_recorded:
        return _("This policy is not published here.")
    if displayed is None:
        return _("This dialogue was scored with rules that are no version of this policy here.")
    if not policy.is_recorded:
        text = _("As published, version {version}; which one the dialogue was scored with is not recorded.")
        return text.format(version=displayed.version)
    text = _("As scored with, version {version}.").format(version=displayed.version)
    if published is None:
        return f"{text} {_('No version is published now.')}"
    if published.version != displayed.version:
        newer = _("Version {version} is published now.").format(version=published.version)
        return f"{text} {newer}"
    return text


def _list_parsed(policy: PolicyTexts) -> Sequence[Clause]:
    """Return the clauses of the displayed version; none without one, or if it follows earlier rules."""
    parsed = None if policy.displayed is None else _parse(policy.displayed.text)
    return () if parsed is None else parsed.clauses


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
    cited = [each for each in every if each[0] in numbers or each[2] or each[1] in finding.reason]
    for number, source, passage in cited or every:
        yield describe_source(number, source, passage)


def describe_source(number: int, source: str, passage: str = "") -> Evidence:
    """Return a source of the dialogue, the `number`-th from 1, with a passage of it marked."""
    before, marked, after = source.partition(passage) if passage else (source, "", "")
    parts = ((before, False), (marked, True), (after, False))
    note = "" if " " in source.strip() else _("The log has only the name of this source.")
    title = _("Source {n}").format(n=number)
    name = f"source:{number}" + (f":{len(before)}:{len(marked)}" if marked else "")
    return Evidence(name, title, tuple(part for part in parts if part[0]), note)
