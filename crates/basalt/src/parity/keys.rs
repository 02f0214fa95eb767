//! What becomes of the keys of a `config.toml`.

use crate::config_file::{FileKey, KeyEffect};

use super::differences::{Profile, find_differences};
use super::finding::Finding;

/// Why known keys have no effect, by the beginnings of their names.
const REASONS: &[(&str, &str)] = &[
    ("storage.analytics", "there are no analytics buckets"),
    ("storage.vector", "there are no vector buckets"),
    ("functions.", "it is a setting of the runtime of your own functions: set it where that runs"),
    ("db.shadow_port", "there is no shadow database"),
    ("db.health_timeout", "the embedded database is waited for"),
    ("db.root_key", "it is a setting of the vault of a hosted database"),
    ("db.migrations.schema_paths", "it is for `supabase db diff`; Basalt applies the migrations"),
    ("inbucket.pop3_port", "the inbox has no POP3; it has the APIs of Mailpit and Inbucket, and SMTP"),
];

/// Tables of services: the remedy, and whether to look at it before switching.
const SERVICES: &[(&str, &str, bool)] = &[
    ("realtime", "run Realtime and name it in [basalt.upstreams] realtime", true),
    ("edge_runtime", "run the edge runtime and name it in [basalt.upstreams] functions", true),
    ("studio", "run Studio and name it in [basalt.upstreams] studio", false),
    ("auth.third_party", "PostgREST and the other services verify those tokens by their own settings", true),
    ("remotes", "use a configuration for each environment", true),
    ("analytics", "export metrics and traces instead, see docs/guides/telemetry.md", false),
    ("experimental", "set them with the CLI where they are needed", false),
    ("db.pooler", "run a pooler in front of your own database, see docs/guides/poolers.md", false),
    ("db.", "set it in your own database", false),
];

/// Returns what becomes of a key; `lookup` returns the value of another key.
///
/// `has_upstream` returns whether `[basalt.upstreams]` names a service.
pub(super) fn judge(
    key: &FileKey,
    lookup: &dyn Fn(&str) -> Option<String>,
    has_upstream: &dyn Fn(&str) -> bool,
) -> Vec<Finding> {
    let name = key.path.as_str();
    let findings = match &key.state {
        KeyEffect::Used => {
            let found = find_differences(name, &key.text, Profile::Serve, lookup);
            if found.is_empty() { vec![Finding::honoured(name)] } else { found }
        }
        KeyEffect::Ignored => vec![Finding::no_effect(name, find_reason(name), false)],
        KeyEffect::Service(_, false) => vec![Finding::honoured(name)],
        KeyEffect::Service(what, true) => {
            let service = if name == "edge_runtime" { "functions" } else { name };
            let (remedy, matters) = find_remedy(name);
            let why = format!("Basalt does not have {what}: {remedy}");
            let is_forwarded = has_upstream(service);
            vec![if is_forwarded { Finding::honoured(name) } else { Finding::no_effect(name, why, matters) }]
        }
        KeyEffect::Unknown(suggestion) => vec![Finding::unknown(name, suggestion.clone())],
    };
    findings.into_iter().map(|finding| finding.at(key.line)).collect()
}

fn find_reason(name: &str) -> &'static str {
    REASONS.iter().find(|(beginning, _)| name.starts_with(beginning)).map_or("it is not used", |(_, why)| why)
}

fn find_remedy(table: &str) -> (&'static str, bool) {
    let found = SERVICES.iter().find(|(name, ..)| *name == table || name.ends_with('.') && table.starts_with(name));
    found.map_or(("run that service", true), |(_, remedy, matters)| (remedy, *matters))
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;
    use crate::config_file::{list_ignored_names, list_keys, list_service_tables};

    fn judge_text(text: &str) -> Vec<Finding> {
        let keys = list_keys(text).expect("it is TOML");
        let lookup = |name: &str| keys.iter().find(|key| key.path == name).map(|key| key.text.clone());
        keys.iter().flat_map(|key| judge(key, &lookup, &|service| service == "functions")).collect()
    }

    #[test]
    fn every_key_without_effect_has_a_reason() {
        for name in list_ignored_names() {
            assert_ne!(find_reason(name), "it is not used", "{name}");
        }
        for table in list_service_tables() {
            assert_ne!(find_remedy(table).0, "run that service", "{table}");
        }
    }

    #[test]
    fn keys_have_verdicts_with_their_lines() {
        let text = "project_id = \"x\"\n[auth]\nsite_url = \"http://localhost\"\nsite_ulr = \"x\"\n[edge_runtime]\nenabled = true\n\
                    [realtime]\nenabled = true\n[studio]\nenabled = false\n[auth.sms]\nenable_signup = true\n";
        let found = judge_text(text);
        let of = |name: &str| found.iter().find(|finding| finding.name == name).expect(name);
        assert_eq!(of("project_id").verdict, Verdict::Honoured);
        assert_eq!((of("auth.site_url").line, &of("auth.site_url").verdict), (Some(3), &Verdict::Honoured));
        assert_eq!(of("auth.site_ulr").verdict, Verdict::Unknown(Some("auth.site_url".to_owned())));
        assert_eq!(of("edge_runtime").verdict, Verdict::Honoured);
        assert!(of("realtime").matters);
        assert_eq!(of("studio").verdict, Verdict::Honoured);
        assert!(matches!(of("auth.sms.enable_signup").verdict, Verdict::Different { .. }));
        let confirmed = judge_text("[auth.sms]\nenable_signup = true\nenable_confirmations = true\n");
        assert!(confirmed.iter().all(|finding| finding.verdict == Verdict::Honoured), "{confirmed:?}");
    }
}
