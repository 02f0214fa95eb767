//! THE table: every path with its guards and what answers it. Tests and `docs/compatibility.md` read the same data.

use http::Method;

use crate::flows::passwordless::{magic_link, otp, recover, resend};
use crate::flows::{
    admin, external, factors, logout, meta, oauth_server, passkeys, scim, sign_up, sso, token, user, verify,
};
use crate::guards::{
    ACCOUNT, ADMIN, CALLER, CAPTCHA, CLIENT, CUSTOM_PROVIDERS, FACTOR, LIMIT_CHALLENGE, LIMIT_FACTOR_VERIFY,
    LIMIT_MAGIC_LINK, LIMIT_OTP, LIMIT_PASSKEY, LIMIT_RECOVER, LIMIT_REGISTER, LIMIT_RESEND, LIMIT_SAML, LIMIT_SSO,
    LIMIT_USER, LIMIT_VERIFY, MANUAL_LINKING, NOT_ANONYMOUS, OAUTH_APP, OAUTH_SERVER, PASSKEYS, SAML, SCIM,
    SSO_PROVIDER,
};
use crate::http::router::{Entry, Guard, group, row};

/// All lines.
pub fn table() -> Vec<Entry> {
    vec![
        row(Method::GET, "/health", meta::health),
        row(Method::GET, "/settings", meta::settings),
        row(Method::GET, "/.well-known/jwks.json", meta::jwks),
        row(Method::GET, "/.well-known/openid-configuration", meta::discovery),
        row(Method::GET, "/.well-known/oauth-authorization-server", meta::discovery).guards(&[OAUTH_SERVER]),
        row(Method::GET, "/authorize", external::authorize::handle),
        group(
            "/callback",
            &[],
            [row(Method::GET, "/", external::callback::handle), row(Method::POST, "/", external::callback::handle)],
        ),
        group("/signup", &[CAPTCHA], [row(Method::POST, "/", sign_up::handle)]),
        group(
            "/verify",
            &[LIMIT_VERIFY],
            [row(Method::GET, "/", verify::get::handle), row(Method::POST, "/", verify::post::handle)],
        ),
        row(Method::POST, "/token", token::handle).guards(&[CAPTCHA]),
        row(Method::POST, "/otp", otp::handle).guards(&[LIMIT_OTP, CAPTCHA]),
        row(Method::POST, "/magiclink", magic_link::handle).guards(&[LIMIT_MAGIC_LINK, CAPTCHA]),
        row(Method::POST, "/resend", resend::handle).guards(&[LIMIT_RESEND, CAPTCHA]),
        row(Method::POST, "/recover", recover::handle).guards(&[LIMIT_RECOVER, CAPTCHA]),
        row(Method::POST, "/logout", logout::handle).guards(&[CALLER]),
        group("/reauthenticate", &[CALLER], [row(Method::GET, "/", user::reauthenticate::handle)]),
        group(
            "/user",
            &[CALLER],
            [
                row(Method::GET, "/", user::get::handle),
                row(Method::PUT, "/", user::update::handle).guards(&[LIMIT_USER]),
                group("/identities", &[MANUAL_LINKING], identities()),
                group("/oauth/grants", &[OAUTH_SERVER], user_grants()),
            ],
        ),
        group("/passkeys", &[PASSKEYS], passkeys()),
        group("/sso", &[SAML], single_sign_on()),
        group(
            "/scim/v2",
            &[SCIM],
            [
                row(Method::GET, "/ServiceProviderConfig", scim::service_provider_config),
                row(Method::GET, "/ResourceTypes", scim::nothing),
                row(Method::GET, "/Schemas", scim::nothing),
            ],
        )
        .otherwise(scim::not_found),
        row(Method::POST, "/invite", admin::invite::handle).guards(&[ADMIN]),
        group("/factors", &[CALLER, NOT_ANONYMOUS], factors()),
        group("/admin", &[ADMIN], admin_entries()),
        group("/oauth", &[OAUTH_SERVER], oauth_server()),
    ]
}

/// Below `/user/identities`.
fn identities() -> Vec<Entry> {
    use user::identities;
    vec![
        row(Method::GET, "/authorize", identities::authorize::handle),
        row(Method::DELETE, "/{identity_id}", identities::unlink::handle),
    ]
}

/// Below `/passkeys`.
fn passkeys() -> Vec<Entry> {
    use passkeys::{authentication, registration};
    vec![
        row(Method::GET, "/", passkeys::list::handle).guards(&[CALLER]),
        group(
            "/authentication",
            &[],
            [
                row(Method::POST, "/options", authentication::options).guards(&[LIMIT_PASSKEY, CAPTCHA]),
                row(Method::POST, "/verify", authentication::verify),
            ],
        ),
        group(
            "/registration",
            &[CALLER, NOT_ANONYMOUS],
            [row(Method::POST, "/options", registration::options), row(Method::POST, "/verify", registration::verify)],
        ),
        group(
            "/{passkey_id}",
            &[CALLER],
            [row(Method::PATCH, "/", passkeys::rename::handle), row(Method::DELETE, "/", passkeys::delete::handle)],
        ),
    ]
}

/// Below `/admin`.
fn admin_entries() -> Vec<Entry> {
    vec![
        group("/users", &[], admin_users()),
        row(Method::POST, "/generate_link", admin::generate_link::handle),
        group("/audit", &[], [row(Method::GET, "/", admin::audit::handle)]),
        group("/custom-providers", &[CUSTOM_PROVIDERS], custom_providers()),
        group("/sso", &[], [group("/providers", &[], admin_sso_providers())]),
        group("/oauth", &[OAUTH_SERVER], [group("/clients", &[], admin_oauth_clients())]),
    ]
}

/// Below `/sso`.
fn single_sign_on() -> Vec<Entry> {
    vec![
        row(Method::POST, "/", sso::start::handle).guards(&[LIMIT_SSO, CAPTCHA]),
        group(
            "/saml",
            &[],
            [
                row(Method::GET, "/metadata", sso::metadata::handle),
                row(Method::POST, "/acs", sso::acs::handle).guards(&[LIMIT_SAML]),
            ],
        ),
    ]
}

/// Below `/admin/sso/providers`.
fn admin_sso_providers() -> Vec<Entry> {
    use admin::sso;
    vec![
        row(Method::GET, "/", sso::list::handle),
        row(Method::POST, "/", sso::create::handle),
        group(
            "/{idp_id}",
            &[SSO_PROVIDER],
            [
                row(Method::GET, "/", sso::read::handle),
                row(Method::PUT, "/", sso::update::handle),
                row(Method::DELETE, "/", sso::delete::handle),
            ],
        ),
    ]
}

/// Below `/admin/custom-providers`.
fn custom_providers() -> Vec<Entry> {
    use admin::custom_providers::{create, delete, list, read, update};
    vec![
        row(Method::GET, "/", list::handle),
        row(Method::POST, "/", create::handle),
        group(
            "/{identifier}",
            &[],
            [
                row(Method::GET, "/", read::handle),
                row(Method::PUT, "/", update::handle),
                row(Method::DELETE, "/", delete::handle),
            ],
        ),
    ]
}

/// Below `/oauth`.
fn oauth_server() -> Vec<Entry> {
    use oauth_server::{authorizations, authorize, register, token, userinfo};
    vec![
        row(Method::POST, "/clients/register", register::handle).guards(&[LIMIT_REGISTER]),
        row(Method::GET, "/authorize", authorize::handle),
        row(Method::GET, "/authorizations/{authorization_id}", authorizations::show).guards(&[CALLER]),
        row(Method::POST, "/authorizations/{authorization_id}/consent", authorizations::consent).guards(&[CALLER]),
        row(Method::POST, "/token", token::handle).guards(&[CLIENT]),
        row(Method::GET, "/userinfo", userinfo::handle).guards(&[CALLER]),
    ]
}

/// Below `/user/oauth/grants`.
fn user_grants() -> Vec<Entry> {
    vec![row(Method::GET, "/", user::grants::list), row(Method::DELETE, "/", user::grants::revoke)]
}

/// Below `/admin/oauth/clients`.
fn admin_oauth_clients() -> Vec<Entry> {
    use admin::oauth_clients;
    vec![
        row(Method::GET, "/", oauth_clients::list),
        row(Method::POST, "/", oauth_clients::create),
        group(
            "/{client_id}",
            &[OAUTH_APP],
            [
                row(Method::GET, "/", oauth_clients::read),
                row(Method::PUT, "/", oauth_clients::update),
                row(Method::DELETE, "/", oauth_clients::delete),
                row(Method::POST, "/regenerate_secret", oauth_clients::regenerate_secret),
            ],
        ),
    ]
}

/// Below `/factors`.
fn factors() -> Vec<Entry> {
    vec![
        row(Method::POST, "/", factors::enroll::handle),
        group(
            "/{factor_id}",
            &[FACTOR],
            [
                row(Method::POST, "/challenge", factors::challenge::handle).guards(&[LIMIT_CHALLENGE]),
                row(Method::POST, "/verify", factors::verify::handle).guards(&[LIMIT_FACTOR_VERIFY]),
                row(Method::DELETE, "/", factors::unenroll::handle),
            ],
        ),
    ]
}

/// Below `/admin/users`.
fn admin_users() -> Vec<Entry> {
    vec![
        row(Method::GET, "/", admin::list::handle),
        row(Method::POST, "/", admin::create::handle),
        group(
            "/{user_id}",
            &[ACCOUNT],
            [
                row(Method::GET, "/", admin::read::handle),
                row(Method::PUT, "/", admin::update::handle),
                row(Method::DELETE, "/", admin::delete::handle),
                group("/factors", &[], admin_factors()),
                group("/passkeys", &[], admin_passkeys()),
            ],
        ),
    ]
}

/// Below `/admin/users/{user_id}/factors`.
fn admin_factors() -> Vec<Entry> {
    vec![
        row(Method::GET, "/", admin::factors::list::handle),
        group(
            "/{factor_id}",
            &[FACTOR],
            [
                row(Method::PUT, "/", admin::factors::update::handle),
                row(Method::DELETE, "/", admin::factors::delete::handle),
            ],
        ),
    ]
}

/// Below `/admin/users/{user_id}/passkeys`.
fn admin_passkeys() -> Vec<Entry> {
    vec![
        row(Method::GET, "/", admin::passkeys::list),
        group("/{passkey_id}", &[], [row(Method::DELETE, "/", admin::passkeys::delete)]),
    ]
}

/// A line of the table as a test or a document shows it.
#[derive(Debug)]
pub struct Line {
    /// The method.
    pub method: Method,
    /// The whole path.
    pub path: String,
    /// The guards, outermost first.
    pub guards: Vec<&'static str>,
}

/// The table, flattened.
pub fn lines() -> Vec<Line> {
    let mut lines = Vec::new();
    flatten(&table(), "", &[], &mut lines);
    lines
}

fn flatten(entries: &[Entry], path: &str, guards: &[Guard], lines: &mut Vec<Line>) {
    for entry in entries {
        match entry {
            Entry::Row(row) => {
                let end = if row.path == "/" && !path.is_empty() { "" } else { row.path };
                let all = guards.iter().chain(&row.guards).map(|guard| guard.name).collect();
                lines.push(Line { method: row.method.clone(), path: format!("{path}{end}"), guards: all });
            }
            Entry::Group(group) => {
                let below = [guards, &group.guards].concat();
                flatten(&group.entries, &format!("{path}{}", group.path), &below, lines);
            }
        }
    }
}
