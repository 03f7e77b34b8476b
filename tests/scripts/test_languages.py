"""scripts/bench/languages.py reads a man page as the question on its first line and the text below."""

from __future__ import annotations

from scripts.bench import languages

MAN = r""".\" a comment
.TH LS 1 "Oktober 2022"
.SH BEZEICHNUNG
ls \- Verzeichnisinhalte auflisten
.SH \(:UBERSICHT
.B ls
[\fI\,OPTION\/\fR]... [\fI\,DATEI\/\fR]...
.SH BESCHREIBUNG
.PP
Informationen \[u00FC]ber die \fBDATEIEN\fP auflisten, \-a zeigt alle.
"""
MDOC = ".Dd May 1\n.Sh NAME\n.Nm cal\n.Nd displays a calendar\n.Sh DESCRIPTION\nThe\n.Nm cal\nutility shows months.\n"


def test_the_line_that_names_a_page_asks_and_the_rest_answers() -> None:
    page = languages.parsed(MAN)
    assert page.asks == "Verzeichnisinhalte auflisten"
    assert page.answers == "ls [OPTION]... [DATEI]... Informationen über die DATEIEN auflisten, -a zeigt alle."


def test_both_kinds_of_man_pages_are_read() -> None:
    assert languages.parsed(MDOC) == languages.Page("displays a calendar", "The cal utility shows months.")


def test_a_page_without_a_name_asks_nothing() -> None:
    assert languages.parsed(".so man1/ls.1\n").asks == ""
