"""What a round measured, and whether a run is as it has to be."""

from probe import longest_gap

OUTAGE = 0.5
"""A shorter time without a write over a way to the database is no outage, in seconds."""


class Round:
    """The numbers of one round."""

    def __init__(self, counts, watch):
        self.counts, self.named, self.is_named = counts, watch.describe(), watch.after is not None or not watch.is_expected
        self.primary = self.writes = 0.0
        self.first = self.last = None
        self.is_recovered = True

    def measure(self, cluster, load, began, end):
        """Takes the longest gaps, and how much later than the database the writes are back."""
        acknowledged = load.record.acknowledged
        self.primary, back = length(longest_gap(cluster.times("direct"), began, end))
        times = [at for at, _ in acknowledged]
        self.writes = length(longest_gap(times, began, end))[0]
        self.is_recovered = any(began <= at <= end for at in times)
        if self.primary > OUTAGE:
            self.first = self.delay(times, back)
        for replica in cluster.replicas:
            away, back = length(longest_gap(cluster.times_of(replica), began, end))
            if away > OUTAGE:
                later = self.delay([at for at, name in acknowledged if name == replica.name], back)
                self.last = max(self.last or 0.0, later or 0.0)

    def delay(self, times, back):
        """The time from the return of the database to the first acknowledged write; None if there was none."""
        first = next((at for at in times if at >= back), None)
        self.is_recovered &= first is not None
        return None if first is None else first - back


def length(gap):
    """The length and the end of a gap."""
    return gap[1] - gap[0], gap[1]


def is_round_right(one):
    """Whether clients wrote during the round and after the fault, and the fault was named."""
    return one.is_named and one.is_recovered


def is_record_right(record, lost):
    """Whether clients created users, none of them was lost or signed out, and no answer was wrong."""
    return bool(record.created) and not lost and not record.signed_out and not record.wrong
