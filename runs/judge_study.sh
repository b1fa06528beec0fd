#!/usr/bin/env bash
# Does alignment help the judge? The small decoder learns by example from SIMULATED labelers, and is aligned by
# PPO, by GRPO at three of the lead's ratios, or learns on by example for as long; three seeds of each. All sit
# the exam on dialogues no step has seen, whose injected errors are known: of families of training (test) and of
# others (test_unseen).
#
#   runs/judge_study.sh EXAMPLES [WORK_FOLDER]       EXAMPLES: a folder of `dialint data inject`
#
# Some hours on two idle cores; finished steps are kept, training resumes from its last checkpoint.
set -euo pipefail
examples=${1:?name a folder of dialint data inject}
work=${2:-build/study}
python=${PYTHON:-.venv/bin/python}
seeds=${SEEDS:-1 2 3}
threads=(--threads "${THREADS:-1}") # bf16 on one core is as fast as on two
codes=(M2 V2 C1 R1 T1)
export DIALINT_MIRRORS=${DIALINT_MIRRORS:-0}
dialint() { "$python" -m app.cli "$@"; }
mkdir -p "$work"

[ -e "$work/crowd/manifest.json" ] ||
    "$python" -m labeling.dataset.simulated --examples "$examples" --out "$work/crowd" --codes "${codes[@]}"
data=(--dataset "$work/crowd" --random-questions 0.5 --rewrites=false)
[ -e "$work/sft/MANIFEST.json" ] ||
    dialint train sft judge "${data[@]}" --model finetune/small_decoder --out "$work/sft" --adapter none \
        --questions 24 --learning-rate 1e-3 --prompt-tokens 320 --epochs 2 --eval-steps 100 --precision bf16 "${threads[@]}"
[ -e "$work/reward/MANIFEST.json" ] ||
    dialint train reward "${data[@]}" --model "$work/sft" --out "$work/reward" --adapter lora --rank 32 \
        --steps 400 --pairs 12 --learning-rate 5e-4 --prompt-tokens 320 --eval-steps 100 "${threads[@]}"
align=(--precision bf16 "${threads[@]}" --model "$work/sft" --rank 32 --steps "${STEPS:-100}" --questions 6 --answers 6 --answer-tokens 64)
for seed in $seeds; do
    [ -e "$work/ppo.$seed/MANIFEST.json" ] ||
        dialint train ppo "${data[@]}" "${align[@]}" --reward "$work/reward" --seed "$seed" \
            --learning-rate 2e-4 --out "$work/ppo.$seed"
    for ratio in 1 5 20; do
        [ -e "$work/grpo-$ratio.$seed/MANIFEST.json" ] ||
            dialint train grpo "${data[@]}" "${align[@]}" --ratio "$ratio" --seed "$seed" \
                --learning-rate 5e-4 --out "$work/grpo-$ratio.$seed"
    done
    # About as long as GRPO: two steps of 24 questions for one of 6 questions with 6 answers each.
    [ -e "$work/more.$seed/MANIFEST.json" ] ||
        dialint train sft judge "${data[@]}" --model "$work/sft" --out "$work/more.$seed" --rank 32 \
            --steps "$((2 * ${STEPS:-100}))" --questions 24 --learning-rate 2e-4 --prompt-tokens 320 \
            --eval-steps 100 --patience 100 --seed "$seed" --precision bf16 "${threads[@]}"
done
for split in test test_unseen; do
    for seed in $seeds; do
        own=("$work/ppo.$seed" "$work/more.$seed")
        for ratio in 1 5 20; do own+=("$work/grpo-$ratio.$seed"); done
        [ -e "$work/$split.$seed.json" ] ||
            dialint eval judge "$work/crowd" --split "$split" --random-questions 2 --seed "$seed" \
                --precision bf16 "${threads[@]}" --judge "$work/sft" --against "${own[@]}" --out "$work/$split.$seed.json"
    done
done
