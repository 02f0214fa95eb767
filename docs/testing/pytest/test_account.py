import pytest
from account import Account
from supabase import Client, create_client

EMAIL = "ann@example.com"


@pytest.fixture
def supabase(world) -> Client:
    return create_client(world.url, world.publishable_key)


def test_mailed_code_signs_in(world, supabase):
    account = Account(supabase)
    account.request_code(EMAIL)
    assert account.enter_code(EMAIL, world.messages.wait(EMAIL)["code"])
    assert account.current_email() == EMAIL


def test_code_expires_after_an_hour(world, supabase):
    account = Account(supabase)
    account.request_code(EMAIL)
    code = world.messages.wait(EMAIL)["code"]
    world.clock.advance("61m")
    assert not account.enter_code(EMAIL, code)


def test_session_needs_no_sign_in(world, supabase):
    user = world.users.create()
    session = world.sessions.create(user)["session"]
    supabase.auth.set_session(session["access_token"], session["refresh_token"])
    account = Account(supabase)
    assert account.current_email() == user["email"]
    world.clock.advance("61m")
    assert account.current_email() is None


@pytest.mark.basalt_world(config={"auth": {"enable_signup": False}})
def test_sign_up_can_be_disabled(supabase):
    with pytest.raises(Exception, match="(?i)signups? not allowed"):
        supabase.auth.sign_up({"email": EMAIL, "password": "correct horse battery"})
