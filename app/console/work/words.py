"""The words of the workspace, which the browser gets in the language of the page, and its keys."""

from __future__ import annotations

from typing import Literal, NamedTuple

from dialint.app.console.i18n import N_, _

Mode = Literal["review", "label"]
BOTH: tuple[Mode, ...] = ("review", "label")


class Action(NamedTuple):
    """Something that a key does: its name, its key, and the pages that have it."""

    name: str
    key: str
    modes: tuple[Mode, ...] = BOTH


ACTIONS: dict[str, Action] = {
    "confirm": Action(N_("Confirm the finding, or say yes"), "y"),
    "reject": Action(N_("Reject the finding, or say no"), "n"),
    "reject_save": Action(N_("Reject without a reason, and save if it was the last"), "Shift+N", ("review",)),
    "not_applicable": Action(N_("Reject as not applicable"), "x", ("review",)),
    "code": Action(N_("Change the code"), "c", ("review",)),
    "evidence": Action(N_("Show the clause and the sources of the finding"), "e", ("review",)),
    "words": Action(N_("Select words by keyboard"), "w"),
    "add": Action(N_("Add a finding"), "a"),
    "all": Action(N_("Confirm all open findings"), "b", ("review",)),
    "accept": Action(N_("Confirm all open findings and save"), "Shift+B", ("review",)),
    "clean": Action(N_("No error here: answer all and save"), "0", ("label",)),
    "rest": Action(N_("No to the rest"), "r", ("label",)),
    "next": Action(N_("Next"), "j"),
    "previous": Action(N_("Previous"), "p"),
    "jump": Action(N_("Go to a number"), "g"),
    "later": Action(N_("Later page of a long dialogue"), "PageDown"),
    "earlier": Action(N_("Earlier page of a long dialogue"), "PageUp"),
    "skip": Action(N_("Skip the task"), "k"),
    "undo": Action(N_("Undo the last decision"), "u"),
    "reopen": Action(N_("Reopen my last answer"), "Shift+U"),
    "save": Action(N_("Save and next"), "s"),
    "auto_save": Action(N_("Save after the last decision: on or off"), "Shift+S"),
    "help": Action(N_("Show the keys"), "?"),
}
SKIP_REASONS = {
    "broken": N_("The text is broken or cut off"),
    "undecided": N_("I cannot decide"),
    "people": N_("I know the people in it"),
    "language": N_("Not in my language"),
}
"""By the name that the browser reports; the store keeps the English text, for the lead who mends it."""


def screen_words(mode: Mode) -> dict[str, object]:
    """Return the words of the workspace in the language of the page, with places that the browser fills."""
    words: dict[str, object] = {
        "roles": {
            "customer": _("Customer"), "agent": _("Agent"), "bot": _("Bot"), "system": _("System"),
            "tool": _("Tool result"),
        },
        "dialogue": _("Dialogue"), "unseen": _("not seen by the customer"), "call": _("Tool call"),
        "part": _("a part, from character {n}"), "asked": _("this turn is asked about"),
        "turn": _("Turn {n}"), "tick": _("Finding {n}: {code} in turn {turn}"),
        "earlier": _("Earlier"), "later": _("Later"), "close": _("Close"), "clear": _("Clear"),
        "save": _("Save and next"), "saving": _("Saving…"), "undo": _("Undo"), "skip": _("Skip"),
        "reopen": _("Reopen last answer"), "leave": _("Leave my answer as it was"), "stop": _("Stop"),
        "stop_help": _("Gives this task back to the queue and claims no other."),
        "errors": _("Errors: {n}"), "jump": _("Go to number"),
        "selected": _("Selected in turn {n}:"), "mark_as": _("Mark as {code}"),
        "select_keys": _(
            "↑ ↓ another turn, ← → a word, Shift + ← → more words, a letter: the next word that begins so, "
            "Enter takes it, Esc ends."
        ),
        "which_error": _("Which error?"), "change_to": _("Change to"),
        "type_code": _("Type a code or words of its name"), "no_code": _("No code has these letters."),
        "given": _("The model gives it {p} in turn {turn}."),
        "skip_why": _("Why do you skip it?"), "skip_more": _("More, if you like"),
        "skip_this": _("Skip this task"), "keys": _("Keys"),
        "severity": _("Severity"), "remove": _("Remove"), "nothing_to_undo": _("Nothing to undo."),
        "auto_save": _("Save after the last decision"),
        "auto_save_on": _("Saves after the last decision."),
        "auto_save_off": _("Saves only by Save."),
        "not_decided": _("Not decided yet: {n}"), "add": _("Add a finding"),
    }  # fmt: skip
    if mode == "label":
        return words | {
            "yes": _("Yes"), "no": _("No"), "where": _("yes, but mark where"),
            "unanswered": _("not answered"), "meaning": _("What it means"), "example": _("Error:"),
            "counter_example": _("No error:"), "clean": _("No error here"), "rest": _("No to the rest"),
            "has_findings": _("You have marked an error; answer the rest and save."),
            "answered": _("{n} of {total} answered"), "instructions": _("Instructions"),
        }  # fmt: skip
    return words | {
        "confirm": _("Confirm"), "reject": _("Reject"), "change": _("Change…"), "open": _("open"),
        "confirmed": _("Confirmed"), "rejected": _("Rejected"), "added": _("added by you"),
        "own": _("yours"), "suggestion": _("Suggestion"), "dismissed": _("Dismissed"),
        "confirm_suggestion": _("Confirm as a finding"), "dismiss": _("Dismiss"),
        "why": _("Why? A digit, or Enter for no reason."), "changed": _("Changed from {code} {severity}"),
        "suggestions": _("Suggestions"),
        "suggestions_note": _("Not counted. Confirm one to make it your finding; the rest needs nothing."),
        "no_findings": _("No findings to decide. Add what you find, or save."),
        "blind_empty": _("A blind review: mark what you find, or save."),
        "confirm_all": _("Confirm all {n} open"), "decided": _("{n} of {total} decided"),
        "add_save": _("Add a likely code to selected words, and save"),
        "evidence": _("Evidence"), "no_evidence": _("No clause or source belongs to this finding."),
        "digits": {
            "jump": _("Digits: the number to go to"), "reason": _("Digits: the reason"),
            "code": _("Digits: the error in the selected words"), "severity": _("Digits: the severity"),
        },
        "no_severity": _("{code} has no severity {severity}."),
    }  # fmt: skip
