"""Is a batch of four axes b c h w, as images are taken here, or b h w c?

Nothing in a tensor says so. A last axis of 1 or 3 behind two axes of at least `LEAST` pixels is how photos look with
their channels last; a `b c h w` input with such axes is possible (64 electrodes × 100 moments × 1) but rare. Small
feature maps, 512 × 3 × 3, and images of few channels, 3 × 224 × 1, are not in doubt. What is gets a question instead
of pixels made of columns and colours.
"""

from __future__ import annotations

from collections.abc import Sequence

LEAST = 8
COLOURS = (1, 3)


def looks_channels_last(shape: Sequence[int]) -> bool:
    """Whether four axes read like b h w c.

    >>> [looks_channels_last((2, *one)) for one in ((224, 224, 3), (28, 28, 1), (3, 224, 224), (512, 3, 3), (3, 9, 1))]
    [True, True, False, False, False]
    """
    return len(shape) == 4 and shape[3] in COLOURS and min(shape[1:3]) >= LEAST


def check_input_layout(shape: Sequence[int], declared: bool = False) -> None:
    """Raise ValueError for an input that looks like b h w c, unless it is said to be b c h w.

    >>> check_input_layout((2, 3, 224, 224))
    """
    if looks_channels_last(shape) and not declared:
        raise ValueError(
            f"the input has shape {tuple(shape)}, which looks like b h w c, but images are b c h w here: pass "
            "x.permute(0, 3, 1, 2) and, as the model, lambda x: model(x.permute(0, 2, 3, 1)). If it is b c h w, say "
            "groups=samp.Pixels(); if it is no image, samp.Elements() or a mask."
        )


def check_map_layout(shape: Sequence[int]) -> None:
    """Raise ValueError for maps of four axes that look like b h w c: their channels would be summed as b c h w.

    >>> check_map_layout((2, 3, 224, 224))
    """
    if looks_channels_last(shape):
        raise ValueError(
            f"the maps have shape {tuple(shape)}, which looks like b h w c, but axis 1 is taken for the channels: sum "
            "them first, maps.sum(-1), or maps.sum(1) if they are b c h w."
        )
