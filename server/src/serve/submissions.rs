//! The submissions of the shop: settings of their mails, digests, and the owner's section of the desk.

use std::sync::Arc;
use std::time::Duration;

use ::desk::SubmissionsSection;
use functions_rs::functions::send_submission::digest::DigestWriter;
use functions_rs::functions::send_submission::limits::SubmissionLimits;
use functions_rs::functions::send_submission::{SubmissionSettings, TemplateTitles};
use functions_rs::submissions::Submissions;
use gotrue_rs::app::App;
use gotrue_rs::ports::mail::outbox::Outbox;
use tokio::sync::watch;

use super::services::PRODUCT;
use crate::assets::Shop;
use crate::project::Project;

/// Identical submissions of one visitor within this time count as one submission.
const DUPLICATE_SUBMISSION_WINDOW: Duration = Duration::from_mins(2);

/// Builds the section of the desk.
pub(super) fn build_section(
    project: &Project,
    app: &App,
    outbox: &Arc<Outbox>,
    shop: watch::Receiver<Arc<Shop>>,
) -> Arc<SubmissionsSection> {
    let settings = submission_settings(project, &app.mail_host);
    let submissions =
        Submissions::new(app.pool.clone(), Arc::clone(outbox), settings, app.clock.clone(), app.entropy.fork())
            .with_template_titles(template_titles(shop));
    Arc::new(SubmissionsSection::new(Arc::new(submissions)))
}

/// Builds the task that reports submissions beyond the hourly limit, including those of earlier runs.
pub(super) fn build_digests(project: &Project, app: &App, outbox: Arc<Outbox>) -> DigestWriter {
    let settings = submission_settings(project, &app.mail_host);
    DigestWriter::new(app.pool.clone(), outbox, settings, app.clock.clone(), app.entropy.fork())
}

/// Finds the titles of templates in the present shop.
pub(super) fn template_titles(shop: watch::Receiver<Arc<Shop>>) -> TemplateTitles {
    TemplateTitles::new(move |id| shop.borrow().find_title(id))
}

/// Returns the settings of submissions; `host` is that of the server's public URL.
pub(crate) fn submission_settings(project: &Project, host: &str) -> SubmissionSettings {
    let basalt = &project.file.basalt;
    let usual = project.submission_limits;
    SubmissionSettings {
        owner: basalt.shop_owner.clone(),
        shop: basalt.mail_brand.name.clone().unwrap_or_else(|| PRODUCT.to_owned()),
        brand: basalt.mail_brand.clone(),
        host: host.to_owned(),
        limits: SubmissionLimits { notices: basalt.notices_an_hour.unwrap_or(usual.notices), ..usual },
        duplicate_window: DUPLICATE_SUBMISSION_WINDOW,
        has_webhook: false,
    }
}
