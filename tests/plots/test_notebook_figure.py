"""A notebook shows a figure without pyplot and without a magic command."""

from __future__ import annotations

import io
import pickle

import numpy as np
from IPython.core.interactiveshell import InteractiveShell
from matplotlib.figure import Figure
from PIL import Image

from samp import plots


def test_a_notebook_gets_a_picture_of_a_figure_and_only_words_of_a_bare_one() -> None:
    formatter = InteractiveShell.instance().display_formatter
    figure = plots.grey_map(np.eye(4))
    data, _ = formatter.format(figure)
    picture = Image.open(io.BytesIO(data["image/png"]))
    assert picture.size == tuple((figure.get_size_inches() * figure.dpi).astype(int))
    assert "image/png" not in formatter.format(Figure())[0], "if matplotlib does it by itself, this class can go"


def test_a_figure_can_still_be_pickled() -> None:
    figure = pickle.loads(pickle.dumps(plots.grey_map(np.eye(4))))
    assert figure._repr_png_().startswith(b"\x89PNG")
