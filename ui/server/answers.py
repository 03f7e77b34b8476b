"""The server's own answers: the page that says how to get in, the page that leads in, the document around every page,
the list of the pages, and one line for the rest.
"""

from __future__ import annotations

from html import escape
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import URL
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from ..shared.navigation import PAGES
from . import policy
from .identity import Identity

TOKEN = "token"  # its name in the URL
KEPT = 365 * 24 * 3600  # seconds that a browser keeps the cookie
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>semsearch</title>
{head}<style>
:root {{ color-scheme: light dark; font: 1.05rem/1.5 system-ui, sans-serif }}
body {{ max-width: 34rem; margin: 15vh auto; padding: 0 1.5rem }}
code {{ font-size: 0.95em }}
</style>
{body}
</html>
"""
_LOCKED = """<h1>This page needs the address that <code>semsearch ui</code> printed</h1>
<p>It is in the terminal where the server runs, and ends with <code>?token=…</code>. Open it once in this browser;
after that, links and bookmarks work.</p>
<p>An address from before <code>semsearch ui --new-token</code> is no longer valid.</p>
<p>If the pages are open in this browser and you followed a link from elsewhere: <a href="{here}">continue</a>.</p>"""

_NOWHERE = """<h1>There is no such page</h1>
<p>Choose one of these:</p>
<ul>{links}</ul>"""


def locked(url: URL) -> Response:
    """The page for a request without the token. Its link leads to the same page, now from this server."""
    return HTMLResponse(_PAGE.format(head="", body=_LOCKED.format(here=escape(_without_token(url)))), 403)


def enter(url: URL, identity: Identity) -> Response:
    """The page for a right token: it sets the cookie and leads to the same URL without the token.

    A redirect would not do. It would count as caused by the page that the person came from, and be sent without the
    cookie, which is SameSite=Strict.
    """
    here = escape(_without_token(url))
    head = f'<meta http-equiv="refresh" content="0; url={here}">\n'
    answer = HTMLResponse(_PAGE.format(head=head, body=f'<p><a href="{here}">Open semsearch</a></p>'))
    answer.set_cookie(identity.cookie, identity.pass_value, KEPT, path="/", httponly=True, samesite="strict")
    answer.headers["cache-control"] = "no-store"
    return answer


def page(url: URL) -> Response:
    """The document around a page; what is on the page comes through a websocket. It looks for its parts beside itself,
    so that a page has one address, without a slash behind it.
    """
    path = url.path.strip("/")
    if url.path != f"/{path}":
        return RedirectResponse(_without_token(url.replace(path=f"/{path}")), 307)
    return HTMLResponse(policy.SHELL, headers={"cache-control": "no-cache"})


def nowhere(url: URL) -> Response:
    """The page for an address that leads to none; one that is the name of a page leads to that."""
    for path, entry in PAGES.items():
        if entry.title.lower() == url.path.strip("/").lower():
            return RedirectResponse(_without_token(url.replace(path=f"/{path}")), 307)
    links = "".join(f'<li><a href="/{path}">{escape(entry.title)}</a></li>' for path, entry in PAGES.items())
    return HTMLResponse(_PAGE.format(head="", body=_NOWHERE.format(links=links)), 404)


def refused(reason: str, status: int = 403) -> Response:
    """One line of text."""
    return PlainTextResponse(f"{reason}\n", status)


def tokens(url: URL) -> list[str]:
    """The tokens in the URL."""
    return [value for name, value in _parameters(url) if name == TOKEN]


def _without_token(url: URL) -> str:
    """Path and query, which lead to this server whatever the path is: `//elsewhere` would not."""
    rest = urlencode([(name, value) for name, value in _parameters(url) if name != TOKEN])
    return "/" + quote(url.path.lstrip("/\\"), safe="/%") + ("?" + rest if rest else "")


def _parameters(url: URL) -> list[tuple[str, str]]:
    return parse_qsl(url.query, keep_blank_values=True)
