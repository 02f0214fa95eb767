#!/usr/bin/env python3
"""Starts Basalt with each Supabase project below some folders and prints which statements are skipped.

Usage: tools/apply-projects.py [--binary target/debug/basalt] [--details] FOLDER...

A project is a folder with `supabase/migrations` or `supabase/config.toml`, at most three levels deep. Its database is removed
afterwards. Exit status 1 if a project does not start.
"""

import argparse
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import time

START_SECONDS = 180


def find_projects(folder: pathlib.Path, depth: int = 3) -> list[pathlib.Path]:
    """Returns the folders that contain a project."""
    supabase = folder / "supabase"
    if (supabase / "migrations").is_dir() or (supabase / "config.toml").is_file():
        return [folder]
    if depth == 0:
        return []
    below = sorted(entry for entry in folder.iterdir() if entry.is_dir() and entry.name not in ("node_modules", ".git"))
    return [project for entry in below for project in find_projects(entry, depth - 1)]


def start(binary: str, project: pathlib.Path) -> tuple[dict | None, str, float]:
    """Starts the project; returns what the server printed, or its errors, and the seconds that it took."""
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+") as errors:
        environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        server = subprocess.Popen(
            [os.path.abspath(binary), "serve", "--ephemeral", "--port", "0", "--json"],
            cwd=project, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
        try:
            ready, _, _ = select.select([server.stdout], [], [], START_SECONDS)
            line = server.stdout.readline() if ready else ""
            seconds = time.monotonic() - begun
            if line:
                return json.loads(line), "", seconds
        finally:
            server.terminate()
            server.wait()
        errors.seek(0)
        complaints = [line for line in errors.read().splitlines() if line.startswith("basalt: ")]
        return None, " ".join(complaints) or "no answer", seconds


def main() -> int:
    """Prints a line for each project and a summary."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="target/debug/basalt")
    parser.add_argument("--details", action="store_true", help="print each skipped statement")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    projects = [project for folder in arguments.folders for project in find_projects(folder)]
    complete = failed = 0
    for project in projects:
        migrations = len(list((project / "supabase" / "migrations").glob("*.sql")))
        announced, error, seconds = start(arguments.binary, project)
        if announced is None:
            failed += 1
            print(f"{project}: does not start: {error}")
            continue
        statements = announced.get("skipped_statements", [])
        skipped = [statement for statement in statements if not statement["note"]]
        complete += not skipped
        print(f"{project}: {migrations} migrations, {len(skipped)} statements skipped, "
              f"{len(statements) - len(skipped)} notes, {seconds:.1f} s")
        if arguments.details:
            for statement in skipped:
                print(f"    {statement['file']}:{statement['line']}: {statement['reason'][:160]}")
    print(f"{complete} of {len(projects)} projects apply fully, {failed} do not start")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
