"""What every test shares."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

settings.register_profile("stateless", database=None, deadline=None)
settings.load_profile("stateless")


def pytest_configure(config: pytest.Config) -> None:
    """Keep what hypothesis writes in pytest's own cache, so that a run leaves nothing behind in the checkout."""
    if config.cache is not None:
        set_hypothesis_home_dir(config.cache.mkdir("hypothesis"))
