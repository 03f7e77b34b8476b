"""Rerankers: cross-encoders, which read a query and a passage together and score the pair.

`reranker.Reranker` is the public class; what runs a model is one file each of `runtimes`.
"""
