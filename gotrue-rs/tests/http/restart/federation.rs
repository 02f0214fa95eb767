use gotrue_rs::testing::identity_provider::{AuthnRequest, IdentityProvider, SamlAssertion, acs_form_request};
use gotrue_rs::testing::{CHALLENGE, OAuthClient, RedirectTarget, VERIFIER, parse_query};
use provider_simulator::Wallet;
use serde_json::json;

use super::in_turns;

const SERVICE: &str = "http://auth.example.com";
const PKCE: &str = "&code_challenge_method=s256&code_challenge=";

#[tokio::test]
async fn social_sign_in_completes_after_restart() {
    in_turns(async |turn| {
        let email = turn.new_address();
        turn.github.add_github_user(turn.number, &email, true);
        let sent = turn.second.finish_provider_sign_in(&turn.first.start_provider_sign_in("github").await).await;
        let user = turn.first.get_as(sent.fragment("access_token"), "/user").await.expect(200);
        assert_eq!((user.str("email"), user.str("app_metadata/provider")), (email.as_str(), "github"));

        let state = turn.first.start_provider_sign_in(&format!("github{PKCE}{CHALLENGE}")).await;
        let code = turn.second.finish_provider_sign_in(&state).await.query("code").to_owned();
        let exchange = json!({"auth_code": code, "code_verifier": VERIFIER});
        let again = turn.first.post("/token?grant_type=pkce", exchange).await.expect(200);
        assert_eq!((again.str("user/id"), again.str("provider_token")), (user.str("id"), "github-access"));
    })
    .await;
}

#[tokio::test]
async fn linked_identity_is_unlinked_after_restart() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        turn.github.add_github_user(turn.number, &ann.email, true);
        turn.first.finish_provider_sign_in(&turn.first.start_provider_sign_in("github").await).await;
        let user = turn.second.get_as(&ann.access_token, "/user").await.expect(200);
        let identities = user.json["identities"].as_array().expect("identities");
        let github = identities.iter().find(|identity| identity["provider"] == "github").expect("one of GitHub");
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
async fn oauth_code_is_exchanged_after_restart() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        let app = turn.first.create_oauth_client(json!({})).await;
        let path = turn.first.request_authorization(&app, &[("scope", "openid email")]).await;
        turn.second.get_as(&ann.access_token, &path).await.expect(200);
        let agreed = turn.second.consent(&ann, &path, "approve").await.expect(200);
        let code = parse_query(agreed.str("redirect_url")).remove("code").expect("a code");
        let tokens = turn.first.exchange_code(&app, &code).await.expect(200);
        let next = turn.second.refresh_client_session(&app, tokens.str("refresh_token")).await.expect(200);
        let next = turn.first.refresh_client_session(&app, next.str("refresh_token")).await.expect(200);
        let reported = turn.second.get_as(next.str("access_token"), "/oauth/userinfo").await.expect(200);
        assert_eq!(reported.str("email"), ann.email);
        assert_eq!(turn.second.exchange_code(&app, &code).await.status, 400, "a code is good once");
    })
    .await;
}

#[tokio::test]
async fn registered_client_and_consent_exist_after_restart() {
    in_turns(async |turn| {
        let ann = turn.first.create_user(&turn.new_address()).await;
        let body = json!({"client_name": "Registered", "redirect_uris": [gotrue_rs::testing::CALLBACK]});
        let app = OAuthClient::from_registration(&turn.first.post("/oauth/clients/register", body).await.expect(201));
        let code = turn.first.obtain_code(&app, &ann, "openid").await;
        turn.second.exchange_code(&app, &code).await.expect(200);
        let path = turn.second.request_authorization(&app, &[("scope", "openid")]).await;
        let remembered = turn.second.get_as(&ann.access_token, &path).await.expect(200);
        assert!(parse_query(remembered.str("redirect_url")).contains_key("code"), "{}", remembered.text);
        let grants = turn.second.get_as(&ann.access_token, "/user/oauth/grants").await.expect(200);
        assert_eq!(grants.json.as_array().map(Vec::len), Some(1), "{}", grants.text);
    })
    .await;
}

#[tokio::test]
async fn wallet_signs_in_after_restart() {
    in_turns(async |turn| {
        let wallet = Wallet::ethereum(u8::try_from(turn.number).expect("a small number"));
        let mut accounts = Vec::new();
        for (world, nonce) in [(turn.first, "Nonce: 11111111"), (turn.second, "Nonce: 22222222")] {
            let reported = wallet.message("shop.example.com", world.now(), &[nonce]);
            let session = world.post("/token?grant_type=web3", wallet.grant(&reported)).await.expect(200);
            accounts.push(session.str("user/id").to_owned());
        }
        assert_eq!(accounts[0], accounts[1]);
    })
    .await;
}

#[tokio::test]
async fn sso_provider_signs_in_after_restart() {
    in_turns(async |turn| {
        let (entity, domain) = (format!("https://idp{}.example.com", turn.number), format!("c{}.example", turn.number));
        let idp = IdentityProvider::new(&entity);
        let body = json!({"type": "saml", "domains": [domain], "metadata_xml": idp.metadata(&entity)});
        turn.first.post_as(&turn.first.service_token(), "/admin/sso/providers", body).await.expect(201);
        for (begins, ends) in [(turn.second, turn.first), (turn.first, turn.second)] {
            let sent = begins.post("/sso", json!({"domain": domain, "skip_http_redirect": true})).await.expect(200);
            let request = AuthnRequest::from_redirect(sent.str("url"));
            let (id, answers) = (format!("a{}", request.id), Some(request.id.clone()));
            let reported = SamlAssertion {
                id,
                in_response_to: answers,
                ..SamlAssertion::for_service(SERVICE, &entity, ends.now())
            };
            let response = idp.signed_response(&reported);
            let came = RedirectTarget::from_response(
                &ends.send(acs_form_request(&response, Some(&request.relay_state))).await.expect(302),
            );
            let user = begins.get_as(came.fragment("access_token"), "/user").await.expect(200);
            assert!(user.str("app_metadata/provider").starts_with("sso:"), "{}", user.text);
            let again = RedirectTarget::from_response(
                &begins.send(acs_form_request(&response, Some(&request.relay_state))).await.expect(303),
            );
            assert_eq!(again.query("error_code"), "saml_relay_state_not_found");
        }
    })
    .await;
}

#[tokio::test]
async fn custom_provider_works_after_restart() {
    in_turns(async |turn| {
        let name = format!("custom:acme{}", turn.number);
        let body = json!({
            "provider_type": "oauth2", "identifier": name, "name": "Acme", "client_id": "web",
            "client_secret": "s3cret-of-acme", "scopes": ["profile"], "authorization_url": "https://203.0.113.10/authorize",
            "token_url": "https://203.0.113.10/token", "userinfo_url": "https://203.0.113.10/me"
        });
        turn.first.post_as(&turn.first.service_token(), "/admin/custom-providers", body).await.expect(201);
        let sent = RedirectTarget::from_response(&turn.second.get(&format!("/authorize?provider={name}")).await.expect(302));
        assert_eq!((sent.base.as_str(), sent.query("client_id")), ("https://203.0.113.10/authorize", "web"));
    })
    .await;
}
