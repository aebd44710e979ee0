"""The server of a review refuses what does not come from its own page."""

import json
import re

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")
pytest.importorskip("jinja2")
pytest.importorskip("uvicorn")

import anyio
import httpx

from isthmus.view.review.server import HEADERS, LARGEST_BODY, TYPES, make_app
from reviews import make_review, true_verdict

HOST, TOKEN = "127.0.0.1:8000", "secret-token"
ORIGIN = f"http://{HOST}"


class Visitor:
    """Requests to the application, without a socket."""

    def __init__(self, review):
        self.app = make_app(review, "a & <b>", frozenset({HOST}), TOKEN)

    def ask(self, method, path, **more):
        async def work():
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url=ORIGIN) as client:
                return await client.request(method, path, **more)

        return anyio.run(work)

    def act(self, headers=None, path=f"/{TOKEN}/act", **words):
        given = {"origin": ORIGIN, "content-type": "application/json"} | (headers or {})
        given = {name: value for name, value in given.items() if value is not None}
        return self.ask("POST", path, content=json.dumps(words), headers=given)


@pytest.fixture
def review(tmp_path):
    found = make_review(tmp_path / "decisions.csv")
    yield found
    found.log.close()


@pytest.fixture
def visitor(review):
    return Visitor(review)


def test_the_page_and_its_parts_are_there_and_nothing_else(visitor):
    page = visitor.ask("GET", f"/{TOKEN}/")
    assert page.status_code == 200
    assert "a &amp; &lt;b&gt;" in page.text
    assert {name: page.headers[name] for name in HEADERS} == HEADERS
    assert set(re.findall(r'(?:src|href)="([^"]*)"', page.text)) == {"review.js", "review.css", "data:,"}
    for name, kind in TYPES.items():
        part = visitor.ask("GET", f"/{TOKEN}/{name}")
        assert (part.status_code, part.headers["content-type"].partition(";")[0]) == (200, kind)
    script = visitor.ask("GET", f"/{TOKEN}/review.js").text
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|eval\(|https?:", script)
    outside = ["session.py", "review.html.j2", "..%2fsession.py", "%2e%2e/server.py", "a/b", "act"]
    for path in outside:
        assert visitor.ask("GET", f"/{TOKEN}/{path}").status_code in (403, 404, 405), path


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:8001", "localhost.evil.example:8000", ""])
def test_another_host_is_refused(visitor, host):
    for method, path in (("GET", f"/{TOKEN}/"), ("POST", f"/{TOKEN}/act")):
        answer = visitor.ask(method, path, headers={"host": host})
        assert answer.status_code == 421
        assert TOKEN not in answer.text


@pytest.mark.parametrize(
    "path", ["/", "/act", "/review.js", "/secret-toke/", "/secret-token2/", "//secret-token/", "/é/"]
)
def test_without_the_token_nothing_is_told(visitor, path):
    answer = visitor.ask("GET", path)
    assert answer.status_code == 403
    assert TOKEN not in answer.text
    assert visitor.act(path=path, action="state").status_code == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": None}, 403),
        ({"origin": f"https://{HOST}"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": None}, 415),
    ],
)
def test_posts_of_other_sites_are_refused(visitor, review, headers, status):
    question = review.state()["question"]
    words = {"source": question["source"], "target": question["target"], "verdict": "y"}
    assert visitor.act(headers, action="answer", **words).status_code == status
    assert len(review.log) == 0


def test_a_large_body_is_refused_whatever_it_says_of_its_size(visitor, review):
    large = "x" * (LARGEST_BODY + 1)
    assert visitor.act(action="state", force=large).status_code == 413
    given = {"origin": ORIGIN, "content-type": "application/json"}

    async def pieces():
        for _ in range(LARGEST_BODY // 1000 + 2):
            yield b"x" * 1000

    assert visitor.ask("POST", f"/{TOKEN}/act", content=pieces(), headers=given).status_code == 413


@pytest.mark.parametrize("content", [b"", b"[", b"[]", b"3", b'{"tab": 1}', b"[" * 9000, b"\xff"])
def test_other_bodies_are_refused(visitor, content):
    given = {"origin": ORIGIN, "content-type": "application/json"}
    assert visitor.ask("POST", f"/{TOKEN}/act", content=content, headers=given).status_code == 400


def test_answers_undo_and_errors(visitor, review):
    state = visitor.act(action="state").json()
    for _ in range(4):
        question = state["question"]
        words = {"source": question["source"], "target": question["target"], "verdict": true_verdict(question)}
        state = visitor.act(action="answer", **words).json()
    assert state["answered"] == 4
    assert visitor.act(action="undo").json()["answered"] == 3
    for words in ({"action": "dance"}, {"action": "answer", "source": "a0", "target": "zz", "verdict": "y"}):
        answer = visitor.act(**words)
        assert answer.status_code == 400
        assert answer.json()["problem"].endswith(".")
