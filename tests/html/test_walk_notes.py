"""Why score and score change are two numbers."""

from __future__ import annotations

import pytest
import torch

import samp
from samp.html.walk_notes import describe_score_change
from samp.plots.reading import describe_sum


def record(result: samp.Attribution) -> dict[str, object]:
    changes = {name: float(change[0]) for name, change in result.score_change.items()}
    about = {"score": 2.0, "score_is": "logit", "class": "cat", "index": 1, "method": result.method}
    return {**about, "score_change": sum(changes.values()) if changes else None, "score_change_by_direction": changes}


def explained(method: object) -> dict[str, object]:
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 2)).eval()
    return record(samp.explain(net, torch.rand(1, 3, 8, 8), target=1, method=method))


def test_two_walks_are_added_up_and_their_ends_named() -> None:
    given = explained("coupled")
    note = describe_score_change(given, "#7F7F7F")
    changes = given["score_change_by_direction"]
    assert note.startswith("Score 2.000: the logit of cat (1) for the picture. Score change ")
    assert f"{changes['to_image']:.3f} from the blurred picture up to the picture" in note
    assert f"{changes['to_baseline']:.3f} from it down to plain #7F7F7F" in note


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (samp.IG(), "from plain #7F7F7F up to the picture."),
        (samp.IG(baseline="blurred"), "from the blurred picture up to the picture."),
        (samp.IG(baseline=0.5), "from input 0.5 up to the picture."),
        (samp.IG(baseline="uniform"), "from Uniform(low=0.0, high=1.0) up to the picture."),
        (samp.IG(baseline=torch.zeros(1, 3, 8, 8)), "from its baseline up to the picture."),
        (samp.SAMP(direction="to_baseline", baseline=0.0), "from the picture down to plain #7F7F7F."),
    ],
)
def test_one_walk_is_said_to_be_one(method: object, words: str) -> None:
    note = describe_score_change(explained(method), "#7F7F7F")
    assert "one walk, " in note
    assert note.endswith(words)


def test_a_method_that_does_not_walk_has_a_score_alone() -> None:
    note = describe_score_change(explained("gradientxinput"), "#7F7F7F")
    assert note == "Score 2.000: the logit of cat (1) for the picture."


def test_what_biases_absorb_is_no_walk() -> None:
    """LRP has no baseline: its credit is the score less what is lost on the way."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(192, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)
    ).eval()
    x = torch.rand(1, 3, 8, 8)
    result = samp.explain(net, x, target=1, method="lrp")
    score, credit = float(net(x)[0, 1].detach()), float(result.values.sum())
    given = {**record(result), "score": score, "absorbed": result.details["absorbed"][0]}
    assert describe_score_change(given, "#7F7F7F") == (
        f"Score {score:.3f}: the logit of cat (1) for the picture. "
        f"Biases absorb {score - credit:.3f} of it, so that {credit:.3f} is left."
    )
    assert "that biases absorb" in describe_sum(result, 0)
