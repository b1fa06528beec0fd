"""What the workspace in the browser reports: a numbered log of edits and actions, read and applied.

The browser applies an edit at once and sends all that the server has not acknowledged, again and again until
it has: an edit that was applied before is passed over. Edits say what is to be (absolute), not what is to
change, so the browser undoes one by sending what was. Nothing of it is trusted: what does not fit the item is
passed over too. Pure functions, without access to the store or the screen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from dialint.app.console.text import lookup_code, safe_text
from dialint.app.console.workspace.answer import (
    Answer,
    Selection,
    State,
    add_finding,
    change,
    decide,
    find_choice,
    make_finding,
    parse_selection,
    remove_finding,
    set_present,
)
from dialint.app.console.workspace.reject_reasons import load as load_reasons
from dialint.detector.masking import MaskedText
from dialint.detector.records import Dialogue, Record, Severity
from dialint.detector.taxonomy import Taxonomy

MAX_EVENTS = 500
"""Unacknowledged events of one message; a browser waits before it has so many."""
MAX_TABS = 20
"""Tabs whose last event is remembered in a draft."""
MAX_OWN = 200
"""Findings of one's own in one answer."""

Seq = Annotated[int, Field(ge=1)]
Name = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[a-z0-9-]+$")]
Word = Annotated[str, Field(max_length=60)]
Code = Annotated[str, Field(max_length=1000)]
"""Of any taxonomy: what a project asks about decides, not the form of the name."""


class SetChoice(Record):
    """Decide choice `id`, under this code and severity."""

    kind: Literal["set"]
    seq: Seq
    id: Name
    state: State
    code: Code
    severity: Severity
    why: Word = ""


class Add(Record):
    """Add a finding of one's own under the name `id`, at code points of the displayed text."""

    kind: Literal["add"]
    seq: Seq
    id: Annotated[Name, Field(pattern=r"^own-[a-z0-9-]+$")]
    turn: int
    start: int
    end: int
    code: Code
    severity: Severity


class Remove(Record):
    """Remove a finding of one's own."""

    kind: Literal["remove"]
    seq: Seq
    id: Name


class Say(Record):
    """Say whether a code is there; None takes the answer back."""

    kind: Literal["say"]
    seq: Seq
    code: Code
    present: bool | None


class Act(Record):
    """Something that is done with the item, or for the account, by the page: see `page_session`."""

    kind: Literal["save", "leave", "reopen", "page", "skip", "stop", "auto_save"]
    seq: Seq
    reason: Annotated[str, Field(max_length=60)] = ""
    more: Annotated[str, Field(max_length=200)] = ""
    page: int = 0
    on: bool = False


Event = Annotated[SetChoice | Add | Remove | Say | Act, Field(discriminator="kind")]
_EVENT: TypeAdapter[SetChoice | Add | Remove | Say | Act] = TypeAdapter(Event)


class Batch(Record):
    """Unacknowledged events of one browser tab on the draft with the key `draft`. Events that make no sense
    are None."""

    tab: str
    draft: str
    events: tuple[tuple[int, SetChoice | Add | Remove | Say | Act | None], ...]


def parse_batch(raw: Any) -> Batch | None:
    """Read what a browser reports; None if it is no log at all."""
    if not isinstance(raw, Mapping):
        return None
    tab, draft, events = raw.get("tab"), raw.get("draft"), raw.get("events")
    if not (isinstance(tab, str) and isinstance(draft, str) and isinstance(events, list)):
        return None
    if not (0 < len(tab) <= 40 and tab.isascii() and tab.isalnum() and len(draft) <= 100):
        return None
    parsed: list[tuple[int, SetChoice | Add | Remove | Say | Act | None]] = []
    for event in events[:MAX_EVENTS]:
        number = event.get("seq") if isinstance(event, dict) else None
        if type(number) is not int or number < 1 or number > 1 << 40:
            continue
        try:
            parsed.append((number, _EVENT.validate_python(event)))
        except ValidationError:
            parsed.append((number, None))
    return Batch(tab=tab, draft=draft, events=tuple(parsed))


def acknowledge(answer: Answer, tab: str, number: int) -> Answer:
    """The answer with `number` as the tab's last applied event. Of many tabs the newest are remembered."""
    others = [(name, seq) for name, seq in answer.applied.items() if name != tab]
    return answer.model_copy(update={"applied": dict([*others[-MAX_TABS + 1 :], (tab, number)])})


def apply_edit(
    answer: Answer,
    event: SetChoice | Add | Remove | Say,
    dialogue: Dialogue,
    codes: Collection[str],
    only_turn: int | None,
    taxonomy: Taxonomy,
    masked_turn: Callable[[int], MaskedText | None],
) -> Answer:
    """The answer after an edit; the same answer if it does not fit the item. `codes` and `only_turn` are what
    the item asks, `masked_turn` has the masked text of a turn (see `make_finding`)."""
    if not isinstance(event, Remove):  # the browser knows codes as they are shown
        candidates = {
            *codes,
            *(choice.proposed.code for choice in answer.choices if choice.proposed is not None),
        }
        original = next((code for code in candidates if safe_text(code) == event.code), event.code)
        event = event.model_copy(update={"code": original})
    if isinstance(event, Say):
        return set_present(answer, event.code, event.present) if event.code in codes else answer
    if isinstance(event, Add):
        place = {"turn": event.turn, "start": event.start, "end": event.end}
        selection: Selection | None = parse_selection(dialogue, only_turn, place)
        n_own = sum(choice.proposed is None for choice in answer.choices)
        fits = selection is not None and _is_allowed(event.code, event.severity, codes, taxonomy)
        if not fits or n_own >= MAX_OWN or find_choice(answer, event.id) is not None:
            return answer
        assert selection is not None
        entry = lookup_code(event.code, taxonomy)
        masked = masked_turn(selection.turn)
        return add_finding(answer, make_finding(dialogue, selection, entry, event.severity, masked), event.id)
    index = find_choice(answer, event.id)
    if index is None:
        return answer
    choice = answer.choices[index]
    if isinstance(event, Remove):
        return remove_finding(answer, index) if choice.proposed is None else answer
    if choice.proposed is None and event.state != "kept":
        return answer  # one's own is removed, not rejected
    is_as_it_was = choice.proposed is not None and (event.code, event.severity) == (
        choice.proposed.code, choice.proposed.severity,
    )  # fmt: skip
    if not is_as_it_was and not _is_allowed(event.code, event.severity, codes, taxonomy):
        return answer
    if (event.code, event.severity) != (choice.finding.code, choice.finding.severity):
        answer = change(answer, index, lookup_code(event.code, taxonomy), event.severity)
    is_known = event.why in load_reasons().names or event.why == choice.why
    return decide(answer, index, event.state, event.why if is_known else "")


def _is_allowed(code: str, severity: Severity, codes: Collection[str], taxonomy: Taxonomy) -> bool:
    return code in codes and severity in lookup_code(code, taxonomy).severities
