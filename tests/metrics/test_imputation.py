"""Noisy linear imputation against plain linear solves, and the laws that a mean of neighbours obeys."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from laws import images, seeds
from samp.metrics import imputation
from samp.metrics.imputation import NoisyLinear

EXACT = NoisyLinear(noise=0, tolerance=1e-11)
NEIGHBOURS = {
    (dy, dx): 1 / 6 if 0 in (dy, dx) else 1 / 12 for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)
}


def equations(missing: Tensor) -> tuple[Any, Any]:
    """A and B with A x_missing = B x_known: for each missing pixel, what its neighbours inside the image weigh."""
    height, width = missing.shape
    names = {place: i for i, place in enumerate(map(tuple, missing.nonzero().tolist()))}
    rows: list[dict[int, float]] = []
    known: list[dict[int, float]] = []
    for (y, x), name in names.items():
        inside = {(y + dy, x + dx): w for (dy, dx), w in NEIGHBOURS.items()}
        inside = {(v, u): w for (v, u), w in inside.items() if 0 <= v < height and 0 <= u < width}
        rows.append({name: sum(inside.values())} | {names[p]: -w for p, w in inside.items() if p in names})
        known.append({v * width + u: w for (v, u), w in inside.items() if (v, u) not in names})
    return rows, known


def oracle(image: Tensor, missing: Tensor, solve: Any) -> Tensor:
    """c h w: the image with its missing pixels solved for."""
    rows, known = equations(missing)
    right = [[sum(w * plane[i] for i, w in row.items()) for plane in image.flatten(1).tolist()] for row in known]
    filled = image.clone()
    filled[:, missing] = torch.from_numpy(solve(rows, np.array(right).reshape(-1, len(image)))).T
    return filled


def dense(rows: Any, right: Any) -> Any:
    matrix = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        matrix[i, list(row)] = list(row.values())
    return np.linalg.solve(matrix, right)


def sparse(rows: Any, right: Any) -> Any:
    scipy = pytest.importorskip("scipy.sparse")
    linalg = pytest.importorskip("scipy.sparse.linalg")
    entries = np.array([(w, i, j) for i, row in enumerate(rows) for j, w in row.items()]).T
    return linalg.spsolve(scipy.csc_matrix((entries[0], entries[1:].astype(int))), right)


def mask(seed: int, share: float, *shape: int) -> Tensor:
    """Scattered missing pixels; the first one of each image is known."""
    missing = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < share
    missing[:, 0, 0] = False
    return missing


def hole(size: int) -> Tensor:
    """One large hole that also touches the border, a small one, and a line."""
    missing = torch.zeros(1, size, size, dtype=torch.bool)
    missing[:, size // 4 :, : size * 3 // 4] = True
    missing[:, 2:5, -6:-2] = True
    missing[:, 1, :] = True
    return missing


@given(
    seed=seeds,
    share=st.sampled_from([0.1, 0.5, 0.9]),
    height=st.sampled_from([1, 2, 3, 5]),
    width=st.sampled_from([2, 5]),
)
def test_equals_a_dense_solve(seed: int, share: float, height: int, width: int) -> None:
    x, missing = images(seed, 2, 3, height, width), mask(seed, share, 2, height, width)
    found = EXACT.impute(x, missing)
    for row in range(2):
        torch.testing.assert_close(found[row], oracle(x[row], missing[row], dense), rtol=0, atol=1e-9)


@pytest.mark.parametrize("missing", [mask(0, 0.5, 1, 64, 64), mask(1, 0.95, 1, 64, 64), hole(64)])
def test_equals_a_sparse_solve_on_a_larger_image(missing: Tensor) -> None:
    x = images(0, 1, 3, 64, 64)
    expected = oracle(x[0], missing[0], sparse)
    torch.testing.assert_close(EXACT.impute(x, missing)[0], expected, rtol=0, atol=1e-9)
    # what the docstring says float32 and the usual tolerance leave, with a span of 1
    single = NoisyLinear(noise=0).impute(x.float(), missing)[0]
    torch.testing.assert_close(single.double(), expected, rtol=0, atol=2e-4)


def test_a_corner_is_the_weighted_mean_of_its_three_neighbours() -> None:
    x = torch.tensor([[[[9.0, 1.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 0.0]]]], dtype=torch.float64)
    missing = torch.zeros(1, 3, 3, dtype=torch.bool)
    missing[0, 0, 0] = True
    expected = (1 / 6 + 2 / 6 + 4 / 12) / (1 / 6 + 1 / 6 + 1 / 12)
    assert EXACT.impute(x, missing)[0, 0, 0, 0].item() == pytest.approx(expected, abs=1e-9)


@given(seed=seeds, share=st.sampled_from([0.0, 0.3, 0.97, 1.0]))
def test_known_pixels_keep_their_bits_and_missing_ones_stay_within_their_span(seed: int, share: float) -> None:
    x, missing = images(seed, 3, 2, 9, 14).float() * 1e3 - 500, mask(seed, share, 3, 9, 14)
    found = NoisyLinear(noise=0).impute(x, missing)
    known = ~missing[:, None].expand_as(x)
    assert torch.equal(found[known], x[known])
    assert (found <= x.masked_fill(~known, -math.inf).amax((2, 3), True)).all()
    assert (found >= x.masked_fill(~known, math.inf).amin((2, 3), True)).all()


def test_rounding_does_not_lead_out_of_the_span() -> None:
    """A pixel amid equal neighbours that are an end of the span does not pass them by a bit."""
    ends = images(0, 200, 1, 1, 2).float()
    x = ends[..., 1:].expand(-1, -1, 5, 5).clone()
    x[:, :, 4, 4] = ends[:, :, 0, 0]
    missing = torch.zeros(200, 5, 5, dtype=torch.bool)
    missing[:, 1, 1] = True
    found = NoisyLinear(noise=0).impute(x, missing)
    assert (found.amax((2, 3)) <= ends.amax((2, 3))).all()
    assert (found.amin((2, 3)) >= ends.amin((2, 3))).all()


def test_no_missing_pixel_leaves_the_image_and_no_known_one_gives_channel_means() -> None:
    x = images(0, 2, 3, 8, 6)
    missing = torch.zeros(2, 8, 6, dtype=torch.bool)
    missing[1] = True
    found = EXACT.impute(x, missing)
    assert torch.equal(found[0], x[0])
    torch.testing.assert_close(found[1], x[1].mean((1, 2), keepdim=True).expand(3, 8, 6))
    assert torch.equal(NoisyLinear().impute(x[:1], missing[:1]), x[:1])


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (2, 2), (31, 17)])
def test_one_known_pixel_is_seen_everywhere(shape: tuple[int, int]) -> None:
    missing = torch.ones(1, *shape, dtype=torch.bool)
    missing[0, -1, 0] = False
    x = images(0, 1, 2, *shape)
    assert torch.equal(EXACT.impute(x, missing), x[:, :, -1:, :1].expand_as(x))


def test_a_hole_in_a_ramp_continues_the_ramp() -> None:
    y, x = torch.meshgrid(torch.arange(20.0).double(), torch.arange(30.0).double(), indexing="ij")
    ramp = (0.3 * y - 0.7 * x)[None, None]
    missing = torch.zeros(1, 20, 30, dtype=torch.bool)
    missing[:, 3:16, 4:25] = True
    torch.testing.assert_close(EXACT.impute(ramp, missing), ramp, rtol=0, atol=1e-8)


def test_follows_shift_scale_and_mirror_of_the_image() -> None:
    x, missing = images(0, 1, 2, 17, 24), hole(24)[:, :17]
    found = EXACT.impute(x, missing)
    torch.testing.assert_close(EXACT.impute(1e3 - 7 * x, missing), 1e3 - 7 * found, rtol=0, atol=1e-8)
    torch.testing.assert_close(EXACT.impute(x.flip(3), missing.flip(2)), found.flip(3), rtol=0, atol=1e-9)


def test_values_at_missing_pixels_are_not_read() -> None:
    x, missing = images(0, 2, 3, 12, 12), mask(0, 0.6, 2, 12, 12)
    hidden = x.masked_fill(missing[:, None], math.nan)
    assert torch.equal(NoisyLinear().impute(hidden, missing), NoisyLinear().impute(x, missing))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_result_does_not_depend_on_the_batch(dtype: torch.dtype) -> None:
    x = images(0, 5, 3, 33, 40).to(dtype)
    missing = torch.cat([mask(s, share, 1, 33, 40) for s, share in enumerate((0.0, 0.1, 0.5, 0.9, 1.0))])
    together = NoisyLinear().impute(x, missing)
    for row in range(5):
        alone = NoisyLinear().impute(x[row : row + 1], missing[row : row + 1])
        torch.testing.assert_close(alone, together[row : row + 1], rtol=0, atol=1e-6)
    backwards = NoisyLinear().impute(x.flip(0), missing.flip(0)).flip(0)
    assert torch.equal(backwards, together)


def test_a_channel_that_has_arrived_stands_still() -> None:
    """Further iterations, for others' sake or because an accelerator is looked at rarely, leave it alone."""
    x, missing = images(0, 2, 3, 24, 24), torch.cat([mask(0, 0.2, 1, 24, 24), hole(24)])
    levels = imputation._levels(missing[:, None].double())
    right = levels[0].hole * imputation._neighbours(x * ~missing[:, None])
    together, done = imputation._solve(levels, right, 1e-8, 200)
    easy = imputation._levels(missing[:1, None].double())
    alone, _ = imputation._solve(easy, right[:1], 1e-8, 200)
    assert done.all()
    assert torch.equal(together[:1], alone)


def test_noise_is_of_the_stated_size_on_missing_pixels_alone_and_shared_by_the_batch() -> None:
    x, missing = images(0, 2, 3, 60, 60), mask(0, 0.5, 2, 60, 60)
    for seed in (0, 1):
        added = NoisyLinear(noise=0.2, seed=seed).impute(x, missing) - NoisyLinear(noise=0).impute(x, missing)
        for_both = missing.all(0)
        torch.testing.assert_close(added[0][:, for_both], added[1][:, for_both])
        drawn = added[0][:, missing[0]]
        # 5000 draws: the mean's own deviation is 0.003, that of the standard deviation 0.002
        assert drawn.std().item() == pytest.approx(0.2, abs=0.01)
        assert drawn.mean().item() == pytest.approx(0, abs=0.015)
    published = NoisyLinear().impute(x, missing) - NoisyLinear(noise=0).impute(x, missing)
    assert published[0][:, missing[0]].std().item() == pytest.approx(0.01, rel=0.05)


def test_every_field_changes_the_result_or_what_is_allowed() -> None:
    x, missing = images(0, 1, 1, 32, 32), hole(32)
    usual = NoisyLinear().impute(x, missing)
    assert torch.equal(NoisyLinear().impute(x, missing), usual)
    for other in (NoisyLinear(noise=0.02), NoisyLinear(seed=1), NoisyLinear(tolerance=0.01)):
        assert not torch.equal(other.impute(x, missing), usual)
    with pytest.raises(RuntimeError, match="did not converge within 2 iterations for image 0"):
        NoisyLinear(iterations=2).impute(x, missing)


def test_global_random_state_is_left_alone() -> None:
    before = torch.get_rng_state()
    NoisyLinear().impute(images(0, 1, 1, 4, 4), mask(0, 0.5, 1, 4, 4))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("size", [32, 96, 160])
def test_iterations_do_not_grow_with_the_hole(size: int) -> None:
    """8, 11 and 12 were counted; without the coarse grids, even the smallest hole needs more than 20."""
    x, missing = images(0, 1, 1, size, size), hole(size)
    NoisyLinear(noise=0, iterations=20).impute(x.float(), missing)
    levels = imputation._levels(missing[:, None].double())
    right = levels[0].hole * imputation._neighbours(x * ~missing[:, None])
    _, done = imputation._solve(levels[:1], right, 1e-5, 20)
    assert not done.any()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_scattered_pixels_take_few_iterations(share: float) -> None:
    """Coarse pixels that are known in part count as known: counting them as missing takes ten times as many."""
    x, missing = images(0, 1, 1, 97, 64).float(), mask(0, share, 1, 97, 64)
    filled = NoisyLinear(noise=0, iterations=16).impute(x, missing)  # raises where these do not suffice
    assert torch.equal(filled[~missing[:, None]], x[~missing[:, None]])


@pytest.mark.parametrize("missing", [hole(12), mask(0, 0.6, 1, 7, 9), mask(1, 0.9, 1, 1, 9)])
def test_the_preconditioner_is_symmetric_and_positive_definite(missing: Tensor) -> None:
    levels = imputation._levels(missing[:, None].double())
    places = missing[0].flatten().nonzero().flatten()
    columns = torch.zeros(len(places), missing[0].numel(), dtype=torch.float64)
    columns[torch.arange(len(places)), places] = 1
    columns = columns.view(-1, 1, *missing.shape[1:])
    each = [level._replace(hole=level.hole.expand(len(places), -1, -1, -1)) for level in levels]
    matrix = imputation._cycle(each, columns).flatten(1)[:, places]
    torch.testing.assert_close(matrix, matrix.T, rtol=0, atol=1e-12)
    assert torch.linalg.eigvalsh(matrix)[0] > 0


def test_half_precision_is_solved_in_single_and_given_back_in_half() -> None:
    x, missing = images(0, 1, 3, 16, 16).half(), mask(0, 0.5, 1, 16, 16)
    found = NoisyLinear().impute(x, missing)
    assert found.dtype == torch.float16
    assert torch.equal(found, NoisyLinear().impute(x.float(), missing).half())


def test_an_empty_batch_stays_empty() -> None:
    assert NoisyLinear().impute(torch.rand(0, 3, 4, 5), torch.zeros(0, 4, 5, dtype=torch.bool)).shape == (0, 3, 4, 5)


def test_nan_among_known_pixels_gets_a_sentence() -> None:
    x, missing = images(0, 2, 1, 6, 6), mask(0, 0.5, 2, 6, 6)
    x[1, 0, 0, 0] = math.nan
    with pytest.raises(RuntimeError, match="image 1: look for NaN or Inf among its known pixels"):
        NoisyLinear().impute(x, missing)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_gives_what_the_cpu_gives() -> None:
    x, missing = images(0, 2, 3, 65, 64), torch.cat([hole(65), mask(0, 0.7, 1, 65, 65)])[..., :64]
    found = NoisyLinear(tolerance=1e-11).impute(x.cuda(), missing.cuda())
    torch.testing.assert_close(found.cpu(), NoisyLinear(tolerance=1e-11).impute(x, missing), rtol=0, atol=1e-9)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (6, 1), (2, 3), (24, 37)])
def test_an_accelerators_blur_is_the_cpus(shape: tuple[int, int]) -> None:
    x = images(1, 2, 3, *shape) - 0.5
    torch.testing.assert_close(imputation._blur_by_pooling(x), imputation._blur_by_shifts(x), rtol=0, atol=1e-15)


def test_imputing_with_the_accelerators_blur_gives_the_same_image(monkeypatch: pytest.MonkeyPatch) -> None:
    x, missing = images(0, 2, 3, 33, 33), torch.cat([hole(33), mask(0, 0.7, 1, 33, 33)])
    expected = EXACT.impute(x, missing)
    monkeypatch.setattr(imputation, "_blur", imputation._blur_by_pooling)
    torch.testing.assert_close(EXACT.impute(x, missing), expected, rtol=0, atol=1e-9)


X, MISSING = torch.rand(2, 3, 4, 5), torch.zeros(2, 4, 5, dtype=torch.bool)


@pytest.mark.parametrize(
    ("do", "words"),
    [
        (lambda: NoisyLinear(noise=-1), "noise is a standard deviation of at least 0, not -1"),
        (lambda: NoisyLinear(noise=math.nan), "noise is a standard deviation"),
        (lambda: NoisyLinear(tolerance=0), "tolerance is a number above 0, not 0"),
        (lambda: NoisyLinear(iterations=True), "iterations is a whole number of at least 1, not True"),
        (lambda: NoisyLinear().impute(X[0], MISSING), r"images are r c h w floats, not \(3, 4, 5\)"),
        (lambda: NoisyLinear().impute(X.long(), MISSING), "torch.int64"),
        (lambda: NoisyLinear().impute(X[..., :0], MISSING[..., :0]), "have no pixels"),
        (lambda: NoisyLinear().impute(X, MISSING[0]), r"bool mask of shape \(2, 4, 5\)"),
        (lambda: NoisyLinear().impute(X, MISSING.float()), "of torch.float32"),
        (lambda: NoisyLinear().impute(X, MISSING.to("meta")), "images are on cpu but missing on meta"),
    ],
)
def test_what_does_not_fit_gets_a_sentence(do: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        do()
