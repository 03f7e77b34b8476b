"""Bytes to text: byte order marks, then UTF-8, then the best guess; newlines become "\\n".

Not covered: UTF-16 and UTF-32 without a byte order mark, which count as binary for their NUL bytes.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Mapping
from typing import Any

from semsearch.errors import Unreadable

SAMPLE_BYTES = 65536  # enough to tell an encoding; a guess over 10 MB would take a second
_MARKS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What is seen in the wild. Left to choose among 90, charset-normalizer calls KOI8-R Japanese and café UTF-16.
_GUESSES = ["cp1250", "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256"]
_GUESSES += ["cp932", "euc_jp", "gb18030", "big5", "cp949"]
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b\b")) + b"\x7f"
_WESTERN = set("ÀÁÂÃÄÅÆÇÈÉÊËÍÎÏÑÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëíîïñòóôõöøùúûüŒœŸ…‘’“”–—€«»°§£©®™•·´¿¡ºª½²³µ×\xa0")
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # SQLite text ends at NUL; a lone surrogate has no UTF-8


def looks_binary(data: bytes) -> bool:
    """Whether `data`, a file or its beginning, holds NUL or more than 2 % other control characters."""
    if data.startswith(tuple(mark for mark, _ in _MARKS)):
        return False
    if b"\0" in data:
        return True
    sample = data[:SAMPLE_BYTES]
    return (len(sample) - len(sample.translate(None, _CONTROL))) * 50 > len(sample)


def encoding_of(data: bytes, *, whole: bool) -> tuple[str, bool]:
    """The codec of `data` and whether it is certain. `whole` False: `data` is cut off after some bytes."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name, True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=whole)
        return "utf-8", True
    except UnicodeDecodeError:
        return _guess(data), False


def decode(data: bytes) -> tuple[str, dict[str, Any]]:
    """The text of a whole file and what is to be noted about it: `charset` when it was guessed, and
    `replaced`, how many bytes or characters became U+FFFD. Raises Unreadable for binary data.
    """
    if looks_binary(data):
        raise Unreadable("binary file")
    encoding, certain = encoding_of(data, whole=True)
    note: dict[str, Any] = {} if certain else {"charset": encoding}
    text = data.decode(encoding, "replace").removeprefix("\ufeff")
    if "\0" in text:  # UTF-16 by its mark, but not by its content
        raise Unreadable("binary file")
    if not certain and (replaced := text.count("\ufffd")):
        note["replaced"] = replaced
    return storable(newlines(text)), note


def newlines(text: str) -> str:
    """CRLF and lone CR as "\\n": one line of the text stays one line of the file."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def storable(text: str) -> str:
    """`text`, of the same length, without the characters that UTF-8 or SQLite cannot hold."""
    return _UNSTORABLE.sub("\ufffd", text)


def storable_value(value: Any) -> Any:
    """`value` as JSON that can be stored: no NaN, no infinity, no bytes, no lone surrogates."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {storable(str(key)): storable_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [storable_value(inner) for inner in value]
    return value if value is None or isinstance(value, bool | int) else storable(str(value))


def _guess(data: bytes) -> str:
    sample = data[:SAMPLE_BYTES]
    if _mostly_utf8(sample):
        return "utf-8"
    if _is_western(sample):
        return "cp1252"
    from charset_normalizer import from_bytes  # 0.1 s to import, and few files come here

    best = from_bytes(sample, cp_isolation=_GUESSES).best()
    return best.encoding if best else "cp1252"


def _mostly_utf8(sample: bytes) -> bool:
    """UTF-8 with a few broken bytes: nine of ten characters beyond ASCII are well formed."""
    text = sample.decode("utf-8", "replace")
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    return text.count("\ufffd") * 10 < beyond


def _is_western(sample: bytes) -> bool:
    """Letters of Western Europe in short runs between ASCII; Cyrillic, Greek or CJK would be in long ones."""
    runs = _HIGH_RUN.findall(sample)
    high = sample.translate(None, bytes(range(128))).decode("cp1252", "replace")
    usual = sum(letter in _WESTERN for letter in high)
    return bool(runs) and usual >= 0.95 * len(high) and len(high) <= 1.5 * len(runs)
