"""A tokenizer of older files as one tokenizer.json, through transformers."""

from __future__ import annotations

from pathlib import Path

import transformers

from semsearch.errors import NotFound
from semsearch.models.networks.loading import quiet


def converted(folder: Path, *, trust: bool = False) -> str:
    """What tokenizer.json would hold for the vocabulary files in `folder`. Raises NotFound where it cannot be made."""
    find = transformers.AutoTokenizer.from_pretrained
    try:
        with quiet():
            text: str = find(folder, local_files_only=True, trust_remote_code=trust).backend_tokenizer.to_str()
    except Exception as error:  # every tokenizer raises its own: a missing package, a broken file, an unknown kind
        reason = str(error).strip().partition("\n")[0]
        raise NotFound(
            f"the tokenizer of {folder} cannot be converted: {reason}",
            "Add its tokenizer.json; a sentencepiece model needs: pip install sentencepiece protobuf",
        ) from error
    return text
