//! The provider simulator below `/_dev/provider`, for testing social sign-in.
//! It replaces the providers of `[basalt.provider] stands_in_for`; a page lets the developer choose a user.
//!
//! All endpoints are for this machine only.

use axum::extract::Request;
use axum::response::Response;
use foundation::html::escape_html;
use http::uri::PathAndQuery;
use http::{Method, StatusCode, Uri};
use provider_simulator::{PresetUser, Simulator, SimulatorOptions, preset_users};

use super::access::AccessRule;
use super::responses::{DEFAULT_POLICY, response, text};

/// The path prefix of all endpoints.
const PATH: &str = "/_dev/provider";
const PAGE_TEMPLATE: &str = include_str!("../../../../../frontend/dist/development/provider/page.html");

/// Returns the options of the simulator of a server.
/// It listens at `origin`, which may have a path; `auth_url` is its auth API.
pub(crate) fn simulator_options(origin: &str, auth_url: &str) -> SimulatorOptions {
    SimulatorOptions { base_url: format!("{origin}{PATH}"), auth_url: auth_url.to_owned(), page: PAGE_TEMPLATE }
}

/// Returns whether the path belongs to the simulator.
pub(crate) fn is_provider_path(path: &str) -> bool {
    path.strip_prefix(PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether the path is that of the page about the simulator.
pub(super) fn is_overview(path: &str) -> bool {
    path.strip_prefix(PATH).is_some_and(|rest| matches!(rest, "" | "/"))
}

/// Answers with the page about the simulator: the providers that it stands in for, and its users.
pub(super) fn answer_overview(simulator: &Simulator, request: &Request, header: &str) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return text(StatusCode::METHOD_NOT_ALLOWED, "this page is only read\n");
    }
    // Test environments have a path before `/_dev`, so that links are relative.
    let root = if request.uri().path().ends_with('/') { "../../" } else { "../" };
    let providers: Vec<String> = simulator.list_stand_ins().iter().map(|name| format_provider(root, name)).collect();
    let users: Vec<String> = preset_users().iter().map(format_user).collect();
    let (providers, users) = (providers.concat(), users.concat());
    let none = "<li>None: name them in <code>stands_in_for</code> of <code>[basalt.provider]</code>.</li>\n";
    let providers = if providers.is_empty() { none } else { &providers };
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Provider simulator</title>\n\
         <link rel=\"stylesheet\" href=\"{root}_dev/inbox.css\">\n</head>\n<body>\n{header}<main>\n<h1>Provider simulator</h1>\n\
         <p>Signing in with one of these providers leads to a page that lets you choose the user. No request leaves this \
         machine.</p>\n<h2>Providers</h2>\n<ul>\n{providers}</ul>\n<h2>Users</h2>\n<ul>\n{users}\
         <li>Anyone else: the page asks for name and address.</li>\n</ul>\n<h2>For clients of their own</h2>\n<ul>\n\
         <li><a href=\"{root}_dev/provider/.well-known/openid-configuration\">Configuration of a plain OpenID provider</a></li>\n\
         <li><a href=\"{root}_dev/provider/saml/metadata\">Metadata of a SAML identity provider</a></li>\n</ul>\n</main>\n</body>\n</html>\n"
    );
    response(StatusCode::OK, "text/html; charset=utf-8", DEFAULT_POLICY, html.into_bytes())
}

fn format_provider(root: &str, name: &str) -> String {
    let name = escape_html(name);
    format!("<li><a href=\"{root}auth/v1/authorize?provider={name}\">Sign in with {name}</a></li>\n")
}

fn format_user(user: &PresetUser) -> String {
    let name = escape_html(&user.name);
    if user.email.is_empty() {
        return format!("<li>{name}: without an address</li>\n");
    }
    let state = if user.verified { "verified" } else { "not verified" };
    format!("<li>{name}: {}, {state}</li>\n", escape_html(&user.email))
}

/// Adds the path of the server's URL, which the simulator knows and a router in front has removed.
pub(super) fn restore_path(simulator: &Simulator, request: &mut Request) {
    let Some(prefix) = simulator.base_path().strip_suffix(PATH).filter(|prefix| !prefix.is_empty()) else { return };
    let below = request.uri().path_and_query().map_or(PATH, PathAndQuery::as_str);
    if let Ok(whole) = PathAndQuery::try_from(format!("{prefix}{below}")) {
        *request.uri_mut() = Uri::from(whole);
    }
}

/// Returns the access rule of a request.
/// The pages allow navigations from any site, because every sign-in begins with one.
pub(super) fn access_rule(simulator: &Simulator, request: &Request) -> AccessRule<'static> {
    let is_page = request.method() == Method::GET && simulator.is_page(request.uri().path());
    if is_page { AccessRule::LocalOrNavigation } else { AccessRule::Local }
}

#[cfg(test)]
mod tests;
