"""What is shown beside a finding as its evidence: the clause of a policy that it says was broken, and the
sources that the dialogue came with.

A finding names its clause in its reason. The clause's text is that of the version that the dialogue was
scored with, as the verdict records it; a note says if another version is published now. Of an older verdict,
which does not record it, the published version is shown. Where neither is to be had, that is said, and the
finding's own quotation stands in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from dialint.app.console.i18n import _, paragraph
from dialint.app.console.text import lookup_code, safe_text
from dialint.detector.checks.policy import CitedClause, find_cited_clause
from dialint.detector.errors import ConfigError
from dialint.detector.policy import Policy, parse_policy
from dialint.detector.records import Dialogue, Finding, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store.api import Store
from dialint.labeling.store.documents import PublishedText, find_policy_version, load_policies


class PolicyTexts(NamedTuple):
    """A policy's `published` and `scored` versions, as far as they are here; `is_recorded`: the verdict names
    the latter."""

    published: PublishedText | None = None
    scored: PublishedText | None = None
    is_recorded: bool = False

    @property
    def displayed(self) -> PublishedText | None:
        """The version whose clauses are shown."""
        return self.scored if self.is_recorded else self.published


Policies = Mapping[str, PolicyTexts]
"""The policies of an item by name."""
UNKNOWN_POLICY = PolicyTexts()
MIN_PASSAGE, MAX_PASSAGE = 8, 400
_QUOTED = re.compile(rf"[“«\"]([^“”«»\"]{{{MIN_PASSAGE},{MAX_PASSAGE}}})[”»\"]")
_NUMBERED = re.compile(r"\b[Ss]ource ([0-9]{1,3})\b")


class Evidence(NamedTuple):
    """A text with its title and a note on its origin; of its `passages` some are marked as what the finding
    quotes."""

    id: str
    title: str
    passages: tuple[tuple[str, bool], ...]
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """As the browser gets it: nothing in it is markup, or reverses or hides what is beside it."""
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
    name = f"clause:{cited.policy}:{cited.clause}"
    title = _("Clause {clause} of the policy {policy}").format(clause=cited.clause, policy=cited.policy)
    if policy.displayed is None:
        note = f"{_why_missing(policy)} {_('So the finding quotes the clause:')}"
        return Evidence(name, title, ((cited.text, False),), note)
    text = _find_clause(policy.displayed, cited.clause)
    if text is None:
        note = _("Version {version} has no such clause. So the finding quotes it:")
        note = note.format(version=policy.displayed.version)
        return Evidence(name, title, ((cited.text, False),), note)
    notes = [_which_version(policy)]
    if not text.startswith(cited.text.removesuffix(" …")):
        notes.append(_("The finding quotes other words: “{quote}”").format(quote=cited.text))
    notes.append(_what_is_newer(policy, cited.clause, text))
    return Evidence(name, title, ((text, False),), " ".join(filter(None, notes)))


def _list_clauses(name: str, code: str, policy: PolicyTexts) -> Iterator[Evidence]:
    parsed = None if policy.displayed is None else _parse(policy.displayed.text)
    if parsed is None:
        note = f"{_why_missing(policy)} {_('So its clauses cannot be shown.')}"
        yield Evidence(f"policy:{name}", _("Policy {name}").format(name=name), (), note)
        return
    for clause in parsed.clauses:
        if clause.violation_code == code:
            notes = (_which_version(policy), _what_is_newer(policy, clause.id, clause.text))
            yield Evidence(
                f"clause:{name}:{clause.id}",
                _("Clause {clause} of the policy {policy}").format(clause=clause.id, policy=name),
                ((clause.text, False),),
                " ".join(filter(None, notes)),
            )


def _why_missing(policy: PolicyTexts) -> str:
    if not policy.is_recorded:
        return _("This policy is not published here.")
    if policy.published is None:
        return _("This dialogue was scored with rules that are no version of this policy here.")
    return paragraph("This dialogue was scored with").format(version=policy.published.version)


def _which_version(policy: PolicyTexts) -> str:
    assert policy.displayed is not None
    if not policy.is_recorded:
        text = _("As published, version {version}; which one the dialogue was scored with is not recorded.")
    else:
        text = _("As scored with, version {version}.")
    return text.format(version=policy.displayed.version)


def _what_is_newer(policy: PolicyTexts, clause: str, text: str) -> str:
    """What the published version says of a clause, where the dialogue was scored with another one."""
    if not policy.is_recorded or policy.scored is None:
        return ""
    if policy.published is None:
        return _("No version is published now.")
    if policy.published.version == policy.scored.version:
        return ""
    now = _find_clause(policy.published, clause)
    if now is None:
        note = _("Version {version} is published now and has no such clause.")
    elif now == text:
        note = _("Version {version} is published now; the clause reads the same there.")
    else:
        note = _("Version {version} is published now; there the clause reads: “{text}”")
    return note.format(version=policy.published.version, text=now)


def _find_clause(version: PublishedText, clause: str) -> str | None:
    policy = _parse(version.text)
    return None if policy is None else next((each.text for each in policy.clauses if each.id == clause), None)


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
    """A source of the dialogue, the `number`-th from 1, with a passage of it marked."""
    before, marked, after = source.partition(passage) if passage else (source, "", "")
    parts = ((before, False), (marked, True), (after, False))
    note = "" if " " in source.strip() else _("The log has only the name of this source.")
    title = _("Source {n}").format(n=number)
    name = f"source:{number}" + (f":{len(before)}:{len(marked)}" if marked else "")
    return Evidence(name, title, tuple(part for part in parts if part[0]), note)
