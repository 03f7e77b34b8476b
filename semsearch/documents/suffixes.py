"""The suffixes of the files that each loader reads, in one table: a loader is imported once a file of its own turns up.

A loader of another distribution has its own as `SUFFIXES`; it is asked about a suffix that is not in the table.
"""

from __future__ import annotations

_TABLE = {
    "code": """
        .py .pyi .js .mjs .cjs .jsx .ts .mts .cts .tsx .java .go .rs .c .h .cc .cpp .cxx .hh .hpp .cs .rb
    """,
    "csv": ".csv",
    "docx": ".docx .docm .dotx .dotm",
    "email": ".eml .mht .mhtml",
    "epub": ".epub",
    "html": ".html .htm .xhtml .shtml",
    "jsonl": ".jsonl .ndjson .jsonlines",
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
_RECORD_BY_RECORD = ("jsonl", "csv", "tsv", "sqlite", "mbox", "warc")
STREAMED = tuple(suffix for loader in _RECORD_BY_RECORD for suffix in BY_LOADER[loader])
"""Suffixes of files without a limit of size, as they are never in memory as a whole."""
