"""Views of a store for SQL: documents, passages and metadata under names that a reader understands.

They are part of the schema, so that any program that opens `store.db`, such as Datasette, shows them; migration 6 made
them, so they are never edited. A schema is the same in every store, so the metadata, whose keys differ, are JSON here,
and `metadata_view` has a row for each value; `temporary_views` makes columns of them.
"""

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
