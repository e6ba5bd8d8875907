"""The path player: what its page holds, and the command that writes it."""

from __future__ import annotations

import base64
import html
import re
import signal
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from markupsafe import escape
from PIL import Image
from torch import nn

import samp
from cli_runs import OnTerminal, demo, screen
from samp.cli.options import MethodOptions
from samp.cli.play import _with_short_steps, play
from samp.html import player
from samp.html.player import film
from samp.html.player.likely import ClassProbabilities
from samp.images import example_photo, read
from samp.methods import names, resolve_method
from samp.plots.answer_rows import region_sentence
from samp.region import region_of
from small_player import EVIL, SIDE, Bumpy, data_of, explain_tiny, image, tiny


def bytes_of(page: str) -> np.ndarray:
    (text,) = re.findall(r'<script type="text/plain" id="film">(.*?)</script>', page)
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)


# ---- what the page holds


def test_frames_are_evenly_spread_points_of_the_walk_with_both_ends() -> None:
    result = explain_tiny(samp.IG(steps=100))
    shown = film.make_film(result, "to_image", tiny(), frames=11)
    tape = result.tapes["to_image"][0]
    assert shown.steps.tolist() == list(range(0, 101, 10))
    assert torch.equal(shown.points, tape.points[::10])
    assert shown.way.tolist() == pytest.approx([i / 10 for i in range(11)], abs=1e-6)


@pytest.mark.parametrize(
    ("method", "straight"),
    [("consensus", True), ("coupled", True), ("samp++", True), ("samp", True), ("ig-both", True), ("blurig", False)],
)
def test_points_are_redrawn_from_their_ends_exactly_where_the_path_allows_it(method: str, straight: bool) -> None:
    result = explain_tiny(method)
    for direction in result.tapes:
        shown = film.make_film(result, direction, tiny(), frames=60)
        assert shown.is_straight == straight
        start, end = (shown.pixels[i].astype(float) for i in (0, -1))
        redrawn = start + shown.fractions[..., None] / shown.levels * (end - start)
        assert (np.abs(redrawn - shown.pixels).max() <= film.TOLERANCE) == straight


def test_pixels_are_those_that_were_fed_to_the_model() -> None:
    levels = np.arange(SIDE * SIDE * 3, dtype=np.uint8).reshape(1, SIDE, SIDE, 3)
    for channels in ("rgb", "bgr"):
        classifier = tiny(channels=channels, mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.4), size=SIDE, margin=None)
        x = classifier.prepare(Image.fromarray(levels[0]))
        assert np.array_equal(film.colours(x, classifier), levels)


def test_the_bytes_of_the_page_are_photo_map_baseline_and_fractions() -> None:
    result = explain_tiny(samp.IG(steps=4))
    raw, size = bytes_of(player.page(result, tiny())), SIDE * SIDE
    shown = film.make_film(result, "to_image", tiny(), frames=60)
    assert len(raw) == 3 * size + size + 3 * size + 5 * size
    photo = raw[: 3 * size].reshape(size, 3).cumsum(0, dtype=np.uint8)  # differences to the pixel before
    assert np.array_equal(photo, shown.pixels[-1].reshape(size, 3))
    fractions = raw[7 * size :].reshape(5, size).cumsum(0, dtype=np.uint8)  # differences to the frame before
    assert fractions[:, 0].tolist() == [0, 64, 128, 191, 255]


def test_scores_and_classes_are_those_of_the_walk() -> None:
    result = explain_tiny()
    data = data_of(player.page(result, tiny()))
    assert [walk["direction"] for walk in data["walks"]] == ["to_image", "to_baseline"]
    for walk in data["walks"]:
        assert walk["curve"] == pytest.approx(result.scores[walk["direction"]][0].tolist(), rel=1e-4)
        points = result.tapes[walk["direction"]][0].points
        chances = Bumpy()(points).detach().double().softmax(1)
        for step, top in zip(walk["steps"], walk["top"], strict=True):
            assert [index for index, _ in top] == chances[step].topk(5).indices.tolist()
            assert [chance for _, chance in top] == pytest.approx(chances[step].topk(5).values.tolist(), abs=1e-4)
    assert data["names"]["2"] == EVIL


def test_outputs_that_are_probabilities_are_left_as_they_are() -> None:
    chances = torch.tensor([[0.2, 0.8], [1.0, 0.0]])
    sigmoids = torch.tensor([[0.9, 0.7]])
    for one in ClassProbabilities.from_outputs([chances, sigmoids]):
        assert one.given
    assert ClassProbabilities.from_outputs([sigmoids])[0].chances.equal(sigmoids)
    logits = torch.tensor([[0.2, 1.7]])
    made = ClassProbabilities.from_outputs([chances, logits])  # what one walk shows holds for the other
    assert [one.given for one in made] == [False, False]
    assert made[1].chances.equal(logits.softmax(1))


@pytest.mark.parametrize(
    ("net", "kind", "top"),
    [
        (Bumpy, "logit", "Top 5 at this point"),
        (lambda: nn.Sequential(Bumpy(), nn.Softmax(1)), "probability", "Top 5 at this point"),
        (lambda: nn.Sequential(Bumpy(), nn.Sigmoid()), "score", "Top 5 at this point"),
        (lambda: nn.Sequential(Bumpy(), nn.Linear(6, 3), nn.Softplus()), "score", "Top 3 at this point"),
        (lambda: nn.Sequential(Bumpy(), nn.Linear(6, 1)), "score", "At this point"),
    ],
)
def test_a_score_is_called_what_it_is_known_to_be(net: Any, kind: str, top: str) -> None:
    model = net().eval()
    result = samp.explain(model, image(), target=0, keep_points=True)
    page = player.page(result, tiny(model, classes=()))
    assert data_of(page)["asked"]["kind"] == kind
    assert f">{top}</h2>" in page


def test_a_single_output_has_no_chances() -> None:
    model = nn.Sequential(Bumpy(), nn.Linear(6, 1)).eval()
    page = player.page(samp.explain(model, image(), target=0, keep_points=True), tiny(model, classes=()))
    for walk in data_of(page)["walks"]:
        assert set(map(len, walk["top"])) == {0}
        assert walk["chance"] is None
    assert "softmax" not in page


def test_a_page_of_one_walk_shows_that_one_alone() -> None:
    page = player.page(explain_tiny(samp.SAMP(direction="to_baseline")), tiny())
    assert [walk["direction"] for walk in data_of(page)["walks"]] == ["to_baseline"]
    assert "summed over both walks" not in page


def test_the_caption_says_how_it_was_made() -> None:
    result = explain_tiny()
    page = html.unescape(player.page(result, tiny(), name="photo.jpg"))
    assert result.method in page  # with its baselines
    assert f"{float(result.residual[0]):.3f}".replace("-", "−") in page
    assert f"<dd>{int(result.gradients[0])}</dd>" in page
    assert "(2)" in page
    assert "(logit, tiny)" in page
    assert "weighted by the fraction of its way that the pixel has gone" in page


def test_a_score_of_the_users_own_needs_no_class() -> None:
    result = samp.explain(Bumpy().eval(), image(), target=lambda output: output[:, 0] - output[:, 1], keep_points=True)
    page = player.page(result, tiny())
    assert "Why this score?" in page
    assert data_of(page)["asked"] == {"index": None, "kind": "score"}


def test_a_margin_names_both_classes_and_has_no_chance() -> None:
    result = samp.explain(Bumpy().eval(), image(), target=samp.Margin(1, 0), keep_points=True)
    page, names = html.unescape(player.page(result, tiny())), [tiny().label(index) for index in (1, 0)]
    assert f"<title>Why {names[0]} rather than {names[1]}?" in page
    assert data_of(page)["asked"] == {"index": 1, "kind": "margin of logits"}
    assert {walk["chance"] for walk in data_of(page)["walks"]} == {None}


def test_labels_and_names_are_escaped() -> None:
    page = player.page(explain_tiny(), tiny(name=EVIL), name=EVIL)
    assert "<script>document" not in page
    assert page.count("<img") == 1  # the photo with the region
    assert page.count("</script>") == 3  # data, film, program
    assert f"<title>Why {escape(EVIL)}? {escape(EVIL)}</title>" in page


def test_60_frames_of_a_224_pixel_photo_stay_below_3_mb() -> None:
    # Random weights scatter each step over the whole image, and short steps leave many pixels half-way.
    classifier = tiny(Bumpy(side=224).eval(), size=224)
    x = classifier.prepare(read(example_photo()))
    result = samp.explain(classifier.net, x, method=samp.SAMPPlusPlus(eta=0.017), keep_points=True)
    page = player.page(result, classifier, name="coffee.jpg")
    assert [len(walk["steps"]) for walk in data_of(page)["walks"]] == [60, 60]
    assert 1_000_000 < len(page.encode()) <= 3_000_000  # the lower bound: that it is as hard as a real one


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: player.page(explain_tiny("gradientxinput"), tiny()), "does not walk"),
        (lambda: player.page(samp.explain(Bumpy().eval(), image()), tiny()), "explain again with keep_points=True"),
        (lambda: player.page(explain_tiny(), tiny(), frames=1), "frames is at least 2"),
        (lambda: player.page(explain_tiny(), tiny(), sample=1), "sample is from 0 to 0, as the result has them, not 1"),
        (lambda: player.page(explain_tiny(), tiny(), sample=-1), "sample is from 0 to 0"),
        (
            lambda: player.page(explain_tiny(), tiny(Bumpy(side=9))),
            r"cannot classify the points .* classifier that was",
        ),
        (
            lambda: player.page(explain_tiny(), tiny(nn.Identity())),
            r"it gives .*: give the classifier that was explained",
        ),
        (lambda: player.page(_grey(), tiny(mean=(0.1, 0.2, 0.3))), "tiny is not fed images of 1 channels"),
        (lambda: player.page(_two_channels(), tiny(mean=0.0)), "1 or 3 channels"),
        (lambda: player.page(_table(), tiny()), "image input"),
        (lambda: player.save("", Path("no/such/folder/x.html")), "no/such/folder"),
    ],
)
def test_what_cannot_be_played_gets_one_sentence(make: Any, sentence: str) -> None:
    with pytest.raises((ValueError, OSError), match=sentence):
        make()


def _two_channels() -> samp.Attribution:
    return samp.explain(Bumpy(2).eval(), image(2), keep_points=True)


def _grey() -> samp.Attribution:
    return samp.explain(Bumpy(1).eval(), image(1), keep_points=True)


def _table() -> samp.Attribution:
    return samp.explain(nn.Linear(4, 2).eval(), torch.rand(1, 4), keep_points=True)


def test_a_page_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken.html").mkdir()
    with pytest.raises(OSError, match="cannot be written"):
        player.save("text", tmp_path / "taken.html")
    assert [path.name for path in tmp_path.iterdir()] == ["taken.html"]


def test_the_page_says_of_which_walk_the_film_is() -> None:
    mean = player.page(explain_tiny("consensus"), tiny())
    assert "A real point of the first of 4 walks, whose mean the map is, as pixels; its gradient was taken with" in mean
    assert "at every step of the walk, to first order in the noise; the dot" in mean
    assert re.search(r"Mean of 4 walks, reproducible at \d+ px", mean)
    one = player.page(explain_tiny(samp.Consensus(walks=1)), tiny())
    assert "A real point of the walk, as pixels; its gradient was taken with a little noise" in one
    exact = player.page(explain_tiny("coupled"), tiny())
    assert "A real point of the walk: what the model was fed there, as pixels." in exact
    assert "at every step of the walk; the dot" in exact
    assert "Mean of" not in exact


# ---- the command


def test_the_methods_that_can_be_played_are_those_with_a_credit() -> None:
    walking = {name for name in names() if hasattr(resolve_method(name), "credit")}
    assert {"consensus", "coupled", "samp++", "samp", "ig", "guidedig", "blurig", "ig2", "spectralig"} <= walking
    for name in walking:
        assert explain_tiny(name).tapes, name
    for name in ("gradientxinput", "smoothgrad", "random"):
        assert name not in walking
        assert not explain_tiny(name).tapes


@demo
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--method", "gradcam"], "gradcam does not walk"),
        (["nowhere.jpg"], "nowhere.jpg is not a file"),
        (["--out", "/dev/null/x.html"], "the folder /dev/null cannot be made"),
        (["--out", "picture.png"], "does not end in .html"),
    ],
)
def test_bad_input_gets_one_sentence(words: list[str], sentence: str) -> None:
    assert sentence in str(CliRunner().invoke(play, words).exception)


@demo
def test_play_writes_one_page(tmp_path: Path) -> None:
    out = tmp_path / "path.html"
    words = ["--steps", "5", "--frames", "5", "--target", "cup", "--walks", "2", "--out", str(out)]
    result = CliRunner().invoke(play, words)
    assert result.exit_code == 0, result.output
    assert "cup (968)" in result.output
    page = out.read_text(encoding="utf-8")
    assert "<title>Why cup? coffee.jpg</title>" in page
    assert "walks=2, steps=5" in page
    assert [len(walk["steps"]) for walk in data_of(page)["walks"]] == [5, 5]
    assert [path.name for path in tmp_path.iterdir()] == ["path.html"]


@pytest.fixture
def deaf_to_ctrl_c() -> Iterator[None]:
    """As a suite is that runs in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_ctrl_c_leaves_nothing(tmp_path: Path, deaf_to_ctrl_c: None) -> None:
    command = OnTerminal("play", "--model", "tiny_nets:slow", "--steps", "2000", cwd=tmp_path)
    command.read_until("coffee.jpg:")  # it is at work
    command.process.send_signal(signal.SIGINT)
    assert command.finish() == 130, command.written
    assert screen(command.written)[-1].startswith("samp: interrupted")
    assert list(tmp_path.iterdir()) == []


def test_ours_take_shorter_steps_unless_told_otherwise() -> None:
    def played(how: MethodOptions) -> Any:
        return _with_short_steps(how).method()

    assert played(MethodOptions()) == samp.Consensus(walks=2, steps=50)
    assert played(MethodOptions(noise=0.1, direction="to_image")) == samp.Consensus(
        walks=2, steps=50, noise=0.1, direction="to_image"
    )
    assert played(MethodOptions(quality="draft")) == samp.Consensus("draft")
    assert played(MethodOptions(walks=3)) == samp.Consensus(walks=3)
    assert played(MethodOptions(steps=30)) == samp.Consensus(steps=30)
    assert played(MethodOptions("coupled")) == samp.Coupled("fine")
    assert played(MethodOptions("coupled", momentum=0.1)) == samp.Coupled("fine", momentum=0.1)
    assert played(MethodOptions("coupled", quality="draft")) == samp.Coupled("draft")
    assert played(MethodOptions("coupled", steps=20)) == samp.Coupled(steps=20)
    assert played(MethodOptions("coupled", eta=0.3)) == samp.Coupled(eta=0.3)
    assert played(MethodOptions("coupled", step=90)) == samp.Coupled(pixels_per_step=90)
    assert played(MethodOptions("samp++")) == samp.SAMPPlusPlus(eta=0.02)
    assert played(MethodOptions("samp++", eta=0.3)) == samp.SAMPPlusPlus(eta=0.3)
    assert played(MethodOptions("samp")) == samp.SAMP()


def test_the_region_is_shown_with_what_the_model_says_of_it() -> None:
    result = explain_tiny()
    page = player.page(result, tiny())
    assert region_sentence(region_of(result)) in page
    assert "The outlined part alone, the rest blurred: " in page
    margin = samp.explain(Bumpy().eval(), image(), target=lambda output: output[:, 0] - output[:, 1], keep_points=True)
    own = player.page(margin, tiny())
    assert region_sentence(region_of(margin)) in own
    assert "The outlined part alone" not in own  # there is no class to ask about
