"""What a button of a page did, told on its next run: done, or refused in one sentence."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from pydantic import ValidationError

from dialint.app.console.messages import explain_as_sentence, explain_validation
from dialint.app.console.notices import hold_notices, set_notice
from dialint.detector.errors import DialintError


def attempt(page: str, work: Callable[[], str]) -> None:
    """Do `work`, which returns what to tell, and run the page again; a refusal is told instead."""
    with hold_notices(page):
        try:
            set_notice(page, "success", work())
        except ValidationError as error:
            set_notice(page, "error", explain_validation(error))
        except DialintError as refused:
            set_refusal(page, refused)
    st.rerun()


def set_refusal(page: str, refused: DialintError) -> None:
    """Show on the next run of `page` what was refused."""
    set_notice(page, "error", explain_as_sentence(refused))
