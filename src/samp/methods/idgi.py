"""IDGI: Integrated Gradients whose credit leaves out what moves across the gradient (Yang et al., CVPR 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from samp.engine.credit import Credit
from samp.methods._common import MethodInfo
from samp.methods.ig import IG


@dataclass(frozen=True)
class IDGI(IG):
    """IG with the credit `idgi`: each step's change of the score, shared by the squared gradient before the step.

    The same as `samp.IG(credit="idgi")`; other path methods take this credit too. Settings are those of `IG`.

    >>> import samp, torch
    >>> net, x = torch.nn.Linear(3, 1).eval(), torch.rand(1, 3)
    >>> result = samp.explain(net, x, method=IDGI(steps=4))
    >>> torch.equal(result.values, samp.explain(net, x, method=samp.IG(4, credit="idgi")).values)
    True
    """

    about: ClassVar[MethodInfo] = MethodInfo(
        paper="Yang et al., IDGI, CVPR 2023",
        cost="steps + 1 gradients a direction",
        complete="exactly, but for steps that start without any gradient",
    )

    credit: str | Credit = "idgi"


METHODS = {"idgi": IDGI()}
