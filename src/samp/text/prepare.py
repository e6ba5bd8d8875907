"""From a model, a tokenizer and texts to what explanations and metrics of texts need: checked once, here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from samp.checks import is_whole
from samp.isolation import observe
from samp.lookup import look_up
from samp.targets import Margin
from samp.text.batches import GroupName, TextBatch, group_numbers, make_batch, split_by_length
from samp.text.embedded_model import EmbeddedModel, find_embedding
from samp.text.encoding import Encoded, encode_text
from samp.text.outputs import ReadPooled, ReadPosition, has_scores, no_scores, read_classes, read_whole
from samp.text.text_targets import Answers, Similarity, TextTarget, choose_target


@dataclass(frozen=True, eq=False)
class Question:
    """Which scores of which texts are asked for: `target`, `against` and `position` of `samp.text.explain`."""

    target: Any = None
    against: Any = None
    position: int | None = None


@dataclass(frozen=True, eq=False)
class PreparedTexts:
    """Texts and the model that reads them, with the names of its answers, and how the texts go into batches."""

    texts: list[Encoded]
    net: EmbeddedModel
    answers: Answers | None
    positions: list[int]
    wanted: list[Any]
    against: list[Any]
    groups: GroupName
    together: list[list[int]]

    def batch(self, numbers: Sequence[int]) -> TextBatch:
        """Return the batch of the texts of these numbers."""
        chosen = [self.texts[number] for number in numbers]
        return make_batch(chosen, self.groups, [self.positions[number] for number in numbers], find_device(self.net))

    def output(self, batch: TextBatch) -> Any:
        """Return what the target is computed from, for the texts as they are."""
        return _read_output(self.net, batch)

    def target(self, output: Any, numbers: Sequence[int]) -> TextTarget:
        """Return what is explained of the texts of these numbers."""
        pairs = [self.wanted[number] for number in numbers], [self.against[number] for number in numbers]
        return choose_target(output, self.answers, *pairs, numbers)


def read_texts(text: str | Sequence[str]) -> list[str]:
    """Return a text or several as a list; raises TypeError for anything else, ValueError if there is none.

    >>> read_texts("to be")
    ['to be']
    """
    texts = [text] if isinstance(text, str) else list(text) if isinstance(text, list | tuple) else None
    if texts is None or not all(isinstance(one, str) for one in texts):
        raise TypeError(f"text is a string or a list of strings, not {type(text).__name__}.")
    if not texts or not all(one.strip() for one in texts):
        raise ValueError("there is no text to explain: it is empty.")
    return texts


def prepare(
    model: Any, tokenizer: Any, texts: list[str], question: Question, groups: GroupName, embedding: Any, pad: bool
) -> PreparedTexts:
    """Return the texts ready to be explained; raises TypeError or ValueError for what cannot be.

    With `pad`, texts of different length go into one batch, unless that changes what the model says of them (as it does
    where its attention sees the padding).
    """
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"the model of a text is an nn.Module, whose embedding layer is found, not {type(model).__name__}."
        )
    look_up(groups, dict.fromkeys(("tokens", "words")), "groups")
    encoded = [encode_text(tokenizer, one) for one in texts]
    for one in encoded:
        group_numbers(one, groups)  # raises where words cannot be told
    wanted, against = _one_per_text(question.target, len(texts)), _one_per_text(question.against, len(texts))
    if None in against and any(one is not None for one in against):
        raise ValueError(
            "some texts have an answer to tell the target from and some have none: give `against` for all."
        )
    _check_against(wanted, against)
    for one in encoded:
        _check_length(model, tokenizer, one)
    name, layer = find_embedding(model, embedding)
    names = list(make_batch(encoded[:1], groups, [0], torch.device("cpu")).inputs)
    net = EmbeddedModel(model, name, layer, names, read_whole)
    wanted, reads_whole = _choose_reader(net, tokenizer, encoded[0], wanted)
    answers = None
    if not any(map(callable, wanted)):
        answers = _find_answers(net, tokenizer, encoded[0])
    positions = [_find_position(net, one, question.position) for one in encoded]
    prepared = PreparedTexts(encoded, net, answers, positions, wanted, against, groups, [list(range(len(texts)))])
    if len(split_by_length(encoded, groups)) == 1 or (pad and not reads_whole and _padding_is_neutral(prepared)):
        return prepared
    alike = split_by_length(encoded, groups)
    return PreparedTexts(encoded, net, answers, positions, wanted, against, groups, alike)


def _check_against(wanted: Sequence[Any], against: Sequence[Any]) -> None:
    """Raise ValueError for an answer to tell from a target that takes none."""
    for one, other in zip(wanted, against, strict=True):
        if other is not None and (callable(one) or isinstance(one, Similarity | Margin)):
            kind = "a function" if callable(one) else type(one).__name__
            raise ValueError(f"`against` belongs to a class or a token, and the target is {kind}: leave it out.")


def _check_length(model: Any, tokenizer: Any, text: Encoded) -> None:
    """Raise ValueError for a text that is longer than the model's config or the tokenizer says that it may be."""
    config = getattr(model, "config", None)
    limits = [getattr(config, "max_position_embeddings", None), getattr(tokenizer, "model_max_length", None)]
    limit = min((one for one in limits if is_whole(one) and one > 0), default=None)
    if limit is not None and len(text.ids) > limit:
        raise ValueError(f"the text has {len(text.ids):,} tokens, but the model takes {limit:,}: cut the text.")


def _choose_reader(net: EmbeddedModel, tokenizer: Any, first: Encoded, wanted: list[Any]) -> tuple[list[Any], bool]:
    """Set the reader of a target function or a similarity; return the targets, and whether it reads whole outputs."""
    kinds = [one for one in wanted if callable(one) or isinstance(one, Similarity)]
    if kinds and any(one is not wanted[0] for one in wanted):
        raise TypeError("a target function or a similarity holds for all texts: pass one, or explain them one by one.")
    if not kinds:
        return wanted, False
    if isinstance(wanted[0], Similarity):
        net.reader = ReadPooled(wanted[0].pooling)
        return [_cosine_to(net, tokenizer, wanted[0])] * len(wanted), False
    return wanted, True


def _cosine_to(net: EmbeddedModel, tokenizer: Any, similarity: Similarity) -> Callable[[Tensor], Tensor]:
    other = encode_text(tokenizer, similarity.text)
    _check_length(net.model, tokenizer, other)
    batch = make_batch([other], "tokens", [0], find_device(net))
    reference = _read_output(net, batch)

    def cosine(output: Tensor) -> Tensor:
        return F.cosine_similarity(output, reference.to(output), dim=1)

    cosine.label = f"similarity to {similarity.text!r}"  # type: ignore[attr-defined]  # the name in results
    return cosine


def _find_answers(net: EmbeddedModel, tokenizer: Any, first: Encoded) -> Answers:
    """Set the reader by the shape of the model's scores, and return their names; raises TypeError or ValueError."""
    batch = make_batch([first], "tokens", [0], find_device(net))
    net.reader = read_classes
    with torch.no_grad():
        output = observe(net.model, lambda: net.call(batch.inputs, None))
    if _has_no_head(net.model) and not has_scores(output):
        raise no_scores(output)
    scores = read_classes(output, batch.inputs, batch.position)
    if scores.ndim > 3 or len(scores) != 1:
        raise ValueError(f"the model gives scores of shape {tuple(scores.shape)} for one text: pass a target function.")
    if scores.ndim == 3:
        net.reader = ReadPosition(net.call.keeps_logits)
        scores = scores[:, 0]
    return Answers.of(net.model, tokenizer, scores, by_token=isinstance(net.reader, ReadPosition))


def _has_no_head(model: Any) -> bool:
    """Return whether this is a model of transformers without a head, whose tuples hold hidden states."""
    return bool(getattr(model, "base_model_prefix", "")) and getattr(model, "base_model", None) is model


def _find_position(net: EmbeddedModel, text: Encoded, position: int | None) -> int:
    """Return the place of the token whose output counts; raises ValueError if it is not clear which.

    By default that is the mask token, if the text has just one, or the last token, for a model that generates text.
    """
    visible = text.columns.get("attention_mask", [1] * len(text.ids))
    last = max(place for place, seen in enumerate(visible) if seen)
    if not isinstance(net.reader, ReadPosition):
        if position is not None:
            raise ValueError("the model gives one answer for the whole text: leave out `position`.")
        return last
    if position is not None:
        if not -(last + 1) <= position <= last:
            raise ValueError(f"position {position} is outside of the text, which has {last + 1} tokens.")
        return position % (last + 1)
    masks = [place for place, number in enumerate(text.ids) if number == text.mask_id and text.mask_id is not None]
    if len(masks) == 1:
        return masks[0]
    can_generate = getattr(net.model, "can_generate", None)
    if callable(can_generate) and can_generate():
        return last
    raise ValueError(
        "the model answers for each token: pass position=…, the place of the token that is explained (-1 is the last), "
        "or a text with one mask token."
    )


def _padding_is_neutral(prepared: PreparedTexts) -> bool:
    """Return whether the model takes a mask, and says the same of the shortest text alone and padded beside the others.

    Walks leave the text, so that it is also compared with its features at 0 and turned to their negatives: the maximum
    over all tokens, say, does not see padding of zeros before that.
    """
    if "attention_mask" not in prepared.net.call.named:
        return False
    lengths = [len(one.ids) for one in prepared.texts]
    shortest, longest = lengths.index(min(lengths)), lengths.index(max(lengths))
    try:
        beside = _outputs_off_the_text(prepared, [shortest, longest])
    except (RuntimeError, ValueError, IndexError):  # some models take no padding at all
        return False
    alone = _outputs_off_the_text(prepared, [shortest])
    tolerance = max(1e-4, 16 * torch.finfo(alone.dtype).eps)  # other kernels round otherwise
    gap, size = ((one.flatten(1).abs().amax(1)) for one in (alone - beside, alone))
    return bool((gap <= tolerance * size.clamp(min=1)).all())


@torch.no_grad()
def _outputs_off_the_text(prepared: PreparedTexts, numbers: Sequence[int]) -> Tensor:
    """Return the output of the first of these texts as it is, and with its features times 0 and −1 (3 …)."""
    batch = prepared.batch(numbers)
    outputs = [prepared.output(batch)[0]]
    features = batch.gather(prepared.net.embed(batch.inputs))
    arguments = [argument.values for argument in batch.arguments]
    outputs += [prepared.net(factor * features, *arguments)[0] for factor in (0, -1)]
    return torch.stack(outputs)


def _read_output(net: EmbeddedModel, batch: TextBatch) -> Any:
    with torch.no_grad():
        output = observe(net.model, lambda: net.call(batch.inputs, batch.position))
    return net.reader(output, batch.inputs, batch.position)


def _one_per_text(given: Any, count: int) -> list[Any]:
    if not isinstance(given, list):
        return [given] * count
    if len(given) != count:
        raise ValueError(f"there are {len(given)} targets for {count} texts: give one for all or one for each.")
    return list(given)


def find_device(model: object) -> torch.device:
    """Return the device of a model's parameters; the processor for one without any.

    >>> find_device(nn.Linear(2, 2, device="meta"))
    device(type='meta')
    """
    parameters = model.parameters() if isinstance(model, nn.Module) else iter(())
    return next((parameter.device for parameter in parameters), torch.device("cpu"))
