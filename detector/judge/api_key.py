"""The API key of a judge's server: from a file or the environment, never from a command line."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dialint.detector.errors import ConfigError

KEY_VARIABLE = "DIALINT_JUDGE_KEY"


def read_key(path: Path | None, option: str) -> tuple[str | None, str | None]:
    """The key of a file, which `option` names, else of the environment variable `KEY_VARIABLE`, if there is
    one; and a note for the user where others may read the file.

    Raises:
        ConfigError: E_OPTION, a file that cannot be read, or what it holds is no key.
    """
    note = None
    if path is None:
        source, text = KEY_VARIABLE, os.environ.get(KEY_VARIABLE, "")
        if not text.strip():
            return None, None
    else:
        source = f"{option} {path}"
        try:
            if path.stat().st_mode & 0o077:
                note = f"{source}: others may read it: chmod 600"
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError("E_OPTION", f"{source}: cannot be read ({type(error).__name__})") from None
    key = text.strip()
    if not re.fullmatch(r"[!-~]{1,4096}", key):
        raise ConfigError("E_OPTION", f"{source}: expected one key on one line, printable and without blanks")
    return key, note
