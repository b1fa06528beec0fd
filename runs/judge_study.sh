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
steps=${STEPS:-150}
align=(--precision bf16 "${threads[@]}" --model "$work/sft" --rank 32 --answer-tokens 64)
for seed in $seeds; do
    [ -e "$work/ppo.$seed/MANIFEST.json" ] ||
        dialint train ppo "${data[@]}" "${align[@]}" --reward "$work/reward" --seed "$seed" \
            --steps "$((2 * steps / 3))" --questions 6 --answers 6 --learning-rate 2e-4 --out "$work/ppo.$seed"
    for ratio in 1 5 20; do
        [ -e "$work/grpo-$ratio.$seed/MANIFEST.json" ] ||
            dialint train grpo "${data[@]}" "${align[@]}" --ratio "$ratio" --seed "$seed" \
                --steps "$steps" --questions 12 --answers 4 --learning-rate 3e-4 --out "$work/grpo-$ratio.$seed"
    done
    # About as long as GRPO and PPO: two steps of 24 questions for one of 12 questions with 4 answers each.
    [ -e "$work/more.$seed/MANIFEST.json" ] ||
        dialint train sft judge "${data[@]}" --model "$work/sft" --out "$work/more.$seed" --rank 32 \
            --steps "$((2 * steps))" --questions 24 --learning-rate 2e-4 --prompt-tokens 320 \
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

# Over seeds: mean, and from least to most. Differences from the judge before alignment are in the reports.
"$python" - "$work" <<'PY'
import json, pathlib, sys
work = pathlib.Path(sys.argv[1])
FIGURES = ("f1", "precision", "recall", "false_accusations_per_100_turns", "token_average_precision",
           "token_recall_at_1_false", "brier", "calibration_error", "token_calibration_error", "quote_overlap")  # fmt: skip


def over_seeds(values):
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):.3f} ({min(known):.3f} to {max(known):.3f})" if known else ""


for split in ("test", "test_unseen"):
    of_judge = {}
    for report in sorted(work.glob(f"{split}.[0-9]*.json")):
        for name, own in json.loads(report.read_text())["judges"].items():
            of_judge.setdefault(pathlib.Path(name).name.split(".")[0], []).append(own)
    print(f"\n| {split} | seeds | {' | '.join(FIGURES)} |\n|{'---|' * (2 + len(FIGURES))}")
    for name, own in sorted(of_judge.items()):
        print(f"| {name} | {len(own)} | {' | '.join(over_seeds([one[f] for one in own]) for f in FIGURES)} |")
print("\n| stage | seed | reward: first, last tenth | KL in nats of an answer, last tenth | accused: first, last |\n|---|---|---|---|---|")
for log in sorted([*work.glob("ppo.*/metrics.jsonl"), *work.glob("grpo-*/metrics.jsonl")]):
    steps = [row for row in map(json.loads, log.open()) if "reward" in row]
    tenth = max(1, len(steps) // 10)

    def mean(rows, get):
        found = [get(row) for row in rows]
        return f"{sum(found) / len(found):.3f}" if None not in found else ""

    def reward(row):
        return row["reward"]["total"] if isinstance(row["reward"], dict) else row["reward"]

    def kl(row):
        return row["kl"]["answer"] if isinstance(row["kl"], dict) else row["kl"] * row["completions/mean_length"]

    def accused(row):
        return row.get("accused")

    ends = ", ".join(mean(part, reward) for part in (steps[:tenth], steps[-tenth:]))
    blamed = ", ".join(mean(part, accused) for part in (steps[:tenth], steps[-tenth:]))
    name, _, seed = log.parent.name.partition(".")
    print(f"| {name} | {seed} | {ends} | {mean(steps[-tenth:], kl)} | {blamed} |")
PY
