//! Provider URLs must be public, both when they are stored and when they are requested.

use std::sync::Arc;
use std::time::Duration;

use foundation::secret::Secret;
use gotrue_rs::store::custom_providers;
use gotrue_rs::testing::World;
use gotrue_rules::domain::custom_provider::{CustomProvider, Protocol};
use http::Method;
use platform::http_client::OutboundOptions;
use platform::store::Connection;
use serde_json::json;
use tokio::net::TcpListener;
use uuid::Uuid;

use super::{ACME, acme, admin_request, create};

#[tokio::test]
async fn private_addresses_are_refused_in_every_endpoint() {
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
    let moved = admin_request(&world, Method::PUT, ACME, Some(json!({"token_url": "https://10.0.0.1/"}))).await;
    assert_eq!(moved.refusal(), (400, "validation_failed"));
    let stays = admin_request(&world, Method::GET, ACME, None).await.expect(200);
    assert_eq!(stays.str("/token_url"), "https://203.0.113.10/token");
}

/// The name of the machine that tests run on: it leads to the machine, or to its network.
#[tokio::test]
async fn host_resolving_to_private_address_is_refused() {
    let world = World::new().await;
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a machine has a name");
    let answer = create(&world, acme(&json!({"token_url": format!("https://{}/", name.trim())}))).await;
    assert_eq!(answer.refusal(), (400, "validation_failed"), "{}", answer.json);
}

#[tokio::test]
async fn proxy_resolves_hosts_but_private_addresses_stay_refused() {
    let outbound =
        OutboundOptions { https_proxy: Some(Secret::new("http://127.0.0.1:9")), ..OutboundOptions::default() };
    let world = World::builder().outbound(outbound).build().await;
    create(&world, acme(&json!({"token_url": "https://nobody.invalid/token"}))).await.expect(201);
    for address in ["https://localhost/", "https://127.1/", "https://10.0.0.1/"] {
        let answer = create(&world, acme(&json!({"identifier": "custom:b", "token_url": address}))).await;
        assert_eq!(answer.refusal(), (400, "validation_failed"), "{address}");
    }
}

#[tokio::test]
async fn unreachable_issuer_is_not_stored() {
    let outbound =
        OutboundOptions { https_proxy: Some(Secret::new("http://127.0.0.1:9")), ..OutboundOptions::default() };
    let world = World::builder().outbound(outbound).build().await;
    let oidc = json!({"provider_type": "oidc", "issuer": "https://203.0.113.11/oidc/"});
    let answer = create(&world, acme(&oidc)).await;
    let reported = answer.str("/msg");
    let at = "https://203.0.113.11/oidc/.well-known/openid-configuration";
    assert!(
        reported.starts_with(&format!("OIDC discovery from \"{at}\" failed: oidc: discovery request to {at} failed")),
        "{reported}"
    );
    assert_eq!(admin_request(&world, Method::GET, ACME, None).await.refusal(), (404, "custom_provider_not_found"));
}

/// A row stored in another way, or a host that was public when it was stored.
#[tokio::test]
async fn stored_private_address_is_not_requested() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let world = World::new().await;
    create(&world, acme(&json!({}))).await.expect(201);
    let mut db = Connection::pooled(world.app.pool.clone(), Arc::default());
    let mut stored =
        custom_providers::find_by_identifier(&mut db, "custom:acme").await.expect("read").expect("it is there");
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
        let home = format!("https://{host}:{port}");
        stored.protocol = Protocol::OAuth2 {
            authorization_url: "https://203.0.113.10/authorize".to_owned(),
            token_url: format!("{home}/token"),
            userinfo_url: format!("{home}/me"),
            jwks_uri: None,
        };
        custom_providers::update(&mut db, &stored, None).await.expect("stored");
        let start = world.get("/authorize?provider=custom:acme").await.expect(302);
        let start = reqwest::Url::parse(start.header("location")).expect("an address");
        let state = start.query_pairs().find(|(name, _)| name == "state").expect("a state").1.into_owned();
        let back = world.get(&format!("/callback?state={state}&code=c0de")).await.expect(302);
        assert!(back.header("location").contains("error=server_error"), "{host}: {}", back.header("location"));
        stored.protocol = Protocol::Oidc { issuer: home, discovery_url: None, discovered: None };
        custom_providers::insert(&mut db, &as_oidc(&stored, host)).await.expect("stored");
        let refused = world.get(&format!("/authorize?provider={}", as_oidc(&stored, host).identifier)).await;
        assert_eq!(refused.refusal(), (400, "validation_failed"), "{host}");
    }
    let called = tokio::time::timeout(Duration::from_millis(1), listener.accept()).await;
    assert!(called.is_err(), "this machine was not called");
}

fn as_oidc(provider: &CustomProvider, host: &str) -> CustomProvider {
    let name: String = host.chars().filter(char::is_ascii_alphanumeric).collect();
    CustomProvider {
        id: Uuid::from_u128(host.bytes().map(u128::from).sum()),
        identifier: format!("custom:{name}"),
        ..provider.clone()
    }
}
