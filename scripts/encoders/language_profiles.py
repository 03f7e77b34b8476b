"""Make semsearch/utils/languages/profiles.txt: the letter trigrams by which languages of one script are told apart.

    python -m scripts.encoders.language_profiles [-o FILE] [--check]

Of each language the 300 most frequent trigrams of its words, as ../pieces.py reads texts of it; `--check` prints how
often the language of man pages is recognised, which the profiles were not made of.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from scripts.bench import languages as bench
from scripts.encoders import pieces
from scripts.shared import figures
from scripts.shared.places import CHECKOUT
from semsearch.utils.languages import detection

FILE = CHECKOUT / "semsearch" / "utils" / "languages" / detection.PROFILES
LETTERS, TRIGRAMS = 800_000, 300
NOT_NEEDED = ("el", "he", "hi", "ja", "ko", "th", "zh")  # the script alone tells


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--out", type=Path, default=FILE, help=f"file to write ({FILE})")
    parser.add_argument("--check", action="store_true", help="print the share of man pages that are recognised")
    options = parser.parse_args()
    if options.check:
        check()
        return
    lines = [" ".join((language, *profile(language))) for language in pieces.LANGUAGES if language not in NOT_NEEDED]
    options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def profile(language: str) -> list[str]:
    """The most frequent trigrams, the most frequent first."""
    print(f"reading {language} …", file=sys.stderr, flush=True)
    counts: Counter[str] = Counter()
    letters = 0
    for text in pieces.prose(language):
        counts.update(detection.trigrams(text))
        letters += len(text)
        if letters > LETTERS:
            break
    return [trigram.replace(" ", "_") for trigram, _ in counts.most_common(TRIGRAMS)]


def check() -> None:
    """Print a table: whole pages and single lines, recognised, taken for another language, and not decided."""
    rows = []
    for language in bench.PACKAGES:
        pages = bench.drawn(language)
        for kind, texts in (("pages", [page.answers for page in pages]), ("lines", [page.asks for page in pages])):
            detected = Counter(detection.language(text) for text in texts)
            right, none = detected.pop(language, 0), detected.pop("", 0)
            rows.append((language, kind, len(texts), right, none, dict(detected.most_common(3))))
    print(figures.table(("language", "of", "texts", "right", "undecided", "wrong"), rows))


if __name__ == "__main__":
    main()
