//! Second factors: enrollment, challenge, verification, unenrollment.

mod elevation;
mod enrollment;
mod notices;
mod phone;
mod recovery_codes;
mod sealed;
mod totp;
mod unenroll;
mod webauthn;

use gotrue_rs::testing::{TestUser, World};
use platform::testing::Answer;

const ANN: &str = "ann@example.com";

/// The AAL and the methods of an access token, newest method first.
fn assurance(world: &World, token: &str) -> (String, Vec<String>) {
    let claims = world.decode_claims(token);
    let methods = claims["amr"].as_array().into_iter().flatten();
    let methods = methods.map(|entry| entry["method"].as_str().unwrap_or_default().to_owned()).collect();
    (claims["aal"].as_str().unwrap_or_default().to_owned(), methods)
}

/// Names and states of the account's factors, as it shows them.
async fn factors(world: &World, user: &TestUser) -> Vec<String> {
    let shown: Answer = world.get_as(&user.access_token, "/user").await.expect(200);
    let text = |factor: &serde_json::Value, name: &str| factor[name].as_str().unwrap_or_default().to_owned();
    let factors = shown.json["factors"].as_array().cloned().unwrap_or_default();
    factors.iter().map(|factor| format!("{}: {}", text(factor, "friendly_name"), text(factor, "status"))).collect()
}
