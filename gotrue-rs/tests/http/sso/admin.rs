use http::Method;
use serde_json::{Value, json};

use super::{ENTITY, PROVIDERS, SIGN_ON, administer, company, create, metadata, read, world};
use gotrue_rs::testing::World;
use platform::testing::Recording;

async fn listed(world: &World, query: &str) -> Vec<String> {
    let list = administer(world, Method::GET, &format!("{PROVIDERS}{query}"), None).await.expect(200);
    let items = list.json["items"].as_array().cloned().unwrap_or_default();
    items.iter().map(|item| item["resource_id"].as_str().unwrap_or("-").to_owned()).collect()
}

#[tokio::test]
async fn provider_is_stored_unchanged_even_if_saml_is_disabled() {
    let world = World::new().await;
    let given = json!({
        "domains": ["one.example.com", "uno.example.com"], "resource_id": "acme", "disabled": false,
        "name_id_format": "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
        "attribute_mapping": {"keys": {"email": {"names": ["mail", "email"], "default": "none", "array": true}}},
    });
    let made = create(&world, given.clone()).await.expect(201);
    let found = read(&world, made.str("id")).await.expect(200);
    assert_eq!(found.json, made.json);
    assert_eq!(found.json["domains"], json!([{"domain": "one.example.com"}, {"domain": "uno.example.com"}]));
    let expected = json!({
        "entity_id": ENTITY, "metadata_xml": metadata(ENTITY, SIGN_ON), "name_id_format": given["name_id_format"],
        "attribute_mapping": given["attribute_mapping"],
    });
    assert_eq!(found.json["saml"], expected);
    assert_eq!((found.str("resource_id"), &found.json["disabled"]), ("acme", &json!(false)));
    let named = read(&world, "resource_acme").await.expect(200);
    assert_eq!(named.json, made.json);
}

#[tokio::test]
async fn encoded_resource_id_in_the_path_is_decoded() {
    let world = World::new().await;
    let made = create(&world, json!({"resource_id": "Zürich 1?"})).await.expect(201);
    let named = read(&world, "resource_Z%C3%BCrich%201%3F").await.expect(200);
    assert_eq!(named.json, made.json);
    let braced = format!("%7B{}%7D", made.str("id"));
    assert_eq!(read(&world, &braced).await.expect(200).json, made.json);
    // Encoded without need, with a slash or a control character: compared as it is.
    for other in ["%72esource_Z%C3%BCrich%201%3F", "resource_Z%2Frich", "resource_%00", "resource_%FF"] {
        read(&world, other).await.expect(404);
    }
    // No path: Go's HTTP server refuses it before any handler.
    read(&world, "resource_%").await.expect(400);
}

#[tokio::test]
async fn minimal_provider_is_accepted_and_listed_without_details() {
    let world = World::new().await;
    let made = create(&world, json!({})).await.expect(201);
    assert_eq!(made.json["disabled"], Value::Null);
    assert_eq!((&made.json["domains"], &made.json["saml"]["attribute_mapping"]), (&json!([]), &json!({})));
    let members: Vec<&str> = made.json.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(members, ["id", "disabled", "saml", "domains", "created_at", "updated_at"]);
    let list = administer(&world, Method::GET, PROVIDERS, None).await.expect(200);
    assert_eq!(list.json["items"][0]["saml"], json!({"entity_id": ENTITY, "attribute_mapping": {}}));
}

#[tokio::test]
async fn providers_are_listed_by_age_and_filtered() {
    let world = World::new().await;
    for name in ["acme", "acme_eu", "acmeXeu", "bolt"] {
        world.advance(chrono::TimeDelta::seconds(1));
        create(&world, json!({"resource_id": name, "metadata_xml": metadata(name, SIGN_ON)})).await.expect(201);
    }
    assert_eq!(listed(&world, "").await, ["acme", "acme_eu", "acmeXeu", "bolt"]);
    assert_eq!(listed(&world, "?resource_id=acme").await, ["acme"]);
    assert_eq!(listed(&world, "?resource_id_prefix=acme_").await, ["acme_eu", "acmeXeu"]);
    assert_eq!(listed(&world, "?resource_id_prefix=%25o").await, ["bolt"]);
    assert_eq!(listed(&world, "?resource_id=bolt&resource_id_prefix=acme").await, ["bolt"]);
    assert!(listed(&world, "?resource_id=ACME").await.is_empty());
}

#[tokio::test]
async fn provider_names_are_unique() {
    let world = World::new().await;
    let first = create(&world, json!({"domains": ["a.example.com"], "resource_id": "acme"})).await.expect(201);
    let again = create(&world, json!({"domains": ["a.example.com"]})).await;
    assert_eq!(again.refusal(), (422, "saml_idp_already_exists"));
    assert_eq!(again.str("msg"), format!("SAML Identity Provider with this EntityID ({ENTITY}) already exists"));
    let other = |more: Value| {
        let mut body = json!({"metadata_xml": metadata("other", SIGN_ON)});
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        create(&world, body)
    };
    let taken = other(json!({"domains": ["b.example.com", "a.example.com"]})).await;
    assert_eq!(taken.refusal(), (400, "sso_domain_already_exists"));
    assert!(taken.str("msg").ends_with(&format!("({})", first.str("id"))));
    // As the reference: what only the database finds is a plain 500.
    for more in [
        json!({"domains": ["A.example.com"]}),
        json!({"domains": ["b", "b"]}),
        json!({"domains": [""]}),
        json!({"resource_id": "ACME"}),
    ] {
        assert_eq!(other(more.clone()).await.refusal(), (500, "unexpected_failure"), "{more}");
    }
    assert_eq!(listed(&world, "").await, ["acme"], "nothing of what was refused is left");
    other(json!({"domains": ["b.example.com"]})).await.expect(201);
}

#[tokio::test]
async fn deleted_provider_is_returned_and_its_names_are_released() {
    let world = world().await;
    let id = company(&world, "a.example.com").await;
    world.post("/sso", json!({"domain": "a.example.com"})).await.expect(303);
    let gone = administer(&world, Method::DELETE, &format!("{PROVIDERS}/{id}"), None).await.expect(200);
    assert_eq!(gone.json["domains"], json!([{"domain": "a.example.com"}]));
    assert_eq!(read(&world, &id).await.refusal(), (404, "sso_provider_not_found"));
    let left = "SELECT (SELECT count(*) FROM auth.saml_relay_states) + (SELECT count(*) FROM auth.sso_domains) \
                + (SELECT count(*) FROM auth.saml_providers)";
    assert_eq!(world.database.query(&format!("SELECT ({left})::text")).await, ["0"]);
    company(&world, "a.example.com").await;
}

#[tokio::test]
async fn routes_require_an_administrator() {
    let world = World::new().await;
    let ann = world.create_user("ann@example.com").await;
    let id = company(&world, "a.example.com").await;
    for (method, path) in [
        (Method::GET, PROVIDERS.to_owned()),
        (Method::POST, PROVIDERS.to_owned()),
        (Method::GET, format!("{PROVIDERS}/{id}")),
        (Method::PUT, format!("{PROVIDERS}/{id}")),
        (Method::DELETE, format!("{PROVIDERS}/{id}")),
        (Method::GET, format!("{PROVIDERS}/nonsense")),
    ] {
        let token = format!("Bearer {}", ann.access_token);
        let hers = world.request(method.clone(), &path, &[("authorization", &token)], Some(json!({}))).await;
        assert_eq!(hers.refusal(), (403, "not_admin"), "{method} {path}");
        let nobodys = world.request(method.clone(), &path, &[], None).await;
        assert_eq!(nobodys.refusal(), (401, "no_authorization"), "{method} {path}");
    }
    for name in ["nonsense", "resource_nobody", "resource_", "7c1d9f64-9d3c-4f0e-8a5f-0d1b2c3d4e5f"] {
        assert_eq!(read(&world, name).await.refusal(), (404, "sso_provider_not_found"), "{name}");
    }
}

#[tokio::test]
async fn provider_requests_send_few_statements() {
    let world = World::new().await;
    let id = company(&world, "a.example.com").await;
    let names: Vec<&str> = world.journal().statements();
    assert_eq!(names, ["sso_providers.find_holders", "sso_providers.insert"]);
    read(&world, &id).await.expect(200);
    assert_eq!(world.journal().statements(), ["sso_providers.by_id"]);
}

#[tokio::test]
async fn metadata_with_two_roots_is_an_input_error() {
    let world = World::new().await;
    let two = metadata(ENTITY, SIGN_ON).repeat(2);
    let answer = create(&world, json!({ "metadata_xml": two })).await;
    assert_eq!(answer.refusal(), (400, "validation_failed"));
    assert_eq!(answer.str("msg"), "SAML Metadata contains more than one root element");
}

#[tokio::test]
async fn provider_without_redirect_binding_is_reported_when_it_is_created() {
    for (binding, is_reported) in [("HTTP-POST", true), ("HTTP-Redirect", false)] {
        let world = World::new().await;
        let xml = metadata(ENTITY, SIGN_ON).replace("HTTP-Redirect", binding);
        Recording::start();
        create(&world, json!({ "metadata_xml": xml })).await.expect(201);
        let events = Recording::stop().events;
        let is_found = events.iter().any(|event| event.fields.get("saml.entity_id") == ENTITY);
        assert_eq!(is_found, is_reported, "{binding}: {events:?}");
    }
}
