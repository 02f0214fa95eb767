//! Outbound ports of the process, configured by the settings: HTTP requests and mail.

use std::sync::Arc;

use anyhow::Context;
use gotrue_rs::config::Config;
use platform::http_client::{HttpClient, OutboundOptions, TrustedRoots};
use platform::mail::compose::MailSender;
use platform::mail::smtp::{SmtpMailer, SmtpServer};
use platform::mail::{DiscardingMailer, SharedMailer};

/// What was attempted when roots could not be read.
const READING_ROOTS: &str = "reading the trusted roots that SSL_CERT_FILE and SSL_CERT_DIR name";

/// Returns the configured proxies and trusted roots of HTTP requests.
pub(crate) fn outbound_options(config: &Config) -> OutboundOptions {
    let outbound = &config.outbound;
    OutboundOptions {
        https_proxy: outbound.https_proxy.clone(),
        http_proxy: outbound.http_proxy.clone(),
        no_proxy: outbound.no_proxy.clone(),
        trusted_roots: trusted_roots(config),
    }
}

/// Builds the HTTP client with the configured proxies and trusted roots.
pub(crate) fn build_http_client(config: &Config) -> anyhow::Result<HttpClient> {
    let options = outbound_options(config);
    if let Some(roots) = &options.trusted_roots {
        roots.check().context(READING_ROOTS)?;
    }
    Ok(HttpClient::new(options))
}

/// Builds the mailer, if a mail server is configured.
pub(crate) fn build_mailer(config: &Config) -> anyhow::Result<Option<SharedMailer>> {
    let Some(smtp) = &config.smtp else { return Ok(None) };
    let external = &config.policy.site.external_url;
    let host = external.parse::<http::Uri>().ok().and_then(|url| url.host().map(str::to_owned));
    let server = SmtpServer {
        host: smtp.host.clone(),
        port: smtp.port,
        user: smtp.user.clone(),
        password: smtp.pass.clone(),
        hello: host.unwrap_or_else(|| "localhost".to_owned()),
        trusted_roots: trusted_roots(config).map(|roots| roots.read().context(READING_ROOTS)).transpose()?,
    };
    let sender = MailSender::new(&smtp.sender_name, &smtp.admin_email, &smtp.headers);
    let sender =
        sender.context("GOTRUE_SMTP_ADMIN_EMAIL, GOTRUE_SMTP_SENDER_NAME and GOTRUE_SMTP_HEADERS make no sender")?;
    let mailer = SmtpMailer::new(server, sender).context("preparing the mail server")?;
    Ok(Some(Arc::new(mailer.with_logging(smtp.logging_enabled))))
}

/// Builds the mailer; without a mail server, mail is dropped silently, as GoTrue does.
pub(crate) fn build_mailer_or_discard(config: &Config) -> anyhow::Result<SharedMailer> {
    Ok(build_mailer(config)?.unwrap_or_else(|| Arc::new(DiscardingMailer)))
}

fn trusted_roots(config: &Config) -> Option<TrustedRoots> {
    let outbound = &config.outbound;
    TrustedRoots::of_files(outbound.ssl_cert_file.as_deref(), outbound.ssl_cert_dir.as_deref())
}
