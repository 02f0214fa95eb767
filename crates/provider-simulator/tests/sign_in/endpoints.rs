//! The plain OpenID provider, and the checks of token and profile endpoints.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chrono::TimeDelta;
use gotrue_rules::domain::policy::Policy;
use http::{Method, StatusCode};
use platform::clock::SystemClock;
use platform::entropy::Entropy;
use provider_simulator::{NextSignIn, Simulator, SimulatorOptions};
use serde_json::{Value, json};

use crate::support::{CALLBACK, Response, Trial};

/// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// The plain OpenID provider with the secret of its client.
struct Plain {
    trial: Trial,
    base: String,
    secret: String,
}

impl Plain {
    async fn new() -> Self {
        let trial = Trial::new().await;
        let settings = trial.simulator.settings("oidc", None).expect("the plain provider");
        let secret = settings.secret.reveal().to_owned();
        Self { trial, base: settings.simulator_url, secret }
    }

    /// Signs a user in and returns the code.
    async fn code(&self, user: &str) -> String {
        let url = format!(
            "{}/authorize?client_id=basalt&response_type=code&state=s%261&nonce=n1&prompt=none&login_hint={user}\
             &redirect_uri={CALLBACK}&code_challenge={CHALLENGE}&code_challenge_method=S256",
            self.base
        );
        let response = self.trial.send(Method::GET, &url, &[], "").await;
        let query = response.location().strip_prefix("http://auth.example.com/callback?code=").expect("a code");
        let (code, state) = query.split_once('&').expect("a state");
        assert_eq!(state, "state=s%261");
        code.to_owned()
    }

    async fn redeem(&self, code: &str, verifier: &str, secret: &str) -> Response {
        let form =
            format!("grant_type=authorization_code&code={code}&redirect_uri={CALLBACK}&code_verifier={verifier}");
        let credentials = format!("Basic {}", STANDARD.encode(format!("basalt:{secret}")));
        let url = format!("{}/token", self.base);
        self.trial.send(Method::POST, &url, &[("authorization", &credentials)], &form).await
    }
}

fn claims(id_token: &Value) -> Value {
    let part = id_token.as_str().and_then(|token| token.split('.').nth(1)).expect("three parts");
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).expect("base64")).expect("JSON")
}

#[tokio::test]
async fn code_yields_tokens_of_the_user() {
    let plain = Plain::new().await;
    let answer = plain.redeem(&plain.code("ann").await, VERIFIER, &plain.secret).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    let claims = claims(&answer.json["id_token"]);
    assert_eq!(claims["iss"], json!(plain.base));
    assert_eq!((&claims["aud"], &claims["nonce"], &claims["sub"]), (&json!("basalt"), &json!("n1"), &json!("dev-ann")));
    assert_eq!((&claims["email"], &claims["email_verified"]), (&json!("ann@example.com"), &json!(true)));
    let bearer = format!("Bearer {}", answer.json["access_token"].as_str().expect("a token"));
    let url = format!("{}/userinfo", plain.base);
    let user = plain.trial.send(Method::GET, &url, &[("authorization", &bearer)], "").await;
    assert_eq!(user.json["sub"], "dev-ann");
    plain.trial.clock.advance(TimeDelta::hours(1));
    let late = plain.trial.send(Method::GET, &url, &[("authorization", &bearer)], "").await;
    assert_eq!(late.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn code_is_single_use_and_bound_to_client_and_verifier() {
    let plain = Plain::new().await;
    let code = async || plain.code("ben").await;
    assert_eq!(plain.redeem(&code().await, VERIFIER, "another secret").await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(plain.redeem(&code().await, "another verifier", &plain.secret).await.status, StatusCode::BAD_REQUEST);
    let once = code().await;
    assert_eq!(plain.redeem(&once, VERIFIER, &plain.secret).await.status, StatusCode::OK);
    assert_eq!(plain.redeem(&once, VERIFIER, &plain.secret).await.status, StatusCode::BAD_REQUEST);
    let late = code().await;
    plain.trial.clock.advance(TimeDelta::minutes(1));
    assert_eq!(plain.redeem(&late, VERIFIER, &plain.secret).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn discovery_document_names_the_endpoints_of_each_issuer() {
    let plain = Plain::new().await;
    let get = async |path: &str| {
        plain
            .trial
            .send(Method::GET, &format!("{}{path}/.well-known/openid-configuration", plain.base), &[], "")
            .await
            .json
    };
    let own = get("").await;
    assert_eq!((&own["issuer"], &own["jwks_uri"]), (&json!(plain.base), &json!(format!("{}/jwks", plain.base))));
    let azure = get("/azure/login.microsoftonline.com/t-1/v2.0").await;
    assert_eq!(azure["issuer"], "https://login.microsoftonline.com/t-1/v2.0");
    for (document, algorithm) in [(own, "ES256"), (azure, "RS256")] {
        let keys = document["jwks_uri"].as_str().expect("a URL");
        assert_eq!(plain.trial.send(Method::GET, keys, &[], "").await.json["keys"][0]["alg"], algorithm);
        assert_eq!(document["id_token_signing_alg_values_supported"], json!([algorithm]));
    }
}

#[tokio::test]
async fn token_of_one_provider_is_not_valid_at_another() {
    let trial = Trial::new().await;
    let back = trial.sign_in("github", "&prompt=none&login_hint=ann").await;
    let bearer = format!("Bearer {}", back.fragment("provider_token"));
    let get = async |provider: &str, url: &str, agent: Option<&str>| {
        let url = trial.settings(provider).request_url(url);
        let mut headers = vec![("authorization", bearer.as_str())];
        headers.extend(agent.map(|agent| ("user-agent", agent)));
        trial.send(Method::GET, &url, &headers, "").await.status
    };
    assert_eq!(get("github", "https://api.github.com/user", Some("app")).await, StatusCode::OK);
    assert_eq!(get("github", "https://api.github.com/user", None).await, StatusCode::BAD_REQUEST);
    assert_eq!(get("gitlab", "https://gitlab.com/api/v4/user", Some("app")).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn profile_request_needs_the_proof_of_facebook() {
    let trial = Trial::new().await;
    let back = trial.sign_in("facebook", "&prompt=none&login_hint=ann").await;
    let bearer = format!("Bearer {}", back.fragment("provider_token"));
    let url = trial.settings("facebook").request_url("https://graph.facebook.com/me?appsecret_proof=00");
    let refused = trial.send(Method::GET, &url, &[("authorization", &bearer)], "").await;
    assert_eq!(refused.json["error"], "invalid_appsecret_proof");
}

#[tokio::test]
async fn unsigned_oauth1_requests_are_refused() {
    let trial = Trial::new().await;
    for path in ["oauth/request_token", "oauth/access_token", "1.1/account/verify_credentials.json"] {
        let url = trial.settings("twitter").request_url(&format!("https://api.twitter.com/{path}"));
        let forged =
            "OAuth oauth_consumer_key=\"basalt\",oauth_nonce=\"n\",oauth_signature=\"x\",oauth_timestamp=\"1\"";
        for headers in [vec![], vec![("authorization", forged)]] {
            assert_eq!(trial.send(Method::GET, &url, &headers, "").await.status, StatusCode::UNAUTHORIZED, "{path}");
        }
    }
}

#[tokio::test]
async fn next_sign_in_needs_a_known_and_enabled_provider() {
    let trial = Trial::new().await;
    let next = || NextSignIn::parse(&json!({"scenario": "denied"})).expect("a valid body");
    let unknown = trial.simulator.set_next("gogle", next()).expect_err("refused").to_string();
    assert!(unknown.starts_with("unknown provider \"gogle\"; the providers are oidc, apple, "), "{unknown}");
    let options = SimulatorOptions { base_url: "http://127.0.0.1:1/p".into(), auth_url: "x".into(), page: "" };
    let simulator = Simulator::new(options, Arc::new(SystemClock), Entropy::from_seed(1)).expect("a simulator");
    let disabled = simulator.set_next("google", next()).expect_err("refused").to_string();
    assert!(disabled.contains("[auth.external.google]"), "{disabled}");
    let mut policy = Policy::default();
    policy.external.providers.entry("google".into()).or_default().enabled = true;
    simulator.apply_to_enabled(&mut policy);
    assert_eq!(simulator.set_next("google", next()), Ok(()));
    let simulated: Vec<_> = policy.external.providers.iter().filter(|(_, provider)| provider.is_simulated()).collect();
    assert_eq!(simulated.len(), 1, "{simulated:?}");
}

#[tokio::test]
async fn base_path_may_be_shortened_by_the_router() {
    let options = SimulatorOptions {
        base_url: "http://127.0.0.1:1/w/x/_dev/provider".into(),
        auth_url: "http://127.0.0.1:1/w/x/auth/v1".into(),
        page: "{{action}}",
    };
    let simulator = Simulator::new(options, Arc::new(SystemClock), Entropy::from_seed(1)).expect("a simulator");
    let settings = simulator.settings("github", None).expect("a provider");
    assert_eq!(settings.redirect_uri, "http://127.0.0.1:1/w/x/auth/v1/callback");
    let query = format!("client_id=basalt&response_type=code&redirect_uri={}", settings.redirect_uri);
    let path = "/_dev/provider/github/github.com/login/oauth/authorize";
    for uri in [format!("/w/x{path}?{query}"), format!("{path}?{query}")] {
        let request = http::Request::get(&uri).body(axum::body::Body::empty()).expect("a request");
        let page = simulator.answer(request).await.into_body();
        let bytes = axum::body::to_bytes(page, usize::MAX).await.expect("a body");
        assert_eq!(String::from_utf8_lossy(&bytes), format!("/w/x{path}?{query}").replace('&', "&amp;"));
    }
    assert_eq!(simulator.provider_name(path), Some("github"));
    assert_eq!(simulator.provider_name("/_dev/providers"), None);
    assert_eq!(simulator.provider_name("/auth/v1/callback"), None);
}

#[tokio::test]
async fn reset_removes_codes_tokens_and_determined_sign_ins() {
    let trial = Trial::new().await;
    let url = trial.start("google", "&prompt=none&login_hint=ann").await;
    let response = trial.send(Method::GET, &url, &[], "").await;
    trial.set_next("google", &json!({"scenario": "denied"}));
    trial.simulator.reset();
    assert!(trial.return_from(&response).await.fragment("access_token").is_empty());
    let back = trial.sign_in("google", "&prompt=none&login_hint=ann").await;
    assert_eq!(trial.user(&back).await.str("email"), "ann@example.com");
}

#[tokio::test]
async fn unknown_paths_and_methods_are_refused() {
    let plain = Plain::new().await;
    for (method, path, status) in [
        (Method::GET, "/unknown", StatusCode::NOT_FOUND),
        (Method::GET, "", StatusCode::NOT_FOUND),
        (Method::GET, "/github", StatusCode::NOT_FOUND),
        (Method::GET, "/token", StatusCode::METHOD_NOT_ALLOWED),
        (Method::DELETE, "/authorize", StatusCode::METHOD_NOT_ALLOWED),
        (Method::POST, "/twitter/api.twitter.com/oauth/access_token", StatusCode::METHOD_NOT_ALLOWED),
    ] {
        let response = plain.trial.send(method.clone(), &format!("{}{path}", plain.base), &[], "").await;
        assert_eq!(response.status, status, "{method} {path}");
    }
    let long = "x".repeat(17 * 1024);
    let refused = plain.trial.send(Method::POST, &format!("{}/token", plain.base), &[], &long).await;
    assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
}
