//! The endpoints of OAuth 1.0a (RFC 5849): temporary credentials, tokens, and signed profile requests.

use axum::http::request::Parts;
use axum::response::Response;
use gotrue_rules::domain::external::oauth1::{OAuth1SigningParams, authorization_header};
use http::StatusCode;
use http::header::AUTHORIZATION;
use http_edge::request::single_header;
use percent_encoding::percent_decode_str;
use subtle::ConstantTimeEq;
use url::Url;
use url::form_urlencoded::Serializer;

use crate::catalog::ResourceTemplate;
use crate::parameters::Parameters;
use crate::responses;
use crate::simulator::{Location, Simulator};
use crate::template::render;
use crate::tokens::{Grant, RequestToken, SignedGrant};

/// Accepted difference of `oauth_timestamp` to the clock, in seconds.
const MAX_CLOCK_SKEW: i64 = 300;
/// Maximum number of parameters in the header.
const MAX_PARAMETERS: usize = 20;
const SECRET_LENGTH: usize = 40;
/// Protocol parameters of single requests, which the signature covers.
const OWN_PARAMETERS: [&str; 3] = ["oauth_token", "oauth_callback", "oauth_verifier"];

/// The parameters of the header `Authorization` of a signed request.
#[derive(Debug, PartialEq, Eq)]
struct SignedParameters(Vec<(String, String)>);

impl SignedParameters {
    /// Parses the header; `None` without the scheme `OAuth`, or with too many parameters.
    fn parse(header: &str) -> Option<Self> {
        let members = header.strip_prefix("OAuth ")?.split(',').map(|member| {
            let (name, value) = member.trim().split_once('=')?;
            let value = percent_decode_str(value.trim_matches('"')).decode_utf8().ok()?;
            Some((name.to_owned(), value.into_owned()))
        });
        let parameters: Vec<_> = members.take(MAX_PARAMETERS + 1).collect::<Option<_>>()?;
        (parameters.len() <= MAX_PARAMETERS).then_some(Self(parameters))
    }

    /// Returns a parameter; empty if it is missing.
    fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
    }
}

impl Simulator {
    /// Issues a temporary credential.
    pub(crate) fn answer_request_token(&self, at: Location<'_>, parts: &Parts) -> Response {
        let Some(signed) = self.verify_signature(at, parts, &[""]) else { return unauthorized() };
        let Some(registration) = self.registration(at.entry) else { return unauthorized() };
        let callback = signed.get("oauth_callback").to_owned();
        if callback.split('?').next() != Some(registration.redirect_uri.as_str()) {
            return responses::text(StatusCode::FORBIDDEN, "Callback URL not approved for this client application.\n");
        }
        let secret = self.entropy.base32(SECRET_LENGTH);
        let token = self.request_tokens.insert(RequestToken { secret: secret.clone(), callback });
        token_response(&token, &secret, "oauth_callback_confirmed", "true")
    }

    /// Returns the callback URL of a temporary credential.
    pub(crate) fn find_callback(&self, request_token: &str) -> Option<String> {
        self.request_tokens.find(request_token).map(|token| token.callback)
    }

    /// Redirects to the callback with a verifier; with `None`, the user has denied the request.
    pub(crate) fn finish_oauth1(&self, request_token: &str, grant: Option<Grant>) -> Response {
        let Some(RequestToken { secret, callback }) = self.request_tokens.take(request_token) else {
            return responses::text(StatusCode::BAD_REQUEST, "oauth_token has expired: begin at /auth/v1/authorize\n");
        };
        match grant {
            None => responses::redirect(&callback, &[("denied", request_token)]),
            Some(grant) => {
                let authorized = SignedGrant { request_token: request_token.to_owned(), secret, grant };
                let verifier = self.verifiers.insert(authorized);
                responses::redirect(&callback, &[("oauth_token", request_token), ("oauth_verifier", &verifier)])
            }
        }
    }

    /// Exchanges a verifier for an access token.
    pub(crate) async fn answer_access_token(&self, at: Location<'_>, parts: &Parts) -> Response {
        let shown = header_parameters(parts);
        let verifier = shown.as_ref().map_or("", |shown| shown.get("oauth_verifier"));
        let Some(SignedGrant { request_token, secret, grant }) = self.verifiers.find(verifier) else {
            return unauthorized();
        };
        // The reference signs this request without the secret of the temporary credential.
        let Some(signed) = self.verify_signature(at, parts, &[&secret, ""]) else { return unauthorized() };
        if signed.get("oauth_token") != request_token || grant.provider != at.entry.name {
            return unauthorized();
        }
        if let Some(response) = self.failed_exchange(at.entry, &grant.deviation).await {
            return response;
        }
        self.verifiers.take(verifier);
        let secret = self.entropy.base32(SECRET_LENGTH);
        let subject = grant.user.subject.clone();
        let access = SignedGrant { request_token: String::new(), secret: secret.clone(), grant };
        token_response(&self.signed_tokens.insert(access), &secret, "user_id", &subject)
    }

    /// Answers a signed profile request.
    pub(crate) fn answer_signed_resource(
        &self,
        at: Location<'_>,
        resource: &ResourceTemplate,
        parts: &Parts,
    ) -> Response {
        let shown = header_parameters(parts);
        let token = shown.as_ref().map_or("", |shown| shown.get("oauth_token"));
        let found = self.signed_tokens.find(token).filter(|access| access.grant.provider == at.entry.name);
        let Some(SignedGrant { secret, grant, .. }) = found else { return unauthorized() };
        if self.verify_signature(at, parts, &[&secret]).is_none() {
            return unauthorized();
        }
        let mut variables = self.template_variables(at, &grant.user);
        let query = Parameters::parse(parts.uri.query().unwrap_or_default());
        if query.get("include_email") != "true" {
            variables.remove("email");
        }
        responses::json(StatusCode::OK, &render(&resource.body, &variables).unwrap_or_default())
    }

    /// Returns the parameters of a request signed with the client's secret and one of these token secrets.
    ///
    /// The signature covers the URL of the provider, which is that of the location.
    fn verify_signature(&self, at: Location<'_>, parts: &Parts, secrets: &[&str]) -> Option<SignedParameters> {
        let registration = self.registration(at.entry)?;
        let signed = header_parameters(parts)?;
        let mut url = Url::parse(&format!("https://{}{}", at.host, at.path)).ok()?;
        url.set_query(parts.uri.query());
        let timestamp = signed.get("oauth_timestamp").parse().ok()?;
        let is_current = self.clock.now().timestamp().abs_diff(timestamp) <= MAX_CLOCK_SKEW.unsigned_abs();
        if !is_current || signed.get("oauth_consumer_key") != registration.client_id {
            return None;
        }
        let own: Vec<_> = signed.0.iter().filter(|(name, _)| OWN_PARAMETERS.contains(&name.as_str())).collect();
        let own: Vec<_> = own.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let is_valid = secrets.iter().any(|token_secret| {
            let signing = OAuth1SigningParams {
                consumer_key: &registration.client_id,
                secret: registration.secret.reveal(),
                token_secret,
                nonce: signed.get("oauth_nonce"),
                timestamp,
            };
            let expected = authorization_header(parts.method.as_str(), &url, &own, &signing);
            SignedParameters::parse(&expected).is_some_and(|expected| {
                let (expected, shown) = (expected.get("oauth_signature"), signed.get("oauth_signature"));
                bool::from(expected.as_bytes().ct_eq(shown.as_bytes()))
            })
        });
        is_valid.then_some(signed)
    }
}

fn header_parameters(parts: &Parts) -> Option<SignedParameters> {
    SignedParameters::parse(single_header(&parts.headers, &AUTHORIZATION).present()?)
}

fn token_response(token: &str, secret: &str, name: &str, value: &str) -> Response {
    let pairs = [("oauth_token", token), ("oauth_token_secret", secret), (name, value)];
    responses::form(StatusCode::OK, Serializer::new(String::new()).extend_pairs(pairs).finish())
}

fn unauthorized() -> Response {
    responses::text(StatusCode::UNAUTHORIZED, "Could not authenticate you.\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn header_parameters_are_percent_decoded() {
        let parsed = SignedParameters::parse("OAuth oauth_token=\"a%26b\", oauth_nonce=\"n\"").expect("parameters");
        assert_eq!((parsed.get("oauth_token"), parsed.get("oauth_nonce"), parsed.get("x")), ("a&b", "n", ""));
        assert_eq!(SignedParameters::parse("Bearer x"), None);
        assert_eq!(SignedParameters::parse(&format!("OAuth {}", vec!["a=b"; 21].join(","))), None);
    }

    proptest! {
        #[test]
        fn any_header_is_parsed_without_panic(header in "OAuth .{0,200}") {
            let parsed = SignedParameters::parse(&header);
            prop_assert!(parsed.is_none_or(|parsed| parsed.0.len() <= MAX_PARAMETERS));
        }
    }
}
