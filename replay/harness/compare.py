"""Differences between a recording and a fresh transcript."""

import dataclasses
import json
import re

# The text after these prefixes comes from a JSON or number parser and is not compared.
PARSER_WORDS = re.compile(
    r"^(Could not parse request body as JSON: |Could not read verification params: |Bad Pagination Parameters: "
    r"|invalid JWT: unable to parse or verify signature, token is malformed: could not JSON decode \w+: ).+", re.S)


def comparable(text):
    return PARSER_WORDS.sub(r"\1<parser's words>", text)


@dataclasses.dataclass
class Difference:
    step: int
    label: str
    path: str
    expected: object
    actual: object

    def __str__(self):
        def short(value):
            text = value if isinstance(value, str) and value.startswith("(") else json.dumps(value, ensure_ascii=False, sort_keys=True)
            return text if len(text) <= 160 else text[:157] + "..."

        return f"step {self.step} {self.label}: {self.path}: expected {short(self.expected)}, got {short(self.actual)}"


def walk(expected, actual, path):
    """Yield (path, expected, actual) wherever two JSON values differ."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            if key not in actual:
                yield f"{path}.{key}", expected[key], "(absent)"
            elif key not in expected:
                yield f"{path}.{key}", "(absent)", actual[key]
            else:
                yield from walk(expected[key], actual[key], f"{path}.{key}")
    elif isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            yield f"{path}.length", len(expected), len(actual)
        for i, (e, a) in enumerate(zip(expected, actual)):
            yield from walk(e, a, f"{path}[{i}]")
    elif isinstance(expected, str) and isinstance(actual, str):
        if comparable(expected) != comparable(actual):
            yield path, expected, actual
    elif expected != actual or type(expected) is not type(actual):
        yield path, expected, actual


def differences(expected, actual):
    found = []
    e_steps, a_steps = expected["steps"], actual["steps"]
    for i, step in enumerate(e_steps):
        label = step.get("label", "")
        if i >= len(a_steps):
            found.append(Difference(i, label, "step", "(recorded)", "(not reached)"))
            continue
        for path, e, a in walk(step["observed"], a_steps[i]["observed"], ""):
            found.append(Difference(i, label, path.lstrip("."), e, a))
    for i in range(len(e_steps), len(a_steps)):
        found.append(Difference(i, a_steps[i].get("label", ""), "step", "(none)", "(extra step)"))
    return found
