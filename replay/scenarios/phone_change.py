"""Change of the phone number: PUT /user, then the code sent by SMS."""

from harness.messages import backdate, text_message
from harness.registry import scenario


def person_with_a_number(flow, number=0):
    phone = flow.phone(number)
    flow.post("/signup", {"phone": phone, "password": "correct horse"}, record=False)
    session = flow.post("/verify", {"type": "sms", "phone": phone, "token": text_message(flow)[2]}, record=False)
    return {"phone": phone, "id": session["user"]["id"], "token": session["access_token"]}


@scenario("otp-codes")
def new_number_confirms(flow):
    ann, new = person_with_a_number(flow), flow.phone(1)
    flow.put("/user", {"phone": "+" + new}, token=ann["token"])
    message, _, code = text_message(flow)
    flow.note("text message", message)
    flow.post("/verify", {"type": "phone_change", "phone": ann["phone"], "token": code}, label="with the old number")
    flow.post("/verify", {"type": "sms", "phone": new, "token": code}, label="as sms")
    flow.post("/verify", {"type": "phone_change", "phone": new, "token": code})
    flow.post("/token?grant_type=password", {"phone": ann["phone"], "password": "correct horse"}, label="sign in with the old number")
    flow.post("/token?grant_type=password", {"phone": new, "password": "correct horse"}, label="sign in with the new number")


@scenario("otp-codes")
def user_with_an_address_adds_a_number(flow):
    ann, phone = flow.new_user(), flow.phone()
    flow.put("/user", {"phone": phone}, token=ann["token"])
    code = text_message(flow)[2]
    flow.note("pending", flow.database.query(f"select coalesce(phone, ''), phone_change, phone_change_token <> '' from auth.users where id = '{ann['id']}'"))
    flow.post("/verify", {"type": "phone_change", "phone": phone, "token": code})
    flow.get("/user", token=ann["token"])


@scenario("otp-codes")
def code_expires(flow):
    ann, phone = flow.new_user(), flow.phone()
    flow.put("/user", {"phone": phone}, token=ann["token"], record=False)
    code = text_message(flow)[2]
    backdate(flow, "phone_change_sent_at", 61, email=ann["email"])
    flow.post("/verify", {"type": "phone_change", "phone": phone, "token": code})
    flow.post("/resend", {"type": "phone_change", "phone": phone}, label="resend by the new number")
    flow.note("text messages", len(flow.hooks.calls))


@scenario("otp-codes")
def numbers_that_do_not_go(flow):
    ann, bob = flow.new_user(), person_with_a_number(flow)
    flow.put("/user", {"phone": bob["phone"]}, token=ann["token"], label="a taken number")
    flow.put("/user", {"phone": "12-34"}, token=ann["token"], label="a malformed number")
    flow.put("/user", {"phone": ""}, token=ann["token"], label="an empty number")
    flow.put("/user", {"phone": "+" + bob["phone"]}, token=bob["token"], label="the current number")
    flow.note("text messages", len(flow.hooks.calls))


@scenario("otp-codes")
def resent_by_the_current_number(flow):
    ann, new = person_with_a_number(flow), flow.phone(1)
    flow.put("/user", {"phone": new}, token=ann["token"], record=False)
    text_message(flow)
    flow.post("/resend", {"type": "phone_change", "phone": ann["phone"]})
    message, _, code = text_message(flow)
    flow.note("text message", message)
    flow.post("/verify", {"type": "phone_change", "phone": new, "token": code})


@scenario("otp-codes")
def test_number(flow):
    ann = flow.new_user()
    flow.put("/user", {"phone": "15550100003"}, token=ann["token"])
    flow.post("/verify", {"type": "phone_change", "phone": "15550100003", "token": "111222"})


@scenario("otp-codes")
def hook_that_refuses_leaves_the_number(flow):
    ann = flow.new_user()
    flow.hooks.reply("/sms", 200, {"error": {"http_code": 403, "message": "not to this country"}})
    flow.put("/user", {"phone": flow.phone(), "data": {"name": "Ann"}}, token=ann["token"])
    flow.get("/user", token=ann["token"], label="nothing was changed")


@scenario()
def number_without_a_sender(flow):
    ann = flow.new_user()
    flow.put("/user", {"phone": flow.phone()}, token=ann["token"])
    flow.put("/user", {"phone": flow.phone(), "channel": "whatsapp"}, token=ann["token"], label="whatsapp")


@scenario("otp-autoconfirm")
def where_numbers_need_no_confirmation(flow):
    ann = flow.new_user()
    flow.put("/user", {"phone": flow.phone()}, token=ann["token"])
    flow.note("text messages", len(flow.hooks.calls))
