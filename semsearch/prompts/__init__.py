"""Prompts: the text around a sentence, as data.

A template is written with a slot: `This sentence : "[X]" means [MASK] .` [X] is the sentence; [MASK], [SEP] and [CLS]
stand for the tokenizer's own tokens. The library has one TOML file per paper, beside this one. The public names are
listed in `__init__.pyi`; each is imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
