"""Keeping house: indexes as wholes are named, moved, copied out and in, repaired, and their vector index is chosen.

>>> import tempfile; from pathlib import Path; home = Path(tempfile.mkdtemp())
>>> from semsearch import Index, admin
>>> Index.create("notes", encoder="hashing", home=home).close()
>>> admin.rename("notes", "letters", home).name, admin.names(home)
('letters', ['letters'])
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
