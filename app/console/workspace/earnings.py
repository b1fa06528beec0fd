"""What a labeler has earned in a project, for that labeler alone: a counter that goes up by one with each
answer in the main queue, whether its task was a control task or not."""

from __future__ import annotations

from dialint.app.console.i18n import _, show_money, show_number
from dialint.app.console.workspace.page_session import PageSession
from dialint.labeling.store.own_work import count_own_answers


def earnings_text(session: PageSession) -> str:
    """The counter of the session's project; empty where a page shows none, or nothing is paid."""
    pay = session.pay
    if pay is None or session.project is None:
        return ""
    n = count_own_answers(session.store, session.account.id, session.project)
    text = _("Your pay in this project, which only you see: {n} × {amount} = {total}.")
    return text.format(
        n=show_number(n), amount=show_money(pay.amount, pay.currency),
        total=show_money(pay.amount * n, pay.currency),
    )  # fmt: skip
