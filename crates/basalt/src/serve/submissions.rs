//! The submissions of the shop: settings of their mails, digests, and the owner's section of the desk.

use std::sync::Arc;
use std::time::Duration;

use ::desk::SubmissionsSection;
use functions_rs::functions::send_submission::digest::DigestWriter;
use functions_rs::functions::send_submission::limits::SubmissionLimits;
use functions_rs::functions::send_submission::{SubmissionSettings, TemplateTitles};
use functions_rs::submissions::Submissions;
use functions_rs::submissions::jobs::{Retention, SubmissionUpkeep, WebhookWorker};
use gotrue_rs::app::App;
use http_edge::ShutdownSignal;
use platform::event_webhook::EventWebhook;
use platform::mail::outbox::Outbox;
use platform::store::leases::JobLease;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::assets::Shop;
use crate::config_file::WebhookAddress;
use crate::product::PRODUCT;
use crate::project::Project;
use crate::upkeep::JobLeases;

/// Identical submissions of one visitor within this time count as one submission.
const DUPLICATE_SUBMISSION_WINDOW: Duration = Duration::from_mins(2);

/// Which replica runs the jobs, and how long.
pub(super) struct JobLifetime {
    /// The lease, if several servers may use the database.
    lease: Option<JobLease>,
    closing: ShutdownSignal,
}

impl JobLifetime {
    /// Takes the lease of the jobs.
    pub(super) fn new(leases: Option<&JobLeases>, closing: &ShutdownSignal) -> Self {
        Self { lease: leases.map(|leases| leases.submissions.clone()), closing: closing.clone() }
    }
}

/// Builds the section of the desk.
pub(super) fn build_section(
    project: &Project,
    app: &App,
    outbox: &Arc<Outbox>,
    shop: watch::Receiver<Arc<Shop>>,
) -> SubmissionsSection {
    let settings = submission_settings(project, &app.mail_host);
    let submissions =
        Submissions::new(app.pool.clone(), Arc::clone(outbox), settings, app.clock.clone(), app.entropy.fork())
            .with_template_titles(template_titles(shop));
    SubmissionsSection::new(Arc::new(submissions))
}

/// Builds the task that reports submissions beyond the hourly limit, including those of earlier runs.
fn build_digests(project: &Project, app: &App, outbox: Arc<Outbox>) -> DigestWriter {
    let settings = submission_settings(project, &app.mail_host);
    DigestWriter::new(app.pool.clone(), outbox, settings, app.clock.clone(), app.entropy.fork())
}

/// Starts the hourly digests and the jobs that the settings enable; they end on shutdown.
pub(super) fn start_jobs(
    project: &Project,
    app: &App,
    outbox: &Arc<Outbox>,
    titles: TemplateTitles,
    lifetime: JobLifetime,
) -> JoinHandle<()> {
    let jobs = &project.file.basalt.submission_jobs;
    let (pool, clock) = (app.pool.clone(), app.clock.clone());
    let retention = Retention { has_daily_digest: jobs.has_daily_digest, submissions: jobs.retention };
    let settings = submission_settings(project, &app.mail_host);
    let upkeep = SubmissionUpkeep::new(pool.clone(), Arc::clone(outbox), settings, clock.clone(), app.entropy.fork())
        .with_retention(retention)
        .with_lease(lifetime.lease);
    let worker = jobs.webhook.as_ref().map(|WebhookAddress { url, secret }| {
        let webhook = EventWebhook::new("submission_webhook", url, secret, Arc::clone(&app.http), clock.clone());
        WebhookWorker::new(pool, Arc::new(webhook), titles, clock)
    });
    let (stop, stop_digests) = (lifetime.closing.clone(), lifetime.closing.clone());
    let digests = build_digests(project, app, Arc::clone(outbox)).run(wait_for_shutdown(stop_digests));
    let calls = async move {
        if let Some(worker) = worker {
            worker.run(wait_for_shutdown(lifetime.closing)).await;
        }
    };
    http_edge::spawn_task(async move {
        tokio::join!(digests, upkeep.run(wait_for_shutdown(stop)), calls);
    })
}

/// Finds the titles of templates in the present shop.
pub(super) fn template_titles(shop: watch::Receiver<Arc<Shop>>) -> TemplateTitles {
    TemplateTitles::new(move |id| shop.borrow().find_title(id))
}

/// Completes on shutdown.
pub(super) async fn wait_for_shutdown(mut closing: ShutdownSignal) {
    drop(closing.wait_for(|closing| *closing).await);
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
        has_webhook: basalt.submission_jobs.webhook.is_some(),
    }
}
