#!/usr/bin/env python3
"""Run the suites of others against the storage API: python3 tools/storage-suites BINARY [--only aws,tus]

    acceptance    of Supabase Storage, with --reference FOLDER, a checkout of github.com/supabase/storage
    storage-js    of the client for JavaScript, with --supabase-js FOLDER, a checkout of github.com/supabase/supabase-js
    supabase-py   of the client for Python, with --supabase-py FOLDER, a checkout of github.com/supabase/supabase-py
    aws           uploads, parts, lists, copies and signed URLs with the AWS CLI
    tus           resumable uploads with tus-js-client: parts, an interruption, an unknown length, termination

Prints what passed, failed and was skipped of each, with the names of the failed tests; the exit status is 1 if one failed
(--allowed says how many of a suite may). What a suite needs is installed from the registries of npm and Python into
target/storage-suites. Suites run from copies there: a checkout stays as it is. A suite without its checkout is skipped with a line.
Needs PostgreSQL, Node 22 and Python 3.10 with venv.
"""

import argparse
import base64
import contextlib
import hashlib
import hmac
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = ROOT / "target" / "storage-suites"
S3_ID, S3_SECRET, REGION = "storage-suites", "secret-of-the-storage-suites", "local"
NODE_PACKAGES = {
    "acceptance": ["vitest@4", "@aws-sdk/client-s3@3", "@aws-sdk/s3-presigned-post@3", "tus-js-client@4", "dotenv@16"],
    "storage-js": [
        "jest@30", "ts-jest@29", "typescript@5.8", "@types/jest@30", "@types/node@20", "iceberg-js@0.8", "tslib@2", "base64-arraybuffer@1"
    ],
    "tus": ["tus-js-client@4"],
}  # fmt: skip


class Skipped(Exception):
    """A suite that cannot run here; the text says why."""


class Result:
    """What a suite found."""

    def __init__(self, passed=0, skipped=0, failed=()):
        self.passed, self.skipped, self.failed = passed, skipped, list(failed)


def run(command, **options):
    """Run a command whose output is shown only if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise Skipped(f"{' '.join(map(str, command[:4]))} failed: {done.stdout.strip()[-800:]}")
    return done.stdout


def install_node(suite):
    """Return a folder whose modules the suite finds."""
    folder = TARGET / suite
    wanted = json.dumps(NODE_PACKAGES[suite])
    if not (folder / "installed").is_file() or (folder / "installed").read_text() != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}\n')
        run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *NODE_PACKAGES[suite]], cwd=folder)
        (folder / "installed").write_text(wanted)
    return folder


def install_python(suite, *packages):
    """Return the programs of an environment with these packages."""
    folder = TARGET / f"{suite}-python"
    wanted = json.dumps([str(package) for package in packages])
    if not (folder / "installed").is_file() or (folder / "installed").read_text() != wanted:
        run([sys.executable, "-m", "venv", "--clear", folder])
        run([folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *packages])
        (folder / "installed").write_text(wanted)
    return folder / "bin"


def copy_anew(source, target):
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("node_modules", ".git"))
    return target


def checkout(folder, option, inside):
    """Return a folder inside a checkout."""
    if folder is None:
        raise Skipped(f"{option} FOLDER names no checkout")
    found = pathlib.Path(folder).resolve() / inside
    if not found.is_dir():
        raise Skipped(f"{option}: {found} is no folder")
    return found


def find_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for(url, process):
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=5).close()
            return
        time.sleep(0.1)
    raise Skipped(f"{url} does not answer")


@contextlib.contextmanager
def ending(process):
    """End a process with the block."""
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(60)
        process.kill()


@contextlib.contextmanager
def serve(binary, config="", port=0, folder=None):
    """`basalt serve` with a database of its own; a folder has the configuration of a project, which is extended."""
    with tempfile.TemporaryDirectory() as scratch:
        project = copy_anew(folder, pathlib.Path(scratch) / "supabase") if folder else pathlib.Path(scratch)
        file = project / "config.toml"
        file.write_text((file.read_text() if folder else "") + config)
        command = [binary, "serve", "--ephemeral", "--json", "--port", str(port), "--config", str(file)]
        with ending(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)) as process:
            line = process.stdout.readline()
            if not line:
                raise Skipped("basalt serve did not start: " + " ".join(command))
            yield json.loads(line)


@contextlib.contextmanager
def storage(binary, owner):
    """`basalt storage` on the database of a server; yields its URL."""
    port = find_port()
    with tempfile.TemporaryDirectory() as files:
        variables = {
            "DATABASE_URL": owner["database_url"],
            "AUTH_JWT_SECRET": owner["jwt_secret"],
            "ANON_KEY": owner["anon_key"],
            "SERVICE_KEY": owner["service_role_key"],
            "STORAGE_BACKEND": "file",
            "FILE_STORAGE_BACKEND_PATH": files,
            "UPLOAD_FILE_SIZE_LIMIT": str(50 << 20),
            "IMAGE_TRANSFORMATION_ENABLED": "true",
            "S3_PROTOCOL_ACCESS_KEY_ID": S3_ID,
            "S3_PROTOCOL_ACCESS_KEY_SECRET": S3_SECRET,
            "REGION": "us-east-1",
            "SERVER_HOST": "127.0.0.1",
            "SERVER_PORT": str(port),
        }
        process = subprocess.Popen([binary, "storage"], env=os.environ | variables, stderr=subprocess.DEVNULL)
        with ending(process):
            wait_for(f"http://127.0.0.1:{port}/status", process)
            yield f"http://127.0.0.1:{port}"


def sign_token(secret, claims):
    def encode(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")

    text = b".".join(encode(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims))
    return (text + b"." + encode(hmac.new(secret.encode(), text, hashlib.sha256).digest())).decode()


def read_report(file):
    """Read a report of Jest or Vitest."""
    if not file.is_file():
        raise Skipped("the suite wrote no report")
    report = json.loads(file.read_text())
    failed = [
        f"{pathlib.Path(tests['name']).name}: {test['fullName'].strip()}"
        for tests in report["testResults"]
        for test in tests["assertionResults"]
        if test["status"] == "failed"
    ]
    failed += [f"{tests['name']}: {tests['message'][:200]}" for tests in report["testResults"] if not tests["assertionResults"]]
    return Result(report["numPassedTests"], report["numPendingTests"] + report.get("numTodoTests", 0), failed)


def run_acceptance(options):
    source = checkout(options.reference, "--reference", "acceptance")
    folder = install_node("acceptance")
    copy_anew(source, folder / "acceptance")
    shutil.copy(source.parent / "tsconfig.json", folder / "tsconfig.json")
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    with serve(options.binary) as owner, storage(options.binary, owner) as url:
        subject = "317eadce-631a-4429-a0bb-f19a7a517b4a"
        member = sign_token(owner["jwt_secret"], {"role": "authenticated", "sub": subject, "aud": "authenticated", "exp": 4102444800})
        settings = {
            "TARGET": "local",
            "PROFILE": "full",
            "BASE_URL": url,
            "S3_ENDPOINT": f"{url}/s3",
            "TUS_ENDPOINT": f"{url}/upload/resumable",
            "REGION": "us-east-1",
            "TENANT_ID": "storage-single-tenant",
            "SERVICE_KEY": owner["service_role_key"],
            "ANON_KEY": owner["anon_key"],
            "AUTHENTICATED_KEY": member,
            "S3_ACCESS_KEY_ID": S3_ID,
            "S3_SECRET_ACCESS_KEY": S3_SECRET,
            "S3_FORCE_PATH_STYLE": "true",
            "ALLOW_DESTRUCTIVE": "true",
            **{f"ENABLE_{name}": "true" for name in ("RENDER", "WIRE", "TUS")},
            **{f"ENABLE_{name}": "false" for name in ("ADMIN", "CDN", "VECTOR", "ICEBERG", "RLS_SETUP")},
        }
        variables = {f"ACCEPTANCE_{name}": value for name, value in settings.items()}
        command = ["npx", "vitest", "run", "--config", "acceptance/acceptance.vitest.config.ts", "--reporter=json", f"--outputFile={report}"]
        subprocess.run(command, cwd=folder, env=os.environ | variables, stdout=options.output, stderr=options.output)
    return read_report(report)


def run_storage_js(options):
    source = checkout(options.supabase_js, "--supabase-js", "packages/core/storage-js")
    folder = install_node("storage-js")
    # The folder has the depth of the original one, whose settings name those of the whole.
    copy = copy_anew(source, folder / "packages/core/storage-js")
    shutil.copy(source.parent.parent.parent / "tsconfig.base.json", folder / "tsconfig.base.json")
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    # The tests name this port and the published keys.
    with serve(options.binary, "\n[basalt]\ndemo_keys = true\n", 54321, source / "test/supabase"):
        command = ["npx", "jest", "--runInBand", "--coverage=false", "--json", f"--outputFile={report}"]
        subprocess.run(command, cwd=copy, stdout=options.output, stderr=options.output)
    return read_report(report)


def run_supabase_py(options):
    source = checkout(options.supabase_py, "--supabase-py", "src/storage")
    programs = install_python("supabase-py", source, "pytest", "pytest-asyncio", "pytest-cov", "python-dotenv")
    copy = copy_anew(source, TARGET / "supabase-py")
    # The package that is installed counts, not its source beside the tests.
    shutil.rmtree(copy / "src", ignore_errors=True)
    report = copy / "report.xml"
    with serve(options.binary, "\n[basalt]\ndemo_keys = true\n", 0, source / "infra/supabase") as server:
        # The anonymous key of the checkout may empty no bucket, at the reference neither.
        variables = {"SUPABASE_TEST_URL": f"{server['url']}/storage/v1/", "SUPABASE_TEST_KEY": server["service_role_key"]}
        command = [programs / "python", "-m", "pytest", "-q", f"--junitxml={report}"]
        subprocess.run(command, cwd=copy, env=os.environ | variables, stdout=options.output, stderr=options.output)
    if not report.is_file():
        raise Skipped("the suite wrote no report")
    cases = list(xml.etree.ElementTree.parse(report).getroot().iter("testcase"))
    is_failed = [case.find("failure") is not None or case.find("error") is not None for case in cases]
    skipped = sum(case.find("skipped") is not None for case in cases)
    failed = [f"{case.get('classname')}: {case.get('name')}" for case, failed in zip(cases, is_failed) if failed]
    return Result(len(cases) - len(failed) - skipped, skipped, failed)


OWN_SETTINGS = f"""[storage]
file_size_limit = "200MiB"
[basalt.storage]
s3_access_key_id = "{S3_ID}"
s3_secret_access_key = "{S3_SECRET}"
"""


def run_aws(options):
    programs = install_python("aws", "awscli")
    with serve(options.binary, OWN_SETTINGS) as server, tempfile.TemporaryDirectory() as scratch:
        return AwsCli(programs / "aws", f"{server['url']}/storage/v1/s3", pathlib.Path(scratch), options.output).check()


class AwsCli:
    """The AWS CLI with an endpoint, and a folder for files."""

    def __init__(self, program, endpoint, folder, output):
        self.program, self.endpoint, self.folder, self.output = program, endpoint, folder, output
        self.variables = os.environ | {
            "AWS_ACCESS_KEY_ID": S3_ID,
            "AWS_SECRET_ACCESS_KEY": S3_SECRET,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def run(self, *arguments):
        command = [self.program, "--endpoint-url", self.endpoint, *arguments]
        done = subprocess.run(command, env=self.variables, stdout=subprocess.PIPE, stderr=self.output, text=True, timeout=120)
        if done.returncode != 0:
            raise AssertionError(f"aws {' '.join(map(str, arguments[:3]))}: exit status {done.returncode}")
        return done.stdout

    def check(self):
        """Run all checks in their order: later ones use the objects of earlier ones."""
        result = Result()
        for name in [name for name in vars(AwsCli) if name.startswith("check_")]:
            try:
                getattr(self, name)()
                result.passed += 1
            except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
                result.failed.append(f"{name.removeprefix('check_')}: {error}")
        return result

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def expect(self, is_true, text):
        if not is_true:
            raise AssertionError(text)

    def check_bucket_is_made(self):
        self.run("s3", "mb", "s3://suites")
        self.expect("suites" in self.run("s3", "ls"), "the list of buckets has it")

    def check_small_object_comes_back(self):
        source = self.write("small.txt", b"hello")
        self.run("s3", "cp", source, "s3://suites/a/small.txt", "--content-type", "text/plain", "--metadata", "color=red")
        self.run("s3", "cp", "s3://suites/a/small.txt", self.folder / "small.back")
        self.expect((self.folder / "small.back").read_bytes() == b"hello", "the same content")
        head = json.loads(self.run("s3api", "head-object", "--bucket", "suites", "--key", "a/small.txt"))
        self.expect((head["ContentType"], head["Metadata"]) == ("text/plain", {"color": "red"}), str(head))

    def check_object_of_several_parts_comes_back(self):
        source = self.write("large.bin", os.urandom(20 << 20))
        self.run("s3", "cp", source, "s3://suites/large.bin")
        self.run("s3", "cp", "s3://suites/large.bin", self.folder / "large.back")
        self.expect((self.folder / "large.back").read_bytes() == source.read_bytes(), "the same content")
        uploads = self.run("s3api", "list-multipart-uploads", "--bucket", "suites")
        self.expect("UploadId" not in uploads, "no upload is left")

    def check_range_is_read(self):
        part = self.folder / "range"
        self.run("s3api", "get-object", "--bucket", "suites", "--key", "large.bin", "--range", "bytes=1000000-1000009", part)
        self.expect(part.read_bytes() == (self.folder / "large.bin").read_bytes()[1_000_000:1_000_010], "ten bytes")

    def check_folder_is_synchronised(self):
        for number in range(12):
            self.write(f"folder/{number % 3}/{number}.txt", str(number).encode())
        self.run("s3", "sync", self.folder / "folder", "s3://suites/folder")
        self.expect(self.run("s3", "sync", self.folder / "folder", "s3://suites/folder") == "", "nothing a second time")
        listed = self.run("s3", "ls", "--recursive", "s3://suites/folder/").splitlines()
        self.expect(len(listed) == 12, f"{len(listed)} entries")
        self.expect("PRE 0/" in self.run("s3", "ls", "s3://suites/folder/"), "folders of a level")

    def check_pages_have_all_entries(self):
        pages = self.run("s3api", "list-objects-v2", "--bucket", "suites", "--page-size", "5", "--query", "Contents[].Key")
        self.expect(len(json.loads(pages)) == 14, pages)

    def check_object_is_copied_and_moved(self):
        self.run("s3", "cp", "s3://suites/a/small.txt", "s3://suites/a/copy.txt")
        self.run("s3", "mv", "s3://suites/a/copy.txt", "s3://suites/a/moved.txt")
        names = self.run("s3", "ls", "s3://suites/a/")
        self.expect("moved.txt" in names and "copy.txt" not in names, names)

    def check_signed_url_is_read_without_a_key(self):
        url = self.run("s3", "presign", "s3://suites/a/small.txt", "--expires-in", "60").strip()
        with urllib.request.urlopen(url, timeout=30) as response:
            self.expect(response.read() == b"hello", "the content")

    def check_upload_of_parts_is_aborted(self):
        upload = json.loads(self.run("s3api", "create-multipart-upload", "--bucket", "suites", "--key", "aborted"))["UploadId"]
        self.run("s3api", "abort-multipart-upload", "--bucket", "suites", "--key", "aborted", "--upload-id", upload)
        uploads = self.run("s3api", "list-multipart-uploads", "--bucket", "suites")
        self.expect(upload not in uploads, "it is not listed")

    def check_missing_object_is_named(self):
        command = [self.program, "--endpoint-url", self.endpoint, "s3api", "get-object", "--bucket", "suites", "--key", "none", os.devnull]
        done = subprocess.run(command, env=self.variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        self.expect(done.returncode != 0 and "NoSuchKey" in done.stderr, done.stderr)

    def check_everything_is_removed(self):
        self.run("s3", "rm", "--recursive", "s3://suites")
        self.expect(self.run("s3", "ls", "--recursive", "s3://suites") == "", "no object is left")
        self.run("s3", "rb", "s3://suites")


def run_tus(options):
    folder = install_node("tus")
    shutil.copy(HERE / "tus.mjs", folder / "tus.mjs")
    with serve(options.binary, OWN_SETTINGS) as server:
        variables = {"STORAGE_URL": f"{server['url']}/storage/v1", "STORAGE_KEY": server["service_role_key"]}
        done = subprocess.run(
            ["node", "tus.mjs"], cwd=folder, env=os.environ | variables, stdout=subprocess.PIPE, stderr=options.output, text=True, timeout=300
        )
    lines = done.stdout.splitlines()
    passed = sum(line.startswith("ok ") for line in lines)
    failed = [line.removeprefix("not ok ") for line in lines if line.startswith("not ok ")]
    if done.returncode != 0 and not failed:
        failed.append(f"exit status {done.returncode}")
    return Result(passed, 0, failed)


SUITES = {
    "acceptance": run_acceptance,
    "storage-js": run_storage_js,
    "supabase-py": run_supabase_py,
    "aws": run_aws,
    "tus": run_tus,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(SUITES))
    parser.add_argument("--reference", metavar="FOLDER")
    parser.add_argument("--supabase-js", metavar="FOLDER")
    parser.add_argument("--supabase-py", metavar="FOLDER")
    parser.add_argument("--allowed", type=json.loads, default={}, metavar="JSON", help='failures that count as none, {"storage-js": 6}')
    parser.add_argument("--verbose", action="store_true", help="show what the suites print")
    options = parser.parse_args()
    options.output = None if options.verbose else subprocess.DEVNULL
    if unknown := set(options.only) - set(SUITES):
        sys.exit(f"no such suite: {', '.join(sorted(unknown))}; known are {', '.join(SUITES)}")
    is_failed = False
    for name in options.only:
        try:
            result = SUITES[name](options)
        except Skipped as reason:
            print(f"{name:12} skipped: {reason}", flush=True)
            continue
        print(f"{name:12} {result.passed:4} passed, {len(result.failed):3} failed, {result.skipped:3} skipped", flush=True)
        for test in result.failed:
            print(f"             failed: {test}", flush=True)
        is_failed |= result.passed == 0 or len(result.failed) > options.allowed.get(name, 0)
    sys.exit(1 if is_failed else 0)


if __name__ == "__main__":
    main()
