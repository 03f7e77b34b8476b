"""Detection of character sets: byte order marks, UTF-8, what a file declares, the best guess. Newlines become "\\n".

UTF-16 without a byte order mark is recognised where it has Latin letters, digits or spaces. Not covered: UTF-32.
"""

from __future__ import annotations

import codecs
import math
import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from semsearch.documents.file_access import read_regular
from semsearch.documents.parsing.json_size import MOST_NESTED
from semsearch.errors import Unreadable
from semsearch.types import JsonObject

SAMPLE_BYTES = 65536  # enough to detect an encoding; a guess over 10 MB would take a second
_MARKS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The common ones. With all its 90 candidates, charset-normalizer takes KOI8-R for Japanese and café for UTF-16.
_GUESSES = ["cp1250", "cp1251", "koi8_r", "cp866", "cp1253", "cp1255", "cp1256", "cp874"]
_GUESSES += ["cp932", "euc_jp", "gb18030", "big5", "cp949"]
_LARGER = {"ascii": "", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030", "gbk": "gb18030"}
_LARGER |= {"shift_jis": "cp932", "euc_kr": "cp949", "tis-620": "cp874", "iso8859-11": "cp874"}
_WIDE = ("utf-16", "utf-32")
_NEVER_UTF8 = ("iso2022", "utf-7", "hz", *_WIDE)  # of 7 bits, or with NUL
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b\b")) + b"\x7f"
_WESTERN = "àáâãäåæçèéêëìíîïñòóôõöøùúûüßœýþð"
_USUAL = "àáâãäåæçèéêìíîñòóôõöøùúüßœ"  # without those that other sets have in place of Central European letters
_LATIN = (  # the sets in which Latin alphabets are written, and the letters of those who write in them, likeliest first
    ("cp1254", "çğıöşü"),
    ("cp1257", "ąčęėįšųūž"),
    ("cp1257", "āčēģīķļņšūž"),
    ("cp1250", "áéíóöőúüű"),
    ("cp1250", "ăâîşţ"),
    ("cp1250", "ąćęłńóśźż"),
    ("cp1250", "áčďéěíňóřšťúůýž"),
    ("iso8859_2", "ąćęłńóśźż"),
    ("iso8859_2", "áčďéěíňóřšťúůýž"),
    ("cp1252", _WESTERN),
    ("mac_roman", _USUAL),
    ("cp850", _USUAL),
)
_CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюяёђѓєѕіїјљњћќўџґ"
_ALPHABETS = {"cp1251": _CYRILLIC, "mac_cyrillic": _CYRILLIC, "cp1253": "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ"}
_TONE = re.compile("(.)([\u0300\u0301\u0303\u0309\u0323])")  # of Vietnamese: a letter of its own in cp1258
_TONED = set("aăâeêioôơuưy")
_ALL_LATIN = 0.95  # of the letters beyond ASCII: a name or a word from elsewhere is in many texts
_DISTINCT = 3  # letters of an alphabet that shares most of its bytes with others
_MOST_LETTERS = 2000  # that are looked at
_SIGNS = set("…‘’“”–—€«»‹›„‚°§£©®™•·´¿¡ºª½²³µ×±\xa0")
_HIGH = re.compile(r"[^\x00-\x7f]")
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
_SHIFTS = b"\x0e\x0f"
_END_OF_FILE = b"\x1a"  # of DOS
LEAST_RUN = 8  # NUL bytes
TEXT_PER_RUN = 4096  # bytes for each run but the first
_SEVEN_BITS = {  # what begins letters of two bytes in sets that look like ASCII
    "iso2022_jp_2": re.compile(rb"\x1b\$[@B]"),
    "iso2022_kr": re.compile(rb"\x1b\$\)C"),
    "hz": re.compile(rb"~\{(?:[!-}][!-~])+~\}"),
}
_DECLARED = re.compile(  # of XML, style sheets, source code, editors, message catalogues and LaTeX, at the beginning
    rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)|^@charset\s+["']([\w.:-]+)|coding[:=]\s*([\w.:-]+)"""
    rb"""|^"Content-Type:[^"]*charset=([\w.:-]+)|^\s*\\(?:usepackage|RequirePackage)\[(\w+)\]\{inputenc\}""",
    re.MULTILINE,
)
_OF_TYPE = re.compile(rb"charset\s*=\s*[\"']?([\w.:-]{2,40})", re.I)
_DECLARED_WITHIN = 4096  # bytes
_NUL_RUN, _NULS = re.compile(rb"\0+"), re.compile("\0+")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # SQLite text ends at NUL; a lone surrogate has no UTF-8


def looks_binary(data: bytes) -> bool:
    """Whether `data`, a file or its beginning, has more than 2 % control characters, or NUL that is not in its place.

    That is in UTF-16, and in a log that was not written to its end before the power failed: in few long runs.
    """
    if data.startswith(tuple(mark for mark, _ in _MARKS)):
        return False
    sample = data[:SAMPLE_BYTES]
    if b"\0" in data:
        if _wide(sample):
            return False
        runs = _NUL_RUN.findall(data)
        if min(map(len, runs)) < LEAST_RUN or len(runs) * TEXT_PER_RUN > len(data) + TEXT_PER_RUN:
            return True
        sample = sample.replace(b"\0", b"")
        if not sample:
            return True
    sample = sample.rstrip(_END_OF_FILE)
    if _SEVEN_BITS["iso2022_kr"].search(sample):
        sample = sample.translate(None, _SHIFTS)
    return (len(sample) - len(sample.translate(None, _CONTROL))) * 50 > len(sample)


def _wide(sample: bytes) -> str:
    """The codec of UTF-16 without a mark: every other byte is often 0, the others never; "" for anything else."""
    for name, high, low in (("utf-16-le", sample[1::2], sample[::2]), ("utf-16-be", sample[::2], sample[1::2])):
        words = len(high.translate(None, bytes(range(32)))) if sample.isascii() else 0  # ASCII with a NUL now and then
        if words * 10 > len(high):
            continue
        if len(low) == len(high) and b"\0" not in low and high.count(0) * 20 > len(high):
            with suppress(UnicodeError):
                text = sample[: len(sample) // 2 * 2].decode(name)
                odd = sum(
                    unicodedata.category(letter) in ("Cc", "Cn", "Co") and letter not in "\t\n\r" for letter in text
                )
                return name if odd * 50 <= len(text) else ""
    return ""


def named_in(header: bytes) -> str:
    """The character set that the first Content-Type in it names; "" for none.

    >>> named_in(b'text/html; charset="utf-8"'), named_in(b"text/html")
    ('utf-8', '')
    """
    said = _OF_TYPE.search(header)
    return said[1].decode("ascii", "replace") if said else ""


def encoding_of(data: bytes, *, whole: bool) -> tuple[str, bool]:
    """The codec of `data`, and whether it is certain. `whole` is False where `data` is the beginning of a file."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name, True
    if b"\0" in data and (wide := _wide(data[:SAMPLE_BYTES])):
        return wide, False
    for name, begin in _SEVEN_BITS.items():
        if begin.search(data):
            with suppress(UnicodeError):
                codecs.getincrementaldecoder(name)().decode(data, final=False)
                return name, False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=whole)
        return "utf-8", True
    except UnicodeDecodeError:
        declared = _declared(data, whole=whole)
        return declared or _guess(data), bool(declared)


def _declared(data: bytes, *, whole: bool) -> str:
    """The codec that a text names at its beginning and that it can be read in; "" where there is none."""
    for found in _DECLARED.finditer(data[:_DECLARED_WITHIN]):
        codec = _codec(next(filter(None, found.groups())).decode("ascii", "replace"))
        if codec and not codec.startswith(("utf", *_NEVER_UTF8)):
            with suppress(UnicodeError):
                codecs.getincrementaldecoder(codec)().decode(data, final=whole)
                return codec
    return ""


def decode(data: bytes) -> tuple[str, JsonObject]:
    """The text of a whole file, and metadata about the decoding: `charset` if it was guessed, and `replaced`, the
    number of bytes or characters that became U+FFFD. Raises Unreadable for binary data.
    """
    if looks_binary(data):
        raise Unreadable("binary file")
    encoding, certain = encoding_of(data, whole=True)
    note: JsonObject = {} if certain else {"charset": encoding}
    mixed = None if certain or encoding.startswith(_WIDE) else _line_by_line(data)
    if mixed is not None:
        note["charset"] = "utf-8"
    text = (data.decode(encoding, "replace") if mixed is None else mixed).removeprefix("\ufeff")
    if encoding == "cp1258":
        text = unicodedata.normalize("NFC", text)
    if "\0" in text:
        if encoding.startswith("utf-16"):  # a byte order mark, but not its content
            raise Unreadable("binary file")
        text, certain = _NULS.sub("\ufffd", text), False
    if not certain and (replaced := text.count("\ufffd")):
        note["replaced"] = replaced
    return storable(newlines(text)), note


def as_utf8(data: bytes) -> bytes:
    """`data` in UTF-8 where it is in UTF-16 or UTF-32, as editors save formats that consist of ASCII; else as it is."""
    sample = data[:SAMPLE_BYTES]
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "")
    wide = encoding if encoding in _WIDE else _wide(sample) if b"\0" in sample else ""
    return data.decode(wide, "replace").removeprefix("\ufeff").encode("utf-8", "replace") if wide else data


def labelled(data: bytes, label: str) -> str:
    """The text of `data`, which says that it is in the character set `label`. Raises Unreadable for binary data.

    What is UTF-8 is read as that, whatever it says. A set is read as the larger one that its name is used for, and an
    unknown or a wrong one is guessed.
    """
    codec = _codec(label)
    if codec.startswith(_WIDE) and b"\0" not in data:
        codec = ""
    order = [codec, "utf-8"] if codec.startswith(_NEVER_UTF8) else ["utf-8", codec]
    for name in filter(None, order):
        with suppress(UnicodeError):
            return storable(newlines(data.decode(name)))
    return decode(data)[0]


def _codec(label: str) -> str:
    """The codec for the name of a character set; "" for an unknown one, and for ASCII, which is UTF-8."""
    try:
        name = codecs.lookup(label.strip().lower().removeprefix("x-")).name
        b"".decode(name)
    except (LookupError, UnicodeError, ValueError):  # ValueError: NUL in the name
        return ""
    return _LARGER.get(name, name)


def read_text(path: Path) -> tuple[str, JsonObject]:
    """As `decode`, of a file. Raises OSError, Unreadable."""
    return decode(read_regular(path))


def newlines(text: str) -> str:
    """`text` with CRLF and lone CR as "\\n": a line of the text is a line of the file."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def storable(text: str) -> str:
    """`text`, of the same length, with U+FFFD for the characters that UTF-8 or SQLite cannot store."""
    return text if text.isascii() and "\0" not in text else _UNSTORABLE.sub("\ufffd", text)


def storable_value(value: object, depth: int = MOST_NESTED) -> object:
    """`value` as JSON that can be stored: without NaN, infinity, bytes and lone surrogates.

    Raises RecursionError if it is nested more than `depth` deep.
    """
    if isinstance(value, str):
        return storable(value)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping | list | tuple) and depth == 0:
        raise RecursionError
    if isinstance(value, Mapping):
        return storable_object(value, depth)
    if isinstance(value, list | tuple):
        return [storable_value(inner, depth - 1) for inner in value]
    return storable(str(value))


def storable_object(record: Mapping[object, object], depth: int = MOST_NESTED) -> JsonObject:
    """`record` as a JSON object that can be stored. Raises RecursionError as `storable_value` does."""
    return {storable(str(key)): storable_value(value, depth - 1) for key, value in record.items()}


def _guess(data: bytes) -> str:
    sample = data[:SAMPLE_BYTES]
    if _mostly_utf8(sample):
        return "utf-8"
    if latin := _latin(sample):
        return latin
    from charset_normalizer import from_bytes  # 0.1 s to import, and few files need it

    best = from_bytes(sample, cp_isolation=_GUESSES).best()
    if best and best.encoding in _ALPHABETS:  # which have small letters at the same places
        sets = (best.encoding, *_ALPHABETS)
        return max(sets, key=lambda name: _share(sample.decode(name, "replace"), _ALPHABETS[name]))
    return best.encoding if best else "cp1252"


def _line_by_line(data: bytes) -> str | None:
    """The text of a file, as a log, to which programs have written in UTF-8 and in another character set; None for any
    other: half of its lines with letters beyond ASCII are UTF-8, or any where the others are of Western Europe.
    """
    lines = data.split(b"\n")
    texts = [line.decode("utf-8", "replace") for line in lines]
    beyond = [at for at, line in enumerate(lines) if not line.isascii()]
    broken = [at for at in beyond if "\ufffd" in texts[at]]
    others = [at for at in broken if texts[at].replace("\ufffd", "").isascii()]
    rest = b"\n".join(lines[at] for at in others)
    if len(broken) == len(beyond) or (2 * len(broken) > len(beyond) and _latin(rest) != "cp1252"):
        return None
    codec = _guess(rest)
    for at in others:
        texts[at] = lines[at].decode(codec, "replace")
    return "\n".join(texts)


def _mostly_utf8(sample: bytes) -> bool:
    """UTF-8 with a few broken bytes: nine of ten non-ASCII characters are well formed."""
    text = sample.decode("utf-8", "replace")
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    return text.count("\ufffd") * 10 < beyond


def _latin(sample: bytes) -> str:
    """The set in which a text of a Latin alphabet is; "" for any other text.

    Letters beyond ASCII occur in short runs there; in Cyrillic, Greek and CJK in long ones.
    """
    tones = _TONE.findall(sample.decode("cp1258", "replace"))
    if len({tone for _, tone in tones}) >= _DISTINCT and all(letter.lower() in _TONED for letter, _ in tones):
        return "cp1258"
    runs = _HIGH_RUN.findall(sample)
    if not runs or sum(map(len, runs)) > 1.8 * len(runs):
        return ""
    western = sample.decode("cp1252", "replace")
    shares = {}
    for name, alphabet in _LATIN:
        text = sample.decode(name, "replace")
        share = _share(text, alphabet)
        if alphabet in (_WESTERN, _USUAL):
            shares[name] = share
        elif share == 1 and text != western and len(set(_HIGH.findall(text.lower())) & set(alphabet)) >= _DISTINCT:
            return name
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] >= _ALL_LATIN else ""


def _share(text: str, alphabet: str) -> float:
    """The share of the characters beyond ASCII that are where they may be, in a text that has some."""
    places = list(islice((each.start() for each in _HIGH.finditer(text)), _MOST_LETTERS))
    return sum(_is_in_place(text, at, alphabet) for at in places) / len(places)


def _is_in_place(text: str, at: int, alphabet: str) -> bool:
    """Whether a character stands where it may: no capital letter after a small one, no sign between letters, and ς at
    the end of a word.
    """
    before, char, after = text[at - 1 : at] if at else "", text[at], text[at + 1 : at + 2]
    if char in alphabet:
        return char != "ς" or not after.isalpha()
    if char.lower() in alphabet:
        return not before.islower()
    return char in _SIGNS and (char in "’·´" or not (before.isalpha() and after.isalpha()))
