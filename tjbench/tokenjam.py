"""The only place that knows tokenjam: its version, what it recommends, and what it says a model costs.

tokenjam is foreign code. It is never imported here: a probe runs in the interpreter that has it, without keys.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from packaging.version import InvalidVersion, Version
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tjbench.config import ModelSpec
from tjbench.errors import IncompleteError, UsageError
from tjbench.foreign import owner_of
from tjbench.misconfig import suggestion
from tjbench.pricing import Rates

PROBE = Path(__file__).with_name("tokenjam_probe.py")
PROBE_SECONDS = 120
OVERRIDE_BYTES = 1 << 20
# What a probe may know of our environment: how to load its own libraries, and nothing that opens a door.
PASSED_ON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
OVERRIDE_SETTINGS = ("TJ_PRICING_FILE", "TJ_CONFIG")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What one tokenjam says at the instant ``at``.

    ``lookup`` is the function that recommended: ``lookup_downgrade``, ``_lookup_downgrade``, ``map`` or ``none``.
    ``candidates`` has every model asked about (``None``: no recommendation), ``rates`` those and their candidates.
    ``mapped`` are the models that its map names. ``batch`` has what its batch variant bills, where it knows one, and
    ``dated`` every price with its first instant (``None``: always) of a model whose price changes by date.
    ``overrides`` are price files in force, ``ignored_overrides`` those that were found and not applied.
    ``placeholder`` is what it bills for a model that it does not know.
    """

    version: str
    lookup: str
    at: datetime
    overrides: tuple[str, ...]
    ignored_overrides: tuple[str, ...]
    candidates: Mapping[ModelSpec, ModelSpec | None]
    rates: Mapping[ModelSpec, Rates]
    mapped: tuple[ModelSpec, ...] = ()
    batch: Mapping[ModelSpec, Rates] = field(default_factory=dict)
    dated: Mapping[ModelSpec, tuple[tuple[datetime | None, Rates], ...]] = field(default_factory=dict)
    placeholder: Rates

    def why_none(self, spec: ModelSpec) -> str:
        """Why there is no candidate for ``spec``: no cheaper one is known, or the model itself is not."""
        rates = self.rates.get(spec)
        if spec in self.mapped or (rates is not None and rates.source != "default"):
            spelled = ModelSpec(spec.provider, spec.model.replace(".", "-"))
            hint = f"; it does for {spelled}, as it spells it" if spelled != spec and spelled in self.mapped else ""
            return f"tokenjam {self.version} recommends no cheaper model for {spec}{hint}"
        hint = suggestion(str(spec), [str(known) for known in self.mapped])
        return f"TokenJam {self.version} does not know {spec}{hint}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenJam:
    """The tokenjam that ``python`` has; ``cwd`` and ``environ`` are the user's, where price overrides are found."""

    python: Path
    environ: Mapping[str, str]
    cwd: Path

    def snapshot(
        self,
        specs: Iterable[ModelSpec],
        *,
        trust_overrides: bool,
        at: datetime | None = None,
        variant: str | None = None,
    ) -> Snapshot:
        """Candidates of ``specs``, and rates of ``specs`` and of their candidates, at ``at`` (default: now).

        ``variant`` is another way to buy the same model (``batch``, ``fast``, ``cache-1h``), priced as TokenJam does.

        Without ``trust_overrides`` no price file of the user, the workflow or the workspace applies; they are listed.
        Raises ``UsageError`` when tokenjam is not installed, ``IncompleteError`` when it fails.
        """
        wanted = list(dict.fromkeys(specs))
        return self._read(wanted, everything=False, trust_overrides=trust_overrides, at=at, variant=variant)

    def all_recommendations(self, *, trust_overrides: bool, at: datetime | None = None) -> Snapshot:
        """Every pair of tokenjam's own map, with rates."""
        return self._read([], everything=True, trust_overrides=trust_overrides, at=at)

    def everything(self, specs: Iterable[ModelSpec], *, at: datetime) -> Snapshot:
        """Its map, ``specs``, and every price of its own table, without any override."""
        return self._read(list(dict.fromkeys(specs)), everything=True, table=True, trust_overrides=False, at=at)

    def _read(
        self,
        specs: list[ModelSpec],
        *,
        everything: bool,
        trust_overrides: bool,
        at: datetime | None,
        table: bool = False,
        variant: str | None = None,
    ) -> Snapshot:
        instant = at or datetime.now(UTC)
        request = {
            "specs": [(spec.provider, spec.model) for spec in specs],
            "all": everything,
            "table": table,
            "variant": variant,
            "at": instant.isoformat(),
        }
        with tempfile.TemporaryDirectory(prefix="tjbench-tokenjam-") as scratch:
            owner = owner_of(self.python)
            owner.hand_over(Path(scratch))
            clean = {"HOME": scratch, **_picked(self.environ, PASSED_ON)}
            if not trust_overrides:
                return _snapshot(
                    self._probe(request, env=clean, cwd=Path(scratch)),
                    at=instant,
                    ignored=_declared_overrides(self.environ, self.cwd),
                )
            # A private home cannot be read by another user, and the one in the container holds nothing of the user's.
            home = _home(self.environ) if owner.uid is None else Path(scratch)
            theirs = {"HOME": str(home), **_picked(self.environ, (*PASSED_ON, *OVERRIDE_SETTINGS))}
            reply = self._probe(request, env=theirs, cwd=self.cwd)
            packaged = self._probe(request, env=clean, cwd=Path(scratch)) if reply.overrides else None
        return _snapshot(reply, at=instant, packaged=packaged)

    def _probe(self, request: Mapping[str, object], *, env: Mapping[str, str], cwd: Path) -> _Reply:
        command = [str(self.python), "-I", "-X", "utf8", str(PROBE)]
        owner = owner_of(self.python)
        try:
            done = subprocess.run(
                command,
                input=json.dumps(request).encode(),
                capture_output=True,
                env=dict(env),
                cwd=cwd,
                timeout=PROBE_SECONDS,
                check=False,
                user=owner.uid,
                group=owner.gid,
                extra_groups=owner.extra_groups,
            )
        except subprocess.TimeoutExpired as error:
            raise IncompleteError(f"TokenJam did not answer within {PROBE_SECONDS} s", why=str(self.python)) from error
        except OSError as error:
            raise UsageError(
                f"cannot run {self.python}",
                why=str(error),
                fix="let TJBENCH_TOKENJAM_PYTHON name the Python that has tokenjam, or unset it",
            ) from error
        if done.returncode != 0:
            raise IncompleteError("TokenJam failed", why=_last_line(done.stderr), fix=_reinstall(self.python))
        try:
            outcome = _Outcome.model_validate_json(done.stdout)
            if outcome.missing:
                raise UsageError(f"tokenjam is not installed for {self.python}", fix=_reinstall(self.python))
            return _Reply.model_validate_json(done.stdout)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise IncompleteError(
                "TokenJam answered with something that is not a price list", why=f"{where}: {first['msg']}"
            ) from error


def open_tokenjam(python: Path | None = None, *, environ: Mapping[str, str], cwd: Path) -> TokenJam:
    """The tokenjam of ``python``, else of ``TJBENCH_TOKENJAM_PYTHON``, else of the running interpreter."""
    chosen = python or Path(environ.get("TJBENCH_TOKENJAM_PYTHON") or sys.executable)
    return TokenJam(python=chosen, environ=environ, cwd=cwd)


def claimed_saving_pct(original: Rates, candidate: Rates) -> float | None:
    """What the rates alone imply is saved, in percent of the original, at 3 input tokens to 1 output token.

    ``None`` where the original is free.
    """
    before = 3 * original.input + original.output
    if before == 0:
        return None
    return 100 * (before - 3 * candidate.input - candidate.output) / before


def overrides_in(directory: Path) -> list[str]:
    """Price overrides that tokenjam would find from ``directory`` as its working directory; the first one counts."""
    places = (Path("tokenjam.toml"), Path(".tj") / "config.toml")
    return [f"./{place} [pricing]" for place in places if _sets_prices(directory / place)]


def _declared_overrides(environ: Mapping[str, str], cwd: Path) -> tuple[str, ...]:
    """Every price override around, in force or not."""
    settings = _home(environ) / ".config" / "tj"
    found = [f"{name}={environ[name]}" for name in OVERRIDE_SETTINGS if environ.get(name)]
    found += overrides_in(cwd)
    if (settings / "pricing.toml").is_file():
        found.append(str(settings / "pricing.toml"))
    if _sets_prices(settings / "config.toml"):
        found.append(f"{settings / 'config.toml'} [pricing]")
    return tuple(found)


def _sets_prices(path: Path) -> bool:
    """Whether the file has a ``[pricing]`` table. One that cannot be read is named rather than passed over."""
    try:
        if not path.is_file():
            return False
        if path.stat().st_size > OVERRIDE_BYTES:
            return True
        return bool(tomllib.loads(path.read_text(encoding="utf-8")).get("pricing"))
    except (OSError, ValueError):
        return True


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ["HOME"]) if environ.get("HOME") else Path.home()


def _picked(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: environ[name] for name in names if environ.get(name)}


def _last_line(stderr: bytes) -> str:
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    return "".join(char for char in lines[-1] if char.isprintable())[:300] if lines else "it said nothing"


def _reinstall(python: Path) -> str:
    return f"{python} -m pip install tokenjam, or let TJBENCH_TOKENJAM_PYTHON name the Python that has it"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class _Outcome(_Strict):
    missing: bool = False


class _Price(_Strict):
    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cache_read: float = Field(ge=0)
    cache_write: float = Field(ge=0)
    cache_read_specified: bool
    cache_write_specified: bool


class _Reply(_Strict):
    version: str
    lookup: Literal["lookup_downgrade", "_lookup_downgrade", "map", "none"]
    candidates: list[tuple[str, str, str | None]]
    rates: list[tuple[str, str, _Price | None]]
    placeholder: _Price
    overrides: list[str]
    mapped: list[tuple[str, str]] = []
    batch: list[tuple[str, str, _Price]] = []
    dated: list[tuple[str, str, list[tuple[datetime | None, _Price]]]] = []


def _snapshot(
    reply: _Reply, *, at: datetime, packaged: _Reply | None = None, ignored: tuple[str, ...] = ()
) -> Snapshot:
    """``packaged`` is what the same tokenjam says without overrides: a price that differs from it is an override."""
    table = {(provider, model): price for provider, model, price in (packaged or reply).rates}
    rates = {}
    for provider, model, price in reply.rates:
        known = price or reply.placeholder
        source = "default" if price is None else "packaged" if price == table.get((provider, model)) else "override"
        rates[ModelSpec(provider, model)] = _rates(known, source, at)
    return Snapshot(
        version=_checked_version(reply.version),
        lookup=reply.lookup,
        at=at,
        overrides=tuple(reply.overrides),
        ignored_overrides=ignored,
        candidates={
            ModelSpec(provider, model): ModelSpec(provider, found) if found else None
            for provider, model, found in reply.candidates
        },
        rates=rates,
        mapped=tuple(ModelSpec(provider, model) for provider, model in reply.mapped),
        batch={
            ModelSpec(provider, model): _rates(price, rates[ModelSpec(provider, model)].source, at)
            for provider, model, price in reply.batch
        },
        dated={
            ModelSpec(provider, model): tuple(
                (since, _rates(price, rates[ModelSpec(provider, model)].source, since or at)) for since, price in steps
            )
            for provider, model, steps in reply.dated
        },
        placeholder=_rates(reply.placeholder, "default", at),
    )


def _rates(price: _Price, source: str, at: datetime) -> Rates:
    return Rates(**price.model_dump(), source=source, at=at)


def _checked_version(text: str) -> str:
    """The version becomes part of file names, so it must be one."""
    try:
        return str(Version(text))
    except InvalidVersion as error:
        raise IncompleteError(f"TokenJam says its version is {text[:60]!r}", why="that is not a version") from error
