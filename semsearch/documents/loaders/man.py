"""Pages of the manual, as they are stored: the text of man(7) and mdoc(7) without layout, sections as headings.

Source: groff_man(7), groff_mdoc(7), groff_char(7). Not covered: macros that a page defines itself, whose words are read
as they stand (but for those of Pod::Man and docutils), and conditions, of which the branch for terminals is read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from semsearch.documents.parsing.charset import read_text
from semsearch.documents.parsing.records import Fields
from semsearch.documents.parsing.text_writer import TextWriter
from semsearch.types import Document, JsonObject

ISOLATED = True
_ESCAPE = re.compile(
    r"\\(?:\".*|\*(?:\[(?P<string>[^\]]*)\]|\((?P<two>..)|(?P<one>.))|\[(?P<name>[^\]]*)\]|\((?P<char>..)"
    r"|N'(?P<code>\d+)'|[fFmMgknVY](?:\[[^\]]*\]|\(..|[+-]?.)|s(?:\[[^\]]*\]|\(..|[+-]?\d{1,2})|[hvwoXZlLDbBAHRSx]'[^']*'"
    r"|(?P<sign>.)|$)"
)
_SIGNS = {
    "-": "-",
    "e": "\\",
    "\\": "\\",
    " ": " ",
    "~": " ",
    "0": " ",
    "t": "\t",
    "'": "'",
    "`": "`",
    ".": ".",
    "_": "_",
}
_NAMED = """aq=' dq=" lq=“ rq=” oq=‘ cq=’ ga=` ha=^ ti=~ rs=\\ bu=• em=— en=– hy=‐ co=© rg=® tm=™ de=° mu=× di=÷ +-=±
    <==≤ >==≥ !==≠ ->=→ <-=← <>=↔ ua=↑ da=↓ sc=§ ps=¶ dg=† dd=‡ ct=¢ Po=£ Ye=¥ Eu=€ eu=€ 12=½ 14=¼ 34=¾ mc=µ *m=μ ss=ß
    ae=æ AE=Æ oe=œ OE=Œ /o=ø /O=Ø oa=å oA=Å Fo=« Fc=» fo=‹ fc=› r!=¡ r?=¿ ul=_ ru=_ or=| ba=| sl=/ at=@ sh=# Do=$
    lB=[ rB=] lC={ rC=} la=⟨ ra=⟩ sq=□ if=∞ pl=+ mi=− eq== **=* md=⋅ pc=· S1=¹ S2=² S3=³"""
_CHARACTERS = {part[:-2]: part[-1] for part in _NAMED.split()} | {"ff": "ff", "fi": "fi", "fl": "fl"}
_MARKS = {"'": "\u0301", "`": "\u0300", ":": "\u0308", "^": "\u0302", "~": "\u0303", ",": "\u0327", "v": "\u030c"}
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|(\S+)')
_NO_TEXT = """ad hy na ne in ti ta nh ll pl po ft ps vs nr rr rm tr cs fp mk rt ns rs bp lg ce cc ec eo PD DT HP nop als
    char do ev evc mso open shift sy tm warn while wh lf UC AT hw nx bd ss fam fcolor gcolor nm Os Bk Ek Db Sm rn ab ex
    am1 return break continue box di da device IX Rs Re it ul LINKSTYLE"""
_LAYOUT = set(_NO_TEXT.split())
_PARAGRAPH = {"PP", "P", "LP", "sp", "br", "Pp", "Lp", "El", "Bl", "Bd", "RS", "RE", "YS", "Sp", "INDENT", "UNINDENT"}
_JOINED = {"BR", "BI", "IR", "IB", "RB", "RI"}
_FONTS = {"B", "I", "SM", "SB", "R", "CW"}
_PAIRS = {"Dq": "“”", "Qq": '""', "Sq": "‘’", "Ql": "‘’", "Pq": "()", "Bq": "[]", "Op": "[]", "Brq": "{}", "Aq": "<>"}
_OPEN = {"Do": "“", "Qo": '"', "So": "‘", "Po": "(", "Bo": "[", "Oo": "[", "Bro": "{", "Ao": "<"}
_CLOSE = {"Dc": "”", "Qc": '"', "Sc": "’", "Pc": ")", "Bc": "]", "Oc": "]", "Brc": "}", "Ac": ">"}
_PLAIN = """Ad An Ar Cd Cm Dv Em Er Ev Fa Fd Ft Ic Li Lk Ms Mt No Pa St Sx Sy Tn Va Vt Ux At Bx Nx Fx Ox Rv Ex In Lb Fn
    Fo Fc Tg"""
_WORDS = set(_PLAIN.split())


def load(path: Path, fields: Fields) -> Iterator[Document]:
    """One document, titled by name and section: ls(1)."""
    text, note = read_text(path)
    writer = TextWriter()
    page = _Page(text, writer)
    yield writer.document(page.title, note | page.about)


class _Page:
    """Writes a page into `writer`; `title` is its name and section, "" without one, `about` what else its head says."""

    def __init__(self, source: str, writer: TextWriter) -> None:
        self.title = ""
        self.about: JsonObject = {}
        self._writer = writer
        self._lines = iter(source.split("\n"))
        self._strings: dict[str, str] = {"R": "®", "Tm": "™", "lq": "“", "rq": "”", 'L"': "“", 'R"': "”"}
        self._words: list[str] = []
        self._verbatim = False
        self._own: set[str] = set()  # macros that the page defines
        self._pending = ""  # the macro whose text is the next line
        self._named = ""  # by .Nm
        self._else: list[bool] = []  # whether what follows .el is read, of each .ie
        for line in self._lines:
            self._line(line)
        self._flush()

    def _line(self, line: str) -> None:
        line = re.sub(r"^([.'])\s+", r"\1", line)
        if line[:1] not in (".", "'") or len(line) < 2:
            self._text(line)
            return
        macro, _, rest = line[1:].partition(" ")
        macro = macro.split("\t")[0]
        if macro.startswith(('\\"', "\\}", '"')) or not macro.strip("\\{}"):
            self._writer.omit("comment", line[1:].lstrip('\\}"'))
            return
        self._macro(macro, rest.strip())

    def _macro(self, macro: str, rest: str) -> None:
        if macro in ("de", "de1", "am", "ig"):
            self._own.update(rest.split()[:1])
            end = "." + ((rest.split()[1:2] or ["."])[0] if macro != "ig" else ".")
            while (line := next(self._lines, None)) is not None and line.strip() != end:
                self._writer.omit("comment" if macro == "ig" else "macro", line)
        elif macro in ("if", "ie"):
            condition, _, text = rest.partition(" ")
            is_true = condition in ("n", "!t")
            if macro == "ie":
                self._else.append(not is_true)
            self._branch(text, taken=is_true)
        elif macro == "el":
            self._branch(rest, taken=bool(self._else) and self._else.pop())
        elif macro == "ds":
            name, _, value = rest.partition(" ")
            self._strings[name] = value.strip().removeprefix('"')
        elif macro in ("TH", "Dt"):
            self._name(self._arguments(rest))
        elif macro == "Dd":
            self._say(["date"], [rest])
        elif macro in ("SH", "SS", "Sh", "Ss"):
            self._flush()
            self._verbatim = False
            self._heading(macro, rest)
        elif macro == "so":
            self._writer.omit("link to another page")
        elif macro == "TS":
            self._table()
        elif macro in ("nf", "EX", "Vb", "fi", "EE", "Ve", "Bd", "Ed"):
            self._flush()
            is_block = macro == "Bd" and ("-literal" in rest or "-unfilled" in rest)
            self._verbatim = is_block or macro in ("nf", "EX", "Vb")
        elif macro in _PARAGRAPH:
            self._flush()
        elif macro in ("TP", "TQ", "IP", "It"):
            self._item(macro, rest)
        elif macro in _LAYOUT:
            return
        else:
            self._inline(macro, rest)

    def _name(self, arguments: list[str]) -> None:
        self.title = self.title or "{}({})".format(*[*arguments, "", ""][:2]).removesuffix("()")
        self._say(["date", "source", "manual"], arguments[2:])

    def _say(self, names: list[str], texts: list[str]) -> None:
        self.about |= {name: text for name, text in zip(names, texts, strict=False) if text}

    def _heading(self, macro: str, rest: str) -> None:
        words = " ".join(self._arguments(rest))
        if words:
            self._writer.heading(self._plain(words), 2 if macro in ("SH", "Sh") else 3)
        else:
            self._pending = macro

    def _item(self, macro: str, rest: str) -> None:
        self._flush()
        if macro == "IP":
            self._text(" ".join(self._arguments(rest)[:1]))
        elif macro == "It":
            self._text(self._mdoc(self._arguments(rest)))

    def _inline(self, macro: str, rest: str) -> None:
        arguments = self._arguments(rest)
        if macro in _JOINED:
            self._text("".join(arguments))
        elif macro in _FONTS:
            self._text(" ".join(arguments))
        elif macro in ("MR", "Xr") and len(arguments) > 1:
            self._text("{}({}){}".format(*arguments[:2], "".join(arguments[2:])))
        elif macro in ("D1", "Dl"):
            self._flush()
            self._text(self._mdoc(arguments))
            self._flush()
        elif macro in ("UR", "MT", "UE", "ME", "URL", "SY", "OP", "YS"):
            self._text(" ".join(arguments))
        else:
            is_mdoc = macro[:1].isupper() and macro not in self._own
            self._text(self._mdoc([macro, *arguments]) if is_mdoc else " ".join(arguments))

    def _mdoc(self, tokens: list[str]) -> str:
        """A line of macros that are called within each other."""
        if not tokens:
            return ""
        first, rest = tokens[0], tokens[1:]
        if first in _PAIRS:
            end = next((at for at in range(len(rest), 0, -1) if rest[at - 1] not in (".", ",", ":", ";")), 0)
            return f"{_PAIRS[first][0]}{self._mdoc(rest[:end])}{_PAIRS[first][1]}{''.join(rest[end:])}"
        if first == "Fl":
            return self._join("-" + rest[0] if rest and rest[0] not in _CALLED else "-", rest[1:] if rest else [])
        if first == "Nm":
            own = rest[:1] if rest and rest[0] not in _CALLED and rest[0][:1].isalnum() else []
            self._named = self._named or "".join(own)
            return self._join(own[0] if own else self._named, rest[len(own) :])
        if first == "Nd":
            return f"– {self._mdoc(rest)}"
        if first == "Xr" and len(rest) > 1:
            return self._join(f"{rest[0]}({rest[1]})", rest[2:])
        if first in ("Ns", "Pf", "Ap"):
            word = {"Ap": "'", "Ns": "", "Pf": rest[0] if rest else ""}[first]
            return word + self._mdoc(rest[1:] if first == "Pf" else rest)
        if first in _OPEN:
            return _OPEN[first] + self._mdoc(rest)
        if first in _CLOSE:
            return self._join(_CLOSE[first], rest)
        if first == "Ar" and not rest:
            return "file ..."
        return self._mdoc(rest) if first in _WORDS else self._join(first, rest)

    def _join(self, word: str, rest: list[str]) -> str:
        tight = rest and (rest[0] in (".", ",", ":", ";", ")", "]", "Ns", "Ap") or rest[0] in _CLOSE)
        return word + ("" if tight or not rest else " ") + self._mdoc(rest)

    def _branch(self, text: str, *, taken: bool) -> None:
        block = text.startswith("\\{")
        text = text.removeprefix("\\{").removeprefix("\\").strip()
        if taken and text and text != "\\}":
            self._line(text)
        if taken:
            return
        left, depth = [text], block - text.count("\\}")
        while depth > 0 and (line := next(self._lines, None)) is not None:
            depth += line.count("\\{") - line.count("\\}")
            left.append(line)
        self._writer.omit("text for other devices", "\n".join(left))

    def _table(self) -> None:
        """A table: its rows, after the lines with its format."""
        self._flush()
        for line in self._lines:
            if line.strip() == ".TE":
                return
            if line.rstrip().endswith("."):
                break
        rows: list[list[str]] = []
        for line in self._lines:
            if line.startswith(".TE"):
                break
            if line[:1] != "." and line.strip("_=\t "):
                rows.append(
                    [self._plain(cell.strip()) for cell in line.split("\t") if cell.strip() not in ("T{", "T}")]
                )
        self._writer.table(rows)

    def _text(self, line: str) -> None:
        if self._pending:
            macro, self._pending = self._pending, ""
            self._heading(macro, line)
        elif not line.strip() and not self._verbatim:
            self._flush()
        else:
            self._words.append(self._plain(self._uncommented(line)))

    def _flush(self) -> None:
        text = (
            "\n".join(self._words) if self._verbatim else " ".join(word.strip() for word in self._words if word.strip())
        )
        self._words = []
        self._writer.block(text)

    def _arguments(self, rest: str) -> list[str]:
        rest = self._uncommented(rest).replace("\\ ", "\\~")
        return [plain or quoted.replace('""', '"') for quoted, plain in _ARGUMENT.findall(rest)]

    def _uncommented(self, text: str) -> str:
        text, _, comment = text.partition('\\"')
        self._writer.omit("comment", comment)
        return text

    def _plain(self, text: str, depth: int = 0) -> str:
        def shown(escape: re.Match[str]) -> str:
            string = escape["string"] or escape["two"] or escape["one"]
            if string is not None:
                return self._plain(self._strings.get(string, ""), depth + 1) if depth < 5 else ""
            if escape["code"]:
                return chr(min(int(escape["code"]), 0x10FFFF))
            name = escape["name"] or escape["char"]
            return _character(name) if name else _SIGNS.get(escape["sign"] or "", "")

        return _ESCAPE.sub(shown, text)


_CALLED = {*_PAIRS, *_OPEN, *_CLOSE, *_WORDS, "Fl", "Nm", "Nd", "Xr", "Ns", "Pf", "Ap"}


def _character(name: str) -> str:
    """
    >>> _character("u00E9"), _character(":o"), _character("bu")
    ('é', 'ö', '•')
    """
    if name in _CHARACTERS:
        return _CHARACTERS[name]
    if re.fullmatch(r"u[0-9A-F]{4,6}(?:_[0-9A-F]{4,6})*", name):
        return "".join(chr(min(int(code, 16), 0x10FFFF)) for code in name[1:].split("_"))
    if len(name) == 2 and name[0] in _MARKS and name[1].isalpha():
        return unicodedata.normalize("NFC", name[1] + _MARKS[name[0]])
    return ""
