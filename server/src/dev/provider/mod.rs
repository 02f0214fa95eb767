//! An OpenID Connect provider for trying out social sign-in, below `/_dev/provider`: a page asks who to be. It stands in
//! for the providers that `[basalt.provider] stands_in_for` names, so that an app signs people in as it will in the world.
//!
//! Codes and tokens live in memory and end with the process. Everything is for this machine alone.

mod page;
mod people;
mod tokens;

use axum::extract::Request;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gotrue_rs::http::request_info::parse_pairs;
use gotrue_rs::ports::clock::SharedClock;
use gotrue_rs::ports::entropy::Entropy;
use http::header::{AUTHORIZATION, LOCATION};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use subtle::ConstantTimeEq;

use super::access::Audience;
use people::Person;
use tokens::{Asked, Tokens};

/// Where all of it is.
pub const PATH: &str = "/_dev/provider";
/// The most bytes of a form.
const LONGEST_FORM: usize = 16 * 1024;
/// The page has no script. Where its form leads in the end is the app's affair, so `form-action` stays open.
const PAGE_POLICY: &str =
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

/// What the auth API must know to use it, and the provider to know the auth API.
#[derive(Debug, Clone)]
pub struct Registration {
    /// The issuer: where the provider is.
    pub issuer: String,
    /// The auth API's id here.
    pub client_id: String,
    /// The auth API's secret here, made anew at each start.
    pub client_secret: String,
    /// Where people are sent back to; nothing else is.
    pub callback: String,
}

impl Registration {
    /// For a server that listens at `origin` and is the auth API at `auth_url`.
    pub fn new(origin: &str, auth_url: &str, entropy: &Entropy) -> Self {
        Self {
            issuer: format!("{origin}{PATH}"),
            client_id: "basalt".to_owned(),
            client_secret: entropy.base32(40),
            callback: format!("{}/callback", auth_url.trim_end_matches('/')),
        }
    }
}

/// The provider.
pub struct Provider {
    registration: Registration,
    tokens: Tokens,
}

impl Provider {
    /// Nobody has signed in yet.
    pub fn new(registration: Registration, clock: SharedClock, entropy: Entropy) -> anyhow::Result<Self> {
        let tokens = Tokens::new(&registration, clock, entropy)?;
        Ok(Self { registration, tokens })
    }

    /// Answers a request below [`PATH`].
    pub async fn answer(&self, request: Request) -> Response {
        let path = request.uri().path().strip_prefix(PATH).unwrap_or_default().to_owned();
        match (request.method(), path.as_str()) {
            (&Method::GET, "/.well-known/openid-configuration") => json_of(StatusCode::OK, &self.document()),
            (&Method::GET, "/jwks") => json_of(StatusCode::OK, &self.tokens.jwks()),
            (&Method::GET, "/userinfo") => self.userinfo(request.headers()),
            (&Method::GET, "/authorize") => self.ask(&query(&request)),
            (&Method::POST, "/authorize") => match form(request).await {
                Ok(form) => self.choose(&form),
                Err(refused) => refused,
            },
            (&Method::POST, "/token") => {
                let headers = request.headers().clone();
                match form(request).await {
                    Ok(form) => self.exchange(&headers, &form),
                    Err(refused) => refused,
                }
            }
            (_, "/.well-known/openid-configuration" | "/jwks" | "/userinfo" | "/authorize" | "/token") => {
                super::text(StatusCode::METHOD_NOT_ALLOWED, "not with this method\n")
            }
            _ => super::text(StatusCode::NOT_FOUND, "the provider's page is at /_dev/provider/authorize\n"),
        }
    }

    fn document(&self) -> Value {
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

    /// Who to be: a page, or with `prompt=none` the person whom `login_hint` names, for tests.
    fn ask(&self, query: &Pairs) -> Response {
        let asked = match self.asked(query) {
            Ok(asked) => asked,
            Err(reason) => return super::text(StatusCode::BAD_REQUEST, reason),
        };
        let hint = query.get("login_hint");
        if query.get("prompt") == "none" {
            let Some(person) = Person::hinted(hint) else {
                return back(&self.registration.callback, &asked, &[("error", "login_required")]);
            };
            return self.send_back(asked, person);
        }
        page_of(&page::chooser(query, hint))
    }

    /// The form's person, or none of them.
    fn choose(&self, form: &Pairs) -> Response {
        let asked = match self.asked(form) {
            Ok(asked) => asked,
            Err(reason) => return super::text(StatusCode::BAD_REQUEST, reason),
        };
        match form.get("person") {
            "nobody" => back(
                &self.registration.callback,
                &asked,
                &[("error", "access_denied"), ("error_description", "The user denied the request")],
            ),
            "other" => match Person::typed(form.get("name"), form.get("email"), form.get("verified") == "yes") {
                Some(person) => self.send_back(asked, person),
                None => page_of(&page::chooser(form, form.get("email"))),
            },
            known => match Person::known(known) {
                Some(person) => self.send_back(asked, person),
                None => page_of(&page::chooser(form, "")),
            },
        }
    }

    /// What the auth API asks for, if it is the auth API that asks.
    fn asked(&self, pairs: &Pairs) -> Result<Asked, &'static str> {
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
        Ok(Asked {
            state: pairs.get("state").to_owned(),
            nonce: pairs.get("nonce").to_owned(),
            challenge: challenge.to_owned(),
        })
    }

    fn send_back(&self, asked: Asked, person: Person) -> Response {
        let state = asked.clone();
        let code = self.tokens.code(asked, person);
        back(&self.registration.callback, &state, &[("code", &code)])
    }

    fn exchange(&self, headers: &HeaderMap, form: &Pairs) -> Response {
        let refused = |status, error: &str| json_of(status, &json!({ "error": error }));
        if !self.is_client(headers, form) {
            return refused(StatusCode::UNAUTHORIZED, "invalid_client");
        }
        if form.get("grant_type") != "authorization_code" {
            return refused(StatusCode::BAD_REQUEST, "unsupported_grant_type");
        }
        if form.get("redirect_uri") != self.registration.callback {
            return refused(StatusCode::BAD_REQUEST, "invalid_grant");
        }
        match self.tokens.redeem(form.get("code"), form.get("code_verifier")) {
            Some(answer) => json_of(StatusCode::OK, &answer),
            None => refused(StatusCode::BAD_REQUEST, "invalid_grant"),
        }
    }

    /// By HTTP Basic, else within the form.
    fn is_client(&self, headers: &HeaderMap, form: &Pairs) -> bool {
        let basic = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Basic "));
        let shown = match basic {
            Some(basic) => STANDARD.decode(basic).ok().and_then(|shown| String::from_utf8(shown).ok()),
            None => Some(format!("{}:{}", form.get("client_id"), form.get("client_secret"))),
        };
        let wanted = format!("{}:{}", self.registration.client_id, self.registration.client_secret);
        shown.is_some_and(|shown| bool::from(shown.as_bytes().ct_eq(wanted.as_bytes())))
    }

    fn userinfo(&self, headers: &HeaderMap) -> Response {
        let token = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        match token.and_then(|token| self.tokens.person(token)) {
            Some(person) => json_of(StatusCode::OK, &Value::Object(person.claims())),
            None => json_of(StatusCode::UNAUTHORIZED, &json!({"error": "invalid_token"})),
        }
    }
}

/// Whether the path is the provider's.
pub fn is_below(path: &str) -> bool {
    path.strip_prefix(PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Callers on this machine; a browser may come to the page from any site, for that is how every sign-in begins.
pub(super) fn audience(request: &Request) -> Audience<'static> {
    let is_page = request.uri().path() == "/_dev/provider/authorize" && request.method() == Method::GET;
    if is_page { Audience::ThisMachineAndVisitors } else { Audience::ThisMachine }
}

/// The parameters of a query or a form; of one given twice the first counts.
#[derive(Debug, Default)]
struct Pairs(Vec<(String, String)>);

impl Pairs {
    fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
    }
}

fn query(request: &Request) -> Pairs {
    Pairs(parse_pairs(request.uri().query().unwrap_or_default()))
}

async fn form(request: Request) -> Result<Pairs, Response> {
    let read = axum::body::to_bytes(request.into_body(), LONGEST_FORM).await;
    let bytes = read.map_err(|_| super::text(StatusCode::PAYLOAD_TOO_LARGE, "the form is too long\n"))?;
    Ok(Pairs(parse_pairs(&String::from_utf8_lossy(&bytes))))
}

fn back(callback: &str, asked: &Asked, more: &[(&str, &str)]) -> Response {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in more.iter().chain([&("state", asked.state.as_str())]) {
        query.append_pair(name, value);
    }
    let mut response = super::text(StatusCode::SEE_OTHER, "");
    if let Ok(location) = HeaderValue::from_str(&format!("{callback}?{}", query.finish())) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

fn json_of(status: StatusCode, body: &Value) -> Response {
    super::response(status, "application/json", super::POLICY, body.to_string().into_bytes())
}

/// The form's request must tell where it comes from.
fn page_of(html: &str) -> Response {
    let mut response =
        super::response(StatusCode::OK, "text/html; charset=utf-8", PAGE_POLICY, html.as_bytes().to_vec());
    response.headers_mut().insert(http::header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

#[cfg(test)]
mod tests;
