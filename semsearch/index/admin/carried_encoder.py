"""The encoder that a dump carries: a bundle of the user's own, such as an adapted one, beside the database.

    encoder/encoder.json, encoder/model.onnx, encoder/tokenizer.json …

It is taken out only of a dump that is trusted, into `models`, where an index finds it by its fingerprint.
"""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path, PurePosixPath

from semsearch.encoders import factory
from semsearch.errors import Corrupt, SemsearchError
from semsearch.models import bundle as bundles
from semsearch.models import local_models
from semsearch.models.bundle import Bundle
from semsearch.models.model_ref import Reference
from semsearch.stores.protocol import StoreReader
from semsearch.utils.atomic_write import sync_file, sync_folder, workplace

FOLDER = "encoder"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same index gives the same file


def of_index(reader: StoreReader) -> Bundle | None:
    """The bundle in a folder of the user's that encodes an index; None for any other encoder."""
    reference = reader.state().recipe.get("encoder")
    folder = Path(Reference.parse(reference).model) if isinstance(reference, str) else Path()
    if not folder.is_absolute() or not (folder / bundles.MANIFEST).is_file():
        return None
    try:
        found = bundles.read(folder)
    except SemsearchError:  # damaged: the dump is what is left
        return None
    whole = found.weights.endswith(bundles.ONNX) and found.fingerprint == reader.state().spaces[0].fingerprint
    return found if whole else None


def add(dump: Path, encoder: Bundle) -> None:
    """Put the files of an encoder into a dump."""
    with zipfile.ZipFile(dump, "a", zipfile.ZIP_DEFLATED) as archive:
        for file in (encoder.folder / bundles.MANIFEST, *encoder.files()):
            member = zipfile.ZipInfo(f"{FOLDER}/{file.relative_to(encoder.folder).as_posix()}", _EPOCH)
            member.compress_type = zipfile.ZIP_DEFLATED
            with file.open("rb") as content, archive.open(member, "w", force_zip64=True) as to:
                shutil.copyfileobj(content, to)


def is_in(dump: Path) -> bool:
    """Whether a dump carries an encoder."""
    with zipfile.ZipFile(dump) as archive:
        return f"{FOLDER}/{bundles.MANIFEST}" in archive.namelist()


def take_out(dump: Path, home: Path) -> None:
    """Write the encoder of a trusted dump into `models` of a home of indexes, unless it is there. Raises Corrupt."""
    models = local_models.models_dir(home)
    models.mkdir(parents=True, exist_ok=True)
    with workplace(models / FOLDER, "restoring") as place:
        with zipfile.ZipFile(dump) as archive:
            for name in (each for each in archive.namelist() if each.startswith(f"{FOLDER}/")):
                within = PurePosixPath(name).relative_to(FOLDER)
                if within.is_absolute() or ".." in within.parts:
                    raise Corrupt(f"{dump} is damaged: it has a file {name!r}.")
                (place / within).parent.mkdir(parents=True, exist_ok=True)
                with archive.open(name) as content, (place / within).open("wb") as to:
                    shutil.copyfileobj(content, to)
                sync_file(place / within)
        found = bundles.read(place)
        for which in ("weights", "tokenizer"):
            found.path(which)  # raises if it is not what was written
        if factory.find_local(found.fingerprint) is None:
            place.rename(models / f"{place_name(found.name)}-{found.fingerprint[:8]}")
            sync_folder(models)


def place_name(name: str) -> str:
    """The name of a folder after an encoder's.

    >>> place_name("../notes adapted")
    'notes-adapted'
    """
    return "-".join("".join(sign if sign.isalnum() or sign in "-_" else " " for sign in name).split()) or FOLDER
