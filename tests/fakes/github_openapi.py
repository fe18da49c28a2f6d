"""GitHub's OpenAPI description as a judge of requests and responses."""

from __future__ import annotations

import functools
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema

FILE = "github-openapi-subset.json"
# What GitHub may answer to any request, listed for an operation or not:
# https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api
_ANYWHERE = frozenset({401, 403, 404, 429, 500, 502, 503})


def description_path() -> Path:
    """Where the description lies on this machine; it may be absent."""
    shared = os.environ.get("TJBENCH_SHARED_DATA")
    return (Path(shared) if shared else Path(__file__).parents[3] / "shared" / "data") / FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, matched to its operation; ``parameters`` are the path's, decoded."""

    method: str
    template: str
    operation: dict[str, Any]
    parameters: dict[str, str]


@functools.cache
def description(file: Path) -> Description:
    """The description in ``file``, read once."""
    return Description(file)


class Description:
    """The operations of one OpenAPI 3.0 file. ``check_*`` return what is wrong, an empty list if nothing."""

    def __init__(self, file: Path) -> None:
        self._root = _as_json_schema(json.loads(file.read_text(encoding="utf-8")))
        self._routes = sorted(
            ((self._pattern(path, item), path) for path, item in self._root["paths"].items()),
            key=lambda route: route[1].count("{"),
        )

    def match(self, method: str, path: str) -> Call | None:
        """The operation for a raw (percent-encoded) path; None when the description has none."""
        for pattern, template in self._routes:
            operation = self._root["paths"][template].get(method.lower())
            if operation and (found := pattern.fullmatch(path)):
                values = {name: unquote(value) for name, value in found.groupdict().items()}
                return Call(method=method, template=template, operation=operation, parameters=values)
        return None

    def check_request(self, call: Call, query: dict[str, list[str]], body: bytes) -> list[str]:
        problems = self._check_parameters(call, query)
        wanted = call.operation.get("requestBody")
        if wanted is None:
            return problems + (["a body where none is described"] if body else [])
        schema = wanted["content"]["application/json"]["schema"]
        try:
            sent = json.loads(body)
        except ValueError:
            return [*problems, "the body is no JSON"]
        problems += self._errors(sent, schema)
        if isinstance(sent, dict):
            problems += [f"unknown body field {field!r}" for field in sent if field not in schema.get("properties", {})]
        return problems

    def check_response(self, call: Call, status: int, body: bytes) -> list[str]:
        described = call.operation["responses"].get(str(status))
        if described is None and status not in _ANYWHERE:
            return [f"status {status} is not described"]
        content = self._resolve(described)["content"] if described and "content" in self._resolve(described) else None
        if described and content is None:
            return ["a body where none is described"] if body else []
        schema = content["application/json"]["schema"] if content else {"$ref": "#/components/schemas/basic-error"}
        try:
            return self._errors(json.loads(body), schema)
        except ValueError:
            return ["the body is no JSON"]

    def example(self, schema: str) -> Any:
        """The smallest value that fits a named schema; callers fill in what matters to them."""
        return self._example({"$ref": f"#/components/schemas/{schema}"})

    def _example(self, node: dict[str, Any]) -> Any:
        schema = self._resolve(node)
        for either in ("anyOf", "oneOf"):
            if either in schema:
                nullable = {"type": "null"} in schema[either]
                return None if nullable else self._example(schema[either][0])
        if "allOf" in schema:
            return {key: value for part in schema["allOf"] for key, value in self._example(part).items()}
        if "enum" in schema:
            return schema["enum"][0]
        match schema.get("type"):
            case "object":
                return {name: self._example(schema["properties"][name]) for name in schema.get("required", [])}
            case "string":
                return {"uri": "https://example.invalid", "date-time": "2026-01-01T00:00:00Z"}.get(
                    schema.get("format", ""), "x"
                )
        return {"array": [], "integer": 1, "number": 1, "boolean": False}.get(schema.get("type", ""))

    def _check_parameters(self, call: Call, query: dict[str, list[str]]) -> list[str]:
        declared = [self._resolve(parameter) for parameter in call.operation.get("parameters", [])]
        problems = []
        for parameter in declared:
            if parameter["in"] == "path":
                values = [call.parameters[parameter["name"]]]
            elif parameter["in"] == "query":
                values = query.get(parameter["name"], [])
            else:
                continue
            if parameter.get("required") and not values:
                problems.append(f"{parameter['name']} is missing")
            for value in values:
                problems += self._errors(_coerced(value, parameter["schema"].get("type")), parameter["schema"])
        known = {parameter["name"] for parameter in declared if parameter["in"] == "query"}
        return problems + [f"unknown query parameter {name!r}" for name in query if name not in known]

    def _errors(self, value: object, schema: dict[str, Any]) -> list[str]:
        validator = jsonschema.Draft4Validator({**schema, "components": self._root["components"]})
        return [f"{error.json_path}: {error.message[:300]}" for error in validator.iter_errors(value)]

    def _resolve(self, node: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in node:
            found: Any = self._root
            for key in node["$ref"].removeprefix("#/").split("/"):
                found = found[key]
            node = found
        return node

    def _pattern(self, path: str, item: dict[str, Any]) -> re.Pattern[str]:
        parameters = [
            self._resolve(parameter)
            for operation in item.values()
            if isinstance(operation, dict)
            for parameter in operation.get("parameters", [])
        ]
        wide = {parameter["name"] for parameter in parameters if parameter.get("x-multi-segment")}
        pattern = re.escape(path)
        for name in re.findall(r"{(\w+)}", path):
            pattern = pattern.replace(rf"\{{{name}\}}", f"(?P<{name}>{'.+' if name in wide else '[^/]+'})")
        return re.compile(pattern)


def _as_json_schema(node: Any) -> Any:
    """OpenAPI 3.0's ``nullable`` as JSON Schema says it."""
    if isinstance(node, list):
        return [_as_json_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    converted = {key: _as_json_schema(value) for key, value in node.items()}
    if converted.pop("nullable", None) is True:
        return {"anyOf": [converted, {"type": "null"}]}
    return converted


def _coerced(value: str, kind: str | None) -> object:
    if kind == "integer" and value.isdigit():
        return int(value)
    if kind == "boolean" and value in ("true", "false"):
        return value == "true"
    return value
