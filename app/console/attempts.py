"""What a button of a page did, told on its next run: done, or refused in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st
from pydantic import ValidationError

from dialint.app.console.messages import explain_as_sentence, explain_validation
from dialint.app.console.notices import hold_notices, set_notice
from dialint.detector.errors import DialintError

EMPTY = "empty fields"
"""In the session: widgets by their key, and the values that they get on the next run."""


def attempt(page: str, work: Callable[[], str], empty: Mapping[str, str | bool] = {}) -> None:
    """Do `work`, which returns what to tell, and run the page again; a refusal is told instead, and leaves
    the form as it was filled. After success the fields of `empty` get the values there, those of an empty
    form."""
    fields: dict[str, str | bool] = st.session_state.setdefault(EMPTY, {})
    with hold_notices(page):
        try:
            set_notice(page, "success", work())
            fields.update(empty)  # in place: no newer click comes between `work` and this
        except ValidationError as error:
            set_notice(page, "error", explain_validation(error))
        except DialintError as refused:
            set_refusal(page, refused)
    st.rerun()


def empty_fields() -> None:
    """Empty the fields of the form that the last run carried out, before the page shows them."""
    fields: dict[str, str | bool] = st.session_state.setdefault(EMPTY, {})
    st.session_state.update(fields)
    fields.clear()


def set_refusal(page: str, refused: DialintError) -> None:
    """Show on the next run of `page` what was refused."""
    set_notice(page, "error", explain_as_sentence(refused))
