//! Applications of a test's world that sign people in with the server: they ask by `GET /oauth/authorize`, somebody
//! consents, and they exchange the code.

use std::collections::BTreeMap;

use aws_lc_rs::encoding::{AsBigEndian, EcPrivateKeyBin};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use gotrue_rules::domain::redirect::go_url::{Url, form_encode};
use http::{Method, Request};
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::people::Person;
use super::world::{World, WorldBuilder};

/// Where applications want browsers back.
pub const CALLBACK: &str = "https://app.example.com/callback";
/// The verifier of every exchange (RFC 7636, appendix B).
pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
/// Its challenge by `S256`.
pub const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A registered application.
#[derive(Debug, Clone)]
pub struct OAuthApp {
    /// `client_id`.
    pub id: String,
    /// `client_secret`; empty for one that keeps none.
    pub secret: String,
}

impl OAuthApp {
    /// The application that a registration has made.
    pub fn of(answer: &Answer) -> Self {
        Self { id: answer.str("client_id").to_owned(), secret: answer.str("client_secret").to_owned() }
    }

    /// The header by which it proves itself.
    pub fn basic(&self) -> String {
        format!("Basic {}", STANDARD.encode(format!("{}:{}", self.id, self.secret)))
    }

    /// The path of a request for consent; later members take the place of earlier ones.
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
        format!("/oauth/authorize?{}", encoded(&members))
    }
}

/// Members as a query or form has them.
pub fn encoded(members: &[(&str, &str)]) -> String {
    let members: Vec<_> =
        members.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect();
    form_encode(&members)
}

/// The members of a URL's query.
pub fn query_of(url: &str) -> BTreeMap<String, String> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let url = Url::parse(url).expect("a URL");
    url.query().into_iter().map(|(name, value)| (text(name), text(value))).collect()
}

impl WorldBuilder {
    /// An OAuth server that anybody may register at, with a consent page and a key that others can check. Accounts are
    /// confirmed at once.
    #[must_use]
    pub fn as_provider(self) -> Self {
        self.keys(vec![elliptic_key()]).policy(|policy| {
            policy.oauth_server.enabled = true;
            policy.oauth_server.allow_dynamic_registration = true;
            "/consent".clone_into(&mut policy.oauth_server.authorization_path);
            policy.mail.autoconfirm = true;
        })
    }
}

impl World {
    /// An application that an administrator registers.
    pub async fn oauth_app(&self, more: Value) -> OAuthApp {
        let mut body = json!({"client_name": "Shop app", "redirect_uris": [CALLBACK]});
        if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
            body.extend(more);
        }
        OAuthApp::of(&self.post_as(&self.service_token(), "/admin/oauth/clients", body).await.expect(201))
    }

    /// The path of a new request for consent.
    pub async fn asked_by(&self, app: &OAuthApp, more: &[(&str, &str)]) -> String {
        let answer = self.get(&app.request(more)).await.expect(302);
        let query = query_of(answer.header("location"));
        format!("/oauth/authorizations/{}", query.get("authorization_id").expect("a page that asks"))
    }

    /// The code that an application gets of somebody who agrees.
    pub async fn code_for(&self, app: &OAuthApp, person: &Person, scope: &str) -> String {
        let path = self.asked_by(app, &[("scope", scope)]).await;
        let looked = self.get_as(&person.access_token, &path).await.expect(200);
        let answer = if looked.str("redirect_url").is_empty() {
            self.consent(person, &path, "approve").await.expect(200)
        } else {
            looked
        };
        query_of(answer.str("redirect_url")).get("code").expect("a code").clone()
    }

    /// An answer to a request for consent.
    pub async fn consent(&self, person: &Person, path: &str, action: &str) -> Answer {
        self.post_as(&person.access_token, &format!("{path}/consent"), json!({"action": action})).await
    }

    /// A code exchanged, however it ends.
    pub async fn exchange(&self, app: &OAuthApp, code: &str) -> Answer {
        let members = [("grant_type", "authorization_code"), ("code", code), ("code_verifier", VERIFIER)];
        self.ask_tokens(app, &members).await
    }

    /// The next tokens of an application's session, however that ends.
    pub async fn refresh_by(&self, app: &OAuthApp, token: &str) -> Answer {
        self.ask_tokens(app, &[("grant_type", "refresh_token"), ("refresh_token", token)]).await
    }

    /// A request of an application at the token endpoint.
    pub async fn ask_tokens(&self, app: &OAuthApp, members: &[(&str, &str)]) -> Answer {
        if app.secret.is_empty() {
            let members = [members, &[("client_id", &*app.id)]].concat();
            return self.post_form("/oauth/token", &encoded(&members), None).await;
        }
        self.post_form("/oauth/token", &encoded(members), Some(&app.basic())).await
    }

    /// A form, perhaps with a header `Authorization`.
    pub async fn post_form(&self, path: &str, form: &str, authorization: Option<&str>) -> Answer {
        let mut request = Request::builder().method(Method::POST).uri(path);
        request = request.header("content-type", "application/x-www-form-urlencoded");
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        self.send(request.body(Body::from(form.to_owned())).expect("the test's request is well-formed")).await
    }
}

/// A new key of ES256.
fn elliptic_key() -> Map<String, Value> {
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
