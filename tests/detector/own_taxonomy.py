"""A taxonomy of three codes that exclude one another, for tests of everything that takes one."""

from __future__ import annotations

from pathlib import Path

CODES = ("K1", "K2", "K3")

_HEAD = """\
version: own-1
severities:
- {code: S1, name: {en: a, es: b, ru: c}, meaning: ends it, penalty: 100, auto_fail: true}
- {code: S2, name: {en: a, es: b, ru: c}, meaning: big, penalty: 30}
- {code: S3, name: {en: a, es: b, ru: c}, meaning: small, penalty: 10}
- {code: S4, name: {en: a, es: b, ru: c}, meaning: note, penalty: 0}
categories:
- code: K
  name: {en: Coffee, es: Café, ru: Кофе}
  exclusive: true
  codes:
"""
_CODE = """\
  - code: CODE
    name: {en: Cup CODE, es: Taza CODE, ru: Чашка CODE}
    definition: It was CODE.
    test: Was it CODE?
    example: Here.
    counter_example: There.
    severity: S3
    severities: [S3]
    scope: turn
"""


def write_taxonomy(folder: Path) -> Path:
    """The taxonomy's file in `folder`."""
    path = folder / "own.yaml"
    path.write_text(_HEAD + "".join(_CODE.replace("CODE", code) for code in CODES), encoding="utf-8")
    return path
