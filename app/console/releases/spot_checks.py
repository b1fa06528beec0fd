"""Results of spot checks on the Releases page: how often findings were right on a log of one's own.

They are folders of `dialint eval spot-check` in one folder that the operator names, each with the
``natural.json`` of `dialint eval tally --apply`, or still to be judged.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from pydantic import ValidationError

from dialint.app.console.i18n import _, choose_name, show_number
from dialint.app.console.tables import Cell, percent_bounds, show_table
from dialint.app.console.text import safe_markdown, safe_text
from dialint.detector.artifacts import MANIFEST, read_manifest
from dialint.detector.errors import DialintError
from dialint.detector.natural import KIND, Judged, NaturalPrecision
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.spot_check import RESULT, SpotCheck

SPOT_CHECKS_VARIABLE = "DIALINT_CONSOLE_SPOT_CHECKS"
"""Environment: the folder with the folders of spot checks."""
MAX_FOLDERS = 100


@dataclass(frozen=True)
class CheckFolder:
    """A spot check: its sample, and the judgements if they are applied."""

    name: str
    sample: SpotCheck | None
    result: NaturalPrecision | None
    problem: str = ""


def list_spot_checks() -> list[CheckFolder]:
    """The spot checks in the folder that the operator named, by name; those that are damaged with why."""
    root = os.environ.get(SPOT_CHECKS_VARIABLE)
    if not root or not Path(root).is_dir():
        return []
    checks = []
    for path in sorted(Path(root).iterdir())[:MAX_FOLDERS]:
        if not (path / MANIFEST).is_file() or path.is_symlink():
            continue
        try:
            content = read_manifest(path / MANIFEST)
            if content.pop("kind", None) != "spot check":
                continue
            sample = SpotCheck.model_validate_json(json.dumps(content))
            result = None
            if (path / RESULT).exists():
                applied = read_manifest(path / RESULT)
                applied.pop("kind", KIND)
                result = NaturalPrecision.model_validate_json(json.dumps(applied))
            checks.append(CheckFolder(path.name, sample, result))
        except DialintError as damaged:
            checks.append(CheckFolder(path.name, None, None, damaged.code))
        except ValidationError:
            checks.append(CheckFolder(path.name, None, None, "E_FORMAT"))
    return checks


def show_spot_checks() -> None:
    """Show the result of one of the spot checks."""
    checks = list_spot_checks()
    if not checks:
        text = _("No spot check is here. A spot check says how often findings are right on your own "
            "log, in about an hour of reading: “dialint eval spot-check VERDICTS --log LOG --out "
                "FOLDER”, then “dialint eval tally FOLDER/sheet.csv --apply”. The operator names the "
                    "folder with their folders ({variable}).")  # fmt: skip
        st.info(safe_markdown(text.format(variable=SPOT_CHECKS_VARIABLE)))
        return
    by_name = {each.name: each for each in checks}
    name = st.selectbox(_("Spot check"), list(by_name), format_func=safe_text, key="spot check")
    chosen = by_name[name]
    if chosen.sample is None:
        text = _("This folder is damaged ({code}).")
        st.error(safe_markdown(text.format(code=chosen.problem)))
        return
    if chosen.result is None:
        text = _("{n} rows were drawn from verdicts of {release}; they are not judged yet, or the "
            "judgements are not applied.")  # fmt: skip
        st.info(
            safe_markdown(text.format(n=show_number(len(chosen.sample.rows)), release=chosen.sample.release))
        )
        return
    _show_result(chosen.result)


def _show_result(result: NaturalPrecision) -> None:
    text = _("{release}, judged on {day}: {summary}.")
    st.caption(
        safe_markdown(text.format(release=result.release, day=result.judged_on, summary=result.summary))
    )
    taxonomy = load_taxonomy()
    advice = {
        "keep": _("keep"), "suggestion only": _("suggest only"), "too few judged": _("too few judged"),
    }  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for kind, judged in ((_("finding"), result.findings), (_("suggestion"), result.suggestions)):
        for code, each in judged.items():
            title = f"{code} {choose_name(taxonomy.codes[code].name)}" if code in taxonomy.codes else code
            recommendation = advice[result.advice(code)] if judged is result.findings else ""
            rows.append((title, kind, show_number(each.reported), _right_text(each), recommendation))
    show_table((_("Code"), _("Kind"), _("Reported"), _("Right, of those judged"), _("Advice")), rows)
    turns = result.turns
    if turns.read:
        missed = ", ".join(f"{code} × {n}" for code, n in turns.missed.items()) or "–"
        text = _("Of {n} turns without a finding that were read, {k} had an error: {missed}.")
        st.markdown(
            safe_markdown(
                text.format(n=show_number(turns.read), k=show_number(turns.with_errors), missed=missed)
            )
        )


def _right_text(judged: Judged) -> str:
    if judged.precision is None:
        return "–"
    low, high = percent_bounds(*judged.interval)
    return f"{judged.right}/{judged.n} ({low}–{high})"
