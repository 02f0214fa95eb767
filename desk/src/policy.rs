//! The policy by which the auth API serves the desk.

use gotrue_rules::domain::policy::{Policy, RelyingParty};
use url::{Host, Url};

/// Changes the policy of the auth API to that of the desk at `url`.
///
/// Second factors and passkeys are available whatever the shop's visitors may use, and passkeys verify the user. There is
/// no captcha: the desk has no widget for it, and the limits of wrong passwords and codes apply.
pub fn apply_policy(policy: &mut Policy, url: &str) {
    policy.security.captcha = None;
    policy.mfa.totp_enroll_enabled = true;
    policy.mfa.totp_verify_enabled = true;
    policy.mfa.is_totp_replay_rejected = true;
    policy.passkeys.requires_user_verification = true;
    let url = Url::parse(url).ok();
    let origin = url.as_ref().map(|url| url.origin().ascii_serialization());
    match (&mut policy.webauthn.relying_party, origin) {
        (Some(party), Some(origin)) => {
            if !party.origins.contains(&origin) {
                party.origins.push(origin);
            }
        }
        (party @ None, Some(origin)) => {
            // An address is no valid id of a relying party.
            *party = url
                .as_ref()
                .and_then(Url::host)
                .and_then(|host| match host {
                    Host::Domain(name) => Some(name.to_owned()),
                    Host::Ipv4(_) | Host::Ipv6(_) => None,
                })
                .map(|id| RelyingParty { display_name: id.clone(), id, origins: vec![origin] });
        }
        (_, None) => {}
    }
    policy.passkeys.enabled = policy.webauthn.relying_party.is_some();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy_at(url: &str) -> Policy {
        let mut policy = Policy::default();
        apply_policy(&mut policy, url);
        policy
    }

    #[test]
    fn passkeys_need_a_name_of_the_host() {
        let named = policy_at("https://shop.example:8443/");
        let party = named.webauthn.relying_party.expect("a relying party");
        assert_eq!(
            (party.id.as_str(), &*party.origins),
            ("shop.example", &["https://shop.example:8443".to_owned()][..])
        );
        assert!(named.passkeys.enabled && named.passkeys.requires_user_verification);
        for url in ["http://127.0.0.1:54321", "http://[::1]", "no URL"] {
            assert!(!policy_at(url).passkeys.enabled, "{url}");
        }
    }

    #[test]
    fn configured_relying_party_gets_the_origin_of_the_desk() {
        let mut policy = Policy::default();
        let own =
            RelyingParty { id: "example".into(), display_name: "A".into(), origins: vec!["https://a.example".into()] };
        policy.webauthn.relying_party = Some(own);
        apply_policy(&mut policy, "https://shop.example");
        apply_policy(&mut policy, "https://shop.example");
        let party = policy.webauthn.relying_party.expect("a relying party");
        assert_eq!(party.origins, ["https://a.example", "https://shop.example"]);
    }
}
