"""The real Quantus calls `samp.quantus.explain`, and its metrics give what they give for the same maps made before.

Quantus is in no extra of samp: `.ci/quantus` runs this file in an environment of its own, and it skips elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import samp

quantus = pytest.importorskip("quantus", reason="needs Quantus: .ci/quantus installs it in an environment of its own")

SIDE, CLASSES = 8, 4
TARGETS = np.array([1, 3])


def net() -> nn.Module:
    """A small CNN in float32, as users of Quantus have."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layers = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.Tanh(), nn.Flatten(), nn.Linear(4 * SIDE**2, CLASSES))
    return layers.eval()


def photos() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(2, 3, SIDE, SIDE)).astype(np.float32)


def pixel_flipping() -> Any:
    return quantus.PixelFlipping(
        features_in_step=8, perturb_baseline="black", disable_warnings=True, return_auc_per_sample=True
    )


def evaluate(metric: Any, **how: Any) -> list[float]:
    how = {"model": net(), "x_batch": photos(), "y_batch": TARGETS, "a_batch": None, "device": "cpu", **how}
    return [float(score) for score in np.ravel(metric(**how))]


@pytest.mark.parametrize("method", ["consensus", "coupled", "samp", "samp++", "ig"])
def test_a_metric_scores_the_function_as_it_scores_maps_of_explain(method: str) -> None:
    maps = samp.explain(net(), torch.tensor(photos()), target=TARGETS.tolist(), method=method).map[:, None].numpy()
    by_call = evaluate(pixel_flipping(), explain_func=samp.quantus.explain, explain_func_kwargs={"method": method})
    assert by_call == evaluate(pixel_flipping(), a_batch=maps)
    assert np.isfinite(by_call).all()
    assert by_call != evaluate(pixel_flipping(), a_batch=-maps)  # the metric tells maps apart


def test_a_metric_that_explains_perturbed_inputs_again_runs_it() -> None:
    """Sensitivity perturbs in float64, whatever the model takes."""
    metric = quantus.MaxSensitivity(nr_samples=3, lower_bound=0.1, disable_warnings=True)
    scores = evaluate(metric, explain_func=samp.quantus.explain, explain_func_kwargs={"method": "ig"})
    assert len(scores) == 2
    assert all(0 < score < 1 for score in scores)  # an odd result would be 0 or NaN


def test_evaluate_compares_methods_by_their_labels() -> None:
    """`evaluate` passes the label of a function on as its `method`."""
    results = quantus.evaluate(
        metrics={"flipping": pixel_flipping()},
        xai_methods={"coupled": samp.quantus.explain, "IG": samp.quantus.explain},
        model=net(),
        x_batch=photos(),
        y_batch=TARGETS,
        agg_func=np.mean,
        explain_func_kwargs={},
        call_kwargs={"first": {"device": "cpu"}},
    )
    for label in ("coupled", "IG"):
        expected = evaluate(pixel_flipping(), explain_func=samp.quantus.explain, explain_func_kwargs={"method": label})
        assert results[label]["flipping"] == pytest.approx(np.mean(expected))


def randomisation_maps(model: nn.Module, inputs: np.ndarray, targets: np.ndarray, **_: object) -> np.ndarray:
    """Integrated Gradients as Quantus calls for them."""
    by_ig = samp.metrics.explain_maps_by("ig")
    return by_ig(model, torch.as_tensor(inputs), torch.as_tensor(targets), 0)[:, None].numpy()


def test_its_sanity_checks_are_ours() -> None:
    """On the nets that Quantus randomises; of two classes, the other one is known."""
    from quantus.functions.similarity_func import correlation_spearman
    from quantus.helpers.model.pytorch_model import PyTorchModel

    from samp.metrics.correlations import spearman
    from samp.metrics.map_entropy import map_entropy

    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(864, 2))
    x = torch.randn(4, 3, 16, 16)
    y = net.eval()(x).argmax(1)
    given = {"model": net, "x_batch": x.numpy(), "y_batch": y.numpy(), "explain_func": randomisation_maps}
    given |= {"device": "cpu", "channel_first": True}
    by_ig = samp.metrics.explain_maps_by("ig")

    settings = {"similarity_func": correlation_spearman, "abs": True, "normalise": False, "disable_warnings": True}
    logit = quantus.RandomLogit(num_classes=2, **settings)(**given)
    np.testing.assert_allclose(samp.metrics.random_logit(net, x, by_ig).spearman, logit, atol=1e-12)

    cascade = quantus.MPRT(seed=42, layer_order="top_down", **settings)(**given)
    rise = quantus.EfficientMPRT(seed=42, disable_warnings=True)(**given)
    original, names = by_ig(net, x, y, 0), []
    for name, random in PyTorchModel(net, channel_first=True).get_random_layer_generator("top_down", 42):
        maps = by_ig(random, x, y, 0)
        own = spearman(original.abs().flatten(1), maps.abs().flatten(1))
        np.testing.assert_allclose(own, cascade[name], atol=1e-12)
        names.append(name)
    trained = map_entropy(original)
    np.testing.assert_allclose((map_entropy(maps) - trained) / trained, rise, atol=1e-9)
    assert tuple(names) == samp.metrics.randomisation(net, x, by_ig).layers
