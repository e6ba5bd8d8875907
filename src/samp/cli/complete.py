"""What a shell completes: the values of options, without waiting for torch."""

from __future__ import annotations

from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

from samp.methods.registry import METHODS

MODELS = ("efficientnet_lite0", "mobilenet_v2", "squeezenet1_1", "resnet50", "dinov2_vits14")
HUBS = ("torchvision:", "timm:", "hf:")
DEVICES = ("cpu", "cuda", "mps")


def complete_method(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of methods."""
    return [CompletionItem(name) for name in METHODS if name.startswith(incomplete)]


def complete_words(*words: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return a completion of an option's value by these words."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]

    return complete


def complete_model(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of models that come with samp and the beginnings of others; else a file is meant."""
    found = [CompletionItem(name) for name in (*MODELS, *HUBS) if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]
