//! OAuth clients of a test: authorization request, consent and code exchange.

use std::collections::BTreeMap;

use aws_lc_rs::encoding::{AsBigEndian, EcPrivateKeyBin};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use gotrue_rules::domain::redirect::go_url::{Url, form_encode};
use http::{Method, Request};
use platform::testing::Answer;
use serde_json::{Map, Value, json};

use super::users::TestUser;
use super::world::{World, WorldBuilder};

/// The redirect URI of the clients.
pub const CALLBACK: &str = "https://app.example.com/callback";
/// The code verifier of every exchange (RFC 7636, appendix B).
pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
/// The `S256` challenge of [`VERIFIER`].
pub const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A registered OAuth client.
#[derive(Debug, Clone)]
pub struct OAuthClient {
    /// `client_id`.
    pub id: String,
    /// `client_secret`; empty for a public client.
    pub secret: String,
}

impl OAuthClient {
    /// The client of a registration response.
    pub fn from_registration(answer: &Answer) -> Self {
        Self { id: answer.str("client_id").to_owned(), secret: answer.str("client_secret").to_owned() }
    }

    /// The value of the `Authorization` header for `client_secret_basic`.
    pub fn basic(&self) -> String {
        format!("Basic {}", STANDARD.encode(format!("{}:{}", self.id, self.secret)))
    }

    /// The path of an authorization request; `more` replaces default parameters.
    pub fn request(&self, more: &[(&str, &str)]) -> String {
        let usual = [
            ("client_id", &*self.id),
            ("redirect_uri", CALLBACK),
            ("response_type", "code"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ];
        let members: BTreeMap<&str, &str> = usual.into_iter().chain(more.iter().copied()).collect();
        let members: Vec<(&str, &str)> = members.into_iter().collect();
        format!("/oauth/authorize?{}", encode_form(&members))
    }
}

/// Encodes members as `application/x-www-form-urlencoded`.
pub fn encode_form(members: &[(&str, &str)]) -> String {
    let members: Vec<_> =
        members.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect();
    form_encode(&members)
}

/// Parses the query of a URL.
pub fn parse_query(url: &str) -> BTreeMap<String, String> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let url = Url::parse(url).expect("a URL");
    url.query().into_iter().map(|(name, value)| (text(name), text(value))).collect()
}

impl WorldBuilder {
    /// Enables the OAuth server with dynamic registration, a consent page and an ES256 key.
    ///
    /// Sign-ups are confirmed automatically.
    #[must_use]
    pub fn with_oauth_server(self) -> Self {
        self.keys(vec![generate_es256_key()]).policy(|policy| {
            policy.oauth_server.enabled = true;
            policy.oauth_server.allow_dynamic_registration = true;
            "/consent".clone_into(&mut policy.oauth_server.authorization_path);
            policy.mail.autoconfirm = true;
        })
    }
}

impl World {
    /// Registers a client as an administrator.
    pub async fn create_oauth_client(&self, more: Value) -> OAuthClient {
        let mut body = json!({"client_name": "Shop app", "redirect_uris": [CALLBACK]});
        if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
            body.extend(more);
        }
        OAuthClient::from_registration(
            &self.post_as(&self.service_token(), "/admin/oauth/clients", body).await.expect(201),
        )
    }

    /// Starts an authorization request and returns its path.
    pub async fn request_authorization(&self, app: &OAuthClient, more: &[(&str, &str)]) -> String {
        let answer = self.get(&app.request(more)).await.expect(302);
        let query = parse_query(answer.header("location"));
        format!("/oauth/authorizations/{}", query.get("authorization_id").expect("a page that asks"))
    }

    /// The code that a client gets after the user consents.
    pub async fn obtain_code(&self, app: &OAuthClient, user: &TestUser, scope: &str) -> String {
        let path = self.request_authorization(app, &[("scope", scope)]).await;
        let looked = self.get_as(&user.access_token, &path).await.expect(200);
        let answer = if looked.str("redirect_url").is_empty() {
            self.consent(user, &path, "approve").await.expect(200)
        } else {
            looked
        };
        parse_query(answer.str("redirect_url")).get("code").expect("a code").clone()
    }

    /// Attempts to approve or deny an authorization request.
    pub async fn consent(&self, user: &TestUser, path: &str, action: &str) -> Answer {
        self.post_as(&user.access_token, &format!("{path}/consent"), json!({"action": action})).await
    }

    /// Attempts to exchange a code.
    pub async fn exchange_code(&self, app: &OAuthClient, code: &str) -> Answer {
        let members = [("grant_type", "authorization_code"), ("code", code), ("code_verifier", VERIFIER)];
        self.request_tokens(app, &members).await
    }

    /// Attempts to refresh the session of a client.
    pub async fn refresh_client_session(&self, app: &OAuthClient, token: &str) -> Answer {
        self.request_tokens(app, &[("grant_type", "refresh_token"), ("refresh_token", token)]).await
    }

    /// Sends a request of a client to the token endpoint.
    pub async fn request_tokens(&self, app: &OAuthClient, members: &[(&str, &str)]) -> Answer {
        if app.secret.is_empty() {
            let members = [members, &[("client_id", &*app.id)]].concat();
            return self.post_form("/oauth/token", &encode_form(&members), None).await;
        }
        self.post_form("/oauth/token", &encode_form(members), Some(&app.basic())).await
    }

    /// Posts a form with an optional `Authorization` header.
    pub async fn post_form(&self, path: &str, form: &str, authorization: Option<&str>) -> Answer {
        let mut request = Request::builder().method(Method::POST).uri(path);
        request = request.header("content-type", "application/x-www-form-urlencoded");
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        self.send(request.body(Body::from(form.to_owned())).expect("the test's request is well-formed")).await
    }
}

/// Generates an ES256 key as a JSON Web Key.
fn generate_es256_key() -> Map<String, Value> {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key can be made");
    let private: EcPrivateKeyBin<'_> = pair.private_key().as_be_bytes().expect("a key has bytes");
    let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
    let text = |bytes: &[u8]| Value::from(URL_SAFE_NO_PAD.encode(bytes));
    let mut key = Map::new();
    for (name, value) in [("kty", "EC"), ("crv", "P-256"), ("kid", "tests"), ("alg", "ES256")] {
        key.insert(name.to_owned(), value.into());
    }
    key.insert("key_ops".to_owned(), json!(["sign", "verify"]));
    key.extend([("x".to_owned(), text(x)), ("y".to_owned(), text(y)), ("d".to_owned(), text(private.as_ref()))]);
    key
}
