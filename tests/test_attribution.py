"""Results survive a file, whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

import samp
from laws import assert_same, images, net, tapes
from samp.attribution import DIRECTIONS


def pair(a: Tensor, b: Tensor) -> Tensor:
    return net(0)(a) * b.sum(1, keepdim=True)


def results() -> dict[str, samp.Attribution]:
    x = images(0, 3, 3, 2, 2)
    half = images(0, 2, 5).bfloat16()
    return {
        "image": samp.explain(net(0), x),
        "image with tapes": samp.explain(net(0), x, keep_points=True),
        "one sample": samp.explain(net(0), x[:1], keep_points=True),
        "elements": samp.explain(net(0), images(0, 3, 12), keep_points=True),
        "one direction": samp.explain(net(0), images(0, 3, 12), method="ig", keep_points=True),
        "two inputs": samp.explain(pair, (x, images(1, 3, 4)), keep_points=True),
        "one sample of two inputs": samp.explain(pair, (x[:1], images(1, 1, 4)), keep_points=True),
        "one-tuple": samp.explain(net(0), (x,), keep_points=True),
        "bfloat16": samp.explain(lambda x: (x**3).sum(1), half, keep_points=True),
        "segments": samp.explain(net(0), x, groups=torch.tensor([[0, 0], [1, 2]])),
        "exact": samp.explain(net(0), x, method=samp.SAMP(credit="shared"), target=lambda y: y[:, 0]),
        "eleven samples": samp.explain(net(0), images(0, 11, 12), keep_points=True),
    }


@pytest.mark.parametrize("kind", list(results()))
def test_a_result_comes_back_as_it_was_saved(kind: str, tmp_path: Path) -> None:
    result = results()[kind]
    path = result.save(tmp_path / "r.samp")
    back = samp.Attribution.load(str(path))
    assert_same(back, result)
    assert (back.method, back.details) == (result.method, result.details)
    assert isinstance(back.values, tuple) == isinstance(result.values, tuple)
    assert [(d, i) for d, i, _ in tapes(back)] == [(d, i) for d, i, _ in tapes(result)]
    for (*_, ours), (*_, theirs) in zip(tapes(back), tapes(result), strict=True):
        assert torch.equal(ours.steps, theirs.steps)
        for a, b in zip(_tuple(ours.points), _tuple(theirs.points), strict=True):
            assert a.dtype == b.dtype
            assert torch.equal(a, b)
    assert os.listdir(tmp_path) == ["r.samp"]


def _tuple(points: Any) -> tuple[Tensor, ...]:
    return points if isinstance(points, tuple) else (points,)


def test_saving_replaces_an_older_file_and_a_failure_leaves_it_alone(tmp_path: Path) -> None:
    old, new = samp.explain(net(0), images(0, 1, 12)), samp.explain(net(0), images(1, 2, 12))
    path = tmp_path / "r.samp"
    old.save(path)
    broken = replace(new, group_values=torch.ones(2, 2).to_sparse())  # safetensors takes no sparse tensors
    with pytest.raises(Exception):  # noqa: B017, PT011  # whatever safetensors says
        broken.save(path)
    assert os.listdir(tmp_path) == ["r.samp"]
    assert_same(samp.Attribution.load(path), old)
    new.save(path)
    assert_same(samp.Attribution.load(path), new)


def test_a_write_that_breaks_off_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_off(tensors: Any, path: Path, metadata: Any) -> None:
        Path(path).write_bytes(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr("samp.attribution_file.save_file", break_off)
    with pytest.raises(OSError, match="no space left"):
        samp.explain(net(0), images(0, 1, 12)).save(tmp_path / "r.samp")
    assert os.listdir(tmp_path) == []


def test_an_older_file_is_replaced_in_one_move_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, path = samp.explain(net(0), images(0, 1, 12)), tmp_path / "r.samp"
    old.save(path)

    def refuse(source: Any, target: Any) -> None:
        raise PermissionError("the file is open elsewhere")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(OSError, match="open elsewhere"):
        samp.explain(net(0), images(1, 2, 12)).save(path)
    assert os.listdir(tmp_path) == ["r.samp"]
    assert_same(samp.Attribution.load(path), old)


def test_a_folder_that_is_missing_gets_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere to save in: make it first"):
        samp.explain(net(0), images(0, 1, 12)).save(tmp_path / "nowhere" / "r.samp")


def test_files_that_are_no_results_get_a_sentence(tmp_path: Path) -> None:
    path = samp.explain(net(0), images(0, 2, 12)).save(tmp_path / "r.samp")
    whole = path.read_bytes()
    for length in (0, 5, 100, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"r\.samp is not a whole \.samp file \(.*\): save it again"):
            samp.Attribution.load(path)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" * 50)
    with pytest.raises(ValueError, match=r"is not a whole \.samp file"):
        samp.Attribution.load(path)
    save_file({"weight": torch.ones(2)}, path)
    with pytest.raises(ValueError, match="holds 'a safetensors file of another program', not 'samp attribution 2'"):
        samp.Attribution.load(path)
    save_file({"weight": torch.ones(2)}, path, {"format": "pt"})
    with pytest.raises(ValueError, match="holds 'pt', not 'samp attribution 2'"):
        samp.Attribution.load(path)
    for missing in (tmp_path / "nothing.samp", tmp_path):
        with pytest.raises(FileNotFoundError, match="is not a file"):
            samp.Attribution.load(missing)


def test_residual_is_the_sum_over_directions_and_map_the_sum_over_channels() -> None:
    result = results()["image"]
    assert set(result.residual_by_direction) == set(DIRECTIONS)
    torch.testing.assert_close(result.residual, sum(result.residual_by_direction.values()))
    torch.testing.assert_close(result.map, result.values.sum(1))
    for direction in DIRECTIONS:
        assert result.residual_by_direction[direction].shape == result.score_change[direction].shape == (3,)


def test_values_and_group_values_do_not_share_memory() -> None:
    result = results()["elements"]
    before = result.group_values.clone()
    result.values.zero_()
    assert torch.equal(result.group_values, before)


def test_a_disk_that_fills_up_gets_a_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    """In a process of its own: the limit on the size of a file stays with it."""
    program = f"""
import resource, signal, torch, samp
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
result = samp.explain(torch.nn.Linear(9000, 2).eval(), torch.rand(1, 9000), method="gradientxinput")
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
try:
    result.save({str(tmp_path / "out.samp")!r})
except OSError as error:
    print(error)
"""
    pytest.importorskip("resource", reason="limits of a process are of Unix")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "cannot be written" in done.stdout
    assert list(tmp_path.iterdir()) == []
