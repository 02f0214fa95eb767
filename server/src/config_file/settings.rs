//! From the values of `config.toml` to the settings of the auth server: the table's rows, and the rules that a table cannot
//! say. What the Supabase CLI fixes is fixed here too.

use std::collections::BTreeMap;
use std::path::Path;

use gotrue_rs::config::Notice;
use url::{Host, Url};

use super::Problem;
use super::keys::{self, KEYS, Use};
use super::read::{Value, Values};

/// What is known only once the server has its address.
#[derive(Debug)]
pub struct Facts<'a> {
    /// Where clients reach us, without a slash at the end: `http://127.0.0.1:54321`.
    pub api_url: &'a str,
    /// The folder of `config.toml`: paths in it start there.
    pub folder: &'a Path,
}

/// Settings by their full names, with the key each came from.
#[derive(Debug, Default)]
pub struct Settings {
    /// `GOTRUE_SITE_URL` and its like.
    pub vars: BTreeMap<String, String>,
    /// The key and line behind a setting, where there is one.
    origins: BTreeMap<String, (String, usize)>,
    /// What is odd and yet can be used.
    pub notices: Vec<Notice>,
    /// What cannot be used.
    pub problems: Vec<Problem>,
}

/// What the CLI passes whatever the file says.
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

/// The order in which the CLI takes the first that is enabled.
const SMS_PROVIDERS: &[&str] = &["twilio", "twilio_verify", "messagebird", "textlocal", "vonage"];

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";
/// A backslash, then an escaped colon: a plain colon separates sets.
const SYMBOLS: &str = r#"!@#$%^&*()_+-=[]{};'\\:"|<>?,./`~"#;

impl Settings {
    /// All of them.
    pub fn from(values: &Values, facts: &Facts<'_>) -> Self {
        let mut settings = Self::default();
        for (name, value) in FIXED {
            settings.put(name, *value);
        }
        settings.rows(values);
        settings.addresses(values, facts);
        settings.passwords_and_sessions(values);
        settings.mail(values, facts);
        settings.sms(values);
        settings.providers(values);
        settings.saml(values);
        settings.signing_keys(values, facts);
        settings.relying_party(values, facts);
        settings
    }

    /// The key of `config.toml` behind a setting, for a complaint about it, and its line.
    pub fn origin(&self, setting: &str) -> Option<(&str, usize)> {
        self.origins.get(setting).map(|(key, line)| (key.as_str(), *line))
    }

    /// Sets one that comes from no key.
    pub fn put(&mut self, name: &str, value: impl Into<String>) {
        self.vars.insert(format!("GOTRUE_{name}"), value.into());
    }

    pub(super) fn put_from(&mut self, name: &str, value: &Value, text: impl Into<String>) {
        self.origins.insert(format!("GOTRUE_{name}"), (value.path.join("."), value.line));
        self.put(name, text);
    }

    fn rows(&mut self, values: &Values) {
        for key in KEYS {
            if let Use::Setting(name, Some(default)) | Use::Opposite(name, default) = key.usage {
                self.put(name, default);
            }
        }
        for value in values.all() {
            let path: Vec<&str> = value.path.iter().map(String::as_str).collect();
            let Some(key) = keys::find(&path) else { continue };
            match key.usage {
                Use::Setting(name, _) => {
                    let star = key.path.split('.').position(|part| part == "*");
                    let name = star.map_or(name.to_owned(), |at| name.replace('*', &path[at].to_uppercase()));
                    self.put_from(&name, value, &value.text);
                }
                Use::Opposite(name, _) => self.put_from(name, value, (value.text != "true").to_string()),
                Use::Read | Use::Nothing => {}
            }
        }
    }

    fn addresses(&mut self, values: &Values, facts: &Facts<'_>) {
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

    fn passwords_and_sessions(&mut self, values: &Values) {
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
            // Nothing and nought mean no limit; the auth server refuses nought.
            let limit = values.get(&format!("auth.sessions.{key}"));
            if let Some(value) = limit.filter(|value| value.text.chars().any(|digit| ('1'..='9').contains(&digit))) {
                self.put_from(name, value, &value.text);
            }
        }
    }

    fn mail(&mut self, values: &Values, facts: &Facts<'_>) {
        let smtp = values.all().any(|value| value.path.starts_with(&["auth", "email", "smtp"].map(str::to_owned)))
            && values.is_on("auth.email.smtp.enabled", true);
        match (smtp, values.get("auth.rate_limit.email_sent")) {
            (true, Some(value)) => self.put_from("RATE_LIMIT_EMAIL_SENT", value, &value.text),
            (true, None) => self.put("RATE_LIMIT_EMAIL_SENT", "2"),
            (false, _) => self.put("RATE_LIMIT_EMAIL_SENT", "360000"),
        }
        if !smtp {
            self.put("SMTP_ADMIN_EMAIL", values.text("inbucket.admin_email").unwrap_or("admin@email.com"));
            self.put("SMTP_SENDER_NAME", values.text("inbucket.sender_name").unwrap_or("Admin"));
        }
        self.mail_headers(values);
        for value in values.all() {
            self.text_of_mail(value, facts);
        }
    }

    fn sms(&mut self, values: &Values) {
        let provider = SMS_PROVIDERS.iter().find(|name| values.is_on(&format!("auth.sms.{name}.enabled"), false));
        if let Some(provider) = provider {
            self.put("SMS_PROVIDER", *provider);
        }
        let codes: Vec<&Value> = values
            .all()
            .filter(|value| value.path.starts_with(&["auth", "sms", "test_otp"].map(str::to_owned)))
            .collect();
        if let Some(first) = codes.first() {
            let list: Vec<String> = codes.iter().map(|code| format!("{}:{}", code.path[3], code.text)).collect();
            self.put_from("SMS_TEST_OTP", first, list.join(","));
        }
    }

    fn providers(&mut self, values: &Values) {
        let issuer = self.vars["GOTRUE_JWT_ISSUER"].clone();
        for name in values.names_below("auth.external") {
            if !values.is_on(&format!("auth.external.{name}.enabled"), false) {
                continue;
            }
            let setting = format!("EXTERNAL_{}_REDIRECT_URI", name.to_uppercase());
            match values.get(&format!("auth.external.{name}.redirect_uri")).filter(|value| !value.text.is_empty()) {
                Some(value) => self.put_from(&setting, value, &value.text),
                None => self.put(&setting, format!("{issuer}/callback")),
            }
        }
    }

    /// A key that is missing is missed where SAML is switched on.
    fn saml(&mut self, values: &Values) {
        let switch = values.get("basalt.saml.enabled").filter(|value| value.text == "true");
        if let (Some(switch), None) = (switch, values.get("basalt.saml.private_key")) {
            let missing = ("basalt.saml.private_key".to_owned(), switch.line);
            self.origins.insert("GOTRUE_SAML_PRIVATE_KEY".to_owned(), missing);
        }
    }

    fn signing_keys(&mut self, values: &Values, facts: &Facts<'_>) {
        let Some(value) = values.get("auth.signing_keys_path").filter(|value| !value.text.is_empty()) else { return };
        let file = facts.folder.join(&value.text);
        match std::fs::read_to_string(&file) {
            Ok(keys) => self.put_from("JWT_KEYS", value, keys),
            Err(error) => self.complain(value, &format!("names {}, which cannot be read: {error}", file.display())),
        }
    }

    /// Who we are to authenticators, where the file does not say: the site. Authenticators know no addresses, so that a
    /// site on this machine is `localhost` to them, and so are we then.
    fn relying_party(&mut self, values: &Values, facts: &Facts<'_>) {
        let Some(site) = Url::parse(&self.vars["GOTRUE_SITE_URL"]).ok().and_then(by_name) else { return };
        let Some(host) = site.host_str().map(str::to_owned) else { return };
        let api = Url::parse(facts.api_url).ok().and_then(by_name).filter(|api| api.host_str() == Some(&host));
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

    pub(super) fn complain(&mut self, value: &Value, text: &str) {
        self.problems.push(Problem { line: Some(value.line), text: format!("{} {text}", value.path.join(".")) });
    }
}

/// The URL under a name: one of this machine's addresses is `localhost`, other addresses have none.
fn by_name(mut url: Url) -> Option<Url> {
    let is_here = match url.host()? {
        Host::Domain(_) => return Some(url),
        Host::Ipv4(address) => address.is_loopback() || address.is_unspecified(),
        Host::Ipv6(address) => address.is_loopback() || address.is_unspecified(),
    };
    (is_here && url.set_host(Some("localhost")).is_ok()).then_some(url)
}
