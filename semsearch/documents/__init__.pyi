from . import page_image as page_image
from . import vector_files as vector_files
from . import vector_import as vector_import
from .survey import survey as survey
