"""`samp explain`: golden numbers of the embedded photos, what is printed, what is written, in every form."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from markupsafe import escape
from PIL import Image, ImageDraw

import samp
from cli_runs import a_photo, answer, assert_refused, demo, explain, tiny
from samp import images
from samp.methods.consensus import QUALITIES
from samp.plots.shading import brightness

BLACK, WHITE = "Colour(name='black', values=(-1.0, -1.0, -1.0))", "Colour(name='white', values=(1.0, 1.0, 1.0))"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# The embedded photos, by the embedded net: golden numbers and what the picture shows.


@demo
def test_without_arguments_the_embedded_photo_is_explained_and_the_credit_sums_up() -> None:
    (facts,) = answer(explain("--json"))
    assert facts["class"] == "espresso"
    assert facts["method"].startswith("Consensus(quality='standard'")
    assert facts["score_change"] == pytest.approx(16.07, abs=0.2)  # as below, and twice
    assert facts["residual"] == pytest.approx(0, abs=1e-4 * facts["score_change"])
    assert (facts["gradients"], facts["forwards"], facts["walks"]) == (112, 3, 4)
    assert 1 <= facts["resolution"] <= 16  # pixels; 8 where this was written


@demo
def test_golden_numbers_of_the_papers_method() -> None:
    result = explain("--method", "samp++")
    assert result.exit_code == 0, result.output
    facts = dict(line.split(":", 1) for line in result.stdout.splitlines())
    assert facts["class"].strip() == "espresso (967)"
    assert abs(int(facts["gradients"]) - 33) <= 2  # a greedy path may take a step more or less on another CPU
    assert float(facts["score"].split()[0]) == pytest.approx(11.137, abs=0.05)  # JPEG decoders differ in the last bit
    # The first pixels that fall otherwise change all that follow: noise of 1e-4 on the input moves it by up to 4 %.
    assert float(facts["residual"].split()[0]) == pytest.approx(-980, rel=0.1)
    picture = Image.open("explanation.png")
    assert picture.width == 1104
    assert np.asarray(picture.convert("L"), dtype=float).std() > 20  # not an empty page
    assert os.listdir() == ["explanation.png"]


# Ellipses (x, y, half width, half height) in what the net is shown: cup and saucer; the cat's eyes and nose.
OBJECTS = {
    "coffee": ((100, 130, 124, 97), (105, 55, 77, 60)),
    "chelsea": ((66, 84, 32, 28), (192, 101, 22, 25), (140, 192, 28, 20)),
}


@demo
@pytest.mark.parametrize("name", OBJECTS)
def test_the_map_is_brighter_on_the_object_than_off_it(name: str) -> None:
    assert explain(images.example_photo(name), "--quality", "draft", "--out", "why.npz").exit_code == 0
    mask = Image.new("1", (224, 224))
    for x, y, a, b in OBJECTS[name]:
        ImageDraw.Draw(mask).ellipse((x - a, y - b, x + a, y + b), fill=1)
    inside, shade = np.asarray(mask), brightness(torch.from_numpy(np.load("why.npz")["map"][0]))
    assert shade[inside].mean() > 1.5 * shade[~inside].mean()


@demo
def test_targets_go_by_name_and_settings_change_the_answer() -> None:
    settings = ["--method", "coupled", "--eta", "0.5", "--step", "10000", "--direction", "to_image"]
    (facts,) = answer(explain("--target", "coffee mug", *settings, "--json"))
    assert (facts["class"], facts["index"]) == ("coffee mug", 504)
    for setting in ("quality='standard'", "eta=0.5", "pixels_per_step=10000", "direction='to_image'"):
        assert setting in facts["method"]
    assert facts["best"][0]["class"] == "espresso"


def test_a_class_is_told_from_another_by_their_margin() -> None:
    photo = images.example_photo()
    (facts,) = answer(tiny(photo, "--target", "dog", "--against", "siamese cat", "--json", "--out", "why.samp"))
    (alone,) = answer(tiny(photo, "--target", "dog", "--json"))
    (other,) = answer(tiny(photo, "--target", "1", "--json"))
    assert (facts["class"], facts["against"]["class"], facts["against"]["index"]) == ("dog", "Siamese cat", 1)
    assert alone["against"] is None
    for key in ("score", "score_change", "credit"):
        assert facts[key] == pytest.approx(alone[key] - other[key], abs=1e-4)
    assert facts["score_is"] == f"margin of {alone['score_is']}s"
    assert samp.Attribution.load("why.samp").details["target"] == {"of": [2], "against": [1]}
    words = tiny(photo, "--target", "dog", "--against", "1", "--out", "why.html").stdout
    assert "dog (2) rather than Siamese cat (1)" in words
    assert "Why dog rather than Siamese cat?" in Path("why.html").read_text(encoding="utf-8")


def test_without_a_target_the_predicted_class_is_told_from_the_other_one() -> None:
    photo = images.example_photo()
    (best,) = answer(tiny(photo, "--json"))
    others = sorted({0, 1, 2, 3, 4} - {best["index"]})
    (facts,) = answer(tiny(photo, "--against", str(others[0]), "--json"))
    assert (facts["index"], facts["against"]["index"]) == (best["index"], others[0])
    refused = tiny(photo, "--against", str(best["index"]))
    assert_refused(refused, f"is a class that tiny sees in {photo.name} and cannot be told from itself")
    assert "--against, or a --target." in refused.output


@pytest.mark.parametrize(
    ("words", "baseline", "zero"),
    [
        ("black", f"{BLACK}, {BLACK}", False),
        ("white", f"{WHITE}, {WHITE}", False),
        ("zero, black", f"Constant(value=0.0), {BLACK}", True),
        ("0.25,white", f"Constant(value=0.25), {WHITE}", False),
        (None, "Constant(value=0.0), Blurred(kernel=11, sigma=5.0)", True),
    ],
)
def test_black_is_black_and_zero_is_called_by_its_colour(words: str | None, baseline: str, zero: bool) -> None:
    given = ["--baseline", words] if words else []
    (facts,) = answer(tiny("--json", *given, "--out", "why.html"))
    assert f"baseline=({baseline})" in facts["method"]
    assert facts["zero"] == "mid-grey #808080"
    said = "; zero is mid-grey #808080 here"
    assert (said in Path("why.html").read_text(encoding="utf-8")) is zero
    assert (said in tiny(*given).stdout) is zero


def test_a_quality_decides_how_finely_the_default_walks_unless_a_setting_says_so() -> None:
    told = [answer(tiny(a_photo(), "--quality", quality, "--json"))[0] for quality in QUALITIES]
    assert [fact["method"].split(",")[0] for fact in told] == [
        f"Consensus(quality='{quality}'" for quality in QUALITIES
    ]
    assert [fact["gradients"] for fact in told] == sorted({fact["gradients"] for fact in told})
    assert [fact["walks"] for fact in told] == [quality.walks for quality in QUALITIES.values()]
    (own,) = answer(tiny(a_photo(), "--quality", "draft", "--walks", "3", "--steps", "9", "--noise", "0.2", "--json"))
    assert "walks=3, steps=9, noise=0.2" in own["method"]
    assert own["gradients"] == 2 * 3 * 10


def test_the_words_say_how_many_walks_were_taken_and_at_what_resolution_they_agree() -> None:
    (facts,) = answer(tiny(a_photo(), "--json"))
    said = f"mean of 4 walks, reproducible at {facts['resolution']} px"
    assert f"map:       {said}\n" in tiny(a_photo()).stdout
    assert tiny(a_photo(), "--out", "why.html").exit_code == 0
    assert said in Path("why.html").read_text(encoding="utf-8")
    (one,) = answer(tiny(a_photo(), "--walks", "1", "--json"))
    assert (one["walks"], one["resolution"]) == (1, None)
    (other,) = answer(tiny(a_photo(), "--method", "coupled", "--json"))
    assert (other["walks"], other["resolution"]) == (None, None)
    assert "map:" not in tiny(a_photo(), "--method", "coupled").stdout


def test_real_weights_from_a_file_are_used(data: Path) -> None:
    weights = data / "models" / "squeezenet1_1_fp16.safetensors"
    photo = data / "photos" / "n02123597_284_Siamese_cat.jpg"
    result = explain(photo, "--model", "squeezenet1_1", "--weights", weights, "--method", "gradcam", "--json")
    assert answer(result)[0]["class"] == "Siamese cat"


# Forms and places.


def test_a_picture_carries_its_numbers() -> None:
    assert tiny(a_photo(), "--out", "why.png").exit_code == 0
    with Image.open("why.png") as picture:
        (facts,) = json.loads(picture.text["samp"])
    assert facts["model"] == "tiny"
    assert facts["photo"] == "photo.png"


def test_the_numbers_hold_the_answer_and_what_the_model_says_of_the_region() -> None:
    (facts,) = answer(tiny(images.example_photo(), "--target", "cup", "--json"))
    best = facts["best"][0]
    assert (facts["answer"]["class"], facts["answer"]["index"]) == (best["class"], best["index"])
    assert facts["class"] == "cup" != best["class"]
    assert 0 < facts["probability"] < facts["answer"]["probability"] < 1
    region = facts["region"]
    assert region["share_of_credit"] == 0.5
    assert 0 < region["share_of_picture"] < 0.5
    for part in ("alone", "without", "blurred"):
        assert region[part]["probability"] >= region[part]["explained_probability"] > 0
    changes = facts["score_change_by_direction"]
    assert facts["score_change"] == pytest.approx(changes["to_image"] + changes["to_baseline"])


def test_the_terminal_says_what_the_model_said_and_what_is_in_the_region() -> None:
    own, other = tiny(images.example_photo()), tiny(images.example_photo(), "--target", "cup")
    (said,), (also,) = (
        [line for line in one.stdout.splitlines() if line.startswith("answer:")] for one in (own, other)
    )
    assert also.startswith(f"{said}; cup, ")
    (region,) = [line for line in own.stdout.splitlines() if line.startswith("region:")]
    assert "50% of the positive credit on " in region
    assert "; it alone: " in region
    assert "; without it: " in region


def test_the_page_asks_why_and_says_that_the_model_said_something_else() -> None:
    best = answer(tiny(images.example_photo(), "--out", "own.html", "--json"))[0]["class"]
    assert tiny(images.example_photo(), "--target", "cup", "--out", "other.html").exit_code == 0
    own, other = (Path(name).read_text(encoding="utf-8") for name in ("own.html", "other.html"))
    assert f"<h2>Why {best}?</h2>" in own
    assert f'<p class="answer">tiny says {best}, ' in own
    assert "<h2>Why cup?</h2>" in other
    assert re.search(rf"answer is another: tiny says {best}, \d+%; cup, \d+%\.", other)
    assert "both directions added up, " in own


def test_a_map_without_positive_credit_has_no_region() -> None:
    Image.new("RGB", (20, 20), "black").save("black.png")
    # black is 0 for this net, and so is its credit
    words = ["--mean", "0", "--std", "1", "--method", "gradientxinput"]
    (facts,) = answer(tiny("black.png", *words, "--out", "why.html", "--json"))
    assert facts["region"] == {
        "share_of_credit": 0.5,
        "share_of_picture": 0.0,
        "sigma": 0.4,
        "alone": None,
        "without": None,
        "blurred": None,
    }
    assert "No region: no credit is positive." in Path("why.html").read_text(encoding="utf-8")
    assert "region:    none: no credit is positive" in tiny("black.png", *words).stdout


def test_signed_pictures_show_credit_against_the_class() -> None:
    for words in ([], ["--signed"]):
        assert tiny(images.example_photo(), *words, "--out", f"why{len(words)}.html").exit_code == 0
    assert ["blue against" in Path(f"why{number}.html").read_text(encoding="utf-8") for number in (0, 1)] == [
        False,
        True,
    ]


def test_the_best_classes_stand_one_above_the_other() -> None:
    one, three = tiny(a_photo(), "--out", "one.png"), tiny(a_photo(), "--top", "3", "--out", "three.png", "--json")
    assert one.exit_code == three.exit_code == 0
    sheets = Image.open("three.png")
    width, height = Image.open("one.png").size
    assert sheets.width == width
    assert abs(sheets.height - 3 * height) < height / 4  # captions may have a line more or less
    for top in (0, height, 2 * height):  # there is something to see on each
        assert len(sheets.crop((0, top, width, top + height)).getcolors(2**24)) > 50
    told = answer(three)
    assert [fact["index"] for fact in told] == [best["index"] for best in told[0]["best"][:3]]
    assert len({fact["score"] for fact in told}) == 3
    assert len({fact["credit"] for fact in told}) == 3


def test_the_whole_result_can_be_loaded_again() -> None:
    assert tiny(a_photo(), "--out", "why.samp", "--top", "2").exit_code == 0
    result = samp.Attribution.load("why.samp")
    assert result.map.shape == (2, 16, 16)
    assert [fact["class"] for fact in result.details["facts"]] == [
        ("cup", "Siamese cat", "dog", "crane", "crane")[index] for index in result.details["target"]
    ]


@pytest.mark.parametrize(("words", "kind"), [("superpixels:9", samp.Superpixels(9)), ("patches:4", samp.Patches(4))])
def test_features_may_be_superpixels_or_patches(words: str, kind: samp.Superpixels | samp.Patches) -> None:
    if isinstance(kind, samp.Superpixels):
        pytest.importorskip("skimage")
    done = tiny(images.example_photo(), "--groups", words, "--method", "ig", "--out", "why.samp")
    assert done.exit_code == 0
    assert f" on {kind!r}" in " ".join(done.stdout.split())
    result = samp.Attribution.load("why.samp")
    assert result.details["groups"] == repr(kind)
    assert result.map.unique().numel() <= result.group_values.numel() <= 16


def test_arrays_are_what_explain_returns() -> None:
    (facts,) = answer(tiny(images.example_photo(), "--format", "npz", "--out", "why.npz", "--method", "ig", "--json"))
    arrays = np.load("why.npz")
    assert arrays["values"].shape == (1, 3, 16, 16)
    assert arrays["values"].sum() == pytest.approx(facts["credit"], rel=1e-4)
    assert arrays["map"].sum() == pytest.approx(facts["credit"], rel=1e-4)
    assert arrays["scores_to_image"][0, -1] == pytest.approx(facts["score"], rel=1e-5)
    assert json.loads(str(arrays["facts"]))[0]["index"] == facts["index"]


def test_arrays_of_several_classes_are_in_the_order_of_their_numbers() -> None:
    words = ["--format", "npz", "--out", "why.npz", "--method", "ig", "--json", "--top", "3"]
    told, arrays = answer(tiny(images.example_photo(), *words)), np.load("why.npz")
    credit = [facts["credit"] for facts in told]
    assert len(set(credit)) == 3
    assert arrays["map"].sum((1, 2)) == pytest.approx(credit, rel=1e-4)
    assert arrays["values"].sum((1, 2, 3)) == pytest.approx(credit, rel=1e-4)


def test_the_page_is_escaped_and_needs_no_network() -> None:
    name = "<script>alert('x')</script> & co.png".replace("/", "∕")
    (Path() / "names.txt").write_text("<b>cup</b>\n<i>cat</i>\ndog\n</script>\ncrane\n")
    result = tiny(a_photo(name), "--classes", "names.txt", "--top", "5", "--out", "why.html")
    assert result.exit_code == 0, result.output
    page = Path("why.html").read_text(encoding="utf-8")
    assert str(escape(name)) in page
    for raw in (name, "<b>cup</b>", "<i>cat</i>", "http:", "https:", "<link"):
        assert raw not in page
    assert page.count("<script") == page.count("</script>") == 1  # the numbers, which are not run
    facts = json.loads(page.split('id="facts">')[1].split("</script>")[0])
    assert {fact["class"] for fact in facts} == {"<b>cup</b>", "<i>cat</i>", "dog", "</script>", "crane"}
    assert page.count("data:image/jpeg;base64,") == 5  # photos
    assert page.count("data:image/png;base64,") == 5 * 3  # map, region and curves


def test_a_method_that_does_not_walk_has_no_curves_and_no_residual() -> None:
    result = tiny(a_photo(), "--method", "gradientxinput", "--out", "why.png", "--json")
    assert answer(result)[0]["residual"] is None
    assert tiny(a_photo(), "--method", "gradientxinput", "--out", "why.html").exit_code == 0
    assert "along the walks" not in Path("why.html").read_text(encoding="utf-8")
    assert tiny(a_photo(), "--out", "walked.html").exit_code == 0
    assert "along the walks" in Path("walked.html").read_text(encoding="utf-8")


def test_the_form_follows_the_name() -> None:
    assert tiny(a_photo(), "--out", "why.HTML").exit_code == 0
    assert Path("why.HTML").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert_refused(tiny(a_photo(), "--out", "why.html", "--format", "png"), "--out why.html does not end in .png")


# What the photo is like must not matter: the map lies where the colour is.


@pytest.mark.parametrize("mode", ["RGB", "CMYK", "P", "RGBA", "L", "I;16", "1"])
def test_photos_of_every_mode_are_explained(mode: str) -> None:
    grey = images.read(images.example_photo()).convert("L")
    if mode == "I;16":
        photo = Image.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    else:
        photo = grey.convert("RGB").convert(mode)
    photo.save("photo.tif")
    (facts,) = answer(tiny("photo.tif", "--json"))
    grey.save("grey.png")
    (same,) = answer(tiny("grey.png", "--json"))
    assert facts["score"] == pytest.approx(same["score"], rel=0.05 if mode in ("1", "P") else 0.01)


@pytest.mark.parametrize("size", [(1, 1), (2000, 3)])
def test_photos_of_odd_shapes_are_explained(size: tuple[int, int]) -> None:
    Image.new("RGB", size, "white").save("odd.png")
    assert tiny("odd.png").exit_code == 0
