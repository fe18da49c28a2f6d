"""What the gate says: the one record that drives exit code, outputs, comment and text."""

from __future__ import annotations

from datetime import date
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from tjbench.compare.artifact import EarlyStopRecord, Flag
from tjbench.compare.changes import Changes
from tjbench.compare.stats import Verdict
from tjbench.errors import ExitCode


class Status(StrEnum):
    """The decision as one word, highest precedence first."""

    REGRESSION = "regression"
    INCOMPLETE = "incomplete"
    INCONCLUSIVE = "inconclusive"
    NO_BASELINE = "no_baseline"
    PASS = "pass"
    SKIPPED = "skipped"


class RowStatus(StrEnum):
    """A row held against its baseline."""

    REGRESSION = "regression"
    NO_REGRESSION = "no_regression"
    INSUFFICIENT_EVIDENCE = "insufficient_evidence"
    NOT_COMPARABLE = "not_comparable"
    NOT_RE_MEASURED = "not_re_measured"
    NO_BASELINE = "no_baseline"
    INCOMPLETE = "incomplete"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class AttributionP(_Record):
    """One-sided p that the candidate fell, that the original did, and that the candidate fell further."""

    candidate: float
    original: float
    difference: float


class VsBaseline(_Record):
    """The head's candidate against the baseline's, paired by task: ``b`` broke, ``c`` recovered of ``n``; ``p_value``
    is one-sided. ``reason`` and ``attribution`` (which of the two models moved) are sentences. ``broke`` begins with
    ``broke_surely``, the tasks that got worse beyond the chance of their own samples."""

    status: RowStatus
    b: int | None = None
    c: int | None = None
    n: int = 0
    p_value: float | None = None
    adjusted_significant: bool = False
    reason: str = ""
    tokenjam_version: str | None = None
    candidate_model: str | None = None
    attribution: str | None = None
    attribution_p: AttributionP | None = None
    broke: tuple[str, ...] = ()
    broke_surely: tuple[str, ...] = ()
    recovered: tuple[str, ...] = ()
    unscored: int = 0
    prompt_changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    rechecked: tuple[str, ...] = ()


class Acceptance(_Record):
    """Why a row's regression fails no job, and through which day in UTC."""

    until: date
    reason: str

    def __str__(self) -> str:
        return f"accepted until {self.until}: {self.reason}"


class Reused(_Record):
    """Tasks of each model whose outcome is a stored artifact's: nothing was called for them. ``age_days`` is the oldest
    one's when the row was measured."""

    original: int = 0
    candidate: int = 0
    age_days: int | None = None


class DecisionRow(_Record):
    """One (suite, original, slot). Passes are counts of ``n_scored`` tasks; deltas in pp and %; costs in USD.

    ``delta_ci_pp`` is Wald's interval and ``headline_ci_pp`` the one to show: where that misleads, the score interval.
    A row that stopped early has neither and no p-value, which hold for a fixed number of tasks only.
    """

    suite: str
    original_model: str
    candidate_model: str | None
    slot: str
    recommended_by: str = ""
    tokenjam_version: str | None = None
    samples: int = 1
    n_tasks: int = 0
    n_scored: int = 0
    n_unscored: int = 0
    original_pass: float | None = None
    candidate_pass: float | None = None
    accuracy_delta_pp: float | None = None
    early_stop: EarlyStopRecord | None = None
    delta_ci_pp: tuple[float, float] | None = None
    headline_ci_pp: tuple[float, float] | None = None
    p_value: float | None = None
    original_cost_usd: float | None = None
    candidate_cost_usd: float | None = None
    cost_delta_pct: float | None = None
    claimed_saving_pct: float | None = None
    output_token_inflation: float | None = None
    detectable_drop_pp: float | None = None
    verdict: Verdict | None = None
    verdict_reason: str = ""
    broke: tuple[str, ...] = ()
    broke_surely: tuple[str, ...] = ()
    causes: dict[str, int] = {}
    flags: tuple[Flag, ...] = ()
    reused: Reused | None = None
    accepted: Acceptance | None = None
    changes: Changes | None = None
    lacking: tuple[str, ...] = ()
    vs_baseline: VsBaseline


class Pooled(_Record):
    """The ``rows`` that may fail the job, or where there is none, that could, as one: tasks that broke, recovered, and
    the one-sided p. Rows that share one of the ``runs`` count once."""

    rows: int = 0
    runs: int = 0
    b: int = 0
    c: int = 0
    p: float = 1.0


class ConfirmedTask(_Record):
    """A broken task's second outcome: ``passes`` of ``samples`` attempts; no samples where it could not be asked."""

    suite: str
    original_model: str
    slot: str
    task_id: str
    passes: int
    samples: int
    unscored: int


class Confirmation(_Record):
    """The tasks that broke, asked once more before failing. The rows' numbers are the first run's all the same."""

    confirmed: bool
    sentence: str
    cost_usd: float
    tasks: tuple[ConfirmedTask, ...]


class BaselineLabel(_Record):
    """What the run was compared with: a ref, its commit, and how it was found. ``declined``: with nothing, as asked."""

    ref: str | None = None
    sha: str | None = None
    notes: tuple[str, ...] = ()
    declined: bool = False


class Decision(_Record):
    """Status, exit code, the sentences that explain them, and every row."""

    status: Status
    exit_code: ExitCode
    reasons: tuple[str, ...]
    notes: tuple[str, ...] = ()
    rows: tuple[DecisionRow, ...] = ()
    pooled: Pooled = Pooled()
    baseline: BaselineLabel = BaselineLabel()
    confirmation: Confirmation | None = None
    tokenjam_version: str | None = None
    upgrade: tuple[str, ...] = Field(default=(), description="what this tokenjam changes, where a run is about that")
    mock: bool = False
    recorded: tuple[str, ...] = Field(default=(), description="artifacts to commit, where no baseline was asked for")
    cost_usd: float = Field(default=0.0, description="spent by this run")
