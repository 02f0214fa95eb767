//! The token endpoint: exchange of codes and refresh tokens, and ID tokens.

use aws_lc_rs::digest::{SHA256, digest};
use axum::http::HeaderMap;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gotrue_rules::domain::external::issuers;
use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::catalog::ProviderEntry;
use crate::keys::SigningKey;
use crate::next::SignInPlan;
use crate::parameters::Parameters;
use crate::responses;
use crate::scenario::{Deviation, Scenario};
use crate::simulator::{Location, Simulator};
use crate::template::{Variables, render, render_text};
use crate::tokens::{Grant, TOKEN_LIFETIME};
use crate::users::ProviderUser;

/// The tenant of private Microsoft accounts, to which users of a multi-tenant application belong here.
const DEFAULT_TENANT: &str = "9188040d-6c67-4c5b-b112-36a304b66dad";
/// The host of Microsoft's tenants.
const AZURE_HOST: &str = "login.microsoftonline.com";
/// The beginning of a token response that was cut off.
const MALFORMED: &str = "{\"access_token\": \"";

impl Simulator {
    /// Answers a token request (RFC 6749 §4.1.3 and §6).
    pub(crate) async fn answer_token(&self, at: Location<'_>, headers: &HeaderMap, form: &Parameters) -> Response {
        let Some(registration) = self.registration(at.entry) else {
            return responses::oauth_error(StatusCode::UNAUTHORIZED, "invalid_client");
        };
        if !registration.is_authenticated(headers, form, at.entry.credentials) {
            return responses::oauth_error(StatusCode::UNAUTHORIZED, "invalid_client");
        }
        match form.get("grant_type") {
            "authorization_code" if form.get("redirect_uri") == registration.redirect_uri => {
                self.exchange_code(at, form).await
            }
            "authorization_code" => invalid_grant(at.entry),
            "refresh_token" => self.refresh(at, form.get("refresh_token")).await,
            _ => responses::oauth_error(StatusCode::BAD_REQUEST, "unsupported_grant_type"),
        }
    }

    /// Exchanges a code. Failed attempts consume the code, except those that a scenario fails.
    async fn exchange_code(&self, at: Location<'_>, form: &Parameters) -> Response {
        let code = form.get("code");
        let found = self.codes.find(code).filter(|grant| grant.provider == at.entry.name);
        let Some(grant) = found else { return invalid_grant(at.entry) };
        let hashed = URL_SAFE_NO_PAD.encode(digest(&SHA256, form.get("code_verifier").as_bytes()));
        if !grant.challenge.is_empty() && grant.challenge != hashed {
            self.codes.take(code);
            return invalid_grant(at.entry);
        }
        if let Some(response) = self.failed_exchange(at.entry, &grant.deviation).await {
            return response;
        }
        match self.codes.take(code) {
            Some(grant) => self.issue_tokens(at, grant).await,
            None => invalid_grant(at.entry),
        }
    }

    /// Returns the response of a scenario in which the token endpoint fails; waits if it is slow.
    pub(crate) async fn failed_exchange(&self, entry: &ProviderEntry, deviation: &Deviation) -> Option<Response> {
        match deviation.scenario {
            Some(Scenario::ExpiredCode) => Some(invalid_grant(entry)),
            Some(Scenario::MalformedResponse) => Some(responses::text(StatusCode::OK, MALFORMED)),
            Some(Scenario::ServerError) => {
                Some(responses::text(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"))
            }
            Some(Scenario::SlowResponse) => {
                self.clock.sleep(deviation.delay).await;
                None
            }
            _ => None,
        }
    }

    async fn refresh(&self, at: Location<'_>, token: &str) -> Response {
        let found = self.refresh_tokens.take(token).filter(|grant| grant.provider == at.entry.name);
        match found.filter(|grant| !grant.deviation.is(Scenario::RevokedRefreshToken)) {
            Some(grant) => self.issue_tokens(at, grant).await,
            None => invalid_grant(at.entry),
        }
    }

    async fn issue_tokens(&self, at: Location<'_>, grant: Grant) -> Response {
        let entry = at.entry;
        let mut variables = self.template_variables(at, &grant.user);
        let mut insert = |name: &str, value: Value| drop(variables.insert(name.to_owned(), value));
        insert("scope", json!(grant.scope));
        insert("lifetime", json!(TOKEN_LIFETIME.num_seconds()));
        if entry.has_id_token() {
            match self.issue_id_token(at, &grant).await {
                Ok(id_token) => insert("id_token", json!(id_token)),
                Err(error) => {
                    tracing::error!(error = %error, "signing an ID token failed");
                    return responses::oauth_error(StatusCode::INTERNAL_SERVER_ERROR, "server_error");
                }
            }
        }
        insert("access_token", json!(self.access_tokens.insert(grant.clone())));
        if entry.has_refresh_token() {
            insert("refresh_token", json!(self.refresh_tokens.insert(grant)));
        }
        let body = render(&entry.token_response, &variables).unwrap_or_default();
        if entry.token_response_is_form { form_response(StatusCode::OK, &body) } else { ok(&body) }
    }

    /// Signs the ID token of a grant; claims that a test determined replace all others.
    async fn issue_id_token(&self, at: Location<'_>, grant: &Grant) -> anyhow::Result<String> {
        let variables = self.template_variables(at, &grant.user);
        let now = self.clock.now();
        let mut claims = Map::new();
        claims.insert("iss".to_owned(), json!(self.issuer(at, &variables)));
        claims.insert("aud".to_owned(), variables.get("client_id").cloned().unwrap_or_default());
        claims.insert("iat".to_owned(), json!(now.timestamp()));
        claims.insert("exp".to_owned(), json!((now + TOKEN_LIFETIME).timestamp()));
        if grant.deviation.is(Scenario::WrongNonce) {
            claims.insert("nonce".to_owned(), json!(self.entropy.base32(32)));
        } else if !grant.nonce.is_empty() {
            claims.insert("nonce".to_owned(), json!(grant.nonce));
        }
        if let Some(Value::Object(own)) = at.entry.id_token.as_ref().and_then(|own| render(own, &variables)) {
            claims.extend(own);
        }
        let algorithm = at.entry.key_algorithm();
        if grant.deviation.is(Scenario::BadSignature) {
            SigningKey::generate(algorithm).await?.sign(&claims)
        } else {
            self.keys.load(algorithm).await?.sign(&claims)
        }
    }

    /// Answers with the public key of a provider.
    pub(crate) async fn answer_keys(&self, at: Location<'_>) -> Response {
        match self.keys.load(at.entry.key_algorithm()).await {
            Ok(key) => ok(&key.jwks()),
            Err(error) => {
                tracing::error!(error = %error, "generating a signing key failed");
                responses::oauth_error(StatusCode::INTERNAL_SERVER_ERROR, "server_error")
            }
        }
    }

    /// Answers with an ID token, as the library of the provider hands it to a native app.
    /// `nonce` is what the app gives the provider, `login_hint` the user.
    pub(crate) async fn answer_id_token(&self, at: Location<'_>, query: &Parameters) -> Response {
        let hinted = ProviderUser::from_login_hint(query.get("login_hint"));
        let plan = if let Some(next) = self.take_next(&at.entry.name) {
            next.into_plan(hinted, &self.entropy)
        } else {
            let user = hinted.unwrap_or_else(ProviderUser::default_user);
            SignInPlan::User(Box::new(user), Deviation::default())
        };
        let (user, deviation) = match plan {
            SignInPlan::User(user, deviation) => (*user, deviation),
            SignInPlan::Error(error, description) => {
                let body = json!({"error": error, "error_description": description});
                return responses::json(StatusCode::BAD_REQUEST, &body);
            }
        };
        let nonce = query.get("nonce").to_owned();
        let (challenge, scope) = (String::new(), String::new());
        let grant = Grant { provider: &at.entry.name, user, deviation, nonce, challenge, scope };
        match self.issue_id_token(at, &grant).await {
            Ok(id_token) => ok(&json!({ "id_token": id_token })),
            Err(error) => {
                tracing::error!(error = %error, "signing an ID token failed");
                responses::oauth_error(StatusCode::INTERNAL_SERVER_ERROR, "server_error")
            }
        }
    }

    /// Returns the variables of a provider's templates for a user.
    pub(crate) fn template_variables(&self, at: Location<'_>, user: &ProviderUser) -> Variables {
        let mut variables = user.variables(at.entry, self.clock.now());
        let client_id = self.registration(at.entry).map(|registration| registration.client_id);
        variables.insert("client_id".to_owned(), json!(client_id));
        let named = user.claims.get("tid").and_then(Value::as_str).map(str::to_owned);
        let tenant = named.or_else(|| tenant_of_path(at)).unwrap_or_else(|| DEFAULT_TENANT.to_owned());
        variables.insert("tenant".to_owned(), json!(tenant));
        variables
    }

    fn issuer(&self, at: Location<'_>, variables: &Variables) -> String {
        let tenant = variables.get("tenant").and_then(Value::as_str).unwrap_or_default();
        let host = if at.host.is_empty() { AZURE_HOST } else { at.host };
        let known = [("base", self.options.base_url.as_str()), ("host", host), ("tenant", tenant)];
        render_text(&at.entry.issuer, &known)
    }
}

/// Returns the tenant in the path of a token request to Microsoft; `None` for a multi-tenant path.
fn tenant_of_path(at: Location<'_>) -> Option<String> {
    let prefix = at.prefix(&at.entry.token);
    if at.host == AZURE_HOST {
        return issuers::azure_tenant_of_base(&format!("https://{AZURE_HOST}{prefix}")).map(str::to_owned);
    }
    Some(prefix.trim_matches('/').to_owned()).filter(|tenant| !tenant.is_empty())
}

/// Answers an invalid code or refresh token.
fn invalid_grant(entry: &ProviderEntry) -> Response {
    let Some(template) = &entry.token_error else {
        return responses::oauth_error(StatusCode::BAD_REQUEST, "invalid_grant");
    };
    let mut variables = Variables::new();
    variables.insert("error".to_owned(), json!("invalid_grant"));
    let body = render(&template.body, &variables).unwrap_or_default();
    let status = StatusCode::from_u16(template.status).unwrap_or(StatusCode::BAD_REQUEST);
    if entry.token_response_is_form { form_response(status, &body) } else { responses::json(status, &body) }
}

fn ok(body: &Value) -> Response {
    responses::json(StatusCode::OK, body)
}

/// Answers with the members of an object as a form.
fn form_response(status: StatusCode, body: &Value) -> Response {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in body.as_object().into_iter().flatten() {
        form.append_pair(name, value.as_str().unwrap_or_default());
    }
    responses::form(status, form.finish())
}
