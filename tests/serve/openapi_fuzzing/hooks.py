"""The media type that schemathesis does not know."""

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(_: schemathesis.SerializationContext, value: object) -> bytes:
    """A body of JSON lines is generated as text."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
