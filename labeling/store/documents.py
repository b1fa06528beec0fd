"""Versions of the texts that a team edits in the console: its taxonomy and its policies.

A version is never changed. At most one version of a document is published: the one that `dialint policy
export` writes for ``score``. Only a text that can be parsed as its kind is published.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal, get_args

from sqlalchemy import Row, insert, select, update

from dialint.detector.errors import ConfigError
from dialint.detector.policy import parse_policy
from dialint.detector.records import Dialogue, Record, Verdict
from dialint.detector.taxonomy import Taxonomy, load_taxonomy, parse_taxonomy
from dialint.labeling.store.database.schema import dialogues, documents, verdicts
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.dialogues import compute_sha256
from dialint.labeling.store.exposure import record_read
from dialint.labeling.store.permissions import read_operation, write_operation
from dialint.labeling.store.records import Conflict, StoreRefused

Kind = Literal["taxonomy", "policy"]
TAXONOMY = "taxonomy"
"""The one name of a document of kind ``taxonomy``: a store has one taxonomy."""
MAX_CHARACTERS, MAX_REASON, MAX_NAME = 400_000, 1000, 64
MAX_COMPARED = 100
"""Newest versions of a policy among which that of a verdict is searched."""
MAX_NEWEST = 2000
"""Verdicts or dialogues that one preview reads at most."""


class Version(Record):
    """One version of a document, numbered from 1, without its text."""

    kind: Kind
    name: str
    version: int
    author: str
    reason: str
    at: datetime
    published_at: datetime | None
    sha256: str


class PublishedText(Record):
    """The text of a version: of the published one, or of the one that a verdict was made with."""

    version: int
    text: str


@write_operation("plan")
def save_version(
    transaction: Transaction, actor: str, kind: Kind, name: str, text: str, reason: str, *, expected: int
) -> Version:
    """Save a text as the next version, as a draft. `expected` is the newest version that the actor saw, 0 if
    there was none. Saving the newest text again returns it.

    Raises:
        Conflict: somebody saved a version since.
        StoreRefused: no reason, no name, or a text that is empty or too long.
    """
    if kind not in get_args(Kind) or not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise StoreRefused(
            "E_DOCUMENT", "a document has a kind and a name of 1 to {most} characters", most=MAX_NAME
        )
    if kind == "taxonomy" and name != TAXONOMY:
        raise StoreRefused("E_DOCUMENT", "the taxonomy's document is called {name}", name=TAXONOMY)
    if not text.strip() or len(text) > MAX_CHARACTERS or "\x00" in text + reason:
        raise StoreRefused("E_DOCUMENT", "a document has 1 to {most:,} characters", most=MAX_CHARACTERS)
    if not 0 < len(reason.strip()) <= MAX_REASON:
        raise StoreRefused(
            "E_DOCUMENT", "a version needs a reason of 1 to {most} characters", most=MAX_REASON
        )
    own = select(documents).filter_by(kind=kind, name=name)
    newest = transaction.run(own.order_by(documents.c.version.desc()).limit(1)).one_or_none()
    if newest is not None and newest.content == text:
        return _record(newest)
    number = 0 if newest is None else newest.version
    if number != expected:
        assert newest is not None
        theirs, values = (_record(newest),), {"number": number, "name": name, "author": newest.author}
        raise Conflict("version {number} of {name} was saved by {author}", theirs, text, **values)
    row = {
        "kind": kind, "name": name, "version": number + 1, "content": text, "author": actor,
        "reason": reason, "at_ms": transaction.now_ms,
    }  # fmt: skip
    saved = transaction.run(insert(documents).values(row).returning(documents)).one()
    transaction.log(actor, "document.save", f"{kind} {name}", version=number + 1, sha256=compute_sha256(text))
    return _record(saved)


@write_operation("plan")
def publish(transaction: Transaction, actor: str, kind: Kind, name: str, version: int) -> Version:
    """Publish a version in place of the one that was published before. Publishing it again changes nothing.

    Raises:
        StoreRefused: there is no such version, or its text cannot be read as a document of its kind.
    """
    row = _load(transaction, kind, name, version)
    try:
        if kind == "taxonomy":
            parse_taxonomy(row.content)
        elif parse_policy(row.content).policy != name:
            raise ConfigError("E_POLICY", "the text calls the policy otherwise than {name}", name=name)
    except ConfigError as error:
        reason = error.text
        raise StoreRefused(
            "E_DOCUMENT", "version {version} cannot be published: {reason}", version=version, reason=reason
        ) from None
    if row.published_ms is not None:
        return _record(row)
    own = (documents.c.kind == kind, documents.c.name == name)
    marked = update(documents).where(*own, documents.c.published_ms.is_not(None)).values(published_ms=None)
    before = transaction.run(marked.returning(documents.c.version)).scalar_one_or_none()
    mark = update(documents).where(*own, documents.c.version == version)
    published = transaction.run(mark.values(published_ms=transaction.now_ms).returning(documents)).one()
    transaction.log(actor, "document.publish", f"{kind} {name}", version=version, before=before)
    return _record(published)


@write_operation("plan")
def withdraw(transaction: Transaction, actor: str, kind: Kind, name: str) -> None:
    """Unpublish a document; the packaged taxonomy, or no policy, applies again."""
    marked = (documents.c.kind == kind, documents.c.name == name, documents.c.published_ms.is_not(None))
    if transaction.run(update(documents).where(*marked).values(published_ms=None)).rowcount:
        transaction.log(actor, "document.withdraw", f"{kind} {name}")


@read_operation("plan")
def list_versions(transaction: Transaction, actor: str, kind: Kind, name: str) -> tuple[Version, ...]:
    """All versions of a document, newest first."""
    own = select(documents).where(documents.c.kind == kind, documents.c.name == name)
    return tuple(map(_record, transaction.run(own.order_by(documents.c.version.desc()))))


@read_operation("plan")
def list_names(transaction: Transaction, actor: str, kind: Kind) -> tuple[str, ...]:
    """The names of all documents of a kind."""
    names = select(documents.c.name).where(documents.c.kind == kind).distinct().order_by(documents.c.name)
    return tuple(transaction.run(names).scalars())


@read_operation("plan")
def load_version(transaction: Transaction, actor: str, kind: Kind, name: str, version: int) -> str:
    """The text of a version."""
    return str(_load(transaction, kind, name, version).content)


@read_operation("plan")
def load_published(transaction: Transaction, actor: str, kind: Kind) -> dict[str, str]:
    """The published texts of a kind, by name."""
    marked = select(documents).where(documents.c.kind == kind, documents.c.published_ms.is_not(None))
    return {row.name: row.content for row in transaction.run(marked.order_by(documents.c.name))}


def load_taxonomy_in_use(transaction: Transaction) -> Taxonomy:
    """The published taxonomy, else the packaged one; permissions are checked by the caller."""
    marked = select(documents.c.content).where(
        documents.c.kind == "taxonomy", documents.c.published_ms.is_not(None)
    )
    text = transaction.run(marked).scalar()
    return load_taxonomy() if text is None else _parse_published(text)


_parse_published = lru_cache(4)(parse_taxonomy)


@read_operation("review")
def load_policies(transaction: Transaction, actor: str, names: Sequence[str]) -> dict[str, PublishedText]:
    """The published versions of the policies with these names, for those who review findings of them."""
    marked = select(documents).where(documents.c.kind == "policy", documents.c.published_ms.is_not(None))
    rows = transaction.run(marked.where(documents.c.name.in_(names)))
    return {row.name: PublishedText(version=row.version, text=row.content) for row in rows}


@read_operation("review")
def find_policy_version(transaction: Transaction, actor: str, name: str, rules: str) -> PublishedText | None:
    """The newest version of a policy that has the `rules` with this fingerprint (`Policy.fingerprint`), as a
    verdict records it; none if no version has them. For those who review findings of it.
    """
    own = select(documents).where(documents.c.kind == "policy", documents.c.name == name)
    newest = own.order_by(documents.c.version.desc()).limit(MAX_COMPARED)
    for row in transaction.run(newest):
        if _fingerprint_rules(row.content) == rules:
            return PublishedText(version=row.version, text=row.content)
    return None


@lru_cache(256)
def _fingerprint_rules(text: str) -> str | None:
    """The fingerprint of a policy's text; none if it cannot be read: a draft, or of other rules."""
    try:
        return parse_policy(text).fingerprint
    except ConfigError:
        return None


@read_operation("plan")
def list_newest_verdicts(transaction: Transaction, actor: str, n: int) -> tuple[Verdict, ...]:
    """The newest `n` verdicts with a result, newest first, one for each dialogue and release."""
    newest = select(verdicts.c.content).order_by(verdicts.c.created_ms.desc(), verdicts.c.dialogue.desc())
    rows = transaction.run(newest.limit(min(n, MAX_NEWEST))).scalars()
    return tuple(each for each in map(Verdict.model_validate_json, rows) if each.status == "scored")


@read_operation("plan")
def list_newest_dialogues(transaction: Transaction, actor: str, n: int) -> tuple[Dialogue, ...]:
    """The newest `n` dialogues, newest first; for a preview."""
    newest = select(dialogues.c.content).order_by(dialogues.c.created_ms.desc(), dialogues.c.id.desc())
    rows = transaction.run(newest.limit(min(n, MAX_NEWEST))).scalars()
    return tuple(map(Dialogue.model_validate_json, rows))


@read_operation("plan")
def record_previewed(transaction: Transaction, actor: str, names: tuple[str, ...]) -> None:
    """Record that a preview lists these dialogues with their findings."""
    record_read(transaction, actor, names, "verdict")


def _load(transaction: Transaction, kind: str, name: str, version: int) -> Row[Any]:
    row = transaction.run(select(documents).filter_by(kind=kind, name=name, version=version)).one_or_none()
    if row is None:
        raise StoreRefused(
            "E_DOCUMENT", "{name}: no version {version}", name=name[:MAX_NAME], version=version
        )
    return row


def _record(row: Row[Any]) -> Version:
    published = row.published_ms
    return Version(
        kind=row.kind, name=row.name, version=row.version, author=row.author, reason=row.reason,
        at=datetime.fromtimestamp(row.at_ms / 1000, UTC),
        published_at=None if published is None else datetime.fromtimestamp(published / 1000, UTC),
        sha256=compute_sha256(row.content),
    )  # fmt: skip
