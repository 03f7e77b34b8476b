"""psycopg, the client library of PostgreSQL: the modules of this package take it from here.

Where it is not installed, that is one clear error in place of an ImportError.
"""

from __future__ import annotations

from semsearch.errors import MissingExtra

try:
    import psycopg as psycopg
    from psycopg import adapt as adapt
    from psycopg import conninfo as conninfo
    from psycopg import errors as errors
    from psycopg import pq as pq
    from psycopg.types import TypeInfo as TypeInfo
except ImportError as error:
    raise MissingExtra("a store on PostgreSQL", "scale", "psycopg") from error


def check_installation() -> str:
    """The client library with its version. Raises MissingExtra."""
    library = pq.version()
    return f"psycopg {psycopg.__version__} with libpq {library // 10_000}.{library % 10_000}"
