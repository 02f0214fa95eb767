//! B1, B8, C2, E3: ways in that are left open beside the one that was looked at.

use gotrue_rs::testing::{FakeProvider, Sent, World};
use serde_json::json;

const ANN: &str = "ann@example.com";
const TO_GITHUB: &str = "/user/identities/authorize?provider=github";

/// As served or as recorded, with GitHub, and linking by hand.
async fn world(is_served: bool) -> (World, FakeProvider) {
    let provider = FakeProvider::start().await;
    provider.knows_on_github(4711, ANN, true);
    let builder = if is_served { World::builder().as_served() } else { World::builder() };
    let world = builder.policy(|policy| {
        provider.set_up(policy, "github");
        policy.security.manual_linking_enabled = true;
    });
    (world.build().await, provider)
}

async fn ban(world: &World) {
    let until = world.now() + chrono::TimeDelta::days(1);
    world.database.query(&format!("UPDATE auth.users SET banned_until = '{}'", until.to_rfc3339())).await;
}

/// B8: what tells a client who somebody is opens nothing, neither before nor after the grant is taken back.
#[tokio::test]
async fn b8_an_id_token_is_no_access_token() {
    for (builder, status) in [(World::builder().as_served(), 403), (World::builder(), 200)] {
        let world = builder.as_provider().build().await;
        let (app, ann) = (world.oauth_app(json!({})).await, world.person(ANN).await);
        let code = world.code_for(&app, &ann, "openid").await;
        let tokens = world.exchange(&app, &code).await.expect(200);
        world.get_as(tokens.str("access_token"), "/user").await.expect(200);
        world.get_as(tokens.str("id_token"), "/user").await.expect(status);
        world.get_as(tokens.str("id_token"), "/oauth/userinfo").await.expect(status);
    }
}

/// B1: a link that was begun before somebody else proved the address is not finished afterwards.
#[tokio::test]
async fn b1_a_link_begun_by_another_is_not_finished() {
    for is_served in [true, false] {
        let (world, provider) = world(is_served).await;
        let mallory = world.person("mallory@example.com").await;
        let begun = world.get_as(&mallory.access_token, TO_GITHUB).await.expect(302);
        let linking = Sent::by(&begun).query("state").to_owned();
        let claim = format!("UPDATE auth.users SET email = '{ANN}', email_confirmed_at = NULL");
        world.database.query(&claim).await;
        world.advance(chrono::TimeDelta::seconds(1));
        let ann = world.finish(&world.begin("github").await).await;
        world.get_as(ann.fragment("access_token"), "/user").await.expect(200);
        provider.knows_on_github(666, "mallory@example.com", true);
        let linked = Sent::by(&world.get(&format!("/callback?state={linking}&code=c")).await);
        assert_eq!(linked.fragment("access_token").is_empty(), is_served);
        let ids = world.database.query("SELECT provider_id FROM auth.identities ORDER BY 1").await;
        assert_eq!(ids.len(), if is_served { 1 } else { 2 }, "{ids:?}");
    }
}

/// C2: who is banned between two steps of a sign-in gets no session by the second.
#[tokio::test]
async fn c2_a_ban_holds_also_for_a_sign_in_that_had_begun() {
    let challenge = "ccccccccccccccccccccccccccccccccccccccccccc";
    for is_served in [true, false] {
        let (world, _provider) = world(is_served).await;
        let ann = world.person(ANN).await;
        let state = world.begin(&format!("github&code_challenge={challenge}&code_challenge_method=plain")).await;
        let code = world.finish(&state).await.query("code").to_owned();
        let begun = world.get_as(&ann.access_token, TO_GITHUB).await.expect(302);
        let linking = Sent::by(&begun).query("state").to_owned();
        ban(&world).await;
        let exchange = json!({"auth_code": code, "code_verifier": challenge});
        let exchanged = world.post("/token?grant_type=pkce", exchange).await;
        assert_eq!(exchanged.status == 200, !is_served, "{}", exchanged.text);
        world.database.query("DELETE FROM auth.identities WHERE provider = 'github'").await;
        let linked = world.finish(&linking).await;
        assert_eq!(linked.fragment("access_token").is_empty(), is_served);
        let identities = world.database.query("SELECT provider FROM auth.identities ORDER BY provider").await;
        assert_eq!(identities.len(), if is_served { 1 } else { 2 }, "{identities:?}");
    }
}

/// E3: a thief of the password adds no way in of their own, and takes none away, without the second factor.
#[tokio::test]
async fn e3_identities_are_linked_and_unlinked_with_the_second_factor() {
    for is_served in [true, false] {
        let (world, _provider) = world(is_served).await;
        let (ann, app) = world.protected(ANN).await;
        world.finish(&world.begin("github").await).await;
        let thief = world.sign_in(ANN).await;
        let begun = world.get_as(&thief.access_token, TO_GITHUB).await;
        let identity = &world.database.query("SELECT id::text FROM auth.identities WHERE provider = 'email'").await[0];
        let unlink = format!("/user/identities/{identity}");
        let header = format!("Bearer {}", thief.access_token);
        if is_served {
            assert_eq!(begun.refusal(), (403, "insufficient_aal"));
            let gone = world.request(http::Method::DELETE, &unlink, &[("authorization", &header)], None).await;
            assert_eq!(gone.refusal(), (403, "insufficient_aal"));
            world.advance(chrono::TimeDelta::minutes(1));
            let lifted = world.step_up(&thief, &app).await;
            world.get_as(&lifted.access_token, TO_GITHUB).await.expect(302);
        } else {
            begun.expect(302);
            world.request(http::Method::DELETE, &unlink, &[("authorization", &header)], None).await.expect(200);
        }
        assert!(!ann.id.is_empty());
    }
}

/// B1: a provider is the same in any letters: nobody chooses another linking domain, or gets a second account, by them.
#[tokio::test]
async fn b1_a_provider_has_one_name() {
    let (world, _provider) = world(true).await;
    let first = world.finish(&world.begin("GitHub").await).await;
    let user = world.get_as(first.fragment("access_token"), "/user").await.expect(200);
    assert_eq!(user.str("app_metadata/provider"), "github");
    let again = world.finish(&world.begin("github").await).await;
    assert_eq!(world.get_as(again.fragment("access_token"), "/user").await.expect(200).str("id"), user.str("id"));
    assert_eq!(world.database.query("SELECT provider FROM auth.identities").await, ["github"]);
}

/// A4: what a client says of itself becomes a link on the page that asks for consent.
#[tokio::test]
async fn a4_a_client_s_own_addresses_are_no_scripts() {
    for (builder, is_served) in [(World::builder().as_served(), true), (World::builder(), false)] {
        let world = builder.as_provider().build().await;
        let app = world.oauth_app(json!({"client_uri": "https://app.example.com/"})).await;
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
