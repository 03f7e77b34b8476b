"""Hugging Face models with the interface that methods need: word embeddings, hidden states of a layer or at positions.

masked.py runs encoders (BERT, RoBERTa and any other), causal.py decoders with a cached prefix, loading.py makes either
from a folder. All of it is PyTorch; nothing here depends on prompts or tokenizers.
"""
