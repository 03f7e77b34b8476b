from . import own_vectors as own_vectors
from . import page_image as page_image
from . import vector_files as vector_files
from .survey import survey as survey
