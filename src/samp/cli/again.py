"""The commands that show one input of a run in more detail, with the model and the method that the run had."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from samp.cli.options import MODEL_WORDS, SETTINGS

if TYPE_CHECKING:
    from samp.batch import RunResults
    from samp.html.gallery import Commands


def commands_for(run: RunResults) -> Commands:
    """Return the commands for one input; empty ones where words do not say how the model or the method is made."""
    from samp.html.gallery import Commands
    from samp.methods import resolve_method

    recipe = run.about.get("recipe", {})
    model, method = recipe.get("model"), recipe.get("method")
    if not model or not method or run.settings["dtype"] != "float32":
        return Commands()
    rest = " ".join([*_model_flags(model), *_method_flags(method, run.settings["seed"])])
    walks = hasattr(resolve_method(method["method"]), "credit")
    asked = "{photo} --target {target}"
    return Commands(
        explain=f"samp explain {asked} {rest} --out why.png",
        play=f"samp play {asked} {rest} --out path.html" if walks else "",
        against=f"samp explain {asked} --against {{true}} {rest} --out why.png",
    )


def _model_flags(words: Mapping[str, Any]) -> list[str]:
    flags = []
    for name in MODEL_WORDS:
        value = words.get(name)
        if value is True:
            flags.append(f"--{name}")
        elif value not in (None, False):
            parts = value if isinstance(value, list) else [value]
            flags.append(f"--{name} {shlex.quote(','.join(map(str, parts)))}")
    return flags


def _method_flags(words: Mapping[str, Any], seed: int) -> list[str]:
    options = {field: option for option, field in SETTINGS.items()}
    flags = [f"--method {shlex.quote(str(words['method']))}"]
    flags += [f"--{options[field]} {shlex.quote(str(value))}" for field, value in words.items() if field in options]
    return [*flags, f"--seed {seed}"] if seed else flags
