"""The paper's figures as experiments: they run, draw what may be shown, and say what they claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

from samp_lab.experiment import Experiment, FigureContext
from samp_lab.figures.baselines import BASELINES
from samp_lab.figures.confidence import CONFIDENCE
from samp_lab.figures.counting import COLUMNS, COUNTING
from samp_lab.figures.curves import CURVES
from samp_lab.figures.eta import ETA
from samp_lab.figures.fine_grained import FINE_GRAINED
from samp_lab.figures.gallery import GALLERY
from samp_lab.figures.map_grid import draw_grid, map_grid
from samp_lab.figures.momentum import MOMENTUM
from samp_lab.figures.mosaics import MOSAICS
from samp_lab.figures.pages import Tile, curve_page, layout_panels, mean_band
from samp_lab.figures.png import small_png
from samp_lab.figures.setup_figure import figure_stem
from samp_lab.figures.shapley import SHAPLEY
from samp_lab.figures.verification import VERIFICATION
from samp_lab.figures.walk_page import WalkPictures
from samp_lab.measurements.base import name_of
from samp_lab.measurements.method_maps import MethodCurves, MethodMaps
from samp_lab.measurements.paper_figures import Confidence, CountingCredit
from samp_lab.runner import Outcome, run_measurements
from samp_lab.sections import Grid, Picture
from samp_lab.setups import parse_setup
from samp_lab.store import Results, Store
from samp_lab.tables.table1 import TABLE1
from samp_lab.workspace import ExperimentOptions, Workspace

FIGURES: tuple[Experiment, ...] = (
    CURVES,
    VERIFICATION,
    GALLERY,
    BASELINES,
    ETA,
    COUNTING,
    CONFIDENCE,
    SHAPLEY,
    MOSAICS,
    FINE_GRAINED,
    MOMENTUM,
)
DIGITS = "digits/mnist-slim"
TWO_MAPS = map_grid("maps", "Maps", {"IG": "ig", "SAMP": "samp"}, (DIGITS,), "two methods.")


Make = Callable[[Experiment, str], FigureContext]


@pytest.fixture(scope="module")
def sheet_of(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """A figure's cells measured on two images of a setup, once for all tests."""
    made: dict[tuple[str, str], FigureContext] = {}

    def make(figure: Experiment, on: str) -> FigureContext:
        if (figure.name, on) not in made:
            options, folder = ExperimentOptions(limit=2), tmp_path_factory.mktemp(figure.name)
            outcome = run_measurements(
                figure.measurements([parse_setup(on)]), options, Store(folder), "samp bench test", say=lambda _: None
            )
            assert not outcome.failed
            made[figure.name, on] = FigureContext(
                outcome, Store(folder), Workspace(options), [parse_setup(on)], folder / "figures"
            )
        return made[figure.name, on]

    return make


def shown(figure: Experiment, context: FigureContext) -> list[str]:
    section = figure.section(context.results, context.setups, context.figures)
    return [block.file for block in section.blocks if isinstance(block, Picture)]


@pytest.mark.parametrize(
    ("figure", "on"),
    [
        (CURVES, DIGITS),
        (VERIFICATION, DIGITS),
        (TWO_MAPS, DIGITS),
        (COUNTING, "counting"),
        (CONFIDENCE, DIGITS),
        (MOSAICS, "digit-mosaic"),
        (FINE_GRAINED, DIGITS),
    ],
    ids=lambda given: given if isinstance(given, str) else given.name,
)
def test_every_figure_is_drawn_small_enough_and_named_in_its_section(
    figure: Experiment, on: str, sheet_of: Make
) -> None:
    context = sheet_of(figure, on)
    figure.draw(context)
    assert shown(figure, context) == [f"{figure_stem(figure.name, parse_setup(on))}.png"]
    file = context.figures / shown(figure, context)[0]
    with Image.open(file) as image:
        assert image.width <= 1600
        assert len(image.convert("L").getcolors() or []) > 10  # not an empty page
    assert file.stat().st_size < 400_000


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_without_results_a_figure_claims_nothing(figure: Experiment, tmp_path: Path) -> None:
    section = figure.section(Results({}, {}), [parse_setup(name) for name in figure.setups], tmp_path)
    assert not section.verdicts
    assert not [block for block in section.blocks if isinstance(block, Picture | Grid)]


def test_names_are_unique_and_beds_are_known() -> None:
    assert len({figure.name for figure in FIGURES}) == len(FIGURES)
    for figure in FIGURES:
        assert figure.measurements([parse_setup(name) for name in figure.setups])


def test_the_curves_are_of_the_cells_of_table_1() -> None:
    chosen = [parse_setup("mnist")]
    assert {name_of(cell) for cell in CURVES.measurements(chosen)} <= {
        name_of(cell) for cell in TABLE1.measurements(chosen)
    }


def test_pictures_that_must_not_be_published_are_left_out(sheet_of: Make) -> None:
    context = replace(sheet_of(TWO_MAPS, DIGITS), workspace=Workspace(ExperimentOptions(limit=2)))
    TWO_MAPS.draw(context)
    file = context.figures / shown(TWO_MAPS, context)[0]
    with Image.open(file) as image:
        free = image.width
    count = len(context.workspace.images("digits", 4))
    context.workspace._images["digits", count] = replace(context.workspace.images("digits", 4), free=False)
    TWO_MAPS.draw(context)
    with Image.open(file) as image:
        assert image.width < free
    TWO_MAPS.draw(replace(context, show=True))
    with Image.open(file) as image:
        assert image.width == free


def test_an_unreadable_image_does_not_shift_the_pictures_of_the_others(sheet_of: Make) -> None:
    context = replace(sheet_of(TWO_MAPS, DIGITS), workspace=Workspace(ExperimentOptions(limit=3)))
    images = context.workspace.images("digits", 3)
    broken = replace(images[1], read=lambda: images[1].picture().crop((0, 0, 0, 0)).resize((-1, 1)))
    context.workspace._images["digits", 3] = replace(images, entries=(images[0], broken, images[2]))
    maps = {"ones": np.ones((2, 28, 28))}
    draw_grid(context, parse_setup(DIGITS), "two-of-three", maps, 3)
    assert [entry.id for entry in context.workspace.prepare_images(parse_setup(DIGITS), 3).entries] == [
        images[0].id,
        images[2].id,
    ]
    assert (context.figures / "two-of-three.png").is_file()


def test_a_method_that_failed_is_left_out_of_the_figure(sheet_of: Make) -> None:
    context = sheet_of(TWO_MAPS, DIGITS)
    lost = name_of(MethodMaps(parse_setup(DIGITS), "ig", 4))
    left = {name: done for name, done in context.outcome.done.items() if name != lost}
    TWO_MAPS.draw(replace(context, outcome=Outcome(context.results, left)))
    assert shown(TWO_MAPS, context)
    assert not replace(context, outcome=Outcome(context.results, left)).has(MethodMaps(parse_setup(DIGITS), "ig", 4))


def test_counting_holds_from_black_and_fails_from_the_blurred_image(sheet_of: Make) -> None:
    context = sheet_of(COUNTING, "counting")
    states = {v.claim: v.state for v in COUNTING.section(context.results, context.setups, context.figures).verdicts}
    assert states["SAMP, B+B: consistent credit"] == states["SAMP++, B+B: consistent credit"] == "holds"
    assert states["SAMP, B+G: consistent credit"] == "fails"  # inside a blue area the blurred image is blue already
    inside = context.results.numbers(CountingCredit(parse_setup("counting"), COLUMNS["SAMP, B+G"]), "spread")
    assert min(inside) > 0.05


def test_curves_in_the_store_have_the_areas_that_were_measured(sheet_of: Make) -> None:
    context = sheet_of(CURVES, DIGITS)
    cell = MethodCurves(parse_setup(DIGITS), "ig")
    for column in ("deletion", "insertion"):
        areas = context.arrays(cell)[column].mean(1).tolist()
        assert areas == pytest.approx(context.results.numbers(cell, column), rel=1e-5)


def test_bands_hold_the_mean_and_leave_out_what_could_not_be_normalised() -> None:
    curves = torch.rand(20, 6, generator=torch.Generator().manual_seed(0))
    low, high = mean_band(curves)
    mean = curves.mean(0).numpy()
    assert (low < mean).all()
    assert (mean < high).all()
    spoilt = torch.cat([curves, torch.full((1, 6), torch.nan)])
    np.testing.assert_array_equal(mean_band(spoilt)[0], low)


def test_both_axes_of_the_curves_have_one_scale_that_holds_all_bands() -> None:
    shares = torch.linspace(0, 1, 5).expand(3, 5)
    wild = {"deletion": torch.randn(3, 5) * 5, "insertion": torch.randn(3, 5), "shares": shares}
    figure = curve_page({"IG": wild}, "mnist")
    left, right = (axes.get_ylim() for axes in figure.axes)
    low, high = mean_band(wild["deletion"])
    assert left == right
    assert left[0] <= low.min() <= high.max() <= left[1]


def test_tiles_do_not_overlap_and_keep_to_their_room() -> None:
    tile = Tile(np.ones((4, 4)), "a long heading that has to be folded", "beside")
    panels = layout_panels([[tile] * 7, [], [tile, None, tile]], 7.76)
    assert max(p.left + p.width for p in panels) <= 7.76 + 1e-9
    for one in panels:
        for other in panels:
            apart = (
                one.left + one.width <= other.left + 1e-9
                or other.left + other.width <= one.left + 1e-9
                or one.top + one.height <= other.top + 1e-9
                or other.top + other.height <= one.top + 1e-9
            )
            assert one is other or apart


def test_points_of_a_walk_show_what_has_arrived() -> None:
    arrival, photo = np.array([[0.0, 0.5], [0.75, 1.0]]), np.full((2, 2, 1), 9, np.uint8)
    walk = WalkPictures(np.ones((2, 2)), arrival, np.zeros(101), photo, np.array([1], np.uint8))
    point = walk.point(0.5)
    assert point is not None
    assert point[..., 0].tolist() == [[9, 9], [1, 1]]
    assert walk.credit_at(0.75).tolist() == [[1, 1], [1, 0]]
    assert not walk.credit_at(0.0).any()


def test_noisy_figures_shrink_until_they_are_small_enough() -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (120, 120, 3), dtype=np.uint8))
    assert len(small_png(noise, 7_000)) <= 7_000 < len(small_png(noise, 10**9))
    with Image.open(BytesIO(small_png(Image.new("RGB", (300, 200), "red"), 7_000))) as plain:
        assert plain.size == (300, 200)


def momentum_results(best: float, noise: float) -> Results:
    """Twenty images on which Insertion falls off around the best λ, where images differ by this noise."""
    cells = {}
    for value, cell in zip(MOMENTUM.values, MOMENTUM.measurements([parse_setup("imagenet")]), strict=True):
        insertion = 1 - abs(value - best) + noise * (value == best) * np.linspace(-1, 1, 20)
        numbers = {"deletion": [0.1] * 20, "insertion": insertion.tolist(), "gradients": [9] * 20, "forwards": [0] * 20}
        cells[name_of(cell)] = {"numbers": numbers}
    return Results(cells, {})


@pytest.mark.parametrize(
    ("best", "noise", "text", "authors"),
    [(0.4, 0.1, "holds", "fails"), (0.8, 0.1, "fails", "holds"), (0.9, 3.0, "open", "open")],
)
def test_the_best_momentum_is_the_papers_near_it_and_fails_where_another_is_surely_better(
    best: float, noise: float, text: str, authors: str, tmp_path: Path
) -> None:
    section = MOMENTUM.section(momentum_results(best, noise), [parse_setup("imagenet")], tmp_path)
    assert {verdict.reading: verdict.state for verdict in section.verdicts} == {"text": text, "authors": authors}
    assert {verdict.part for verdict in section.verdicts} == {"best-lambda"}
    assert "0.7" in section.verdicts[-1].claim


def test_the_momentum_figure_is_drawn_from_numbers_alone(tmp_path: Path) -> None:
    results = momentum_results(0.3, 0.1)
    context = FigureContext(
        Outcome(results),
        Store(tmp_path),
        Workspace(ExperimentOptions()),
        [parse_setup("imagenet")],
        tmp_path / "figures",
    )
    MOMENTUM.draw(context)
    assert shown(MOMENTUM, context) == ["momentum.png"]


def test_confidence_groups_are_the_most_and_the_least_certain_quarter(tmp_path: Path) -> None:
    sure = np.linspace(0.1, 0.9, 80)
    numbers = {"confidence": sure.tolist(), "gini": (0.5 + 0.1 * sure).tolist(), "scatter": [1.0] * 80}
    chosen = parse_setup("imagenet")
    found = Results({name_of(Confidence(chosen)): {"numbers": numbers}}, {})
    concentrated, scattered = CONFIDENCE.section(found, [chosen], tmp_path).verdicts
    assert (concentrated.state, scattered.state) == ("holds", "open")
    expected = 0.1 * (sure[-20:].mean() - sure[:20].mean())
    assert concentrated.ours.startswith(f"+{expected:.3f}")
    assert "20 most against the 20 least" in concentrated.ours


def test_mosaics_of_real_digits_put_credit_on_the_digit(data: Path, tmp_path: Path) -> None:
    options, store, chosen = (
        ExperimentOptions(data=data, limit=4),
        Store(tmp_path),
        [parse_setup("mosaic/mnist-slim-56")],
    )
    outcome = run_measurements(MOSAICS.measurements(chosen), options, store, "samp bench test", say=lambda _: None)
    inside, ink = (outcome.results.numbers(MOSAICS.measurements(chosen)[0], column) for column in ("inside", "ink"))
    assert np.mean(inside) > np.mean(ink) + 0.1
