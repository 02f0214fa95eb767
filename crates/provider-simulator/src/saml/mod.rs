//! A SAML 2.0 identity provider: metadata, and sign-in by the HTTP-Redirect and HTTP-POST bindings.

mod request;
mod response;

use std::sync::Arc;

use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{StatusCode, Uri};
use platform::saml_keys::{SamlKeyError, SamlSigningKey};

use crate::catalog::SAML;
use crate::next::SignInPlan;
use crate::page::{CHOOSER_POLICY, FORM_POST_POLICY, format_chooser, format_form_post};
use crate::parameters::Parameters;
use crate::responses;
use crate::scenario::{Deviation, Scenario};
use crate::simulator::{Simulator, lock};
use crate::users::ProviderUser;
use request::AuthnRequest;
use response::{ResponseContent, format_metadata, format_response};

/// A response that was cut off.
const MALFORMED: &str = "<samlp:Response";

/// How a SAML sign-in ends.
enum SamlOutcome {
    User(Box<ProviderUser>, Deviation),
    Denied,
}

impl Simulator {
    /// Returns the entity id of the SAML identity provider, which is the URL of its metadata.
    pub fn saml_entity_id(&self) -> String {
        format!("{}/{SAML}/metadata", self.options.base_url)
    }

    /// Returns the metadata of the SAML identity provider, for `metadata_xml` of a new SSO provider.
    ///
    /// # Errors
    ///
    /// Fails if no key can be generated.
    pub async fn saml_metadata(&self) -> anyhow::Result<String> {
        let key = self.load_saml_key().await?;
        Ok(format_metadata(&self.saml_entity_id(), key.certificate(), &self.sign_on_url()))
    }

    pub(crate) async fn answer_metadata(&self) -> Response {
        match self.saml_metadata().await {
            Ok(metadata) => responses::metadata(metadata),
            Err(error) => internal_error(&error),
        }
    }

    /// Answers an authentication request: with the sign-in that a test determined, or with the page.
    pub(crate) async fn answer_authn_request(&self, query: &Parameters, uri: &Uri) -> Response {
        let request = match self.validate_authn_request(query) {
            Ok(request) => request,
            Err(reason) => return responses::text(StatusCode::BAD_REQUEST, reason),
        };
        let Some(next) = self.take_next(SAML) else { return self.authn_page(uri, "") };
        let outcome = match next.into_plan(None, &self.entropy) {
            SignInPlan::User(user, deviation) => SamlOutcome::User(user, deviation),
            SignInPlan::Error(..) => SamlOutcome::Denied,
        };
        self.respond_to_authn_request(&request, query.get("RelayState"), outcome).await
    }

    /// Answers the form of the page.
    pub(crate) async fn answer_authn_choice(&self, query: &Parameters, form: &Parameters, uri: &Uri) -> Response {
        let request = match self.validate_authn_request(query) {
            Ok(request) => request,
            Err(reason) => return responses::text(StatusCode::BAD_REQUEST, reason),
        };
        let outcome = match form.get("person") {
            "nobody" => Some(SamlOutcome::Denied),
            "other" => ProviderUser::from_input(form.get("name"), form.get("email"), true).map(sign_in_outcome),
            known => ProviderUser::find_preset(known).map(sign_in_outcome),
        };
        match outcome {
            Some(outcome) => self.respond_to_authn_request(&request, query.get("RelayState"), outcome).await,
            None => self.authn_page(uri, form.get("email")),
        }
    }

    fn authn_page(&self, uri: &Uri, email: &str) -> Response {
        let action = self.form_action(uri);
        responses::page(format_chooser(self.options.page, &action, email, ""), CHOOSER_POLICY)
    }

    /// Validates the request, which must come from the auth API.
    fn validate_authn_request(&self, query: &Parameters) -> Result<AuthnRequest, &'static str> {
        let request = AuthnRequest::parse(query.get("SAMLRequest"))?;
        if request.consumer_url != self.consumer_url() {
            return Err("the assertion consumer service is not the auth API's: begin at /auth/v1/sso\n");
        }
        Ok(request)
    }

    /// Posts the signed response to the auth API.
    async fn respond_to_authn_request(
        &self,
        request: &AuthnRequest,
        relay_state: &str,
        outcome: SamlOutcome,
    ) -> Response {
        let (user, deviation) = match outcome {
            SamlOutcome::User(user, deviation) => (Some(user), deviation),
            SamlOutcome::Denied => (None, Deviation::default()),
        };
        if deviation.is(Scenario::ServerError) {
            return responses::text(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error");
        }
        if deviation.is(Scenario::SlowResponse) {
            self.clock.sleep(deviation.delay).await;
        }
        let is_other_request = deviation.is(Scenario::WrongNonce);
        let answered = if is_other_request { format!("_{}", self.entropy.uuid()) } else { request.id.clone() };
        let content = ResponseContent {
            entity_id: self.saml_entity_id(),
            consumer_url: self.consumer_url(),
            audience: format!("{}/sso/saml/metadata", self.auth_url()),
            request_id: answered,
            ids: [self.entropy.uuid(), self.entropy.uuid()],
            user: user.as_deref(),
            now: self.clock.now(),
            deviation,
        };
        let signed = match self.load_saml_key().await {
            Ok(key) => format_response(&content, &key),
            Err(error) => return internal_error(&error),
        };
        let xml = match signed {
            Ok(_) if deviation.is(Scenario::MalformedResponse) => MALFORMED.to_owned(),
            Ok(xml) => xml,
            Err(error) => return internal_error(&anyhow::Error::from(error)),
        };
        let encoded = STANDARD.encode(xml);
        let fields = [("SAMLResponse", encoded.as_str()), ("RelayState", relay_state)];
        responses::page(format_form_post(&self.consumer_url(), &fields), &FORM_POST_POLICY)
    }

    /// Returns the signing key, which is generated on another thread at its first use.
    async fn load_saml_key(&self) -> anyhow::Result<Arc<SamlSigningKey>> {
        if let Some(key) = lock(&self.saml_key).clone() {
            return Ok(key);
        }
        let url = self.options.base_url.clone();
        let generating = tokio::task::spawn_blocking(move || SamlSigningKey::generate(&url));
        let generated: Result<_, SamlKeyError> = generating.await?;
        let generated = Arc::new(generated?);
        // The first of several concurrent keys counts.
        Ok(lock(&self.saml_key).get_or_insert(generated).clone())
    }

    fn sign_on_url(&self) -> String {
        format!("{}/{SAML}/sso", self.options.base_url)
    }

    fn consumer_url(&self) -> String {
        format!("{}/sso/saml/acs", self.auth_url())
    }

    fn auth_url(&self) -> &str {
        self.options.auth_url.trim_end_matches('/')
    }
}

fn sign_in_outcome(user: ProviderUser) -> SamlOutcome {
    SamlOutcome::User(Box::new(user), Deviation::default())
}

fn internal_error(error: &anyhow::Error) -> Response {
    tracing::error!(error = %error, "signing a SAML response failed");
    responses::text(StatusCode::INTERNAL_SERVER_ERROR, "the response cannot be signed; the log says why\n")
}
