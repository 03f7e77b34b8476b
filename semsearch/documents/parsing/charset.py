"""Detection of character sets: byte order marks, then UTF-8, then the best guess. Newlines become "\\n".

UTF-16 without a byte order mark is recognised where it has Latin letters, digits or spaces. Not covered: UTF-32.
"""

from __future__ import annotations

import codecs
import math
import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
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
_GUESSES = ["cp1250", "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256"]
_GUESSES += ["cp932", "euc_jp", "gb18030", "big5", "cp949"]
_LARGER = {"ascii": "", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030", "gbk": "gb18030"}
_LARGER |= {"shift_jis": "cp932", "euc_kr": "cp949", "tis-620": "cp874", "iso8859-11": "cp874"}
_WIDE = ("utf-16", "utf-32")
_NEVER_UTF8 = ("iso2022", "utf-7", "hz", *_WIDE)  # of 7 bits, or with NUL
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b\b")) + b"\x7f"
_WESTERN = set("ÀÁÂÃÄÅÆÇÈÉÊËÍÎÏÑÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëíîïñòóôõöøùúûüŒœŸ…‘’“”–—€«»°§£©®™•·´¿¡ºª½²³µ×\xa0")
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
_END_OF_FILE = b"\x1a"  # of DOS
LEAST_RUN = 8  # NUL bytes
TEXT_PER_RUN = 4096  # bytes for each run but the first
_ISO_2022_JP = re.compile(rb"\x1b\$[@B]")  # to two bytes a letter
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


def encoding_of(data: bytes, *, whole: bool) -> tuple[str, bool]:
    """The codec of `data`, and whether it is certain. `whole` is False where `data` is the beginning of a file."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name, True
    if b"\0" in data and (wide := _wide(data[:SAMPLE_BYTES])):
        return wide, False
    if _ISO_2022_JP.search(data):
        with suppress(UnicodeError):
            codecs.getincrementaldecoder("iso2022_jp_2")().decode(data, final=False)
            return "iso2022_jp_2", False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=whole)
        return "utf-8", True
    except UnicodeDecodeError:
        return _guess(data), False


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
    if _is_western(sample):
        return "cp1252"
    from charset_normalizer import from_bytes  # 0.1 s to import, and few files need it

    best = from_bytes(sample, cp_isolation=_GUESSES).best()
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
    if len(broken) == len(beyond) or (2 * len(broken) > len(beyond) and not _is_western(rest)):
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


def _is_western(sample: bytes) -> bool:
    """Letters of Western European languages occur in short runs between ASCII; Cyrillic, Greek and CJK in long ones."""
    runs = _HIGH_RUN.findall(sample)
    high = sample.translate(None, bytes(range(128))).decode("cp1252", "replace")
    usual = sum(letter in _WESTERN for letter in high)
    return bool(runs) and usual >= 0.95 * len(high) and len(high) <= 1.5 * len(runs)
