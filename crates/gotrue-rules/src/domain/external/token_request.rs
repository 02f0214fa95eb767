//! Builds the request that exchanges an authorization code for tokens (RFC 6749 §4.1.3).

use std::borrow::Cow;

use foundation::secret::Secret;
use oauth2::{
    AuthType, AuthorizationCode, ClientId, ClientSecret, CodeTokenRequest, PkceCodeVerifier, RedirectUrl, TokenUrl,
};

use super::oauth2_client::{OAuth2Client, TokenClient};
use super::provider::ClientAuth;
use super::token_response::{TokenErrorResponse, TolerantTokenResponse};

/// The parameters of a token request.
#[derive(Clone, Copy)]
pub struct ProviderTokenRequest<'a> {
    /// The operator's client id at the provider.
    pub client_id: &'a str,
    /// The operator's client secret at the provider.
    pub secret: &'a Secret,
    /// How the token endpoint authenticates the client.
    pub client_auth: ClientAuth,
    /// The callback URL of the authorization request.
    pub redirect_uri: &'a str,
    /// The authorization code.
    pub code: &'a str,
    /// The PKCE verifier of this server, if the provider uses PKCE.
    pub code_verifier: Option<&'a str>,
}

impl ProviderTokenRequest<'_> {
    /// Builds the client, which sends its credentials in a header or in the form.
    pub fn build_client(&self, endpoint: TokenUrl, auth_type: AuthType) -> TokenClient {
        OAuth2Client::new(ClientId::new(self.client_id.to_owned()))
            .set_client_secret(ClientSecret::new(self.secret.reveal().to_owned()))
            .set_auth_type(auth_type)
            .set_token_uri(endpoint)
    }

    /// Builds the request. Parameters without a value are left out.
    pub fn build<'c>(
        &self,
        client: &'c TokenClient,
    ) -> CodeTokenRequest<'c, TokenErrorResponse, TolerantTokenResponse> {
        let mut request = client.exchange_code(AuthorizationCode::new(self.code.to_owned()));
        request = match RedirectUrl::new(self.redirect_uri.to_owned()) {
            Ok(url) => request.set_redirect_uri(Cow::Owned(url)),
            Err(_) if self.redirect_uri.is_empty() => request,
            // It is sent as in the authorization request.
            Err(_) => request.add_extra_param("redirect_uri", self.redirect_uri.to_owned()),
        };
        if let Some(verifier) = self.code_verifier.filter(|verifier| !verifier.is_empty()) {
            request = request.set_pkce_verifier(PkceCodeVerifier::new(verifier.to_owned()));
        }
        if self.client_auth == ClientAuth::BasicAndForm {
            request = request.add_extra_param("secret", self.secret.reveal().to_owned());
            if matches!(client.auth_type(), AuthType::BasicAuth) {
                request = request.add_extra_param("client_id", self.client_id.to_owned());
            }
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use oauth2::HttpRequest;
    use oauth2::http::header::{AUTHORIZATION, CONTENT_TYPE};

    use super::*;
    use crate::domain::external::provider::ProviderResponseError;

    /// Builds a request to this endpoint.
    fn build_http_request(grant: &ProviderTokenRequest<'_>, auth_type: AuthType) -> HttpRequest {
        let client = grant.build_client(TokenUrl::new("https://p/token?tenant=1".to_owned()).unwrap(), auth_type);
        let sent = RefCell::new(None);
        let answer = grant.build(&client).request(&|request: HttpRequest| {
            *sent.borrow_mut() = Some(request);
            Err(ProviderResponseError("no answer".to_owned()))
        });
        assert!(answer.is_err());
        sent.into_inner().unwrap()
    }

    fn sorted_form(request: &HttpRequest) -> String {
        let body = String::from_utf8(request.body().clone()).unwrap();
        let mut pairs: Vec<_> = body.split('&').collect();
        pairs.sort_unstable();
        pairs.join("&")
    }

    const CODE: &str = "code=c%2B0&code_verifier=v&grant_type=authorization_code&redirect_uri=https%3A%2F%2Fo%2Fback";

    #[test]
    fn credentials_are_sent_as_the_provider_expects() {
        let secret = Secret::from("s:/ t");
        let grant = |client_auth| ProviderTokenRequest {
            client_id: "u s",
            secret: &secret,
            client_auth,
            redirect_uri: "https://o/back",
            code: "c+0",
            code_verifier: Some("v"),
        };
        // The credentials are form-encoded before base64: `u+s:s%3A%2F+t`.
        let basic = "Basic dStzOnMlM0ElMkYrdA==";
        let in_form = "client_id=u+s&client_secret=s%3A%2F+t";
        for (client_auth, auth_type, header, form) in [
            (ClientAuth::BasicThenForm, AuthType::BasicAuth, basic, CODE.to_owned()),
            (ClientAuth::BasicThenForm, AuthType::RequestBody, "", format!("{in_form}&{CODE}")),
            (ClientAuth::Form, AuthType::RequestBody, "", format!("{in_form}&{CODE}")),
            (ClientAuth::BasicAndForm, AuthType::BasicAuth, basic, format!("client_id=u+s&{CODE}&secret=s%3A%2F+t")),
            (ClientAuth::BasicAndForm, AuthType::RequestBody, "", format!("{in_form}&{CODE}&secret=s%3A%2F+t")),
        ] {
            let request = build_http_request(&grant(client_auth), auth_type);
            assert_eq!((request.method().as_str(), &*request.uri().to_string()), ("POST", "https://p/token?tenant=1"));
            assert_eq!(request.headers()[CONTENT_TYPE], "application/x-www-form-urlencoded");
            let sent = request.headers().get(AUTHORIZATION).map_or("", |value| value.to_str().unwrap());
            assert_eq!((sent, sorted_form(&request)), (header, form), "{client_auth:?}");
        }
    }

    #[test]
    fn parameters_without_value_are_left_out_and_odd_callback_is_sent() {
        let secret = Secret::default();
        for (redirect_uri, form) in [("", "code=c"), ("call back", "code=c&grant_type=authorization_code")] {
            let grant = ProviderTokenRequest {
                client_id: "us",
                secret: &secret,
                client_auth: ClientAuth::BasicThenForm,
                redirect_uri,
                code: "c",
                code_verifier: Some(""),
            };
            let request = build_http_request(&grant, AuthType::BasicAuth);
            let rest =
                if redirect_uri.is_empty() { "&grant_type=authorization_code" } else { "&redirect_uri=call+back" };
            assert_eq!(sorted_form(&request), format!("{form}{rest}"));
            assert_eq!(request.headers()[AUTHORIZATION], "Basic dXM6");
        }
    }
}
