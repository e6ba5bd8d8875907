"""A text as token numbers: what any tokenizer gives, in one form.

Tokenizers of transformers and of tokenizers are read here; any other is a function that returns an `Encoded`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from samp.text.words import Span, trim_span

SPECIAL = ("cls", "sep", "bos", "eos", "pad", "mask")
UNKNOWN = ("[UNK]", "<unk>")


@dataclass(frozen=True, eq=False)
class Encoded:
    """A text and its tokens; all sequences but `text` have one entry per token.

    - `fixed`: which tokens are no features: special tokens that the tokenizer adds, and padding.
    - `offsets`: the place (start, end) of each token in the text; None if it is not known.
    - `columns`: further inputs of the model with one number per token, by their names, such as `attention_mask`.
    - `mask_id`, `pad_id`: the numbers of the mask and padding tokens, where there are such.

    Raises ValueError if the sequences differ in length.

    >>> Encoded("a b", [1, 5, 6], ["<s>", "a", "b"], fixed=[True, False, False]).feature_places
    [1, 2]
    """

    text: str
    ids: Sequence[int]
    tokens: Sequence[str]
    fixed: Sequence[bool]
    offsets: Sequence[Span] | None = None
    columns: Mapping[str, Sequence[int]] = field(default_factory=dict)
    mask_id: int | None = None
    pad_id: int | None = None

    def __post_init__(self) -> None:
        parts = {"tokens": self.tokens, "fixed": self.fixed, **self.columns}
        parts |= {} if self.offsets is None else {"offsets": self.offsets}
        for name, part in parts.items():
            if len(part) != len(self.ids):
                raise ValueError(
                    f"{name} has {len(part)} entries but there are {len(self.ids)} ids: give one for each."
                )

    @property
    def feature_places(self) -> list[int]:
        """The places of the tokens that are features."""
        return [place for place, fixed in enumerate(self.fixed) if not fixed]

    @property
    def feature_spans(self) -> list[Span] | None:
        """The place in the text of each token that is a feature, without blanks around it; None if not known."""
        if self.offsets is None:
            return None
        return [trim_span(self.text, self.offsets[place]) for place in self.feature_places]


def encode_text(tokenizer: Any, text: str) -> Encoded:
    """Return the text as tokens; raises TypeError for what is no tokenizer, and ValueError if no token is a feature.

    >>> encode = lambda text: Encoded(text, [len(w) for w in text.split()], text.split(), [False] * len(text.split()))
    >>> encode_text(encode, "to be").ids
    [2, 2]
    """
    encoded = _read_tokenizer(tokenizer)(text)
    if not isinstance(encoded, Encoded):
        raise TypeError(
            f"the tokenizer returned {type(encoded).__name__}: pass one of transformers or tokenizers, or a function "
            "text -> samp.text.Encoded."
        )
    if not encoded.feature_places:
        raise ValueError(f"the text {text!r} has no token to explain: only special ones.")
    return encoded


def single_token(tokenizer: Any, text: str) -> int:
    """Return the number of the one token that this text is; raises ValueError for none, several or an unknown word."""
    if _is_transformers(tokenizer):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        names = tokenizer.convert_ids_to_tokens(ids)
    elif _is_tokenizers(tokenizer):
        encoding = tokenizer.encode(text, add_special_tokens=False)
        ids, names = encoding.ids, encoding.tokens
    else:
        encoded = encode_text(tokenizer, text)
        ids = [encoded.ids[place] for place in encoded.feature_places]
        names = [encoded.tokens[place] for place in encoded.feature_places]
    if len(ids) != 1:
        raise ValueError(
            f"the target {text!r} is {len(ids)} tokens, {list(names)}: give one token (many begin with a blank, as "
            f"{' ' + text.strip()!r}) or its number."
        )
    unknown = {*UNKNOWN, getattr(tokenizer, "unk_token", None)}
    if names[0] in unknown and text.strip() != names[0]:
        raise ValueError(
            f"the tokenizer does not know the target {text!r} ({names[0]}): give another token or a number."
        )
    return int(ids[0])


def token_text(tokenizer: Any, number: int) -> str:
    """Return a token as text, with its blanks, or its name where the tokenizer cannot decode it."""
    decode = getattr(tokenizer, "decode", None)
    return str(decode([number])) if callable(decode) else f"token {number}"


def _read_tokenizer(tokenizer: Any) -> Callable[[str], Encoded]:
    if _is_transformers(tokenizer):
        return lambda text: _read_transformers(tokenizer, text)
    if _is_tokenizers(tokenizer):
        return lambda text: _read_tokenizers(tokenizer, text)
    if not callable(tokenizer) or isinstance(tokenizer, type):
        raise TypeError(
            f"a tokenizer is one of transformers or tokenizers, or a function text -> samp.text.Encoded, not "
            f"{type(tokenizer).__name__}."
        )
    return tokenizer  # type: ignore[no-any-return]  # `encode_text` checks what it returns


def _is_transformers(tokenizer: Any) -> bool:
    return hasattr(tokenizer, "convert_ids_to_tokens") and hasattr(tokenizer, "all_special_ids")


def _is_tokenizers(tokenizer: Any) -> bool:
    return hasattr(tokenizer, "token_to_id") and hasattr(tokenizer, "encode")


def _read_transformers(tokenizer: Any, text: str) -> Encoded:
    fast = bool(getattr(tokenizer, "is_fast", False))
    told = dict(tokenizer(text, return_special_tokens_mask=True, return_offsets_mapping=fast))
    ids = list(told.pop("input_ids"))
    added, offsets = told.pop("special_tokens_mask"), told.pop("offset_mapping", None)
    special = _special_ids(tokenizer)
    return Encoded(
        text=text,
        ids=ids,
        tokens=list(tokenizer.convert_ids_to_tokens(ids)),
        fixed=[bool(mark) or number in special for mark, number in zip(added, ids, strict=True)],
        offsets=offsets,
        columns={name: list(column) for name, column in told.items()},
        mask_id=tokenizer.mask_token_id,
        pad_id=tokenizer.pad_token_id,
    )


def _special_ids(tokenizer: Any) -> set[int]:
    """Return the numbers of tokens that stand for no text. An unknown word is text, unless it shares its number."""
    own = [getattr(tokenizer, f"{name}_token_id", None) for name in SPECIAL]
    known: set[int] = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    return known | {number for number in own if number is not None}


def _read_tokenizers(tokenizer: Any, text: str) -> Encoded:
    encoding = tokenizer.encode(text)
    visible = list(encoding.attention_mask)
    return Encoded(
        text=text,
        ids=list(encoding.ids),
        tokens=list(encoding.tokens),
        fixed=[bool(mark) or not seen for mark, seen in zip(encoding.special_tokens_mask, visible, strict=True)],
        offsets=list(encoding.offsets),
        columns={"attention_mask": visible},
        mask_id=_find_token(tokenizer, "[MASK]", "<mask>"),
        pad_id=(tokenizer.padding or {}).get("pad_id", _find_token(tokenizer, "[PAD]", "<pad>")),
    )


def _find_token(tokenizer: Any, *names: str) -> int | None:
    numbers = (tokenizer.token_to_id(name) for name in names)
    return next((number for number in numbers if number is not None), None)
