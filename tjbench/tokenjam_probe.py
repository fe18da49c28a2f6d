"""Asks the tokenjam installed beside this interpreter for its map and its rates; runs in tokenjam's own process.

Standard library only, for every Python that tokenjam supports. The request is one JSON object on stdin:
``{"specs": [[provider, model], …], "all": bool, "table": bool, "at": ISO 8601, "variant": name}``; the reply is one
JSON object on stdout. `tjbench.tokenjam` is its only caller.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from types import ModuleType
from typing import Any

LOOKUP_MODULE = "tokenjam.core.optimize.analyzers.model_downgrade"
MAP_MODULE = "tokenjam.core.optimize"
LOOKUP_NAMES = ("lookup_downgrade", "_lookup_downgrade")

Lookup = Callable[[str, str], "str | None"]
Price = Callable[[str, str], "dict[str, Any] | None"]


def main() -> None:
    """Answer the one request."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever tokenjam prints must not end up in the reply
    request = json.load(sys.stdin)
    with replies:
        json.dump(answer(request), replies)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The reply to a request; ``{"missing": true}`` where no tokenjam is installed."""
    try:
        version = importlib.metadata.version("tokenjam")
    except importlib.metadata.PackageNotFoundError:
        return {"missing": True}
    pricing = importlib.import_module("tokenjam.core.pricing")
    lookup_name, lookup, downgrades = find_lookup()
    specs = [tuple(spec) for spec in request["specs"]]
    if request["all"]:
        specs += [(provider, model) for provider, models in downgrades.items() for model in models]
    specs = list(dict.fromkeys(specs))
    candidates = [(provider, model, lookup(provider, model)) for provider, model in specs]
    priced = dict.fromkeys(specs + [(provider, found) for provider, _, found in candidates if found])
    if request.get("table"):
        priced |= dict.fromkeys(
            (p, m) for p, models in getattr(pricing, "load_pricing_table", dict)().items() for m in models
        )
    instant = datetime.fromisoformat(request["at"])
    price = rate_reader(pricing, instant, request.get("variant"))
    return {
        "version": version,
        "lookup": lookup_name,
        "candidates": candidates,
        "rates": [[provider, model, price(provider, model)] for provider, model in priced],
        "batch": batch_rates(pricing, instant, priced),
        "dated": dated_rates(pricing, priced),
        "placeholder": placeholder(pricing),
        "overrides": overrides_in_force(pricing),
        "mapped": [(provider, model) for provider, models in downgrades.items() for model in models],
    }


def find_lookup() -> tuple[str, Lookup, dict[str, dict[str, str]]]:
    """The look-up that this tokenjam's own analyzer uses, its name, and the map it reads."""
    map_module = import_if_there(MAP_MODULE)
    if map_module is None:
        return "none", lambda _provider, _model: None, {}
    downgrades = getattr(map_module, "DOWNGRADE_CANDIDATES", {})
    for module in (import_if_there(LOOKUP_MODULE), map_module):
        for name in LOOKUP_NAMES:
            lookup = getattr(module, name, None)
            if lookup is not None:
                return name, lookup, downgrades
    if not downgrades:
        return "none", lambda _provider, _model: None, {}
    return "map", lambda provider, model: downgrades.get(provider, {}).get(model), downgrades


def import_if_there(name: str) -> ModuleType | None:
    """The module, or ``None`` in a tokenjam without it. A dependency that is missing is an error."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            return None
        raise


def rate_reader(
    pricing: ModuleType, at: datetime, variant: str | None = None
) -> Callable[[str, str], dict[str, Any] | None]:
    """``get_rates`` at the instant ``at``. Before 0.6.2 rates have no dates and unset cache rates read as 0.0."""
    dated: dict[str, Any] = {"at": at} if "at" in inspect.signature(pricing.get_rates).parameters else {}
    if variant is not None and "variant" in inspect.signature(pricing.get_rates).parameters:
        dated["variant"] = variant

    def price(provider: str, model: str) -> dict[str, Any] | None:
        rates = pricing.get_rates(provider, model, **dated)
        if rates is None:
            return None
        read, write = rates.cache_read_per_mtok, rates.cache_write_per_mtok
        return {
            "input": rates.input_per_mtok,
            "output": rates.output_per_mtok,
            "cache_read": read,
            "cache_write": write,
            "cache_read_specified": getattr(rates, "cache_read_specified", read > 0),
            "cache_write_specified": getattr(rates, "cache_write_specified", write > 0),
        }

    return price


def batch_rates(pricing: ModuleType, at: datetime, priced: Iterable[tuple[str, str]]) -> list[list[Any]]:
    """What the batch API bills, by model; nothing before 0.6.2. Whether a cache rate is specified only the standard
    rate tells."""
    if "variant" not in inspect.signature(pricing.get_rates).parameters:
        return []
    standard, batch = rate_reader(pricing, at), rate_reader(pricing, at, variant="batch")
    marks = ("cache_read_specified", "cache_write_specified")
    found = []
    for provider, model in priced:
        rates, known = batch(provider, model), standard(provider, model)
        if rates is not None and known is not None:
            found.append([provider, model, {**rates, **{mark: known[mark] for mark in marks}}])
    return found


def dated_rates(pricing: ModuleType, priced: Iterable[tuple[str, str]]) -> list[list[Any]]:
    """``[provider, model, [[from, rates], …]]`` of models whose price has a date, oldest first.

    ``from`` is ISO 8601, and ``None`` for what always held before the first date.
    """
    edges = price_dates(pricing)
    if not edges:
        return []
    readers: list[tuple[str | None, Price]] = [(None, rate_reader(pricing, edges[0] - timedelta(days=1)))]
    readers += [(edge.isoformat(), rate_reader(pricing, edge)) for edge in edges]
    found = []
    for provider, model in priced:
        steps: list[list[Any]] = []
        for since, price in readers:
            rates = price(provider, model)
            if rates is not None and (not steps or rates != steps[-1][1]):
                steps.append([since, rates])
        if len(steps) > 1:
            found.append([provider, model, steps])
    return found


def price_dates(pricing: ModuleType) -> list[datetime]:
    """Every instant at which a price of this tokenjam's tables begins."""
    tables = list(getattr(pricing, "load_pricing_rows", dict)().values())
    tables.append(getattr(pricing, "load_model_pricing_row_overrides", dict)())
    starts = {row.valid_from for models in tables for rows in models.values() for row in rows}
    return sorted(start for start in starts if start is not None)


def placeholder(pricing: ModuleType) -> dict[str, Any]:
    """What tokenjam bills for a model that it does not know; cache tokens are free before 0.6.2."""
    return {
        "input": pricing.DEFAULT_INPUT_PER_MTOK,
        "output": pricing.DEFAULT_OUTPUT_PER_MTOK,
        "cache_read": getattr(pricing, "DEFAULT_CACHE_READ_PER_MTOK", 0.0),
        "cache_write": getattr(pricing, "DEFAULT_CACHE_WRITE_PER_MTOK", 0.0),
        "cache_read_specified": False,
        "cache_write_specified": False,
    }


def overrides_in_force(pricing: ModuleType) -> list[str]:
    """The price files that this tokenjam merges over its table, as it finds them itself."""
    found = []
    user_file = getattr(pricing, "_user_pricing_file", lambda: None)()
    if user_file is not None:
        found.append(f"TJ_PRICING_FILE={user_file}" if os.environ.get("TJ_PRICING_FILE") else str(user_file))
    if getattr(pricing, "_config_pricing_section", lambda: None)():
        config = importlib.import_module("tokenjam.core.config")
        resolve = getattr(config, "resolve_config_path", None) or config.find_config_file
        path = resolve()
        found.append(f"{path if path.is_absolute() else './' + str(path)} [pricing]")
    return found


if __name__ == "__main__":
    main()
