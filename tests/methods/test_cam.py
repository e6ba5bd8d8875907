"""Class activation maps against ten lines of brute force, on nets that make them stumble, and on real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import samp
from laws import CLOSE, images
from samp import images as photos
from samp import models
from samp.methods.cam import CAM, GradCAM, GradCAMPlusPlus

ALL = [CAM(), GradCAM(), GradCAMPlusPlus()]
FREE = [GradCAM(), GradCAMPlusPlus()]


def seeded(*layers: nn.Module) -> Any:
    net = nn.Sequential(*layers).double().eval()
    generator = torch.Generator().manual_seed(0)
    for parameter in net.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.4
    return net


def pooled() -> Any:
    return seeded(
        nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 5, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 4)
    )


def dense() -> Any:
    return seeded(nn.Conv2d(3, 6, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(96, 7), nn.Tanh(), nn.Linear(7, 4))


def enlarged(maps: Tensor, x: Tensor) -> Tensor:
    return F.interpolate(maps[:, None], x.shape[2:], mode="bilinear", align_corners=False)[:, 0]


def by_gradient(head: Any, features: Tensor, target: int) -> Tensor:
    leaf = features.detach().requires_grad_()
    return torch.autograd.grad(head(leaf)[:, target].sum(), leaf)[0]


def test_cam_is_the_features_times_the_weights_of_the_classifier() -> None:
    net, x = pooled(), images(1, 3, 3, 9, 10)
    oracle = torch.einsum("k,bkhw->bhw", net[5].weight[2], net[:3](x))
    found = samp.explain(net, x, target=2, method=CAM())
    torch.testing.assert_close(found.map, enlarged(oracle, x).detach(), **CLOSE)
    assert found.method == "CAM(layer='2', grid=None)"


def test_cam_of_a_convolutional_classifier_is_the_map_of_the_class() -> None:
    net = seeded(nn.Conv2d(3, 6, 3), nn.Conv2d(6, 4, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    x = images(1, 3, 3, 9, 10)
    found = samp.explain(net, x, target=2, method=CAM())
    torch.testing.assert_close(found.map, enlarged(net[:3](x)[:, 2], x).detach(), **CLOSE)


def test_cam_is_grad_cam_without_relu_up_to_the_number_of_positions() -> None:
    net, x = pooled(), images(1, 3, 3, 9, 10)
    cam, grad_cam = (samp.explain(net, x, target=1, method=method).map for method in (CAM(), GradCAM(relu=False)))
    torch.testing.assert_close(cam, grad_cam * 5 * 6, **CLOSE)


def test_cam_averages_to_the_score_without_its_bias() -> None:
    net, x = pooled(), images(1, 2, 3, 9, 10)
    features = net[:3](x)
    cam = samp.explain(net, x, target=1, method=CAM(layer="2"))
    small = torch.einsum("k,bkhw->bhw", net[5].weight[1], features)
    torch.testing.assert_close(small.mean((1, 2)) + net[5].bias[1], net(x)[:, 1], **CLOSE)
    torch.testing.assert_close(cam.map, enlarged(small, x).detach(), **CLOSE)


@pytest.mark.parametrize("head", ["hidden", "positions"])
def test_cam_refuses_another_head_and_points_to_grad_cam(head: str) -> None:
    if head == "hidden":  # without biases such a head is linear along every ray, so that one gradient would not tell
        tail = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 8, bias=False), nn.ReLU(), nn.Linear(8, 4)]
    else:
        tail = [nn.Flatten(), nn.Linear(384, 4)]
    net = seeded(nn.Conv2d(3, 6, 3), nn.ReLU(), *tail)
    with pytest.raises(ValueError, match=r"one linear layer behind '1'.*use method='gradcam'"):
        samp.explain(net, images(0, 1, 3, 10, 10), method=CAM())


@pytest.mark.parametrize("relu", [True, False])
def test_grad_cam_is_the_sum_weighted_by_mean_gradients(relu: bool) -> None:
    net, x = dense(), images(2, 3, 3, 9, 10)
    features = net[:2](x)
    weights = by_gradient(net[2:], features, 3).mean((2, 3))
    oracle = (weights[:, :, None, None] * features).sum(1)
    found = samp.explain(net, x, target=3, method=GradCAM(relu=relu))
    torch.testing.assert_close(found.map, enlarged(oracle.relu() if relu else oracle, x).detach(), **CLOSE)


def test_grad_cam_plus_plus_is_the_papers_formula() -> None:
    net, x = dense(), images(2, 3, 3, 9, 10)
    features = net[:2](x).detach()
    gradient = by_gradient(net[2:], features, 3)
    maps = torch.zeros(3, 4, 4, dtype=torch.float64)
    for b in range(3):
        for k in range(6):
            g, total = gradient[b, k], features[b, k].sum()
            alpha = torch.where(g == 0, 0, g**2 / (2 * g**2 + total * g**3))
            maps[b] += (alpha * g.relu()).sum() * features[b, k]
    found = samp.explain(net, x, target=3, method=GradCAMPlusPlus())
    torch.testing.assert_close(found.map, enlarged(maps.relu(), x), **CLOSE)


class Tricky(nn.Module):
    """In-place and reused activations, a recurrent layer, and a reused module that ends on vectors."""

    def __init__(self, inplace: bool) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.relu, self.inplace = nn.ReLU(inplace), inplace
        self.rnn, self.fc = nn.GRU(10, 6, batch_first=True), nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.last(self.relu(self.first(x)))
        x = F.relu(x - 0.1) if not self.inplace else x.sub_(0.1).relu_()
        x, _ = self.rnn(x.mean(1))
        return self.fc(self.relu(x[:, -1]))  # type: ignore[no-any-return]  # a module's call is untyped


@pytest.mark.parametrize("method", FREE)
def test_what_follows_in_place_does_not_change_the_features(method: GradCAM) -> None:
    torch.manual_seed(0)
    plain, inplace = Tricky(False).double().eval(), Tricky(True).double().eval()
    inplace.load_state_dict(plain.state_dict())
    x = images(3, 2, 3, 8, 10)
    one, other = (samp.explain(net, x, target=1, method=method) for net in (plain, inplace))
    assert "layer='last'" in one.method
    assert one.map.abs().sum() > 0
    torch.testing.assert_close(one.map, other.map, **CLOSE)


def test_a_reused_module_is_taken_at_its_last_feature_map() -> None:
    torch.manual_seed(0)
    net, x = Tricky(False).double().eval(), images(3, 2, 3, 8, 10)
    named, found = (samp.explain(net, x, target=1, method=GradCAM(layer=name, relu=False)) for name in ("relu", "last"))
    features = net.first(x).relu().detach().requires_grad_()
    last = F.relu(net.last(features) - 0.1)
    score = net.fc(net.relu(net.rnn(last.mean(1))[0][:, -1]))[:, 1].sum()
    weights = torch.autograd.grad(score, features)[0].mean((2, 3), keepdim=True)
    torch.testing.assert_close(named.map, (weights * features).sum(1).detach(), **CLOSE)
    assert not torch.allclose(named.map, found.map)


def test_a_module_called_for_several_feature_maps_is_taken_at_the_last() -> None:
    relu, convolutions = nn.ReLU(), [nn.Conv2d(3, 5, 3), nn.Conv2d(5, 5, 3)]
    net = seeded(convolutions[0], relu, convolutions[1], relu, nn.Flatten(), nn.Linear(150, 4))
    x = images(3, 2, 3, 9, 10)
    features = net[:4](x)
    oracle = (by_gradient(net[4:], features, 1).mean((2, 3), keepdim=True) * features).sum(1).relu()
    found = samp.explain(net, x, target=1, method=GradCAM())
    assert "layer='1'" in found.method  # its first name
    torch.testing.assert_close(found.map, enlarged(oracle, x).detach(), **CLOSE)


@pytest.mark.parametrize("method", ALL)
def test_batch_size_and_neighbours_do_not_matter_and_the_target_does(method: Any) -> None:
    net, x = pooled(), images(4, 5, 3, 9, 10)
    whole = samp.explain(net, x, target=[0, 1, 2, 3, 0], method=method)
    for size in (1, 2):
        again = samp.explain(net, x, target=[0, 1, 2, 3, 0], method=method, batch_size=size)
        torch.testing.assert_close(again.map, whole.map, **CLOSE)
    alone = samp.explain(net, x[3:4], target=3, method=method)
    torch.testing.assert_close(alone.map[0], whole.map[3], **CLOSE)
    assert not torch.allclose(samp.explain(net, x[3:4], target=1, method=method).map[0], whole.map[3])


@pytest.mark.parametrize("method", ALL)
def test_the_model_is_left_as_found(method: Any) -> None:
    net = pooled()
    net[0].weight.requires_grad_(False)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    flags = [p.requires_grad for p in net.parameters()]
    with torch.no_grad():
        samp.explain(net, images(4, 2, 3, 9, 10), method=method)
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert [p.requires_grad for p in net.parameters()] == flags
    assert all(p.grad is None for p in net.parameters())
    assert not any(m._forward_hooks or m._backward_hooks for m in net.modules())


def test_hooks_are_removed_when_the_model_fails() -> None:
    net = pooled()
    with pytest.raises(RuntimeError):
        samp.explain(net, images(0, 1, 2, 9, 9), target=0, method=GradCAM())
    assert not any(m._forward_hooks for m in net.modules())


@pytest.mark.parametrize("method", ALL)
def test_nets_without_a_feature_map_are_refused(method: Any) -> None:
    flat = seeded(nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(48, 4))
    with pytest.raises(ValueError, match=r"found no convolution layer .* name one by layer="):
        samp.explain(flat, images(0, 1, 3, 4, 4), method=method)
    with pytest.raises(ValueError, match=r"must be an nn\.Module"):
        samp.explain(lambda x: x.flatten(1), images(0, 1, 3, 4, 4), method=method)
    with pytest.raises(ValueError, match="one b c h w image input"):
        samp.explain(seeded(nn.Linear(4, 2)), images(0, 1, 4), method=method)


def test_a_layer_is_named_by_its_name() -> None:
    net, x = dense(), images(0, 1, 3, 9, 10)
    with pytest.raises(ValueError, match="unknown layer 'zero'"):
        samp.explain(net, x, method=GradCAM(layer="zero"))
    with pytest.raises(ValueError, match="layer '3' gives neither a b k h w feature map nor b n k tokens"):
        samp.explain(net, x, method=GradCAM(layer="3"))
    maps = [samp.explain(net, x, target=1, method=GradCAM(layer=name, relu=False)).map for name in ("0", "1")]
    assert not torch.allclose(*maps)


@pytest.mark.parametrize("name", ["mobilenet_v2", "squeezenet1_1", "efficientnet_lite0"])
def test_real_nets_show_where_the_cat_is(data: Path, name: str) -> None:
    if name == "efficientnet_lite0":
        pytest.importorskip("efficientnet_lite_pytorch")
        classifier = models.efficientnet_lite0()
    else:
        classifier = getattr(models, name)(data / "models" / f"{name}_fp16.safetensors")
    x = classifier.prepare(photos.read(data / "photos" / "n02123394_283_Persian_cat.jpg"))
    cam, grad_cam, plus = (samp.explain(classifier.net, x, target=283, method=method) for method in ALL)
    bare = samp.explain(classifier.net, x, target=283, method=GradCAM(relu=False)).map
    scale = cam.map.norm() / bare.norm()
    # float32, over up to 1,280 channels
    torch.testing.assert_close(bare * scale, cam.map, rtol=0, atol=1e-4 * float(cam.map.abs().max()))
    other = samp.explain(classifier.net, x, target=9, method=GradCAM())
    assert grad_cam.map.max() > 0
    assert plus.map.max() > 0
    assert not torch.allclose(other.map, grad_cam.map)


def test_cam_behind_a_max_pool_weighs_channels_by_the_linear_layer() -> None:
    """The SAMP paper's own CNNs end in a max pool; there the gradient of each channel sits at one position."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(4, 5)).eval()
    x = torch.rand(2, 3, 10, 10)
    features, weights = net[:2](x), net[4].weight[3]
    expected = F.interpolate((features * weights[:, None, None]).sum(1, keepdim=True), (10, 10), mode="bilinear")[:, 0]
    torch.testing.assert_close(
        samp.explain(net, x, target=3, method="cam").map, expected.detach(), rtol=1e-4, atol=1e-5
    )


class WithAuxiliaryHead(nn.Module):
    """A net of two heads, as torchvision's segmentation nets have; the auxiliary one is called last."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head, self.aux = pooled()[:3], pooled()[3:], nn.Conv2d(5, 4, 1).double()
        self.training = False

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        features = self.body(x)
        return {"out": self.head(features), "aux": self.aux(features)}


def test_the_layer_is_the_last_on_which_the_score_depends() -> None:
    x = images(1, 2, 3, 9, 10)
    found, want = (samp.explain(net, x, target=2, method=GradCAM()) for net in (WithAuxiliaryHead(), pooled()))
    torch.testing.assert_close(found.map, want.map, **CLOSE)
    assert found.method.startswith("GradCAM(layer='body")


def test_a_layer_may_be_the_module_itself_but_no_number() -> None:
    net, x = pooled(), images(1, 2, 3, 9, 10)
    found, want = (samp.explain(net, x, target=2, method=GradCAM(layer)).map for layer in (net[0], "0"))
    assert torch.equal(found, want)
    with pytest.raises(ValueError, match="layer is a ReLU that is no part of the model"):
        samp.explain(net, x, target=2, method=GradCAM(nn.ReLU()))
    with pytest.raises(TypeError, match=r"not 4: the names are 0, 1, 2"):
        samp.explain(net, x, target=2, method=GradCAM(4))  # type: ignore[arg-type]  # the mistake
    with pytest.raises(ValueError, match=r"known ones are 0, 1"):
        samp.explain(net, x, target=2, method=GradCAM("layer4"))
