"""Who is let in: the token, and no page of another site."""

from __future__ import annotations

from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from app_server import PATIENCE, TOKEN, Reply, RunningApp, running_app

PATHS = [
    ("GET", "/api/info"),
    ("GET", "/api/jobs"),
    ("POST", "/api/photos"),
    ("POST", "/api/jobs"),
    ("GET", "/nothing"),
]


@pytest.fixture(scope="module")
def app() -> Iterator[RunningApp]:
    with running_app() as running:
        yield running


@pytest.fixture(scope="module")
def demo() -> Iterator[RunningApp]:
    with running_app(demo=True) as running:
        yield running


def raw(app: RunningApp, method: str, path: str, host: str | None = None, **headers: str) -> Reply:
    """A request with these headers and no other, whatever `Host` it has."""
    connection = HTTPConnection("127.0.0.1", app.port, timeout=PATIENCE)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{app.port}")
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    response = connection.getresponse()
    reply = Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    connection.close()
    return reply


@pytest.mark.parametrize(("method", "path"), PATHS)
@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", "é", TOKEN.upper()])
def test_a_wrong_token_is_refused_everywhere(app: RunningApp, method: str, path: str, token: str | None) -> None:
    headers = {} if token is None else {"X_Samp_Token": token}
    reply = raw(app, method, path, **headers)
    assert reply.status == 403
    assert "use the address that `samp app` printed" in reply.error
    assert TOKEN.encode() not in reply.body


@pytest.mark.parametrize("query", ["", "?token=", "?token=wrong", f"?token={TOKEN}x", f"?Token={TOKEN}"])
def test_the_page_without_the_token_says_where_to_find_it(app: RunningApp, query: str) -> None:
    reply = raw(app, "GET", f"/{query}", X_Samp_Token=TOKEN)  # in a browser's address there are no headers
    assert reply.status == 403
    assert reply.headers["content-type"].startswith("text/html")
    assert "samp app" in reply.body.decode()


def test_the_page_with_the_token_and_its_files_without_are_there(app: RunningApp) -> None:
    assert raw(app, "GET", f"/?token={TOKEN}").status == 200
    script = raw(app, "GET", "/page/app.js")
    assert script.status == 200
    assert script.headers["content-type"].startswith("text/javascript")


@pytest.mark.parametrize("name", ["nothing.js", "..%2f__init__.py", "%2e%2e/%2e%2e/server.py", "app.html", "%00"])
def test_nothing_but_the_page_s_files_can_be_read(app: RunningApp, name: str) -> None:
    reply = raw(app, "GET", f"/page/{name}", X_Samp_Token=TOKEN)
    assert reply.status == 404
    assert reply.error


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "127.0.0.1", "localhost.evil:{port}"]
)
@pytest.mark.parametrize("path", ["/api/info", "/?token=" + TOKEN, "/page/app.js"])
def test_a_name_that_leads_here_without_being_ours_is_refused(app: RunningApp, host: str, path: str) -> None:
    reply = raw(app, "GET", path, host=host.format(port=app.port), X_Samp_Token=TOKEN)
    assert reply.status == 403


def test_localhost_is_ours_too(app: RunningApp) -> None:
    for host in (f"localhost:{app.port}", f"LOCALHOST:{app.port}", f"[::1]:{app.port}"):
        assert raw(app, "GET", "/api/info", host=host, X_Samp_Token=TOKEN).status == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://127.0.0.1", "file://"]
)
def test_a_request_from_a_page_of_another_site_is_refused_despite_the_token(app: RunningApp, origin: str) -> None:
    for method, path in PATHS:
        assert raw(app, method, path, Origin=origin, X_Samp_Token=TOKEN).status == 403
    assert raw(app, "GET", "/api/info", Origin=f"http://127.0.0.1:{app.port}", X_Samp_Token=TOKEN).status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "what-comes-next"])
def test_what_a_browser_calls_foreign_is_refused(app: RunningApp, site: str) -> None:
    for path in ("/api/info", "/page/app.js", f"/?token={TOKEN}"):
        assert raw(app, "GET", path, Sec_Fetch_Site=site, X_Samp_Token=TOKEN).status == 403
    for path in ("/api/info", "/page/app.js", f"/?token={TOKEN}"):
        assert raw(app, "GET", path, Sec_Fetch_Site="same-origin", X_Samp_Token=TOKEN).status == 200


def test_a_link_to_the_page_may_be_followed_but_not_framed(app: RunningApp) -> None:
    follow = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert raw(app, "GET", f"/?token={TOKEN}", **follow, Sec_Fetch_Dest="document").status == 200
    assert raw(app, "GET", f"/?token={TOKEN}", **follow, Sec_Fetch_Dest="iframe").status == 403
    assert raw(app, "GET", "/api/info", **follow, Sec_Fetch_Dest="document", X_Samp_Token=TOKEN).status == 403


def test_another_site_s_script_is_never_allowed_to_ask(app: RunningApp) -> None:
    reply = raw(app, "OPTIONS", "/api/jobs", Origin="https://evil.example", Access_Control_Request_Method="POST")
    assert reply.status == 403
    assert not [name for name in reply.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", ["/", f"/?token={TOKEN}", "/page/app.js", "/api/info", "/api/jobs/none", "/none"])
def test_every_response_forbids_what_the_page_does_not_need(app: RunningApp, path: str) -> None:
    headers = raw(app, "GET", path, X_Samp_Token=TOKEN).headers
    policy = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["x-frame-options"] == "DENY"
    assert "server" not in headers


def test_methods_and_places_that_do_not_exist_are_refused_in_json(app: RunningApp) -> None:
    assert app.call("GET", "/api/nothing").error.startswith("there is nothing at '/api/nothing'")
    assert app.call("DELETE", "/api/info").status in (404, 405)
    assert app.call("DELETE", "/api/info").error


def test_a_demo_needs_no_token_and_takes_no_photos_of_others(demo: RunningApp) -> None:
    assert raw(demo, "GET", "/", host="a-space.example").status == 200
    info = raw(demo, "GET", "/api/info", host="a-space.example").json
    assert info["demo"] is True
    assert [photo["id"] for photo in info["photos"]] == ["coffee", "chelsea"]
    reply = demo.call("POST", "/api/photos", Path("src/samp/data/coffee.jpg").read_bytes())
    assert reply.status == 403
    assert "demo" in reply.error
    job = demo.submit(methods=["ig"])
    assert demo.follow(job)[-1]["type"] == "done"
    assert demo.call("GET", "/api/jobs").json == {"jobs": []}, "nobody is told what others do"
    assert raw(demo, "POST", "/api/jobs", Origin="https://evil.example").status == 403


def test_a_demo_may_be_shown_in_a_frame_as_hosts_of_demos_do(demo: RunningApp) -> None:
    follow = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}
    reply = raw(demo, "GET", "/", **follow)
    assert reply.status == 200
    assert "frame-ancestors" not in reply.headers["content-security-policy"]
    assert "x-frame-options" not in reply.headers
