#!/usr/bin/env bash
# From what people said to a judge that learnt from it, with no hand work: the label store becomes a dataset,
# the judge learns by example, a reward model learns which answers people prefer, PPO and GRPO align the judge,
# and all sit the exam on dialogues that no step has seen. The last one, in one piece, is the candidate.
#
#   DIALINT_ACCOUNT=lea runs/train.sh STORE [WORK_FOLDER]      a label store: a SQLite file or postgresql://...
#   LOG=chats.jsonl runs/train.sh "" [WORK_FOLDER]             SIMULATED people answer about errors made in a log
#   runs/train.sh "" [WORK_FOLDER]                             SIMULATED people answer about the sample
#   BASE=Qwen/Qwen3-4B-Instruct-2507 QUANTISE=nf4 runs/train.sh STORE WORK_FOLDER        on a GPU
#
# With the small decoder about an hour on two cores. Leaves WORK_FOLDER/{dataset,screened,sft,reward,
# ppo,grpo,candidate} and report.json. A stopped run goes on where it was: finished steps are kept, training
# resumes from its last checkpoint. In STORE it writes labels (`label aggregate`) and nothing else.
set -euo pipefail
store=${1:-}
work=${2:-build/train}
python=${PYTHON:-.venv/bin/python}
base=${BASE:-finetune/small_decoder}
quantise=${QUANTISE:-none}    # nf4: the frozen base in 4 bits
seed=${SEED:-1}
ratio=${RATIO:-2}             # so many misses are as bad as one false accusation
dialogues=${DIALOGUES:-1500}  # of a simulated store
threads=${THREADS:-2}         # 1 where others use the machine: two that wait for each other are far slower
dialint() { "$python" -m dialint "$@"; }
mkdir -p "$work"

# How much of everything: for the small decoder what a laptop has done over a coffee, for others what a GPU has.
if [ "$base" = finetune/small_decoder ]; then
    codes=${CODES:-T1 M2 U2} # it has room for few
    sft=(--adapter none --steps "${SFT_STEPS:-60}" --learning-rate 1e-3 --prompt-tokens 1536 --questions 2
        --dev-answers 8 --eval-steps 30)
    reward=(--steps "${REWARD_STEPS:-20}" --learning-rate 5e-4 --prompt-tokens 1536 --pairs 2 --eval-steps 10 --rank 32)
    align=(--steps "${ALIGN_STEPS:-6}" --learning-rate 1e-4 --questions 2 --answers 4 --answer-tokens 256 --rank 32)
    shared=()
else
    codes=${CODES:-} # all that the labels name
    sft=(--steps "${SFT_STEPS:-1000}" --learning-rate 2e-4 --prompt-tokens 16384 --detail full --questions 2)
    reward=(--steps "${REWARD_STEPS:-500}" --learning-rate 1e-4 --prompt-tokens 16384 --detail full --pairs 2)
    align=(--steps "${ALIGN_STEPS:-300}" --learning-rate 1e-5 --questions 8 --answers 8 --accumulate 16
        --answer-tokens 1000)
    shared=(--rank 16 --gradient-checkpointing)
fi
shared+=(--seed "$seed" --threads "$threads" --quantise "$quantise")

if [ -n "$store" ]; then
    : "${DIALINT_ACCOUNT:?set DIALINT_ACCOUNT to the account that acts in the store, a lead}"
else
    echo "no store named: people are SIMULATED, what comes of it is a rehearsal and not to be served" >&2
    if [ -n "${LOG:-}" ]; then
        [ -e "$work/examples/manifest.json" ] ||
            dialint data inject "$LOG" --out "$work/examples" --seed "$seed"
        known=(--examples "$work/examples/examples.jsonl" --limit "$dialogues")
    else
        known=(--dialogues app/sample/dialogues.jsonl --labels app/sample/labels.jsonl)
    fi
    [ -e "$work/crowd/manifest.json" ] ||
        "$python" runs/simulated_crowd.py "${known[@]}" --out "$work/crowd" --seed "$seed"
    store=$work/crowd/store.sqlite
    export DIALINT_ACCOUNT=simulated-admin
fi

# The secret of the splits: what is held out is so in every run of this folder, or of DIALINT_SPLIT_KEY.
# Made by the first export; for its owner only.
key=()
[ -n "${DIALINT_SPLIT_KEY:-}" ] || key=(--key-file "$work/split.key")

[ -e "$work/dataset/manifest.json" ] || {
    dialint label aggregate --everything --store "$store"
    dialint export dataset --out "$work/dataset" --store "$store" "${key[@]}" --shares 0.6 0.1 0.1 0.2
}
[ -e "$work/screened/manifest.json" ] ||
    dialint train screen --dataset "$work/dataset" --out "$work/screened"
asked=(${codes:+--codes $codes})
data=(--dataset "$work/screened" "${asked[@]}")
[ -e "$work/sft/manifest.json" ] ||
    dialint train sft judge "${data[@]}" --base "$base" --out "$work/sft" "${sft[@]}" "${shared[@]}"
[ -e "$work/reward/manifest.json" ] ||
    dialint train reward "${data[@]}" --base "$work/sft" --out "$work/reward" "${reward[@]}" "${shared[@]}"
[ -e "$work/ppo/manifest.json" ] ||
    dialint train ppo "${data[@]}" --base "$work/sft" --reward "$work/reward" --out "$work/ppo" \
        "${align[@]}" "${shared[@]}"
[ -e "$work/grpo/manifest.json" ] ||
    dialint train grpo "${data[@]}" --base "$work/sft" --reward "$work/reward" --out "$work/grpo" \
        --ratio "$ratio" "${align[@]}" "${shared[@]}"
[ -e "$work/candidate/manifest.json" ] ||
    dialint train merge --model "$work/grpo" --out "$work/candidate"
[ -e "$work/report.json" ] ||
    dialint eval judge "$work/screened" --split test "${asked[@]}" --seed "$seed" --threads "$threads" \
        --judge "$work/candidate" --against "$work/grpo" "$work/ppo" "$work/sft" --out "$work/report.json"
