//! Mails.

use std::time::Duration;

use gotrue_rules::domain::policy::MailKind;

use super::super::draft::{Draft, parse_header_lists};
use super::super::setting::{Family, Setting, ValueType};
use super::rows::{Section, count, digits, natural, span, switch, text, whole};

pub(super) const SECTION: Section = Section {
    title: "Mails",
    intro: "`<MAIL>` is one of `INVITE`, `CONFIRMATION`, `RECOVERY`, `MAGIC_LINK`, `EMAIL_CHANGE`, \
            `REAUTHENTICATION` or `<NOTIFICATION>_NOTIFICATION`; `<NOTIFICATION>` is one of `PASSWORD_CHANGED`, \
            `EMAIL_CHANGED`, `PHONE_CHANGED`, `IDENTITY_LINKED`, `IDENTITY_UNLINKED`, `MFA_FACTOR_ENROLLED`, \
            `MFA_FACTOR_UNENROLLED`; `<LINK>` is one of `INVITE`, `CONFIRMATION`, `RECOVERY`, `EMAIL_CHANGE`.",
    rows: &[
        switch("GOTRUE_MAILER_AUTOCONFIRM", |d, _, v| d.policy.mail.autoconfirm = v)
            .default("false")
            .doc("A new address is confirmed without a mail.", "true"),
        switch("GOTRUE_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS", |d, _, v| d.policy.mail.allow_unverified_sign_ins = v)
            .default("false")
            .doc(
                "A user may sign in by password before the address is confirmed. Not together with the setting above.",
                "true",
            ),
        switch("GOTRUE_MAILER_SECURE_EMAIL_CHANGE_ENABLED", |d, _, v| d.policy.mail.secure_email_change = v)
            .default("true")
            .doc("A change of address must be confirmed at the old and the new one.", "false"),
        natural("GOTRUE_MAILER_OTP_EXP", |d, _, n| {
            d.policy.mail.otp_exp = Duration::from_secs(if n == 0 { 86_400 } else { n });
        })
        .with_unit("seconds")
        .default("86400")
        .doc("Lifetime of a mailed code or link; 0 means the default.", "3600"),
        whole("GOTRUE_MAILER_OTP_LENGTH", |d, _, n| d.policy.mail.otp_length = digits(n))
            .with_unit("digits")
            .default("6")
            .doc("Length of a mailed code, 6 to 10; any other value means 6.", "8"),
        text("GOTRUE_MAILER_URLPATHS_*", link_path).for_family(Family::Links).default("/verify").doc(
            "Path or absolute URL of mailed links. Magic links use that of `RECOVERY`.",
            "https://api.example.com/auth/v1/verify",
        ),
        text("GOTRUE_MAILER_SUBJECTS_*", |d, mail, v| {
            if !v.is_empty() {
                d.policy.mail.subjects.extend(kind(mail).map(|kind| (kind, v)));
            }
        })
        .for_family(Family::Mails)
        .doc("Subject of a mail (a Go template); empty: the built-in one.", "Your code is {{ .Token }}"),
        text("GOTRUE_MAILER_TEMPLATES_*", |d, mail, v| {
            if !v.is_empty() {
                d.policy.mail.templates.extend(kind(mail).map(|kind| (kind, v)));
            }
        })
        .for_family(Family::Mails)
        .doc(
            "Source of the body of a mail (a Go template): a URL, `file:///…`, or a path below the site URL; empty: \
             the built-in one.",
            "https://shop.example.com/mails/code.html",
        ),
        switch("GOTRUE_MAILER_NOTIFICATIONS_*_ENABLED", |d, notification, v| {
            if v {
                d.policy.mail.notifications.extend(kind(&format!("{notification}_notification")));
            }
        })
        .for_family(Family::Notifications)
        .default("false")
        .doc("This notification is sent.", "true"),
        whole("GOTRUE_MAILER_TEMPLATE_MAX_SIZE", |d, _, n| d.policy.mail.template_fetch.max_size = count(n))
            .with_unit("bytes")
            .default("1000000")
            .doc("Maximum size of a fetched body; the rest is cut off.", "200000"),
        span("GOTRUE_MAILER_TEMPLATE_MAX_AGE", |d, _, v| d.policy.mail.template_fetch.max_age = v.to_std())
            .default("10m")
            .doc("How long a fetched body is cached.", "1h"),
        span("GOTRUE_MAILER_TEMPLATE_RETRY_INTERVAL", |d, _, v| {
            d.policy.mail.template_fetch.retry_interval = v.to_std();
        })
        .default("10s")
        .doc("Interval after a failed fetch.", "1m"),
        switch("GOTRUE_MAILER_TEMPLATE_RELOADING_ENABLED", |d, _, v| {
            d.policy.mail.template_fetch.reloading_enabled = v;
        })
        .default("false")
        .doc("Bodies are fetched again in the background.", "true"),
        span("GOTRUE_MAILER_TEMPLATE_RELOADING_MAX_IDLE", |d, _, v| {
            d.policy.mail.template_fetch.reloading_max_idle = v.to_std();
        })
        .default("20m")
        .doc("Background fetching pauses after this time without a request.", "5m"),
        switch("GOTRUE_MAILER_EMAIL_BACKGROUND_SENDING", |d, _, v| d.policy.mail.background_sending = v)
            .default("false")
            .doc("A failure to send a mail is only logged.", "true"),
        switch("GOTRUE_MAILER_EMAIL_VALIDATION_EXTENDED", |d, _, v| d.policy.mail.address_check.extended = v)
            .default("false")
            .doc("Example addresses and hosts without a mail server are rejected.", "true"),
        text("GOTRUE_MAILER_EMAIL_VALIDATION_SERVICE_URL", |d, _, v| d.policy.mail.address_check.service_url = v)
            .doc("URL of a service that validates each address.", "https://check.example.com"),
        Setting::new(
            SERVICE_HEADERS,
            ValueType::Custom("a JSON object of lists of texts", |d, _, v| {
                service_headers(d, v);
                Ok(())
            }),
        )
        .hidden()
        .doc("Headers of that request: a JSON object of lists.", "{\"apikey\":[\"the-key\"]}"),
        Setting::new(
            BLOCKED_MX,
            ValueType::Custom("a JSON list of texts", |d, _, v| {
                blocked_mx(d, v);
                Ok(())
            }),
        )
        .doc("Blocked mail servers: a JSON list.", "[\"mx.example.com\"]"),
    ],
};

const SERVICE_HEADERS: &str = "GOTRUE_MAILER_EMAIL_VALIDATION_SERVICE_HEADERS";
const BLOCKED_MX: &str = "GOTRUE_MAILER_EMAIL_VALIDATION_BLOCKED_MX";

fn kind(name: &str) -> Option<MailKind> {
    MailKind::ALL.into_iter().find(|kind| kind.as_str() == name)
}

fn link_path(draft: &mut Draft, link: &str, path: String) {
    let paths = &mut draft.policy.mail.paths;
    let slot = match link {
        "invite" => &mut paths.invite,
        "confirmation" => &mut paths.confirmation,
        "recovery" => &mut paths.recovery,
        _ => &mut paths.email_change,
    };
    if !path.is_empty() {
        *slot = path;
    }
}

fn service_headers(draft: &mut Draft, text: &str) {
    match parse_header_lists(text) {
        Some(headers) => draft.policy.mail.address_check.service_headers = headers,
        None if text.is_empty() => {}
        None => draft.warn(SERVICE_HEADERS, "is not a JSON object of lists of texts and is left out of account"),
    }
}

fn blocked_mx(draft: &mut Draft, text: &str) {
    match serde_json::from_str::<Vec<String>>(text) {
        Ok(hosts) => {
            let plain = hosts.iter().map(|host| host.strip_suffix('.').unwrap_or(host).to_owned());
            draft.policy.mail.address_check.blocked_mx = plain.collect();
        }
        Err(_) if text.is_empty() => {}
        Err(_) => draft.warn(BLOCKED_MX, "is not a JSON list of texts and is left out of account"),
    }
}
