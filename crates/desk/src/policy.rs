//! The policy by which the auth API serves the desk.

use gotrue_rules::domain::policy::{Policy, RelyingParty};
use url::{Host, Url};

/// The name of this machine itself.
const LOCALHOST: &str = "localhost";

/// Changes the policy of the auth API to that of the desk at `url`.
///
/// Passwords, second factors and passkeys are available whatever the shop's visitors may use. The hardened profile,
/// which is applied before, requires that passkeys verify the user and that a code counts once. There is no captcha:
/// the desk has no widget for it, and the limits of wrong passwords and codes apply.
pub fn apply_policy(policy: &mut Policy, url: &str) {
    policy.security.captcha = None;
    policy.sign_up.email_enabled = true;
    policy.mfa.totp_enroll_enabled = true;
    policy.mfa.totp_verify_enabled = true;
    // The desk asks for the password itself, and its sessions have a second factor.
    policy.security.update_password_require_reauthentication = false;
    if let Some((id, origin)) = Url::parse(url).ok().as_ref().and_then(find_relying_party) {
        let party = policy.webauthn.relying_party.get_or_insert_with(|| RelyingParty {
            display_name: id.clone(),
            id,
            origins: Vec::new(),
        });
        if !party.origins.contains(&origin) {
            party.origins.push(origin);
        }
    }
    policy.passkeys.enabled = policy.webauthn.relying_party.is_some();
}

/// Returns the id of the relying party and the origin of the desk; an address is no valid id.
///
/// The addresses of this machine itself are also reached as `localhost`, which is one.
fn find_relying_party(url: &Url) -> Option<(String, String)> {
    let is_loopback = match url.host()? {
        Host::Domain(name) => return Some((name.to_owned(), url.origin().ascii_serialization())),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    let mut local = url.clone();
    local.set_host(Some(LOCALHOST)).ok().filter(|()| is_loopback)?;
    Some((LOCALHOST.to_owned(), local.origin().ascii_serialization()))
}

/// Returns the URL under which browsers on this machine can use passkeys: `localhost` in place of a loopback address.
pub fn prefer_localhost(url: &str) -> String {
    let is_address = |url: &Url| matches!(url.host(), Some(Host::Ipv4(_) | Host::Ipv6(_)));
    let parsed = Url::parse(url).ok().filter(is_address);
    match parsed.as_ref().and_then(find_relying_party) {
        Some((_, origin)) => origin,
        None => url.trim_end_matches('/').to_owned(),
    }
}

/// Returns the origin at which the desk at `url` offers passkeys.
pub(crate) fn find_passkey_origin(url: &Url) -> Option<String> {
    find_relying_party(url).map(|(_, origin)| origin)
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
        assert!(named.passkeys.enabled);
        for url in ["http://192.0.2.1:54321", "http://[2001:db8::1]", "no URL"] {
            assert!(!policy_at(url).passkeys.enabled, "{url}");
        }
    }

    #[test]
    fn desk_on_this_machine_is_opened_as_localhost() {
        for url in ["http://127.0.0.1:54321", "http://[::1]:54321"] {
            let party = policy_at(url).webauthn.relying_party.expect("a relying party");
            assert_eq!((party.id.as_str(), &*party.origins), ("localhost", &["http://localhost:54321".to_owned()][..]));
        }
    }

    #[test]
    fn loopback_addresses_are_printed_as_localhost() {
        for (url, printed) in [
            ("http://127.0.0.1:54321", "http://localhost:54321"),
            ("http://127.0.0.1:54321/", "http://localhost:54321"),
            ("http://[::1]:9", "http://localhost:9"),
            ("http://192.0.2.1:54321", "http://192.0.2.1:54321"),
            ("https://shop.example/", "https://shop.example"),
            ("https://shop.example/path", "https://shop.example/path"),
        ] {
            assert_eq!(prefer_localhost(url), printed);
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
