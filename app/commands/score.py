"""``dialint score LOG... --out verdicts.jsonl``: scores logs and writes verdicts and their manifest.

Reads logs and a release; writes the verdicts, ``*.rejects.jsonl`` and ``*.manifest.json`` beside them, or,
without ``--out``, a report on standard output. The same command after a crash resumes the job. Exit codes: 0
done, 1 ``--fail-on`` found something, 2 the input or the options are wrong, 3 too many bad records or
failures, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from dialint.app.scoring.options import ScoreConfig
from dialint.detector.errors import ConfigError

DEFAULT = ScoreConfig()


def score(
    *logs: Annotated[str, Parameter(allow_leading_hyphen=True)],
    config: Annotated[ScoreConfig, Parameter(name="*")] = DEFAULT,
) -> int:
    """Find the errors in dialogue logs.

    Parameters
    ----------
    logs
        Log files, globs, folders, .zip archives, s3://BUCKET/KEY or s3://BUCKET/PREFIX/, or - for standard
        input.
    """
    if unknown := next((log for log in logs if log.startswith("-") and log != "-"), None):
        from difflib import get_close_matches

        app = App()
        app.default(score)
        names = [name for option in app.assemble_argument_collection() for name in option.names]
        near = get_close_matches(unknown.partition("=")[0], names, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ConfigError("E_OPTION", f"unknown option {unknown}{hint}; `dialint score --help` lists all")
    from dialint.app.scoring.loop import run

    return run(logs, config)
