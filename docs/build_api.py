"""Writes docs/api.md from the docstrings: `python docs/build_api.py`.

One section per topic, in reading order, and in it one entry per public name: how it is called, its docstring with the
examples as code, its fields and methods. Nothing on the page depends on the machine or the version of Python.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

PAGE = Path(__file__).with_name("api.md")
HEAD = """# API

Written from the docstrings by `python docs/build_api.py`: edit those, not this page.

The examples assume `import torch, samp` and `from torch import nn`; in a section on a module, its own names as well."""
# Title, the module whose docstring opens the section ("" for none), and its names.
SECTIONS: tuple[tuple[str, str, str], ...] = (
    ("Explain", "", "samp.explain samp.Attribution samp.compare samp.Compared samp.run"),
    ("Methods", "samp.methods", "samp.Coupled samp.SAMP samp.SAMPPlusPlus samp.IG samp.methods.names"),
    ("Groups", "samp.groups", "samp.Pixels samp.Elements samp.Patches"),
    ("Further arguments of the model", "samp.engine.forward_args", "samp.PerSample samp.ForAll"),
    ("Baselines", "samp.baselines", "Constant Uniform GaussianNoise Blurred"),
    ("Credit", "samp.credit", "momentum left right trapezoid Shared"),
    ("Models", "samp.models", "load Classifier"),
    ("Data sets", "samp_lab.datasets", "open_dataset arrays Images Entry"),
    (
        "Metrics",
        "samp.metrics",
        "deletion_insertion Curves Protocol RISEBlur RemainingMean ChannelMeans NoisyLinear transfer sensitivity_n "
        "SensitivityN completeness_check CompletenessCheck completeness_correlation mu_fidelity MuFidelity grid "
        "infidelity Infidelity Hidden Noise completeness completeness_of Completeness concentration Concentration "
        "variance gini top_share",
    ),
    (
        "Metrics that know where the object is",
        "samp.annotations.boxes",
        "samp.metrics.pointing_game samp.metrics.PointingGame samp.metrics.is_difficult samp.metrics.join_games "
        "samp.metrics.segmentation samp.metrics.Segmentation samp.metrics.localisation samp.metrics.Localisation "
        "samp.metrics.OfMaximum samp.metrics.TopPixels samp.metrics.Otsu samp.metrics.Box samp.metrics.Annotation "
        "samp.metrics.crop_boxes samp.metrics.read_voc samp.metrics.read_yolo samp.metrics.read_coco",
    ),
    (
        "Comparing methods",
        "samp.metrics.statistics",
        "samp.metrics.summarise samp.metrics.Summary samp.metrics.compare_pairs samp.metrics.Comparison samp.metrics.table "
        "samp.metrics.holm samp.metrics.Bootstrap samp.metrics.Running samp.metrics.RunningGame samp.metrics.Moments "
        "samp.metrics.Correlation",
    ),
    (
        "Figures",
        "samp.plots",
        "grey_map signed_map overlay score_curves film_strip method_grid measured_curves metric_curves "
        "Grey Signed Glow",
    ),
    ("Path player", "samp.player", "page save"),
    ("For Captum's users", "samp.captum", "Coupled SAMP SAMPPlusPlus"),
    ("For Quantus' users", "samp.quantus", "explain"),
    ("Records and errors", "", "samp.Tape samp.NonFiniteError"),
)
ALIASES = (
    "problem.Inputs",
    "objectives.Target",
    "groups.Groups",
    "batches.BatchSize",
    "credit.Credit",
    "metrics.maps.Maps",
    "metrics.truth.Truth",
    "metrics.truth.Labels",
    "plots.reading.CreditMap",
    "plots.reading.Photo",
    "plots.film.Scale",
)


def page() -> str:
    """The whole page as Markdown."""
    parts = [HEAD]
    for title, module, names in contents():
        parts.append(f"## {title}")
        if module:
            parts.append(f"`{module}`: {prose(resolve_name(module).__doc__)}")
        parts += [part for name in names for part in entry(name, named(name))]
    parts.append("## Types in the signatures\n\n```python\n" + "\n".join(map(alias, ALIASES)) + "\n```")
    return "\n\n".join(parts) + "\n"


def contents() -> Iterator[tuple[str, str, list[str]]]:
    """Title, module and dotted names of each section."""
    for title, module, names in SECTIONS:
        yield title, module, [name if name.startswith("samp.") else f"{module}.{name}" for name in names.split()]


def named(name: str) -> Any:
    """What stands under a dotted name; of a function and its module of the same name, the function."""
    return resolve_name(":".join(name.rsplit(".", 1)))


def entry(name: str, thing: Any) -> Iterator[str]:
    """A heading, the call (for a dataclass these are its fields), the docstring, then what the class offers."""
    is_class = isinstance(thing, type)
    yield f"### {name}\n\n```python\n{'class ' * is_class}{name}{call(inspect.signature(thing))}\n```"
    yield prose(thing.__doc__)
    if is_dataclass(thing) and (notes := field_notes(thing)):
        yield "\n".join(f"- `{field}`: {note}" for field, note in notes.items())
    for member, value in vars(thing).items() if is_class else ():
        function = getattr(value, "__func__", getattr(value, "fget", value))
        if not member.startswith("_") and inspect.isfunction(function):
            arguments = "" if isinstance(value, property) else call(inspect.signature(function))
            yield f"```python\n.{member}{arguments}\n```\n\n{prose(function.__doc__)}".rstrip()


def call(signature: inspect.Signature) -> str:
    """The arguments with their types as written in the source; one a line where they are many."""
    shown, star = [], False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not star:
            shown, star = [*shown, "*"], True
        if p.name not in ("self", "cls"):
            mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
            default = "" if p.default is p.empty else f" = {p.default!r}".replace("<factory>", "{}")
            shown.append(f"{mark}{p.name}: {p.annotation}{default}")
    inside = ", ".join(shown) if len(", ".join(shown)) < 90 else "\n    " + ",\n    ".join(shown) + ",\n"
    returns = signature.return_annotation
    return f"({inside})" + ("" if returns in (signature.empty, None, "None") else f" -> {returns}")


def field_notes(cls: type) -> dict[str, str]:
    """What the source says of a field: the string below it, or else the comment behind it."""
    source = inspect.getsource(cls)
    body, lines, notes = ast.parse(source).body[0].body, source.splitlines(), {}
    for node, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign):
            comment = lines[node.lineno - 1].partition("  # ")[2]
            string = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else ""
            notes[ast.unparse(node.target)] = " ".join((string or comment).split())
    return {field: note for field, note in notes.items() if note}


def prose(docstring: str | None) -> str:
    """A docstring as Markdown: its examples become blocks of code."""
    lines, inside = [], False
    for line in inspect.cleandoc(docstring or "").splitlines():
        if line.startswith(">>>") and not inside:
            lines, inside = [*lines, "```python"], True
        elif not line and inside:
            lines, inside = [*lines, "```"], False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)


def alias(name: str) -> str:
    """`Name = its definition`, as the source has it."""
    module, _, wanted = name.rpartition(".")
    lines = inspect.getsource(resolve_name(f"samp.{module}")).splitlines()
    return next(line for line in lines if line.startswith(f"{wanted} = "))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
