use foundation::secret::Secret;
use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::Policy;

use super::{with_saml, world};

/// What the reference makes of the key of these worlds for the host `auth.example.com`.
const CERTIFICATE: &str = include_str!("certificate.txt");
/// The same for `Auth_1.example.com`, where assertions may be encrypted.
const FOR_ENCRYPTION: &str = include_str!("certificate_encryption.txt");
const PATH: &str = "/sso/saml/metadata";
/// Another key made for tests.
const NEXT: &str = include_str!("next_key.txt");

fn encrypted(policy: &mut Policy) {
    with_saml(policy);
    policy.saml.allow_encrypted_assertions = true;
}

fn uses(xml: &str) -> Vec<&str> {
    xml.split("<KeyDescriptor use=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

fn certificates(xml: &str) -> Vec<&str> {
    xml.split("<X509Certificate>").skip(1).filter_map(|rest| rest.split('<').next()).collect()
}

#[tokio::test]
async fn service_provider_metadata_sends_no_statement() {
    let world = world().await;
    let page = world.get(PATH).await.expect(200);
    assert_eq!(page.header("content-type"), "application/xml");
    assert_eq!(page.header("cache-control"), "public, max-age=600");
    assert!(world.journal().statements().is_empty());
    for reported in [
        r#"entityID="http://auth.example.com/sso/saml/metadata""#,
        r#"<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" validUntil="2026-06-03T12:00:00.000Z" entity"#,
        r#"WantAssertionsSigned="true""#,
        r#"HTTP-POST" Location="http://auth.example.com/sso/saml/acs" index="1""#,
    ] {
        assert!(page.text.contains(reported), "{reported} is not in {}", page.text);
    }
    assert!(!page.text.contains("AuthnRequestsSigned"));
    assert_eq!(uses(&page.text), ["signing"]);
}

#[tokio::test]
async fn certificate_matches_gotrues_byte_for_byte() {
    let world = world().await;
    assert_eq!(certificates(&world.get(PATH).await.text), [CERTIFICATE.trim()]);
    let other = World::builder().policy(encrypted).policy(|policy| {
        "https://Auth_1.example.com:8443/auth/v1".clone_into(&mut policy.site.external_url);
        policy.saml.external_url = Some("https://login.example.com/".to_owned());
    });
    let page = other.build().await.get(PATH).await;
    assert_eq!(certificates(&page.text), [FOR_ENCRYPTION.trim(); 2]);
    assert!(page.text.contains(r#"entityID="https://login.example.com/sso/saml/metadata""#));
}

#[tokio::test]
async fn downloaded_metadata_is_valid_for_five_years() {
    let world = world().await;
    let file = world.get("/sso/saml/metadata?download=true").await.expect(200);
    assert_eq!(file.header("content-disposition"), "attachment; filename=\"metadata.xml\"");
    assert!(file.text.contains(r#"validUntil="2031-06-01T12:00:00.000Z" entity"#));
    let page = world.get("/sso/saml/metadata?download=1").await.expect(200);
    assert_eq!(page.header("content-disposition"), "");
}

#[tokio::test]
async fn next_key_is_published_with_a_short_cache_duration() {
    let next = |policy: &mut Policy| policy.saml.private_key_next = Some(Secret::new(NEXT));
    let world = World::builder().policy(encrypted).policy(next).build().await;
    let page = world.get(PATH).await.expect(200);
    assert_eq!(page.header("cache-control"), "public, max-age=60");
    assert!(page.text.contains(r#" cacheDuration="PT1H""#));
    assert_eq!(uses(&page.text), ["encryption", "signing", "signing", "encryption"]);
    let reported = certificates(&page.text);
    assert_eq!((reported[0], reported[2]), (reported[1], reported[3]));
    assert_ne!(reported[1], reported[2]);
}
