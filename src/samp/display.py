"""How results show themselves: what `Attribution` and the other results call when they are to be seen.

Results are data and lie below everything that draws, so they import this one module, and only when asked; it imports
what draws, also only then. A notebook that shows a result must not fail: what cannot be drawn is shown as text, with
the reason.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL import Image

    from samp.attribution import Attribution


def result_html(result: Attribution) -> str:
    """Return what a notebook shows of a result."""
    from samp.html.result_view import attribution_html

    return _or_text(attribution_html, result)


def result_png(result: Attribution) -> bytes | None:
    """Return the same as a PNG file, for what shows no HTML; None if it cannot be drawn."""
    from samp.plots.result_sheet import result_sheet

    try:
        return _encode(result_sheet(result))
    except Exception:  # the text of the result is shown instead
        return None


def map_picture(result: Attribution, sample: int) -> Image.Image:
    """Return the map of one sample in two colours."""
    from samp.plots.result_pictures import signed_picture

    return signed_picture(result, sample)


def overlay_picture(result: Attribution, photo: Any, sample: int) -> Image.Image:
    """Return positive credit as a glow over the photo."""
    from samp.plots.result_pictures import glow_picture

    return glow_picture(result, sample, photo)


def result_figure(result: Attribution, inputs: Any, classes: Sequence[str] | None, sample: int | None) -> Figure:
    """Return the figure of a result; raise ImportError with the command that installs matplotlib."""
    from samp.plots import draw_result

    return draw_result(result, inputs, classes=classes, sample=sample)


def top_features(result: Attribution, n: int, sample: int) -> list[dict[str, Any]]:
    """Return the features with the largest credit as plain records."""
    from samp.plots.top import top_features as largest

    return largest(result, n, sample)


def show_result(result: Attribution) -> None:
    """Show a result in the notebook that runs this, or in the machine's viewer of pictures."""
    if in_notebook():
        from IPython.display import display

        display(result)  # type: ignore[no-untyped-call]  # of IPython
        return
    from samp.plots.result_sheet import result_sheet

    result_sheet(result).show()


def in_notebook() -> bool:
    """Return whether this runs in the kernel of a notebook: Jupyter, VS Code, Colab.

    >>> in_notebook()
    False
    """
    from samp.progress import runs_in_notebook

    return runs_in_notebook()


def _or_text(draw: Callable[[Any], str], thing: Any) -> str:
    """Return the drawing, or a paragraph with the text of the thing and the reason why there is none."""
    try:
        return draw(thing)
    except Exception as error:
        from samp.html.notebook import plain_html

        return plain_html(thing, error)


def _encode(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()
