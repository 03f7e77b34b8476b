"""E-mail: messages, mailboxes, their attachments, and pages saved as MHTML."""

from __future__ import annotations

from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path

import pytest
from helpers.filemaking import all_of, message, one, paragraph, pdf, refusal, written
from helpers.filemaking import docx as save_docx

from semsearch import Index
from semsearch.documents import loaders
from semsearch.types import Document, Skipped


def letter(body: str = "The kettle is ready.", **headers: str) -> EmailMessage:
    made = EmailMessage()
    given = {"From": "Änne Müller <anne@example.org>", "To": "Bo <bo@example.org>, cy@example.org"}
    given |= {"Subject": "Kettle für alle", "Date": "Wed, 1 May 2024 10:00:00 +0200", "Message-ID": "<a1@example.org>"}
    for name, value in {**given, **headers}.items():
        made[name.replace("_", "-")] = value
    made.set_content(body)
    return made


def saved(folder: Path, made: EmailMessage, name: str = "a.eml") -> Path:
    return written(folder, name, made.as_bytes())


def mailbox(folder: Path, *messages: EmailMessage | str, name: str = "inbox.mbox") -> Path:
    parts = [each if isinstance(each, str) else each.as_string() for each in messages]
    return written(folder, name, "".join(f"From a@example.org Wed May  1 10:00:00 2024\n{each}\n\n" for each in parts))


def test_headers_are_metadata_by_the_names_of_other_loaders(tmp_path: Path) -> None:
    found = one(saved(tmp_path, letter(Cc="Dé <de@example.org>", In_Reply_To="<b2@example.org>")))
    assert found.title == "Kettle für alle"
    assert found.text == "Kettle für alle\n\nThe kettle is ready."
    assert found.metadata == {
        "author": "Änne Müller <anne@example.org>",
        "date": "2024-05-01T10:00:00+02:00",
        "to": ["Bo <bo@example.org>", "cy@example.org"],
        "cc": ["Dé <de@example.org>"],
        "message_id": "a1@example.org",
        "in_reply_to": "b2@example.org",
    }


def test_the_plain_text_is_read_else_the_html(tmp_path: Path) -> None:
    both = letter()
    both.add_alternative("<p>The <b>HTML</b> text.</p>", subtype="html")
    assert one(saved(tmp_path, both)).text.endswith("The kettle is ready.")
    html = letter()
    html.set_content("<h2>News</h2><p>The <b>HTML</b> Größe.</p><script>x()</script>", subtype="html")
    html.add_related(b"\x89PNG", "image", "png", cid="<logo>", filename="logo.png", disposition="inline")
    found = one(saved(tmp_path, html))
    assert found.text == "Kettle für alle\n\nNews\n\nThe HTML Größe."
    assert [mark.heading for mark in found.marks] == ["Kettle für alle", "News"] and "attachments" not in found.metadata


@pytest.mark.parametrize("charset", ["iso-8859-1", "utf-8", "koi8-r", "no-such-charset"])
def test_a_text_is_decoded_as_it_says_else_by_a_guess(charset: str, tmp_path: Path) -> None:
    text = "Погода хорошая, и мы идём гулять в большой парк." if charset == "koi8-r" else "Die Bäume blühen schön."
    data = text.encode("utf-8" if charset.startswith("no-") else charset)
    head = f"Subject: =?no-such?q?x?=\nContent-Type: text/plain; charset={charset}\n\n".encode()
    assert one(written(tmp_path, "a.eml", head + data)).text.endswith(text)


def test_attachments_are_read_by_the_other_loaders_or_named(tmp_path: Path) -> None:
    pdf(tmp_path / "x.pdf", [["Boilers", "A boiler heats water."], ["The end."]])
    save_docx(tmp_path / "x.docx", paragraph("A pump moves water."))
    made = letter()
    for name, kind in (("report.pdf", "pdf"), ("../Übersicht.docx", "vnd.ms-word"), ("report.pdf", "pdf")):
        made.add_attachment((tmp_path / f"x.{name[-4:].strip('.')}").read_bytes(), "application", kind, filename=name)
    made.add_attachment(b"\x89PNG\0", "image", "png", filename="photo.png")
    made.add_attachment(b"%PDF-1.4 torn", "application", "pdf", filename="torn.pdf")
    made.add_attachment(letter("A forwarded text.", Subject="Inner"))
    mail, report, plan, again, torn, inner = all_of(saved(tmp_path, made))
    assert isinstance(mail, Document) and mail.metadata["attachments"] == [
        "report.pdf",
        "Übersicht.docx",
        "2-report.pdf",
        "photo.png",
        "torn.pdf",
        "message.eml",
    ]
    assert isinstance(report, Document) and report.id == "#report.pdf" and [m.page for m in report.marks] == [1, 2]
    assert report.metadata["message"] == "Kettle für alle" and report.metadata["date"] == mail.metadata["date"]
    assert isinstance(plan, Document) and (plan.id, plan.title) == ("#Übersicht.docx", "Übersicht.docx")
    assert isinstance(again, Document) and again.id == "#2-report.pdf"
    assert isinstance(torn, Skipped) and torn.path == "a.eml#torn.pdf" and "not a readable PDF" in torn.reason
    assert isinstance(inner, Document) and (inner.id, inner.title) == ("#message.eml", "Inner")


def test_messages_within_messages_end_somewhere(tmp_path: Path) -> None:
    made = letter("0")
    for depth in range(1, 12):
        outer = letter(str(depth))
        outer.add_attachment(made)
        made = outer
    found = all_of(saved(tmp_path, made))
    assert [item.id.count("message.eml") for item in found if isinstance(item, Document)] == [0, 1, 2, 3, 4, 5]


def test_a_page_saved_as_mhtml_is_its_text(tmp_path: Path) -> None:
    made = EmailMessage()
    made["Subject"] = "Boilers"
    made.set_content("<h1>Boilers</h1><p>Heat water.</p>", subtype="html")
    made.add_related("<p>A frame.</p>", subtype="html")
    made.add_related(b"GIF89a", "image", "gif")
    assert one(saved(tmp_path, made, "page.mhtml")).text == "Boilers\n\nBoilers\n\nHeat water."


def test_a_mailbox_has_a_document_for_each_message(tmp_path: Path) -> None:
    second = letter("First line.\n\n>From here on it is quoted.", **{"Message-ID": "<b2@example.org>"})
    path = mailbox(tmp_path, letter(), second, letter("The same id again."), message("No id at all."))
    found = [item for item in all_of(path) if isinstance(item, Document)]
    assert [item.id for item in found] == ["#a1@example.org", "#b2@example.org", "#3", "#4"]
    assert found[1].text.endswith("First line.\n\nFrom here on it is quoted.")
    assert loaders.loader_for(path.rename(tmp_path / "Inbox")) == "mbox"


def test_a_broken_message_costs_no_other_one(tmp_path: Path) -> None:
    nested = letter()
    text = "\n".join(f"Content-Type: multipart/mixed; boundary={at}\n\n--{at}" for at in range(3000))
    broken, good = all_of(mailbox(tmp_path, text, nested))
    assert isinstance(broken, Skipped | Document) and isinstance(good, Document)
    if isinstance(broken, Skipped):
        assert broken.path == "inbox.mbox#1"


def test_what_is_no_mail_is_refused(tmp_path: Path) -> None:
    assert "no header" in refusal(written(tmp_path, "a.eml", "\nwords only"))
    assert "not a mailbox" in refusal(written(tmp_path, "a.mbox", "words only"))


def test_a_mailbox_that_moves_keeps_its_vectors(tmp_path: Path) -> None:
    folder = tmp_path / "mail"
    folder.mkdir()
    path = mailbox(folder, letter(), message("No id at all."))
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        index.sync([folder])
        path.rename(folder / "archive.mbox")
        report = index.sync()
        assert (report.moved, report.added, report.embedded) == (2, 0, 0)
        names = {each["id"] for each in index.documents()}
        assert names == {"archive.mbox#a1@example.org", "archive.mbox#2"}
        (hit, *_) = index.search("kettle", k=1)
        assert (hit.document, hit.path) == ("archive.mbox#a1@example.org", "archive.mbox")


def test_carriage_returns_are_no_part_of_a_text(tmp_path: Path) -> None:
    assert "\r" not in one(written(tmp_path, "a.eml", letter("One.\n\nTwo.").as_bytes(policy=SMTP))).text
