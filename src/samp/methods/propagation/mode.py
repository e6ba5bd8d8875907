"""One mechanism for all propagation methods: every operation of the model gets its own backward rule.

While a `Propagation` is active, torch passes it each operation before it runs. Only what depends on the explained
input carry a gradient, since parameters are detached when an operation receives them. The model is neither hooked,
copied nor rewritten: reused modules, functional and in-place activations and residual sums are operations like any
other. An operation that bypasses the mode (see `tracking`) is refused, because it would silently keep torch's own
gradient and the map would be another method's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten

from samp.methods.propagation.hidden_operations import hidden_part, program_operation
from samp.methods.propagation.operation_call import (
    Call,
    Forward,
    RuleFunction,
    apply_rule,
    as_masked_fill,
    depends_on_input,
)
from samp.methods.propagation.operation_kinds import KINDS, POINTWISE, canonical
from samp.methods.propagation.tracking import Sight, history_name


class Propagation(TorchFunctionMode):
    """Gives each operation to the method named after its kind; a kind without a method is refused in one sentence.

    `rule_counts` counts the operations of each name that went by a rule of the method's own, `gradient_counts` those
    for which torch's
    gradient is the rule: a rule that never fires looks just like one that works.
    """

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method = method
        self.rule_counts: Counter[str] = Counter()
        self.gradient_counts: Counter[str] = Counter()
        self.sight = Sight()
        self.model: Any = None

    def begin(self, model: Any, leaf: Tensor) -> None:
        """A forward pass of this model is about to start from this leaf."""
        self.model = model
        self.sight.begin(leaf)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called by torch in place of every operation."""
        if torch.compiler.is_compiling():  # torch.compile would build the rules into the user's compiled code
            raise NotImplementedError(f"{self.method} does not work in compiled code: use the model without it.")
        if _name(func) == "__set__":  # torch itself sets attributes with a tensor locked: a look at it would never end
            return func(*args, **(kwargs or {}))
        leaves, spec = tree_flatten((args, kwargs or {}))
        call = as_masked_fill(Call(canonical(_name(func))[0], func, tuple(map(self._as_input, leaves)), spec))
        result = self._run(call)
        self._record(call, result)
        return result

    def _as_input(self, value: Any) -> Any:
        """What does not depend on the explained input, parameters too, as a constant; what came unseen is refused."""
        if not isinstance(value, Tensor) or not value.requires_grad:
            return value
        if value.is_leaf or not (self.sight.has_seen(value) or self.sight.depends_on_leaf(value)):
            return value.detach()
        if not self.sight.has_seen(value):
            raise self.unseen_refusal(value)
        return value

    def _run(self, call: Call) -> Any:
        if not call.places:
            return call.native()
        if call.name in ("grad", "backward"):
            raise self.refusal(call.name, ", a gradient inside the model")
        program = program_operation(call.func)
        if program.startswith("quantized::"):
            raise self._quantised_refusal()
        if program:
            raise self._hidden_refusal(f"runs {program}, which exported programs are made of")
        function: Any = call.func
        if KINDS.get(call.name) != "maximum" and getattr(function, "__module__", None) == "torch.nn.functional":
            with self:
                return replace(call, func=unwrap_functional(function)).native()
        in_place = canonical(_name(call.func))[1]
        return self._apply_in_place(call) if in_place and KINDS.get(call.name) != "rearrange" else self.treat(call)

    def _record(self, call: Call, result: Any) -> None:
        """Take note of what the operation made and changed, and of answers to questions about the input."""
        made = [value for value in tree_flatten(result)[0] if isinstance(value, Tensor)]
        if any(value.is_quantized for value in made) and call.places:
            raise self._quantised_refusal()
        for value in (*call.leaves, *made):
            self.sight.record(value)
        self._record_answers(call, made)

    def _record_answers(self, call: Call, made: Sequence[Tensor]) -> None:
        if call.name.endswith("_like") or call.name.startswith("new_"):
            return  # only the shape is the input's
        answers = [leaf for leaf in call.leaves if self.sight.is_answer(leaf)]
        if not (call.places or answers):
            return
        in_place = call.name == "setitem" or canonical(_name(call.func))[1]
        for value in (*made, *(call.leaves[:1] if in_place else ())):
            if isinstance(value, Tensor) and not value.requires_grad:
                self.sight.record_answer(value, self._source(call, answers, value))

    def _source(self, call: Call, answers: Sequence[Tensor], value: Tensor) -> Tensor | None:
        """The one tensor that this answer is a function of, element by element; None where there is none."""
        origins = [*call.inputs, *map(self.sight.source, answers)]
        origin = origins[0]
        if origin is None or any(other is not origin for other in origins):
            return None
        if origin.shape == value.shape and call.name in POINTWISE:
            return origin
        if KINDS.get(call.name) != "rearrange" or call.inputs or len(answers) != 1:
            return None
        leaves = tuple(origin if leaf is answers[0] else leaf for leaf in call.leaves)
        with self:  # an answer that is moved is read off its source, moved likewise
            moved = replace(call, leaves=leaves).native()
        return moved if isinstance(moved, Tensor) and moved.shape == value.shape else None

    def _apply_in_place(self, call: Call) -> Tensor:
        """The rule is applied to a copy, and its result written over the original.

        The rule must not hold the original: its gradient comes by the rule then, a cycle that would never be freed.
        """
        target: Tensor = call.leaves[0]
        leaves = (target.clone(), *call.leaves[1:])
        self.sight.record(leaves[0])
        fresh = replace(call, leaves=leaves, func=_on_a_copy(call.func))
        return target.copy_(self.treat(fresh))

    def treat(self, call: Call) -> Any:
        """The operation under its rule."""
        kind = KINDS.get(call.name)
        if kind is None:
            return self.on_unknown(call)
        if kind in ("dropout", "batch_norm") and call.argument(*TRAINING[kind]):
            raise ValueError(f"{self.method} needs fixed statistics, but {call.name} is training: call model.eval().")
        return getattr(self, f"on_{kind}")(call)

    def on_unknown(self, call: Call) -> Any:
        """Questions about a tensor (its shape, its largest entry's place) need no rule; all else is refused."""
        answer = call.native()
        if (
            any(map(depends_on_input, tree_flatten(answer)[0])) and call.name != "get"
        ):  # views such as x.T come by __get__
            raise self.refusal(call.name)
        return answer

    def refusal(self, operation: str, why: str = "") -> NotImplementedError:
        """One sentence: what has no rule, and what to do."""
        return NotImplementedError(
            f"{self.method} has no rule for the operation {operation}{why}: "
            "use a method that needs only gradients, such as 'coupled' or 'ig', or write the model without it."
        )

    def unseen_refusal(self, tensor: Tensor) -> NotImplementedError:
        """The refusal of what came about by operations that were not shown."""
        function = getattr(tensor.grad_fn, "_forward_cls", None)
        if function is not None:
            return self.refusal(function.__name__, ", an autograd function of the model's own")
        return self._hidden_refusal(f"runs {history_name(tensor)} and perhaps more out of sight")

    def _hidden_refusal(self, what: str) -> NotImplementedError:
        return NotImplementedError(
            f"{self.method} needs to see every operation, but {hidden_part(self.model)} {what}: "
            "use the nn.Module that it was made from, or a method that needs only gradients, such as 'coupled' or 'ig'."
        )

    def _quantised_refusal(self) -> NotImplementedError:
        return NotImplementedError(
            f"{self.method} needs a gradient, but the model quantises numbers that depend on the input: "
            "use the nn.Module in floats that it was made from, or a method without gradients, such as 'rise'."
        )

    def check(self, score: Tensor) -> None:
        """Refuse a score that came about unseen, at its end or by autograd functions of the model's own on the way."""
        todo: list[Any] = [score.grad_fn]
        seen = set()
        while todo:
            node = todo.pop()
            if node is not None and node not in seen:
                seen.add(node)
                todo += [parent for parent, _ in node.next_functions]
                function = getattr(node, "_forward_cls", RuleFunction)
                if function is not RuleFunction:
                    raise self.refusal(function.__name__, ", an autograd function of the model's own")
        if score.requires_grad and not self.sight.has_seen(score):
            raise self.unseen_refusal(score)
        self.sight.end()

    def by_gradient(self, call: Call) -> Any:
        """Torch's own gradient is the rule."""
        self.gradient_counts[call.name] += 1
        return call.native()

    def by_rule(self, call: Call, forward: Forward) -> Tensor:
        """A rule of the method's own, counted."""
        self.rule_counts[call.name] += 1
        return apply_rule(forward, *call.inputs)

    def on_rearrange(self, call: Call) -> Any:
        """Numbers that only change their place take their credit with them."""
        return call.native()

    def on_mask(self, call: Call) -> Any:
        """A choice between numbers, by a mask: each takes its credit with it."""
        return call.native()

    def on_dropout(self, call: Call) -> Any:
        """Dropout in evaluation mode does nothing."""
        return call.native()

    def _refuse(self, call: Call) -> Any:
        raise self.refusal(call.name)

    on_sum = on_linear = on_add = on_multiply = on_scale = on_elementwise = on_maximum = on_batch_norm = _refuse
    on_softmax = on_log_softmax = on_divide = on_layer_norm = on_group_norm = on_attention = _refuse

    @property
    def details(self) -> dict[str, dict[str, dict[str, int]]]:
        """What was covered, for the result."""
        return {"operations": {"by rule": dict(self.rule_counts), "by gradient": dict(self.gradient_counts)}}


TRAINING = {"dropout": (2, "train", False), "batch_norm": (5, "training", False)}
"""Where these operations are told that they train."""

_ASKS = {f"has_torch_function{end}": lambda *_: False for end in ("", "_unary", "_variadic")}


def unwrap_functional(function: FunctionType) -> FunctionType:
    """A function of `torch.nn.functional` that does not announce itself: its operations are seen one by one."""
    names = {**function.__globals__, **_ASKS}
    inner = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    inner.__kwdefaults__ = function.__kwdefaults__
    return inner


def _on_a_copy(func: Callable[..., Any]) -> Callable[..., Any]:
    return lambda first, *rest, **named: func(first.clone(), *rest, **named)


def _name(func: Any) -> str:
    return str(getattr(func, "__name__", func))
