//! Origins and transport: `[basalt.desk] url`, `[basalt.storage] content_url` and `[basalt] hsts_max_age`.

use std::time::Duration;

use gotrue_rules::wire::go_duration::GoDuration;
use url::{Position, Url};

/// How long browsers use HTTPS alone for this host, unless the configuration says otherwise.
const HSTS_MAX_AGE: Duration = Duration::from_hours(365 * 24);

/// Parses the address of the desk: scheme and host, and no path.
pub(super) fn parse_desk_url(
    text: &impl Fn(&str) -> Option<String>,
    refuse: &mut impl FnMut(&str, &str),
) -> Option<String> {
    parse_origin("basalt.desk.url", "https://desk.example.com", text, refuse)
}

/// Parses the address of an origin: scheme and host, and no path.
pub(super) fn parse_origin(
    key: &str,
    example: &str,
    text: &impl Fn(&str) -> Option<String>,
    refuse: &mut impl FnMut(&str, &str),
) -> Option<String> {
    let given = text(key)?;
    let url = Url::parse(&given).ok().filter(|url| {
        let is_origin = url.path() == "/" && url[Position::AfterPath..].is_empty();
        let has_user = !url.username().is_empty() || url.password().is_some();
        matches!(url.scheme(), "https" | "http") && is_origin && !has_user
    });
    if url.is_none() {
        refuse(key, &format!("must be the address of a host of its own, such as \"{example}\""));
    }
    url.map(|url| url.origin().ascii_serialization())
}

/// Parses the life of `Strict-Transport-Security`; zero sends none.
pub(super) fn parse_hsts_max_age(
    text: &impl Fn(&str) -> Option<String>,
    refuse: &mut impl FnMut(&str, &str),
) -> Duration {
    const KEY: &str = "basalt.hsts_max_age";
    let Some(given) = text(KEY) else { return HSTS_MAX_AGE };
    let parsed = GoDuration::parse(&given).map(GoDuration::to_std);
    if parsed.is_none() {
        refuse(KEY, "must be a length of time, such as \"8760h\"; \"0s\" for none");
    }
    parsed.unwrap_or(HSTS_MAX_AGE)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::ConfigFile;
    use super::*;
    use crate::problem::Problem;

    fn read(lines: &str) -> Result<ConfigFile, Vec<Problem>> {
        ConfigFile::read(Path::new("config.toml"), lines, &|_| Ok(None))
    }

    #[test]
    fn address_of_the_desk_is_an_origin() {
        let file = read("[basalt.desk]\nurl = \"https://Desk.example.com:8443/\"").expect("valid");
        assert_eq!(file.basalt.desk_url.as_deref(), Some("https://desk.example.com:8443"));
        for url in [
            "desk.example.com",
            "https://a.example/_desk",
            "ftp://a.example",
            "https://u@a.example",
            "https://a.example/?x",
        ] {
            assert!(read(&format!("[basalt.desk]\nurl = \"{url}\"")).is_err(), "{url}");
        }
    }

    #[test]
    fn life_of_transport_security_can_be_changed() {
        assert_eq!(read("").expect("valid").basalt.hsts_max_age, HSTS_MAX_AGE);
        assert_eq!(
            read("[basalt]\nhsts_max_age = \"1h\"").expect("valid").basalt.hsts_max_age,
            Duration::from_hours(1)
        );
        assert!(read("[basalt]\nhsts_max_age = \"soon\"").is_err());
    }
}
