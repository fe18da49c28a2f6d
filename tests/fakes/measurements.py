"""The name under which some tests know the artifacts made of marks."""

from __future__ import annotations

from tests.fakes.artifacts import AT, CANDIDATE, ORIGINAL, measurement, trial

__all__ = ["AT", "CANDIDATE", "ORIGINAL", "measurement", "trial"]
