"""The tables of a store, as append-only migrations, and how their rows are encoded.

A migration that was released is never edited. `PRAGMA user_version` is the number of migrations applied to a file, and
`application_id` marks the file as ours. There are no triggers: SQLite before 3.41 refuses an FTS5 table inside one
under trusted_schema=OFF, and a schema in which nothing runs by itself is safe to open. Instead, the two methods of the
writer that add and remove passages update the full-text tables and counters; `verify` checks them.
"""

from __future__ import annotations

import logging
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from semsearch.errors import SemsearchError
from semsearch.stores.local.database import checksums, sqlite
from semsearch.stores.sql.folding import fold
from semsearch.stores.sql.query_terms import has_cjk

if TYPE_CHECKING:
    from semsearch.types import Passage

LOG = logging.getLogger(__name__)
APPLICATION_ID = 0x53454D53  # "SEMS"
PAGE_SIZE = 8192  # rows of 1,024 dimensions in fp16 fit three to a page; with 4,096 one, half of it empty
FLOAT16, FLOAT16_BYTES = "<f2", 2  # of vectors: half the room; cosines change beyond the third decimal only
COMPRESSION = 6
SHORT = 512  # characters; zlib makes a sentence of 140 bytes only a fifth shorter
MANY = 100_000  # passages; the longest step takes 8 s for them
UPGRADE = "Install a newer version of semsearch."

# AUTOINCREMENT: an id is never used twice, so an outdated cache can miss a passage, but never name
# a wrong one. `body` is last: queries on the columns before it do not read it. `vectors` is an ordinary table
# with an index of (space, passage): counting and seeking read the narrow index only.
_TABLES = (
    """CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID""",
    """CREATE TABLE recipe (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID""",
    """CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, report TEXT NOT NULL) STRICT""",
    """CREATE TABLE spaces (
        id INTEGER PRIMARY KEY AUTOINCREMENT, fingerprint TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
        dim INTEGER NOT NULL CHECK (dim > 0), info TEXT NOT NULL,
        vectors INTEGER NOT NULL DEFAULT 0, background BLOB NOT NULL DEFAULT x'',
        background_count INTEGER NOT NULL DEFAULT 0) STRICT""",
    """CREATE TABLE caches (
        id INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL REFERENCES spaces(id), file TEXT NOT NULL,
        bytes INTEGER NOT NULL, sha256 TEXT NOT NULL, highest_id INTEGER NOT NULL, count INTEGER NOT NULL,
        spec TEXT NOT NULL, faiss_version TEXT NOT NULL, why TEXT NOT NULL) STRICT""",
    """CREATE INDEX caches_space ON caches(space)""",
    """CREATE TABLE sources (
        id INTEGER PRIMARY KEY AUTOINCREMENT, root TEXT NOT NULL, path TEXT NOT NULL, mtime_ns INTEGER NOT NULL,
        size INTEGER NOT NULL, sha256 TEXT NOT NULL, loader TEXT NOT NULL, UNIQUE (root, path)) STRICT""",
    """CREATE TABLE documents (
        id INTEGER PRIMARY KEY AUTOINCREMENT, uri TEXT NOT NULL UNIQUE, source INTEGER REFERENCES sources(id),
        sha256 TEXT NOT NULL, meta_sha256 TEXT NOT NULL, mtime INTEGER, size INTEGER NOT NULL, loader TEXT,
        state TEXT NOT NULL DEFAULT 'indexed', lines INTEGER NOT NULL, title TEXT,
        metadata TEXT NOT NULL, marks TEXT NOT NULL, body BLOB NOT NULL) STRICT""",
    """CREATE INDEX documents_source ON documents(source)""",
    """CREATE TABLE passages (
        id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL REFERENCES documents(id),
        position INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, page INTEGER, line INTEGER,
        heading TEXT, crc INTEGER NOT NULL, identity TEXT NOT NULL, cjk INTEGER NOT NULL, text TEXT NOT NULL) STRICT""",
    """CREATE UNIQUE INDEX passages_document ON passages(document, position)""",
    """CREATE TABLE vectors (
        passage INTEGER NOT NULL, space INTEGER NOT NULL REFERENCES spaces(id), crc INTEGER NOT NULL,
        vector BLOB NOT NULL) STRICT""",
    """CREATE UNIQUE INDEX vectors_space ON vectors(space, passage)""",
    """CREATE VIRTUAL TABLE passages_fts USING fts5(
        text, content='passages', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2')""",
    """CREATE VIEW passages_cjk_text AS SELECT id, text FROM passages WHERE cjk = 1""",
    """CREATE VIRTUAL TABLE passages_cjk USING fts5(
        text, content='passages_cjk_text', content_rowid='id', tokenize='trigram')""",
    """INSERT INTO meta VALUES ('version', 0), ('documents', 0), ('passages', 0)""",
)


def m001_tables(db: sqlite3.Connection) -> None:
    """Everything of version 0.1."""
    for statement in _TABLES:
        db.execute(statement)


def m002_keywords(db: sqlite3.Connection) -> None:
    """Passages are found by title, heading and parts of identifiers too; those of before, once they are indexed again.

    A view cannot be the content here: what FTS5 removes has to be exactly what it was given, and titles change.
    """
    db.execute("ALTER TABLE passages ADD COLUMN keywords TEXT NOT NULL DEFAULT ''")
    db.execute("DROP TABLE passages_fts")
    db.execute(
        """CREATE VIRTUAL TABLE passages_fts USING fts5(
        text, keywords, content='passages', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2')"""
    )
    db.execute("INSERT INTO passages_fts (passages_fts) VALUES ('rebuild')")


def m003_checksums(db: sqlite3.Connection) -> None:
    """A passage's checksum covers page, line and heading too, and other rows have one.

    The checksum of a passage that was damaged before stays: it is wrong by both rules.
    """
    checksums.add_functions(db)
    of_source = "(SELECT mtime_ns, loader FROM sources WHERE id = source)"
    db.execute(f"UPDATE documents SET (mtime, loader) = {of_source} WHERE source IS NOT NULL")
    for table in checksums.COLUMNS:
        db.execute(f"ALTER TABLE {table} ADD COLUMN crc INTEGER NOT NULL DEFAULT 0")
        checksums.renew(db, table, "true")
    db.execute(
        """UPDATE passages SET crc = passage_crc(id, document, start, "end", page, line, heading, text)
        WHERE crc = first_passage_crc(id, document, start, "end", text)"""
    )


_POSTINGS = (
    """CREATE TABLE segments (
        number INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL, passages INTEGER NOT NULL,
        ids BLOB NOT NULL, tokens BLOB NOT NULL, characters BLOB NOT NULL, crc INTEGER NOT NULL) STRICT""",
    """CREATE TABLE frequent_terms (
        kind INTEGER NOT NULL, term TEXT NOT NULL, PRIMARY KEY (kind, term)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE postings (
        segment INTEGER NOT NULL, kind INTEGER NOT NULL, term TEXT NOT NULL, places BLOB NOT NULL,
        counts BLOB NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (segment, kind, term)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE postings_gone (id INTEGER PRIMARY KEY) STRICT""",
    """CREATE INDEX passages_last_letter ON passages(substr(text, -1)) WHERE cjk = 1""",
    """CREATE INDEX passages_last_letters ON passages(substr(text, -2)) WHERE cjk = 1""",
)


def m004_postings(db: sqlite3.Connection) -> None:
    """The tables of `full_text.segments`, which later writes fill, and indexes for what trigrams do not see: the last
    letters of a text.
    """
    for statement in _POSTINGS:
        db.execute(statement)


def m005_short_rows(_: sqlite3.Connection) -> None:
    """Rows that are written from now on are shorter; those of before stay, and are read as they are.

    `body` is empty where a passage is the whole of a short text; `sha256` and `meta_sha256` have half of their digits;
    `identity`, which follows from uri, position and text, is empty. A sentence takes 210 bytes less.
    """


# Any program that opens the file, such as Datasette, shows these. A schema is the same in every store, so the metadata,
# whose keys differ, are JSON here; `queries.temporary_views` makes columns of them.
DOCUMENT = """d.id AS id, d.uri AS document, d.title AS title,
    (SELECT rtrim(s.root, '/') || '/' || s.path FROM sources s WHERE s.id = d.source) AS file,
    d.loader AS loader, d.size AS size, datetime(d.mtime / 1000000000, 'unixepoch') AS modified,
    (SELECT count(*) FROM passages p WHERE p.document = d.id) AS passages, d.metadata AS metadata"""
PASSAGE = """p.id AS id, d.uri AS document, p.position AS position, p.heading AS heading, p.line AS line,
    p.page AS page, p.start AS start, p."end" AS "end", d.title AS title, p.text AS text, d.metadata AS metadata"""
DOCUMENTS = f"SELECT {DOCUMENT} FROM documents d"
PASSAGES = f"SELECT {PASSAGE} FROM passages p JOIN documents d ON d.id = p.document"
METADATA = """SELECT d.uri AS document, m.key AS key, m.type AS type, m.value AS value
    FROM documents d JOIN json_each(d.metadata) m"""
VIEWS = {"documents_view": DOCUMENTS, "passages_view": PASSAGES, "metadata_view": METADATA}


def m006_views(db: sqlite3.Connection) -> None:
    """Views for people and programs that read the file with SQL."""
    for name, query in VIEWS.items():
        db.execute(f"CREATE VIEW {name} AS {query}")


_FOLDED = (
    """ALTER TABLE passages ADD COLUMN folded TEXT""",
    """DROP VIEW passages_cjk_text""",
    """CREATE VIEW passages_cjk_text AS SELECT id, coalesce(folded, text) AS text FROM passages WHERE cjk = 1""",
    """DROP INDEX passages_last_letter""",
    """DROP INDEX passages_last_letters""",
    """CREATE INDEX passages_last_letter ON passages(substr(coalesce(folded, text), -1)) WHERE cjk = 1""",
    """CREATE INDEX passages_last_letters ON passages(substr(coalesce(folded, text), -2)) WHERE cjk = 1""",
    """CREATE TEMP TABLE other AS SELECT id, fold(text) AS text, fold(keywords) AS keywords FROM passages
        WHERE fold(text) <> text OR fold(keywords) <> keywords""",
    """INSERT INTO passages_fts (passages_fts, rowid, text, keywords) SELECT 'delete', id, text, keywords FROM passages
        WHERE id IN (SELECT id FROM other)""",
    """INSERT INTO passages_cjk (passages_cjk, rowid, text) SELECT 'delete', id, text FROM passages
        WHERE id IN (SELECT id FROM other) AND cjk = 1""",
    """UPDATE passages SET folded = nullif(o.text, passages.text), keywords = o.keywords, cjk = has_cjk(o.text)
        FROM temp.other o WHERE o.id = passages.id""",
    """INSERT INTO passages_fts (rowid, text, keywords) SELECT id, coalesce(folded, text), keywords FROM passages
        WHERE id IN (SELECT id FROM other)""",
    """INSERT INTO passages_cjk (rowid, text) SELECT id, coalesce(folded, text) FROM passages
        WHERE id IN (SELECT id FROM other) AND cjk = 1""",
    *(  # they have the words of before; the next write makes them anew
        f"DELETE FROM {table} WHERE EXISTS (SELECT 1 FROM temp.other)"
        for table in ("postings", "segments", "frequent_terms", "postings_gone")
    ),
    """UPDATE meta SET value = value + 1 WHERE key = 'version' AND EXISTS (SELECT 1 FROM temp.other)""",
    """DROP TABLE temp.other""",
)


def m007_folded(db: sqlite3.Connection) -> None:
    """Words are indexed as `sql.folding` writes them. `folded` has the text as it is indexed, where it differs.

    What FTS5 removes has to be what it was given, and a later Python may fold more letters: so it is stored.
    """
    db.create_function("fold", 1, fold, deterministic=True)
    db.create_function("has_cjk", 1, has_cjk, deterministic=True)
    for statement in _FOLDED:
        db.execute(statement)


def m008_furniture(db: sqlite3.Connection) -> None:
    """The passages that stand last in every answer; those of before, once they are indexed again."""
    db.execute("CREATE TABLE furniture (passage INTEGER PRIMARY KEY REFERENCES passages(id)) STRICT")


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    m001_tables,
    m002_keywords,
    m003_checksums,
    m004_postings,
    m005_short_rows,
    m006_views,
    m007_folded,
    m008_furniture,
)
CHECKSUMS = 3  # from this version on there are the checksums of `checksums.COLUMNS`
FOLDED = 7  # from this version on words are indexed as `sql.folding` writes them
FURNITURE = 8  # from this version on there is the table of that name
POSTINGS = 4  # from this version on there are the tables of `full_text.segments`
VERSION = len(MIGRATIONS)
OLDEST = 1  # that is read as it is
INDEXED_TEXT = "coalesce(folded, text)"
TEXT = """CASE length(body) WHEN 0 THEN
    (SELECT text FROM passages WHERE document = documents.id AND position = 0) ELSE body END"""


def check(connection: sqlite3.Connection, folder: object, *, write: bool) -> None:
    """Refuse a file that this program cannot work with, saying what to do. Raises SemsearchError, sqlite3.Error."""
    sqlite.check_version()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise SemsearchError(f"{folder} has a database, but not one of semsearch.", "Choose another name or folder.")
    if version > VERSION:
        raise SemsearchError(
            f"{folder} was written by a newer semsearch (schema {version}; this one knows {VERSION}).",
            UPGRADE,
        )
    if version < OLDEST and not write:
        raise SemsearchError(
            f"{folder} was written by an older semsearch (schema {version}; this one reads {OLDEST} and later).",
            "Write to it once, for example with sync(): that brings it up to date and loses nothing.",
            "Run `semsearch index` on it once: that brings it up to date and loses nothing.",
        )


def migrate(connection: sqlite3.Connection, to: int | None = None) -> None:
    """Bring a file to the newest version, or `to` another, a transaction a step. Needs a connection that writes."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    for number, migration in enumerate(MIGRATIONS[version:to], start=version + 1):
        if version:
            _tell(connection, number)
        connection.execute("BEGIN IMMEDIATE")
        try:
            migration(connection)
            connection.execute(f"PRAGMA user_version={number}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _tell(connection: sqlite3.Connection, step: int) -> None:
    """Log that a large store is about to take a step, which may last."""
    (passages,) = connection.execute("SELECT value FROM meta WHERE key = 'passages'").fetchone()
    if passages >= MANY:
        LOG.warning(
            "%s passages are brought to the format of this version, step %d of %d; if that is interrupted, nothing is "
            "lost, and the next run takes the step again.",
            *(f"{passages:,}", step, VERSION),
        )


def create(connection: sqlite3.Connection) -> None:
    """Make an empty file a store."""
    connection.execute(f"PRAGMA page_size={PAGE_SIZE}")
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute("PRAGMA journal_mode=WAL")
    migrate(connection)


def indexed_text(connection: sqlite3.Connection) -> str:
    """A passage's text as its full-text indexes have it, in SQL."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return INDEXED_TEXT if version >= FOLDED else "text"


def word_columns(connection: sqlite3.Connection) -> str:
    """The columns of `passages` that are a `tokenizer.Row`."""
    return f"id, {indexed_text(connection)}, keywords, cjk"


def body(text: str, passages: Sequence[Passage]) -> bytes:
    """A document's text as it is stored in `documents.body`: compressed, or empty where it is short and one passage.

    Of longer texts there are two copies, so that one damaged page of the file costs none of them.
    """
    one_passage = len(text) <= SHORT and passages and passages[0].text == text
    return b"" if one_passage else zlib.compress(text.encode(), COMPRESSION)


def document_text(stored: bytes | str) -> str:
    """The text of a document, from the column `TEXT`. Raises ValueError where it is damaged."""
    try:
        return stored if isinstance(stored, str) else zlib.decompress(stored).decode()
    except (zlib.error, TypeError) as error:
        raise ValueError(str(error)) from error
