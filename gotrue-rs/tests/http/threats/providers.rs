//! Attacks on social sign-in: state, redirects, tokens in queries, private addresses.

use gotrue_rs::testing::{FakeProvider, RedirectTarget, World};
use gotrue_rules::domain::policy::Policy;
use serde_json::json;

const ANN: &str = "ann@example.com";

fn pkce() -> (&'static str, &'static str) {
    ("ccccccccccccccccccccccccccccccccccccccccccc", "plain")
}

async fn world(change: impl FnOnce(&mut Policy)) -> (World, FakeProvider) {
    let provider = FakeProvider::start().await;
    provider.add_github_user(4711, ANN, true);
    let world = World::builder()
        .policy(|policy| {
            provider.enable_provider(policy, "github");
            provider.enable_provider(policy, "x");
            change(policy);
        })
        .build()
        .await;
    (world, provider)
}

async fn code_of(world: &World, path: &str) -> String {
    let answer = world.get(path).await;
    assert!(matches!(answer.status.as_u16(), 302 | 303), "{}", answer.text);
    RedirectTarget::from_response(&answer).query("error_code").to_owned()
}

#[tokio::test]
async fn b3_state_of_another_flow_is_refused() {
    let (world, provider) = world(|_| {}).await;
    world.create_user(ANN).await;
    let (challenge, method) = pkce();
    for (path, body) in [
        ("/recover", json!({"email": ANN})),
        ("/otp", json!({"email": ANN})),
        ("/signup", json!({"email": "bob@example.com", "password": "correct horse"})),
    ] {
        let mut body = body;
        body["code_challenge"] = json!(challenge);
        body["code_challenge_method"] = json!(method);
        world.advance(chrono::TimeDelta::seconds(1));
        world.post(path, body).await.expect(200);
    }
    let ids = world.database.query("SELECT id::text FROM auth.flow_state").await;
    let codes = world.database.query("SELECT auth_code FROM auth.flow_state").await;
    assert_eq!((ids.len(), codes.len()), (3, 3));
    for state in ids.iter().chain(&codes) {
        assert_eq!(code_of(&world, &format!("/callback?state={state}&code=c")).await, "bad_oauth_state");
    }
    assert!(provider.take_requests().is_empty());
}

#[tokio::test]
async fn b3_state_is_not_accepted_as_another_token() {
    let (world, _) = world(|_| {}).await;
    let (challenge, method) = pkce();
    let state = world
        .start_provider_sign_in(&format!("github&code_challenge={challenge}&code_challenge_method={method}"))
        .await;
    let code = world.database.query("SELECT auth_code FROM auth.flow_state").await.remove(0);
    for secret in [&state, &code] {
        let exchange = json!({"auth_code": secret, "code_verifier": challenge});
        let refused = world.post("/token?grant_type=pkce", exchange).await;
        assert_eq!(refused.refusal(), (404, "flow_state_not_found"), "the callback has not been called yet");
        for kind in ["magiclink", "signup", "recovery", "invite"] {
            let path = format!("/verify?type={kind}&token={secret}");
            assert!(world.get(&path).await.expect(303).header("location").contains("otp_expired"));
        }
    }
}

#[tokio::test]
async fn b3_verifier_is_bound_to_its_provider() {
    let (world, provider) = world(|_| {}).await;
    let state = world.start_provider_sign_in("x").await;
    world.database.query("UPDATE auth.flow_state SET provider_type = 'github' RETURNING id::text").await;
    assert_eq!(world.finish_provider_sign_in(&state).await.query("error_description"), "OAuth provider mismatch");
    assert!(provider.take_requests().is_empty());
}

#[tokio::test]
async fn b5_disabled_provider_is_refused() {
    let (world, provider) = world(|policy| {
        policy.external.providers.get_mut("x").into_iter().for_each(|settings| settings.enabled = false);
    })
    .await;
    assert_eq!(world.get("/authorize?provider=x").await.refusal(), (400, "validation_failed"));
    let state = world.start_provider_sign_in("github").await;
    // As after a restart with other settings.
    world.database.query("UPDATE auth.flow_state SET provider_type = 'X' RETURNING id::text").await;
    let to = world.finish_provider_sign_in(&state).await;
    assert_eq!(to.query("error_code"), "oauth_provider_not_supported");
    assert_eq!(to.query("error_description"), "Unsupported provider: provider is not enabled");
    assert!(provider.take_requests().is_empty());
}

#[tokio::test]
async fn a2_redirects_go_only_to_allowed_targets() {
    let (world, _) = world(|policy| {
        policy.site.redirect_allow_list = vec!["https://app.example.com/**".to_owned()];
    })
    .await;
    for hostile in [
        "https://evil.example.com",
        "https://app.example.com.evil.example.com/",
        "https://app.example.com@evil.example.com/",
        "//evil.example.com",
        "javascript:alert(1)",
        "https:evil.example.com",
    ] {
        let escaped: String = url::form_urlencoded::byte_serialize(hostile.as_bytes()).collect();
        let state = world.start_provider_sign_in(&format!("github&redirect_to={escaped}")).await;
        assert_eq!(world.finish_provider_sign_in(&state).await.base, "http://shop.example.com", "{hostile}");
        let refused = RedirectTarget::from_response(
            &world.get(&format!("/callback?error=no&redirect_to={escaped}")).await.expect(303),
        );
        assert_eq!(refused.base, "http://shop.example.com", "{hostile}");
    }
}

#[tokio::test]
async fn a3_callback_parameters_do_not_change_the_flow() {
    let (world, provider) = world(|policy| {
        policy.site.redirect_allow_list = vec!["https://app.example.com/**".to_owned()];
    })
    .await;
    let (challenge, method) = pkce();
    let requested = format!("github&code_challenge={challenge}&code_challenge_method={method}");
    let state = world.start_provider_sign_in(&requested).await;
    let other = world.start_provider_sign_in("x").await;
    let more =
        "&provider=x&redirect_to=https%3A%2F%2Fapp.example.com&code_challenge=&invite_token=t&email_optional=true";
    let back = format!("/callback?state={state}&code=c&state={other}{more}");
    let to = RedirectTarget::from_response(&world.get(&back).await.expect(302));
    assert_eq!((&*to.base, to.fragment.len()), ("http://shop.example.com", 0), "{to:?}");
    assert!(!to.query("code").is_empty(), "{to:?}");
    assert!(provider.take_requests().iter().all(|requested| requested.path.starts_with("/github/")));
}

#[tokio::test]
async fn a6_tokens_never_appear_in_a_query() {
    let (world, _) = world(|_| {}).await;
    let (challenge, method) = pkce();
    for query in [String::new(), format!("&code_challenge={challenge}&code_challenge_method={method}")] {
        let state = world.start_provider_sign_in(&format!("github{query}")).await;
        let answer = world.get(&format!("/callback?state={state}&code=c")).await.expect(302);
        let (query, _) = answer.header("location").split_once('#').unwrap_or((answer.header("location"), ""));
        assert!(!query.contains("token") && !query.contains("github-"), "{query}");
    }
}

#[tokio::test]
async fn g2_custom_provider_cannot_reach_the_local_machine() {
    let (world, provider) = world(|_| {}).await;
    let inside = provider.url("/inside").replace("http://", "https://");
    let insert = format!(
        "INSERT INTO auth.custom_oauth_providers (provider_type, identifier, name, client_id, client_secret,
                                                  authorization_url, token_url, userinfo_url)
         VALUES ('oauth2', 'custom:inside', 'Inside', 'us', 's', 'https://p.example.org', '{inside}', '{inside}')
         RETURNING identifier"
    );
    world.database.query(&insert).await;
    let to = world.finish_provider_sign_in(&world.start_provider_sign_in("custom:inside").await).await;
    assert_eq!(to.query("error_description"), "Unable to exchange external code: c0de");
    let issuer = insert
        .replace("'oauth2', 'custom:inside'", "'oidc', 'custom:issuer'")
        .replace("authorization_url, token_url, userinfo_url", "issuer, discovery_url, scopes");
    let issuer = issuer
        .replace("'https://p.example.org'", &format!("'{inside}'"))
        .replace(&format!("'{inside}')"), "'{openid}')");
    world.database.query(&issuer).await;
    let refused = world.get("/authorize?provider=custom:issuer").await;
    assert_eq!(refused.refusal(), (400, "validation_failed"), "{}", refused.text);
    assert!(provider.take_requests().is_empty());
}
