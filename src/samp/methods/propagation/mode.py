"""One mechanism for all propagation methods: every operation of the model gets its own backward rule.

While a `Propagation` is entered, torch hands it each operation before it runs. What depends on the explained input
carries a gradient; parameters are detached on the way in, so nothing else does. No hook, copy or rewriting of the
model: reused modules, functional and in-place activations and residual sums are operations like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from samp.methods.propagation.operations import KINDS, canonical

Pull = Callable[[Tensor], Sequence[Tensor]]
"""From the gradient of an operation's value to those of its inputs."""
Forward = Callable[..., tuple[Tensor, Pull]]


@dataclass(frozen=True, eq=False)
class Call:
    """One operation, about to run: its inputs are the arguments that depend on the explained input."""

    name: str
    func: Callable[..., Any]
    leaves: tuple[Any, ...]
    spec: TreeSpec

    @property
    def places(self) -> list[int]:
        return [place for place, leaf in enumerate(self.leaves) if _carries(leaf)]

    @property
    def inputs(self) -> list[Tensor]:
        return [self.leaves[place] for place in self.places]

    @property
    def args(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args, kwargs = tree_unflatten(list(self.leaves), self.spec)
        return args, kwargs

    def native(self) -> Any:
        """The operation as torch does it, with torch's gradient."""
        return self.at()

    def at(self, *inputs: Tensor) -> Any:
        """The operation at other inputs."""
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, inputs, strict=False):
            leaves[place] = tensor
        args, kwargs = tree_unflatten(leaves, self.spec)
        return self.func(*args, **kwargs)

    def argument(self, place: int, name: str, default: Any = None) -> Any:
        """An argument given by place or by name."""
        args, kwargs = self.args
        return args[place] if len(args) > place else kwargs.get(name, default)


def ruled(forward: Forward, *inputs: Tensor) -> Tensor:
    """The value of `forward(*inputs)`, with what else it returns as its backward rule.

    >>> x = torch.ones(1, requires_grad=True)
    >>> ruled(lambda x: (x.clone(), lambda grad: [5 * grad]), x).backward()
    >>> x.grad
    tensor([5.])
    """
    value: Tensor = _Ruled.apply(forward, *inputs)  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return value


class _Ruled(torch.autograd.Function):
    """An operation with a backward rule of ours; what the rule keeps is its own, out of reach of in-place changes."""

    @staticmethod
    def forward(ctx: Any, forward: Forward, *inputs: Tensor) -> Tensor:
        value, ctx.pull = forward(*inputs)
        return value

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, *ctx.pull(grads[0])


class Propagation(TorchFunctionMode):
    """Gives each operation to the method named after its kind; a kind without a method is refused in one sentence.

    `ruled` counts the operations of each name that went by a rule of the method's own, `plain` those for which torch's
    gradient is the rule: a rule that never fires looks just like one that works.
    """

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method = method
        self.ruled: Counter[str] = Counter()
        self.plain: Counter[str] = Counter()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called by torch in place of every operation."""
        leaves, spec = tree_flatten((args, kwargs or {}))
        name, in_place = canonical(_name(func))
        call = Call(name, func, tuple(map(_constant, leaves)), spec)
        if not call.places:
            return call.native()
        if KINDS.get(name) != "maximum" and getattr(func, "__module__", None) == "torch.nn.functional":
            with self:
                return replace(call, func=opened(func)).native()
        return self._in_place(call) if in_place and KINDS.get(name) != "moved" else self.treat(call)

    def _in_place(self, call: Call) -> Tensor:
        """The rule is applied to a copy, and its result written over the original.

        The rule must not hold the original: its gradient comes by the rule then, a cycle that would never be freed.
        """
        target: Tensor = call.leaves[0]
        leaves = (target.clone(), *call.leaves[1:])
        fresh = replace(call, leaves=leaves, func=_on_a_copy(call.func))
        return target.copy_(self.treat(fresh))

    def treat(self, call: Call) -> Any:
        """The operation under its rule."""
        kind = KINDS.get(call.name)
        if kind is None:
            return self.unknown(call)
        if kind in ("dropped", "batch_norm") and call.argument(*TRAINING[kind]):
            raise ValueError(f"{self.method} needs fixed statistics, but {call.name} is training: call model.eval().")
        return getattr(self, kind)(call)

    def unknown(self, call: Call) -> Any:
        """Questions about a tensor (its shape, its largest entry's place) need no rule; all else is refused."""
        answer = call.native()
        if any(map(_carries, tree_flatten(answer)[0])) and call.name != "get":  # views such as x.T come by __get__
            raise self.refusal(call.name)
        return answer

    def refusal(self, operation: str, why: str = "") -> NotImplementedError:
        """One sentence: what has no rule, and what to do."""
        return NotImplementedError(
            f"{self.method} has no rule for the operation {operation}{why}: "
            "use a method that needs only gradients, such as 'coupled' or 'ig', or write the model without it."
        )

    def check(self, score: Tensor) -> None:
        """Refuse what came about by autograd functions of the model's own, which the mode does not see."""
        todo: list[Any] = [score.grad_fn]
        seen = set()
        while todo:
            node = todo.pop()
            if node is not None and node not in seen:
                seen.add(node)
                todo += [parent for parent, _ in node.next_functions]
                function = getattr(node, "_forward_cls", _Ruled)
                if function is not _Ruled:
                    raise self.refusal(function.__name__)

    def by_gradient(self, call: Call) -> Any:
        """Torch's own gradient is the rule."""
        self.plain[call.name] += 1
        return call.native()

    def by_rule(self, call: Call, forward: Forward) -> Tensor:
        """A rule of the method's own, counted."""
        self.ruled[call.name] += 1
        return ruled(forward, *call.inputs)

    def moved(self, call: Call) -> Any:
        """Numbers that only change their place take their credit with them."""
        return call.native()

    def dropped(self, call: Call) -> Any:
        """Dropout in evaluation mode does nothing."""
        return call.native()

    def _refuse(self, call: Call) -> Any:
        raise self.refusal(call.name)

    summed = weighted = added = multiplied = scaled = elementwise = maximum = batch_norm = _refuse
    softmax = log_softmax = divided = layer_norm = group_norm = attention = _refuse

    @property
    def details(self) -> dict[str, dict[str, dict[str, int]]]:
        """What was covered, for the result."""
        return {"operations": {"by rule": dict(self.ruled), "by gradient": dict(self.plain)}}


TRAINING = {"dropped": (2, "train", False), "batch_norm": (5, "training", False)}
"""Where these operations are told that they train."""

_ASKS = {f"has_torch_function{end}": lambda *_: False for end in ("", "_unary", "_variadic")}


def opened(function: FunctionType) -> FunctionType:
    """A function of `torch.nn.functional` that does not announce itself: its operations are seen one by one."""
    names = {**function.__globals__, **_ASKS}
    inner = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    inner.__kwdefaults__ = function.__kwdefaults__
    return inner


def _on_a_copy(func: Callable[..., Any]) -> Callable[..., Any]:
    return lambda first, *rest, **named: func(first.clone(), *rest, **named)


def _carries(value: Any) -> bool:
    """Whether this depends on the explained input."""
    return isinstance(value, Tensor) and value.requires_grad and not value.is_leaf


def _constant(value: Any) -> Any:
    """Parameters as constants."""
    return value.detach() if isinstance(value, Tensor) and value.requires_grad and value.is_leaf else value


def _name(func: Any) -> str:
    return str(getattr(func, "__name__", func))
