#!/usr/bin/env bash
# Real crowd labels of another taxonomy (dbdc3.yaml: O, T and X exclude one another) from import to exam by
# the same commands: soft labels against majority and our posterior, of 5 people a turn and of 30, on three
# bases, judged by what 30 people said of dialogues that no step before the exam saw.
#
#   DIALINT_DATA=path/to/data runs/dbdc3.sh [WORK_FOLDER]        MINILM=build/minilm SEEDS="1 2 3"
#
# A training takes one to two minutes of a core, all 37 over an hour; finished steps are kept. The small decoder was
# pre-trained on the text of 321 of these dialogues (no labels), the test ones among them.
set -euo pipefail
: "${DIALINT_DATA:?set DIALINT_DATA to the folder of the corpora}"
work=${1:-build/dbdc3}
python=${PYTHON:-.venv/bin/python}
minilm=${MINILM:-build/minilm}
decoder=finetune/small_decoder
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} DIALINT_MIRRORS=${DIALINT_MIRRORS:-0}
own=(--taxonomy runs/dbdc3.yaml)
export DIALINT_SPLIT_KEY=dbdc3 # a public corpus: no secret, only the same split everywhere
split=(--no-masked --by dialogue --shares 0.6 0.1 0.1 0.2)
dialint() { "$python" -m dialint "$@"; }
mkdir -p "$work/scanners" "$work/releases"

# The corpus as a log and a table of answers. The greeting, of which nobody was asked, counts as a system's.
[ -e "$work/answers.csv" ] || "$python" - "$DIALINT_DATA/dbdc3/data_en.parquet" "$work" <<'PY'
import csv, json, pathlib, sys
from pyarrow import parquet
rows, work = parquet.read_table(sys.argv[1]).to_pylist(), pathlib.Path(sys.argv[2])
code = {"O": "B1", "T": "B2", "X": "B3"}
with open(work / "log.jsonl", "w") as log, open(work / "answers.csv.tmp", "w", newline="") as table:
    answers = csv.writer(table)
    answers.writerow(["task", "worker", "label"])
    for row in rows:
        asked = {label["turn_id"] for label in row["labels"]}
        role = {"customer": "customer", "agent": "bot", "system": "system"}
        turns = [
            {"role": role[t["role"]] if t["role"] == "customer" or t["turn_id"] in asked else "system", "text": t["text"]}
            for t in row["turns"]
        ]
        log.write(json.dumps({"dialogue_id": row["dialogue_id"], "turns": turns}) + "\n")
        for label in row["labels"]:
            if turns[label["turn_id"]]["text"].strip():  # a blank turn is judged by nobody here
                task = f"{row['dialogue_id']}/{label['turn_id']}"
                answers.writerow([task, label["annotator"], code[label["value"]]])
(work / "answers.csv.tmp").rename(work / "answers.csv")
PY

# dataset NAME TABLE OPTIONS: the people's answers as annotations, and the examples made of them
dataset() {
    local name=$1 table=$2 && shift 2
    local said=${table%.csv}.annotations.jsonl
    [ -e "$said" ] ||
        dialint import labels --labels "$table" --dialogues "$work/log.jsonl" "${own[@]}" --out "$said"
    [ -e "$work/$name/manifest.json" ] ||
        dialint export dataset --dialogues "$work/log.jsonl" --annotations "$said" --out "$work/$name" \
            "${split[@]}" "${own[@]}" "$@"
}
dataset exam "$work/answers.csv"

# What training may see: 5 or all 30 answers to each turn of the dialogues that are not in the exam's test set.
[ -e "$work/seen-30.csv" ] || "$python" - "$work" <<'PY'
import csv, json, pathlib, random, sys
work, of_task = pathlib.Path(sys.argv[1]), {}
test = {json.loads(line)["dialogue"]["id"] for line in open(work / "exam/test.jsonl")}
head, *rows = csv.reader(open(work / "answers.csv", newline=""))
for row in rows:
    if row[0].rpartition("/")[0] not in test:
        of_task.setdefault(row[0], []).append(row)
for n in (5, 30):
    with open(work / f"seen-{n}.csv", "w", newline="") as table:
        csv.writer(table).writerow(head)
        for task, given in of_task.items():
            csv.writer(table).writerows(random.Random(task).sample(given, min(n, len(given))))
PY
for n in 5 30; do
    seen=$work/seen-$n.csv
    [ -e "$work/winner-$n.csv" ] || {
        dialint label aggregate --annotations "$seen" --out "$work/majority-$n.csv" --method majority
        cut -d, -f1,2 "$work/majority-$n.csv" >"$work/winner-$n.csv" # no probability: held for certain
    }
    for soft in truth answers; do # which code is true, or what share of many people would say so
        [ -e "$work/$soft-$n.csv" ] ||
            dialint label aggregate --annotations "$seen" --out "$work/$soft-$n.csv" --method joint --soft "$soft"
        dataset "data/$soft-$n" "$seen" --labels "$work/$soft-$n.csv" --format parquet
    done
    dataset "data/share-$n" "$seen"
    dataset "data/majority-$n" "$seen" --labels "$work/winner-$n.csv"
done

# teach NAME LABELS SEED BASE OPTIONS: a scanner, and the release that the exam judges, which may suggest and
# accuses nobody: 300 turns are too few for a promise about false accusations.
teach() {
    local name=$1 labels=$2 seed=$3 base=$4 && shift 4
    local to=$name.$labels.$seed
    [ -e "$work/scanners/$to/training.json" ] ||
        dialint train sft scan --examples "$work/data/$labels" "${own[@]}" --base "$base" --seed "$seed" \
            --out "$work/scanners/$to" --prefix-share 0 --row-tokens 2048 --threads 1 "$@"
    [ -e "$work/releases/$to/manifest.json" ] ||
        dialint train pack --scanner "$work/scanners/$to" --examples "$work/data/$labels" "${own[@]}" \
            --out "$work/releases/$to" --name "$to" --base-name "$base" \
            --min-average-precision 0 --sets dev --rounds 10
}
three() { # three LABELS SEED: on each base
    teach minilm-lora "$1" "$2" "$minilm" --adapter lora --learning-rate 1e-3 --epochs 4
    teach decoder-lora "$1" "$2" "$decoder" --adapter lora --learning-rate 2e-3 --epochs 4
    teach random-weights "$1" "$2" "$decoder" --from-scratch --learning-rate 1e-3 --epochs 4
}
for seed in ${SEEDS:-1 2 3}; do
    for labels in share-5 majority-5 truth-5; do three "$labels" "$seed"; done
    if [ "$seed" = 1 ]; then
        three answers-5 "$seed"
        for labels in share-30 majority-30 truth-30 answers-30; do
            teach minilm-lora "$labels" 1 "$minilm" --adapter lora --learning-rate 1e-3 --epochs 4
        done
    fi
    teach minilm-full share-5 "$seed" "$minilm" --learning-rate 2e-4 --epochs 4
done

# The exam: every release on the test dialogues, in one go
first=$work/releases/minilm-lora.share-5.1
others=("$work"/releases/*)
[ -e "$work/report.json" ] ||
    dialint eval run "$work/exam/test.jsonl" --release "$first" "${own[@]}" --rounds 1000 \
        --against "${others[@]}" --out "$work/report.json"
"$python" runs/studies/crowd_ceiling.py --examples "$work/exam" --report "$work/report.json" "${own[@]}" --category B
