//! Settings with which the reference starts, and settings with which it does not.

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
