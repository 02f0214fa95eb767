//! Replies of a Redis server: complete ones are read, incomplete ones wait, and no bytes panic.

use platform::limits::{Redirection, RedisReply, parse_redirection, parse_reply};
use proptest::prelude::*;

#[test]
fn replies_of_every_kind_are_read() {
    for (bytes, expected) in [
        ("+OK\r\n", RedisReply::Status("OK".to_owned())),
        ("-NOSCRIPT No matching script\r\n", RedisReply::Error("NOSCRIPT No matching script".to_owned())),
        (":-12\r\n", RedisReply::Integer(-12)),
        ("$2\r\nab\r\n", RedisReply::Text(Some(b"ab".to_vec()))),
        ("$-1\r\n", RedisReply::Text(None)),
        ("*2\r\n:0\r\n:1500000\r\n", RedisReply::Integers(vec![0, 1_500_000])),
    ] {
        assert_eq!(parse_reply(bytes.as_bytes()), Ok(Some((expected, bytes.len()))), "{bytes:?}");
        for end in 0..bytes.len() {
            assert_eq!(parse_reply(&bytes.as_bytes()[..end]), Ok(None), "{bytes:?} up to {end}");
        }
    }
}

#[test]
fn oversized_replies_are_refused() {
    for bytes in ["$99999999\r\n", "*99999999\r\n", "*1\r\n$1\r\na\r\n", "HTTP/1.1 200 OK\r\n", ":\r\n", "\r\n"] {
        assert!(parse_reply(bytes.as_bytes()).is_err(), "{bytes:?}");
    }
    assert!(parse_reply(&vec![b'+'; 20_000]).is_err(), "an endless line");
}

#[test]
fn redirections_of_a_cluster_are_read() {
    let to = |host: Option<&str>, port, is_once| Some(Redirection { host: host.map(str::to_owned), port, is_once });
    for (text, expected) in [
        ("MOVED 3999 127.0.0.1:6381", to(Some("127.0.0.1"), 6381, false)),
        ("ASK 3999 redis-2.example.com:6381", to(Some("redis-2.example.com"), 6381, true)),
        ("MOVED 3999 2001:db8::1:6381", to(Some("2001:db8::1"), 6381, false)),
        ("MOVED 3999 :6381", to(None, 6381, false)),
        ("MOVED 3999 ?:6381", to(None, 6381, false)),
        ("MOVED 3999 127.0.0.1:99999", None),
        ("MOVED 3999", None),
        ("CLUSTERDOWN The cluster is down", None),
        ("WRONGPASS invalid username-password pair", None),
    ] {
        assert_eq!(parse_redirection(text), expected, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_redirection_panics(kind in "(MOVED|ASK|ERR|)", rest in "\\PC{0,60}") {
        if let Some(redirection) = parse_redirection(&format!("{kind} {rest}")) {
            prop_assert!(matches!(&*kind, "MOVED" | "ASK"));
            prop_assert_eq!(redirection.is_once, kind == "ASK");
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in "[-+:$*][0-9]{0,20}\r\n") {
        let _ = parse_reply(&bytes);
        let mut all = kind.into_bytes();
        all.extend_from_slice(&bytes);
        if let Ok(Some((_, used))) = parse_reply(&all) {
            prop_assert!(used <= all.len());
        }
    }
}
