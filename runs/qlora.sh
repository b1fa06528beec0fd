#!/usr/bin/env bash
# Is a 4-bit base as good to learn on as an exact one? LoRA on a base in fp32, and on the same base in NF4 (QLoRA),
# arithmetic in fp32 beside the 4-bit weights: a judge from SIMULATED labelers and a scanner from made errors, the
# same examples in the same order, compared on dev. Peak memory and seconds stand in the "cost" of each
# manifest.json and training.json.
#
#   runs/qlora.sh EXAMPLES JUDGE [WORK_FOLDER]
#
# EXAMPLES: a folder of `dialint data inject`. JUDGE: what the judge starts from, one with exact weights that has
# learnt by example (of runs/judge_study.sh): on the small decoder itself few steps of LoRA teach next to nothing.
#
# Half an hour of one core; finished steps are kept.
set -euo pipefail
examples=${1:?name a folder of dialint data inject}
start=${2:?name a judge with exact weights}
work=${3:-build/qlora}
python=${PYTHON:-.venv/bin/python}
seeds=${SEEDS:-1 2}
codes=(M2 V2 C1 R1 T1)
export DIALINT_MIRRORS=${DIALINT_MIRRORS:-0}
dialint() { "$python" -m dialint "$@"; }
mkdir -p "$work"

[ -e "$work/crowd/manifest.json" ] ||
    "$python" -m dialint.labeling.simulation.dataset --examples "$examples" --out "$work/crowd" --codes "${codes[@]}"
shared=(--rank 32 --threads 1 --precision fp32)
for seed in $seeds; do
    for bits in none nf4; do
        [ -e "$work/judge-$bits.$seed/manifest.json" ] ||
            dialint train sft judge --dataset "$work/crowd" --random-questions 0.5 --rewrites=false \
                --model "$start" --questions 16 --steps "${STEPS:-150}" --learning-rate 5e-4 \
                --prompt-tokens 320 --eval-steps 150 --quantise "$bits" --seed "$seed" "${shared[@]}" \
                --out "$work/judge-$bits.$seed"
        [ -e "$work/scan-$bits.$seed/training.json" ] ||
            dialint train sft scan --examples "$examples" --base small_decoder "${codes[@]/#/--codes=}" \
                --tokens "${TOKENS:-300000}" --learning-rate 1e-3 --quantise "$bits" --seed "$seed" \
                --row-tokens 1024 --prefix-share 0 "${shared[@]}" --out "$work/scan-$bits.$seed"
    done
    [ -e "$work/judge.$seed.json" ] ||
        dialint eval judge "$work/crowd" --split dev --random-questions 3 --seed "$seed" --threads 1 \
            --judge "$work/judge-none.$seed" --against "$work/judge-nf4.$seed" "$start" --out "$work/judge.$seed.json"
done

for seed in $seeds; do
    "$python" "$(dirname "$0")/studies/compare_scanners.py" "$examples/dev.jsonl" "$work/scan-none.$seed" "$work/scan-nf4.$seed"
done
