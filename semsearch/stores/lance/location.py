"""The place of a Lance store on this machine: a folder with a link. Without the library."""

from functools import partial

from semsearch.stores.remote import links
from semsearch.stores.remote.links import identity as identity

STORE = "lance"
exists = partial(links.is_of, STORE)
names = partial(links.names_of, STORE)
