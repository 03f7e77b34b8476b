from . import building as building
