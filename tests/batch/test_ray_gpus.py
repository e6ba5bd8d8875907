"""Workers and GPUs, on a Ray that is told it has two: who is given which, and what contradicts itself.

No GPU is needed: the model notes what its worker was given and runs on the CPU.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import small_runs
from samp.batch import Workers, run
from small_runs import same

if not find_spec("ray"):
    pytest.skip("needs Ray: pip install 'samp[scale]'", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    from samp.batch.ray_session import import_ray, ray_session

    before = signal.getsignal(signal.SIGTERM)
    import_ray(local=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_OVERRIDE_RESOURCES", '{"GPU": 2}')
        with ray_session(Workers(2, gpus_per_worker=1)) as ray:
            assert signal.getsignal(signal.SIGTERM) is before  # Ray would put its own in place
            yield ray


@pytest.mark.parametrize("share", [1, 0.5])
def test_each_worker_is_given_its_gpu_and_the_model_goes_to_cuda_there(ray: Any, tmp_path: Path, share: float) -> None:
    data = small_runs.photos(tmp_path / "data", 12)
    model = small_runs.Noting(small_runs.slow(), device="cuda", given={"notes": str(tmp_path / "notes"), "together": 2})
    workers = Workers(2, gpus_per_worker=share)
    assert run(data, out=tmp_path / "out", model=model, method="ig", shard_size=1, workers=workers).code == 0
    notes = [path.read_text().split() for path in (tmp_path / "notes").iterdir()]
    assert [device for device, _ in notes] == ["cuda", "cuda"]
    seen = sorted(visible for _, visible in notes)
    assert seen == ["0", "1"] if share == 1 else set(seen) <= {"0", "1"}
    run(data, out=tmp_path / "one", model=small_runs.slow(), method="ig", shard_size=1)
    same(tmp_path / "out", tmp_path / "one")


@pytest.mark.parametrize(
    ("workers", "most"),
    [(Workers(3, 1), 2), (Workers(5, 0.5), 4), (Workers(3, 0.6), 2), (Workers(7, 1 / 3), 6), (Workers(2, 1), None)],
)
def test_more_workers_than_gpus_are_refused(ray: Any, workers: Workers, most: int | None) -> None:
    from samp.batch.ray_session import check_gpus

    if most is None:
        check_gpus(ray, workers)
        return
    with pytest.raises(ValueError, match=f"Ray finds 2 GPUs here, enough for {most} workers"):
        check_gpus(ray, workers)


def test_ray_data_is_left_as_it_was_for_the_program_that_uses_it(ray: Any) -> None:
    from samp.batch.ray_session import ray_session

    context = ray.data.DataContext.get_current()
    context.max_errored_blocks = 7
    try:
        with ray_session(Workers(2)):
            assert context.max_errored_blocks == -1
        assert context.max_errored_blocks == 7
    finally:
        context.max_errored_blocks = -1
