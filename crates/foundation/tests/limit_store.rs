//! The URL of the store of rate limits: every part is read back, and no text panics.

use foundation::limit_store::{LimitStoreUrl, RedisAddress};
use foundation::secret::Secret;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::*;

fn address(text: &str) -> RedisAddress {
    match LimitStoreUrl::parse(text) {
        Ok(LimitStoreUrl::Redis(address)) => address,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn parts_have_defaults() {
    let expected =
        RedisAddress { host: "cache".to_owned(), port: 6379, is_tls: false, user: None, password: None, database: 0 };
    for text in ["redis://cache", "valkey://cache/", "redis://cache:6379/0"] {
        assert_eq!(address(text), expected, "{text}");
    }
    assert!(address("rediss://cache").is_tls && address("valkeys://cache").is_tls);
    assert_eq!(address("redis://[::1]:7000").host, "::1");
    assert_eq!(LimitStoreUrl::parse(""), Ok(LimitStoreUrl::Memory));
    assert_eq!(LimitStoreUrl::parse("postgres"), Ok(LimitStoreUrl::Postgres));
}

#[test]
fn unusable_urls_are_refused_without_repeating_them() {
    for text in [
        "cache:6379",
        "http://:secret@cache",
        "postgres://user:secret@db/postgres",
        "redis://",
        "redis://:secret@",
        "redis://user@cache",
        "redis://:secret@cache/one",
        "redis://:secret@cache/65536",
        "redis://:secret@cache/0?protocol=3",
        "redis://:secret@cache:70000",
        "redis+unix:///run/redis.sock",
    ] {
        let problem = LimitStoreUrl::parse(text).expect_err(text);
        assert!(!problem.contains("secret"), "{problem}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_part_is_read_back(
        host in "[a-z][a-z0-9-]{0,20}[a-z]",
        port in 1_u16..,
        user in proptest::option::of("\\PC{1,20}"),
        password in proptest::option::of("\\PC{1,20}"),
        database in any::<u16>(),
        is_tls in any::<bool>(),
    ) {
        let encode = |text: &String| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let user = user.filter(|_| password.is_some());
        let credentials = password.as_ref().map_or(String::new(), |password| {
            format!("{}:{}@", user.as_ref().map(encode).unwrap_or_default(), encode(password))
        });
        let scheme = if is_tls { "rediss" } else { "redis" };
        let read = address(&format!("{scheme}://{credentials}{host}:{port}/{database}"));
        let password = password.map(|password| Secret::from(password.as_str()));
        prop_assert_eq!(read, RedisAddress { host, port, is_tls, user, password, database });
    }

    #[test]
    fn no_text_panics(text in any::<String>(), rest in "[ -~]{0,40}") {
        let _ = LimitStoreUrl::parse(&text);
        let _ = LimitStoreUrl::parse(&format!("redis://{rest}"));
    }
}
