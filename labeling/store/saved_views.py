"""Searches that an account saved under a name; shared ones are everybody's who may search.

A search is stored as its owner typed it: what it finds is for each reader to see.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from sqlalchemy import delete, or_, select

from dialint.detector.records import Record
from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.schema import saved_views
from dialint.labeling.store.database.transactions import Transaction, read_operation, upsert, write_operation
from dialint.labeling.store.errors import StoreRefused
from dialint.labeling.store.permissions import require_permission
from dialint.labeling.store.records import Name
from dialint.labeling.store.search_plan import Search

MAX_VIEWS = 200
"""Views of one account, and shared views that are listed."""


class SavedView(Record):
    """A search with a name; `account` is its owner."""

    account: str
    name: Annotated[Name, Field(max_length=100)]
    shared: bool = False
    search: Search


@write_operation(repeatable=True)
def save_view(transaction: Transaction, actor: str, name: str, search: Search, *, shared: bool) -> SavedView:
    """Save a search of the actor's, in place of an earlier one of that name.

    Raises:
        NotAllowed: the actor does not review.
        StoreRefused: the actor has `MAX_VIEWS` others.
    """
    require_permission(transaction, actor, "review")
    view = SavedView(account=actor, name=name, shared=shared, search=search)
    own = transaction.run(select(saved_views.c.name).where(saved_views.c.account == actor)).scalars().all()
    if name not in own and len(own) >= MAX_VIEWS:
        raise StoreRefused("E_VIEW", "{n} saved searches are enough; delete one first", n=MAX_VIEWS)
    content = canonical_json(search.model_dump(mode="json", exclude_defaults=True))
    row = {"account": actor, "name": name, "shared": shared, "content": content, "at_ms": transaction.now_ms}
    upsert(transaction, saved_views, row)
    transaction.log(actor, "view.save", name, shared=shared)
    return view


@read_operation
def list_views(transaction: Transaction, actor: str) -> tuple[SavedView, ...]:
    """The actor's own views, then those that others share, by name.

    Raises:
        NotAllowed: the actor does not review.
    """
    require_permission(transaction, actor, "review")
    is_visible = or_(saved_views.c.account == actor, saved_views.c.shared.is_(True))
    query = select(saved_views).where(is_visible).order_by(saved_views.c.name, saved_views.c.account)
    views = []
    for row in transaction.run(query.limit(2 * MAX_VIEWS)):
        search = Search.model_validate_json(row.content)
        views.append(SavedView(account=row.account, name=row.name, shared=row.shared, search=search))
    return tuple(sorted(views, key=lambda view: view.account != actor))


@write_operation(repeatable=True)
def delete_view(transaction: Transaction, actor: str, name: str) -> None:
    """Delete a view of the actor's; nobody deletes those of others.

    Raises:
        NotAllowed: the actor does not review.
    """
    require_permission(transaction, actor, "review")
    its = (saved_views.c.account == actor, saved_views.c.name == name)
    if transaction.run(delete(saved_views).where(*its)).rowcount:
        transaction.log(actor, "view.delete", name)
