//! `POST /token?grant_type=web3`: sign-in with a wallet.

use chrono::TimeDelta;
use gotrue_rs::testing::{World, WorldBuilder};
use platform::store::Connection;
use platform::testing::Answer;
use provider_simulator::Wallet;
use serde_json::{Value, json};

const GRANT: &str = "/token?grant_type=web3";
const SHOP: &str = "shop.example.com";

fn builder() -> WorldBuilder {
    World::builder().policy(|policy| {
        policy.web3.ethereum.enabled = true;
        policy.web3.solana.enabled = true;
        policy.site.redirect_allow_list = vec![format!("https://{SHOP}/**")];
    })
}

async fn give(world: &World, body: Value) -> Answer {
    world.post(GRANT, body).await
}

fn both() -> [Wallet; 2] {
    [Wallet::ethereum(1), Wallet::solana(1)]
}

#[tokio::test]
async fn wallet_signs_up_and_signs_in_again() {
    let world = builder().build().await;
    for wallet in both() {
        let first = wallet.message(SHOP, world.now(), &[]);
        let session = give(&world, wallet.grant(&first)).await.expect(200);
        let subject = format!("web3:{}:{}", wallet.chain(), wallet.address());
        let identity = &session.json["user"]["identities"][0];
        assert_eq!((&identity["provider"], &identity["id"]), (&json!("web3"), &json!(subject)));
        let claims = &identity["identity_data"]["custom_claims"];
        assert_eq!((&claims["address"], &claims["domain"]), (&json!(wallet.address()), &json!(SHOP)));
        assert_eq!((session.str("/user/email"), session.str("/user/app_metadata/provider")), ("", "web3"));
        let user = world.get_as(session.str("/access_token"), "/user").await.expect(200);
        assert_eq!(user.str("/id"), session.str("/user/id"));
        let again = wallet.message(SHOP, world.now(), &["Nonce: 2"]);
        let again = give(&world, wallet.grant(&again)).await.expect(200);
        assert_eq!(again.str("/user/id"), session.str("/user/id"));
        world.refresh(again.str("/refresh_token")).await.expect(200);
    }
}

/// The URI in the audit entry of the only sign-in.
async fn uri_of_sign_in(world: &World) -> Value {
    let sql = "SELECT payload -> 'traits' ->> 'uri' FROM auth.audit_log_entries WHERE payload ->> 'action' = 'login'";
    let found = world.database.query(sql).await;
    found.iter().find_map(|uri| serde_json::from_str(uri).ok()).unwrap_or_else(|| panic!("{found:?}"))
}

#[tokio::test]
async fn the_audit_log_shows_the_parts_of_the_message_s_uri() {
    let world = builder().build().await;
    let wallet = Wallet::ethereum(1);
    give(&world, wallet.grant(&wallet.message(SHOP, world.now(), &[]))).await.expect(200);
    let uri = uri_of_sign_in(&world).await;
    let parts = json!({
        "Scheme": "https", "Opaque": "", "User": null, "Host": SHOP, "Path": "/", "Fragment": "", "RawQuery": "",
        "RawPath": "", "RawFragment": "", "ForceQuery": false, "OmitHost": false,
    });
    assert_eq!(uri, parts);
}

#[tokio::test]
async fn the_audit_log_shows_the_uri_s_path_as_written_where_its_encoding_differs() {
    for (path, plain, raw) in
        [(" x", "/ x", "/ x"), ("%20x", "/ x", ""), ("%2f", "//", "/%2f"), ("%2F x", "// x", "/%2F x")]
    {
        let world = builder().build().await;
        let wallet = Wallet::solana(1);
        let text = wallet.message(SHOP, world.now(), &[]);
        let text = text.replace(&format!("URI: https://{SHOP}/"), &format!("URI: https://{SHOP}/{path}"));
        give(&world, wallet.grant(&text)).await.expect(200);
        let uri = uri_of_sign_in(&world).await;
        assert_eq!((&uri["Path"], &uri["RawPath"]), (&json!(plain), &json!(raw)), "{path}");
    }
}

#[tokio::test]
async fn wallets_have_separate_users() {
    let world = builder().build().await;
    let mut accounts = Vec::new();
    for wallet in [Wallet::ethereum(1), Wallet::ethereum(2), Wallet::solana(1), Wallet::solana(2)] {
        let session = give(&world, wallet.grant(&wallet.message(SHOP, world.now(), &[]))).await.expect(200);
        accounts.push(session.str("/user/id").to_owned());
    }
    accounts.sort_unstable();
    accounts.dedup();
    assert_eq!(accounts.len(), 4);
}

#[tokio::test]
async fn foreign_signature_or_domain_is_refused() {
    let world = builder().build().await;
    let others = [Wallet::ethereum(2), Wallet::solana(2)];
    for (wallet, other) in both().iter().zip(&others) {
        let text = wallet.message(SHOP, world.now(), &[]);
        let stolen = json!({"chain": wallet.chain(), "message": text, "signature": other.sign(&text)});
        let refused = give(&world, stolen).await.expect(400);
        assert_eq!(
            (refused.str("/error"), refused.str("/error_description")),
            ("invalid_grant", "Signature does not match address in message")
        );
        for domain in ["evil.example.com", "shop.example.com.evil.example"] {
            let answer = give(&world, wallet.grant(&wallet.message(domain, world.now(), &[]))).await.expect(400);
            assert_eq!(answer.str("/error"), "invalid_grant", "{domain}");
        }
        let old = wallet.grant(&wallet.message(SHOP, world.now() - TimeDelta::seconds(601), &[]));
        assert!(give(&world, old).await.expect(400).str("/error_description").ends_with("issued too long ago"));
    }
    let users = world.get_as(&world.service_token(), "/admin/users").await.expect(200);
    assert_eq!(users.json["users"], json!([]), "nothing is stored for who is refused");
}

#[tokio::test]
async fn disabled_chains_are_refused_before_parsing() {
    let off = World::new().await;
    let answer = off.post(GRANT, json!([])).await;
    assert_eq!(answer.refusal(), (422, "web3_provider_disabled"));
    let world = builder().policy(|policy| policy.web3.ethereum.enabled = false).build().await;
    let answer = give(&world, json!({"chain": "ethereum"})).await;
    assert_eq!(
        (answer.refusal(), answer.str("/msg")),
        ((422, "web3_provider_disabled"), "Ethereum Web3 provider is disabled")
    );
    assert_eq!(give(&world, json!({"chain": "bitcoin"})).await.refusal(), (400, "web3_unsupported_chain"));
    assert_eq!(give(&world, json!([])).await.refusal(), (400, "bad_json"));
}

#[tokio::test]
async fn message_is_reusable_until_expiry_and_single_use_with_hardened_policy() {
    for (world, statuses) in [(builder().build().await, [200, 200]), (builder().as_served().build().await, [200, 400])]
    {
        for wallet in both() {
            let text = wallet.message(SHOP, world.now(), &[]);
            let mut seen = Vec::new();
            for _ in 0..2 {
                seen.push(give(&world, wallet.grant(&text)).await.status.as_u16());
            }
            assert_eq!(seen, statuses, "{wallet:?}");
        }
    }
}

#[tokio::test]
async fn concurrent_uses_of_one_message_succeed_once_with_hardened_policy() {
    let world = builder().as_served().build().await;
    let wallet = Wallet::solana(1);
    let text = wallet.message(SHOP, world.now(), &[]);
    let (one, two) = tokio::join!(give(&world, wallet.grant(&text)), give(&world, wallet.grant(&text)));
    let mut statuses = [one.status.as_u16(), two.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400]);
}

/// Another encoding of the signature does not make a used message acceptable.
#[tokio::test]
async fn used_message_is_refused_with_another_signature_encoding() {
    let world = builder().as_served().build().await;
    let wallet = Wallet::ethereum(1);
    let text = wallet.message(SHOP, world.now(), &[]);
    give(&world, wallet.grant(&text)).await.expect(200);
    let mut again = wallet.grant(&text);
    again["signature"] = json!(format!("0x{}", wallet.sign(&text)[2..].to_uppercase()));
    let refused = give(&world, again).await.expect(400);
    assert_eq!(refused.str("/error_description"), "Signed Ethereum message was used before, sign a new one");
}

#[tokio::test]
async fn refused_sign_in_does_not_consume_the_message() {
    let world = builder().as_served().policy(|policy| policy.sign_up.disabled = true).build().await;
    let wallet = Wallet::solana(1);
    let text = wallet.message(SHOP, world.now(), &[]);
    for _ in 0..2 {
        assert_eq!(give(&world, wallet.grant(&text)).await.refusal(), (422, "signup_disabled"));
    }
}

#[tokio::test]
async fn expired_ethereum_message_is_refused_with_hardened_policy() {
    for (world, status) in [(builder().build().await, 200), (builder().as_served().build().await, 400)] {
        let wallet = Wallet::ethereum(1);
        let issued = world.now() - TimeDelta::seconds(120);
        let over = (issued + TimeDelta::seconds(60)).format("Expiration Time: %Y-%m-%dT%H:%M:%SZ").to_string();
        give(&world, wallet.grant(&wallet.message(SHOP, issued, &[&over]))).await.expect(status);
    }
}

#[tokio::test]
async fn domain_must_match_a_localhost_uri_with_hardened_policy() {
    const LOCAL: &str = "http://localhost:3000/";
    for (builder, status) in [(builder(), 200), (builder().as_served(), 400)] {
        let world = builder.policy(|policy| policy.site.redirect_allow_list.push(LOCAL.to_owned())).build().await;
        for wallet in both() {
            let foreign = wallet.message("evil.example.com", world.now(), &[]);
            let text = foreign.replace("URI: https://evil.example.com/", &format!("URI: {LOCAL}"));
            give(&world, wallet.grant(&text)).await.expect(status);
            let own = text.replace("evil.example.com", "localhost:3000");
            give(&world, wallet.grant(&own)).await.expect(200);
        }
    }
}

#[tokio::test]
async fn used_messages_are_deleted_after_expiry() {
    let world = builder().as_served().build().await;
    let wallet = Wallet::solana(1);
    give(&world, wallet.grant(&wallet.message(SHOP, world.now(), &[]))).await.expect(200);
    let mut db = Connection::pooled(world.app.pool.clone(), std::sync::Arc::default());
    let until = world.now() + TimeDelta::seconds(600);
    let text = wallet.message(SHOP, world.now(), &[]);
    for (now, status) in [(until, 400), (until + TimeDelta::seconds(1), 200)] {
        platform::store::outbox::delete_expired(&mut db, now, now).await.expect("swept");
        give(&world, wallet.grant(&text)).await.expect(status);
    }
}
