"""Jobs of the app: one after the other, watched by anyone at any time, and stopped when nobody wants them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from app_server import RunningApp, running_app
from samp.app.limits import Limits

ENDINGS = ("done", "failed", "cancelled")


@pytest.fixture
def app() -> Iterator[RunningApp]:
    with running_app() as running:
        yield running


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def of_kind(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == kind]


def test_a_job_tells_every_step_of_its_way_and_ends_with_its_result(app: RunningApp) -> None:
    job = app.submit(methods=["consensus"], quality="draft")
    events = app.follow(job)
    assert kinds(events)[:3] == ["queued", "started", "asked"]
    assert kinds(events)[-2:] == ["result", "done"]
    numbers = [event["n"] for event in events]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 1
    ends = {(event["walk"], event["direction"]) for event in of_kind(events, "frame") if event["moved"] == 1}
    assert ends >= {(1, "to_image"), (1, "to_baseline")}, "the end of the last walk is always shown"
    last = of_kind(events, "result")[-1]["result"]
    assert last["final"] is True
    assert last["walks"] == 2
    assert app.describe(job)["state"] == "done"
    assert app.describe(job)["label"] == last["label"] == of_kind(events, "asked")[0]["label"]


def test_the_evaluations_that_are_told_are_those_that_were_made(app: RunningApp) -> None:
    app.held.rows = 0
    events = app.follow(app.submit(methods=["consensus"], quality="draft"))
    last = of_kind(events, "result")[-1]["result"]
    told = of_kind(events, "progress")[-1]
    assert told["share"] == 1
    assert told["evaluations"] == last["gradients"] + last["forwards"] - 0
    assert app.held.rows == told["evaluations"] + 1 + 3  # the prediction; the region, all but it, and all blurred


def test_jobs_are_computed_in_the_order_they_came_one_at_a_time(app: RunningApp) -> None:
    app.held.hold(before=3)
    first, second, third = (app.submit(methods=["ig"]) for _ in range(3))
    app.held.wait_until_held()
    assert [app.describe(job)["state"] for job in (first, second, third)] == ["running", "queued", "queued"]
    listed = [entry["job"] for entry in app.call("GET", "/api/jobs").json["jobs"]]
    assert listed[:3] == [third, second, first]
    watching = app.events(third)
    first_event = next(watching)  # not the first that there was, if the queue was slow to begin
    assert (first_event["type"], first_event["ahead"]) == ("queued", 2)
    app.held.let_go()
    later = list(watching)
    assert [event["ahead"] for event in of_kind(later, "queued")] in ([1], [1, 1], [])  # the latest alone is kept
    assert kinds(later)[-1] == "done"
    assert [app.describe(job)["state"] for job in (first, second, third)] == ["done"] * 3


def test_a_cancelled_walk_stops_at_its_next_step_and_the_next_job_runs(app: RunningApp) -> None:
    app.held.hold(before=5)
    job = app.submit(methods=["consensus"], quality="fine")
    following = app.submit(methods=["ig"], model="other")
    app.held.wait_until_held()
    reply = app.call("DELETE", f"/api/jobs/{job}")
    assert reply.status == 200
    assert app.describe(job)["state"] == "running", "it stops at its next step, not in the middle of a call"
    app.held.let_go()
    assert kinds(app.follow(job))[-1] == "cancelled"
    assert kinds(app.follow(following))[-1] == "done"
    assert app.held.calls == 5, "no evaluation after the one that ran when it was cancelled"
    assert app.describe(job)["state"] == "cancelled"
    assert app.call("GET", f"/api/jobs/{job}/export/consensus.npz").status == 404


def test_a_method_that_does_not_walk_is_cancelled_too(app: RunningApp) -> None:
    app.held.hold(before=4)
    job = app.submit(methods=["rise"])
    app.held.wait_until_held()
    app.call("DELETE", f"/api/jobs/{job}")
    app.held.let_go()
    assert kinds(app.follow(job))[-1] == "cancelled"
    assert app.held.calls == 4


def test_a_job_that_waits_is_cancelled_at_once_and_the_others_move_up(app: RunningApp) -> None:
    app.held.hold(before=3)
    first, second, third = (app.submit(methods=["ig"]) for _ in range(3))
    app.held.wait_until_held()
    app.call("DELETE", f"/api/jobs/{second}")
    assert kinds(app.follow(second)) == ["queued", "cancelled"]
    assert next(app.events(third))["ahead"] == 1
    app.held.let_go()
    assert [kinds(app.follow(job))[-1] for job in (first, third)] == ["done", "done"]


def test_cancelling_what_has_ended_changes_nothing(app: RunningApp) -> None:
    job = app.submit(methods=["ig"])
    app.follow(job)
    before = app.follow(job)
    assert app.call("DELETE", f"/api/jobs/{job}").json["state"] == "done"
    assert app.follow(job) == before


def test_a_page_that_is_refreshed_in_the_middle_sees_the_rest_and_the_latest_of_what_was(app: RunningApp) -> None:
    app.held.hold(before=20)
    job = app.submit(methods=["consensus"], quality="standard")
    before: list[dict[str, Any]] = []
    watching = app.events(job)
    for event in watching:
        before.append(event)
        if len(of_kind(before, "frame")) == 4:
            break
    watching.close()  # the tab goes away
    app.held.wait_until_held()
    anew = app.events(job)
    again = [next(anew) for _ in range(3)]
    assert [event["type"] for event in again] == ["queued", "started", "asked"]
    app.held.let_go()
    later = app.follow(job, after=before[-1]["n"])
    assert all(event["n"] > before[-1]["n"] for event in later)
    assert kinds(later)[-1] == "done"
    assert list(anew)[-1] == later[-1]


def test_two_tabs_see_the_same(app: RunningApp) -> None:
    app.held.hold(before=10)
    job = app.submit(methods=["samp++", "gradientxinput"])
    one, two = app.events(job), app.events(job)
    first = next(one), next(two)
    assert first[0] == first[1]
    app.held.let_go()
    seen = [{event["n"]: event for event in tab} for tab in (one, two)]
    both = seen[0].keys() & seen[1].keys()
    assert all(seen[0][n] == seen[1][n] for n in both)
    assert len(of_kind(list(seen[0].values()), "result")) == len(of_kind(list(seen[1].values()), "result")) == 2


def test_after_the_end_the_last_frame_and_the_result_of_each_method_can_be_had_again(app: RunningApp) -> None:
    job = app.submit(methods=["consensus", "ig-both"], quality="draft")
    app.follow(job)
    again = app.follow(job)
    frames = [(event["method"], event["direction"], event["moved"]) for event in of_kind(again, "frame")]
    assert sorted(frames) == [
        (method, direction, 1.0) for method in ("consensus", "ig-both") for direction in ("to_baseline", "to_image")
    ]
    assert [event["method"] for event in of_kind(again, "result")] == ["consensus", "ig-both"]


def test_a_model_that_raises_fails_its_job_in_a_sentence_and_the_next_has_its_turn(app: RunningApp) -> None:
    failing, following = app.submit(model="raising", methods=["ig"]), app.submit(methods=["ig"])
    events = app.follow(failing)
    assert events[-1]["type"] == "failed"
    assert events[-1]["error"] == "unexpected LookupError (the third layer is missing)"
    assert app.describe(failing)["state"] == "failed"
    assert kinds(app.follow(following))[-1] == "done"


def test_of_several_methods_one_that_fails_leaves_the_others_alone(app: RunningApp) -> None:
    job = app.submit(methods=["attentionrollout", "ig"])
    events = app.follow(job)
    (failed,) = of_kind(events, "failed")
    assert failed["method"] == "attentionrollout"
    assert [event["method"] for event in of_kind(events, "result")] == ["ig"]
    assert events[-1]["type"] == "done"


def test_a_class_that_the_model_does_not_have_fails_in_a_sentence(app: RunningApp) -> None:
    events = app.follow(app.submit(target=5, methods=["ig"]))
    assert events[-1]["type"] == "failed"
    assert "target 5 is out of range" in events[-1]["error"]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"methods": ["ig"] * 2}, "each method once"),
        ({"methods": ["integrated-gradients", "ig"]}, "each method once"),
        ({"methods": []}, "methods are 1 to 4 names"),
        ({"methods": ["ig", "samp", "samp++", "lrp", "rise"]}, "methods are 1 to 4 names"),
        ({"methods": ["nonsense"]}, "unknown method 'nonsense'"),
        ({"methods": "ig"}, "methods are 1 to 4 names"),
        ({"target": "cup"}, "target is the number of a class"),
        ({"target": True}, "target is the number of a class"),
        ({"quality": "superb"}, "unknown quality 'superb'"),
        ({"quality": 3}, "quality"),
        ({"seed": -1}, "seed is a whole number"),
        ({"seed": 2**63}, "seed is a whole number"),
        ({"seed": 0.5}, "seed is a whole number"),
    ],
)
def test_what_is_no_question_is_refused_in_a_sentence(app: RunningApp, asked: dict[str, Any], sentence: str) -> None:
    reply = app.call("POST", "/api/jobs", {"photo": "coffee", "model": "held", **asked})
    assert reply.status == 400
    assert sentence in reply.error


@pytest.mark.parametrize("asked", [{"photo": "cake"}, {"photo": None}, {"photo": []}, {"model": "gpt"}, {"model": []}])
def test_what_is_not_here_is_not_found(app: RunningApp, asked: dict[str, Any]) -> None:
    assert app.call("POST", "/api/jobs", {"photo": "coffee", "model": "held", **asked}).status == 404


def test_other_requests_are_answered_while_a_job_computes(app: RunningApp) -> None:
    app.held.hold(before=5)
    job = app.submit(methods=["consensus"])
    app.held.wait_until_held()
    assert app.call("GET", "/api/info").status == 200
    assert app.call("POST", "/api/predict", {"photo": "chelsea", "model": "other"}).status == 200
    assert app.call("GET", "/api/classes?model=other&q=cat").json["classes"] == [{"index": 4, "label": "Egyptian cat"}]
    assert app.describe(job)["state"] == "running", "all of that was answered meanwhile"
    app.held.let_go()
    app.follow(job)


def test_a_prediction_by_the_same_model_is_neither_counted_nor_cancelled_with_the_job(app: RunningApp) -> None:
    app.held.hold(before=6)
    job = app.submit(methods=["consensus"])
    app.held.wait_until_held()
    app.call("DELETE", f"/api/jobs/{job}")
    app.held.stop_before = None  # the job's call still waits, others do not
    assert app.call("POST", "/api/predict", {"photo": "coffee", "model": "held"}).status == 200
    app.held.let_go()
    assert kinds(app.follow(job))[-1] == "cancelled"


def test_a_full_queue_is_told_and_old_jobs_are_forgotten() -> None:
    with running_app(Limits(waiting=2, history=2)) as app:
        app.held.hold(before=3)
        jobs = [app.submit(methods=["ig"])]
        app.held.wait_until_held()
        jobs += [app.submit(methods=["ig"]), app.submit(methods=["ig"])]
        reply = app.call("POST", "/api/jobs", {"photo": "coffee", "model": "held", "methods": ["ig"]})
        assert reply.status == 429
        assert "2 jobs are waiting" in reply.error
        app.held.let_go()
        app.follow(jobs[-1])
        assert [entry["job"] for entry in app.call("GET", "/api/jobs").json["jobs"]] == jobs[:0:-1]
        assert app.call("GET", f"/api/jobs/{jobs[0]}/events").status == 404


def test_a_job_that_takes_longer_than_it_may_ends_with_a_sentence() -> None:
    with running_app(Limits(seconds=0.0)) as app:
        events = app.follow(app.submit(methods=["consensus"]))
        assert events[-1]["type"] == "failed"
        assert "takes longer than a job may here" in events[-1]["error"]


def test_closing_the_server_stops_the_walk_and_ends_the_streams() -> None:
    with running_app() as app:
        app.held.hold(before=5)
        job = app.submit(methods=["consensus"], quality="fine")
        waiting = app.submit(methods=["ig"])
        watching = app.events(job)
        next(watching)
        app.held.wait_until_held()
        held, state = app.held, app.state
    assert held.calls == 5
    assert [state.queue.jobs[one].state for one in (job, waiting)] == ["cancelled", "cancelled"]
