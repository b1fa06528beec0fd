"""Recognises identifiers of devices and online accounts: MAC, IMEI, API keys, wallets, handles, profiles.

What has a checksum or a fixed shape needs no cue; a handle needs a platform or a word such as "my" before it,
so that a company's own handle in an agent's turn stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dialint.detector.masking.lexicon import words
from dialint.detector.masking.spans import Entity, Kind, View

_MAC = re.compile(
    r"(?<![\w:-])(?=[\d:.-]{0,16}[a-f])(?:[0-9a-f]{2}([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2}){4}|[0-9a-f]{4}(?:\.[0-9a-f]{4}){2})(?![\w:-])"
)
_IMEI = re.compile(
    r"(?<!\w)(?:imei|meid|esn|iccid|imsi|eid)(?!\w)[^\d\n]{0,24}(?P<value>\d(?:[ -]?\d){13,31})(?![\w-])"
)
_API_KEY = re.compile(
    r"(?<![\w-])(?:[srpa]k[-_](?:live|test|proj|ant|or|svcacct)?[-_]?[\w-]{16,200}|(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}|"
    r"gh[pousr]_\w{20,255}|github_pat_\w{20,255}|glpat-[\w-]{16,64}|xox[abeoprs]-[\w-]{10,250}|"
    r"AIza[\w-]{30,45}|hf_\w{20,64}|npm_\w{30,64}|SG\.[\w-]{16,64}\.[\w-]{16,128}|ya29\.[\w-]{20,300}|"
    r"eyJ[\w-]{8,4000}\.[\w-]{2,4000}(?:\.[\w-]{2,4000})?)(?![\w-])"
)
"""Of OpenAI, Anthropic, Stripe, Amazon, GitHub, GitLab, Slack, Google, Hugging Face, npm, SendGrid; JSON Web
Tokens."""
_CUED_KEY = re.compile(
    r"(?<!\w)(?:(?:api|access|secret|private|licen[cs]e|client|auth|bearer)[ _-]?(?:key|token|secret)|bearer|"
    r"api-?(?:schlüssel|ключ)|clave (?:de )?api|clé (?:d')?api|ключ api)(?!\w)[^\w\n]{0,4}"
    r"(?:(?:is|ist|es|est|это)[^\w\n]{1,3})?"
    r"(?P<value>(?=[\w.~+/-]{0,63}\d)(?=[\w.~+/-]{0,63}[a-z])[\w.~+/-]{16,400}=*)"
)
_WALLET = re.compile(
    r"(?<!\w)(?:0x[0-9a-fA-F]{40}|(?:bc1|BC1)[ac-hj-np-zAC-HJ-NP-Z02-9]{11,71}|[13][a-km-zA-HJ-NP-Z1-9]{25,34})(?!\w)"
)
_PLATFORM = (
    r"insta(?:gram)?|ig|twitter|tik ?tok|telegram|tg|snap(?:chat)?|facebook|fb|discord|skype|wechat|line id|"
    r"linkedin|github|reddit|mastodon|bluesky|threads|youtube|paypal|venmo|cash ?app|steam|twitch|"
    r"user ?name|login|nick(?:name)?|handle|benutzername|usuario|identifiant|"
    r"pseudo|логин|ник|инстаграм|телеграм"
)
_HANDLE = re.compile(
    rf"(?<!\w)(?:{_PLATFORM})(?!\w)"
    r"(?:[\s:=,(\"'-]|is|as|ist|es|est|это|name|id|account|handle|profile|under|my|me|at){0,8}?"
    r"(?P<value>@[a-z0-9_](?:[\w.-]{1,38}\w)?|(?:live:)?[a-z0-9_][\w.-]{1,30}#\d{4}|live:[\w.-]{2,40}\w|"
    r"(?<=[\s:=(\"'])(?=[\w.-]{0,30}(?:[\d_]|\.\w))[a-z][\w.-]{4,30}\w)(?![\w@])"
)
_OWN_HANDLE = re.compile(
    r"(?<!\w)(?:i'm|i am|my \w{2,12}(?: is)?|(?:dm|add|find|follow|message) me(?: at)?|me at|yo soy|"
    r"ich bin|je suis|я)[\s:,]{1,2}"
    r"(?P<value>@[a-z0-9_](?:[\w.]{0,38}\w)?)(?![\w@])"
)
_PROFILE = re.compile(
    r"(?<![\w.])(?:https?://)?(?:www\.|m\.)?(?:t\.me|instagram\.com|twitter\.com|x\.com|facebook\.com|fb\.com|"
    r"tiktok\.com|snapchat\.com/add|linkedin\.com/in|github\.com|wa\.me|vk\.com|paypal\.me|cash\.app)/"
    r"(?P<value>[@$+]?[\w.-]{3,60}\w)(?!\w)"
)
_NO_HANDLES = words(
    "support help share sharer login privacy terms about watch reel explore hashtag intent search settings"
)


def find(view: View, before: str) -> Iterator[Entity]:
    """MAC addresses, device numbers, API keys, wallets, handles and profile links in `view`."""
    low = view.low
    for match in _API_KEY.finditer(view.text):
        if any(char.isdigit() for char in match[0]):
            yield Entity(match.start(), match.end(), "SECRET", match[0])
    for match in _WALLET.finditer(view.text):
        if match[0][0] not in "13" or _is_bitcoin(match[0]):
            yield Entity(match.start(), match.end(), "ACCOUNT", match[0])
    for pattern, kind in _PATTERNS:
        for match in pattern.finditer(low):
            group = "value" if "value" in pattern.groupindex else 0
            if match[group].lstrip("@") not in _NO_HANDLES:
                yield Entity(
                    match.start(group),
                    match.end(group),
                    kind,
                    match[group].lstrip("@").translate(_SEPARATORS),
                )


_PATTERNS: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (_MAC, "DEVICE"),
    (_IMEI, "DEVICE"),
    (_CUED_KEY, "SECRET"),
    (_PROFILE, "ACCOUNT"),
    (_HANDLE, "ACCOUNT"),
    (_OWN_HANDLE, "ACCOUNT"),
)
_SEPARATORS = {ord(char): None for char in " :-"}


def _is_bitcoin(text: str) -> bool:
    from stdnum import bitcoin

    return bool(bitcoin.is_valid(text))
