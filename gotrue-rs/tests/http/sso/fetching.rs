use chrono::TimeDelta;
use gotrue_rs::request_context::RequestContext;
use gotrue_rs::services::saml::metadata::load_current;
use gotrue_rs::store::sso_providers;
use gotrue_rs::testing::World;
use gotrue_rules::domain::sso::metadata::{IdentityProvider, MAX_METADATA_BYTES};
use http::{HeaderMap, Method};
use platform::request_body::RequestBody;
use platform::request_info::RequestInfo;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{ENTITY, SIGN_ON, change, create, metadata, read, with_saml};
use crate::ports::internet::Internet;

const ADDRESS: &str = "https://idp.example.com/metadata.xml";
const NEW: &str = "https://idp.example.com/new";

async fn world() -> (World, Internet) {
    let internet = Internet::start().await;
    let world = World::builder().policy(with_saml).outbound(internet.outbound()).build().await;
    (world, internet)
}

async fn fetched(world: &World, address: &str) -> platform::testing::Answer {
    create(world, json!({"metadata_xml": Value::Null, "metadata_url": address})).await
}

/// The identity provider that a sign-in resolves.
async fn resolve_provider(world: &World, id: &str) -> IdentityProvider {
    let info = RequestInfo {
        method: Method::POST,
        path: "/sso/saml/acs".to_owned(),
        params: Vec::new(),
        query: Vec::new(),
        form_length: 0,
        headers: HeaderMap::new(),
        peer: None,
        client: None,
        device: None,
        id: String::new(),
        target_host: None,
    };
    let cx = RequestContext::new(world.app.clone(), info, RequestBody::empty());
    let id = Uuid::parse_str(id).expect("an id");
    let provider = sso_providers::find_by_id(&mut cx.db(), id).await.expect("a row").expect("a provider");
    load_current(&cx, &provider).await.expect("a description")
}

#[tokio::test]
async fn metadata_is_fetched_from_its_url() {
    let (world, internet) = world().await;
    let missing = fetched(&world, ADDRESS).await;
    assert_eq!(missing.refusal(), (400, "saml_metadata_fetch_failed"));
    assert_eq!(missing.str("msg"), format!("HTTP 404 error fetching SAML Metadata from URL '{ADDRESS}'"));
    internet.put(ADDRESS, 200, &metadata(ENTITY, SIGN_ON));
    let made = fetched(&world, ADDRESS).await.expect(201);
    assert_eq!((made.str("/saml/entity_id"), made.str("/saml/metadata_url")), (ENTITY, ADDRESS));
    let request = internet.take_requests().pop().expect("a request");
    assert_eq!(
        (request.headers["accept"].as_str(), request.headers["accept-charset"].as_str()),
        ("application/xml;charset=UTF-8", "UTF-8")
    );
    internet.put(ADDRESS, 200, &metadata(ENTITY, NEW));
    let anew = change(&world, made.str("id"), json!({"metadata_url": ADDRESS})).await.expect(200);
    assert_eq!(anew.str("/saml/metadata_xml"), metadata(ENTITY, NEW));
}

#[tokio::test]
async fn unusable_metadata_is_reported() {
    let (world, internet) = world().await;
    internet.put("https://idp.example.com/long", 200, &" ".repeat(MAX_METADATA_BYTES + 1));
    internet.put("https://idp.example.com/page", 200, &"<html>");
    for (address, status, code) in [
        ("https://idp.example.com/long", 400, "saml_metadata_fetch_failed"),
        ("https://idp.example.com/page", 500, "unexpected_failure"),
        ("https://127.0.0.1/metadata", 400, "saml_metadata_fetch_failed"),
        ("https://[::1]/metadata", 400, "saml_metadata_fetch_failed"),
        ("https://169.254.169.254/latest/meta-data", 400, "saml_metadata_fetch_failed"),
        ("https://user:secret@idp.example.com/metadata", 400, "saml_metadata_fetch_failed"),
    ] {
        assert_eq!(fetched(&world, address).await.refusal(), (status, code), "{address}");
    }
    let requested: Vec<String> = internet.take_requests().into_iter().map(|requested| requested.url).collect();
    assert_eq!(
        requested,
        ["https://idp.example.com/long", "https://idp.example.com/page"],
        "no other request was sent"
    );
}

#[tokio::test]
async fn expired_metadata_is_fetched_and_stored() {
    let (world, internet) = world().await;
    internet.put(ADDRESS, 200, &metadata(ENTITY, SIGN_ON));
    let id = fetched(&world, ADDRESS).await.expect(201).str("id").to_owned();
    internet.put(ADDRESS, 200, &metadata(ENTITY, NEW));
    internet.take_requests();
    world.advance(TimeDelta::hours(24));
    assert_eq!(resolve_provider(&world, &id).await.sign_on_url.as_deref(), Some(SIGN_ON));
    assert!(internet.take_requests().is_empty(), "a description of a day is not old");
    world.advance(TimeDelta::seconds(1));
    assert_eq!(resolve_provider(&world, &id).await.sign_on_url.as_deref(), Some(NEW));
    assert_eq!(resolve_provider(&world, &id).await.sign_on_url.as_deref(), Some(NEW));
    assert_eq!(internet.take_requests().len(), 1);
    assert_eq!(read(&world, &id).await.str("/saml/metadata_xml"), metadata(ENTITY, NEW));
}

#[tokio::test]
async fn failed_metadata_refresh_keeps_the_old_one_and_backs_off() {
    let (world, internet) = world().await;
    internet.put(ADDRESS, 200, &metadata(ENTITY, SIGN_ON));
    let id = fetched(&world, ADDRESS).await.expect(201).str("id").to_owned();
    for (status, body) in [(503, String::new()), (200, "<html>".to_owned()), (200, metadata("other", NEW))] {
        world.advance(TimeDelta::hours(25));
        internet.put(ADDRESS, status, &body);
        internet.take_requests();
        for _ in 0..3 {
            assert_eq!(resolve_provider(&world, &id).await.sign_on_url.as_deref(), Some(SIGN_ON), "{body}");
        }
        assert_eq!(internet.take_requests().len(), 1, "{body}");
        world.advance(TimeDelta::minutes(1));
        resolve_provider(&world, &id).await;
        assert_eq!(internet.take_requests().len(), 1, "{body}");
    }
    assert_eq!(read(&world, &id).await.str("/saml/metadata_xml"), metadata(ENTITY, SIGN_ON));
}

#[tokio::test]
async fn metadata_without_url_is_never_fetched() {
    let (world, internet) = world().await;
    let id = create(&world, json!({})).await.expect(201).str("id").to_owned();
    world.advance(TimeDelta::days(400));
    assert_eq!(resolve_provider(&world, &id).await.sign_on_url.as_deref(), Some(SIGN_ON));
    assert!(internet.take_requests().is_empty());
}
