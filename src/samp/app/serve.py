"""Running the server on a socket until Ctrl-C."""

from __future__ import annotations

import secrets
import socket
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import uvicorn

from samp.app.guard import Guard
from samp.app.server import AppState, make_app

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::", "")
GRACE = 2  # seconds for answers under way when the server is closed


@dataclass(frozen=True)
class Address:
    """Where a server listens, and with which token it is entered."""

    host: str
    port: int
    token: str | None

    @property
    def url(self) -> str:
        """The address to open."""
        host = "127.0.0.1" if self.host in EVERYWHERE else self.host
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{self.port}/" + (f"?token={self.token}" if self.token else "")

    @property
    def hosts(self) -> frozenset[str] | None:
        """The values of `Host` that are ours; None if other names lead here, as they do to all addresses."""
        if self.host in EVERYWHERE:
            return None
        names = {self.host, *LOOPBACK} if self.host in LOOPBACK else {self.host}
        return frozenset(f"[{name}]:{self.port}" if ":" in name else f"{name}:{self.port}" for name in names)


def make_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(24)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens there, on a free port for 0; raise OSError in a sentence if that cannot be."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    own = socket.socket(family, socket.SOCK_STREAM)
    try:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind((host, port))
        own.listen()
    except OSError as error:
        own.close()
        where = f"{host}:{port}"
        raise OSError(f"{where} cannot be listened on ({error.strerror}): choose another `port` or `host`.") from error
    return own


def serve(
    state: AppState, own: socket.socket, address: Address, on_start: Callable[[str], object], *, demo: bool = False
) -> None:
    """Answer requests until the process is told to stop, then cancel the job that runs."""
    warnings.filterwarnings("ignore", module="PIL")  # of large photos and odd tags, which are read all the same
    guard = Guard(address.token, None if demo else address.hosts, framed=demo)
    server = make_server(state, guard)
    on_start(address.url)
    try:
        server.run(sockets=[own])
    except KeyboardInterrupt:
        pass
    finally:
        state.queue.close()


def make_server(state: AppState, guard: Guard) -> uvicorn.Server:
    """Return a server that is ready to run; its log holds nothing, since addresses hold the token."""
    config = uvicorn.Config(
        make_app(state, guard),
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        http="h11",
        server_header=False,
        timeout_graceful_shutdown=GRACE,
    )
    server = uvicorn.Server(config)
    state.closing = lambda: server.should_exit
    return server
