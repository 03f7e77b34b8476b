from . import cluster as cluster
from . import embedding_job as embedding_job
from . import precomputed_encoder as precomputed_encoder
