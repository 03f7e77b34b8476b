"""The search page: what a person sees for what they do, and that nothing of a document is ever markup."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl

import pytest
from helpers.pages import HOSTILE, hits, opened, said, tell, titles
from streamlit.testing.v1 import AppTest

from semsearch import Document, Index, admin
from semsearch.search.snippets import Snippet
from semsearch.types import Hit

DOCUMENTS = [
    Document("cars/diesel.txt", "A diesel engine ignites fuel by compression.", {"year": 1990, "lang": "en"}),
    Document("cars/petrol.txt", "A petrol engine ignites fuel with a spark plug.", {"year": 2000, "lang": "en"}),
    Document("brot.txt", "Brot braucht Salz und Zeit, und einen heißen Ofen.", {"year": 2010, "lang": "de"}),
    Document("=cmd.txt", f"{HOSTILE} carburettor", {"year": 2020, "lang": "en"}, title=HOSTILE),
]


def shown(query: str = "", **url: Any) -> AppTest:
    """The page, opened at a URL."""
    return opened("search", **({"q": query} if query else {}), **url)


def texts(page: AppTest) -> str:
    """All texts of the hits and of the open document, one after the other."""
    data = hits(page)
    pieces = [piece for hit in data["hits"] for piece in hit["pieces"]]
    pieces += [piece for block in (data["reader"] or {"blocks": []})["blocks"] for piece in block["pieces"]]
    return "".join(piece[1] for piece in pieces)


def marked(page: AppTest, style: str) -> list[str]:
    """The pieces of the hits in this style."""
    return [piece[1] for hit in hits(page)["hits"] for piece in hit["pieces"] if piece[0] == style]


def first(page: AppTest) -> str:
    """The key of the first hit."""
    return str(hits(page)["hits"][0]["key"])


def chosen(page: AppTest, label: str, at: int = 0) -> Any:
    return [each for each in page.button if each.label == label][at]


def test_an_empty_index_is_no_reason_to_try_other_words(home: Path) -> None:
    Index.create("notes", encoder="hashing").close()
    page = shown("fuel")
    said = [each.value.replace("\\", "") for each in page.info]
    assert said == ["There is no document in here yet."]
    assert {each.proto.label for each in page.get("page_link") if "Add" in each.proto.label} == {"Add documents"}


def test_a_question_shows_its_hits_with_place_strength_and_marked_words(notes: Path) -> None:
    page = shown("diesel engine")
    assert titles(page)[0] == "1. diesel.txt"
    assert marked(page, "word")[0] == "diesel"
    [scores] = [hit["why"]["scores"] for hit in hits(page)["hits"][:1]]
    assert [each.split()[0] for each in scores] == ["strength", "cosine", "BM25"]
    assert all(
        each in ("strong", "likely", "weak", "no match") for each in (hit["strength"] for hit in hits(page)["hits"])
    )
    assert "encoded in" in foot(page) and "cpu" in foot(page)


def test_a_search_comes_back_from_its_url(notes: Path) -> None:
    page = shown("engine", mode="keyword", k="1", **{"f.lang": "en"}, path="cars/*", more="fuel ^0.5")
    assert len(titles(page)) == 1
    assert page.segmented_control(key="mode").value == "keyword"
    assert page.multiselect(key="f.lang").value == ["en"]
    assert page.multiselect(key="more").value == ["fuel ^0.5"]


@pytest.mark.parametrize("url", [{"mode": "nonsense"}, {"k": "-3"}, {"k": "many"}, {"f.year": "x"}, {"min": "7"}])
def test_a_url_with_values_that_cannot_be_is_no_error(url: dict[str, str], notes: Path) -> None:
    page = shown("engine", **url)
    assert not page.error
    assert titles(page)


def test_filters_come_from_the_metadata_and_leave_only_what_fits(notes: Path) -> None:
    page = shown("engine")
    page.multiselect(key="f.lang").set_value(["de"]).run()
    assert titles(page) == ["1. brot.txt"]
    page.multiselect(key="f.lang").set_value([]).run()
    page.slider(key="f.year").set_value((1995, 2005)).run()
    assert titles(page) == ["1. petrol.txt"]


def test_more_like_this_adds_a_chip_with_a_weight_and_changes_the_ranking(notes: Path) -> None:
    page = shown("engine", mode="semantic")
    before = titles(page)
    page.multiselect(key="less").set_value(["diesel compression ^2"]).run()
    assert not page.exception
    assert titles(page) != before
    tell(page, "steer", kind="more", key=first(page))
    assert page.multiselect(key="more").value[0].startswith("#")


def test_what_has_to_be_loosened_is_said_with_the_nearest_miss(notes: Path) -> None:
    page = shown("engine", where="year > 3000")
    said_first = page.info[0].value
    assert said_first.startswith("Nothing was found\\.") and "no passage passes the filter" in said_first
    assert any("Without the filters" in each.value for each in page.markdown)


def test_a_pattern_that_no_path_matches_is_named(notes: Path) -> None:
    assert said(shown("engine", path="[[")).startswith("No document has a path that matches [[.")


def test_what_has_to_match_narrows_the_hits_and_is_a_chip(notes: Path) -> None:
    page = shown("engine", grep="(?i)DIESEL")
    assert titles(page) == ["1. diesel.txt"] and "must match: (?i)DIESEL" in chips(page)
    assert "(" in said(shown("engine", grep="("))


def test_what_was_left_out_of_a_file_stands_beside_it(notes: Path, tmp_path: Path) -> None:
    site = tmp_path / "www"
    site.mkdir()
    (site / "gate.html").write_text("<main><p>The gate of the castle is oak.</p></main><script>let shut;</script>")
    with Index.create("site", encoder="hashing") as index:
        index.sync(site)
    page = shown("gate castle", n="site")
    assert "script" in hits(tell(page, "open", key=first(page)))["reader"]["left"]


@pytest.mark.parametrize("where", ["year >", "nosuch = 3", "year > 'x"])
def test_a_filter_that_does_not_parse_is_a_sentence_and_no_traceback(where: str, notes: Path) -> None:
    page = shown("engine", where=where)
    assert len(page.error) == 1
    assert "Traceback" not in page.error[0].value


def test_a_hit_opens_in_its_document_and_closes_again(notes: Path) -> None:
    page = shown("diesel engine")
    assert hits(page)["reader"] is None
    tell(page, "open", key=first(page))
    assert hits(page)["reader"]["title"] == "diesel.txt"
    assert page.query_params["open"] == first(page)
    assert hits(shown(open=first(page)))["reader"]["title"] == "diesel.txt"  # a link to the passage, without a question
    tell(page, "open", key="")
    assert hits(page)["reader"] is None
    tell(page, "open", key=first(page))
    page.text_input(key="q").set_value("bread").run()
    assert hits(page)["reader"] is None  # it belongs to the question before


def test_what_a_document_says_reaches_the_browser_as_text_alone(notes: Path) -> None:
    page = tell(shown("carburettor"), "open", key=first(shown("carburettor")))
    assert HOSTILE in texts(page)  # letter by letter, in pieces that the browser never reads as markup
    assert HOSTILE in hits(page)["hits"][0]["title"]
    assert "=cmd.txt" in hits(page)["hits"][0]["place"]
    for each in (*page.markdown, *page.caption, *page.get("html")):
        assert "<img" not in str(each.proto)


def test_characters_that_reverse_or_control_a_display_are_shown_escaped(home: Path) -> None:
    with Index.create("notes", encoder="hashing") as index:
        index.add([Document("rtl\u202egpj.exe.txt", "About\u202e zeppelins\x1b[1m.", title="T\u2066itle")])
    page = tell(shown("zeppelins"), "open", key=first(shown("zeppelins")))
    shown_there = [hits(page)["hits"][0][name] for name in ("title", "place", "pieces", "text", "quotation")]
    shown_there += [hits(page)["reader"][name] for name in ("title", "place", "blocks", "near")]
    assert not set("".join(map(str, shown_there))) & set("\u202e\u2066\x1b")
    assert "\\u202egpj" in " ".join(hits(page)["hits"][0]["place"])


@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_a_heading_does_not_run_into_the_sentence_below_it(between: str, home: Path) -> None:
    with Index.create("notes", encoder="hashing") as index:
        index.add([Document("bread.md", f"Bread needs salt.\n\n## The oven{between}Heat it first.\n\nThen bake.")])
    (hit,) = hits(shown("bread"))["hits"]
    for read in ("".join(text for _, text in hit["pieces"]), hit["quotation"]):
        assert "The oven · Heat it first. Then bake." in " ".join(read.split())


def test_an_index_that_was_made_anew_is_the_one_that_is_searched(notes: Path) -> None:
    import shutil

    page = shown("diesel engine")
    shutil.rmtree(notes)
    with Index.create("notes", encoder="hashing") as index:
        index.add([Document("new.txt", "Another diesel engine.")])
    page.run()
    assert titles(page) == ["1. new.txt"]
    shutil.rmtree(notes)
    page.run()
    assert not page.exception


def test_what_another_process_adds_is_found_at_the_next_search(notes: Path) -> None:
    page = shown("zeppelin", mode="keyword")
    assert titles(page)[0].startswith("Best:")  # by meaning
    with Index.open("notes", encoder="hashing") as index:
        index.add([Document("air.txt", "A zeppelin has a frame.")])
    page.run()
    assert titles(page) == ["1. air.txt"]


def test_several_indexes_are_searched_together(notes: Path) -> None:
    with Index.create("others", encoder="hashing") as index:
        index.add([Document("o.txt", "A diesel engine in another index."), Document("p.txt", "Bread.")])
    page = shown("diesel engine")
    assert {"1. diesel.txt", "2. o.txt"} <= set(titles(page)) or "1. o.txt" in titles(page)
    tell(page, "steer", kind="more", key=first(page))
    assert not page.error
    assert "/" in page.multiselect(key="more").value[0]  # both indexes have a passage of this number
    page.multiselect(key="more").set_value([]).run()
    page.multiselect(key="n").set_value(["others"]).run()
    assert titles(page)[0] == "1. o.txt"
    assert "2. diesel.txt" not in titles(page)


def test_a_wrong_index_in_the_url_is_named_and_no_other_is_searched(notes: Path) -> None:
    page = shown("engine", n="gone")
    assert "There is no index gone" in page.warning[0].value and not titles(page)
    chosen(page, "Search all indexes").click().run()
    assert titles(page) and not page.warning


def test_every_page_has_the_same_current_index(notes: Path) -> None:
    Index.create("empty", encoder="hashing").close()
    with Index.create("others", encoder="hashing") as index:
        index.add([Document("o.txt", "A diesel engine in another index."), Document("p.txt", "Bread.")])
    page = opened("app", q="engine", n="others")
    assert all("n=others" in link.proto.query_string for link in page.get("page_link"))
    page.query_params = {}  # as by a link without it
    for name in ("library", "map", "evaluate"):
        opened_at(page, name)
        chooser = page.multiselect(key="n").value[0] if name == "evaluate" else page.selectbox(key="n").value
        assert chooser == "others", name
    opened_at(page, "library").selectbox(key="n").select("notes").run()
    assert page.query_params["n"] == "notes"
    page.query_params = {}
    assert opened_at(page, "").multiselect(key="n").value == ["notes"]


def opened_at(page: AppTest, name: str) -> AppTest:
    """Another page of the app, in the same session."""
    [page._page_hash] = [at for at, info in page._registered_pages.items() if info.get("url_pathname") == name]
    page.run()
    assert not page.exception
    return page


def test_a_weak_hit_looks_weak(notes: Path) -> None:
    page = shown("diesel engine")
    assert page.text_input(key="path").placeholder.startswith("e.g. ")
    found = [(hit["strength"].split()[0], hit["level"]) for hit in hits(page)["hits"]]
    assert len(found) == 4
    assert all(word == level.replace("none", "no") for word, level in found)
    assert {"weak", "none"} & {level for _, level in found}


def test_a_download_runs_in_no_spreadsheet() -> None:
    from semsearch_ui.search.card import COLUMNS
    from semsearch_ui.shared.tables import to_csv

    row = dict.fromkeys(COLUMNS, None) | {"path": "=cmd|' /C calc'!A0", "text": '-1+1,"\nx', "score": -0.5}
    (_, cells) = csv.reader(io.StringIO(to_csv([row], COLUMNS)))
    found = dict(zip(COLUMNS, cells, strict=True))
    assert found["path"].startswith("'=")
    assert found["text"] == "'-1+1,\"\nx"
    assert found["score"] == "-0.5"


class Counting:
    """What went through the encoders of the pages: the queries, one by one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from semsearch.encoders.encoder import Encoder

        self.queries: list[str] = []
        whole = Encoder.encode

        def encode(encoder: Encoder, sentences: Any, *arguments: Any, **options: Any) -> Any:
            self.queries += list(sentences) if options.get("role") == "query" else []
            return whole(encoder, sentences, *arguments, **options)

        monkeypatch.setattr(Encoder, "encode", encode)


def foot(page: AppTest) -> str:
    return str(hits(page)["foot"])


def test_another_mode_weight_filter_or_number_of_hits_encodes_nothing_again(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting = Counting(monkeypatch)
    page = shown("diesel engine", weigh="true")
    assert counting.queries == ["diesel engine"]
    assert "query encoded in" in foot(page)
    assert " ms · searched" in foot(page)
    for change in (
        lambda: page.slider(key="alpha").set_value(0.1),
        lambda: page.number_input(key="k").set_value(3),
        lambda: page.segmented_control(key="mode").set_value("semantic"),
        lambda: page.multiselect(key="f.lang").set_value(["en"]),
    ):
        change().run()
        assert not page.exception
        assert "earlier search, not again" in foot(page)
    assert counting.queries == ["diesel engine"]
    page.multiselect(key="more").set_value(["fuel ^0.5"]).run()
    assert counting.queries == ["diesel engine", "fuel"]


def test_to_open_a_hit_searches_in_its_document_alone(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = shown("diesel engine")
    asked: list[Any] = []
    search = Index.search
    monkeypatch.setattr(Index, "search", lambda *given, **more: asked.append(given[1]) or search(*given, **more))
    tell(page, "open", key=first(page))
    assert [each.where or each.like for each in asked] == ["document in ('cars/diesel.txt')", (1,)]
    assert len(titles(page)) == 4


def test_a_hit_says_what_meaning_and_what_words_gave_to_its_score(notes: Path) -> None:
    page = shown("diesel engine")
    shares = [dict(hit["why"]["shares"]) for hit in hits(page)["hits"]]
    assert len(shares) == 4
    assert all(sum(each.values()) == pytest.approx(1) for each in shares if len(each) == 2)
    assert shares[0]["words"] > 0 == shares[-1].get("words", 0)  # only the first has the words
    assert hits(shown("diesel engine", mode="semantic"))["hits"][0]["why"]["shares"] == []


def test_what_an_index_tells_of_kinds_dates_lists_and_flags_can_be_chosen(home: Path, tmp_path: Path) -> None:
    import os
    from datetime import date

    files = tmp_path / "files"
    files.mkdir()
    for name, day in (("old.txt", 1_600_000_000), ("new.md", 1_700_000_000)):
        (files / name).write_text("About a diesel engine.")
        os.utime(files / name, (day, day))
    with Index.create("notes", encoder="hashing") as index:
        index.sync(files)
        index.add([Document("a", "One diesel engine.", {"tags": ["x", "y"], "draft": True, "due": "2024-01-31"})])
        index.add([Document("b", "Two of a diesel engine.", {"tags": ["z"], "draft": False, "due": "2024-03-01"})])
        index.add([Document(f"m{n}", f"Bread {n}", {"author": f"Author {n}"}) for n in range(41)])
    chosen_now: dict[str, tuple[str, Any]] = {
        "b.loader": ("multiselect", ["markdown"]),
        "f.tags": ("multiselect", ["y", "q"]),
        "f.draft": ("segmented_control", "no"),
        "f.due": ("date_input", (date(2024, 2, 1), date(2024, 3, 1))),
        "f.author": ("text_input", "author 17"),
    }
    found = {"b.loader": "new", "f.tags": "a", "f.draft": "b", "f.due": "b", "f.author": "m17"}
    for key, (kind, value) in chosen_now.items():
        page = shown("diesel engine")
        value = [one for one in value if one != "q"] if key == "f.tags" else value
        getattr(page, kind)(key=key).set_value(value).run()
        assert titles(page) == [f"1. {found[key]}"], key
    page = shown("diesel engine")
    page.date_input(key="b.date").set_value((date.fromtimestamp(1_600_000_000), date(2021, 1, 1))).run()
    assert titles(page) == ["1. old"]


def test_that_one_index_has_no_good_match_is_said_only_where_none_has() -> None:
    from semsearch_ui.search import hits as hits_of_page
    from semsearch_ui.search import results

    class Said(list[str]):
        warnings: tuple[str, ...] = ()

    good, poor = Said(["hit"]), Said(["hit"])
    poor.warnings = ("no good match: the best strength is 0.10, and a likely match has 0.9 or more.", "a scan was slow")
    both = results.Answer((), {"notes": good, "others": poor}, {})
    assert hits_of_page.warnings(both) == ["others: a scan was slow"]
    assert len(hits_of_page.warnings(results.Answer((), {"others": poor}, {}))) == 2


def test_a_field_that_one_of_two_indexes_has_keeps_the_other_from_nothing(notes: Path) -> None:
    with Index.create("others", encoder="hashing") as index:
        index.add([Document("o.txt", "A diesel engine in another index.")])
    page = shown("diesel engine", **{"f.lang": "en"})
    assert "1. diesel.txt" in titles(page)
    assert any("others was not searched" in each.value for each in page.warning)
    assert not page.error


COPIES = [Document(f"{name}.txt", "Press the red button to stop the engine at once, then wait.") for name in "abc"]


def unfolded(page: AppTest) -> list[str]:
    return [" · ".join(hit["place"]) for hit in (hits(page)["unfolded"] or {"hits": []})["hits"]]


def test_near_copies_unfold_and_each_opens(home: Path) -> None:
    with Index.create("notes", encoder="hashing") as index:
        index.add([*COPIES, Document("d.txt", "Bread needs salt.")])
    page = shown("red button engine")
    assert titles(page)[0] == "1. a.txt"
    assert hits(page)["hits"][0]["copies"] == 2 and not unfolded(page)
    tell(page, "unfold", kind="copies", key=first(page))
    assert unfolded(page) == ["b.txt", "c.txt"]
    tell(page, "open", key=hits(page)["unfolded"]["hits"][1]["key"])
    assert hits(page)["reader"]["place"] == ["c.txt"]
    tell(page, "unfold", kind="copies", key=first(page))
    assert not unfolded(page)


def test_the_other_passages_of_a_document_are_a_click_away(home: Path) -> None:
    with Index.create("notes", encoder="hashing") as index:
        parts = [f"Part {n} tells of a diesel engine. " + f"It has the mark {n}. " * 60 for n in range(3)]
        index.add([Document("long.txt", "\n\n".join(parts)), Document("d.txt", "Bread needs salt.")])
    page = shown("diesel engine")
    count = hits(page)["hits"][0]["more"]
    assert count > 0
    tell(page, "unfold", kind="more", key=first(page))
    assert unfolded(page) == ["long.txt"] * count


def test_the_nearest_miss_is_shown_and_a_click_loosens(notes: Path) -> None:
    page = shown("diesel engine", where="year > 3000", **{"f.lang": "de"})
    assert titles(page)[0].startswith("Best: diesel")
    chosen(page, "Search without the filters").click().run()
    assert titles(page)[0] == "1. diesel.txt"
    assert page.text_input(key="where").value == ""
    assert page.multiselect(key="f.lang").value == []


def test_least_strength_is_loosened_alone_where_that_is_enough(notes: Path) -> None:
    page = shown("diesel engine", min="1", path="cars")
    chosen(page, "Search without the minimum strength").click().run()
    assert titles(page)[0] == "1. diesel.txt"
    assert page.text_input(key="path").value == "cars"


@pytest.fixture
def papers(home: Path, tmp_path: Path) -> Path:
    from helpers import filemaking

    pytest.importorskip("pypdfium2")
    folder = tmp_path / "papers"
    folder.mkdir()
    told = ("Bread needs salt and time.", "A diesel engine ignites fuel.", "A knot holds a rope.")
    filemaking.pdf(folder / "paper.pdf", [[one] * 45 for one in told])
    with Index.create("notes", encoder="hashing") as index:
        index.sync(folder)
    return folder


def test_a_pdf_opens_at_its_page_and_can_be_leafed_through(papers: Path) -> None:
    page = shown("diesel engine ignites", group="passage")
    image = hits(tell(page, "open", key=first(page)))["reader"]["image"]
    assert image["url"].startswith("data:image/png;base64,")
    assert (image["page"], image["pages"]) == (2, 3)
    assert hits(tell(page, "turn", page=3))["reader"]["image"]["page"] == 3
    assert hits(tell(page, "turn", page="x"))["reader"]["image"]["page"] == 3  # no such page
    odd = first(page).replace("/", "/00")
    assert hits(shown("diesel engine ignites", open=odd))["reader"]["image"]["page"] == 2


def test_a_pdf_that_has_changed_shows_its_text_and_says_why_not_its_page(papers: Path) -> None:
    (papers / "paper.pdf").write_bytes(b"something else")
    page = shown("diesel engine ignites", group="passage")
    reader = hits(tell(page, "open", key=first(page)))["reader"]
    assert "has changed since" in reader["image"]["problem"]
    assert "diesel engine" in texts(page)


def test_a_hit_is_told_by_its_documents_title_and_which_record_of_a_file_it_is(notes: Path, tmp_path: Path) -> None:
    file = tmp_path / "papers.csv"
    file.write_text("id,title,abstract\n7,Of carburettors,How air and fuel are mixed.\n8,Of brakes,How a car stops.\n")
    with Index.create("papers", encoder="hashing") as index:
        index.sync(file)
    page = shown("fuel", n="papers", mode="keyword")
    assert titles(page) == ["1. Of carburettors"]
    assert "papers.csv · 7" in hits(page)["hits"][0]["place"]


def test_hits_that_are_no_better_than_chance_stand_below_a_line() -> None:
    from semsearch_ui.search import hits as hits_of_page

    def found(*strengths: float | None) -> list[Any]:
        return [SimpleNamespace(hit=SimpleNamespace(strength=each)) for each in strengths]

    assert hits_of_page._above_chance(found(0.99, 0.3, 0.6, 0.4, 0.1)) == 3  # the order of the search stays
    assert hits_of_page._above_chance(found(0.2, 0.1)) == 0
    assert hits_of_page._above_chance(found(None, None)) == 2  # a search by words knows no chance


def test_the_best_sentence_is_found_after_the_hits_are_shown_and_only_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index.create("notes", encoder="hashing") as index:
        index.add([Document(f"{n}.txt", f"First of {n}. The engine number {n} ignites fuel.") for n in range(6)])
    asked: list[tuple[str, int]] = []
    plain = Index.snippets

    def counted(index: Index, found: Any) -> Any:
        asked.append((found.query.mode, len(found)))
        return plain(index, found)

    monkeypatch.setattr(Index, "snippets", counted)
    page = shown("engine ignites fuel")
    assert hits(page)["done"]
    assert asked == [("hybrid", 1), ("keyword", 5), ("hybrid", 5)]
    page.run()
    assert len(asked) == 3
    assert all("engine" in hit["record"]["text"] and hit["pieces"][-1][0] != "around" for hit in hits(page)["hits"])


def test_hits_are_written_as_files_of_four_kinds(notes: Path) -> None:
    page = shown("engine", k="3")
    keys = [hit["key"] for hit in hits(page)["hits"]]
    file = hits(tell(page, "export", kind="JSON", keys=keys[1:]))["file"]
    assert [each["rank"] for each in json.loads(file["text"])] == [2, 3]
    assert hits(tell(page, "export", kind="CSV", keys=[]))["file"]["text"].count("\r\n") == 4
    markdown = hits(tell(page, "export", kind="Markdown", keys=keys[:1]))["file"]["text"]
    assert markdown.startswith("# engine\n") and "> A" in markdown
    written = hits(tell(page, "export", kind="BibTeX", keys=keys))["file"]
    assert written["text"].count("@misc{") == 3 and "year = {1990}" in written["text"]
    again = hits(page.run())["file"]
    assert again is None  # saved once


def test_what_the_browser_says_is_looked_at_before_it_is_believed(notes: Path) -> None:
    page = shown("engine")
    for kind in ("open", "steer", "unfold", "export", "nonsense"):
        tell(page, kind, key={"odd": 1}, kind=[], keys="no list")
    for key in ("gone/1", "notes/x", "notes/99999"):
        tell(page, "open", key=key)
        assert hits(page)["reader"] is None
    tell(page, "steer", kind="more", key="gone/1")
    assert page.multiselect(key="more").value == [] and len(titles(page)) == 4


def test_a_document_has_structure_and_its_matches_in_place() -> None:
    from semsearch_ui.shared.texts import structure

    text = "# Engines\n\nA <b>diesel</b>\nengine.\n\n- one\n- two\n\n```sh\n# no heading\n```\n> said\n"
    matches = [structure.Match("n/1", text.index("A <"), text.index("- two"), structure.OPEN)]
    blocks = structure.blocks(text, (0, len(text)), matches, frozenset(), "engines.md")
    assert [each["kind"] for each in blocks] == ["h2", "p", "item", "item", "code", "quote"]
    assert blocks[1]["pieces"] == [["open", "A <b>diesel</b>\nengine.", "n/1"]]
    assert blocks[3]["pieces"] == [["around", "two"]]
    other = structure.blocks("Engines\nThey run.\n", (0, 18), [], frozenset({"Engines"}), "engines.html")
    assert [(each["kind"], each["pieces"][0][1]) for each in other] == [("h2", "Engines"), ("lines", "They run.")]


def chips(page: AppTest) -> list[str]:
    return [chip["label"] for chip in hits(page)["chips"]]


def test_every_condition_is_a_chip_that_removes_it(notes: Path) -> None:
    given = {"f.lang": "en", "f.year": "1990", "where": "year > 5", "path": "cars/*", "must": "engine", "more": "fuel"}
    page = shown("engine", min="0.05", **given)
    wanted = {"lang: en", "filter: year > 5", "path: cars/*", "must contain: engine", "more like: fuel"}
    assert wanted <= set(chips(page))
    for left in range(len(chips(page)) - 1, -1, -1):
        tell(page, "drop", name=hits(page)["chips"][0]["name"])
        assert len(chips(page)) == left
    assert page.multiselect(key="f.lang").value == [] and page.text_input(key="where").value == ""
    page = tell(shown("engine", **given), "drop", name="")
    assert chips(page) == [] and len(titles(page)) == 4


def test_facets_have_counts_and_a_click_chooses_a_value_or_a_range(notes: Path) -> None:
    page = shown("engine")
    facets = {each["key"]: each for each in hits(page)["facets"]}
    counted = [(one["value"], one["here"], one["count"]) for one in facets["f.lang"]["values"]]
    among = Counter("de" if "brot" in title else "en" for title in titles(page))
    assert counted == [("en", among["en"], 3), ("de", among["de"], 1)]  # among the hits, of the index
    bars = facets["f.year"]["bars"]
    assert sum(each["count"] for each in bars) == 4 and all(each["on"] for each in bars)
    tell(page, "facet", key="f.lang", value="de")
    assert titles(page) == ["1. brot.txt"] and chips(page) == ["lang: de"]
    tell(page, "facet", key="f.lang", value="de")
    first = next(at for at, each in enumerate(bars) if each["label"].startswith("2000") or "2000" in each["label"])
    tell(page, "range", key="f.year", first=first, last=len(bars) - 1)
    assert len(titles(page)) == 3 and len(chips(page)) == 1
    assert page.slider(key="f.year").value[1] == 2020
    for odd in ({"first": -1, "last": 2}, {"first": "x", "last": 2}, {"key": "f.lang", "first": 0, "last": 0}):
        tell(page, "range", **{"key": "f.year", **odd})
    tell(page, "facet", key="f.lang", value="no such language")
    assert len(chips(page)) == 1


def test_facets_count_the_documents_that_pass_the_other_filters(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from semsearch_ui.search import facet_counts

    def counts(page: AppTest) -> tuple[dict[str, int | None], int]:
        facets = {each["key"]: each for each in hits(page)["facets"]}
        values = {one["value"]: one["count"] for one in facets["f.lang"]["values"]}
        return values, sum(each["count"] for each in facets["f.year"]["bars"])

    page = shown("engine")
    assert counts(page) == ({"en": 3, "de": 1}, 4) and not hits(page)["filtered"]
    tell(page, "facet", key="f.lang", value="de")
    assert counts(page) == ({"en": 3, "de": 1}, 1) and hits(page)["filtered"]  # its own choice counts for the others
    tell(page, "facet", key="f.lang", value="de")
    page.text_input(key="path").set_value("brot*").run()
    assert counts(page) == ({"de": 1}, 1)  # no value that nothing has
    monkeypatch.setattr(facet_counts, "MOST", 0)
    page.text_input(key="path").set_value("*.txt").run()
    assert counts(page) == ({"en": None, "de": None}, 4)


def test_recent_and_saved_searches_are_listed_under_the_empty_box_until_they_are_removed(notes: Path) -> None:
    tell(shown("diesel engine", mode="keyword"), "save")
    shown("bread")
    start = hits(page := shown())["start"]
    assert [each["label"] for each in start["recent"]] == ["bread", "diesel engine"]
    assert [dict(parse_qsl(each["url"])) for each in start["saved"]] == [{"mode": "keyword", "q": "diesel engine"}]
    shown("bread", n="notes")  # the only one: the same search, which is drawn once
    start = hits(page := shown())["start"]
    assert len({each["same"] for each in start["recent"]}) == 2 < len(start["recent"])
    tell(page, "forget", kind="recent", url="q=bread")
    assert (notes.parent / ".searches.json").stat().st_mode & 0o077 == 0
    assert admin.names() == ["notes"]
    tell(page, "forget", kind="recent", url=start["recent"][0]["url"])
    assert [each["label"] for each in hits(page)["start"]["recent"]] == ["diesel engine"]
    tell(page, "remember", on=False)
    shown("petrol")
    start = hits(shown())["start"]
    assert (start["recent"], start["remember"], len(start["saved"])) == ([], False, 1)


def test_a_search_is_listed_with_its_name_and_what_restricts_it_where_its_index_is(notes: Path) -> None:
    with Index.create("others", encoder="hashing") as index:
        index.add([Document("o.txt", "A diesel engine in another index.")])
    tell(shown("engine", n="notes", **{"f.lang": "de"}), "save", name="  Motoren ")
    page = shown("engine", n="notes", mode="keyword")
    page.text_input(key="q").set_value("engine with a spark").run()  # the first one was its beginning
    start = hits(shown(n="notes"))["start"]
    assert [(each["label"], each["more"]) for each in start["recent"]] == [
        ("engine with a spark", "mode: keyword"),
        ("engine", "lang: de"),
    ]
    assert [(each["label"], each["more"]) for each in start["saved"]] == [("Motoren", "engine · lang: de")]
    assert hits(shown(n="others"))["start"]["recent"] == [] == hits(shown(n="others"))["start"]["saved"]
    shown("engine with a spark", mode="keyword")  # of both, which is another search
    recent = hits(shown(n="notes"))["start"]["recent"]
    assert [each["label"] for each in recent[:2]] == ["engine with a spark"] * 2
    assert recent[0]["same"] != recent[1]["same"]


@pytest.mark.parametrize("content", ["", "[]", '{"recent": 7, "saved": [1, {"text": 2}]}', "\x00"])
def test_a_damaged_list_of_searches_costs_no_search(content: str, notes: Path) -> None:
    (notes.parent / ".searches.json").write_text(content)
    assert len(titles(shown("engine"))) == 4
    assert hits(shown())["start"]["saved"] == []


def test_what_is_typed_is_answered_by_its_words_and_at_rest_by_its_meaning(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = shown("bread")
    asked: list[tuple[str, str]] = []
    search = Index.search
    noted = lambda index, query, *more: asked.append((query.text, query.mode)) or search(index, query, *more)  # noqa: E731
    monkeypatch.setattr(Index, "search", noted)
    page.text_input(key="q").set_value("diesel").run()
    assert asked == [("diesel", "keyword"), ("diesel", "hybrid")]
    assert len(titles(page)) == 4  # not only the one with the word
    asked.clear()
    page.text_input(key="q").set_value("petrol engine")
    tell(page, "asked", text="petrol engine")  # Enter
    assert asked == [("petrol engine", "hybrid")]
    assert (
        shown("petrol").text_input(key="q").value == "petrol"
    )  # a page that is opened at a question waits for nothing


def test_a_chip_of_a_passage_shows_its_words_and_never_stands_on_both_sides(notes: Path) -> None:
    page = tell(shown("diesel engine"), "steer", kind="more", key=first(shown("diesel engine")))
    assert chips(page) == ["more like: “A diesel engine ignites fuel by …”"]
    tell(page, "steer", kind="less", key=first(page))
    assert [each.partition(":")[0] for each in chips(page)] == ["less like"]
    assert chips(shown("engine", more="#1 ^0.5"))[0].endswith("…” ^0.5")


def test_hits_are_ordered_by_their_dates_where_that_is_chosen(notes: Path) -> None:
    told = {1990: "A steam engine.", 2020: "The steam engine of a mill.", 2005: "Why a steam engine whistles."}
    dated = [Document(f"{year}.txt", text, {"date": f"{year}-05-01"}) for year, text in told.items()]
    with Index.create("dated", encoder="hashing") as index:
        index.add([*dated, Document("x.txt", "A steam engine has a boiler.")])
    page = shown("steam engine", n="dated", sort="newest")
    assert [hit["date"] for hit in hits(page)["hits"]] == ["2020-05-01", "2005-05-01", "1990-05-01", ""]
    tell(page, "sort", by="oldest")
    assert titles(page)[0] == "1. 1990.txt" and page.query_params["sort"] in ("oldest", ["oldest"])
    assert hits(shown("steam engine", n="dated", sort="sideways"))["sort"] == ""


def test_more_hits_are_one_click_away_while_there_are_any(notes: Path) -> None:
    page = shown("engine", k="3")
    assert hits(page)["more"]
    tell(page, "grow")
    assert len(titles(page)) == 4 and not hits(page)["more"]
    assert page.number_input(key="k").value == 13


def test_the_first_folder_of_a_path_narrows_a_search(notes: Path) -> None:
    with Index.open("notes", encoder="hashing") as index:
        index.add([Document("boats/old/steam.txt", "A steam engine drives the boat.")])
    page = shown("engine")
    [folder] = [each for each in hits(page)["facets"] if each["key"] == "b.folder"]
    assert [(one["value"], one["count"]) for one in folder["values"]] == [("cars", 2), ("boats", 1)]
    tell(page, "facet", key="b.folder", value="boats")
    assert titles(page) == ["1. steam.txt"] and chips(page) == ["Folder: boats"]


def test_only_a_snippet_with_text_before_it_begins_with_an_ellipsis() -> None:
    from semsearch_ui.search.card import card
    from semsearch_ui.search.results import IndexHit

    def shown(start: int, begin: int) -> str:
        text = "stock | price\nvalve | 3"
        hit = Hit(1, 1, 0.5, 0.99, "a.xlsx", "a.xlsx#Parts", start, start + len(text), 1, None, None, text, {}, {})
        return str(card(1, IndexHit("notes", hit, "#1"), Snippet(begin, len(text), (), begin))["pieces"][0][1])

    assert shown(0, 0).startswith("stock")
    assert [shown(50, 0), shown(0, 14)] == ["… ", "… "]


@pytest.mark.parametrize(("path", "kind"), [("a.html.en.utf8", "HTML"), ("a.v2.md", "MD"), ("a.txt", "TXT"), ("a", "")])
def test_the_type_of_a_hit_is_that_of_its_loader(path: str, kind: str) -> None:
    from semsearch_ui.search.card import card
    from semsearch_ui.search.results import IndexHit

    hit = Hit(1, 1, 0.5, 0.99, path, path, 0, 4, 1, None, None, "salt", {}, {})
    assert card(1, IndexHit("notes", hit, "#1"), Snippet(0, 4, (), 0))["kind"] == kind


def test_what_is_no_better_than_chance_stands_behind_all_that_is(notes: Path) -> None:
    from semsearch_ui.search.hits import ordered
    from semsearch_ui.search.results import IndexHit

    def found(number: int, strength: float | None, rerank: float | None = None) -> IndexHit:
        hit = Hit(number, number, 0.5, strength, "a", "a", 0, 1, 1, None, None, "x", {}, {}, rerank=rerank)
        return IndexHit("notes", hit, f"#{number}")

    mixed = (found(1, 0.97), found(2, 0.0), found(3, None), found(4, 0.49), found(5, 0.6))
    assert [each.hit.id for each in ordered(mixed)] == [1, 3, 5, 2, 4]
    read = (found(1, 0.1, 0.9), found(2, 0.8, 0.2))  # the reranker has the last word
    assert ordered(read) == read
    page = shown("diesel engine")
    strengths = [hit["record"]["strength"] for hit in hits(page)["hits"]]
    above = hits(page)["above"]
    assert all(one >= 0.5 for one in strengths[:above]) and all(one < 0.5 for one in strengths[above:])
    assert [hit["record"]["rank"] for hit in hits(page)["hits"]] == list(range(1, len(strengths) + 1))
