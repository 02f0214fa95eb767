use gotrue_rs::testing::World;
use serde_json::{Value, json};

use super::{ENTITY, SIGN_ON, change, company, create, metadata, read};

const EMAIL: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";

fn domains(value: &Value) -> Vec<&str> {
    let all = value["domains"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(|domain| domain["domain"].as_str()).collect()
}

#[tokio::test]
async fn update_is_returned_and_stored() {
    let world = World::new().await;
    let id =
        create(&world, json!({"domains": ["b", "a"], "resource_id": "acme"})).await.expect(201).str("id").to_owned();
    let steps = [
        (json!({"domains": ["a", "c", "d"], "disabled": true}), vec!["a", "c", "d"]),
        (
            json!({"attribute_mapping": {"keys": {"name": {"name": "cn"}}}, "name_id_format": EMAIL}),
            vec!["a", "c", "d"],
        ),
        (json!({"metadata_xml": metadata(ENTITY, "https://idp.example.com/new")}), vec!["a", "c", "d"]),
        (json!({"domains": [], "disabled": false, "resource_id": ""}), vec![]),
    ];
    for (body, expected) in steps {
        world.advance(chrono::TimeDelta::seconds(1));
        let changed = change(&world, &id, body.clone()).await.expect(200);
        assert_eq!(domains(&changed.json), expected, "{body}");
        assert_eq!(read(&world, &id).await.json, changed.json, "{body}");
        assert!(changed.str("updated_at") > changed.str("created_at"), "{body}");
    }
    let last = read(&world, &id).await;
    assert!(last.str("/saml/metadata_xml").contains("https://idp.example.com/new"));
    assert_eq!(last.json["saml"].get("name_id_format"), None, "left out beside another change it is cleared");
    assert_eq!((last.json.get("resource_id"), &last.json["disabled"]), (None, &json!(false)));
}

#[tokio::test]
async fn unchanged_update_writes_nothing() {
    let world = World::new().await;
    let id = company(&world, "a.example.com").await;
    let before = read(&world, &id).await.json;
    world.advance(chrono::TimeDelta::seconds(1));
    for body in [json!({}), json!({"domains": ["a.example.com"]}), json!({"attribute_mapping": {"keys": {}}})] {
        assert_eq!(change(&world, &id, body).await.expect(200).json, before);
        assert!(!world.journal().statements().contains(&"sso_providers.update"));
    }
    let odd = change(&world, &id, json!({"name_id_format": EMAIL})).await.expect(200);
    assert_eq!(odd.json["saml"], before["saml"], "as recorded a format alone is not stored");
}

/// In the legacy API version the database's own words are shown, under the code of the conflict.
#[tokio::test]
async fn resource_id_is_unique() {
    let world = World::new().await;
    create(&world, json!({"resource_id": "acme"})).await.expect(201);
    let body = json!({"metadata_xml": metadata("other", SIGN_ON), "resource_id": "bolt"});
    let second = create(&world, body).await.expect(201).str("id").to_owned();
    for taken in ["acme", "ACME"] {
        let refused = change(&world, &second, json!({"resource_id": taken})).await.expect(500);
        assert_eq!((refused.str("code"), refused.header("x-sb-error-code")), ("23505", "conflict"), "{taken}");
    }
    let path = format!("/admin/sso/providers/{second}");
    let bearer = format!("Bearer {}", world.service_token());
    let headers = [("authorization", bearer.as_str()), ("x-supabase-api-version", "2024-01-01")];
    let body = Some(json!({"resource_id": "acme"}));
    let refused = world.request(http::Method::PUT, &path, &headers, body).await.expect(422);
    assert_eq!((refused.str("code"), refused.header("x-sb-error-code")), ("conflict", "conflict"));
}

#[tokio::test]
async fn domains_are_unique_case_insensitively() {
    let world = World::new().await;
    let first = company(&world, "a.example.com").await;
    let body = json!({"metadata_xml": metadata("other", SIGN_ON), "domains": ["b.example.com"]});
    let second = create(&world, body).await.expect(201).str("id").to_owned();
    let taken = change(&world, &second, json!({"domains": ["a.example.com"]})).await;
    assert_eq!(taken.refusal(), (400, "sso_domain_already_exists"));
    assert_eq!(taken.str("msg"), format!("SSO domain 'a.example.com' already assigned to another provider ({first})"));
    for domains in [json!(["A.example.com"]), json!(["c", "c"]), json!([""])] {
        assert_eq!(change(&world, &second, json!({"domains": domains})).await.refusal(), (422, "conflict"));
    }
    let respelled = change(&world, &second, json!({"domains": ["B.example.com"]})).await.expect(200);
    assert_eq!(domains(&respelled.json), ["B.example.com"]);
    change(&world, &first, json!({"domains": []})).await.expect(200);
    change(&world, &second, json!({"domains": ["a.example.com"]})).await.expect(200);
}

#[tokio::test]
async fn metadata_of_another_entity_is_refused() {
    let world = World::new().await;
    let id = company(&world, "a.example.com").await;
    let other = change(&world, &id, json!({"metadata_xml": metadata("other", SIGN_ON)})).await;
    assert_eq!(other.refusal(), (400, "saml_entity_id_mismatch"));
    let both = json!({"metadata_xml": metadata(ENTITY, SIGN_ON), "metadata_url": "https://idp.example.com"});
    for (body, status) in [
        (both, 400),
        (json!({"metadata_url": "http://idp.example.com"}), 400),
        (json!({"name_id_format": "email"}), 400),
        (json!({"metadata_xml": "<hello/>"}), 500),
        (json!({"metadata_xml": format!("<!DOCTYPE x>{}", metadata(ENTITY, SIGN_ON))}), 400),
    ] {
        assert_eq!(change(&world, &id, body.clone()).await.status, status, "{body}");
    }
}

#[tokio::test]
async fn taken_resource_id_returns_the_database_error() {
    let world = World::new().await;
    create(&world, json!({"resource_id": "acme"})).await.expect(201);
    let other = create(&world, json!({"metadata_xml": metadata("other", SIGN_ON)})).await.expect(201);
    let taken = change(&world, other.str("id"), json!({"resource_id": "Acme"})).await.expect(500);
    assert_eq!(taken.str("code"), "23505");
}
