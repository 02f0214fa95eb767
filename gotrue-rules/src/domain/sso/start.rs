//! A sign-in through a company's identity provider: which one is meant, and whether it may begin.

use uuid::Uuid;

use super::SsoProvider;
use crate::domain::error::{Error, Result};
use crate::domain::pkce::{Challenge, check_pair};
use crate::wire::requests::SingleSignOn;

/// Which provider is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// The one of that id.
    Id(Uuid),
    /// The one of that domain.
    Domain(&'a str),
}

impl<'a> Wanted<'a> {
    /// What a request says; 400 `validation_failed` for both or neither.
    pub fn of(request: &'a SingleSignOn) -> Result<Self> {
        match (request.provider_id, request.domain.as_str()) {
            (Some(id), "") => Ok(Self::Id(id)),
            (None, "") => Err(Error::invalid("A provider_id or domain needs to be provided")),
            (None, domain) => Ok(Self::Domain(domain)),
            (Some(_), _) => Err(Error::invalid("Only one of provider_id or domain supported")),
        }
    }

    /// 404: there is none.
    pub fn not_found(self) -> Error {
        let message = match self {
            Self::Id(_) => "No such SSO provider",
            Self::Domain(_) => "No SSO provider assigned for this domain",
        };
        Error::not_found("sso_provider_not_found", message)
    }
}

/// Checks that the provider is in use (404) and the pair of a PKCE flow (400): the challenge, if there is one.
pub fn begin(provider: &SsoProvider, request: &SingleSignOn) -> Result<Option<Challenge>> {
    if !provider.is_enabled() {
        return Err(Error::not_found("sso_provider_disabled", "SSO Provider is currently disabled"));
    }
    let pkce = &request.pkce;
    check_pair(&pkce.challenge, &pkce.method)?;
    Challenge::new(&pkce.challenge, &pkce.method)
        .map_err(|unknown| Error::invalid("Invalid code_challenge_method").because(unknown))
}

/// 422: the provider takes no requests in the query of an address, the only way in which we send them.
pub fn takes_no_requests() -> Error {
    Error::unprocessable("validation_failed", "SSO Provider does not take sign-in requests by HTTP-Redirect")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::draft::{self, Described};
    use super::*;
    use crate::domain::user::Time;
    use crate::wire::requests::AdminSsoProvider;

    fn request(body: &Value) -> SingleSignOn {
        SingleSignOn::decode(body.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn one_provider_is_meant() {
        let id = Uuid::from_u128(7);
        assert_eq!(Wanted::of(&request(&json!({"provider_id": id}))).unwrap(), Wanted::Id(id));
        assert_eq!(Wanted::of(&request(&json!({"domain": "a"}))).unwrap(), Wanted::Domain("a"));
        for (body, message) in [
            (json!({}), "A provider_id or domain needs to be provided"),
            (json!({"provider_id": Uuid::nil()}), "A provider_id or domain needs to be provided"),
            (json!({"provider_id": id, "domain": "a"}), "Only one of provider_id or domain supported"),
        ] {
            assert_eq!(Wanted::of(&request(&body)).unwrap_err().message(), message);
        }
        assert_eq!(Wanted::Id(id).not_found().message(), "No such SSO provider");
        assert_eq!(Wanted::Domain("a").not_found().message(), "No SSO provider assigned for this domain");
    }

    #[test]
    fn a_provider_in_use_and_a_whole_pair_begin() {
        let described = Described { entity_id: "e".into(), xml: "<e/>".into() };
        let mut provider = draft::provider(Uuid::nil(), AdminSsoProvider::default(), described, Time::UNIX_EPOCH);
        let challenge = "a".repeat(43);
        let whole = request(&json!({"domain": "a", "code_challenge": challenge, "code_challenge_method": "S256"}));
        let half = request(&json!({"domain": "a", "code_challenge": challenge}));
        let odd = request(&json!({"domain": "a", "code_challenge": challenge, "code_challenge_method": "x"}));
        assert_eq!(begin(&provider, &request(&json!({"domain": "a"}))).unwrap(), None);
        assert_eq!(begin(&provider, &whole).unwrap().unwrap().text, challenge);
        let told = begin(&provider, &half).unwrap_err();
        assert_eq!(told.message(), "PKCE flow requires code_challenge_method and code_challenge");
        assert_eq!(begin(&provider, &odd).unwrap_err().message(), "Invalid code_challenge_method");
        provider.disabled = Some(false);
        assert!(begin(&provider, &whole).is_ok());
        provider.disabled = Some(true);
        assert_eq!(begin(&provider, &half).unwrap_err().code(), "sso_provider_disabled");
    }
}
