"""Methods that go back through the model by rules of their own: each operation is given its backward rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samp.methods.propagation.deeplift import DeepLIFT, DeepSHAP
from samp.methods.propagation.guided_backprop import Deconvolution, GradientXInput, GuidedBackprop
from samp.methods.propagation.lrp import LRP
from samp.methods.propagation.mwp import MWP, ContrastiveMWP

if TYPE_CHECKING:
    from samp.methods._common import Method

__all__ = [
    "LRP",
    "METHODS",
    "MWP",
    "ContrastiveMWP",
    "Deconvolution",
    "DeepLIFT",
    "DeepSHAP",
    "GradientXInput",
    "GuidedBackprop",
]

METHODS: dict[str, Method] = {
    "gradientxinput": GradientXInput(),
    "deeplift": DeepLIFT(),
    "deepshap": DeepSHAP(),
    "lrp": LRP(),
    "mwp": MWP(),
    "cmwp": ContrastiveMWP(),
    "guidedbackprop": GuidedBackprop(),
    "deconvolution": Deconvolution(),
}
