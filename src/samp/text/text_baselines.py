"""Baselines of texts: the embedding that takes the place of each token where its word is taken away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from samp.lookup import look_up
from samp.text.batches import TextBatch
from samp.text.embedded_model import EmbeddedModel

NAMES = ("mask", "pad", "zero", "mean")
TextBaseline = str | Tensor | tuple[str | Tensor, str | Tensor] | None


@dataclass(frozen=True, eq=False, repr=False)
class EmbeddingBaseline:
    """Embeddings of every feature of a batch (b f e) as a baseline, named in results by what they are."""

    name: str
    embeddings: Tensor

    def __call__(self, x: Tensor, seed: int = 0) -> Tensor:
        return self.embeddings.to(x)

    def __repr__(self) -> str:
        return self.name


def choose_baseline(baseline: Any, batch: TextBatch) -> Any:
    """Return the baseline, or the default for None: "mask" or "pad" where the tokenizer has such a token, else "mean".

    Raises ValueError for an unknown name or one that the tokenizer has no token for, and TypeError for anything else.
    """
    if baseline is None:
        # the mean embedding is short, and nets that normalise lengths have wild gradients near it
        return next((name for name in ("mask", "pad") if _token_of(name, batch) is not None), "mean")
    if isinstance(baseline, tuple):
        if len(baseline) != 2:
            raise ValueError(f"baseline has {len(baseline)} entries: a tuple is (deletion, insertion).")
        return tuple(choose_baseline(one, batch) for one in baseline)
    if isinstance(baseline, str):
        look_up(baseline, dict.fromkeys(NAMES), "baseline")
        if baseline in ("mask", "pad") and _token_of(baseline, batch) is None:
            raise ValueError(
                f"the tokenizer has no {baseline} token: pass baseline='zero', baseline='mean' or a tensor."
            )
    elif not isinstance(baseline, Tensor):
        raise TypeError(f"a baseline is {', '.join(NAMES)} or a tensor, not {type(baseline).__name__}.")
    return baseline


def make_baseline(baseline: str | Tensor, batch: TextBatch, net: EmbeddedModel, features: Tensor) -> EmbeddingBaseline:
    """Return the baseline of these features (b f e); padding stays as it is.

    A token's embedding is what the model's own layer makes of it in the feature's place. A tensor is one embedding (e),
    or, of a single text, one for each of its tokens, special ones included (l e).
    """
    name, made = _compute(baseline, batch, net, features)
    return EmbeddingBaseline(name, torch.where(batch.is_padding[..., None], features, made.to(features)))


def _compute(baseline: str | Tensor, batch: TextBatch, net: EmbeddedModel, features: Tensor) -> tuple[str, Tensor]:
    if isinstance(baseline, Tensor):
        return f"tensor of shape {tuple(baseline.shape)}", _read_tensor(baseline, batch, features)
    if baseline == "zero":
        return "zero", torch.zeros_like(features)
    if baseline == "mean":
        return "mean", _mean_embedding(net).expand_as(features)
    number = _token_of(baseline, batch)
    if number is None:  # as `choose_baseline` prevents
        raise ValueError(f"the tokenizer has no {baseline} token.")
    return baseline, batch.gather(net.embed(batch.replace_features(number)))


def _token_of(name: str, batch: TextBatch) -> int | None:
    return batch.texts[0].mask_id if name == "mask" else batch.texts[0].pad_id


def _mean_embedding(net: EmbeddedModel) -> Tensor:
    layer = net.layer[0]
    if not isinstance(layer, nn.Embedding):
        raise ValueError(
            f"the layer {net.layer_name!r} is a {type(layer).__name__} and no nn.Embedding, so it has no table to take "
            "the mean of: pass baseline='mask', 'pad', 'zero' or a tensor."
        )
    return layer.weight.detach().mean(0)


def _read_tensor(baseline: Tensor, batch: TextBatch, features: Tensor) -> Tensor:
    width, length = features.shape[2], batch.inputs["input_ids"].shape[1]
    if baseline.shape == (width,):
        return baseline.expand_as(features)
    if len(features) == 1 and baseline.shape == (length, width):
        return batch.gather(baseline[None].to(features))
    raise ValueError(
        f"baseline has shape {tuple(baseline.shape)}: give one embedding, ({width},), or, for a single text, one for "
        f"each of its tokens, ({length}, {width})."
    )
