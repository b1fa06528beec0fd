"""Makes a release again on the same weights, with the gates and checks of `finetune/scanner/evidence.yaml`.

    python runs/studies/natural/reissue.py detector/embedded build/embedded-4 --name embedded-4
                                           [--domain DOMAIN.json]

What `dialint train pack` does with the evidence, for a release whose scanner has not changed: calibration,
thresholds and figures of the scan stay as they were measured. `--domain` puts a reference of
`runs/studies/natural/domain.py build` into it, by which a log is called far; without it the source's stays.
"""

from __future__ import annotations

import re
from pathlib import Path

from cyclopts import App

from dialint.detector.artifacts import atomic_file, make_output_folder
from dialint.detector.domain import Domain
from dialint.detector.release import Release, finalize_release
from dialint.detector.taxonomy import load_taxonomy
from dialint.finetune.scanner.model_card import coverage
from dialint.finetune.scanner.pack import add_evidence

FIGURES = (
    "## Figures\n\nOf the scan alone, as it was measured before gates and exact checks stood beside it; what "
    "these do on real dialogues is in docs/experiments/natural.md.\n\n"
)
app = App()


@app.default
def reissue(source: Path, out: Path, *, name: str, domain: Path | None = None) -> None:
    """Write the release SOURCE to the new folder OUT under another name, with the evidence of today."""
    info = Release(source).info
    info = info.model_copy(update={"id": name, "codes": add_evidence(info.codes)})
    if domain is not None:
        reference = Domain.model_validate_json(domain.read_bytes())
        info = info.model_copy(update={"domain": reference})
    make_output_folder(out, new=True)
    for path in source.iterdir():
        with atomic_file(out / path.name) as file:
            file.write(path.read_bytes())
    card = (out / "MODEL_CARD.md").read_text(encoding="utf-8")
    start, end = card.index("## What it covers"), card.index("## Data")
    title = re.sub(r"\A# \S+", f"# {name}", card[:start])
    text = (
        title + coverage(info, load_taxonomy(None)) + "\n" + card[end:].replace("## Figures\n\n", FIGURES, 1)
    )
    with atomic_file(out / "MODEL_CARD.md") as file:
        file.write(text.encode())
    finalize_release(out, info)
    print(f"{out}: {name}, {len(info.codes)} codes")


if __name__ == "__main__":
    app()
