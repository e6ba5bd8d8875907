"""A Ray to work on: one that runs already, a cluster's, or our own, which hears this machine alone and tells nobody.

Ray reads these settings when it is imported or started, so they are made here, before.
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

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # no statistics leave the machine
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # workers without a GPU of their own see all, as --device says which
}
# Ray's name for "this machine's address is 127.0.0.1": its default on a Mac. Elsewhere every server of a local Ray
# would listen to the whole network.
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
# A Ray of our own obeys nobody without this token, which is of this process and lies on no disk: whoever else has an
# account on the machine could reach the loopback address and have his code run. (Ray has tokens since 2.52, and since
# 2.59 asks for one by itself, which it writes into the home folder where others may read it.)
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
PATIENCE = 5.0  # seconds, in which the workers of a run just ended may still be leaving


@contextmanager
def ray_session(workers: Workers) -> Iterator[Any]:
    """The module ray, connected; what was started for this is shut down behind it."""
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
    local = {"num_cpus": _cpus(workers), "include_dashboard": False}
    with _silence_stderr(), _keep_signal_handlers():
        ray.init(
            address=workers.address or "local",
            log_to_driver=False,
            logging_level=logging.ERROR,
            **({} if workers.address else local),
        )
    if workers.address is None:
        check_loopback(ray)
        check_token(ray)
        check_gpus(ray, workers)


@contextmanager
def _ray_data_settings(ray: Any) -> Iterator[None]:
    """Ray Data as we want it, and afterwards as it was: the program may have work of its own for it."""
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
    """Ray and its data library, imported quiet, and deaf to the network and to strangers if it is to be local.

    Where a program has imported Ray before us, its constant is set, which it made of its environment by then.
    """
    for name, value in {**QUIET, **(LOOPBACK if local else {})}.items():
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
    """Our own token for a Ray of our own; that of a cluster is the user's to give. What the user has set holds."""
    if not local:
        if os.environ.get("RAY_AUTH_TOKEN") == TOKEN["RAY_AUTH_TOKEN"]:  # of a local Ray before
            for name in TOKEN:
                os.environ.pop(name, None)
        return
    if "ray" not in sys.modules:  # else it knows its mode already; since 2.59 it is this one
        os.environ.setdefault("RAY_AUTH_MODE", TOKEN["RAY_AUTH_MODE"])
    if "RAY_AUTH_TOKEN_PATH" not in os.environ:
        os.environ.setdefault("RAY_AUTH_TOKEN", TOKEN["RAY_AUTH_TOKEN"])


def check_token(ray: Any) -> None:
    """A Ray of our own that strangers could use is not used, unless the user said so."""
    raylet: Any = import_module("ray._raylet")  # compiled, so there are no types to check it by
    disabled = raylet.get_authentication_mode() == raylet.AuthenticationMode.DISABLED
    if disabled and os.environ.get("RAY_AUTH_MODE") != "disabled":
        raise RuntimeError(
            f"this Ray ({ray.__version__}) was imported without token authentication, so others on this machine could "
            "use it: set RAY_AUTH_MODE=token in the environment first (or =disabled, if that is meant)."
        )


def check_loopback(ray: Any) -> None:
    """A Ray of our own that would listen to the network after all is not used."""
    place = ray.util.get_node_ip_address()
    if not place.startswith("127.") and place != "::1":
        raise RuntimeError(
            f"this version of Ray ({ray.__version__}) would listen to the network at {place}: start one as you want it "
            "by `ray start` and give its `address`, or leave out `workers`."
        )


def check_gpus(ray: Any, workers: Workers) -> None:
    """Workers that no GPU is left for would wait for ever. (A cluster may yet grow.)"""
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
    """How many of the workers can start now and leave a CPU to read with; a warning where these are not all.

    Of a pool that is to have all at once, the first would take the CPUs, and none could read for them.
    """
    until = time.monotonic() + PATIENCE
    while (
        found := fitting_workers(ray.available_resources(), workers)
    ) < workers.concurrency and time.monotonic() < until:
        time.sleep(0.1)
    if found < workers.concurrency:
        free = ray.available_resources()
        there = " and ".join(
            f"{free.get(kind, 0):g} {kind}s" for kind in ("CPU", "GPU")[: 1 + bool(workers.gpus_per_worker)]
        )
        goes_on = "it goes on with these, and takes more as they can be had" if found else "it waits"
        warnings.warn(
            f"Ray has {there} free, which is room for {found} of the run's {workers.concurrency} workers beside a CPU "
            f"to read with: {goes_on}.",
            stacklevel=2,
        )
    return found


def fitting_workers(free: Mapping[str, float], workers: Workers) -> int:
    """How many workers have room in what is free, beside one CPU to read with.

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
    """How many workers share one GPU."""
    return int(1 / workers.gpus_per_worker + 1e-9)


@contextmanager
def _keep_signal_handlers() -> Iterator[None]:
    """What this program does about SIGTERM stays, where Ray would put its own in place."""
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
    """Without what Ray's native part says on stderr while it starts; what goes wrong is raised all the same."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _cpus(workers: Workers) -> int:
    """Room for every worker and for one reader beside them, however few cores there are."""
    return max(os.cpu_count() or 1, round(workers.count * workers.cpus_per_worker + 0.5) + 1)
