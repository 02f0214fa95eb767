"""Fixtures for pytest: `basalt` is the server of the test run, `world` a world of the test."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import pytest

from . import Basalt, BasaltError, World, start_basalt


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", "basalt_world(config=…, seed=…): settings and data of the fixture `world`")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the world's id, events and messages to the report of a failed test."""
    report = yield
    created = getattr(item, "funcargs", {}).get("world")
    if report.when == "call" and report.failed and isinstance(created, World):
        try:
            report.sections.append(("Basalt world", created.report()))
        except BasaltError as error:
            report.sections.append(("Basalt world", f"world {created.id}: {error}"))
    return report


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
