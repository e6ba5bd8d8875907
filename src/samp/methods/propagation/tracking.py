"""Which tensors a `Propagation` can vouch for: those made by operations that it saw, and what depends on them.

Torch shows a mode every operation that is called from Python. TorchScript, compiled and exported code and the model's
own autograd functions bypass it. Their results are recognised: they have a gradient, but no seen operation made them.
"""

from __future__ import annotations

from typing import NamedTuple, TypeGuard

from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary


class Source(NamedTuple):
    """The tensor that a detached one was computed from, element by element, and its version at that time."""

    tensor: Tensor
    version: int


class TensorTracker:
    """Tensors with a gradient that were made by seen operations, and *detached* ones: masks, indices, numbers.

    A detached tensor depends on the explained input but has no gradient, such as `x > 0`, `x.argmax()` or `x.detach()`.
    Views count as the tensor that they are views of: an in-place operation changes the `grad_fn` of all views together,
    and taking a view changes no number.

    >>> import torch
    >>> leaf = torch.ones(2, requires_grad=True)
    >>> tracker = TensorTracker()
    >>> tracker.begin(leaf)
    >>> doubled, unseen = leaf * 2, leaf * 3
    >>> tracker.record(doubled)
    >>> tracker.has_seen(doubled), tracker.has_seen(unseen), tracker.has_seen(doubled.relu_())
    (True, False, False)
    """

    def __init__(self) -> None:
        self._leaf: Tensor | None = None
        self._histories = WeakIdKeyDictionary()
        self._detached = WeakIdKeyDictionary()

    def begin(self, leaf: Tensor) -> None:
        """Forget everything, and start from the explained input."""
        self.end()
        self._leaf = leaf
        self.record(leaf)

    def end(self) -> None:
        """Forget everything: what is recorded keeps the autograd graph alive."""
        self._leaf = None
        self._histories.clear()
        self._detached.clear()

    def record(self, value: object) -> None:
        """Record the state of a tensor after an operation that was seen; values without a gradient are ignored."""
        if isinstance(value, Tensor) and value.requires_grad:
            root = _root(value)
            self._histories[root] = root.grad_fn

    def has_seen(self, tensor: Tensor) -> bool:
        """Return whether the operation that last changed this tensor was seen."""
        root = _root(tensor)
        return root in self._histories and self._histories[root] is root.grad_fn

    def depends_on_leaf(self, tensor: Tensor) -> bool:
        """Return whether a gradient flows from this tensor to the explained input."""
        todo, seen = [tensor.grad_fn], set()
        while todo:
            node = todo.pop()
            if node is None or node in seen:
                continue
            if getattr(node, "variable", None) is self._leaf:
                return True
            seen.add(node)
            todo += [parent for parent, _ in node.next_functions]
        return False

    def record_detached(self, value: Tensor, source: Tensor | None) -> None:
        """Record a detached tensor; `source` is None unless it is a function of one tensor, element by element."""
        self._detached[value] = None if source is None else Source(source, source._version)

    def is_detached(self, value: object) -> TypeGuard[Tensor]:
        """Return whether this value depends on the input, though it has no gradient."""
        return isinstance(value, Tensor) and not value.requires_grad and value in self._detached

    def source(self, value: Tensor) -> Tensor | None:
        """Return what a detached tensor is a function of, element by element; None if unknown or changed since."""
        source: Source | None = self._detached[value]
        if source is None or source.tensor._version != source.version or source.tensor.shape != value.shape:
            return None
        return source.tensor


def _root(tensor: Tensor) -> Tensor:
    base = tensor._base if tensor._is_view() else None
    return tensor if base is None else base


def history_name(tensor: Tensor) -> str:
    """Return autograd's name for the operation that made a tensor with a gradient.

    >>> import torch
    >>> history_name(torch.ones(1, requires_grad=True).relu())
    'Relu'
    """
    node = tensor.grad_fn
    name = "an operation" if node is None else node.name()
    return name.rstrip("0123456789").removesuffix("Backward")
