"""Where the tables of a store are: a folder, or a bucket with a prefix, and what its object store is asked with.

Credentials come from the environment (AWS_ACCESS_KEY_ID and the like, as for every program); other options stand in the
query of the address: lance:s3://bucket/prefix?region=eu-central-1&endpoint=http://localhost:9000&allow_http=true
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import parse_qsl, urlsplit

from semsearch.errors import UsageError
from semsearch.stores.remote.links import refuse_secrets

HELP = "Write --store lance:FOLDER or --store lance:s3://BUCKET/PREFIX"
CATALOGUE = "collections"
_PATIENCE = {"client_max_retries": "4", "retry_timeout": "30s", "connect_timeout": "5s"}  # of an object store


@dataclass(frozen=True, slots=True)
class Address:
    """`where` the tables are, and the `options` of the library for that."""

    where: str
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, address: str) -> Self:
        """Raises UsageError for an address that is none, or has a secret."""
        if not address:
            raise UsageError("a store of Lance tables needs a folder or a bucket.", HELP)
        if "://" not in address:
            return cls(str(Path(address).expanduser().absolute()))
        refuse_secrets(address, "AWS_SECRET_ACCESS_KEY")
        url = urlsplit(address)
        options = dict(parse_qsl(url.query))
        if not url.netloc or any("secret" in name or "key" in name for name in options):
            raise UsageError(f"the address of the store is none, or has a key in it: {address[:60]!r}.", HELP)
        return cls(f"{url.scheme}://{url.netloc}{url.path}".rstrip("/"), _PATIENCE | options)

    def table(self, name: str) -> str:
        """The place of a table."""
        return f"{self.where}/{name}.lance"
