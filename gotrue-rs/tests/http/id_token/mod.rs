//! `POST /token?grant_type=id_token`: sign-in and linking with ID tokens.

mod accounts;
mod issuers;
mod linking;

use gotrue_rs::testing::{HookServer, Issuer, World, WorldBuilder};
use platform::testing::Answer;
use serde_json::{Value, json};

pub(crate) const PATH: &str = "/token?grant_type=id_token";
/// The client that the issuer's tokens are for.
pub(crate) const CLIENT: &str = "shop";

/// A world whose Keycloak is an issuer in the test's hand.
pub(crate) struct IdTokenFixture {
    pub world: World,
    pub issuer: Issuer,
    pub receiver: HookServer,
}

impl IdTokenFixture {
    pub(crate) async fn new() -> Self {
        Self::of(World::builder()).await
    }

    /// The same in a world that differs.
    pub(crate) async fn of(builder: WorldBuilder) -> Self {
        let receiver = HookServer::start().await;
        let issuer = Issuer::served_by(&receiver, "/realm", CLIENT);
        let url = issuer.url.clone();
        let builder = builder.policy(move |policy| {
            let keycloak = policy.external.providers.entry("keycloak".to_owned()).or_default();
            keycloak.enabled = true;
            keycloak.client_ids = vec!["web".to_owned(), CLIENT.to_owned()];
            keycloak.url = url;
        });
        Self { world: builder.build().await, issuer, receiver }
    }

    /// Gives a token of the issuer's, with more members.
    pub(crate) async fn give(&self, token: &str, more: &Value) -> Answer {
        self.world.post(PATH, body(token, more)).await
    }

    /// A token of the issuer's with these claims.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.issuer.token(self.world.now(), claims)
    }

    /// A token of a user with a verified e-mail address.
    pub(crate) fn user_token(&self, email: &str) -> String {
        self.issuer.user_token(self.world.now(), email)
    }
}

/// A request with that token of Keycloak's and more members.
pub(crate) fn body(token: &str, more: &Value) -> Value {
    let mut body = json!({"provider": "keycloak", "id_token": token});
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    body
}
