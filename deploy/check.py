#!/usr/bin/env python3
"""Checks the deployment files against each other, without the tools that use them."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def check_compose() -> list[str]:
    """Every variable has an example, every address of the configuration is a service or an alias of one."""
    problems = []
    compose = read("deploy/compose.yml")
    example = read("deploy/compose/example.env")
    config = read("deploy/compose/config.toml")
    named = set(re.findall(r"^#? ?([A-Z_]+)=", example, re.MULTILINE))
    for variable in sorted(set(re.findall(r"\$\{([A-Z_]+)", compose))):
        if variable not in named:
            problems.append(f"compose/example.env lacks {variable}")
    for variable in sorted(set(re.findall(r"^[^#\n]*env\(([A-Z_]+)\)", config, re.MULTILINE))):
        if f"{variable}: ${{{variable}" not in compose and f"{variable}_FILE: /run/secrets/{variable}\n" not in compose:
            problems.append(f"compose.yml does not pass {variable} to basalt")
    problems += check_secrets(compose, read("deploy/compose/write-secrets.sh"))
    services = set(re.findall(r"^  ([a-z]+):$", compose.split("\nservices:\n")[1].split("\nvolumes:\n")[0], re.MULTILINE))
    aliases = set(re.findall(r"aliases: \[([^\]]+)\]", compose))
    for host in re.findall(r'= "http://([^:"]+):\d+"', config):
        if host not in services | aliases:
            problems.append(f"compose/config.toml names {host}, which is no service")
    for image in re.findall(r"image: (\S+)", compose):
        if image.endswith(":latest") or ":" not in image:
            problems.append(f"compose.yml: {image} has no version")
    for path in re.findall(r"- (\./\S+?):", compose):
        if not (DEPLOY / path).exists():
            problems.append(f"compose.yml mounts {path}, which is missing")
    return problems


SECRETS = ("POSTGRES_PASSWORD", "JWT_SECRET", "SERVICE_ROLE_KEY", "SECRET_KEY", "SMTP_PASSWORD")


def check_secrets(compose: str, script: str) -> list[str]:
    """Basalt has its secrets as files, each of which is declared and written."""
    problems = []
    basalt = compose.split("\n  basalt:\n")[1].split("\n\n")[0]
    for variable in SECRETS:
        if f"${{{variable}" in basalt:
            problems.append(f"compose.yml passes {variable} to basalt by the environment")
    mounted = {name for names in re.findall(r"^    secrets: \[([^\]]+)\]", basalt, re.MULTILINE) for name in names.split(", ")}
    declared = dict(re.findall(r"^  ([A-Z_]+):\n    file: \./secrets/(\S+)$", compose, re.MULTILINE))
    for name in sorted(mounted | set(re.findall(r"/run/secrets/(\S+)", compose))):
        if declared.get(name) != name or name not in mounted:
            problems.append(f"compose.yml has no secret {name} of its file for basalt")
        if not re.search(rf"^write {name} |^for name in [A-Z_ ]*\b{name}\b[^\n]*\n    read_value .*\n    write", script, re.MULTILINE):
            problems.append(f"compose/write-secrets.sh does not write {name}")
    return problems


def check_image() -> list[str]:
    """The image runs as a user without privileges and checks its own health."""
    dockerfile = read("deploy/Dockerfile")
    last_stage = dockerfile[dockerfile.rindex("\nFROM ") :]
    toolchain = re.search(r'channel = "(\d+\.\d+)', read("rust-toolchain.toml"))
    wanted = {
        "a distroless base": r"FROM gcr\.io/distroless/\S+:nonroot",
        "a numeric user": r"USER [1-9]\d*:[1-9]\d*",
        "a health check": r'HEALTHCHECK .*CMD \["/usr/bin/basalt", "healthcheck"\]',
        "an entry point without a shell": r'ENTRYPOINT \["/usr/bin/basalt"\]',
    }
    problems = [f"Dockerfile lacks {what}" for what, pattern in wanted.items() if not re.search(pattern, last_stage)]
    if not toolchain or f"rust:{toolchain.group(1)}-" not in dockerfile:
        problems.append("Dockerfile does not build with the version of rust-toolchain.toml")
    return problems


def check_versions() -> list[str]:
    """The chart has the version of the workspace."""
    version = re.search(r'\[workspace\.package\]\nversion = "([^"]+)"', read("Cargo.toml"))
    chart = read("deploy/helm/basalt/Chart.yaml")
    expected = f'appVersion: "{version.group(1)}"' if version else "appVersion"
    return [] if expected in chart else [f"Chart.yaml lacks {expected}"]


def main() -> None:
    problems = check_compose() + check_image() + check_versions()
    for problem in problems:
        print(f"deploy: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
