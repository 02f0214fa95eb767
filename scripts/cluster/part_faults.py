"""Faults: each takes the cluster, does something to one of its parts, and undoes it."""

import os
import random
import signal
import threading
import time

from parts import sql, wait_until

STOPPED = 8
"""How long a stopped part stands still, in seconds."""
FROZEN = 30
"""How long a frozen node stands still: longer than Patroni's time to live, so that the other one is promoted."""


class Recovery:
    """Measures the longest time without a primary that accepts writes."""

    def __init__(self, cluster):
        self.cluster, self.ended, self.longest = cluster, threading.Event(), 0.0

    def watch(self):
        seen = time.monotonic()
        while not self.ended.is_set():
            if any(sql(node.port, "SELECT 1 WHERE NOT pg_is_in_recovery()") == ["1"] for node in self.cluster.nodes):
                seen = time.monotonic()
            self.longest = max(self.longest, time.monotonic() - seen)
            time.sleep(0.1)

    def stop(self):
        self.ended.set()


def kill_primary(cluster):
    """Kills the primary and its Patroni, and starts them again after the other node was promoted."""
    node = cluster.primary()
    node.signal_all(signal.SIGKILL)
    node.process.wait()
    wait_until("the other node is promoted", lambda: cluster.primary() not in (None, node), 90)
    node.start()


def crash_postgres(cluster):
    """Kills PostgreSQL; Patroni starts it again or fails over."""
    os.kill(cluster.primary().postmaster(), signal.SIGKILL)
    time.sleep(1)


def freeze_primary(cluster):
    node = cluster.primary()
    node.signal_all(signal.SIGSTOP)
    time.sleep(FROZEN)
    node.signal_all(signal.SIGCONT)
    time.sleep(2)


def kill_standby(cluster):
    primary = cluster.primary()
    node = next(node for node in cluster.nodes if node is not primary)
    node.signal_all(signal.SIGKILL)
    node.process.wait()
    time.sleep(2)
    node.start()


def switch_over(cluster):
    primary = cluster.primary()
    other = next(node for node in cluster.nodes if node is not primary)
    primary.ask("/switchover", {"leader": primary.name, "candidate": other.name})


def restart(part_of):
    """Returns a fault that kills a part and starts it again."""
    def fault(cluster):
        part = part_of(cluster)
        part.kill()
        time.sleep(0.5)
        part.start()
        time.sleep(1)
    return fault


def stop(part_of):
    """Returns a fault that stops a part for a while."""
    def fault(cluster):
        part = part_of(cluster)
        part.signal(signal.SIGSTOP)
        time.sleep(STOPPED)
        part.signal(signal.SIGCONT)
        time.sleep(1)
    return fault


def restart_replicas(cluster):
    """A rolling restart: each replica ends in order and starts again once the one before it is healthy."""
    for replica in cluster.replicas:
        replica.end()
        replica.start()
        wait_until(f"{replica.name} is healthy", lambda replica=replica: cluster.is_healthy(replica))
        time.sleep(1)


def any_replica(cluster):
    return random.choice(cluster.replicas)


FAULTS = {
    "switchover": switch_over,
    "primary killed": kill_primary,
    "PostgreSQL crashed": crash_postgres,
    "primary frozen": freeze_primary,
    "standby killed": kill_standby,
    "etcd killed": restart(lambda cluster: cluster.etcd),
    "etcd stopped": stop(lambda cluster: cluster.etcd),
    "replica killed": restart(any_replica),
    "replica stopped": stop(any_replica),
    "pgbouncer killed": restart(lambda cluster: cluster.pgbouncer),
    "HAProxy killed": restart(lambda cluster: cluster.haproxy),
    "Redis killed": restart(lambda cluster: cluster.redis),
    "rolling restart": restart_replicas,
}
