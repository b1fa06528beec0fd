#!/usr/bin/env bash
# Makes from the data folder what dialint ships: the scan releases detector/embedded and detector/smollm2, and the
# small decoder (finetune/small_decoder). Both releases are heads that are fitted to written dialogues and to
# real ones that were read. Their bases stay as they are: MiniLM as embedded-5 trained it (commit 1c81cc93; its
# weights are in detector/embedded), and 16 layers of SmolLM2, which are fetched.
#
#   DIALINT_DATA=path/to/data runs/embedded.sh [WORK_FOLDER]
#
# Leaves them in WORK_FOLDER/embedded, smollm2 and decoder; copy them over the folders above to ship them.
# A stopped run goes on where it was: finished steps are kept. REHEARSAL=1 runs every step on few dialogues, into
# releases that are good for nothing.
set -euo pipefail
: "${DIALINT_DATA:?set DIALINT_DATA to the folder of the corpora}"
work=${1:-build}
python=${PYTHON:-.venv/bin/python}
seed=${SEED:-1}
mkdir -p "$work"
share=1 share_smollm2=0.6 pretrain_epochs=1
if [ "${REHEARSAL:-}" = 1 ]; then
    share=0.02 share_smollm2=0.02 pretrain_epochs=0.01
fi

dialint() { "$python" -m dialint "$@"; }

# make_release BASE NAME SHARE OPTION...: the release NAME, of heads fitted to that share of the dialogues
make_release() {
    local base=$1 name=$2 share=$3 examples="$work/examples-$1"
    shift 3
    [ -e "$examples/manifest.json" ] ||
        dialint data mix --examples "$work/written" "$work/natural" --repeat "$share" "$share" --out "$examples"
    [ -e "$work/scan-$base/training.json" ] ||
        dialint train sft scan --examples "$examples" --base "$base" --out "$work/scan-$base" --seed "$seed" \
            --prefix-share 0 "$@"
    [ -e "$work/$base/manifest.json" ] ||
        dialint train pack --scanner "$work/scan-$base" --examples "$examples" --out "$work/$base" \
            --name "$name" --weights int8 --natural-precision 0.95 --no-suggestions L1 L2 M2
    dialint verify "$work/$base"
}

[ -e "$work/written/manifest.json" ] || dialint data written --out "$work/written"
[ -e "$work/natural/manifest.json" ] || "$python" runs/studies/natural/examples.py "$work/natural"
make_release embedded embedded-6 "$share" --history --new-heads
dialint base fetch smollm2
make_release smollm2 smollm2-1 "$share_smollm2" --layers 16
# The small decoder, which nothing above needs.
[ -e "$work/shards/manifest.json" ] ||
    dialint data dedup --data "$DIALINT_DATA" --out "$work/shards" --languages en
[ -e "$work/decoder/training.json" ] ||
    dialint train pretrain --corpus "$work/shards" --out "$work/decoder" --languages en --epochs "$pretrain_epochs"
