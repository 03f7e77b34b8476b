"""The suffixes of the files that each loader reads, in one table: a loader is imported once a file of its own turns up.

A loader of another distribution has its own as `SUFFIXES`; it is asked about a suffix that is not in the table. The
suffix also says what the pages of a file are called: of a presentation slides, of a notebook cells.
"""

from __future__ import annotations

import re
from pathlib import PurePath

_TABLE = {
    "code": """
        .py .pyi .js .mjs .cjs .jsx .ts .mts .cts .tsx .java .go .rs .c .h .cc .cpp .cxx .hh .hpp .cs .rb
    """,
    "compressed": ".gz .bz2 .xz .lzma",
    "csv": ".csv",
    "docx": ".docx .docm .dotx .dotm",
    "email": ".eml .emlx .mht .mhtml",
    "epub": ".epub",
    "html": ".html .htm .xhtml .shtml",
    "jsonl": ".jsonl .ndjson .jsonlines .json-seq",
    "man": ".man .mdoc",
    "markdown": ".md .markdown .mdown .mkd .mdx .qmd .rmd",
    "mbox": ".mbox .mbx",
    "notebook": ".ipynb",
    "odt": ".odt .ott .odm .odp .otp .odg .otg .fodt .fodp .fodg .fods",
    "parquet": ".parquet",
    "pdf": ".pdf",
    "pptx": ".pptx .pptm .ppsx .ppsm .potx .potm",
    "rst": ".rst .rest",
    "rtf": ".rtf",
    "sqlite": ".db .db3 .sqlite .sqlite3",
    "subtitles": ".srt .vtt",
    "text": """
        .txt .text .log .tex .org .adoc .asciidoc .textile .wiki .po .bib .nfo .diff .patch .json .yaml .yml .toml .ini
        .cfg .conf .properties .env .xml .rss .atom .opml .vue .svelte .css .scss .less .kt .kts .scala .groovy .php
        .pl .pm .r .jl .lua .swift .m .mm .dart .ex .exs .erl .hs .ml .mli .fs .clj .el .lisp .scm .vim .sh .bash .zsh
        .fish .ps1 .bat .cmd .sql .graphql .proto .tf .cmake .mk .gradle
    """,
    "tsv": ".tsv .tab",
    "warc": ".warc",
    "xlsx": ".xlsx .xlsm .xlsb .xls .xltx .xltm .ods .ots",
}
BY_LOADER = {loader: tuple(suffixes.split()) for loader, suffixes in _TABLE.items()}
LOADERS = {suffix: loader for loader, suffixes in BY_LOADER.items() for suffix in suffixes}
PACKED = BY_LOADER["compressed"]
_SECTION = re.compile(r"[1-9][a-z]{0,3}")  # of the manual: ls.1, perlop.3pm
_TEXTS = re.compile(  # that have no suffix of their own: README.gz, README.shells.gz, changelog.Debian.amd64.gz
    r"(?:authors|contributors|copyright|faq|install|license|thanks|todo)(?:\.debian)?"
    r"|(?:changelog|changes|history|news|readme)(?:[.-](?!tar\b)[a-z0-9_-]+)*",
    re.I,
)
_RECORD_BY_RECORD = ("jsonl", "csv", "tsv", "sqlite", "mbox", "warc")
STREAMED = tuple(suffix for loader in _RECORD_BY_RECORD for suffix in BY_LOADER[loader])
"""Suffixes of files without a limit of size, as they are never in memory as a whole."""
_TIMED = BY_LOADER["subtitles"]  # their headings are times
_SLIDES = (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm", ".odp", ".otp", ".fodp")
_PAGE_NAMES = dict.fromkeys(_SLIDES, "slide") | {".ipynb": "cell"}


def is_packed_text(name: str) -> bool:
    """Whether a file with a suffix of PACKED has a name in it that is that of a text: not "src.tar.gz".

    >>> is_packed_text("notes.txt.gz"), is_packed_text("ls.1.gz"), is_packed_text("src.tar.gz"), is_packed_text("a.gz")
    (True, True, False, False)
    """
    stem = PurePath(name).stem
    inner = PurePath(stem).suffix.lower()
    return inner in LOADERS or is_page_of_manual(stem.lower()) or _TEXTS.fullmatch(stem) is not None


def is_page_of_manual(name: str) -> bool:
    """Whether a name may be that of a page of the manual, whatever suffix it has before: "resolv.conf.5"."""
    stem, _, suffix = name.rpartition(".")  # not by PurePath: every file of an update is asked
    return bool(stem) and suffix[:1].isdigit() and _SECTION.fullmatch(suffix) is not None


def page_name(path: str) -> str:
    """The name of one page of the file at `path`.

    >>> page_name("talks/Engines.PPTX"), page_name("paper.pdf")
    ('slide', 'page')
    """
    return _PAGE_NAMES.get(PurePath(path).suffix.lower(), "page")


def has_short_parts(path: str) -> bool:
    """Whether a passage of the file at `path` often goes over several slides, cells or times.

    >>> has_short_parts("talk.srt"), has_short_parts("paper.pdf")
    (True, False)
    """
    suffix = PurePath(path).suffix.lower()
    return suffix in _PAGE_NAMES or suffix in _TIMED
