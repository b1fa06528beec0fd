"""An option that names something which does not exist is refused, with what exists, before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dialint import app
from dialint.detector.artifacts import write_manifest
from dialint.detector.errors import DialintError

SAMPLE = Path(app.__file__).with_name("sample")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Examples, and the manifest of a scanner that was distilled."""
    from dialint.labeling.synthetic.run import InjectConfig, run

    folder = tmp_path_factory.mktemp("inputs")
    shares = (0.4, 0.2, 0.2, 0.2)
    run([str(SAMPLE / "dialogues.jsonl")], InjectConfig(out=folder / "examples", shares=shares, quiet=True))
    (folder / "scanner").mkdir()
    training = {"codes": ["L1", "T1"], "render": {}, "base_sha256": "0", "examples": None, "config": {}}
    write_manifest(folder / "scanner" / "training.json", training)
    return folder


JUDGE = "train sft judge --dataset {}/examples --out {out} --steps 1 --base"
PACK = "train pack --name r --scanner {}/scanner --examples {}/examples --out {out}"
SETS = "its sets: calibration, dev, test, train"


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            f"{JUDGE} small_decoder --targets q_proj v_porj",
            "E_OPTION: --targets v_porj: unknown; there are .*v_proj",
        ),
        (f"{JUDGE} embedded", r"E_BASE: embedded \(bert\): no causal language model.*small_decoder"),
        ("train pretrain --base embedded --dialogues x --out {out}", "E_BASE: embedded .bert.: no causal"),
        (f"{PACK} --natural calibration_natrual", f"E_EXAMPLE: .*no set calibration_natrual.*{SETS}"),
        (f"{PACK} --sets tets", f"E_EXAMPLE: .*no set tets.*{SETS}"),
        (f"{PACK} --no-suggestions L1 T9", "E_OPTION: --no-suggestions T9: unknown; there are L1, T1"),
        ("label demote --release e --overrides {out}", "E_OPTION: --release e: unknown; there is none yet"),
        *(
            (f"{command} --project frist", "E_PROJECT: 'frist': no such project; there are first")
            for command in (
                "export annotations --out {out}",
                "export dataset --out {out} --key-file {out}.key",
                "label agreement", "label aggregate", "label quality", "label watch",
                "label adjudicate --into experts",
            )
        ),
    ],
)  # fmt: skip
def test_a_name_of_nothing_is_refused(
    dialint: Callable[..., str], inputs: Path, tmp_path: Path, command: str, message: str
) -> None:
    dialint("label", "project", "create", "first", "--codes", "T1")
    dialint("label", "project", "create", "experts", "--codes", "T1", "--purpose", "adjudication")
    out = tmp_path / "out"
    with pytest.raises(DialintError, match=message):
        dialint(*(part.replace("{}", str(inputs)).replace("{out}", str(out)) for part in command.split()))
    assert not out.exists()
