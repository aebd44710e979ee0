"""The server of a review: one page for this machine only, at an address that nobody can guess.

Every request must name this machine as its host, and have the token of the address in its path. What changes
something must also come from the page itself (``Origin``), be JSON and be small. The content policy of the page
allows nothing but the server's own script and style; nothing is requested from elsewhere.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import webbrowser
from collections.abc import Callable
from typing import Any

from isthmus.exceptions import InputError, import_extra
from isthmus.view.review.session import Review

LOOPBACK = "127.0.0.1"
# Bytes of the body of a request, at most: an answer is two ids and a verdict.
LARGEST_BODY = 16_384
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
PAGE = "page"
TYPES = {PAGE: "text/html", "review.js": "text/javascript", "review.css": "text/css"}


def find_refusal(request: Any, hosts: frozenset[str], token: str) -> tuple[int, str] | None:
    """Return the status and the reason for which a request is refused; None where it comes from the page."""
    headers, host = request.headers, request.headers.get("host", "")
    if host not in hosts:
        return 421, "this server answers to its own address only"
    given = request.url.path.split("/")[1]
    if not hmac.compare_digest(given.encode("utf-8", "replace"), token.encode()):
        return 403, "the address lacks the token that `isthmus review` printed"
    foreign = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
    if foreign or (request.method == "POST" and headers.get("origin") != f"http://{host}"):
        return 403, "requests of other sites are refused"
    if request.method == "POST" and headers.get("content-type", "").partition(";")[0] != "application/json":
        return 415, "expected JSON"
    return None


def render_pages(title: str, kind: str) -> dict[str, str]:
    """Return the page, and its script and style, which are no templates."""
    jinja2 = import_extra("jinja2", "review", "The review page needs")
    loader = jinja2.PackageLoader(__package__)
    templates = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    plain = {name: str(loader.get_source(templates, name)[0]) for name in TYPES if name != PAGE}
    return plain | {PAGE: str(templates.get_template("review.html.j2").render(title=title, kind=kind))}


class Writer:
    """What tabs of the page want, done for one of them at a time."""

    def __init__(self, review: Review) -> None:
        self.review: Review = review
        self.tab: str = ""

    def act(self, words: Any) -> tuple[int, dict[str, Any]]:
        """Do what a tab wants, and return the status and the state of the review."""
        if not isinstance(words, dict) or not all(isinstance(value, str) for value in words.values()):
            return 400, {"problem": "expected an object of texts"}
        tab, action = words.get("tab", ""), words.get("action", "")
        if action == "claim" and tab and (not self.tab or words.get("force") == "yes"):
            self.tab = tab
        if action == "release" and tab == self.tab:
            self.tab = ""
            return 200, {}
        if not tab or tab != self.tab:
            # A tab that only looks is told; one that wants to write is refused.
            return 200 if action in ("claim", "state") else 409, {"elsewhere": True}
        try:
            if action == "answer":
                self.review.answer(words.get("source", ""), words.get("target", ""), words.get("verdict", ""))
            elif action == "undo":
                self.review.undo()
            elif action == "again":
                self.review.start()
            elif action not in ("claim", "state"):
                raise InputError(f"action: expected one of the page's, got {action!r:.40}.")
        except InputError as error:
            return 400, {"problem": str(error)}
        except OSError as error:
            return 500, {"problem": f"{self.review.log.path}: could not write the answer: {error.strerror}."}
        return 200, self.review.state()


def make_app(review: Review, title: str, hosts: frozenset[str], token: str) -> Any:
    """Return the application: the page, its script and style, and one place for what it wants."""
    import_extra("starlette", "review", "The review page needs")
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    pages, writer = render_pages(title, review.task.kind), Writer(review)

    async def guard(request: Any, answer: Any) -> Any:
        refusal = find_refusal(request, hosts, token)
        response = await answer(request) if refusal is None else Response(refusal[1], refusal[0], HEADERS)
        response.headers.update(HEADERS)
        return response

    async def show(request: Any) -> Any:
        name = request.path_params["name"] or PAGE
        if name not in pages:
            return Response("no such page", 404)
        return Response(pages[name], media_type=TYPES[name])

    async def change(request: Any) -> Any:
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > LARGEST_BODY:
                return Response("the request is too large", 413)
        try:
            words = json.loads(body)
        except (ValueError, RecursionError):
            words = None
        status, state = await run_in_threadpool(writer.act, words)
        return JSONResponse(state, status)

    routes = [Route(f"/{token}/act", change, methods=["POST"])]
    routes.append(Route(f"/{token}/{{name:path}}", show, methods=["GET"]))
    return Starlette(routes=routes, middleware=[Middleware(BaseHTTPMiddleware, dispatch=guard)])


def serve(review: Review, title: str, *, browser: bool, port: int, tell: Callable[[str], None]) -> None:
    """Serve the review until the process is interrupted; ``tell`` gets the address."""
    uvicorn = import_extra("uvicorn", "review", "The review page needs")
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
        except OSError as error:
            raise InputError(f"--port: expected a free port, got {port}: {error.strerror}.") from None
        listener.listen()  # who opens the address before the server has started waits for it
        where, token = listener.getsockname()[1], secrets.token_urlsafe(24)
        hosts = frozenset(f"{name}:{where}" for name in (LOOPBACK, "localhost"))
        settings = {"log_level": "critical", "access_log": False, "lifespan": "off", "server_header": False}
        app = make_app(review, title, hosts, token)
        server = uvicorn.Server(uvicorn.Config(app, **settings, timeout_graceful_shutdown=1))
        address = f"http://{LOOPBACK}:{where}/{token}/"
        tell(address)
        review.start()
        if browser:
            webbrowser.open(address)
        server.run(sockets=[listener])
