//! An SSO provider with its identity provider, in a world with SAML enabled.

use foundation::secret::Secret;
use gotrue_rs::testing::World;
use gotrue_rs::testing::identity_provider::{
    AuthnRequest, IdentityProvider, NEXT_SERVICE_KEY, SERVICE_KEY, SamlAssertion, acs_form_request,
};
use gotrue_rules::domain::policy::Policy;
use http::Method;
use platform::testing::Answer;
use serde_json::{Map, Value, json};
use url::Url;

use super::{IDP, SERVICE};

/// An additional allowed redirect target.
pub(crate) const CALLBACK: &str = "https://app.example.com/callback";

/// Enables SAML with a next key.
pub(crate) fn with_saml(policy: &mut Policy) {
    policy.saml.enabled = true;
    policy.saml.private_key = Secret::new(SERVICE_KEY);
    policy.saml.private_key_next = Some(Secret::new(NEXT_SERVICE_KEY));
    policy.site.redirect_allow_list = vec![CALLBACK.to_owned()];
}

/// An identity provider and its registered SSO provider.
pub(crate) struct Company {
    pub world: World,
    pub idp: IdentityProvider,
    pub id: String,
}

impl Company {
    /// In the default world.
    pub(crate) async fn new() -> Self {
        Self::in_world(World::with(with_saml).await).await
    }

    /// With the hardened policy.
    pub(crate) async fn as_served() -> Self {
        Self::in_world(World::builder().policy(with_saml).as_served().build().await).await
    }

    /// In the given world.
    pub(crate) async fn in_world(world: World) -> Self {
        Self::mapping(world, json!({})).await
    }

    /// With an attribute mapping.
    pub(crate) async fn mapping(world: World, keys: Value) -> Self {
        let idp = IdentityProvider::new(IDP);
        let id = create_provider(&world, &idp, "a.example.com", keys).await;
        Self { world, idp, id }
    }

    /// Starts an SP-initiated sign-in.
    pub(crate) async fn start(&self, more: Value) -> AuthnRequest {
        let mut body = json!({"domain": "a.example.com", "skip_http_redirect": true});
        if let (Some(body), Some(more)) = (body.as_object_mut(), more.as_object()) {
            body.extend(more.clone());
        }
        AuthnRequest::from_redirect(self.world.post("/sso", body).await.expect(200).str("url"))
    }

    /// A current assertion without a request.
    pub(crate) fn assertion(&self) -> SamlAssertion {
        SamlAssertion::for_service(SERVICE, IDP, self.world.now())
    }

    /// A current assertion for a request.
    pub(crate) fn assertion_for_request(&self, request: &AuthnRequest) -> SamlAssertion {
        SamlAssertion { in_response_to: Some(request.id.clone()), ..self.assertion() }
    }

    /// Posts the response to a request.
    pub(crate) async fn post_response(&self, request: &AuthnRequest, response: &str) -> AcsResponse {
        AcsResponse(self.world.send(acs_form_request(response, Some(&request.relay_state))).await)
    }

    pub(crate) async fn post_unsolicited_response(&self, response: &str) -> AcsResponse {
        AcsResponse(self.world.send(acs_form_request(response, None)).await)
    }

    /// Updates the SSO provider as an administrator.
    pub(crate) async fn change(&self, body: Value) {
        let token = format!("Bearer {}", self.world.service_token());
        let path = format!("/admin/sso/providers/{}", self.id);
        self.world.request(Method::PUT, &path, &[("authorization", &token)], Some(body)).await.expect(200);
    }
}

/// Registers an SSO provider and returns its id.
pub(crate) async fn create_provider(world: &World, idp: &IdentityProvider, domain: &str, keys: Value) -> String {
    let metadata = idp.metadata("https://idp.example.com/sso");
    let body =
        json!({"type": "saml", "metadata_xml": metadata, "domains": [domain], "attribute_mapping": {"keys": keys}});
    world.post_as(&world.service_token(), "/admin/sso/providers", body).await.expect(201).str("id").to_owned()
}

/// The result of a posted response.
pub(crate) struct AcsResponse(pub Answer);

impl AcsResponse {
    /// The redirect target.
    pub(crate) fn url(&self) -> Url {
        Url::parse(self.0.header("location")).expect("an address")
    }

    /// A member of the fragment.
    pub(crate) fn fragment(&self, name: &str) -> String {
        let url = self.url();
        let pairs = url::form_urlencoded::parse(url.fragment().unwrap_or_default().as_bytes());
        pairs.into_iter().find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
    }

    /// A member of the query.
    pub(crate) fn query(&self, name: &str) -> String {
        let url = self.url();
        url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
    }

    /// The access token of the new session.
    #[track_caller]
    pub(crate) fn token(&self) -> String {
        assert_eq!(self.0.status, 302, "{}", self.0.header("location"));
        let token = self.fragment("access_token");
        assert!(!token.is_empty(), "no session: {}", self.0.header("location"));
        token
    }

    /// The claims of the access token.
    #[track_caller]
    pub(crate) fn claims(&self) -> Map<String, Value> {
        use base64::Engine as _;
        let token = self.token();
        let claims = token.split('.').nth(1).expect("claims");
        let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).expect("base64");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// The code and description of an error, from the redirect query.
    #[track_caller]
    pub(crate) fn refusal(&self) -> (String, String) {
        assert_eq!(self.0.status, 303, "{}", self.0.header("location"));
        assert!(self.url().as_str().starts_with("http://shop.example.com/?"), "{}", self.url());
        assert_eq!(self.url().fragment(), None);
        (self.query("error_code"), self.query("error_description"))
    }
}
