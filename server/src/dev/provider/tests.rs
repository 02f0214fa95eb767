//! Tests of the authorization endpoint, the token endpoint and access control.

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

struct TestProvider {
    clock: Arc<FakeClock>,
    provider: DevelopmentProvider,
}

impl TestProvider {
    fn new() -> Self {
        let (clock, entropy) =
            (Arc::new(FakeClock::at("2026-11-21T12:00:00Z".parse().expect("a time"))), Entropy::from_seed(1));
        let registration = Registration::new("http://127.0.0.1:54321", "http://127.0.0.1:54321/auth/v1/", &entropy);
        let provider = DevelopmentProvider::new(registration, clock.clone(), entropy).expect("a key");
        Self { clock, provider }
    }

    /// Returns the parameters of the auth API's request, with additions or overrides.
    fn authorization_query(more: &[(&str, &str)]) -> String {
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

    async fn submit_choice(&self, more: &[(&str, &str)]) -> Response {
        self.provider.answer(request(Method::POST, "/_dev/provider/authorize", Self::authorization_query(more))).await
    }

    /// Returns the parameters of the redirect back to the callback.
    async fn choose_and_redirect(&self, more: &[(&str, &str)]) -> Parameters {
        let response = self.submit_choice(more).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        let location = response.headers()[LOCATION].to_str().expect("text").to_owned();
        let (to, query) = location.split_once('?').expect("a query");
        assert_eq!(to, CALLBACK);
        Parameters::parse(query)
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
        (status, serde_json::from_str(&body_text(response).await).expect("JSON"))
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

async fn body_text(response: Response) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.expect("a body");
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn decode_claims(id_token: &Value) -> Value {
    let part = id_token.as_str().and_then(|token| token.split('.').nth(1)).expect("three parts");
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).expect("base64")).expect("JSON")
}

#[tokio::test]
async fn chosen_user_gets_code_and_tokens() {
    let trial = TestProvider::new();
    let back = trial.choose_and_redirect(&[("person", "ann"), ("nonce", "n1")]).await;
    assert_eq!(back.get("state"), "s&1");
    let (status, answer) = trial.redeem(back.get("code"), VERIFIER, trial.secret()).await;
    assert_eq!(status, StatusCode::OK);
    let claims = decode_claims(&answer["id_token"]);
    assert_eq!(claims["iss"], "http://127.0.0.1:54321/_dev/provider");
    assert_eq!((&claims["aud"], &claims["nonce"], &claims["sub"]), (&json!("basalt"), &json!("n1"), &json!("dev-ann")));
    assert_eq!((&claims["email"], &claims["email_verified"]), (&json!("ann@example.com"), &json!(true)));
    let mut asking = request(Method::GET, "/_dev/provider/userinfo", String::new());
    let bearer = format!("Bearer {}", answer["access_token"].as_str().expect("a token"));
    asking.headers_mut().insert(AUTHORIZATION, HeaderValue::try_from(bearer).expect("a header"));
    assert!(body_text(trial.provider.answer(asking).await).await.contains("dev-ann"));
}

#[tokio::test]
async fn code_is_single_use_and_bound_to_client_and_verifier() {
    let trial = TestProvider::new();
    let code = async || trial.choose_and_redirect(&[("person", "ben")]).await.get("code").to_owned();
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
async fn other_redirect_uri_or_client_is_rejected() {
    let trial = TestProvider::new();
    for hostile in ["http://evil.example/auth/v1/callback", "http://127.0.0.1:54321/auth/v1/callback?x", ""] {
        let response = trial.submit_choice(&[("person", "ann"), ("redirect_uri", hostile)]).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{hostile}");
    }
    assert_eq!(trial.submit_choice(&[("person", "ann"), ("client_id", "x")]).await.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
#[cfg_attr(not(frontend_built), ignore = "needs the built frontend: make build")]
async fn chooser_escapes_parameters() {
    let trial = TestProvider::new();
    let hostile = "\"><script>alert(1)</script>";
    let query = TestProvider::authorization_query(&[("state", hostile), ("login_hint", hostile)]);
    let page = body_text(trial.get(&format!("/_dev/provider/authorize?{query}")).await).await;
    assert!(page.contains("&quot;&gt;&lt;script&gt;") && !page.contains("<script"), "{page}");
}

#[tokio::test]
async fn prompt_none_signs_in_hinted_user() {
    let trial = TestProvider::new();
    let asking = async |hint: &str| {
        let query = TestProvider::authorization_query(&[("prompt", "none"), ("login_hint", hint)]);
        let response = trial.get(&format!("/_dev/provider/authorize?{query}")).await;
        response.headers()[LOCATION].to_str().expect("text").to_owned()
    };
    assert!(asking("zoe@example.com").await.contains("?code="));
    assert!(asking("ben").await.contains("?code="));
    assert!(asking("").await.contains("?error=login_required&"));
}

#[tokio::test]
#[cfg_attr(not(frontend_built), ignore = "needs the built frontend: make build")]
async fn denial_and_invalid_input_are_reported() {
    let trial = TestProvider::new();
    assert_eq!(trial.choose_and_redirect(&[("person", "nobody")]).await.get("error"), "access_denied");
    let response = trial.submit_choice(&[("person", "other"), ("email", "no address")]).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert!(body_text(response).await.contains("Who do you want to be?"));
    let back =
        trial.choose_and_redirect(&[("person", "other"), ("email", "Zoe@example.com"), ("verified", "yes")]).await;
    let (_, answer) = trial.redeem(back.get("code"), VERIFIER, trial.secret()).await;
    assert_eq!(decode_claims(&answer["id_token"])["sub"], "dev-zoe@example.com");
}

#[test]
fn provider_is_local_except_for_navigation_to_its_page() {
    let asking = |method: Method, path: &str, peer: &str, headers: &[(&'static str, &'static str)]| {
        let mut request = request(method, path, String::new());
        request.extensions_mut().insert(ConnectInfo(peer.parse::<SocketAddr>().expect("an address")));
        for (name, value) in headers {
            request.headers_mut().insert(*name, HeaderValue::from_static(value));
        }
        Access::new(true, None).is_allowed(&request, access_rule(&request))
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
