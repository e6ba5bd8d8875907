"""Texts in one batch: padded at their ends, with the places of their features and the groups that these form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from samp.engine.forward_args import PerSample
from samp.text.encoding import Encoded
from samp.text.words import assign_words

GroupName = Literal["tokens", "words"]


@dataclass(frozen=True, eq=False)
class TextBatch:
    """Encoded texts as the tensors that an `EmbeddedModel` takes."""

    texts: tuple[Encoded, ...]
    inputs: Mapping[str, Tensor]  # b l each; the token numbers come first
    places: Tensor  # b f, where the features stand; l for padding
    groups: Tensor  # b f 1
    position: Tensor  # b, the token whose output counts
    feature_counts: tuple[int, ...]

    @property
    def arguments(self) -> tuple[PerSample, ...]:
        """What an `EmbeddedModel` takes behind the features, marked for `samp.explain`."""
        return tuple(PerSample(one) for one in (self.places, self.position, *self.inputs.values()))

    @property
    def is_padding(self) -> Tensor:
        """Which entries of `places` are padding (b f)."""
        return self.places == self.inputs["input_ids"].shape[1]

    def gather(self, embeddings: Tensor) -> Tensor:
        """Return the embeddings (b l e) of the features (b f e); those of padding are 0."""
        where = self.places.clamp(max=embeddings.shape[1] - 1)[..., None].expand(-1, -1, embeddings.shape[2])
        return embeddings.gather(1, where).masked_fill(self.is_padding[..., None], 0)

    def replace_features(self, number: int) -> dict[str, Tensor]:
        """Return the inputs with this token in the place of every feature."""
        ids = self.inputs["input_ids"]
        room = torch.cat([ids, ids[:, :1]], 1).scatter(1, self.places, number)
        return {**self.inputs, "input_ids": room[:, :-1]}


def make_batch(
    texts: Sequence[Encoded], groups: GroupName, positions: Sequence[int], device: torch.device
) -> TextBatch:
    """Return the batch of these texts, each padded behind its end to the longest.

    Padding among the features belongs to the group of the text's last feature: it never moves, so it earns nothing.

    >>> short = Encoded("a", [7, 4], ["<s>", "a"], [True, False], [(0, 0), (0, 1)])
    >>> long = Encoded("a b", [7, 4, 5], ["<s>", "a", "b"], [True, False, False], [(0, 0), (0, 1), (2, 3)])
    >>> batch = make_batch([short, long], "tokens", [1, 2], torch.device("cpu"))
    >>> batch.inputs["attention_mask"].tolist(), batch.places.tolist(), batch.groups[..., 0].tolist()
    ([[1, 1, 0], [1, 1, 1]], [[1, 3], [1, 2]], [[0, 0], [0, 1]])
    """
    length = max(len(one.ids) for one in texts)
    features = max(len(one.feature_places) for one in texts)
    columns = {"input_ids": [_pad(one.ids, length, one.pad_id or 0) for one in texts]}
    for name in dict.fromkeys([*texts[0].columns, "attention_mask"]):
        own = [one.columns.get(name, [1] * len(one.ids)) for one in texts]
        columns[name] = [_pad(column, length, 0) for column in own]
    ids = [group_numbers(one, groups) for one in texts]
    return TextBatch(
        texts=tuple(texts),
        inputs={name: torch.tensor(rows, device=device) for name, rows in columns.items()},
        places=torch.tensor([_pad(one.feature_places, features, length) for one in texts], device=device),
        groups=torch.tensor([_pad(row, features, row[-1]) for row in ids], device=device)[..., None],
        position=torch.tensor(positions, device=device),
        feature_counts=tuple(max(row) + 1 for row in ids),
    )


def group_numbers(text: Encoded, groups: GroupName) -> list[int]:
    """Return the number of the group of each feature token; raises ValueError for words whose places are not known."""
    if groups == "tokens":
        return list(range(len(text.feature_places)))
    spans = text.feature_spans
    if spans is None:
        raise ValueError(
            "this tokenizer does not say where its tokens stand in the text, so words cannot be told: pass "
            "groups='tokens', or a fast tokenizer."
        )
    return assign_words(text.text, spans)


def split_by_length(texts: Sequence[Encoded], groups: GroupName = "tokens") -> list[list[int]]:
    """Return the numbers of texts of equal length and equal numbers of features together: these need no padding.

    >>> make = lambda n: Encoded("", [1] * n, ["a"] * n, [False] * n)
    >>> split_by_length([make(2), make(3), make(2)])
    [[0, 2], [1]]
    """
    together: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, one in enumerate(texts):
        together[len(one.ids), len(one.feature_places), max(group_numbers(one, groups))].append(number)
    return list(together.values())


def _pad(row: Sequence[int], length: int, filler: int) -> list[int]:
    return [*row, *[filler] * (length - len(row))]
