"""Kills, freezes, stops and switches over every part of a cluster under load, and prints what clients saw of it.

    make bench-cluster CLUSTER="--rounds 10"
    make bench-cluster CLUSTER="--rounds 2 --only switchover 'primary killed'"
    make bench-cluster CLUSTER="--reference PATH --reference-migrations PATH"

Needs the Debian packages etcd-server, patroni, python3-etcd, pgbouncer, haproxy and redis-server.

Columns: `503`: refused with Retry-After; `errors`: other 5xx, time-outs and lost connections; `wrong`: other unexpected
responses; `out`: users signed out. Seconds, the worst of the rounds: `primary`: no primary accepted a write; `writes`: no
write of a client was acknowledged; `first +s`: from the primary's return to the first acknowledged write; `last +s`: the
same for the last of the replicas, each measured from the return of its own way to the database; `named`: until a metric
and a log line named the fault.
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
from probe import longest_gap
from server_process import service_token
from topology import Cluster

ROW = "{:<19} {:>6} {:>8} {:>6} {:>6} {:>5} {:>4} {:>9} {:>8} {:>9} {:>8} {:>7}"
HEAD = ("fault", "rounds", "requests", "503", "errors", "wrong", "out", "primary s", "writes s", "first +s", "last +s", "named s")
OUTAGE = 0.5
"""A shorter time without a write over a way to the database is no outage, in seconds."""
SETTLED = 2


class Round:
    """The numbers of one round."""

    def __init__(self, counts, watch):
        self.counts, self.named, self.is_named = counts, watch.describe(), watch.after is not None or not watch.is_expected
        self.primary = self.writes = 0.0
        self.first = self.last = None

    def measure(self, cluster, load, began, end):
        """Takes the longest gaps, and how much later than the database the writes are back."""
        acknowledged = load.record.acknowledged
        self.primary, back = length(longest_gap(cluster.times("direct"), began, end))
        times = [at for at, _ in acknowledged]
        self.writes = length(longest_gap(times, began, end))[0]
        if self.primary > OUTAGE:
            self.first = first_after(times, back) - back
        for replica in cluster.replicas:
            away, back = length(longest_gap(cluster.times_of(replica), began, end))
            if away > OUTAGE:
                later = first_after([at for at, name in acknowledged if name == replica.name], back) - back
                self.last = max(self.last or 0.0, later)


def length(gap):
    """The length and the end of a gap."""
    return gap[1] - gap[0], gap[1]


def first_after(times, moment):
    return next((at for at in times if at >= moment), time.monotonic())


async def run_round(cluster, load, name):
    """Injects a fault and waits until the cluster is whole again."""
    await asyncio.to_thread(wait_until, "the cluster is whole", cluster.is_whole, 120)
    before, began = load.record.totals(), time.monotonic()
    watch = Watch(cluster, name)
    watch.start()
    await asyncio.to_thread(FAULTS[name], cluster)
    await asyncio.to_thread(wait_until, "the cluster is whole again", cluster.is_whole, 120)
    await asyncio.sleep(SETTLED)
    await asyncio.to_thread(watch.join)
    end = time.monotonic()
    result = Round([later - earlier for earlier, later in zip(before, load.record.totals())], watch)
    result.measure(cluster, load, began, end)
    return result


def show(name, rounds):
    """Prints the row of a fault."""
    def worst(numbers):
        known = [number for number in numbers if number is not None]
        return f"{max(known):.1f}" if known else "-"

    counts = [sum(one.counts[index] for one in rounds) for index in range(5)]
    named = "no" if any(one.named == "no" for one in rounds) else max((one.named for one in rounds), key=lambda it: (len(it), it))
    print(ROW.format(name, len(rounds), *counts, worst(one.primary for one in rounds), worst(one.writes for one in rounds),
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
            is_complete &= all(one.is_named for one in rounds)
        await load.finish()
        return report(cluster, load.record) and is_complete
    except NotInTime as failure:
        print(f"{failure}\n{cluster.describe()}", flush=True)
        return False
    finally:
        await asyncio.to_thread(cluster.end)


def report(cluster, record):
    """Compares the record with the database; returns whether nothing was lost and no user was signed out."""
    stored = set(sql(cluster.primary().port, "SELECT email FROM auth.users WHERE email IS NOT NULL") or [])
    lost = [email for email in record.created if email not in stored]
    print(f"\nacknowledged writes lost: {len(lost)} of {len(record.created)}; users signed out: {len(record.signed_out)}; "
          f"wrong answers: {len(record.wrong)}; of {record.requests} requests {record.refused} were refused with Retry-After, "
          f"{record.errors.total()} failed otherwise {dict(record.errors) or ''}")
    for text in (*lost[:3], *record.signed_out[:3], *record.wrong[:3]):
        print(f"  {text}")
    return not lost and not record.signed_out and not record.wrong


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
