"""Kills, freezes, stops and switches over every part of a cluster under load, and prints what clients saw of it.

    make bench-cluster CLUSTER="--rounds 10"
    make bench-cluster CLUSTER="--rounds 2 --only switchover 'primary killed'"
    make bench-cluster CLUSTER="--reference PATH --reference-migrations PATH"

Needs the Debian packages etcd-server, patroni, python3-etcd, pgbouncer, haproxy and redis-server.

Columns: `503`: refused with Retry-After; `errors`: other 5xx, time-outs and lost connections; `wrong`: other unexpected
responses; `out`: users signed out. Seconds, the worst of the rounds: `primary`: no primary accepted a write; `writes`: no
write of a client was acknowledged; `first +s`: from the primary's return to the first acknowledged write; `last +s`: the
same for the last of the replicas, each measured from the return of its own way to the database; `named`: until a metric
and a log line named the fault. `never` in `writes s`: after the fault, no write of a client or of a replica was acknowledged.

Exit status: 0 if users were created, none was lost or signed out, no answer was wrong, every fault was named, and writes
were back after each; otherwise 1.
"""

import argparse
import asyncio
import pathlib
import time

import parts
from load import Load
from naming import Watch
from part_faults import BASALT_ONLY, FAULTS
from parts import ROOT, NotInTime, sql, wait_until
from server_process import service_token
from topology import Cluster
from verdict import Round, is_record_right, is_round_right

ROW = "{:<19} {:>6} {:>8} {:>6} {:>6} {:>5} {:>4} {:>9} {:>8} {:>9} {:>8} {:>7}"
HEAD = ("fault", "rounds", "requests", "503", "errors", "wrong", "out", "primary s", "writes s", "first +s", "last +s", "named s")
SETTLED = 2
BACK_LIMIT = 15
"""Longest wait for a write by each replica after the cluster is whole again, in seconds."""


async def run_round(cluster, load, name):
    """Injects a fault and waits until the cluster is whole again and every replica has acknowledged a write."""
    await asyncio.to_thread(wait_until, "the cluster is whole", cluster.is_whole, 120)
    before, began = load.record.totals(), time.monotonic()
    watch = Watch(cluster, name)
    watch.start()
    await asyncio.to_thread(FAULTS[name], cluster)
    await asyncio.to_thread(wait_until, "the cluster is whole again", cluster.is_whole, 120)
    whole = time.monotonic()
    await asyncio.sleep(SETTLED)
    await asyncio.to_thread(watch.join)
    while time.monotonic() - whole < BACK_LIMIT and not has_every_replica_written(cluster, load, whole):
        await asyncio.sleep(0.1)
    end = time.monotonic()
    result = Round([later - earlier for earlier, later in zip(before, load.record.totals())], watch)
    result.measure(cluster, load, began, end)
    result.is_recovered &= has_every_replica_written(cluster, load, whole)
    return result


def has_every_replica_written(cluster, load, since):
    names = {name for at, name in load.record.acknowledged if at >= since}
    return all(replica.name in names for replica in cluster.replicas)


def show(name, rounds):
    """Prints the row of a fault."""
    def worst(numbers):
        known = [number for number in numbers if number is not None]
        return f"{max(known):.1f}" if known else "-"

    counts = [sum(one.counts[index] for one in rounds) for index in range(5)]
    named = "no" if any(one.named == "no" for one in rounds) else max((one.named for one in rounds), key=lambda it: (len(it), it))
    writes = worst(one.writes for one in rounds) if all(one.is_recovered for one in rounds) else "never"
    print(ROW.format(name, len(rounds), *counts, worst(one.primary for one in rounds), writes,
                     worst(one.first for one in rounds), worst(one.last for one in rounds), named), flush=True)


async def measure(options, binary, is_reference=False):
    """Runs all faults with one binary; returns whether all is as it has to be."""
    cluster, is_complete = Cluster(options, binary, is_reference), True
    try:
        await asyncio.to_thread(cluster.start)
        load = Load(cluster.ports["api"], service_token(), options.clients, options.rate)
        await load.start()
        await asyncio.sleep(SETTLED)
        print(f"\n{binary.name}, {options.rate} requests/s of {2 * options.clients} clients\n\n{ROW.format(*HEAD)}", flush=True)
        for name in options.only or FAULTS:
            if is_reference and name in BASALT_ONLY:
                continue
            rounds = []
            try:
                for _ in range(options.reference_rounds if is_reference else options.rounds):
                    rounds.append(await run_round(cluster, load, name))
            finally:
                if rounds:
                    show(name, rounds)
            is_complete &= all(map(is_round_right, rounds))
        await load.finish()
        return report(cluster, load.record) and is_complete
    except NotInTime as failure:
        print(f"{failure}\n{cluster.describe()}", flush=True)
        return False
    finally:
        await asyncio.to_thread(cluster.end)


def report(cluster, record):
    """Compares the record with the database; returns whether it is right."""
    stored = set(sql(cluster.primary().port, "SELECT email FROM auth.users WHERE email IS NOT NULL") or [])
    lost = [email for email in record.created if email not in stored]
    print(f"\nacknowledged writes lost: {len(lost)} of {len(record.created)}; users signed out: {len(record.signed_out)}; "
          f"wrong answers: {len(record.wrong)}; of {record.requests} requests {record.refused} were refused with Retry-After, "
          f"{record.errors.total()} failed otherwise {dict(record.errors) or ''}")
    for text in (*lost[:3], *record.signed_out[:3], *record.wrong[:3]):
        print(f"  {text}")
    return is_record_right(record, lost)


def main():
    parser = argparse.ArgumentParser(prog="make bench-cluster", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, help="faults of each kind")
    parser.add_argument("--clients", type=int, default=8, help="clients that create users, and as many with a session")
    parser.add_argument("--rate", type=float, default=60, help="requests per second of all clients")
    parser.add_argument("--through", choices=("mixed", "direct", "haproxy", "pgbouncer"), default="mixed",
                        help="how replicas reach PostgreSQL; mixed: two directly, one over HAProxy, one over pgbouncer")
    parser.add_argument("--pool-mode", choices=("session", "transaction"), default="transaction", help="mode of pgbouncer")
    parser.add_argument("--only", nargs="*", choices=tuple(FAULTS), metavar="FAULT", help=f"these only: {', '.join(FAULTS)}")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable of each replica")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "target/release/basalt")
    parser.add_argument("--reference", type=pathlib.Path, help="the reference's binary, measured after Basalt")
    parser.add_argument("--reference-migrations", type=pathlib.Path, help="the folder of its migrations")
    parser.add_argument("--reference-rounds", type=int, default=1, help="faults of each kind for the reference")
    parser.add_argument("--keep", action="store_true", help="keep the folder with logs and data")
    options = parser.parse_args()
    parts.require_programs(parts.PROGRAMS)
    is_right = options.rounds == 0 or asyncio.run(measure(options, options.binary.resolve()))
    if options.reference:
        asyncio.run(measure(options, options.reference.resolve(), is_reference=True))
    raise SystemExit(0 if is_right else 1)


main()
