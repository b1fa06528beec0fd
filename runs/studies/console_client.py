"""A client of the console's websocket without a browser, which speaks the protocol of Streamlit's page.

It stores the elements and the states of widgets, as the page does, so that a run of the script costs the
server as much as with a browser. It parses messages and renders nothing.
"""

from __future__ import annotations

import json
import shutil
import time
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.client import HTTPMessage
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import ClientConnection, connect

from dialint.app.console.middleware import SESSION_PATH

TIMEOUT_S = 60.0
BUTTONS = ("button", "download_button")
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first is the engine alone, which needs less than half of the CPU time."""


def find_browser() -> str | None:
    """Returns the path of a Chromium, if there is one."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@dataclass
class Run:
    """One run of the script: seconds until the first delta and until it finished, and its messages."""

    first_s: float = 0.0
    seconds: float = 0.0
    elements: list[Element] = field(default_factory=list)
    raw: bytes = b""
    pages: dict[str, str] = field(default_factory=dict)


class ConsoleClient:
    """A browser page on its websocket; several may share `cookies`, as tabs of a browser do."""

    def __init__(self, port: int, cookies: dict[str, str] | None = None) -> None:
        self.port = port
        self.cookies = cookies if cookies is not None else fetch_cookies(port)
        self._connect()

    def _connect(self) -> None:
        self._connection = ExitStack()
        opening = connect(
            f"ws://127.0.0.1:{self.port}/_stcore/stream", origin=f"http://127.0.0.1:{self.port}",  # type: ignore[arg-type]
            additional_headers={"Cookie": join_cookies(self.cookies)}, subprotocols=["streamlit", "x"],  # type: ignore[list-item]
            max_size=2**27, close_timeout=1.0,  # the server may have sent unread messages
        )  # fmt: skip
        self.socket: ClientConnection = self._connection.enter_context(opening)
        self.states: dict[str, WidgetState] = {}
        self.page = ""
        self.pages: dict[str, str] = {}
        """Hashes of pages by address."""
        self.last = Run()

    def load_again(self) -> Run:
        """Reload the page with the current cookies."""
        self.close()
        self._connect()
        return self.run()

    def exchange_ticket(self) -> Run:
        """Exchange the ticket of a sign-in or sign-out for a cookie, as the page's script does."""
        address = f"http://127.0.0.1:{self.port}{SESSION_PATH}"
        headers = {"Cookie": join_cookies(self.cookies), "Origin": f"http://127.0.0.1:{self.port}"}
        body = self.data()["ticket"].encode()
        with urllib.request.urlopen(urllib.request.Request(address, body, headers)) as answer:
            take_cookies(self.cookies, answer.headers)
        return self.load_again()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def run(self, *triggers: WidgetState, page: str | None = None, name: str = "", query: str = "") -> Run:
        """Run the script with one-time `triggers`, at a page given by hash or by the name in its address."""
        message = BackMsg()
        rerun = message.rerun_script
        rerun.query_string = query
        rerun.page_script_hash = self.page if page is None else page
        rerun.page_name = name
        rerun.widget_states.widgets.extend([*self.states.values(), *triggers])
        started_s = time.perf_counter()
        self.socket.send(message.SerializeToString())
        self.last = self._receive(started_s)
        return self.last

    def _receive(self, started_s: float) -> Run:
        run, raw = Run(), []
        while True:
            frame = self.socket.recv(timeout=TIMEOUT_S)
            assert isinstance(frame, bytes)
            raw.append(frame)
            message = ForwardMsg.FromString(frame)
            kind = message.WhichOneof("type")
            if kind == "delta":
                run.first_s = run.first_s or time.perf_counter() - started_s
                if message.delta.HasField("new_element"):
                    run.elements.append(message.delta.new_element)
            elif kind == "new_session":
                self.page = message.new_session.page_script_hash
            elif kind == "navigation":
                self.page = message.navigation.page_script_hash
                run.pages = {
                    (each.url_pathname or each.page_name): each.page_script_hash
                    for each in message.navigation.app_pages
                }
                self.pages |= run.pages
            elif kind == "script_finished" and message.script_finished in (
                ForwardMsg.FINISHED_SUCCESSFULLY,
                ForwardMsg.FINISHED_WITH_COMPILE_ERROR,
            ):
                run.seconds, run.raw = time.perf_counter() - started_s, b"".join(raw)
                return run

    def find(self, kind: str, label: str = "") -> Any:
        """Return the last run's first element of this kind whose label begins with `label`.

        Raises:
            LookupError: there is none.
        """
        for element in self.last.elements:
            if element.WhichOneof("type") == kind:
                widget = getattr(element, kind)
                if getattr(widget, "label", "").startswith(label):
                    return widget
        raise LookupError(f"{kind} {label!r}")

    def has(self, kind: str, label: str = "") -> bool:
        """Return whether the last run has such an element."""
        try:
            self.find(kind, label)
        except LookupError:
            return False
        return True

    def fill(self, label: str, text: str) -> None:
        """Type into a field; it is sent with the next run."""
        widget = self.find("text_input", label)
        self.states[widget.id] = WidgetState(id=widget.id, string_value=text)

    def press(self, label: str) -> Run:
        """Press a button."""
        return self.run(WidgetState(id=self.find("button", label).id, trigger_value=True))

    def go(self, address: str) -> Run:
        """Open a page by its address, as a click in the navigation does, and forget the states of widgets."""
        self.states.clear()
        return self.run(page=self.pages[address])

    def report(self, state: dict[str, Any]) -> Run:
        """Set the state of the page's last component."""
        widget = self.component()
        self.states[widget.id] = WidgetState(id=widget.id, json_value=json.dumps(state))
        return self.run()

    def component(self) -> Any:
        """Return the last component of the last run."""
        components = [
            each.bidi_component for each in self.last.elements if each.WhichOneof("type") == "bidi_component"
        ]
        if not components:
            raise LookupError("no component")
        return components[-1]

    def data(self) -> dict[str, Any]:
        """Return the data of the last component."""
        widget = self.component()
        kind = widget.WhichOneof("data")
        content: dict[str, Any] = json.loads(widget.mixed.json if kind == "mixed" else widget.json)
        return content

    def sign_in(self, name: str, password: str) -> None:
        """Sign in by name and password.

        Raises:
            LookupError: the sign-in failed.
        """
        self.run()
        self.fill("Name", name)
        self.fill("Password", password)
        self.press("Sign in")
        try:
            self.exchange_ticket()
        except LookupError:
            raise LookupError(f"{name} is not signed in") from None
        if not self.has("button", "Sign out"):
            raise LookupError(f"{name} is not signed in")


def join_cookies(cookies: Mapping[str, str]) -> str:
    """Return the Cookie header of these cookies."""
    return "; ".join(f"{name}={value}" for name, value in cookies.items())


def take_cookies(cookies: dict[str, str], headers: HTTPMessage) -> None:
    """Store the cookies that a response sets."""
    for header in headers.get_all("set-cookie", []):
        name, _, value = header.split(";")[0].partition("=")
        cookies[name] = value


def fetch_cookies(port: int) -> dict[str, str]:
    """Return the cookies that the console sets in a new browser."""
    cookies: dict[str, str] = {}
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
        take_cookies(cookies, answer.headers)
    return cookies


def address_of(title: str) -> str:
    """Return the address of a page, relative to that of the console."""
    return title.lower().replace(" ", "-")
