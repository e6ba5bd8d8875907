"""Computing a job: each of its methods in turn, with events on the way and a result in the end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import samp
from samp.app.jobs import CancelledError, Job, JobTooLongError
from samp.app.nets import Nets
from samp.app.outcomes import Outcome
from samp.app.refusals import error_sentence
from samp.app.results import describe_result
from samp.app.spectator import Spectator
from samp.attribution import Attribution
from samp.html.facts import ExplainedPhoto, facts
from samp.methods import Method, resolve_method
from samp.methods.cost import expected_rows
from samp.models.answers import ask_about_region, read_answers
from samp.models.prediction import ClassifiedPhoto
from samp.region import Region, region_of


def compute_job(job: Job, nets: Nets) -> None:
    """Explain the photo by each method of the job; one that fails is told of, and the others have their turn.

    Raises what the model raises, what the methods raise if none of them has a result, and CancelledError.
    """
    question = job.question
    classified = nets.classify(question.model, question.photo, question.target)
    (target,) = classified.targets
    job.label = classified.classifier.label(target)
    said = target == int(classified.scores.argmax())
    job.log.add("asked", label=job.label, index=target, said=said)
    errors = []
    for name in question.methods:
        try:
            job.check()
            job.outcomes[name] = _explain_by(job, name, classified)
        except (CancelledError, JobTooLongError):
            raise
        except Exception as error:  # a model of the visitor's raises what it likes
            errors.append(error)
            job.log.add("failed", method=name, error=error_sentence(error))
    if not job.outcomes:
        raise errors[0]


def method_by_name(name: str, quality: str) -> Method:
    """Return the method of this name at this quality, which only those of samp's own have.

    >>> method_by_name("coupled", "draft").quality, method_by_name("ig", "draft").steps
    ('draft', 50)
    """
    method: Any = resolve_method(name)
    changed: Method = replace(method, quality=quality) if hasattr(method, "quality") else method
    return changed


def rounds_of(method: samp.Consensus) -> tuple[int, ...]:
    """Return after how many walks there is a result to show: 1, 2, 4, … and all.

    >>> rounds_of(samp.Consensus("standard")), rounds_of(samp.Consensus(walks=3))
    ((1, 2, 4), (1, 2, 3))
    """
    walks = method.resolve_settings().walks
    return (*(number for number in (1, 2, 4, 8) if number < walks), walks)


def _explain_by(job: Job, name: str, classified: ClassifiedPhoto) -> Outcome:
    """Return the final result of one method; its events tell every step of the way."""
    method, net = method_by_name(name, job.question.quality), classified.classifier.net
    spectator = Spectator(job, name, classified, expected_rows(method, *classified.classifier.shape))
    rounds = rounds_of(method) if isinstance(method, samp.Consensus) else (1,)
    results = _results(method, rounds, classified, job.question.seed, spectator)
    seconds = 0.0
    for number in range(1, len(rounds) + 1):
        started = time.perf_counter()
        with spectator.watch(net):
            result = next(results)
        seconds += time.perf_counter() - started
        final = number == len(rounds)
        if final:
            spectator.tell_end()
        explained, region = _make_explained(classified, result, seconds, final)
        job.log.add("result", method=name, result=describe_result(explained, region, number, final))
    return Outcome.of(job.question.photo, explained)


def _results(
    method: Method, rounds: Sequence[int], classified: ClassifiedPhoto, seed: int, spectator: Spectator
) -> Iterator[Attribution]:
    """Yield ever clearer results of a mean of walks, of any other method the one that there is."""
    net = classified.classifier.net
    given: dict[str, Any] = {"target": list(classified.targets), "seed": seed, "on_step": spectator.show}
    if isinstance(method, samp.Consensus):
        yield from samp.explain_gradually(net, classified.x, method=replace(method, walks=None), rounds=rounds, **given)
    else:
        yield samp.explain(net, classified.x, method=method, **given)


def _make_explained(
    classified: ClassifiedPhoto, result: Attribution, seconds: float, final: bool
) -> tuple[ExplainedPhoto, Region]:
    """Return the photo with this result; the model is asked about the region of the final one alone."""
    region, target = region_of(result), classified.targets[0]
    if final:
        answers = ask_about_region(classified, region, target)
    else:
        answers = read_answers(classified.classifier, classified.scores[None], target)
    record = facts(classified, result, 0, seconds, (region, answers))
    return ExplainedPhoto(classified, result, (answers,), (record,)), region
