//! Requests that leave.

use std::path::PathBuf;

use super::super::setting::{Put, Setting};
use super::{Section, text};

pub(super) const SECTION: Section = Section {
    title: "Outgoing requests",
    intro: "The usual variables, in capitals or in small letters.",
    rows: &[
        Setting::new(
            "HTTPS_PROXY",
            Put::Secret(|d, _, v| d.config.outbound.https_proxy = (!v.is_empty()).then_some(v)),
        )
        .or("https_proxy")
        .doc("Proxy for `https` addresses.", "http://proxy.example.com:3128"),
        Setting::new("HTTP_PROXY", Put::Secret(|d, _, v| d.config.outbound.http_proxy = (!v.is_empty()).then_some(v)))
            .or("http_proxy")
            .doc("Proxy for `http` addresses.", "http://proxy.example.com:3128"),
        text("NO_PROXY", |d, _, v| d.config.outbound.no_proxy = v)
            .or("no_proxy")
            .doc("Hosts reached without a proxy. This machine always is.", ".internal.example.com"),
        text("SSL_CERT_FILE", |d, _, v| d.config.outbound.ssl_cert_file = (!v.is_empty()).then(|| PathBuf::from(v)))
            .doc("A PEM file of trusted roots, in the place of the built-in ones.", "/etc/ssl/roots.pem"),
        text("SSL_CERT_DIR", |d, _, v| d.config.outbound.ssl_cert_dir = (!v.is_empty()).then_some(v))
            .doc("Folders of such files, between colons.", "/etc/ssl/certs"),
    ],
};
