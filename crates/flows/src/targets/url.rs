//! A server that runs already: a hosted project, a container, another program.

use std::sync::Arc;

use reqwest::Client;

use super::target::{Target, TargetFuture, Targets, WantedServer};
use crate::FlowError;
use crate::sources::message_source::MessageSource;
use crate::tokens::sign_token;

/// The path of the auth API in projects.
const MOUNT: &str = "/auth/v1";

/// What is known about the server.
#[derive(Debug, Clone, Default)]
pub struct UrlTargetsOptions {
    /// Its URL: of the project, or of the auth API.
    pub url: String,
    /// The key of clients.
    pub publishable_key: Option<String>,
    /// The key of servers.
    pub secret_key: Option<String>,
    /// The secret of its tokens.
    pub jwt_secret: Option<String>,
    /// Where its messages are.
    pub messages: Option<MessageSource>,
}

/// One server for all flows.
#[derive(Debug, Clone)]
pub struct UrlTargets {
    target: Arc<Target>,
}

impl UrlTargets {
    /// Finds where the auth API of the server is.
    ///
    /// # Errors
    /// The server is unreachable, or has no auth API.
    pub async fn find(client: &Client, options: UrlTargetsOptions) -> Result<Self, FlowError> {
        let (project, base) = find_auth_api(client, &options.url).await?;
        let token = |role: &str| {
            let secret = options.jwt_secret.as_deref()?;
            // Far in the future, so that the claims do not depend on the time.
            let claims =
                serde_json::json!({ "role": role, "iss": "supabase", "iat": 1_700_000_000, "exp": 4_000_000_000_u64 });
            Some(sign_token(&claims, secret))
        };
        let target = Target {
            publishable_key: options.publishable_key.clone().or_else(|| token("anon")),
            secret_key: options.secret_key.clone().or_else(|| token("service_role")),
            needs_key: options.publishable_key.is_some() || options.jwt_secret.is_some(),
            jwt_secret: options.jwt_secret.clone(),
            messages: options.messages,
            aliases: find_issuer(client, &base).await.into_iter().collect(),
            base,
            project,
            ..Target::default()
        };
        Ok(Self { target: Arc::new(target) })
    }
}

/// Returns the URLs of project and auth API of a server: at `/auth/v1`, or at the root.
///
/// # Errors
/// The server is unreachable, or has no auth API.
pub async fn find_auth_api(client: &Client, url: &str) -> Result<(String, String), FlowError> {
    let url = url.trim_end_matches('/');
    if let Some(project) = url.strip_suffix(MOUNT) {
        return Ok((project.to_owned(), url.to_owned()));
    }
    let mut problem = "no auth API answers below it".to_owned();
    for base in [format!("{url}{MOUNT}"), url.to_owned()] {
        match client.get(format!("{base}/health")).send().await {
            // A gateway that wants a key knows the path, too.
            Ok(response) if matches!(response.status().as_u16(), 200 | 401) && is_json(&response) => {
                return Ok((url.to_owned(), base));
            }
            Ok(_) => {}
            Err(error) => problem = error.to_string(),
        }
    }
    Err(FlowError::new(format!("{url}: {problem}"), "give the URL of the project, or of its auth API"))
}

/// Returns the issuer of the server's tokens, which behind a gateway is another URL than the given one.
async fn find_issuer(client: &Client, base: &str) -> Option<String> {
    let response = client.get(format!("{base}/.well-known/openid-configuration")).send().await.ok()?;
    let document: serde_json::Value = serde_json::from_slice(&response.bytes().await.ok()?).ok()?;
    document["issuer"].as_str().filter(|issuer| *issuer != base).map(str::to_owned)
}

fn is_json(response: &reqwest::Response) -> bool {
    let content_type = response.headers().get("content-type").and_then(|value| value.to_str().ok());
    content_type.is_some_and(|value| value.contains("json"))
}

impl Targets for UrlTargets {
    fn open<'a>(&'a self, _wanted: &'a WantedServer) -> TargetFuture<'a, Arc<Target>> {
        Box::pin(async { Ok(Arc::clone(&self.target)) })
    }

    fn close<'a>(&'a self, _target: &'a Target) -> TargetFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}
