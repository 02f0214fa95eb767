//! A company with its identity provider, in a world where SAML is on.

use gotrue_rs::testing::identity_provider::{Asked, IdentityProvider, NEXT_SERVICE_KEY, SERVICE_KEY, Said, form};
use gotrue_rs::testing::{Answer, World};
use gotrue_rules::domain::policy::Policy;
use gotrue_rules::domain::secret::Secret;
use http::Method;
use serde_json::{Map, Value, json};
use url::Url;

use super::{IDP, SERVICE};

/// Where browsers may be sent back to, besides the site.
pub const CALLBACK: &str = "https://app.example.com/callback";

/// SAML switched on, with a key that will follow.
pub fn with_saml(policy: &mut Policy) {
    policy.saml.enabled = true;
    policy.saml.private_key = Secret::new(SERVICE_KEY);
    policy.saml.private_key_next = Some(Secret::new(NEXT_SERVICE_KEY));
    policy.site.redirect_allow_list = vec![CALLBACK.to_owned()];
}

/// A company's identity provider and what we keep of it.
pub struct Company {
    pub world: World,
    pub idp: IdentityProvider,
    pub id: String,
}

impl Company {
    /// In the usual world.
    pub async fn new() -> Self {
        Self::within(World::with(with_saml).await).await
    }

    /// In a world as `basalt serve` makes it.
    pub async fn as_served() -> Self {
        Self::within(World::builder().policy(with_saml).as_served().build().await).await
    }

    /// In a world of its own kind.
    pub async fn within(world: World) -> Self {
        Self::mapping(world, json!({})).await
    }

    /// With these claims made of attributes.
    pub async fn mapping(world: World, keys: Value) -> Self {
        let idp = IdentityProvider::new(IDP);
        let id = found(&world, &idp, "a.example.com", keys).await;
        Self { world, idp, id }
    }

    /// Somebody is sent to the identity provider.
    pub async fn start(&self, more: Value) -> Asked {
        let mut body = json!({"domain": "a.example.com", "skip_http_redirect": true});
        if let (Some(body), Some(more)) = (body.as_object_mut(), more.as_object()) {
            body.extend(more.clone());
        }
        Asked::of(self.world.post("/sso", body).await.expect(200).str("url"))
    }

    /// What the identity provider says now.
    pub fn said(&self) -> Said {
        Said::to(SERVICE, IDP, self.world.now())
    }

    /// The same, to a request.
    pub fn said_to(&self, asked: &Asked) -> Said {
        Said { in_response_to: Some(asked.id.clone()), ..self.said() }
    }

    /// A browser brings a response to a request.
    pub async fn answer(&self, asked: &Asked, response: &str) -> Arrived {
        Arrived(self.world.send(form(response, Some(&asked.relay_state))).await)
    }

    /// A browser brings a response to nobody's request.
    pub async fn bring(&self, response: &str) -> Arrived {
        Arrived(self.world.send(form(response, None)).await)
    }

    /// As the administrator, to the company.
    pub async fn change(&self, body: Value) {
        let token = format!("Bearer {}", self.world.service_token());
        let path = format!("/admin/sso/providers/{}", self.id);
        self.world.request(Method::PUT, &path, &[("authorization", &token)], Some(body)).await.expect(200);
    }
}

/// Makes a company known, and returns its id.
pub async fn found(world: &World, idp: &IdentityProvider, domain: &str, keys: Value) -> String {
    let metadata = idp.metadata("https://idp.example.com/sso");
    let body =
        json!({"type": "saml", "metadata_xml": metadata, "domains": [domain], "attribute_mapping": {"keys": keys}});
    world.post_as(&world.service_token(), "/admin/sso/providers", body).await.expect(201).str("id").to_owned()
}

/// What came of a response that a browser brought.
pub struct Arrived(pub Answer);

impl Arrived {
    /// Where the browser is sent.
    pub fn url(&self) -> Url {
        Url::parse(self.0.header("location")).expect("an address")
    }

    /// A member of the fragment.
    pub fn fragment(&self, name: &str) -> String {
        let url = self.url();
        let pairs = url::form_urlencoded::parse(url.fragment().unwrap_or_default().as_bytes());
        pairs.into_iter().find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
    }

    /// A member of the query.
    pub fn query(&self, name: &str) -> String {
        let url = self.url();
        url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
    }

    /// The access token of whoever is in.
    #[track_caller]
    pub fn token(&self) -> String {
        assert_eq!(self.0.status, 302, "{}", self.0.header("location"));
        let token = self.fragment("access_token");
        assert!(!token.is_empty(), "no session: {}", self.0.header("location"));
        token
    }

    /// The claims of that token.
    #[track_caller]
    pub fn claims(&self) -> Map<String, Value> {
        use base64::Engine as _;
        let token = self.token();
        let claims = token.split('.').nth(1).expect("claims");
        let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).expect("base64");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// Code and words of a refusal, which are in the query of the site's address.
    #[track_caller]
    pub fn refusal(&self) -> (String, String) {
        assert_eq!(self.0.status, 303, "{}", self.0.header("location"));
        assert!(self.url().as_str().starts_with("http://shop.example.com/?"), "{}", self.url());
        assert_eq!(self.url().fragment(), None);
        (self.query("error_code"), self.query("error_description"))
    }
}
