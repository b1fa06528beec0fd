"""The look: contrast of both themes, and texts of the screens in every language."""

import re
import tomllib
from functools import cache
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.extract import extract, extract_from_dir
from babel.messages.pofile import read_po
from extract_texts import extract_calls

from dialint.app.console.i18n import LOCALES
from dialint.app.console.launch import SETTINGS

AA = 4.5
ROOT = Path(__file__).parents[3]


def luminance(color: str) -> float:
    """Relative luminance by WCAG 2.2."""
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_and_links_can_be_read_on_both_backgrounds(mode: str) -> None:
    colors = tomllib.loads(SETTINGS.read_text())["theme"][mode]
    for background in ("backgroundColor", "secondaryBackgroundColor"):
        for text in ("textColor", "linkColor"):
            assert contrast(colors[text], colors[background]) >= AA, (text, background)
    assert contrast("#ffffff", colors["primaryColor"]) >= AA  # the label of a primary button


@cache
def messages() -> set[str]:
    """All texts of the screens and of the errors that reach them, as `make translations` finds them."""
    mappings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["babel"]["mappings"]
    methods = [(pattern, each["method"]) for each in mappings for pattern in each["pattern"]]
    extracted = extract_from_dir(ROOT, methods, {}, keywords={"_": None, "N_": None, "ngettext": (1, 2)})
    return {message[0] if isinstance(message, tuple) else message for _, _, message, _, _ in extracted}


def test_texts_inside_of_f_strings_are_extracted_and_texts_that_are_f_strings_are_refused() -> None:
    keywords = {"_": None, "ngettext": (1, 2)}
    code = b"""show(f"**{safe(_('Agents'))}**", _(name), ngettext("{n} turn", "{n} turns", len(turns)))"""
    texts = {message for _line, message, *_rest in extract(extract_calls, BytesIO(code), keywords)}
    assert texts == {"Agents", ("{n} turn", "{n} turns")}
    with pytest.raises(SyntaxError, match="literal"):
        list(extract(extract_calls, BytesIO(b"_(f'{n} turns')"), keywords))


def test_the_texts_of_errors_are_extracted_and_those_no_catalogue_can_hold_are_refused() -> None:
    code = b"""raise StoreRefused("E_X", "{n} of them", n=3); raise Conflict("saved by {name}", (), 1, name=who)"""
    texts = {message for _line, message, *_rest in extract(extract_calls, BytesIO(code), {"_": None})}
    assert texts == {"{n} of them", "saved by {name}"}
    code = b"""BadRecord("E_X", path, Message("{n} bytes", n=n), "a text" if n else "a list"); Message("")"""
    texts = {message for _line, message, *_rest in extract(extract_calls, BytesIO(code), {"_": None})}
    assert texts == {"{n} bytes", "a text", "a list"}
    for wrong in (b"""ConfigError("E_X", f"{n} of them")""", b"""NotAllowed("E_X", "no " + what)"""):
        with pytest.raises(SyntaxError, match="literal"):
            list(extract(extract_calls, BytesIO(wrong), {"_": None}))


@pytest.mark.parametrize("language", ["es", "ru"])
def test_every_text_is_translated_with_its_placeholders(language: str) -> None:
    with (LOCALES / f"{language}.po").open("rb") as file:
        catalogue = read_po(file, locale=language)
    translations = {
        message.id[0] if isinstance(message.id, tuple) else message.id: message
        for message in catalogue
        if message.id
    }
    wanted = messages()
    assert not wanted - translations.keys(), "run: make translations"
    assert not translations.keys() - wanted, "run: make translations"
    for name, message in translations.items():
        forms = message.string if isinstance(message.string, tuple) else (message.string,)
        assert all(forms), f"{name!r} is not translated"
        assert not message.fuzzy, name
        for form in forms:
            assert places(form) == places(name), (name, form)


def places(text: str) -> set[str]:
    """The places for values, such as ``{n:,}``, without the plural of English."""
    return set(re.findall(r"\{\w*[^{}]*\}", text)) - {"{plural}"}
