//! `[basalt]`: settings that the Supabase CLI does not have.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use foundation::email::Email;
use foundation::limits::Bucket;
use foundation::limits_policy::TargetLimits;
use foundation::mail_brand::MailBrand;
use functions_rs::functions::send_submission::limits::MAX_NOTICES;
use gateway::{GatewayLimits, Upstreams};
use gotrue_rules::domain::policy::PROVIDERS;
use gotrue_rules::domain::redirect::is_loopback_url;
use gotrue_rules::wire::go_duration::GoDuration;
use ipnet::IpNet;
use orders::settings::PaymentSettings;

use super::archive::{ArchiveSettings, parse_archive};
use super::brand::parse_brand;
use super::chosen_secrets::{MIN_SECRET_LENGTH, SHORT_SECRET};
use super::data_api::DataApiSettings;
use super::mailed_links::MailedLinkSettings;
use super::origins::{parse_desk_url, parse_hsts_max_age};
use super::payment::parse_payment;
use super::read::Values;
use super::seller::SellerSettings;
use super::storage::StorageSettings;
use super::submissions::{SubmissionJobs, parse_jobs};
use super::unset::is_for_other_machines;
use super::upstreams::{VALID_TIMEOUTS, parse_limits, parse_upstreams};
use crate::api_keys;
use crate::problem::Problem;
use http_edge::{HttpLimits, TlsFiles};

/// The table `[basalt]` with its defaults.
#[derive(Debug, Clone)]
pub(crate) struct BasaltSettings {
    /// `host`: the listening address; 127.0.0.1 by default.
    pub host: IpAddr,
    /// `[basalt.metrics] port`, or `metrics_port`: port of the Prometheus metrics; `None` disables them.
    pub metrics_port: Option<u16>,
    /// `[basalt.metrics] host`: address of the Prometheus metrics; 127.0.0.1 by default.
    pub metrics_host: IpAddr,
    /// `log_level`: a level or filter as in `RUST_LOG`, such as `info` or `debug`.
    pub log_level: Option<String>,
    pub log_format: LogFormat,
    /// `trusted_proxies`: networks whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// `[basalt.rate_limit]`: limits by account, address and number.
    pub limits: TargetLimits,
    /// `[basalt.http]`: connection limits and timeouts; the proxies are exempt from the limit per peer.
    pub http: HttpLimits,
    /// `[basalt.replicas] expected`: the number of servers on the database; `None` if it is not known.
    pub expected_replicas: Option<u32>,
    /// `password_hash = "bcrypt"`: new passwords are hashed as by Supabase, and existing hashes stay.
    pub keeps_bcrypt: bool,
    /// `[basalt.replicas] allow_differences`: start although the keys of a running replica differ.
    pub allow_differing_replicas: bool,
    /// `[api]` and `[basalt.data_api]`: the data API.
    pub data_api: DataApiSettings,
    /// `[storage]` and `[basalt.storage]`: the storage API.
    pub storage: StorageSettings,
    /// `[basalt.desk] enabled`: whether the shop has the owner's desk; true by default.
    pub has_desk: bool,
    /// `[basalt.desk] url`: the origin of the desk, if it has one of its own.
    pub desk_url: Option<String>,
    /// `[basalt.mailed_links]`: the pages of links in mails.
    pub mailed_links: MailedLinkSettings,
    /// `hsts_max_age`: the life of `Strict-Transport-Security`; zero for none.
    pub hsts_max_age: Duration,
    /// `[basalt.shop] owner`: the recipient of a mail about each submission.
    pub shop_owner: Option<String>,
    /// `[basalt.shop]` `name`, `accent_color`, `logo_url` and `address`: the look of the built-in mails.
    pub mail_brand: MailBrand,
    /// `[basalt.shop.seller]`: who sells, and the files with the terms.
    pub seller: SellerSettings,
    /// `[basalt.shop] notices_an_hour`: limit of those mails; `None` for the default.
    pub notices_an_hour: Option<u16>,
    /// The jobs of submissions: daily digest, webhook, retention.
    pub submission_jobs: SubmissionJobs,
    /// `[basalt.shop.payment]`: payment providers, download links, products.
    pub payment: PaymentSettings,
    /// `development_pages`: whether callers on this machine may use them.
    /// `None` derives it from the configuration.
    pub development_pages: Option<bool>,
    /// `demo_keys`: whether the keys that the Supabase CLI publishes are those of this server, on this machine alone.
    pub has_demo_keys: bool,
    /// `[basalt.inbox] token`: grants access to the development inbox from other machines.
    pub inbox_token: Option<String>,
    /// `[basalt.tls]`: certificate and key, relative to the file's folder; `None` serves HTTP.
    pub tls: Option<TlsFiles>,
    /// `[basalt.upstreams]`: services that the operator runs.
    pub upstreams: Upstreams,
    /// The limits of requests to them.
    pub upstream_limits: GatewayLimits,
    /// `[basalt.database] archive`: the archive of the write-ahead log; `None` keeps none.
    pub archive: Option<ArchiveSettings>,
    /// `[basalt.provider] stands_in_for`: providers replaced by the development provider; empty: off.
    pub stands_in_for: Vec<String>,
}

/// The highest configurable limit per hour.
const MAX_PER_HOUR: u32 = 1_000_000;
/// The keys of a project in `[auth]`.
const KEYS_OF_PROJECT: [&str; 5] = ["jwt_secret", "anon_key", "service_role_key", "publishable_key", "secret_key"];
/// The highest number of servers on a database.
const MAX_REPLICAS: u32 = 1_000;

/// Format of a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Plain text.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

impl BasaltSettings {
    pub(super) fn from_values(values: &Values, problems: &mut Vec<Problem>) -> Self {
        let mut refuse = |key: &str, text: &str| problems.push(values.build_problem(key, text));
        let text = |key: &str| values.text(key).filter(|text| !text.is_empty()).map(str::to_owned);
        let host = text("basalt.host").and_then(|host| {
            let address = host.parse().ok();
            if address.is_none() {
                refuse("basalt.host", "must be an address of this machine, such as \"127.0.0.1\" or \"0.0.0.0\"");
            }
            address
        });
        let (metrics_port, metrics_host) = parse_metrics_address(&text, &mut refuse);
        let trusted_proxies = parse_trusted_proxies(values, &mut refuse);
        let limits = parse_target_limits(|name| {
            let count = text(&format!("basalt.rate_limit.{name}"))?.parse().ok().filter(|count| *count <= MAX_PER_HOUR);
            if count.is_none() {
                refuse(
                    &format!("basalt.rate_limit.{name}"),
                    "must be how many an hour, 0 for no limit, at most 1000000",
                );
            }
            count
        });
        let http = HttpLimits { proxies: trusted_proxies.clone(), ..parse_http_limits(&text, &mut refuse) };
        let desk_url = parse_desk_url(&text, &mut refuse);
        let hsts_max_age = parse_hsts_max_age(&text, &mut refuse);
        let shop_owner = parse_shop_owner(&text, &mut refuse);
        let expected_replicas = parse_expected_replicas(&text, &mut refuse);
        let notices_an_hour = parse_notices_an_hour(values, &mut refuse);
        let stood_in_for = parse_stands_in_for(values, &mut refuse);
        let tls = parse_tls(values, &mut refuse);
        let upstreams = parse_upstreams(values, &mut refuse);
        let archive = parse_archive(&text, &mut refuse);
        let upstream_limits = parse_limits(values, &mut refuse);
        let log_format =
            if values.text("basalt.log_format") == Some("json") { LogFormat::Json } else { LogFormat::Text };
        Self {
            host: host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            metrics_port,
            metrics_host,
            log_level: text("basalt.log_level"),
            log_format,
            trusted_proxies,
            limits,
            http,
            expected_replicas,
            keeps_bcrypt: values.text("basalt.password_hash") == Some("bcrypt"),
            allow_differing_replicas: text("basalt.replicas.allow_differences").is_some_and(|given| given == "true"),
            data_api: DataApiSettings::from_values(values, &mut refuse),
            storage: StorageSettings::from_values(values, &mut refuse),
            has_desk: text("basalt.desk.enabled").is_none_or(|given| given == "true"),
            desk_url,
            mailed_links: MailedLinkSettings::from_text(&text, &mut refuse),
            hsts_max_age,
            shop_owner,
            mail_brand: parse_brand(values, &mut refuse),
            seller: SellerSettings::from_text(&text, &mut refuse),
            notices_an_hour,
            submission_jobs: parse_jobs(&text, &mut refuse),
            payment: parse_payment(values, &mut refuse),
            development_pages: text("basalt.development_pages").map(|given| given == "true"),
            has_demo_keys: parse_demo_keys(values, &mut refuse),
            inbox_token: parse_inbox_token(text("basalt.inbox.token"), &mut refuse),
            tls,
            upstreams,
            upstream_limits,
            archive,
            stands_in_for: stood_in_for,
        }
    }
}

/// Parses the number of servers on the database.
fn parse_expected_replicas(text: &impl Fn(&str) -> Option<String>, refuse: &mut impl FnMut(&str, &str)) -> Option<u32> {
    const KEY: &str = "basalt.replicas.expected";
    let count = text(KEY)?.parse().ok().filter(|count| (1..=MAX_REPLICAS).contains(count));
    if count.is_none() {
        refuse(KEY, "must be the number of servers on the database, from 1 to 1000");
    }
    count
}

/// Parses the recipient of mails about submissions.
fn parse_shop_owner(text: &impl Fn(&str) -> Option<String>, refuse: &mut impl FnMut(&str, &str)) -> Option<String> {
    let owner = text("basalt.shop.owner");
    if owner.as_ref().is_some_and(|owner| Email::parse(owner).is_err()) {
        refuse("basalt.shop.owner", "must be an e-mail address, such as \"owner@example.com\"");
    }
    owner
}

/// Parses the networks of the proxies.
fn parse_trusted_proxies(values: &Values, refuse: &mut impl FnMut(&str, &str)) -> Vec<IpNet> {
    const KEY: &str = "basalt.trusted_proxies";
    let mut networks = Vec::new();
    for network in values.get(KEY).map_or(&[][..], |value| &value.items) {
        match network.parse::<IpNet>().or_else(|_| network.parse::<IpAddr>().map(IpNet::from)) {
            Ok(network) => networks.push(network),
            Err(_) => refuse(KEY, "must be addresses or networks, such as [\"10.0.0.0/8\"]"),
        }
    }
    networks
}

/// Parses port and address of the metrics; the address is that of this machine itself by default.
fn parse_metrics_address(
    text: &impl Fn(&str) -> Option<String>,
    refuse: &mut impl FnMut(&str, &str),
) -> (Option<u16>, IpAddr) {
    let port = ["basalt.metrics.port", "basalt.metrics_port"].into_iter().find_map(|key| {
        let port = text(key)?.parse().ok();
        if port.is_none() {
            refuse(key, "must be a port, from 0 to 65535");
        }
        port
    });
    let host = text("basalt.metrics.host").and_then(|host| {
        let address = host.parse().ok();
        if address.is_none() {
            refuse("basalt.metrics.host", "must be an address of this machine, such as \"0.0.0.0\"");
        }
        address
    });
    (port, host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)))
}

/// Parses `[basalt.http]`.
fn parse_http_limits(text: &impl Fn(&str) -> Option<String>, refuse: &mut impl FnMut(&str, &str)) -> HttpLimits {
    let mut limits = HttpLimits::default();
    for (name, count) in [
        ("max_connections", &mut limits.max_connections),
        ("max_connections_per_peer", &mut limits.max_connections_per_peer),
    ] {
        let key = format!("basalt.http.{name}");
        match text(&key).map(|text| text.parse().ok()) {
            None => {}
            Some(Some(given)) => *count = given,
            Some(None) => refuse(&key, "must be a number of connections, 0 for no limit"),
        }
    }
    for (name, limit) in [
        ("header_timeout", &mut limits.header_timeout),
        ("body_timeout", &mut limits.body_timeout),
        ("write_timeout", &mut limits.write_timeout),
        ("idle_timeout", &mut limits.idle_timeout),
    ] {
        let key = format!("basalt.http.{name}");
        let Some(text) = text(&key) else { continue };
        match GoDuration::parse(&text).map(GoDuration::to_std).filter(|given| VALID_TIMEOUTS.contains(given)) {
            Some(given) => *limit = given,
            None => refuse(&key, "must be a length of time from \"100ms\" to \"1h\""),
        }
    }
    limits
}

/// Parses `[basalt.tls]`, or `[api.tls]` of the Supabase CLI; each needs both files.
fn parse_tls(values: &Values, refuse: &mut impl FnMut(&str, &str)) -> Option<TlsFiles> {
    let text = |key: &str| values.text(key).filter(|text| !text.is_empty()).map(str::to_owned);
    let has_own = text("basalt.tls.certificate").is_some() || text("basalt.tls.key").is_some();
    if !has_own && values.is_enabled("api.tls.enabled", false) {
        // Test servers have no TLS, whatever the file says: what is missing is a problem of the settings.
        let files = text("api.tls.cert_path").zip(text("api.tls.key_path"));
        return files.map(|(certificate, key)| TlsFiles { certificate: certificate.into(), key: key.into() });
    }
    let (certificate, key) = (text("basalt.tls.certificate"), text("basalt.tls.key"));
    match (certificate, key) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some(TlsFiles { certificate: certificate.into(), key: key.into() }),
        (Some(_), None) => {
            refuse("basalt.tls.certificate", "needs basalt.tls.key, the file of its private key");
            None
        }
        (None, Some(_)) => {
            refuse("basalt.tls.key", "needs basalt.tls.certificate, the file of the certificate");
            None
        }
    }
}

/// Parses the inbox token, which gives other machines the mails of all users.
fn parse_inbox_token(token: Option<String>, refuse: &mut impl FnMut(&str, &str)) -> Option<String> {
    if token.as_ref().is_some_and(|token| token.len() < MIN_SECRET_LENGTH) {
        refuse("basalt.inbox.token", SHORT_SECRET);
    }
    token
}

/// Parses `demo_keys`: the keys are public, so that only this machine may reach a server that accepts them.
///
/// A file with the secret of the Supabase CLI has its keys on this machine, and is refused elsewhere.
fn parse_demo_keys(values: &Values, refuse: &mut impl FnMut(&str, &str)) -> bool {
    const KEY: &str = "basalt.demo_keys";
    let text = |key: &str| values.text(key).filter(|text| !text.is_empty());
    let is_local_host =
        text("basalt.host").is_none_or(|host| host.parse::<IpAddr>().is_ok_and(|host| host.is_loopback()));
    let is_local = is_local_host && text("api.external_url").is_none_or(is_loopback_url);
    match values.text(KEY) {
        Some("true") => {}
        // A public site is a sign of a server behind a proxy.
        None => {
            let has_local_site = text("auth.site_url").is_none_or(is_loopback_url);
            return !is_for_other_machines(values) && has_local_site && names_demo_keys(values);
        }
        Some(_) => return false,
    }
    if !is_local {
        refuse(
            KEY,
            "accepts keys that everybody has: it is for servers that this machine alone reaches; remove it, basalt.host or api.external_url",
        );
    }
    if KEYS_OF_PROJECT.iter().any(|name| text(&format!("auth.{name}")).is_some()) {
        refuse(KEY, "replaces the keys of the project: remove it, or the keys in [auth]");
    }
    true
}

/// Returns whether the keys in `[auth]` are those that the Supabase CLI publishes, the secret among them.
fn names_demo_keys(values: &Values) -> bool {
    let demo = api_keys::demo_keys();
    let expected = [&demo.jwt_secret, &demo.anon_key, &demo.service_role_key, &demo.publishable_key, &demo.secret_key];
    let text = |name: &str| values.text(&format!("auth.{name}")).filter(|text| !text.is_empty());
    let mut given = KEYS_OF_PROJECT.into_iter().zip(expected);
    text("jwt_secret").is_some()
        && given.all(|(name, expected)| text(name).is_none_or(|given| given == expected.as_str()))
}

/// Parses the limit of mails to the owner per hour.
fn parse_notices_an_hour(values: &Values, refuse: &mut impl FnMut(&str, &str)) -> Option<u16> {
    const KEY: &str = "basalt.shop.notices_an_hour";
    let count = values.text(KEY).filter(|count| !count.is_empty())?;
    let count = count.parse().ok().filter(|count| *count <= MAX_NOTICES);
    if count.is_none() {
        refuse(KEY, "must be how many an hour, at most 1000; 0 for digests alone");
    }
    count
}

/// Parses the names of the built-in providers to replace, which must not be configured themselves.
fn parse_stands_in_for(values: &Values, refuse: &mut impl FnMut(&str, &str)) -> Vec<String> {
    const KEY: &str = "basalt.provider.stands_in_for";
    let mut names = Vec::new();
    for name in values.get(KEY).map_or(&[][..], |value| &value.items) {
        if !PROVIDERS.contains(&name.as_str()) {
            refuse(KEY, &format!("names {name:?}, which is no provider; there are {}", PROVIDERS.join(", ")));
        } else if values.is_enabled(&format!("auth.external.{name}.enabled"), false) {
            refuse(KEY, &format!("names {name:?}, which [auth.external.{name}] sets up: disable one of the two"));
        } else {
            names.push(name.clone());
        }
    }
    names
}

/// Returns the default limits, overridden by the hourly counts of `said`; 0 disables a limit.
fn parse_target_limits(mut value: impl FnMut(&str) -> Option<u32>) -> TargetLimits {
    let mut limit = |name, usual: Option<Bucket>| match value(name) {
        None => usual,
        Some(0) => None,
        Some(count) => Some(Bucket::for_target(count.into())),
    };
    let usual = TargetLimits::recommended();
    TargetLimits {
        wrong_passwords: limit("wrong_passwords", usual.wrong_passwords),
        wrong_codes: limit("wrong_codes", usual.wrong_codes),
        messages: limit("messages", usual.messages),
        ..usual
    }
}
