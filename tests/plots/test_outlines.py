"""The region as a figure: what is outlined, what is dim, and what the caption says."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from samp import plots
from samp.region import region_mask


def blob(side: int = 40) -> np.ndarray:
    credit = np.zeros((side, side))
    credit[10:20, 10:20] = 1.0
    return credit


def caption(figure: Figure) -> str:
    return figure.texts[-1].get_text().replace("\n", " ")


def test_the_photo_is_unchanged_in_the_region_and_dim_outside() -> None:
    photo = np.random.default_rng(0).random((40, 40, 3))
    shown = plots.outline(blob(), photo).axes[0].images[0].get_array()
    inside = region_mask(torch.from_numpy(blob())).numpy()
    assert np.array_equal(shown[inside], photo[inside])
    assert shown[~inside].mean() < 0.8 * photo[~inside].mean()


def test_the_outline_is_a_light_line_on_a_dark_one() -> None:
    axes = plots.outline(blob(), np.zeros((40, 40, 3))).axes[0]
    dark, light = (one.get_edgecolor()[0][:3].mean() for one in axes.collections)
    assert dark < 0.2
    assert light == 1
    assert axes.collections[0].get_linewidth()[0] > axes.collections[1].get_linewidth()[0]


def test_the_caption_has_the_share_of_the_picture() -> None:
    share = region_mask(torch.from_numpy(blob()), 0.5).double().mean()
    words = caption(plots.outline(blob(), np.zeros((40, 40, 3))))
    assert f"half of the positive credit, on {share:.0%} of the picture" in words
    more = plots.outline(blob(), np.zeros((40, 40, 3)), share=0.8)
    assert "Outlined: 80% of the positive credit, on" in caption(more)


@pytest.mark.parametrize("credit", [np.zeros((8, 8)), -np.ones((8, 8)), np.ones((1, 8)), np.ones((8, 8))])
def test_maps_without_a_contour_are_drawn(credit: np.ndarray) -> None:
    figure = plots.outline(credit, np.full((*credit.shape, 3), 0.5))
    figure.canvas.draw()
    assert ("No region" in caption(figure)) == (credit.max() <= 0)


def test_a_photo_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="the photo is 4×3 pixels but the map is 40×40"):
        plots.outline(blob(), np.zeros((3, 4, 3)))


def test_a_grid_may_show_outlines() -> None:
    figure = plots.method_grid([np.zeros((40, 40, 3))], {"ours": blob()}, shade=plots.Outline())
    assert len(figure.axes[1].collections) == 2
    assert "smallest area that holds half" in caption(figure)
