use gotrue_rs::testing::identity_provider::{Asked, IdentityProvider, Said, form};
use gotrue_rs::testing::{CHALLENGE, OAuthApp, Sent, VERIFIER, Wallet, query_of};
use serde_json::json;

use super::in_turns;

const SERVICE: &str = "http://auth.example.com";
const PKCE: &str = "&code_challenge_method=s256&code_challenge=";

#[tokio::test]
async fn a_social_sign_in_that_one_began_ends_at_the_other() {
    in_turns(async |turn| {
        let email = turn.newcomer();
        turn.github.knows_on_github(turn.number, &email, true);
        let sent = turn.second.finish(&turn.first.begin("github").await).await;
        let user = turn.first.get_as(sent.fragment("access_token"), "/user").await.expect(200);
        assert_eq!((user.str("email"), user.str("app_metadata/provider")), (email.as_str(), "github"));

        let state = turn.first.begin(&format!("github{PKCE}{CHALLENGE}")).await;
        let code = turn.second.finish(&state).await.query("code").to_owned();
        let exchange = json!({"auth_code": code, "code_verifier": VERIFIER});
        let again = turn.first.post("/token?grant_type=pkce", exchange).await.expect(200);
        assert_eq!((again.str("user/id"), again.str("provider_token")), (user.str("id"), "github-access"));
    })
    .await;
}

#[tokio::test]
async fn an_identity_linked_at_one_is_unlinked_at_the_other() {
    in_turns(async |turn| {
        let ann = turn.first.person(&turn.newcomer()).await;
        turn.github.knows_on_github(turn.number, &ann.email, true);
        turn.first.finish(&turn.first.begin("github").await).await;
        let user = turn.second.get_as(&ann.access_token, "/user").await.expect(200);
        let identities = user.json["identities"].as_array().expect("identities");
        let github = identities.iter().find(|it| it["provider"] == "github").expect("one of GitHub");
        let path = format!("/user/identities/{}", github["identity_id"].as_str().expect("an id"));
        let bearer = format!("Bearer {}", ann.access_token);
        let gone = turn.second.request(http::Method::DELETE, &path, &[("authorization", &bearer)], None).await;
        assert_eq!(gone.status, 200, "{}", gone.text);
        let user = turn.first.get_as(&ann.access_token, "/user").await.expect(200);
        assert_eq!(user.json["identities"].as_array().map(Vec::len), Some(1));
    })
    .await;
}

#[tokio::test]
async fn an_app_asks_one_for_consent_and_gets_its_tokens_of_the_other() {
    in_turns(async |turn| {
        let ann = turn.first.person(&turn.newcomer()).await;
        let app = turn.first.oauth_app(json!({})).await;
        let path = turn.first.asked_by(&app, &[("scope", "openid email")]).await;
        turn.second.get_as(&ann.access_token, &path).await.expect(200);
        let agreed = turn.second.consent(&ann, &path, "approve").await.expect(200);
        let code = query_of(agreed.str("redirect_url")).remove("code").expect("a code");
        let tokens = turn.first.exchange(&app, &code).await.expect(200);
        let next = turn.second.refresh_by(&app, tokens.str("refresh_token")).await.expect(200);
        let next = turn.first.refresh_by(&app, next.str("refresh_token")).await.expect(200);
        let told = turn.second.get_as(next.str("access_token"), "/oauth/userinfo").await.expect(200);
        assert_eq!(told.str("email"), ann.email);
        assert_eq!(turn.second.exchange(&app, &code).await.status, 400, "a code is good once");
    })
    .await;
}

#[tokio::test]
async fn an_app_that_registered_at_one_is_known_and_remembered_at_the_other() {
    in_turns(async |turn| {
        let ann = turn.first.person(&turn.newcomer()).await;
        let body = json!({"client_name": "Registered", "redirect_uris": [gotrue_rs::testing::CALLBACK]});
        let app = OAuthApp::of(&turn.first.post("/oauth/clients/register", body).await.expect(201));
        let code = turn.first.code_for(&app, &ann, "openid").await;
        turn.second.exchange(&app, &code).await.expect(200);
        let path = turn.second.asked_by(&app, &[("scope", "openid")]).await;
        let remembered = turn.second.get_as(&ann.access_token, &path).await.expect(200);
        assert!(query_of(remembered.str("redirect_url")).contains_key("code"), "{}", remembered.text);
        let grants = turn.second.get_as(&ann.access_token, "/user/oauth/grants").await.expect(200);
        assert_eq!(grants.json.as_array().map(Vec::len), Some(1), "{}", grants.text);
    })
    .await;
}

#[tokio::test]
async fn a_wallet_comes_back_to_its_account() {
    in_turns(async |turn| {
        let wallet = Wallet::ethereum(u8::try_from(turn.number).expect("a small number"));
        let mut accounts = Vec::new();
        for (world, nonce) in [(turn.first, "Nonce: 11111111"), (turn.second, "Nonce: 22222222")] {
            let said = wallet.message("shop.example.com", world.now(), &[nonce]);
            let session = world.post("/token?grant_type=web3", wallet.grant(&said)).await.expect(200);
            accounts.push(session.str("user/id").to_owned());
        }
        assert_eq!(accounts[0], accounts[1]);
    })
    .await;
}

#[tokio::test]
async fn a_company_that_is_added_at_one_signs_on_at_the_other() {
    in_turns(async |turn| {
        let (entity, domain) = (format!("https://idp{}.example.com", turn.number), format!("c{}.example", turn.number));
        let idp = IdentityProvider::new(&entity);
        let body = json!({"type": "saml", "domains": [domain], "metadata_xml": idp.metadata(&entity)});
        turn.first.post_as(&turn.first.service_token(), "/admin/sso/providers", body).await.expect(201);
        for (begins, ends) in [(turn.second, turn.first), (turn.first, turn.second)] {
            let sent = begins.post("/sso", json!({"domain": domain, "skip_http_redirect": true})).await.expect(200);
            let asked = Asked::of(sent.str("url"));
            let (id, answers) = (format!("a{}", asked.id), Some(asked.id.clone()));
            let said = Said { id, in_response_to: answers, ..Said::to(SERVICE, &entity, ends.now()) };
            let response = idp.respond(&said);
            let came = Sent::by(&ends.send(form(&response, Some(&asked.relay_state))).await.expect(302));
            let user = begins.get_as(came.fragment("access_token"), "/user").await.expect(200);
            assert!(user.str("app_metadata/provider").starts_with("sso:"), "{}", user.text);
            let again = Sent::by(&begins.send(form(&response, Some(&asked.relay_state))).await.expect(303));
            assert_eq!(again.query("error_code"), "saml_relay_state_not_found");
        }
    })
    .await;
}

#[tokio::test]
async fn a_provider_that_is_stored_at_one_is_asked_by_the_other() {
    in_turns(async |turn| {
        let name = format!("custom:acme{}", turn.number);
        let body = json!({
            "provider_type": "oauth2", "identifier": name, "name": "Acme", "client_id": "web",
            "client_secret": "s3cret-of-acme", "scopes": ["profile"], "authorization_url": "https://203.0.113.10/authorize",
            "token_url": "https://203.0.113.10/token", "userinfo_url": "https://203.0.113.10/me"
        });
        turn.first.post_as(&turn.first.service_token(), "/admin/custom-providers", body).await.expect(201);
        let sent = Sent::by(&turn.second.get(&format!("/authorize?provider={name}")).await.expect(302));
        assert_eq!((sent.base.as_str(), sent.query("client_id")), ("https://203.0.113.10/authorize", "web"));
    })
    .await;
}
