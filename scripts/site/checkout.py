"""Hook of MkDocs: README, CHANGELOG, CONTRIBUTING and deploy/ are in the site too, and links to them work."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

CHECKOUT = Path(__file__).resolve().parents[2]
TOP = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "NOTICE")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    if index := files.get_file_from_path("README.md"):  # of docs/: the menu of the site says the same
        files.remove(index)
    for path in (*(CHECKOUT / name for name in TOP), *sorted((CHECKOUT / "deploy").iterdir())):
        name = path.relative_to(CHECKOUT).as_posix()
        files.append(File.generated(config, name, content=path.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """In the checkout the pages are one folder deeper than README; in the site they are beside it."""
    return markdown.replace("](docs/", "](") if page.file.src_path in TOP else markdown.replace("](../", "](")
