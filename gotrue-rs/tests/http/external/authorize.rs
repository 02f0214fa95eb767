//! `GET /authorize` and `GET /user/identities/authorize`: where the browser is sent.

use foundation::secret::Secret;
use gotrue_rs::testing::{FakeProvider, RedirectTarget, World};

use super::{ANN, challenge, world};

async fn sent(world: &World, path: &str) -> RedirectTarget {
    RedirectTarget::from_response(&world.get(path).await.expect(302))
}

#[tokio::test]
async fn authorize_redirects_to_the_provider_with_client_id_and_state() {
    let (world, provider) = world().await;
    let path = "/authorize?provider=github&scopes=repo,gist&prompt=none&state=mine&redirect_uri=http%3A%2F%2Fevil";
    let to = sent(&world, path).await;
    assert_eq!(to.base, provider.url("/github/login/oauth/authorize"));
    for (name, value) in [
        ("client_id", "github-client"),
        ("redirect_uri", "http://auth.example.com/callback"),
        ("response_type", "code"),
        ("scope", "user:email repo gist"),
        ("prompt", "none"),
    ] {
        assert_eq!(to.query(name), value, "{name}");
    }
    assert!(uuid::Uuid::parse_str(to.query("state")).is_ok(), "{to:?}");
    assert!(provider.take_requests().is_empty());
    assert_eq!(world.journal().statements(), ["flow_state.insert_external"]);
}

#[tokio::test]
async fn pkce_provider_gets_a_challenge_stored_in_the_same_statement() {
    let (world, _) = world().await;
    let to = sent(&world, &format!("/authorize?provider=x{}", challenge())).await;
    assert_eq!(to.query("code_challenge_method"), "S256");
    assert_eq!(to.query("code_challenge").len(), 43);
    assert_ne!(to.query("code_challenge"), super::pair().0);
    assert_eq!(world.journal().statements(), ["flow_state.insert_external"]);
}

#[tokio::test]
async fn unusable_parameters_are_reported() {
    let provider = FakeProvider::start().await;
    let world = super::builder(&provider)
        .policy(|policy| {
            let mut set = |name: &str, change: fn(&mut gotrue_rules::domain::policy::ExternalProviderSettings)| {
                provider.enable_provider(policy, name);
                policy.external.providers.get_mut(name).into_iter().for_each(change);
            };
            set("gitlab", |settings| settings.enabled = false);
            set("discord", |settings| settings.client_ids.clear());
            set("spotify", |settings| settings.secret = Secret::default());
            set("zoom", |settings| settings.redirect_uri.clear());
            set("keycloak", |settings| settings.url.clear());
        })
        .build()
        .await;
    for (name, reason) in [
        ("", "Provider  could not be found"),
        ("MySpace", "Provider myspace could not be found"),
        ("email", "Provider email could not be found"),
        ("gitlab", "provider is not enabled"),
        ("discord", "missing OAuth client ID"),
        ("spotify", "missing OAuth secret"),
        ("zoom", "missing redirect URI"),
        ("keycloak", "unable to find URL for the Keycloak provider"),
        ("custom:none", "custom provider custom:none not found"),
    ] {
        let answer = world.get(&format!("/authorize?provider={name}")).await;
        assert_eq!(answer.refusal(), (400, "validation_failed"), "{name}");
        assert_eq!(answer.str("msg"), format!("Unsupported provider: {reason}"), "{name}");
    }
}

#[tokio::test]
async fn pkce_parameters_must_be_complete_and_invite_token_known() {
    let (world, _) = world().await;
    for (query, message) in [
        ("code_challenge_method=s256", "PKCE flow requires code_challenge_method and code_challenge"),
        (&*format!("code_challenge={}&code_challenge_method=md5", "c".repeat(43)), "Invalid code_challenge_method"),
    ] {
        let answer = world.get(&format!("/authorize?provider=github&{query}")).await;
        assert_eq!((answer.refusal(), answer.str("msg")), ((400, "validation_failed"), message));
    }
    let answer = world.get("/authorize?provider=github&invite_token=nobody-has-this").await;
    assert_eq!(answer.refusal(), (404, "user_not_found"));
    assert_eq!(answer.str("msg"), "User identified by token not found");
}

#[tokio::test]
async fn manual_linking_redirects_or_returns_the_url() {
    let (world, provider) = world().await;
    let ann = world.create_user(ANN).await;
    let path = "/user/identities/authorize?provider=github";
    let to = RedirectTarget::from_response(&world.get_as(&ann.access_token, path).await.expect(302));
    assert_eq!(to.base, provider.url("/github/login/oauth/authorize"));
    let reported = world.get_as(&ann.access_token, &format!("{path}&skip_http_redirect=true")).await.expect(200);
    assert!(reported.str("url").starts_with(&to.base), "{}", reported.text);
    world.get_as(&ann.access_token, &format!("{path}&skip_http_redirect=1")).await.expect(302);
    assert_eq!(world.get(path).await.refusal(), (401, "no_authorization"));
}

#[tokio::test]
async fn manual_linking_can_be_disabled() {
    let world = World::new().await;
    let ann = world.create_user(ANN).await;
    let answer = world.get_as(&ann.access_token, "/user/identities/authorize?provider=github").await;
    assert_eq!(answer.refusal(), (404, "manual_linking_disabled"));
}
