import re
import subprocess
import sys
from datetime import datetime, timedelta, timezone

import pytest

from basalt_test import BasaltError, start_basalt


def test_worlds_share_nothing(basalt, world):
    world.users.create(email="ann@example.com")
    with basalt.world(name="other") as other:
        other.users.create(email="ann@example.com")
        assert other.url != world.url
        assert other.id in [it.id for it in basalt.worlds()]
    with pytest.raises(BasaltError) as refused:
        basalt.find(other.id)
    assert (refused.value.code, refused.value.status) == ("not_found", 404)


def test_clock_is_set_stopped_and_returned(world):
    frozen = world.clock.freeze(datetime(2030, 1, 1, tzinfo=timezone.utc))
    assert frozen["frozen"] and world.clock.now() == datetime(2030, 1, 1, tzinfo=timezone.utc)
    world.clock.advance(timedelta(hours=1))
    assert world.clock.now().hour == 1
    world.clock.rate(60)
    world.clock.unfreeze()
    world.clock.set("2031-01-01T00:00:00Z")
    assert world.clock.now().year == 2031
    assert world.clock.reset()["rate"] == 1
    with pytest.raises(BasaltError, match="time zone"):
        world.clock.set(datetime(2030, 1, 1))


def test_clock_takes_milliseconds_text_and_timedelta(world):
    world.clock.freeze(datetime(2030, 1, 1, tzinfo=timezone.utc))
    for length in (60_000, "1m", timedelta(minutes=1)):
        world.clock.advance(length)
    assert world.clock.now() == datetime(2030, 1, 1, 0, 3, tzinfo=timezone.utc)


def test_failed_test_shows_its_world(tmp_path):
    file = tmp_path / "test_failing.py"
    file.write_text("def test_it(world):\n    world.users.create(email='ann@example.com')\n    assert world.url == ''\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "basalt_test.pytest_plugin", "-p", "no:cacheprovider", str(file)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path).stdout
    assert "Basalt world" in shown and "events:" in shown and "messages:" in shown, shown
    assert re.search(r"^world \S+ \(http", shown, re.MULTILINE), shown


def test_state_is_stored_restored_and_copied(basalt, world):
    world.users.create()
    world.snapshot("one user")
    world.reset()
    user = world.users.create(email="ann@example.com")
    with pytest.raises(BasaltError):
        world.users.create(email="ann@example.com")
    world.restore("one user")
    with pytest.raises(BasaltError, match="create the user first"):
        world.sessions.create(user["email"])
    with basalt.world(from_="one user") as copy, world.fork() as fork:
        assert len({copy.id, fork.id, world.id}) == 3
    world.delete_snapshot("one user")


def test_missing_message_is_reported_with_those_that_came(world):
    with pytest.raises(BasaltError, match="no messages at all"):
        world.messages.wait("ann@example.com", timeout=0.1)
    assert world.messages.list() == []
    world.messages.delete()


def test_one_time_passwords_and_faults(world):
    user = world.users.create(factors=[{}])
    assert len(world.totp(user["factors"][0]["secret"])["code"]) == 6
    fault = world.faults.add({"status": 503}, match={"path": "/auth/v1/token"})
    assert [it["id"] for it in world.faults.list()] == [fault["id"]]
    world.faults.clear(fault["id"])
    assert world.faults.list() == []


def test_unknown_kinds_are_refused_with_the_nearest(world):
    with pytest.raises(BasaltError, match="did you mean recovery"):
        world.messages.list(kind="recovry")
    with pytest.raises(BasaltError, match="did you mean audit"):
        world.events(kind="audits")
    with pytest.raises(BasaltError, match="did you mean bounce"):
        world.faults.add({"failure": "bounced"}, target="smtp")


def test_recovery_codes_of_a_new_user(world):
    user = world.users.create(factors=[{}, {"type": "recovery_code", "codes": ["ABCD-efgh-2345-67ij"]}])
    codes = [factor["codes"] for factor in user["factors"] if factor["factor_type"] == "recovery_code"]
    assert codes == [["abcdefgh234567ij"]]


def test_settings_change_at_run_time(world):
    assert world.config({"auth": {"enable_signup": False}})["auth"]["enable_signup"] is False
    with pytest.raises(BasaltError, match="did you mean auth.enable_signup"):
        world.config({"auth": {"enable_sinup": False}})


def test_server_ends_with_its_block_and_missing_one_is_reported():
    with start_basalt(separate=True) as server:
        assert len(server.worlds()) == 1
    with pytest.raises(BasaltError, match="unreachable"):
        server.worlds()
    with pytest.raises(BasaltError, match="BASALT_BIN"):
        start_basalt(binary="/nowhere/basalt", separate=True)
    with pytest.raises(BasaltError, match="none.toml"):
        start_basalt(config="none.toml", separate=True)
