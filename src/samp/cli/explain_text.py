"""`samp explain --text`: which words of a text made a model of transformers give its answer."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from samp.cli.options import Command, MethodOptions, ModelOptions, _collect_options, is_typed
from samp.cli.terminal import printable, say, say_block
from samp.lookup import look_up

if TYPE_CHECKING:
    from samp.text import TextAttribution

BASELINES = ("mask", "pad", "zero", "mean")  # repeated from the library, which imports torch
# Of a model that answers for each token, such as a language model; docs/text.md has what was measured.
HINT = (
    "samp: where a model answers for each token, --method shapley (extra `compare`) can be trusted more; it takes 25 "
    "forward passes for each word or token."
)
# Background of 256-colour terminals from faint to strong, for and against the target, under black letters.
SHADES = {True: (230, 223, 216, 208), False: (195, 153, 111, 75)}


@dataclass(frozen=True)
class TextOptions:
    """What is explained of texts; there are none where `text` is empty."""

    text: tuple[str, ...] = ()
    similar_to: str | None = None
    features: str = "words"
    position: int | None = None


TEXT_OPTIONS = (
    click.option(
        "--text",
        multiple=True,
        help="Explain this text and no photo, by a text model: --model hf:FOLDER or hf:OWNER/NAME. May come several "
        "times. --target is then a class, or the next token of a language model, and --against may be runner-up; "
        "--baseline is mask, pad, zero or mean.",
    ),
    click.option("--similar-to", help="With --text: explain how similar the model finds it to this one."),
    click.option(
        "--features",
        type=click.Choice(["words", "tokens"]),
        default="words",
        show_default=True,
        help="With --text: what gets credit.",
    ),
    click.option(
        "--position",
        type=int,
        help="With --text: the token whose answer is explained, of a model that answers for each.",
    ),
)


def text_options(command: Command) -> Command:
    """Add --text, --similar-to, --features and --position."""
    return _collect_options(command, "texts", TextOptions, TEXT_OPTIONS)


def explain_texts(
    texts: TextOptions,
    target: str | None,
    against: str | None,
    out: Path | None,
    as_json: bool,
    model: ModelOptions,
    how: MethodOptions,
) -> None:
    """Explain the texts on the terminal or as JSON, and into a page if `out` is given."""
    typed = is_typed("name")
    if not typed and replace(how, name="", baseline=None, seed=0) != MethodOptions(name=""):
        raise ValueError("these settings belong to a method: give --method too, such as ig.")
    baseline = _parse_baseline(how)
    _check(texts, target, out, model, how)

    import torch

    from samp import text
    from samp.text.outputs import NoScoresError
    from samp.text.text_methods import resolve_text_method

    # raises before the model is loaded
    method = resolve_text_method(replace(how, baseline=None).method()) if typed else None
    net, tokenizer = text.load(model.model)
    net.to(model.device, getattr(torch, model.dtype))
    try:
        results = text.explain(
            net,
            tokenizer,
            list(texts.text),
            target=text.Similarity(texts.similar_to) if texts.similar_to else _as_number(target),
            against=_as_number(against),
            method=method,
            baseline=baseline,
            groups=cast(Any, texts.features),
            position=texts.position,
            seed=how.seed,
        )
    except NoScoresError as error:
        raise ValueError(
            f"{model.model} gives hidden states and no scores: give another text as --similar-to, or another model."
        ) from error
    for one in results:
        if as_json:
            say(json.dumps(one.record()))
        else:
            _print_text(one)
    if not typed and any(one.position is not None for one in results):
        say(HINT, err=True)
    if out:
        results.save_page(out)
        if not as_json:
            say(f"written: {out}")


def _check(texts: TextOptions, target: str | None, out: Path | None, model: ModelOptions, how: MethodOptions) -> None:
    """Raise ValueError for options that do not fit a text; known before torch is imported."""
    usual = ModelOptions()
    for name in ("weights", "trust", "size", "mean", "std", "channels", "classes"):
        if getattr(model, name) != getattr(usual, name):
            raise ValueError(f"--{name} is for photos: leave it out with --text.")
    if not model.model.startswith("hf:"):
        raise ValueError(
            f"a text is explained by a text model: give --model hf:FOLDER or hf:OWNER/NAME, not {model.model}."
        )
    if texts.similar_to is not None and not texts.similar_to.strip():
        raise ValueError("--similar-to is empty: give another text.")
    if texts.similar_to is not None and target is not None:
        raise ValueError("give --target or --similar-to, not both.")
    if out is not None and out.suffix.lower() != ".html":
        raise ValueError(f"--out {out} does not end in .html: texts are shown on pages.")
    replace(how, baseline=None).check()


def _parse_baseline(how: MethodOptions) -> Any:
    """Return the names of --baseline: one, a pair for two with a comma, or None; raise ValueError for others."""
    if how.baseline is None:
        return None
    words = tuple(
        look_up(word.strip(), {name: name for name in BASELINES}, "baseline") for word in how.baseline.split(",")
    )
    return words[0] if len(words) == 1 else words


def _as_number(word: str | None) -> str | int | None:
    return int(word) if word is not None and word.isascii() and word.isdecimal() else word


def _print_text(one: TextAttribution) -> None:
    if _has_colours():
        click.echo(_colour_words(one), color=True)
    say_block(str(one))
    say("")


def _has_colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _colour_words(one: TextAttribution) -> str:
    largest = max((abs(piece.credit) for piece in one.pieces if piece.credit is not None), default=0.0)
    return "".join(_colour_word(printable(piece.text), piece.credit, largest) for piece in one.pieces)


def _colour_word(word: str, credit: float | None, largest: float) -> str:
    level = 0 if not credit or not largest else round(4 * abs(credit) / largest)
    return click.style(word, fg="black", bg=SHADES[credit > 0][level - 1]) if credit and level else word
