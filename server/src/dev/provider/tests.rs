//! Who gets a code, who may redeem it, and who is kept out.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::ConnectInfo;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use gotrue_rs::testing::FakeClock;

use super::*;
use crate::dev::Access;

const HERE: &str = "127.0.0.1:5";
const HOST: (&str, &str) = ("host", "127.0.0.1:54321");
const ELSEWHERE: (&str, &str) = ("sec-fetch-site", "cross-site");
const CALLBACK: &str = "http://127.0.0.1:54321/auth/v1/callback";
/// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

struct Trial {
    clock: Arc<FakeClock>,
    provider: Provider,
}

impl Trial {
    fn new() -> Self {
        let (clock, entropy) =
            (Arc::new(FakeClock::at("2026-11-21T12:00:00Z".parse().expect("a time"))), Entropy::from_seed(1));
        let registration = Registration::new("http://127.0.0.1:54321", "http://127.0.0.1:54321/auth/v1/", &entropy);
        let provider = Provider::new(registration, clock.clone(), entropy).expect("a key");
        Self { clock, provider }
    }

    /// What the auth API sends a browser with, and more.
    fn asked(more: &[(&str, &str)]) -> String {
        let usual = [
            ("client_id", "basalt"),
            ("redirect_uri", CALLBACK),
            ("response_type", "code"),
            ("state", "s&1"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ];
        let kept = usual.iter().filter(|(name, _)| more.iter().all(|(other, _)| other != name));
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(kept.chain(more)).finish()
    }

    async fn get(&self, path: &str) -> Response {
        self.provider.answer(request(Method::GET, path, String::new())).await
    }

    async fn choose(&self, more: &[(&str, &str)]) -> Response {
        self.provider.answer(request(Method::POST, "/_dev/provider/authorize", Self::asked(more))).await
    }

    /// The parameters with which the browser comes back.
    async fn chosen(&self, more: &[(&str, &str)]) -> Pairs {
        let response = self.choose(more).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        let location = response.headers()[LOCATION].to_str().expect("text").to_owned();
        let (to, query) = location.split_once('?').expect("a query");
        assert_eq!(to, CALLBACK);
        Pairs(parse_pairs(query))
    }

    async fn redeem(&self, code: &str, verifier: &str, secret: &str) -> (StatusCode, Value) {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", verifier),
        ];
        let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let mut request = request(Method::POST, "/_dev/provider/token", form);
        let shown = format!("Basic {}", STANDARD.encode(format!("basalt:{secret}")));
        request.headers_mut().insert(AUTHORIZATION, HeaderValue::try_from(shown).expect("a header"));
        let response = self.provider.answer(request).await;
        let status = response.status();
        (status, serde_json::from_str(&text_of(response).await).expect("JSON"))
    }

    fn secret(&self) -> &str {
        &self.provider.registration.client_secret
    }
}

fn request(method: Method, path: &str, body: String) -> Request {
    let mut request = Request::new(Body::from(body));
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().expect("a path");
    request
}

async fn text_of(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.expect("a body");
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn claims(id_token: &Value) -> Value {
    let part = id_token.as_str().and_then(|token| token.split('.').nth(1)).expect("three parts");
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).expect("base64")).expect("JSON")
}

#[tokio::test]
async fn who_is_chosen_comes_back_with_a_code_for_their_tokens() {
    let trial = Trial::new();
    let back = trial.chosen(&[("person", "ann"), ("nonce", "n1")]).await;
    assert_eq!(back.get("state"), "s&1");
    let (status, answer) = trial.redeem(back.get("code"), VERIFIER, trial.secret()).await;
    assert_eq!(status, StatusCode::OK);
    let claims = claims(&answer["id_token"]);
    assert_eq!(claims["iss"], "http://127.0.0.1:54321/_dev/provider");
    assert_eq!((&claims["aud"], &claims["nonce"], &claims["sub"]), (&json!("basalt"), &json!("n1"), &json!("dev-ann")));
    assert_eq!((&claims["email"], &claims["email_verified"]), (&json!("ann@example.com"), &json!(true)));
    let mut asking = request(Method::GET, "/_dev/provider/userinfo", String::new());
    let bearer = format!("Bearer {}", answer["access_token"].as_str().expect("a token"));
    asking.headers_mut().insert(AUTHORIZATION, HeaderValue::try_from(bearer).expect("a header"));
    assert!(text_of(trial.provider.answer(asking).await).await.contains("dev-ann"));
}

#[tokio::test]
async fn a_code_works_once_and_only_for_who_asked_for_it() {
    let trial = Trial::new();
    let code = async || trial.chosen(&[("person", "ben")]).await.get("code").to_owned();
    assert_eq!(trial.redeem(&code().await, VERIFIER, "another secret").await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(trial.redeem(&code().await, "another verifier", trial.secret()).await.0, StatusCode::BAD_REQUEST);
    let once = code().await;
    assert_eq!(trial.redeem(&once, VERIFIER, trial.secret()).await.0, StatusCode::OK);
    assert_eq!(trial.redeem(&once, VERIFIER, trial.secret()).await.0, StatusCode::BAD_REQUEST);
    let late = code().await;
    trial.clock.advance(TimeDelta::minutes(1));
    assert_eq!(trial.redeem(&late, VERIFIER, trial.secret()).await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a2_nobody_is_sent_anywhere_but_to_the_auth_api() {
    let trial = Trial::new();
    for hostile in ["http://evil.example/auth/v1/callback", "http://127.0.0.1:54321/auth/v1/callback?x", ""] {
        let response = trial.choose(&[("person", "ann"), ("redirect_uri", hostile)]).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{hostile}");
    }
    assert_eq!(trial.choose(&[("person", "ann"), ("client_id", "x")]).await.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_page_shows_what_came_as_text() {
    let trial = Trial::new();
    let hostile = "\"><script>alert(1)</script>";
    let query = Trial::asked(&[("state", hostile), ("login_hint", hostile)]);
    let page = text_of(trial.get(&format!("/_dev/provider/authorize?{query}")).await).await;
    assert!(page.contains("&quot;&gt;&lt;script&gt;") && !page.contains("<script"), "{page}");
}

#[tokio::test]
async fn a_test_names_its_person_and_needs_no_page() {
    let trial = Trial::new();
    let asking = async |hint: &str| {
        let query = Trial::asked(&[("prompt", "none"), ("login_hint", hint)]);
        let response = trial.get(&format!("/_dev/provider/authorize?{query}")).await;
        response.headers()[LOCATION].to_str().expect("text").to_owned()
    };
    assert!(asking("zoe@example.com").await.contains("?code="));
    assert!(asking("ben").await.contains("?code="));
    assert!(asking("").await.contains("?error=login_required&"));
}

#[tokio::test]
async fn a_denied_request_and_a_person_who_cannot_be_are_told() {
    let trial = Trial::new();
    assert_eq!(trial.chosen(&[("person", "nobody")]).await.get("error"), "access_denied");
    let response = trial.choose(&[("person", "other"), ("email", "no address")]).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert!(text_of(response).await.contains("Who do you want to be?"));
    let back = trial.chosen(&[("person", "other"), ("email", "Zoe@example.com"), ("verified", "yes")]).await;
    let (_, answer) = trial.redeem(back.get("code"), VERIFIER, trial.secret()).await;
    assert_eq!(claims(&answer["id_token"])["sub"], "dev-zoe@example.com");
}

#[test]
fn a7_only_browsers_on_this_machine_may_use_it_and_only_its_page_from_elsewhere() {
    let asking = |method: Method, path: &str, peer: &str, headers: &[(&'static str, &'static str)]| {
        let mut request = request(method, path, String::new());
        request.extensions_mut().insert(ConnectInfo(peer.parse::<SocketAddr>().expect("an address")));
        for (name, value) in headers {
            request.headers_mut().insert(*name, HeaderValue::from_static(value));
        }
        Access::new(true, None).permits(&request, audience(&request))
    };
    let page = "/_dev/provider/authorize";
    let tab = [HOST, ELSEWHERE, ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
    let frame = [HOST, ELSEWHERE, ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
    assert!(asking(Method::GET, page, HERE, &tab));
    assert!(asking(Method::GET, "/_dev/provider/jwks", HERE, &[HOST]));
    assert!(!asking(Method::GET, page, HERE, &frame));
    assert!(!asking(Method::POST, page, HERE, &tab));
    assert!(!asking(Method::GET, "/_dev/provider/userinfo", HERE, &tab));
    assert!(!asking(Method::GET, page, "192.0.2.1:5", &tab));
    assert!(!asking(Method::GET, page, HERE, &[("host", "evil.example"), tab[1], tab[2], tab[3]]));
    assert!(!asking(Method::GET, page, HERE, &[HOST, tab[1], tab[2], tab[3], ("x-forwarded-for", "192.0.2.1")]));
}
