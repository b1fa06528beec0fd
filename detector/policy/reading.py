"""The strict reader of policy files, whose errors name file and line.

It refuses as well what could be read but would never fire: tools and facts that the file does not have, and
conditions on the arguments of a message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from pydantic import ValidationError

from dialint.detector.errors import ConfigError
from dialint.detector.policy.format import Conditions, Event, Policy, head_of
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.yaml_document import Document, first_error, parse_document, read_document

_NAME = re.compile(r"[A-Za-z]{2,30}(?:[_.][A-Za-z0-9]{1,30}){1,8}")
"""A name of a tool that is no word."""


def load_policy(path: Path) -> Policy:
    """Read the policy in the file `path`.

    Raises:
        ConfigError: E_POLICY; the file is missing, not YAML, or not a policy; one line says where.
    """
    return _validate(read_document(path, "E_POLICY"))


def parse_policy(text: str, name: str = "policy") -> Policy:
    """Return the policy in a text, which messages call `name`.

    Raises:
        ConfigError: E_POLICY; it is not YAML, or not a policy; one line says where.
    """
    return _validate(parse_document(text, Path(name), "E_POLICY"))


def _validate(document: Document) -> Policy:
    try:
        policy = Policy.model_validate(document.value, strict=False)
    except ValidationError as error:
        raise ConfigError("E_POLICY", first_error(error, document)) from None
    declared = {*policy.tools.read, *policy.tools.write, *policy.tools.other}
    for name, fact in policy.facts.items():
        _check_names(fact.call, declared, document.place(("facts", name, "call")))
    seen: set[str] = set()
    for number, clause in enumerate(policy.clauses):
        if clause.id in seen:
            place = document.place(("clauses", number, "id"))
            raise ConfigError("E_POLICY", "{place}: clause {name} stands twice", place=place, name=clause.id)
        seen.add(clause.id)
        for key in ("forbid", "only_if"):
            _check_facts(getattr(clause, key) or (), policy, document.place(("clauses", number, key)))
        names = [*_tested(clause.forbid or ()), *_compared(clause.forbid or ())]
        arguments = [name for name in names if head_of(name) not in policy.facts]
        if arguments and not clause.on.call:
            raise ConfigError(
                "E_POLICY",
                "{place}: {name!r}: on is about words, which have no arguments; only facts can be tested",
                place=document.place(("clauses", number, "forbid")), name=arguments[0],
            )  # fmt: skip
        for key in ("on", "unless", "before", "after"):
            value = getattr(clause, key)
            for event in (value,) if isinstance(value, Event) else value or ():
                place = document.place(("clauses", number, key))
                _check_names(event.call, declared, place)
                _check_facts((event.with_,), policy, place)
    return policy


def _check_names(names: Sequence[str], declared: set[str], place: str) -> None:
    """Refuse the name of a tool that is not among the declared ones, if there are any."""
    unlisted = [name for name in names if name not in declared and name not in ("read", "write", "other")]
    unknown = [name for name in unlisted if not any(fnmatchcase(tool, name) for tool in declared)]
    if unknown and declared:
        raise ConfigError(
            "E_POLICY",
            "{place}: {name!r}: tools does not list it; a name, a pattern such as get_*, "
            "or read, write",
            place=place, name=unknown[0],
        )  # fmt: skip


def _tested(alternatives: Sequence[Conditions]) -> list[str]:
    """Return the references that conditions test."""
    return [reference for conditions in alternatives for reference in conditions]


def _compared(alternatives: Sequence[Conditions]) -> list[str]:
    """Return the references that conditions compare with, written with a $."""
    operands = [
        operand for conditions in alternatives for how in conditions.values() for operand in how.operands
    ]
    return [part[1:] for operand in operands for part in operand.split(" ") if part.startswith("$")]


def _check_facts(alternatives: Sequence[Conditions], policy: Policy, place: str) -> None:
    """Refuse a $NAME.FIELD that no fact gives: a misspelt name would be an argument that no call has, and the
    clause would never fire. An argument that is tested beside it is none."""
    heads = {*policy.facts, *map(head_of, _tested(alternatives))}
    for reference in _compared(alternatives):
        if "." in reference and head_of(reference) not in heads:
            raise ConfigError(
                "E_POLICY", "{place}: ${name}: facts has no {head!r}",
                place=place, name=reference, head=head_of(reference),
            )  # fmt: skip


def load_policies(paths: Sequence[Path]) -> dict[str, Policy]:
    """Return the policies in files, by their names.

    Raises:
        ConfigError: E_POLICY; a file is not a policy, or two have the same name.
    """
    policies: dict[str, Policy] = {}
    for path in paths:
        policy = load_policy(path)
        if policy.policy in policies:
            raise ConfigError(
                "E_POLICY",
                "{path}: another file is called policy {policy} as well",
                path=path,
                policy=policy.policy,
            )
        policies[policy.policy] = policy
    return policies


def policy_for(dialogue: Dialogue, policies: Mapping[str, Policy]) -> Policy | None:
    """Return the policy that applies to a dialogue: the one it names. Where it names none, the only one; of
    several the one that lists more of the tools that were called than any other, or that the agent's words
    name where none was called."""
    if dialogue.policy is not None or not policies:
        return policies.get(dialogue.policy or "")
    if len(policies) == 1:
        return next(iter(policies.values()))
    called = {call.name for turn in dialogue.turns for call in turn.tool_calls}
    if not called:
        spoken = (turn.text for turn in dialogue.turns if turn.role in JUDGED_ROLES)
        called = {name for text in spoken for name in _NAME.findall(text)}
    listed = {
        name: len(called & {*policy.tools.read, *policy.tools.write, *policy.tools.other})
        for name, policy in policies.items()
    }
    most = max(listed.values())
    names = [name for name, n in listed.items() if n == most]
    return policies[names[0]] if most and len(names) == 1 else None
