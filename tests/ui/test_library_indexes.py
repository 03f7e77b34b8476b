"""The indexes in the library: checking, copying, renaming, removing; making one is the panel's."""

from __future__ import annotations

import shutil
import threading
from functools import partial
from pathlib import Path

import pytest
from helpers.pages import again, click, ended, opened, said
from streamlit.testing.v1 import AppTest

from semsearch import Document, Index, Progress, admin
from semsearch.encoders.hashing import HashingEncoder

HOSTILE = "<b>x"
DOCUMENTS = [Document("a.txt", "A diesel engine."), Document("b.txt", "Bread and salt.")]
shown = partial(opened, "library", shelf="indexes")


def reembed(page: AppTest, encoder: str, *, keep: bool = False) -> AppTest:
    """The page after the form was sent."""
    page.selectbox(key="reembed.encoder notes").set_value(encoder)
    page.checkbox(key="reembed.keep notes").set_value(keep)
    return click(page, "Encode it again")


def test_an_index_is_encoded_again_with_another_encoder(home: Path) -> None:
    with Index.create("notes", encoder=HashingEncoder(64)) as index:
        index.add([Document("a.txt", "A diesel engine."), Document("b.txt", "Bread and salt.")])
    page = reembed(shown(n="notes"), "hashing", keep=True)
    assert ended("notes") == "done"
    page = again(page)
    assert "2 passages are encoded with hashing, 2 of them now. Kept: hashing." in said(page)
    captions = "\n".join(each.value.replace("\\", "") for each in page.caption)
    assert "hashing, 256 dimensions" in captions
    assert "Kept to compare: hashing, 64 dimensions" in captions and "vectors of 2 of 2 passages" in captions
    with Index.open("notes") as index:
        assert index.search("diesel", mode="semantic")[0].document == "a.txt"


def test_an_unfinished_encoding_is_shown_and_goes_on(home: Path) -> None:
    def stop(step: Progress) -> None:
        raise InterruptedError

    with Index.create("notes", encoder=HashingEncoder(64)) as index:
        index.add([Document("a.txt", "A diesel engine.")])
        with pytest.raises(InterruptedError):
            index.reembed("hashing", progress=stop)
    page = shown(n="notes")
    assert any("Not finished: hashing" in each.value for each in page.markdown)
    assert page.selectbox(key="reembed.encoder notes").value == "hashing"
    click(page, "Encode it again")
    assert ended("notes") == "done"
    with Index.open("notes") as index:
        assert [space["state"] for space in index.info()["spaces"]] == ["current"]


def test_an_encoder_that_is_not_here_is_not_downloaded_by_the_way(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semsearch_ui.shared.encoder_picker.local_names", lambda: ["hf:owner/name"])  # a typed name
    page = reembed(shown(n="notes"), "hf:owner/name")
    assert "hf:owner/name is not on this machine" in said(page)


def test_an_index_of_own_vectors_has_no_such_form(home: Path) -> None:
    Index.create("notes", encoder=None, dimensions=3).close()
    assert [each for each in shown(n="notes").selectbox if each.key == "reembed.encoder notes"] == []


def cards(page: AppTest) -> str:
    """What the cards of the indexes say."""
    return "\n".join(each.value.replace("\\", "") for each in page.caption)


def test_every_index_is_shown_with_its_encoder_and_what_serves_it(notes: Path) -> None:
    page = shown()
    assert "2 documents, 2 passages" in cards(page) and "hashing · exact search" in cards(page)
    assert [each.label for each in page.button if str(each.key).startswith("choose ")] == ["notes"]


def test_an_index_that_cannot_be_read_says_why_and_hides_no_other(notes: Path, home: Path) -> None:
    (home / "broken").mkdir()
    (home / "broken" / "store.db").write_bytes(b"not a database, and long enough to look at" * 100)
    page = shown(n="notes")
    assert "cannot be read: " in cards(page) and "2 documents, 2 passages" in cards(page)
    assert "Traceback" not in said(page)


def test_a_card_makes_its_index_the_current_one(notes: Path) -> None:
    Index.create("alpha", encoder="hashing").close()
    page = shown(n="notes")
    click(page, "alpha")
    assert page.query_params["n"] in ("alpha", ["alpha"]) and page.text_input(key="new name alpha").value == "alpha"


def test_an_index_says_how_much_of_it_its_encoder_reads(home: Path) -> None:
    texts = ("Das Brot muss eine Stunde im Ofen bleiben.", "Der Hund läuft über die Straße.", "Wie alt ist das Haus?")
    with Index.create("notes") as index:
        index.add([Document(f"{at}.txt", text) for at, text in enumerate(texts)])
    assert "cot-small, which reads 33% of the texts" in cards(shown(n="notes"))


def test_verify_and_compact_say_what_they_found(notes: Path) -> None:
    page = click(shown(), "Verify")
    assert ended("notes") == "done"
    assert "Everything is in order" in said(again(page))
    page = click(page, "Compact")
    assert ended("notes") == "done"
    assert "before," in said(again(page))
    with Index.open(notes) as index:
        admin.rebuild(index, "flat")
    for cache in notes.glob("vectors-*.cache"):
        cache.write_bytes(b"damaged")
    click(page, "Verify")
    assert ended("notes") == "done"
    assert "1 problem found" in said(again(page))


def test_a_dump_is_downloaded_and_restored(notes: Path, home: Path) -> None:
    from semsearch_ui.shared.work import jobs

    page = click(shown(), "Dump")
    assert ended("notes") == "done"
    assert again(page).get("download_button")
    job = jobs.last("notes")
    assert job and job.outcome and job.outcome.file
    dump = job.outcome.file.read_bytes()
    page.file_uploader(key="dump.file").set_value(("notes.dump", dump, ""))
    page.text_input(key="dump.name").set_value("new")
    click(page, "Restore it")
    assert ended("new") == "done"
    assert "2 documents restored" in said(again(page))
    assert admin.names() == ["new", "notes"]


def test_a_file_that_is_no_dump_is_a_sentence(home: Path) -> None:
    page = shown()
    page.file_uploader(key="dump.file").set_value(("notes.dump", b"PK nothing", ""))
    page.text_input(key="dump.name").set_value("new")
    click(page, "Restore it")
    assert ended("new") == "failed"
    assert "not a dump" in said(again(page))
    assert not admin.names()


def test_removing_asks_for_the_name_and_says_what_stays(notes: Path) -> None:
    page = shown()
    assert page.button(key="really remove").disabled
    page.text_input(key="remove notes").set_value("note")
    assert again(page).button(key="really remove").disabled
    page.text_input(key="remove notes").set_value("notes")
    click(again(page), "Remove it")
    assert "notes was removed; the indexed files stay" in said(page)
    assert not notes.exists()


def test_an_index_that_is_written_to_is_not_removed(notes: Path) -> None:
    from semsearch_ui.shared.work import jobs

    page = shown()
    page.text_input(key="remove notes").set_value("notes")
    again(page)
    go = threading.Event()
    jobs.start("notes", "Update", lambda _: jobs.Outcome(str(go.wait(60))))
    click(page, "Remove it")
    assert "busy" in said(page)
    assert all(one.disabled for one in again(page).button if one.label in ("Remove it", "Rename it"))
    go.set()
    ended("notes")
    again(page)
    with Index.open("notes", encoder="hashing") as other:
        other.add([Document("x", "A text.")])
        click(page, "Remove it")
        assert "is being written to" in said(page)
    assert notes.exists()


def test_an_index_gets_another_name_and_the_page_follows(notes: Path, home: Path) -> None:
    Index.create("alpha", encoder="hashing").close()
    page = shown(n="notes")
    page.text_input(key="new name notes").set_value("zeta")
    click(page, "Rename it")
    assert "notes was renamed to zeta" in said(page)
    assert page.selectbox(key="n").value == "zeta"
    assert [each.label for each in page.button if str(each.key).startswith("choose ")] == ["alpha", "zeta"]
    assert (home / "zeta" / "store.db").exists() and not (home / "notes").exists()
    assert _texts("zeta") == ["A diesel engine.", "Bread and salt."]


def _texts(name: str) -> list[str]:
    with Index.open(name) as index:
        return list(index.analysis.texts())


@pytest.mark.parametrize(
    ("new", "why"), [("notes", "already"), ("", "cannot be"), ("a/b", "cannot be"), ("alpha", "already exists")]
)
def test_a_name_that_cannot_be_is_a_sentence(new: str, why: str, notes: Path) -> None:
    Index.create("alpha", encoder="hashing").close()
    page = shown(n="notes")
    page.text_input(key="new name notes").set_value(new)
    assert why in said(click(page, "Rename it"))
    assert admin.names() == ["alpha", "notes"]


def test_an_index_that_is_written_to_keeps_its_name(notes: Path) -> None:
    page = shown()
    page.text_input(key="new name notes").set_value("new")
    with Index.open("notes", encoder="hashing") as other:
        other.add([Document("x", "A text.")])
        assert "is being written to" in said(click(page, "Rename it"))
    assert admin.names() == ["notes"]


@pytest.mark.parametrize("kind", ["dump", "folder"])
def test_what_lies_elsewhere_on_this_machine_is_brought_in_and_stays_there(
    kind: str, notes: Path, home: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("elsewhere") / "there"
    if kind == "dump":
        with Index.open("notes") as index:
            admin.dump(index, place)
    else:
        shutil.copytree(notes, place)
    admin.remove("notes")
    page = shown()
    page.text_input(key="dump.path").set_value(str(place))
    page.text_input(key="dump.name").set_value("new")
    click(page, "Restore it")
    assert ended("new") == "done"
    assert "2 documents restored" in said(again(page))
    assert place.exists()
    assert [each.name for each in home.iterdir() if each.name.startswith(".")] == []


def test_a_place_where_nothing_is_is_a_sentence(home: Path) -> None:
    page = shown()
    page.text_input(key="dump.path").set_value("~nobody/<b>here</b>")
    page.text_input(key="dump.name").set_value("new")
    click(page, "Restore it")
    assert ended("new") == "failed"
    assert "There is no file" in said(again(page))
    assert not admin.names()


def test_an_index_that_goes_behind_the_page_is_a_sentence(notes: Path) -> None:
    page = shown()
    page.button(key="Compact").click()
    admin.remove("notes")
    again(page)
    assert ended("notes") == "failed"
    assert "there is no index at" in said(again(page)).lower()


def test_the_name_of_an_index_is_never_markup(home: Path) -> None:
    Index.create(HOSTILE, encoder="hashing").close()
    page = click(shown(), "Verify")
    assert ended(HOSTILE) == "done"
    again(page)
    for each in (*page.markdown, *page.caption, *page.success):
        assert "<b>" not in each.value.replace("\\<", "")
    for each in (*page.markdown, *page.caption):
        assert not each.allow_html
