//! The settings that a replay needs, by `GET /settings` of the server and by what the flow does.

use serde_json::{Map, Value, json};

use super::session::FlowSession;

/// The site of applications that name none.
const DEFAULT_SITE: &str = "http://localhost:3000";

/// Returns the settings of both profiles: `config` and `env`.
pub(super) fn infer_settings(session: &FlowSession, announced: &Value) -> Map<String, Value> {
    let facts = Facts::of(session, announced);
    Map::from_iter([
        ("config".to_owned(), facts.config(session)),
        ("env".to_owned(), Value::Object(facts.env(session))),
        ("inferred".to_owned(), true.into()),
    ])
}

/// What is known about the recorded server.
struct Facts {
    site: String,
    targets: Vec<String>,
    is_sign_up_open: bool,
    has_anonymous: bool,
    has_phone: bool,
    is_email_confirmed: bool,
    is_phone_confirmed: bool,
}

impl Facts {
    fn of(session: &FlowSession, announced: &Value) -> Self {
        let site = session.origins.first().cloned().unwrap_or_else(|| DEFAULT_SITE.to_owned());
        let targets = session.origins.iter().flat_map(|origin| [origin.clone(), format!("{origin}/**")]).collect();
        let external = &announced["external"];
        let has = |feature: &'static str| session.features.contains(&feature);
        Self {
            site,
            targets,
            is_sign_up_open: announced["disable_signup"] != true,
            has_anonymous: external["anonymous_users"] == true || has("anonymous"),
            has_phone: external["phone"] == true || has("mfa_phone") || has("phone_without_confirmation"),
            is_email_confirmed: announced["mailer_autoconfirm"] != true && !has("email_without_confirmation"),
            is_phone_confirmed: announced["phone_autoconfirm"] != true && !has("phone_without_confirmation"),
        }
    }

    fn host(&self) -> &str {
        let host = self.site.split_once("://").map_or("localhost", |(_, host)| host);
        host.split_once(':').map_or(host, |(host, _)| host)
    }

    fn config(&self, session: &FlowSession) -> Value {
        let mut auth = json!({
            "site_url": self.site,
            "additional_redirect_urls": self.targets,
            "enable_signup": self.is_sign_up_open,
            "enable_anonymous_sign_ins": self.has_anonymous,
            "enable_manual_linking": true,
            "email": { "enable_confirmations": self.is_email_confirmed },
            "sms": { "enable_signup": self.has_phone, "enable_confirmations": self.is_phone_confirmed },
        });
        for (feature, name) in [("mfa_totp", "totp"), ("mfa_phone", "phone"), ("mfa_web_authn", "web_authn")] {
            if session.features.contains(&feature) {
                auth["mfa"][name] = json!({ "enroll_enabled": true, "verify_enabled": true });
            }
        }
        if session.features.iter().any(|feature| matches!(*feature, "passkeys" | "mfa_web_authn")) {
            auth["passkey"] = json!({ "enabled": true });
            auth["webauthn"] =
                json!({ "rp_id": self.host(), "rp_display_name": "Recorded", "rp_origins": [self.site] });
        }
        if session.providers.is_empty() {
            return json!({ "auth": auth });
        }
        json!({ "auth": auth, "basalt": { "provider": { "stands_in_for": session.providers } } })
    }

    fn env(&self, session: &FlowSession) -> Map<String, Value> {
        let text = |value: bool| value.to_string();
        let mut env = vec![
            ("SITE_URL", self.site.clone()),
            ("URI_ALLOW_LIST", self.targets.join(",")),
            ("DISABLE_SIGNUP", text(!self.is_sign_up_open)),
            ("EXTERNAL_ANONYMOUS_USERS_ENABLED", text(self.has_anonymous)),
            ("EXTERNAL_EMAIL_ENABLED", text(true)),
            ("EXTERNAL_PHONE_ENABLED", text(self.has_phone)),
            ("SECURITY_MANUAL_LINKING_ENABLED", text(true)),
            ("MAILER_AUTOCONFIRM", text(!self.is_email_confirmed)),
            ("SMS_AUTOCONFIRM", text(!self.is_phone_confirmed)),
            ("SMTP_MAX_FREQUENCY", "1us".to_owned()),
            ("SMS_MAX_FREQUENCY", "1us".to_owned()),
            ("JWT_AUD", "authenticated".to_owned()),
            ("JWT_DEFAULT_GROUP_NAME", "authenticated".to_owned()),
            ("JWT_ADMIN_ROLES", "service_role,supabase_admin".to_owned()),
            ("JWT_ISSUER", "{{base}}".to_owned()),
        ];
        let limits = [
            "RATE_LIMIT_EMAIL_SENT",
            "RATE_LIMIT_SMS_SENT",
            "RATE_LIMIT_VERIFY",
            "RATE_LIMIT_TOKEN_REFRESH",
            "RATE_LIMIT_ANONYMOUS_USERS",
            "RATE_LIMIT_OTP",
        ];
        env.extend(limits.map(|limit| (limit, "100000".to_owned())));
        let mut named: Map<String, Value> =
            env.into_iter().map(|(name, value)| (format!("GOTRUE_{name}"), value.into())).collect();
        for (feature, name) in [("mfa_totp", "TOTP"), ("mfa_phone", "PHONE"), ("mfa_web_authn", "WEB_AUTHN")] {
            if session.features.contains(&feature) {
                named.insert(format!("GOTRUE_MFA_{name}_ENROLL_ENABLED"), "true".into());
                named.insert(format!("GOTRUE_MFA_{name}_VERIFY_ENABLED"), "true".into());
            }
        }
        if session.features.iter().any(|feature| matches!(*feature, "passkeys" | "mfa_web_authn")) {
            named.insert("GOTRUE_PASSKEY_ENABLED".to_owned(), "true".into());
            named.insert("GOTRUE_WEBAUTHN_RP_ID".to_owned(), self.host().into());
            named.insert("GOTRUE_WEBAUTHN_RP_DISPLAY_NAME".to_owned(), "Recorded".into());
            named.insert("GOTRUE_WEBAUTHN_RP_ORIGINS".to_owned(), self.site.as_str().into());
        }
        named
    }
}
