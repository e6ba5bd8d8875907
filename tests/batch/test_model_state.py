"""A run leaves the user's net as it was, and its rows are the same each time, whatever the net is or does."""

from __future__ import annotations

import random
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import samp
from samp.batch import Model, run
from samp.html.player import page
from samp.models import Classifier
from small_runs import SIDE, classifier, rows


def trained() -> Classifier:
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        layers = [nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.5)]
        net = nn.Sequential(*layers, nn.Linear(4 * (SIDE // 2) ** 2, 3)).train()
    return replace(classifier(), net=net)


class Restless(nn.Module):
    """In evaluation mode too, it draws, counts and writes over its input."""

    def __init__(self) -> None:
        super().__init__()
        self.net = classifier().net
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        noise = torch.rand(1) + random.random() + np.random.rand()
        scores: Tensor = self.net(x.mul_(1 + noise)) + self.calls
        return scores


def state(net: nn.Module) -> dict[str, Any]:
    numbers = {name: value.tolist() for name, value in net.state_dict().items()}
    modes = [module.training for module in net.modules()]
    return {**numbers, "modes": modes, "torch": torch.get_rng_state().tolist(), "python": random.getstate()}


def test_a_net_in_training_mode_stays_as_it_is_and_is_explained_in_evaluation_mode(data: Path, tmp_path: Path) -> None:
    given = trained()
    before = state(given.net)
    with pytest.warns(UserWarning, match=r"in training mode.*a copy of it in evaluation mode is explained"):
        first = run(data, out=tmp_path / "one", model=given, method="ig", shard_size=3)
    with pytest.warns(UserWarning, match="training mode"):
        again = run(data, out=tmp_path / "one", model=given, method="ig", shard_size=3)
    assert (first.explained, again.found) == (7, 7)  # and it is not taken for another net
    assert state(given.net) == before
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given.net.eval()
        run(data, out=tmp_path / "two", model=given, method="ig", shard_size=3)
    assert rows(tmp_path / "one") == rows(tmp_path / "two")


def test_a_net_in_training_mode_that_is_to_be_moved_is_warned_of_too(data: Path, out: Path) -> None:
    with pytest.warns(UserWarning, match="training mode"):
        run(data, out=out, model=Model(trained(), dtype="float64"), method="gradientxinput")


def test_a_net_that_draws_and_writes_gives_the_same_rows_again_and_stays_as_it_is(data: Path, tmp_path: Path) -> None:
    given = replace(classifier(), net=Restless().eval())
    before = state(given.net)
    for name in ("one", "two"):
        run(data, out=tmp_path / name, model=given, method="ig", shard_size=3)
        assert state(given.net) == before
    assert rows(tmp_path / "one") == rows(tmp_path / "two")


def test_the_player_leaves_the_net_as_it_is() -> None:
    given = replace(classifier(), net=Restless().eval())
    x = torch.rand(1, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    before = state(given.net)
    pages = [page(samp.explain(given.net, x, target=1, method="ig", keep_points=True), given) for _ in range(2)]
    assert state(given.net) == before
    assert pages[0] == pages[1]
