//! `[basalt.upstreams]`: addresses of services that the operator runs, and limits of requests to them.

use std::ops::RangeInclusive;
use std::time::Duration;

use gateway::{GatewayLimits, Service, UpstreamUrl, Upstreams};
use gotrue_rules::wire::go_duration::GoDuration;

use super::read::Values;

const TABLE: &str = "basalt.upstreams";

pub(super) const VALID_TIMEOUTS: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_hours(1);

/// Parses the addresses of the services.
pub(super) fn parse_upstreams(values: &Values, refuse: &mut impl FnMut(&str, &str)) -> Upstreams {
    let mut upstreams = Upstreams::default();
    for service in Service::ALL {
        let key = format!("{TABLE}.{}", service.name());
        let Some(text) = values.text(&key).filter(|text| !text.is_empty()) else { continue };
        match UpstreamUrl::parse(text) {
            Ok(url) => upstreams.set(service, url),
            Err(error) => refuse(&key, &error.to_string()),
        }
    }
    if upstreams.get(Service::Studio).is_some() && values.has_table("basalt.shop") {
        refuse(&format!("{TABLE}.studio"), "is served at /, where [basalt.shop] is: remove one of the two");
    }
    upstreams
}

/// Parses the limits of forwarded requests.
pub(super) fn parse_limits(values: &Values, refuse: &mut impl FnMut(&str, &str)) -> GatewayLimits {
    let mut limits = GatewayLimits::default();
    let mut count = |name: &str| {
        let key = format!("{TABLE}.{name}");
        let count = values.text(&key)?.parse().ok().filter(|count| (1..=1_000_000).contains(count));
        if count.is_none() {
            refuse(&key, "must be a number of requests from 1 to 1000000");
        }
        count
    };
    limits.max_requests = count("max_requests").unwrap_or(limits.max_requests);
    limits.max_requests_per_network = count("max_requests_per_network").unwrap_or((limits.max_requests / 4).max(1));
    for (name, limit) in [
        ("connect_timeout", &mut limits.connect_timeout),
        ("response_timeout", &mut limits.response_timeout),
        ("function_timeout", &mut limits.function_timeout),
        ("websocket_idle_timeout", &mut limits.websocket_idle_timeout),
    ] {
        let key = format!("{TABLE}.{name}");
        let Some(text) = values.text(&key) else { continue };
        match GoDuration::parse(text).map(GoDuration::to_std).filter(|given| VALID_TIMEOUTS.contains(given)) {
            Some(given) => *limit = given,
            None => refuse(&key, "must be a length of time from \"100ms\" to \"1h\""),
        }
    }
    limits
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::ConfigFile;
    use super::*;
    use crate::problem::Problem;

    fn read(lines: &str) -> Result<ConfigFile, Vec<Problem>> {
        ConfigFile::read(Path::new("config.toml"), &format!("[basalt.upstreams]\n{lines}\n"), &|_| Ok(None))
    }

    #[test]
    fn addresses_and_limits_are_read() {
        let file = read("rest = \"http://rest:3000\"\nmax_requests = 7\nresponse_timeout = \"2s\"").expect("valid");
        assert!(file.basalt.upstreams.get(Service::Rest).is_some());
        assert!(file.basalt.upstreams.get(Service::Storage).is_none());
        let expected = GatewayLimits {
            max_requests: 7,
            max_requests_per_network: 1,
            response_timeout: Duration::from_secs(2),
            ..GatewayLimits::default()
        };
        assert_eq!(file.basalt.upstream_limits, expected);
    }

    #[test]
    fn every_problem_has_its_line() {
        let lines = "rest = \"rest:3000\"\nstorage = \"ftp://storage\"\nmax_requests = 0\nconnect_timeout = \"1ms\"\n\
                     reste = \"http://rest\"\nstudio = \"http://studio\"\n[basalt.shop]";
        let problems = read(lines).expect_err("invalid");
        let found: Vec<Option<usize>> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!(found, [2, 3, 4, 5, 6, 7].map(Some), "{problems:?}");
    }
}
