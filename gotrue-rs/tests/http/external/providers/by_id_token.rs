//! Providers that return the profile in an ID token.

use axum::body::Body;
use gotrue_rs::testing::{DOCUMENT, Issuer, KEYS, RedirectTarget, World};
use gotrue_rules::domain::policy::Policy;
use http::Request;
use serde_json::{Value, json};

use super::simulated::assert_same_form;
use super::{ANN, PICTURE, at_home_but, basic, form, sent, tokens, usual};
use crate::ports::internet::{Internet, RecordedRequest};

const GOOGLE: &str = "https://accounts.google.com";
const APPLE: &str = "https://appleid.apple.com";
const TENANT: &str = "https://login.microsoftonline.com/tenant-1/v2.0";
const LINKEDIN: &str = "https://www.linkedin.com/oauth";
const VERCEL: &str = "https://marketplace.vercel.com";

/// A world with a provider, its issuer and its token endpoint.
struct ProviderFixture {
    provider: &'static str,
    world: World,
    internet: Internet,
    issuer: Issuer,
    token: &'static str,
}

impl ProviderFixture {
    async fn of(provider: &'static str, issuer: &str, token: &'static str) -> Self {
        Self::but(provider, issuer, token, |_| {}).await
    }

    async fn but(provider: &'static str, issuer: &str, token: &'static str, change: impl FnOnce(&mut Policy)) -> Self {
        let (world, internet) = at_home_but(provider, change).await;
        let issuer = Issuer::at(issuer, &format!("{provider}-client"));
        internet.put(&format!("{}{DOCUMENT}", issuer.url), 200, &issuer.document());
        internet.put(&format!("{}{KEYS}", issuer.url), 200, &issuer.keys());
        Self { provider, world, internet, issuer, token }
    }

    /// Sets the token response: an ID token with these claims.
    fn tells(&self, claims: &Value) {
        let mut all = json!({"sub": "7", "email": ANN, "email_verified": true, "name": "Ann Example"});
        for (name, value) in claims.as_object().expect("claims are an object") {
            all[name] = value.clone();
        }
        let id_token = self.issuer.token(self.world.now(), &all);
        self.internet.put(self.token, 200, &tokens(&json!({"id_token": id_token})));
    }

    /// A whole sign-in: where the browser was sent, and where it came to in the end.
    async fn sign_in(&self) -> (RedirectTarget, RedirectTarget) {
        let sent = sent(&self.world, self.provider, "").await;
        let back = self.world.get(&format!("/callback?state={}&code=c0de", sent.query("state"))).await.expect(302);
        (sent, RedirectTarget::from_response(&back))
    }

    /// The requests, without discovery document and keys.
    fn provider_requests(&self) -> Vec<RecordedRequest> {
        let requests = self.internet.take_requests().into_iter();
        requests.filter(|request| !request.url.ends_with(DOCUMENT) && !request.url.ends_with(KEYS)).collect()
    }

    async fn identity(&self, back: &RedirectTarget) -> Value {
        let user = self.world.get_as(back.fragment("access_token"), "/user").await.expect(200);
        assert_eq!(user.json["email"], ANN);
        let mut data = user.json["identities"][0]["identity_data"].clone();
        data.as_object_mut().expect("data are an object").shift_remove("phone_verified");
        data
    }
}

/// What an ID token tells at most issuers: no picture, and no name by its older name.
fn expected_claims(issuer: &str, more: &Value) -> Value {
    let mut claims = usual(issuer, "7", &json!({"full_name": null, "picture": null, "avatar_url": null}));
    for (name, value) in more.as_object().expect("claims are an object") {
        match value {
            Value::Null => claims.as_object_mut().expect("claims are an object").shift_remove(name),
            value => claims.as_object_mut().expect("claims are an object").insert(name.clone(), value.clone()),
        };
    }
    claims
}

#[tokio::test]
async fn google() {
    let google = ProviderFixture::of("google", GOOGLE, "https://accounts.google.com/token").await;
    google.tells(&json!({"hd": "example.com", "picture": PICTURE}));
    let (sent, back) = google.sign_in().await;
    assert_eq!((&*sent.base, sent.query("scope")), ("https://accounts.google.com/authorize", "email profile"));
    let requests = google.provider_requests();
    assert_eq!(requests.iter().map(|request| request.url.as_str()).collect::<Vec<_>>(), [google.token]);
    assert_eq!(basic(&requests[0]), "google-client:google-secret");
    let more = json!({"custom_claims": {"hd": "example.com"}});
    let expected = usual(GOOGLE, "7", &more);
    assert_eq!(google.identity(&back).await, expected);
    assert_same_form("google", &expected, &json!({"hd": "example.com"})).await;
}

#[tokio::test]
async fn google_without_an_id_token() {
    let userinfo = "https://www.googleapis.com/userinfo/v2/me";
    let google = ProviderFixture::of("google", GOOGLE, "https://accounts.google.com/token").await;
    google.internet.put(google.token, 200, &tokens(&json!({})));
    let user = json!({"id": "1170", "email": ANN, "verified_email": true, "name": "Ann Example", "picture": PICTURE});
    google.internet.put(userinfo, 200, &user);
    let (_, back) = google.sign_in().await;
    let requests = google.provider_requests();
    assert_eq!(requests.iter().map(|request| request.url.as_str()).collect::<Vec<_>>(), [google.token, userinfo]);
    assert_eq!(google.identity(&back).await, usual(userinfo, "1170", &json!({})));
}

#[tokio::test]
async fn apple_form_post_contains_the_name() {
    let apple = ProviderFixture::of("apple", APPLE, "https://appleid.apple.com/token").await;
    apple.tells(&json!({"is_private_email": "true", "name": null}));
    let sent = sent(&apple.world, "apple", "&scopes=more&prompt=consent").await;
    assert_eq!((&*sent.base, sent.query("scope")), ("https://appleid.apple.com/authorize", "email name"));
    assert_eq!((sent.query("response_mode"), sent.query("prompt")), ("form_post", ""));
    let posted = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("state", sent.query("state"))
        .append_pair("code", "c0de")
        .append_pair("user", r#"{"name":{"firstName":"Ann","lastName":"Example"},"email":"ignored@example.com"}"#)
        .finish();
    let request = Request::post("/callback").header("content-type", "application/x-www-form-urlencoded");
    let back = apple.world.send(request.body(Body::from(posted)).expect("a request")).await.expect(302);
    let requests = apple.provider_requests();
    assert_eq!(basic(&requests[0]), "apple-client:apple-secret");
    let form = form(&requests[0]);
    assert_eq!((&*form["client_id"], &*form["secret"]), ("apple-client", "apple-secret"));
    let more = json!({"full_name": "Ann Example", "custom_claims": {"is_private_email": true}});
    let expected = expected_claims(APPLE, &more);
    assert_eq!(apple.identity(&RedirectTarget::from_response(&back)).await, expected);
    assert_same_form("apple", &expected, &json!({})).await;
}

#[tokio::test]
async fn azure_accepts_tokens_of_any_tenant() {
    let route = "https://login.microsoftonline.com/common/oauth2/v2.0/token";
    let azure = ProviderFixture::of("azure", TENANT, route).await;
    azure.tells(
        &json!({"preferred_username": "ann@contoso.example.com", "tid": "tenant-1", "xms_edov": "1", "ver": "2.0",
                        "email_verified": null}),
    );
    let (sent, back) = azure.sign_in().await;
    let authorize = "https://login.microsoftonline.com/common/oauth2/v2.0/authorize";
    assert_eq!((&*sent.base, sent.query("scope")), (authorize, "openid"));
    assert_eq!(azure.provider_requests().len(), 1);
    let more = json!({"name": null, "full_name": "Ann Example", "preferred_username": "ann@contoso.example.com",
                      "custom_claims": {"email": ANN, "tid": "tenant-1", "xms_edov": "1"}});
    let expected = expected_claims(TENANT, &more);
    assert_eq!(azure.identity(&back).await, expected);
    assert_same_form("azure", &expected, &json!({"tid": "tenant-1"})).await;
}

#[tokio::test]
async fn azure_with_configured_tenant_accepts_only_that_tenant() {
    let route = "https://login.microsoftonline.com/tenant-2/oauth2/v2.0/token";
    let azure = ProviderFixture::but("azure", TENANT, route, |policy| {
        let azure = policy.external.providers.get_mut("azure").expect("it is set up");
        "https://login.microsoftonline.com/tenant-2/".clone_into(&mut azure.url);
    })
    .await;
    azure.tells(&json!({}));
    let (sent, back) = azure.sign_in().await;
    assert_eq!(sent.base, "https://login.microsoftonline.com/tenant-2/oauth2/v2.0/authorize");
    assert_eq!(back.query("error_description"), "Error getting user profile from external provider");
    assert_eq!(azure.provider_requests().len(), 1);
}

#[tokio::test]
async fn linkedin_oidc() {
    let route = "https://api.linkedin.com/oauth/v2/accessToken";
    let linkedin = ProviderFixture::of("linkedin_oidc", LINKEDIN, route).await;
    let claims = json!({"email_verified": "true", "given_name": "Ann", "family_name": "Example", "locale": "en_US"});
    linkedin.tells(&claims);
    let (sent, back) = linkedin.sign_in().await;
    let authorize = "https://api.linkedin.com/oauth/v2/authorization";
    assert_eq!((&*sent.base, sent.query("scope")), (authorize, "openid email profile"));
    assert_eq!(linkedin.provider_requests().len(), 1);
    let more = json!({"given_name": "Ann", "family_name": "Example", "locale": "en_US"});
    let expected = expected_claims(LINKEDIN, &more);
    assert_eq!(linkedin.identity(&back).await, expected);
    assert_same_form("linkedin_oidc", &expected, &json!({"picture": null})).await;
}

#[tokio::test]
async fn vercel_marketplace() {
    let route = "https://api.vercel.com/oauth/v2/accessToken";
    let vercel = ProviderFixture::of("vercel_marketplace", VERCEL, route).await;
    vercel.tells(
        &json!({"user_email": ANN, "user_name": "Ann Example", "user_avatar_url": PICTURE, "global_user_id": "9"}),
    );
    let (sent, back) = vercel.sign_in().await;
    assert_eq!((&*sent.base, sent.query("scope")), ("https://api.vercel.com/oauth/v2/authorization", ""));
    assert_eq!(vercel.provider_requests().len(), 1);
    let id = "global_user_id:9";
    let expected = expected_claims(VERCEL, &json!({"sub": id, "provider_id": id, "picture": PICTURE}));
    assert_eq!(vercel.identity(&back).await, expected);
    assert_same_form("vercel_marketplace", &expected, &json!({})).await;
}

#[tokio::test]
async fn token_for_another_audience_is_refused() {
    let google = ProviderFixture::of("google", GOOGLE, "https://accounts.google.com/token").await;
    for claims in [
        json!({"aud": "another-client"}),
        json!({"iss": APPLE}),
        json!({"exp": google.world.now().timestamp() - 1}),
        json!({"at_hash": "bm90IHRoaXMgb25l"}),
    ] {
        google.tells(&claims);
        let (_, back) = google.sign_in().await;
        assert_eq!(back.query("error_description"), "Error getting user profile from external provider", "{claims}");
    }
}
