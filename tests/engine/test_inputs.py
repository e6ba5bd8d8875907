"""What a new user passes: taken where it can only mean one thing, else a sentence that says what to do."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

import samp
from laws import images, net
from samp.metrics import deletion_insertion, mu_fidelity
from samp.models import Classifier

torch.manual_seed(0)
PHOTO_NET = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(4 * 6 * 6, 5)).eval()
PHOTOS = torch.rand(2, 3, 8, 8)
FRAME = [[0.5, 1.0, 2.0], [1.5, 0.25, 3.0]]


class Table:
    """What is asked of a pandas DataFrame."""

    def __init__(self, rows: Any) -> None:
        self.rows = np.array(rows)

    def to_numpy(self) -> Any:
        return self.rows


def test_a_numpy_array_is_the_tensor_of_its_numbers_in_the_dtype_of_the_net() -> None:
    expected = samp.explain(PHOTO_NET, PHOTOS)
    plain = PHOTOS.numpy()
    for array in (plain, plain.astype("float64"), plain[..., ::-1].copy()[..., ::-1], plain.astype(">f4")):
        found = samp.explain(PHOTO_NET, array)
        assert torch.equal(found.values, expected.values)


def test_metrics_and_compare_take_arrays_as_explain_does() -> None:
    maps, array = torch.rand(2, 8, 8), PHOTOS.numpy()
    curves = [deletion_insertion(PHOTO_NET, x, maps, 0, "rise").insertion for x in (PHOTOS, array)]
    assert torch.equal(*curves)
    assert mu_fidelity(PHOTO_NET, array, maps, 0, subsets=5).details["groups"] == "grid of 64 cells"
    rows = [samp.compare(PHOTO_NET, x, ["ig"])["ig"] for x in (PHOTOS, array)]
    assert torch.equal(*(row.attribution.values for row in rows))
    assert torch.equal(samp.captum.SAMP(PHOTO_NET).attribute(array), samp.captum.SAMP(PHOTO_NET).attribute(PHOTOS))


def test_an_array_for_a_function_keeps_its_own_dtype() -> None:
    assert samp.explain(lambda x: x.sum(1), np.ones((2, 3))).values.dtype == torch.float64


def test_a_table_is_taken_row_by_row() -> None:
    model = nn.Linear(3, 2).eval()
    expected = samp.explain(model, torch.tensor(FRAME), method="ig")
    assert torch.equal(samp.explain(model, Table(FRAME), method="ig").values, expected.values)  # type: ignore[arg-type]  # taken, though the types do not say so
    with pytest.raises(TypeError, match=r"the input is Table of dtype <U32: pass numbers, as with \.astype"):
        samp.explain(model, Table([["a", 1.0]]))  # type: ignore[arg-type]  # wrong on purpose


def test_a_pandas_table_is_taken() -> None:
    pandas = pytest.importorskip("pandas")
    model = nn.Linear(3, 2).eval()
    found = samp.explain(model, pandas.DataFrame(FRAME), method="ig")
    assert torch.equal(found.values, samp.explain(model, torch.tensor(FRAME), method="ig").values)


def test_photos_are_prepared_by_a_classifier_and_by_nothing_else() -> None:
    photos = [Image.new("RGB", (9, 12), colour) for colour in ("red", "navy")]
    classifier = Classifier(PHOTO_NET, "tiny", size=8, mean=0.5, std=0.5, classes=())
    prepared = torch.cat([classifier.prepare(photo) for photo in photos])
    expected = samp.explain(PHOTO_NET, prepared)
    assert torch.equal(samp.explain(classifier, photos).values, expected.values)  # type: ignore[arg-type]  # taken, though the types do not say so
    assert torch.equal(samp.explain(classifier, prepared).values, expected.values)  # type: ignore[arg-type]  # taken, though the types do not say so
    one = samp.explain(classifier, photos[0])  # type: ignore[arg-type]  # taken, though the types do not say so
    assert one.map.shape == (1, 8, 8)
    assert samp.compare(classifier, photos[0], ["ig"]).rows[0].curves.deletion.shape == (1,)  # type: ignore[arg-type]  # taken, though the types do not say so
    for given in (photos, photos[0], (photos[0], prepared)):
        with pytest.raises(TypeError, match=r"is a photo \(PIL\).*Classifier.*preprocess\(photo\)\[None\]"):
            samp.explain(PHOTO_NET, given)  # type: ignore[arg-type]  # wrong on purpose


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no batch axis": (lambda: samp.explain(PHOTO_NET, PHOTOS[0]), ValueError, r"as one sample it works.*x\[None\]"),
    "a list of images": (
        lambda: samp.explain(PHOTO_NET, list(PHOTOS)),  # type: ignore[arg-type]  # wrong on purpose
        TypeError,
        r"the model takes \(input\) but was given 2 inputs and 0 forward_args.*torch\.stack",
    ),
    "float64 for a float32 net": (
        lambda: samp.explain(PHOTO_NET, PHOTOS.double()),
        TypeError,
        r"dtype torch\.float64, which the model does not take: pass it as torch\.float32, x\.to\(torch\.float32\)",
    ),
    "float32 for a float64 function": (
        lambda: samp.explain(lambda x: net()(x), torch.rand(2, 12)),
        TypeError,
        r"dtype torch\.float32, which the model does not take: pass it as torch\.float64",
    ),
    "float16 for a float32 net": (lambda: samp.explain(PHOTO_NET, PHOTOS.half()), TypeError, r"dtype torch\.float16"),
    "a closure over the batch": (
        lambda: samp.explain(PHOTO_NET, PHOTOS, target=lambda y: y[torch.arange(2), torch.tensor([0, 3])]),
        ValueError,
        "works for all 2 samples together but not for one alone.*take a second argument, samples",
    ),
    "a tuple of classes": (
        lambda: samp.explain(PHOTO_NET, PHOTOS, target=(0, 3)),
        ValueError,
        r"a target needs 1 number, but it has 2: pass a class number, a list \(not a tuple\) with one for each sample",
    ),
    "too few arguments": (
        lambda: samp.explain(lambda x, mask: x.sum(1), PHOTOS.flatten(1)),
        TypeError,
        r"the model takes \(x, mask\) but was given 1 input and 0 forward_args: pass the rest as forward_args",
    ),
    "too many arguments": (
        lambda: samp.explain(PHOTO_NET, PHOTOS, forward_args=(1, 2)),
        TypeError,
        "was given 1 input and 2 forward_args: leave out what it does not take",
    ),
    "a tokeniser's batch": (
        lambda: samp.explain(PHOTO_NET, UserDict(input_ids=torch.ones(1, 3))),  # type: ignore[arg-type]  # wrong on purpose
        TypeError,
        "the input is UserDict, a mapping.*get_input_embeddings.*samp.PerSample",
    ),
    "a class as the model": (
        lambda: samp.explain(nn.Linear, PHOTOS),
        TypeError,
        r"the model is the class Linear: pass an object of it, such as Linear\(\)",
    ),
    "words": (lambda: samp.explain(PHOTO_NET, "cat.jpg"), TypeError, "the input is a text: samp.text.explain"),  # type: ignore[arg-type]  # wrong on purpose
    "sparse": (lambda: samp.explain(PHOTO_NET, PHOTOS.to_sparse()), TypeError, "sparse tensor.*to_dense"),
    "meta": (lambda: samp.explain(PHOTO_NET, PHOTOS.to("meta")), TypeError, "meta device, which holds no numbers"),
    "complex": (lambda: samp.explain(PHOTO_NET, PHOTOS.cfloat()), TypeError, "complex64, which cannot be explained"),
    "quantised": (
        lambda: samp.explain(PHOTO_NET, torch.quantize_per_tensor(PHOTOS, 0.1, 0, torch.quint8)),
        TypeError,
        r"quantised .*dequantize",
    ),
    "nested": (lambda: samp.explain(PHOTO_NET, torch.nested.nested_tensor(list(PHOTOS))), TypeError, "nested tensor"),
    "float8": (lambda: samp.explain(PHOTO_NET, PHOTOS.to(torch.float8_e4m3fn)), TypeError, "float8.*pass tensor.float"),
    "bytes": (lambda: samp.explain(PHOTO_NET, PHOTOS.byte().numpy()), TypeError, "dtype torch.uint8.*pass floats"),
}


@pytest.mark.filterwarnings("ignore")  # torch's, on quantised and nested tensors
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_a_sentence_that_says_what_to_do(mistake: str) -> None:
    ask, error, sentence = MISTAKES[mistake]
    with pytest.raises(error, match=sentence) as caught:
        ask()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mistake", ["no batch axis", "float64 for a float32 net", "a closure over the batch"])
def test_a_translated_error_keeps_its_cause(mistake: str) -> None:
    with pytest.raises(MISTAKES[mistake][1]) as caught:
        MISTAKES[mistake][0]()
    assert isinstance(caught.value.__cause__, RuntimeError | IndexError)


BUGS: list[tuple[Callable[[Tensor], Any], type[Exception], str]] = [
    (lambda x: x @ torch.ones(7, 2), RuntimeError, "mat1 and mat2"),
    (lambda x: x.float() @ torch.ones(3, 2).double(), RuntimeError, "dtype"),
    (lambda x: len(7), TypeError, "has no len"),
    (lambda x: {}["key"], KeyError, "key"),
    (lambda x: [][3], IndexError, "list index"),
]


@pytest.mark.parametrize("number", range(len(BUGS)))
def test_a_bug_of_the_model_s_own_surfaces_untouched(number: int) -> None:
    model, error, words = BUGS[number]
    with pytest.raises(error, match=words) as caught:
        samp.explain(model, torch.rand(2, 3))
    assert caught.value.__cause__ is None


def test_a_bug_of_the_target_function_s_own_surfaces_untouched() -> None:
    with pytest.raises(AttributeError, match="no attribute 'logits'"):
        samp.explain(net(), images(0, 2, 12), target=lambda output: output.logits[:, 0])
