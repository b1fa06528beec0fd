#!/usr/bin/env bash
# The loop closed: what people said becomes a new judge, which is asked beside the judge in use about dialogues
# that neither has learnt from, takes its place only if it is better beyond the interval, and scores again.
#
#   DIALINT_ACCOUNT=lea runs/loop.sh STORE [WORK_FOLDER]     a label store: a SQLite file or postgresql://...
#   runs/loop.sh "" [WORK_FOLDER]                            a rehearsal: SIMULATED people, about the sample
#   BASE=Qwen/Qwen3-4B-Instruct-2507 QUANTISE=nf4 LOG=chats.jsonl runs/loop.sh STORE [WORK_FOLDER]      on a GPU
#
# Better means: in FIGURE of `dialint eval judge` (f_half: of what it accuses of at .5 or more, where a false
# accusation weighs more than a missed error) the 95 % interval of the paired difference, over the same resampled
# dialogues, lies on the better side of 0. Else the old judge stays. CODES ("C1 M2") are those that it learns and is
# compared on: all that the labels name, unless given; the small decoder of a rehearsal has room for a few.
#
# Each ROUND (a name, 1 unless given) has its folder, WORK_FOLDER/round-ROUND/{dataset,screened,sft,grpo or ppo,
# candidate,comparison.json,decision.json,verdicts.jsonl}. A stopped round goes on where it was, a finished one does
# nothing again. The judge in use is that of `dialint release`, the first time BASE itself; OLD names another to
# compare with. The split's key is that of the folder, so that what is held out is so in every round. In STORE it
# writes labels and nothing else. A rehearsal keeps its releases in WORK_FOLDER/home.
#
# SERVER=http://127.0.0.1:8000, one of `dialint serve vllm --swap` with the base of this loop, changes over as the
# judge is promoted, and is asked by the scoring at the end. A server exchanges adapters only, so the small decoder
# is trained by one then. Its key: DIALINT_JUDGE_KEY.
set -euo pipefail
store=${1:-}
work=${2:-build/loop}
python=${PYTHON:-.venv/bin/python}
base=${BASE:-finetune/small_decoder}
figure=${FIGURE:-f_half}
seed=${SEED:-1}
threads=${THREADS:-2}
align=${ALIGN:-none}            # grpo or ppo: aligned after it has learnt by example
server=${SERVER:-}
log=${LOG:-}                    # what the judge in use scores at the end; the sample in a rehearsal
budget=${BUDGET:-500 questions} # for each thousand dialogues
limit=(${LIMIT:+--limit "$LIMIT"})
scored=()
round=$work/round-${ROUND:-1}
dialint() { "$python" -m dialint "$@"; }
better_high="f_half f1 precision recall right_turns average_precision quote_overlap"
better_low="brier calibration_error false_accusations_per_100_turns"
case " $better_high $better_low " in
    *" $figure "*) ;;
    *) echo "FIGURE=$figure: expected one of $better_high $better_low" >&2 && exit 2 ;;
esac
case $align in
    none | grpo | ppo) ;;
    *) echo "ALIGN=$align: expected none, grpo or ppo" >&2 && exit 2 ;;
esac
if [ -n "$server" ] && [ -z "${DIALINT_JUDGE_KEY:-}" ]; then
    echo "SERVER=$server: set DIALINT_JUDGE_KEY to its key: it exchanges no adapter without one" >&2 && exit 2
fi
mkdir -p "$round"

if [ "$base" = finetune/small_decoder ]; then
    codes=${CODES:-C1 M2 U2}
    sft=(--steps "${SFT_STEPS:-60}" --learning-rate 1e-3 --prompt-tokens 1536 --questions 2 --dev-answers 8
        --eval-steps 30)
    if [ -n "$server" ]; then sft+=(--rank 32); else sft+=(--adapter none); fi
    aligned=(--steps "${ALIGN_STEPS:-6}" --learning-rate 1e-4 --questions 2 --answers 4 --answer-tokens 256 --rank 32)
else
    codes=${CODES:-}
    sft=(--steps "${SFT_STEPS:-1000}" --learning-rate 2e-4 --prompt-tokens 16384 --detail full --questions 2
        --rank 16 --gradient-checkpointing)
    aligned=(--steps "${ALIGN_STEPS:-300}" --learning-rate 1e-5 --questions 8 --answers 8 --accumulate 16
        --answer-tokens 1000 --rank 16 --gradient-checkpointing)
fi
asked=(${codes:+--codes $codes})
shared=(--seed "$seed" --threads "$threads" --quantise "${QUANTISE:-none}")

if [ -n "$store" ]; then
    : "${DIALINT_ACCOUNT:?set DIALINT_ACCOUNT to the account that acts in the store, a lead}"
else
    echo "no store named: people are SIMULATED, what comes of it is a rehearsal and not to be served" >&2
    [ -e "$work/crowd/manifest.json" ] ||
        "$python" runs/simulated_crowd.py --dialogues app/sample/dialogues.jsonl \
            --labels app/sample/labels.jsonl --out "$work/crowd" --seed "$seed"
    store=$work/crowd/store.sqlite
    export DIALINT_ACCOUNT=simulated-admin DIALINT_HOME=$work/home
    log=${log:-app/sample/dialogues.jsonl}
    scored=(--judge-precision 0.01 --max-failed 1 ${codes:+--codes "${codes// /,}"})
fi
key=()
[ -n "${DIALINT_SPLIT_KEY:-}" ] || key=(--key-file "$work/split.key")

# 1. What people said becomes a data set, split by dialogue; copies of held-out dialogues leave its training part.
[ -e "$round/dataset/manifest.json" ] || {
    dialint label aggregate --everything --store "$store"
    dialint export dataset --out "$round/dataset" --store "$store" "${key[@]}" --shares 0.6 0.1 0.1 0.2
}
[ -e "$round/screened/manifest.json" ] ||
    dialint train screen --dataset "$round/dataset" --out "$round/screened"

# 2. A judge learns from it: an adapter of the base, or all its weights, is the candidate.
data=(--dataset "$round/screened" "${asked[@]}")
[ -e "$round/sft/manifest.json" ] ||
    dialint train sft judge "${data[@]}" --base "$base" --out "$round/sft" "${sft[@]}" "${shared[@]}"
candidate=$round/sft
if [ "$align" != none ]; then
    [ -e "$round/$align/manifest.json" ] ||
        dialint train "$align" "${data[@]}" --base "$round/sft" --ratio "${RATIO:-2}" --out "$round/$align" \
            "${aligned[@]}" "${shared[@]}"
    candidate=$round/$align
    if [ ! -e "$round/sft/base.json" ]; then # all weights were trained, and now an adapter of them: one model
        candidate=$round/candidate
        [ -e "$candidate/manifest.json" ] || dialint train merge --model "$round/$align" --out "$candidate"
    fi
fi

# 3. Both judges read the same held-out dialogues. Without any before it, the old judge is the base itself.
if [ ! -e "$round/comparison.json" ]; then
    current=$("$python" -c 'from dialint.detector.registry import Registry
registry = Registry("judge")
pointer = registry.current()
print(registry.folder / pointer.id if pointer else "")')
    old=${OLD:-${current:-$base}}
    measured=(dialint eval judge "$round/screened" "${asked[@]}" --seed "$seed" --threads "$threads")
    contracts=() # without usable answers there is none, and no promotion
    for judge in "$candidate" ${current:+"$old"}; do
        contract=$round/contract-${#contracts[@]}.yaml
        "${measured[@]}" --judge "local:$judge" --split calibration --overrides "$contract" || [ $? = 2 ] || exit
        [ -e "$contract" ] || break
        contracts+=("$contract")
    done
    "${measured[@]}" --judge "local:$candidate" --split test --against "local:$old" \
        ${contracts:+--contract "${contracts[@]}"} --out "$round/comparison.json"
fi

# 4. The candidate is promoted, or the old judge stays; either way it is written down, after it was done.
decision=$round/decision.json
[ -e "$decision" ] || "$python" - "$round" "$candidate" "$figure" "$better_low" <<'PY'
import json, pathlib, sys
round_, candidate, figure, better_low = pathlib.Path(sys.argv[1]), *sys.argv[2:]
report = json.loads((round_ / "comparison.json").read_text())
((old, differences),) = report["differences"].items()
row = differences[figure]
gain = [row[part] for part in ("difference", "low", "high")]
if figure in better_low.split() and None not in gain:
    gain = [0.0 - gain[0], 0.0 - gain[2], 0.0 - gain[1]]
is_better = None not in gain and gain[1] > 0
values = [report["judges"][name][figure] for name in (f"local:{candidate}", old)]
said = ", ".join("none" if value is None else f"{value:.3f}" for value in values)
interval = "not known" if None in gain else f"{gain[0]:.3f} ({gain[1]:.3f} to {gain[2]:.3f})"
first = report["judges"][old]
print(f"{figure} of the new judge and the old one on {first['dialogues']} held-out dialogues with "
      f"{first['errors']} errors: {said}; gain {interval}: "
      + ("the new judge is better and is promoted" if is_better else "not better beyond the interval, the old judge stays"))  # fmt: skip
decision = {"promoted": is_better, "figure": figure, "gain": gain, "judge": candidate}
decision["old"] = old.removeprefix("local:")
(round_ / "decision.tmp").write_text(json.dumps(decision, indent=1) + "\n")
PY
if [ ! -e "$decision" ]; then
    if grep -q '"promoted": true' "$round/decision.tmp"; then
        code=0
        dialint release promote "$candidate" --gold "$round/comparison.json" --by "${BY:-$(id -un)}" \
            ${server:+--server "$server"} || code=$?
        [ "$code" -le 1 ] || exit "$code"
        [ "$code" = 0 ] || sed -i 's/"promoted": true/"promoted": false/' "$round/decision.tmp" # a gate refused it
    fi
    mv "$round/decision.tmp" "$decision"
fi

# 5. The judge in use scores. It is measured at first use, and what it finds is a suggestion where it is not right
# often enough; that of a rehearsal only suggests, whatever it is worth, and need not give usable answers.
if [ -n "$log" ]; then
    judge=$("$python" -c 'import json, sys
from dialint.detector.registry import Registry
decision, server = json.load(open(sys.argv[1])), sys.argv[2]
in_use = decision["judge" if decision["promoted"] else "old"]
is_served = server and Registry("judge").current() is not None
print(f"http:{server}/v1" if is_served else f"local:{in_use}")' "$decision" "${server%/}")
    scored+=(--judge "$judge" --judge-budget "$budget")
    case $judge in http:*) scored+=(--judge-model judge) ;; esac
    dialint score "$log" "${scored[@]}" "${limit[@]}" --out "$round/verdicts.jsonl"
fi
