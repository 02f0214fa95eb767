//! The server as a provider: clients, consent, tokens.

use futures::FutureExt;
use gotrue_rs::testing::{CALLBACK, OAuthApp, Person, VERIFIER, encoded};
use serde_json::json;

use super::super::asked::Asked;
use super::super::place::Place;
use super::super::run::Case;
use super::case;

const CLIENTS: &str = "/admin/oauth/clients";

pub fn cases() -> Vec<Case> {
    [consenting(), tokens(), clients()].into_iter().flatten().collect()
}

async fn both(place: &Place, n: usize) -> (OAuthApp, Person) {
    (place.world.oauth_app(json!({})).await, place.person(n).await)
}

fn consenting() -> Vec<Case> {
    const CONSENT: &str = "POST /oauth/authorizations/{authorization_id}/consent";
    vec![
        case("GET /oauth/authorize", "", |place, _| {
            async move { Asked::get(place.world.oauth_app(json!({})).await.request(&[])) }.boxed()
        }),
        case("GET /oauth/authorizations/{authorization_id}", "for the first time", |place, n| {
            async move {
                let (app, ann) = both(place, n).await;
                Asked::get(place.world.asked_by(&app, &[]).await).by(&ann.access_token)
            }
            .boxed()
        }),
        case("GET /oauth/authorizations/{authorization_id}", "allowed before", |place, n| {
            async move {
                let (app, ann) = both(place, n).await;
                place.world.code_for(&app, &ann, "email").await;
                Asked::get(place.world.asked_by(&app, &[("scope", "email")]).await).by(&ann.access_token)
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

async fn consent(place: &Place, n: usize, action: &str) -> Asked {
    let (app, ann) = both(place, n).await;
    let path = place.world.asked_by(&app, &[]).await;
    place.world.get_as(&ann.access_token, &path).await.expect(200);
    Asked::post(format!("{path}/consent"), &json!({"action": action})).by(&ann.access_token)
}

async fn granted(place: &Place, n: usize) -> (OAuthApp, Person, String, String) {
    let (app, ann) = both(place, n).await;
    let code = place.world.code_for(&app, &ann, "email").await;
    let tokens = place.world.exchange(&app, &code).await.expect(200);
    (app, ann, tokens.str("access_token").to_owned(), tokens.str("refresh_token").to_owned())
}

fn tokens() -> Vec<Case> {
    vec![
        case("POST /oauth/token", "authorization_code", |place, n| {
            async move {
                let (app, ann) = both(place, n).await;
                let code = place.world.code_for(&app, &ann, "email").await;
                let members = [("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", VERIFIER)];
                Asked::form("/oauth/token", encoded(&members)).header("authorization", &app.basic())
            }
            .boxed()
        })
        .again(&["400 invalid_grant"]),
        case("POST /oauth/token", "refresh_token", |place, n| {
            async move {
                let (app, _, _, refresh) = granted(place, n).await;
                let members = [("grant_type", "refresh_token"), ("refresh_token", &*refresh)];
                Asked::form("/oauth/token", encoded(&members)).header("authorization", &app.basic())
            }
            .boxed()
        }),
        case("GET /oauth/userinfo", "", |place, n| {
            async move { Asked::get("/oauth/userinfo").by(&granted(place, n).await.2) }.boxed()
        }),
        case("GET /user/oauth/grants", "", |place, n| {
            async move { Asked::get("/user/oauth/grants").by(&granted(place, n).await.1.access_token) }.boxed()
        }),
        case("DELETE /user/oauth/grants", "", |place, n| {
            async move {
                let (app, ann, _, _) = granted(place, n).await;
                Asked::delete(format!("/user/oauth/grants?client_id={}", app.id)).by(&ann.access_token)
            }
            .boxed()
        })
        .again(&["404 oauth_consent_not_found"]),
    ]
}

async fn client(place: &Place) -> String {
    format!("{CLIENTS}/{}", place.world.oauth_app(json!({})).await.id)
}

fn clients() -> Vec<Case> {
    vec![
        case("POST /oauth/clients/register", "", |_, _| {
            async move { Asked::post("/oauth/clients/register", &json!({"redirect_uris": [CALLBACK]})) }.boxed()
        }),
        case("GET /admin/oauth/clients", "", |place, _| {
            async move { Asked::get(CLIENTS).by(&place.world.service_token()) }.boxed()
        }),
        case("POST /admin/oauth/clients", "", |place, _| {
            async move { Asked::post(CLIENTS, &json!({"redirect_uris": [CALLBACK]})).by(&place.world.service_token()) }
                .boxed()
        }),
        case("GET /admin/oauth/clients/{client_id}", "", |place, _| {
            async move { Asked::get(client(place).await).by(&place.world.service_token()) }.boxed()
        }),
        case("PUT /admin/oauth/clients/{client_id}", "", |place, _| {
            async move {
                Asked::put(client(place).await, &json!({"client_name": "Other"})).by(&place.world.service_token())
            }
            .boxed()
        }),
        case("DELETE /admin/oauth/clients/{client_id}", "", |place, n| {
            async move {
                let (app, ..) = granted(place, n).await;
                Asked::delete(format!("{CLIENTS}/{}", app.id)).by(&place.world.service_token())
            }
            .boxed()
        })
        .again(&["404 oauth_client_not_found"]),
        case("POST /admin/oauth/clients/{client_id}/regenerate_secret", "", |place, _| {
            async move {
                let path = format!("{}/regenerate_secret", client(place).await);
                Asked::post(path, &json!({})).by(&place.world.service_token())
            }
            .boxed()
        }),
    ]
}
