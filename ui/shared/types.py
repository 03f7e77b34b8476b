"""Names for types that many pages use."""

from __future__ import annotations

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]  # facts of an index or an encoder, a run, a row of a table
