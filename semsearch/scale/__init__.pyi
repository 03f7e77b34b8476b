from . import cluster as cluster
from . import found_vectors as found_vectors
from . import jobs as jobs
