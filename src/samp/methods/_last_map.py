"""The layer whose feature map class activation maps weight: the last of a net, or the layer that is named.

In a convolutional net that is the last b c h w map. In a transformer it is the last output of a block or of a
normalisation on whose *patch* tokens the score depends: behind the last attention, a net that reads its class token
alone ignores all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor, nn

from samp.engine.problem import Problem
from samp.lookup import look_up
from samp.methods._channel_axis import ChannelTracker
from samp.methods._feature_maps import (
    LayerCall,
    ModuleOutput,
    capture_output,
    features_and_gradient,
    hooks_of_this_thread,
    list_outputs,
    main_tensor,
    replace_output,
)
from samp.methods._token_maps import ASPECT_TOLERANCE, FeatureMaps, Layout, Size, TokenProbe
from samp.methods.propagation.hidden_operations import is_script

INSTEAD = "a method that needs no feature map, such as 'consensus', 'samp++' or 'ig'"
# normalisations of queries and keys: what attention compares, not what the net goes on with
QUERY_NORMS = ("q_norm", "k_norm", "query_norm", "key_norm", "q_layernorm", "k_layernorm")


def find_layer_call(
    problem: Problem, layer: str | nn.Module | None, method: str, grid: Size | None = None
) -> LayerCall:
    """Return the call of the named layer, else of the last module that gives a feature map, of patches if need be.

    `grid` is rows and columns of a transformer's patches where they cannot be found. Runs some passes of one sample.
    Raises ValueError if there is no such map or layer, and for a grid without tokens, and TypeError for a layer that is
    neither a name nor a module.
    """
    model = problem.model
    if not isinstance(model, nn.Module):
        raise ValueError(f"{method} looks inside the model, which must be an nn.Module, not {type(model).__name__}.")
    named = dict(model.named_modules())
    layer = None if layer is None else _read_name(layer, named)
    chosen = named if layer is None else {layer: named[layer]}
    if any(map(is_script, chosen.values())):
        raise ValueError(
            f"{method} looks inside the model, but {type(model).__name__} is TorchScript, or holds some, which hides "
            f"its layers: use the nn.Module that it was made from, or {INSTEAD}."
        )
    open_modules = {name: module for name, module in named.items() if not is_script(module)}  # others take no hooks
    search = Search(problem, *list_outputs(problem, open_modules), method, grid)
    place = search.find_last() if layer is None else search.find_named(layer)
    if grid is not None and isinstance(place.layout, FeatureMaps):
        raise ValueError(f"grid is for tokens, but layer {place.name!r} gives a map with rows and columns: leave out.")
    return place


class Search:
    """The outputs of a net's modules for one sample, and which of them is a feature map."""

    def __init__(
        self, problem: Problem, outputs: list[ModuleOutput], tracker: ChannelTracker, method: str, grid: Size | None
    ) -> None:
        self.problem, self.outputs, self.tracker, self.method, self.grid = problem, outputs, tracker, method, grid
        self.net = type(problem.model).__name__

    def find_named(self, layer: str) -> LayerCall:
        """Return the last call of this layer with a map; raise ValueError if it gives none."""
        outputs = [one for one in self.outputs if one.place.name == layer]
        if not outputs:
            raise ValueError(
                f"layer {layer!r} gives neither a b k h w feature map nor b n k tokens: name a convolution or what "
                "follows one, or a block of a transformer."
            )
        fitting = [one for one in outputs if _channels_last(one) or (len(one.shape) == 4 and self._fits(one))]
        if fitting:
            return _with_layout(fitting[-1], FeatureMaps(3 if _channels_last(fitting[-1]) else 1))
        if len(outputs[-1].shape) == 3:
            return self._name_tokens(outputs[-1])
        shape = " × ".join(map(str, outputs[-1].shape))
        raise ValueError(
            f"layer {layer!r} gives {shape} numbers, which are no map of the image: "
            f"name a module that gives b×c×h×w maps or b×n×c tokens, or use {INSTEAD}."
        )

    def _fits(self, one: ModuleOutput) -> bool:
        return one.tag.channels == 1 or self._looks_like_a_map(one)

    def _name_tokens(self, one: ModuleOutput) -> LayerCall:
        """Return the call of a layer of tokens; raise ValueError if they have no grid or only others count."""
        try:
            place = _with_layout(one, self._find_grid(one))
        except ValueError as error:
            raise ValueError(
                f"layer {one.place.name!r} gives tokens of an unknown grid ({error}): pass grid=(rows, columns)."
            ) from error
        first = torch.zeros(1, dtype=torch.long, device=self.problem.x.device)
        _, gradient = features_and_gradient(self.problem, place, first)
        if not bool(place.layout.to_maps(gradient).any()):
            raise ValueError(
                f"the score depends on no patch token of layer {place.name!r}, as behind the last attention of a net "
                "that reads its class token alone: name a layer before that attention, or leave out layer."
            )
        return place

    def find_last(self) -> LayerCall:
        """Return the last b c h w map of a convolutional net, else the last one of a transformer's patches."""
        maps = [one for one in self.outputs if one.convolved and one.place.name and self._is_map(one)]
        # auxiliary heads may be called after the layers that the score comes from
        last = next((one for one in reversed(maps) if self._counts(one)), maps[-1]) if len(maps) > 1 else None
        maps = maps if last is None else maps[: maps.index(last) + 1]
        if maps and not self._tokens_follow(maps[-1]):
            return maps[-1].place
        reasons: list[str] = []
        for one, gradient in reversed(self._token_gradients()):
            try:
                layout = FeatureMaps(3) if len(one.shape) == 4 else self._find_grid(one)
            except ValueError as error:
                reasons.append(f"layer {one.place.name!r}: {error}")
                continue
            if bool(layout.to_maps(gradient).any()):
                return _with_layout(one, layout)
        if maps or reasons:
            why = reasons[0] if reasons else f"the last b×c×h×w map is that of layer {maps[-1].place.name!r}"
            raise ValueError(
                f"{self.method} found no feature map at the end of {self.net}, where layers on tokens follow, as in a "
                f"transformer ({why}): name a layer by layer=... and the rows and columns of its patches by grid=..., "
                f"or use {INSTEAD}."
            )
        raise ValueError(
            f"{self.method} found no convolution layer with a b k h w feature map and no tokens in {self.net}: "
            f"name one by layer=..., or use {INSTEAD}."
        )

    def _counts(self, one: ModuleOutput) -> bool:
        """Return whether the score of the first sample depends on this output."""
        kept: list[Tensor] = []

        def keep(output: Tensor) -> Tensor:
            kept.append(output.detach().requires_grad_())
            return kept[-1].clone()

        first = torch.zeros(1, dtype=torch.long, device=self.problem.x.device)
        with torch.inference_mode(False), torch.enable_grad(), replace_output(one.place, keep):
            score = self.problem.score(self.problem.output(self.problem.x[:1], first), first)
            if not score.requires_grad:
                return False
            return torch.autograd.grad(score.sum(), kept, allow_unused=True)[0] is not None

    def _is_map(self, one: ModuleOutput) -> bool:
        if len(one.shape) == 3:
            return False
        if one.tag.channels is not None:
            return one.tag.channels == 1
        return one.products == self.tracker.products and self._looks_like_a_map(one)

    def _tokens_follow(self, last: ModuleOutput) -> bool:
        """Return whether layers on tokens follow this map, so that it does not show what the net has recognised."""
        products, on_tokens = self.tracker.products - last.products, self.tracker.on_tokens - last.on_tokens
        # one attention may pool a convolutional net's last map; behind the first convolution not even a token layer may
        return products > 2 or (last.tag.depth <= 1 and bool(products or on_tokens))

    def _looks_like_a_map(self, one: ModuleOutput) -> bool:
        """Return whether an output of unknown channel axis has one row per sample and about the image's proportions."""
        (image,) = self.problem.inputs
        samples, _, height, width = one.shape
        ratio = height * image.shape[3] / (width * image.shape[2])
        alike = 1 / ASPECT_TOLERANCE <= ratio <= ASPECT_TOLERANCE
        return samples == 1 and alike and one.tag.channels is None and not one.tag.weights

    def _find_grid(self, one: ModuleOutput) -> Layout:
        """Return the layout of these tokens; raise ValueError if it cannot be found."""
        count = one.shape[1]
        first = next(other for other in self.outputs if _are_tokens(other) and other.shape[1] == count)
        maps = {other.shape[2:] for other in self.outputs if len(other.shape) == 4 and other.tag.channels == 1}
        maps |= {other.shape[1:3] for other in self.outputs if len(other.shape) == 4 and other.tag.channels == 3}
        image = self.problem.inputs[0][:1].detach().to(self.problem.x.dtype)
        sizes = frozenset((height, width) for height, width in maps)
        probe = TokenProbe(image, lambda x: capture_output(self.problem, first.place, x)[0], sizes)
        return probe.find_grid(count, self.grid)

    def _token_gradients(self) -> list[tuple[ModuleOutput, Tensor]]:
        """Return the outputs of blocks and normalisations on tokens, in their order, and the score's gradient there."""
        blocks = _list_blocks(self.problem.model)
        candidates = {
            (one.place.name, one.place.call): one
            for one in self.outputs
            if one.place.name in blocks and (_are_tokens(one) or _channels_last(one))
        }
        kept: dict[tuple[str, int], Tensor] = {}
        calls = dict.fromkeys((one.place.name for one in candidates.values()), 0)

        def keep(name: str, module: nn.Module, output: object) -> None:
            calls[name] += 1
            tensor = main_tensor(output)
            if (name, calls[name]) in candidates and tensor is not None and tensor.requires_grad:
                kept[name, calls[name]] = tensor

        modules = {one.place.name: one.place.module for one in candidates.values()}
        first = torch.zeros(1, dtype=torch.long, device=self.problem.x.device)
        with torch.inference_mode(False), torch.enable_grad(), hooks_of_this_thread(modules, keep):
            x = self.problem.x[:1].detach().requires_grad_()
            score = self.problem.score(self.problem.output(x, first), first)
            if not kept or not score.requires_grad:
                return []
            gradients = torch.autograd.grad(score.sum(), list(kept.values()), allow_unused=True)
        found = zip(kept, gradients, strict=True)
        return [(candidates[key], gradient) for key, gradient in found if gradient is not None]


def _read_name(layer: str | nn.Module, named: Mapping[str, nn.Module]) -> str:
    """Return the name of a layer that is given by it or as the module itself; raise ValueError or TypeError."""
    known = {name: module for name, module in named.items() if name}  # the net itself has an empty name
    if isinstance(layer, str):
        layer = layer.removeprefix("_orig_mod.")  # how a compiled net names its modules
        look_up(layer, known, "layer")
        return layer
    if isinstance(layer, nn.Module):
        for name, module in known.items():
            if module is layer:
                return name
        raise ValueError(f"layer is a {type(layer).__name__} that is no part of the model: pass one of its modules.")
    raise TypeError(f"layer is the name of a module or the module, not {layer!r}: the names are {', '.join(known)}.")


def _with_layout(one: ModuleOutput, layout: Layout) -> LayerCall:
    return replace(one.place, layout=layout)


def _channels_last(one: ModuleOutput) -> bool:
    """Return whether these are maps b h w c: known from the operations before, or by a normalisation of the last axis.

    That of queries and keys is over the last axis too, but no map.
    """
    if len(one.shape) != 4 or one.shape[0] != 1:
        return False
    norm = isinstance(one.place.module, nn.LayerNorm) and one.place.name.rpartition(".")[2] not in QUERY_NORMS
    return one.tag.channels == 3 or (one.tag.channels is None and norm)


def _are_tokens(one: ModuleOutput) -> bool:
    """Return whether this is one row of several tokens, and not the windows of one image as rows."""
    return len(one.shape) == 3 and one.shape[0] == 1 and one.shape[1] > 1


def _list_blocks(model: object) -> set[str]:
    """Return the names of normalisations, and of blocks: entries of a list that hold one."""
    if not isinstance(model, nn.Module):
        return set()
    norms = {n for n, m in model.named_modules() if n and "norm" in type(m).__name__.lower()}
    lists = {n: m for n, m in model.named_modules() if isinstance(m, nn.ModuleList | nn.Sequential)}
    entries = {f"{place}.{name}".lstrip(".") for place, entry in lists.items() for name, _ in entry.named_children()}
    blocks = {name for name in entries if any(norm.startswith(f"{name}.") for norm in norms)}
    return blocks | {norm for norm in norms if norm.rpartition(".")[2] not in QUERY_NORMS}
