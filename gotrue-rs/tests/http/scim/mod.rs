//! SCIM discovery endpoints; other operations are not supported.

use gotrue_rs::testing::World;
use http::Method;
use serde_json::json;

async fn world() -> World {
    let builder = World::builder().policy(|policy| {
        policy.experimental.scim_enabled = true;
        "https://id.example.com/auth/v1/".clone_into(&mut policy.site.external_url);
    });
    builder.build().await
}

#[tokio::test]
async fn service_provider_config_reports_no_capabilities() {
    let world = world().await;
    let answer = world.get("/scim/v2/ServiceProviderConfig").await.expect(200);
    assert_eq!(answer.header("content-type"), "application/scim+json");
    let location = "https://id.example.com/auth/v1/scim/v2/ServiceProviderConfig";
    assert_eq!(answer.json["meta"], json!({"resourceType": "ServiceProviderConfig", "location": location}));
    for feature in ["patch", "bulk", "filter", "changePassword", "sort", "etag"] {
        assert_eq!(answer.json[feature]["supported"], false, "{feature}");
    }
}

#[tokio::test]
async fn lists_are_empty_and_filters_are_refused() {
    let world = world().await;
    for path in ["/scim/v2/ResourceTypes", "/scim/v2/Schemas"] {
        let list = world.get(path).await.expect(200);
        assert_eq!((&list.json["totalResults"], &list.json["Resources"]), (&json!(0), &json!([])));
        let refused = world.get(&format!("{path}?filter=")).await.expect(403);
        assert_eq!(refused.json["status"], "403");
    }
}

#[tokio::test]
async fn unknown_resource_is_a_scim_error() {
    let world = world().await;
    for (method, path) in
        [(Method::GET, "/scim/v2"), (Method::GET, "/scim/v2/Users/1"), (Method::POST, "/scim/v2/Users")]
    {
        let missed = world.request(method, path, &[], None).await.expect(404);
        assert_eq!(missed.header("content-type"), "application/scim+json", "{path}");
        assert_eq!(missed.json["schemas"], json!(["urn:ietf:params:scim:api:messages:2.0:Error"]));
    }
    let wrong = world.request(Method::POST, "/scim/v2/Schemas", &[], None).await.expect(405);
    assert_eq!(wrong.header("allow"), "GET");
}

#[tokio::test]
async fn disabled_scim_is_a_disabled_feature() {
    let world = World::new().await;
    for path in ["/scim/v2/ServiceProviderConfig", "/scim/v2/Users"] {
        assert_eq!(world.get(path).await.expect(404).json["error_code"], "feature_disabled");
    }
}
