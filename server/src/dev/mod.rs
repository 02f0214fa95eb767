//! Development pages below `/_dev`: inbox of unsent mail, provider simulator, and consent page.
//! [`access`] alone decides about access to them.

mod access;
pub(crate) mod consent;
mod inbox;
mod outbox_inbox;
mod page;
pub(crate) mod provider;
mod responses;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::response::Response;
use gotrue_rs::ports::mail::outbox::Outbox;
use gotrue_rs::store::outbox::{FailingMail, OutboxCounts};
use gotrue_rules::domain::error::chain::ErrorChain;
use http::{Method, StatusCode, Uri};
use provider_simulator::Simulator;
use serde::Serialize;

pub(crate) use access::Access;
pub(crate) use inbox::{Inbox, InboxMessage};

use access::AccessRule;
use responses::{DEFAULT_POLICY, response, text};

use http_edge::ShutdownSignal;

/// The longest time that a client may wait for a mail.
const MAX_WAIT: Duration = Duration::from_mins(1);
/// Content Security Policy of a displayed mail: everything external is blocked.
const MAIL_POLICY: &str =
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'";

/// The development pages.
pub(crate) struct DevelopmentPages {
    inbox: Option<Arc<dyn Inbox>>,
    outbox: Option<Arc<Outbox>>,
    access: Access,
    provider: Option<Arc<Simulator>>,
    consent: Option<consent::ConsentPage>,
    closing: ShutdownSignal,
}

/// The page that a request is for.
#[derive(Clone, Copy)]
enum DevPage<'a> {
    Consent(&'a consent::ConsentPage),
    Provider(&'a Simulator),
    Inbox,
}

/// The state of the outbox.
#[derive(Serialize)]
struct OutboxPage {
    state: OutboxCounts,
    troubles: Vec<FailingMail>,
}

#[derive(Serialize)]
struct Messages {
    messages: Vec<InboxMessage>,
}

impl DevelopmentPages {
    /// Creates the pages.
    /// `inbox`: `None` when mail goes to a mail server.
    /// `access` decides about access. Requests stop waiting for mail once `closing` is true.
    pub(crate) fn new(inbox: Option<Arc<dyn Inbox>>, access: Access, closing: ShutdownSignal) -> Self {
        Self { inbox, outbox: None, access, provider: None, consent: None, closing }
    }

    /// Adds the page about the state of this outbox.
    #[must_use]
    pub(crate) fn with_outbox(self, outbox: Arc<Outbox>) -> Self {
        Self { outbox: Some(outbox), ..self }
    }

    /// Adds the provider simulator.
    #[must_use]
    pub(crate) fn with_provider(self, provider: Option<Arc<Simulator>>) -> Self {
        Self { provider, ..self }
    }

    /// Adds the consent page, for operators without one.
    #[must_use]
    pub(crate) fn with_consent(self, consent: Option<consent::ConsentPage>) -> Self {
        Self { consent, ..self }
    }

    /// Answers a request below `/_dev`.
    /// The request must be unmodified, because access depends on its headers.
    pub(crate) async fn answer(&self, mut request: Request) -> Response {
        let page = self.find_page(request.uri().path());
        if let DevPage::Provider(simulator) = page {
            provider::restore_path(simulator, &mut request);
        }
        let audience = page.audience(&request);
        if !self.access.is_allowed(&request, audience) {
            return text(StatusCode::FORBIDDEN, self.access.denial_message(audience));
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

    fn find_page(&self, path: &str) -> DevPage<'_> {
        match (&self.consent, &self.provider) {
            (Some(page), _) if consent::is_consent_path(path) => DevPage::Consent(page),
            (_, Some(provider)) if provider::is_provider_path(path) => DevPage::Provider(provider),
            _ => DevPage::Inbox,
        }
    }

    /// Answers with the mails, or with the state of the outbox.
    async fn answer_inbox(&self, method: &Method, uri: &Uri) -> Response {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "these pages are only read\n");
        }
        if let ("/_dev/outbox.json", Some(outbox)) = (uri.path(), &self.outbox) {
            return or_internal_error(outbox_state(outbox).await);
        }
        let Some(inbox) = &self.inbox else {
            return text(
                StatusCode::NOT_FOUND,
                "mail goes to the mail server of [auth.email.smtp]; there is no inbox here; /_dev/outbox.json tells how mails are doing\n",
            );
        };
        let query = InboxQuery::parse(uri);
        let result = match uri.path() {
            "/_dev/inbox.json" => inbox_json(inbox.as_ref(), &query, self.closing.clone()).await,
            "/_dev/inbox" | "/_dev" | "/_dev/" => inbox_page(inbox.as_ref(), &query).await,
            "/_dev/inbox.css" => Ok(stylesheet()),
            path => match path.strip_prefix("/_dev/inbox/") {
                Some(id) => mail_page(inbox.as_ref(), id).await,
                None => Ok(text(StatusCode::NOT_FOUND, "the inbox is at /_dev/inbox\n")),
            },
        };
        or_internal_error(result)
    }
}

impl<'a> DevPage<'a> {
    fn audience(self, request: &Request) -> AccessRule<'a> {
        match self {
            Self::Consent(page) => page.access_rule(),
            Self::Provider(simulator) => provider::access_rule(simulator, request),
            Self::Inbox => AccessRule::LocalOrToken,
        }
    }
}

fn or_internal_error(result: anyhow::Result<Response>) -> Response {
    result.unwrap_or_else(|error| {
        tracing::error!(error = %ErrorChain(error.as_ref()), "reading the outbox failed");
        text(StatusCode::INTERNAL_SERVER_ERROR, "the mails cannot be read; the log says why\n")
    })
}

/// Returns counts and the failing mails, without their contents.
async fn outbox_state(outbox: &Outbox) -> anyhow::Result<Response> {
    let page = OutboxPage { state: outbox.count_by_state().await?, troubles: outbox.list_failing().await? };
    Ok(response(StatusCode::OK, "application/json", DEFAULT_POLICY, serde_json::to_vec(&page)?))
}

/// Query parameters of the inbox.
#[derive(Default)]
struct InboxQuery {
    to: Option<String>,
    wait: Duration,
    token: Option<String>,
}

impl InboxQuery {
    fn parse(uri: &Uri) -> Self {
        let mut query = Self::default();
        for (name, value) in gotrue_rs::http::request_info::parse_pairs(uri.query().unwrap_or_default()) {
            match name.as_str() {
                "to" if !value.is_empty() => query.to = Some(value),
                "wait" => query.wait = Duration::from_secs(value.parse().unwrap_or(0)).min(MAX_WAIT),
                "token" => query.token = Some(value),
                _ => {}
            }
        }
        query
    }
}

/// Returns the newest mails first; with `wait`, waits until there is one.
async fn inbox_json(inbox: &dyn Inbox, query: &InboxQuery, mut closing: ShutdownSignal) -> anyhow::Result<Response> {
    let to = query.to.as_deref();
    let messages = tokio::select! {
        messages = inbox.list_mails(to, query.wait) => messages?,
        _ = closing.wait_for(|closing| *closing) => Vec::new(),
    };
    let body = serde_json::to_vec(&Messages { messages })?;
    Ok(response(StatusCode::OK, "application/json", DEFAULT_POLICY, body))
}

async fn inbox_page(inbox: &dyn Inbox, query: &InboxQuery) -> anyhow::Result<Response> {
    let mails = inbox.list_mails(query.to.as_deref(), Duration::ZERO).await?;
    let body = page::format_inbox(&mails, query.to.as_deref(), query.token.as_deref());
    Ok(response(StatusCode::OK, "text/html; charset=utf-8", DEFAULT_POLICY, body.into_bytes()))
}

async fn mail_page(inbox: &dyn Inbox, id: &str) -> anyhow::Result<Response> {
    Ok(match inbox.find_mail(id).await? {
        Some(mail) if !mail.html.is_empty() => {
            response(StatusCode::OK, "text/html; charset=utf-8", MAIL_POLICY, mail.html.into_bytes())
        }
        Some(mail) => text(StatusCode::OK, &mail.text),
        None => text(StatusCode::NOT_FOUND, "there is no such mail; the inbox is at /_dev/inbox\n"),
    })
}

fn stylesheet() -> Response {
    response(StatusCode::OK, "text/css; charset=utf-8", DEFAULT_POLICY, page::STYLE.as_bytes().to_vec())
}

#[cfg(test)]
mod tests;
