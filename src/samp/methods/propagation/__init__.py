"""Methods that propagate the score back through the model by rules of their own, one for each kind of operation.

Reading order:

1. `operation_kinds` sorts torch's operations into kinds such as "linear", "add" or "elementwise".
2. `mode` has the base class `Propagation`, a torch function mode that passes each operation of a forward pass to the
   method `on_KIND` for its kind. An operation without a rule raises NotImplementedError.
3. `operation_call` has `Call`, the operation that a rule is given, and `apply_rule`, which gives it a backward rule.
4. The methods are subclasses that define `on_KIND`: `guided_backprop` (the shortest), `lrp`, `attnlrp`, `deeplift`,
   `mwp`. Rules that DeepLIFT and LRP share are in `multipliers`, DeepLIFT's for masks is in `mask_rule`; `composites`
   writes attention and normalisation as the smaller operations that have rules. `attention_maps` has no rules: it
   records attention weights.
5. `forward_backward` runs the two passes in batches and makes the `Attribution`.
6. `tracking` and `hidden_operations` detect operations that bypass the mode (TorchScript, compiled and exported code).

To give LRP a rule for a new operation, add the operation's name to a kind in `operation_kinds`; if no kind fits, add a
kind, refuse it in `Propagation`, and define `on_KIND` in `lrp.Relevance` and in the other methods that have a rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samp.methods.propagation.attnlrp import AttnLRP, LibraGrad
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
    "AttnLRP",
    "ContrastiveMWP",
    "Deconvolution",
    "DeepLIFT",
    "DeepSHAP",
    "GradientXInput",
    "GuidedBackprop",
    "LibraGrad",
]

METHODS: dict[str, Method] = {
    "gradientxinput": GradientXInput(),
    "deeplift": DeepLIFT(),
    "deepshap": DeepSHAP(),
    "lrp": LRP(),
    "attnlrp": AttnLRP(),
    "libragrad": LibraGrad(),
    "mwp": MWP(),
    "cmwp": ContrastiveMWP(),
    "guidedbackprop": GuidedBackprop(),
    "deconvolution": Deconvolution(),
}
