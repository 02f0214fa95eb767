//! Captchas: which routes ask for one, who need not solve it, and what the provider's word is worth.

mod provider;
mod routes;

use foundation::secret::Secret;
use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::{CaptchaPolicy, CaptchaProvider};
use serde_json::{Value, json};
use std::time::Duration;

use crate::ports::internet::Internet;
use crate::sso::with_saml;

const HCAPTCHA: &str = "https://hcaptcha.com/siteverify";
const TURNSTILE: &str = "https://challenges.cloudflare.com/turnstile/v0/siteverify";

/// A world that asks for captchas, and the internet its verifier is in.
async fn asking(provider: CaptchaProvider, timeout: Duration) -> (World, Internet) {
    let internet = Internet::start().await;
    let captcha = CaptchaPolicy { provider, secret: Secret::new("the-secret"), timeout };
    let world = World::builder()
        .policy(|policy| {
            policy.security.captcha = Some(captcha);
            policy.mail.autoconfirm = true;
            policy.passkeys.enabled = true;
            with_saml(policy);
        })
        .outbound(internet.outbound())
        .build()
        .await;
    (world, internet)
}

/// A body with a captcha's token in it.
fn with_token(mut body: Value, token: &str) -> Value {
    body["gotrue_meta_security"] = json!({"captcha_token": token});
    body
}
