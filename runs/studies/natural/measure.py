"""Measures a release on the natural development set: real dialogues, drawn by seed and read.

    DIALINT_DATA=... python runs/studies/natural/measure.py logs OUT    # OUT/CORPUS.parquet
    dialint score OUT/star.parquet --out OUT/star.jsonl     and so on, with the release to measure;
                                  --policy app/sample/policies/airline.yaml app/sample/policies/retail.yaml
    python runs/studies/natural/measure.py tally OUT/*.jsonl --half dev

`turns.jsonl` lists drawn turns of agents with the errors that two independent readings found there; a third
settled where they differed. `findings.jsonl` lists suspicions of embedded-3 (probability .1 or more), each
with a judgement. Both hold ids, codes and judgements; the text is joined from the corpora. The readings are
those of a large language model that had the taxonomy, the dialogue with its tool results and, for
tau_bench, the policies: no person has read them. A dialogue belongs to the half ``dev``, on which choices
are made, or ``once``, looked at once at the end, by a hash of its id.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from cyclopts import App

from dialint.detector.artifacts import make_output_folder
from dialint.detector.records import Finding, Verdict
from dialint.detector.statistics import clopper_pearson_upper
from dialint.detector.verdict_files import read_verdicts

HERE = Path(__file__).parent
CORPORA = {
    "star": "star/data.parquet",
    "tau_bench": "tau_bench/data.parquet",
    "multiwoz": "multiwoz_en_ru/data_en.parquet",
    "sgd": "sgd/data.parquet",
    "stc3": "stc3_dch1/data_en.parquet",
    "taskmaster4": "taskmaster4/data.parquet",
}
Half = Literal["dev", "once", "both"]
Reported = dict[str, dict[int, dict[str, list[Finding]]]]
"""Findings and suggestions by dialogue and turn."""
app = App(help="Measure a release on the natural development set.")


def half_of(dialogue_id: str) -> str:
    """The half of the set that a dialogue belongs to."""
    return "dev" if int(sha256(dialogue_id.encode()).hexdigest()[:16], 16) % 2 == 0 else "once"


def read_rows(name: str) -> list[dict[str, Any]]:
    """The rows of ``turns.jsonl`` or ``findings.jsonl``."""
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


@app.command
def logs(out: Path) -> None:
    """Write the drawn dialogues of each corpus to OUT/CORPUS.parquet."""
    data = Path(os.environ["DIALINT_DATA"])
    wanted: dict[str, set[str]] = defaultdict(set)
    for row in (*read_rows("turns.jsonl"), *read_rows("findings.jsonl")):
        wanted[row["corpus"]].add(row["dialogue"])
    make_output_folder(out, new=True)
    for corpus, ids in wanted.items():
        table = pq.read_table(data / CORPORA[corpus])
        table = table.filter(pc.is_in(table["dialogue_id"], value_set=pc.cast(sorted(ids), "string")))
        if corpus == "tau_bench":
            domains = [
                "airline" if "airline" in name else "retail" for name in table["dialogue_id"].to_pylist()
            ]
            table = table.append_column("policy", pa.array(domains))
        pq.write_table(table, out / f"{corpus}.parquet")
        print(f"{corpus}: {table.num_rows} dialogues")


@app.command
def tally(*verdicts: Path, half: Half = "dev") -> None:
    """Precision and recall on the drawn turns, and the judgements on findings that are still reported."""
    reported: Reported = {}
    for path in verdicts:
        for verdict in read_verdicts(path):
            _collect(verdict, reported)
    turns = [row for row in read_rows("turns.jsonl") if half in ("both", half_of(row["dialogue"]))]
    for kind in ("findings", "suggestions"):
        _print_turns(kind, [row for row in turns if row["dialogue"] in reported], reported)
    judged = [row for row in read_rows("findings.jsonl") if half in ("both", half_of(row["dialogue"]))]
    for kind in ("findings", "suggestions"):
        _print_judged(kind, judged, reported)


def _collect(verdict: Verdict, reported: Reported) -> None:
    """Add what a verdict says of each turn of its dialogue."""
    turns = reported.setdefault(verdict.dialogue_id, defaultdict(lambda: {"findings": [], "suggestions": []}))
    for kind, found in (("findings", verdict.findings), ("suggestions", verdict.suggestions)):
        for finding in found:
            turns[finding.turn][kind].append(finding)


def _print_turns(kind: str, rows: Iterable[dict[str, Any]], reported: Reported) -> None:
    right, total, hit, errors = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    corpora: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        codes = set(row["errors"])
        maybe = codes | set(row["arguable"])
        reported_codes = {finding.code for finding in reported[row["dialogue"]][row["turn"]][kind]}
        for code in reported_codes:
            total[code] += 1
            right[code] += code in maybe
            corpora[row["corpus"]]["total"] += 1
            corpora[row["corpus"]]["right"] += code in maybe
        for code in codes:
            errors[code] += 1
            hit[code] += code in reported_codes
    print(f"\n{kind} on drawn turns: precision {_rate(right.total(), total.total())}, "
          f"recall {_rate(hit.total(), errors.total())}")  # fmt: skip
    for code in sorted(total | errors):
        print(f"  {code}: right {right[code]} of {total[code]}, found {hit[code]} of {errors[code]} errors")
    for corpus, counts in sorted(corpora.items()):
        print(f"  {corpus}: right {counts['right']} of {counts['total']}")


def _print_judged(kind: str, rows: Iterable[dict[str, Any]], reported: Reported) -> None:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        found = reported[row["dialogue"]][row["turn"]][kind] if row["dialogue"] in reported else ()
        if any(finding.code == row["code"] for finding in found):
            counts[row["code"]][row["judgement"]] += 1
    whole = sum(counts.values(), Counter[str]())
    print(f"\njudged {kind} that are still reported: right {_rate(whole['right'], whole.total())}")
    for code, judged in sorted(counts.items()):
        print(f"  {code}: {dict(judged)}")


def _rate(right: int, total: int) -> str:
    if not total:
        return "- (none)"
    low = 1 - clopper_pearson_upper(total - right, total, 0.975)
    high = clopper_pearson_upper(right, total, 0.975)
    return f"{right / total:.2f} ({right} of {total}, 95 % {low:.2f} to {high:.2f})"


if __name__ == "__main__":
    app()
