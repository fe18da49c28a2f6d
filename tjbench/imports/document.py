"""Foreign files at the border: read, and held to a shape, with the place of whatever is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from tjbench.errors import UsageError

MAX_BYTES = 1 << 30
_HALVES = re.compile(rb"\\u[dD][89a-fA-F]")


MOST = 1 << 40
"""More tokens, dollars or milliseconds of one sample than this are no measurement."""
Count = Annotated[int, Field(ge=0, le=MOST)]
Amount = Annotated[float, Field(ge=0, le=MOST)]


class Foreign(BaseModel):
    """What is read of a foreign record; all else in it is left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class ForeignCamel(Foreign):
    """The same with the record's names in camelCase."""

    model_config = ConfigDict(alias_generator=to_camel)


Shape = TypeVar("Shape", bound=Foreign)


def content_of(path: Path) -> bytes:
    """The bytes of a file that the user named. Raises ``UsageError``."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"{path} is too large to import", why=f"it has more than {MAX_BYTES >> 30} GiB")
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}", why=error.strerror or str(error)) from error


def parsed_json(content: bytes | str, where: str) -> Any:
    """A JSON document, with half a character (a lone surrogate) replaced: it can be neither shown nor written.

    Raises ``UsageError`` with line and column.
    """
    try:
        document = json.loads(content)
        if _HALVES.search(content if isinstance(content, bytes) else content.encode()):
            text = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
            document = json.loads(text)
        return document
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{where} is not JSON", why=f"line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where} is not JSON", why=str(error)[:200]) from None


def shaped(shape: type[Shape], value: object, where: str, tool: str) -> Shape:
    """``value`` as what ``tool`` writes. Raises ``UsageError`` naming the field that is missing or of another kind."""
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
        raise UsageError(
            f"{where} is not what {tool} writes",
            why=f"{field}: {first['msg']}" if field else str(first["msg"]),
            fix=f"name a result file of {tool}, or another tool with --from",
        ) from None
