"""The tutorials run, what they claim is so, and their pages are those of the present scripts."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import io
import os
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

nbformat = pytest.importorskip("nbformat", reason="needs nbclient, nbformat and ipykernel, of the extra dev")

DOCS = Path(__file__).parents[2] / "docs"
spec = importlib.util.spec_from_file_location("build_tutorials", DOCS / "build_tutorials.py")
build_tutorials: Any = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]  # the file is there
sys.modules[spec.name] = build_tutorials  # type: ignore[union-attr]  # dataclasses look for it there
spec.loader.exec_module(build_tutorials)  # type: ignore[union-attr]  # likewise

TUTORIALS = [path.stem for path in build_tutorials.sources()]
FOLDER = build_tutorials.FOLDER
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")

# What the text of each tutorial says, in the names of its script: run in its kernel after the last cell.
CLAIMS = {
    "01_photo": """
        assert chances["nothing"][0] > 0.9, "the net is sure"
        assert result.residual.abs().max() < 1e-5
        assert result.gradients.item() == 112 and 0 < result.resolution.item() < rather.resolution.item()
        nothing, region_gone, least_gone, flipped = (chances[k] for k in list(chances)[:4])
        assert max(region_gone[1:]) < 0.5 * nothing[0] < 0.8 * nothing[0] < min(least_gone), "a control costs little"
        assert region_gone[0] > 0.9 * nothing[0], "a weak blur takes nothing away"
        assert max(flipped) < 0.55 * nothing[0], "upside down costs most of it"
        assert 0.2 < sum(rather.score_change.values()).item() / sum(result.score_change.values()).item() < 0.45
    """,
    "02_your_model": """
        assert right > 0.85
        assert torch.allclose(result.map.sum((1, 2)), change, atol=1e-4)
        assert (alone.map[0] - result.map[2]).abs().max() < 1e-4
        assert sides["black"] < 0.15 < 0.3 < sides["blurred"] < sides["white"], "a baseline decides"
    """,
    "03_misclassification": """
        assert before[0][0] == "football helmet" and 0.1 < before[0][1] < 0.25, "a wrong answer"
        assert all(p < 0.03 and best != "football helmet" for p, best in after["the helmet"]), "gone with its cause"
        assert all(p > 0.1 for p, _ in after["the collar"]), "the collar is credited and not needed"
        assert after["the collar"][2][0] > 1.5 * before[0][1], "by grey it becomes more likely"
        assert all(p > 0.09 for name in after if "control" in name for p, _ in after[name])
        assert all(p < 0.13 and best == "bobsled" for p, best in after["control: shuttle"])
        assert answers(without)[0][1] < 0.1, "the answer is not right now either"
        assert 0.1 < parts["the helmet"].float().mean() < 0.2
    """,
    "04_comparing": """
        assert against["SAMP++", "insertion"].low > 0 and against["SAMP++", "deletion"].low > 0, "wins one, loses one"
        assert against["random", "insertion"].low > 0 > against["random", "deletion"].high
        assert differences["mnist", "default"] > differences["mnist", "SAMP++"]
        assert differences["rise", "default"] < differences["rise", "SAMP++"], "the first two change places"
        sds = compared.panel.means()["sds"]
        assert max(sds, key=sds.get) == "Sobel", "a judge that puts an edge detector first"
        ranks = compared.panel.mean_rank()
        assert max(ranks, key=lambda name: ranks[name].mean) == "random"
    """,
    "05_text": """
        assert right > 0.8
        assert result.top(1)[0][0] == "tensor"
        assert kept > 0.9 and 0.2 < changed < 0.8, "half of them change sides"
        assert fewer[0] > 0.9 and fewer[1] > 0.9 and fewer[4] < 0.5 < control, "not one word, but four"
    """,
    "06_table": """
        assert len(wrong) / len(new) < 0.06
        assert agreement.statistic > 0.4 and agreement.pvalue < 0.01, "credit agrees with what matters, on the whole"
        assert new_y[worst] == 1 and scores[worst] < 0, "a missed tumour"
        assert scores[worst] < now < 0, "five columns do not change the answer"
        first = result.top(1, sample=worst)[0]
        by_class = [seen[seen_y == kind, first["index"]].mean() for kind in (0, 1)]
        assert first["credit"] > 0 and new[worst, first["index"]] < by_class[0] < by_class[1], "the net is odd"
    """,
    "07_data_set": """
        assert 0 < killed <= summary.found <= summary.explained == 200
        assert list(summary.failures) == ["999-is-0.png"]
        assert 0 < len(wrong) < 60 and mean("score", right) > mean("score", wrong)
        assert len(maps) == 200 and Path("run/report.html").is_file()
    """,
    "08_coming_from": """
        assert correlation > 0.9
        assert delta.abs().max() < 1e-4
        assert abs(shapley.values.sum() - (model(patient) - model(average))) < 1e-3
        assert "agreement" not in vars() or agreement > 0.99
    """,
}


def read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def read_notebook(name: str) -> Any:
    """The cells of a tutorial's notebook, which must be a valid one."""
    notebook = nbformat.reads(read(f"{name}.ipynb"), as_version=4)
    nbformat.validate(notebook)
    return notebook.cells


def test_there_are_as_many_claims_as_tutorials() -> None:
    assert sorted(CLAIMS) == TUTORIALS


def test_the_list_of_tutorials_has_each_by_its_title() -> None:
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    pages = [(FOLDER / f"{name}.md").read_text(encoding="utf-8") for name in TUTORIALS]
    titles = [next(line[2:] for line in page.splitlines() if line.startswith("# ")) for page in pages]
    expected = [(title, f"{name}.md") for title, name in zip(titles, TUTORIALS, strict=True)]
    assert re.findall(r"^- \[([^\]]+)\]\(([^)]+)\): \S", index, re.MULTILINE) == expected


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_runs_in_an_empty_folder_and_what_it_says_is_so(name: str) -> None:
    notebook = build_tutorials.execute(FOLDER / f"{name}.py", checks=textwrap.dedent(CLAIMS[name]))
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert [output for output in outputs if output.get("name") == "stderr"] == []
    assert any("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_page_and_a_notebook_are_of_the_present_script(name: str) -> None:
    advice = f"run `python docs/build_tutorials.py {name}`, look at the page, and commit it"
    digest = hashlib.sha256((FOLDER / f"{name}.py").read_bytes()).hexdigest()
    assert f"SHA-256 {digest}." in read(f"{name}.md").splitlines()[0], advice
    cells, expected = read_notebook(name), build_tutorials.make_notebook(FOLDER / f"{name}.py").cells
    assert [(cell.cell_type, cell.source) for cell in cells] == [(one.cell_type, one.source) for one in expected], (
        advice
    )


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_notebook_was_run_in_order_and_has_the_outputs_of_the_page(name: str) -> None:
    page, code = read(f"{name}.md"), [cell for cell in read_notebook(name) if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [output.get("data", {"text": output.get("text")}) for cell in code for output in cell.outputs]
    pictures = [base64.b64decode(data["image/png"]) for data in outputs if "image/png" in data]
    files = sorted(FOLDER.glob(f"{name}-*.png"))
    assert pictures == [path.read_bytes() for path in files]
    texts = [data["text"] for data in outputs if "text" in data]
    assert texts == re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert all(data["text/markdown"] in page for data in outputs if "text/markdown" in data)


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_page_shows_its_final_picture_first_and_says_what_is_on_each(name: str) -> None:
    page = read(f"{name}.md")
    pictures = PICTURE.findall(page)
    assert all(len(alt) > 10 for alt, _ in pictures)
    assert pictures[0][1] in {file for _, file in pictures[1:]}, "the first picture is one that the page makes"
    assert page.index(pictures[0][1]) < page.index("```python")
    assert {file for _, file in pictures} == {path.name for path in FOLDER.glob(f"{name}-*.png")}


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_is_short_and_ends_with_where_to_go_next(name: str) -> None:
    cells = build_tutorials.read_cells(FOLDER / f"{name}.py")
    assert 5 <= sum(cell.is_code for cell in cells) <= 10
    assert not cells[0].is_code
    assert "**Next:**" in cells[-1].text


def test_pictures_are_small() -> None:
    pictures = list(FOLDER.glob("*.png"))
    for path in pictures:
        assert path.stat().st_size <= build_tutorials.LARGEST, path.name
        assert Image.open(path).width >= 200, path.name
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 3_000_000


def write_script(folder: Path, text: str) -> Path:
    path = folder / "01_small.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_text_and_code_are_told_apart(tmp_path: Path) -> None:
    path = write_script(tmp_path, '# %% [markdown]\n# # A\n#\n# b\n\n# %% alt="c"\nd = 1  # %% no mark\n\n# %%\nd\n')
    cells = [(cell.text, cell.is_code, cell.alt) for cell in build_tutorials.read_cells(path)]
    assert cells == [("# A\n\nb", False, ""), ("d = 1  # %% no mark", True, "c"), ("d", True, "")]


@pytest.mark.parametrize("text", ["import torch\n# %%\n", "# %% [markdwon]\n# a\n", "# %%alt\n1\n"])
def test_a_script_in_no_cells_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="# %%"):
        build_tutorials.read_cells(write_script(tmp_path, text))


def test_output_is_shown_below_its_code_and_a_picture_becomes_a_file(tmp_path: Path) -> None:
    code = "from PIL import Image\nprint('\\x1b[31mone')\nprint('two')\nImage.new('RGB', (300, 200), 'red')"
    page = build_tutorials.make_page(write_script(tmp_path, f'# %% alt="a red picture"\n{code}\n'))
    shown = f"```python\n{code}\n```\n\n```text\none\ntwo\n```\n\n![a red picture](01_small-1.png)"
    assert shown in "\n".join(page.lines)
    assert len(page.pictures) == 1
    (cell,) = page.notebook.cells
    assert cell.execution_count == 1
    assert [output.get("text") for output in cell.outputs] == ["one\ntwo\n", None]
    assert base64.b64decode(cell.outputs[1].data["image/png"]) == page.pictures[0]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("from PIL import Image\nImage.new('RGB', (3, 2))", "shows a picture"),
        ("import sys\nprint('!', file=sys.stderr)", "stderr"),
    ],
)
def test_what_a_reader_would_stumble_over_is_refused(code: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        build_tutorials.make_page(write_script(tmp_path, f"# %%\n{code}\n"))


def test_a_cell_that_fails_fails_the_tutorial(tmp_path: Path) -> None:
    from nbclient.exceptions import CellExecutionError  # after importorskip

    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        build_tutorials.execute(write_script(tmp_path, "# %%\n1 / 0\n"))
    with pytest.raises(CellExecutionError, match="AssertionError"):
        build_tutorials.execute(write_script(tmp_path, "# %%\na = 1\n"), checks="assert a == 2")


def test_a_picture_with_many_colours_is_shrunk_until_it_is_small() -> None:
    noise = Image.frombytes("RGB", (800, 800), os.urandom(800 * 800 * 3))
    noise.save(buffer := io.BytesIO(), "PNG")
    small = build_tutorials.shrink(buffer.getvalue())
    assert len(small) <= build_tutorials.LARGEST
    assert Image.open(io.BytesIO(small)).width >= 200
