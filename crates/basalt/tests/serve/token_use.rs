//! Which tokens open the services beside the auth API, and which pages decide about OAuth clients.

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::gateway::upstream;
use super::s3_signature::{Signer, sign};
use super::support::{Basalt, TempFolder};

const CALLBACK: &str = "https://client.example.com/cb";
/// A verifier of PKCE and its challenge (RFC 7636, appendix B).
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
/// The key of RFC 7515, appendix A.3: ID tokens are signed by a key pair.
const SIGNING_KEYS: &str = r#"[{"kty": "EC", "crv": "P-256", "kid": "rfc7515", "alg": "ES256", "key_ops": ["sign", "verify"],
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    "d": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}]"#;
/// A path of each service.
const PATHS: [&str; 4] = ["/functions/v1/hello", "/functions/v1/send-submission", "/rest/v1/", "/storage/v1/bucket"];

struct Served {
    server: Basalt,
    _scratch: TempFolder,
}

impl Served {
    fn start() -> Self {
        let url = upstream::start(|mut exchange| exchange.echo(&[]));
        let scratch = TempFolder::new();
        scratch.write("keys.json", SIGNING_KEYS);
        let config = scratch.write(
            "config.toml",
            &format!(
                "[auth]\nsite_url = \"http://localhost:3000\"\nsigning_keys_path = \"./keys.json\"\n[auth.oauth_server]\nenabled = true\n\
                 [basalt.upstreams]\nfunctions = \"{url}\"\n\
                 [basalt.shop]\nowner = \"owner@example.com\"\n"
            ),
        );
        Self { server: Basalt::serve(&["--ephemeral", "--config", &config]), _scratch: scratch }
    }

    async fn send(&self, token: &str, path: &str, body: Option<Value>, origin: Option<&str>) -> (StatusCode, Value) {
        let url = self.server.url(path);
        let request = match body {
            Some(body) => self.server.client.post(url).json(&body),
            None => self.server.client.get(url),
        };
        let request = match origin {
            Some(origin) => request.header("origin", origin),
            None => request,
        };
        let request = request.header("apikey", self.server.text("publishable_key")).bearer_auth(token);
        let response = request.send().await.expect("a response");
        let status = response.status();
        (status, response.json().await.unwrap_or_default())
    }

    async fn sign_up(&self, email: &str) -> String {
        let (status, session) =
            self.server.auth("/signup", Some(json!({ "email": email, "password": "a long password" }))).await;
        assert_eq!(status, 200, "{session}");
        session["access_token"].as_str().expect("a session").to_owned()
    }

    async fn create_client(&self) -> String {
        let body = json!({ "client_name": "App", "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none" });
        let (status, client) =
            self.send(&self.server.text("secret_key"), "/auth/v1/admin/oauth/clients", Some(body), None).await;
        assert_eq!(status, 201, "{client}");
        client["client_id"].as_str().expect("an id").to_owned()
    }

    /// Starts a request of a client and returns the path of its consent.
    async fn request_consent(&self, client: &str, scope: &str) -> String {
        let path = format!(
            "/auth/v1/oauth/authorize?client_id={client}&redirect_uri={CALLBACK}&response_type=code\
             &code_challenge={CHALLENGE}&code_challenge_method=S256&scope={}",
            scope.replace(' ', "+")
        );
        let response = self.server.client.get(self.server.url(&path)).send().await.expect("a response");
        // The client follows the redirect to the page of consent.
        let page = response.url().clone();
        let id = page.query_pairs().find(|(name, _)| name == "authorization_id");
        let (_, id) = id.unwrap_or_else(|| panic!("{page}"));
        format!("/auth/v1/oauth/authorizations/{id}")
    }

    /// Returns the tokens that a client gets after the user's consent.
    async fn client_tokens(&self, user: &str, client: &str, scope: &str) -> Value {
        let path = self.request_consent(client, scope).await;
        self.send(user, &path, None, None).await;
        let (status, answer) =
            self.send(user, &format!("{path}/consent"), Some(json!({ "action": "approve" })), None).await;
        assert_eq!(status, 200, "{answer}");
        let (_, code) = answer["redirect_url"].as_str().expect("a URL").split_once("code=").expect("a code");
        let code = code.split('&').next().unwrap_or_default();
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", VERIFIER),
            ("client_id", client),
            ("redirect_uri", CALLBACK),
        ];
        let request = self.server.client.post(self.server.url("/auth/v1/oauth/token")).form(&form);
        request.send().await.expect("a response").json().await.expect("tokens")
    }

    async fn statuses(&self, token: &str) -> [u16; 4] {
        let mut statuses = [0; 4];
        for (status, path) in statuses.iter_mut().zip(PATHS) {
            let body = path.ends_with("submission").then(|| json!({}));
            *status = self.send(token, path, body, None).await.0.as_u16();
        }
        statuses
    }
}

#[tokio::test]
async fn services_take_access_tokens_of_users_and_of_clients_with_their_scope() {
    let served = Served::start();
    let user = served.sign_up("ann@example.com").await;
    // An empty submission is refused as such: the caller was accepted.
    assert_eq!(served.statuses(&user).await, [200, 400, 200, 200], "the user's own token");
    let client = served.create_client().await;
    let text = |tokens: &Value, name: &str| tokens[name].as_str().unwrap_or_else(|| panic!("{tokens}")).to_owned();

    let tokens = served.client_tokens(&user, &client, "openid email").await;
    assert_eq!(served.statuses(&text(&tokens, "access_token")).await, [403; 4], "a client without scopes of services");
    assert_eq!(served.statuses(&text(&tokens, "id_token")).await, [401; 4], "an ID token");

    let tokens = served.client_tokens(&user, &client, "openid functions rest storage").await;
    assert_eq!(served.statuses(&text(&tokens, "access_token")).await, [200, 400, 200, 200], "a client with them");
    assert_eq!(served.statuses(&text(&tokens, "id_token")).await, [401; 4], "an ID token with the same scopes");
}

/// Services are lenient about white space, and storage takes a token without a scheme: none of it goes past the check.
#[tokio::test]
async fn spelling_of_a_token_opens_no_service() {
    let served = Served::start();
    let user = served.sign_up("ann@example.com").await;
    let client = served.create_client().await;
    let tokens = served.client_tokens(&user, &client, "email").await;
    let token = tokens["access_token"].as_str().expect("a token");
    let send = async |path: &str, authorizations: &[&str]| {
        let url = served.server.url(path);
        let mut request = served.server.client.get(url).header("apikey", served.server.text("publishable_key"));
        for value in authorizations {
            request = request.header("authorization", *value);
        }
        request.send().await.expect("a response").status().as_u16()
    };
    for path in ["/functions/v1/hello", "/rest/v1/", "/storage/v1/bucket"] {
        for scheme in ["Bearer ", "Bearer  ", "bearer\t", "BEARER \t "] {
            assert_eq!(send(path, &[&format!("{scheme}{token}")]).await, 403, "{path} {scheme:?}");
            assert_eq!(send(path, &[&format!("{scheme}{user}")]).await, 200, "{path} {scheme:?}: the user's own token");
        }
        let bearer = format!("Bearer {token}");
        assert_eq!(send(path, &["Basic eA==", &bearer]).await, 400, "{path}: two headers");
    }
    assert_eq!(send("/storage/v1/bucket", &[token]).await, 403, "without a scheme");
    assert_eq!(served.send(&user, "/auth/v1/logout?scope=global", Some(json!({})), None).await.0, 204);
    assert_eq!(send("/functions/v1/hello", &[&format!("Bearer  {user}")]).await, 401, "an ended session");
}

/// A session of the S3 protocol is signed by the public key of visitors: its token decides.
#[tokio::test]
async fn sessions_of_the_s3_protocol_take_tokens_that_open_storage() {
    let served = Served::start();
    let user = served.sign_up("ann@example.com").await;
    let client = served.create_client().await;
    let list = async |token: &str| {
        let secret = served.server.text("anon_key");
        let signer = Signer { key: "stub", secret: &secret, region: "local" };
        let url = served.server.url("/storage/v1/s3");
        let host = url.trim_start_matches("http://").split('/').next().unwrap_or_default().to_owned();
        let mut headers = vec![("host".to_owned(), host), ("x-amz-security-token".to_owned(), token.to_owned())];
        sign(&signer, "GET", "/storage/v1/s3", &mut headers, b"");
        let mut request = served.server.client.get(url);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        request.send().await.expect("a response").status().as_u16()
    };
    assert_eq!(list(&user).await, 200);
    for (scope, expected) in [("email", 403), ("email storage", 200)] {
        let tokens = served.client_tokens(&user, &client, scope).await;
        assert_eq!(list(tokens["access_token"].as_str().expect("a token")).await, expected, "{scope}");
    }
}

#[tokio::test]
async fn functions_refuse_tokens_of_ended_sessions_and_deleted_users() {
    let served = Served::start();
    let functions = ["/functions/v1/hello", "/functions/v1/send-submission"];
    let (leaving, deleted) = (served.sign_up("ann@example.com").await, served.sign_up("eve@example.com").await);
    let statuses = async |token: &str| {
        let mut statuses = Vec::new();
        for path in functions {
            statuses.push(served.send(token, path, Some(json!({})), None).await.0.as_u16());
        }
        statuses
    };
    assert_eq!((statuses(&leaving).await, statuses(&deleted).await), (vec![200, 400], vec![200, 400]));
    served.send(&leaving, "/auth/v1/logout", Some(json!({})), None).await;
    assert_eq!((statuses(&leaving).await, statuses(&deleted).await), (vec![401, 401], vec![200, 400]));
    let (_, user) = served.send(&deleted, "/auth/v1/user", None, None).await;
    let path = format!("/auth/v1/admin/users/{}", user["id"].as_str().expect("an id"));
    let secret = served.server.text("secret_key");
    let removal = served.server.client.delete(served.server.url(&path)).header("apikey", secret);
    assert_eq!(removal.send().await.expect("a response").status(), 200);
    assert_eq!(statuses(&deleted).await, [401, 401]);
    let (_, refused) = served.send(&deleted, functions[1], Some(json!({})), None).await;
    assert_eq!(refused["code"], "UNAUTHORIZED_SESSION_ENDED", "{refused}");
}

#[tokio::test]
async fn consent_is_taken_only_from_pages_of_allowed_origins() {
    let served = Served::start();
    let user = served.sign_up("ann@example.com").await;
    let client = served.create_client().await;
    let own = served.server.text("url");
    for (origin, expected) in [
        ("https://evil.example", 400),
        ("null", 400),
        ("http://localhost.evil.example:3000", 400),
        ("http://localhost:3000", 200),
        (&*own, 200),
    ] {
        let path = served.request_consent(&client, "openid").await;
        let shown = served.send(&user, &path, None, Some(origin)).await;
        assert_eq!(shown.0, expected, "{origin}: {}", shown.1);
        if expected != 200 {
            served.send(&user, &path, None, None).await;
        }
        let body = json!({ "action": "deny" });
        let decided = served.send(&user, &format!("{path}/consent"), Some(body), Some(origin)).await;
        assert_eq!(decided.0, expected, "{origin}: {}", decided.1);
    }
}
