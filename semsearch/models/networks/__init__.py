"""Hugging Face models as what methods need of them: words, hidden states of chosen layers, and tokens that are read.

masked.py runs encoders (BERT, RoBERTa and any other), causal.py decoders with a prefix that is computed once,
loading.py makes either from a folder. All of it is torch; nothing here knows of prompts or tokenizers.
"""
