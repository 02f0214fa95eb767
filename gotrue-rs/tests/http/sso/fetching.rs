use chrono::TimeDelta;
use gotrue_rs::cx::Cx;
use gotrue_rs::http::body::RequestBody;
use gotrue_rs::http::request_info::RequestInfo;
use gotrue_rs::services::saml::metadata::fresh;
use gotrue_rs::store::sso_providers;
use gotrue_rs::testing::World;
use gotrue_rules::domain::sso::metadata::{IdentityProvider, LARGEST};
use http::{HeaderMap, Method};
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

async fn fetched(world: &World, address: &str) -> gotrue_rs::testing::Answer {
    create(world, json!({"metadata_xml": Value::Null, "metadata_url": address})).await
}

/// What a sign-in of that provider's people believes.
async fn believed(world: &World, id: &str) -> IdentityProvider {
    let info = RequestInfo {
        method: Method::POST,
        path: "/sso/saml/acs".to_owned(),
        params: Vec::new(),
        query: Vec::new(),
        headers: HeaderMap::new(),
        peer: None,
        id: String::new(),
        target_host: None,
    };
    let cx = Cx::new(world.app.clone(), info, RequestBody::empty());
    let id = Uuid::parse_str(id).expect("an id");
    let provider = sso_providers::by_id(&mut cx.db(), id).await.expect("a row").expect("a provider");
    fresh(&cx, &provider).await.expect("a description")
}

#[tokio::test]
async fn a_description_is_fetched_from_its_address() {
    let (world, internet) = world().await;
    let missing = fetched(&world, ADDRESS).await;
    assert_eq!(missing.refusal(), (400, "saml_metadata_fetch_failed"));
    assert_eq!(missing.str("msg"), format!("HTTP 404 error fetching SAML Metadata from URL '{ADDRESS}'"));
    internet.put(ADDRESS, 200, &metadata(ENTITY, SIGN_ON));
    let made = fetched(&world, ADDRESS).await.expect(201);
    assert_eq!((made.str("/saml/entity_id"), made.str("/saml/metadata_url")), (ENTITY, ADDRESS));
    let asked = internet.asked().pop().expect("a request");
    assert_eq!(
        (asked.headers["accept"].as_str(), asked.headers["accept-charset"].as_str()),
        ("application/xml;charset=UTF-8", "UTF-8")
    );
    internet.put(ADDRESS, 200, &metadata(ENTITY, NEW));
    let anew = change(&world, made.str("id"), json!({"metadata_url": ADDRESS})).await.expect(200);
    assert_eq!(anew.str("/saml/metadata_xml"), metadata(ENTITY, NEW));
}

#[tokio::test]
async fn what_cannot_be_used_is_told() {
    let (world, internet) = world().await;
    internet.put("https://idp.example.com/long", 200, &" ".repeat(LARGEST + 1));
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
    let asked: Vec<String> = internet.asked().into_iter().map(|asked| asked.url).collect();
    assert_eq!(asked, ["https://idp.example.com/long", "https://idp.example.com/page"], "nobody else was asked");
}

#[tokio::test]
async fn an_old_description_is_fetched_anew_and_kept() {
    let (world, internet) = world().await;
    internet.put(ADDRESS, 200, &metadata(ENTITY, SIGN_ON));
    let id = fetched(&world, ADDRESS).await.expect(201).str("id").to_owned();
    internet.put(ADDRESS, 200, &metadata(ENTITY, NEW));
    internet.asked();
    world.advance(TimeDelta::hours(24));
    assert_eq!(believed(&world, &id).await.sign_on.as_deref(), Some(SIGN_ON));
    assert!(internet.asked().is_empty(), "a description of a day is not old");
    world.advance(TimeDelta::seconds(1));
    assert_eq!(believed(&world, &id).await.sign_on.as_deref(), Some(NEW));
    assert_eq!(believed(&world, &id).await.sign_on.as_deref(), Some(NEW));
    assert_eq!(internet.asked().len(), 1);
    assert_eq!(read(&world, &id).await.str("/saml/metadata_xml"), metadata(ENTITY, NEW));
}

#[tokio::test]
async fn what_cannot_be_renewed_stays_and_is_not_asked_for_again_at_once() {
    let (world, internet) = world().await;
    internet.put(ADDRESS, 200, &metadata(ENTITY, SIGN_ON));
    let id = fetched(&world, ADDRESS).await.expect(201).str("id").to_owned();
    for (status, body) in [(503, String::new()), (200, "<html>".to_owned()), (200, metadata("other", NEW))] {
        world.advance(TimeDelta::hours(25));
        internet.put(ADDRESS, status, &body);
        internet.asked();
        for _ in 0..3 {
            assert_eq!(believed(&world, &id).await.sign_on.as_deref(), Some(SIGN_ON), "{body}");
        }
        assert_eq!(internet.asked().len(), 1, "{body}");
        world.advance(TimeDelta::minutes(1));
        believed(&world, &id).await;
        assert_eq!(internet.asked().len(), 1, "{body}");
    }
    assert_eq!(read(&world, &id).await.str("/saml/metadata_xml"), metadata(ENTITY, SIGN_ON));
}

#[tokio::test]
async fn a_description_without_an_address_is_never_fetched() {
    let (world, internet) = world().await;
    let id = create(&world, json!({})).await.expect(201).str("id").to_owned();
    world.advance(TimeDelta::days(400));
    assert_eq!(believed(&world, &id).await.sign_on.as_deref(), Some(SIGN_ON));
    assert!(internet.asked().is_empty());
}
