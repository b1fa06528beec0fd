"""Runs commands whose outputs a change of the code must not change, and compares them with a former run.

    python runs/golden.py write FOLDER [STEP...]  runs the steps; normalized outputs go into FOLDER/STEP/
    python runs/golden.py compare OLD NEW  names what differs (verdicts: by finding); exits with 1
    python runs/golden.py hashes FOLDER    prints one SHA-256 a step

DIALINT_DATA adds verdicts on dialogues of the shared corpora. Probabilities depend on the processor in their
last digits, so only runs of the same machine are comparable byte by byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

N_DIALOGUES = 200
SAMPLE = "app/sample/dialogues.jsonl"
CORPORA = (
    "star/data", "tau_bench/data", "multiwoz_en_ru/data_en", "multiwoz_en_ru/data_ru", "taskmaster4/data",
    "taskmaster_reward/data", "sgd/data", "abcd_sample/data", "stc3_dch1/data_en", "stc3_dch1/data_zh",
    "dbdc3/data_en",
)  # fmt: skip
VOLATILE = re.compile(
    "at|code|commit|config_sha256|created|created_at|elapsed_s|fingerprint|finished_at|host|job|path|platform|"
    "previous|python|resumed|seconds|stage_seconds|started_at|versions|wall_s|weights"
)


def steps(work: Path) -> dict[str, list[str]]:
    """The commands by the name of their step; each writes into `work`/STEP or to standard output."""
    result = {
        "sample": f"score {SAMPLE} --out OUT/verdicts.jsonl --all-probabilities",
        "sample_sarif": f"score {SAMPLE} --out OUT/verdicts.sarif",
        "sample_junit": f"score {SAMPLE} --out OUT/verdicts.xml",
        "sample_csv": f"score {SAMPLE} --out OUT/verdicts.csv",
        "sample_text": f"score {SAMPLE}",
        "report": f"report {work}/sample/verdicts.jsonl --html OUT/report.html",
        "inject": f"data inject {SAMPLE} --out OUT/examples --share 1 --shares 0.6 0.1 0.1 0.2",
        "injected": f"score {work}/injected.jsonl --out OUT/verdicts.jsonl",
        "sft": f"train sft judge --dataset {work}/inject/examples --base small_decoder --out OUT/model "
        "--limit 60 --codes T1 V2 --adapter none --steps 3 --questions 2 --dev-answers 0 --threads 1",
        "codes": "codes",
    }
    for name in ("openai", "sharegpt", "dialint", "csv", "parquet"):
        ending = name if name in ("csv", "parquet") else "jsonl"
        result[f"convert_{name}"] = f"convert {SAMPLE} --to {name} --out OUT/log.{ending}"
    for name in ("label-studio", "toloka", "prodigy", "doccano", "argilla", "crowd"):
        result[f"labels_{name}"] = f"export labels {SAMPLE} --format {name} --codes C1 T1 --out OUT/tasks"
    if data := os.environ.get("DIALINT_DATA"):
        for corpus in CORPORA:
            result[corpus.replace("/data", "")] = (
                f"score {data}/{corpus}.parquet --limit {N_DIALOGUES} --out OUT/verdicts.jsonl"
            )
    return {name: command.replace("OUT", str(work / name)).split() for name, command in result.items()}


def write(folder: Path, only: list[str]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        environment = {
            **os.environ, "DIALINT_HOME": str(work / "home"), "OMP_NUM_THREADS": "1", "COLUMNS": "100",
            "NO_COLOR": "1",
        }  # fmt: skip
        for name, command in steps(work).items():
            if only and name not in only:
                continue
            (work / name).mkdir()
            if name == "injected":
                lines = (work / "inject/examples/train.jsonl").read_text().splitlines()
                rows = [json.dumps(json.loads(line)["dialogue"], ensure_ascii=False) for line in lines]
                (work / "injected.jsonl").write_text("\n".join(rows) + "\n")
            run = subprocess.run(
                [sys.executable, "-m", "dialint", *command], env=environment, capture_output=True, text=True
            )
            out = run.stdout if name in ("sample_text", "codes") else ""
            (work / name / "exit.txt").write_text(f"{run.returncode}\n{out}")
            print(name, run.returncode, run.stderr.splitlines()[-1:] if run.returncode else "", flush=True)
            for path in sorted((work / name).rglob("*")):
                if path.is_file():
                    target = folder / name / path.relative_to(work / name)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(_normalize(path, work))


def _normalize(path: Path, work: Path) -> bytes:
    data = path.read_bytes().replace(str(work).encode(), b"WORK")
    if path.suffix == ".json":
        return json.dumps(_stable(json.loads(data)), indent=1, sort_keys=True, ensure_ascii=False).encode()
    return re.sub(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:[\d.]+)?(Z|\+00:00)?", b"TIME", data)


def _stable(value: Any) -> Any:
    """`value` without what differs from run to run."""
    if isinstance(value, dict):
        return {key: _stable(each) for key, each in value.items() if not VOLATILE.fullmatch(key)}
    return [_stable(each) for each in value] if isinstance(value, list) else value


def compare(old: Path, new: Path) -> int:
    names = sorted({str(p.relative_to(root)) for root in (old, new) for p in root.rglob("*") if p.is_file()})
    n_different = 0
    for name in names:
        before, after = (root / name for root in (old, new))
        if not (before.is_file() and after.is_file()):
            print(f"{name}: only in {old if before.is_file() else new}")
        elif before.read_bytes() == after.read_bytes():
            continue
        elif name.endswith("verdicts.jsonl"):
            _compare_verdicts(name, before, after)
        else:
            print(f"{name}: differs")
        n_different += 1
    print(f"{n_different} of {len(names)} files differ")
    return min(n_different, 1)


def _compare_verdicts(name: str, before: Path, after: Path) -> None:
    def findings(path: Path) -> dict[tuple[str, int, str], tuple[str, float, str, str]]:
        return {
            (row["dialogue_id"], each["turn"], each["code"]): (
                kind,
                each["probability"],
                each["quote"],
                each["reason"],
            )
            for row in map(json.loads, path.read_text().splitlines())
            for kind in ("findings", "suggestions")
            for each in row.get(kind) or ()
        }

    was, now = findings(before), findings(after)
    changed = [key for key in sorted(was.keys() | now.keys()) if was.get(key) != now.get(key)]
    print(f"{name}: differs, {len(was)} -> {len(now)} findings and suggestions, {len(changed)} changed")
    for key in changed[:20]:
        a, b = was.get(key), now.get(key)
        print("   ", *key, a and (a[0], a[1], a[3][-60:]), "->", b and (b[0], b[1], b[3][-60:]))


def hashes(folder: Path) -> dict[str, str]:
    result = {}
    for step in sorted(folder.iterdir()):
        digest = hashlib.sha256()
        for path in sorted(p for p in step.rglob("*") if p.is_file()):
            digest.update(str(path.relative_to(step)).encode() + b"\0" + path.read_bytes())
        result[step.name] = digest.hexdigest()
    return result


def main() -> int:
    match sys.argv[1:]:
        case ["write", folder, *only]:
            write(Path(folder), only)
        case ["compare", old, new]:
            return compare(Path(old), Path(new))
        case ["hashes", folder]:
            print(json.dumps(hashes(Path(folder)), indent=1))
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
