#!/usr/bin/env bash
# Is a 4-bit base as good to learn on as an exact one? LoRA on a base in fp32, and on the same base in NF4 (QLoRA),
# arithmetic in fp32 beside the 4-bit weights: a judge from SIMULATED labelers and a scanner from made errors, the
# same examples in the same order, compared on dev. Peak memory and seconds stand in the "cost" of each
# MANIFEST.json and training.json.
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
dialint() { "$python" -m app.cli "$@"; }
mkdir -p "$work"

[ -e "$work/crowd/manifest.json" ] ||
    "$python" -m labeling.dataset.simulated --examples "$examples" --out "$work/crowd" --codes "${codes[@]}"
shared=(--rank 32 --threads 1 --precision fp32)
for seed in $seeds; do
    for bits in none nf4; do
        [ -e "$work/judge-$bits.$seed/MANIFEST.json" ] ||
            dialint train sft judge --dataset "$work/crowd" --random-questions 0.5 --rewrites=false \
                --model "$start" --questions 16 --steps "${STEPS:-150}" --learning-rate 5e-4 \
                --prompt-tokens 320 --eval-steps 150 --quantise "$bits" --seed "$seed" "${shared[@]}" \
                --out "$work/judge-$bits.$seed"
        [ -e "$work/scan-$bits.$seed/training.json" ] ||
            dialint train sft scan --examples "$examples" --base finetune/small_decoder "${codes[@]/#/--codes=}" \
                --tokens "${TOKENS:-300000}" --learning-rate 1e-3 --quantise "$bits" --seed "$seed" \
                --row-tokens 1024 --prefix-share 0 "${shared[@]}" --out "$work/scan-$bits.$seed"
    done
    [ -e "$work/judge.$seed.json" ] ||
        dialint eval judge "$work/crowd" --split dev --random-questions 3 --seed "$seed" --threads 1 \
            --judge "$work/judge-none.$seed" --against "$work/judge-nf4.$seed" "$start" --out "$work/judge.$seed.json"
done

# The scanners on dev: average precision, mean over codes, paired intervals by source dialogue.
"$python" - "$examples/dev.jsonl" "$work" <<'PY'
import pathlib, sys
import numpy as np
from detector.example_files import read_examples
from eval.exam.resampling import ranking, resamples
from eval.truth import source_of
from finetune.smaller.scanners import read_scanner

examples, work = list(read_examples(pathlib.Path(sys.argv[1]))), pathlib.Path(sys.argv[2])
sources = {source: place for place, source in enumerate(sorted({source_of(each) for each in examples}))}
counts = resamples(len(sources), 1000)


def macro(folder):
    """Mean average precision over codes: of the dialogues as they are, then of each draw."""
    student = read_scanner(folder)
    results = student.scanner(8192, "fp32", "cpu").scan([each.dialogue for each in examples])
    of_code = []
    for column, code in enumerate(student.codes):
        rows = []
        for example, turns in zip(examples, results, strict=True):
            wrong = {label.turn for label in example.labels if label.code == code}
            units = [(turn.turn in wrong, turn.scores[column]) for turn in turns]
            if code in student.dialogue_codes:
                units = [(bool(wrong), max(score for _, score in units))]
            rows += [(*unit, sources[source_of(example)]) for unit in units]
        truth, scores, groups = (np.array(each) for each in zip(*rows, strict=True))
        of_code.append(ranking(truth, scores, groups, counts)["average_precision"])
    return np.nanmean(of_code, axis=0)


def told(values):
    return f"{values[0]:+.3f} ({np.quantile(values[1:], 0.025):+.3f} to {np.quantile(values[1:], 0.975):+.3f})"


for exact in sorted(work.glob("scan-none.*")):
    own, other = macro(exact), macro(exact.with_name(exact.name.replace("none", "nf4")))
    print(f"{exact.name}: LoRA {told(own)}, QLoRA {told(other)}, QLoRA less LoRA {told(other - own)}")
PY
