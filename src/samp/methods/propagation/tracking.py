"""What a `Propagation` has seen of a model: which tensors came by operations it was shown, and what they decide.

Torch shows a mode every operation that Python code asks for. TorchScript, compiled and exported code and autograd
functions of the model's own run past it; what they make gives them away, since no operation that was shown made it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary


class Source(NamedTuple):
    """The tensor that an answer was read off, element by element, and its version at that time."""

    tensor: Tensor
    version: int


class Sight:
    """Tensors with a gradient that were made in sight, and *answers*: tensors without one that depend on the input.

    A view is known by what it is a view of: an operation in place changes the history of all views together, and views
    themselves change no number.

    >>> import torch
    >>> leaf = torch.ones(2, requires_grad=True)
    >>> sight = Sight()
    >>> sight.begin(leaf)
    >>> doubled, unseen = leaf * 2, leaf * 3
    >>> sight.record(doubled)
    >>> sight.has_seen(doubled), sight.has_seen(unseen), sight.has_seen(doubled.relu_())
    (True, False, False)
    """

    def __init__(self) -> None:
        self._leaf: Tensor | None = None
        self._histories = WeakIdKeyDictionary()
        self._answers = WeakIdKeyDictionary()

    def begin(self, leaf: Tensor) -> None:
        """Forget all, and start from the explained input."""
        self.end()
        self._leaf = leaf
        self.record(leaf)

    def end(self) -> None:
        """Forget all: what is recorded keeps the graph alive."""
        self._leaf = None
        self._histories.clear()
        self._answers.clear()

    def record(self, value: Any) -> None:
        """Take note of a tensor as it is after an operation that was shown."""
        if isinstance(value, Tensor) and value.requires_grad:
            root = _root(value)
            self._histories[root] = root.grad_fn

    def has_seen(self, tensor: Tensor) -> bool:
        """Whether the tensor's last change was by an operation that was shown."""
        root = _root(tensor)
        return root in self._histories and self._histories[root] is root.grad_fn

    def depends_on_leaf(self, tensor: Tensor) -> bool:
        """Whether a gradient flows from this tensor to the explained input."""
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

    def record_answer(self, value: Tensor, source: Tensor | None) -> None:
        """Take note of an answer; without a source where it is no function of one tensor, element by element."""
        self._answers[value] = None if source is None else Source(source, source._version)

    def is_answer(self, value: Any) -> bool:
        """Whether this is an answer: it depends on the input, and no gradient says so."""
        return isinstance(value, Tensor) and not value.requires_grad and value in self._answers

    def source(self, value: Tensor) -> Tensor | None:
        """What the answer is a function of, element by element; None if that is not known or has changed since."""
        source: Source | None = self._answers[value]
        if source is None or source.tensor._version != source.version or source.tensor.shape != value.shape:
            return None
        return source.tensor


def _root(tensor: Tensor) -> Tensor:
    base = tensor._base if tensor._is_view() else None
    return tensor if base is None else base


def history_name(tensor: Tensor) -> str:
    """The operation that made a tensor with a gradient, as autograd calls it.

    >>> import torch
    >>> history_name(torch.ones(1, requires_grad=True).relu())
    'Relu'
    """
    node = tensor.grad_fn
    name = "an operation" if node is None else node.name()
    return name.rstrip("0123456789").removesuffix("Backward")
