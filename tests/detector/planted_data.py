"""Personal data of the kinds that masking promises to find, as people write them: all of them invented.

Names stand where the writer says that they are names; a name that nothing introduces is beyond the promise.
"""

from __future__ import annotations

import random
from pathlib import Path

import yaml
from stdnum import luhn
from stdnum.iso7064 import mod_97_10

from dialint.detector.records import Dialogue, Turn

_DATA = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
SENTENCES: dict[str, list[str]] = _DATA["sentences"]


def planted(n: int, seed: int = 0) -> list[tuple[str, str, str]]:
    """Kind, value and a sentence that holds it, for `n` different values, kinds in turn."""
    rng = random.Random(seed)
    results: dict[str, tuple[str, str, str]] = {}
    while len(results) < n:
        kind = list(SENTENCES)[len(results) % len(SENTENCES)]
        value = _value(kind, rng, len(results))
        results.setdefault(value, (kind, value, rng.choice(SENTENCES[kind]).format(value)))
    return list(results.values())


def _value(kind: str, rng: random.Random, number: int) -> str:
    given, surname = rng.choice(_DATA["given"]), rng.choice(_DATA["surnames"])
    digits = "".join(rng.choices("0123456789", k=18))
    if kind == "EMAIL":
        return f"{given.lower()}{rng.choice('._-')}{surname.lower()}{number}@{rng.choice(['mail', 'post', 'example'])}.{rng.choice(['com', 'org', 'es', 'co.uk'])}"
    if kind == "PHONE":
        area = rng.choice(["212", "415", "617", "503"])
        line = f"{rng.randrange(201, 990)}-{rng.randrange(1000, 9999)}"
        return rng.choice(
            [
                f"+1 {area}-{line}",
                f"({area}) {line}",
                f"+44 20 7{digits[:3]} {digits[3:7]}",
                f"+34 6{digits[:2]} {digits[2:5]} {digits[5:8]}",
            ]
        )
    if kind == "CARD":
        body = rng.choice(["4", "51", "55"]) + digits
        whole = body[:15] + luhn.calc_check_digit(body[:15])
        return rng.choice(
            [
                whole,
                " ".join(whole[n : n + 4] for n in range(0, 16, 4)),
                "-".join(whole[n : n + 4] for n in range(0, 16, 4)),
            ]
        )
    if kind == "IBAN":
        body = digits
        iban = "DE" + mod_97_10.calc_check_digits(f"{body}DE") + body
        return rng.choice([iban, " ".join(iban[n : n + 4] for n in range(0, 22, 4))])
    return f"{given} {surname}{rng.choice(['', '-'])}{'' if number % 3 else rng.choice(_DATA['surnames']).lower()}".rstrip(
        "-"
    )


def dialogues_with(data: list[tuple[str, str, str]]) -> list[Dialogue]:
    """A dialogue for each five of them, in turns of customers and agents."""
    return [
        Dialogue(
            id=f"d{start}",
            turns=tuple(
                Turn(index=index, role="agent" if index % 2 else "customer", text=sentence)
                for index, (_, _, sentence) in enumerate(
                    (*data[start : start + 5], ("", "", "I see, thank you."))
                )
            ),
        )
        for start in range(0, len(data), 5)
    ]
