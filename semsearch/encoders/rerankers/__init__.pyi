from .reranker import Reranker as Reranker
