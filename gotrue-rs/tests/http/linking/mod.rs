//! Joining accounts: whom a provider vouches for, and what becomes of them.

mod by_hand;
mod concurrency;
mod sign_in;
mod strict;

use gotrue_rs::cx::Cx;
use gotrue_rs::http::body::RequestBody;
use gotrue_rs::http::request_info::RequestInfo;
use gotrue_rs::services::linking::{self, Arrival, Joined};
use gotrue_rs::testing::World;
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::external::profile::{Claims, Profile, ProviderEmail};
use gotrue_rules::domain::user::Account;
use http::{HeaderMap, Method};

pub const ANN: &str = "ann@example.com";

/// What a provider says of somebody with one address.
pub fn profile(subject: &str, address: &str, verified: bool) -> Profile {
    with_emails(subject, vec![ProviderEmail { address: address.into(), verified, primary: true }])
}

/// What a provider says of somebody.
pub fn with_emails(subject: &str, emails: Vec<ProviderEmail>) -> Profile {
    Profile { emails, claims: Claims { subject: subject.into(), name: "Ann".into(), ..Claims::default() } }.settled()
}

/// A request of the world, at the moment of its clock.
pub fn request(world: &World) -> Cx {
    let info = RequestInfo {
        method: Method::GET,
        path: "/callback".into(),
        params: Vec::new(),
        query: Vec::new(),
        headers: HeaderMap::new(),
        peer: None,
        id: String::new(),
        target_host: None,
    };
    Cx::new(world.app.clone(), info, RequestBody::empty())
}

/// Somebody signs in through a provider, as flows do it.
pub async fn arrive(world: &World, provider: &str, profile: &Profile) -> Result<Joined> {
    arrive_by(world, Arrival { provider, profile, email_optional: false }).await
}

/// The same with everything said.
pub async fn arrive_by(world: &World, arrival: Arrival<'_>) -> Result<Joined> {
    let cx = request(world);
    linking::announce(&cx, &arrival).await?;
    let mut db = linking::begin(&cx, &arrival).await?;
    let joined = linking::sign_in(&cx, &mut db, &arrival).await?;
    db.commit().await?;
    Ok(joined)
}

/// The account of somebody who is in.
#[track_caller]
pub fn is_in(joined: Result<Joined>) -> Account {
    match joined {
        Ok(Joined::In { account, .. }) => *account,
        other => panic!("nobody is in: {other:?}"),
    }
}

/// Why somebody is not in, although what happened stays.
#[track_caller]
pub fn is_refused(joined: Result<Joined>) -> (u16, String, String) {
    match joined {
        Ok(Joined::Refused(error)) => (error.status(), error.code().to_owned(), error.message().to_owned()),
        other => panic!("nobody is refused: {other:?}"),
    }
}

/// Gives an account an identity behind the server's back.
pub async fn give_identity(world: &World, account: &str, provider: &str, email: Option<&str>, verified: bool) {
    let member = email.map(|email| format!(r#""email": "{email}", "#)).unwrap_or_default();
    let sql = format!(
        r#"INSERT INTO auth.identities (user_id, provider, provider_id, identity_data, created_at, updated_at)
           VALUES ('{account}', '{provider}', 'at-{provider}', '{{{member}"email_verified": {verified}}}', now(), now())"#
    );
    world.database.query(&sql).await;
}
