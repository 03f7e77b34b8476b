"""E-mail: messages, mailboxes, their attachments, and pages saved as MHTML."""

from __future__ import annotations

import base64
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path

import pytest
from helpers.filemaking import all_of, message, one, paragraph, pdf, refusal, rtf, written
from helpers.filemaking import docx as save_docx

from semsearch import Index
from semsearch.documents import loaders
from semsearch.documents.textless import Textless
from semsearch.types import Document, Omission, Skipped


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


def test_files_that_are_uuencoded_in_a_text_are_attachments(tmp_path: Path) -> None:
    body = "Two files:\nbegin 644 a.txt\n#=&5A\n`\nend\nand\nbegin 644 b.bin\n#=&5A\n`\nend\nbegin with this\n"
    mail, inner = all_of(saved(tmp_path, letter(body)))
    assert isinstance(mail, Document) and mail.text.endswith("Two files:\n[a.txt]\nand\n[b.bin]\nbegin with this")
    assert mail.metadata["attachments"] == ["a.txt", "b.bin"] and Omission("attachment", 0) in mail.omissions
    assert isinstance(inner, Document) and (inner.id, inner.text) == ("#a.txt", "tea")


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


def test_headers_for_people_are_metadata_and_the_others_are_counted(tmp_path: Path) -> None:
    shown = {"Sender": "Bo <bo@example.org>", "Reply_To": "Team <team@example.org>", "Organization": "Otter Ltd"}
    made = letter(**shown, List_Id="Kettles <kettles.example.org>", X_Mailer="Post 3", User_Agent="Reader")
    read = one(saved(tmp_path, made))
    names = ("sender", "reply_to", "organization", "list")
    assert [read.metadata[name] for name in names] == [*shown.values(), "Kettles <kettles.example.org>"]
    assert read.omissions == (Omission("header of delivery", 5), Omission("other header", 6))


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


def test_a_page_saved_as_mhtml_is_its_text_and_that_of_its_frames(tmp_path: Path) -> None:
    made = EmailMessage()
    made["Subject"] = "Boilers"
    made.set_content("<h1>Boilers</h1><p>Heat water.</p>", subtype="html")
    made.add_related("<p>A frame.</p>", subtype="html")
    made.add_related(b"GIF89a", "image", "gif")
    assert one(saved(tmp_path, made, "page.mhtml")).text == "Boilers\n\nBoilers\n\nHeat water.\n\nA frame."


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


# ---- headers as programs write them

HEAD = "From: Ada <ada@example.org>\nTo: Bo <bo@example.org>\nDate: Mon, 3 Mar 2025 10:00:00 +0100\n"
SUBJECT = "Kühlraum größer machen – 5 €"


@pytest.mark.parametrize("charset", ["utf-8", "cp1252"])
def test_raw_bytes_in_a_header_are_utf8_else_western(charset: str, tmp_path: Path) -> None:
    raw = f"From: Jörg Müller <j@example.org>\nSubject: {SUBJECT}\n\nText.".encode(charset)
    read = one(written(tmp_path, "a.eml", raw))
    assert (read.title, read.metadata["author"]) == (SUBJECT, "Jörg Müller <j@example.org>")


def test_raw_bytes_in_a_header_may_be_of_the_set_of_the_text(tmp_path: Path) -> None:
    raw = "Subject: Погода на завтра\nContent-Type: text/plain; charset=koi8-r\n\nДождь.".encode("koi8-r")
    assert one(written(tmp_path, "a.eml", raw)).text == "Погода на завтра\n\nДождь."


@pytest.mark.parametrize(
    ("subject", "decoded"),
    [
        ("=?utf-8?Q?Stra=C3=9Fe?= =?utf-8?B?bmJhaG4=?=", "Straßenbahn"),
        ("=?utf-8?Q?Stra=C3?=\n =?utf-8?Q?=9Fe?=", "Straße"),  # a letter in two words
        ("=?iso-8859-1?q?Gr=FC=DFe?= =?koi8-r?b?8M/Hz8TB?=", "GrüßeПогода"),
        ("Re: =?utf-8?B?R3LDvMOfZQ?= and more", "Re: Grüße and more"),  # without its padding
        ("=?utf-8*de?Q?Gr=C3=BC=C3=9Fe?=", "Grüße"),
        ("=?iso-8859-1?Q?=935_=80=94?=", "“5 €”"),
        ("=?utf-8?Q?Stra=C3=9Fe?= =?x-bad?Q?=C3=BC_oops?= plain", "Straßeü oops plain"),
        ("=?utf-8?Q?a?=and=?utf-8?Q?b?=", "aandb"),
        ("a =?utf-8?q?b?= c", "a b c"),
    ],
)
def test_encoded_words_are_decoded_each_by_itself(subject: str, decoded: str, tmp_path: Path) -> None:
    assert one(written(tmp_path, "a.eml", f"{HEAD}Subject: {subject}\n\nText.")).title == decoded


def test_a_comma_in_an_encoded_name_makes_no_second_address(tmp_path: Path) -> None:
    raw = "To: =?utf-8?q?M=C3=BCller=2C_=C3=84nne?= <a@example.org>, cy@example.org\nSubject: x\n\nText."
    assert one(written(tmp_path, "a.eml", raw)).metadata["to"] == ["Müller, Änne <a@example.org>", "cy@example.org"]


@pytest.mark.parametrize(
    "before",
    [
        "\n\n",
        "\ufeff",
        "\ufeff\n",
        "Microsoft Mail Internet Headers Version 2.0\n",
        ">From ada@example.org Mon Mar  3 10:00:00 2025\n",
        "From ada@example.org Mon Mar  3 10:00:00 2025\n",
        "This message was exported by a program.\nDo not edit it.\n\n",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_stands_before_the_headers_costs_no_message(before: str, end: str, tmp_path: Path) -> None:
    raw = f"{before}{HEAD}Subject: Kettles\n\nText about a manatee.\n".replace("\n", end)
    read = one(written(tmp_path, "a.eml", raw.encode()))
    assert (read.title, read.text) == ("Kettles", "Kettles\n\nText about a manatee.")
    assert read.metadata["author"] == "Ada <ada@example.org>"


def test_a_banner_before_the_headers_is_counted(tmp_path: Path) -> None:
    raw = f"Mail Headers 2.0\n{HEAD}>From ada@example.org Mon Mar  3 10:00:00 2025\nSubject: x\n\nText."
    read = one(written(tmp_path, "a.eml", raw))
    assert (read.title, read.omissions) == ("x", (Omission("banner", 14),))


# ---- texts


@pytest.mark.parametrize(
    ("label", "charset"),
    [
        ("iso-8859-1", "utf-8"),
        ("us-ascii", "utf-8"),
        ("utf-8", "cp1252"),
        ("iso-8859-1", "cp1252"),
        ("x-unknown", "utf-8"),
        ("utf-16", "utf-8"),
        ("utf-32le", "cp1252"),
    ],
)
def test_a_text_that_lies_about_its_charset_is_read_right(label: str, charset: str, tmp_path: Path) -> None:
    text = "Grüße von der „Möwe“ – sie’s 5 € wert."
    head = f"{HEAD}Content-Type: text/plain; charset={label}\nContent-Transfer-Encoding: 8bit\n\n"
    assert one(written(tmp_path, "a.eml", head.encode() + text.encode(charset))).text == text


@pytest.mark.parametrize("parameter", ['; boundary="other"', ""])
def test_a_message_whose_parts_cannot_be_told_apart_is_its_text(parameter: str, tmp_path: Path) -> None:
    body = "--parts\nContent-Type: text/plain\n\nThe kettle boils.\n--parts--\n"
    document = one(written(tmp_path, "a.eml", f"{HEAD}Content-Type: multipart/mixed{parameter}\n\n{body}"))
    assert "The kettle boils." in document.text and "attachments" not in document.metadata


def test_what_stands_around_the_parts_of_a_message_is_counted(tmp_path: Path) -> None:
    parts = "This is MIME.\n--B\nContent-Type: text/plain\n\nThe kettle boils.\n--B--\nSent by the list.\n"
    document = one(written(tmp_path, "a.eml", f'{HEAD}Content-Type: multipart/mixed; boundary="B"\n\n{parts}'))
    assert document.omissions == (Omission("text around the parts", len("ThisisMIME.Sentbythelist.")),)


@pytest.mark.parametrize(("kind", "only"), [("image/png", "picture"), ("application/x-own", "attachment")])
def test_a_message_of_files_alone_says_so(kind: str, only: str, tmp_path: Path) -> None:
    head = f"From: a@example.org\nContent-Type: {kind}\nContent-Transfer-Encoding: base64\n\n"
    assert all_of(written(tmp_path, "a.eml", f"{head}AAAA\n")) == [
        Textless("a.eml", f"no text found in it, only {only}", (Omission(only, 0),), whole=True)
    ]


@pytest.mark.parametrize("charset", ["iso-2022-jp", "utf-7", "utf-16", "gb2312", "shift_jis"])
def test_a_text_in_the_set_that_it_names_is_no_utf8(charset: str, tmp_path: Path) -> None:
    text = "日本語" if charset != "gb2312" else "中文"
    made = f"{HEAD}Content-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: base64\n\n".encode()
    assert one(written(tmp_path, "a.eml", made + base64.b64encode(text.encode(charset)))).text == text


def alternatives(*parts: tuple[str, str]) -> str:
    texts = "".join(f"--XX\nContent-Type: {kind}\n\n{text}\n" for kind, text in parts)
    return (
        f"{HEAD}Subject: News\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=XX\n\n{texts}--XX--\n"
    )


SALE = "<h1>Spring sale</h1><p>All flamingo tickets at half price until 4 May.</p>"


@pytest.mark.parametrize(
    "stub",
    [
        "Your mail program cannot show HTML. View this message in a browser.",
        "https://example.org/news?id=4711",
        "Um diese Nachricht zu lesen, öffnen Sie sie im Browser.",
    ],
)
def test_a_stub_gives_way_to_the_html_and_is_counted(stub: str, tmp_path: Path) -> None:
    read = one(written(tmp_path, "a.eml", alternatives(("text/plain; charset=utf-8", stub), ("text/html", SALE))))
    assert read.text == "News\n\nSpring sale\n\nAll flamingo tickets at half price until 4 May."
    (omission,) = read.omissions
    assert omission.kind == "alternative text" and omission.letters > 20


def test_a_plain_text_that_says_the_same_is_read_and_the_html_counted(tmp_path: Path) -> None:
    plain = "Spring sale! All tickets for flamingos at half price, until 4 May."
    read = one(written(tmp_path, "a.eml", alternatives(("text/plain", plain), ("text/html", SALE))))
    assert read.text == f"News\n\n{plain}"
    assert read.omissions == (Omission("alternative text", 48),)


INVITATION = """BEGIN:VCALENDAR
X-WR-CALNAME:Ada's
BEGIN:VEVENT
UID:4711
SUMMARY:Budget meeting on rac
 coons\\, again
DTSTART;TZID=Europe/Berlin:20250304T100000
LOCATION:Room 5
ORGANIZER;CN="Ada L.":mailto:ada@example.org
BEGIN:VALARM
DESCRIPTION:Reminder
END:VALARM
DESCRIPTION:Bring\\nthe figures.
END:VEVENT
END:VCALENDAR"""


def test_an_invitation_is_read_and_its_data_counted(tmp_path: Path) -> None:
    calendar = ("text/calendar; method=REQUEST; charset=utf-8", INVITATION)
    event = "Budget meeting on raccoons, again\nStart: 2025-03-04 10:00\nLocation: Room 5\nOrganizer: Ada L.\nBring\n"
    read = one(written(tmp_path, "a.eml", alternatives(calendar)))
    assert read.text == f"News\n\n{event}the figures."
    assert read.omissions == (Omission("calendar data", 46),)
    both = one(written(tmp_path, "b.eml", alternatives(("text/plain", "Please come."), calendar)))
    assert both.text == f"News\n\nPlease come.\n\n{event}the figures."


def test_flowed_lines_are_joined_and_quotations_kept_apart(tmp_path: Path) -> None:
    lines = "A long sentence \nthat goes on.\n\n> Quoted by \n> another.\n From here on.\n-- \nAda\n"
    read = one(written(tmp_path, "a.eml", f"{HEAD}Content-Type: text/plain; format=flowed\n\n{lines}"))
    assert read.text == "A long sentence that goes on.\n\n> Quoted by another.\nFrom here on.\n-- \nAda"


def test_texts_of_other_types_are_read_and_parts_without_a_name_listed(tmp_path: Path) -> None:
    status = "Reporting-MTA: dns; mx\n\nDiagnostic-Code: smtp; 550 no such manatee\n"
    parts = [("text/enriched", "An enriched walrus."), ("message/delivery-status", status), ("application/x-foo", "x")]
    raw = alternatives(*parts).replace("alternative", "mixed")
    read = one(written(tmp_path, "a.eml", raw))
    assert "An enriched walrus." in read.text and "550 no such manatee" in read.text
    assert read.metadata["attachments"] == ["attachment"]


def test_a_text_attached_under_a_name_of_no_known_type_is_read(tmp_path: Path) -> None:
    made = letter()
    made.add_attachment("An attached otter.", filename="notes.orig")
    made.add_attachment(rtf(r"A walrus.\par"), "rtf", filename="letter.doc")  # as Word names it
    _, *attached = all_of(saved(tmp_path, made))
    texts = {each.id: each.text for each in attached if isinstance(each, Document)}
    assert texts == {"#notes.orig": "An attached otter.\n", "#letter.doc": "A walrus."}


# ---- mailboxes

PATCH = f"From {'0123456789' * 4} Mon Sep 17 00:00:00 2001\nFrom: Ada <ada@example.org>\nSubject: [PATCH] Boil\n"


@pytest.mark.parametrize(
    "quoted",
    [
        "From Monday on, the office opens at eight.\nPlease: bring the key.",
        "From 9:30 on in 2025 we boil.\nNote: tea.",
        PATCH,
        "From here to there\n\nand back.",
    ],
)
def test_a_from_in_a_text_begins_no_message(quoted: str, tmp_path: Path) -> None:
    first, second = all_of(mailbox(tmp_path, f"{HEAD}Subject: One\n\nHello,\n\n{quoted}\n\nAda", message("Two.")))
    assert isinstance(first, Document) and first.text == f"One\n\nHello,\n\n{quoted}\n\nAda"
    assert isinstance(second, Document) and second.text.endswith("Two.")


@pytest.mark.parametrize(
    "separator",
    [
        "From ada@example.org Mon Mar  3 10:00:00 2025",
        "From - Mon Mar 03 10:00:00 2025",
        "From 1234567890@xxx Mon Mar 03 09:00:00 +0000 2025",
        "From ada at example.org  Mon Mar  3 10:00:00 2025",
        "From MAILER-DAEMON Mon, 3 Mar 2025 10:00:00 +0100",
        PATCH.split("\n")[0],
        "From ada@example.org",
    ],
)
@pytest.mark.parametrize("before", ["", "\ufeff", "\n"])
def test_every_usual_separator_begins_a_message(separator: str, before: str, tmp_path: Path) -> None:
    messages = "".join(f"{separator}\n{HEAD}Subject: {name}\n\nText.\n\n" for name in ("One", "Two", "Three"))
    read = all_of(written(tmp_path, "inbox.mbox", before + messages))
    assert [item.title for item in read if isinstance(item, Document)] == ["One", "Two", "Three"]


def test_a_message_may_begin_without_a_blank_line_before_it(tmp_path: Path) -> None:
    separator = "From ada@example.org Mon Mar  3 10:00:00 2025\n"
    text = f"{separator}{HEAD}Subject: One\n\nText.\n{separator}{HEAD}Subject: Two\n\nMore."
    assert [item.text for item in all_of(written(tmp_path, "a.mbox", text)) if isinstance(item, Document)] == [
        "One\n\nText.",
        "Two\n\nMore.",
    ]


@pytest.mark.parametrize(
    "name", ["cur/1712.M20P3.mail.example.org:2,S", "new/1712.M20P3.host.pl", "cur/1712.M1.node.txt", "4", "mail/saved"]
)
def test_mails_without_a_suffix_are_recognised(name: str, tmp_path: Path) -> None:
    (path := tmp_path / name).parent.mkdir(exist_ok=True)
    path.write_bytes(letter().as_bytes())
    assert loaders.loader_for(path) == "email" and one(path).title == "Kettle für alle"


@pytest.mark.parametrize(
    "head", ["Package: kettle\nVersion: 1\n\nText", "Note: a\nTo: do\n\nText", "PEP: 8\nTitle: x\n\n"]
)
def test_other_fields_are_no_mail(head: str, tmp_path: Path) -> None:
    assert loaders.loader_for(written(tmp_path, "file", head)) == "text"


ENCODED = base64.encodebytes("Der Kessel läuft.".encode()).decode()
FOOTER = "_______\nlist mailing list\nlist@example.org"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f"{ENCODED}{FOOTER}\n", f"Der Kessel läuft.\n\n{FOOTER}"),
        (f"Scanned by example.org\n\n{ENCODED}", "Scanned by example.org\n\nDer Kessel läuft."),
        ("This only says that it is\nencoded.\n", "This only says that it is\nencoded."),
    ],
    ids=["a list below it", "a scanner above it", "no base64"],
)
def test_lines_around_base64_are_read(body: str, text: str, tmp_path: Path) -> None:
    head = "From: a@example.org\nSubject: Kettle\nContent-Type: text/plain; charset=utf-8\n"
    mail = f"{head}Content-Transfer-Encoding: base64\n\n{body}"
    assert one(written(tmp_path, "a.eml", mail)).text == f"Kettle\n\n{text}"


def test_files_attached_to_an_alternative_that_is_not_read_are_read(tmp_path: Path) -> None:
    made = letter()
    made.add_alternative("<p>The kettle is ready.</p>", subtype="html")
    rich = made.get_payload()[1]
    rich.make_mixed()
    rich.add_attachment("The offer is 99 EUR.", filename="offer.txt", disposition="inline")
    rich.add_attachment(b"\0", "application", "octet-stream", filename="x.bin")
    mail, offer = (item for item in all_of(saved(tmp_path, made)) if isinstance(item, Document))
    assert mail.text == "Kettle für alle\n\nThe kettle is ready."
    assert mail.metadata["attachments"] == ["offer.txt", "x.bin"]
    assert mail.omissions == (Omission("alternative text", 16), Omission("attachment", 0))
    assert (offer.id, offer.text.strip()) == ("#offer.txt", "The offer is 99 EUR.")


def test_of_related_parts_the_named_one_is_the_page_and_files_are_attachments(tmp_path: Path) -> None:
    parts = [
        "Content-Type: text/css\nContent-ID: <style>\n\nbody {}",
        "Content-Type: text/html\nContent-ID: <page>\n\n<p>Heat water.</p>",
        "Content-Type: image/png\nContent-ID: <logo>\n\nx",
        'Content-Type: text/plain; name="plan.txt"\nContent-Disposition: inline; filename="plan.txt"\n\nThe plan.',
    ]
    body = "".join(f"--b\n{part}\n" for part in parts)
    head = 'Subject: Boilers\nContent-Type: multipart/related; start="<page>"; boundary=b\n\n'
    mail, plan = (each for each in all_of(written(tmp_path, "a.eml", f"{head}{body}--b--\n")))
    assert isinstance(mail, Document) and mail.text == "Boilers\n\nHeat water."
    assert mail.omissions == (Omission("style", 6), Omission("picture", 0))
    assert isinstance(plan, Document) and plan.text.strip() == "The plan."


def test_a_receipt_is_read_by_its_fields(tmp_path: Path) -> None:
    report = (
        "Content-Type: message/disposition-notification\n\nReporting-UA: mail.example.org\nDisposition: displayed\n"
    )
    body = f"--b\n\nYour message was read.\n--b\n{report}\n--b--\n"
    found = one(written(tmp_path, "a.eml", f"Subject: Read\nContent-Type: multipart/report; boundary=b\n\n{body}"))
    assert found.text.endswith("was read.\n\nReporting-UA: mail.example.org\nDisposition: displayed")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_message_of_several_bytes_a_letter_is_read(encoding: str, tmp_path: Path) -> None:
    path = written(tmp_path, "a.eml", message("Die Größe ist 12.", Subject="Der Kühlraum").encode(encoding))
    document = one(path)
    assert (document.title, document.text) == ("Der Kühlraum", "Der Kühlraum\n\nDie Größe ist 12.")


@pytest.mark.parametrize("name", ["Quoted-Printable;", "quoted_printable", "'quoted-printable'", "QUOTED-PRINTABLE "])
def test_an_encoding_is_known_by_other_spellings_of_its_name(name: str, tmp_path: Path) -> None:
    head = f"From: a@example.org\nSubject: Pump\nContent-Transfer-Encoding: {name}\n"
    head += "Content-Type: text/plain; charset=utf-8\n\n"
    assert one(written(tmp_path, "a.eml", f"{head}Gr=C3=B6=C3=9Fe")).text == "Pump\n\nGröße"


def test_keywords_and_comments_of_a_message_are_found(tmp_path: Path) -> None:
    document = one(saved(tmp_path, letter(Keywords="okapi, walrus", Comments="call back")))
    assert document.text.endswith("\n\ncall back\n\nokapi, walrus")
    assert document.metadata["keywords"] == "okapi, walrus"


def test_each_of_several_fields_with_one_name_is_read(tmp_path: Path) -> None:
    head = "From: a@example.org\nSubject:\nSubject: Pump\nSubject: =?utf-8?q?K=C3=BChlung?=\nSubject: Pump\n"
    head += "To: b@example.org\nTo: c@example.org\nKeywords: okapi\nKeywords: walrus\n"
    document = one(written(tmp_path, "a.eml", f"{head}\nIt runs.".encode()))
    assert (document.title, document.text) == ("Pump", "Pump\n\nKühlung\n\nIt runs.\n\nokapi, walrus")
    assert document.metadata["to"] == ["b@example.org", "c@example.org"]


def test_a_message_of_apple_mail_is_read_without_its_state(tmp_path: Path) -> None:
    content = message("Die Größe ist 12.", Subject="Pump").encode()
    state = b'<?xml version="1.0"?><plist><dict><key>flags</key></dict></plist>\n'
    path = written(tmp_path, "12.emlx", str(len(content)).encode() + b"   \n" + content + state)
    assert one(path).text == "Pump\n\nDie Größe ist 12."


def test_a_mailbox_of_two_bytes_a_letter_is_refused_with_that_as_the_reason(tmp_path: Path) -> None:
    content = f"From a@example.org Wed May  1 10:00:00 2024\n{message('Text.')}"
    assert refusal(written(tmp_path, "a.mbox", content.encode("utf-16"))) == (
        "a mailbox in UTF-16 or UTF-32; save it as UTF-8"
    )
