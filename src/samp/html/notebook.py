"""What a notebook shows of results that are no texts: HTML with inline styles only.

Jupyter, VS Code and Colab show it in pages of their own, light or dark, and remove style sheets and scripts, or keep
them where they touch other cells: so colours of text are the page's, lines and quiet text are translucent, and nothing
is loaded or run.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from samp.html.embed import EmbeddedImage, data_uri
from samp.html.render import make_environment
from samp.plots.result_view import Picture, shorten

BUDGET = 200_000  # bytes of all pictures; with the text around them a result stays below 300 kB
TRIES = ((1.0, 90), (1.0, 75), (1.0, 50), (0.75, 50), (0.5, 40))  # shrinking and quality, until they fit


def render_part(template: str, **values: object) -> str:
    """Return what a template of the notebook makes of these values; they are escaped."""
    return make_environment().get_template(template).render(values)


def embed_pictures(pictures: Sequence[Picture]) -> list[EmbeddedImage]:
    """Return the pictures as parts of a page, together no larger than `BUDGET`, each to be shown at its own size.

    They are as sharp as fits: JPEGs of less quality, or fewer pixels, if they must be.
    """
    for shrinking, quality in TRIES:
        embedded = [_embed(picture, shrinking, quality) for picture in pictures]
        if sum(len(one.uri) for one in embedded) <= BUDGET:
            break
    return embedded


def plain_html(thing: object, error: Exception) -> str:
    """Return a thing as text, with the reason why it is not drawn.

    >>> print(plain_html("<b>", KeyError("device")))
    <pre>&#39;&lt;b&gt;&#39;</pre><p style="opacity:.75">Not drawn (KeyError: &#39;device&#39;).</p>
    """
    try:
        text = repr(thing)
    except Exception:  # its numbers are damaged, too
        text = f"<{type(thing).__name__}>"
    reason = shorten(f"{type(error).__name__}: {error}", 300)
    return str(Markup('<pre>{}</pre><p style="opacity:.75">Not drawn ({}).</p>').format(shorten(text, 2000), reason))


def _embed(picture: Picture, shrinking: float, quality: int) -> EmbeddedImage:
    image = picture.image
    if shrinking < 1:
        image = image.resize((max(int(image.width * shrinking), 1), max(int(image.height * shrinking), 1)))
    form = "PNG" if picture.flat and shrinking == 1 else "JPEG"
    return EmbeddedImage(data_uri(image, form, quality), picture.image.width, picture.image.height)
