//! Renders subject and body of a pair. Texts of the operator are rendered on threads of their own: what they take away from
//! is the next such mail, never another request.

use std::sync::Arc;
use std::time::Duration;

use gotmpl::Value;
use gotmpl::html::Template;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::limits;
use super::pair::TemplatePair;

/// How many mails are rendered at once.
static RENDERINGS: Semaphore = Semaphore::const_new(4);
/// The longest time that a mail waits for its turn.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Subject and body; or the part that failed, with the reason.
pub(super) type Rendered = Result<(String, String), (&'static str, String)>;

/// Renders subject and body.
pub(super) fn render(pair: &TemplatePair, values: &Value) -> Rendered {
    let fill = |part, template: &Template| limits::render(template, values).map_err(|error| (part, error.to_string()));
    Ok((fill("subject", &pair.subject)?, fill("body", &pair.body)?))
}

/// Renders subject and body on a thread that answers no requests.
pub(super) async fn render_on_blocking_thread(pair: Arc<TemplatePair>, values: Value) -> Rendered {
    let busy = |_| ("body", "too many mails are being rendered".to_owned());
    let permit = timeout(MAX_WAIT, RENDERINGS.acquire()).await.map_err(busy)?;
    let permit = permit.map_err(|_| ("body", "the server is stopping".to_owned()))?;
    let rendering = tokio::task::spawn_blocking(move || {
        // Held until the work has ended, also if the request is gone meanwhile.
        let _permit = permit;
        render(&pair, &values)
    });
    rendering.await.unwrap_or_else(|error| Err(("body", error.to_string())))
}
