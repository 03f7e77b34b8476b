from . import admin as admin
from .index import Index as Index
