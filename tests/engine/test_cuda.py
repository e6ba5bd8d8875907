"""The same laws on a GPU; skipped where there is none."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import samp

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def net(dtype: torch.dtype = torch.float64) -> nn.Module:
    torch.manual_seed(0)
    layers = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.Softplus(), nn.Conv2d(8, 8, 3, 2), nn.Softplus(), nn.Flatten(), nn.LazyLinear(5)
    )
    layers(torch.zeros(1, 3, 16, 16))
    return layers.to("cuda", dtype).eval()


def images(count: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.rand(count, 3, 16, 16, generator=torch.Generator().manual_seed(1), dtype=dtype).cuda()


@pytest.mark.parametrize("method", ["samp", "samp++", "ig"])
def test_gpu_and_cpu_agree(method: str) -> None:
    model, x = net(), images(3)
    on_gpu = samp.explain(model, x, method=method)
    on_cpu = samp.explain(model.cpu(), x.cpu(), method=method)
    torch.testing.assert_close(
        on_gpu.values.cpu(), on_cpu.values, rtol=1e-9, atol=1e-12
    )  # float64, other summing order
    assert torch.equal(on_gpu.gradients.cpu(), on_cpu.gradients)


@pytest.mark.parametrize("groups", [None, samp.Patches(3)])
def test_repeated_runs_are_bit_identical_and_batches_do_not_matter(
    groups: samp.Patches | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)  # the law holds where the model's own kernels do
    model, x = net(), images(5)
    first = samp.explain(model, x, groups=groups)
    again = samp.explain(model, x, groups=groups)
    assert torch.equal(first.values, again.values)
    alone = samp.explain(model, x, groups=groups, batch_size=1)
    torch.testing.assert_close(alone.values, first.values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_walks_arrive(dtype: torch.dtype) -> None:
    result = samp.explain(net(dtype), images(2, dtype), method=samp.SAMPPlusPlus(eta=0.02))
    assert torch.isfinite(result.values).all()
    assert result.values.dtype == torch.float32


def test_real_out_of_memory_halves_the_batch_and_loses_nothing() -> None:
    class Hungry(nn.Module):
        """Takes 4 GiB per row, so that a batch of 64 cannot fit."""

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            torch.empty(len(x) * 2**32, dtype=torch.uint8, device="cuda")
            return x.flatten(1).square()

    x = images(32)
    result = samp.explain(Hungry().eval(), x, target=7)
    assert result.details["batch_size"] < 64
    expected = samp.explain(lambda x: x.flatten(1).square(), x, target=7)
    assert torch.equal(result.values, expected.values)


def test_the_random_state_of_the_gpu_is_left_as_it_was() -> None:
    before = torch.cuda.get_rng_state()
    samp.explain(net(), images(1), method=samp.SAMP(baseline="uniform"))
    assert torch.equal(torch.cuda.get_rng_state(), before)


def test_deterministic_mode_is_respected() -> None:
    torch.use_deterministic_algorithms(True)
    try:
        result = samp.explain(net(), images(2), groups=samp.Patches(4), target=1)
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.isfinite(result.values).all()


@pytest.mark.parametrize("protocol", ["cifar10", "rise", "diffid"])
def test_deletion_and_insertion_agree_and_maps_may_lie_elsewhere(protocol: str) -> None:
    model, x, maps = net(), images(3), torch.rand(3, 16, 16, dtype=torch.float64)
    on_gpu = samp.metrics.deletion_insertion(model, x, maps, 0, protocol)  # the maps lie on the CPU
    on_cpu = samp.metrics.deletion_insertion(model.cpu(), x.cpu(), maps.cuda(), 0, protocol)
    for name in ("deletion_curve", "insertion_curve"):
        torch.testing.assert_close(
            getattr(on_gpu, name).cpu(), getattr(on_cpu, name), rtol=1e-9, atol=1e-12, equal_nan=True
        )  # float64, other summing order


def test_deletion_and_insertion_wait_for_the_device_only_at_the_door() -> None:
    """The host waits to check inputs and maps and to move a few numbers, however many points there are."""
    model, x, maps = net(), images(4), torch.rand(4, 16, 16, device="cuda")

    def waits(step: int) -> int:
        protocol = samp.metrics.Protocol(step=step)
        samp.metrics.deletion_insertion(model, x, maps, 0, protocol, batch_size=8)
        torch.cuda.set_sync_debug_mode("warn")
        try:
            with pytest.warns(UserWarning, match="synchronizing") as warned:
                samp.metrics.deletion_insertion(model, x, maps, 0, protocol, batch_size=8)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        return len([w for w in warned if "synchronizing" in str(w.message)])

    assert waits(step=4) == waits(step=64)
