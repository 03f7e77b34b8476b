"""The page of indexes: making, checking, copying, removing."""

from __future__ import annotations

import shutil
import threading
from functools import partial
from pathlib import Path

import pytest
from helpers.pages import again, click, ended, opened, rows, said
from streamlit.testing.v1 import AppTest

from semsearch import Document, Encoder, Index, Progress, admin
from semsearch.encoders.hashing import HashingEncoder

HOSTILE = "<b>x"
DOCUMENTS = [Document("a.txt", "A diesel engine."), Document("b.txt", "Bread and salt.")]
shown = partial(opened, "indexes")


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
    assert "2 passages are encoded with hashing, 2 of them just now. Kept: hashing." in said(page)
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


def created(name: str) -> AppTest:
    """The page after an index with this name has been made by it, with `hashing` and the options untouched."""
    page = shown()
    page.text_input(key="new.name").set_value(name)
    page.selectbox(key="new.encoder").set_value("hashing")
    click(page, "Create it")
    assert ended(name) == "done"
    return page


def test_every_index_is_shown_with_its_encoder_and_what_serves_it(notes: Path) -> None:
    page = shown()
    [row] = rows(page, "backend")
    assert (row["index"], row["documents"], row["passages"], row["encoder"]) == ("notes", 2, 2, "hashing")
    assert row["size"] > 0
    assert any("exact search" in each.value for each in page.caption)


def test_an_index_that_cannot_be_read_says_why_and_hides_no_other(notes: Path, home: Path) -> None:
    (home / "broken").mkdir()
    (home / "broken" / "store.db").write_bytes(b"not a database, and long enough to look at" * 100)
    page = shown()
    broken, whole = rows(page, "backend")
    assert broken["encoder"].startswith("cannot be read: ")
    assert whole["documents"] == 2
    assert "Traceback" not in said(page)


def test_an_index_is_made_with_an_encoder_of_the_list(home: Path) -> None:
    page = shown()
    assert "no index yet" in said(page)
    page.text_input(key="new.name").set_value("new")
    page.selectbox(key="new.encoder").set_value("hashing")
    click(page, "Create it")
    assert ended("new") == "done"
    assert "add documents" in said(again(page))
    [row] = rows(page, "backend")
    assert (row["index"], row["encoder"], row["documents"]) == ("new", "hashing", 0)
    assert "why" not in row


def test_a_new_index_is_the_current_one(notes: Path) -> None:
    page = created("alpha")
    assert again(page).selectbox(key="n").value == "alpha" and "any more" not in said(page)


@pytest.mark.parametrize(
    ("name", "encoder", "why"),
    [
        ("", "hashing", "needs a name"),
        ("../up", "hashing", "needs a name"),
        ("-x", "hashing", "cannot be the name"),
        ("notes", "hashing", "already"),
        ("new", "nosuch", "No encoder is called"),
    ],
)
def test_an_index_that_cannot_be_made_is_a_sentence(
    name: str, encoder: str, why: str, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [*Encoder.catalogue(), {**Encoder.catalogue()[0], "name": "nosuch"}]
    monkeypatch.setattr(Encoder, "catalogue", staticmethod(lambda: known))
    page = shown()
    page.text_input(key="new.name").set_value(name)
    page.selectbox(key="new.encoder").set_value(encoder)
    click(page, "Create it")
    ended("new")
    told = said(page)
    assert why in told + said(again(page))
    assert admin.names() == ["notes"]


def test_verify_and_compact_say_what_they_found(notes: Path) -> None:
    page = click(shown(), "Verify")
    assert ended("notes") == "done"
    assert "Everything is in order" in said(again(page))
    page = click(page, "Compact")
    assert ended("notes") == "done"
    assert "before," in said(again(page))
    for cache in notes.glob("*.cache"):
        cache.write_bytes(b"damaged")
    click(page, "Verify")
    assert ended("notes") == "done"
    assert "problems found" in said(again(page))


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


def test_an_index_is_made_as_the_options_say(home: Path) -> None:
    page = shown()
    page.text_input(key="new.name").set_value("new")
    page.selectbox(key="new.encoder").set_value("hashing")
    page.selectbox(key="new.kind").set_value("markdown")
    page.number_input(key="new.size").set_value(64)
    page.number_input(key="new.overlap").set_value(8)
    page.selectbox(key="new.backend").set_value("exact")
    click(page, "Create it")
    assert ended("new") == "done"
    with Index.open("new") as index:
        recipe = index.info()["recipe"]
    assert recipe["splitter"] == {"kind": "markdown", "size": 64, "overlap": 8}
    assert recipe["backend"] == "exact"


def test_untouched_options_are_those_of_the_command_line(home: Path) -> None:
    created("new")
    Index.create("usual", encoder="hashing").close()
    with Index.open("new") as made, Index.open("usual") as usual:
        assert made.info()["recipe"] == usual.info()["recipe"]


def test_options_that_cannot_be_are_a_sentence_and_nothing_is_made(home: Path) -> None:
    page = shown()
    page.text_input(key="new.name").set_value("new")
    page.selectbox(key="new.encoder").set_value("hashing")
    page.number_input(key="new.overlap").set_value(500)
    assert "does not fit" in said(click(page, "Create it"))
    assert not admin.names()


def test_an_index_gets_another_name_and_the_page_follows(notes: Path, home: Path) -> None:
    Index.create("alpha", encoder="hashing").close()
    page = shown(n="notes")
    page.text_input(key="new name notes").set_value("zeta")
    click(page, "Rename it")
    assert "notes was renamed to zeta" in said(page)
    assert page.selectbox(key="n").value == "zeta"
    assert [row["index"] for row in rows(page, "backend")] == ["alpha", "zeta"]
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
