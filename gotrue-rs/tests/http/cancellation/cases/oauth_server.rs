//! The server as a provider: clients, consent, tokens.

use futures::FutureExt;
use gotrue_rs::testing::{CALLBACK, OAuthClient, TestUser, VERIFIER, encode_form};
use serde_json::json;

use super::super::fixture::Fixture;
use super::super::request::TestRequest;
use super::super::run::Case;
use super::case;

const CLIENTS: &str = "/admin/oauth/clients";

pub(super) fn cases() -> Vec<Case> {
    [consenting(), tokens(), clients()].into_iter().flatten().collect()
}

async fn both(place: &Fixture, n: usize) -> (OAuthClient, TestUser) {
    (place.world.create_oauth_client(json!({})).await, place.create_user(n).await)
}

fn consenting() -> Vec<Case> {
    const CONSENT: &str = "POST /oauth/authorizations/{authorization_id}/consent";
    vec![
        case("GET /oauth/authorize", "", |place, _| {
            async move { TestRequest::get(place.world.create_oauth_client(json!({})).await.request(&[])) }.boxed()
        }),
        case("GET /oauth/authorizations/{authorization_id}", "for the first time", |place, n| {
            async move {
                let (app, ann) = both(place, n).await;
                TestRequest::get(place.world.request_authorization(&app, &[]).await).with_token(&ann.access_token)
            }
            .boxed()
        }),
        case("GET /oauth/authorizations/{authorization_id}", "allowed before", |place, n| {
            async move {
                let (app, ann) = both(place, n).await;
                place.world.obtain_code(&app, &ann, "email").await;
                TestRequest::get(place.world.request_authorization(&app, &[("scope", "email")]).await)
                    .with_token(&ann.access_token)
            }
            .boxed()
        })
        .again(&["400 validation_failed", "404 oauth_authorization_not_found"]),
        case(CONSENT, "approve", |place, n| consent(place, n, "approve").boxed())
            .again(&["400 validation_failed", "404 oauth_authorization_not_found"]),
        case(CONSENT, "deny", |place, n| consent(place, n, "deny").boxed())
            .again(&["400 validation_failed", "404 oauth_authorization_not_found"]),
    ]
}

async fn consent(place: &Fixture, n: usize, action: &str) -> TestRequest {
    let (app, ann) = both(place, n).await;
    let path = place.world.request_authorization(&app, &[]).await;
    place.world.get_as(&ann.access_token, &path).await.expect(200);
    TestRequest::post(format!("{path}/consent"), &json!({"action": action})).with_token(&ann.access_token)
}

async fn granted(place: &Fixture, n: usize) -> (OAuthClient, TestUser, String, String) {
    let (app, ann) = both(place, n).await;
    let code = place.world.obtain_code(&app, &ann, "email").await;
    let tokens = place.world.exchange_code(&app, &code).await.expect(200);
    (app, ann, tokens.str("access_token").to_owned(), tokens.str("refresh_token").to_owned())
}

fn tokens() -> Vec<Case> {
    vec![
        case("POST /oauth/token", "authorization_code", |place, n| {
            async move {
                let (app, ann) = both(place, n).await;
                let code = place.world.obtain_code(&app, &ann, "email").await;
                let members = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", VERIFIER)];
                TestRequest::form("/oauth/token", encode_form(&members)).header("authorization", &app.basic())
            }
            .boxed()
        })
        .again(&["400 invalid_grant"]),
        case("POST /oauth/token", "refresh_token", |place, n| {
            async move {
                let (app, _, _, refresh) = granted(place, n).await;
                let members = [("grant_type", "refresh_token"), ("refresh_token", &*refresh)];
                TestRequest::form("/oauth/token", encode_form(&members)).header("authorization", &app.basic())
            }
            .boxed()
        }),
        case("GET /oauth/userinfo", "", |place, n| {
            async move { TestRequest::get("/oauth/userinfo").with_token(&granted(place, n).await.2) }.boxed()
        }),
        case("GET /user/oauth/grants", "", |place, n| {
            async move { TestRequest::get("/user/oauth/grants").with_token(&granted(place, n).await.1.access_token) }
                .boxed()
        }),
        case("DELETE /user/oauth/grants", "", |place, n| {
            async move {
                let (app, ann, _, _) = granted(place, n).await;
                TestRequest::delete(format!("/user/oauth/grants?client_id={}", app.id)).with_token(&ann.access_token)
            }
            .boxed()
        })
        .again(&["404 oauth_consent_not_found"]),
    ]
}

async fn client(place: &Fixture) -> String {
    format!("{CLIENTS}/{}", place.world.create_oauth_client(json!({})).await.id)
}

fn clients() -> Vec<Case> {
    vec![
        case("POST /oauth/clients/register", "", |_, _| {
            async move { TestRequest::post("/oauth/clients/register", &json!({"redirect_uris": [CALLBACK]})) }.boxed()
        }),
        case("GET /admin/oauth/clients", "", |place, _| {
            async move { TestRequest::get(CLIENTS).with_token(&place.world.service_token()) }.boxed()
        }),
        case("POST /admin/oauth/clients", "", |place, _| {
            async move {
                TestRequest::post(CLIENTS, &json!({"redirect_uris": [CALLBACK]}))
                    .with_token(&place.world.service_token())
            }
            .boxed()
        }),
        case("GET /admin/oauth/clients/{client_id}", "", |place, _| {
            async move { TestRequest::get(client(place).await).with_token(&place.world.service_token()) }.boxed()
        }),
        case("PUT /admin/oauth/clients/{client_id}", "", |place, _| {
            async move {
                TestRequest::put(client(place).await, &json!({"client_name": "Other"}))
                    .with_token(&place.world.service_token())
            }
            .boxed()
        }),
        case("DELETE /admin/oauth/clients/{client_id}", "", |place, n| {
            async move {
                let (app, ..) = granted(place, n).await;
                TestRequest::delete(format!("{CLIENTS}/{}", app.id)).with_token(&place.world.service_token())
            }
            .boxed()
        })
        .again(&["404 oauth_client_not_found"]),
        case("POST /admin/oauth/clients/{client_id}/regenerate_secret", "", |place, _| {
            async move {
                let path = format!("{}/regenerate_secret", client(place).await);
                TestRequest::post(path, &json!({})).with_token(&place.world.service_token())
            }
            .boxed()
        }),
    ]
}
