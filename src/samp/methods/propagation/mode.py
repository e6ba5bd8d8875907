"""One mechanism for all propagation methods: every operation of the model gets its own backward rule.

While a `Propagation` is active, torch passes it each operation before it runs. Only what depends on the explained
input carry a gradient, since parameters are detached when an operation receives them. The model is neither hooked,
copied nor rewritten: reused modules, functional and in-place activations and residual sums are operations like any
other. An operation that bypasses the mode (see `tracking`) is refused, because it would silently keep torch's own
gradient and the map would be another method's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any, cast

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten

from samp.methods.propagation.hidden_operations import describe_hidden_part, program_operation
from samp.methods.propagation.operation_call import (
    Call,
    Forward,
    RuleFunction,
    apply_rule,
    as_masked_fill,
    depends_on_input,
)
from samp.methods.propagation.operation_kinds import KINDS, POINTWISE, canonical
from samp.methods.propagation.tracking import TensorTracker, history_name
from samp.targets import Model


class Propagation(TorchFunctionMode):
    """Dispatches each operation to the method for its kind, `on_KIND`; an operation without a rule is refused.

    A subclass is a propagation method: it overrides `on_KIND` for the kinds that it has a rule for. `rule_counts`
    counts the operations of each name that went by a rule of the method's own, `gradient_counts` those for which
    torch's gradient is the rule: without a count, a rule that never fires looks just like one that works.
    """

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method = method
        self.rule_counts: Counter[str] = Counter()
        self.gradient_counts: Counter[str] = Counter()
        self.tracker = TensorTracker()
        self.model: Model | None = None

    def begin(self, model: Model, leaf: Tensor) -> None:
        """Prepare for a forward pass of this model from this leaf."""
        self.model = model
        self.tracker.begin(leaf)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        """Run an operation under its rule; torch calls this in place of every operation."""
        if torch.compiler.is_compiling():  # torch.compile would build the rules into the user's compiled code
            raise NotImplementedError(f"{self.method} does not work in compiled code: use the model without it.")
        if _name(func) == "__set__":  # torch sets attributes with the tensor locked: inspecting it would deadlock
            return func(*args, **(kwargs or {}))
        values, spec = tree_flatten((args, kwargs or {}))
        call = as_masked_fill(Call(canonical(_name(func))[0], func, tuple(map(self._as_input, values)), spec))
        result = self._run(call)
        self._record(call, result)
        return result

    def _as_input(self, value: object) -> object:
        """Detach what does not depend on the explained input, such as parameters; raise for a tensor made unseen."""
        if not isinstance(value, Tensor) or not value.requires_grad:
            return value
        if value.is_leaf or not (self.tracker.has_seen(value) or self.tracker.depends_on_leaf(value)):
            return value.detach()
        if not self.tracker.has_seen(value):
            raise self.bypass_error(value)
        return value

    def _run(self, call: Call) -> object:
        if not call.input_positions:
            return call.run()
        if call.name in ("grad", "backward"):
            raise self.no_rule_error(call.name, ", a gradient inside the model")
        program = program_operation(call.func)
        if program.startswith("quantized::"):
            raise self._quantised_error()
        if program:
            raise self._hidden_error(f"runs {program}, which exported programs are made of")
        if KINDS.get(call.name) != "maximum" and getattr(call.func, "__module__", None) == "torch.nn.functional":
            with self:
                return replace(call, func=unwrap_functional(cast(FunctionType, call.func))).run()
        in_place = canonical(_name(call.func))[1]
        return self._apply_in_place(call) if in_place and KINDS.get(call.name) != "rearrange" else self.dispatch(call)

    def _record(self, call: Call, result: object) -> None:
        """Record what the operation made and changed, with and without a gradient."""
        made = [value for value in tree_flatten(result)[0] if isinstance(value, Tensor)]
        if any(value.is_quantized for value in made) and call.input_positions:
            raise self._quantised_error()
        for value in (*call.flat_args, *made):
            self.tracker.record(value)
        self._record_detached(call, made)

    def _record_detached(self, call: Call, made: Sequence[Tensor]) -> None:
        if call.name.endswith("_like") or call.name.startswith("new_"):
            return  # only the shape is the input's
        detached = [value for value in call.flat_args if self.tracker.is_detached(value)]
        if not (call.input_positions or detached):
            return
        in_place = call.name == "setitem" or canonical(_name(call.func))[1]
        for value in (*made, *(call.flat_args[:1] if in_place else ())):
            if isinstance(value, Tensor) and not value.requires_grad:
                self.tracker.record_detached(value, self._source(call, detached, value))

    def _source(self, call: Call, detached: Sequence[Tensor], value: Tensor) -> Tensor | None:
        """Return the one tensor that a detached value is a function of, element by element; None if there is none."""
        origins = [*call.inputs, *map(self.tracker.source, detached)]
        origin = origins[0]
        if origin is None or any(other is not origin for other in origins):
            return None
        if origin.shape == value.shape and call.name in POINTWISE:
            return origin
        if KINDS.get(call.name) != "rearrange" or call.inputs or len(detached) != 1:
            return None
        values = tuple(origin if one is detached[0] else one for one in call.flat_args)
        with self:  # a detached tensor that is rearranged has as its source the same rearrangement of its source
            moved = replace(call, flat_args=values).run()
        return moved if isinstance(moved, Tensor) and moved.shape == value.shape else None

    def _apply_in_place(self, call: Call) -> Tensor:
        """Apply the rule to a copy, and write its result over the original.

        The rule must not hold the original, whose gradient then comes by the rule: such a cycle would never be freed.
        """
        target = cast(Tensor, call.flat_args[0])
        values = (target.clone(), *call.flat_args[1:])
        self.tracker.record(values[0])
        fresh = replace(call, flat_args=values, func=_on_a_copy(call.func))
        return target.copy_(cast(Tensor, self.dispatch(fresh)))

    def dispatch(self, call: Call) -> object:
        """Return the result of the operation under the rule for its kind."""
        kind = KINDS.get(call.name)
        if kind is None:
            return self.on_unknown(call)
        if kind in ("dropout", "batch_norm") and call.argument(*TRAINING[kind]):
            raise ValueError(f"{self.method} needs fixed statistics, but {call.name} is training: call model.eval().")
        rule: Callable[[Call], object] = getattr(self, f"on_{kind}")
        return rule(call)

    def on_unknown(self, call: Call) -> object:
        """Return results without a gradient (a shape, the place of a maximum), which need no rule; refuse others."""
        result = call.run()
        has_gradient = any(map(depends_on_input, tree_flatten(result)[0]))
        if has_gradient and call.name != "get":  # views such as x.T come by __get__
            raise self.no_rule_error(call.name)
        return result

    def no_rule_error(self, operation: str, why: str = "") -> NotImplementedError:
        """Return the error for an operation without a rule."""
        return NotImplementedError(
            f"{self.method} has no rule for the operation {operation}{why}: "
            "use a method that needs only gradients, such as 'consensus' or 'ig', or write the model without it."
        )

    def bypass_error(self, tensor: Tensor) -> NotImplementedError:
        """Return the error for a tensor that was made by an operation that the mode did not see."""
        function = getattr(tensor.grad_fn, "_forward_cls", None)
        if function is not None:
            return self.no_rule_error(function.__name__, ", an autograd function of the model's own")
        return self._hidden_error(f"runs {history_name(tensor)} and perhaps more out of sight")

    def _hidden_error(self, what: str) -> NotImplementedError:
        return NotImplementedError(
            f"{self.method} needs to see every operation, but {describe_hidden_part(self.model)} {what}: "
            "use the nn.Module that it was made from, or a method that needs only gradients, such as "
            "'consensus' or 'ig'."
        )

    def _quantised_error(self) -> NotImplementedError:
        return NotImplementedError(
            f"{self.method} needs a gradient, but the model quantises numbers that depend on the input: "
            "use the nn.Module in floats that it was made from, or a method without gradients, such as 'rise'."
        )

    def on_output(self) -> None:
        """Called between the model, whose output is there, and the target, which makes a score of it.

        Rules hold for both, unless a method says otherwise.
        """

    def check_score(self, score: Tensor) -> None:
        """Raise NotImplementedError if an autograd function of the model's own, or a last unseen operation, made it.

        Ends the tracking of this forward pass.
        """
        todo = [score.grad_fn]
        seen = set()
        while todo:
            node = todo.pop()
            if node is not None and node not in seen:
                seen.add(node)
                todo += [parent for parent, _ in node.next_functions]
                function = getattr(node, "_forward_cls", RuleFunction)
                if function is not RuleFunction:
                    raise self.no_rule_error(function.__name__, ", an autograd function of the model's own")
        if score.requires_grad and not self.tracker.has_seen(score):
            raise self.bypass_error(score)
        self.tracker.end()

    def use_gradient(self, call: Call) -> object:
        """Run the operation with torch's own gradient as its rule, and count it."""
        self.gradient_counts[call.name] += 1
        return call.run()

    def use_rule(self, call: Call, forward: Forward) -> Tensor:
        """Run the operation with a rule of the method's own, and count it."""
        self.rule_counts[call.name] += 1
        return apply_rule(forward, *call.inputs)

    def on_rearrange(self, call: Call) -> object:
        """Numbers that only change their place take their credit with them."""
        return call.run()

    def on_mask(self, call: Call) -> object:
        """A mask chooses between numbers, and each takes its credit with it."""
        return call.run()

    def on_add_product(self, call: Call) -> object:
        """Run y + a·b as its product and its sum."""
        args, factors = call.args_and_kwargs
        total, left, right = args
        with self:
            return torch.add(total * factors.get("beta", 1), torch.matmul(left, right), alpha=factors.get("alpha", 1))

    def on_dropout(self, call: Call) -> object:
        """Dropout in evaluation mode does nothing."""
        return call.run()

    def _refuse(self, call: Call) -> object:
        raise self.no_rule_error(call.name)

    on_sum = on_linear = on_add = on_multiply = on_scale = on_elementwise = on_maximum = on_batch_norm = _refuse
    on_softmax = on_log_softmax = on_divide = on_layer_norm = on_group_norm = on_rms_norm = on_attention = _refuse

    @property
    def details(self) -> dict[str, dict[str, dict[str, int]]]:
        """How many operations of each name went by a rule and by the gradient, for the result's details."""
        return {"operations": {"by rule": dict(self.rule_counts), "by gradient": dict(self.gradient_counts)}}


TRAINING = {"dropout": (2, "train", False), "batch_norm": (5, "training", False)}
"""The argument that puts these operations into training mode: its position, name and default."""

_NO_OVERRIDES = {f"has_torch_function{end}": lambda *_: False for end in ("", "_unary", "_variadic")}


def unwrap_functional(function: FunctionType) -> FunctionType:
    """Return a function of `torch.nn.functional` that calls no mode for itself, only for each of its operations."""
    names = {**function.__globals__, **_NO_OVERRIDES}
    inner = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    inner.__kwdefaults__ = function.__kwdefaults__
    return inner


def _on_a_copy(func: Callable[..., Any]) -> Callable[..., Any]:
    return lambda first, *rest, **named: func(first.clone(), *rest, **named)


def _name(func: Callable[..., Any]) -> str:
    return str(getattr(func, "__name__", func))
