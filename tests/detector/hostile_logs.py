"""Hostile logs from a seed, and what each costs, measured in a process of its own.

Every log is made up. Time is CPU time of inspecting, reading and masking, checks included; memory is the peak
over that of the same process before it opened the file.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import re
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import zstandard
from pyarrow import parquet

from dialint.detector.checks import NO_CONTEXT, load_checks
from dialint.detector.errors import UserError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Reject, inspect, open_logs, read
from dialint.detector.masking import mask_dialogue

MAX_MEBIBYTES = 512


class Outcome(NamedTuple):
    """The outcome of a log: error code of the whole file, or of its records with how many; CPU seconds and
    MiB over what the process held before."""

    refused: str | None
    loaded: int
    rejects: dict[str, int]
    seconds: float
    mebibytes: float
    traceback: str = ""


def memory_kib(name: str) -> int:
    match = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert match is not None
    return int(match[1])


def outcome_of(path: Path, config: ReadConfig, mask: bool) -> Outcome:
    """Read a log in this process; with `mask` its dialogues are masked and checked as in scoring."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before, began = memory_kib("VmRSS"), time.process_time()
    refused, error, loaded = None, "", 0
    rejects: dict[str, int] = {}
    try:
        sources = open_logs([str(path)])
        for source in sources:
            inspect(source, config)
        for record in read(sources, config, Counts()):
            if isinstance(record, Reject):
                rejects[record.code] = rejects.get(record.code, 0) + 1
            else:
                loaded += 1
                if mask:
                    masked, _ = mask_dialogue(record.dialogue)
                    for check in load_checks().values():
                        list(check(masked, NO_CONTEXT))
    except UserError as refusal:
        refused = refusal.code
    except BaseException:  # noqa: BLE001  what must never happen is reported, not raised here
        error = traceback.format_exc()
    seconds = time.process_time() - began
    return Outcome(refused, loaded, rejects, seconds, (memory_kib("VmHWM") - before) / 1024, error)


def measure(path: Path, config: ReadConfig | None = None, timeout_s: int = 0, mask: bool = False) -> Outcome:
    """Read a log in a forked child, which has everything imported already."""
    data, status = in_child(lambda: outcome_of(path, config or ReadConfig(max_bad=1.0), mask), timeout_s)
    if data is None:
        return Outcome(None, 0, {}, float(timeout_s), 0.0, f"ended by signal or status {status}")
    return Outcome(*data)


def peak_mebibytes(act: Callable[[], object]) -> float:
    """The memory that `act` takes in a forked child, at its peak over what the child held before."""

    def peak() -> float:
        Path("/proc/self/clear_refs").write_text("5")
        before = memory_kib("VmRSS")
        act()
        return (memory_kib("VmHWM") - before) / 1024

    size, status = in_child(peak, 0)
    assert size is not None, status
    return float(size)


def in_child(act: Callable[[], Any], timeout_s: int) -> tuple[Any, int]:
    """Returns the result of `act` in a forked child, as JSON; None if the child was ended, and its status."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        signal.alarm(timeout_s)  # the kernel's default: the child is ended
        os.write(send, json.dumps(act()).encode())
        os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    return (json.loads(data) if data else None), status


PUMPS = (
    "a-", "1111 ", "z-", "(", "<", "{", "[[", "a@", " ", "\\", "> ", "http://a", "\u200b", "\U0001f600", "=", "\u202e",
    "Re: ", "1 rue a-", "a.", "+1 ", "&lt;", "<div>", "<!--", "<a href='", "-- \n", "Anna ", "0", "\u0301", "I", "%",
)  # fmt: skip
ENDS = ("", "a(", "!@a.b ", "zz 555-123-4567", "]", ">")


def turn(text: object, role: object = "agent", **more: object) -> dict[str, object]:
    return {"role": role, "text": text, **more}


def record(number: object, *texts: object, **more: object) -> dict[str, object]:
    turns = [turn(text, ("customer", "agent")[place % 2]) for place, text in enumerate(texts)]
    return {"id": f"d{number}", "turns": turns, **more}


def lines(records: list[Any]) -> bytes:
    return b"".join(
        json.dumps(one, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n" for one in records
    )


def honest(rng: random.Random, n: int) -> list[dict[str, object]]:
    words = (
        "order", "parcel", "refund", "hello", "please", "number", "late", "bank", "4111", "jo@example.org",
    )  # fmt: skip
    return [record(k, *(" ".join(rng.choices(words, k=9)) for _ in range(6))) for k in range(n)]


def pumped(rng: random.Random, size: int) -> str:
    start = rng.choice(("", "1 rue ", "order ", "my name is ", "<p>", "call "))
    pump = rng.choice(PUMPS)
    return (start + pump * (size // len(pump)))[:size] + rng.choice(ENDS)


def odd(rng: random.Random) -> object:
    return rng.choice(
        [None, True, -1, 2**63, 1.5, "", "x", [], [[]], {}, {"a": []}, "\x00", "9" * 400, [1] * 50]
    )


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Bits flipped, pieces doubled, left out or cut off."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 60)):
        place = rng.randrange(len(out))
        kind = rng.randrange(4)
        if kind == 0:
            out[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            out[place:place] = out[place : place + rng.randrange(200)]
        elif kind == 2:
            del out[place : place + rng.randrange(50)]
        else:
            out[place : place + 1] = rng.choice(
                [b"\0", b"\xff", b"\xef\xbb\xbf", b'"', b"\n", b"\\", b"{", b"\r"]
            )
    return bytes(out[: rng.randrange(len(out) // 2, len(out) + 1)])


def table(rng: random.Random, rows: list[list[str]]) -> bytes:
    out = io.StringIO()
    csv.writer(out).writerows([["conversation_id", "role", "text"], *rows])
    return out.getvalue().encode("utf-8", "surrogatepass")


def parquet_bytes(made: Any, **options: Any) -> bytes:
    out = io.BytesIO()
    settings = {"compression": "zstd", "store_schema": False, "row_group_size": 1 << 26, **options}
    parquet.write_table(made, out, **settings)
    return out.getvalue()


def same(n: int, *texts: str) -> Any:
    """`n` times the first of `texts`, all of them in the dictionary."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array(texts))


def nested(lengths: list[int], texts: Any, **columns: list[str]) -> Any:
    """Dialogues of so many turns each, all by the agent."""
    turns = pa.StructArray.from_arrays([same(sum(lengths), "agent"), texts], names=["role", "text"])
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    ids = [f"d{number}" for number in range(len(lengths))]
    return pa.table({"dialogue_id": ids, "turns": pa.ListArray.from_arrays(offsets, turns), **columns})


def hostile(seed: int = 2026, scale: float = 1.0) -> Iterator[tuple[str, bytes]]:
    """The logs: a file name that says what is wrong, and its bytes; large ones are made smaller by `scale`. One
    is made at a time."""
    rng = random.Random(seed)

    def big(size: int) -> int:
        return int(size * scale)

    for number in range(14):
        size = rng.choice((2_000, 20_000, 99_000))
        yield (
            f"{number}-pumped-{size}.jsonl",
            lines([record(k, pumped(rng, size), "ok") for k in range(8)]),
        )
    for number in range(7):
        yield f"{number}-damaged.jsonl", damaged(rng, lines(honest(rng, 400)))
    for number in range(3):
        rows = [{**record(k, "a", "b"), rng.choice(("id", "turns", "language", "metadata")): odd(rng)}
                for k in range(3000)]  # fmt: skip
        rows += [{"id": f"e{k}", "turns": [turn(odd(rng), odd(rng), at=odd(rng))]} for k in range(3000)]
        yield f"{number}-wrong-types.jsonl", lines(rows)
    deep = b'{"id":"x","turns":[],"metadata":'
    yield "deep-lists.jsonl", deep + b"[" * big(4_000_000) + b"\n" + lines([record(1, "a", "b")])
    yield "deep-objects.jsonl", deep + b'{"a":' * big(1_500_000) + b"\n" + lines([record(1, "a", "b")])
    yield "closed-lists.jsonl", deep + b"[]," * big(2_600_000) + b"[]}\n"
    yield "empty-turns.jsonl", b'{"id":"x","turns":[' + b"{}," * big(2_600_000) + b"{}]}\n"
    yield "many-turns.jsonl", lines([record(1, *["a"] * big(250_000))])
    yield "many-keys.jsonl", deep + b"{" + b",".join(b'"%x":0' % n for n in range(big(700_000))) + b"}}\n"
    yield "one-key-again.jsonl", b'{"id":"x",' + b'"turns":[],' * big(700_000) + b'"a":1}\n'
    yield "long-number.jsonl", deep + b"9" * big(7_900_000) + b"}\n"
    yield "long-float.jsonl", deep + b"0." + b"1" * big(7_900_000) + b"}\n"
    yield "long-id.jsonl", lines([{**record(1, "a", "b"), "id": "x" * big(7_000_000)}])
    yield "long-line.jsonl", lines([record(1, "x" * big(40_000_000))])
    yield "no-newline.jsonl", b"x" * big(30_000_000)
    yield (
        "escapes.jsonl",
        (b'{"id":"x","turns":[{"role":"agent","text":"' + b"\\ud800" * big(1_300_000) + b'"}]}\n'),
    )
    yield "backslashes.jsonl", b'{"id":"x","turns":[{"role":"agent","text":"' + b"\\" * big(7_900_000) + b"\n"
    yield "quotes.jsonl", b'"' * big(8_000_000)
    yield "blank-lines.jsonl", b"\n" * big(20_000_000)
    yield "carriage-returns.jsonl", b"{}\r\n" * big(1_000_000)
    yield "many-ids.jsonl", lines([record(k, "a", "b") for k in range(big(100_000))])
    yield "one-id.jsonl", lines([record(1, "a", f"b{k}") for k in range(big(60_000))])
    yield "copies.jsonl", lines([record(1, "a", "b")]) * big(100_000)
    yield "encodings.jsonl", b"".join(
        json.dumps(record(k, "caf\xe9 \u20ac", "ok"), ensure_ascii=False).encode(("utf-8", "utf-16-le", "cp1252")[k % 3])
        + b"\n" for k in range(4000)
    )  # fmt: skip
    yield "long-dialogue.jsonl", lines([record(1, *["Where is my order 4111 2222? " * 50] * 4990)])
    yield (
        "names.jsonl",
        lines([record(k, f"My name is A{k} B{k}. " * 500, "A1 B2 " * 2000) for k in range(20)]),
    )
    yield "objects.json", b'{"conversation_parts":[' + b'{"a":{}},' * big(3_000_000) + b"{}]}"
    yield (
        "elements.json",
        json.dumps(
            [{"conversations": [{"value": "a", "from": "gpt"}]} for _ in range(big(100_000))]
        ).encode(),
    )
    rows = [[f"d{k // 4}", "agent", pumped(rng, 2000)] for k in range(600)]
    for number in range(4):
        yield f"{number}-damaged.csv", damaged(rng, table(rng, rows))
    yield (
        "interleaved.csv",
        table(rng, [[f"d{k % 20_000}", "agent", "hello"] for k in range(big(120_000))]),
    )
    yield "one-dialogue.csv", table(rng, [["d", "agent", "x" * 11_400]] * big(5_000))
    yield "unclosed.csv", table(rng, rows) + b'd,agent,"' + b"x\n" * big(8_000_000)
    yield "one-row.csv", table(rng, rows) + b'"a\nb",' * big(3_000_000)
    yield (
        "wide.csv",
        b"conversation_id,role,text" + b",c" * big(500_000) + b"\n" + b"d,agent,a" + b"," * big(500_000) + b"\n",
    )  # fmt: skip
    yield "quotes.csv", table(rng, rows) + b'"' * big(7_000_000) + b"\n"
    yield "formulas.csv", table(rng, [[f"=d{k}", "agent", "=1+1|cmd"] for k in range(20_000)])
    for number in range(6):
        made = nested([3] * 500, pa.array([pumped(rng, 500) for _ in range(1500)]))
        yield f"{number}-damaged.parquet", b"PAR1" + damaged(rng, parquet_bytes(made))[4:-4] + b"PAR1"
    yield "turns.parquet", parquet_bytes(nested([big(20_000_000)], same(big(20_000_000), "hello")))
    noise = [rng.randbytes(200).hex() for _ in range(4000)]
    turns = [big(2_000_000)] + [1] * 3999
    yield "turns-and-noise.parquet", parquet_bytes(nested(turns, same(sum(turns), "hi"), language=noise))
    n = big(30_000_000)
    messages = {"conversation_id": same(n, "a"), "role": same(n, "agent"), "text": same(n, "hello")}
    yield "messages.parquet", parquet_bytes(pa.table(messages))
    skew = same(20_000, "x" * big(500_000), *map(str, range(big(100_000))))
    yield "skewed.parquet", parquet_bytes(nested([10_000, 10_000], skew))
    one = pa.table({"conversation_id": ["a"] * 20_000, "role": ["agent"] * 20_000, "text": skew})
    yield "skewed-messages.parquet", parquet_bytes(one)
    wide = {f"c{k}": ["a"] * 3 for k in range(max(300, big(20_000)))}
    yield (
        "columns.parquet",
        parquet_bytes(pa.table({"id": ["a"] * 3, "role": ["agent"] * 3, "text": ["b"] * 3, **wide})),
    )
    yield "groups.parquet", parquet_bytes(nested([2] * 3000, pa.array(["hi"] * 6000)), row_group_size=1)
    plain = lines(honest(rng, 3000))
    yield "bomb.jsonl.gz", gzip.compress(b" " * big(80_000_000))
    yield "bomb-of-lines.jsonl.gz", gzip.compress(lines([record(1, "a" * 9000)]) * 9000)
    yield "damaged.jsonl.gz", b"\x1f\x8b" + damaged(rng, gzip.compress(plain))[2:]
    yield "members.jsonl.gz", b"".join(gzip.compress(line + b"\n") for line in plain.split(b"\n")[:2000])
    packed = zstandard.ZstdCompressor(level=19).compress
    yield "bomb.jsonl.zst", packed(b" " * big(80_000_000))
    yield "damaged.jsonl.zst", b"\x28\xb5\x2f\xfd" + damaged(rng, packed(plain))[4:]
