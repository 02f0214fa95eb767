//! Pages for developers, below `/_dev`: the inbox that shows mail which no mail server was named for, the development
//! provider, and the page that asks for consent. Who may open which is decided in [`access`] alone.

mod access;
pub mod consent;
mod inbox;
mod kept;
mod page;
pub mod provider;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use gotrue_rs::ports::mail::outbox::Outbox;
use gotrue_rs::store::outbox::{OutboxState, Trouble};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Method, StatusCode, Uri};
use serde::Serialize;

pub use access::Access;
pub use inbox::{Inbox, Mail};

use access::Audience;

use http_edge::Closing;

/// The longest a caller may wait for a mail.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// Our page needs no script at all.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// A mail as its author made it, cut off from everything.
const MAIL_POLICY: &str =
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'";

/// The pages.
pub struct Dev {
    inbox: Option<Arc<dyn Inbox>>,
    outbox: Option<Arc<Outbox>>,
    access: Access,
    provider: Option<provider::Provider>,
    consent: Option<consent::Page>,
    closing: Closing,
}

/// Which of the pages a request is for.
#[derive(Clone, Copy)]
enum DevPage<'a> {
    Consent(&'a consent::Page),
    Provider(&'a provider::Provider),
    Inbox,
}

/// How the mails are doing.
#[derive(Serialize)]
struct OutboxPage {
    state: OutboxState,
    troubles: Vec<Trouble>,
}

#[derive(Serialize)]
struct Messages {
    messages: Vec<Mail>,
}

impl Dev {
    /// `inbox`: none when mail goes to a mail server. `access` decides who is let in. Nobody waits for a mail once `closing`
    /// says so.
    pub fn new(inbox: Option<Arc<dyn Inbox>>, access: Access, closing: Closing) -> Self {
        Self { inbox, outbox: None, access, provider: None, consent: None, closing }
    }

    /// The same, showing how the mails of this outbox are doing.
    #[must_use]
    pub fn watching(self, outbox: Arc<Outbox>) -> Self {
        Self { outbox: Some(outbox), ..self }
    }

    /// The same, with a provider to try social sign-in with.
    #[must_use]
    pub fn providing(self, provider: Option<provider::Provider>) -> Self {
        Self { provider, ..self }
    }

    /// The same, asking for consent where the operator has no page that does.
    #[must_use]
    pub fn consenting(self, consent: Option<consent::Page>) -> Self {
        Self { consent, ..self }
    }

    /// Answers a request below `/_dev`, which must be as the client sent it.
    pub async fn answer(&self, request: Request) -> Response {
        let page = self.page(request.uri().path());
        let audience = page.audience(&request);
        if !self.access.permits(&request, audience) {
            return text(StatusCode::FORBIDDEN, self.access.refusal(audience));
        }
        match page {
            DevPage::Consent(page) => page.answer(&request),
            DevPage::Provider(provider) => provider.answer(request).await,
            DevPage::Inbox => {
                let (method, uri) = (request.method().clone(), request.uri().clone());
                self.answer_inbox(&method, &uri).await
            }
        }
    }

    fn page(&self, path: &str) -> DevPage<'_> {
        match (&self.consent, &self.provider) {
            (Some(page), _) if consent::is_below(path) => DevPage::Consent(page),
            (_, Some(provider)) if provider::is_below(path) => DevPage::Provider(provider),
            _ => DevPage::Inbox,
        }
    }

    /// Answers with the mails, or with how they are doing.
    async fn answer_inbox(&self, method: &Method, uri: &Uri) -> Response {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "these pages are only read\n");
        }
        if let ("/_dev/outbox.json", Some(outbox)) = (uri.path(), &self.outbox) {
            return or_failed(state_of(outbox).await);
        }
        let Some(inbox) = &self.inbox else {
            return text(
                StatusCode::NOT_FOUND,
                "mail goes to the mail server of [auth.email.smtp]; there is no inbox here; /_dev/outbox.json tells how mails are doing\n",
            );
        };
        let query = Query::of(uri);
        let result = match uri.path() {
            "/_dev/inbox.json" => json(inbox.as_ref(), &query, self.closing.clone()).await,
            "/_dev/inbox" | "/_dev" | "/_dev/" => listing(inbox.as_ref(), &query).await,
            "/_dev/inbox.css" => Ok(styled()),
            path => match path.strip_prefix("/_dev/inbox/") {
                Some(id) => one(inbox.as_ref(), id).await,
                None => Ok(text(StatusCode::NOT_FOUND, "the inbox is at /_dev/inbox\n")),
            },
        };
        or_failed(result)
    }
}

impl<'a> DevPage<'a> {
    fn audience(self, request: &Request) -> Audience<'a> {
        match self {
            Self::Consent(page) => page.audience(),
            Self::Provider(_) => provider::audience(request),
            Self::Inbox => Audience::TokenHolders,
        }
    }
}

fn or_failed(result: anyhow::Result<Response>) -> Response {
    result.unwrap_or_else(|error| {
        tracing::error!(error = format!("{error:#}"), "the mails cannot be read");
        text(StatusCode::INTERNAL_SERVER_ERROR, "the mails cannot be read; the log says why\n")
    })
}

/// Counts, and the mails that go badly, without what is in them.
async fn state_of(outbox: &Outbox) -> anyhow::Result<Response> {
    let page = OutboxPage { state: outbox.state().await?, troubles: outbox.troubles().await? };
    Ok(response(StatusCode::OK, "application/json", POLICY, serde_json::to_vec(&page)?))
}

/// The parameters of a page.
#[derive(Default)]
struct Query {
    to: Option<String>,
    wait: Duration,
    token: Option<String>,
}

impl Query {
    fn of(uri: &Uri) -> Self {
        let mut query = Self::default();
        for (name, value) in gotrue_rs::http::request_info::parse_pairs(uri.query().unwrap_or_default()) {
            match name.as_str() {
                "to" if !value.is_empty() => query.to = Some(value),
                "wait" => query.wait = Duration::from_secs(value.parse().unwrap_or(0)).min(LONGEST_WAIT),
                "token" => query.token = Some(value),
                _ => {}
            }
        }
        query
    }
}

/// The newest first; with `wait`, as soon as there is one.
async fn json(inbox: &dyn Inbox, query: &Query, mut closing: Closing) -> anyhow::Result<Response> {
    let to = query.to.as_deref();
    let messages = tokio::select! {
        messages = inbox.mails(to, query.wait) => messages?,
        _ = closing.wait_for(|closing| *closing) => Vec::new(),
    };
    let body = serde_json::to_vec(&Messages { messages })?;
    Ok(response(StatusCode::OK, "application/json", POLICY, body))
}

async fn listing(inbox: &dyn Inbox, query: &Query) -> anyhow::Result<Response> {
    let mails = inbox.mails(query.to.as_deref(), Duration::ZERO).await?;
    let body = page::listing(&mails, query.to.as_deref(), query.token.as_deref());
    Ok(response(StatusCode::OK, "text/html; charset=utf-8", POLICY, body.into_bytes()))
}

async fn one(inbox: &dyn Inbox, id: &str) -> anyhow::Result<Response> {
    Ok(match inbox.mail(id).await? {
        Some(mail) if !mail.html.is_empty() => {
            response(StatusCode::OK, "text/html; charset=utf-8", MAIL_POLICY, mail.html.into_bytes())
        }
        Some(mail) => text(StatusCode::OK, &mail.text),
        None => text(StatusCode::NOT_FOUND, "there is no such mail; the inbox is at /_dev/inbox\n"),
    })
}

fn styled() -> Response {
    response(StatusCode::OK, "text/css; charset=utf-8", POLICY, page::STYLE.as_bytes().to_vec())
}

fn text(status: StatusCode, text: &str) -> Response {
    response(status, "text/plain; charset=utf-8", POLICY, text.as_bytes().to_vec())
}

fn response(status: StatusCode, content_type: &'static str, policy: &'static str, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests;
