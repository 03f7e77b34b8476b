"""Search in many languages: man pages, of which the line that names them has to find the page.

    python -m scripts.bench.languages [ENCODER …] [--languages de,fr,…] [-o FIGURES.json]

Pages come from Debian's packages manpages-de, manpages-fr and so on, which apt-get downloads once. Of each language 120
are drawn, or what there is; one line asks (what NAME says of the page), the first 1,000 characters after the section
NAME answer, and the figure is the mean reciprocal rank x 100 of the right page by cosine. Words play no part. There are
no pages in Arabic and Korean: sections of the Debian Administrator's Handbook and their headings stand for the former,
pages of GNOME's help and their summaries for the latter.
"""

from __future__ import annotations

import html
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scripts.shared import debian, figures
from semsearch import Encoder
from semsearch.settings import cache_file
from semsearch.utils.languages import detection

PAGES, LETTERS, LEAST = 120, 1000, 300
SHORTEST = 8  # letters of a line that asks
ENGLISH = re.compile(
    r"\b(?:the|and|of|from|for|to|print|files?|manual page)\b", re.IGNORECASE
)  # a line left untranslated
_WITH_LIBRARIES = "de fr es it nl pl ru ja cs"
PACKAGES: Mapping[str, Sequence[str]] = {
    "en": ("manpages", "manpages-dev"),
    "zh": ("manpages-zh",),
    "pt": ("manpages-pt-br", "manpages-pt-br-dev"),
    **{each: (f"manpages-{each}", f"manpages-{each}-dev") for each in _WITH_LIBRARIES.split()},
    **{each: (f"manpages-{each}",) for each in ("da", "fi", "hu", "tr")},
    "ar": ("debian-handbook",),
    "ko": ("gnome-user-docs",),
}
HEADING = re.compile(r'<h\d class="title">(.*?)</h\d>', re.DOTALL)
FOLDERS = {"zh": ("zh_CN",), "pt": ("pt_BR",), "en": ("man1", "man2", "man3", "man4", "man5", "man7", "man8")}
ENCODERS = ("minilm", "multilingual")
SPELLED = {"-": "-", "e": "\\", "(aq": "'", "(dq": '"', "(oq": "‘", "(cq": "’", "(lq": "“", "(rq": "”", "(em": "—"}
ESCAPE = re.compile(r"\\(?:f(?:\(..|\[.*?\]|.)|s[-+]?\d+|[&/,|^%:]|\*?(\(..)|\[u([0-9A-F]{4,5})\]|\*?\[.*?\]|(.))")
FONTS = re.compile(r"^\.(?:[BIR]|[BIR]{2}|S[BM]|IP|Nm|Nd|Ar|Fl|Pa|Xr|Dv|Ev|Li|Op|It)\b ?")


@dataclass(frozen=True, slots=True)
class Page:
    """A man page: the line that asks, and the text that answers."""

    asks: str
    answers: str


def main() -> None:
    parser = figures.arguments(__doc__)
    parser.add_argument("encoders", nargs="*", default=ENCODERS, metavar="ENCODER", help="a name or a folder")
    parser.add_argument("--languages", default=",".join(PACKAGES), help="codes, with commas between them")
    options = parser.parse_args()
    sets = {language: drawn(language) for language in options.languages.split(",")}
    rows: dict[str, dict[str, float]] = {}
    for name in options.encoders:
        encoder = Encoder.load(name, device="cpu", threads=1, cache=cache_file())
        rows[name] = {}
        for language, pages in sets.items():
            rows[name][language] = round(reciprocal_rank(encoder, pages), 1)
            print(name, language, rows[name][language], file=sys.stderr, flush=True)
    cells = [[name, *row.values()] for name, row in rows.items()]
    note = f"Mean reciprocal rank x 100 among {PAGES} man pages, semantic search alone."
    head = [f"{language} ({len(pages)})" if len(pages) < PAGES else language for language, pages in sets.items()]
    figures.show(figures.table(["encoder", *head], cells), note, rows, options.output)


def reciprocal_rank(encoder: Encoder, pages: Sequence[Page]) -> float:
    """Mean of 100 / rank of the page that a line belongs to."""
    asked = encoder.encode([page.asks for page in pages], role="query")
    answering = encoder.encode([page.answers for page in pages], role="passage")
    cosines = asked @ answering.T
    ranks = (cosines >= np.diag(cosines)[:, None]).sum(axis=1)
    return float(100 * (1 / ranks).mean())


def drawn(language: str) -> list[Page]:
    """120 pages of the language, or all there are: always the same ones of a version of the packages."""
    pages_of = {"ar": handbook, "ko": help_pages}.get(language, man_pages)
    pages = {page.asks: page for package in PACKAGES[language] for page in pages_of(package, language)}
    return random.Random(0).sample([pages[line] for line in sorted(pages)], min(PAGES, len(pages)))


def man_pages(package: str, language: str) -> Iterator[Page]:
    """The pages of a package in the language that have a line to ask and a text to answer."""
    folders = "|".join(FOLDERS.get(language, (language,)))
    for path, content in debian.contents(package):
        if re.match(rf"usr/share/man/(?:{folders})/(?:man\d/)?[^/]+$", path):
            page = parsed(content.decode("utf-8", "replace"))
            untranslated = language != "en" and ENGLISH.search(page.asks)
            if len(page.asks) >= SHORTEST and len(page.answers) >= LEAST and not untranslated:
                yield page


def handbook(package: str, language: str) -> Iterator[Page]:
    """The sections of the handbook that are translated, each with its heading."""
    for path, content in debian.contents(package):
        if re.search(rf"/html/{language}-\w+/[^/]+\.html$", path):
            _, *parts = HEADING.split(content.decode("utf-8"))
            for heading, below in zip(parts[::2], parts[1::2], strict=True):
                yield from translated(re.sub(r"^[\w.]*\d\.\s+", "", text_of(heading)), below, language)


def help_pages(package: str, language: str) -> Iterator[Page]:
    """The pages of GNOME's help, each with its summary."""
    for path, content in debian.contents(package):
        if re.search(rf"/help/{language}/gnome-help/[^/]+\.page$", path):
            head, _, body = content.decode("utf-8").partition("</info>")
            if summary := re.search(r"<desc>(.*?)</desc>", head, re.DOTALL):
                yield from translated(text_of(summary[1]), body, language)


def translated(asks: str, markup: str, language: str) -> Iterator[Page]:
    """The page, where both of its texts are in the language and long enough."""
    page = Page(asks, text_of(markup)[:LETTERS])
    languages = {detection.language(each) for each in (asks, page.answers)}
    if languages == {language} and len(asks) >= SHORTEST and len(page.answers) >= LEAST:
        yield page


def text_of(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


def parsed(source: str) -> Page:
    """The page of a source in man or mdoc; empty where it has no NAME."""
    _, *sections = re.split(r"^\.S[Hh]\b.*\n", source, flags=re.MULTILINE)
    name, *rest = [plain(section) for section in sections] or [""]
    _, _, asks = re.sub(r"\s+", " ", name).partition(" - ")
    return Page(asks.strip(), re.sub(r"\s+", " ", " ".join(rest)).strip()[:LETTERS])


def plain(section: str) -> str:
    """The text of a section, without macros and escapes."""
    lines = (re.sub(r"^\.Nd ", "- ", line) for line in section.splitlines())
    kept = (FONTS.sub("", line) for line in lines)
    return "\n".join(ESCAPE.sub(_spelled, line) for line in kept if not line.startswith((".", "'")))


def _spelled(escape: re.Match[str]) -> str:
    name, code, letter = escape.groups()
    return chr(int(code, 16)) if code else SPELLED.get(name or letter or "", "")


if __name__ == "__main__":
    main()
