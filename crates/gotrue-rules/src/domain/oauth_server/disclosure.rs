//! What an OAuth client learns of its user, limited by the granted scopes.

use serde_json::{Map, Value, json};

use super::scope::{EMAIL, PHONE, PROFILE, contains_scope};
use crate::domain::session::Session;
use crate::domain::user::User;

/// Members of metadata that tell the address, in lower case.
const EMAIL_MEMBERS: [&str; 5] = ["email", "email_address", "email_verified", "emails", "mail"];
/// Members of metadata that tell the number, in lower case.
const PHONE_MEMBERS: [&str; 4] = ["phone", "phone_number", "phone_number_verified", "phone_verified"];
/// Members of `app_metadata` that tell how the user signs in.
const SIGN_IN_MEMBERS: [&str; 2] = ["provider", "providers"];

/// Returns the user as a client with these scopes may see it.
///
/// Id, audience, role and the two times that every user has stay; `app_metadata`, identities and factors are empty.
pub fn limit_user(user: &User, scopes: &str) -> User {
    let has = |scope: &str| contains_scope(scopes, scope);
    let (email_at, phone_at) =
        (user.email_confirmed_at.filter(|_| has(EMAIL)), user.phone_confirmed_at.filter(|_| has(PHONE)));
    let mut user_metadata = Map::new();
    if has(PROFILE) {
        user_metadata.clone_from(&user.user_metadata);
        HiddenContacts::new(user, scopes).remove_from(&mut user_metadata);
    }
    User {
        id: user.id,
        aud: user.aud.clone(),
        role: user.role.clone(),
        email: user.email.clone().filter(|_| has(EMAIL)),
        phone: user.phone.clone().filter(|_| has(PHONE)),
        email_confirmed_at: email_at,
        phone_confirmed_at: phone_at,
        confirmed_at: email_at.into_iter().chain(phone_at).min(),
        user_metadata,
        is_anonymous: user.is_anonymous,
        created_at: user.created_at,
        updated_at: user.updated_at,
        ..User::default()
    }
}

/// Removes from the claims of a client's access token what its scopes do not name; other sessions are unchanged.
///
/// `app_metadata` keeps what the operator adds, which policies of the database read. Claims of the access token hook stay
/// under other names. `client_id` and `scope`, by which services know the limits of the token, are those of the session.
pub fn limit_access_claims(claims: &mut Map<String, Value>, user: &User, session: &Session) {
    let Some(client) = session.oauth_client_id.filter(|id| !id.is_nil()) else { return };
    let scopes = session.scopes.as_deref().unwrap_or_default();
    for (name, scope) in [("email", EMAIL), ("phone", PHONE), ("user_metadata", PROFILE)] {
        if !contains_scope(scopes, scope) {
            claims.remove(name);
        }
    }
    if let Some(Value::Object(metadata)) = claims.get_mut("user_metadata") {
        HiddenContacts::new(user, scopes).remove_from(metadata);
    }
    if let Some(Value::Object(metadata)) = claims.get_mut("app_metadata") {
        metadata.retain(|name, _| !SIGN_IN_MEMBERS.contains(&name.as_str()));
        HiddenContacts::new(user, scopes).remove_from(metadata);
    }
    claims.insert("client_id".to_owned(), json!(client));
    claims.insert("scope".to_owned(), json!(scopes));
}

/// Whether a text is an e-mail address rather than a name.
pub(super) fn is_address(text: &str) -> bool {
    text.trim().split_once('@').is_some_and(|(local, domain)| {
        !local.is_empty() && domain.contains('.') && !text.trim().contains(char::is_whitespace)
    })
}

/// The addresses and numbers of a user that its scopes do not name.
struct HiddenContacts {
    members: Vec<&'static str>,
    /// In lower case.
    texts: Vec<String>,
}

impl HiddenContacts {
    fn new(user: &User, scopes: &str) -> Self {
        let (mut members, mut texts) = (Vec::new(), Vec::new());
        if !contains_scope(scopes, EMAIL) {
            members.extend(EMAIL_MEMBERS);
            let of_identities = user.identities.iter().filter_map(|identity| identity.email.as_deref());
            let own = user.email.as_deref().into_iter().chain([user.email_change.as_str()]);
            texts.extend(own.chain(of_identities).map(str::to_lowercase));
        }
        if !contains_scope(scopes, PHONE) {
            members.extend(PHONE_MEMBERS);
            for number in user.phone.as_deref().into_iter().chain([user.phone_change.as_str()]) {
                texts.extend([number.to_owned(), format!("+{number}")]);
            }
        }
        texts.retain(|text| !text.trim_start_matches('+').is_empty());
        Self { members, texts }
    }

    /// Removes the members that tell a hidden address or number, at any depth.
    fn remove_from(&self, metadata: &mut Map<String, Value>) {
        metadata.retain(|name, value| !self.members.contains(&name.to_lowercase().as_str()) && !self.is_hidden(value));
        for value in metadata.values_mut() {
            self.remove_inside(value);
        }
    }

    fn remove_inside(&self, value: &mut Value) {
        match value {
            Value::Object(members) => self.remove_from(members),
            Value::Array(entries) => {
                entries.retain(|entry| !self.is_hidden(entry));
                for entry in entries {
                    self.remove_inside(entry);
                }
            }
            _ => {}
        }
    }

    fn is_hidden(&self, value: &Value) -> bool {
        value.as_str().is_some_and(|text| self.texts.contains(&text.trim().to_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::user::Identity;
    use foundation::time::Time;

    fn user() -> User {
        let metadata = json!({
            "name": "Ann", "email": "ann@example.com", "email_verified": true, "phone_verified": false,
            "contact": {"Email": "x", "list": ["ANN@example.com ", "+15550100", "blue"], "alias": "ann@work.example"},
            "preferred_username": "ann@example.com",
        });
        let app = json!({"provider": "email", "providers": ["email"], "tenant": "t1", "owner": "ann@example.com"});
        User {
            email: Some("ann@example.com".into()),
            phone: Some("15550100".into()),
            email_confirmed_at: Time::from_timestamp(20, 0),
            phone_confirmed_at: Time::from_timestamp(10, 0),
            confirmed_at: Time::from_timestamp(10, 0),
            user_metadata: metadata.as_object().cloned().unwrap_or_default(),
            app_metadata: app.as_object().cloned().unwrap_or_default(),
            identities: vec![Identity { email: Some("ann@work.example".into()), ..Identity::default() }],
            ..User::default()
        }
    }

    #[test]
    fn user_has_only_members_of_scopes() {
        for (scopes, email, phone, confirmed) in [
            ("openid", None, None, None),
            ("email", Some("ann@example.com"), None, Some(20)),
            ("phone", None, Some("15550100"), Some(10)),
            ("phone email", Some("ann@example.com"), Some("15550100"), Some(10)),
        ] {
            let limited = limit_user(&user(), scopes);
            assert_eq!((limited.email.as_deref(), limited.phone.as_deref()), (email, phone), "{scopes}");
            assert_eq!(limited.confirmed_at.map(|at| at.timestamp()), confirmed, "{scopes}");
            assert!(limited.user_metadata.is_empty() && limited.app_metadata.is_empty(), "{scopes}");
            assert!(limited.identities.is_empty(), "{scopes}");
        }
    }

    #[test]
    fn metadata_of_profile_tells_no_hidden_contacts() {
        let limited = |scopes| Value::Object(limit_user(&user(), scopes).user_metadata);
        assert_eq!(limited("profile"), json!({"name": "Ann", "contact": {"list": ["blue"]}}));
        assert_eq!(limited("profile email phone"), Value::Object(user().user_metadata));
        let without_phone = limited("profile email");
        assert_eq!(without_phone["contact"]["list"], json!(["ANN@example.com ", "blue"]));
        assert!(without_phone.get("phone_verified").is_none());
    }

    #[test]
    fn access_claims_of_client_are_limited_and_keep_its_limits() {
        let session = Session {
            oauth_client_id: Some(uuid::Uuid::from_u128(7)),
            scopes: Some("openid".into()),
            ..Session::default()
        };
        let full = json!({"sub": "s", "email": "a", "phone": "", "user_metadata": {"name": "Ann"}, "plan": "gold",
                          "app_metadata": user().app_metadata});
        let mut claims = full.as_object().cloned().unwrap_or_default();
        limit_access_claims(&mut claims, &user(), &session);
        let expected = json!({"sub": "s", "plan": "gold", "app_metadata": {"tenant": "t1"}, "scope": "openid",
                              "client_id": uuid::Uuid::from_u128(7)});
        assert_eq!(Value::Object(claims), expected);
        let mut claims = full.as_object().cloned().unwrap_or_default();
        limit_access_claims(&mut claims, &user(), &Session::default());
        assert_eq!(Value::Object(claims), full, "a session of the user itself");
    }

    proptest! {
        #[test]
        fn no_text_with_white_space_or_without_domain_is_an_address(text in "[a-z @.]{0,20}") {
            if is_address(&text) {
                prop_assert!(text.trim().contains('@') && !text.trim().contains(' '));
            }
        }
    }
}
