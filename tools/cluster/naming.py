"""Whether a fault is named: by a metric and a log line of the replicas, or by what watches them, and how soon."""

import threading
import time

LIMIT = 15.0
"""The time within which a fault is named, in seconds."""
DATABASE = (("basalt_database_unavailable_total",), ("the database cannot be reached", "database_unavailable"))
# Without a request during the restart, the loss of its connections is all that a replica notices of a proxy.
PROXY = (
    (*DATABASE[0], "basalt_database_idle_connections_lost_total", "basalt_database_repetitions_total"),
    (*DATABASE[1], "idle database connections were lost", "repeated on another connection"),
)
LIMITS = (('basalt_limit_store_calls_total{outcome="failed"}',), ("the store of rate limits is unreachable",))
EXPECTED = {
    "switchover": DATABASE, "primary killed": DATABASE, "PostgreSQL crashed": DATABASE, "primary frozen": DATABASE,
    "etcd frozen": DATABASE, "pgbouncer killed": PROXY, "pgbouncer frozen": DATABASE, "HAProxy killed": PROXY,
    "Redis killed": LIMITS, "Redis frozen": LIMITS,
}
"""Not a standby without reads nor a short absence of etcd, which change nothing for the replicas; while HAProxy is frozen,
no request reaches them."""
OF_REPLICAS = ("replica killed", "replica frozen")
"""Named by HAProxy's log, and by the replica's metrics, which cannot be read."""


def total(text, series):
    """The sum of the series of metrics."""
    return sum(float(line.rsplit(" ", 1)[1]) for line in (text or "").splitlines() if line.startswith(series))


class Watch(threading.Thread):
    """Waits until a fault is named, from its injection on; `after` is the time that took."""

    def __init__(self, cluster, fault):
        super().__init__(daemon=True)
        self.cluster, self.fault, self.after, self.began = cluster, fault, None, time.monotonic()
        self.is_expected = not cluster.is_reference and (fault in EXPECTED or fault in OF_REPLICAS)
        self.offsets = {part: part.log.stat().st_size for part in (*cluster.replicas, cluster.haproxy)}
        self.before = {replica: self.value(replica) for replica in cluster.replicas} if fault in EXPECTED else {}

    def value(self, replica):
        return total(self.cluster.metrics(replica), EXPECTED[self.fault][0])

    def run(self):
        while self.is_expected and time.monotonic() - self.began < LIMIT:
            if self.is_down() if self.fault in OF_REPLICAS else self.is_named():
                self.after = time.monotonic() - self.began
                return
            time.sleep(0.25)

    def is_named(self):
        """Whether one replica counts the fault and writes it to its log."""
        lines = EXPECTED[self.fault][1]
        for replica in self.cluster.replicas:
            text = replica.log_from(self.offsets[replica])
            if any(line in text for line in lines) and self.value(replica) > self.before[replica]:
                return True
        return False

    def is_down(self):
        log = self.cluster.haproxy.log_from(self.offsets[self.cluster.haproxy])
        return "is DOWN" in log and any(self.cluster.metrics(replica) is None for replica in self.cluster.replicas)

    def describe(self):
        if not self.is_expected:
            return "-"
        return "no" if self.after is None else f"{self.after:.1f}"
