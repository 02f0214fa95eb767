//! Sign-in through others: providers, companies, and how an administrator keeps them.

use futures::FutureExt;
use gotrue_rs::testing::Sent;
use gotrue_rs::testing::encoded;
use gotrue_rs::testing::identity_provider::{Asked as SamlRequest, Said};
use serde_json::{Value, json};

use super::super::asked::Asked;
use super::super::place::{IDP, Place, email, served};
use super::super::run::Case;
use super::case;
use crate::sso::metadata;

/// A request is good for one response, also for a wrong one: it is used up before the response is looked at. Who is
/// interrupted starts again, and the identity provider knows them.
const REQUEST_USED: &[&[&str]] = &[&["1- auth.saml_relay_states"]];
const SSO: &str = "/admin/sso/providers";
const CUSTOM: &str = "/admin/custom-providers";

pub fn cases() -> Vec<Case> {
    [leaving(), coming_back(), companies(), companies_kept(), providers_kept()].into_iter().flatten().collect()
}

fn leaving() -> Vec<Case> {
    vec![
        case("GET /authorize", "", |_, _| async move { Asked::get("/authorize?provider=github") }.boxed()),
        case("GET /authorize", "OAuth 1.0a", |place, _| {
            async move {
                place.provider.respond("/twitter/oauth/request_token", |_| {
                    axum::response::Response::new("oauth_token=rt&oauth_token_secret=rs".into())
                });
                Asked::get("/authorize?provider=twitter")
            }
            .boxed()
        }),
        case("GET /authorize", "of a stored provider", |place, n| {
            async move {
                let path = custom(place, n).await;
                let (_, name) = path.rsplit_once('/').expect("a path");
                Asked::get(format!("/authorize?provider={name}"))
            }
            .boxed()
        })
        .failures(&["400 validation_failed"]),
    ]
}

/// Somebody whom GitHub knows comes back to what that query began.
async fn back(place: &Place, n: usize, query: &str) -> String {
    place.provider.knows_on_github(i64::try_from(n).expect("a small number"), &email(n), true);
    let state = place.world.begin(query).await;
    encoded(&[("state", &state), ("code", "c0de-from-upstream")])
}

fn coming_back() -> Vec<Case> {
    const AGAIN: [&str; 5] = [
        "303 bad_oauth_state",
        "303 flow_state_not_found",
        "302 bad_oauth_state",
        "303 bad_oauth_callback",
        "303 flow_state_already_used",
    ];
    vec![
        case("GET /callback", "somebody new", |place, n| {
            async move { Asked::get(format!("/callback?{}", back(place, n, "github").await)) }.boxed()
        }),
        case("GET /callback", "somebody known", |place, n| {
            async move {
                place.person(n).await;
                Asked::get(format!("/callback?{}", back(place, n, "github").await))
            }
            .boxed()
        }),
        case("GET /callback", "in a flow", |place, n| {
            async move {
                let query = format!("github&code_challenge={}&code_challenge_method=plain", "c".repeat(43));
                Asked::get(format!("/callback?{}", back(place, n, &query).await))
            }
            .boxed()
        }),
        case("GET /callback", "to link", |place, n| {
            async move {
                let ann = place.person(n).await;
                place.provider.knows_on_github(i64::try_from(n).expect("small"), &format!("ann{n}@work.example"), true);
                let path = "/user/identities/authorize?provider=github";
                let to = Sent::by(&place.world.get_as(&ann.access_token, path).await.expect(302));
                let query = encoded(&[("state", to.query("state")), ("code", "c0de")]);
                Asked::get(format!("/callback?{query}"))
            }
            .boxed()
        }),
        case("POST /callback", "somebody new", |place, n| {
            async move { Asked::form("/callback", back(place, n, "github").await) }.boxed()
        }),
    ]
    .into_iter()
    .map(|it| it.again(&AGAIN))
    .collect()
}

/// A company of that number with the provider whose key tests have; its path.
async fn company(place: &Place, n: usize, metadata: String) -> String {
    let domain = format!("a{n}.example.com");
    let body = json!({"type": "saml", "metadata_xml": metadata, "domains": [domain]});
    let made = place.world.post_as(&place.world.service_token(), SSO, body).await.expect(201);
    format!("{SSO}/{}", made.str("id"))
}

/// A company of its own.
async fn other(place: &Place, n: usize) -> String {
    let xml = metadata(&format!("https://idp{n}.example.com"), "https://idp.example.com/sso");
    company(place, n, xml).await
}

fn companies() -> Vec<Case> {
    vec![
        case("POST /sso", "", |place, n| {
            async move {
                other(place, n).await;
                let body = json!({"domain": format!("a{n}.example.com"), "skip_http_redirect": true});
                Asked::post("/sso", &body)
            }
            .boxed()
        }),
        case("POST /sso/saml/acs", "", |place, n| assertion(place, n).boxed())
            .again(&["303 saml_relay_state_not_found"])
            .steps(REQUEST_USED),
        case("POST /sso/saml/acs", "as served", |place, n| assertion(place, n).boxed())
            .differing(served)
            .again(&["303 saml_relay_state_not_found", "303 saml_assertion_replayed"])
            .steps(REQUEST_USED),
    ]
}

/// What the identity provider answers to a request, as a browser brings it.
async fn assertion(place: &Place, n: usize) -> Asked {
    if n == 1 {
        company(place, 1, place.idp.metadata("https://idp.example.com/sso")).await;
    }
    let body = json!({"domain": "a1.example.com", "skip_http_redirect": true});
    let asked = SamlRequest::of(place.world.post("/sso", body).await.expect(200).str("url"));
    let mut said = Said::to("http://auth.example.com", IDP, place.world.now());
    said.id = format!("a{n}");
    said.name = format!("ann{n}-at-work");
    said.attributes = vec![("mail".to_owned(), vec![email(n)])];
    said.in_response_to = Some(asked.id.clone());
    let response = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, place.idp.respond(&said));
    let form = encoded(&[("SAMLResponse", &response), ("RelayState", &asked.relay_state)]);
    Asked::form("/sso/saml/acs", form)
}

fn companies_kept() -> Vec<Case> {
    vec![
        case("GET /admin/sso/providers", "", |place, n| {
            async move {
                other(place, n).await;
                Asked::get(SSO).by(&place.world.service_token())
            }
            .boxed()
        }),
        case("POST /admin/sso/providers", "", |place, n| {
            async move {
                let xml = metadata(&format!("https://idp{n}.example.com"), "https://idp.example.com/sso");
                let domains = [format!("a{n}.example.com"), format!("b{n}.example.com")];
                let body = json!({"type": "saml", "metadata_xml": xml, "domains": domains});
                Asked::post(SSO, &body).by(&place.world.service_token())
            }
            .boxed()
        })
        .again(&["422 saml_idp_already_exists"]),
        case("GET /admin/sso/providers/{idp_id}", "", |place, n| {
            async move { Asked::get(other(place, n).await).by(&place.world.service_token()) }.boxed()
        }),
        case("PUT /admin/sso/providers/{idp_id}", "", |place, n| {
            async move {
                let path = other(place, n).await;
                let domains = [format!("b{n}.example.com"), format!("c{n}.example.com")];
                let keys = json!({"keys": {"name": {"name": "cn"}}});
                let body = json!({"domains": domains, "resource_id": format!("acme{n}"), "attribute_mapping": keys});
                Asked::put(path, &body).by(&place.world.service_token())
            }
            .boxed()
        })
        .failures(&["422 conflict"]),
        case("DELETE /admin/sso/providers/{idp_id}", "", |place, n| {
            async move { Asked::delete(other(place, n).await).by(&place.world.service_token()) }.boxed()
        })
        .again(&["404 sso_provider_not_found"]),
    ]
}

fn acme(n: usize) -> Value {
    json!({
        "provider_type": "oauth2", "identifier": format!("custom:acme{n}"), "name": "Acme", "client_id": "web",
        "client_secret": "s3cret-of-acme", "scopes": ["profile"], "authorization_url": "https://203.0.113.10/authorize",
        "token_url": "https://203.0.113.10/token", "userinfo_url": "https://203.0.113.10/me"
    })
}

/// A stored provider of that number; its path.
async fn custom(place: &Place, n: usize) -> String {
    place.world.post_as(&place.world.service_token(), CUSTOM, acme(n)).await.expect(201);
    format!("{CUSTOM}/custom:acme{n}")
}

fn providers_kept() -> Vec<Case> {
    vec![
        case("GET /admin/custom-providers", "", |place, n| {
            async move {
                custom(place, n).await;
                Asked::get(CUSTOM).by(&place.world.service_token())
            }
            .boxed()
        }),
        case("POST /admin/custom-providers", "", |place, n| {
            async move { Asked::post(CUSTOM, &acme(n)).by(&place.world.service_token()) }.boxed()
        })
        .again(&["400 conflict", "409 conflict", "422 conflict"]),
        case("GET /admin/custom-providers/{identifier}", "", |place, n| {
            async move { Asked::get(custom(place, n).await).by(&place.world.service_token()) }.boxed()
        }),
        case("PUT /admin/custom-providers/{identifier}", "", |place, n| {
            async move {
                let path = custom(place, n).await;
                Asked::put(path, &json!({"name": "Acme Inc."})).by(&place.world.service_token())
            }
            .boxed()
        }),
        case("DELETE /admin/custom-providers/{identifier}", "", |place, n| {
            async move { Asked::delete(custom(place, n).await).by(&place.world.service_token()) }.boxed()
        })
        .again(&["404 custom_provider_not_found"]),
    ]
}
