"""The encoders of this machine by fingerprint: `default` may be another encoder by now, and a folder may have moved."""

from __future__ import annotations

from semsearch.encoders import local_models
from semsearch.encoders.hashing import HashingEncoder
from semsearch.errors import SemsearchError
from semsearch.models import bundle, model_folders


def find_local(fingerprint: str) -> str | None:
    """The name or folder of an encoder of this machine with this fingerprint; None where there is none.

    Looks at the encoders that are part of semsearch, and at those saved in `models_dir`. Nothing is loaded.
    """
    names = [name for name, entry in model_folders.catalogue().items() if "folder" in entry]
    saved = local_models.list_local(local_models.models_dir())
    known = {HashingEncoder.name: HashingEncoder().fingerprint, **{name: of_shipped(name) for name in names}}
    known |= {str(one["path"]): str(one.get("fingerprint")) for one in saved}
    return next((name for name, found in known.items() if found == fingerprint), None)


def of_shipped(name: str) -> str | None:
    """The fingerprint of an encoder that is part of semsearch; None for any other, and where it is damaged."""
    if name == HashingEncoder.name:
        return HashingEncoder().fingerprint
    if "folder" not in model_folders.catalogue().get(name, {}):
        return None
    try:
        return bundle.read(model_folders.find(name)).fingerprint
    except SemsearchError:
        return None
