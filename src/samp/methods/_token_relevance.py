"""From one number per token to one per element of the input: patches to pixels, words to embeddings."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor

from samp.engine.problem import Problem
from samp.methods._token_maps import Size, TokenGrid, TokenProbe


def find_token_layout(
    problem: Problem,
    count: int,
    first_tokens: Callable[[Tensor], Tensor],
    given: Size | None,
    made: Size | None,
    method: str,
) -> TokenGrid | None:
    """Return which of so many tokens are patches of the image, and their grid; None if each is a row of an input b n d.

    It is measured: `first_tokens` returns the tokens (n c) of an image (1 c h w) before attention mixes them. `given`
    is the grid that the caller asks for, `made` the size of the last map before the tokens. Raises ValueError if the
    tokens fit neither, or if it cannot be told which of them are patches.
    """
    if len(problem.inputs) == 1 and problem.inputs[0].ndim == 3 and problem.inputs[0].shape[1] == count:
        return None
    if len(problem.inputs) != 1 or problem.inputs[0].ndim != 4:
        shapes = ", ".join(str(tuple(x.shape)) for x in problem.inputs)
        raise ValueError(
            f"{method} gives relevance to {count} tokens, and the input {shapes} is neither one b c h w image nor "
            "b n d with a row per token: pass embeddings, or use a path method such as 'ig'."
        )
    image = problem.inputs[0][:1].detach().to(problem.x.dtype)
    probe = TokenProbe(image, first_tokens, frozenset() if made is None else frozenset([made]))
    if given is not None:
        # more of them would have to be guessed to lie at the start or the end
        patches = len(probe.find_image_tokens())
        if given[0] * given[1] != patches:
            raise ValueError(
                f"grid is {given[0]} × {given[1]}, but {patches} of the {count} tokens that {method} found depend on "
                "the image: pass rows and columns of all of these."
            )
    try:
        return probe.find_grid(count, given)
    except ValueError as error:
        raise ValueError(
            f"{method} found tokens of an unknown grid ({error}): "
            f"pass the rows and columns of patches, as in {method}(grid=(16, 16)), or use a path method such as 'ig'."
        ) from error


def spread_tokens(problem: Problem, tokens: Tensor, layout: TokenGrid | None) -> Tensor:
    """Return the relevance of tokens (b n) as values of the input, b c h w or b n d.

    The map of the patches is enlarged bilinearly to the image; its sum over channels is the relevance. Other tokens
    (class, distillation, registers) are left out. Without a layout, the input b n d has one row per token, over which
    its relevance is divided evenly.
    """
    shape = problem.inputs[0].shape
    if layout is None:
        return (tokens / shape[2])[:, :, None].expand(-1, -1, shape[2])
    maps = layout.to_maps(tokens[:, :, None])  # b 1 h w
    enlarged = F.interpolate(maps, tuple(shape[2:]), mode="bilinear", align_corners=False)
    return (enlarged / shape[1]).expand(-1, shape[1], -1, -1)
