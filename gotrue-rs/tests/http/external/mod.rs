//! Sign-in with other services: to a provider and back.

mod answers;
mod authorize;
mod callback;
mod exchange;
mod held;
mod hooks;
mod oauth1;
mod providers;
mod refusals;

use gotrue_rs::testing::{FakeProvider, World, WorldBuilder};

/// The address that the provider knows.
pub(crate) const ANN: &str = "ann@example.com";

/// A world in which one can sign in with GitHub, X and Twitter, and GitHub knows Ann.
pub(crate) fn builder(provider: &FakeProvider) -> WorldBuilder {
    World::builder().policy(|policy| {
        for name in ["github", "x", "twitter"] {
            provider.enable_provider(policy, name);
        }
        policy.site.redirect_allow_list = vec!["https://app.example.com/**".to_owned()];
        policy.security.manual_linking_enabled = true;
    })
}

/// The same, built.
pub(crate) async fn world() -> (World, FakeProvider) {
    let provider = FakeProvider::start().await;
    provider.add_github_user(4711, ANN, true);
    (builder(&provider).build().await, provider)
}

/// A challenge and its verifier.
pub(crate) fn pair() -> (String, String) {
    ("c".repeat(43), "c".repeat(43))
}

/// What a query says of a challenge.
pub(crate) fn challenge() -> String {
    format!("&code_challenge={}&code_challenge_method=plain", pair().0)
}
