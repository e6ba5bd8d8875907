"""A comparison before the panel: the maps of all its rows, given to every judge (`samp.metrics.panel`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from torch import Tensor

from samp.explain import explain
from samp.methods import Method
from samp.metrics import protocols
from samp.metrics.explain_maps import ExplainMaps
from samp.metrics.judge import Judge
from samp.metrics.panel import as_judge, panel
from samp.metrics.panel_result import Panel
from samp.metrics.single_deletion import PATCHES
from samp.targets import Model

if TYPE_CHECKING:
    from samp.compare import Row, Task

Judges = Literal["panel"] | Sequence[str | Judge] | None


def judge_rows(task: Task, rows: Sequence[Row], methods: Mapping[str, Method], judges: Judges = "panel") -> Panel:
    """Return what the judges say of the rows' maps; "panel" stands for all judges that need no truth and no other net.

    Raises ValueError for inputs that are no images.
    """
    if not isinstance(task.inputs, Tensor):
        raise ValueError("a panel judges maps of one b c h w image input: compare without judges.")
    return panel(
        task.model,
        task.inputs,
        {row.name: row.attribution for row in rows},
        task.target,
        explain_maps={row.name: _explain_again(task, methods[row.name]) for row in rows},
        judges=None if judges == "panel" else judges,
        **vars(task.settings),
    )


def check_judges(judges: object) -> None:
    """Raise TypeError or ValueError unless these are judges, before any work.

    >>> check_judges("all")
    Traceback (most recent call last):
    TypeError: judges is 'panel' or a list of judges such as ['road', 'sds'], not 'all'.
    """
    if judges is None or judges == "panel":
        return
    if not isinstance(judges, list | tuple):
        raise TypeError(f"judges is 'panel' or a list of judges such as ['road', 'sds'], not {judges!r}.")
    for judge in judges:
        as_judge(judge)


def expected_forwards(task: Task, methods: int) -> int:
    """Return how many forwards of one image the judges of curves and patches take, for this many methods."""
    if not isinstance(task.inputs, Tensor):
        return 0
    pixels = task.inputs[0, 0].numel()
    chosen = [protocols.get_protocol(name, [task.inputs.shape]) for name in (None, "rise", "diffid", "road")]
    points = [len(one.counts(pixels)) for one in chosen]
    return methods * 2 * (sum(points) + points[2]) + PATCHES**2 + 1  # DiffID twice: with and without the sign


def _explain_again(task: Task, method: Method) -> ExplainMaps:
    """Return a function that makes new maps by this method, with the comparison's features and further arguments."""

    def explain_again(model: Model, images: Tensor, target: Tensor, seed: int) -> Tensor:
        settings = {**vars(task.settings), "seed": seed, "progress": False}
        return explain(model, images, target=target, method=method, groups=task.groups, **settings).map

    return explain_again
