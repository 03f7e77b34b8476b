from . import cluster as cluster
from . import found_vectors as found_vectors
from . import jobs as jobs
from . import searching as searching
from . import sizing as sizing
from . import throughput as throughput
