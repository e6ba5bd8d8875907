"""Text models of transformers with their tokenizers, from a folder or the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any

from torch import nn

from samp.models.fetching import HubError, fetch, is_folder
from samp.models.huggingface import list_names

FOLDER = "give a copy from another machine as hf:FOLDER"
TEXT_INPUTS = ("input_ids", "inputs")  # the second is Perceiver's; others take images or sound


def load(name: str) -> tuple[nn.Module, Any]:
    """Return a model of transformers, in evaluation mode on the CPU, and its tokenizer.

    `name` is "hf:FOLDER", which downloads nothing, or "hf:OWNER/NAME", which is downloaded on first use. The model is
    of the architecture that its config names (a classifier, a masked or causal language model, or an encoder). Raises
    ValueError for another kind of name or a checkpoint without the weights of its head, ImportError without
    transformers, and `samp.models.fetching.HubError` (an OSError) if it cannot be loaded, reads no texts or brings code
    of its own.

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
        _check_reads_texts(kind, name)
        tokenizer = _read_tokenizer(package, place, name)
        model, report = kind.from_pretrained(place, trust_remote_code=False, output_loading_info=True)
    _check_weights(model, report["missing_keys"], name)
    return model.eval(), tokenizer


def _check_reads_texts(kind: Any, name: str) -> None:
    takes = getattr(kind, "main_input_name", "input_ids")  # AutoModel does not say
    if takes not in TEXT_INPUTS:
        raise HubError(f"{name} is {kind.__name__}, which takes {takes} and no text: give a text model.")


def _read_tokenizer(package: ModuleType, place: str, name: str) -> Any:
    """Return the tokenizer; raise HubError if there is none, for which transformers often makes one without words."""
    refusal = HubError(
        f"{name} has no tokenizer that transformers can read: save one beside the model by tokenizer.save_pretrained."
    )
    try:
        tokenizer = package.AutoTokenizer.from_pretrained(place, trust_remote_code=False)
    except ValueError as error:  # where a file cannot be had from the hub, it is an OSError
        if "trust_remote_code" in str(error):
            raise
        raise refusal from error
    if not any(letter.isalnum() for word in _list_words(tokenizer) for letter in word):
        raise refusal
    return tokenizer


def _list_words(tokenizer: Any) -> set[str]:
    return set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens)


def _check_weights(model: Any, missing: Iterable[str], name: str) -> None:
    """Raise ValueError if weights that scores or hidden states depend on are random, for the checkpoint lacks them."""
    is_encoder = model.base_model is model  # of which nothing reads the pooler
    lost = sorted(key for key in missing if not (is_encoder and key.startswith("pooler.")))
    if lost:
        raise ValueError(
            f"{name} is not wholly trained: its checkpoint lacks {list_names(lost)}, which would be random. Give one "
            f"that was trained as {type(model).__name__}."
        )


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
