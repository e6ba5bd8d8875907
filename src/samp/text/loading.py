"""Text models of transformers with their tokenizers, from a folder or the Hugging Face hub."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from torch import nn

from samp.models.fetching import fetch, is_folder

FOLDER = "give a copy from another machine as hf:FOLDER"


def load(name: str) -> tuple[nn.Module, Any]:
    """Return a model of transformers, in evaluation mode on the CPU, and its tokenizer.

    `name` is "hf:FOLDER", which downloads nothing, or "hf:OWNER/NAME", which is downloaded on first use. The model is
    of the architecture that its config names (a classifier, a masked or causal language model, or an encoder). Raises
    ValueError for another kind of name, ImportError without transformers, and `samp.models.fetching.HubError` (an
    OSError) if it cannot be loaded or brings code of its own.

    >>> load("bert")
    Traceback (most recent call last):
    ValueError: a text model is hf:FOLDER or hf:OWNER/NAME, not 'bert': load others in Python.
    """
    prefix, _, place = name.partition(":")
    if prefix != "hf" or not place:
        raise ValueError(f"a text model is hf:FOLDER or hf:OWNER/NAME, not {name!r}: load others in Python.")
    package = _import_transformers()
    folder = is_folder(place)
    with fetch(name, None if folder else FOLDER, from_hub=not folder):
        config = package.AutoConfig.from_pretrained(place, trust_remote_code=False)
        kind = find_architecture(package, getattr(config, "architectures", None))
        model = kind.from_pretrained(place, trust_remote_code=False)
        tokenizer = package.AutoTokenizer.from_pretrained(place, trust_remote_code=False)
    return model.eval(), tokenizer


def find_architecture(package: ModuleType, architectures: list[str] | None) -> Any:
    """Return the class of the first architecture that the package has, else the one for models without a head.

    >>> from types import SimpleNamespace
    >>> find_architecture(SimpleNamespace(AutoModel="any", BertModel="bert"), ["Unknown", "BertModel"])
    'bert'
    """
    found = (getattr(package, name, None) for name in architectures or ())
    return next((kind for kind in found if kind is not None), package.AutoModel)


def _import_transformers() -> ModuleType:
    try:
        return import_module("transformers")
    except ImportError as error:
        raise ImportError(
            "text models are those of transformers, which is not installed: pip install transformers."
        ) from error
