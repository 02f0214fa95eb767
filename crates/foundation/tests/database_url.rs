//! URLs of databases with one server or several.

use std::time::Duration;

use foundation::database_url::{
    DatabaseUrl, DatabaseUrlError, Keepalives, SessionTarget, find_database, with_database,
};
use proptest::prelude::*;
use url::Url;

fn servers(text: &str) -> Vec<String> {
    let parsed = DatabaseUrl::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    parsed.servers.iter().map(|url| url.reveal().to_owned()).collect()
}

fn error(text: &str) -> String {
    DatabaseUrl::parse(text).expect_err(text).to_string()
}

#[test]
fn url_of_one_server_stays_as_it_is() {
    for text in [
        "postgres://ann:pass%40word@db.example.com:5432/app?sslmode=require",
        "postgres://ann@localhost/app?host=/run/postgresql",
        "postgres://ann@%2Frun%2Fpostgresql/app",
        "postgres://[::1]:5433/app",
        "postgres://",
    ] {
        assert_eq!(servers(text), [text]);
    }
    assert_eq!(servers("postgresql://h/app?connect_timeout=4&sslmode=prefer"), ["postgres://h/app?sslmode=prefer"]);
    assert_eq!(servers("postgresql://h/app?target_session_attrs=any"), ["postgres://h/app"]);
}

#[test]
fn parameters_without_effect_are_named_without_their_values() {
    let parsed =
        DatabaseUrl::parse("postgres://h/app?sslpassword=secret&sslmode=require&pool_max_conns=3&options[a]=b");
    let parsed = parsed.expect("valid");
    assert_eq!(parsed.ignored, ["sslpassword", "pool_max_conns"]);
    assert_eq!(parsed.servers[0].reveal(), "postgres://h/app?sslmode=require&options[a]=b");
}

#[test]
fn trusted_root_is_found() {
    for (query, expected) in [
        ("", false),
        ("?sslmode=verify-full", false),
        ("?sslrootcert=", false),
        ("?sslrootcert=/etc/ca.pem", true),
        ("?ssl-ca=ca.pem", true),
    ] {
        let parsed = DatabaseUrl::parse(&format!("postgres://h/app{query}")).expect("valid");
        assert_eq!(parsed.names_trusted_root, expected, "{query}");
    }
}

#[test]
fn database_of_a_url_is_found_and_replaced() {
    for (url, found, expected) in [
        ("postgres://u:p@h:5432/app?sslmode=require", Some("app"), "postgres://u:p@h:5432/other?sslmode=require"),
        ("postgres://u@h1:1,h2:2/app?a=b", Some("app"), "postgres://u@h1:1,h2:2/other?a=b"),
        ("postgresql://u@/app?host=h1,h2", Some("app"), "postgresql://u@/other?host=h1,h2"),
        ("postgres://%2Frun%2Fpostgresql", None, "postgres://%2Frun%2Fpostgresql/other"),
        ("postgres://h/", None, "postgres://h/other"),
        ("postgres://h/app?dbname=shop&x=/y", Some("shop"), "postgres://h/other?x=/y"),
        ("postgres://[::1]:5433/app", Some("app"), "postgres://[::1]:5433/other"),
    ] {
        assert_eq!(find_database(url), found, "{url}");
        assert_eq!(with_database(url, "other"), expected);
    }
}

#[test]
fn every_server_of_a_list_has_a_url() {
    assert_eq!(
        servers("postgres://u:p,w@h1:5433,[fd00::2]:5434,h3/app?sslmode=require&target_session_attrs=primary"),
        [
            "postgres://u:p,w@localhost/app?sslmode=require&host=h1&port=5433",
            "postgres://u:p,w@localhost/app?sslmode=require&host=fd00::2&port=5434",
            "postgres://u:p,w@localhost/app?sslmode=require&host=h3",
        ]
    );
    let listed = "postgres://u@/app?host=h1,%2Frun%2Fpostgresql&port=5433,5434";
    assert_eq!(
        servers(listed),
        ["postgres://u@localhost/app?host=h1&port=5433", "postgres://u@localhost/app?host=/run/postgresql&port=5434"]
    );
    let one_port = "postgres://u@h1,h2/app?port=6432";
    assert_eq!(
        servers(one_port),
        ["postgres://u@localhost/app?host=h1&port=6432", "postgres://u@localhost/app?host=h2&port=6432"]
    );
}

#[test]
fn target_and_times_are_read() {
    let parsed = DatabaseUrl::parse(
        "postgres://h1,h2/app?target_session_attrs=prefer-standby&connect_timeout=3&keepalives_idle=30\
         &keepalives_interval=2&keepalives_count=3",
    )
    .expect("valid");
    assert_eq!(parsed.target, Some(SessionTarget::PreferStandby));
    assert_eq!(parsed.connect_timeout, Some(Duration::from_secs(3)));
    let [idle, limit] = [30, 6].map(|seconds| Some(Duration::from_secs(seconds)));
    assert_eq!(parsed.keepalives, Keepalives { idle, limit });
    let parsed =
        DatabaseUrl::parse("postgres://h/a?keepalives=0&keepalives_idle=30&tcp_user_timeout=1500&connect_timeout=0");
    let parsed = parsed.expect("valid");
    assert_eq!(parsed.keepalives, Keepalives { idle: None, limit: Some(Duration::from_millis(1500)) });
    assert_eq!((parsed.connect_timeout, parsed.target), (None, None));
}

#[test]
fn several_servers_without_a_target_mean_the_one_that_accepts_writes() {
    let target = |text| DatabaseUrl::parse(text).expect("valid").target_for_writes();
    assert_eq!(target("postgres://h1/a"), SessionTarget::Any);
    assert_eq!(target("postgres://h1,h2/a"), SessionTarget::ReadWrite);
    assert_eq!(target("postgres://h1,h2/a?target_session_attrs=any"), SessionTarget::Any);
}

#[test]
fn invalid_urls_are_refused_with_the_part_that_is_wrong() {
    assert_eq!(DatabaseUrl::parse("mysql://h/a"), Err(DatabaseUrlError::Scheme));
    assert_eq!(error("postgres://h1:1,h2:99999/a"), "has a port that is not a number from 1 to 65535");
    assert_eq!(error("postgres://h1,h2:x/a"), "has a port that is not a number from 1 to 65535");
    assert_eq!(error("postgres://h1,,h2/a"), "lists a server without a host: write host1:5432,host2:5432");
    assert_eq!(
        error("postgres://u@/a?host=h1,h2&port=1,2,3"),
        "lists 3 ports for 2 hosts: give one port for all, or one for each"
    );
    assert_eq!(
        error("postgres://h/a?connect_timeout=soon"),
        "has a connect_timeout that is not a number from 0 to 600"
    );
    assert!(error("postgres://h/a?target_session_attrs=master").contains("prefer-standby"));
    assert_eq!(error(&format!("postgres://{}/a", ["h"; 17].join(","))), "lists more than 16 servers");
    assert_eq!(error(&format!("postgres://{}", "h".repeat(9000))), "has more than 8192 bytes");
}

#[test]
fn targets_accept_the_sessions_that_libpq_accepts() {
    let accepted = |target: SessionTarget| {
        [(false, false), (false, true), (true, true)].map(|(standby, read_only)| target.accepts(standby, read_only))
    };
    assert_eq!(accepted(SessionTarget::Any), [true, true, true]);
    assert_eq!(accepted(SessionTarget::ReadWrite), [true, false, false]);
    assert_eq!(accepted(SessionTarget::ReadOnly), [false, true, true]);
    assert_eq!(accepted(SessionTarget::Primary), [true, true, false]);
    assert_eq!(accepted(SessionTarget::Standby), [false, false, true]);
    assert_eq!(accepted(SessionTarget::PreferStandby), [true, true, true]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn replaced_database_is_found_at_the_same_servers(
        authority in "[a-z0-9:@,.\\[\\]%]{0,30}",
        path in "(/[a-z_]{0,8})?",
        query in "(\\?([a-z]{1,6}=[a-z/,]{0,5}&?){0,4})?",
        name in "[a-z][a-z0-9_]{0,20}",
    ) {
        let url = with_database(&format!("postgres://{authority}{path}{query}"), &name);
        let start = format!("postgres://{authority}/");
        prop_assert_eq!(find_database(&url), Some(&*name));
        prop_assert!(url.starts_with(&start));
        prop_assert_eq!(with_database(&url, &name), url);
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in any::<String>(), query in "[a-z_=,&%0-9-]{0,60}") {
        let _ = DatabaseUrl::parse(&text);
        let _ = DatabaseUrl::parse(&format!("postgres://{text}"));
        let _ = DatabaseUrl::parse(&format!("postgres://h1,h2/a?{query}"));
    }

    #[test]
    fn hosts_and_ports_of_a_list_are_those_of_the_urls(
        listed in prop::collection::vec(("[a-z][a-z0-9.-]{0,12}", 1_u16..), 2..10),
        is_parameter in any::<bool>(),
        password in "[a-zA-Z0-9,._~-]{0,12}",
    ) {
        let join = |part: &dyn Fn(&(String, u16)) -> String| listed.iter().map(part).collect::<Vec<_>>().join(",");
        let text = if is_parameter {
            let (hosts, ports) = (join(&|(host, _)| host.clone()), join(&|(_, port)| port.to_string()));
            format!("postgres://ann:{password}@/app?host={hosts}&port={ports}")
        } else {
            format!("postgres://ann:{password}@{}/app", join(&|(host, port)| format!("{host}:{port}")))
        };
        let parsed = DatabaseUrl::parse(&text).expect("valid");
        prop_assert_eq!(parsed.servers.len(), listed.len());
        for (url, (host, port)) in parsed.servers.iter().zip(&listed) {
            let url = Url::parse(url.reveal()).expect("a URL");
            let value = |wanted: &str| {
                url.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
            };
            prop_assert_eq!(value("host"), Some(host.clone()));
            prop_assert_eq!(value("port"), Some(port.to_string()));
            let password_in_url = url.password().unwrap_or_default();
            prop_assert_eq!((url.username(), password_in_url, url.path()), ("ann", &*password, "/app"));
        }
    }
}
