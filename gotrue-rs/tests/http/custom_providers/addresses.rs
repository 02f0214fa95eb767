//! Threat G: addresses that an administrator gives lead outside, when they are stored and when they are called.

use gotrue_rs::ports::http_client::Outbound;
use gotrue_rs::testing::World;
use gotrue_rules::domain::secret::Secret;
use http::Method;
use serde_json::json;

use super::{ACME, acme, asked, create};

#[tokio::test]
async fn addresses_inside_are_refused_wherever_they_stand() {
    let world = World::new().await;
    for (address, expected) in [
        ("http://203.0.113.10/", "URL must use HTTPS"),
        ("https:///authorize", "URL must have a valid hostname"),
        ("https://localhost/", "URL cannot point to localhost or loopback addresses"),
        ("https://127.8.9.10/", "URL cannot resolve to loopback addresses"),
        ("https://[::ffff:127.0.0.1]/", "URL cannot resolve to loopback addresses"),
        ("https://0x7f.1/", "URL cannot resolve to loopback addresses"),
        ("https://10.1.2.3/", "URL cannot resolve to private network addresses"),
        ("https://100.64.0.1/", "URL cannot resolve to private network addresses"),
        ("https://[64:ff9b::a9fe:a9fe]/", "URL cannot resolve to private network addresses"),
        ("https://169.254.169.254/latest", "URL cannot resolve to link-local addresses"),
        ("https://nobody.invalid/", "Unable to resolve hostname"),
    ] {
        for name in ["authorization_url", "token_url", "userinfo_url", "jwks_uri"] {
            let answer = create(&world, acme(&json!({ name: address }))).await;
            assert_eq!(
                (answer.refusal(), answer.str("/msg")),
                ((400, "validation_failed"), expected),
                "{name} {address}"
            );
        }
        let oidc = json!({"provider_type": "oidc", "issuer": address});
        assert_eq!(create(&world, acme(&oidc)).await.str("/msg"), expected, "{address}");
    }
    create(&world, acme(&json!({}))).await.expect(201);
    let moved = asked(&world, Method::PUT, ACME, Some(json!({"token_url": "https://10.0.0.1/"}))).await;
    assert_eq!(moved.refusal(), (400, "validation_failed"));
    let stays = asked(&world, Method::GET, ACME, None).await.expect(200);
    assert_eq!(stays.str("/token_url"), "https://203.0.113.10/token");
}

/// The name of the machine that tests run on: it leads to the machine, or to its network.
#[tokio::test]
async fn a_name_that_leads_home_is_refused() {
    let world = World::new().await;
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a machine has a name");
    let answer = create(&world, acme(&json!({"token_url": format!("https://{}/", name.trim())}))).await;
    assert_eq!(answer.refusal(), (400, "validation_failed"), "{}", answer.json);
}

#[tokio::test]
async fn behind_a_proxy_names_are_left_to_it_but_addresses_are_not() {
    let outbound = Outbound { https_proxy: Some(Secret::new("http://127.0.0.1:9")), ..Outbound::default() };
    let world = World::builder().outbound(outbound).build().await;
    create(&world, acme(&json!({"token_url": "https://nobody.invalid/token"}))).await.expect(201);
    for address in ["https://localhost/", "https://127.1/", "https://10.0.0.1/"] {
        let answer = create(&world, acme(&json!({"identifier": "custom:b", "token_url": address}))).await;
        assert_eq!(answer.refusal(), (400, "validation_failed"), "{address}");
    }
}

#[tokio::test]
async fn an_issuer_that_does_not_answer_is_not_stored() {
    let outbound = Outbound { https_proxy: Some(Secret::new("http://127.0.0.1:9")), ..Outbound::default() };
    let world = World::builder().outbound(outbound).build().await;
    let oidc = json!({"provider_type": "oidc", "issuer": "https://203.0.113.11/oidc/"});
    let answer = create(&world, acme(&oidc)).await;
    let said = answer.str("/msg");
    let at = "https://203.0.113.11/oidc/.well-known/openid-configuration";
    assert!(
        said.starts_with(&format!("OIDC discovery from \"{at}\" failed: oidc: discovery request to {at} failed")),
        "{said}"
    );
    assert_eq!(asked(&world, Method::GET, ACME, None).await.refusal(), (404, "custom_provider_not_found"));
}
