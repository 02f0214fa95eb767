//! URLs and requests.

use super::super::check;
use super::super::setting::{Setting, UnusedForm, ValueType};
use super::rows::{Section, list, span, text, unused};

pub(super) const SECTION: Section = Section {
    title: "URLs and requests",
    intro: "",
    rows: &[
        text("GOTRUE_API_HOST", |d, _, v| d.config.listen.host = v)
            .doc("Host name or address to listen on; empty: all interfaces.", "127.0.0.1"),
        Setting::new(
            "GOTRUE_API_PORT",
            ValueType::Custom("a port from 0 to 65535", |d, _, v| {
                d.config.listen.port = v.parse().map_err(|_| "is not a port from 0 to 65535".to_owned())?;
                Ok(())
            }),
        )
        .with_alias("PORT")
        .default("8081")
        .doc("Port to listen on; 0: a free one.", "9999"),
        Setting::new(
            "GOTRUE_API_API_EXTERNAL_URL",
            ValueType::Custom("an absolute URL or an absolute path", |d, _, v| {
                v.clone_into(&mut d.policy.site.external_url);
                check::validate_url(v)
            }),
        )
        .with_alias("API_EXTERNAL_URL")
        .required()
        .doc("Public URL of this server, including the path prefix of a gateway.", "https://api.example.com/auth/v1"),
        text("GOTRUE_SITE_URL", |d, _, v| d.policy.site.site_url = v).required().doc(
            "URL of the site: the default redirect URL, and `{{ .SiteURL }}` of the mails.",
            "https://shop.example.com",
        ),
        Setting::new("GOTRUE_URI_ALLOW_LIST", ValueType::Custom("list", check::parse_allow_list)).doc(
            "Allowed redirect URLs besides the site: globs, in which `*` stops at `.` and `/`, and `**` does not.",
            "https://shop.example.com/**,myapp://**",
        ),
        list("GOTRUE_MAILER_EXTERNAL_HOSTS", |d, _, v| d.policy.site.mailer_external_hosts = v).doc(
            "Hosts that may replace that of the public URL in mailed links, if `X-Forwarded-Host` names them.",
            "auth.example.com",
        ),
        span("GOTRUE_API_MAX_REQUEST_DURATION", |d, _, v| d.policy.api.max_request_duration = v.to_std())
            .default("10s")
            .doc("A request that takes longer is answered with 504.", "30s"),
        text("GOTRUE_API_REQUEST_ID_HEADER", |d, _, v| d.policy.api.request_id_header = v)
            .with_alias("REQUEST_ID_HEADER")
            .doc("Request header that supplies the request id.", "X-Request-Id"),
        list("GOTRUE_CORS_ALLOWED_HEADERS", |d, _, v| d.policy.api.cors_allowed_headers = v)
            .doc("CORS request headers allowed besides the built-in ones.", "apikey,X-Shop-Trace"),
        Setting::new(
            "GOTRUE_INTERNAL_HTTP_TIMEOUT",
            ValueType::Custom("a duration such as 10s", |d, _, v| check::parse_outbound_timeout(d, v)),
        )
        .default("10s")
        .doc("Time limit of calls to identity providers and SMS senders; 0s means the default.", "20s"),
        unused("GOTRUE_API_ENDPOINT", UnusedForm::Text, "the reference does not use it either").doc("", "/"),
    ],
};
