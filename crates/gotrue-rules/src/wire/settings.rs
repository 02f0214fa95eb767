//! The response of `GET /settings`: enabled features, for sign-in pages.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::domain::external::provider::Provider;
use crate::domain::external::providers;
use crate::domain::policy::Policy;

/// Enabled features.
#[derive(Debug, Serialize)]
pub struct SettingsJson<'a> {
    external: BTreeMap<&'a str, bool>,
    disable_signup: bool,
    mailer_autoconfirm: bool,
    phone_autoconfirm: bool,
    sms_provider: &'a str,
    saml_enabled: bool,
    saml_private_key_next_configured: bool,
    passkeys_enabled: bool,
}

impl<'a> From<&'a Policy> for SettingsJson<'a> {
    fn from(policy: &'a Policy) -> Self {
        let is_listed = |name: &str| providers::find(name).is_none_or(Provider::is_in_settings);
        let listed = policy.external.providers.iter().filter(|(name, _)| is_listed(name));
        let mut external: BTreeMap<&str, bool> =
            listed.map(|(name, provider)| (name.as_str(), provider.enabled)).collect();
        external.insert("anonymous_users", policy.sign_up.anonymous_enabled);
        external.insert("email", policy.sign_up.email_enabled);
        external.insert("phone", policy.sign_up.phone_enabled);
        Self {
            external,
            disable_signup: policy.sign_up.disabled,
            mailer_autoconfirm: policy.mail.autoconfirm,
            phone_autoconfirm: policy.sms.autoconfirm,
            sms_provider: &policy.sms.provider_name,
            saml_enabled: policy.saml.enabled,
            // As in GoTrue, also true while SAML is disabled.
            saml_private_key_next_configured: !policy.saml.enabled || policy.saml.private_key_next.is_some(),
            passkeys_enabled: policy.passkeys.enabled,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn to_json(policy: &Policy) -> Value {
        serde_json::to_value(SettingsJson::from(policy)).unwrap()
    }

    #[test]
    fn default_settings_match_gotrue() {
        let mut json = to_json(&Policy::default());
        let external = json["external"].take();
        assert_eq!(
            json,
            json!({
                "external": null,
                "disable_signup": false,
                "mailer_autoconfirm": false,
                "phone_autoconfirm": false,
                "sms_provider": "",
                "saml_enabled": false,
                "saml_private_key_next_configured": true,
                "passkeys_enabled": false,
            })
        );
        let on: Vec<_> = external.as_object().unwrap().iter().filter(|(_, on)| **on == json!(true)).collect();
        assert_eq!(on.len(), 1);
        assert_eq!((external.as_object().unwrap().len(), &external["email"]), (26, &json!(true)));
    }

    #[test]
    fn enabled_features_are_listed() {
        let mut policy = Policy::default();
        policy.external.providers.get_mut("github").unwrap().enabled = true;
        policy.sign_up.anonymous_enabled = true;
        policy.sms.provider_name = "twilio".into();
        policy.saml.enabled = true;
        let json = to_json(&policy);
        assert_eq!((&json["external"]["github"], &json["external"]["anonymous_users"]), (&json!(true), &json!(true)));
        assert_eq!(
            (&json["sms_provider"], &json["saml_private_key_next_configured"]),
            (&json!("twilio"), &json!(false))
        );
        policy.saml.private_key_next = Some("key".into());
        assert_eq!(to_json(&policy)["saml_private_key_next_configured"], json!(true));
    }
}
