#!/usr/bin/env bash
# The walk of a dialogue, as far as it goes today: each line is a row of the README's table.
set -euo pipefail
out=${1:-build/demo}
dialint=${DIALINT:-.venv/bin/dialint}
rm -rf "$out" && mkdir -p "$out"

"$dialint" doctor                                                        # what works on this machine
"$dialint" codes C1                                                      # what an error is
"$dialint" score app/sample/dialogues.jsonl --out "$out/verdicts.jsonl"  # 1 to 7: read, mask, scan, store
"$dialint" verify "$out/verdicts.jsonl"                                  # every byte as it was written
"$dialint" score app/sample/dialogues.jsonl --out "$out/findings.sarif"  # the same for a code host
