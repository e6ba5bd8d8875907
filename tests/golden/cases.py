"""All cases: every method on every problem, the settings of walks, and the measures.

A case that raises is pinned too, by its error's type and message.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from typing import Any

import torch

import samp
from golden.facts import facts
from golden.problems import PROBLEMS, image, problem, scatter

# Few steps, masks and samples.
CHEAP = {"steps": 5, "masks": 24, "samples": 6, "superpixels": 9, "side": 24, "min_added": 4, "window": 4, "stride": 3}
CHEAP |= {"draws": 2, "points": 4, "kl": 0.05, "iterations": 2}
# What the methods and measures are built on, where that is an optional package.
NEEDS = {
    **dict.fromkeys(("shapley", "ablation", "occlusion"), ("captum",)),
    "lime": ("captum", "skimage", "sklearn"),
    "xrai": ("skimage",),
}
SLOW = {"rise", "lime", "shapley", "xrai", "fringe"}  # with their published settings; fringe amplifies rounding there
# On these problems methods differ from the others by their inputs alone: a few methods stand for all.
FEW = {"conv-five", "float16", "bfloat16", "channels last", "conv-40", "callable"}
STANDING = (
    *("consensus", "coupled", "samp++", "ig", "guidedig"),
    *("deeplift", "gradcam", "smoothgrad", "rise", "occlusion", "random"),
)


@dataclass(frozen=True)
class Case:
    """What is computed, and the optional packages that it takes."""

    compute: Callable[[], Any]
    needs: Sequence[str] = ()


def missing(case: Case) -> list[str]:
    """Return the packages that the case takes and that are not installed."""
    return [name for name in case.needs if not find_spec(name)]


def compute(case: Case) -> dict[str, Any]:
    """Return the facts of a case, or its error as one."""
    try:
        result = case.compute()
    except Exception as error:
        found = facts(f"{type(error).__name__}: {error}", "error")
        partial = getattr(error, "result", None)
        return found | (facts(partial, "result") if partial is not None else {})
    return facts(result)


def credits() -> Any:
    """Return the module of credits; the one place that knows where it is."""
    for name in ("samp.credit", "samp.engine.credit"):
        if find_spec(name.rpartition(".")[0]) and find_spec(name):
            return importlib.import_module(name)
    raise ImportError("the module of credits is at none of its known places")


def method(name: str, **settings: Any) -> Any:
    """Return the method of this name with these settings, others as published."""
    return replace(samp.methods.resolve_method(name), **settings)


def cheap(name: str) -> Any:
    """Return the method with few steps, masks and samples."""
    known = samp.methods.resolve_method(name)
    own = {field.name for field in fields(known)}
    return method(name, **{k: v for k, v in CHEAP.items() if k in own and (k != "steps" or known.steps)})


def explain(name: str, chosen: Any, **settings: Any) -> Any:
    """Explain the problem of this name by this method."""
    posed = problem(name)
    return samp.explain(posed.model, posed.inputs, method=chosen, **{**posed.settings, **settings})


def _walk(on: str, name: str, call: dict[str, Any] | None = None, /, **settings: Any) -> Case:
    return Case(lambda: explain(on, method(name, **settings), **(call or {})))


def _on_problems() -> dict[str, Case]:
    found = {}
    for name in samp.methods.names():
        for on in PROBLEMS:
            if on not in FEW or name in STANDING:
                found[f"{name} on {on}"] = Case(lambda n=name, on=on: explain(on, cheap(n)), NEEDS.get(name, ()))
        if name not in SLOW:
            found[f"{name} as published"] = Case(lambda n=name: explain("conv-one", n), NEEDS.get(name, ()))
    return found


def _settings() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for name in ("samp", "samp++", "coupled"):
        for eta in (0.01, 0.2, 1.0):
            found[f"{name} eta={eta}"] = _walk("conv", name, eta=eta)
        for momentum in (0.0, 0.3, 0.9):
            found[f"{name} momentum={momentum}"] = _walk("conv", name, momentum=momentum)
        for direction in ("to_baseline", "to_image", "both"):
            found[f"{name} direction={direction}"] = _walk("residual", name, direction=direction)
        for steps in (1, 6):
            found[f"{name} steps={steps}"] = _walk("conv", name, steps=steps)
            found[f"{name} steps={steps} on tokens"] = _walk("tokens", name, steps=steps)
        for pixels in (1, 10, 10_000):
            found[f"{name} pixels_per_step={pixels}"] = _walk("conv", name, pixels_per_step=pixels)
        for batch_size in (1, 2, 3, "auto"):
            found[f"{name} batch_size={batch_size}"] = _walk("conv-five", name, {"batch_size": batch_size})
        for on in ("conv-one", "tabular", "two inputs"):
            found[f"{name} tapes on {on}"] = _walk(on, name, {"keep_points": True}, steps=6)
            found[f"{name} thinned tapes on {on}"] = _walk(on, name, {"keep_points": 1200}, steps=6)
    for growth in (0.0, 0.5, 1.0):
        found[f"coupled growth={growth}"] = _walk("conv", "coupled", growth=growth)
    for quality in ("draft", "standard", "fine"):
        for on in ("conv", "conv-40", "tabular", "attention"):
            found[f"coupled {quality} on {on}"] = _walk(on, "coupled", quality=quality)
    for weight in (0.1, 3.0):
        found[f"coupled weight={weight}"] = _walk("conv", "coupled", weight=weight)
    found |= _of_means()
    for name in sorted(credits().CREDITS):
        for chosen in ("samp++", "ig", "guidedig", "spectralig", "idgi"):
            found[f"{chosen} credit={name}"] = _walk("conv-one", chosen, credit=name)
        found[f"samp credit={name} on tabular"] = _walk("tabular", "samp", credit=name)
    for name in ("ig", "gradient", "samp++", "consensus", "rise", "random"):
        found[f"{name} seed=7"] = _walk("conv", name, {"seed": 7}, **({"masks": 24} if name == "rise" else {}))
    for name in ("consensus", "coupled", "samp++", "ig", "gradient", "gradcam"):
        found[f"{name} fast"] = Case(lambda n=name: explain("conv-one", cheap(n), speed="fast"))
        found[f"{name} fast on tabular"] = Case(lambda n=name: explain("tabular", cheap(n), speed="fast"))
    return found


def _of_means() -> dict[str, Case]:
    """The settings of a mean of walks, a draft where another setting is beside the point."""
    found: dict[str, Case] = {}
    changed: dict[str, tuple[Any, ...]] = {
        "walks": (1, 2, 3),
        "noise": (1e-6, 0.3),
        "softness": (0.0, 0.5, 1.0),
        "momentum": (0.0, 0.9),
        "growth": (0.0, 1.0),
        "weight": (0.1, 3.0),
        "first_walk": (1, 5),
    }
    for setting, values in changed.items():
        for value in values:
            found[f"consensus {setting}={value}"] = _walk("conv", "consensus", **{"quality": "draft", setting: value})
    for direction in ("to_baseline", "to_image", "both"):
        found[f"consensus direction={direction}"] = _walk("residual", "consensus", direction=direction)
    for steps in (1, 6):
        found[f"consensus steps={steps}"] = _walk("conv", "consensus", steps=steps)
        found[f"consensus steps={steps} on tokens"] = _walk("tokens", "consensus", steps=steps)
    for batch_size in (1, 2, 3, "auto"):
        found[f"consensus batch_size={batch_size}"] = _walk("conv-five", "consensus", {"batch_size": batch_size})
    for on in ("conv-one", "tabular", "two inputs"):
        found[f"consensus tapes on {on}"] = _walk(on, "consensus", {"keep_points": True}, steps=6)
        found[f"consensus thinned tapes on {on}"] = _walk(on, "consensus", {"keep_points": 1200}, steps=6)
    for quality in ("draft", "standard", "fine"):
        for on in ("conv", "conv-40", "tabular", "attention"):
            found[f"consensus {quality} on {on}"] = _walk(on, "consensus", quality=quality)
    return found


def _baselines() -> dict[str, Case]:
    known = samp.baselines
    chosen = {
        "black": "black",
        "white": "white",
        "blurred": "blurred",
        "uniform": "uniform",
        "gaussian": "gaussian",
        "constant": known.Constant(0.25),
        "own blur": known.Blurred(5, 1.5),
        "own uniform": known.Uniform(-1, 1),
        "own noise": known.GaussianNoise(0.5, 0.1),
        "tensor": image(2, 3, 12, 60),
        "one tensor": image(1, 3, 12, 61),
        "pair": ("uniform", "gaussian"),
        "pair of objects": (known.Constant(-1.0), known.Blurred(7, 2.0)),
        "function": _halved,
        "three": ("black", "white", "black"),
        "unknown": "pink",
    }
    found = {}
    for label, baseline in chosen.items():
        for name in ("samp++", "consensus", "coupled", "ig-both"):
            found[f"{name} baseline {label}"] = Case(lambda n=name, b=baseline: explain("conv", method(n, baseline=b)))
    for label in ("black", "white", "uniform", "gaussian"):
        for name in ("deeplift", "rise", "occlusion", "shapley", "ablation", "lime", "spectralig", "guidedig"):
            needs = NEEDS.get(name, ())
            found[f"{name} baseline {label}"] = Case(
                lambda n=name, b=label: explain("conv", replace(cheap(n), baseline=b)), needs
            )
    found["samp++ a baseline for each input"] = Case(
        lambda: explain("two inputs", method("samp++", baseline=[image(2, 2, 6, 62), "white"]))
    )
    return found


def _halved(x: Any) -> Any:
    return x / 2


_LAST = torch.tensor([[0.0], [0.0], [0.5]])  # lifts the last sample


def _broken_above(x: Any) -> Any:
    """A score that is NaN for the last sample alone."""
    return x.tanh().sum(1, keepdim=True) + torch.where(x.sum(1, keepdim=True) > 1.9, torch.nan, 0.0)


def _others() -> dict[str, Case]:
    wrong: dict[str, Callable[[], Any]] = {
        "eta 0": lambda: method("samp", eta=0.0),
        "steps and pixels": lambda: method("coupled", steps=3, pixels_per_step=2),
        "unknown method": lambda: explain("conv", "integrated gradient descent"),
        "unknown quality": lambda: method("coupled", quality="finest"),
        "no noise in a mean": lambda: method("consensus", noise=0.0),
        "no walk in a mean": lambda: method("consensus", walks=0),
        "unknown credit": lambda: method("ig", credit="half"),
        "unknown direction": lambda: method("ig", direction="up"),
        "unknown speed": lambda: explain("conv", "ig", speed="warp"),
        "record": lambda: explain("conv", "ig", keep_points=-1),
        "batch size": lambda: explain("conv", "ig", batch_size=0),
        "target beyond": lambda: explain("conv", "ig", target=9),
        "target count": lambda: explain("conv", "ig", target=[0, 1, 2]),
        "bare argument": lambda: explain("arguments", "ig", forward_args=(scatter(3), scatter(8))),
        "float mask": lambda: explain("conv", "ig", groups=scatter(12, 12)),
        "mask of another shape": lambda: explain("conv", "ig", groups=scatter(5, 5).long()),
        "integers": lambda: samp.explain(problem("tabular").model, scatter(2, 10).long()),
        "NaN": lambda: samp.explain(
            problem("tabular").model, scatter(2, 10) / scatter(2, 10).sub(scatter(2, 10)), target=0
        ),
        "score turns NaN": lambda: samp.explain(_broken_above, scatter(3, 4, salt=64) * 0.5 + _LAST, target=0),
    }
    found = {f"refused: {label}": Case(make) for label, make in wrong.items()}
    found["methods table"] = Case(lambda: samp.methods.table())
    found["method names"] = Case(lambda: samp.methods.names())
    for name in ("Grad-CAM", "integrated_gradients", "SAMP++", "Guided Backprop"):
        found[f"method called {name}"] = Case(lambda n=name: samp.methods.resolve_method(n))
    return found


def _all() -> dict[str, Case]:
    from golden.measures import measures  # which is built of cases

    return {**_on_problems(), **_settings(), **_baselines(), **_others(), **measures()}


CASES: dict[str, Case] = _all()
