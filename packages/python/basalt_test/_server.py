"""Starts the server, or finds the one of `basalt exec`."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
import time
import urllib.parse
from typing import Any

from ._api import BasaltError, TestApi
from ._world import World

START_TIMEOUT = 60
STOP_TIMEOUT = 10
LOG_LENGTH = 8000


class Basalt:
    """A test server. As a context manager it ends at the end of the block."""

    def __init__(self, test_url: str, test_key: str, process: subprocess.Popen[str] | None = None):
        self.test_url = test_url
        self.test_key = test_key
        self._process = process
        self._api = TestApi(test_url, test_key)

    def world(self, **options: Any) -> World:
        """Create a world: `name`, `profile`, `env`, `config`, `seed`, `from_` (the name of a snapshot)."""
        if "from_" in options:
            options["from"] = options.pop("from_")
        return World(self._api, self._api.call("POST", "/worlds", options))

    def find(self, world_id: str) -> World:
        """Return a world by its id; `default` is the server itself."""
        return World(self._api, self._api.call("GET", f"/worlds/{urllib.parse.quote(world_id, safe='')}"))

    def worlds(self) -> list[World]:
        """Return all worlds."""
        return [World(self._api, it) for it in self._api.call("GET", "/worlds")["worlds"]]

    def close(self) -> None:
        """End the server if this object started it."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def __enter__(self) -> Basalt:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def start_basalt(
    binary: str | None = None,
    config: str | None = None,
    args: list[str] | None = None,
    cwd: str | None = None,
    separate: bool = False,
) -> Basalt:
    """Return the server of `basalt exec`, or start `basalt serve --test`, which ends with this process at the latest.

    Without `binary` it is that of `BASALT_BIN`, or `basalt` on the `PATH`. With `separate` a server is started in any case.
    """
    url, key = os.environ.get("BASALT_TEST_URL"), os.environ.get("BASALT_TEST_KEY")
    if url and key and not separate:
        return Basalt(url, key)
    binary = binary or os.environ.get("BASALT_BIN") or "basalt"
    command = [binary, "serve", "--test", "--json", "--port", "0"]
    if config:
        command += ["--config", config]
    # A file, so that the server never waits for a reader of its log.
    with tempfile.TemporaryFile("w+") as log:
        try:
            process = subprocess.Popen(
                command + (args or []), cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True
            )
        except OSError as error:
            hint = "put basalt on the PATH, or set BASALT_BIN to its path"
            raise BasaltError("binary_missing", f"{binary} cannot be run: {error}", hint) from error
        line = _first_line(process)
        if not line:
            process.kill()
            process.wait()
            log.seek(0)
            raise BasaltError("start_failed", f"{binary} ended before it served", log.read()[-LOG_LENGTH:])
    announcement = json.loads(line)
    return Basalt(announcement["test_url"], announcement["test_key"], process)


def _first_line(process: subprocess.Popen[str]) -> str:
    """Return the announcement; empty if the server ended or took too long."""
    assert process.stdout is not None
    end = time.monotonic() + START_TIMEOUT
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        if not selector.select(max(0, end - time.monotonic())):
            return ""
    return process.stdout.readline()
