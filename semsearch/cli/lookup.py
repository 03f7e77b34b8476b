"""The index, the encoder and the files that a command line names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import semsearch
from semsearch import encoders, settings
from semsearch.cli.options import EncoderOptions, Options
from semsearch.cli.output import console
from semsearch.errors import GuardRail, NotFound, UnknownName, UsageError
from semsearch.stores import recipe_trust


def choose_index(options: Options, *names: str | None) -> str:
    """The name of an index: the argument or -n, else the only index there is.

    Raises UsageError for two different names, or for several indexes without a name, NotFound if there is no index.
    """
    chosen = {name for name in names if name is not None}  # an empty -n "$NAME" must not mean another index
    if len(chosen) > 1:
        raise UsageError(f"two indexes were named: {' and '.join(sorted(chosen))}.", "Name one.")
    if chosen:
        return chosen.pop()
    existing = semsearch.admin.names(options.folder())
    if not existing:
        raise NotFound(
            f"there is no index in {options.folder()} yet.",
            'Create one: semsearch index FOLDER, or ask a folder: semsearch query "how do I …" FOLDER',
        )
    if len(existing) > 1:
        raise UsageError("there are several indexes.", f"Name one with -n: {', '.join(existing)}.")
    return existing[0]


def existing_index(options: Options, *names: str | None) -> Path:
    """The folder of an index. Raises as `choose_index` does, and NotFound with similar names that exist."""
    name = choose_index(options, *names)
    folder = semsearch.admin.folder(name, options.folder())
    if semsearch.admin.exists(folder):
        return folder
    if folder.parent != options.folder():
        raise NotFound(f"there is no index at {folder}.", f"Create one: semsearch index FOLDER -n {name}")
    existing = semsearch.admin.names(options.folder())
    fix = UnknownName("index", name, existing).fix if existing else f"Create one: semsearch index FOLDER -n {name}"
    raise NotFound(f"there is no index called {name!r} in {options.folder()}.", fix)


def open_index(options: Options, *names: str | None, trust: bool = False) -> semsearch.Index:
    """An index, for reading. Its encoder is loaded by the first call that needs it."""
    folder = existing_index(options, *names)
    return semsearch.Index.open(folder, encoder=trusted_encoder(encoder_of(folder)) if trust else None)


def index_of_files(options: Options, files: Sequence[Path], *, from_stdin: bool = False) -> str:
    """The only index that follows these files, else a new one named after them; printed to stderr.

    Raises UsageError where several indexes follow them, or an index of that name follows other files.
    """
    existing = semsearch.admin.names(options.folder())
    if not files:
        if from_stdin and not existing:
            raise UsageError("text from standard input needs the name of an index.", "Pass -n NAME.")
        return choose_index(options)
    following = [name for name in existing if _follows(options, name, files)]
    if len(following) > 1:
        raise UsageError("several indexes were built from this path.", f"Name one with -n: {', '.join(following)}.")
    name = following[0] if following else semsearch.admin.name_after(files)
    if not following and name in existing:
        raise UsageError(
            f"an index called {name} exists, but it was built from other files.",
            f"Pass -n {name} to add these files to it, or -n with another name.",
        )
    if not options.quiet:
        console.note(f"{'updating' if following else 'new'} index {name} in {options.folder()}")
    return name


def _follows(options: Options, name: str, files: Sequence[Path]) -> bool:
    roots = semsearch.admin.followed(semsearch.admin.folder(name, options.folder()))
    return all(any(file.resolve().is_relative_to(root) for root in roots) for file in files)


def encoder_of(folder: Path) -> str:
    """The name of the encoder that built the index in `folder`. Raises UsageError for an index without one."""
    with semsearch.Index.open(folder) as index:
        recipe = index.info()["recipe"]
        recorded: str | None = recipe.get("encoder", "default")
    if recorded is None:
        raise UsageError(f"index {folder.name} has no encoder.", "Leave out the options of encoders.")
    if recipe_trust.encoder(recipe):
        encoders.index_encoder.require_local(folder.name, recorded)
    return recorded


def with_options(model: str, encoder: EncoderOptions) -> str:
    """The model with its template, precision and layer as one reference."""
    from semsearch.models.model_ref import Reference  # 5 ms that a query does without

    return str(Reference.parse(model).with_(template=encoder.template, dtype=encoder.dtype, layer=encoder.layer))


def trusted_encoder(model: str) -> semsearch.Encoder:
    """An encoder that may run its own code, with the embedding cache."""
    return semsearch.Encoder.from_settings(model, trust_remote_code=True)


def load_encoder(options: Options, model: str | None, encoder: EncoderOptions) -> semsearch.Encoder:
    """The encoder of flags and settings. Without the embedding cache, which rounds its vectors."""
    chosen = settings.load({"model": model, "device": encoder.device, "home": options.home})
    return semsearch.Encoder.load(
        chosen.model,
        device=chosen.device,
        threads=chosen.threads,
        template=encoder.template,
        dtype=encoder.dtype,
        layer=encoder.layer,
        trust_remote_code=encoder.trust,
    )


def load_reranker(name: str, device: str | None) -> semsearch.Reranker:
    """The reranker of a name and the settings."""
    chosen = settings.load({"device": device})
    return semsearch.Reranker.load(name, device=chosen.device, threads=chosen.threads)


def load_encoders(
    options: Options, models: Sequence[str] | None, encoder: EncoderOptions
) -> Iterator[tuple[str, semsearch.Encoder]]:
    """Each encoder under the name on the command line, loaded when its turn comes and closed after it."""
    for name in model_names(models):
        loaded = load_encoder(options, name, encoder)
        yield name, loaded
        loaded.close()


def model_names(models: Sequence[str] | None) -> list[str]:
    """The models of -m, each once; without any, the model of the settings."""
    return list(dict.fromkeys(models or [settings.load().model]))


def use_device(device: str | None) -> None:
    """Make `device` the setting of this process and of its child processes."""
    if device:
        os.environ["SEMSEARCH_DEVICE"] = settings.load({"device": device}).device


def existing_paths(paths: Sequence[str]) -> list[Path]:
    """The paths, all of which exist. Raises NotFound for the first that does not, and UsageError for an empty one."""
    for path in paths:
        if not path.strip():
            raise UsageError("a path is empty.", "Name a folder or a file; . is the folder that you are in.")
        if not Path(path).exists():
            raise NotFound(f"{path} does not exist.", "Check the spelling and the current folder.")
    return [Path(path) for path in paths]


def check_split(path: Path, what: str, *, yes: bool) -> None:
    """Raises GuardRail if `path` looks like a test set, on which `what` must not be chosen; with `yes`, only warns."""
    if not re.search(r"(?<![a-z])test(?![a-z])", path.name.lower()):
        return
    if not yes:
        raise GuardRail(
            f"{path.name} looks like a test set: scores of {what} chosen on it are not honest.",
            "Use the validation set, or pass -y.",
        )
    console.warn([f"{path.name} looks like a test set: do not report scores on it for this {what.split()[-1]}."])


def parse_id(text: str) -> int | str:
    """An ID argument: passage:42 and 42 are a passage, document:42 and anything else a document or file.

    >>> parse_id("42"), parse_id("document:42"), parse_id("notes/a.md")
    (42, '42', 'notes/a.md')
    """
    kind, _, rest = text.partition(":")
    if kind == "document" and rest:
        return rest
    number = rest if kind == "passage" else text
    return int(number) if number.isascii() and number.isdigit() and int(number) < 2**63 else text
