"""What a run says of how it was made: another is not mixed into it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import samp
import small_runs
from samp.batch import Model, load, manifest, run
from samp.methods import Consensus, Coupled, SAMPPlusPlus, consensus, coupled
from small_runs import classifier


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        ({"method": "ig"}, "method: Consensus(quality='standard'"),
        ({"seed": 1}, "seed: 0 there, 1 here"),
        ({"target": "bee"}, "target: the data set's, else predicted there, bee here"),
        ({"shard_size": 2}, "shard_size: 128 there, 2 here"),
        ({"map_dtype": "float32"}, "map_dtype: float16 there, float32 here"),
        ({"batch_size": 1}, "batch_size: auto there, 1 here"),
        ({"speed": "fast"}, "speed: exact there, fast here"),
        ({"model": Model(classifier(), dtype="float64")}, "dtype: float32 there, float64 here"),
    ],
)
def test_other_settings_are_not_mixed_in(data: Path, out: Path, changed: dict[str, Any], difference: str) -> None:
    run(data, out=out, model=classifier())
    with pytest.raises(ValueError, match="holds a run with other settings") as refused:
        run(data, out=out, **{"model": classifier(), **changed})
    assert difference in str(refused.value)


def test_a_quality_that_stands_for_other_numbers_is_not_mixed_in(
    data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As between two states of samp with one version number; a setting that is given is the same in both."""
    small: dict[str, Any] = {"model": classifier(), "method": "coupled", "shard_size": 4}
    run(data, out=out, **small)
    given = Coupled(steps=9, eta=0.5, momentum=0.1, growth=0.0, weight=1.0)
    run(data, out=out.with_name("given"), model=classifier(), method=given)
    (out / "done" / "000001.json").unlink()
    monkeypatch.setitem(coupled.SMALL_QUALITIES, "standard", replace(coupled.SMALL_QUALITIES["standard"], steps=27))
    with pytest.raises(ValueError, match=r"other settings \(walk, up to 32 pixels, steps: 28 there, 27 here\): give"):
        run(data, out=out, **small)
    assert load(out).numbers == (0,)
    assert run(data, out=out.with_name("given"), model=classifier(), method=given).found == 7


def test_steps_that_are_not_used_are_no_setting() -> None:
    walk = manifest.method_settings(Coupled("fine", pixels_per_step=3))["walk"]
    assert [sorted(numbers) for numbers in walk.values()] == [["eta", "growth", "momentum", "weight"]] * 2
    assert manifest.method_settings(SAMPPlusPlus()) == {"method": repr(SAMPPlusPlus())}


def test_numbers_of_any_kind_are_written_down_as_plain_ones() -> None:
    odd: dict[str, Any] = {"steps": np.int64(9), "eta": np.float32(0.5), "weight": torch.tensor(2.0)}
    plain = manifest.method_settings(Coupled(steps=9, eta=0.5, weight=2.0))["walk"]
    assert json.loads(json.dumps(manifest.method_settings(Coupled(**odd))["walk"])) == plain
    odd = {"walks": np.int64(3), "noise": np.float32(0.5), "weight": torch.tensor(2.0)}
    plain = manifest.method_settings(Consensus(walks=3, noise=0.5, weight=2.0))["walk"]
    assert json.loads(json.dumps(manifest.method_settings(Consensus(**odd))["walk"])) == plain


@pytest.mark.parametrize("kind", [np.int64, np.uint8])
def test_whole_numbers_of_numpy_are_those_of_python(data: Path, out: Path, kind: Any) -> None:
    words: dict[str, int] = {"seed": 3, "batch_size": 2, "shard_size": 4, "workers": 0}
    run(data, out=out, model=classifier(), **{name: kind(value) for name, value in words.items()})
    assert run(data, out=out, model=classifier(), **words).found == 7


def test_the_quality_of_the_default_is_written_down_as_numbers(
    data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(data, out=out, model=classifier())
    standard = consensus.QUALITIES["standard"]
    assert load(out).settings["walk"] == {"all sizes": asdict(standard)}
    monkeypatch.setitem(consensus.QUALITIES, "standard", replace(standard, noise=0.5))
    with pytest.raises(ValueError, match=r"other settings \(walk, all sizes, noise: 0.01 there, 0.5 here\): give"):
        run(data, out=out, model=classifier())


@pytest.mark.parametrize("method", ["coupled", "samp++"])
def test_a_manifest_of_old_says_no_numbers_of_the_walk(data: Path, out: Path, method: str) -> None:
    """A run of coupled may have been made with any, so it is not gone on with; others are."""
    run(data, out=out, model=classifier(), method=method)
    content = json.loads((out / "manifest.json").read_text())
    content["settings"].pop("walk", None)
    (out / "manifest.json").write_text(json.dumps(content))
    assert len(load(out).rows()) == 7
    if method != "coupled":
        assert run(data, out=out, model=classifier(), method=method).found == 7
        return
    with pytest.raises(ValueError, match=r"holds a run with other settings \(walk: not set there, \{'photos'"):
        run(data, out=out, model=classifier(), method=method)


def test_another_method_is_told_without_the_walk_that_follows_from_it() -> None:
    there, here = manifest.method_settings(Coupled("draft")), manifest.method_settings(Coupled("fine"))
    (only,) = manifest.differences(there, here)
    assert only.startswith("method: Coupled(quality='draft'")


def test_other_weights_and_other_inputs_are_not_mixed_in(data: Path, out: Path) -> None:
    run(data, out=out, model=classifier())
    other = classifier()
    next(other.net.parameters()).data[0] += 1
    with pytest.raises(ValueError, match="weights: "):
        run(data, out=out, model=other)
    small_runs.photos(data, 8)
    with pytest.raises(ValueError, match="inputs: 7 there, 8 here; ids: "):
        run(data, out=out, model=classifier())


def test_a_run_without_a_shard_may_be_begun_anew_with_other_settings(data: Path, out: Path) -> None:
    with pytest.raises(ValueError, match="other weights each time"):
        run(data, out=out, model="small_runs:random_weights")
    assert run(data, out=out, model=classifier()).code == 0


def test_shards_that_nobody_knows_the_settings_of_are_not_mixed_in(data: Path, out: Path) -> None:
    run(data, out=out, model=classifier())
    (out / "manifest.json").unlink()
    with pytest.raises(ValueError, match=r"holds numbers but no manifest\.json"):
        run(data, out=out, model=classifier(), method="ig")


@pytest.mark.parametrize("content", ["", "[1]", '{"format": "samp run 1"}', '{"format": "samp run 9"}', "{}"])
def test_a_manifest_that_is_none_of_ours_is_refused(data: Path, out: Path, content: str) -> None:
    out.mkdir()
    (out / "manifest.json").write_text(content)
    for act in (lambda: run(data, out=out, model=classifier()), lambda: load(out)):
        with pytest.raises(ValueError, match=r"manifest\.json is (not whole|of another program)"):
            act()
    assert (out / "manifest.json").read_text() == content


def test_a_run_with_another_tensor_as_baseline_is_not_gone_on_with(data: Path, out: Path) -> None:
    """Both have the same repr, which shows the shape alone."""
    zeros, nines = (samp.IG(baseline=torch.full((1, 3, 1, 1), value)) for value in (0.0, 9.0))
    assert repr(zeros) == repr(nines)
    run(data, out=out, model=classifier(), method=zeros)
    assert run(data, out=out, model=classifier(), method=samp.IG(baseline=torch.zeros(1, 3, 1, 1))).found == 7
    with pytest.raises(ValueError, match=r"holds a run with other settings \(tensors: "):
        run(data, out=out, model=classifier(), method=nines)


def test_a_function_is_known_by_its_name_in_whatever_process() -> None:
    name = manifest.method_settings(samp.IG(baseline=grey))["method"]
    assert "function grey" in name
    assert "0x" not in name


def grey(x: torch.Tensor) -> torch.Tensor:
    return torch.full_like(x, 0.5)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"seed": "a"}, "seed is a whole number"),
        ({"batch_size": 0}, "batch_size is 'auto' or a whole number"),
        ({"shard_size": 1.5}, "a shard holds 1 input at least, a whole number, not 1.5"),
        ({"workers": True}, "workers is a whole number, a list of devices or a samp.batch.Workers, not True"),
        ({"workers": 1.5}, "workers is a whole number, a list of devices or a samp.batch.Workers, not 1.5"),
        ({"out": ""}, "has no name"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_written(data: Path, out: Path, words: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        run(data, **{"out": out, "model": classifier(), **words})
    assert not out.exists()
