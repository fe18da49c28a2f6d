"""The run's surroundings made into collaborators: tokenjam, suites, live models, the repository, places on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tjbench.compare.decision import BaselineLabel
from tjbench.config import Config, ModelSpec, parse_config
from tjbench.errors import UsageError
from tjbench.github import baseline as releases
from tjbench.github.baseline import Repository
from tjbench.github.checkout import Checkout
from tjbench.measure import LiveOpener, MeasureRun
from tjbench.models.cached import Journal, request_key
from tjbench.models.model import Model, Request
from tjbench.models.providers import endpoint, open_model, require_known
from tjbench.progress import Progress
from tjbench.row_plan import ModelOpener
from tjbench.rows import Rows, SuiteLoader, gateways_of, judge_of, models_of, plan_rows, resolve_mock
from tjbench.runner.patience import Patience
from tjbench.selftest import SelfTest
from tjbench.shard import Shard
from tjbench.store.artifacts import Baseline, Loaded, load_path, parse_files
from tjbench.store.files import read_regular
from tjbench.suites import load_suite, near_file
from tjbench.suites.task import Suite
from tjbench.tokenjam import Snapshot, open_tokenjam

CONFIG_NAME = "tjbench.toml"
CONFIG_BYTES = 1 << 20


MOCK_NOTICE = "MOCK RUN: scripted models answer; this measures no model. Set the providers' keys to measure."


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How one measurement is run and kept. ``silent_mock`` lets scripted models stand in where no key is there, which
    a gate must not; ``commit`` is the one measured, where it is not the one checked out; ``shard`` the part to take.
    Without ``keep_answers`` there is no journal; in a ``private`` run results hold no text. ``called`` hears of every
    call to a provider."""

    out: Path
    journal: Path | None = None
    reuse_answers: bool = True
    silent_mock: bool = False
    allow_unsandboxed: bool = False
    commit: str | None = None
    shard: Shard | None = None
    keep_answers: bool = True
    private: bool = False
    called: Callable[[ModelSpec], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Where a run happens: its directory (``root``) and environment. ``confined`` keeps suite files inside ``root``;
    ``patience`` bounds the asking of its models."""

    root: Path
    environ: Mapping[str, str]
    confined: bool = False
    patience: Patience = field(default_factory=Patience)

    def snapshot(self, config: Config, *, trust_overrides: bool) -> Snapshot:
        """What the installed tokenjam says of the configuration's models."""
        specs = models_of(config)
        for spec in specs:
            require_known(spec, gateways_of(config))
        tokenjam = open_tokenjam(environ=self.environ, cwd=self.root)
        return tokenjam.snapshot(specs, trust_overrides=trust_overrides)

    def suite_loader(self) -> SuiteLoader:
        """Loads each suite once."""
        cache: dict[tuple[str, str | None], Suite] = {}

        def load(name: str, data: str | None) -> Suite:
            if (name, data) not in cache:
                cache[name, data] = load_suite(
                    name,
                    workspace=self.root,
                    data=Path(data) if data else None,
                    data_dir=self.root / directory if (directory := self.environ.get("TJBENCH_DATA_DIR")) else None,
                    confine=self.confined,
                )
            return cache[name, data]

        return load

    def live_opener(self, journal: Journal | None, called: Callable[[ModelSpec], None] | None = None) -> LiveOpener:
        """Opens real models, over the journal when there is one."""

        def configured(config: Config) -> ModelOpener:
            def open_live(spec: ModelSpec, _suite: Suite) -> Model:
                gateways, timeout_s = gateways_of(config), self.patience.ask_s
                return open_model(spec, gateways, self.environ, journal=journal, called=called, timeout_s=timeout_s)

            return open_live

        return configured

    @contextmanager
    def opened(
        self, config: Config, snapshot: Snapshot, progress: Progress, options: RunOptions, rows: Rows | None = None
    ) -> Iterator[MeasureRun]:
        """Everything that a measurement of ``rows`` needs, by default of those that ``config`` asks for; the journal is
        open only for live models, and closed at the end."""
        if rows is None:
            rows = plan_rows(config, snapshot, self.suite_loader(), options.shard)
        gateways = gateways_of(config)
        judge = judge_of(config, rows.plans) if config.judge.model else None
        mock = resolve_mock(
            config.run.mock, rows.plans, gateways, self.environ, silently=options.silent_mock, judge=judge
        )
        if not mock:
            judge_of(config, rows.plans)
        with ExitStack() as stack:
            stack.callback(progress.finish)
            journal = None
            if not mock and options.keep_answers:
                directory = options.journal or self.journal_directory()
                journal = stack.enter_context(Journal(directory, reuse=options.reuse_answers))
            yield MeasureRun(
                config=config,
                snapshot=snapshot,
                rows=rows,
                open_live=self.live_opener(journal, options.called),
                mock=mock,
                out=options.out,
                begin=progress.begin,
                watch=progress.watch,
                warn=progress.warn,
                commit=options.commit or self.commit(),
                allow_unsandboxed=options.allow_unsandboxed,
                self_test=SelfTest(cache=self.self_test_cache(), say=progress.say),
                private=options.private,
                patience=self.patience,
            )

    @contextmanager
    def kept_answers(self, config: Config, options: RunOptions) -> Iterator[Callable[[ModelSpec, Request], bool]]:
        """Tells of each request whether the journal holds its answer; makes no journal where there is none."""
        with ExitStack() as stack:
            journal = None
            if options.keep_answers and options.reuse_answers:
                directory = options.journal or self.journal_directory()
                journal = stack.enter_context(Journal(directory, look_only=True))

            def is_kept(spec: ModelSpec, request: Request) -> bool:
                if journal is None:
                    return False
                where = endpoint(spec, gateways_of(config), self.environ).base_url
                return journal.find(request_key(spec, where, request)) is not None

            yield is_kept

    def journal_directory(self) -> Path:
        """Where answers are kept unless the user names another place."""
        return self._cache / "journal"

    def replay_journal(self) -> Path:
        """Where answers to a user's own prompts are kept, apart from all others and for the user alone."""
        directory = self._cache / "replay"
        with suppress(OSError):  # the journal says why it cannot be opened
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return directory

    def self_test_cache(self) -> Path | None:
        """Where passed self-tests are remembered: never in the workspace, where a change could bring its own."""
        directory = self._cache / "selftest"
        return None if directory.resolve().is_relative_to(self.root.resolve()) else directory

    @property
    def _cache(self) -> Path:
        cache = self.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 (HOME may be unset)
        return Path(cache) / "tjbench"

    def read_config(self, name: str | None) -> Config:
        """The named configuration file; without a name ``tjbench.toml`` if it is there, else the embedded default."""
        path = self.root / (name or CONFIG_NAME)
        if name is None and not path.exists():
            return Config()
        if self.confined:
            self.inside(name or CONFIG_NAME)
            if path.is_symlink():
                raise UsageError(f"{path.name} is a symbolic link", fix="put the configuration itself there")
        return parse_config(self.read_text(path), name or CONFIG_NAME)

    def default_notice(self, name: str | None) -> str | None:
        """What to say where no file is named and none is there, so that the embedded default holds."""
        if name is not None or (self.root / CONFIG_NAME).exists():
            return None
        above = next(
            (str(parent / CONFIG_NAME) for parent in self.root.parents if (parent / CONFIG_NAME).is_file()), ""
        )
        hint = f"; is {above} meant? Run there, or name it with --config" if above else ""
        return f"no {CONFIG_NAME} in {self.root}: the embedded default is measured{hint}"

    def read_text(self, path: Path) -> str:
        """A small UTF-8 file that the user named."""
        try:
            return read_regular(path, CONFIG_BYTES).decode("utf-8")
        except FileNotFoundError as error:
            raise UsageError(f"cannot read {path}", why="there is no such file", fix=near_file(path)) from error
        except OSError as error:
            raise UsageError(f"cannot read {path}", why=error.strerror or str(error)) from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{path} is not UTF-8", why=str(error)) from error

    def baseline(
        self,
        request: str,
        *,
        repository: Repository | None = None,
        directory: str,
        branches: Sequence[str] | None = None,
        base_ref: str | None = None,
        push_ref: str | None = None,
    ) -> Baseline:
        """The baseline the user asks for: ``path:`` from disk, ``none``, everything else from the repository."""
        kind, _, place = request.partition(":")
        if kind == "path":
            if not place:
                raise UsageError("baseline path: names no directory", fix="write path:results/baseline")
            return Baseline(label=BaselineLabel(ref=request), loaded=load_path(self.root / place))
        if request == "none":
            label = BaselineLabel(notes=("no baseline was asked for",), declined=True)
            return Baseline(label=label, loaded=Loaded(artifacts={}, rejected={}))
        checkout = self.checkout
        if request == "auto" and repository is None and checkout.head() is None:
            label = BaselineLabel(notes=(f"{self.root} is no git repository, so it has no release branch",))
            return Baseline(label=label, loaded=Loaded(artifacts={}, rejected={}))
        chosen = releases.select_baseline(
            repository or checkout,
            request,
            directory=directory,
            branches=branches,
            base_ref=base_ref,
            push_ref=push_ref,
        )
        label = BaselineLabel(ref=chosen.ref, sha=chosen.sha, notes=chosen.notes)
        return Baseline(label=label, loaded=parse_files(chosen.files))

    @property
    def checkout(self) -> Checkout:
        """The git repository in ``root``."""
        return Checkout(root=self.root, path=self.environ.get("PATH"))

    def commit(self) -> str | None:
        """The commit checked out in ``root``; ``None`` outside a repository."""
        return self.checkout.head()

    def inside(self, name: str) -> Path:
        """A path of the user's that must lie in ``root``, links followed."""
        path = self.root / name
        if not path.resolve().is_relative_to(self.root.resolve()):
            raise UsageError(f"{name} leaves the workspace", fix="name a path inside it")
        return path
