"""A run in one process: the next shard is read and the last one written while this one is explained."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

import small_runs
from samp.atomic import UnwritableError
from samp.batch import BrokenRunError, run
from samp.batch.explainer import BatchExplainer
from samp.batch.preprocess import stack_inputs
from samp.batch.shards import Shards
from samp.batch.sources import Folder
from samp.models import Classifier
from small_runs import same

SHARD, PATIENCE = 3, 600.0  # seconds, after which a thread that waits for another has waited in vain


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return small_runs.photos(tmp_path / "data", 3 * SHARD)


def run_over(data: Any, out: Path, **words: Any) -> Any:
    return run(data, out=out, **{"model": small_runs.classifier(), "method": "ig", "shard_size": SHARD, **words})


def test_a_shard_is_explained_while_the_next_is_read_and_the_last_is_written(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Explaining the second waits for a photo of the third; writing the first waits until the second is explained."""
    read, explained = threading.Event(), threading.Event()
    plain_read, plain_explain, plain_write = Folder.read, BatchExplainer.explain, Shards.write
    waited: list[bool] = []

    def reading(self: Folder, entry: Any) -> Any:
        if int(Path(entry.id).stem[-2:]) >= 2 * SHARD:
            read.set()
        return plain_read(self, entry)

    def explaining(self: BatchExplainer, samples: Any) -> Any:
        second = samples[0].id == names[SHARD]
        waited.extend([read.wait(PATIENCE)] if second else [])
        made = plain_explain(self, samples)
        explained.set() if second else None
        return made

    def writing(self: Shards, shard: int, *given: Any) -> Any:
        waited.extend([explained.wait(PATIENCE)] if shard == 0 else [])
        return plain_write(self, shard, *given)

    names = [path.name for path in sorted(data.iterdir())]
    run_over(data, tmp_path / "plain")
    for owner, name, change in (
        (Folder, "read", reading),
        (BatchExplainer, "explain", explaining),
        (Shards, "write", writing),
    ):
        monkeypatch.setattr(owner, name, change)
    assert run_over(data, tmp_path / "out").code == 0
    assert waited == [True, True]
    same(tmp_path / "out", tmp_path / "plain")


def test_a_data_set_of_the_users_is_read_by_the_thread_that_made_it(tmp_path: Path) -> None:
    """It may hold a connection or a file that bears no other."""

    class Shy:
        readers: ClassVar[set[str]] = set()

        def __len__(self) -> int:
            return 2 * SHARD

        def __getitem__(self, place: int) -> Image.Image:
            if place >= len(self):
                raise IndexError
            self.readers.add(threading.current_thread().name)
            return Image.new("RGB", (20, 20), (40 * place, 0, 0))

    assert run_over(Shy(), tmp_path / "out").code == 0
    assert Shy.readers == {threading.main_thread().name}


def test_what_was_explained_before_a_device_is_lost_is_counted(data: Path, tmp_path: Path) -> None:
    lost = small_runs.Lost(tmp_path / "marker", after=SHARD + 1)  # one more for the blank that a net is tried on
    model = Classifier(lost.eval(), "lost", small_runs.SIDE, 0.5, 0.5, small_runs.CLASSES)
    with pytest.raises(BrokenRunError, match="the device is lost") as broken:
        run_over(data, tmp_path / "out", model=model)
    assert broken.value.summary.explained == SHARD


def test_a_full_disk_ends_the_run_and_all_its_threads(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise UnwritableError("there is no room", full=True)

    monkeypatch.setattr(Shards, "write", full)
    before = set(threading.enumerate())
    summary = run_over(data, tmp_path / "out")
    assert len(summary.lost) == 3
    assert not set(threading.enumerate()) - before


def test_warnings_of_pillow_are_not_shown_and_the_users_filters_stay(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Image.new("RGB", (100, 100)).save(data / "large.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 9_000)
    before = list(warnings.filters)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert run_over(data, tmp_path / "out").code == 0
    assert not [w for w in seen if "PIL" in w.filename]
    assert list(warnings.filters) == before


@pytest.mark.parametrize("channels", ["rgb", "bgr", "grey"])
def test_photos_are_fed_together_as_they_would_be_alone(channels: str) -> None:
    classifier = Classifier(nn.Identity(), "net", 6, 0.4, 0.3, (), channels=channels)
    drawn = np.random.default_rng(0).integers(0, 256, (3, 9, 7, 3), dtype=np.uint8)
    photos = [Image.fromarray(one) for one in drawn]
    alone = torch.cat([classifier.prepare(photo) for photo in photos])
    cut = [np.asarray(classifier.crop(photo)) for photo in photos]
    assert torch.equal(stack_inputs(cut, classifier, torch.empty(0)), alone)
    mixed: Tensor = stack_inputs([cut[0], alone[1].numpy()], classifier, torch.empty(0, dtype=torch.float64))
    assert torch.equal(mixed, alone[:2].double())
