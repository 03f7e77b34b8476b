"""The place of a PostgreSQL store on this machine: a folder with a link. Without the client library."""

from functools import partial

from semsearch.stores.remote import links
from semsearch.stores.remote.links import identity as identity

STORE = "postgres"
exists = partial(links.is_of, STORE)
names = partial(links.names_of, STORE)
