//! Outgoing requests.

use std::path::PathBuf;

use super::super::setting::{Setting, ValueType};
use super::rows::{Section, text};

pub(super) const SECTION: Section = Section {
    title: "Outgoing requests",
    intro: "The usual variables, in upper or lower case.",
    rows: &[
        Setting::new(
            "HTTPS_PROXY",
            ValueType::Secret(|d, _, v| d.config.outbound.https_proxy = (!v.is_empty()).then_some(v)),
        )
        .with_alias("https_proxy")
        .doc("Proxy for `https` URLs.", "http://proxy.example.com:3128")
        .shared(),
        Setting::new(
            "HTTP_PROXY",
            ValueType::Secret(|d, _, v| d.config.outbound.http_proxy = (!v.is_empty()).then_some(v)),
        )
        .with_alias("http_proxy")
        .doc("Proxy for `http` URLs.", "http://proxy.example.com:3128")
        .shared(),
        text("NO_PROXY", |d, _, v| d.config.outbound.no_proxy = v)
            .with_alias("no_proxy")
            .doc("Hosts reached without a proxy, in addition to localhost.", ".internal.example.com")
            .shared(),
        text("SSL_CERT_FILE", |d, _, v| d.config.outbound.ssl_cert_file = (!v.is_empty()).then(|| PathBuf::from(v)))
            .doc("PEM file of trusted roots that replace the system's.", "/etc/ssl/roots.pem"),
        text("SSL_CERT_DIR", |d, _, v| d.config.outbound.ssl_cert_dir = (!v.is_empty()).then_some(v))
            .doc("Folders of such files, colon-separated.", "/etc/ssl/certs"),
    ],
};
