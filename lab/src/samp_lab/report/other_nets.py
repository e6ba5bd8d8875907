"""Which verdicts are of other nets than the paper's: they show how far a finding carries, and decide on no claim."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from samp_lab.sections import Block, Section, Verdict, Verdicts
from samp_lab.setups import DEFAULT_NETS, IMAGENET_NETS, Setup, parse_setup


def main_net(data: str, reading: str, setups: Iterable[str]) -> str:
    """Return the net that decides on claims: the paper's if it is among an experiment's setups on this data, else the
    first of those.

    >>> main_net("imagenet", "text", ["imagenet/mobilenet_v2", "imagenet/resnet50"])
    'resnet50'
    >>> main_net("photos", "text", ["photos/mobilenet_v2", "mnist"])
    'mobilenet_v2'
    """
    paper = DEFAULT_NETS[reading].get(data.partition(":")[0], IMAGENET_NETS[0])
    asked = [one.net for one in map(parse_setup, setups) if (one.data, one.reading) == (data, reading)]
    return paper if paper in asked or not asked else asked[0]


def mark_other_nets(section: Section, present: Sequence[Setup], setups: Iterable[str]) -> Section:
    """Return the section with `main=False` on the verdicts of other nets and training seeds.

    A verdict names its setup by the title; one that names none of the `present` decides like all others. `setups` are
    the names of the experiment's own.

    >>> mnist, seed = parse_setup("mnist"), parse_setup("mnist/mnist-seed1")
    >>> verdicts = Verdicts(tuple(Verdict("a", "+1", "+1", "holds", one.title) for one in (mnist, seed)))
    >>> [one.main for one in mark_other_nets(Section("a", "A", (verdicts,)), [mnist, seed], ["mnist"]).verdicts]
    [True, False]
    """
    asked = tuple(setups)
    others = [one.title for one in present if one.net != main_net(one.data, one.reading, asked)]
    titles = [one.title for one in present]
    return replace(section, blocks=tuple(_mark_block(block, titles, others) for block in section.blocks))


def _mark_block(block: Block, titles: Sequence[str], others: Sequence[str]) -> Block:
    if not isinstance(block, Verdicts):
        return block
    return replace(block, rows=tuple(replace(row, main=_title_in(row, titles) not in others) for row in block.rows))


def _title_in(verdict: Verdict, titles: Sequence[str]) -> str:
    """Return the title of the verdict's setup; a colon may follow it, as in "MNIST, the paper's CNN: to black"."""
    fitting = [title for title in titles if verdict.setup == title or verdict.setup.startswith(f"{title}:")]
    return max(fitting, key=len, default="")
