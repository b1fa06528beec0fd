"""Policy files: what the strict reader accepts, and what it says about the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from marked_dialogues import dialogue

from dialint.detector.errors import ConfigError
from dialint.detector.policy import load_policies, load_policy, policy_for
from dialint.detector.policy.format import Clause, Consent, Event, Fact, Limit, Policy, Test, Tools
from dialint.detector.records import Dialogue, Record, ToolCall, Turn

SAMPLES = Path(__file__).parents[3] / "app" / "sample" / "policies"

GUIDE = SAMPLES.parents[2] / "docs" / "howto" / "write_a_policy.md"

SMALL = """\
policy: shop
tools: {read: [find], write: [refund]}
clauses:
  - id: look-first
    text: Look the order up before a refund.
    on: refund
    before: find
"""


def write(folder: Path, text: str, name: str = "shop.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refused(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as error:
        load_policy(write(folder, text))
    assert error.value.code == "E_POLICY"
    return error.value.message.removeprefix(str(folder))


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_samples_are_policies_of_their_names(path: Path) -> None:
    policy = load_policy(path)
    assert policy.policy == path.stem
    assert policy.source
    assert policy.codes == ("P1", "P2", "P3", "P4")


def test_codes_follow_the_rules(tmp_path: Path) -> None:
    policy = load_policy(write(tmp_path, SMALL))
    assert policy.codes == ("P1", "P4")
    assert policy.clauses[0].rule == "before"
    assert policy.clauses[0].violation_code == "P1"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    before: find\n", "", "/shop.yaml:4: clauses.0: should have exactly one of before, after"),
        ("before: find", "befor: find", "/shop.yaml:7: clauses.0.befor: there is no such field"),
        ("before: find", "before: []", "/shop.yaml:4: clauses.0: before and after need an event"),
        ("before: find", "before: look_up", "/shop.yaml:7: clauses.0.before: 'look_up': tools does not list"),
        ("before: find", "limit: {at_most: many}", "/shop.yaml:7: clauses.0.limit.at_most: Input should be"),
        ("before: find", "forbid: {order..id: x}", "/shop.yaml:4: clauses.0: 'order..id': should be NAME"),
        ("before: find", 'forbid: {a: {below: "1 / $b"}}', "/shop.yaml:7: clauses.0.forbid.0.a: between two values of a calculation"),
        (
            "on: refund\n    before: find",
            "on: {says: refund}\n    forbid: {amount: 5}",
            "/shop.yaml:7: clauses.0.forbid: 'amount': on is about words, which have no arguments",
        ),
        ("before: find", 'forbid: {a: {above: "$b + $c +"}}', "/shop.yaml:7: clauses.0.forbid.0.a: a calculation ends with a value"),
        (
            "clauses:",
            "facts: {" + ", ".join(f"f{n}: {{call: find}}" for n in range(51)) + "}\nclauses:",
            "/shop.yaml:3: facts: Dictionary should have at most 50 items",
        ),
        ("before: find", "forbid: {}", "/shop.yaml:7: clauses.0.forbid.0: should have a condition"),
        ("before: find", "only_if: [{a: b}, {}]", "/shop.yaml:7: clauses.0.only_if.1: should have a condition"),
        ("before: find", 'forbid: {a: {above: "5 + $y.a"}}', "/shop.yaml:7: clauses.0.forbid: $y.a: facts has no 'y'"),
        ("before: find", 'before: {call: find, same: {id: "count(id"}}', "/shop.yaml:7: clauses.0.before.0.same.id: should be NAME"),
        ("on: refund", "on: {call: refund, with: {a: $y.a}}", "/shop.yaml:6: clauses.0.on: $y.a: facts has no 'y'"),
        ("before: find", "stated: [plan, a b]", "/shop.yaml:7: clauses.0.stated.1: should be NAME"),
        ("before: find", "limit: {at_most: 1, items: a..b}", "/shop.yaml:7: clauses.0.limit.items: should be NAME"),
        ("clauses:", "facts: {order: {call: find, key: {id: $id}}}\nclauses:", "/shop.yaml:3: facts.order.key.id: should be NAME"),
        ("clauses:", "facts: {order: {call: fnid}}\nclauses:", "/shop.yaml:3: facts.order.call: 'fnid': tools does not list it"),
        ("before: find", "consent: Yes", "/shop.yaml:7: clauses.0.consent: should be yes, or a mapping with"),
        ("on: refund", "on: {call: refund, tried: true}", "/shop.yaml:6: clauses.0.on.tried: Input should be 'yes' or 'no', found 'true'"),
        ("policy: shop\n", "", "/shop.yaml:1: policy: this field is missing"),
        ("on: refund", "on: {says: hello, with: {a: b}}", "/shop.yaml:6: clauses.0.on: with and same are"),
        ("write: [refund]", "write: [refund, find]", "/shop.yaml: tools: a tool stands twice"),
    ],
)  # fmt: skip
def test_errors_name_file_line_and_field(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SMALL
    assert refused(tmp_path, SMALL.replace(old, new)).startswith(message)


def test_a_repeated_clause_is_refused(tmp_path: Path) -> None:
    clause = SMALL[SMALL.index("  - id") :]
    message = "/shop.yaml:8: clauses.1.id: clause look-first stands twice"
    assert refused(tmp_path, SMALL + clause) == message


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    paths = [write(tmp_path, SMALL), write(tmp_path, SMALL, "again.yaml")]
    with pytest.raises(ConfigError, match="another file is called policy shop"):
        load_policies(paths)


def test_a_dialogue_without_a_name_gets_the_only_policy(tmp_path: Path) -> None:
    one = load_policies([write(tmp_path, SMALL)])
    two = load_policies([write(tmp_path, SMALL), write(tmp_path, SMALL.replace("shop", "desk"), "desk.yaml")])
    plain, of_desk = Dialogue(id="d", turns=()), Dialogue(id="d", turns=(), policy="desk")
    assert policy_for(plain, one) is one["shop"]
    assert policy_for(of_desk, one) is None
    assert policy_for(plain, two) is None
    assert policy_for(of_desk, two) is two["desk"]
    assert policy_for(plain, {}) is None


def test_of_several_policies_the_one_applies_that_lists_most_of_the_tools(tmp_path: Path) -> None:
    other = SMALL.replace("shop", "desk").replace("refund", "book")
    both = load_policies([write(tmp_path, SMALL), write(tmp_path, other, "desk.yaml")])

    def chosen(*names: str) -> str | None:
        calls = tuple(ToolCall(name=name) for name in names)
        turns = (Turn(index=0, role="agent", text="", tool_calls=calls),)
        policy = policy_for(Dialogue(id="d", turns=turns), both)
        return policy and policy.policy

    assert chosen("find", "book") == "desk"
    assert chosen("find", "refund", "weigh") == "shop"
    assert chosen("find") is None
    assert chosen("weigh") is None

    def chosen_by_words(text: str) -> str | None:
        policy = policy_for(dialogue(("agent", text)), both)
        return policy and policy.policy

    assert chosen_by_words('{"name": "refund_order", "arguments": {}}') is None  # it is not among the tools
    assert chosen_by_words("A refund! Two refunds, refund, refund. And find a book.") is None


@pytest.mark.parametrize("record", [Policy, Tools, Fact, Clause, Event, Test, Limit, Consent])
def test_the_guide_has_every_key(record: type[Record]) -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in guide.splitlines() if line.startswith("|")]
    names = {field.alias or name for name, field in record.model_fields.items()}
    assert [name for name in sorted(names) if not any(f"`{name}`" in row for row in rows)] == []


def test_the_example_of_the_guide_is_a_policy(tmp_path: Path) -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    example = guide.split("```yaml\n")[1].split("```")[0]
    assert len(load_policy(write(tmp_path, example)).clauses) == 5


def test_the_example_of_the_request_is_a_policy(tmp_path: Path) -> None:
    request = GUIDE.with_name("policy_request.md").read_text(encoding="utf-8")
    example = request.split("An example:\n")[1].split("The guideline:")[0]
    assert load_policy(write(tmp_path, example)).clauses[0].rule == "only_if"


def test_an_argument_that_is_tested_may_be_compared_with(tmp_path: Path) -> None:
    rule = "forbid: {flights.day: {above: $order.day}, order.end: {below: $flights.day}}"
    facts = "facts: {order: {call: find}}\nclauses:"
    text = SMALL.replace("before: find", rule).replace("clauses:", facts)
    assert load_policy(write(tmp_path, text)).clauses[0].rule == "forbid"
