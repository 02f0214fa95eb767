//! What a client's access token opens where clients are confined. It is a token of the account, and elsewhere opens all
//! that the account may do: a new password, another second factor, a consent to more scopes.

use crate::domain::error::Error;

/// All that a client needs of us: to learn whose token it has, and to give it back.
const OPEN: [(&str, &str); 3] = [("GET", "/oauth/userinfo"), ("GET", "/user"), ("POST", "/logout")];

/// Whether a client's token opens that route. The path is raw; a final slash is the same route or none.
pub fn opens(method: &str, path: &str) -> bool {
    OPEN.contains(&(method, path.strip_suffix('/').unwrap_or(path)))
}

/// The refusal of a client's token, 403.
pub fn refused() -> Error {
    let message = "This endpoint is not open to OAuth clients: it wants the user's own session";
    Error::forbidden("no_authorization", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_token_changes_nothing() {
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
            assert_eq!(opens(method, path), is_open, "{method} {path}");
        }
    }
}
