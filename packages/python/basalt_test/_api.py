"""Calls of the test API."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

# The longest call: a message is waited for up to a minute.
TIMEOUT = 90


class BasaltError(Exception):
    """A refused call, or a server that cannot be started or reached."""

    def __init__(self, code: str, message: str, hint: str, status: int | None = None):
        super().__init__(f"{message} ({code}): {hint}")
        self.code = code
        self.message = message
        self.hint = hint
        self.status = status


class TestApi:
    """The test API below a URL."""

    # pytest collects no tests from it.
    __test__ = False

    def __init__(self, url: str, key: str):
        self.url = url
        self._key = key

    def below(self, path: str) -> TestApi:
        """Return the API below a path."""
        return TestApi(self.url + path, self._key)

    def call(self, method: str, path: str = "", body: Any = None, query: dict[str, Any] | None = None) -> Any:
        """Call the API and return the parsed JSON; None for an empty response."""
        content = self.read(method, path, body, query)
        return json.loads(content) if content else None

    def read(self, method: str, path: str, body: Any = None, query: dict[str, Any] | None = None) -> bytes:
        """Call the API and return the body of the response."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        url = self.url + path + (f"?{urllib.parse.urlencode(given)}" if given else "")
        headers = {"Authorization": f"Bearer {self._key}"}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(url, data, headers, method=method)
        # No proxy: the server is on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=TIMEOUT) as response:
                return response.read()
        except urllib.error.HTTPError as error:
            raise _refusal(method, path, error) from None
        except (urllib.error.URLError, ConnectionError) as error:
            hint = "check that the server still runs; it ends with the process that started it"
            raise BasaltError("unreachable", f"{method} {url} got no response: {error}", hint) from error


def _refusal(method: str, path: str, error: urllib.error.HTTPError) -> BasaltError:
    text = error.read().decode(errors="replace")
    try:
        body = json.loads(text)
    except ValueError:
        body = {}
    if not isinstance(body, dict):
        body = {}
    message = body.get("message", f"{method} {path} was answered with {error.code}")
    return BasaltError(body.get("code", "http_error"), message, body.get("hint", text[:200]), error.code)
