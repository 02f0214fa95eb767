//! Routes that an OAuth client's access token may use, where clients are restricted.
//!
//! The token is otherwise a full access token of the user: it could set a password, change factors and grant more
//! scopes.

use foundation::error::{Error, ErrorCode};

/// Routes that a client needs: user claims and sign-out.
const ALLOWED_ROUTES: [(&str, &str); 3] = [("GET", "/oauth/userinfo"), ("GET", "/user"), ("POST", "/logout")];

/// Whether a client's token may use the route. The path is raw.
pub fn is_client_route_allowed(method: &str, path: &str) -> bool {
    ALLOWED_ROUTES.contains(&(method, path.strip_suffix('/').unwrap_or(path)))
}

/// Error of a route that a client's token may not use, 403.
pub fn client_route_not_allowed() -> Error {
    let message = "This endpoint is not open to OAuth clients: it wants the user's own session";
    Error::http(403, ErrorCode::NoAuthorization, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_token_cannot_change_user() {
        for (method, path, is_open) in [
            ("GET", "/user", true),
            ("GET", "/user/", true),
            ("GET", "/oauth/userinfo", true),
            ("POST", "/logout", true),
            ("PUT", "/user", false),
            ("GET", "/user/oauth/grants", false),
            ("GET", "/oauth/authorizations/x", false),
            ("POST", "/oauth/authorizations/x/consent", false),
            ("POST", "/factors", false),
            ("GET", "/", false),
        ] {
            assert_eq!(is_client_route_allowed(method, path), is_open, "{method} {path}");
        }
    }
}
