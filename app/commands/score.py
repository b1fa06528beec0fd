"""``dialint score LOG... --out verdicts.jsonl``: the main job, from a log to verdicts and their manifest.

Reads logs and a release; writes the verdicts, ``*.rejects.jsonl`` and ``*.manifest.json`` beside them, or,
without ``--out``, a report on standard output. The same command after a crash resumes the job; without a
model nothing is scored. Exit codes: 0 done, 1 ``--fail-on`` found something, 2 the input or the options are
wrong, 3 too many bad records or failures, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

from typing import Annotated, get_type_hints

from cyclopts import Parameter

from dialint.app.scoring.options import ClusterConfig, ScoreConfig
from dialint.detector.errors import ConfigError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.interface import DetectorConfig
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.watchdog import WatchConfig

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
    for log in logs:
        if log.startswith("-") and log != "-":
            from difflib import get_close_matches

            groups = (ScoreConfig, ReadConfig, DetectorConfig, JudgeConfig, WatchConfig, ClusterConfig)
            names = []
            for group in groups:
                for name, hint in get_type_hints(group, include_extras=True).items():
                    own = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Parameter)]
                    if Parameter(parse=False) not in own:
                        usual = [f"--{name.replace('_', '-')}"]
                        names += [each for parameter in own for each in parameter.name or ()] or usual
            near = get_close_matches(log.partition("=")[0], names, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ConfigError("E_OPTION", f"unknown option {log}{hint}; `dialint score --help` lists all")
    from dialint.app.scoring.loop import run

    return run(logs, config)
