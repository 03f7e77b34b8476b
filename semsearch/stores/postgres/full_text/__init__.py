"""Search by words on PostgreSQL: texts become tsvectors, GIN indexes find them, and bm25 is computed here."""
