"""A text model as a function of the embeddings of some of its tokens.

The model is called with token numbers as always, and a hook on its embedding layer puts the given embeddings in the
place of those of the features. So everything else that a model makes of the numbers (positions, masks, where a text
ends) stays as it is, and models that take no `inputs_embeds` work as well.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from samp.lookup import look_up

Reader = Callable[[Any, Mapping[str, Tensor], Tensor], Any]
"""(the model's output, its inputs, r: the token whose output counts) → what the target is computed from."""


def find_embedding(model: nn.Module, embedding: str | nn.Module | None) -> tuple[str, nn.Module]:
    """Return the name and module of the layer that embeds tokens.

    `embedding` is the layer or its name; None takes what `model.get_input_embeddings()` returns, else the only
    `nn.Embedding`. Raises ValueError if there is none, or several to choose from.

    >>> find_embedding(nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(8, 2)), None)
    ('0', Embedding(9, 4))
    """
    named = dict(model.named_modules())
    if isinstance(embedding, str):
        return embedding, look_up(embedding, named, "embedding")
    if embedding is None:
        embedding = _own_embedding(model)
    if embedding is not None:
        for name, module in named.items():
            if module is embedding:
                return name, module
        raise ValueError(f"embedding is a {type(embedding).__name__} that is no part of the model: pass one that is.")
    tables = {name: module for name, module in named.items() if isinstance(module, nn.Embedding)}
    if len(tables) == 1:
        return next(iter(tables.items()))
    has = f"has {len(tables)} nn.Embedding layers ({', '.join(tables)})" if tables else "has no nn.Embedding layer"
    raise ValueError(f"the model {has}: name the layer that embeds tokens, embedding='layer name'.")


def _own_embedding(model: nn.Module) -> nn.Module | None:
    get = getattr(model, "get_input_embeddings", None)
    try:
        layer = get() if callable(get) else None
    except NotImplementedError:  # transformers' default where the model does not say
        return None
    return layer if isinstance(layer, nn.Module) else None


class EmbeddedModel(nn.Module):
    """A text model that takes the embeddings of its features (r f e) and, behind them, all that it needs of a batch.

    `names` are the model's inputs with one number per token, in the order in which they are passed; the first is that
    of the token numbers. The other two arguments are `places` (r f), where the features stand in the text (its length
    for padding), and `position` (r), the token whose output counts.

    >>> net = nn.Sequential(nn.Embedding(9, 2), nn.Flatten(), nn.Linear(6, 2)).eval()
    >>> embedded = EmbeddedModel(net, "0", net[0], ["input_ids"], lambda output, inputs, position: output)
    >>> ids, places = torch.tensor([[1, 2, 3]]), torch.tensor([[0, 2]])
    >>> features = embedded.embed({"input_ids": ids})[:, [0, 2]]
    >>> torch.allclose(embedded(features, places, torch.tensor([2]), ids), net(ids))
    True
    """

    def __init__(self, model: nn.Module, name: str, layer: nn.Module, names: Sequence[str], reader: Reader) -> None:
        super().__init__()
        self.model, self.layer_name, self.names, self.reader = model, name, list(names), reader
        self.layer = [layer]  # in a list: a module of the model must not be registered twice
        self.training = model.training
        self.call = CallingConvention(model)

    def forward(self, features: Tensor, places: Tensor, position: Tensor, *columns: Tensor) -> Any:
        """Return what the reader makes of the model's output with these features in their places."""
        inputs = dict(zip(self.names, columns, strict=True))

        def put_features(embeddings: Tensor) -> Tensor:
            room = torch.cat([embeddings, torch.zeros_like(embeddings[:, :1])], 1)  # padding goes behind the text
            where = places[..., None].expand(-1, -1, embeddings.shape[2])
            return room.scatter(1, where, features.to(embeddings.dtype))[:, :-1]

        with self._watch(put_features, tuple(columns[0].shape)) as calls:
            output = self.call(inputs, position)
        self._check_calls(calls)
        return self.reader(output, inputs, position)

    def embed(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """Return what the embedding layer makes of these inputs (b l e), within the model."""
        kept: list[Tensor] = []

        def keep(embeddings: Tensor) -> Tensor:
            kept.append(embeddings.detach())
            return embeddings

        with torch.no_grad(), self._watch(keep, tuple(inputs[self.names[0]].shape)) as calls:
            self.call(inputs, None)
        self._check_calls(calls)
        return kept[0]

    @contextmanager
    def _watch(self, change: Callable[[Tensor], Tensor], shape: tuple[int, ...]) -> Any:
        """Yield the list of the layer's calls in this thread, each of which returns what `change` makes of its output.

        Raises TypeError or ValueError from the call if the layer gives anything but one vector per token.
        """
        calls: list[None] = []
        thread = threading.get_ident()

        def hook(module: nn.Module, given: object, output: object) -> object:
            if threading.get_ident() != thread:
                return output
            calls.append(None)
            return change(self._check_embeddings(output, shape))

        handle = self.layer[0].register_forward_hook(hook)
        try:
            yield calls
        finally:
            handle.remove()

    def _check_embeddings(self, output: object, shape: tuple[int, ...]) -> Tensor:
        if not isinstance(output, Tensor):
            raise TypeError(
                f"the layer {self.layer_name!r} gives {type(output).__name__} and not a tensor: pass another embedding."
            )
        if output.ndim != 3 or output.shape[:2] != shape or not output.is_floating_point():
            raise ValueError(
                f"the layer {self.layer_name!r} gives shape {tuple(output.shape)} for token numbers of shape {shape}: "
                "pass an embedding layer that gives one vector per token."
            )
        return output

    def _check_calls(self, calls: list[None]) -> None:
        if len(calls) != 1:
            raise ValueError(
                f"the model calls its layer {self.layer_name!r} {len(calls)} times in a forward pass, so it is not "
                "clear which tokens are meant: pass another embedding, or the part of the model that reads the text."
            )


class CallingConvention:
    """Calls a model with those inputs that its forward takes, by name; the token numbers come first.

    Caches of generation are switched off, and a language model gives the scores of the needed positions alone, where
    it can: those of all would be many times larger than all else.
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        parameters = inspect.signature(model.forward).parameters
        self.takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        self.named = set(parameters)
        self.keeps_logits = "logits_to_keep" in self.named
        self.fixed = {"use_cache": False} if "use_cache" in self.named else {}

    def __call__(self, inputs: Mapping[str, Tensor], position: Tensor | None) -> Any:
        first, *others = inputs
        named: dict[str, Any] = {name: inputs[name] for name in others if name in self.named or self.takes_any}
        if self.keeps_logits and position is not None:
            named["logits_to_keep"] = torch.unique(position)
        if first in self.named:
            return self.model(**{first: inputs[first]}, **named, **self.fixed)
        return self.model(inputs[first], **named, **self.fixed)
