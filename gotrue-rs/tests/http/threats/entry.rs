//! Account takeover, bans and second factors at less common entry points.

use gotrue_rs::testing::{FakeProvider, RedirectTarget, World};
use serde_json::json;

const ANN: &str = "ann@example.com";
const TO_GITHUB: &str = "/user/identities/authorize?provider=github";

/// As served or as recorded, with GitHub, and linking by hand.
async fn world(is_served: bool) -> (World, FakeProvider) {
    let provider = FakeProvider::start().await;
    provider.add_github_user(4711, ANN, true);
    let builder = if is_served { World::builder().as_served() } else { World::builder() };
    let world = builder.policy(|policy| {
        provider.enable_provider(policy, "github");
        policy.security.manual_linking_enabled = true;
    });
    (world.build().await, provider)
}

async fn ban(world: &World) {
    let until = world.now() + chrono::TimeDelta::days(1);
    world.database.query(&format!("UPDATE auth.users SET banned_until = '{}'", until.to_rfc3339())).await;
}

/// An ID token is never accepted as an access token, even after the grant is revoked.
#[tokio::test]
async fn b8_id_token_is_not_accepted_as_access_token() {
    for (builder, status) in [(World::builder().as_served(), 403), (World::builder(), 200)] {
        let world = builder.with_oauth_server().build().await;
        let (app, ann) = (world.create_oauth_client(json!({})).await, world.create_user(ANN).await);
        let code = world.obtain_code(&app, &ann, "openid").await;
        let tokens = world.exchange_code(&app, &code).await.expect(200);
        world.get_as(tokens.str("access_token"), "/user").await.expect(200);
        world.get_as(tokens.str("id_token"), "/user").await.expect(status);
        world.get_as(tokens.str("id_token"), "/oauth/userinfo").await.expect(status);
    }
}

/// A link started before another user confirmed the e-mail address is not completed.
#[tokio::test]
async fn b1_identity_link_of_another_session_is_not_completed() {
    for is_served in [true, false] {
        let (world, provider) = world(is_served).await;
        let mallory = world.create_user("mallory@example.com").await;
        let begun = world.get_as(&mallory.access_token, TO_GITHUB).await.expect(302);
        let linking = RedirectTarget::from_response(&begun).query("state").to_owned();
        let claim = format!("UPDATE auth.users SET email = '{ANN}', email_confirmed_at = NULL");
        world.database.query(&claim).await;
        world.advance(chrono::TimeDelta::seconds(1));
        let ann = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
        world.get_as(ann.fragment("access_token"), "/user").await.expect(200);
        provider.add_github_user(666, "mallory@example.com", true);
        let linked = RedirectTarget::from_response(&world.get(&format!("/callback?state={linking}&code=c")).await);
        assert_eq!(linked.fragment("access_token").is_empty(), is_served);
        let ids = world.database.query("SELECT provider_id FROM auth.identities ORDER BY 1").await;
        assert_eq!(ids.len(), if is_served { 1 } else { 2 }, "{ids:?}");
    }
}

/// A user banned between two steps of a sign-in gets no session.
#[tokio::test]
async fn c2_ban_applies_to_a_sign_in_in_progress() {
    let challenge = "ccccccccccccccccccccccccccccccccccccccccccc";
    for is_served in [true, false] {
        let (world, _provider) = world(is_served).await;
        let ann = world.create_user(ANN).await;
        let state = world
            .start_provider_sign_in(&format!("github&code_challenge={challenge}&code_challenge_method=plain"))
            .await;
        let code = world.finish_provider_sign_in(&state).await.query("code").to_owned();
        let begun = world.get_as(&ann.access_token, TO_GITHUB).await.expect(302);
        let linking = RedirectTarget::from_response(&begun).query("state").to_owned();
        ban(&world).await;
        let exchange = json!({"auth_code": code, "code_verifier": challenge});
        let exchanged = world.post("/token?grant_type=pkce", exchange).await;
        assert_eq!(exchanged.status == 200, !is_served, "{}", exchanged.text);
        world.database.query("DELETE FROM auth.identities WHERE provider = 'github'").await;
        let linked = world.finish_provider_sign_in(&linking).await;
        assert_eq!(linked.fragment("access_token").is_empty(), is_served);
        let identities = world.database.query("SELECT provider FROM auth.identities ORDER BY provider").await;
        assert_eq!(identities.len(), if is_served { 1 } else { 2 }, "{identities:?}");
    }
}

/// An attacker with the password cannot add or remove identities without the second factor.
#[tokio::test]
async fn e3_linking_and_unlinking_require_aal2() {
    for is_served in [true, false] {
        let (world, _provider) = world(is_served).await;
        let (ann, app) = world.create_user_with_totp(ANN).await;
        world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
        let attacker = world.sign_in(ANN).await;
        let begun = world.get_as(&attacker.access_token, TO_GITHUB).await;
        let identity = &world.database.query("SELECT id::text FROM auth.identities WHERE provider = 'email'").await[0];
        let unlink = format!("/user/identities/{identity}");
        let header = format!("Bearer {}", attacker.access_token);
        if is_served {
            assert_eq!(begun.refusal(), (403, "insufficient_aal"));
            let gone = world.request(http::Method::DELETE, &unlink, &[("authorization", &header)], None).await;
            assert_eq!(gone.refusal(), (403, "insufficient_aal"));
            world.advance(chrono::TimeDelta::minutes(1));
            let lifted = world.elevate_session(&attacker, &app).await;
            world.get_as(&lifted.access_token, TO_GITHUB).await.expect(302);
        } else {
            begun.expect(302);
            world.request(http::Method::DELETE, &unlink, &[("authorization", &header)], None).await.expect(200);
        }
        assert!(!ann.id.is_empty());
    }
}

/// Provider names are case-insensitive: another spelling gives no second user or linking domain.
#[tokio::test]
async fn b1_provider_name_is_case_insensitive() {
    let (world, _provider) = world(true).await;
    let first = world.finish_provider_sign_in(&world.start_provider_sign_in("GitHub").await).await;
    let user = world.get_as(first.fragment("access_token"), "/user").await.expect(200);
    assert_eq!(user.str("app_metadata/provider"), "github");
    let again = world.finish_provider_sign_in(&world.start_provider_sign_in("github").await).await;
    assert_eq!(world.get_as(again.fragment("access_token"), "/user").await.expect(200).str("id"), user.str("id"));
    assert_eq!(world.database.query("SELECT provider FROM auth.identities").await, ["github"]);
}

/// Client metadata becomes links on the consent page.
#[tokio::test]
async fn a4_client_metadata_urls_must_not_be_scripts() {
    for (builder, is_served) in [(World::builder().as_served(), true), (World::builder(), false)] {
        let world = builder.with_oauth_server().build().await;
        let app = world.create_oauth_client(json!({"client_uri": "https://app.example.com/"})).await;
        for member in ["client_uri", "logo_uri"] {
            let script = json!({member: "javascript://app.example.com/%0aalert(1)"});
            let mut new = json!({"client_name": "x", "redirect_uris": ["https://app.example.com/callback"]});
            new[member] = script[member].clone();
            let registered = world.post("/oauth/clients/register", new).await;
            assert_eq!(registered.status == 400, is_served, "{}", registered.text);
            let path = format!("/admin/oauth/clients/{}", app.id);
            let changed = world.put_as(&world.service_token(), &path, script).await;
            assert_eq!(changed.status == 400, is_served, "{}", changed.text);
        }
    }
}
