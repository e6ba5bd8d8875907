"""The list of methods: each lies where it says, with the settings it says; names that people type are understood."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest

import samp
from laws import images, net
from samp import methods
from samp.cli.options import SETTINGS
from samp.methods.registry import ALIASES, METHODS, RELATIVES, format_aliases, method_name, simplify


def test_every_module_holds_the_methods_that_the_list_says() -> None:
    listed: dict[str, list[str]] = {}
    for name, entry in METHODS.items():
        listed.setdefault(entry.module, []).append(name)
    for module, names in listed.items():
        assert list(import_module(f"samp.methods.{module}").METHODS) == names


def test_settings_of_the_command_line_are_fields_of_the_method() -> None:
    for name, entry in METHODS.items():
        own = {field.name for field in fields(methods.resolve_method(name))}  # type: ignore[arg-type]  # every method is a dataclass
        assert set(entry.settings) == own & set(SETTINGS.values()), name


def test_other_spellings_stand_for_one_method_each() -> None:
    spelled = [*map(simplify, METHODS), *ALIASES, *RELATIVES]
    assert len(spelled) == len(set(spelled))
    assert all(other == simplify(other) for other in (*ALIASES, *RELATIVES))
    assert set(ALIASES.values()) <= set(METHODS)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("integrated_gradients", "ig"),
        ("IntegratedGradients", "ig"),
        ("saliency", "saliency"),
        ("gradient", "gradient"),
        ("smooth_grad", "smoothgrad"),
        ("Grad-CAM", "gradcam"),
        ("Grad-CAM++", "gradcam++"),
        ("guided_backprop", "guidedbackprop"),
        ("input_x_gradient", "gradientxinput"),
        ("deep_lift", "deeplift"),
        ("DeepLiftShap", "deepshap"),
        ("feature_ablation", "ablation"),
        ("ShapleyValueSampling", "shapley"),
        ("IG_blurred", "ig-blurred"),
        ("SAMP++", "samp++"),
        ("IDGI", "idgi"),
    ],
)
def test_common_names_are_understood(typed: str, name: str) -> None:
    assert method_name(typed) == name
    assert methods.resolve_method(typed) == methods.resolve_method(name)


def test_an_other_name_explains_as_the_known_one() -> None:
    model, x = net(0), images(0, 2, 12)
    one, other = (samp.explain(model, x, method=name) for name in ("Input X Gradient", "gradientxinput"))
    assert one.values.equal(other.values)
    assert one.method == other.method


def test_what_is_not_here_is_not_replaced_by_a_relative() -> None:
    with pytest.raises(ValueError, match=r"unknown method 'kernel_shap': KernelSHAP is not here; 'shapley' samples"):
        methods.resolve_method("kernel_shap")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("integrated_gradiens", "ig"),
        ("integratd", "ig"),  # the beginning of an alias, with a slip
        ("excitaton", "mwp"),
        ("gradientxinptu", "gradientxinput"),
        ("smothgrad", "smoothgrad"),
        ("lim", "lime"),
    ],
)
def test_a_slip_in_a_name_or_an_alias_leads_to_the_method(typed: str, meant: str) -> None:
    with pytest.raises(ValueError, match=rf"unknown method '{typed}': did you mean '{meant}'\?"):
        methods.resolve_method(typed)


def test_a_name_like_no_other_gets_no_suggestion() -> None:
    with pytest.raises(ValueError, match="unknown method 'gibberish': the known ones are consensus, coupled"):
        methods.resolve_method("gibberish")


def test_names_are_known_without_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\nfrom samp.methods.registry import *; print(method_name('Grad-CAM'))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "gradcam\n"


def test_the_docs_list_the_other_names() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "methods.md").read_text(encoding="utf-8")
    assert format_aliases() in docs
