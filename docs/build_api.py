"""Write docs/api.md from the docstrings: `python docs/build_api.py`.

One section per topic, and in it one entry per public name: its signature, its docstring with the examples as code, its
fields and methods. Nothing on the page depends on the machine or the version of Python.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

PAGE = Path(__file__).with_name("api.md")
SOURCES = PAGE.parents[1] / "src" / "samp"
HEAD = """# API

Written from the docstrings by `python docs/build_api.py`: edit those, not this page.

The examples assume `import torch, samp` and `from torch import nn`; in a section on a module, its own names as well.
`samp_lab` is the second package of this repository (`pip install samp-lab`)."""
# Title, the module whose docstring opens the section ("" for none), and its names.
SECTIONS: tuple[tuple[str, str, str], ...] = (
    (
        "Explain",
        "",
        "samp.explain samp.explain_gradually samp.WalkStep samp.Attribution samp.compare samp.Compared samp.run",
    ),
    (
        "Methods",
        "samp.methods",
        "samp.Consensus samp.Coupled samp.SAMP samp.SAMPPlusPlus samp.IG samp.CAM samp.GradCAM samp.methods.names",
    ),
    (
        "Targets",
        "samp.targets",
        "Class samp.Margin Segmentation Detection TorchvisionBoxes DETRBoxes YOLOBoxes overlap Similarity Regression "
        "Token",
    ),
    ("Groups", "samp.groups", "samp.Pixels samp.Elements samp.Patches samp.Superpixels"),
    ("Further arguments of the model", "samp.engine.forward_args", "samp.PerSample samp.ForAll"),
    ("Baselines", "samp.baselines", "Constant Colour Uniform GaussianNoise Blurred"),
    ("Credit", "samp.credit", "momentum left right trapezoid Shared"),
    (
        "Texts",
        "samp.text",
        "explain TextAttribution TextAttributions Similarity Encoded deletion_insertion load",
    ),
    ("Models", "samp.models", "load Classifier"),
    ("Photos", "samp.images", "example_photo find read"),
    ("Data sets", "samp_lab.datasets", "open_dataset arrays Images Entry"),
    (
        "Metrics",
        "samp.metrics",
        "deletion_insertion Curves Protocol RISEBlur RemainingMean ChannelMeans NoisyLinear transfer sensitivity_n "
        "SensitivityN completeness_check CompletenessCheck completeness_correlation mu_fidelity MuFidelity grid "
        "infidelity Infidelity Hidden Noise completeness completeness_of Completeness concentration Concentration "
        "variance gini top_share sds SingleDeletion",
    ),
    (
        "Metrics that know where the object is",
        "samp.annotations",
        "samp.metrics.pointing_game samp.metrics.PointingGame samp.metrics.is_difficult samp.metrics.join_games "
        "samp.metrics.segmentation samp.metrics.Segmentation samp.metrics.localisation samp.metrics.Localisation "
        "samp.metrics.energy samp.metrics.Energy samp.metrics.auroc samp.metrics.precision "
        "samp.metrics.OfMaximum samp.metrics.TopPixels samp.metrics.Otsu samp.metrics.Box samp.metrics.Annotation "
        "samp.metrics.crop_boxes samp.metrics.read_voc samp.metrics.read_yolo samp.metrics.read_coco",
    ),
    (
        "Metrics that explain again",
        "samp.metrics.explain_maps",
        "samp.metrics.explain_maps_by samp.metrics.stability samp.metrics.seed_stability samp.metrics.Stability "
        "samp.metrics.map_agreement samp.metrics.MapAgreement samp.metrics.make_grids samp.metrics.Grids "
        "samp.metrics.grid_pointing samp.metrics.difull samp.metrics.GridPointing samp.metrics.SeparateCells "
        "samp.metrics.randomisation samp.metrics.Randomisation samp.metrics.complexity_rise "
        "samp.metrics.ComplexityRise samp.metrics.random_logit samp.metrics.RandomLogit",
    ),
    (
        "Comparing methods",
        "samp.metrics.statistics",
        "samp.metrics.summarise samp.metrics.Summary samp.metrics.compare_pairs samp.metrics.Comparison "
        "samp.metrics.table samp.metrics.holm samp.metrics.Bootstrap samp.metrics.Running samp.metrics.RunningGame "
        "samp.metrics.Moments samp.metrics.Correlation",
    ),
    (
        "The panel",
        "samp.metrics.judges",
        "samp.metrics.panel samp.metrics.Panel samp.metrics.MeanRank samp.metrics.join_panels samp.metrics.Judge "
        "samp.metrics.Criterion samp.metrics.PanelTask",
    ),
    (
        "Figures",
        "samp.plots",
        "draw_result outline grey_map signed_map overlay score_curves film_strip method_grid measured_curves "
        "metric_curves Outline Grey Signed Glow",
    ),
    ("Regions", "samp.region", "region_of find_region region_mask Region smooth_credit"),
    ("Path player", "samp.player", "page save widget PlayerFrame"),
    ("For Captum's users", "samp.captum", "Consensus Coupled SAMP SAMPPlusPlus"),
    ("For Quantus' users", "samp.quantus", "explain"),
    ("Models of other frameworks", "samp.callables", "ValueAndGradient OutputAndVJP CallModelFunction"),
    ("Records and errors", "", "samp.Tape samp.NonFiniteError"),
)
ALIASES = "Inputs Target Groups BatchSize Credit Maps Truth Labels CreditMap Photo Scale"


def page() -> str:
    """Return the whole page as Markdown."""
    return "\n\n".join([HEAD, *(section(*one) for one in contents()), types()]) + "\n"


def section(title: str, module: str, names: list[str]) -> str:
    """Return a section: what the module is for, and an entry for each name."""
    parts = [f"## {title}"]
    if module:
        parts.append(f"`{module}`: {prose(resolve_name(module).__doc__)}")
    return "\n\n".join([*parts, *(part for name in names for part in entry(name, resolve(name)))])


def types() -> str:
    """Return the section on the types that signatures name."""
    return "## Types in the signatures\n\n```python\n" + "\n".join(map(alias, ALIASES.split())) + "\n```"


def pages() -> dict[str, str]:
    """Return the site's pages by name: one for each section, and `index` with all names."""
    found, rows = {}, []
    for title, module, names in contents():
        links = ", ".join(f"[`{name}`](api.md#{slug(name)})" for name in names)
        rows.append(f"| [{title}](api.md#{slug(title)}) | {links} |")
        found[slug(title)] = promote(section(title, module, names))
    table = "\n".join(["| | |", "|---|---|", *rows])
    return {"index": f"{HEAD}\n\n{table}\n\n{types()}\n", **found}


def anchors() -> dict[str, str]:
    """Return the site's page for each anchor of the one page docs/api.md."""
    return {slug(name): slug(title) for title, _, names in contents() for name in [title, *names]}


def promote(text: str) -> str:
    """Return a section as a page of its own: headings one level up, those in code as they are."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(re.sub(r"^##", "#", part, flags=re.MULTILINE) for part in parts) + "\n"


def slug(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def contents() -> Iterator[tuple[str, str, list[str]]]:
    """Yield title, module and dotted names of each section."""
    for title, module, names in SECTIONS:
        yield (
            title,
            module,
            [name if name.startswith(("samp.", "samp_lab.")) else f"{module}.{name}" for name in names.split()],
        )


def resolve(name: str) -> Any:
    """Return the object of this dotted name; where a function and its module share the name, the function."""
    module, _, attribute = name.rpartition(".")
    return getattr(resolve_name(module), attribute)


def entry(name: str, thing: Any) -> Iterator[str]:
    """Yield a heading with the signature (for a dataclass: its fields), the docstring, then the members of a class."""
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
    """Return the arguments with their types as written in the source; one per line where they are many."""
    arguments, star = [], False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not star:
            arguments, star = [*arguments, "*"], True
        if p.name not in ("self", "cls"):
            mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
            default = "" if p.default is p.empty else f" = {p.default!r}".replace("<factory>", "{}")
            arguments.append(f"{mark}{p.name}: {p.annotation}{default}")
    one_line = ", ".join(arguments)
    inside = one_line if len(one_line) < 90 else "\n    " + ",\n    ".join(arguments) + ",\n"
    returns = signature.return_annotation
    return f"({inside})" + ("" if returns in (signature.empty, None, "None") else f" -> {returns}")


def field_notes(cls: type) -> dict[str, str]:
    """Return the note on each field of a dataclass: the string below it, or else the comment behind it."""
    source = inspect.getsource(cls)
    body, lines, notes = ast.parse(source).body[0].body, source.splitlines(), {}
    for node, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign):
            comment = lines[node.lineno - 1].partition("  # ")[2]
            string = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else ""
            notes[ast.unparse(node.target)] = " ".join((string or comment).split())
    return {field: note for field, note in notes.items() if note}


def prose(docstring: str | None) -> str:
    """Return a docstring as Markdown: its examples become blocks of code."""
    lines, inside = [], False
    for line in inspect.cleandoc(docstring or "").splitlines():
        if line.startswith(">>>") and not inside:
            lines, inside = [*lines, "```python"], True
        elif not line and inside:
            lines, inside = [*lines, "```"], False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)


def alias(name: str) -> str:
    """Return `name = its definition`, from the one module of samp that defines it."""
    definition = re.compile(rf"^{name} = .*$", re.MULTILINE)
    sources = (path.read_text(encoding="utf-8") for path in sorted(SOURCES.rglob("*.py")))
    (found,) = (line for source in sources for line in definition.findall(source))
    return found


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
