use std::io::Read as _;

use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::{
    KeyPair as _, RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA256, RsaParameters,
    UnparsedPublicKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::DeflateDecoder;
use foundation::limits::Bucket;
use gotrue_rs::testing::World;
use http::Method;
use serde_json::{Value, json};
use url::Url;

use super::{ENTITY, KEY, SIGN_ON, change, company, create, metadata, with_saml, world};

const DOMAIN: &str = "a.example.com";
const SHA1: &str = "http://www.w3.org/2000/09/xmldsig#rsa-sha1";
const SHA256: &str = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";

/// An address that a browser is sent to.
struct SignedRedirect {
    url: Url,
    xml: String,
}

impl SignedRedirect {
    fn of(address: &str) -> Self {
        let url = Url::parse(address).expect("an address");
        let request = value(&url, "SAMLRequest");
        let mut xml = String::new();
        let packed = STANDARD.decode(request).expect("base64");
        DeflateDecoder::new(packed.as_slice()).read_to_string(&mut xml).expect("deflated text");
        Self { url, xml }
    }

    fn get(&self, name: &str) -> String {
        value(&self.url, name)
    }

    /// Whether the query of the redirect has a valid signature of the service provider.
    fn is_signed(&self, algorithm: &'static RsaParameters) -> bool {
        let query = self.url.query().expect("a query");
        let start = query.find("SAMLRequest=").expect("a request");
        let (reported, _) = query[start..].split_once("&Signature=").expect("a signature");
        let der = STANDARD.decode(KEY.trim()).expect("base64");
        let pair = KeyPair::from_der(&der).expect("a key");
        let signature = STANDARD.decode(self.get("Signature")).expect("base64");
        let key = UnparsedPublicKey::new(algorithm, pair.public_key().as_ref());
        key.verify(reported.as_bytes(), &signature).is_ok()
    }
}

fn value(url: &Url, name: &str) -> String {
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
}

async fn start(world: &World, more: Value) -> SignedRedirect {
    let mut body = json!({"domain": DOMAIN, "skip_http_redirect": true});
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    SignedRedirect::of(world.post("/sso", body).await.expect(200).str("url"))
}

async fn kept(world: &World, columns: &str) -> String {
    let joined = "auth.saml_relay_states r JOIN auth.flow_state f ON f.id = r.flow_state_id";
    world.database.query(&format!("SELECT concat_ws('|', {columns}) FROM {joined}")).await.concat()
}

#[tokio::test]
async fn sso_redirects_to_the_provider_with_a_signed_request() {
    let world = world().await;
    company(&world, DOMAIN).await;
    let answer = world.post("/sso", json!({"domain": DOMAIN})).await.expect(303);
    let sent = SignedRedirect::of(answer.header("location"));
    assert!(sent.url.as_str().starts_with(SIGN_ON));
    assert_eq!(sent.get("SigAlg"), SHA1);
    assert!(sent.is_signed(&RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY));
    let id = world.database.query("SELECT request_id FROM auth.saml_relay_states").await.concat();
    assert!(id.starts_with("id-") && id.len() == 43, "{id}");
    for reported in [
        format!(r#"ID="{id}""#),
        r#"IssueInstant="2026-06-01T12:00:00.000Z""#.to_owned(),
        format!(r#"Destination="{SIGN_ON}""#),
        r#"AssertionConsumerServiceURL="http://auth.example.com/sso/saml/acs""#.to_owned(),
        r#"ProtocolBinding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST""#.to_owned(),
        ">http://auth.example.com/sso/saml/metadata</saml:Issuer>".to_owned(),
        r#"Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent" AllowCreate="true""#.to_owned(),
    ] {
        assert!(sent.xml.contains(&reported), "{reported} is not in {}", sent.xml);
    }
}

#[tokio::test]
async fn requests_are_signed_as_configured() {
    let world = World::builder().policy(with_saml).as_served().build().await;
    company(&world, DOMAIN).await;
    let sent = start(&world, json!({})).await;
    assert_eq!(sent.get("SigAlg"), SHA256);
    assert!(sent.is_signed(&RSA_PKCS1_2048_8192_SHA256));
}

#[tokio::test]
async fn start_sends_two_statements_and_stores_a_relay_state() {
    let world = world().await;
    let id = company(&world, DOMAIN).await;
    let sent = start(&world, json!({"redirect_to": "https://app.example.com/back"})).await;
    assert_eq!(world.journal().statements(), ["sso_providers.by_domain", "saml_relay_states.insert"]);
    let implicit =
        kept(&world, "r.id, r.sso_provider_id, r.redirect_to, f.provider_type, f.authentication_method").await;
    let relay_state = sent.get("RelayState");
    assert_eq!(implicit, format!("{relay_state}|{id}|https://app.example.com/back|sso/saml|sso/saml"));
    let nulls = kept(&world, "num_nulls(f.auth_code, f.code_challenge, f.code_challenge_method, f.user_id)").await;
    assert_eq!(nulls, "4");
}

#[tokio::test]
async fn pkce_challenge_is_stored_for_the_exchange() {
    let world = world().await;
    company(&world, DOMAIN).await;
    let challenge = "a".repeat(43);
    start(&world, json!({"code_challenge": challenge, "code_challenge_method": "S256"})).await;
    let pair = kept(&world, "f.code_challenge, f.code_challenge_method, length(f.auth_code)").await;
    assert_eq!(pair, format!("{challenge}|s256|36"));
}

#[tokio::test]
async fn refused_start_writes_nothing() {
    let world = world().await;
    let id = company(&world, DOMAIN).await;
    let challenge = "a".repeat(43);
    for (body, status, code) in [
        (json!({}), 400, "validation_failed"),
        (json!({"domain": DOMAIN, "provider_id": id}), 400, "validation_failed"),
        (json!({"domain": DOMAIN.to_uppercase()}), 404, "sso_provider_not_found"),
        (json!({"provider_id": "7c1d9f64-9d3c-4f0e-8a5f-0d1b2c3d4e5f"}), 404, "sso_provider_not_found"),
        (json!({"provider_id": "acme"}), 400, "bad_json"),
        (json!({"domain": DOMAIN, "code_challenge": challenge}), 400, "validation_failed"),
        (
            json!({"domain": DOMAIN, "code_challenge": challenge, "code_challenge_method": "md5"}),
            400,
            "validation_failed",
        ),
    ] {
        assert_eq!(world.post("/sso", body.clone()).await.refusal(), (status, code), "{body}");
    }
    change(&world, &id, json!({"disabled": true})).await.expect(200);
    assert_eq!(world.post("/sso", json!({"domain": DOMAIN})).await.refusal(), (404, "sso_provider_disabled"));
    assert_eq!(world.database.query("SELECT count(*)::text FROM auth.flow_state").await, ["0"]);
}

#[tokio::test]
async fn name_id_format_is_the_providers() {
    let world = world().await;
    let format = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
    create(&world, json!({"domains": [DOMAIN], "name_id_format": format})).await.expect(201);
    assert!(start(&world, json!({})).await.xml.contains(&format!(r#"NameIDPolicy Format="{format}""#)));
}

#[tokio::test]
async fn existing_query_of_the_provider_url_is_kept_unsigned() {
    let world = world().await;
    let address = "https://idp.example.com/sso?tenant=a&amp;lang=de#top";
    create(&world, json!({"domains": [DOMAIN], "metadata_xml": metadata(ENTITY, address)})).await.expect(201);
    let sent = start(&world, json!({})).await;
    assert!(sent.url.as_str().starts_with("https://idp.example.com/sso?tenant=a&lang=de&SAMLRequest="));
    assert!(sent.is_signed(&RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY));
}

#[tokio::test]
async fn provider_without_redirect_binding_is_reported() {
    let world = world().await;
    let posts = metadata(ENTITY, SIGN_ON).replace("HTTP-Redirect", "HTTP-POST");
    create(&world, json!({"domains": [DOMAIN], "metadata_xml": posts})).await.expect(201);
    assert_eq!(world.post("/sso", json!({"domain": DOMAIN})).await.refusal(), (422, "validation_failed"));
}

#[tokio::test]
async fn start_is_rate_limited_before_parsing() {
    let served = World::builder().policy(with_saml).as_served();
    let world = served.policy(|policy| policy.limits.sso = Bucket::per_five_minutes(0.0)).build().await;
    for _ in 0..30 {
        world.post("/sso", json!({})).await.expect(400);
    }
    world.post("/sso", json!({})).await.expect(429);
}

#[tokio::test]
async fn disabled_saml_refuses_every_route() {
    let world = World::new().await;
    for (method, path) in [
        (Method::POST, "/sso"),
        (Method::POST, "/sso/"),
        (Method::GET, "/sso"),
        (Method::GET, "/sso/saml/metadata"),
        (Method::POST, "/sso/saml/acs"),
        (Method::GET, "/sso/nonsense"),
    ] {
        let answer = world.request(method.clone(), path, &[], None).await;
        assert_eq!(answer.refusal(), (404, "saml_provider_disabled"), "{method} {path}");
    }
}

#[tokio::test]
async fn flow_without_redirect_target_stores_no_referrer() {
    let world = world().await;
    company(&world, DOMAIN).await;
    start(&world, json!({})).await;
    let columns = "f.referrer IS NULL, r.redirect_to = '', f.provider_type";
    assert_eq!(kept(&world, columns).await, "t|t|sso/saml");
}
