//! Threat G: addresses that an administrator gives lead outside, when they are stored and when they are called.

use std::sync::Arc;
use std::time::Duration;

use gotrue_rs::ports::http_client::Outbound;
use gotrue_rs::store::{Connection, custom_providers};
use gotrue_rs::testing::World;
use gotrue_rules::domain::custom_provider::{CustomProvider, Protocol};
use gotrue_rules::domain::secret::Secret;
use http::Method;
use serde_json::json;
use tokio::net::TcpListener;
use uuid::Uuid;

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

/// A row that came there otherwise, or a name that led outside when it was stored: the guarded door is the last word.
#[tokio::test]
async fn a_stored_address_that_leads_home_is_not_called_either() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let world = World::new().await;
    create(&world, acme(&json!({}))).await.expect(201);
    let mut db = Connection::pooled(world.app.pool.clone(), Arc::default());
    let mut stored = custom_providers::by_identifier(&mut db, "custom:acme").await.expect("read").expect("it is there");
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
    assert!(called.is_err(), "nobody called this machine");
}

fn as_oidc(provider: &CustomProvider, host: &str) -> CustomProvider {
    let letters: String = host.chars().filter(char::is_ascii_alphanumeric).collect();
    CustomProvider {
        id: Uuid::from_u128(host.bytes().map(u128::from).sum()),
        identifier: format!("custom:{letters}"),
        ..provider.clone()
    }
}
