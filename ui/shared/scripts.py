"""The JavaScript and the styles that stand in the pages. The server's policy lets a browser run no other scripts."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_KEYS = """<script>
const box = () => document.querySelector("input[aria-label='What are you looking for?']");
const free = () => !document.activeElement || document.activeElement === document.body;
let tries = 0;
const first = () => { if (box()) { if (free()) box().focus(); } else if (tries++ < 40) setTimeout(first, 50); };
first();
if (!window.slashFinds) window.slashFinds = document.addEventListener("keydown", event => {
  const writing = (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable)
    && !(event.target === box() && !box().value);
  if (event.key === "/" && !writing && box()) { event.preventDefault(); box().focus(); box().select(); }
}) || true;
</script>"""
_LOCKED = """<script>
if (!window.watchesLock) {
  const refused = entry => entry.responseStatus === 403 && entry.name.endsWith("/_stcore/health");
  window.watchesLock = new PerformanceObserver(list => list.getEntries().some(refused) && location.reload());
  window.watchesLock.observe({ type: "resource" });
}
</script>"""
_ROOT = """<script>window.__streamlit = { BACKEND_BASE_URL: location.origin + "/" };</script>"""
_LEAVING = """<script>
(() => {
  let left = "", until = 0;
  document.addEventListener("click", event => {
    const link = event.target.closest?.("a[data-testid='stPageLink-NavLink']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || link.pathname === location.pathname) return;
    left = location.pathname;
    until = Date.now() + 30000;
  }, true);
  const push = history.pushState.bind(history);
  history.pushState = (state, title, url) => {
    const to = new URL(url, location.href), search = to.pathname === "/";
    if (Date.now() < until && to.pathname === left) return;
    if (to.pathname === location.pathname && !search && to.searchParams.has("open")) return; // of the next page
    until = 0;
    push(state, title, url);
  };
})();
</script>"""
_STOPPED = """<div id="gone" role="alertdialog" aria-labelledby="gone-title" aria-describedby="gone-text" hidden>
<style>
#gone:not([hidden]) { position: fixed; inset: 0; z-index: 9999999; display: grid; place-content: center;
  padding: 1.5rem; color-scheme: light dark; background: Canvas; color: CanvasText;
  font: 1.05rem/1.5 system-ui, sans-serif }
#gone > div { max-width: 34rem }
</style>
<div><h1 id="gone-title">semsearch has stopped</h1>
<p id="gone-text">Its server no longer answers; what was indexed is safe. Start it again in a terminal with
<code>semsearch ui</code>, and open the address that it prints. If it was only busy, this page comes back by itself.</p>
</div></div>"""
_GONE = """<script>
(() => {
  const show = gone => {
    document.getElementById("gone").hidden = !gone;
    document.getElementById("root").inert = gone;
  };
  new PerformanceObserver(list => {
    for (const entry of list.getEntries())
      if (entry.name.endsWith("/_stcore/health")) show(!entry.responseStatus);
  }).observe({ type: "resource" });
})();
</script>"""
_NAMED = """<script>
new MutationObserver(() => {
  for (const each of document.querySelectorAll(".stToast:not([aria-label])")) each.setAttribute("aria-label", "Notice");
  for (const each of document.querySelectorAll("input:not([dir]), textarea:not([dir])")) each.dir = "auto";
}).observe(document.documentElement, { childList: true, subtree: true });
</script>"""
INLINE = (_KEYS, _LOCKED)


def keys() -> None:
    """The cursor stands in the search box; `/` brings it back there."""
    st.html(_KEYS, unsafe_allow_javascript=True)


def in_shell(document: str) -> str:
    """The document that Streamlit serves for every page, with these scripts, what they show, and the styles, which so
    are there before anything is drawn.

    Without the first one Streamlit looks for its own addresses below that of the page, too, where there is nothing.
    The second one keeps out of the browser's history the page that a link leaves, without its parameters: Streamlit
    clears them before it goes, and Back would lead there.
    """
    document = document.replace("<title>Streamlit</title>", f"<title>semsearch</title>\n{_ROOT}\n{_LEAVING}", 1)
    styles = (Path(__file__).parents[1] / f"{name}.css" for name in ("tokens", "style"))
    style = "".join(each.read_text(encoding="utf-8") for each in styles)
    return document.replace("</body>", f"<style>{style}</style>\n{_STOPPED}\n{_GONE}\n{_NAMED}\n</body>", 1)


def reload_when_locked() -> None:
    """A tab whose token is no longer valid shows the page that says so, once Streamlit tries to connect again."""
    st.html(_LOCKED, unsafe_allow_javascript=True)
