"""Measures a release on the natural development set: a random sample of real dialogues, labelled by a reader.

    DIALINT_DATA=... python runs/studies/natural/measure.py logs OUT    # OUT/CORPUS.parquet
    dialint score OUT/star.parquet --out OUT/star.jsonl     and so on, with the release to measure;
                                  tau_bench with --policy app/sample/policies/X.yaml for both X
    python runs/studies/natural/measure.py tally OUT/*.jsonl --half dev
    python runs/studies/natural/measure.py reliability OUT/*.jsonl [--readings FILE_OR_FOLDER]
    python runs/studies/natural/measure.py checks OUT/*.parquet
    python runs/studies/natural/measure.py exam OUT     # OUT/CORPUS.parquet with OUT/CORPUS.labels.jsonl
    dialint eval run OUT/star.parquet --labels OUT/star.labels.jsonl --release A --against B

`turns.jsonl` lists sampled agent turns with the errors of two independent readings; a third settled
differences. `findings.jsonl` lists suspicions of embedded-3 (probability .1 or more), each with a judgement.
`exam.jsonl` lists 183 whole dialogues of the half ``once`` with the errors of two readings, sure if in both:
91 by which checks were fixed afterwards, and 92 (`read`) sampled after that. All have ids, codes and
judgements; the text is joined from the corpora. The reader was a large language model with the taxonomy, the
dialogue with its tool results and, for tau_bench, the policies; no person has read them. A hash of its id
puts a dialogue into the half ``dev``, on which choices are made, or ``once``, which is used once at the end.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from cyclopts import App

from dialint.detector.artifacts import atomic_file, make_output_folder
from dialint.detector.checks import CheckContext, Evidence, load_checks
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Loaded, open_logs, read
from dialint.detector.log_profile import profile_log
from dialint.detector.records import Dialogue, Finding, Label
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
    """Returns the half of a dialogue."""
    return "dev" if int(sha256(dialogue_id.encode()).hexdigest()[:16], 16) % 2 == 0 else "once"


def read_rows(name: str) -> list[dict[str, Any]]:
    """Reads the rows of a file beside this one."""
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


@app.command
def logs(out: Path) -> None:
    """Write the sampled dialogues of each corpus to OUT/CORPUS.parquet."""
    _write_logs(out, [*read_rows("turns.jsonl"), *read_rows("findings.jsonl")])


@app.command
def exam(out: Path) -> None:
    """Write the dialogues of the exam to OUT/CORPUS.parquet, and their errors to OUT/CORPUS.labels.jsonl."""
    rows = read_rows("exam.jsonl")
    _write_logs(out, rows)
    for corpus in {row["corpus"] for row in rows}:
        with atomic_file(out / f"{corpus}.labels.jsonl") as file:
            for row in (row for row in rows if row["corpus"] == corpus):
                for error in row["errors"]:
                    label = Label(
                        dialogue_id=row["dialogue"],
                        turn=error["turn"],
                        code=error["code"],
                        probability=1.0 if error["sure"] else 0.5,
                        method="read",
                        n_labelers=2,
                    )
                    file.write(label.model_dump_json(exclude_defaults=True).encode() + b"\n")


def _write_logs(out: Path, rows: Iterable[dict[str, Any]]) -> None:
    data = Path(os.environ["DIALINT_DATA"])
    wanted: dict[str, set[str]] = defaultdict(set)
    for row in rows:
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
    """Print precision and recall on the sampled turns, and the judgements on findings still reported."""
    reported: Reported = {}
    for path in verdicts:
        for verdict in read_verdicts(path):
            turns = reported.setdefault(verdict.dialogue_id, defaultdict(lambda: defaultdict(list)))
            for kind in ("findings", "suggestions"):
                for finding in getattr(verdict, kind):
                    turns[finding.turn][kind].append(finding)
    sample = [row for row in read_rows("turns.jsonl") if half in ("both", half_of(row["dialogue"]))]
    for kind in ("findings", "suggestions"):
        _print_turns(kind, [row for row in sample if row["dialogue"] in reported], reported)
    judged = [row for row in read_rows("findings.jsonl") if half in ("both", half_of(row["dialogue"]))]
    for kind in ("findings", "suggestions"):
        _print_judged(kind, judged, reported)


@app.command
def reliability(*verdicts: Path, half: Half = "dev", readings: Path | None = None) -> None:
    """Print the precision of findings and suggestions by stated probability, and by code.

    Without `readings` on the sampled turns of turns.jsonl; with it on every turn of whole dialogues, a JSON
    line each: ``{"dialogue": ID, "errors": [{"turn", "code", "sure"}]}``. Arguable and unsure errors are
    ignored. If the verdicts have all probabilities, those of every labelled turn and code are a third table.
    """
    errors, is_read = _read_errors(readings, half)
    rows: dict[str, list[tuple[str, float, bool]]] = {"findings": [], "suggestions": [], "probabilities": []}
    for path in verdicts:
        for verdict in read_verdicts(path):
            stated = [
                *(("findings", each.turn, each.code, each.probability) for each in verdict.findings),
                *(("suggestions", each.turn, each.code, each.probability) for each in verdict.suggestions),
                *(
                    ("probabilities", turn, code, probability)
                    for turn, row in (verdict.probabilities or {}).items()
                    for code, probability in row.items()
                ),
            ]
            for kind, turn, code, probability in stated:
                is_right = errors.get((verdict.dialogue_id, turn, code), False)
                if is_read(verdict.dialogue_id, turn) and is_right is not None:
                    rows[kind].append((code, probability, is_right))
    for kind, stated_rows in rows.items():
        if stated_rows:
            _print_reliability(kind, stated_rows)


@app.command
def checks(*logs: Path, rounds: int = 3) -> None:
    """Print the record of each check by code, and its CPU microseconds a turn, the best of `rounds`."""
    items = read(open_logs([str(path) for path in logs]), ReadConfig(max_bad=1.0), Counts())
    dialogues = [item.dialogue for item in items if isinstance(item, Loaded)]
    log, n_turns = profile_log(dialogues), sum(len(dialogue.turns) for dialogue in dialogues)
    works: dict[str, tuple[Mapping[str, Evidence], Callable[[Dialogue], object]]] = {
        name: (check.codes, lambda dialogue, check=check: list(check(dialogue, CheckContext(log))))
        for name, check in load_checks().items()
    }
    print(f"{len(dialogues)} dialogues, {n_turns} turns")
    for name, (codes, work) in works.items():
        seconds = min(_seconds(work, dialogues) for _ in range(rounds))
        record = "; ".join(
            f"{code} {each.right} of {each.read}" if each.read else f"{code} {each.estimate or 'not read'}"
            for code, each in codes.items()
        )
        print(f"{name}: {1e6 * seconds / n_turns:.0f} us; {record}")


def _seconds(work: Callable[[Dialogue], object], dialogues: Sequence[Dialogue]) -> float:
    copies = [dialogue.model_copy() for dialogue in dialogues]  # without cached properties
    started = time.thread_time()
    for dialogue in copies:
        work(dialogue)
    return time.thread_time() - started


def _read_errors(
    readings: Path | None, half: Half
) -> tuple[dict[tuple[str, int, str], bool | None], Callable[[str, int], bool]]:
    """Returns the errors by dialogue, turn and code, None if arguable, and a predicate of labelled turns."""
    errors: dict[tuple[str, int, str], bool | None] = {}
    if readings is None:
        sample = [row for row in read_rows("turns.jsonl") if half in ("both", half_of(row["dialogue"]))]
        for row in sample:
            errors |= {(row["dialogue"], row["turn"], code): None for code in row["arguable"]}
            errors |= {(row["dialogue"], row["turn"], code): True for code in row["errors"]}
        turns = {(row["dialogue"], row["turn"]) for row in sample}
        return errors, lambda dialogue, turn: (dialogue, turn) in turns
    files = sorted(readings.glob("*.jsonl")) if readings.is_dir() else [readings]
    lines = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    dialogues = {row["dialogue"] for row in lines if half in ("both", half_of(row["dialogue"]))}
    for row in lines:
        for error in row["errors"]:
            key = (row["dialogue"], error["turn"], error["code"])
            errors[key] = True if error["sure"] else errors.get(key)
    return errors, lambda dialogue, _: dialogue in dialogues


def _print_reliability(kind: str, rows: Sequence[tuple[str, float, bool]]) -> None:
    """Rows are (code, probability, is right)."""
    brier = sum((probability - is_right) ** 2 for _, probability, is_right in rows) / len(rows)
    right = sum(is_right for *_, is_right in rows)
    print(f"\n{kind}: right {_rate(right, len(rows))}, Brier {brier:.3f}, "
          f"stated {sum(row[1] for row in rows) / len(rows):.2f}")  # fmt: skip
    for low in range(10):
        part = [row for row in rows if min(int(row[1] * 10), 9) == low]
        if part:
            print(f"  .{low} to {'1' if low == 9 else f'.{low + 1}'}: stated "
                  f"{sum(row[1] for row in part) / len(part):.2f}, right "
                  f"{_rate(sum(row[2] for row in part), len(part))}")  # fmt: skip
    for code in sorted({row[0] for row in rows}):
        part = [row for row in rows if row[0] == code]
        print(f"  {code}: stated {sum(row[1] for row in part) / len(part):.2f}, right "
              f"{_rate(sum(row[2] for row in part), len(part))}")  # fmt: skip


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
        listed = reported[row["dialogue"]][row["turn"]][kind] if row["dialogue"] in reported else ()
        if any(finding.code == row["code"] for finding in listed):
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
