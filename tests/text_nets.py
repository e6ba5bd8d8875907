"""Small seeded text models of transformers, built from configs, with tokenizers that need no download."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

transformers = pytest.importorskip("transformers", reason="needs transformers")
tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers, which comes with transformers")

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [
    *("the", "film", "was", "not", "good", "bad", "very", "un", "##happy", "##ing", "end", "cat", "sleep", "sleeping"),
    *(".", ",", "!", "'", "don", "t", "東", "京", "القطة", "نائمة"),
]
SENTENCES = ["The film was good.", "Not bad!", "the cat sleeping was very unhappy, don't end"]
WIDTH = 16


def bert_tokenizer() -> Any:
    """Return a word-piece tokenizer that puts [CLS] and [SEP] around a text."""
    vocabulary = {name: number for number, name in enumerate(SPECIAL + PIECES)}
    inner = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    inner.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    ends = [("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    inner.post_processor = tokenizers.processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=ends)
    names = {name.strip("[]").lower() + "_token": name for name in SPECIAL}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, **names)


def plain_tokenizer(beginning: bool = False) -> Any:
    """Return a word-level tokenizer without mask or padding; with `beginning`, it puts <s> before a text."""
    words = ["<unk>", "<s>", *dict.fromkeys(piece.removeprefix("##") for piece in PIECES)]
    vocabulary = {name: number for number, name in enumerate(words)}
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.normalizer = tokenizers.normalizers.Lowercase()
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    if beginning:
        inner.post_processor = tokenizers.processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="<unk>", bos_token="<s>")


def build(kind: str, **changed: Any) -> nn.Module:
    """Return a small model of transformers by the name of its class, in evaluation mode, with weights of one seed."""
    torch.manual_seed(3)
    sizes = {"vocab_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 40}
    if kind.startswith("Bert"):
        config = transformers.BertConfig(**sizes, hidden_size=WIDTH, intermediate_size=32, num_labels=3, **changed)
    elif kind.startswith("GPT2"):
        config = transformers.GPT2Config(vocab_size=64, n_embd=WIDTH, n_layer=2, n_head=2, n_positions=40, **changed)
    else:
        config = transformers.LlamaConfig(**sizes, hidden_size=WIDTH, intermediate_size=32, **changed)
    model: nn.Module = getattr(transformers, kind)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(6 if parameter.ndim > 1 else 1)  # the usual initialisation is nearly linear
    return model


class Bag(nn.Module):
    """A plain module: the mean embedding of all tokens, padding too, and two layers."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.words, self.hidden, self.score = nn.Embedding(64, 6), nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, numbers: Tensor) -> Tensor:
        scores: Tensor = self.score(self.hidden(self.words(numbers).mean(1)).tanh())
        return scores
