//! Variables of the data API's service: what becomes of them with `basalt postgrest`.

use std::collections::BTreeMap;

use platform::nearest::find_nearest;
use postgrest_rs::config::{Config, Sources};

use super::compose::ComposeService;
use super::finding::Finding;
use super::report::Report;

/// Settings with the meaning that PostgREST gives them.
const HONOURED: [&str; 39] = [
    "ADMIN_SERVER_HOST",
    "ADMIN_SERVER_PORT",
    "DB_AGGREGATES_ENABLED",
    "DB_ANON_ROLE",
    "DB_CHANNEL",
    "DB_CHANNEL_ENABLED",
    "DB_CONFIG",
    "DB_EXTRA_SEARCH_PATH",
    "DB_HOISTED_TX_SETTINGS",
    "DB_MAX_ROWS",
    "DB_PLAN_ENABLED",
    "DB_POOL",
    "DB_POOL_ACQUISITION_TIMEOUT",
    "DB_POOL_AUTOMATIC_RECOVERY",
    "DB_POOL_MAX_IDLETIME",
    "DB_POOL_MAX_LIFETIME",
    "DB_PRE_CONFIG",
    "DB_PRE_REQUEST",
    "DB_PREPARED_STATEMENTS",
    "DB_ROOT_SPEC",
    "DB_SCHEMA",
    "DB_SCHEMAS",
    "DB_TX_END",
    "DB_URI",
    "JWT_AUD",
    "JWT_CACHE_MAX_ENTRIES",
    "JWT_ROLE_CLAIM_KEY",
    "JWT_SECRET",
    "JWT_SECRET_IS_BASE64",
    "LOG_LEVEL",
    "OPENAPI_MODE",
    "OPENAPI_SECURITY_ACTIVE",
    "OPENAPI_SERVER_PROXY_URI",
    "SERVER_CORS_ALLOWED_ORIGINS",
    "SERVER_HOST",
    "SERVER_PORT",
    "SERVER_TIMING_ENABLED",
    "SERVER_UNIX_SOCKET",
    "SERVER_UNIX_SOCKET_MODE",
];

/// Further honoured settings.
const TRACE_HEADER: &str = "SERVER_TRACE_HEADER";

/// Settings without effect, and why.
const WITHOUT_EFFECT: [(&str, &str); 5] = [
    ("DB_POOL_TIMEOUT", "a former name: db-pool-max-idletime has the effect"),
    ("DB_USE_LEGACY_GUCS", "PostgREST 14 does not have it either"),
    ("JWT_CACHE_MAX_LIFETIME", "verified tokens are kept by number: jwt-cache-max-entries"),
    ("LOG_QUERY", "statements are not logged: they may hold values"),
    ("CLIENT_ERROR_VERBOSITY", "errors have all their members"),
];

const PREFIX: &str = "PGRST_";

/// Adds what becomes of the variables of a service of the data API.
pub(super) fn add_findings(service: &ComposeService, report: &mut Report) {
    let variables: BTreeMap<String, String> = (service.environment.iter())
        .filter(|(name, _)| name.starts_with(PREFIX))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    report.findings.extend(variables.keys().map(|name| judge(name)));
    let has_address = variables.contains_key("PGRST_DB_URI");
    if let Err(problem) = Config::build(&Sources { environment: variables, ..Sources::default() })
        && has_address
    {
        report.problems.push(format!("service {}: {problem}", service.name));
    }
}

fn judge(variable: &str) -> Finding {
    let name = variable.strip_prefix(PREFIX).unwrap_or(variable);
    if HONOURED.contains(&name) || name == TRACE_HEADER || name.starts_with("APP_SETTINGS_") {
        return Finding::honoured(variable);
    }
    if let Some((_, why)) = WITHOUT_EFFECT.iter().find(|(known, _)| *known == name) {
        return Finding::no_effect(variable, *why, false);
    }
    Finding::unknown(variable, find_nearest(name, HONOURED, 3).map(|found| format!("{PREFIX}{found}")))
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;

    fn report(variables: &[(&str, &str)]) -> Report {
        let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let service = ComposeService { name: "rest".to_owned(), environment, ..ComposeService::default() };
        let mut report = Report::default();
        add_findings(&service, &mut report);
        report
    }

    #[test]
    fn variables_of_the_official_self_hosting_are_honoured() {
        let report = report(&[
            ("PGRST_DB_URI", "postgres://authenticator:x@db:5432/postgres"),
            ("PGRST_DB_SCHEMAS", "public,storage,graphql_public"),
            ("PGRST_DB_ANON_ROLE", "anon"),
            ("PGRST_JWT_SECRET", "a secret of at least 32 characters"),
            ("PGRST_DB_USE_LEGACY_GUCS", "false"),
            ("PGRST_APP_SETTINGS_JWT_EXP", "3600"),
        ]);
        let others: Vec<&str> = (report.findings.iter())
            .filter(|finding| finding.verdict != Verdict::Honoured)
            .map(|finding| finding.name.as_str())
            .collect();
        assert_eq!(others, ["PGRST_DB_USE_LEGACY_GUCS"]);
        assert!(!report.matters());
        assert!(report.problems.is_empty(), "{:?}", report.problems);
    }

    #[test]
    fn unusable_and_misspelt_variables_are_named() {
        let report =
            report(&[("PGRST_DB_URI", "postgres://db/x"), ("PGRST_JWT_SECRET", "short"), ("PGRST_DB_SCHEMAZ", "a")]);
        let [problem] = &report.problems[..] else { panic!("{:?}", report.problems) };
        assert!(problem.starts_with("service rest: The JWT secret must be at least 32 characters long."), "{problem}");
        assert!(problem.contains("jwt-secret"), "it says what to set: {problem}");
        let misspelt = report.findings.iter().find(|finding| finding.name == "PGRST_DB_SCHEMAZ").expect("a finding");
        assert!(matches!(&misspelt.verdict, Verdict::Unknown(Some(name)) if name.starts_with("PGRST_DB_SCHEMA")));
    }
}
