"""The JavaScript that stands in the pages. The server's policy lets a browser run these scripts, and no other ones."""

from __future__ import annotations

import streamlit as st

_KEYS = """<script>
const box = () => document.querySelector("input[aria-label='What are you looking for?']");
const free = () => !document.activeElement || document.activeElement === document.body;
let tries = 0;
const first = () => { if (box()) { if (free()) box().focus(); } else if (tries++ < 40) setTimeout(first, 50); };
first();
if (!window.slashFinds) window.slashFinds = document.addEventListener("keydown", event => {
  const writing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable;
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
INLINE = (_KEYS, _LOCKED)


def keys() -> None:
    """The cursor stands in the search box; `/` brings it back there."""
    st.html(_KEYS, unsafe_allow_javascript=True)


def reload_when_locked() -> None:
    """A tab whose token is no longer valid shows the page that says so, once Streamlit tries to connect again."""
    st.html(_LOCKED, unsafe_allow_javascript=True)
