//! Phone messages.

use std::time::Duration;

use super::super::check;
use super::super::setting::{Setting, ValueType};
use super::rows::{Section, digits, map, natural, or_seconds, span, switch, text, whole};

pub(super) const SECTION: Section = Section {
    title: "Phone messages",
    intro: "",
    rows: &[
        switch("GOTRUE_SMS_AUTOCONFIRM", |d, _, v| d.policy.sms.autoconfirm = v)
            .default("false")
            .doc("A new number is confirmed without a message.", "true"),
        span("GOTRUE_SMS_MAX_FREQUENCY", |d, _, v| d.policy.sms.max_frequency = or_seconds(v, 60))
            .default("1m")
            .doc("Minimum interval between two messages to one user; 0s means the default.", "30s"),
        natural("GOTRUE_SMS_OTP_EXP", |d, _, n| {
            d.policy.sms.otp_exp = Duration::from_secs(if n == 0 { 60 } else { n });
        })
        .with_unit("seconds")
        .default("60")
        .doc("Lifetime of a code; 0 means the default.", "600"),
        whole("GOTRUE_SMS_OTP_LENGTH", |d, _, n| d.policy.sms.otp_length = digits(n))
            .with_unit("digits")
            .default("6")
            .doc("Length of a code, 6 to 10; any other value means 6.", "8"),
        text("GOTRUE_SMS_TEMPLATE", |d, _, v| {
            if !v.is_empty() {
                d.policy.sms.template = v;
            }
        })
        .default("Your code is {{ .Code }}")
        .doc("Text of a message (a Go template over `.Code`).", "{{ .Code }} is your code"),
        map("GOTRUE_SMS_TEST_OTP", |d, _, v| {
            let plain = |phone: String| phone.strip_prefix('+').unwrap_or(&phone).replace(' ', "");
            d.policy.sms.test_otp = v.into_iter().map(|(phone, code)| (plain(phone), code)).collect();
        })
        .doc("Test numbers with a fixed code, to which nothing is sent.", "15550100001:123456"),
        Setting::new(
            "GOTRUE_SMS_TEST_OTP_VALID_UNTIL",
            ValueType::Custom("a time such as 2030-01-31T12:00:00Z", check::parse_test_otp_valid_until),
        )
        .doc("Expiry of the test numbers; empty: never.", "2030-01-31T12:00:00Z"),
        text("GOTRUE_SMS_PROVIDER", |d, _, v| d.policy.sms.provider_name = v)
            .doc("SMS provider: `twilio`, `twilio_verify`, `messagebird`, `textlocal` or `vonage`.", "twilio"),
        text("GOTRUE_SMS_TWILIO_ACCOUNT_SID", |d, _, v| put(d, "twilio.account_sid", v))
            .doc("Twilio: the account SID.", "AC00000000000000000000000000000000"),
        text("GOTRUE_SMS_TWILIO_AUTH_TOKEN", |d, _, v| put(d, "twilio.auth_token", v))
            .hidden()
            .doc("Twilio: the auth token.", "the-token"),
        text("GOTRUE_SMS_TWILIO_MESSAGE_SERVICE_SID", |d, _, v| put(d, "twilio.message_service_sid", v))
            .doc("Twilio: the messaging service, or the number to send from.", "MG00000000000000000000000000000000"),
        text("GOTRUE_SMS_TWILIO_CONTENT_SID", |d, _, v| put(d, "twilio.content_sid", v))
            .doc("Twilio: the content template for WhatsApp.", "HX00000000000000000000000000000000"),
        text("GOTRUE_SMS_TWILIO_VERIFY_ACCOUNT_SID", |d, _, v| put(d, "twilio_verify.account_sid", v))
            .doc("Twilio Verify: the account SID.", "AC00000000000000000000000000000000"),
        text("GOTRUE_SMS_TWILIO_VERIFY_AUTH_TOKEN", |d, _, v| put(d, "twilio_verify.auth_token", v))
            .hidden()
            .doc("Twilio Verify: the auth token.", "the-token"),
        text("GOTRUE_SMS_TWILIO_VERIFY_MESSAGE_SERVICE_SID", |d, _, v| put(d, "twilio_verify.message_service_sid", v))
            .doc("Twilio Verify: the service SID.", "VA00000000000000000000000000000000"),
        text("GOTRUE_SMS_MESSAGEBIRD_ACCESS_KEY", |d, _, v| put(d, "messagebird.access_key", v))
            .hidden()
            .doc("MessageBird: the access key.", "the-key"),
        text("GOTRUE_SMS_MESSAGEBIRD_ORIGINATOR", |d, _, v| put(d, "messagebird.originator", v))
            .doc("MessageBird: the displayed sender.", "Shop"),
        text("GOTRUE_SMS_TEXTLOCAL_API_KEY", |d, _, v| put(d, "textlocal.api_key", v))
            .hidden()
            .doc("Textlocal: the API key.", "the-key"),
        text("GOTRUE_SMS_TEXTLOCAL_SENDER", |d, _, v| put(d, "textlocal.sender", v))
            .doc("Textlocal: the displayed sender.", "Shop"),
        text("GOTRUE_SMS_VONAGE_API_KEY", |d, _, v| put(d, "vonage.api_key", v))
            .hidden()
            .doc("Vonage: the API key.", "abcd1234"),
        text("GOTRUE_SMS_VONAGE_API_SECRET", |d, _, v| put(d, "vonage.api_secret", v))
            .hidden()
            .doc("Vonage: the API secret.", "the-secret"),
        text("GOTRUE_SMS_VONAGE_FROM", |d, _, v| put(d, "vonage.from", v)).doc("Vonage: the displayed sender.", "Shop"),
    ],
};

fn put(draft: &mut super::super::draft::Draft, key: &'static str, value: String) {
    draft.sms.insert(key, value);
}
