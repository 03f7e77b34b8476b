"""What languages files and indexes are in, and how much of that an encoder reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from semsearch import settings
from semsearch.encoders import factory
from semsearch.index.index import Index
from semsearch.indexing import language_sample
from semsearch.indexing.language_sample import ENOUGH, LanguageSample
from semsearch.indexing.sources import SyncOptions
from semsearch.models import bundle, model_folders
from semsearch.utils.languages.detection import advice, listed

DEFAULT, MULTILINGUAL = "default", "multilingual"


def languages_of_files(paths: Sequence[Path], options: SyncOptions | None = None) -> LanguageSample:
    """Texts of a sample of the files that an index of `paths` would have."""
    return language_sample.of_files(paths, options or SyncOptions())


def languages_of_index(index: Index) -> LanguageSample:
    """A sample of the passages of an index."""
    return language_sample.of_passages(index.store.reader)


def usual_encoder(sample: LanguageSample) -> tuple[str, str]:
    """The name of the encoder for a new index of such texts, and why it is not `default`; "" where it is.

    It is not where `default` leaves more than a tenth unread, and `multilingual` less. A model that the user's settings
    name is used in any case.
    """
    model, origin = settings.resolve()["model"]
    if origin != "default":
        return model, ""
    reads = {name: bundle.read(model_folders.find(name)).languages for name in (DEFAULT, MULTILINGUAL)}
    unread = {name: sample.unread(languages) for name, languages in reads.items()}
    if unread[DEFAULT] <= max(ENOUGH, unread[MULTILINGUAL]):
        return DEFAULT, ""
    why = f"the encoder is {MULTILINGUAL}, since {unread[DEFAULT]:.0%} of the texts are in "
    return MULTILINGUAL, f"{why}{sample.others(reads[DEFAULT])}, and {DEFAULT} reads {listed(reads[DEFAULT])}"


def unread_warning(index: Index, sample: LanguageSample) -> str:
    """What the encoder of an index leaves unread of such texts, and what helps; "" where it is at most a tenth."""
    name, languages = index.store.space.name, stated_languages(index)
    if (share := sample.unread(languages)) <= ENOUGH:
        return ""
    text = f"{share:.0%} of the texts are in {sample.others(languages)}, which {name} does not read: it reads "
    text += f"{listed(languages)}. They are found by their words alone."
    return text + advice(languages, "search", f"semsearch reembed {index.name} -m {MULTILINGUAL}")


def share_read(index: Index) -> float | None:
    """The share of a sample of passages that the encoder of an index reads; None where it states no languages."""
    if not (languages := stated_languages(index)):
        return None
    return 1 - languages_of_index(index).unread(languages)


def stated_languages(index: Index) -> Sequence[str]:
    """Those of the encoder of an index, which is not loaded; none where it states none."""
    space = index.store.space
    if (recorded := space.info.get("languages")) is not None:
        return tuple(recorded)
    name = factory.find_local(space.fingerprint)  # an older version recorded none
    return bundle.read(model_folders.find(name)).languages if name and name != factory.HASHING else ()
