//! Sign-in through others: providers, companies, and how an administrator keeps them.

use futures::FutureExt;
use gotrue_rs::testing::RedirectTarget;
use gotrue_rs::testing::encode_form;
use gotrue_rs::testing::identity_provider::{AuthnRequest as SamlRequest, SamlAssertion};
use serde_json::{Value, json};

use super::super::fixture::{Fixture, IDP, email, hardened_policy};
use super::super::request::TestRequest;
use super::super::run::Case;
use super::case;
use crate::sso::metadata;

/// A request accepts one response, even an invalid one, and is consumed before validation.
///
/// After an interruption the user starts again; the identity provider still has a session.
const REQUEST_USED: &[&[&str]] = &[&["1- auth.saml_relay_states"]];
const SSO: &str = "/admin/sso/providers";
const CUSTOM: &str = "/admin/custom-providers";

pub(super) fn cases() -> Vec<Case> {
    [leaving(), coming_back(), companies(), companies_kept(), providers_kept()].into_iter().flatten().collect()
}

fn leaving() -> Vec<Case> {
    vec![
        case("GET /authorize", "", |_, _| async move { TestRequest::get("/authorize?provider=github") }.boxed()),
        case("GET /authorize", "OAuth 1.0a", |place, _| {
            async move {
                place.provider.respond("/twitter/oauth/request_token", |_| {
                    axum::response::Response::new("oauth_token=rt&oauth_token_secret=rs".into())
                });
                TestRequest::get("/authorize?provider=twitter")
            }
            .boxed()
        }),
        case("GET /authorize", "of a stored provider", |place, n| {
            async move {
                let path = custom(place, n).await;
                let (_, name) = path.rsplit_once('/').expect("a path");
                TestRequest::get(format!("/authorize?provider={name}"))
            }
            .boxed()
        })
        .failures(&["400 validation_failed"]),
    ]
}

/// A GitHub user returns to the flow that the query started.
async fn back(place: &Fixture, n: usize, query: &str) -> String {
    place.provider.add_github_user(i64::try_from(n).expect("a small number"), &email(n), true);
    let state = place.world.start_provider_sign_in(query).await;
    encode_form(&[("state", &state), ("code", "c0de-from-upstream")])
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
        case("GET /callback", "a new user", |place, n| {
            async move { TestRequest::get(format!("/callback?{}", back(place, n, "github").await)) }.boxed()
        }),
        case("GET /callback", "a known user", |place, n| {
            async move {
                place.create_user(n).await;
                TestRequest::get(format!("/callback?{}", back(place, n, "github").await))
            }
            .boxed()
        }),
        case("GET /callback", "in a flow", |place, n| {
            async move {
                let query = format!("github&code_challenge={}&code_challenge_method=plain", "c".repeat(43));
                TestRequest::get(format!("/callback?{}", back(place, n, &query).await))
            }
            .boxed()
        }),
        case("GET /callback", "to link", |place, n| {
            async move {
                let ann = place.create_user(n).await;
                place.provider.add_github_user(i64::try_from(n).expect("small"), &format!("ann{n}@work.example"), true);
                let path = "/user/identities/authorize?provider=github";
                let to = RedirectTarget::from_response(&place.world.get_as(&ann.access_token, path).await.expect(302));
                let query = encode_form(&[("state", to.query("state")), ("code", "c0de")]);
                TestRequest::get(format!("/callback?{query}"))
            }
            .boxed()
        }),
        case("POST /callback", "a new user", |place, n| {
            async move { TestRequest::form("/callback", back(place, n, "github").await) }.boxed()
        }),
    ]
    .into_iter()
    .map(|case| case.again(&AGAIN))
    .collect()
}

/// A company of that number with the provider whose key tests have; its path.
async fn company(place: &Fixture, n: usize, metadata: String) -> String {
    let domain = format!("a{n}.example.com");
    let body = json!({"type": "saml", "metadata_xml": metadata, "domains": [domain]});
    let made = place.world.post_as(&place.world.service_token(), SSO, body).await.expect(201);
    format!("{SSO}/{}", made.str("id"))
}

/// A company of its own.
async fn other(place: &Fixture, n: usize) -> String {
    let xml = metadata(&format!("https://idp{n}.example.com"), "https://idp.example.com/sso");
    company(place, n, xml).await
}

fn companies() -> Vec<Case> {
    vec![
        case("POST /sso", "", |place, n| {
            async move {
                other(place, n).await;
                let body = json!({"domain": format!("a{n}.example.com"), "skip_http_redirect": true});
                TestRequest::post("/sso", &body)
            }
            .boxed()
        }),
        case("POST /sso/saml/acs", "", |place, n| assertion(place, n).boxed())
            .again(&["303 saml_relay_state_not_found"])
            .steps(REQUEST_USED),
        case("POST /sso/saml/acs", "as served", |place, n| assertion(place, n).boxed())
            .differing(hardened_policy)
            .again(&["303 saml_relay_state_not_found", "303 saml_assertion_replayed"])
            .steps(REQUEST_USED),
    ]
}

/// What the identity provider answers to a request, as a browser brings it.
async fn assertion(place: &Fixture, n: usize) -> TestRequest {
    if n == 1 {
        company(place, 1, place.idp.metadata("https://idp.example.com/sso")).await;
    }
    let body = json!({"domain": "a1.example.com", "skip_http_redirect": true});
    let request = SamlRequest::from_redirect(place.world.post("/sso", body).await.expect(200).str("url"));
    let mut reported = SamlAssertion::for_service("http://auth.example.com", IDP, place.world.now());
    reported.id = format!("a{n}");
    reported.name = format!("ann{n}-at-work");
    reported.attributes = vec![("mail".to_owned(), vec![email(n)])];
    reported.in_response_to = Some(request.id.clone());
    let response =
        base64::Engine::encode(&base64::engine::general_purpose::STANDARD, place.idp.signed_response(&reported));
    let form = encode_form(&[("SAMLResponse", &response), ("RelayState", &request.relay_state)]);
    TestRequest::form("/sso/saml/acs", form)
}

fn companies_kept() -> Vec<Case> {
    vec![
        case("GET /admin/sso/providers", "", |place, n| {
            async move {
                other(place, n).await;
                TestRequest::get(SSO).with_token(&place.world.service_token())
            }
            .boxed()
        }),
        case("POST /admin/sso/providers", "", |place, n| {
            async move {
                let xml = metadata(&format!("https://idp{n}.example.com"), "https://idp.example.com/sso");
                let domains = [format!("a{n}.example.com"), format!("b{n}.example.com")];
                let body = json!({"type": "saml", "metadata_xml": xml, "domains": domains});
                TestRequest::post(SSO, &body).with_token(&place.world.service_token())
            }
            .boxed()
        })
        .again(&["422 saml_idp_already_exists"]),
        case("GET /admin/sso/providers/{idp_id}", "", |place, n| {
            async move { TestRequest::get(other(place, n).await).with_token(&place.world.service_token()) }.boxed()
        }),
        case("PUT /admin/sso/providers/{idp_id}", "", |place, n| {
            async move {
                let path = other(place, n).await;
                let domains = [format!("b{n}.example.com"), format!("c{n}.example.com")];
                let keys = json!({"keys": {"name": {"name": "cn"}}});
                let body = json!({"domains": domains, "resource_id": format!("acme{n}"), "attribute_mapping": keys});
                TestRequest::put(path, &body).with_token(&place.world.service_token())
            }
            .boxed()
        })
        .failures(&["422 conflict"]),
        case("DELETE /admin/sso/providers/{idp_id}", "", |place, n| {
            async move { TestRequest::delete(other(place, n).await).with_token(&place.world.service_token()) }.boxed()
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
async fn custom(place: &Fixture, n: usize) -> String {
    place.world.post_as(&place.world.service_token(), CUSTOM, acme(n)).await.expect(201);
    format!("{CUSTOM}/custom:acme{n}")
}

fn providers_kept() -> Vec<Case> {
    vec![
        case("GET /admin/custom-providers", "", |place, n| {
            async move {
                custom(place, n).await;
                TestRequest::get(CUSTOM).with_token(&place.world.service_token())
            }
            .boxed()
        }),
        case("POST /admin/custom-providers", "", |place, n| {
            async move { TestRequest::post(CUSTOM, &acme(n)).with_token(&place.world.service_token()) }.boxed()
        })
        .again(&["400 conflict", "409 conflict", "422 conflict"]),
        case("GET /admin/custom-providers/{identifier}", "", |place, n| {
            async move { TestRequest::get(custom(place, n).await).with_token(&place.world.service_token()) }.boxed()
        }),
        case("PUT /admin/custom-providers/{identifier}", "", |place, n| {
            async move {
                let path = custom(place, n).await;
                TestRequest::put(path, &json!({"name": "Acme Inc."})).with_token(&place.world.service_token())
            }
            .boxed()
        }),
        case("DELETE /admin/custom-providers/{identifier}", "", |place, n| {
            async move { TestRequest::delete(custom(place, n).await).with_token(&place.world.service_token()) }.boxed()
        })
        .again(&["404 custom_provider_not_found"]),
    ]
}
