"""Cases beside maps: metrics, comparisons, statistics, baselines and groups alone, and a run over a data set."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from safetensors.torch import load_file

import samp
from golden import cases
from golden.problems import conv, image, problem, scatter


def measures() -> dict[str, cases.Case]:
    """Return all of these cases by name."""
    found = {**_curves(), **_fidelity(), **_of_maps(), **_against_truth()}
    found |= {**_statistics(), **_streams(), **_compared(), **_runs(), **_parts()}
    needs = {"infidelity": ("captum",), "localisation": ("scipy",), "pointing": ("scipy",), "sensitivity": ()}
    return {name: cases.Case(make, needs.get(name.split()[0], ())) for name, make in found.items()}


Cases = dict[str, Callable[[], Any]]


def _measured(measure: str, on: str = "conv", maps: Any = None, **settings: Any) -> Any:
    """The metric of this name, of IG's maps unless others are given."""
    posed = problem(on)
    kept = {key: value for key, value in posed.settings.items() if key in ("target", "forward_args", "groups")}
    if measure == "deletion_insertion":
        kept.pop("groups", None)
    maps = cases.explain(on, cases.method("ig", steps=5)) if maps is None else maps
    return getattr(samp.metrics, measure)(posed.model, posed.inputs, maps, **{**kept, **settings})


def _curves() -> Cases:
    found: Cases = {}
    for protocol in (*sorted(samp.metrics.PROTOCOLS), None):
        for on in ("conv", "conv-40", "grey", "float64", "tabular", "two inputs", "channels last"):
            found[f"deletion_insertion {protocol} on {on}"] = lambda p=protocol, on=on: _measured(
                "deletion_insertion", on, protocol=p
            )
    own = samp.metrics.Protocol
    metrics = samp.metrics
    protocols = {
        "steps of 7": own(step=7, score="probability", auc="trapezoid"),
        "shares": own(step=(0.1, 0.5, 0.9), fill="white", start="uniform"),
        "change": own(step=16, normalise="change", absolute=True),
        "image": own(step=16, normalise="image", fill=metrics.ChannelMeans(), start=metrics.RISEBlur()),
        "imputed": own(step=24, fill=metrics.NoisyLinear(), start=metrics.NoisyLinear()),
        "remaining mean": own(step=24, fill=metrics.RemainingMean(), start=metrics.RemainingMean()),
        "patches": own(step=2, unit=samp.Patches(4)),
    }
    for label, protocol in protocols.items():
        found[f"deletion_insertion {label}"] = lambda p=protocol: _measured("deletion_insertion", protocol=p)
    found["deletion_insertion of a tensor"] = lambda: _measured("deletion_insertion", maps=scatter(2, 12, 12, salt=70))
    found["deletion_insertion batch_size=1"] = lambda: _measured("deletion_insertion", batch_size=1, seed=3)
    found["deletion_insertion of a wrong shape"] = lambda: _measured("deletion_insertion", maps=scatter(2, 5, 5))
    found["transfer"] = lambda: samp.metrics.transfer(
        {"one": conv(3, 20), "other": conv(3, 21)}, problem("conv").inputs, scatter(2, 12, 12, salt=71), target=1
    )
    return found


def _fidelity() -> Cases:
    found: Cases = {}
    for on in ("conv-one", "tabular", "superpixels", "arguments", "two inputs", "float64"):
        found[f"sensitivity_n on {on}"] = lambda on=on: _measured("sensitivity_n", on, sizes=[1, 2, 4], subsets=12)
        found[f"mu_fidelity on {on}"] = lambda on=on: _measured("mu_fidelity", on, subsets=20)
        found[f"infidelity on {on}"] = lambda on=on: _measured("infidelity", on, perturbations=12)
    found["sensitivity_n all sizes"] = lambda: _measured("sensitivity_n", subsets=10, score="probability", seed=4)
    found["sensitivity_n uniform fill"] = lambda: _measured("sensitivity_n", sizes=[3], subsets=10, fill="uniform")
    found["mu_fidelity pearson"] = lambda: _measured("mu_fidelity", subsets=20, correlation="pearson", size=5, seed=4)
    found["sds"] = lambda: _measured("sds")
    found["sds of 3 patches, white"] = lambda: _measured("sds", patches=3, fill="white", score="probability")
    hidden, noise = samp.metrics.Hidden, samp.metrics.Noise
    for label, chosen in {
        "hidden": hidden(0.4, "white"),
        "noise": noise(0.3),
        "filled noise": noise(0.3, "black"),
    }.items():
        found[f"infidelity {label}"] = lambda p=chosen: _measured("infidelity", perturbation=p, perturbations=12)
    found["infidelity normalised"] = lambda: _measured("infidelity", perturbations=12, normalise=True, seed=4)
    found["completeness_check"] = lambda: samp.metrics.completeness_check(
        problem("conv").model, problem("conv").inputs, betas=[1, 10], target=1
    )
    found["completeness_correlation"] = lambda: samp.metrics.completeness_correlation(
        [cases.explain(on, "samp++") for on in ("conv", "conv-five")]
    )
    return found


def _of_maps() -> Cases:
    metrics = samp.metrics
    maps = {
        "image": scatter(3, 2, 7, 7, salt=72) - 0.5,
        "flat": scatter(3, 20, salt=73) - 0.25,
        "zeros": torch.zeros(2, 5),
    }
    found: Cases = {}
    for label, given in maps.items():
        for name in ("concentration", "gini", "top_share", "variance"):
            found[f"{name} of {label}"] = lambda n=name, g=given: getattr(metrics, n)(g)
        found[f"completeness of {label}"] = lambda g=given: metrics.completeness(g, scatter(len(g)))
    found["top_share of half"] = lambda: metrics.top_share(maps["flat"], 0.5)
    for name in ("samp++", "consensus", "coupled", "ig-both", "gradcam"):
        found[f"completeness_of {name}"] = lambda n=name: metrics.completeness_of(cases.explain("conv", cases.cheap(n)))
        found[f"concentration of {name}"] = lambda n=name: metrics.concentration(cases.explain("conv", cases.cheap(n)))
    return found


def _against_truth() -> Cases:
    metrics = samp.metrics
    box, annotation = metrics.Box, metrics.Annotation
    maps = scatter(3, 16, 16, salt=74)
    masks = scatter(3, 4, 4, salt=75).repeat_interleave(4, 1).repeat_interleave(4, 2) > 0.6
    photos = [
        annotation((box("dog", 1, 2, 6, 7), box("cat", 8, 8, 15, 14)), (16, 16)),
        annotation((box("dog", 0, 0, 3, 3, True), box("cat", 4, 0, 16, 5)), (16, 16)),
        annotation((box("cat", 9, 1, 12, 16),), (16, 16)),
    ]
    found: Cases = {}
    for tolerance in (0, 2, 15):
        found[f"pointing game, masks, {tolerance}"] = lambda t=tolerance: metrics.pointing_game(
            maps, masks, tolerance=t
        )
        found[f"pointing game, boxes, {tolerance}"] = lambda t=tolerance: metrics.pointing_game(
            maps, photos, ["dog", "cat", "dog"], tolerance=t
        )
    for name in ("auroc", "precision", "energy"):
        found[f"{name}, masks"] = lambda n=name: getattr(metrics, n)(maps - 0.5, masks)
        found[f"{name}, boxes"] = lambda n=name: getattr(metrics, n)(maps.round(decimals=1), photos, ["cat"] * 3)
    for threshold in (metrics.OfMaximum(), metrics.OfMaximum(0.7), metrics.TopPixels(), metrics.Otsu()):
        found[f"segmentation {threshold}"] = lambda t=threshold: metrics.segmentation(maps, masks, threshold=t)
        found[f"localisation {threshold}"] = lambda t=threshold: metrics.localisation(
            maps, photos, ["cat"] * 3, threshold=t
        )
    found["pointing games joined"] = lambda: metrics.join_games(
        [metrics.pointing_game(maps[i : i + 1], photos[i : i + 1], ["cat"], tolerance=1) for i in range(3)]
    )
    found["is_difficult"] = lambda: [metrics.is_difficult(one, name) for one in photos for name in ("dog", "cat")]
    found["cropped"] = lambda: [
        repr(metrics.crop_boxes(one, 8, margin)) for one in photos for margin in (0.5, 1.0, None)
    ]
    found["grid"] = lambda: metrics.grid(7, 11, 3)
    return found


def _statistics() -> Cases:
    metrics = samp.metrics
    a, b = (scatter(24, salt=salt).double().tolist() for salt in (76, 77))
    gaps = [float("nan") if i % 5 == 0 else value for i, value in enumerate(a)]
    few = metrics.Bootstrap(confidence=0.9, resamples=199, seed=3)
    found: Cases = {
        "summarise": lambda: metrics.summarise(a),
        "summarise with gaps": lambda: metrics.summarise(gaps, few),
        "summarise one": lambda: metrics.summarise([0.5]),
        "paired ties": lambda: metrics.compare_pairs([1, 2, 3, 4.0], [1, 3, 2, 6.0], "lower"),
        "paired many": lambda: metrics.compare_pairs(
            scatter(90, salt=78).double(), scatter(90, salt=79).double(), "higher", few
        ),
        "holm": lambda: metrics.holm([0.01, 0.04, float("nan"), 0.03]),
        "table": lambda: metrics.table({"a": a, "b": b, "gaps": gaps}, "higher"),
        "table against": lambda: metrics.table({"a": a, "b": b, "gaps": gaps}, "lower", "b", few),
    }
    for better in ("lower", "higher"):
        found[f"paired {better}"] = lambda b_=better: metrics.compare_pairs(a, b, b_)
        found[f"paired {better} with gaps"] = lambda b_=better: metrics.compare_pairs(gaps, b, b_, few)
    return found


def _streams() -> Cases:
    metrics = samp.metrics

    def moments() -> Any:
        one, other = metrics.Moments(), metrics.Moments()
        for salt in range(3):
            one.update(scatter(5, 2, salt=80 + salt))
            other.update(scatter(4, 2, salt=90 + salt) * 7)
        one.merge(other)
        return one.compute()

    def correlation() -> Any:
        pairs = metrics.Correlation()
        for salt in range(3):
            pairs.update(scatter(6, 2, salt=80 + salt), scatter(6, 2, salt=85 + salt))
        return pairs.compute()

    def running() -> Any:
        metric = metrics.Running(metrics.deletion_insertion, problem("conv").model, protocol="rise", keep=True)
        for salt in range(2):
            metric.update(image(2, 3, 12, 95 + salt), scatter(2, 12, 12, salt=97 + salt), target=0)
        return {"moments": metric.compute(), "scores": metric.scores}

    def game() -> Any:
        played = metrics.RunningGame()
        for salt in range(3):
            truth = scatter(2, 8, 8, salt=98 + salt) > 0.8
            played.update(metrics.pointing_game(scatter(2, 8, 8, salt=99 + salt), truth, ["a", "b"], tolerance=1))
        return played.compute()

    return {"moments": moments, "correlation": correlation, "running metric": running, "pointing game, running": game}


def _compared() -> Cases:
    chosen = ["coupled", "samp++", "ig", "gradcam", "random"]

    def compared(on: str, methods: Any, **settings: Any) -> Any:
        posed = problem(on)
        found = samp.compare(posed.model, posed.inputs, methods, **{**posed.settings, **settings})
        numbers = {row.name: {**row.numbers(), "first": row.numbers(0)} for row in found.rows}
        for one in numbers.values():
            one.pop("seconds"), one["first"].pop("seconds")
        rows = {row.name: [row.attribution.values, row.curves, row.completeness_error] for row in found.rows}
        return {"numbers": numbers, "rows": rows, "protocol": repr(found.protocol)}

    plain = samp.metrics.Protocol(step=2)
    return {
        "compare on conv": lambda: compared("conv", chosen),
        "compare on conv-40": lambda: compared("conv-40", chosen, protocol="rise"),
        "compare on superpixels": lambda: compared("superpixels", {"ours": "coupled", "theirs": cases.cheap("ig")}),
        "compare on tabular": lambda: compared("tabular", ["samp", "ig"], protocol=plain),
        "compare on arguments": lambda: compared("arguments", ["samp", "ig"], protocol=plain, seed=2, batch_size=1),
        "compare by no protocol": lambda: compared("tabular", ["samp", "ig"]),
        "compare nothing": lambda: compared("conv", []),
        "compare twice the same": lambda: compared("conv", ["ig", "ig"]),
    }


def _runs() -> Cases:
    classes = ("ant", "bee", "cat", "dog")
    net = samp.models.Classifier(conv(3, 30), "golden", 12, 0.5, 0.5, classes)

    def photos(count: int) -> list[Any]:
        pixels = (scatter(count, 14, 18, 3, salt=40) * 255).byte().numpy()
        return [Image.fromarray(one) for one in pixels]

    def run(data: Callable[[Path], Any], **settings: Any) -> Any:
        with tempfile.TemporaryDirectory() as place:
            out = Path(place) / "out"
            summary = samp.run(
                data(Path(place)), out=out, **{"model": net, "method": cases.cheap("samp++"), **settings}
            )
            counts = [summary.inputs, summary.explained, summary.found, summary.code]
            return {"counts": counts, "failures": summary.failures, **_written(out)}

    def in_folder(place: Path) -> Path:
        for number, photo in enumerate(photos(5)):
            path = place / "photos" / ("deeper" if number % 2 else ".") / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            photo.save(path)
        (place / "photos" / "broken.png").write_bytes(b"not a photo")
        return place / "photos"

    return {
        "run over photos": lambda: run(lambda _: photos(5), shard_size=2),
        "run over a folder": lambda: run(in_folder, shard_size=4, map_dtype="float32"),
        "run over tensors": lambda: run(lambda _: list(image(4, 3, 12, 41)), method="gradient", target=2),
        "run consensus": lambda: run(lambda _: photos(3), method="consensus", target="cat", batch_size=2),
        "run coupled": lambda: run(lambda _: photos(3), method="coupled", target="cat", batch_size=2),
        "run to an unknown class": lambda: run(lambda _: photos(1), target="cow"),
    }


def _written(out: Path) -> dict[str, Any]:
    """The rows, the maps and the settings in a run's folder, whatever the form of its rows."""
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    settings = {k: v for k, v in manifest["settings"].items() if k != "numbers"}
    maps = {path.name: load_file(path) for path in sorted((out / "maps").iterdir())}
    rows = [row for path in sorted((out / "numbers").iterdir()) for row in _rows(path)]
    return {"settings": settings, "maps": maps, "rows": {row["id"]: row for row in rows}}


def _rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    from pyarrow import parquet

    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows


def _parts() -> Cases:
    """Baselines, and results saved and read back."""
    known, x = samp.baselines, image(2, 3, 12, 42)
    made = {
        "constant": known.Constant(0.5),
        "blur": known.Blurred(),
        "blur of the paper": known.Blurred.for_image(12, 12),
        "small blur": known.Blurred(3, 0.5),
    }
    found: Cases = {f"baseline {label}": lambda b=one: b(x) for label, one in made.items()}
    found["baseline uniform"] = lambda: [known.Uniform(0, 2)(x, seed=seed) for seed in (0, 5)]
    found["baseline gaussian"] = lambda: [known.GaussianNoise(1, 2)(x, seed=seed) for seed in (0, 5)]

    def saved() -> Any:
        with tempfile.TemporaryDirectory() as place:
            path = cases.explain("conv", cases.cheap("samp++"), keep_points=True).save(Path(place) / "one.samp")
            return samp.Attribution.load(path)

    return {**found, "saved and loaded": saved}
