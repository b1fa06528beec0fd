"""Checks that a server can listen on an address and a port of this machine."""

from __future__ import annotations

import errno
import socket

from dialint.detector.errors import ConfigError

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def check_port(address: str, port: int, option: str) -> None:
    """Checks that the port is free. `option` is that of the address, for messages.

    Raises:
        ConfigError: E_PORT, with a free port; E_OPTION, the address is not one of this machine.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the servers do
        try:
            listener.bind((address, port))
            return
        except (OSError, OverflowError) as error:
            if getattr(error, "errno", None) not in (errno.EADDRINUSE, errno.EACCES):
                raise ConfigError("E_OPTION", f"{option} {address}: {error}") from None
            why = "is in use" if getattr(error, "errno", None) == errno.EADDRINUSE else "may not be used"
        listener.bind((address, 0))
        free = listener.getsockname()[1]
    raise ConfigError("E_PORT", f"port {port} {why}; `--port {free}` is free")
