//! The route table: every path with its guards and its handler.
//!
//! A handler's parameters bring their guards, so that the table lists only those of groups and those without a result.
//!
//! Tests and `docs/compatibility.md` read the same data.

use http::Method;

use crate::guards::{
    ADMIN, CALLER, CAPTCHA, CUSTOM_PROVIDERS, FACTOR, LIMIT_CHALLENGE, LIMIT_FACTOR_VERIFY, LIMIT_MAGIC_LINK,
    LIMIT_OTP, LIMIT_PASSKEY, LIMIT_RECOVER, LIMIT_REGISTER, LIMIT_RESEND, LIMIT_SAML, LIMIT_SSO, LIMIT_USER,
    LIMIT_VERIFY, MANUAL_LINKING, NOT_ANONYMOUS, OAUTH_APP, OAUTH_SERVER, PASSKEYS, SAML, SCIM, SSO_PROVIDER, USER,
    USER_FACTOR,
};
use crate::handlers::passwordless::{magic_link, otp, recover, resend};
use crate::handlers::{
    admin, external, factors, logout, meta, oauth_server, passkeys, scim, sign_up, sso, token, user, verify,
};
use crate::http::route_handler::{Guard, add_guards};
use crate::http::router::{RouteEntry, route, route_group};

/// Builds the route table.
pub fn route_table() -> Vec<RouteEntry> {
    vec![
        route(Method::GET, "/health", meta::health),
        route(Method::GET, "/settings", meta::settings),
        route(Method::GET, "/.well-known/jwks.json", meta::jwks),
        route(Method::GET, "/.well-known/openid-configuration", meta::discovery),
        route(Method::GET, "/.well-known/oauth-authorization-server", meta::discovery).with_guards(&[OAUTH_SERVER]),
        route(Method::GET, "/authorize", external::authorize::handle),
        route_group(
            "/callback",
            &[],
            [route(Method::GET, "/", external::callback::handle), route(Method::POST, "/", external::callback::handle)],
        )
        .with_unmatched_check(|cx| Box::pin(external::callback::check_state(cx))),
        route_group("/signup", &[CAPTCHA], [route(Method::POST, "/", sign_up::handle)]),
        route_group(
            "/verify",
            &[LIMIT_VERIFY],
            [route(Method::GET, "/", verify::get::handle), route(Method::POST, "/", verify::post::handle)],
        ),
        route(Method::POST, "/token", token::handle).with_guards(&[CAPTCHA]),
        route(Method::POST, "/otp", otp::handle).with_guards(&[LIMIT_OTP, CAPTCHA]),
        route(Method::POST, "/magiclink", magic_link::handle).with_guards(&[LIMIT_MAGIC_LINK, CAPTCHA]),
        route(Method::POST, "/resend", resend::handle).with_guards(&[LIMIT_RESEND, CAPTCHA]),
        route(Method::POST, "/recover", recover::handle).with_guards(&[LIMIT_RECOVER, CAPTCHA]),
        route(Method::POST, "/logout", logout::handle),
        route_group("/reauthenticate", &[CALLER], [route(Method::GET, "/", user::reauthenticate::handle)]),
        route_group(
            "/user",
            &[CALLER],
            [
                route(Method::GET, "/", user::get::handle),
                route(Method::PUT, "/", user::update::handle).with_guards(&[LIMIT_USER]),
                route_group("/identities", &[MANUAL_LINKING], identity_routes()),
                route_group("/oauth/grants", &[OAUTH_SERVER], user_grant_routes()),
            ],
        ),
        route_group("/passkeys", &[PASSKEYS], passkey_routes()),
        route_group("/sso", &[SAML], sso_routes()),
        route_group(
            "/scim/v2",
            &[SCIM],
            [
                route(Method::GET, "/ServiceProviderConfig", scim::service_provider_config),
                route(Method::GET, "/ResourceTypes", scim::empty_list),
                route(Method::GET, "/Schemas", scim::empty_list),
            ],
        )
        .with_fallback(scim::not_found),
        route(Method::POST, "/invite", admin::invite::handle),
        route_group("/factors", &[CALLER, NOT_ANONYMOUS], factor_routes()),
        route_group("/admin", &[ADMIN], admin_routes()),
        route_group("/oauth", &[OAUTH_SERVER], oauth_server_routes()),
    ]
}

/// Routes below `/user/identities`.
fn identity_routes() -> Vec<RouteEntry> {
    use user::identities;
    vec![
        route(Method::GET, "/authorize", identities::authorize::handle),
        route(Method::DELETE, "/{identity_id}", identities::unlink::handle),
    ]
}

/// Routes below `/passkeys`.
fn passkey_routes() -> Vec<RouteEntry> {
    use passkeys::{authentication, registration};
    vec![
        route(Method::GET, "/", passkeys::list::handle),
        route_group(
            "/authentication",
            &[],
            [
                route(Method::POST, "/options", authentication::options).with_guards(&[LIMIT_PASSKEY, CAPTCHA]),
                route(Method::POST, "/verify", authentication::verify),
            ],
        ),
        route_group(
            "/registration",
            &[CALLER, NOT_ANONYMOUS],
            [
                route(Method::POST, "/options", registration::options),
                route(Method::POST, "/verify", registration::verify),
            ],
        ),
        route_group(
            "/{passkey_id}",
            &[CALLER],
            [route(Method::PATCH, "/", passkeys::rename::handle), route(Method::DELETE, "/", passkeys::delete::handle)],
        ),
    ]
}

/// Routes below `/admin`.
fn admin_routes() -> Vec<RouteEntry> {
    vec![
        route_group("/users", &[], admin_user_routes()),
        route(Method::POST, "/generate_link", admin::generate_link::handle),
        route_group("/audit", &[], [route(Method::GET, "/", admin::audit::handle)]),
        route_group("/custom-providers", &[CUSTOM_PROVIDERS], custom_provider_routes()),
        route_group("/sso", &[], [route_group("/providers", &[], admin_sso_provider_routes())]),
        route_group("/oauth", &[OAUTH_SERVER], [route_group("/clients", &[], admin_oauth_client_routes())]),
    ]
}

/// Routes below `/sso`.
fn sso_routes() -> Vec<RouteEntry> {
    vec![
        route(Method::POST, "/", sso::start::handle).with_guards(&[LIMIT_SSO, CAPTCHA]),
        route_group(
            "/saml",
            &[],
            [
                route(Method::GET, "/metadata", sso::metadata::handle),
                route(Method::POST, "/acs", sso::acs::handle).with_guards(&[LIMIT_SAML]),
            ],
        ),
    ]
}

/// Routes below `/admin/sso/providers`.
fn admin_sso_provider_routes() -> Vec<RouteEntry> {
    use admin::sso;
    vec![
        route(Method::GET, "/", sso::list::handle),
        route(Method::POST, "/", sso::create::handle),
        route_group(
            "/{idp_id}",
            &[SSO_PROVIDER],
            [
                route(Method::GET, "/", sso::read::handle),
                route(Method::PUT, "/", sso::update::handle),
                route(Method::DELETE, "/", sso::delete::handle),
            ],
        ),
    ]
}

/// Routes below `/admin/custom-providers`.
fn custom_provider_routes() -> Vec<RouteEntry> {
    use admin::custom_providers::{create, delete, list, read, update};
    vec![
        route(Method::GET, "/", list::handle),
        route(Method::POST, "/", create::handle),
        route_group(
            "/{identifier}",
            &[],
            [
                route(Method::GET, "/", read::handle),
                route(Method::PUT, "/", update::handle),
                route(Method::DELETE, "/", delete::handle),
            ],
        ),
    ]
}

/// Routes below `/oauth`.
fn oauth_server_routes() -> Vec<RouteEntry> {
    use oauth_server::{authorizations, authorize, register, token, userinfo};
    vec![
        route(Method::POST, "/clients/register", register::handle).with_guards(&[LIMIT_REGISTER]),
        route(Method::GET, "/authorize", authorize::handle),
        route(Method::GET, "/authorizations/{authorization_id}", authorizations::show),
        route(Method::POST, "/authorizations/{authorization_id}/consent", authorizations::consent),
        route(Method::POST, "/token", token::handle),
        route(Method::GET, "/userinfo", userinfo::handle),
    ]
}

/// Routes below `/user/oauth/grants`.
fn user_grant_routes() -> Vec<RouteEntry> {
    vec![route(Method::GET, "/", user::grants::list), route(Method::DELETE, "/", user::grants::revoke)]
}

/// Routes below `/admin/oauth/clients`.
fn admin_oauth_client_routes() -> Vec<RouteEntry> {
    use admin::oauth_clients;
    vec![
        route(Method::GET, "/", oauth_clients::list),
        route(Method::POST, "/", oauth_clients::create),
        route_group(
            "/{client_id}",
            &[OAUTH_APP],
            [
                route(Method::GET, "/", oauth_clients::read),
                route(Method::PUT, "/", oauth_clients::update),
                route(Method::DELETE, "/", oauth_clients::delete),
                route(Method::POST, "/regenerate_secret", oauth_clients::regenerate_secret),
            ],
        ),
    ]
}

/// Routes below `/factors`.
fn factor_routes() -> Vec<RouteEntry> {
    vec![
        route(Method::POST, "/", factors::enroll::handle),
        route_group("/recovery-codes", &[], recovery_code_routes()),
        route_group(
            "/{factor_id}",
            &[FACTOR],
            [
                route(Method::POST, "/challenge", factors::challenge::handle).with_guards(&[LIMIT_CHALLENGE]),
                route(Method::POST, "/verify", factors::verify::handle).with_guards(&[LIMIT_FACTOR_VERIFY]),
                route(Method::DELETE, "/", factors::unenroll::handle),
            ],
        ),
    ]
}

/// Routes below `/factors/recovery-codes`.
fn recovery_code_routes() -> Vec<RouteEntry> {
    use factors::recovery_codes;
    vec![
        route(Method::GET, "/", recovery_codes::status),
        route(Method::POST, "/", recovery_codes::generate),
        route(Method::DELETE, "/", recovery_codes::delete),
        route(Method::POST, "/regenerate", recovery_codes::regenerate),
        route(Method::POST, "/verify", recovery_codes::verify::handle).with_guards(&[LIMIT_FACTOR_VERIFY]),
    ]
}

/// Routes below `/admin/users`.
fn admin_user_routes() -> Vec<RouteEntry> {
    vec![
        route(Method::GET, "/", admin::list::handle),
        route(Method::POST, "/", admin::create::handle),
        route_group(
            "/{user_id}",
            &[USER],
            [
                route(Method::GET, "/", admin::read::handle),
                route(Method::PUT, "/", admin::update::handle),
                route(Method::DELETE, "/", admin::delete::handle),
                route_group("/factors", &[], admin_factor_routes()),
                route_group("/passkeys", &[], admin_passkey_routes()),
            ],
        ),
    ]
}

/// Routes below `/admin/users/{user_id}/factors`.
fn admin_factor_routes() -> Vec<RouteEntry> {
    vec![
        route(Method::GET, "/", admin::factors::list::handle),
        route_group(
            "/{factor_id}",
            &[USER_FACTOR],
            [
                route(Method::PUT, "/", admin::factors::update::handle),
                route(Method::DELETE, "/", admin::factors::delete::handle),
            ],
        ),
    ]
}

/// Routes below `/admin/users/{user_id}/passkeys`.
fn admin_passkey_routes() -> Vec<RouteEntry> {
    vec![
        route(Method::GET, "/", admin::passkeys::list),
        route_group("/{passkey_id}", &[], [route(Method::DELETE, "/", admin::passkeys::delete)]),
    ]
}

/// A route of the table, for tests and documentation.
#[derive(Debug)]
pub struct RouteSummary {
    pub method: Method,
    /// The full path.
    pub path: String,
    /// The guards, outermost first.
    pub guards: Vec<&'static str>,
}

/// All routes of the table, with full paths and all guards.
pub fn list_routes() -> Vec<RouteSummary> {
    let mut lines = Vec::new();
    flatten_into(&route_table(), "", &[], &mut lines);
    lines
}

fn flatten_into(entries: &[RouteEntry], path: &str, guards: &[Guard], lines: &mut Vec<RouteSummary>) {
    for entry in entries {
        match entry {
            RouteEntry::Route(row) => {
                let end = if row.path == "/" && !path.is_empty() { "" } else { row.path };
                let mut all = guards.to_vec();
                add_guards(&mut all, row.guards());
                let all = all.iter().map(|guard| guard.name).collect();
                lines.push(RouteSummary { method: row.method.clone(), path: format!("{path}{end}"), guards: all });
            }
            RouteEntry::Group(group) => {
                let below = [guards, &group.guards].concat();
                flatten_into(&group.entries, &format!("{path}{}", group.path), &below, lines);
            }
        }
    }
}
