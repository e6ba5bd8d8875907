"""Small transformers of Hugging Face's own code, with seeded weights, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

SIZES = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 48}
IMAGE = {"image_size": 32, "patch_size": 8, "num_labels": 4}


class Logits(nn.Module):
    """A net that takes its one input under its own name and gives logits."""

    def __init__(self, net: Any, takes: str, at: Any = slice(None), **further: Tensor) -> None:
        super().__init__()
        self.net, self.takes, self.at, self.further = net, takes, at, further

    def forward(self, x: Tensor) -> Tensor:
        further = {name: value.expand(len(x), -1) for name, value in self.further.items()}
        out: Tensor = self.net(**{self.takes: x}, **further).logits[:, self.at]
        return out


def _build(model: str, config: str, **settings: Any) -> Any:
    transformers = pytest.importorskip("transformers", reason="needs the extra hub")
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        net = getattr(transformers, model)(getattr(transformers, config)(**settings))
        for name, parameter in net.named_parameters():  # as trained nets have them: no zeros, attention not uniform
            noise = torch.randn_like(parameter)
            parameter.data = parameter.data + noise * (0.02 if "norm" in name.lower() or "bias" in name else 0.2)
    return net.double().eval()


def vit(attention: str = "eager", **settings: Any) -> Logits:
    """A class token and 16 patches."""
    all_settings = {**SIZES, **IMAGE, "attn_implementation": attention, **settings}
    return Logits(_build("ViTForImageClassification", "ViTConfig", **all_settings), "pixel_values")


def deit(attention: str = "eager") -> Logits:
    """A class token, a distillation token and 16 patches; the mean of two heads."""
    settings = {**SIZES, **IMAGE, "attn_implementation": attention}
    return Logits(_build("DeiTForImageClassificationWithTeacher", "DeiTConfig", **settings), "pixel_values")


def bert(attention: str = "eager", masked: bool = False) -> Logits:
    """Six embeddings, the last two of which may be padding."""
    settings = {**SIZES, "vocab_size": 50, "num_labels": 3, "attn_implementation": attention}
    mask = {"attention_mask": torch.tensor([[1, 1, 1, 1, 0, 0]])} if masked else {}
    return Logits(_build("BertForSequenceClassification", "BertConfig", **settings), "inputs_embeds", **mask)


def gpt2(attention: str = "eager") -> Logits:
    """The next word's logits; products by torch.addmm."""
    settings = {"n_embd": 24, "n_layer": 2, "n_head": 3, "vocab_size": 50, "bos_token_id": 0, "eos_token_id": 0}
    return Logits(
        _build("GPT2LMHeadModel", "GPT2Config", attn_implementation=attention, **settings), "inputs_embeds", -1
    )


def llama(attention: str = "eager") -> Logits:
    """The next word's logits; two heads of queries for each of keys, RMS norms in float32, gated SiLU."""
    settings = {**SIZES, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 50}
    net = _build("LlamaForCausalLM", "LlamaConfig", attn_implementation=attention, **settings)
    return Logits(net, "inputs_embeds", -1)


def swin() -> Logits:
    """Attention in windows."""
    settings = {"embed_dim": 12, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4, **IMAGE, "patch_size": 4}
    return Logits(_build("SwinForImageClassification", "SwinConfig", **settings), "pixel_values")


def torch_encoder(norm_first: bool = True) -> nn.Module:
    """Torch's own layers, with nn.MultiheadAttention, which puts tokens before samples."""
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(24, 3, 48, batch_first=True, activation="gelu", norm_first=norm_first)
        layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        return nn.Sequential(layers, First(), nn.Linear(24, 3)).double().eval()


class First(nn.Module):
    """The first token."""

    def forward(self, x: Tensor) -> Tensor:
        return x[:, 0]


NETS: dict[str, Callable[[], nn.Module]] = {
    "vit eager": vit,
    "vit sdpa": lambda: vit("sdpa"),
    "deit": lambda: deit("sdpa"),
    "bert eager": bert,
    "bert masked": lambda: bert("sdpa", masked=True),
    "gpt2": lambda: gpt2("sdpa"),
    "gpt2 eager": gpt2,
    "llama": lambda: llama("sdpa"),
    "torch": torch_encoder,
    "torch norm last": lambda: torch_encoder(norm_first=False),
}


def inputs(net: nn.Module, samples: int = 2, seed: int = 1) -> Tensor:
    """Images for nets that take them, and embeddings of six tokens for others."""
    shape = (3, 32, 32) if getattr(net, "takes", "") == "pixel_values" else (6, 24)
    return torch.randn(samples, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
