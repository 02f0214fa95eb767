"""Tests of the verdict: python3 -m unittest discover --start-directory tools/cluster"""

import types
import unittest

from verdict import Round, is_record_right, is_round_right

REPLICAS = [types.SimpleNamespace(name=name) for name in ("r1", "r2")]
EVERY_TENTH = [number / 10 for number in range(100)]
OUTAGE = [at for at in EVERY_TENTH if not 3 < at < 6]


def measure(acknowledged, database=OUTAGE, is_named=True):
    """A round of ten seconds with a database that accepts no write from 3 to 6."""
    cluster = types.SimpleNamespace(replicas=REPLICAS, times=lambda way: database, times_of=lambda replica: database)
    load = types.SimpleNamespace(record=types.SimpleNamespace(acknowledged=acknowledged))
    watch = types.SimpleNamespace(after=1.0 if is_named else None, is_expected=True, describe=lambda: "")
    one = Round([0] * 5, watch)
    one.measure(cluster, load, 0.0, 9.9)
    return one


def record(**changed):
    return types.SimpleNamespace(**{"created": ["a@example.com"], "signed_out": [], "wrong": []} | changed)


class Rounds(unittest.TestCase):
    def test_writes_of_every_replica_after_the_outage_are_right(self):
        one = measure([(1.0, "r1"), (6.5, "r1"), (7.0, "r2")])
        self.assertTrue(is_round_right(one))
        self.assertAlmostEqual(one.first, 0.5)
        self.assertAlmostEqual(one.last, 1.0)

    def test_no_write_after_the_outage_is_a_failure(self):
        self.assertFalse(is_round_right(measure([(1.0, "r1"), (2.0, "r2")])))

    def test_a_replica_without_a_write_after_the_outage_is_a_failure(self):
        self.assertFalse(is_round_right(measure([(2.0, "r2"), (6.5, "r1"), (7.0, "r1")])))

    def test_a_round_without_any_write_is_a_failure(self):
        self.assertFalse(is_round_right(measure([], EVERY_TENTH)))
        self.assertFalse(is_round_right(measure([(-1.0, "r1"), (11.0, "r1")], EVERY_TENTH)))
        self.assertTrue(is_round_right(measure([(1.0, "r1")], EVERY_TENTH)))

    def test_a_fault_without_a_name_is_a_failure(self):
        self.assertFalse(is_round_right(measure([(1.0, "r1"), (6.5, "r1"), (7.0, "r2")], is_named=False)))


class Records(unittest.TestCase):
    def test_users_who_are_kept_are_right(self):
        self.assertTrue(is_record_right(record(), []))

    def test_a_run_without_a_user_is_a_failure(self):
        self.assertFalse(is_record_right(record(created=[]), []))

    def test_lost_signed_out_and_wrong_are_failures(self):
        self.assertFalse(is_record_right(record(), ["a@example.com"]))
        self.assertFalse(is_record_right(record(signed_out=["refresh: 400"]), []))
        self.assertFalse(is_record_right(record(wrong=["user: 404"]), []))


if __name__ == "__main__":
    unittest.main()
