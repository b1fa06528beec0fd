#!/usr/bin/env bash
# What each part of the scanner's recipe is worth: the same short training with one thing changed, looked
# at on dev (families of training) and dev_unseen (families never trained on). Then the recipe's own release
# of that budget is compared by pairs with those of random weights and of the small decoder. About two hours.
#
#   DIALINT_DATA=path/to/data runs/ablations.sh [WORK_FOLDER]      after runs/embedded.sh, same WORK_FOLDER
#
# Leaves WORK_FOLDER/ablations/NAME/metrics.jsonl; the last line of each holds the figures. Finished
# trainings are kept, a stopped one goes on.
set -euo pipefail
: "${DIALINT_DATA:?set DIALINT_DATA to the folder of the corpora}"
work=${1:-build}
python=${PYTHON:-.venv/bin/python}
tokens=${TOKENS:-1200000}
dialint() { "$python" -m dialint "$@"; }

mkdir -p "$work/ablations"

# examples NAME OPTIONS: the same training set with less in it; evaluation sets do not change
examples() {
    local name=$1 && shift
    [ -e "$work/ablations/$name.examples/manifest.json" ] ||
        dialint data inject --data "$DIALINT_DATA" --out "$work/ablations/$name.examples" --seed 0 --rounds 2 "$@"
    cp "$work"/examples/dev*.jsonl "$work/ablations/$name.examples/"
}

# teach NAME EXAMPLES BASE OPTIONS
teach() {
    local name=$1 examples=$2 base=$3 && shift 3
    [ -e "$work/ablations/$name/training.json" ] ||
        dialint train sft scan --examples "$examples" --base "$base" --out "$work/ablations/$name" --seed 1 \
            --tokens "$tokens" --checkpoint-minutes 60 "$@"
}

examples no-twins --twins=false
examples no-negatives --negatives=false
examples quarter --wordings 0.25
examples no-dense --dense 0

teach recipe "$work/examples" "$work/minilm"
teach random-weights "$work/examples" "$work/minilm" --from-scratch
teach small-decoder "$work/examples" "$work/decoder"
teach no-twins "$work/ablations/no-twins.examples" "$work/minilm"
teach no-negatives "$work/ablations/no-negatives.examples" "$work/minilm"
teach quarter-of-wordings "$work/ablations/quarter.examples" "$work/minilm"
teach lora "$work/examples" "$work/minilm" --adapter lora --learning-rate 1e-3
teach no-evidence "$work/examples" "$work/minilm" --evidence=false
teach no-history "$work/examples" "$work/minilm" --history=false
teach no-dense "$work/ablations/no-dense.examples" "$work/minilm"
teach no-pair-loss "$work/examples" "$work/minilm" --pair-weight 0
teach focal "$work/examples" "$work/minilm" --focal 2

# release NAME: a release of a training, whatever its codes reach, examined where none of its families was shown
release() {
    [ -e "$work/ablations/$1.release/manifest.json" ] ||
        dialint train pack --scanner "$work/ablations/$1" --examples "$work/examples" --name "$1" \
            --out "$work/ablations/$1.release" --min-average-precision 0 --sets test_unseen --rounds 10
}

release recipe
release random-weights
release small-decoder
for one in "$work/ablations/recipe.release" "$work/release"; do
    dialint eval run "$work/examples/test_unseen.jsonl" --release "$one" --rounds 500 \
        --against "$work/ablations/random-weights.release" "$work/ablations/small-decoder.release"
done

"$python" - "$work/ablations" <<'PY'
import json, pathlib, sys
for log in sorted(pathlib.Path(sys.argv[1]).glob("*/metrics.jsonl")):
    last = json.loads(log.read_text().splitlines()[-1])
    shown = [f"{last[s][kind]['macro']:.3f}" for kind in ("ap", "pairs") for s in ("dev", "dev_unseen")]
    print(f"{log.parent.name:22} AP seen {shown[0]}, unseen {shown[1]}; pairs seen {shown[2]}, unseen {shown[3]}")
PY
