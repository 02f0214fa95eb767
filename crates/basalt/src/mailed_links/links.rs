//! What the pages of mailed links hold.

use std::sync::Arc;

use gotrue_rs::app::App;
use tokio::sync::watch;
use url::Url;

use super::page::LinkBrand;
use crate::config_file::mailed_links::LinkButton;

/// The pages of a server.
pub(crate) struct MailedLinks {
    pub(super) app: watch::Receiver<Arc<App>>,
    pub(super) project: LinkBrand,
    /// The site, if it is the built-in one, which has no page for links.
    pub(super) own_site: Option<Url>,
    /// Whether refused links to applications lead to a page, too.
    pub(super) are_refusals_shown: bool,
    pub(super) button: LinkButton,
}
