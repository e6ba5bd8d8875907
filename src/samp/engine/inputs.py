"""The inputs of a model, read from tensors, arrays, tables, and photos (for a `Classifier`).

Tensors are used unchanged. Arrays and tables are converted to the model's device and dtype, since NumPy defaults to
float64. Ambiguous inputs are refused with an error that says what to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from samp.checks import check_dense
from samp.targets import Model

Inputs = Tensor | tuple[Tensor, ...] | NDArray[Any]
TOKENS = (
    "is {kind}, a mapping, and only floats can be explained, not tokens: samp.text.explain(model, tokenizer, text) "
    "explains texts. By hand, pass embeddings, model.get_input_embeddings()(batch['input_ids']), and as the model a "
    "function of them, such as lambda e, mask: model(inputs_embeds=e, attention_mask=mask).logits with "
    "forward_args=samp.PerSample(batch['attention_mask'])."
)
PHOTO = (
    "is a photo (PIL), and how it becomes an input is known of a samp.models.Classifier only: pass one as the model, "
    "or what your own preprocessing makes of the photo, preprocess(photo)[None]."
)


@dataclass(frozen=True, eq=False)
class ModelInputs:
    """A model, and its input tensors with a common batch axis."""

    model: Model
    tensors: tuple[Tensor, ...]
    one_input: bool
    """Whether the caller passed one input rather than a tuple of them."""


def read_inputs(model: Any, inputs: Any) -> ModelInputs:
    """Return the model (the net of a `Classifier`) and its inputs as float tensors; a list or tuple is several inputs.

    Raises TypeError for a model or an input of the wrong type or dtype, and ValueError for a wrong shape, device or
    value.

    >>> read_inputs(nn.Linear(3, 2), np.ones((4, 3))).tensors[0].dtype
    torch.float32
    """
    net = _check_model(model)
    photos = _prepare_photos(model, inputs)
    if photos is not None:
        return ModelInputs(net, (photos,), True)
    one_input = not isinstance(inputs, tuple | list)
    names = ["the input"] if one_input else [f"input {number}" for number in range(len(inputs))]
    given = [inputs] if one_input else list(inputs)
    tensors = tuple(_read_input(one, net, name) for one, name in zip(given, names, strict=True))
    sizes = {len(tensor) for tensor in tensors}
    if len(sizes) != 1:
        raise ValueError(f"inputs need one common batch size of at least 1, but have {sorted(sizes)}.")
    check_device(net, tensors)
    return ModelInputs(net, tuple(map(_copy_if_inference, tensors)), one_input)


def as_tensors(model: Any, inputs: Any) -> tuple[Any, Any]:
    """Return the model and its inputs: unchanged if these are tensors, otherwise read by `read_inputs`.

    For callers that need the shape of the inputs before they explain anything.

    >>> as_tensors(nn.Linear(3, 2), np.ones((4, 3)))[1].shape
    torch.Size([4, 3])
    """
    given = inputs if isinstance(inputs, tuple | list) else [inputs]
    if given and all(isinstance(one, Tensor) and not one.is_nested for one in given):
        return model, inputs
    read = read_inputs(model, inputs)
    return read.model, read.tensors[0] if read.one_input else read.tensors


def check_device(model: Any, tensors: Sequence[Tensor]) -> None:
    """Raise ValueError unless all inputs are on one device, and the model is on it too."""
    if {tensor.device for tensor in tensors} != {tensors[0].device}:
        raise ValueError("the inputs lie on different devices: move them to one.")
    if isinstance(model, nn.Module):
        homes = {parameter.device for parameter in model.parameters()}
        if homes and tensors[0].device not in homes:
            home = next(iter(homes))
            raise ValueError(
                f"the model is on {home} but the input on {tensors[0].device}: move one with .to({str(home)!r})."
            )


def _check_model(model: Any) -> Model:
    if isinstance(model, type):
        raise TypeError(f"the model is the class {model.__name__}: pass an object of it, such as {model.__name__}().")
    if callable(model):
        return model  # type: ignore[no-any-return]  # of the caller's
    if is_classifier(model):
        return model.net  # type: ignore[no-any-return]  # a module
    raise TypeError(f"a model is a module or a function, not {type(model).__name__}.")


def is_classifier(model: Any) -> bool:
    """Return whether this is a `Classifier`, a net with its preprocessing, rather than a net or a function."""
    if callable(model):
        return False
    from samp.models.classifier import Classifier  # needed only for what is not callable

    return isinstance(model, Classifier)


def _prepare_photos(model: Any, inputs: Any) -> Tensor | None:
    """Return one photo or a list of them as b c h w for a classifier, or None if there is no photo.

    Raises TypeError for a photo without a classifier.
    """
    photos = inputs if isinstance(inputs, list | tuple) else [inputs]
    if not photos or not all(isinstance(photo, Image.Image) for photo in photos):
        return None
    if not is_classifier(model):
        raise TypeError(f"the input {PHOTO}")
    prepared = torch.cat([model.prepare(photo) for photo in photos])
    return _move_to_model(prepared, model.net)


def _read_input(given: Any, model: Any, name: str) -> Tensor:
    tensor = given if isinstance(given, Tensor) else _move_to_model(_as_tensor(given, name), model)
    _check_input(tensor, name)
    return tensor


def _as_tensor(given: Any, name: str) -> Tensor:
    """Return an array or a table as a tensor; raises TypeError for anything else."""
    kind = type(given).__name__
    if isinstance(given, Mapping):
        raise TypeError(f"{name} {TOKENS.format(kind=kind)}")
    if isinstance(given, Image.Image):
        raise TypeError(f"{name} {PHOTO}")
    array = given.to_numpy() if hasattr(given, "to_numpy") else given  # pandas' tables, without importing pandas
    if isinstance(given, str) or (isinstance(given, list) and given and isinstance(given[0], str)):
        raise TypeError(f"{name} is a text: samp.text.explain(model, tokenizer, text) explains those.")
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name} is {kind}, not a tensor or an array: convert it with torch.tensor first.")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} is {kind} of dtype {array.dtype}: pass numbers, as with .astype('float32').")
    # a copy: torch refuses arrays with negative strides or foreign byte order, and warns about read-only ones
    return torch.from_numpy(np.array(array, dtype=array.dtype.newbyteorder("="), order="C"))


def _move_to_model(tensor: Tensor, model: Any) -> Tensor:
    """Return floats on the device and in the dtype of the model's weights; anything else unchanged."""
    weights = [p for p in model.parameters() if p.is_floating_point()] if isinstance(model, nn.Module) else []
    return tensor.to(weights[0].device, weights[0].dtype) if weights and tensor.is_floating_point() else tensor


def _check_input(tensor: Tensor, name: str) -> None:
    check_dense(tensor, name)
    if not tensor.is_floating_point():
        why = "which cannot be explained" if tensor.is_complex() else "which has no gradient"
        raise TypeError(
            f"{name} has dtype {tensor.dtype}, {why}: pass floats; to explain a text, "
            "samp.text.explain(model, tokenizer, text)."
        )
    if tensor.ndim < 2:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}: give it a batch axis and at least one feature axis.")
    if tensor.numel() == 0:
        raise ValueError(
            f"{name} is empty, with shape {tuple(tensor.shape)}: give at least one sample with one feature."
        )
    if not torch.isfinite(tensor).all():
        sample = int((~torch.isfinite(tensor)).flatten(1).any(1).nonzero()[0])
        raise ValueError(f"{name} holds NaN or Inf in sample {sample}: replace or leave out such values first.")


def _copy_if_inference(tensor: Tensor) -> Tensor:
    """Return the tensor, copied if it was made under `torch.inference_mode`: autograd cannot save such tensors."""
    return tensor.clone() if tensor.is_inference() else tensor
