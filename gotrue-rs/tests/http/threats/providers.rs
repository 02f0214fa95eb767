//! B3, B5, A2, A3, A6, G2: sign-in with other services.

use gotrue_rs::testing::{FakeProvider, Sent, World};
use gotrue_rules::domain::policy::Policy;
use serde_json::json;

const ANN: &str = "ann@example.com";

fn pkce() -> (&'static str, &'static str) {
    ("ccccccccccccccccccccccccccccccccccccccccccc", "plain")
}

async fn world(change: impl FnOnce(&mut Policy)) -> (World, FakeProvider) {
    let provider = FakeProvider::start().await;
    provider.knows_on_github(4711, ANN, true);
    let world = World::builder()
        .policy(|policy| {
            provider.set_up(policy, "github");
            provider.set_up(policy, "x");
            change(policy);
        })
        .build()
        .await;
    (world, provider)
}

async fn code_of(world: &World, path: &str) -> String {
    let answer = world.get(path).await;
    assert!(matches!(answer.status.as_u16(), 302 | 303), "{}", answer.text);
    Sent::by(&answer).query("error_code").to_owned()
}

#[tokio::test]
async fn b3_the_state_of_another_flow_is_none() {
    let (world, provider) = world(|_| {}).await;
    world.person(ANN).await;
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
    assert!(provider.asked().is_empty());
}

#[tokio::test]
async fn b3_a_state_is_no_secret_of_another_kind() {
    let (world, _) = world(|_| {}).await;
    let (challenge, method) = pkce();
    let state = world.begin(&format!("github&code_challenge={challenge}&code_challenge_method={method}")).await;
    let code = world.database.query("SELECT auth_code FROM auth.flow_state").await.remove(0);
    for secret in [&state, &code] {
        let exchange = json!({"auth_code": secret, "code_verifier": challenge});
        let refused = world.post("/token?grant_type=pkce", exchange).await;
        assert_eq!(refused.refusal(), (404, "flow_state_not_found"), "nobody has come back yet");
        for kind in ["magiclink", "signup", "recovery", "invite"] {
            let path = format!("/verify?type={kind}&token={secret}");
            assert!(world.get(&path).await.expect(303).header("location").contains("otp_expired"));
        }
    }
}

#[tokio::test]
async fn b3_a_verifier_serves_only_the_provider_it_was_made_for() {
    let (world, provider) = world(|_| {}).await;
    let state = world.begin("x").await;
    world.database.query("UPDATE auth.flow_state SET provider_type = 'github' RETURNING id::text").await;
    assert_eq!(world.finish(&state).await.query("error_description"), "OAuth provider mismatch");
    assert!(provider.asked().is_empty());
}

#[tokio::test]
async fn b5_a_provider_that_is_switched_off_signs_nobody_in() {
    let (world, provider) = world(|policy| {
        policy.external.providers.get_mut("x").into_iter().for_each(|it| it.enabled = false);
    })
    .await;
    assert_eq!(world.get("/authorize?provider=x").await.refusal(), (400, "validation_failed"));
    let state = world.begin("github").await;
    // As after a restart with other settings.
    world.database.query("UPDATE auth.flow_state SET provider_type = 'X' RETURNING id::text").await;
    let to = world.finish(&state).await;
    assert_eq!(to.query("error_code"), "oauth_provider_not_supported");
    assert_eq!(to.query("error_description"), "Unsupported provider: provider is not enabled");
    assert!(provider.asked().is_empty());
}

#[tokio::test]
async fn a2_the_browser_goes_only_where_the_operator_allows() {
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
        let state = world.begin(&format!("github&redirect_to={escaped}")).await;
        assert_eq!(world.finish(&state).await.base, "http://shop.example.com", "{hostile}");
        let refused = Sent::by(&world.get(&format!("/callback?error=no&redirect_to={escaped}")).await.expect(303));
        assert_eq!(refused.base, "http://shop.example.com", "{hostile}");
    }
}

#[tokio::test]
async fn a3_who_comes_back_changes_nothing_of_what_was_asked_for() {
    let (world, provider) = world(|policy| {
        policy.site.redirect_allow_list = vec!["https://app.example.com/**".to_owned()];
    })
    .await;
    let (challenge, method) = pkce();
    let asked = format!("github&code_challenge={challenge}&code_challenge_method={method}");
    let state = world.begin(&asked).await;
    let other = world.begin("x").await;
    let more =
        "&provider=x&redirect_to=https%3A%2F%2Fapp.example.com&code_challenge=&invite_token=t&email_optional=true";
    let back = format!("/callback?state={state}&code=c&state={other}{more}");
    let to = Sent::by(&world.get(&back).await.expect(302));
    assert_eq!((&*to.base, to.fragment.len()), ("http://shop.example.com", 0), "{to:?}");
    assert!(!to.query("code").is_empty(), "{to:?}");
    assert!(provider.asked().iter().all(|asked| asked.path.starts_with("/github/")));
}

#[tokio::test]
async fn a6_no_token_stands_in_a_query() {
    let (world, _) = world(|_| {}).await;
    let (challenge, method) = pkce();
    for query in [String::new(), format!("&code_challenge={challenge}&code_challenge_method={method}")] {
        let state = world.begin(&format!("github{query}")).await;
        let answer = world.get(&format!("/callback?state={state}&code=c")).await.expect(302);
        let (query, _) = answer.header("location").split_once('#').unwrap_or((answer.header("location"), ""));
        assert!(!query.contains("token") && !query.contains("github-"), "{query}");
    }
}

#[tokio::test]
async fn g2_a_stored_provider_cannot_lead_to_this_machine() {
    let (world, provider) = world(|_| {}).await;
    let inside = provider.url("/inside").replace("http://", "https://");
    let insert = format!(
        "INSERT INTO auth.custom_oauth_providers (provider_type, identifier, name, client_id, client_secret,
                                                  authorization_url, token_url, userinfo_url)
         VALUES ('oauth2', 'custom:inside', 'Inside', 'us', 's', 'https://p.example.org', '{inside}', '{inside}')
         RETURNING identifier"
    );
    world.database.query(&insert).await;
    let to = world.finish(&world.begin("custom:inside").await).await;
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
    assert!(provider.asked().is_empty());
}
