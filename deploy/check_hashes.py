"""Checks the hashes of the files that pip installed against requirements.lock: check_hashes.py REPORT
LOCK."""

import json
import re
import sys
from pathlib import Path

report, lock = (Path(name).read_text() for name in sys.argv[1:])
locked = {entry.split("==")[0].lower().replace("_", "-"): entry for entry in re.split(r"\n(?=\S)", lock)}
installed = {
    each["metadata"]["name"].lower().replace("_", "-"): each["download_info"]["archive_info"]["hashes"][
        "sha256"
    ]
    for each in json.loads(report)["install"]
}
if wrong := [name for name, sha256 in installed.items() if sha256 not in locked.get(name, sha256)]:
    sys.exit(f"not the files of {sys.argv[2]}: {', '.join(wrong)}")
print(f"{len(installed.keys() & locked.keys())} of {len(installed)} packages are the locked files")
