"""An unknown name is answered with the closest known one first."""

from __future__ import annotations

from typing import Any

import pytest

import samp
from laws import images, net
from samp.lookup import look_up


def explained(method: Any) -> Any:
    return lambda: samp.explain(net(0), images(0, 1, 12), method=method)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (explained("smap"), "unknown method 'smap': did you mean 'samp'? The known ones are samp, consensus, coupled,"),
        (explained("SAMP++x"), "did you mean 'samp++'? The known ones are samp++, consensus, coupled, samp,"),
        (lambda: samp.SAMP(credit="rigth"), "unknown credit 'rigth': did you mean 'right'? The known ones are right,"),
        (lambda: samp.SAMP(direction="to_imge"), "did you mean 'to_image'? The known ones are to_image, both"),
        (lambda: samp.IG(direction="sideways"), "'sideways': the known ones are both, to_baseline, to_image."),
        (lambda: samp.IG(direction=None), "unknown direction None"),
        (explained(samp.SAMP(baseline="blured")), "did you mean 'blurred'? The known ones are blurred, zero"),
    ],
)
def test_unknown_names_are_answered_with_the_closest_first(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match="unknown") as caught:
        make()
    assert sentence in str(caught.value)


def test_a_name_far_from_all_others_gets_the_whole_list() -> None:
    with pytest.raises(ValueError, match=r"^unknown side 'xyz': the known ones are left, right\.$"):
        look_up("xyz", {"left": 1, "right": 2}, "side")


def test_what_the_package_does_not_have_is_an_attribute_error() -> None:
    assert not hasattr(samp, "explian")
    assert "explain" in dir(samp)
    assert samp.baselines.black(images(0, 1, 2)).tolist() == [[0, 0]]


def test_class_activation_maps_are_reached_like_other_methods() -> None:
    from samp.methods import cam

    assert (samp.CAM, samp.GradCAM) == (cam.CAM, cam.GradCAM)
