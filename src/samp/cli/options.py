"""Options that commands share: which model and which method.

`@model_options` and `@method_options` add their options to a command, and pass it one object each, `model` and `how`;
`samp.models.prediction.classify_photo` then runs the model on a photo:

    @click.command()
    @click.argument("photo", type=PATH)
    @model_options
    @method_options
    @target_option
    def command(photo: Path, target: str | None, model: ModelOptions, how: MethodOptions) -> None:
        classified = classify_photo(photo, model.load(), target)
        net, method = classified.classifier.net, how.method(classified.classifier)
        result = samp.explain(net, classified.x, target=classified.targets[0], method=method, seed=how.seed)

Nothing here imports torch before it is needed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from samp.cli.complete import DEVICES, complete_method, complete_model, complete_words
from samp.cli.option_words import BASELINES, COLOURS, parse_baseline, parse_baseline_word, parse_numbers
from samp.cli.terminal import say
from samp.methods.registry import METHODS, method_name

if TYPE_CHECKING:
    from samp.methods import Method
    from samp.models import Classifier

Command = Callable[..., Any]
PATH = click.Path(path_type=Path, readable=False)  # not checked here: one bad photo of several is reported and skipped
DTYPES = ("float32", "float64", "bfloat16", "float16")
ABOUT = """The default method, consensus, is our own: the mean of several walks, whose credit sums to the change of the
score. --quality says of how many: standard, if left out, takes 4 walks and 112 gradients a photo, draft 2 and 36, fine
16 and 480. --method coupled is a single walk, --method samp++ the paper's method."""
# Repeated from the library, so that --help and errors in options need not wait for torch.
QUALITIES = ("draft", "standard", "fine")
# Options that say which model it is and how it is fed.
MODEL_WORDS = ("model", "weights", "trust", "size", "mean", "std", "channels", "classes")
# Options that set a field of the method, and the name of that field.
SETTINGS = {
    "quality": "quality",
    "walks": "walks",
    "steps": "steps",
    "noise": "noise",
    "direction": "direction",
    "baseline": "baseline",
    "eta": "eta",
    "momentum": "momentum",
    "step": "pixels_per_step",
}


@dataclass(frozen=True)
class ModelOptions:
    """Which model, how it is fed, and where it runs; None leaves it to the model's own metadata."""

    model: str = "efficientnet_lite0"
    weights: Path | None = None
    trust: bool = False
    size: tuple[int, ...] | None = None
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    channels: str | None = None
    classes: Path | None = None
    device: str = "cpu"
    dtype: str = "float32"

    def check(self) -> None:
        """Raise FileNotFoundError if a file that it names is not there: known before torch is imported."""
        for option, path in (("--weights", self.weights), ("--classes", self.classes)):
            if path is not None and not path.exists():
                raise FileNotFoundError(f"{option} {path} is not a file: check its name and folder.")

    def load(self) -> Classifier:
        """Return the classifier in evaluation mode on its device; what had to be assumed is printed to stderr."""
        import torch

        from samp.models import load
        from samp.models.prediction import usable_device

        device = usable_device(self.device)
        given = {name: getattr(self, name) for name in ("size", "mean", "std", "channels")}
        classifier = load(self.model, self.weights, trust=self.trust, classes=self.classes, **given)
        if classifier.assumed:
            assumed = ", ".join(f"{name} {getattr(classifier, name)}" for name in classifier.assumed)
            options = ", ".join(f"--{name}" for name in classifier.assumed)
            say(
                f"samp: {classifier.name} does not say how it is fed; as for ImageNet: {assumed} (set by {options}).",
                err=True,
            )
        classifier.net.to(device, getattr(torch, self.dtype))
        return classifier


@dataclass(frozen=True)
class MethodOptions:
    """Which method, with which of its settings changed; None leaves a setting as the method has it."""

    name: str = "consensus"
    quality: str | None = None
    walks: int | None = None
    steps: int | None = None
    noise: float | None = None
    direction: str | None = None
    baseline: str | None = None
    eta: float | None = None
    momentum: float | None = None
    step: int | None = None
    seed: int = 0

    @property
    def canonical_name(self) -> str:
        """The method's own name, even if an alias was typed."""
        return method_name(self.name)

    def check(self) -> None:
        """Raise ValueError for an unknown method or a setting that it does not have: known before torch is imported."""
        own = METHODS[self.canonical_name].settings
        for option in self._changed_settings():
            if SETTINGS[option] not in own:
                has = ", ".join(f"--{o}" for o, field in SETTINGS.items() if field in own) or "none of these settings"
                raise ValueError(f"{self.name} takes no --{option}: it has {has}.")
        if self.baseline is not None:
            for word in self.baseline.split(","):
                parse_baseline_word(word)

    @property
    def names_colour(self) -> bool:
        """Whether the baseline is a colour, and so depends on how the model is fed."""
        return self.baseline is not None and any(word.strip() in COLOURS for word in self.baseline.split(","))

    def method(self, classifier: Classifier | None = None) -> Method:
        """Return the method with these settings; raise ValueError for a setting that it does not have.

        The classifier is needed where the baseline is a colour (`names_colour`).
        """
        from samp.methods import resolve_method

        self.check()
        given = self._changed_settings()
        if self.baseline is not None:
            given["baseline"] = parse_baseline(self.baseline, classifier)
        method: Any = resolve_method(self.name)
        changed: Method = replace(method, **{SETTINGS[option]: value for option, value in given.items()})
        return changed

    def _changed_settings(self) -> dict[str, Any]:
        """Return the settings that were given, by their options."""
        return {option: getattr(self, option) for option in SETTINGS if getattr(self, option) is not None}


target_option = click.option("--target", help="Class to explain, by name or number; the predicted one if left out.")

against_option = click.option(
    "--against", help="Class to tell it from, by name or number: why this rather than that, by the margin of scores."
)

speed_option = click.option(
    "--speed",
    type=click.Choice(["exact", "fast"]),
    default="exact",
    show_default=True,
    help="fast: channels last, bfloat16 where the device has it, on a GPU compiled; maps differ a little.",
)

MODEL_OPTIONS = (
    click.option(
        "--model",
        default="efficientnet_lite0",
        show_default=True,
        shell_complete=complete_model,
        help="efficientnet_lite0 (extra demo); mobilenet_v2, squeezenet1_1, resnet50 or dinov2_vits14 with --weights; "
        "torchvision:NAME, timm:NAME or hf:NAME of those packages, which download weights unless --weights gives them; "
        "package.module:factory, your code; or, with --trust, a TorchScript, torch.export (.pt2) or pickled file.",
    ),
    click.option("--weights", type=PATH, help="Weights for it: a safetensors file or a checkpoint of torch."),
    click.option(
        "--trust",
        is_flag=True,
        help="Open files that are code (TorchScript, .pt2, pickles of more than tensors): only if you trust the maker.",
    ),
    click.option(
        "--size", type=parse_numbers(int, 1, 2), metavar="N[,N]", help="Input in pixels: 224, or height,width."
    ),
    click.option(
        "--mean",
        type=parse_numbers(float, 1, 3),
        metavar="N[,N,N]",
        help="Subtracted from pixels in [0, 1]: one number, or one per channel.",
    ),
    click.option(
        "--std", type=parse_numbers(float, 1, 3), metavar="N[,N,N]", help="Pixels are then divided by it; as --mean."
    ),
    click.option("--channels", type=click.Choice(["rgb", "bgr", "grey"]), help="Order of the input's channels."),
    click.option("--classes", type=PATH, help="File with the names of the classes, one per line."),
    click.option(
        "--device",
        default="cpu",
        show_default=True,
        shell_complete=complete_words(*DEVICES),
        help="Where to compute: cpu, cuda, cuda:1, mps.",
    ),
    click.option("--dtype", type=click.Choice(DTYPES), default="float32", show_default=True, help="Of net and input."),
)
METHOD_OPTIONS = (
    click.option(
        "--method",
        "name",
        default="consensus",
        show_default=True,
        shell_complete=complete_method,
        help="Name of a method; `samp methods` lists them. samp++ is the paper's.",
    ),
    click.option(
        "--quality",
        type=click.Choice(QUALITIES),
        help="How many walks consensus takes, and how finely coupled walks. Gradients a photo of draft, standard (the "
        "default) and fine: 36, 112 and 480; of coupled 16, 32 and about 130.",
    ),
    click.option("--walks", type=click.IntRange(1), help="Walks that the map of consensus is the mean of."),
    click.option("--steps", type=click.IntRange(1), help="Steps of each walk."),
    click.option(
        "--noise",
        type=click.FloatRange(0, min_open=True),
        help="Noise of consensus and smoothgrad where they take gradients, as a share of the image's span.",
    ),
    click.option(
        "--direction", type=click.Choice(["both", "to_baseline", "to_image"]), help="Which way to walk the path."
    ),
    click.option(
        "--baseline",
        shell_complete=complete_words(*BASELINES),
        help="black or white as in a photo, blurred, or zero, uniform, gaussian or a number in the space the model is "
        "fed, where zero is often mid-grey; two with a comma between are for deletion and insertion.",
    ),
    click.option(
        "--eta",
        type=click.FloatRange(0, min_open=True),
        help="Longest step as a ratio of the walk; samp++ draws finer maps with 0.02.",
    ),
    click.option(
        "--momentum", type=click.FloatRange(0, 1, max_open=True), help="Weight of earlier gradients, from 0 to below 1."
    ),
    click.option("--step", type=click.IntRange(1), help="Pixels that move per step."),
    click.option(
        "--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Seed of everything random."
    ),
)


def model_options(command: Command) -> Command:
    """Add --model, --weights, --trust, --size, --mean, --std, --channels, --classes, --device and --dtype."""
    return _collect_options(command, "model", ModelOptions, MODEL_OPTIONS)


def method_options(command: Command) -> Command:
    """Add --method, its settings (`SETTINGS`) and --seed."""
    return _collect_options(command, "how", MethodOptions, METHOD_OPTIONS)


def _collect_options(
    command: Command, name: str, kind: type[Any], options: Sequence[Callable[[Command], Command]]
) -> Command:
    """Return the command with these options, whose values are passed to it as one object of this kind and name."""

    @functools.wraps(command)
    def call_with_options(**words: Any) -> Any:
        own = {field.name: words.pop(field.name) for field in fields(kind)}
        return command(**words, **{name: kind(**own)})

    result: Command = call_with_options
    for option in reversed(options):
        result = option(result)
    return result


def is_typed(name: str) -> bool:
    """Return whether an option was given by the user."""
    context = click.get_current_context(silent=True)
    source = context.get_parameter_source(name) if context else None
    return source not in (None, click.core.ParameterSource.DEFAULT)
