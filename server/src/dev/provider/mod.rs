//! A development OpenID provider below `/_dev/provider`, for testing social sign-in.
//! A page lets the developer choose a user. It replaces the providers of `[basalt.provider] stands_in_for`, so that an
//! app signs users in as in production.
//!
//! Codes and tokens are kept in memory. All endpoints are for this machine only.

mod page;
mod parameters;
mod registration;
mod tokens;
mod users;

use axum::extract::Request;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gotrue_rs::ports::clock::SharedClock;
use gotrue_rs::ports::entropy::Entropy;
use http::header::{AUTHORIZATION, LOCATION};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_edge::request::{BearerWhitespace, single_header};
use serde_json::{Value, json};
use subtle::ConstantTimeEq;

pub(crate) use registration::Registration;

use super::access::AccessRule;
use super::responses;
use parameters::{Parameters, parse_form, parse_query};
use registration::PATH;
use tokens::{AuthorizationRequest, TokenStore};
use users::ProviderUser;

/// The page has no script.
/// `form-action` stays unrestricted because the form redirects to the app in the end.
const PAGE_POLICY: &str =
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

/// The development provider.
pub(crate) struct DevelopmentProvider {
    registration: Registration,
    tokens: TokenStore,
}

impl DevelopmentProvider {
    /// Creates a provider without codes or tokens.
    pub(crate) fn new(registration: Registration, clock: SharedClock, entropy: Entropy) -> anyhow::Result<Self> {
        let tokens = TokenStore::new(&registration, clock, entropy)?;
        Ok(Self { registration, tokens })
    }

    /// Answers a request below [`PATH`].
    pub(crate) async fn answer(&self, request: Request) -> Response {
        let path = request.uri().path().strip_prefix(PATH).unwrap_or_default().to_owned();
        match (request.method(), path.as_str()) {
            (&Method::GET, "/.well-known/openid-configuration") => {
                json_response(StatusCode::OK, &self.discovery_document())
            }
            (&Method::GET, "/jwks") => json_response(StatusCode::OK, &self.tokens.jwks()),
            (&Method::GET, "/userinfo") => self.userinfo(request.headers()),
            (&Method::GET, "/authorize") => self.handle_authorize(&parse_query(&request)),
            (&Method::POST, "/authorize") => match parse_form(request).await {
                Ok(form) => self.handle_choice(&form),
                Err(refused) => refused,
            },
            (&Method::POST, "/token") => {
                let headers = request.headers().clone();
                match parse_form(request).await {
                    Ok(form) => self.exchange_code(&headers, &form),
                    Err(refused) => refused,
                }
            }
            (_, "/.well-known/openid-configuration" | "/jwks" | "/userinfo" | "/authorize" | "/token") => {
                responses::text(StatusCode::METHOD_NOT_ALLOWED, "not with this method\n")
            }
            _ => responses::text(StatusCode::NOT_FOUND, "the provider's page is at /_dev/provider/authorize\n"),
        }
    }

    fn discovery_document(&self) -> Value {
        let issuer = &self.registration.issuer;
        json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "userinfo_endpoint": format!("{issuer}/userinfo"),
            "jwks_uri": format!("{issuer}/jwks"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
            "code_challenge_methods_supported": ["S256"],
            "scopes_supported": ["openid", "email", "profile"],
        })
    }

    /// Shows the chooser, or with `prompt=none` signs in the user of `login_hint`, for tests.
    fn handle_authorize(&self, query: &Parameters) -> Response {
        let requested = match self.validate_request(query) {
            Ok(requested) => requested,
            Err(reason) => return responses::text(StatusCode::BAD_REQUEST, reason),
        };
        let hint = query.get("login_hint");
        if query.get("prompt") == "none" {
            let Some(imported_user) = ProviderUser::from_login_hint(hint) else {
                return redirect_response(&self.registration.callback, &requested, &[("error", "login_required")]);
            };
            return self.redirect_with_code(requested, imported_user);
        }
        page_response(&page::format_chooser(query, hint))
    }

    /// Signs in the chosen user, or denies the request.
    fn handle_choice(&self, form: &Parameters) -> Response {
        let requested = match self.validate_request(form) {
            Ok(requested) => requested,
            Err(reason) => return responses::text(StatusCode::BAD_REQUEST, reason),
        };
        match form.get("person") {
            "nobody" => redirect_response(
                &self.registration.callback,
                &requested,
                &[("error", "access_denied"), ("error_description", "The user denied the request")],
            ),
            "other" => {
                match ProviderUser::from_input(form.get("name"), form.get("email"), form.get("verified") == "yes") {
                    Some(imported_user) => self.redirect_with_code(requested, imported_user),
                    None => page_response(&page::format_chooser(form, form.get("email"))),
                }
            }
            known => match ProviderUser::find_preset(known) {
                Some(imported_user) => self.redirect_with_code(requested, imported_user),
                None => page_response(&page::format_chooser(form, "")),
            },
        }
    }

    /// Validates the authorization request, which must come from the auth API.
    fn validate_request(&self, pairs: &Parameters) -> Result<AuthorizationRequest, &'static str> {
        if pairs.get("client_id") != self.registration.client_id {
            return Err("client_id is not the auth API's: begin at /auth/v1/authorize\n");
        }
        if pairs.get("redirect_uri") != self.registration.callback {
            return Err("redirect_uri is not the auth API's callback: begin at /auth/v1/authorize\n");
        }
        if pairs.get("response_type") != "code" {
            return Err("response_type must be code\n");
        }
        let challenge = pairs.get("code_challenge");
        if !challenge.is_empty() && pairs.get("code_challenge_method") != "S256" {
            return Err("code_challenge_method must be S256\n");
        }
        Ok(AuthorizationRequest {
            state: pairs.get("state").to_owned(),
            nonce: pairs.get("nonce").to_owned(),
            challenge: challenge.to_owned(),
        })
    }

    fn redirect_with_code(&self, requested: AuthorizationRequest, user: ProviderUser) -> Response {
        let state = requested.clone();
        let code = self.tokens.issue_code(requested, user);
        redirect_response(&self.registration.callback, &state, &[("code", &code)])
    }

    fn exchange_code(&self, headers: &HeaderMap, form: &Parameters) -> Response {
        let refused = |status, error: &str| json_response(status, &json!({ "error": error }));
        if !self.is_authenticated_client(headers, form) {
            return refused(StatusCode::UNAUTHORIZED, "invalid_client");
        }
        if form.get("grant_type") != "authorization_code" {
            return refused(StatusCode::BAD_REQUEST, "unsupported_grant_type");
        }
        if form.get("redirect_uri") != self.registration.callback {
            return refused(StatusCode::BAD_REQUEST, "invalid_grant");
        }
        match self.tokens.redeem(form.get("code"), form.get("code_verifier")) {
            Some(answer) => json_response(StatusCode::OK, &answer),
            None => refused(StatusCode::BAD_REQUEST, "invalid_grant"),
        }
    }

    /// Authenticates the client by HTTP Basic, or by parameters of the form (RFC 6749 §2.3.1).
    fn is_authenticated_client(&self, headers: &HeaderMap, form: &Parameters) -> bool {
        let basic = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Basic "));
        let shown = match basic {
            Some(basic) => STANDARD.decode(basic).ok().and_then(|shown| String::from_utf8(shown).ok()),
            None => Some(format!("{}:{}", form.get("client_id"), form.get("client_secret"))),
        };
        let wanted = format!("{}:{}", self.registration.client_id, self.registration.client_secret);
        shown.is_some_and(|shown| bool::from(shown.as_bytes().ct_eq(wanted.as_bytes())))
    }

    fn userinfo(&self, headers: &HeaderMap) -> Response {
        let token = single_header(headers, &AUTHORIZATION).bearer(BearerWhitespace::Rejected);
        match token.present().and_then(|token| self.tokens.find_user(token)) {
            Some(user) => json_response(StatusCode::OK, &Value::Object(user.claims())),
            None => json_response(StatusCode::UNAUTHORIZED, &json!({"error": "invalid_token"})),
        }
    }
}

/// Returns whether the path belongs to the provider.
pub(crate) fn is_provider_path(path: &str) -> bool {
    path.strip_prefix(PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the access rule of a request.
/// The page allows navigations from any site, because every sign-in begins with one.
pub(super) fn access_rule(request: &Request) -> AccessRule<'static> {
    let is_page = request.uri().path() == "/_dev/provider/authorize" && request.method() == Method::GET;
    if is_page { AccessRule::LocalOrNavigation } else { AccessRule::Local }
}

fn redirect_response(callback: &str, requested: &AuthorizationRequest, more: &[(&str, &str)]) -> Response {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in more.iter().chain([&("state", requested.state.as_str())]) {
        query.append_pair(name, value);
    }
    let mut response = responses::text(StatusCode::SEE_OTHER, "");
    if let Ok(location) = HeaderValue::from_str(&format!("{callback}?{}", query.finish())) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

fn json_response(status: StatusCode, body: &Value) -> Response {
    responses::response(status, "application/json", responses::DEFAULT_POLICY, body.to_string().into_bytes())
}

/// Responds with a page whose form sends `Referer` to its own origin.
fn page_response(html: &str) -> Response {
    let mut response =
        responses::response(StatusCode::OK, "text/html; charset=utf-8", PAGE_POLICY, html.as_bytes().to_vec());
    response.headers_mut().insert(http::header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

#[cfg(test)]
mod tests;
