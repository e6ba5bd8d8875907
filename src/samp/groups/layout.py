"""The layout of images: b c h w is expected, and what looks like b h w c is refused."""

from __future__ import annotations

from collections.abc import Sequence

LEAST_PIXELS = 8
COLOUR_CHANNELS = (1, 3)


def image_shape(shape: Sequence[int], kind: object) -> tuple[int, int, int]:
    """Return channels, height and width of a sample; raise ValueError if it is no image."""
    if len(shape) != 3:
        raise ValueError(
            f"{kind!r} needs images of shape b c h w, but a sample has shape {tuple(shape)}: pass Elements() or a mask."
        )
    return shape[0], shape[1], shape[2]


def looks_channels_last(shape: Sequence[int]) -> bool:
    """Return whether a shape of four axes looks like b h w c, and not like the b c h w that images are expected in.

    This is a guess: photos with channels last have a last axis of 1 or 3 after two axes of at least `LEAST_PIXELS`. A
    `b c h w` input with such axes is possible (64 electrodes × 100 time steps × 1) but rare. Small feature maps,
    512 × 3 × 3, and narrow images, 3 × 224 × 1, are not affected.

    >>> [looks_channels_last((2, *one)) for one in ((224, 224, 3), (28, 28, 1), (3, 224, 224), (512, 3, 3), (3, 9, 1))]
    [True, True, False, False, False]
    """
    return len(shape) == 4 and shape[3] in COLOUR_CHANNELS and min(shape[1:3]) >= LEAST_PIXELS


def check_input_layout(shape: Sequence[int], declared: bool = False) -> None:
    """Raise ValueError for an input that looks like b h w c, unless it is `declared` to be b c h w.

    >>> check_input_layout((2, 3, 224, 224))
    """
    if looks_channels_last(shape) and not declared:
        raise ValueError(
            f"the input has shape {tuple(shape)}, which looks like b h w c, but images are b c h w here: pass "
            "x.permute(0, 3, 1, 2) and, as the model, lambda x: model(x.permute(0, 2, 3, 1)). If it is b c h w, say "
            "groups=samp.Pixels(); if it is no image, samp.Elements() or a mask."
        )


def check_map_layout(shape: Sequence[int]) -> None:
    """Raise ValueError for maps that look like b h w c, since their axis 1 would be summed as the channels.

    >>> check_map_layout((2, 3, 224, 224))
    """
    if looks_channels_last(shape):
        raise ValueError(
            f"the maps have shape {tuple(shape)}, which looks like b h w c, but axis 1 is taken for the channels: sum "
            "them first, maps.sum(-1), or maps.sum(1) if they are b c h w."
        )
