"""What watching costs: a job of `samp app` over the work of `samp explain` for the same photo, model and method.

The model is loaded before, on both sides. `samp explain` then reads the photo, predicts, explains, asks the model about
the region and makes the picture; a job of the app does the same and draws every step. The job is sent to a real server
and its events are read as a page reads them. Runs alternate, so that a machine that slows down slows both.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection

from samp.app.guard import Guard
from samp.app.limits import Limits
from samp.app.nets import Nets, OfferedModel
from samp.app.serve import Address, listen, make_server, make_token
from samp.app.server import AppState
from samp.cli.explain import PhotoExplainer
from samp.cli.progress import EvaluationBar
from samp.html.explanation_file import explanation_file
from samp.images import example_photo
from samp.methods import resolve_method
from samp.models import Classifier, efficientnet_lite0
from samp_lab.bench.machine import describe_machine

MODEL = "efficientnet_lite0"


@dataclass(frozen=True)
class Watched:
    """Seconds of one pair of runs: `samp explain`, and the app to its first frame, first result and final result."""

    explain: float
    first_frame: float
    first_result: float
    final: float


def measure(method: str, repeats: int) -> list[Watched]:
    """Return this many pairs of runs, after one that is not counted."""
    classifier = efficientnet_lite0()
    with _serve(classifier) as (port, token):
        pairs = [(_explain(classifier, method), *_watch(port, token, method)) for _ in range(repeats + 1)]
    return [Watched(*pair) for pair in pairs[1:]]


def table(method: str, runs: Sequence[Watched]) -> str:
    """Return the medians as Markdown, with the machine below them.

    >>> print(table("consensus", [Watched(2.0, 0.5, 1.0, 2.2)]).splitlines()[2])
    | consensus | 2.00 | 0.50 | 1.00 | 2.20 | **1.10** (1.10–1.10) |
    """

    def median(name: str) -> str:
        return f"{statistics.median(getattr(run, name) for run in runs):.2f}"

    ratios = [run.final / run.explain for run in runs]
    cells = [method, *map(median, ("explain", "first_frame", "first_result", "final"))]
    ratio = f"**{statistics.median(ratios):.2f}** ({min(ratios):.2f}–{max(ratios):.2f})"
    head = (
        "| method | `samp explain` s | first frame s | first result s | final result s | final over explain (range) |"
    )
    return "\n".join(
        [head, "|---|---|---|---|---|---|", f"| {' | '.join([*cells, ratio])} |", "", describe_machine("cpu")]
    )


@contextmanager
def _serve(classifier: Classifier) -> Iterator[tuple[int, str]]:
    """Yield port and token of a server that offers this model."""
    own, token = listen("127.0.0.1", 0), make_token()
    address = Address("127.0.0.1", own.getsockname()[1], token)
    state = AppState.open(Nets({MODEL: OfferedModel(lambda: classifier, "")}), Limits())
    server = make_server(state, Guard(token, address.hosts))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [own]}, daemon=True)
    thread.start()
    try:
        yield address.port, token
    finally:
        server.should_exit = True
        thread.join()
        state.queue.close()
        own.close()


def _explain(classifier: Classifier, method: str) -> float:
    explainer = PhotoExplainer(classifier, resolve_method(method), seed=0, target=None, top=1)
    started = time.perf_counter()
    with EvaluationBar(1) as bar:
        explanation_file(explainer.explain(example_photo(), bar, "photo", None), "png")
    return time.perf_counter() - started


def _watch(port: int, token: str, method: str) -> tuple[float, float, float]:
    """Return the seconds from the request to the first frame, the first result and the final one."""
    asked, headers = json.dumps({"photo": "coffee", "methods": [method]}), {"X-Samp-Token": token}
    seconds: dict[str, float] = {}
    started = time.perf_counter()
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("POST", "/api/jobs", asked, headers)
    job = json.load(connection.getresponse())["job"]
    connection.request("GET", f"/api/jobs/{job}/events", headers=headers)
    for line in connection.getresponse():
        event = json.loads(line)
        seconds.setdefault(event["type"], time.perf_counter() - started)
        if event["type"] == "result" and event["result"]["final"]:
            seconds["final"] = time.perf_counter() - started
    connection.close()
    if "final" not in seconds:
        raise RuntimeError(f"the job of the benchmark ended without a result: {event}")
    return seconds.get("frame", seconds["result"]), seconds["result"], seconds["final"]
