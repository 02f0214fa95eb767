//! Converts the values of `config.toml` to settings of the auth server.
//! Most keys map by the table in `keys`; the others have rules here. Constants of the Supabase CLI are constants here
//! too.

use std::collections::BTreeMap;
use std::path::Path;

use gotrue_rs::config::Notice;
use url::{Host, Url};

use super::keys::{self, KeyUsage, SMS_PROVIDERS, all_keys};
use super::read::{Value, Values};
use super::unset;
use crate::problem::Problem;

/// Properties of the server that `config.toml` does not contain.
#[derive(Debug)]
pub(crate) struct ServerFacts<'a> {
    /// The URL for clients, without a trailing slash: `http://127.0.0.1:54321`.
    pub api_url: &'a str,
    /// The folder of `config.toml`, to which its paths are relative.
    pub folder: &'a Path,
}

/// Settings by full name, with the keys they come from.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    /// Settings such as `GOTRUE_SITE_URL`.
    pub vars: BTreeMap<String, String>,
    /// The key and line of a setting that comes from the file.
    origins: BTreeMap<String, (String, Option<usize>)>,
    /// Questionable but usable values.
    pub notices: Vec<Notice>,
    /// Unusable values.
    pub problems: Vec<Problem>,
}

/// Settings that the CLI passes regardless of the file.
const FIXED: &[(&str, &str)] = &[
    ("DB_DRIVER", "postgres"),
    ("JWT_AUD", "authenticated"),
    ("JWT_DEFAULT_GROUP_NAME", "authenticated"),
    ("JWT_ADMIN_ROLES", "service_role"),
    ("JWT_VALID_METHODS", "HS256,RS256,ES256"),
    ("SMS_OTP_EXP", "6000"),
    ("SMS_OTP_LENGTH", "6"),
    ("MAILER_TEMPLATE_RELOADING_ENABLED", "true"),
];

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";
/// A backslash, then an escaped colon: an unescaped colon separates sets.
const SYMBOLS: &str = r#"!@#$%^&*()_+-=[]{};'\\:"|<>?,./`~"#;

impl Settings {
    /// Converts all values.
    pub(crate) fn from_values(values: &Values, facts: &ServerFacts<'_>) -> Self {
        let mut settings = Self::default();
        for (name, value) in FIXED {
            settings.put(name, *value);
        }
        settings.put_table_settings(values);
        settings.put_urls(values, facts);
        settings.put_password_and_session_settings(values);
        settings.put_mail_settings(values, facts);
        settings.put_sms_settings(values);
        settings.put_provider_redirects(values);
        settings.set_saml_key_origin(values);
        settings.put_signing_keys(values, facts);
        settings.put_relying_party(values, facts);
        settings
    }

    /// Returns the key and line of a setting that comes from `config.toml`, for error messages.
    pub(crate) fn origin(&self, setting: &str) -> Option<(&str, Option<usize>)> {
        self.origins.get(setting).map(|(key, line)| (key.as_str(), *line))
    }

    /// Puts a setting that comes from no key.
    pub(crate) fn put(&mut self, name: &str, value: impl Into<String>) {
        self.vars.insert(format!("GOTRUE_{name}"), value.into());
    }

    pub(super) fn put_from(&mut self, name: &str, value: &Value, text: impl Into<String>) {
        self.origins.insert(format!("GOTRUE_{name}"), (value.path.join("."), value.line));
        self.put(name, text);
    }

    fn put_table_settings(&mut self, values: &Values) {
        for key in all_keys() {
            if let KeyUsage::Setting(name, Some(default)) | KeyUsage::Negated(name, default) = key.usage {
                self.put(name, default);
            }
        }
        for value in values.enabled_values() {
            let path: Vec<&str> = value.path.iter().map(String::as_str).collect();
            let Some(key) = keys::find_key(&path) else { continue };
            match key.usage {
                KeyUsage::Setting(name, _) => {
                    let star = key.path.split('.').position(|part| part == "*");
                    let name = star.map_or(name.to_owned(), |at| name.replace('*', &path[at].to_uppercase()));
                    self.put_from(&name, value, &value.text);
                }
                KeyUsage::Negated(name, _) => self.put_from(name, value, (value.text != "true").to_string()),
                KeyUsage::Custom | KeyUsage::Ignored => {}
            }
        }
    }

    fn put_urls(&mut self, values: &Values, facts: &ServerFacts<'_>) {
        let is_set = |key: &str| values.text(key).is_some_and(|text| !text.is_empty());
        let has_certificate =
            is_set("basalt.tls.certificate") || is_set("api.tls.cert_path") && is_set("api.tls.key_path");
        if values.is_enabled("api.tls.enabled", false) && !has_certificate {
            let text = "needs api.tls.cert_path and api.tls.key_path, the files of a certificate and its private key, as \
                        `mkcert localhost 127.0.0.1` makes them; the certificate of the Supabase CLI is not part of Basalt";
            self.problems.push(values.build_problem("api.tls.enabled", text));
        }
        self.put("SITE_URL", facts.api_url);
        self.put("API_API_EXTERNAL_URL", format!("{}/auth/v1", facts.api_url));
        for (key, name) in [("auth.site_url", "SITE_URL"), ("auth.external_url", "API_API_EXTERNAL_URL")] {
            if let Some(value) = values.get(key).filter(|value| !value.text.is_empty()) {
                self.put_from(name, value, value.text.trim_end_matches('/'));
            }
        }
        let external = self.vars["GOTRUE_API_API_EXTERNAL_URL"].clone();
        self.put("JWT_ISSUER", &external);
        if let Some(issuer) = values.get("auth.jwt_issuer").filter(|value| !value.text.is_empty()) {
            self.put_from("JWT_ISSUER", issuer, &issuer.text);
        }
        for path in ["INVITE", "CONFIRMATION", "RECOVERY", "EMAIL_CHANGE"] {
            self.put(&format!("MAILER_URLPATHS_{path}"), format!("{external}/verify"));
        }
    }

    fn put_password_and_session_settings(&mut self, values: &Values) {
        if let Some(value) = values.get("auth.password_requirements") {
            let characters = match value.text.as_str() {
                "letters_digits" => format!("{LOWER}{UPPER}:{DIGITS}"),
                "lower_upper_letters_digits" => format!("{LOWER}:{UPPER}:{DIGITS}"),
                "lower_upper_letters_digits_symbols" => format!("{LOWER}:{UPPER}:{DIGITS}:{SYMBOLS}"),
                _ => String::new(),
            };
            self.put_from("PASSWORD_REQUIRED_CHARACTERS", value, characters);
        }
        let limits = [("timebox", "SESSIONS_TIMEBOX"), ("inactivity_timeout", "SESSIONS_INACTIVITY_TIMEOUT")];
        for (key, name) in limits {
            // No value and 0 mean no limit; the auth server rejects 0.
            let limit = values.get(&format!("auth.sessions.{key}"));
            if let Some(value) = limit.filter(|value| value.text.chars().any(|digit| ('1'..='9').contains(&digit))) {
                self.put_from(name, value, &value.text);
            }
        }
    }

    fn put_mail_settings(&mut self, values: &Values, facts: &ServerFacts<'_>) {
        let smtp =
            values.enabled_values().any(|value| value.path.starts_with(&["auth", "email", "smtp"].map(str::to_owned)))
                && values.is_enabled("auth.email.smtp.enabled", true);
        match (smtp, values.get("auth.rate_limit.email_sent")) {
            (true, Some(value)) => self.put_from("RATE_LIMIT_EMAIL_SENT", value, &value.text),
            (true, None) => self.put("RATE_LIMIT_EMAIL_SENT", "2"),
            (false, _) => self.put("RATE_LIMIT_EMAIL_SENT", "360000"),
        }
        if !smtp {
            self.put("SMTP_ADMIN_EMAIL", values.text("inbucket.admin_email").unwrap_or("no-reply@localhost"));
            self.put("SMTP_SENDER_NAME", values.text("inbucket.sender_name").unwrap_or("Basalt"));
        }
        self.problems.extend(unset::find_mail_server_problems(values));
        self.put_mail_headers(values);
        for value in values.enabled_values() {
            self.put_mail_template(value, facts);
        }
    }

    fn put_sms_settings(&mut self, values: &Values) {
        let provider = SMS_PROVIDERS.iter().find(|name| values.is_enabled(&format!("auth.sms.{name}.enabled"), false));
        if let Some(provider) = provider {
            self.put("SMS_PROVIDER", *provider);
        }
        let codes: Vec<&Value> = values
            .enabled_values()
            .filter(|value| value.path.starts_with(&["auth", "sms", "test_otp"].map(str::to_owned)))
            .collect();
        if let Some(first) = codes.first() {
            let list: Vec<String> = codes.iter().map(|code| format!("{}:{}", code.path[3], code.text)).collect();
            self.put_from("SMS_TEST_OTP", first, list.join(","));
        }
    }

    fn put_provider_redirects(&mut self, values: &Values) {
        let issuer = self.vars["GOTRUE_JWT_ISSUER"].clone();
        for name in values.names_in_table("auth.external") {
            if !values.is_enabled(&format!("auth.external.{name}.enabled"), false) {
                continue;
            }
            let setting = format!("EXTERNAL_{}_REDIRECT_URI", name.to_uppercase());
            match values.get(&format!("auth.external.{name}.redirect_uri")).filter(|value| !value.text.is_empty()) {
                Some(value) => self.put_from(&setting, value, &value.text),
                None => self.put(&setting, format!("{issuer}/callback")),
            }
        }
    }

    /// Reports a missing SAML key at the line that enables SAML.
    fn set_saml_key_origin(&mut self, values: &Values) {
        let switch = values.get("basalt.saml.enabled").filter(|value| value.text == "true");
        if let (Some(switch), None) = (switch, values.get("basalt.saml.private_key")) {
            let missing = ("basalt.saml.private_key".to_owned(), switch.line);
            self.origins.insert("GOTRUE_SAML_PRIVATE_KEY".to_owned(), missing);
        }
    }

    fn put_signing_keys(&mut self, values: &Values, facts: &ServerFacts<'_>) {
        let Some(value) = values.get("auth.signing_keys_path").filter(|value| !value.text.is_empty()) else { return };
        let file = facts.folder.join(&value.text);
        match std::fs::read_to_string(&file) {
            Ok(keys) => self.put_from("JWT_KEYS", value, keys),
            Err(error) => {
                self.report_problem(value, &format!("names a file that cannot be read: {error}"));
            }
        }
    }

    /// Puts the WebAuthn relying party; by default it is the site.
    /// WebAuthn does not accept IP addresses as relying party ids, so a site on a loopback address becomes `localhost`.
    fn put_relying_party(&mut self, values: &Values, facts: &ServerFacts<'_>) {
        let Some(site) = Url::parse(&self.vars["GOTRUE_SITE_URL"]).ok().and_then(with_host_name) else { return };
        let Some(host) = site.host_str().map(str::to_owned) else { return };
        let api = Url::parse(facts.api_url).ok().and_then(with_host_name).filter(|api| api.host_str() == Some(&host));
        let mut origins = vec![site.origin().ascii_serialization()];
        origins.extend(api.map(|api| api.origin().ascii_serialization()).filter(|origin| *origin != origins[0]));
        for (key, name, default) in [
            ("auth.webauthn.rp_id", "WEBAUTHN_RP_ID", host.clone()),
            ("auth.webauthn.rp_display_name", "WEBAUTHN_RP_DISPLAY_NAME", host),
            ("auth.webauthn.rp_origins", "WEBAUTHN_RP_ORIGINS", origins.join(",")),
        ] {
            if values.get(key).is_none_or(|value| value.text.is_empty()) {
                self.put(name, default);
            }
        }
    }

    pub(super) fn report_problem(&mut self, value: &Value, text: &str) {
        self.problems.push(Problem { line: value.line, text: format!("{} {text}", value.path.join(".")) });
    }
}

/// Returns the URL with a host name: a loopback address becomes `localhost`, for others there is none.
fn with_host_name(mut url: Url) -> Option<Url> {
    let is_here = match url.host()? {
        Host::Domain(_) => return Some(url),
        Host::Ipv4(address) => address.is_loopback() || address.is_unspecified(),
        Host::Ipv6(address) => address.is_loopback() || address.is_unspecified(),
    };
    (is_here && url.set_host(Some("localhost")).is_ok()).then_some(url)
}
