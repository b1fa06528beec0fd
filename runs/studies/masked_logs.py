"""How often M2 (unfilled placeholders) accuses a log that another tool has masked.

Run: ``python runs/studies/masked_logs.py LOG... --limit 200``. Names, companies, numbers and addresses of
every turn are replaced in three styles: ``#NAME#``, ``<NAME>`` and ``XXXX``, and each log is scored twice: by
the release as it is and without a profile of the log, then with the profile and the gate `raw_slot`. No mask
is an error, so a finding beyond those in the unmasked log is a false accusation. Writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from cyclopts import App

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import Counts, Loaded
from dialint.detector.ingest.read import open_logs, read
from dialint.detector.log_profile import profile_log
from dialint.detector.pipeline import ReleaseDetector, load_detector
from dialint.detector.records import JUDGED_ROLES, Dialogue

CODE, GATE = "M2", "raw_slot"
_PRIVATE = re.compile(
    r"(?P<EMAIL>[\w.+-]{1,64}@[\w-]{1,64}\.\w{2,10})|(?P<NUMBER>(?<!\w)\d[\d -]{2,20}\d(?!\w))"
    r"|(?P<PRS_ORG>(?<=[a-z,] )[A-Z][a-z]{1,20}(?: [A-Z][a-z]{1,20}){0,3})"
)
STYLES: Mapping[str, Callable[[str], str]] = {
    "unmasked": lambda kind: "",
    "#NAME#": lambda kind: f"#{kind}#",
    "<NAME>": lambda kind: f"<{kind}>",
    "XXXX": lambda kind: "XXXX",
}

app = App(help_format="plaintext")


@app.default
def main(logs: Sequence[str], *, limit: int = 200) -> None:
    """Print the M2 findings per 100 agents' turns of LOGS, in each style, before and after."""
    detector = load_detector()
    dialogues = list(islice(_dialogues(logs), limit))
    turns = sum(
        turn.role in JUDGED_ROLES and bool(turn.text.strip()) for each in dialogues for turn in each.turns
    )
    print(f"{len(dialogues)} dialogues, {turns} agents' turns; M2 findings per 100 turns")
    for style, mark in STYLES.items():
        masked = (
            dialogues if style == "unmasked" else [mask_dialogue(dialogue, mark) for dialogue in dialogues]
        )
        before = _count(detector, masked)
        after = _count(_gated(detector).with_log(profile_log(masked)), masked)
        print(
            f"{style:10} before {100 * before / turns:6.2f} ({before})  "
            f" after {100 * after / turns:6.2f} ({after})"
        )


def _dialogues(logs: Sequence[str]) -> Iterator[Dialogue]:
    for record in read(open_logs(logs), ReadConfig(max_bad=0.3), Counts()):
        if isinstance(record, Loaded):
            yield record.dialogue


def mask_dialogue(dialogue: Dialogue, mark: Callable[[str], str]) -> Dialogue:
    turns = tuple(
        turn.model_copy(
            update={"text": _PRIVATE.sub(lambda found: mark(str(found.lastgroup)), turn.text), "edits": ()}
        )
        if turn.role != "tool"
        else turn
        for turn in dialogue.turns
    )
    return dialogue.model_copy(update={"turns": turns})


def _gated(detector: ReleaseDetector) -> ReleaseDetector:
    codes = dict(detector.info.codes)
    codes[CODE] = codes[CODE].model_copy(update={"gate": GATE})
    return detector.with_info(detector.info.model_copy(update={"codes": codes}))


def _count(detector: ReleaseDetector, dialogues: Sequence[Dialogue]) -> int:
    verdicts = detector.verdicts(dialogues)
    return sum(finding.code == CODE for verdict in verdicts for finding in verdict.findings)


if __name__ == "__main__":
    app()
