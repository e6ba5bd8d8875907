"""Connect to Ray: one that is initialised already, a cluster, or a local one that we start.

A local one listens on the loopback address alone and sends no statistics. Ray reads such settings when it is imported
or started, so they are made here before that.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from samp.batch.workers import Workers
from samp.extras import install_command
from samp.threads import wait_settings

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # no statistics leave the machine
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # without a GPU of its own a worker sees all: `device` may name one
}
# With this, Ray takes 127.0.0.1 for this machine's address, which is its default on a Mac. Elsewhere every server of a
# local Ray would listen on the network.
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
# A local Ray obeys only those who have this token, which belongs to this process and is not on disk: others with an
# account on the machine could reach the loopback address and run code. (Ray has tokens since 2.52, and since 2.59 makes
# one by itself, but writes it into the home folder where others may read it.)
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
STARTS, TOO_SLOW = 3, "timed out during startup"  # Ray gives itself 30 seconds, which a busy machine can exceed
PATIENCE = 5.0  # seconds, in which the workers of a previous run may still be ending


@contextmanager
def ray_session(workers: Workers) -> Iterator[Any]:
    """Yield the module ray, connected; at the end a Ray that was started or connected here is shut down."""
    ray = import_ray(local=workers.address is None)
    if ray.is_initialized():
        with _ray_data_settings(ray):
            yield ray
        return
    try:
        _start(ray, workers)
        with _ray_data_settings(ray):
            yield ray
    finally:
        ray.shutdown()


def _start(ray: Any, workers: Workers) -> None:
    for left in reversed(range(STARTS)):
        try:
            _connect(ray, workers)
            break
        except Exception as error:  # Ray raises no other class
            if not left or TOO_SLOW not in str(error):
                raise
            ray.shutdown()
    if workers.address is None:
        check_loopback(ray)
        check_token(ray)
        check_gpus(ray, workers)


def _connect(ray: Any, workers: Workers) -> None:
    local = {"num_cpus": _cpus(workers), "include_dashboard": False}
    with _silence_stderr(), _keep_signal_handlers():
        ray.init(
            address=workers.address or "local",
            log_to_driver=False,
            logging_level=logging.ERROR,
            **({} if workers.address else local),
        )


@contextmanager
def _ray_data_settings(ray: Any) -> Iterator[None]:
    """Set the options of Ray Data that we need, and restore them: the program may use it for other work."""
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    wanted = {"enable_progress_bars": False, "max_errored_blocks": -1}  # a lost shard is reported; the others go on
    before = {name: getattr(context, name) for name in wanted}
    for name, value in wanted.items():
        setattr(context, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(context, name, value)


def import_ray(local: bool) -> Any:
    """Return the module ray, imported with ray.data: without output, and closed to the network and to others if local.

    If the program has imported Ray before, it has read the environment already; then its constant is set instead.
    Raises ImportError if Ray is not installed.
    """
    ours = {**QUIET, **LOOPBACK, **wait_settings(os.environ)} if local else QUIET  # a local Ray's workers inherit them
    for name, value in ours.items():
        os.environ.setdefault(name, value)
    _choose_token(local)
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ImportError(
            f"workers need Ray, which is not installed: {install_command('scale')}, or leave out `workers`."
        ) from error
    if local:
        ray._private.ray_constants.ENABLE_RAY_CLUSTER = False
    return ray


def _choose_token(local: bool) -> None:
    """Set our token for a local Ray unless the user has set one, and remove it for a cluster, which has its own."""
    if not local:
        if os.environ.get("RAY_AUTH_TOKEN") == TOKEN["RAY_AUTH_TOKEN"]:  # from an earlier local Ray
            for name in TOKEN:
                os.environ.pop(name, None)
        return
    if "ray" not in sys.modules:  # else it has read its mode already; since 2.59 that is token
        os.environ.setdefault("RAY_AUTH_MODE", TOKEN["RAY_AUTH_MODE"])
    if "RAY_AUTH_TOKEN_PATH" not in os.environ:
        os.environ.setdefault("RAY_AUTH_TOKEN", TOKEN["RAY_AUTH_TOKEN"])


def check_token(ray: Any) -> None:
    """Raise RuntimeError if others could use the local Ray, unless the user has disabled tokens."""
    raylet: Any = import_module("ray._raylet")  # compiled, without types
    disabled = raylet.get_authentication_mode() == raylet.AuthenticationMode.DISABLED
    if disabled and os.environ.get("RAY_AUTH_MODE") != "disabled":
        raise RuntimeError(
            f"this Ray ({ray.__version__}) was imported without token authentication, so others on this machine could "
            "use it: set RAY_AUTH_MODE=token in the environment first (or =disabled, if that is meant)."
        )


def check_loopback(ray: Any) -> None:
    """Raise RuntimeError if the local Ray listens on the network after all."""
    place = ray.util.get_node_ip_address()
    if not place.startswith("127.") and place != "::1":
        raise RuntimeError(
            f"this version of Ray ({ray.__version__}) would listen to the network at {place}: start one as you want it "
            "by `ray start` and give its `address`, or leave out `workers`."
        )


def check_gpus(ray: Any, workers: Workers) -> None:
    """Raise ValueError if there are fewer GPUs than workers need: they would wait for ever. (A cluster may grow.)"""
    if not workers.gpus_per_worker:
        return
    there = int(ray.cluster_resources().get("GPU", 0))
    most = there * _workers_per_gpu(workers)
    if workers.count > most:
        raise ValueError(
            f"Ray finds {there} GPUs here, enough for {most} workers with {workers.gpus_per_worker:g} each, not for "
            f"{workers.count}: give fewer workers, or a smaller part of a GPU to each."
        )


def startable_workers(ray: Any, workers: Workers) -> int:
    """Return how many of the workers can start now and leave a CPU for reading; warn if that is not all of them.

    If Ray started all at once, the first ones would take every CPU, and nothing could be read for them.
    """
    until = time.monotonic() + PATIENCE
    fitting = fitting_workers(ray.available_resources(), workers)
    while fitting < workers.concurrency and time.monotonic() < until:
        time.sleep(0.1)
        fitting = fitting_workers(ray.available_resources(), workers)
    if fitting < workers.concurrency:
        resources, kinds = ray.available_resources(), ("CPU", "GPU") if workers.gpus_per_worker else ("CPU",)
        free = " and ".join(f"{resources.get(kind, 0):g} {kind}s" for kind in kinds)
        goes_on = "it goes on with these, and takes more as they can be had" if fitting else "it waits"
        warnings.warn(
            f"Ray has {free} free, which is room for {fitting} of the run's {workers.concurrency} workers beside a CPU "
            f"to read with: {goes_on}.",
            stacklevel=2,
        )
    return fitting


def fitting_workers(free: Mapping[str, float], workers: Workers) -> int:
    """Return how many workers have room in the free resources, beside one CPU for reading.

    >>> fitting_workers({"CPU": 4.0}, Workers(8))
    3
    >>> fitting_workers({"CPU": 4.0, "GPU": 1.0}, Workers(8, gpus_per_worker=0.5))
    2
    """
    cpus, gpus = free.get("CPU", 0.0) - 1, int(free.get("GPU", 0.0))
    by_cpu = int(cpus / workers.cpus_per_worker + 1e-9) if workers.cpus_per_worker else workers.concurrency
    by_gpu = gpus * _workers_per_gpu(workers) if workers.gpus_per_worker else workers.concurrency
    return max(min(by_cpu, by_gpu, workers.concurrency), 0)


def _workers_per_gpu(workers: Workers) -> int:
    """Return how many workers share one GPU."""
    return int(1 / workers.gpus_per_worker + 1e-9)


@contextmanager
def _keep_signal_handlers() -> Iterator[None]:
    """Restore the program's handler of SIGTERM, which Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


@contextmanager
def _silence_stderr() -> Iterator[None]:
    """Drop what Ray's native code prints on stderr while it starts; errors are raised all the same."""
    sys.stderr.flush()
    stderr = os.dup(2)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)


def _cpus(workers: Workers) -> int:
    """Return how many CPUs a local Ray is given: room for every worker and a reader, however few cores there are."""
    return max(os.cpu_count() or 1, round(workers.count * workers.cpus_per_worker + 0.5) + 1)
