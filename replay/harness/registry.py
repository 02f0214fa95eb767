"""The registered scenarios."""

import dataclasses
import typing

area = ""
_found = []


@dataclasses.dataclass
class Scenario:
    name: str
    profile: str
    run: typing.Callable


def scenario(profile="default"):
    """Mark a function `f(flow)` as a scenario that runs under `profile`."""

    def register(function):
        _found.append(Scenario(f"{area}.{function.__name__}", profile, function))
        return function

    return register


def all():
    return list(_found)


def clear():
    _found.clear()
