//! Development pages below `/_dev`: inbox of kept messages, preview of mails, users, simulators, and consent page.
//! [`access`] alone decides about access to them.

mod access;
pub(crate) mod consent;
mod explain;
mod home;
mod inbox;
mod kept_messages;
mod mails;
mod page;
pub(crate) mod payment;
mod peer_process;
pub(crate) mod provider;
mod responses;
mod token_guesses;
mod users;

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use foundation::error_chain::ErrorChain;
use http::StatusCode;
use platform::explanation::ExplanationStore;
use platform::mail::outbox::Outbox;
use platform::store::outbox::{FailingMail, OutboxCounts};
use provider_simulator::Simulator;
use serde::Serialize;

pub(crate) use access::Access;
pub(crate) use explain::is_explanation_path;
pub(crate) use inbox::InboxPages;
pub(crate) use kept_messages::{KeptMessages, OpenMailboxPorts};
pub(crate) use mails::{MailPreview, ShopMails};
pub(crate) use users::UserPages;

use access::AccessRule;
use responses::{DEFAULT_POLICY, is_read, response, text};

pub(crate) struct DevelopmentPages {
    inbox: Option<InboxPages>,
    outbox: Option<Arc<Outbox>>,
    mails: Option<MailPreview>,
    users: Option<UserPages>,
    access: Access,
    provider: Option<Arc<Simulator>>,
    consent: Option<consent::ConsentPage>,
    explanations: Option<Arc<ExplanationStore>>,
    payment: Option<payment::PaymentPages>,
}

/// The page that a request is for.
#[derive(Clone, Copy)]
enum DevPage<'a> {
    Consent(&'a consent::ConsentPage),
    Provider(&'a Simulator),
    /// The page about the provider simulator.
    ProviderOverview(&'a Simulator),
    Explanations(&'a ExplanationStore),
    Payment(&'a payment::PaymentPages),
    Mails(&'a MailPreview),
    Users(&'a UserPages),
    Home,
    Inbox,
}

/// The state of the outbox.
#[derive(Serialize)]
struct OutboxPage {
    state: OutboxCounts,
    troubles: Vec<FailingMail>,
}

impl DevelopmentPages {
    /// Creates the pages.
    /// `inbox`: `None` when no message can be read. `access` decides about access.
    pub(crate) fn new(inbox: Option<InboxPages>, access: Access) -> Self {
        Self {
            inbox,
            outbox: None,
            mails: None,
            users: None,
            access,
            provider: None,
            consent: None,
            explanations: None,
            payment: None,
        }
    }

    /// Returns who may use what is for development.
    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    /// Adds the page about the state of this outbox.
    #[must_use]
    pub(crate) fn with_outbox(self, outbox: Arc<Outbox>) -> Self {
        Self { outbox: Some(outbox), ..self }
    }

    /// Adds the preview of mails.
    #[must_use]
    pub(crate) fn with_mails(self, mails: MailPreview) -> Self {
        Self { mails: Some(mails), ..self }
    }

    /// Adds the list of accounts.
    #[must_use]
    pub(crate) fn with_users(self, users: UserPages) -> Self {
        Self { users: Some(users), ..self }
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

    /// Adds the pages that explain refused requests.
    #[must_use]
    pub(crate) fn with_explanations(self, explanations: Option<Arc<ExplanationStore>>) -> Self {
        Self { explanations, ..self }
    }

    /// Adds the payment simulator.
    #[must_use]
    pub(crate) fn with_payment(self, payment: Option<payment::PaymentPages>) -> Self {
        Self { payment, ..self }
    }

    /// Answers a request below `/_dev`.
    /// The request must be unmodified, because access depends on its headers.
    pub(crate) async fn answer(&self, mut request: Request) -> Response {
        let page = if home::is_home(request.uri()) { DevPage::Home } else { self.find_page(request.uri().path()) };
        if let DevPage::Provider(simulator) = page {
            provider::restore_path(simulator, &mut request);
        }
        let audience = page.audience(&request);
        if !self.access.is_allowed(&request, audience).await {
            return text(StatusCode::FORBIDDEN, self.access.denial_message(audience));
        }
        let (uri, links) = (request.uri().clone(), self.list_pages());
        let header = home::format_header(&uri, &links);
        match page {
            DevPage::Consent(page) => page.answer(&request),
            DevPage::Provider(provider) => provider.answer(request).await,
            DevPage::ProviderOverview(simulator) => provider::answer_overview(simulator, &request, &header),
            DevPage::Explanations(store) => explain::answer(store, &request, &header),
            DevPage::Payment(pages) => pages.answer(request, &header).await,
            DevPage::Mails(preview) => preview.answer(request.method(), &uri, &header).await,
            DevPage::Users(pages) => pages.answer(request.method(), &uri, &header).await,
            DevPage::Home => home::answer(uri.path(), &links),
            DevPage::Inbox => self.answer_inbox(request, &header).await,
        }
    }

    /// Returns the pages that this server has.
    fn list_pages(&self) -> Vec<home::DevLink> {
        [
            (self.inbox.is_some(), home::INBOX),
            (self.mails.is_some(), home::MAILS),
            (self.users.is_some(), home::USERS),
            (self.outbox.is_some(), home::OUTBOX),
            (self.payment.is_some(), home::PAYMENT),
            (self.provider.is_some(), home::PROVIDER),
            (self.consent.is_some(), home::CONSENT),
            (self.explanations.is_some(), home::EXPLANATIONS),
        ]
        .into_iter()
        .filter_map(|(has, link)| has.then_some(link))
        .collect()
    }

    fn find_page(&self, path: &str) -> DevPage<'_> {
        if let Some(store) = self.explanations.as_deref().filter(|_| explain::is_explanation_path(path)) {
            return DevPage::Explanations(store);
        }
        if let Some(pages) = self.payment.as_ref().filter(|_| payment::is_payment_path(path)) {
            return DevPage::Payment(pages);
        }
        if let Some(preview) = self.mails.as_ref().filter(|_| mails::is_mails_path(path)) {
            return DevPage::Mails(preview);
        }
        if let Some(pages) = self.users.as_ref().filter(|_| users::is_users_path(path)) {
            return DevPage::Users(pages);
        }
        match (&self.consent, &self.provider) {
            (Some(page), _) if consent::is_consent_path(path) => DevPage::Consent(page),
            (_, Some(provider)) if provider::is_overview(path) => DevPage::ProviderOverview(provider),
            (_, Some(provider)) if provider::is_provider_path(path) => DevPage::Provider(provider),
            _ => DevPage::Inbox,
        }
    }

    /// Answers with the messages, or with the state of the outbox.
    async fn answer_inbox(&self, request: Request, header: &str) -> Response {
        match (request.uri().path(), &self.outbox, &self.inbox) {
            ("/_dev/outbox.json", Some(outbox), _) if is_read(request.method()) => {
                outbox_state(outbox).await.unwrap_or_else(|error| {
                    tracing::error!(error = %ErrorChain(error.as_ref()), "reading the outbox failed");
                    text(StatusCode::INTERNAL_SERVER_ERROR, "the mails cannot be read; the log says why\n")
                })
            }
            ("/_dev/inbox.css", _, _) if is_read(request.method()) => {
                response(StatusCode::OK, "text/css; charset=utf-8", DEFAULT_POLICY, page::STYLE.as_bytes().to_vec())
            }
            (_, _, Some(inbox)) => inbox.answer(request, header).await,
            _ => text(
                StatusCode::NOT_FOUND,
                "mail goes to the mail server of [auth.email.smtp]; there is no inbox here; /_dev/outbox.json tells how mails are doing\n",
            ),
        }
    }
}

impl<'a> DevPage<'a> {
    fn audience(self, request: &Request) -> AccessRule<'a> {
        match self {
            Self::Consent(page) => page.access_rule(),
            Self::Provider(simulator) => provider::access_rule(simulator, request),
            Self::Explanations(_) => explain::access_rule(request),
            Self::Payment(_) | Self::Mails(_) | Self::Users(_) | Self::Home | Self::ProviderOverview(_) => {
                AccessRule::Local
            }
            Self::Inbox => AccessRule::LocalOrToken,
        }
    }
}

/// Returns counts and the failing mails, without their contents.
async fn outbox_state(outbox: &Outbox) -> anyhow::Result<Response> {
    let page = OutboxPage { state: outbox.count_by_state().await?, troubles: outbox.list_failing().await? };
    Ok(response(StatusCode::OK, "application/json", DEFAULT_POLICY, serde_json::to_vec(&page)?))
}

#[cfg(test)]
mod tests;
