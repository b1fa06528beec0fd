#!/usr/bin/env bash
# Makes from the data folder what dialint ships: a scanner release (detector/embedded) and the small decoder
# (finetune/small_decoder), with fixed seeds. embedded-5, which ships, was made by this script as of commit
# 1c81cc93, on errors that rules injected; what it makes now, of written dialogues and real ones that were read,
# takes its place when it is measured to be better.
#
#   DIALINT_DATA=path/to/data runs/embedded.sh [WORK_FOLDER]
#
# Leaves them in WORK_FOLDER/decoder and WORK_FOLDER/release; copy them over the folders above to ship them.
# A stopped run goes on where it was: finished steps are kept, training resumes from its last checkpoint.
# REHEARSAL=1 runs every step for few tokens, into a release that is good for nothing.
set -euo pipefail
: "${DIALINT_DATA:?set DIALINT_DATA to the folder of the corpora}"
work=${1:-build}
python=${PYTHON:-.venv/bin/python}
seed=${SEED:-1}
epochs=${EPOCHS:-2}
mkdir -p "$work"
short=()  # what a rehearsal adds to the step that trains
pretrain_epochs=1
if [ "${REHEARSAL:-}" = 1 ]; then
    short=(--tokens 60000) pretrain_epochs=0.01
fi

dialint() { "$python" -m dialint "$@"; }

dialint base fetch minilm
[ -e "$work/written/manifest.json" ] || dialint data written --out "$work/written"
[ -e "$work/natural/manifest.json" ] || "$python" runs/studies/natural/examples.py "$work/natural"
[ -e "$work/mixed/manifest.json" ] ||
    dialint data mix --examples "$work/written" "$work/natural" --out "$work/mixed"
[ -e "$work/scanner/training.json" ] ||
    dialint train sft scan --examples "$work/mixed" --base minilm --out "$work/scanner" --seed "$seed" \
        --epochs "$epochs" --prefix-share 0.1 --eval-steps 300 "${short[@]}"
[ -e "$work/release/manifest.json" ] ||
    dialint train pack --scanner "$work/scanner" --examples "$work/mixed" --out "$work/release" --name embedded-6 \
        --weights int8
dialint verify "$work/release"
# The small decoder, which nothing above needs.
[ -e "$work/shards/manifest.json" ] ||
    dialint data dedup --data "$DIALINT_DATA" --out "$work/shards" --languages en
[ -e "$work/decoder/training.json" ] ||
    dialint train pretrain --corpus "$work/shards" --out "$work/decoder" --languages en --epochs "$pretrain_epochs"
