from . import check as check
from . import greedy_search as greedy_search
from . import grids as grids
from . import judging as judging
