"""What the model says of the region alone and of the photo without it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from samp.baselines import Blurred
from samp.models import Classifier
from samp.models.answers import Answers, ask_about_region, probabilities, read_answers, split_by_region
from samp.models.prediction import ClassifiedPhoto, classify_photo
from samp.region import Region


class Redness(nn.Module):
    """Scores by the colour of one corner: red speaks for the class "red", its absence for "other"."""

    def forward(self, x: Tensor) -> Tensor:
        red = x[:, 0, :2, :2].mean((1, 2)) - x[:, 1:, :2, :2].mean((1, 2, 3))
        return torch.stack([torch.zeros_like(red), 4 * red, -red], 1)


@pytest.fixture
def photo(tmp_path: Path) -> ClassifiedPhoto:
    picture = Image.new("RGB", (16, 16), "grey")
    picture.paste("red", (0, 0, 4, 4))
    picture.save(tmp_path / "photo.png")
    classifier = Classifier(Redness(), "redness", 16, 0.5, 0.5, ("other", "red", "blue"), margin=None)
    return classify_photo(tmp_path / "photo.png", classifier)


def region(rows: slice, columns: slice) -> Region:
    mask = torch.zeros(16, 16, dtype=torch.bool)
    mask[rows, columns] = True
    return Region(mask, mask.double(), 0.5, 0.0)


def test_the_part_that_matters_keeps_the_answer_and_the_photo_without_it_loses_it(photo: ClassifiedPhoto) -> None:
    answers = ask_about_region(photo, region(slice(4), slice(4)), target=1)
    assert [guess.label for guess in answers.top] == ["red", "other", "blue"]
    assert answers.agrees
    assert answers.alone is not None
    assert answers.without is not None
    assert answers.alone.explained == answers.explained  # nothing of the corner has changed
    assert answers.without.explained == answers.blurred.explained  # type: ignore[union-attr]  # there is a region
    assert answers.without.explained.score < answers.explained.score - 1


def test_a_part_that_does_not_matter_changes_nothing(photo: ClassifiedPhoto) -> None:
    answers = ask_about_region(photo, region(slice(8, 12), slice(8, 12)), target=1)
    assert answers.without is not None
    assert answers.without.explained == answers.explained


def test_another_class_than_the_models_answer_is_said_to_be_so(photo: ClassifiedPhoto) -> None:
    answers = ask_about_region(photo, region(slice(4), slice(4)), target=2)
    assert not answers.agrees
    assert (answers.top[0].label, answers.explained.label) == ("red", "blue")
    assert answers.alone is not None
    assert (answers.alone.best.label, answers.alone.explained.label) == ("red", "blue")


def test_probabilities_are_the_softmax_and_sum_to_one(photo: ClassifiedPhoto) -> None:
    answers = ask_about_region(photo, region(slice(4), slice(4)), target=1)
    expected = photo.scores.softmax(0).tolist()
    assert {guess.index: guess.probability for guess in answers.top} == pytest.approx(dict(enumerate(expected)))


def test_an_empty_region_is_not_asked_about(photo: ClassifiedPhoto) -> None:
    empty = ask_about_region(photo, region(slice(0), slice(0)), target=1)
    assert empty == Answers(empty.top, empty.explained, None, None, None)


def test_the_two_parts_make_up_the_photo_and_its_blur() -> None:
    x, mask = torch.rand(1, 3, 16, 16), torch.rand(16, 16) > 0.5
    alone, without = split_by_region(x, mask)
    assert (alone[..., mask] == x[..., mask]).all()
    assert (alone[..., ~mask] == Blurred()(x)[..., ~mask]).all()
    torch.testing.assert_close(alone + without, x + Blurred()(x))


def test_outputs_that_are_probabilities_stay_as_they_are() -> None:
    outputs = torch.tensor([[0.9, 0.8], [0.1, 0.2]])  # a sigmoid for each class
    assert probabilities(outputs) is outputs
    logits = torch.tensor([[0.9, 1.8], [0.1, 0.2]])  # though those of the second picture could be probabilities
    torch.testing.assert_close(probabilities(logits), logits.softmax(1))


def test_outputs_that_are_not_numbers_have_no_probability(photo: ClassifiedPhoto) -> None:
    outputs = torch.stack([photo.scores, photo.scores, torch.full((3,), torch.nan), photo.scores])
    answers = read_answers(photo.classifier, outputs, target=1)
    assert answers.without is not None
    assert answers.without.explained.probability is None
    assert answers.explained.probability is not None
