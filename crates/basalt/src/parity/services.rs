//! What becomes of the services of a Compose file.

use super::compose::ComposeService;

/// What becomes of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceFinding {
    pub name: String,
    /// What becomes of it.
    pub outcome: ServiceOutcome,
    /// The explanation.
    pub text: String,
}

/// What becomes of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceOutcome {
    /// Basalt replaces it.
    Replaced,
    /// It stays; `basalt serve` can forward requests to it.
    Forwarded,
    /// It stays as it is.
    Kept,
}

/// The kind of a service.
struct Kind {
    /// Names that such services have.
    names: &'static [&'static str],
    /// Parts of the names of their images.
    images: &'static [&'static str],
    outcome: ServiceOutcome,
    /// The key of `[basalt.upstreams]` and the port, for forwarded services.
    upstream: Option<(&'static str, u16)>,
    text: &'static str,
}

const fn kind(
    names: &'static [&'static str],
    images: &'static [&'static str],
    outcome: ServiceOutcome,
    text: &'static str,
) -> Kind {
    Kind { names, images, outcome, upstream: None, text }
}

const fn forwarded(
    key: &'static str,
    port: u16,
    names: &'static [&'static str],
    images: &'static [&'static str],
    text: &'static str,
) -> Kind {
    Kind { names, images, outcome: ServiceOutcome::Forwarded, upstream: Some((key, port)), text }
}

use ServiceOutcome::{Kept, Replaced};

const KINDS: &[Kind] = &[
    kind(&["auth"], &["supabase/gotrue", "supabase/auth", "gotrue"], Replaced, "replaced by Basalt"),
    kind(
        &["kong", "gateway", "api-gateway", "envoy"],
        &["kong", "envoyproxy"],
        Replaced,
        "stays with `basalt gotrue`; `basalt serve` replaces it and serves its routes (docs/guides/gateway.md)",
    ),
    forwarded(
        "rest",
        3000,
        &["rest"],
        &["postgrest/postgrest"],
        "stays, or is replaced by `basalt postgrest` with the same variables, or by /rest/v1 of `basalt serve` \
         (docs/guides/data-api.md)",
    ),
    forwarded("realtime", 4000, &["realtime"], &["supabase/realtime"], "stays"),
    forwarded("storage", 5000, &["storage"], &["supabase/storage"], "stays"),
    forwarded(
        "functions",
        9000,
        &["functions", "edge-runtime"],
        &["supabase/edge-runtime"],
        "stays for your own functions; Basalt serves send-submission itself",
    ),
    forwarded("meta", 8080, &["meta"], &["supabase/postgres-meta"], "stays"),
    forwarded("studio", 3000, &["studio"], &["supabase/studio"], "stays"),
    kind(
        &["supavisor", "pooler"],
        &["supabase/supavisor", "pgbouncer"],
        Kept,
        "stays; Basalt works with it in both modes (docs/guides/poolers.md)",
    ),
    kind(&["db"], &["supabase/postgres", "postgres"], Kept, "stays; Basalt uses the schema auth as it is"),
    kind(&["imgproxy"], &["imgproxy"], Kept, "stays; only Storage uses it"),
    kind(&["analytics"], &["logflare"], Kept, "stays; only Studio uses it"),
    kind(&["vector"], &["timberio/vector"], Kept, "stays; it collects the log lines of the containers"),
    kind(
        &["mail", "inbucket", "mailpit", "mailhog"],
        &["inbucket", "mailpit", "mailhog", "maildev"],
        Kept,
        "stays as the mail server of GOTRUE_SMTP_HOST; in development the inbox of `basalt serve` replaces it",
    ),
    kind(
        &["caddy", "nginx", "traefik"],
        &["caddy", "nginx", "traefik"],
        Kept,
        "stays in front; name its address in [basalt] trusted_proxies with `basalt serve`",
    ),
];

/// Returns what becomes of a service.
pub(super) fn judge(service: &ComposeService) -> ServiceFinding {
    let name = service.name.as_str();
    let Some(kind) = find_kind(service) else {
        let text = "is no service of Supabase; nothing changes for it".to_owned();
        return ServiceFinding { name: name.to_owned(), outcome: Kept, text };
    };
    let text = match kind.upstream {
        None => kind.text.to_owned(),
        Some((key, port)) => format!(
            "{}; `basalt serve` forwards to it with [basalt.upstreams] {key} = \"http://{}:{port}\"",
            kind.text, service.host
        ),
    };
    ServiceFinding { name: name.to_owned(), outcome: kind.outcome, text }
}

/// Returns whether a service is the auth server.
pub(super) fn is_auth_server(service: &ComposeService) -> bool {
    let is_kind = find_kind(service).is_some_and(|kind| kind.names.contains(&"auth"));
    is_kind || service.environment.keys().any(|name| name.starts_with("GOTRUE_JWT_"))
}

/// Returns whether a service is the data API.
pub(super) fn is_data_api(service: &ComposeService) -> bool {
    find_kind(service).is_some_and(|kind| kind.names.contains(&"rest"))
}

/// Finds the kind by the image, without one that is known by the name.
fn find_kind(service: &ComposeService) -> Option<&'static Kind> {
    let image = service.image.split('@').next().unwrap_or_default();
    let by_image = |kind: &&Kind| kind.images.iter().any(|part| image.contains(part));
    let by_name = |kind: &&Kind| kind.names.contains(&service.name.as_str());
    KINDS.iter().find(by_image).or_else(|| KINDS.iter().find(by_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge_one(name: &str, image: &str) -> (ServiceOutcome, String) {
        let service = ComposeService {
            name: name.to_owned(),
            image: image.to_owned(),
            host: name.to_owned(),
            ..ComposeService::default()
        };
        let found = judge(&service);
        (found.outcome, found.text)
    }

    #[test]
    fn services_are_recognised_by_image_or_name() {
        assert_eq!(judge_one("identity", "supabase/gotrue:v2.196.0").0, Replaced);
        assert_eq!(judge_one("auth", "").0, Replaced);
        assert_eq!(judge_one("kong", "kong:2.8.1").0, Replaced);
        assert_eq!(judge_one("shop", "registry.example.com/shop").0, Kept);
        let (outcome, text) = judge_one("storage", "supabase/storage-api:v1");
        assert_eq!(outcome, ServiceOutcome::Forwarded);
        assert!(text.contains("storage = \"http://storage:5000\""), "{text}");
        assert_eq!(judge_one("database", "supabase/postgres:15").0, Kept);
    }

    #[test]
    fn every_key_of_upstreams_is_offered() {
        let keys: Vec<&str> = KINDS.iter().filter_map(|kind| kind.upstream).map(|(key, _)| key).collect();
        for service in gateway::Service::ALL.iter().map(|service| service.name()).filter(|name| *name != "graphql") {
            assert!(keys.contains(&service), "{service}");
        }
    }
}
