"""How often a question whose answer an earlier loader left out finds it among the first three hits.

    python -m scripts.bench.left_out [--encoder default] [--mode hybrid]

The answers are footnotes, admonitions, abstracts, headers of pages and sections called "cookies" or "share" in the
manuals of Python, Git and PostgreSQL that `completeness` fetches. The first half was for choosing what is furniture,
the second was kept for this. A hit is right if it has the words of the answer.
"""

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Literal

from semsearch import Index

CACHE = Path.home() / ".cache" / "semsearch-completeness"
K = 3
QUESTIONS = """
How do I share global variables across modules? | programming | is to create a special module
How are the attributes of a cookie named in Python? | http.cookiejar | corresponding to the standard cookie-attributes
How does value_decode of a cookie turn a string into a value? | http.cookies | from a string representation
When will from __future__ import annotations become mandatory? | __future__ | twice decided to delay the change
Is the encoding name UTF8 valid in an XML declaration? | xml.dom.minidom | is not valid in an XML document
Who are Python's abstract classes not for: virtual base class in C++? | abc | virtual base class concept is not the same
Is pickling lambda functions possible? | pickle | cannot be pickled
Where does the name of the marshal module come from? | marshal | the designers of Modula-3
Does JSON permit the line separator U+2028 in strings? | json | permits literal U+2028
Why does -3**2 give -9? | introduction | higher precedence than -
What is the Cheese Shop? | whatnow | a customer enters a cheese shop
Does a module object have a secret attribute? | classes | secret read-only attribute
Which statement locks rows as they are obtained from the table? | sql-select | are locking clauses
Which git command finds the commit that introduced a bug? | git-bisect | Use binary search to find the commit
Which git command salvages data out of another SCM? | git-cvsimport | another SCM people love to hate
Are newlines embedded inside quoted fields interpreted correctly by csv? | csv | newlines embedded inside quoted fields
Is sniffing the browser bad for website design? | urllib2 | very bad practice for website design
Is the list [1, 2] equal to [1.0, 2.0]? | stdtypes | is considered equal to [1.0, 2.0]
How can x//y be one larger than (x-x%y)//y? | expressions | one larger than (x-x%y)//y
Is arguments passing in Python a call by object reference? | controlflow | reference would be a better description
Why are non-callable mocks an exception to the rule? | unittest.mock-examples | this rule are the non-callable mocks
Why is a doctest with output and an exception unsupported? | doctest | output and an exception are not supported
What is the default locale directory of gettext on Solaris? | gettext | on Solaris it is /usr/lib/locale
Which book defines the proleptic Gregorian calendar? | datetime | Dershowitz and Reingold
Does os.path.abspath change the meaning of a path with symlinks? | pathlib | in the presence of symlinks
In which directories does webbrowser search executables without a full path? | webbrowser | searched in the directories
Is it a good idea to change an object's type? | datamodel | change an object’s type, under certain
Do str and bytes match sequence patterns? | compound_stmts | do not match sequence patterns
Which git command shows what author last modified each line of a file? | git-blame | last modified each line of a file
Which git command counts unpacked objects and their disk consumption? | git-count-objects | objects and their disk
"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--encoder", default="minilm")
    arguments.add_argument("--mode", default="hybrid", choices=["hybrid", "semantic", "keyword"])
    chosen = arguments.parse_args()
    rows = [[cell.strip() for cell in line.split(" | ")] for line in QUESTIONS.strip().split("\n")]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "pages")
        folder.mkdir()
        for name in {row[1] for row in rows}:
            for page in sorted(CACHE.rglob(f"{name}.html")):
                shutil.copy(page, folder / f"{page.parent.name}-{page.name}")
        with Index.create(Path(scratch, "index"), encoder=chosen.encoder) as index:
            report = index.sync([folder])
            found = [_is_found(index, question, answer, chosen.mode) for question, _, answer in rows]
    half = len(rows) // 2
    print(
        f"{report.added} pages, {report.passages} passages: hit@{K} for choosing {sum(found[:half])} of {half}, ",
        end="",
    )
    print(f"kept {sum(found[half:])} of {len(rows) - half}")
    for row, is_found in zip(rows, found, strict=True):
        if not is_found:
            print(f"not found: {row[0]}")


def _is_found(index: Index, question: str, answer: str, mode: Literal["hybrid", "semantic", "keyword"]) -> bool:
    hits = index.search(question, k=K, mode=mode)
    return any(" ".join(answer.split()) in " ".join(hit.text.split()) for hit in hits)


if __name__ == "__main__":
    main()
