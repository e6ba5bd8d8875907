"""From one number per token to one per element of the input: patches to pixels, words to embeddings."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from samp.engine.problem import Problem

EXTRA_TOKENS = 16  # class, distillation and register tokens before the patches, at most


def spread_tokens(problem: Problem, tokens: Tensor, grid: tuple[int, int] | None, method: str) -> Tensor:
    """Return the relevance of tokens (b n) as values of the input, b c h w or b n d.

    Patches are the last tokens, row by row, and their map is enlarged bilinearly to the image; its sum over channels is
    the relevance. Tokens before them (class, distillation, registers) are left out. An input b n d has one row per
    token, over which its relevance is divided evenly. Raises ValueError if the tokens fit neither.
    """
    shapes = ", ".join(str(tuple(x.shape)) for x in problem.inputs)
    if len(problem.inputs) == 1 and problem.inputs[0].ndim == 3 and problem.inputs[0].shape[1] == tokens.shape[1]:
        return (tokens / problem.inputs[0].shape[2])[:, :, None].expand_as(problem.inputs[0][: len(tokens)])
    if len(problem.inputs) != 1 or problem.inputs[0].ndim != 4:
        raise ValueError(
            f"{method} gives relevance to {tokens.shape[1]} tokens, and the input {shapes} is neither one b c h w "
            "image nor b n d with a row per token: pass embeddings, or use a path method."
        )
    _, channels, height, width = problem.inputs[0].shape
    rows, columns = grid or guess_grid(tokens.shape[1], height, width)
    extra = tokens.shape[1] - rows * columns
    if rows * columns == 0 or not 0 <= extra <= EXTRA_TOKENS:
        raise ValueError(
            f"{method} found {tokens.shape[1]} tokens, which are no grid of patches of the {height} × {width} image"
            f"{f' ({rows} × {columns} and {extra} more)' if rows * columns else ''}: "
            f"pass the rows and columns of patches, as in {method}(grid=(16, 16))."
        )
    maps = tokens[:, extra:].reshape(-1, 1, rows, columns)
    return (F.interpolate(maps, (height, width), mode="bilinear", align_corners=False) / channels).expand(
        -1, channels, -1, -1
    )


def guess_grid(tokens: int, height: int, width: int) -> tuple[int, int]:
    """Return the rows and columns of square patches that leave the fewest tokens over; (0, 0) if none fit.

    >>> guess_grid(17, 32, 32), guess_grid(257, 224, 224), guess_grid(50, 30, 31)
    ((4, 4), (16, 16), (0, 0))
    """
    sides = [side for side in range(2, min(height, width) + 1) if height % side == width % side == 0]
    fitting = [(height // side, width // side) for side in sides]
    fitting = [(rows, columns) for rows, columns in fitting if 0 <= tokens - rows * columns <= EXTRA_TOKENS]
    return max(fitting, key=lambda grid: grid[0] * grid[1], default=(0, 0))
