from .searcher import VectorSearcher as VectorSearcher
