"""The model's answers in rows and sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest

from samp.models.answers import Answers, Guess, Reply
from samp.plots.answer_rows import answer_rows, answer_sentence, evidence_sentence, part_sentences, region_rows

VIOLIN, CELLO, DRUM = Guess("violin", 0, 5.0, 0.61), Guess("cello", 1, 4.0, 0.22), Guess("drum", 2, 1.0, 0.05)
FLUTE = Guess("flute", 3, -1.0, 0.002)
LOST = Reply(replace(DRUM, probability=0.4), replace(CELLO, probability=0.01))
ASKED = Answers((VIOLIN, CELLO, DRUM), CELLO, Reply(CELLO, CELLO), LOST, LOST)


def test_the_explained_class_is_marked_among_the_best() -> None:
    assert [(row.label, row.text, row.explained) for row in answer_rows(ASKED)] == [
        ("violin", "61%", False),
        ("cello", "22%", True),
        ("drum", "5%", False),
    ]


def test_a_class_that_is_not_among_the_best_stands_below_them() -> None:
    rows = answer_rows(replace(ASKED, explained=FLUTE))
    assert [(row.label, row.explained) for row in rows[2:]] == [("drum", False), ("flute", True)]


def test_parts_are_compared_by_the_explained_class_and_say_what_else_the_model_answers() -> None:
    assert [(row.label, row.probability, row.remark) for row in region_rows(ASKED)] == [
        ("the whole picture", 0.22, ""),
        ("the outlined part alone", 0.22, ""),
        ("all but the outlined part", 0.01, "drum, 40%"),
        ("everything blurred", 0.01, "drum, 40%"),
    ]
    assert region_rows(replace(ASKED, alone=None, without=None, blurred=None)) == []


def test_an_answer_that_is_not_the_explained_class_is_said_first() -> None:
    assert answer_sentence(ASKED, "Net") == "The model's answer is another: Net says violin, 61%; cello, 22%."
    assert answer_sentence(replace(ASKED, explained=VIOLIN), "Net") == "Net says violin, 61%."


def test_sentences_on_the_parts_name_both_classes_where_they_differ() -> None:
    assert part_sentences(ASKED) == (
        "The outlined part alone, the rest blurred: cello, 22%.",
        "Without it: drum, 40% (cello, 1%).",
    )


def test_a_net_without_probabilities_has_scores() -> None:
    only = Guess("this", 0, 3.25, None)
    (row,) = answer_rows(Answers((only,), only, None, None, None))
    assert (row.text, row.probability) == ("score 3.250", None)


def test_classes_of_the_same_name_are_not_taken_for_each_other() -> None:
    bird, machine = Guess("crane", 134, 5.0, 0.6), Guess("crane", 517, 4.0, 0.3)
    answers = Answers((bird, machine), machine, Reply(bird, machine), Reply(machine, machine), Reply(bird, machine))
    assert [row.explained for row in answer_rows(answers)] == [False, True]
    assert [bool(row.remark) for row in region_rows(answers)] == [False, True, False, True]
    assert answer_sentence(answers, "Net") == "The model's answer is another: Net says crane, 60%; crane, 30%."


@pytest.mark.parametrize(
    ("alone", "without", "blurred", "words"),
    [
        (0.5, 0.5, 0.1, "Either part is enough: the evidence is spread over the picture."),
        (0.1, 0.5, 0.24, "The rest is enough: the evidence is spread over the picture."),
        (0.1, 0.1, 0.1, "Neither part is enough alone."),
        (0.5, 0.1, 0.1, ""),
        (0.4, 0.39, 0.1, ""),
        (0.39, 0.4, 0.1, "The rest is enough: the evidence is spread over the picture."),
        (0.1, 0.5, 0.25, "All blurred, it is still 25%: blur hides too little to tell."),
        (0.5, 0.1, 0.4, "All blurred, it is still 40%: blur hides too little to tell."),
    ],
)
def test_the_answers_to_the_parts_are_read_for_the_viewer(
    alone: float, without: float, blurred: float, words: str
) -> None:
    def guess(probability: float | None) -> Guess:
        return Guess("cat", 0, 1.0, probability)

    replies = [Reply(guess(share), guess(share)) for share in (alone, without, blurred)]
    answers = Answers((guess(0.5),), guess(0.5), *replies)
    assert evidence_sentence(answers) == words
    assert part_sentences(answers)[1].endswith(words or "%.")
    without_numbers = Answers((guess(None),), guess(None), *replies)
    assert evidence_sentence(without_numbers) == ""
