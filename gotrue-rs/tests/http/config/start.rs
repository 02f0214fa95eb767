//! Settings with which the reference starts, and settings with which it does not.

use std::time::Duration;

use gotrue_rs::config::{Vars, load_telemetry};
use gotrue_rules::domain::policy::HookTarget;

use super::{complaints, config, loaded};

const PORT: &str = "GOTRUE_METRICS_OTEL_EXPORTER_PROMETHEUS_PORT";

#[test]
fn metrics_port_is_validated_only_if_metrics_are_served() {
    let served = [("GOTRUE_METRICS_ENABLED", "true"), ("GOTRUE_METRICS_EXPORTER", "prometheus")];
    for name in [PORT, "OTEL_EXPORTER_PROMETHEUS_PORT"] {
        for wrong in ["", "x", "99999"] {
            assert_eq!(config(&[(name, wrong)]).metrics, None, "{name}={wrong}");
            let reported = complaints(&[served[0], served[1], (name, wrong)]);
            assert_eq!(reported.len(), 1, "{name}={wrong}: {reported:?}");
            let start = format!("{PORT}: ");
            assert!(reported[0].starts_with(&start), "{reported:?}");
            assert!(reported[0].contains("is not a port from 0 to 65535"), "{reported:?}");
        }
        let listen = config(&[served[0], served[1], (name, "9464")]).metrics.expect("metrics are served");
        assert_eq!(listen.port, 9464);
    }
}

#[test]
fn hash_sign_in_the_host_of_the_external_url_is_refused() {
    for wrong in ["http://a#f", "http://a:80#f", "http://a#/b", "http://u#p@h/"] {
        let reported = complaints(&[("API_EXTERNAL_URL", wrong)]);
        assert!(
            reported.len() == 1 && reported[0].contains("is neither an absolute URL nor an absolute path"),
            "{wrong}: {reported:?}"
        );
    }
    for right in ["http://a/#f", "http://a?x#f", "http://a/b#f"] {
        assert!(loaded(&[("API_EXTERNAL_URL", right)]).is_ok(), "{right}");
    }
}

#[test]
fn id_of_a_jwt_key_is_a_string() {
    let keys = |id: &str| format!(r#"[{{"kty":"oct",{id}"k":"c2VjcmV0","key_ops":["sign","verify"]}}]"#);
    for wrong in ["\"kid\":1,", "\"kid\":{},", "\"kid\":true,"] {
        let reported = complaints(&[("GOTRUE_JWT_KEYS", &keys(wrong))]);
        let expected = "has a key (number 1) whose `kid` is not a string";
        assert!(reported.len() == 1 && reported[0].contains(expected), "{wrong}: {reported:?}");
    }
    for right in ["", "\"kid\":null,", "\"kid\":\"a\","] {
        assert_eq!(config(&[("GOTRUE_JWT_KEYS", &keys(right))]).jwt.keys.len(), 1, "{right}");
    }
}

/// A list of one symmetric key, `k` as given.
fn symmetric_key(k: &str) -> String {
    format!(r#"[{{"kty":"oct","kid":"a","k":"{k}","key_ops":["sign","verify"]}}]"#)
}

#[test]
fn symmetric_keys_are_base64_of_either_alphabet() {
    for right in ["-_8", "-_8=", "+/8", "+/8=", "-_9"] {
        assert!(loaded(&[("GOTRUE_JWT_KEYS", &symmetric_key(right))]).is_ok(), "{right}");
    }
    for wrong in ["", "=", "+_8", "-_8==", "ä"] {
        let reported = complaints(&[("GOTRUE_JWT_KEYS", &symmetric_key(wrong))]);
        let expected = "has the key \"a\", which cannot be used: ";
        assert!(reported.len() == 1 && reported[0].contains(expected), "{wrong}: {reported:?}");
    }
}

#[test]
fn content_of_jwt_keys_is_validated() {
    let reported = complaints(&[("GOTRUE_JWT_KEYS", r#"[{"kty":"EC","kid":"a","key_ops":["sign"]}]"#)]);
    let expected = "has the key \"a\", which cannot be used: alg \"\" with kty \"EC\"";
    assert!(reported.len() == 1 && reported[0].contains(expected), "{reported:?}");
}

#[test]
fn hook_uris_are_parsed_like_go() {
    const URI: &str = "GOTRUE_HOOK_AFTER_USER_CREATED_URI";
    for wrong in [
        "http://LOCALHOST/h",
        "http://127.1/h",
        "http://0x7f000001/h",
        "http://[0:0:0:0:0:0:0:1]/",
        " https://x/",
        "https://x/\n",
        "https://x/\t",
        "https://x/100%",
        "pg-functions://db/a/../public/f",
        "pg-functions:x/public/f",
    ] {
        assert_eq!(complaints(&[(URI, wrong)]).len(), 1, "{wrong:?}");
    }
    for right in ["https://", "https://x:70000/", "http://localhost:70000/"] {
        assert!(loaded(&[(URI, right)]).is_ok(), "{right}");
    }
    let enabled = [("GOTRUE_HOOK_AFTER_USER_CREATED_ENABLED", "true"), (URI, "pg-functions://db/public/my%5Ffn/x")];
    let target = config(&enabled).policy.hooks.after_user_created.map(|hook| hook.target);
    let expected = HookTarget::PgFunction { schema: "public".to_owned(), name: "my_fn".to_owned() };
    assert_eq!(target, Some(expected));
}

#[test]
fn time_limit_of_zero_is_the_default_and_a_negative_one_is_long() {
    for (text, seconds) in [("0s", 10), ("0", 10), ("5s", 5), ("-1s", 600)] {
        let policy = config(&[
            ("GOTRUE_SECURITY_CAPTCHA_ENABLED", "true"),
            ("GOTRUE_SECURITY_CAPTCHA_SECRET", "s"),
            ("GOTRUE_SECURITY_CAPTCHA_TIMEOUT", text),
            ("GOTRUE_INTERNAL_HTTP_TIMEOUT", text),
        ])
        .policy;
        let limits = [policy.api.outbound_timeout, policy.security.captcha.expect("a captcha").timeout];
        assert_eq!(limits, [Duration::from_secs(seconds); 2], "{text}");
    }
}

#[test]
fn null_in_a_list_of_headers_is_empty() {
    let headers = |text: &str| {
        let config = config(&[("GOTRUE_SMTP_HOST", "smtp.example.com"), ("GOTRUE_SMTP_HEADERS", text)]);
        (config.smtp.expect("a mail server").headers, config.notices.len())
    };
    let unset = headers("");
    let expected = vec![("A".to_owned(), vec!["x".to_owned(), String::new()]), ("B".to_owned(), Vec::new())];
    assert_eq!(headers(r#"{"A":["x",null],"B":null}"#), (expected, unset.1));
    assert_eq!(headers("null"), unset);
}

#[test]
fn line_breaks_in_encryption_keys_are_ignored() {
    let key = "AAECAwQFBgcICQoL\r\nDA0ODxAREhMUFRYXGBkaGxwdHh8\n";
    let given = [
        ("GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPT", "true"),
        ("GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY_ID", "a"),
        ("GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY", key),
        ("GOTRUE_SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS", &format!("a:{key}")),
    ];
    assert_eq!(config(&given).policy.security.encryption.keys.len(), 1);
}

#[test]
fn invalid_numbers_of_opentelemetry_do_not_prevent_the_start() {
    for name in [
        "OTEL_SDK_DISABLED",
        "OTEL_EXPORTER_OTLP_TIMEOUT",
        "OTEL_BSP_MAX_QUEUE_SIZE",
        "OTEL_BSP_SCHEDULE_DELAY",
        "OTEL_METRIC_EXPORT_INTERVAL",
    ] {
        for enabled in ["false", "true"] {
            let enabled = ("GOTRUE_TRACING_ENABLED", enabled);
            let unset = config(&[enabled]);
            assert_eq!(config(&[enabled, (name, "")]), unset, "{name}");
            let invalid = config(&[enabled, (name, "10s")]);
            assert_eq!(invalid.telemetry, unset.telemetry, "{name}");
            let notice = invalid.notices.iter().find(|notice| notice.name == name).expect(name).to_string();
            assert!(notice.ends_with("; the default applies"), "{notice}");
        }
        let vars = Vars::from_map([(name.to_owned(), "10s".to_owned())].into());
        assert_eq!(load_telemetry(&vars).map(|(telemetry, notices)| (telemetry, notices.len())), Ok((None, 1)));
    }
}

#[test]
fn empty_proxy_yields_to_the_name_in_lower_case() {
    for name in ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"] {
        let lower = name.to_lowercase();
        let given = config(&[(name, ""), (&lower, "proxy.example.com")]).outbound;
        assert_eq!(given, config(&[(&lower, "proxy.example.com")]).outbound, "{name}");
        assert_ne!(given, config(&[]).outbound, "{name}");
    }
}
