"""Attention weights of a forward pass, with their gradients, whatever way the model computes them.

Weights are what a soft-max returns and a product with other activations takes, as `softmax(q kᵀ) @ v` written out, in
`nn.MultiheadAttention` and in `scaled_dot_product_attention`, which is run as its parts. Gradients stay torch's own.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from samp.engine.problem import Problem
from samp.methods.propagation import composites
from samp.methods.propagation.forward_backward import forward
from samp.methods.propagation.mixing import INSTEAD, Mix, read_mix
from samp.methods.propagation.mode import Propagation
from samp.methods.propagation.operation_call import Call


@dataclass(frozen=True, eq=False)
class AttentionMaps:
    """The attention of these samples in all layers, first layer first, and which tokens the score reads."""

    weights: list[Tensor]
    """b h n n each: how much each query (row) takes from each key (column)."""
    gradients: list[Tensor]
    """b h n n each: of the score."""
    reads: Tensor
    """b n: whether the score depends on what this token has after the last attention."""
    grid: tuple[int, int] | None
    """Rows and columns of the last convolution before the first attention: the patches; None without a convolution."""


def attention_maps(problem: Problem, samples: Tensor, method: str) -> tuple[AttentionMaps, Propagation]:
    """Return the attention of these samples and the mode that recorded it.

    Raises NotImplementedError for a model without attention, with attention in windows or between other tokens than
    its own, or that hides its operations.
    """
    recorder = AttentionRecorder(method)
    score, _ = forward(recorder, problem, problem.x[samples], samples)
    weights = recorder.split_heads(len(samples))
    wanted = [*(mix.weights for mix in recorder.mixes), recorder.mixes[-1].mixed]
    if not score.requires_grad:
        raise ValueError("the score does not depend on the input: no gradient reaches its attention.")
    *found, last = torch.autograd.grad(score.sum(), wanted, materialize_grads=True)
    gradients = [
        mix.order_weights(gradient).reshape(w.shape)
        for mix, gradient, w in zip(recorder.mixes, found, weights, strict=True)
    ]
    mixed = recorder.mixes[-1].order_mixed(last)
    reads = (mixed.reshape(*weights[-1].shape[:-1], -1) != 0).any(-1).any(1)  # b n
    maps = AttentionMaps([w.detach() for w in weights], gradients, reads, recorder.grid)
    return maps, recorder


def first_values(problem: Problem, image: Tensor, method: str) -> Tensor:
    """Return what the first attention mixes, n c: its tokens for another image (1 c h w) instead of the first sample's.

    They have not been mixed by attention before.
    """
    recorder = AttentionRecorder(method)
    first = torch.zeros(1, dtype=torch.long, device=problem.x.device)
    forward(recorder, problem, problem.flatten([image]), first)
    count = recorder.split_heads(1)[0].shape[-1]
    values = recorder.mixes[0].order_values().detach()
    return values.reshape(-1, count, values.shape[-1]).transpose(0, 1).flatten(1).to(image)


class AttentionRecorder(Propagation):
    """Keeps torch's gradient everywhere, and records attention weights and what they mix."""

    def __init__(self, method: str) -> None:
        super().__init__(method)
        self.mixes: list[Mix] = []
        """The products with attention weights, first layer first."""
        self.grid: tuple[int, int] | None = None
        self._softmaxes = WeakIdKeyDictionary()

    def split_heads(self, samples: int) -> list[Tensor]:
        """Return the weights of all layers as b h n n; raise NotImplementedError if they are no self-attention."""
        if not self.mixes:
            raise NotImplementedError(
                f"{self.method} reads attention weights, and this model has none (no soft-max that multiplies other "
                "activations): use 'gradcam' for a convolutional net, or 'consensus' or 'ig' for any."
            )
        weights = [mix.order_weights(mix.weights) for mix in self.mixes]  # b h n n, or b·h n n
        shapes = {tuple(w.shape[-2:]) for w in weights}
        whole = all((w.ndim == 4 and len(w) == samples) or (w.ndim == 3 and len(w) % samples == 0) for w in weights)
        ((queries, keys), *others) = shapes
        if others or queries != keys or not whole:
            sizes = ", ".join(sorted({" × ".join(map(str, w.shape)) for w in weights}))
            raise NotImplementedError(
                f"{self.method} follows tokens from layer to layer, which needs self-attention of the same tokens in "
                f"every layer, but for {samples} samples this model's weights are {sizes}, as with windows, pooling or "
                f"cross-attention: {INSTEAD}."
            )
        return [w.reshape(samples, -1, queries, keys) for w in weights]

    def on_unknown(self, call: Call) -> object:
        """Keep torch's gradient, which any operation has."""
        return call.run()

    on_sum = on_add = on_scale = on_maximum = on_batch_norm = on_elementwise = Propagation.use_gradient
    on_log_softmax = on_divide = on_layer_norm = on_group_norm = on_rms_norm = Propagation.use_gradient
    on_add_product = Propagation.use_gradient

    def on_softmax(self, call: Call) -> object:
        weights: Tensor = call.run()
        self._softmaxes[weights] = True
        return weights

    def on_attention(self, call: Call) -> object:
        """Run scaled dot-product attention as its two products and soft-max."""
        with self:
            return composites.attend(call)

    def on_linear(self, call: Call) -> object:
        """Record a product of what comes from a soft-max, and the shape of a convolution's output."""
        result: Tensor = call.run()
        # the second factor of a matmul has its keys first, but einsum takes its factors in any order
        factors = call.inputs if call.name == "einsum" else call.inputs[:1]
        weights = [tensor for tensor in factors if tensor in self._softmaxes]
        if len(call.inputs) == 2 and len(weights) == 1:
            self.rule_counts["attention"] += 1
            self.mixes.append(read_mix(call, weights[0], result, self.method))
        elif call.name == "conv2d" and not self.mixes:
            self.grid = (result.shape[-2], result.shape[-1])
        return result

    on_multiply = Propagation.use_gradient

    def on_rearrange(self, call: Call) -> object:
        return self._follow(call)

    def on_mask(self, call: Call) -> object:
        return self._follow(call)

    def on_dropout(self, call: Call) -> object:
        return self._follow(call)

    def _follow(self, call: Call) -> object:
        """Run an operation after which weights are still weights: casts, dropout in evaluation, masks, new shapes."""
        result = call.run()
        if isinstance(result, Tensor) and len(call.inputs) == 1 and call.inputs[0] in self._softmaxes:
            self._softmaxes[result] = True
        return result
