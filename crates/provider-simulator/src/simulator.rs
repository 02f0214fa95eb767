//! The simulator: its settings for the auth API, and the dispatch of requests to endpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::Request;
use axum::response::Response;
use foundation::secret::Secret;
use gotrue_rules::domain::policy::{ExternalProviderSettings, Policy};
use http::{Method, StatusCode, Uri};
use platform::clock::SharedClock;
use platform::entropy::Entropy;
use platform::saml_keys::SamlSigningKey;
use serde_json::{Value, json};

use crate::catalog::{GENERIC, ProviderEntry, ResourceTemplate, find_provider, provider_names};
use crate::keys::SigningKeys;
use crate::next::{NextSignIn, NextSignInError};
use crate::parameters::Parameters;
use crate::registration::ClientRegistration;
use crate::responses;
use crate::tokens::{CODE_LIFETIME, Grant, REFRESH_LIFETIME, RequestToken, SecretTable, SignedGrant, TOKEN_LIFETIME};

const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";
const KEYS_PATH: &str = "/jwks";
/// The path of ID tokens for clients that get them without a redirect, as native apps do.
const ID_TOKEN_PATH: &str = "/id_token";
/// The client id for providers without settings.
const DEFAULT_CLIENT_ID: &str = "basalt";
/// The realm of Keycloak without settings; no request reaches its host.
const DEFAULT_REALM: &str = "https://keycloak.example.com/realms/basalt";

/// What a simulator is created with.
#[derive(Debug, Clone)]
pub struct SimulatorOptions {
    /// Its URL without a trailing slash, such as `http://127.0.0.1:54321/_dev/provider`.
    pub base_url: String,
    /// The URL of its auth API, such as `http://127.0.0.1:54321/auth/v1`.
    pub auth_url: String,
    /// The page for choosing a user, with `{{action}}`, `{{email}}` and `{{name}}`.
    pub page: &'static str,
}

/// The simulated providers of one auth API.
pub struct Simulator {
    pub(crate) options: SimulatorOptions,
    pub(crate) keys: SigningKeys,
    pub(crate) clock: SharedClock,
    pub(crate) entropy: Entropy,
    /// Authorized codes.
    pub(crate) codes: SecretTable<Grant>,
    pub(crate) access_tokens: SecretTable<Grant>,
    pub(crate) refresh_tokens: SecretTable<Grant>,
    pub(crate) request_tokens: SecretTable<RequestToken>,
    pub(crate) verifiers: SecretTable<SignedGrant>,
    pub(crate) signed_tokens: SecretTable<SignedGrant>,
    /// Users that have signed in at a provider that posts their name once.
    pub(crate) posted_users: Mutex<BTreeSet<String>>,
    /// The key of the SAML identity provider, generated at its first use.
    pub(crate) saml_key: Mutex<Option<Arc<SamlSigningKey>>>,
    registrations: Mutex<BTreeMap<String, ClientRegistration>>,
    next: Mutex<BTreeMap<String, NextSignIn>>,
}

impl std::fmt::Debug for Simulator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Simulator").field("base_url", &self.options.base_url).finish_non_exhaustive()
    }
}

/// Where a request goes: a provider and the path at one of its hosts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Location<'a> {
    pub entry: &'static ProviderEntry,
    /// Its host; empty at the plain OpenID provider.
    pub host: &'a str,
    /// The path at the host.
    pub path: &'a str,
}

/// An endpoint of a provider.
#[derive(Debug, Clone, Copy)]
enum Endpoint {
    Discovery,
    Keys,
    Metadata,
    Authorize,
    Token,
    RequestToken,
    IdToken,
    Resource(&'static ResourceTemplate),
}

impl Simulator {
    /// Creates a simulator with new keys and without users, codes or tokens.
    ///
    /// # Errors
    ///
    /// Fails if no key can be generated.
    pub fn new(options: SimulatorOptions, clock: SharedClock, entropy: Entropy) -> anyhow::Result<Self> {
        let simulator = Self {
            keys: SigningKeys::default(),
            codes: SecretTable::new(CODE_LIFETIME, &clock, &entropy),
            access_tokens: SecretTable::new(TOKEN_LIFETIME, &clock, &entropy),
            refresh_tokens: SecretTable::new(REFRESH_LIFETIME, &clock, &entropy),
            request_tokens: SecretTable::new(CODE_LIFETIME, &clock, &entropy),
            verifiers: SecretTable::new(CODE_LIFETIME, &clock, &entropy),
            signed_tokens: SecretTable::new(TOKEN_LIFETIME, &clock, &entropy),
            posted_users: Mutex::default(),
            saml_key: Mutex::default(),
            registrations: Mutex::default(),
            next: Mutex::default(),
            options,
            clock,
            entropy,
        };
        simulator.settings(GENERIC, None);
        Ok(simulator)
    }

    /// Replaces the settings of these providers so that the auth API talks to the simulator.
    /// Unknown names are ignored.
    pub fn apply<'n>(&self, policy: &mut Policy, names: impl IntoIterator<Item = &'n str>) {
        let providers = &mut policy.external.providers;
        for name in names {
            let configured = providers.get(name).filter(|settings| settings.enabled);
            if let Some(settings) = self.settings(name, configured) {
                providers.insert(name.to_owned(), settings);
            }
        }
    }

    /// Replaces the settings of all enabled providers, as [`Simulator::apply`] does.
    pub fn apply_to_enabled(&self, policy: &mut Policy) {
        let providers = policy.external.providers.iter();
        let enabled = providers.filter(|(_, settings)| settings.enabled).map(|(name, _)| name.clone());
        let enabled: Vec<_> = enabled.collect();
        self.apply(policy, enabled.iter().map(String::as_str));
    }

    /// Registers the auth API at a provider and returns its settings; `None` for an unknown provider.
    ///
    /// Settings that the operator configured are kept. Without them, users need no e-mail address, and client id and
    /// secret are the simulator's.
    pub fn settings(
        &self,
        name: &str,
        configured: Option<&ExternalProviderSettings>,
    ) -> Option<ExternalProviderSettings> {
        let entry = find_provider(name).filter(|entry| !entry.is_saml())?;
        let usual = || ExternalProviderSettings { email_optional: true, ..ExternalProviderSettings::default() };
        let mut settings = configured.cloned().unwrap_or_else(usual);
        settings.enabled = true;
        if settings.client_ids.is_empty() {
            settings.client_ids = vec![DEFAULT_CLIENT_ID.to_owned()];
        }
        if settings.secret.is_empty() {
            let known = self.registration(entry).map(|registration| registration.secret);
            settings.secret = known.unwrap_or_else(|| Secret::new(self.entropy.base32(40)));
        }
        if settings.redirect_uri.is_empty() {
            settings.redirect_uri = format!("{}/callback", self.options.auth_url.trim_end_matches('/'));
        }
        if settings.url.is_empty() && name == "keycloak" {
            DEFAULT_REALM.clone_into(&mut settings.url);
        }
        settings.simulator_url = self.provider_url(entry);
        lock(&self.registrations).insert(name.to_owned(), ClientRegistration::from_settings(&settings));
        Some(settings)
    }

    /// Determines the next sign-in at a provider, in place of an earlier determination.
    ///
    /// # Errors
    ///
    /// The provider is unknown or not enabled, or cannot sign in like this.
    pub fn set_next(&self, name: &str, next: NextSignIn) -> Result<(), NextSignInError> {
        let entry = find_provider(name).ok_or_else(|| {
            let names: Vec<_> = provider_names().collect();
            NextSignInError::new(format!("unknown provider {name:?}; the providers are {}", names.join(", ")))
        })?;
        if !entry.is_saml() && self.registration(entry).is_none() {
            return Err(NextSignInError::new(format!(
                "{name} is not enabled: set enabled = true, a client id and a secret in [auth.external.{name}]"
            )));
        }
        next.validate_for(entry)?;
        lock(&self.next).insert(name.to_owned(), next);
        Ok(())
    }

    /// Forgets codes, tokens, and the sign-ins that tests determined.
    pub fn reset(&self) {
        for table in [&self.codes, &self.access_tokens, &self.refresh_tokens] {
            table.clear();
        }
        self.request_tokens.clear();
        self.verifiers.clear();
        self.signed_tokens.clear();
        lock(&self.posted_users).clear();
        lock(&self.next).clear();
    }

    /// Answers a request below the path of the base URL.
    ///
    /// A router may have removed the beginning of that path, up to its last two segments.
    pub async fn answer(&self, request: Request) -> Response {
        let path = request.uri().path().to_owned();
        let Some(at) = self.locate(&path) else { return not_found() };
        let Some(endpoint) = at.endpoint() else { return not_found() };
        let query = Parameters::parse(request.uri().query().unwrap_or_default());
        let (parts, body) = request.into_parts();
        let form = match (&parts.method, endpoint) {
            (&Method::POST, Endpoint::Authorize | Endpoint::Token) => match Parameters::read_form(body).await {
                Ok(form) => form,
                Err(refused) => return refused,
            },
            _ => Parameters::default(),
        };
        match (&parts.method, endpoint) {
            (&Method::GET, Endpoint::Discovery) => responses::json(StatusCode::OK, &self.discovery_document(at)),
            (&Method::GET, Endpoint::Keys) => self.answer_keys(at).await,
            (&Method::GET, Endpoint::Metadata) => self.answer_metadata().await,
            (&Method::GET, Endpoint::Authorize) if at.entry.is_saml() => {
                self.answer_authn_request(&query, &parts.uri).await
            }
            (&Method::POST, Endpoint::Authorize) if at.entry.is_saml() => {
                self.answer_authn_choice(&query, &form, &parts.uri).await
            }
            (&Method::GET, Endpoint::Authorize) => self.answer_authorization(at, &query, &parts.uri),
            (&Method::POST, Endpoint::Authorize) => self.answer_choice(at, &query, &form, &parts.uri),
            (&Method::GET, Endpoint::RequestToken) => self.answer_request_token(at, &parts),
            (&Method::GET, Endpoint::Token) if at.entry.is_oauth1() => self.answer_access_token(at, &parts).await,
            (&Method::GET, Endpoint::Resource(resource)) if at.entry.is_oauth1() => {
                self.answer_signed_resource(at, resource, &parts)
            }
            (&Method::POST, Endpoint::Token) if !at.entry.is_oauth1() => {
                self.answer_token(at, &parts.headers, &form).await
            }
            (&Method::GET, Endpoint::IdToken) => self.answer_id_token(at, &query).await,
            (&Method::GET, Endpoint::Resource(resource)) => self.answer_resource(at, resource, &parts.headers, &query),
            _ => responses::text(StatusCode::METHOD_NOT_ALLOWED, "not with this method\n"),
        }
    }

    /// Lists the names of the providers that stand in for real ones, in the order of the alphabet.
    pub fn list_stand_ins(&self) -> Vec<String> {
        lock(&self.registrations).keys().filter(|name| *name != GENERIC).cloned().collect()
    }

    /// Returns the path of its base URL, with which the paths of its requests start.
    pub fn base_path(&self) -> &str {
        base_path(&self.options.base_url)
    }

    /// Returns whether a path is a page that browsers navigate to from other sites with GET.
    pub fn is_page(&self, path: &str) -> bool {
        self.locate(path).and_then(|at| at.endpoint()).is_some_and(|endpoint| matches!(endpoint, Endpoint::Authorize))
    }

    /// Returns the name of the provider that a path belongs to.
    pub fn provider_name(&self, path: &str) -> Option<&'static str> {
        self.locate(path).map(|at| at.entry.name.as_str())
    }

    /// Returns the registration of the auth API at a provider.
    pub(crate) fn registration(&self, entry: &ProviderEntry) -> Option<ClientRegistration> {
        lock(&self.registrations).get(&entry.name).cloned()
    }

    /// Takes the next sign-in at a provider, if a test determined it.
    pub(crate) fn take_next(&self, name: &str) -> Option<NextSignIn> {
        lock(&self.next).remove(name)
    }

    /// Returns the URL that stands for the root of a provider.
    pub(crate) fn provider_url(&self, entry: &ProviderEntry) -> String {
        let base = &self.options.base_url;
        if entry.name == GENERIC { base.clone() } else { format!("{base}/{}", entry.name) }
    }

    /// Finds the provider, host and path of a request, given its whole path.
    fn locate<'a>(&self, path: &'a str) -> Option<Location<'a>> {
        let rest = self.strip_base(path)?;
        let named = split_segment(rest).and_then(|(name, rest)| Some((find_provider(name)?, rest)));
        let Some((entry, rest)) = named else {
            return find_provider(GENERIC).map(|entry| Location { entry, host: "", path: rest });
        };
        let (host, path) = split_segment(rest).filter(|(_, path)| !path.is_empty()).unwrap_or(("", rest));
        Some(Location { entry, host, path })
    }

    /// Returns the URL that a page posts its forms to: that of the page.
    pub(crate) fn form_action(&self, uri: &Uri) -> String {
        let rest = self.strip_base(uri.path()).unwrap_or_default();
        format!("{}{rest}?{}", base_path(&self.options.base_url), uri.query().unwrap_or_default())
    }

    /// Removes the path of the base URL, or its last two segments, from the beginning of a path.
    fn strip_base<'a>(&self, path: &'a str) -> Option<&'a str> {
        let base = base_path(&self.options.base_url);
        let last = base.rmatch_indices('/').nth(1).map_or(base, |(at, _)| &base[at..]);
        let rest = path.strip_prefix(base).or_else(|| path.strip_prefix(last))?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    }

    fn discovery_document(&self, at: Location<'_>) -> Value {
        let prefix = at.path.strip_suffix(DISCOVERY_PATH).unwrap_or_default();
        let Location { entry, host, .. } = at;
        let (issuer, url) = if host.is_empty() {
            (self.options.base_url.clone(), self.options.base_url.clone())
        } else {
            (format!("https://{host}{prefix}"), format!("{}/{host}{prefix}", self.provider_url(entry)))
        };
        let userinfo = entry.resources.first().map_or("", |resource| &resource.path);
        json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{url}{}", entry.authorize),
            "token_endpoint": format!("{url}{}", entry.token),
            "userinfo_endpoint": format!("{url}{userinfo}"),
            "jwks_uri": format!("{url}{KEYS_PATH}"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [entry.key_algorithm().as_str()],
            "code_challenge_methods_supported": ["S256"],
            "scopes_supported": ["openid", "email", "profile"],
        })
    }
}

impl<'a> Location<'a> {
    fn endpoint(&self) -> Option<Endpoint> {
        let entry = self.entry;
        let is_at = |end: &str| self.path.ends_with(end);
        if is_at(DISCOVERY_PATH) && !entry.is_saml() {
            Some(Endpoint::Discovery)
        } else if is_at(KEYS_PATH) && !entry.is_saml() {
            Some(Endpoint::Keys)
        } else if is_at(ID_TOKEN_PATH) && entry.has_id_token() {
            Some(Endpoint::IdToken)
        } else if entry.request_token.as_deref().is_some_and(is_at) {
            Some(Endpoint::RequestToken)
        } else if is_at(&entry.authorize) {
            Some(Endpoint::Authorize)
        } else if entry.metadata.as_deref().is_some_and(is_at) {
            Some(Endpoint::Metadata)
        } else if !entry.token.is_empty() && is_at(&entry.token) {
            Some(Endpoint::Token)
        } else {
            let found = entry.resources.iter().filter(|resource| is_at(&resource.path));
            found.max_by_key(|resource| resource.path.len()).map(Endpoint::Resource)
        }
    }

    /// Returns the path in front of an endpoint's, without it.
    pub(crate) fn prefix(&self, endpoint: &str) -> &'a str {
        self.path.strip_suffix(endpoint).unwrap_or_default()
    }
}

/// Returns the path of a base URL.
fn base_path(base_url: &str) -> &str {
    let rest = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    rest.find('/').map_or("", |at| &rest[at..])
}

/// Splits the first segment off a path; the rest starts with a slash or is empty.
fn split_segment(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix('/')?;
    Some(rest.split_at(rest.find('/').unwrap_or(rest.len())))
}

/// Locks a mutex, also after a panic of another thread.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_found() -> Response {
    responses::text(StatusCode::NOT_FOUND, "no provider has this endpoint; sign-ins begin at /auth/v1/authorize\n")
}
