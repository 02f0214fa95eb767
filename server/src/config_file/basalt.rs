//! `[basalt]`: the settings that the Supabase CLI does not have.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use super::Problem;
use super::read::Values;

/// The table `[basalt]`, with what is taken when it says nothing.
#[derive(Debug, Clone)]
pub struct Basalt {
    /// `host`: where we listen; 127.0.0.1 unless said otherwise.
    pub host: IpAddr,
    /// `metrics_port`: where Prometheus finds figures; none, no figures.
    pub metrics_port: Option<u16>,
    /// `log_level`: as `RUST_LOG` has it, such as `info` or `debug`.
    pub log_level: Option<String>,
    /// `log_format`.
    pub log_format: LogFormat,
    /// `trusted_proxies`: networks whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// `[basalt.shop] owner`: who gets a mail about each submission.
    pub shop_owner: Option<String>,
    /// `[basalt.inbox] token`: opens the development inbox to callers from elsewhere.
    pub inbox_token: Option<String>,
}

/// How a log line is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For machines: one JSON object a line.
    Json,
}

impl Basalt {
    pub(super) fn from(values: &Values, problems: &mut Vec<Problem>) -> Self {
        let mut refuse = |key: &str, text: &str| problems.push(Problem::at(values, key, text));
        let text = |key: &str| values.text(key).filter(|text| !text.is_empty()).map(str::to_owned);
        let host = text("basalt.host").and_then(|host| {
            let address = host.parse().ok();
            if address.is_none() {
                refuse("basalt.host", "must be an address of this machine, such as \"127.0.0.1\" or \"0.0.0.0\"");
            }
            address
        });
        let metrics_port = text("basalt.metrics_port").and_then(|port| {
            let port = port.parse().ok();
            if port.is_none() {
                refuse("basalt.metrics_port", "must be a port, from 0 to 65535");
            }
            port
        });
        let mut trusted_proxies = Vec::new();
        for network in values.get("basalt.trusted_proxies").map_or(&[][..], |value| &value.items) {
            match network.parse::<IpNet>().or_else(|_| network.parse::<IpAddr>().map(IpNet::from)) {
                Ok(network) => trusted_proxies.push(network),
                Err(_) => refuse("basalt.trusted_proxies", "must be addresses or networks, such as [\"10.0.0.0/8\"]"),
            }
        }
        let shop_owner = text("basalt.shop.owner");
        if shop_owner.as_ref().is_some_and(|owner| !owner.contains('@')) {
            refuse("basalt.shop.owner", "must be an e-mail address, such as \"owner@example.com\"");
        }
        let log_format =
            if values.text("basalt.log_format") == Some("json") { LogFormat::Json } else { LogFormat::Text };
        Self {
            host: host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            metrics_port,
            log_level: text("basalt.log_level"),
            log_format,
            trusted_proxies,
            shop_owner,
            inbox_token: text("basalt.inbox.token"),
        }
    }
}
