"""The look of the console: Streamlit's theme options, light and dark by the system's setting, and its font.

Contrast of text on its background is 4.5 or more in both themes (WCAG AA); a test computes it.
"""

from __future__ import annotations

import json
from pathlib import Path

STATIC = Path(__file__).with_name("static")
"""The icon, and the font: Inter, SIL Open Font License 1.1, from @fontsource-variable/inter 5.3.0."""
STATIC_PATH = "/static-dialint"
"""The path at which the server has them (`dialint.app.console.asgi`)."""
ICON = f"{STATIC_PATH}/favicon.svg"
UNICODE_RANGES = {
    "inter-latin": "U+0000-00FF,U+0131,U+0152-0153,U+02BB-02BC,U+02C6,U+02DA,U+02DC,U+0304,U+0308,U+0329,"
    "U+2000-206F,U+20AC,U+2122,U+2191,U+2193,U+2212,U+2215,U+FEFF,U+FFFD",
    "inter-latin-ext": "U+0100-02BA,U+02BD-02C5,U+02C7-02CC,U+02CE-02D7,U+02DD-02FF,U+0304,U+0308,U+0329,"
    "U+1D00-1DBF,U+1E00-1E9F,U+1EF2-1EFF,U+2020,U+20A0-20AB,U+20AD-20C0,U+2113,U+2C60-2C7F,U+A720-A7FF",
    "inter-cyrillic": "U+0301,U+0400-045F,U+0490-0491,U+04B0-04B1,U+2116",
}

LIGHT = {
    "primaryColor": "#1c5fb0", "backgroundColor": "#ffffff", "secondaryBackgroundColor": "#f3f5f8",
    "textColor": "#1b2430", "borderColor": "#d5dbe3", "linkColor": "#1c5fb0",
}  # fmt: skip
DARK = {
    "primaryColor": "#2a73d1", "backgroundColor": "#12161d", "secondaryBackgroundColor": "#1c222c",
    "textColor": "#e6eaf0", "borderColor": "#343c49", "linkColor": "#8ab8ff",
}  # fmt: skip
CATEGORICAL = ("#1c5fb0", "#c2570c", "#0b7a5b", "#8a3ffc", "#b3141f", "#5a6472")
"""Colours of series in charts, which red-green blindness does not confuse; series are labelled besides."""


def theme_options() -> dict[str, str]:
    """Streamlit's options, by name. Without `theme.base` a browser's preference decides between the two."""
    faces = [
        {
            "family": "Inter", "url": f"{STATIC_PATH}/{name}.woff2", "weight": "100 900", "style": "normal",
            "unicodeRange": unicode_range,
        }
        for name, unicode_range in UNICODE_RANGES.items()
    ]  # fmt: skip
    options = {
        "theme.font": "Inter, sans-serif", "theme.fontFaces": json.dumps(faces), "theme.baseFontSize": "15",
        "theme.baseRadius": "0.4rem", "theme.chartCategoricalColors": json.dumps(CATEGORICAL),
        "theme.showSidebarBorder": "true",
    }  # fmt: skip
    for mode, colors in (("light", LIGHT), ("dark", DARK)):
        options |= {f"theme.{mode}.{name}": value for name, value in colors.items()}
        options[f"theme.{mode}.sidebar.backgroundColor"] = colors["secondaryBackgroundColor"]
    return options
