"""Faults: each takes the cluster, does something to one of its parts, and undoes it."""

import json
import os
import random
import signal
import subprocess
import time

from parts import wait_until
from server_process import SECRET

STOPPED = 5
"""How long a stopped part stands still, in seconds."""
UNANSWERED = 8
"""How long a replica stands still, in seconds: longer than HAProxy takes to notice it and the metrics to be read."""
LEADERLESS = 10
"""How long etcd stands still, in seconds: longer than Patroni tries, so that the primary steps down."""
FROZEN = 30
"""How long a frozen node stands still: longer than Patroni's time to live, so that the other one is promoted."""
PROMOTION_LIMIT = 90


def wait_for_promotion(cluster, former):
    wait_until("the other node is promoted", lambda: cluster.primary() not in (None, former), PROMOTION_LIMIT)


def kill_primary(cluster):
    """Kills the primary and its Patroni, and starts them again after the other node was promoted."""
    node = cluster.primary()
    node.signal_all(signal.SIGKILL)
    node.process.wait()
    wait_for_promotion(cluster, node)
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
    wait_for_promotion(cluster, primary)


def restart(part_of, after=0.5):
    """Returns a fault that kills a part and starts it again after a while."""
    def fault(cluster):
        part = part_of(cluster)
        part.kill()
        time.sleep(after)
        part.start()
        time.sleep(1)
    return fault


def stop(part_of, duration=STOPPED):
    """Returns a fault that stops a part for a while."""
    def fault(cluster):
        part = part_of(cluster)
        part.signal(signal.SIGSTOP)
        time.sleep(duration)
        part.signal(signal.SIGCONT)
        time.sleep(1)
    return fault


def restart_replicas(cluster):
    """A rolling restart: each replica ends in order and starts again once the one before it is healthy."""
    for replica in cluster.replicas:
        replica.end()
        replica.start()
        cluster.wait_for(replica)
        time.sleep(1)


def keys(cluster, current, *command):
    """Runs `basalt keys` on a list of keys; returns the list that it prints."""
    environment = os.environ | ({"GOTRUE_JWT_KEYS": current} if current else {"GOTRUE_JWT_SECRET": SECRET})
    done = subprocess.run([cluster.binary, "keys", "--gotrue", *command], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def rotate_keys(cluster):
    """Adds a signing key, signs with it, and retires the one before; each step takes a rolling restart."""
    def deploy(text):
        for replica in cluster.replicas:
            replica.environment["GOTRUE_JWT_KEYS"] = text
        restart_replicas(cluster)
        return text

    current = cluster.replicas[0].environment.get("GOTRUE_JWT_KEYS")
    before = [key["kid"] for key in json.loads(current or "[]") if "kid" in key]
    current = deploy(keys(cluster, current, "add", "signing"))
    current = deploy(keys(cluster, current, "rotate", "signing"))
    # The clients refresh all the time: soon none has an access token of the key before. The key of the secret stays.
    time.sleep(3)
    for kid in before:
        current = keys(cluster, current, "retire", kid)
    if before:
        deploy(current)


def any_replica(cluster):
    return random.choice(cluster.replicas)


FAULTS = {
    "switchover": switch_over,
    "primary killed": kill_primary,
    "PostgreSQL crashed": crash_postgres,
    "primary frozen": freeze_primary,
    "standby killed": kill_standby,
    "etcd killed": restart(lambda cluster: cluster.etcd),
    "etcd frozen": stop(lambda cluster: cluster.etcd, LEADERLESS),
    "pgbouncer killed": restart(lambda cluster: cluster.pgbouncer),
    "pgbouncer frozen": stop(lambda cluster: cluster.pgbouncer),
    "HAProxy killed": restart(lambda cluster: cluster.haproxy),
    "HAProxy frozen": stop(lambda cluster: cluster.haproxy),
    "Redis killed": restart(lambda cluster: cluster.redis),
    "Redis frozen": stop(lambda cluster: cluster.redis),
    "replica killed": restart(any_replica, 3),
    "replica frozen": stop(any_replica, UNANSWERED),
    "rolling restart": restart_replicas,
    "key rotation": rotate_keys,
}
BASALT_ONLY = ("pgbouncer killed", "pgbouncer frozen", "Redis killed", "Redis frozen", "key rotation")
"""Faults of parts that the reference does not use."""
