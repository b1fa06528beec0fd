#!/usr/bin/env bash
# What a smaller scanner loses and gains: half of the teacher's layers, taught by the teacher on dialogues without
# labels, alone and with labelled examples beside; layers and heads taken out by measured loss. Compared as they
# are (minutes), then as the releases that would be served (an hour and more).
#
#   runs/smaller.sh SCANNER RELEASE EXAMPLES SHARDS [WORK_FOLDER]
#
# SCANNER and RELEASE: of `dialint train sft scan` and `pack`; EXAMPLES: of `dialint data inject`; SHARDS: of
# `dialint data dedup`. About an hour of one core for each TOKENS=5000000; finished steps are kept.
set -euo pipefail
scanner=${1:?name a scanner} release=${2:?name its release} examples=${3:?name examples} shards=${4:?name shards}
work=${5:-build/smaller}
python=${PYTHON:-.venv/bin/python}
tokens=${TOKENS:-5000000}
threads=(--threads "${THREADS:-1}")
export DIALINT_MIRRORS=${DIALINT_MIRRORS:-0}
dialint() { "$python" -m dialint "$@"; }
mkdir -p "$work"

distil() { # distil NAME OPTIONS
    local name=$1 && shift
    [ -e "$work/$name/training.json" ] ||
        dialint train distill --teacher "$scanner" --dialogues "$shards"/train-*.parquet --layers 3 \
            --tokens "$tokens" --precision bf16 "${threads[@]}" --out "$work/$name" "$@"
}
distil unlabelled
distil with-examples --examples "$examples"
[ -e "$work/no-2-layers/training.json" ] ||
    dialint train prune "$scanner" "$examples" "$work/no-2-layers" --layers 2 "${threads[@]}"
[ -e "$work/no-quarter-of-heads/training.json" ] ||
    dialint train prune "$scanner" "$examples" "$work/no-quarter-of-heads" --heads 0.25 "${threads[@]}"
students=()
for name in unlabelled with-examples no-2-layers no-quarter-of-heads; do students+=("$work/$name"); done
for set in test_seen test_unseen; do
    "$python" "$(dirname "$0")/studies/compare_scanners.py" "$examples/$set.jsonl" "$scanner" "${students[@]}" \
        --limit 400 --precision bf16 --timed
done
others=()
for name in unlabelled with-examples no-2-layers no-quarter-of-heads; do
    [ -e "$work/$name.release/manifest.json" ] ||
        dialint train pack --scanner "$work/$name" --examples "$examples" --name "$name" --base-name "$release" \
            --min-average-precision 0 --sets dev --rounds 10 --out "$work/$name.release"
    others+=("$work/$name.release")
done
for set in test_seen test_unseen; do
    [ -e "$work/$set.json" ] ||
        dialint eval run "$examples/$set.jsonl" --release "$release" --against "${others[@]}" --rounds 500 \
            --out "$work/$set.json"
done
for each in "$release" "${others[@]}"; do
    dialint eval speed app/sample/dialogues.jsonl --release "$each" --threads 1 --rounds 5
done
