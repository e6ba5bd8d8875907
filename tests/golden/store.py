"""The golden file, the environment it was written in, and how a result is compared with it."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from golden.facts import tensor_fact
from golden.problems import scatter

FILE = Path(__file__).with_name("golden.json")
TOLERANCE = 1e-3
HALF_TOLERANCE = 5e-2
ROUNDING = 1e-6  # a number below it, such as what an exact credit misses, is rounding error alone
BLAS = "blas"
FITTED = ("lime",)  # cases with a word of these fit by scikit-learn; BLAS decides the bits of no others
PEERS = ("captum", "scikit-image", "scikit-learn", "scipy", "pillow")  # some cases compute with these
# A path that turned elsewhere at a rounding error takes these with it; the credit of the whole walk is far less moved.
CHAOTIC = ("order/", "scores/", "steps/", "tapes/", "blind/", "gradients", "residual")


@contextmanager
def one_thread() -> Iterator[None]:
    """Sums are split between threads, so their bits depend on how many there are: here it is one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def fingerprint() -> dict[str, str]:
    """Return what the bits of a result depend on beside the library."""
    known = {
        "torch": torch.__version__,
        "numpy": np.__version__,
        "machine": platform.machine(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "canary": _canary(),
        BLAS: _blas_canary(),
    }
    return known | {name: _version(name) for name in PEERS}


def _canary() -> str:
    """Return the digest of a convolution, a product of matrices, an exponential and their gradient."""
    with one_thread():
        x = (scatter(2, 3, 16, 16, salt=900) - 0.5).requires_grad_()
        seen = F.conv2d(x, scatter(8, 3, 3, 3, salt=901) - 0.5).relu()
        score = (seen.flatten(1) @ (scatter(8 * 14 * 14, 5, salt=902) - 0.5)).mul(0.1).exp().sum()
        score.backward()
        assert x.grad is not None
        return str(tensor_fact(torch.cat([x.grad.flatten(), score.detach()[None]]))[0])


def _blas_canary() -> str:
    """Return the digest of sums by the BLAS of NumPy and SciPy, which choose their kernels by the kind of CPU."""
    matrix = (scatter(37, 29, salt=903) - 0.5).double().numpy()
    gram = matrix.T @ matrix
    sums = [gram, gram @ gram[:, 0], np.linalg.solve(gram + np.eye(29), gram[0])]
    with suppress(ImportError):
        blas = import_module("scipy.linalg.blas")
        sums += [np.array([blas.ddot(row, column) for row, column in zip(gram, gram[::-1], strict=True)])]
        sums += [blas.daxpy(gram[0], gram[1].copy(), a=0.3)]
    return str(tensor_fact(torch.from_numpy(np.concatenate([one.ravel() for one in sums])))[0])


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def read() -> dict[str, Any]:
    """Return the golden file: {"environment": …, "cases": {name: facts}}."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def write(cases: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the file with one case a line, so that a difference shows which cases changed."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(dict(cases[name]), sort_keys=True, ensure_ascii=False)}"
        for name in sorted(cases)
    ]
    environment = json.dumps(fingerprint(), sort_keys=True)
    body = ",\n".join(lines)
    FILE.write_text(f'{{"cases": {{\n{body}\n}},\n"environment": {environment}}}\n', encoding="utf-8")


def differences(stored: Mapping[str, Any], new: Mapping[str, Any], exact: bool) -> list[str]:
    """Return one line for each fact that differs: bit for bit if `exact`, else beyond the tolerance."""
    lines = [f"{name}: is gone, was {stored[name]}" for name in sorted(stored.keys() - new.keys())]
    lines += [f"{name}: is new, {new[name]}" for name in sorted(new.keys() - stored.keys())]
    coarse = "16" in str(stored.get("details/dtype")) or "16" in str(stored.get("details/speed"))
    walked = any(
        "order/" in name for name in stored
    )  # in 16 bits a path turns elsewhere at once, and so does its credit
    tolerance = (math.inf if walked else HALF_TOLERANCE) if coarse else TOLERANCE
    for name in sorted(stored.keys() & new.keys()):
        same = stored[name] == new[name] if exact else _near(name, stored[name], new[name], tolerance)
        if not same:
            lines.append(f"{name}:\n    stored {_words(stored[name])}\n    new    {_words(new[name])}")
    return lines


def _near(name: str, stored: Any, new: Any, tolerance: float) -> bool:
    if any(part in name for part in CHAOTIC):
        return True
    if _is_tensor(stored) and _is_tensor(new):
        if stored[1] != new[1]:
            return False
        if stored[0] == new[0]:
            return True
        kind, _, shape = stored[1].partition(" ")
        if not kind.startswith(("float", "bfloat")):
            return kind != "bool"
        scale = max(_number(stored[3]), _number(new[3]))
        count = math.prod(int(side) for side in shape.split("×")) if shape != "scalar" else 1
        slack = [math.sqrt(count), 1.0, *[1.0] * len(stored[4:])]
        pairs = zip(stored[2:], new[2:], slack, strict=True)
        return all(_close(a, b, tolerance * scale * wide) for a, b, wide in pairs)
    if isinstance(stored, str) and isinstance(new, str):
        try:
            a, b = float(stored), float(new)
        except ValueError:
            return stored == new
        return _close(a, b, tolerance * max(abs(a), abs(b)))
    return bool(stored == new)


def _is_tensor(fact: Any) -> bool:
    return isinstance(fact, list) and len(fact) >= 4 and isinstance(fact[0], str) and len(fact[0]) == 16


def _number(value: Any) -> float:
    return float(value)


def _close(a: Any, b: Any, slack: float) -> bool:
    a, b = _number(a), _number(b)
    return (math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) <= max(slack, ROUNDING)


def _words(fact: Any) -> str:
    if not _is_tensor(fact):
        return json.dumps(fact, ensure_ascii=False)
    digest, kind, total, largest, *first = fact
    return f"{digest} ({kind}): sum {total}, largest {largest}, begins {first}"
