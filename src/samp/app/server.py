"""The app's addresses: what each request is answered with.

The event loop computes nothing: photos are decoded and models asked in threads, and jobs have a thread of their own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from samp import __version__
from samp.app.explaining import compute_job
from samp.app.guard import Guard, GuardedApp, refuse
from samp.app.jobs import Job, JobQueue
from samp.app.limits import BODY, Limits
from samp.app.nets import Nets
from samp.app.page import read_asset, render_app
from samp.app.photos import Photos, clean_name
from samp.app.predictions import describe_prediction
from samp.app.questions import describe_methods, read_question
from samp.app.refusals import EXPECTED, RefusedError, error_sentence
from samp.app.removal import read_mask, remove_region
from samp.app.script import result_script
from samp.html.explanation_file import FORMS, explanation_file
from samp.methods.coupled import QUALITIES

Result = TypeVar("Result")
Answer = Callable[[Request], Awaitable[Response]]
TYPES = {
    "png": "image/png",
    "html": "text/html; charset=utf-8",
    "npz": "application/octet-stream",
    "samp": "application/octet-stream",
    "py": "text/x-python; charset=utf-8",
}
LOOK = 1.0  # seconds after which a stream looks whether the server is being closed
DRAINED = 8  # times the limit: so much of a body that is too long is read, for the browser to hear why it is refused


@dataclass(eq=False)
class AppState:
    """All that a server holds: models, photos and jobs."""

    nets: Nets
    photos: Photos
    queue: JobQueue
    limits: Limits
    device: str = "cpu"
    demo: bool = False
    closing: Callable[[], bool] = lambda: False

    @classmethod
    def open(cls, nets: Nets, limits: Limits, *, device: str = "cpu", demo: bool = False) -> AppState:
        """Return the state of a new server, whose thread waits for jobs."""
        return cls(nets, Photos(limits), JobQueue(partial(compute_job, nets=nets), limits), limits, device, demo)


def make_app(state: AppState, guard: Guard) -> ASGIApp:
    """Return the ASGI app."""
    server = Server(state)
    routes = [
        ("/", server.page, "GET"),
        ("/page/{name}", server.asset, "GET"),
        ("/api/info", server.info, "GET"),
        ("/api/photos", server.add_photo, "POST"),
        ("/api/photos/{photo}", server.photo, "GET"),
        ("/api/predict", server.predict, "POST"),
        ("/api/classes", server.classes, "GET"),
        ("/api/jobs", server.submit, "POST"),
        ("/api/jobs", server.history, "GET"),
        ("/api/jobs/{job}", server.job, "GET"),
        ("/api/jobs/{job}", server.cancel, "DELETE"),
        ("/api/jobs/{job}/events", server.events, "GET"),
        ("/api/jobs/{job}/remove", server.remove, "POST"),
        ("/api/jobs/{job}/export/{file}", server.export, "GET"),
    ]
    app = Starlette(
        routes=[Route(path, answer_errors(answer), methods=[method]) for path, answer, method in routes],
        exception_handlers={404: _not_found, 405: _not_found},
    )
    return GuardedApp(app, guard)


def answer_errors(answer: Answer) -> Answer:
    """Return the same answer, which turns errors into a status and a sentence."""

    async def answer_or_refuse(request: Request) -> Response:
        try:
            return await answer(request)
        except RefusedError as error:
            return refuse(request.url.path, error.status, error.sentence)
        except ClientDisconnect:
            return Response(status_code=400)
        except EXPECTED as error:
            return refuse(request.url.path, 422, error_sentence(error))
        except Exception as error:  # a model of the visitor's raises what it likes
            return refuse(request.url.path, 500, error_sentence(error))

    return answer_or_refuse


class Server:
    """The answers to all requests."""

    def __init__(self, state: AppState) -> None:
        self.state = state
        self.threads: CapacityLimiter | None = None

    async def page(self, request: Request) -> Response:
        return HTMLResponse(await self._in_thread(render_app))

    async def asset(self, request: Request) -> Response:
        asset = await self._in_thread(partial(read_asset, request.path_params["name"]))
        if asset is None:
            raise RefusedError(404, f"the page has no file {request.path_params['name'][:80]!r}.")
        return Response(asset[0], media_type=asset[1])

    async def info(self, request: Request) -> Response:
        state = self.state
        return JSONResponse(
            {
                "version": __version__,
                "demo": state.demo,
                "device": state.device,
                "models": [{"name": name, "label": state.nets.label(name)} for name in state.nets.offered],
                "model": state.nets.default,
                "methods": await self._in_thread(describe_methods),
                "qualities": list(QUALITIES),
                "quality": "standard",
                "limits": {"bytes": state.limits.bytes, "pixels": state.limits.pixels},
                "photos": [photo.describe() for photo in state.photos.embedded.values()],
            }
        )

    async def add_photo(self, request: Request) -> Response:
        if self.state.demo:
            raise RefusedError(403, "this public demo explains its own photos only: install samp to explain yours.")
        name = clean_name(request.headers.get("x-samp-name", ""))
        content = await _read_body(request, self.state.limits.bytes, name)
        if not content:
            raise RefusedError(415, f"{name} is empty: give a whole JPEG or PNG file.")
        photo = await self._in_thread(partial(self.state.photos.add, content, name))
        return JSONResponse(photo.describe())

    async def photo(self, request: Request) -> Response:
        return JSONResponse(self.state.photos.get(request.path_params["photo"]).describe())

    async def predict(self, request: Request) -> Response:
        asked = await _read_json(request)
        photo = self.state.photos.get(asked.get("photo"))
        classify = partial(self.state.nets.classify, asked.get("model", self.state.nets.default), photo)
        return JSONResponse(await self._in_thread(lambda: describe_prediction(classify())))

    async def classes(self, request: Request) -> Response:
        name = request.query_params.get("model", self.state.nets.default)
        find = partial(self.state.nets.find_classes, name, request.query_params.get("q", "")[:200])
        return JSONResponse(
            {"classes": [{"index": index, "label": label} for index, label in await self._in_thread(find)]}
        )

    async def submit(self, request: Request) -> Response:
        question = read_question(await _read_json(request), self.state.photos, self.state.nets)
        job = Job(question)
        self.state.queue.submit(job)
        return JSONResponse({"job": job.id})

    async def history(self, request: Request) -> Response:
        """Answer with all jobs; in public nobody is told of the jobs of others."""
        jobs = [] if self.state.demo else self.state.queue.newest_first()
        return JSONResponse({"jobs": [job.describe() for job in jobs]})

    async def job(self, request: Request) -> Response:
        return JSONResponse(self._job(request).describe())

    async def cancel(self, request: Request) -> Response:
        job = self._job(request)
        self.state.queue.cancel(job)
        return JSONResponse(job.describe())

    async def events(self, request: Request) -> Response:
        job = self._job(request)
        after = request.query_params.get("after", "0")
        if not after.isdecimal():
            raise RefusedError(400, f"after is the number of the last event that was read, not {after[:80]!r}.")
        return StreamingResponse(self._stream(job, int(after)), media_type="application/x-ndjson")

    async def remove(self, request: Request) -> Response:
        job, asked = self._job(request), await _read_json(request)
        question = job.question

        def answer() -> dict[str, Any]:
            target = next((one.explained.classified.targets[0] for one in job.outcomes.values()), question.target)
            classified = self.state.nets.classify(question.model, question.photo, target)
            mask = read_mask(asked.get("mask"), classified.classifier.shape)
            return remove_region(classified, mask, asked.get("fill", "blurred"))

        return JSONResponse(await self._in_thread(answer))

    async def export(self, request: Request) -> Response:
        job, (method, _, form) = self._job(request), request.path_params["file"].rpartition(".")
        if form not in TYPES:
            raise RefusedError(404, f"results are exported as {', '.join(TYPES)}, not as {form[:20]!r}.")
        content = await self._in_thread(partial(self._make_file, job, method, form))
        stem = f"{job.question.photo.name.rpartition('.')[0] or 'photo'}-{method}"
        plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in stem)
        named = f"attachment; filename=\"{plain}.{form}\"; filename*=UTF-8''{quote(f'{stem}.{form}', safe='')}"
        return Response(content, media_type=TYPES[form], headers={"Content-Disposition": named})

    def _make_file(self, job: Job, method: str, form: str) -> bytes:
        outcome, question = job.outcome(method), job.question
        if form in FORMS:
            return explanation_file(outcome.whole(), form)
        (target,) = outcome.explained.classified.targets
        return result_script(question, method, target, self.state.nets.offered[question.model].python).encode()

    def _job(self, request: Request) -> Job:
        return self.state.queue.get(request.path_params["job"])

    async def _stream(self, job: Job, after: int) -> AsyncIterator[bytes]:
        """Yield the job's events as they come, until it has ended or the server is closed."""
        loop, wake = asyncio.get_running_loop(), asyncio.Event()

        def notify() -> None:
            with suppress(RuntimeError):  # the loop may be closed by now
                loop.call_soon_threadsafe(wake.set)

        job.log.listeners.add(notify)
        try:
            while True:
                wake.clear()
                events, ended = job.log.since(after)
                for number, line in events:
                    after = number
                    yield line
                if ended or self.state.closing():
                    return
                with suppress(TimeoutError):
                    await asyncio.wait_for(wake.wait(), LOOK)
        finally:
            job.log.listeners.discard(notify)

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        """Return what the work returns; two at a time, so that many requests cannot crowd out the job that runs."""
        self.threads = self.threads or CapacityLimiter(2)
        return await to_thread.run_sync(work, limiter=self.threads)


async def _read_body(request: Request, most: int, name: str) -> bytes:
    """Return the body; raise RefusedError if it is longer than this, of which nothing is kept."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size <= most:
            parts.append(part)
        elif size > DRAINED * most:
            break
    if size > most:
        raise RefusedError(413, f"{name} has more than {most / 2**20:g} MiB: make it smaller first.")
    return b"".join(parts)


async def _read_json(request: Request) -> dict[str, Any]:
    body = await _read_body(request, BODY, "the request")
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, "the request is no JSON.") from error
    if not isinstance(asked, dict):
        raise RefusedError(400, f"the request is a JSON object, not {type(asked).__name__}.")
    return asked


async def _not_found(request: Request, error: Exception) -> Response:
    return refuse(request.url.path, 404, f"there is nothing at {request.url.path[:80]!r} to {request.method}.")
