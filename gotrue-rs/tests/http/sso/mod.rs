//! SSO administration and the start of a sign-in.

mod admin;
mod changes;
mod fetching;
mod metadata;
mod start;

use foundation::secret::Secret;
use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::Policy;
use http::Method;
use platform::testing::Answer;
use serde_json::{Value, json};

const PROVIDERS: &str = "/admin/sso/providers";
const ENTITY: &str = "https://idp.example.com/metadata";
const SIGN_ON: &str = "https://idp.example.com/sso";
/// The key of these worlds, made for tests; it protects nothing.
const KEY: &str = include_str!("../config/saml_2048.txt");

/// SAML switched on.
pub(crate) fn with_saml(policy: &mut Policy) {
    policy.saml.enabled = true;
    policy.saml.private_key = Secret::new(KEY);
}

/// A world in which SAML is on.
async fn world() -> World {
    World::with(with_saml).await
}

/// What an identity provider says of itself.
pub(crate) fn metadata(entity: &str, sign_on: &str) -> String {
    format!(
        r#"<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="{entity}"><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="{sign_on}"/></IDPSSODescriptor></EntityDescriptor>"#
    )
}

/// `POST /admin/sso/providers` of a usual provider with these members in the place of its own.
async fn create(world: &World, more: Value) -> Answer {
    let mut body = json!({"type": "saml", "metadata_xml": metadata(ENTITY, SIGN_ON)});
    if let (Some(body), Some(more)) = (body.as_object_mut(), more.as_object()) {
        body.extend(more.clone());
    }
    world.post_as(&world.service_token(), PROVIDERS, body).await
}

/// A provider of that domain; its id.
async fn company(world: &World, domain: &str) -> String {
    create(world, json!({"domains": [domain]})).await.expect(201).str("id").to_owned()
}

/// As the administrator.
async fn administer(world: &World, method: Method, path: &str, body: Option<Value>) -> Answer {
    let token = format!("Bearer {}", world.service_token());
    world.request(method, path, &[("authorization", &token)], body).await
}

/// `PUT /admin/sso/providers/{id}`.
async fn change(world: &World, id: &str, body: Value) -> Answer {
    administer(world, Method::PUT, &format!("{PROVIDERS}/{id}"), Some(body)).await
}

/// `GET /admin/sso/providers/{id}`.
async fn read(world: &World, id: &str) -> Answer {
    administer(world, Method::GET, &format!("{PROVIDERS}/{id}"), None).await
}
