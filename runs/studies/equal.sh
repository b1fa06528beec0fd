#!/usr/bin/env bash
# What dialint writes, with fixed seeds, as one checksum for each file: the same before and after a change that is
# to change no output. Sample and corpora are scored, errors are injected, labels are aggregated, and every stage
# of training takes a few steps.
#
#   DIALINT_DATA=path/to/data runs/studies/equal.sh OUT          OUT: a new folder, or one to go on in
#   diff before/sums.txt after/sums.txt                          no line: nothing has changed
#
# DIALINT is the command (default: dialint), PYTHON the interpreter that has it, MODULES what stands before `labeling`
# in the name of its modules (default: dialint.), CROWD the module of the simulated crowd, SAMPLE the folder of the
# sample log. PARTS names the parts to run: score corpora examples labels training (which needs labels). A finished
# part is kept (OUT/PART/done); after a command that fails the next ones run, and its files are missing in sums.txt.
#
# OUT/sums.txt has the payloads. OUT/manifests.txt has the manifests and reports less what differs between any two
# runs (times, memory, commit, seals); where options or commands get other names, its lines may differ.
# OUT/seconds.txt has the time that each command took.
set -euo pipefail
: "${DIALINT_DATA:?set DIALINT_DATA to the folder of the corpora}"
out=${1:?name a folder for what is written}
read -ra command <<<"${DIALINT:-dialint}"
python=${PYTHON:-python}
modules=${MODULES-dialint.}
crowd=${CROWD:-labeling.simulation.crowd}
sample=$(realpath "${SAMPLE:-app/sample}")
data=$(realpath "$DIALINT_DATA")
read -ra parts <<<"${PARTS:-score corpora examples labels training}"
unset DIALINT_DATA DIALINT_STORE DIALINT_ACCOUNT DIALINT_SPLIT_KEY
export OMP_NUM_THREADS=1 CUDA_VISIBLE_DEVICES='' HF_HUB_OFFLINE=1 DIALINT_MIRRORS=0 COLUMNS=120 TZ=UTC
mkdir -p "$out"
out=$(realpath "$out")
export DIALINT_HOME=$out/home
cd "$out" # paths that manifests hold are relative, so the same in each run

failed=0
timed() { # timed COMMAND: its seconds, and what it says, are kept beside; after one that fails the next ones run
    local started=$EPOCHREALTIME code=0 words="$*"
    words=${words#"${command[*]} "} words=${words:0:150}
    "$@" >>"$out/log.txt" 2>&1 || code=$?
    LC_ALL=C awk -v a="$started" -v b="$EPOCHREALTIME" -v code="$code" -v what="$words" \
        'BEGIN {printf "%7.1f s, exit code %d: %s\n", b - a, code, what}' >>"$out/seconds.txt"
    [ "$code" = 0 ] || { failed=$((failed + 1)) && echo "failed, see $out/log.txt: $words" >&2; }
}
dialint() { timed "${command[@]}" "$@"; }

fresh() { # fresh PART: whether it is asked for and not yet done; makes its folder and goes there
    [[ " ${parts[*]} " == *" $1 "* && ! -e $out/$1/done ]] || return 1
    rm -rf "${out:?}/$1" && mkdir "$out/$1" && cd "$out/$1"
    cp -rL "$sample" sample && chmod -R u+w sample
}
few() { # few NAME: the corpora's folders with 300 rows of each, and all of the one that is named
    "$python" - "$data" "$1" <<'PY'
import pathlib, sys
from pyarrow import parquet
data, whole = pathlib.Path(sys.argv[1]), sys.argv[2]
for path in sorted(data.glob("*/data*.parquet")):
    to, rows = pathlib.Path("few", path.relative_to(data)), parquet.read_table(path)
    to.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(rows if path.parent.name == whole else rows.slice(0, 300), to)
PY
}
finished() {
    [ "$failed" -gt 0 ] || touch done
    cd "$out"
}

if fresh score; then
    all=(--all-probabilities --device cpu --threads 1 --quiet)
    for end in jsonl csv parquet xml sarif; do
        dialint score sample/dialogues.jsonl --out "verdicts-$end.$end" "${all[@]}"
    done
    dialint score sample/dialogues.jsonl --out fp32.jsonl --precision fp32 --dialogue-seconds 0 "${all[@]}"
    dialint score sample/dialogues.jsonl --out some.jsonl --codes T,V2 --min-severity S2 --limit 30 --chunk-size 7 \
        --threads 1 --quiet
    dialint verify verdicts-jsonl.jsonl
    dialint report verdicts-jsonl.jsonl --html report.html --log sample/dialogues.jsonl
    "${command[@]}" score sample/dialogues.jsonl --limit 20 --threads 1 --quiet >screen.txt 2>>"$out/log.txt"
    "${command[@]}" codes >codes.txt
    for code in C1 U2 V2 W1; do "${command[@]}" codes "$code"; done >code.txt
    for end in csv parquet jsonl; do
        dialint convert sample/dialogues.jsonl --to "${end/jsonl/openai}" --out "export.$end"
        dialint score "export.$end" --out "export-$end.jsonl" --dialogue-seconds 0 "${all[@]}"
    done
    dialint convert sample/dialogues.jsonl --to sharegpt --out sharegpt.jsonl
    dialint ingest preview export.csv --write map.yaml
    dialint eval run sample/dialogues.jsonl --labels sample/labels.jsonl --rounds 50 --html evaluation.html --out evaluation.json \
        --device cpu --threads 1
    finished
fi

if fresh corpora; then # the first 200 dialogues of each, as `score` reads them
    for file in abcd_sample/data dbdc3/data_en multiwoz_en_ru/data_en multiwoz_en_ru/data_ru sgd/data star/data \
        stc3_dch1/data_en stc3_dch1/data_zh taskmaster4/data taskmaster_reward/data tau_bench/data; do
        dialint score "$data/$file.parquet" --out "${file//\//-}.jsonl" --all-probabilities --limit 200 --max-bad 1 \
            --max-failed 1 --device cpu --threads 1 --dialogue-seconds 0 --quiet
    done
    dialint eval outcome "$data/tau_bench/data.parquet" --outcome task_reward --verdicts tau_bench-data.jsonl \
        --limit 200 --max-bad 1 --rounds 50 --out outcome.json
    finished
fi

if fresh examples; then # as many as it takes to say almost every wording once
    more=(--share 0.95 --eval-share 0.8 --eval-rounds 6 --quiet)
    for seed in 0 1 2 3 4; do
        dialint data inject --data toy --out "toy-$seed" --seed "$seed" --rounds 12 "${more[@]}"
    done
    dialint data inject --data toy --out toy-default --quiet
    dialint data inject --data toy --out toy-ablation --rounds 1 --twins=false --negatives=false --wordings 0.25 \
        --dense 0 --limit 100 --quiet
    dialint data inject --data "$data" --out corpora --rounds 2 --limit 700 --domain-limit 400 "${more[@]}"
    few star && cp -r "$data/star/policies" few/star # its flow charts make the errors of process, which are few
    dialint data inject --data few --out star --rounds 2 "${more[@]}"
    dialint data contamination --train toy-0/train.jsonl --against toy-0/test_seen.jsonl toy-0/test_unseen.jsonl \
        --max-share 1 --out contamination.json
    finished
fi

key() { printf '%064d' 0 >split.key && chmod 600 split.key; }

if fresh labels; then # made-up people answer about the sample
    key
    timed "$python" -m "$modules$crowd" --dialogues sample/dialogues.jsonl --labels sample/labels.jsonl --limit 78 \
        --out crowd
    export DIALINT_STORE=crowd/store.sqlite DIALINT_ACCOUNT=simulated-admin
    dialint label agreement --rounds 50 --out agreement.json
    dialint label quality --json quality.json --html quality.html
    dialint label calibration
    dialint label aggregate --project simulated-labels
    dialint label project create experts --purpose adjudication --codes T V2 U2
    dialint label adjudicate --project simulated-labels --into experts
    dialint export annotations --out annotations.jsonl
    dialint export dataset --out dataset --key-file split.key --shares 0.4 0.3 0.1 0.2
    dialint export dataset --out dataset-parquet --key-file split.key --by dialogue --near 0 --format parquet
    unset DIALINT_STORE DIALINT_ACCOUNT
    "$python" - <<'PY'
import csv, json, random
wrong, chance = {}, random.Random(0)
for label in map(json.loads, open("sample/labels.jsonl")):
    wrong.setdefault((label["dialogue_id"], label["turn"]), set()).add(label["code"])
with open("said.csv", "w", newline="") as table:
    answers = csv.writer(table)
    answers.writerow(["task", "worker", "label"])
    for dialogue in map(json.loads, open("sample/dialogues.jsonl")):
        name = dialogue["dialogue_id"]
        for place, turn in enumerate(dialogue["turns"]):
            for code in ("T1", "V2") if turn["role"] != "customer" else ():
                for worker in ("p1", "p2", "p3"):
                    yes = (code in wrong.get((name, place), ())) != (chance.random() < 0.1)
                    answers.writerow([f"{name}/{place}/{code}", worker, "yes" if yes else "no"])
PY
    dialint import labels --labels said.csv --dialogues sample/dialogues.jsonl --out said.jsonl
    dialint export dataset --out dataset-files --key-file split.key --by dialogue --near 0 --shares 0.4 0.3 0.1 0.2 \
        --dialogues sample/dialogues.jsonl --annotations said.jsonl
    for tool in label-studio:json toloka:tsv prodigy:jsonl doccano:jsonl argilla:json crowd:csv dialint:jsonl; do
        dialint export labels --dialogues sample/dialogues.jsonl --format "${tool%:*}" --codes T1 V2 \
            --annotations said.jsonl --out "${tool%:*}.${tool#*:}"
    done
    "$python" - "$data/dbdc3/data_en.parquet" <<'PY'
import csv, sys
from pyarrow import parquet
rows = parquet.read_table(sys.argv[1]).to_pylist()[:40]
with open("answers.csv", "w", newline="") as table:
    answers = csv.writer(table)
    answers.writerow(["task", "worker", "label"])
    for row in rows:
        answers.writerows([f"{row['dialogue_id']}/{one['turn_id']}", one["annotator"], one["value"]] for one in row["labels"])
PY
    for method in joint majority wawa shrunk-votes dawid-skene one-coin ibcc ebcc mace glad; do
        dialint label aggregate --annotations answers.csv --out "$method.csv" --method "$method"
    done
    dialint label aggregate --annotations answers.csv --out joint-answers.csv --soft answers
    dialint label agreement --annotations answers.csv --rounds 50 --out answers-agreement.json
    finished
fi

if fresh training; then # reads the data set of `labels`
    one=(--threads 1 --seed 1)
    plain=("${one[@]}" --precision fp32 --device cpu)
    few ""
    dialint data dedup --data few --out shards
    small=(--languages en --sources star --sources taskmaster4 --row-tokens 256 --rows 2 --eval-steps 5
        --heldout-per-source 3 --precision fp32 --dtype fp32 "${one[@]}")
    dialint train pretrain --corpus shards --out decoder --depth 2 --vocabulary 600 --epochs 0.1 "${small[@]}"
    dialint train pretrain --corpus shards --out adapted --base small_decoder --epochs 0.03 "${small[@]}"

    dialint data inject --data toy --limit 100 --rounds 4 --eval-share 0.6 --eval-rounds 1 --out examples --quiet
    train_scan() {
        dialint train sft scan --examples examples --out "$1" --tokens 4000 --row-tokens 1024 --threads 1 --device cpu \
            --seed "${seed:-1}" --precision "${precision:-fp32}" "${@:2}"
    }
    train_scan scan --base embedded
    seed=2 train_scan scan-2 --base embedded
    train_scan scan-lora --base embedded --adapter lora --rank 4
    train_scan scan-dora --base small_decoder --adapter lora --dora --rslora --neftune 5 --focal 2
    train_scan scan-nf4 --base small_decoder --prefix-share 0 --quantise nf4
    train_scan scan-8bit --base small_decoder --prefix-share 0 --optimizer adamw-8bit
    train_scan scan-scratch --base embedded --from-scratch --evidence=false --history=false
    precision=bf16 train_scan scan-bf16 --base embedded
    dialint train average scan scan-2 --out average
    dialint train distill --teacher scan --dialogues sample/dialogues.jsonl --layers 3 --tokens 4000 --row-tokens 1024 \
        --out distilled "${plain[@]}"
    dialint train distill --teacher scan --dialogues sample/dialogues.jsonl --examples examples --layers 2 \
        --tokens 4000 --row-tokens 1024 --out distilled-beside "${plain[@]}"
    dialint train prune scan examples pruned-layers --layers 2 --sample 8 --device cpu "${one[@]}"
    dialint train prune scan examples pruned-heads --heads 0.03 --sample 2 --device cpu "${one[@]}"
    for weights in bf16 nf4; do
        dialint train pack --scanner scan --examples examples --out "release-$weights" --name mine-1 --sets dev_unseen \
            --per-100 10 --per-100-dialogues 20 --min-average-precision 0 --rounds 10 --weights "$weights"
    done
    for kind in tfidf rules; do dialint eval baseline "$kind" --examples examples --out "$kind"; done
    dialint eval run examples/test_unseen.jsonl --release release-bf16 --against clean rules tfidf release-nf4 \
        --rounds 50 --html evaluation.html --out evaluation.json --device cpu --threads 1

    dialint train screen --dataset ../labels/dataset --out clean
    dialint train screen --dataset examples --out clean-examples
    judge=(--dataset clean --prompt-tokens 320 "${plain[@]}")
    sft=(--steps 4 --questions 4 --dev-questions 20 --eval-steps 2)
    dialint train sft judge "${judge[@]}" --model small_decoder "${sft[@]}" --adapter none --out judge
    dialint train sft judge "${judge[@]}" --model small_decoder "${sft[@]}" --packed=false --neftune 5 --out judge-lora
    dialint train sft judge "${judge[@]}" --model small_decoder "${sft[@]}" --quantise nf4 --out judge-nf4
    # its noise has a seed that nobody may know: here it gets one
    timed "$python" -c "import secrets; secrets.randbits = lambda n: 7; from ${modules}app.cli import main; main()" \
        train sft judge "${judge[@]}" --model small_decoder "${sft[@]}" --private-epsilon 8 --private-delta 1e-3 \
        --out judge-private
    dialint train sft judge --dataset examples --prompt-tokens 640 "${plain[@]}" --model small_decoder "${sft[@]}" \
        --limit 60 --detail full --out judge-examples
    dialint train reward "${judge[@]}" --model judge --steps 3 --pairs 4 --dev-pairs 8 --held-pairs 8 --out reward
    align=(--dataset clean --model judge --steps 2 --questions 4 --answers 2 --answer-tokens 32 "${plain[@]}")
    dialint train ppo "${align[@]}" --reward reward --learning-rate 1e-4 --out ppo
    dialint train grpo "${align[@]}" --ratio 5 --learning-rate 1e-4 --out grpo
    dialint train grpo "${align[@]}" --reward reward --method rloo --learning-rate 1e-4 --out rloo
    for method in dpo kto; do
        dialint train prefer --dataset clean --model judge --method "$method" --steps 2 --pairs 4 "${plain[@]}" \
            --out "$method"
    done
    for weights in fp32 bf16 int8 nf4; do
        dialint train merge --model grpo --weights "$weights" --out "merged-$weights"
    done
    dialint eval judge clean --judge grpo --against judge --codes T1 V2 --limit 3 --rounds 50 --device cpu \
        "${one[@]}" --out judges.json
    dialint train search --stage scan --out search --space learning-rate=1e-4..1e-3:log --trials 2 --seed 0 -- \
        --examples examples --base embedded --tokens 1500 --row-tokens 1024 "${plain[@]}"
    finished
fi

# A line for each file. JSON is read, what differs between any two runs is left out, and the rest is written anew.
"$python" - "$out" <<'PY'
import hashlib, json, pathlib, re, sys
out = pathlib.Path(sys.argv[1])
PARTS = ("score", "corpora", "examples", "labels", "training")
PAYLOAD = {".jsonl", ".csv", ".parquet", ".xml", ".sarif", ".safetensors", ".txt", ".yaml", ".html", ".npz", ".bin", ".tsv", ".md"}
LEFT_OUT = {"done", "split.key"}
VOLATILE = {
    "at", "begins_at", "bytes", "commit", "cost", "created_at", "ended_at", "fingerprint", "job", "key", "left_s", "machine",
    "made_at", "request", "seal", "seconds", "sha256", "started_at", "tokens_s", "versions",
}  # fmt: skip
"""Keys of manifests. Sizes and sums of files stand in sums.txt by themselves."""
OF_MANIFESTS = {"corpus", "judge", "reward", "screened_from"}
"""Keys that may hold the sum of a manifest, which has times in it."""
UNORDERED = {"target_modules"}


def without(value, keys):
    if isinstance(value, dict):
        return {
            name: sorted(each) if name in UNORDERED and isinstance(each, list) else without(each, keys)
            for name, each in value.items()
            if name not in keys and not (name in OF_MANIFESTS and isinstance(each, str))
        }
    if isinstance(value, str):
        return re.sub(r"^/.*/(?=finetune/)|^/tmp/[^/]+/", "", value)
    return [without(each, keys) for each in value] if isinstance(value, list) else value


def canonical(value):
    return json.dumps(value, sort_keys=True, ensure_ascii=False).encode()


sums, manifests = [], []
for path in sorted(p for part in PARTS for p in (out / part).rglob("*") if p.is_file()):
    name = path.relative_to(out).as_posix()
    if path.name in LEFT_OUT or re.search(r"/(sample|few|checkpoint[^/]*)/|/\.", name):
        continue
    manifest = path.name == "metrics.jsonl"
    if manifest or path.name == "annotations.jsonl":
        payload = b"\n".join(canonical(without(json.loads(line), VOLATILE)) for line in path.open())
    elif path.name == "README.md":
        card = re.sub(r"(?m)^- (?:seconds|commit|cost .*):.*\n", "", path.read_text())
        payload = re.sub(r"[0-9a-f]{64}|/\S*/(?=finetune/)", "", card).encode()
    elif path.suffix == ".html":
        payload = re.sub(r"(?<=Fingerprint )[0-9a-f]+", "", path.read_text()).encode()
    elif path.suffix == ".json":
        try:
            payload = canonical(without(json.loads(path.read_text()), VOLATILE))
        except json.JSONDecodeError:  # lines of JSON: of another tool
            payload = path.read_bytes()
        manifest = "manifest" in path.name.lower() or path.name == "training.json"
    elif path.suffix in PAYLOAD:
        payload = path.read_bytes()
    else:
        continue
    (manifests if manifest else sums).append(f"{hashlib.sha256(payload).hexdigest()}  {name}\n")
for name, lines in (("sums.txt", sums), ("manifests.txt", manifests)):
    (out / name).write_text("".join(lines))
    print(f"{len(lines)} files: {out / name}")
PY
[ "$failed" = 0 ] || { echo "$failed commands failed" >&2 && exit 1; }
