//! The ports that lead out of the process, as the settings want them: requests to others, and mail.

use std::sync::Arc;

use anyhow::Context;
use gotrue_rs::config::Config;
use gotrue_rs::ports::http_client::{HttpClient, Outbound, read_roots};
use gotrue_rs::ports::mail::compose::Sender;
use gotrue_rs::ports::mail::smtp::{Server, Smtp};
use gotrue_rs::ports::mail::{Nobody, SharedMailer};

/// Requests to others: proxies and trusted roots as configured.
pub fn http(config: &Config) -> anyhow::Result<Arc<HttpClient>> {
    let outbound = &config.outbound;
    Ok(Arc::new(HttpClient::new(Outbound {
        https_proxy: outbound.https_proxy.clone(),
        http_proxy: outbound.http_proxy.clone(),
        no_proxy: outbound.no_proxy.clone(),
        trusted_roots: trusted_roots(config)?,
    })))
}

/// The mail server; none when none is configured.
pub fn mail_server(config: &Config) -> anyhow::Result<Option<SharedMailer>> {
    let Some(smtp) = &config.smtp else { return Ok(None) };
    let external = &config.policy.site.external_url;
    let host = external.parse::<http::Uri>().ok().and_then(|url| url.host().map(str::to_owned));
    let server = Server {
        host: smtp.host.clone(),
        port: smtp.port,
        user: smtp.user.clone(),
        password: smtp.pass.clone(),
        hello: host.unwrap_or_else(|| "localhost".to_owned()),
        trusted_roots: trusted_roots(config)?,
    };
    let sender = Sender::new(&smtp.sender_name, &smtp.admin_email, &smtp.headers);
    let sender =
        sender.context("GOTRUE_SMTP_ADMIN_EMAIL, _SENDER_NAME and _HEADERS (auth.email.smtp) make no sender")?;
    let mailer = Smtp::new(server, sender).context("preparing the mail server")?;
    Ok(Some(Arc::new(mailer.logging(smtp.logging_enabled))))
}

/// As the reference does it: without a mail server mail is dropped without a word.
pub fn mail_server_or_nobody(config: &Config) -> anyhow::Result<SharedMailer> {
    Ok(mail_server(config)?.unwrap_or_else(|| Arc::new(Nobody)))
}

fn trusted_roots(config: &Config) -> anyhow::Result<Option<Vec<u8>>> {
    let outbound = &config.outbound;
    read_roots(outbound.ssl_cert_file.as_deref(), outbound.ssl_cert_dir.as_deref())
        .context("reading the trusted roots that SSL_CERT_FILE and SSL_CERT_DIR name")
}
