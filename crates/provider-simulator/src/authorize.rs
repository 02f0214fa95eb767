//! The authorization endpoint: the page for choosing a user, and the redirect back to the auth API.

use axum::response::Response;
use http::{StatusCode, Uri};
use serde_json::json;

use crate::next::SignInPlan;
use crate::page::{CHOOSER_POLICY, FORM_POST_POLICY, format_chooser, format_form_post};
use crate::parameters::Parameters;
use crate::responses;
use crate::scenario::Deviation;
use crate::simulator::{Location, Simulator, lock};
use crate::tokens::Grant;
use crate::users::ProviderUser;

/// Maximum number of users whose name was posted; when it is reached, names are posted again.
const MAX_POSTED_USERS: usize = 1000;

/// A valid authorization request (RFC 6749 §4.1.1).
struct AuthorizationRequest {
    callback: String,
    state: String,
    nonce: String,
    challenge: String,
    scope: String,
    /// `oauth_token` of OAuth 1.0a; empty otherwise.
    request_token: String,
    /// Whether the response is a form that the browser posts (OAuth 2.0 Form Post Response Mode).
    is_form_post: bool,
}

/// How a sign-in at the authorization endpoint ends.
enum Outcome {
    User(Box<ProviderUser>, Deviation),
    Error(String, String),
    /// The page is shown, with this initial address.
    Page(String),
}

impl Simulator {
    /// Answers an authorization request.
    ///
    /// A test may have determined the sign-in; with `prompt=none` the user of `login_hint` signs in; otherwise the page
    /// is shown.
    pub(crate) fn answer_authorization(&self, at: Location<'_>, query: &Parameters, uri: &Uri) -> Response {
        let hint = query.get("login_hint");
        let hinted = ProviderUser::from_login_hint(hint);
        let requested = match self.validate_request(at, query) {
            Ok(requested) => requested,
            Err(reason) => return responses::text(StatusCode::BAD_REQUEST, reason),
        };
        let outcome = if let Some(next) = self.take_next(&at.entry.name) {
            match next.into_plan(hinted, &self.entropy) {
                SignInPlan::User(user, deviation) => Outcome::User(user, deviation),
                SignInPlan::Error(error, description) => Outcome::Error(error, description),
            }
        } else if query.get("prompt") != "none" {
            Outcome::Page(hint.to_owned())
        } else if let Some(user) = hinted {
            Outcome::User(Box::new(user), Deviation::default())
        } else {
            Outcome::Error("login_required".to_owned(), String::new())
        };
        self.finish_request(at, &requested, outcome, uri)
    }

    /// Answers the form of the page: signs in the chosen user, or denies the request.
    pub(crate) fn answer_choice(&self, at: Location<'_>, query: &Parameters, form: &Parameters, uri: &Uri) -> Response {
        let requested = match self.validate_request(at, query) {
            Ok(requested) => requested,
            Err(reason) => return responses::text(StatusCode::BAD_REQUEST, reason),
        };
        let chosen = match form.get("person") {
            "nobody" => {
                let denial = Outcome::Error("access_denied".to_owned(), "The user denied the request".to_owned());
                return self.finish_request(at, &requested, denial, uri);
            }
            "other" => ProviderUser::from_input(form.get("name"), form.get("email"), form.get("verified") == "yes"),
            known => ProviderUser::find_preset(known),
        };
        let outcome = match chosen {
            Some(user) => Outcome::User(Box::new(user), Deviation::default()),
            None => Outcome::Page(form.get("email").to_owned()),
        };
        self.finish_request(at, &requested, outcome, uri)
    }

    /// Validates the authorization request, which must come from the auth API.
    fn validate_request(&self, at: Location<'_>, query: &Parameters) -> Result<AuthorizationRequest, &'static str> {
        if at.entry.is_oauth1() {
            return self.validate_oauth1_request(query);
        }
        let Some(registration) = self.registration(at.entry) else {
            return Err("the auth API does not use this provider: enable it in its configuration\n");
        };
        if query.get("client_id") != registration.client_id {
            return Err("client_id is not the auth API's: begin at /auth/v1/authorize\n");
        }
        if query.get("redirect_uri") != registration.redirect_uri {
            return Err("redirect_uri is not the auth API's callback: begin at /auth/v1/authorize\n");
        }
        if query.get("response_type") != "code" {
            return Err("response_type must be code\n");
        }
        let challenge = query.get("code_challenge");
        if challenge.is_empty() && at.entry.needs_pkce {
            return Err("code_challenge is missing: this provider requires PKCE\n");
        }
        if !challenge.is_empty() && query.get("code_challenge_method") != "S256" {
            return Err("code_challenge_method must be S256\n");
        }
        Ok(AuthorizationRequest {
            callback: registration.redirect_uri,
            state: query.get("state").to_owned(),
            nonce: query.get("nonce").to_owned(),
            challenge: challenge.to_owned(),
            scope: query.get("scope").to_owned(),
            request_token: String::new(),
            // Tests without a browser, which have no page, post no form.
            is_form_post: query.get("response_mode") == "form_post" && query.get("prompt") != "none",
        })
    }

    fn validate_oauth1_request(&self, query: &Parameters) -> Result<AuthorizationRequest, &'static str> {
        let request_token = query.get("oauth_token").to_owned();
        let callback = self.find_callback(&request_token);
        let callback = callback.ok_or("oauth_token is unknown or has expired: begin at /auth/v1/authorize\n")?;
        let empty = String::new;
        let (state, nonce, challenge, scope) = (empty(), empty(), empty(), empty());
        Ok(AuthorizationRequest { callback, state, nonce, challenge, scope, request_token, is_form_post: false })
    }

    fn finish_request(
        &self,
        at: Location<'_>,
        requested: &AuthorizationRequest,
        outcome: Outcome,
        uri: &Uri,
    ) -> Response {
        match outcome {
            Outcome::Page(email) => {
                let action = self.form_action(uri);
                responses::page(format_chooser(self.options.page, &action, &email, ""), CHOOSER_POLICY)
            }
            Outcome::Error(..) if at.entry.is_oauth1() => self.finish_oauth1(&requested.request_token, None),
            Outcome::Error(error, description) => {
                let mut fields = vec![("error", error)];
                if !description.is_empty() {
                    fields.push(("error_description", description));
                }
                requested.respond(fields)
            }
            Outcome::User(user, deviation) => {
                let posted = self.posted_user(at, &user);
                let grant = Grant {
                    provider: &at.entry.name,
                    user: *user,
                    deviation,
                    nonce: requested.nonce.clone(),
                    challenge: requested.challenge.clone(),
                    scope: requested.scope.clone(),
                };
                if at.entry.is_oauth1() {
                    return self.finish_oauth1(&requested.request_token, Some(grant));
                }
                let code = ("code", self.codes.insert(grant));
                requested.respond([code].into_iter().chain(posted.map(|posted| ("user", posted))).collect())
            }
        }
    }

    /// Returns the field `user` of the first sign-in of a user, at a provider that posts it once.
    fn posted_user(&self, at: Location<'_>, user: &ProviderUser) -> Option<String> {
        if !at.entry.posts_user {
            return None;
        }
        let mut posted = lock(&self.posted_users);
        if posted.len() >= MAX_POSTED_USERS {
            posted.clear();
        }
        let (first, last) = user.split_name();
        let is_first = posted.insert(user.subject.clone());
        let name = json!({"firstName": first, "lastName": last});
        is_first.then(|| json!({"name": name, "email": user.email}).to_string())
    }
}

impl AuthorizationRequest {
    /// Returns the user to the auth API with these fields and the state.
    fn respond(&self, mut fields: Vec<(&'static str, String)>) -> Response {
        fields.push(("state", self.state.clone()));
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        if self.is_form_post {
            responses::page(format_form_post(&self.callback, &fields), &FORM_POST_POLICY)
        } else {
            responses::redirect(&self.callback, &fields)
        }
    }
}
