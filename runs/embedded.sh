#!/usr/bin/env bash
# Makes from the data folder what dialint ships: the scan release (detector/embedded) and the small decoder
# (finetune/small_decoder). The release is heads fitted to written dialogues and to real ones that were read, on
# MiniLM as embedded-5 trained it (commit 1c81cc93), which stays as it is: its weights are those in
# detector/embedded.
#
#   DIALINT_DATA=path/to/data runs/embedded.sh [WORK_FOLDER]
#
# Leaves them in WORK_FOLDER/release and decoder; copy them over the folders above to ship them. A stopped run goes
# on where it was: finished steps are kept. REHEARSAL=1 runs every step on few dialogues, into a release and a decoder
# that are good for nothing.
set -euo pipefail
: "${DIALINT_DATA:?set DIALINT_DATA to the folder of the corpora}"
work=${1:-build}
python=${PYTHON:-.venv/bin/python}
seed=${SEED:-1}
mkdir -p "$work"
share=1 every=1 pretrain_epochs=1
limits=(--natural-precision 0.95 --no-suggestions L1 L2 L4 M2 P1 T2 I2 C3 U2 M3 I4 C1 V2 R3)
# Corpora whose terms let weights trained on them ship.
corpora=("$DIALINT_DATA"/{star,taskmaster4,taskmaster_reward,tau_bench,abcd_sample}/data.parquet
    "$DIALINT_DATA"/multiwoz_en_ru/data_en.parquet "$DIALINT_DATA"/dbdc3/data_en.parquet)
if [ "${REHEARSAL:-}" = 1 ]; then
    share=0.1 every=10 pretrain_epochs=0.1 corpora=("$DIALINT_DATA"/dbdc3/data_en.parquet)
    limits=(--natural-precision 0.01 --suggested-precision 0.01 --min-average-precision 0.01 --sets dev_natural)
fi

dialint() { "$python" -m dialint "$@"; }

[ -e "$work/written/manifest.json" ] || dialint data written --out "$work/written"
[ -e "$work/natural/manifest.json" ] || "$python" runs/studies/natural/examples.py "$work/natural" --every "$every"
[ -e "$work/mixed/manifest.json" ] ||
    dialint data mix --examples "$work/written" "$work/natural" --repeat "$share" 1 --out "$work/mixed"
[ -e "$work/scanner/training.json" ] ||
    dialint train sft scan --examples "$work/mixed" --base embedded --new-heads --prefix-share 0 \
        --out "$work/scanner" --seed "$seed"
[ -e "$work/release/manifest.json" ] ||
    dialint train pack --scanner "$work/scanner" --examples "$work/mixed" --out "$work/release" --name embedded-7 \
        --weights int8 "${limits[@]}"
dialint verify "$work/release"
# The small decoder, which nothing above needs.
[ -e "$work/decoder/training.json" ] ||
    dialint train pretrain --out "$work/decoder" --epochs "$pretrain_epochs" --max-bad 1 --dialogues "${corpora[@]}"
