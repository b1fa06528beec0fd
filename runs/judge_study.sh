#!/usr/bin/env bash
# Does alignment help the judge? The small decoder learns by example from SIMULATED labelers; a reward model
# learns which of two answers they prefer, measured beside a bag of words that sees the answers alone; from the
# judge, with three seeds each, PPO with that reward model and GRPO with rewards that can be verified, at the
# lead's ratio of 1. All sit the exam on dialogues no step has seen, whose injected errors are known.
#
#   runs/judge_study.sh EXAMPLES [WORK_FOLDER]       EXAMPLES: a folder of `dialint data inject`
#
# Made to fit into about 50 minutes of one core that others use as well; finished steps are kept, training
# resumes from its last checkpoint. CODES="M2 V2 C1 R1 T1" SFT_STEPS=1200 REWARD_STEPS=400 STEPS=150 PROMPT=320
# RATIOS="1 5 20" SPLITS="test test_unseen" DIALOGUES=8000 HELD=600 is the longer way; PRECISION=bf16 where the
# processor multiplies in it.
set -euo pipefail
examples=${1:?name a folder of dialint data inject}
work=${2:-build/study}
python=${PYTHON:-.venv/bin/python}
seeds=${SEEDS:-1 2 3}
ratios=${RATIOS:-1}
steps=${STEPS:-15}
running=(--threads "${THREADS:-1}" --precision "${PRECISION:-fp32}")
read -ra codes <<< "${CODES:-T1 V2}"
prompt=(--prompt-tokens "${PROMPT:-256}")
export DIALINT_MIRRORS=${DIALINT_MIRRORS:-0}
dialint() { "$python" -m dialint "$@"; }
mkdir -p "$work"

[ -e "$work/crowd/manifest.json" ] ||
    "$python" -m dialint.labeling.simulation.dataset --examples "$examples" --out "$work/crowd" --codes "${codes[@]}" \
        --dialogues "${DIALOGUES:-5000}" --held "${HELD:-400}"
data=(--dataset "$work/crowd" --random-questions 0.5 --rewrites=false)
some=(--limit "${SOURCES:-400}") # dialogues that the later stages read: more than their steps can ask of
[ -e "$work/sft/manifest.json" ] ||
    dialint train sft judge "${data[@]}" --model finetune/small_decoder --out "$work/sft" --adapter none \
        --questions 24 --learning-rate 1e-3 "${prompt[@]}" --steps "${SFT_STEPS:-110}" --eval-steps 110 \
        --patience 100 --dev-questions 120 --checkpoint-steps 40 "${running[@]}"
[ -e "$work/reward/manifest.json" ] ||
    dialint train reward "${data[@]}" "${some[@]}" --model "$work/sft" --out "$work/reward" --adapter lora --rank 32 \
        --steps "${REWARD_STEPS:-60}" --pairs 8 --learning-rate 5e-4 "${prompt[@]}" --eval-steps 60 \
        --dev-pairs 60 --held-pairs "${HELD_PAIRS:-250}" --checkpoint-steps 30 "${running[@]}"
align=(--checkpoint-steps 10 "${running[@]}" --model "$work/sft" --rank 32 --answer-tokens 64)
judges=()
for seed in $seeds; do
    judges+=("$work/ppo.$seed")
    [ -e "$work/ppo.$seed/manifest.json" ] ||
        dialint train ppo "${data[@]}" "${some[@]}" "${align[@]}" --reward "$work/reward" --seed "$seed" \
            --steps "$steps" --questions 6 --answers 4 --learning-rate 3e-4 --out "$work/ppo.$seed"
    for ratio in $ratios; do
        judges+=("$work/grpo-$ratio.$seed")
        [ -e "$work/grpo-$ratio.$seed/manifest.json" ] ||
            dialint train grpo "${data[@]}" "${some[@]}" "${align[@]}" --ratio "$ratio" --seed "$seed" \
                --steps "$steps" --questions 12 --answers 4 --learning-rate 4e-4 --out "$work/grpo-$ratio.$seed"
    done
done
for split in ${SPLITS:-test}; do # all judges are asked the same questions
    [ -e "$work/$split.json" ] ||
        dialint eval judge "$work/crowd" --split "$split" --random-questions 1 --limit "${EXAM:-200}" \
            "${running[@]}" --judge "$work/sft" --against "${judges[@]}" --out "$work/$split.json"
done

# Over seeds: mean, and from least to most; one judge has its 95 % interval. Then each judge's paired difference.
"$python" - "$work" <<'PY'
import json, pathlib, sys
work = pathlib.Path(sys.argv[1])
FIGURES = ("f1", "precision", "recall", "false_accusations_per_100_turns", "token_average_precision",
           "token_recall_at_1_false", "brier", "calibration_error", "token_calibration_error", "quote_overlap")  # fmt: skip


def over_seeds(values):
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):.3f} ({min(known):.3f} to {max(known):.3f})" if known else ""


held_out = json.loads((work / "reward" / "manifest.json").read_text())["figures"]["held_out"]
for origin, row in held_out.items():
    parts = {"reward model": row, "answers alone": row["answer_only"], "other question": row["other_question"]}
    told = (f"{name} {own['accuracy']:.3f} ({own['accuracy_95'][0]:.3f} to {own['accuracy_95'][1]:.3f})"
            for name, own in parts.items())  # fmt: skip
    print(f"{row['pairs']} held-out pairs of {origin}: {', '.join(told)}; calibration {row['calibration_error']:.3f}")
for split in ("test", "test_unseen"):
    if not (work / f"{split}.json").exists():
        continue
    report, of_judge = json.loads((work / f"{split}.json").read_text()), {}
    for name, own in report["judges"].items():
        of_judge.setdefault(pathlib.Path(name).name.split(".")[0], []).append(own)
    differences = {pathlib.Path(name).name: own for name, own in report["differences"].items()}
    asked = report["judges"][str(work / "sft")]
    print(f"\n{split}: {asked['questions']} questions, {asked['errors']} errors, {asked['agent_turns']} turns, "
          f"{asked['source_dialogues']} source dialogues, {asked['cut']} questions cut")  # fmt: skip
    print(f"\n| {split} | seeds | {' | '.join(FIGURES)} |\n|{'---|' * (2 + len(FIGURES))}")
    for name, own in sorted(of_judge.items()):
        cells = [over_seeds([one[f] for one in own]) for f in FIGURES]
        if len(own) == 1:
            cells = [f"{own[0][f]:.3f} ({own[0][f + '_95'][0]:.3f} to {own[0][f + '_95'][1]:.3f})"
                     if None not in (own[0][f], *own[0][f + "_95"]) else "" for f in FIGURES]  # fmt: skip
        print(f"| {name} | {len(own)} | {' | '.join(cells)} |")
    print(f"\n| {split}: SFT less | {' | '.join(FIGURES)} |\n|{'---|' * (1 + len(FIGURES))}")
    for name, own in differences.items():
        cells = (f"{own[f]['difference']:+.3f} ({own[f]['low']:+.3f} to {own[f]['high']:+.3f})"
                 if None not in own[f].values() else "" for f in FIGURES)  # fmt: skip
        print(f"| {name} | {' | '.join(cells)} |")
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
