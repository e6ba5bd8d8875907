"""The examples run, and what they print is true."""

import importlib.util
import io
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path

import pytest
import torch

import samp

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("detection", "image_classifier", "segmentation", "tabular_columns", "text_tokens", "two_inputs")


@cache
def example(name):
    """The example's module; skipped where a package that it needs is missing."""
    needed = {"image_classifier": "efficientnet_lite_pytorch", "tabular_columns": "sklearn", "two_inputs": "sklearn"}
    if name in needed:
        extra = "demo" if name == "image_classifier" else "compare"
        pytest.importorskip(needed[name], reason=f"{name}.py needs: pip install 'samp[{extra}]'")
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def run(name):
    """What the example's `main` returns and what it prints; run once for all tests."""
    with redirect_stdout(io.StringIO()) as printed:
        found = example(name).main()
    return found, printed.getvalue()


def outcome(name):
    return run(name)[0]


def assert_accounts_for_the_score_change(result, tolerance):
    values = result.values if isinstance(result.values, tuple) else (result.values,)
    credit = sum(v.double().flatten(1).sum(1) for v in values)
    change = sum(change.double() for change in result.score_change.values())
    torch.testing.assert_close(credit + result.residual, change, atol=tolerance, rtol=0)


def test_every_example_is_tested():
    assert sorted(path.stem for path in EXAMPLES.glob("*.py")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_prints_a_table_and_says_how_to_run_it(name):
    assert f"python examples/{name}.py" in example(name).__doc__
    assert len(run(name)[1].splitlines()) >= 5


def test_tabular_credit_and_residual_make_up_the_score_change():
    found = outcome("tabular_columns")
    assert found["accuracy"] > 0.93
    assert_accounts_for_the_score_change(found["by_column"], 1e-4)  # float32 sums of 30 columns, scores about 10
    for result in found["by_measurement"].values():
        assert_accounts_for_the_score_change(result, 1e-4)
    assert found["by_measurement"]["SAMP++, exact"].residual.abs() < 1e-4
    assert found["by_measurement"]["IG"].residual.abs() < 0.01  # order 1/steps² of a change of about 10


def test_tabular_credit_of_a_measurement_is_that_of_its_three_columns():
    for result in outcome("tabular_columns")["by_measurement"].values():
        torch.testing.assert_close(result.group_values, result.values.view(1, 3, 10).sum(1))


def test_a_column_without_effect_gets_nothing():
    module = example("tabular_columns")
    table, malignant, _ = module.patients()
    model = module.train(table, malignant)
    seeing = samp.explain(model, table[:20]).values
    with torch.no_grad():
        model[1].weight[:, 7] = 0
    blind = samp.explain(model, table[:20]).values
    assert (seeing[:, 7] != 0).all()
    assert (blind[:, 7] == 0).all()
    assert (blind[:, 6] != 0).all()


def test_the_word_that_carries_the_sentiment_leads():
    found = outcome("text_tokens")
    assert found["accuracy"] == 1
    assert found["leading"] == [word for _, word in example("text_tokens").NEW.values()]
    assert_accounts_for_the_score_change(found["result"], 1e-4)


def test_padding_gets_no_credit():
    found = outcome("text_tokens")
    padding = found["tokens"] == 0
    assert padding.any()
    assert (found["result"].group_values[padding] == 0).all()
    assert (found["result"].group_values[~padding] != 0).all()


def test_segmentation_credit_lies_near_the_shape_that_is_asked_for():
    found = outcome("segmentation")
    assert found["accuracy"] > 0.95
    for shape in ("disc", "square"):
        assert (found["shares"][f"credit near the {shape}"] > 0.75).all()
        assert (found["shares"][f"area near the {shape}"] < 0.5).all()
    assert_accounts_for_the_score_change(found["pixel"], 1e-3)  # scores of about 10, credits of hundreds of pixels


def test_detection_credit_lies_near_the_object_of_the_box():
    found = outcome("detection")
    assert found["right"] > 0.95
    for shape in ("disc", "square"):
        assert (found["shares"][f"credit near the {shape}"] > 0.7).all()
        assert (found["shares"][f"area near the {shape}"] < 0.25).all()
        assert_accounts_for_the_score_change(found["results"][shape], 1e-5)


def test_a_detector_is_explained_alike_through_three_kinds_of_output():
    module, found = example("detection"), outcome("detection")
    model, images, boxes = found["model"], found["images"], found["corners"][:, module.DISC]

    def ask(forward, box, **output):
        target = samp.targets.Detection(box, module.DISC, **output)
        return samp.explain(forward, images, target=target, method="ig").values

    yolo = ask(model, boxes, output=module.FORMAT)
    detr = ask(lambda x: module.as_detr(model, x), boxes / module.SIDE, output=samp.targets.DETRBoxes("sigmoid"))
    kept = ask(lambda x: module.as_torchvision(model, x), boxes)
    torch.testing.assert_close(detr, yolo, rtol=0, atol=1e-6 * float(yolo.abs().max()))
    # where the disc scores below the threshold there is no candidate, and no gradient
    torch.testing.assert_close(kept, yolo, rtol=0, atol=0.02 * float(yolo.abs().max()))


def test_both_inputs_together_earn_the_score_change():
    found = outcome("two_inputs")
    assert found["accuracy"] > 0.6
    for result in found["results"].values():
        assert (result.residual.abs() < 1e-4).all()
        assert_accounts_for_the_score_change(result, 1e-4)


def test_a_true_hint_helps_a_false_one_does_not_and_none_gets_nothing():
    hint = {name: result.values[1].sum(1) for name, result in outcome("two_inputs")["results"].items()}
    assert hint["a true hint"].mean() > 1
    assert hint["a false hint"].mean() < 0
    assert (hint["no hint"] == 0).all()


def test_pixels_with_the_most_credit_matter_more_than_those_with_the_least():
    found = outcome("image_classifier")
    assert len(found["names"]) == 3
    for name, result in found["results"].items():
        assert found["scores"][name]["most"] < found["scores"][name]["least"] - 0.5
        assert_accounts_for_the_score_change(result, 0.01)  # float32 sums of 50,176 pixels, credits of up to 1,000
