from . import batch as batch
from . import building as building
