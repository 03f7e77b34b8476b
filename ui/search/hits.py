"""The hits of an answer for the browser, and what a person does with them there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Query, SemsearchError
from semsearch.evaluation import Judgements
from semsearch.types import JsonObject

from ..shared import messages, pool
from ..shared.encoder_picker import page_wording
from . import card, export, history, hit_list, reader, refine, remembered, results, snippets
from .hit_list import text, texts
from .results import Answer, IndexHit

UNFOLDED, FILE, MADE = "unfolded hit", "file of hits", "files made"
ANSWERED = "question answered"  # by its meaning
SORT = "sort"  # the parameter of the URL: by relevance, unless it is one of the others
SORTS = {"newest": "Newest first", "oldest": "Oldest first"}
MOST, STEP = 200, 10  # hits, and how many more at a click
MOST_UNFOLDED = 30
POOR = "no good match"
LEVELS = ("strong", "likely", "weak", "none")
BEST = "Best:"  # in place of the rank of the nearest miss


@dataclass(frozen=True, slots=True)
class Shown:
    """The hits that are drawn: those of an answer, or the nearest one where it has none."""

    query: Query
    names: tuple[str, ...]
    hits: tuple[IndexHit, ...]
    lead: str = ""  # in place of the ranks

    @property
    def several(self) -> bool:
        """Whether a hit has to name its index."""
        return len(self.names) > 1


def warnings(answer: Answer) -> list[str]:
    """The warnings of the indexes, and why others were not searched.

    "No good match" counts only where there are hits, and no index has a good one.
    """
    every = [(name, warning) for name, each in answer.results.items() for warning in each.warnings]
    poor = {name for name, warning in every if warning.startswith(POOR)}
    with_hits = [name for name, each in answer.results.items() if each]
    good = not with_hits or any(name not in poor for name in with_hits)
    warned = [f"{name}: {warning}" for name, warning in every if not (good and warning.startswith(POOR))]
    refused = [f"{name} was not searched: {why}" for name, why in answer.refused.items()]
    return list(map(page_wording, [*warned, *refused]))


def show(shown: Shown, foot: str, facets: DeltaGenerator) -> bool:
    """Draw the hits, the open document, and in their place the facets.

    Returns whether something is still to come: `finish` finds it.
    """
    above = _above_chance(shown.hits)
    snippet, best = snippets.first(shown.hits, shown.query, above or len(shown.hits))
    data: JsonObject = {"hits": _cards(shown, shown.hits, snippet), "above": above, "done": best}
    data |= {"unfolded": None, "reader": None, "judged": None, "asked": shown.query.text, "kinds": list(export.KINDS)}
    data |= {"file": st.session_state.pop(FILE, None), "foot": foot, "note": order(shown)}
    data |= {"sort": _sort(), "sorts": SORTS, "more": len(shown.hits) == shown.query.k < MOST}
    with messages.errors():
        data["judged"] = _judged(shown)
    with messages.errors():
        data["unfolded"] = _unfolded(shown)
    with messages.errors():
        data["reader"] = _reader(shown)
    with messages.errors():
        data["chips"] = refine.chips(shown.names)
    data["start"] = None if shown.hits or shown.query.text.strip() else history.data(shown.names)
    act = partial(_act, shown)
    hit_list.show(data, act)
    with messages.errors(), facets:
        hit_list.show(refine.data(shown.names, () if shown.lead else shown.hits), act, "facets")
    return not best or bool(data["reader"] and data["reader"]["image"] == reader.COMING)


def finish(shown: Shown) -> None:
    """The best snippets by meaning, and the image of the open page."""
    snippets.complete(shown.hits, shown.query, _above_chance(shown.hits) or len(shown.hits))
    with suppress(SemsearchError):  # a passage that is gone has been told
        reader.draw(shown.names)


def _cards(shown: Shown, hits: Sequence[IndexHit], snippet: snippets.Snippets) -> list[JsonObject]:
    make = partial(card.card, lead=shown.lead, several=shown.several)
    return [make(rank, each, snippet[each.key]) for rank, each in enumerate(hits, 1)]


def ordered(hits: tuple[IndexHit, ...]) -> tuple[IndexHit, ...]:
    """The hits by relevance or date, with what is no better than chance behind all others, however many of the words
    it has. Hits that were read again are as that has put them.
    """
    if _sort():
        hits = tuple(sorted(hits, key=lambda each: each.date, reverse=_sort() == "newest"))
        hits = tuple(sorted(hits, key=lambda each: not each.date))
    if any(each.hit.rerank is not None for each in hits):
        return hits
    return tuple(sorted(hits, key=lambda each: card.worse_than_chance(each.hit)))  # else in their order


def _sort() -> str:
    return sort if (sort := st.query_params.get(SORT, "")) in SORTS else ""


def order(shown: Shown) -> str:
    """By what the hits are ordered, where that is not what their bars say."""
    bars = [LEVELS.index(each.hit.match) for each in shown.hits if each.hit.strength is not None]
    return "" if _sort() or shown.query.mode != "hybrid" or bars == sorted(bars) else "ordered by meaning and words"


def _above_chance(hits: Sequence[IndexHit]) -> int:
    """How many hits stand before the line below which all are no better than chance."""
    better = [rank for rank, each in enumerate(hits, 1) if not card.worse_than_chance(each.hit)]
    return better[-1] if better else 0


def _reader(shown: Shown) -> JsonObject | None:
    document = reader.data(shown.query, shown.names)
    return document and document | {"image": reader.image(document)}


def _act(shown: Shown, event: JsonObject) -> None:
    """Do what a person did with the hits."""
    acts: dict[str, Callable[[], None]] = {
        "open": lambda: reader.open_at(text(event, "key")),
        "turn": lambda: reader.turn_to(event.get("page")),
        "steer": lambda: _steer(shown, text(event, "kind"), text(event, "key")),
        "unfold": lambda: _unfold((text(event, "kind"), text(event, "key"))),
        "drop": lambda: refine.drop(text(event, "name"), shown.names),
        "facet": lambda: refine.choose(text(event, "key"), text(event, "value"), shown.names),
        "range": lambda: refine.narrow(text(event, "key"), event.get("first"), event.get("last"), shown.names),
        "asked": lambda: st.session_state.update({ANSWERED: text(event, "text")}),
        "sort": lambda: st.query_params.update({SORT: text(event, "by")}),
        "grow": lambda: st.session_state.update(k=min(MOST, shown.query.k + STEP)),
        "save": lambda: history.add(history.SAVED, shown.query.text, text(event, "name")),
        "forget": lambda: history.remove(text(event, "kind"), text(event, "url")),
        "remember": lambda: remembered.switch(event.get("on") is True),
        "judge": lambda: _judge(shown, text(event, "key"), event.get("grade")),
        "export": lambda: _write(shown, text(event, "kind"), texts(event, "keys")),
    }
    with messages.refusing():
        acts.get(event["event"], lambda: None)()


def _judged(shown: Shown) -> JsonObject | None:
    """The grades of judged documents by index; None for a search that is more than its question."""
    query = shown.query
    if not query.text.strip() or query.more or query.less or query.like:
        return None
    return {name: Judgements(name).of(query.text) for name in shown.names}


def _judge(shown: Shown, key: str, grade: object) -> None:
    """Keep whether the document of a hit answers the question, 1 or 0; None takes it back."""
    place = hit_list.split(key, shown.names)
    if place is None or isinstance(grade, bool) or not (grade is None or grade in (0, 1)) or _judged(shown) is None:
        return
    document = str(pool.index(place[0]).get(place[1])["document"])
    strength = next((each.hit.strength for each in shown.hits if each.key == key), None)
    try:
        Judgements(place[0]).judge(shown.query.text, document, None if grade is None else int(grade == 1), strength)
    except OSError as error:
        raise SemsearchError(f"The mark could not be kept: {error.strerror or error}.") from None


def _steer(shown: Shown, kind: str, key: str) -> None:
    """Add a passage as a chip of "more like" or "less like", and take it from the other one."""
    if place := hit_list.split(key, shown.names) if kind in ("more", "less") else None:
        chip, state = f"#{place[0]}/{place[1]}" if shown.several else f"#{place[1]}", st.session_state
        other = "less" if kind == "more" else "more"
        state[other] = [each for each in state.get(other, []) if each != chip]
        state[kind] = list(dict.fromkeys([*state.get(kind, []), chip]))


def _unfold(chosen: tuple[str, str]) -> None:
    st.session_state[UNFOLDED] = None if st.session_state.get(UNFOLDED) == chosen else chosen


def _unfolded(shown: Shown) -> JsonObject | None:
    """The other passages of a hit's document that were found, or its near copies."""
    kind, key = st.session_state.get(UNFOLDED) or ("", "")
    search = {"more": _rest, "copies": _copies}.get(kind)
    each = next((each for each in shown.hits if each.key == key), None)
    if search is None or each is None:
        return None
    inner = search(each, shown)
    cards = _cards(replace(shown, lead="+"), inner, snippets.first(inner, shown.query, 0)[0])
    return {"kind": kind, "key": key, "hits": cards}


def _rest(each: IndexHit, shown: Shown) -> Sequence[IndexHit]:
    query = replace(shown.query, k=min(each.hit.more_in_document, MOST_UNFOLDED) + 1)
    passages = results.search_within(each.index, query, [each.hit.document], several=shown.several)
    return [other for other in passages if other.hit.id != each.hit.id]


def _copies(each: IndexHit, shown: Shown) -> Sequence[IndexHit]:
    """The best passage of every copy, of any strength: it is as strong as that of its original."""
    documents = each.hit.near_copies[:MOST_UNFOLDED]
    query = replace(shown.query, min_strength=0.0, k=4 * len(documents))
    best: dict[str, IndexHit] = {}
    for other in results.search_within(each.index, query, documents, several=shown.several):
        best.setdefault(other.hit.document, other)
    return [best[document] for document in documents if document in best]


def _write(shown: Shown, label: str, keys: Sequence[str]) -> None:
    """Make a file of the chosen hits, or of all; the browser saves it."""
    if (kind := export.KINDS.get(label)) is None:
        raise SemsearchError(f"Hits cannot be written as {label!r}.", f"Choose from: {', '.join(export.KINDS)}.")
    chosen = [pair for pair in enumerate(shown.hits, 1) if not keys or pair[1].key in keys]
    st.session_state[MADE] = number = st.session_state.get(MADE, 0) + 1
    written = export.written(kind, chosen, shown.query.text)
    st.session_state[FILE] = {"number": number, "name": f"hits.{kind}", "type": export.TYPES[kind], "text": written}
