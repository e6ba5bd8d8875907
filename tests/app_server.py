"""The server of `samp app` in a thread of this process, and a client that talks to it over a real socket.

    with running_app() as app:
        job = app.submit(methods=["ig"])
        assert app.follow(job)[-1]["type"] == "done"

Its models are those of `models`: tiny ones, of which `held` waits until a test lets it go on.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import torch
from torch import Tensor, nn

from cli_runs import PATIENCE
from samp.app.guard import Guard
from samp.app.limits import Limits
from samp.app.nets import Nets, OfferedModel
from samp.app.serve import Address, listen, make_server
from samp.app.server import AppState
from samp.models import Classifier, load

TOKEN = "a-token-of-the-tests"


class Held(nn.Module):
    """A small net that counts the rows it is given, and stops before a call of which it was told."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.layer = nn.Linear(3 * 16 * 16, 5)
        with torch.no_grad():
            self.layer.weight.copy_(torch.randn(5, 768, generator=generator) / 20)
            self.layer.bias.zero_()
        self.calls, self.rows = 0, 0
        self.stop_before: int | None = None
        self.reached, self.free = threading.Event(), threading.Event()

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.rows += len(x)
        if self.stop_before is not None and self.calls >= self.stop_before:
            self.reached.set()
            assert self.free.wait(PATIENCE)
        scores: Tensor = self.layer(x.flatten(1)).tanh() * 3
        return scores

    def hold(self, before: int) -> None:
        """Stop before this call from now on, until `let_go`."""
        self.calls, self.rows = 0, 0
        self.reached.clear()
        self.free.clear()
        self.stop_before = before

    def wait_until_held(self) -> None:
        assert self.reached.wait(PATIENCE)

    def let_go(self) -> None:
        self.stop_before = None
        self.free.set()


class Raising(nn.Module):
    """A net that works once, for the prediction, and raises from then on."""

    def forward(self, x: Tensor) -> Tensor:
        if torch.is_grad_enabled() and x.requires_grad:
            raise LookupError("the third layer\nis missing")
        return x.flatten(1)[:, :3]


CLASSES = ("espresso", "cup", "coffee mug", "dog", "Egyptian cat")


def models() -> dict[str, OfferedModel]:
    """The models of the tests by name; each is made when it is first used."""

    def held() -> Classifier:
        return Classifier(Held().eval(), "held", 16, 0.5, 0.5, CLASSES)

    return {
        "held": OfferedModel(held, "app_server.models()['held'].load()"),
        "other": OfferedModel(held, "app_server.models()['other'].load()"),
        "mnist_slim": OfferedModel(lambda: load("mnist_slim"), "load('mnist_slim')"),
        "raising": OfferedModel(lambda: Classifier(Raising().eval(), "raising", 16, 0.5, 0.5, ()), "raising"),
    }


@dataclass(frozen=True, eq=False)
class Reply:
    """A response that was read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The sentence of a refusal."""
        sentence: str = self.json["error"]
        assert self.status >= 400
        assert "\n" not in sentence
        return sentence


@dataclass(eq=False)
class RunningApp:
    """A server, and a visitor of it who has its token."""

    state: AppState
    port: int
    token: str | None
    taken: list[HTTPConnection] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/" + (f"?token={self.token}" if self.token else "")

    @property
    def held(self) -> Held:
        """The net of the model `held`."""
        net = self.state.nets.get("held").net
        assert isinstance(net, Held)
        return net

    def open(self, method: str, path: str, body: object = None, headers: Mapping[str, str] = {}) -> HTTPResponse:
        """Send a request with the token; a dict goes as JSON, bytes and iterators as they are."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        own = {"X-Samp-Token": self.token} if self.token else {}
        content: Any = json.dumps(body).encode() if isinstance(body, dict) else body
        connection.request(method, path, content, {**own, **headers})
        self.taken.append(connection)
        return connection.getresponse()

    def call(self, method: str, path: str, body: object = None, headers: Mapping[str, str] = {}) -> Reply:
        response = self.open(method, path, body, headers)
        reply = Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        response.close()
        return reply

    def submit(self, photo: str = "coffee", model: str = "held", **asked: Any) -> str:
        reply = self.call("POST", "/api/jobs", {"photo": photo, "model": model, **asked})
        assert reply.status == 200, reply.body
        job: str = reply.json["job"]
        return job

    def events(self, job: str, after: int = 0) -> Iterator[dict[str, Any]]:
        """The events as they come; to end early, close the iterator."""
        response = self.open("GET", f"/api/jobs/{job}/events?after={after}")
        assert response.status == 200
        try:
            for line in response:
                yield json.loads(line)
        finally:
            response.close()

    def follow(self, job: str, after: int = 0) -> list[dict[str, Any]]:
        """All events, when the last has come."""
        return list(self.events(job, after))

    def describe(self, job: str) -> dict[str, Any]:
        described: dict[str, Any] = self.call("GET", f"/api/jobs/{job}").json
        return described


@contextmanager
def running_app(
    limits: Limits | None = None,
    *,
    offered: Mapping[str, OfferedModel] | None = None,
    demo: bool = False,
) -> Iterator[RunningApp]:
    """A server on a free port; in the end it is closed as Ctrl-C closes it."""
    own = listen("127.0.0.1", 0)
    address = Address("127.0.0.1", own.getsockname()[1], None if demo else TOKEN)
    state = AppState.open(Nets(models() if offered is None else offered), limits or Limits(), demo=demo)
    server = make_server(state, Guard(address.token, None if demo else address.hosts, framed=demo))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [own]}, daemon=True)
    thread.start()
    app = RunningApp(state, address.port, address.token)
    try:
        yield app
    finally:
        server.should_exit = True
        state.queue.close(patience=0)  # cancels the job that runs, if one does
        held = state.nets.loaded.get("held")
        if held is not None and isinstance(held.net, Held):
            held.net.let_go()
        for connection in app.taken:
            connection.close()
        thread.join(PATIENCE)
        state.queue.thread.join(PATIENCE)
        own.close()
        assert not thread.is_alive()
        assert not state.queue.thread.is_alive()
