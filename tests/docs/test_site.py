"""The documentation builds as a site: every page is in its menu, every link and anchor leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
pytest.importorskip("material", reason="needs mkdocs-material, of the extra dev")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    words = ("-m", "mkdocs", "build", "--quiet", "-f", str(CHECKOUT / "scripts" / "site" / "mkdocs.yml"), "-d")
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run([sys.executable, *words, str(folder)], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_no_page_is_left_out_and_no_link_leads_nowhere(site: Path) -> None:
    """MkDocs ends with an error at a page that its menu does not name, and at a broken link or anchor."""
    pages = {path.stem for path in (CHECKOUT / "docs").glob("*.md")} - {"README"}
    assert {path.stem for path in site.glob("*.html")} == pages | {"index", "404", "CHANGELOG", "CONTRIBUTING"}


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r"""<(?:script|img|iframe)[^>]*\ssrc="?(?:https?:)?//|<link[^>]*rel="?stylesheet[^>]*//""")
    for page in site.glob("*.html"):
        assert not loaded.search(page.read_text(encoding="utf-8")), page.name


def test_links_to_files_of_the_checkout_work_in_the_site(site: Path) -> None:
    serving = (site / "serving.html").read_text(encoding="utf-8")
    assert re.search(r'href="?deploy/nginx.conf', serving)
    assert (site / "deploy" / "nginx.conf").read_bytes() == (CHECKOUT / "deploy" / "nginx.conf").read_bytes()
