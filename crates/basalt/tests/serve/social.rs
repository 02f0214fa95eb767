//! Social sign-in with the provider simulator of the binary.

use gotrue_rules::domain::policy::PROVIDERS;
use reqwest::{Client, Response};
use serde_json::Value;

use super::support::{Basalt, TempFolder};

const HINT: &str = "prompt=none&login_hint=ann@example.com";

/// Follows redirects one by one.
fn client() -> Client {
    Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().expect("a client")
}

fn location(response: &Response) -> String {
    assert!(response.status().is_redirection(), "{response:?}");
    response.headers()["location"].to_str().expect("text").to_owned()
}

/// Signs in without a page and returns the URL that the app gets.
async fn sign_in(server: &Basalt, provider: &str) -> String {
    let client = client();
    let mut url = server.url(&format!("/auth/v1/authorize?provider={provider}&{HINT}"));
    for _ in 0..3 {
        url = location(&client.get(&url).send().await.expect("an answer"));
    }
    url
}

async fn user(server: &Basalt, url: &str) -> Value {
    let (_, rest) = url.split_once("access_token=").unwrap_or_else(|| panic!("no session: {url}"));
    let token = rest.split('&').next().unwrap_or_default();
    let request = server.client.get(server.url("/auth/v1/user")).header("apikey", server.text("publishable_key"));
    request.bearer_auth(token).send().await.expect("an answer").json().await.expect("JSON")
}

#[tokio::test]
async fn replaced_providers_sign_in_in_their_own_formats() {
    let scratch = TempFolder::new();
    // Spotify verifies no address, so that its users must confirm it.
    let names: Vec<_> = PROVIDERS.into_iter().filter(|name| *name != "spotify").collect();
    let config = scratch.write("config.toml", &format!("[basalt.provider]\nstands_in_for = {names:?}\n"));
    let server = Basalt::serve(&["--ephemeral", "--config", &config]);
    for name in &names {
        let start = server.url(&format!("/auth/v1/authorize?provider={name}"));
        let started = location(&client().get(start).send().await.expect("an answer"));
        assert!(started.contains(&format!("/_dev/provider/{name}/")), "{started}");
        let user = user(&server, &sign_in(&server, name).await).await;
        assert_eq!(user["email"], "ann@example.com", "{name}: {user}");
    }
    let metadata = server.client.get(server.url("/_dev/provider/saml/metadata")).send().await.expect("an answer");
    assert!(metadata.text().await.expect("text").starts_with("<EntityDescriptor "));
}

#[tokio::test]
async fn configured_provider_is_simulated_in_a_test_run_only() {
    let scratch = TempFolder::new();
    let provider = "[auth.external.github]\nenabled = true\nclient_id = \"own\"\nsecret = \"own-secret\"\n";
    let config = scratch.write("config.toml", provider);
    let server = Basalt::serve(&["--test", "--config", &config]);
    let user = user(&server, &sign_in(&server, "github").await).await;
    assert_eq!(user["identities"][0]["identity_data"]["iss"], "https://api.github.com", "{user}");
    let server = Basalt::serve(&["--ephemeral", "--config", &config]);
    let start = server.url("/auth/v1/authorize?provider=github");
    let started = location(&client().get(start).send().await.expect("an answer"));
    assert!(started.starts_with("https://github.com/login/oauth/authorize?client_id=own"), "{started}");
    let simulated = server.client.get(server.url("/_dev/provider/jwks")).send().await.expect("an answer");
    assert_eq!(simulated.status(), 404);
}
