"""Sources of an index: the files and folders it follows, how each is read, and the names of their documents.

Documents of the first folder are named by their path below it; folders beyond the first are distinguished by a prefix,
their own name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from semsearch.chunking.splitter import Splitter
from semsearch.documents import walk
from semsearch.documents.loaders import Fields
from semsearch.documents.walk import FileEntry, Rules, guard
from semsearch.errors import Corrupt, NotFound, UsageError
from semsearch.stores import drivers
from semsearch.stores.records import Source
from semsearch.types import JsonObject, Skipped

SMALL = 2**16  # bytes of a file that is read in a moment: a long note has some thousand words


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """How to read a folder. None means the setting of the previous run, else the default.

    `checksums`: files are compared by their content, and not only where size or time differ. `force`: all are read and
    split again. `first`: the names of files to read before the others, of which small ones come before large ones, and
    the newest of them first; None: files are read by name.
    """

    rules: Rules | None = None
    kind: str | None = None
    fields: Fields | None = None
    splitter: Splitter | None = None
    prune: bool = True
    force: bool = False
    checksums: bool = False
    dry_run: bool = False
    yes: bool = False
    first: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Root:
    """A file or folder that the index follows, and how to read it."""

    path: str
    rules: Rules = field(default_factory=Rules)
    kind: str = "auto"
    fields: Fields = field(default_factory=Fields)

    @classmethod
    def from_json(cls, recorded: JsonObject) -> Root:
        """The inverse of `asdict`: from the recipe."""
        rules, fields = Rules(**_with_tuples(recorded["rules"])), Fields(**_with_tuples(recorded["fields"]))
        return cls(recorded["path"], rules, recorded["kind"], fields)


def _with_tuples(recorded: JsonObject) -> JsonObject:
    """JSON has lists where these types have tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in recorded.items()}


@dataclass(frozen=True, slots=True)
class Roots:
    """All that an index follows. `bases` gives each folder the prefix that its documents' ids carry.

    `taken` are the prefixes of other machines that write to the same index.
    """

    roots: tuple[Root, ...] = ()
    bases: tuple[tuple[str, str], ...] = ()
    taken: frozenset[str] = frozenset()

    @classmethod
    def of(cls, recipe: JsonObject) -> Roots:
        """The sources recorded in the recipe of an index. Raises Corrupt for a recipe that makes no sense."""
        try:
            roots = tuple(Root.from_json(root) for root in recipe.get("roots", ()))
            bases = tuple((base, str(prefix)) for base, prefix in recipe.get("bases", {}).items())
            followed = cls(roots, bases, frozenset(map(str, recipe.get("taken", ()))))
            for root in roots:
                followed.base(Path(root.path))
        except (AttributeError, KeyError, TypeError, ValueError) as error:  # ValueError: a root without a base
            raise Corrupt(
                f"what the index records about its folders is damaged ({type(error).__name__}).",
                "Restore it from another dump, or index the folders under another name.",
            ) from error
        return followed

    def to_json(self) -> JsonObject:
        """The part of a recipe from which `of` makes the same sources."""
        return {"roots": [asdict(root) for root in self.roots], "bases": dict(self.bases)}

    def covering(self, path: Path) -> Root | None:
        """The root that is `path` or a folder above it."""
        return next((root for root in self.roots if path.is_relative_to(root.path)), None)

    def base(self, path: Path) -> tuple[str, str]:
        """(folder, prefix) for the names below `path`: the nearest base above it."""
        return max((base for base in self.bases if path.is_relative_to(base[0])), key=lambda base: len(base[0]))

    def with_root(self, root: Root) -> Roots:
        """These roots and `root`, in place of those below it."""
        path = Path(root.path)
        others = tuple(r for r in self.roots if not Path(r.path).is_relative_to(path))
        if any(path.is_relative_to(base) for base, _ in self.bases):
            return replace(self, roots=(*others, root))
        if path.is_dir():
            base, bases = path, tuple((b, p) for b, p in self.bases if not Path(b).is_relative_to(path))
        else:  # the folders beside a file are not below its base: their names stay
            base, bases = path.parent, self.bases
        taken = self.taken | {prefix for _, prefix in bases}
        added = str(base), free_prefix(base.name, taken)
        return replace(self, roots=(*others, root), bases=(*bases, added))


def free_prefix(folder: str, taken: Collection[str]) -> str:
    """What the names of the documents of one more folder begin with: nothing, for the first one."""
    names = ["", *(f"{folder or 'root'}{n}/" for n in ("", *(f"-{i}" for i in range(2, len(taken) + 3))))]
    return next(name for name in names if name not in taken)


def excluding(files: Iterable[Source], recipe: JsonObject) -> JsonObject:
    """The recipe with rules that leave these files out; a file that is a root itself is no longer followed."""
    roots = Roots.of(recipe).roots
    for file in files:
        place = Path(file.root, file.path)
        for at, root in enumerate(roots):
            if place.is_relative_to(root.path):
                name = re.sub(r"[*?[]", "?", place.relative_to(root.path).as_posix())
                rules = replace(root.rules, exclude=(*root.rules.exclude, f"/{name}"))
                roots = (*roots[:at], *([] if name == "." else [replace(root, rules=rules)]), *roots[at + 1 :])
                break
    return recipe if roots == Roots.of(recipe).roots else {**recipe, "roots": [asdict(root) for root in roots]}


@dataclass(frozen=True, slots=True)
class Update:
    """One update: the paths to walk (absolute), the options, and the new recipe of the index.

    With "resplit" in the recipe every document is split again: passages of two sizes would not be comparable. `moved`
    has the folders that have moved: where each is now, and was.
    """

    roots: Roots
    scopes: Sequence[Path]
    options: SyncOptions
    recipe: JsonObject
    moved: Mapping[str, str] = field(default_factory=dict)


def absence(path: Path) -> str:
    """Why nothing can be read at a path; "" where something is there."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return "does not exist"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return ""


def update(paths: Sequence[Path], options: SyncOptions, recipe: JsonObject) -> Update:
    """The update of an index with this recipe, for these paths, or for all that it follows.

    An index that follows nothing can be split again too. Raises UsageError, NotFound, GuardRail.
    """
    followed = Roots.of(recipe)
    alone = options.splitter is not None and not (paths or followed.roots)
    roots, scopes = (followed, []) if alone else plan(paths, options, followed)
    for scope in scopes:
        guard(scope, None, yes=options.yes)  # before it is followed: a refused folder must not get into the recipe
    split = asdict(options.splitter) if options.splitter else recipe["splitter"]
    resplit = recipe.get("resplit", False) or split != recipe["splitter"]
    if resplit:
        scopes, options = [Path(root.path) for root in roots.roots], replace(options, force=True)
    return Update(roots, scopes, options, {**recipe, **roots.to_json(), "splitter": split, "resplit": resplit})


def plan(paths: Sequence[Path], options: SyncOptions, roots: Roots) -> tuple[Roots, list[Path]]:
    """The new roots of the index, and the paths to walk in this run (absolute).

    Raises UsageError where there is nothing to follow, NotFound for a path that is not there.
    """
    if not paths and not roots.roots:
        raise UsageError(
            "there is no path, and this index follows none.",
            "Name a folder, or follow those of a dump that you trust: semsearch.admin.trust(index).",
            "Name one: semsearch index FOLDER. For the folders of a dump that you trust: semsearch trust NAME",
        )
    for path in paths:
        if not path.exists():
            raise NotFound(f"there is no file or folder {str(path)!r}.", "Check the path; nothing was changed.")
    scopes = [path.resolve() for path in paths] or [Path(root.path) for root in roots.roots]
    for name in map(str, scopes):
        if (shown := walk.printable(name)) != name:
            raise UsageError(
                f"{shown} cannot be followed: its name is not UTF-8.", "Name a folder above, or rename it."
            )
    if all(map(absence, scopes)):
        listed = ", ".join(str(scope) for scope in scopes)
        raise NotFound(
            f"none of what this index follows is there: {listed}.",
            "Nothing was changed. Where it has moved, name its new place, and its documents follow.",
            "Nothing was changed. Where it has moved, its documents follow: semsearch index NEW_PLACE -n NAME",
        )
    for scope in scopes:  # without a PATH the options apply to everything that is followed
        above = roots.covering(scope)
        root = above or Root(str(scope))
        chosen = replace(
            root,
            rules=options.rules or root.rules,
            kind=options.kind or root.kind,
            fields=options.fields or root.fields,
        )
        if above is not None and chosen != above and above.path != str(scope):
            raise UsageError(
                f"{scope} is part of {above.path}, and is read with the same settings.",
                f"Index {above.path} with these flags, or leave them out.",
            )
        if chosen != above:
            roots = roots.with_root(chosen)
    return roots, scopes


@dataclass(frozen=True, slots=True)
class Naming:
    """How the files below a root are named."""

    root: Root
    base: str
    prefix: str
    above: str  # of the root, below the base; "" where they are the same


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that an index follows. There may be a million of them, so it has nothing that follows from the rest."""

    entry: FileEntry
    naming: Naming

    @property
    def path(self) -> str:
        """Its path below the base."""
        return self.naming.above + self.entry.relative

    @property
    def uri(self) -> str:
        return self.naming.prefix + self.path

    @property
    def source(self) -> Source:
        """What is to be recorded of it before it is read."""
        return Source(self.naming.base, self.path, self.entry.mtime_ns, self.entry.size, "", "")


def ordered(files: Iterable[SourceFile], first: Sequence[str]) -> list[SourceFile]:
    """The files called `first`, then small ones before large ones, and the newest of them first."""
    places = {name: place for place, name in enumerate(first)}

    def key(file: SourceFile) -> tuple[int, bool, int]:
        return places.get(file.uri, len(places)), file.entry.size > SMALL, -file.entry.mtime_ns

    return sorted(files, key=key)


def walked(
    scopes: Sequence[Path], roots: Roots, options: SyncOptions, unseen: list[Path], warnings: list[str]
) -> Iterator[SourceFile | Skipped]:
    """Every file of the scopes once, under its base; a part of a root is read by the rules of the whole.

    Places that could not be read are added to `unseen`: nothing in them counts as deleted. Parts of a root in which
    nothing is read are added to `warnings`.
    """
    seen: dict[tuple[str, str], str] = {}
    several, count = len(scopes) > 1, 0
    for scope in scopes:
        root = roots.covering(scope) or Root(str(scope))
        top = Path(root.path)
        guard(top, None, yes=options.yes)
        base, prefix = roots.base(top)
        above = (top if top.is_dir() else top.parent).relative_to(base).as_posix()
        naming = Naming(root, base, prefix, "" if above == "." else f"{above}/")
        within = scope.relative_to(top).as_posix()
        rules = rules_of(root)
        empty = True
        for item in walk.files(top, rules, drivers.exists):
            relative = item.path if isinstance(item, Skipped) else item.relative
            inside = within == "." or relative == within or relative.startswith(within + "/")
            empty = empty and not inside
            if isinstance(item, Skipped):
                if isinstance(item, walk.Unseen):
                    unseen.append(top / item.path)
                yield item
                continue
            if not inside:
                continue
            file = SourceFile(item, naming)
            if several or "\\x" in item.relative:  # a scope may be a part of another, and names may be printed alike
                other = seen.setdefault((base, file.path), item.location)
                if other is not item.location:
                    if other != item.location:  # a byte that is not UTF-8 is printed as \xe9, which may be a name too
                        yield Skipped(file.uri, "another file has this name, as far as names can be printed")
                    continue
            count += 1
            if count > walk.MAX_FILES:
                guard(top, count, yes=options.yes)
            yield file
        if empty and within != ".":
            warnings.append(
                f"nothing in {scope} is read: it is empty, or hidden, ignored or excluded within {root.path}."
            )


def rules_of(root: Root) -> Rules:
    """The rules of a root. Where all its files are databases, one without a suffix has no limit of size either."""
    if root.kind == "files":
        return replace(root.rules, streamed=())
    if root.kind == "parquet":  # left out otherwise, as data
        include = root.rules.include or ("*.parquet",)
        return replace(root.rules, include=include, streamed=(*root.rules.streamed, ".parquet"))
    return replace(root.rules, streamed=(*root.rules.streamed, "")) if root.kind == "sqlite" else root.rules


def in_scope(source: Source, scopes: Sequence[Path], roots: Roots) -> bool:
    """Whether this run covers the place of the source, or nothing there is followed any more."""
    return bool(source.root) and (source.root not in dict(roots.bases) or below(source, scopes))


def below(source: Source, places: Sequence[Path]) -> bool:
    return any((Path(source.root) / source.path).is_relative_to(place) for place in places)
