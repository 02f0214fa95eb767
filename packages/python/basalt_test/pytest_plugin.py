"""Fixtures for pytest: `basalt` is the server of the test run, `world` a world of the test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from . import Basalt, World, start_basalt


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", "basalt_world(config=…, seed=…): settings and data of the fixture `world`")


@pytest.fixture(scope="session")
def basalt() -> Iterator[Basalt]:
    """Return the server of the test run."""
    with start_basalt() as server:
        yield server


@pytest.fixture
def world(basalt: Basalt, request: pytest.FixtureRequest) -> Iterator[World]:
    """Return a world of this test alone, deleted afterwards; the marker `basalt_world` has its settings."""
    marker = request.node.get_closest_marker("basalt_world")
    options: dict[str, Any] = {} if marker is None else marker.kwargs
    with basalt.world(**options) as created:
        yield created
