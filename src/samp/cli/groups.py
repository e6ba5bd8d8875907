"""The option --groups: what a feature of a photo is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from samp.cli.complete import complete_words

if TYPE_CHECKING:
    from samp.groups import Groups

KINDS = ("patches", "superpixels")

groups_option = click.option(
    "--groups",
    metavar="KIND:N",
    shell_complete=complete_words(*(f"{kind}:" for kind in KINDS)),
    help="Explain superpixels:N, about N pieces of the photo that look alike (extra compare), or patches:N of N × N "
    "pixels; single pixels if left out.",
)


def check_groups(words: str | None) -> None:
    """Raise ValueError unless these words are a kind and a number, or None: known before torch is imported.

    >>> check_groups("superpixels:100")
    >>> check_groups("tiles")
    Traceback (most recent call last):
    ValueError: --groups tiles: give superpixels:N or patches:N with a whole number N of at least 1, or leave it out.
    """
    kind, _, number = (words or "patches:1").partition(":")
    if kind not in KINDS or not number.isdecimal() or int(number) < 1:
        raise ValueError(
            f"--groups {words}: give superpixels:N or patches:N with a whole number N of at least 1, or leave it out."
        )


def parse_groups(words: str | None) -> Groups | None:
    """Return the features that these words name; None for None, which is pixels. Raise ValueError for other words.

    >>> parse_groups("superpixels:100")
    Superpixels(count=100, compactness=10.0, sigma=0.0)
    """
    from samp.groups import Patches, Superpixels

    check_groups(words)
    if words is None:
        return None
    kind, _, number = words.partition(":")
    return Superpixels(int(number)) if kind == "superpixels" else Patches(int(number))
