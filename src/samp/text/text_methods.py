"""Which methods explain texts: those that work on any features, with the embeddings of a text in place of pixels."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from typing import Any

from samp.methods import IG, SAMP, Method, resolve_method
from samp.methods.registry import method_name

WALKS = ("samp", "samp++", "coupled", "consensus", "ig", "ig-both", "idgi", "guidedig")
LAYERS = ("attnlrp", "libragrad", "deeplift")
OTHERS = ("saliency", "gradientxinput", *LAYERS, "shapley", "lime", "ablation", "random")
SIGNED = ("gradient", "smoothgrad")
"""A token's credit is a sum over its embedding. That of the gradient is 0 wherever a LayerNorm follows the embedding,
which takes the mean away, so that only rounding errors would be shown. Sizes (`magnitude`) do not cancel."""
DEPENDS_ON_SIZE = ("consensus", "smoothgrad", "shapley", "lime", "random", "guidedig")
"""Methods whose results padding would change: their draws depend on the size of the input, and each step of Guided IG
moves a share of its elements."""
INSTEAD = "use 'ig', 'samp' or another path method, or 'shapley', which needs no gradients"
INSTEAD_OF = {
    **dict.fromkeys(SIGNED, "use 'saliency' or 'gradientxinput'"),
    "occlusion": "use 'ablation', which takes away one token after another",
    "ig-blurred": "use 'ig'",
    "lrp": "use 'attnlrp', which has them, or 'ig' or another path method",
}
CANCELS = "sums the gradient over the embedding, which a LayerNorm behind it makes 0,"
REASONS = {
    **dict.fromkeys(SIGNED, CANCELS),
    "cam": "maps feature channels of images",
    "gradcam": "maps feature channels of images",
    "gradcam++": "maps feature channels of images",
    "rise": "hides areas of images",
    "xrai": "joins areas of images",
    "occlusion": "slides a window over images",
    "blurig": "blurs images",
    "ig-blurred": "starts from a blurred image",
    "spectralig": "filters the frequencies of images",
    "sobel": "finds edges of images",
    "ig2": "searches its baseline among images",
    "lrp": "has no rules for transformers",
    "attentionrollout": "gives relevance to special tokens too, which are no features here,",
    "attentionrelevance": "gives relevance to special tokens too, which are no features here,",
    "deepshap": "averages over black, white and noisy images",
    "mwp": "follows the positive activations of an image",
    "cmwp": "follows the positive activations of an image",
    "guidedbackprop": "changes gradients at the ReLUs of image nets",
    "deconvolution": "changes gradients at the ReLUs of image nets",
}
# The concave credit of coupled and consensus levels the credit of features that move before the one that matters: in a
# text, whose score often jumps at a single word, that may be all of them. So these are not the default here.
DEFAULT = IG(steps=30, credit="shared_trapezoid")
"""The straight line, with what its credit misses of the score change shared: complete."""
DEFAULT_OF_TOKENS = SAMP(steps=64, credit="shared")
"""For models that answer for each token, where gradients along the line say little: features move one by one, and each
earns the change of the score in its own step."""
FOR_IMAGES = "is made for images"


def resolve_text_method(method: str | Method) -> Method:
    """Return the method of this name, or the given one; raises ValueError for one that cannot explain texts.

    >>> resolve_text_method("IG").steps
    50
    >>> resolve_text_method("Grad-CAM")
    Traceback (most recent call last):
    ValueError: gradcam maps feature channels of images and cannot explain a text: use 'ig', 'samp' or another path
    method, or 'shapley', which needs no gradients.
    """
    resolved = resolve_method(method)
    if not isinstance(method, str):
        _check_baseline(resolved)
    name = method_name(method) if isinstance(method, str) else _name_of(resolved)
    if name in SIGNED and getattr(resolved, "magnitude", False):
        return resolved
    if name is None or name in (*WALKS, *OTHERS):
        return resolved
    reason, instead = REASONS.get(name, FOR_IMAGES), INSTEAD_OF.get(name, INSTEAD)
    raise ValueError(f"{name} {reason} and cannot explain a text: {instead}.")


def depends_on_size(method: Method | None) -> bool:
    """Return whether the method's result depends on how its texts are padded; of an unknown method, it may."""
    return method is not None and _name_of(method) in (*DEPENDS_ON_SIZE, None)


def has_baseline(method: Method) -> bool:
    """Return whether the method starts from a baseline.

    >>> has_baseline(resolve_text_method("ig")), has_baseline(resolve_text_method("saliency"))
    (True, False)
    """
    return any(field.name == "baseline" for field in fields(method))  # type: ignore[arg-type]  # methods are dataclasses


def with_baseline(method: Method, baseline: Any) -> Method:
    """Return the method with this baseline, if it has any."""
    return replace(method, baseline=baseline) if has_baseline(method) else method  # type: ignore[type-var]  # a dataclass


def _check_baseline(method: Method) -> None:
    """Raise ValueError for a method with a baseline that is neither its default nor that of a method for texts."""
    if not has_baseline(method):
        return
    alike = [one for one in map(resolve_method, (*WALKS, *OTHERS)) if type(one) is type(method)]
    usual = [getattr(one, "baseline", None) for one in alike]
    usual += [field.default for field in fields(method) if field.name == "baseline"]  # type: ignore[arg-type]  # a dataclass
    if MISSING not in usual and not any(_is_same(getattr(method, "baseline", None), one) for one in usual):
        name = _name_of(method)
        raise ValueError(
            f"{type(method).__name__} has a baseline of its own, but that of a text is made of embeddings: leave it "
            f"out{f', as in method={name!r}' if name else ''}, and pass baseline=… to samp.text.explain."
        )


def _is_same(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except (RuntimeError, TypeError, ValueError):  # tensors compare by element
        return False


def _name_of(method: Method) -> str | None:
    """Return the name of the first built-in method of this kind, or None for a method of the caller's own."""
    from samp.methods import names

    module = type(method).__module__
    if not module.startswith("samp.methods."):
        return None
    return next((name for name in names() if type(resolve_method(name)) is type(method)), None)
