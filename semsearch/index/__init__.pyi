from . import admin as admin
from .async_index import AsyncIndex as AsyncIndex
from .index import Index as Index
