"""Figures of walks and of comparisons, and the page they share: what is in them and that nothing overlaps."""

from __future__ import annotations

import importlib
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import torch

import samp
from samp.plots.curves import WALK_LABELS

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra viz")
from matplotlib.figure import Figure  # noqa: E402  # only where matplotlib is

import figures  # noqa: E402  # only where matplotlib is
from figures import axes_pixels, caption, pixels  # noqa: E402  # as above
from samp import plots  # noqa: E402  # as above
from samp.plots.deletion_insertion import area  # noqa: E402  # as above

pytestmark = pytest.mark.filterwarnings("error")  # a figure that warns is a figure that failed
SIGNED = plots.Signed()


@pytest.fixture
def result() -> samp.Attribution:
    return figures.make_walk_result()


# Walks


def test_score_curves_are_the_scores_of_both_walks(result: samp.Attribution) -> None:
    axes = plots.score_curves(result, sample=1).axes[0]
    for direction, scores in result.scores.items():
        steps = int(result.steps[direction][1])
        assert any(np.array_equal(line.get_ydata(), scores[1, : steps + 1].double()) for line in axes.lines)
    labels = [text.get_text().split(",")[0] for text in axes.get_legend().get_texts()]
    assert labels == list(WALK_LABELS.values())


def test_methods_that_do_not_walk_have_no_curves(result: samp.Attribution) -> None:
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2)).eval()
    still = samp.explain(net, torch.rand(1, 3, 2, 2), method="random")
    for draw in (plots.score_curves, plots.film_strip):
        with pytest.raises(ValueError, match="walks no path and so has no score curve"):
            draw(still)
    with pytest.raises(TypeError, match="not of Tensor"):
        plots.score_curves(result.map)  # type: ignore[arg-type]  # the mistake that is tested
    with pytest.raises(IndexError, match="there is no sample 5: the result has 2"):
        plots.score_curves(result, sample=5)


def test_a_film_runs_from_start_to_end_and_credit_grows_to_the_whole_map(result: samp.Attribution) -> None:
    figure = plots.film_strip(result, frames=4, sample=1, mean=0.0, std=1.0)
    points = [axes.images[0].get_array() for axes in figure.axes[:-1:2]]
    credit = [axes.images[0].get_array() for axes in figure.axes[1:-1:2]]
    tape = result.tapes["to_image"][1].points
    assert isinstance(tape, torch.Tensor)
    assert np.allclose(points[0], tape[0].permute(1, 2, 0).clip(0, 1))
    assert np.allclose(points[-1], tape[-1].permute(1, 2, 0).clip(0, 1))
    assert not credit[0].any()
    assert np.allclose(credit[-1], result.map[1], atol=1e-6)
    amounts = [abs(c).sum() for c in credit]
    assert amounts == sorted(amounts)
    assert len({axes.images[0].get_clim() for axes in figure.axes[1:-1:2]}) == 1  # one scale for all


def test_credit_so_far_is_that_of_the_pixels_that_arrived(result: samp.Attribution) -> None:
    figure = plots.film_strip(result, frames=3, direction="to_baseline")
    middle = figure.axes[3].images[0].get_array()
    step = round(figure.axes[-1].lines[1].get_xdata()[1] * int(result.steps["to_baseline"][0]))
    arrived = (result.order["to_baseline"][0] <= step).view(6, 9)
    assert np.allclose(middle, result.map[0] * arrived)


def test_credit_so_far_is_in_proportion_for_pixels_on_their_way() -> None:
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2)).eval()
    straight = samp.explain(net, torch.rand(1, 3, 2, 2), method=samp.IG(steps=4), keep_points=True)
    quarters = [axes.images[0].get_array() for axes in plots.film_strip(straight).axes[1:-1:2]]
    for quarter, credit in enumerate(quarters):
        assert np.allclose(credit, quarter / 4 * straight.map[0], atol=1e-6)


def test_the_dots_on_the_films_curve_are_its_frames(result: samp.Attribution) -> None:
    figure = plots.film_strip(result, frames=4)
    line, dots = figure.axes[-1].lines
    assert len(dots.get_xdata()) == 4
    assert set(dots.get_ydata()) <= set(line.get_ydata())
    assert [axes.get_title().split("\n")[0] for axes in figure.axes[:-1:2]] == [f"{x:.0%}" for x in dots.get_xdata()]


def test_a_film_says_which_walk_it_shows_and_what_was_done(result: samp.Attribution) -> None:
    said = caption(plots.film_strip(result, direction="to_baseline"))
    assert "The walk to the baseline." in said
    assert "(of both walks together)" in said
    assert "Points stretched from" in said


def test_films_that_cannot_be_shown_are_refused(result: samp.Attribution) -> None:
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2)).eval()
    x = torch.rand(1, 3, 2, 2)
    with pytest.raises(ValueError, match="explain again with keep_points=True"):
        plots.film_strip(samp.explain(net, x))
    one_way = samp.explain(net, x, method="ig", keep_points=True)
    with pytest.raises(ValueError, match="unknown direction of this result 'to_baseline'"):
        plots.film_strip(one_way, direction="to_baseline")
    with pytest.raises(ValueError, match="at least 2 frames"):
        plots.film_strip(result, frames=1)
    with pytest.raises(ValueError, match="of one b c h w image input"):
        plots.film_strip(samp.explain(torch.nn.Linear(4, 2).eval(), torch.rand(1, 4), keep_points=True))
    with pytest.raises(IndexError, match="there is no sample 2"):
        plots.film_strip(result, sample=2)


def test_a_walk_that_never_had_to_move_is_still_drawn() -> None:
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2)).eval()
    still = samp.explain(net, torch.zeros(1, 3, 2, 2), method=samp.SAMP(baseline=0.0), keep_points=True)
    assert pixels(plots.film_strip(still)).std() > 0
    assert pixels(plots.score_curves(still)).std() > 0


# Comparisons


def test_a_grid_has_a_row_per_photo_and_a_column_per_method(result: samp.Attribution) -> None:
    photo = np.random.default_rng(0).random((6, 9, 3))
    figure = plots.method_grid([photo, 1 - photo], {"ours": result, "a map": result.map}, labels=["one", "two"])
    assert len(figure.axes) == 6
    assert [axes.get_title() for axes in figure.axes[:3]] == ["photo", "ours", "a map"]
    assert [axes.get_ylabel() for axes in figure.axes[::3]] == ["one", "two"]
    assert np.allclose(figure.axes[5].images[0].get_array(), result.map[1])
    assert f"ours: {result.method}; residual up to" in caption(figure)
    assert "Each map has a scale of its own: white from its 99th percentile up" in caption(figure)


@pytest.mark.parametrize(("shade", "images"), [(plots.Grey(), 1), (plots.Signed(), 1), (plots.Glow(), 2)])
def test_a_grid_draws_in_the_shade_asked_for(result: samp.Attribution, shade: plots.Shade, images: int) -> None:
    figure = plots.method_grid(torch.rand(2, 3, 6, 9), {"ours": result}, shade=shade)
    assert len(figure.axes[1].images) == images
    assert shade.rule() in caption(figure)


def test_a_small_signed_map_shows_mean_credit_and_not_a_mix_of_its_colours() -> None:
    stripes = np.tile([1.0, -1.0], (600, 300))  # as fine as print cannot show: credit cancels
    picture = axes_pixels(
        plots.method_grid([np.zeros((600, 600, 3))], {str(i): stripes for i in range(9)}, shade=SIGNED), 3
    )
    assert picture.mean() > 0.9


def test_grids_that_do_not_fit_are_refused(result: samp.Attribution) -> None:
    photo = np.zeros((6, 9, 3))
    with pytest.raises(ValueError, match="'ours' has maps of 2 samples but there are 1 photos"):
        plots.method_grid([photo], {"ours": result})
    with pytest.raises(ValueError, match="there are 1 labels but 2 photos"):
        plots.method_grid([photo] * 2, {"ours": result}, labels=["one"])
    with pytest.raises(ValueError, match="a grid needs photos and results"):
        plots.method_grid([], {})


def test_many_methods_with_long_names_do_not_overlap(result: samp.Attribution) -> None:
    figure = plots.method_grid(torch.rand(2, 3, 6, 9), {f"a rather long name {i}": result.map for i in range(14)})
    figure.draw_without_rendering()
    boxes = [axes.title.get_window_extent() for axes in figure.axes[:15]]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_measured_curves_show_the_protocols_own_areas_and_shares() -> None:
    net, x = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 5)).eval(), torch.rand(3, 3, 4, 4)
    maps = torch.rand(3, 4, 4)
    for name in ("rise", "diffid", samp.metrics.Protocol(step=5)):
        curves = samp.metrics.deletion_insertion(net, x, maps, 0, name)
        figure = plots.measured_curves({"m": curves})
        down, up = figure.axes
        assert down.get_legend().get_texts()[0].get_text() == f"{float(curves.deletion.mean()):.3f}  m"
        assert np.asarray(up.lines[0].get_xdata()).tolist() == pytest.approx(curves.shares.tolist())
        assert np.asarray(up.lines[0].get_ydata()).tolist() == pytest.approx(curves.insertion_curve.mean(0).tolist())
        one = plots.measured_curves({"m": curves}, sample=1)
        assert one.axes[1].get_legend().get_texts()[0].get_text() == f"{float(curves.insertion[1]):.3f}  m"


def test_measured_curves_leave_out_what_could_not_be_normalised_and_do_not_mix_protocols() -> None:
    net = torch.nn.Linear(2, 1, bias=False).eval()
    net.weight.data[:] = 1
    normalised = samp.metrics.Protocol(normalise="image")
    some = samp.metrics.deletion_insertion(net, torch.tensor([[1.0, 1], [-1, -1]]), torch.ones(2, 2), 0, normalised)
    figure = plots.measured_curves({"m": some})
    assert np.asarray(figure.axes[0].lines[0].get_ydata()).tolist() == [1.0, 0.5, 0.0]
    none = samp.metrics.deletion_insertion(net, -torch.ones(1, 2), torch.ones(1, 2), 0, normalised)
    with pytest.raises(ValueError, match="normalise=None"):
        plots.measured_curves({"m": none})
    other = samp.metrics.deletion_insertion(net, torch.ones(1, 2), torch.ones(1, 2), 0, samp.metrics.Protocol())
    with pytest.raises(ValueError, match="different protocols"):
        plots.measured_curves({"a": some, "b": other})
    with pytest.raises(ValueError, match="no curve"):
        plots.measured_curves({})


def test_areas_are_trapezoids_best_first_in_the_legend() -> None:
    good, bad = np.array([1.0, 0.2, 0.1, 0.0]), np.array([1.0, 0.9, 0.4, 0.0])
    figure = plots.metric_curves({"bad": bad, "good": torch.from_numpy(good)}, {"bad": [0.0, 0.5], "good": [0.0, 1.0]})
    deletion, insertion = ([t.get_text() for t in axes.get_legend().get_texts()] for axes in figure.axes)
    expected = {name: np.trapezoid(curve, dx=1 / 3) for name, curve in (("good", good), ("bad", bad))}
    assert deletion == [f"{expected['good']:.3f}  good", f"{expected['bad']:.3f}  bad"]
    assert insertion == ["0.500  good", "0.250  bad"]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    assert area(np.array([3.0])) == 3


def test_a_label_has_the_same_colour_in_both_halves() -> None:
    curves = {f"m{i}": [0.0, float(i)] for i in range(20)}
    figure = plots.metric_curves(curves, dict(reversed(curves.items())))
    colours = [{line.get_label(): (line.get_color(), line.get_linestyle()) for line in a.lines} for a in figure.axes]
    assert colours[0] == colours[1]
    assert len(set(colours[0].values())) == 20


def test_labels_are_shown_as_written() -> None:
    names = ["_hidden", "$x^$", "50 %", "a\\b", "μ & <b>"]
    figure = plots.metric_curves({name: [1.0, 0.0] for name in names}, {}, title="$ $$")
    assert {text.get_text().split("  ")[1] for text in figure.axes[0].get_legend().get_texts()} == set(names)
    assert pixels(figure).std() > 0


def test_one_half_is_enough_and_none_is_refused() -> None:
    assert len(plots.metric_curves({}, {"m": [0.0, 1.0]}).axes) == 1
    with pytest.raises(ValueError, match="there is no curve to draw"):
        plots.metric_curves({}, {})
    with pytest.raises(ValueError, match=r"the deletion curve of 'm' has shape \(1, 2\)"):
        plots.metric_curves({"m": [[0.0, 1.0]]}, {})  # type: ignore[dict-item]  # the mistake that is tested
    with pytest.raises(ValueError, match="the insertion curve of 'm' holds 1 of 2 values"):
        plots.metric_curves({}, {"m": [0.0, float("nan")]})


# The page


def every_figure(result: samp.Attribution) -> dict[str, Figure]:
    photo = torch.rand(2, 3, 6, 9)
    return {
        "grey": plots.grey_map(result, title="A title"),
        "signed": plots.signed_map(result),
        "overlay": plots.overlay(result, photo),
        "scores": plots.score_curves(result),
        "film": plots.film_strip(result, frames=9),
        "grid": plots.method_grid(photo, {"ours": result, "long " * 9: result.map}, labels=["one", "two words " * 3]),
        "metric": plots.metric_curves({f"m{i}": [1.0, 0.0] for i in range(12)}, {"m0": [0.0, 1.0]}, title="A title"),
    }


def test_nothing_reaches_over_the_edge_or_into_the_caption(result: samp.Attribution) -> None:
    for name, figure in every_figure(result).items():
        figure.draw_without_rendering()
        width, height = figure.bbox.width, figure.bbox.height
        words = figure.texts[-1].get_window_extent()
        assert words.x0 >= 0, name
        assert words.x1 <= width, name
        for axes in figure.axes:
            box = axes.get_tightbbox()
            assert box.x0 >= 0, name
            assert box.x1 <= width, name
            assert box.y1 <= height, name
            assert box.y0 >= words.y1, name


def test_a_users_style_is_left_alone_and_does_no_harm(result: samp.Attribution) -> None:
    style = {"figure.facecolor": "black", "axes.facecolor": "black", "text.usetex": True, "text.color": "white"}
    with matplotlib.rc_context(style):
        before = dict(matplotlib.rcParams)
        for figure in every_figure(result).values():
            assert pixels(figure)[0, 0].tolist() == [1, 1, 1]
            assert "_" in caption(figure) or "AUC" in caption(figure)
        assert dict(matplotlib.rcParams) == before


def test_pyplot_is_not_needed() -> None:
    code = "import sys, numpy, samp.plots as p; p.grey_map(numpy.eye(3)); print('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("samp.plots")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    plots = importlib.import_module("samp.plots")  # what Pillow draws alone needs no matplotlib
    with pytest.raises(ImportError, match=r"pip install .*\[viz\]"):
        plots.grey_map  # noqa: B018  # looked up when first used
