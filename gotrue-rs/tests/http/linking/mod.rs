//! Resolves an external identity to a user: sign in, link, accept an invitation, or create.

mod by_hand;
mod concurrency;
mod sign_in;
mod strict;

use foundation::error::Result;
use gotrue_rs::request_context::RequestContext;
use gotrue_rs::services::linking::{self, ExternalUser, LinkOutcome};
use gotrue_rs::testing::World;
use gotrue_rules::domain::external::profile::{Claims, ProviderEmail, ProviderProfile};
use gotrue_rules::domain::user::User;
use http::{HeaderMap, Method};
use platform::request_body::RequestBody;
use platform::request_info::RequestInfo;

pub(crate) const ANN: &str = "ann@example.com";

/// A profile with one e-mail address.
pub(crate) fn profile(subject: &str, address: &str, verified: bool) -> ProviderProfile {
    with_emails(subject, vec![ProviderEmail { address: address.into(), verified, primary: true }])
}

/// A profile with these e-mail addresses.
pub(crate) fn with_emails(subject: &str, emails: Vec<ProviderEmail>) -> ProviderProfile {
    ProviderProfile { emails, claims: Claims { subject: subject.into(), name: "Ann".into(), ..Claims::default() } }
        .with_primary_email()
}

/// A request context at the current time of the world.
pub(crate) fn request(world: &World) -> RequestContext {
    let info = RequestInfo {
        method: Method::GET,
        path: "/callback".into(),
        params: Vec::new(),
        query: Vec::new(),
        form_length: 0,
        headers: HeaderMap::new(),
        peer: None,
        client: None,
        device: None,
        id: String::new(),
        target_host: None,
    };
    RequestContext::new(world.app.clone(), info, RequestBody::empty())
}

/// Signs in with a provider profile.
pub(crate) async fn sign_in_with_provider(
    world: &World,
    provider: &str,
    profile: &ProviderProfile,
) -> Result<LinkOutcome> {
    sign_in_with_profile(world, ExternalUser { provider, profile, email_optional: false }).await
}

/// Signs in with all parameters.
pub(crate) async fn sign_in_with_profile(world: &World, external_user: ExternalUser<'_>) -> Result<LinkOutcome> {
    let cx = request(world);
    linking::call_before_user_created(&cx, &external_user).await?;
    let mut db = linking::begin_sign_in(&cx, &external_user).await?;
    let joined = linking::sign_in(&cx, &mut db, &external_user).await?;
    db.commit().await?;
    Ok(joined)
}

/// The user of a successful sign-in.
#[track_caller]
pub(crate) fn expect_signed_in(joined: Result<LinkOutcome>) -> User {
    match joined {
        Ok(LinkOutcome::SignedIn { user, .. }) => *user,
        other => panic!("no user is signed in: {other:?}"),
    }
}

/// The error of a refused sign-in whose writes are committed.
#[track_caller]
pub(crate) fn expect_refused(joined: Result<LinkOutcome>) -> (u16, String, String) {
    match joined {
        Ok(LinkOutcome::Refused(error)) => {
            (error.status(), error.code().as_str().to_owned(), error.message().to_owned())
        }
        other => panic!("no refusal: {other:?}"),
    }
}

/// Inserts an identity directly into the database.
pub(crate) async fn give_identity(world: &World, account: &str, provider: &str, email: Option<&str>, verified: bool) {
    let member = email.map(|email| format!(r#""email": "{email}", "#)).unwrap_or_default();
    let sql = format!(
        r#"INSERT INTO auth.identities (user_id, provider, provider_id, identity_data, created_at, updated_at)
           VALUES ('{account}', '{provider}', 'at-{provider}', '{{{member}"email_verified": {verified}}}', now(), now())"#
    );
    world.database.query(&sql).await;
}
