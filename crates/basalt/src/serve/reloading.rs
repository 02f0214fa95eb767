//! Reloads the settings of `basalt serve` on SIGHUP and when its files change.
//!
//! Invalid settings change nothing.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use foundation::error_chain::ErrorChain;
use gotrue_rs::app::EmailDelivery;
use gotrue_rs::config::{Config, DatabaseSettings, Notice, ReloadSettings};
use http_edge::ShutdownSignal;
use platform::mail::outbox::Outbox;
use provider_simulator::Simulator;
use tokio::time::MissedTickBehavior;

use super::live_keys::LiveKeys;
use super::live_shop::ShopSettings;
use super::payment_checks::{check_payments, check_products};
use super::services::Replacements;
use crate::api_keys::ApiKeys;
use crate::dev::consent;
use crate::project::Project;
use crate::reload::{SettingsWatcher, create_needed_tables};
use crate::{app, logging, profiles};

/// The signal that reloads.
const SIGHUP: i32 = 1;
/// How long no file may change before a reload.
const GRACE_PERIOD: Duration = Duration::from_secs(1);
/// The interval at which changes by `basalt keys`, and at the desk of another replica, are looked for.
const KEY_INTERVAL: Duration = Duration::from_secs(2);

/// What a reload replaces, and what it keeps.
pub(super) struct Reloading {
    /// The project as it was read last.
    pub project: Project,
    /// Its settings, as they were configured.
    pub config: Config,
    /// The connections in use.
    pub database: DatabaseSettings,
    /// The keys of the configuration.
    pub keys: Arc<ApiKeys>,
    /// The keys in effect.
    pub live: LiveKeys,
    /// The URL of the server for clients.
    pub url: String,
    /// The port in use.
    pub port: u16,
    /// The provider simulator, if it is enabled.
    pub provider: Option<Arc<Simulator>>,
    /// Whether the built-in consent page is used.
    pub has_consent_page: bool,
    /// The queue of e-mail messages.
    pub outbox: Arc<Outbox>,
    /// Replaces what serves requests.
    pub replace: Replacements,
}

impl Reloading {
    /// Reloads until shutdown.
    pub(super) async fn run(mut self, mut closing: ShutdownSignal) {
        let layout = &self.project.layout;
        let settings = ReloadSettings {
            notify_enabled: layout.has_config,
            poller_enabled: layout.has_config,
            signal_enabled: true,
            signal_number: SIGHUP,
            grace_period: GRACE_PERIOD,
            ..ReloadSettings::default()
        };
        let Some(watching) = SettingsWatcher::start(&self.project.files, &settings) else {
            return;
        };
        let file = layout.config.display().to_string();
        let mut change = Box::pin(watching.wait_for_change());
        let mut turn = tokio::time::interval(KEY_INTERVAL);
        turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_key_turn = tokio::select! {
                biased;
                _ = closing.wait_for(|closing| *closing) => return,
                () = &mut change => {
                    change.set(watching.wait_for_change());
                    false
                }
                _ = turn.tick() => true,
            };
            if is_key_turn {
                tokio::select! {
                    biased;
                    _ = closing.wait_for(|closing| *closing) => return,
                    () = self.follow_database() => continue,
                }
            }
            match tokio::task::block_in_place(|| self.reload()) {
                Ok(()) => tracing::info!(file, "settings reloaded"),
                Err(error) => {
                    tracing::error!(file, error = %ErrorChain(error.as_ref()), "settings are invalid, keeping the current ones");
                }
            }
        }
    }

    /// Reads, validates and applies the settings; on an error nothing changes.
    fn reload(&mut self) -> anyhow::Result<()> {
        let project = self.project.read_again()?;
        let mut config = project.settings(&self.url, &self.keys)?;
        profiles::apply_serve_profile(&mut config, &project.file.basalt, &project.display_name());
        check_payments(&project, &config)?;
        check_products(&project, &self.replace.shop.changes())?;
        if profiles::has_development_pages(&config, &project.file.basalt)
            != profiles::has_development_pages(&self.config, &self.project.file.basalt)
        {
            bail!("the development pages would be switched on or off, which needs a restart");
        }
        if let Some(provider) = &self.provider {
            let names = &self.project.file.basalt.stands_in_for;
            provider.apply(&mut config.policy, names.iter().map(String::as_str));
        }
        if self.has_consent_page {
            profiles::use_consent_page(&mut config.policy, &format!("{}{}", self.url, consent::PATH));
        }
        create_needed_tables(&self.config, &config, &self.database)?;
        self.replace_app(&config)?;
        let new: Vec<Notice> =
            config.notices.iter().filter(|notice| !self.config.notices.contains(notice)).cloned().collect();
        logging::log_notices(&new);
        for setting in self.list_restart_settings(&project, &config) {
            tracing::warn!(setting, "a changed setting takes effect at the next start");
        }
        let site_url = &config.policy.site.site_url;
        if project.has_shop == self.project.has_shop
            && (project.catalogue != self.project.catalogue
                || project.catalogue_source != self.project.catalogue_source
                || project.seller != self.project.seller
                || *site_url != self.config.policy.site.site_url)
        {
            let is_development = profiles::has_development_pages(&config, &project.file.basalt);
            self.replace.shop.replace_settings(ShopSettings::of_project(&project, site_url, is_development));
        }
        (self.project, self.config) = (project, config);
        Ok(())
    }

    /// Takes up what others have changed in the database.
    async fn follow_database(&mut self) {
        self.reload_keys().await;
        let app = Arc::clone(&self.replace.app.borrow());
        self.replace.shop.poll(&app.pool).await;
    }

    /// Takes up keys that `basalt keys` has changed.
    async fn reload_keys(&mut self) {
        if !self.live.poll().await {
            return;
        }
        let version = self.live.version();
        match tokio::task::block_in_place(|| self.replace_app(&self.config)) {
            Ok(()) => tracing::info!(version, "keys reloaded"),
            Err(error) => {
                tracing::error!(version, error = %ErrorChain(error.as_ref()), "keys are invalid, keeping the current ones");
            }
        }
    }

    /// Replaces the application by one of these settings and the keys in effect.
    fn replace_app(&self, config: &Config) -> anyhow::Result<()> {
        let mut with_keys = config.clone();
        self.live.apply_to(&mut with_keys);
        let before = Arc::clone(&self.replace.app.borrow());
        let delivery = EmailDelivery::Outbox(Arc::clone(&self.outbox));
        let reuses_client = config.outbound == self.config.outbound;
        let app = app::rebuild(&before, &with_keys, delivery, reuses_client).context("building")?;
        let app = Arc::new(app);
        if let Some(desk) = &self.replace.desk {
            desk.replace(&app, &with_keys)?;
        }
        self.replace.app.send_replace(Arc::clone(&app));
        if let Some(data_api) = &self.replace.data_api {
            data_api.replace_keys(&with_keys.jwt)?;
        }
        if let Some(storage) = &self.replace.storage {
            storage.replace_keys(&with_keys.jwt);
        }
        self.live.publish(&with_keys, &app)
    }

    /// Returns the changed settings that take effect only after a restart.
    fn list_restart_settings(&self, project: &Project, config: &Config) -> Vec<&'static str> {
        let (before, now) = (&self.project.file, &project.file);
        let (old, new) = (&before.basalt, &now.basalt);
        let lacks_consent_page =
            |config: &Config| !self.has_consent_page && profiles::wants_consent_page(&config.policy);
        let is_other_key = |name: &str, key: &str| now.configured_key(name).is_some_and(|given| given != key);
        let keys = &self.keys;
        [
            ("[api] port or external_url", now.port() != before.port() || project.api_url(self.port) != self.url),
            ("[auth] jwt_secret, publishable_key, secret_key, anon_key or service_role_key", {
                is_other_key("jwt_secret", &keys.jwt_secret)
                    || is_other_key("publishable_key", &keys.publishable_key)
                    || is_other_key("secret_key", &keys.secret_key)
                    || is_other_key("anon_key", &keys.anon_key)
                    || is_other_key("service_role_key", &keys.service_role_key)
            }),
            ("[auth.email.smtp]", config.smtp != self.config.smtp),
            ("[functions]", now.functions() != before.functions()),
            ("[basalt] host, metrics_port, log_level or log_format", {
                (new.host, new.metrics_port, &new.log_level, new.log_format)
                    != (old.host, old.metrics_port, &old.log_level, old.log_format)
            }),
            ("[basalt.http] or trusted_proxies", new.http != old.http),
            ("[basalt.database]", config.database != self.config.database),
            ("[basalt.shop]", {
                (now.has_shop(), &new.shop_owner, new.notices_an_hour, &new.mail_brand, &new.payment)
                    != (before.has_shop(), &old.shop_owner, old.notices_an_hour, &old.mail_brand, &old.payment)
            }),
            ("[basalt.shop] daily_digest or submission_webhook, or [basalt.retention] submissions", {
                new.submission_jobs != old.submission_jobs
            }),
            ("[api] or [basalt.data_api]", new.data_api != old.data_api),
            ("[storage] or [basalt.storage]; `basalt storage seed` creates new buckets at once", {
                new.storage != old.storage
            }),
            ("[auth.oauth_server], for the page /_dev/consent", {
                lacks_consent_page(config) && !lacks_consent_page(&self.config)
            }),
            ("[basalt.desk]", (new.has_desk, &new.desk_url) != (old.has_desk, &old.desk_url)),
            ("[basalt] demo_keys", new.has_demo_keys != old.has_demo_keys),
            ("[basalt] hsts_max_age", new.hsts_max_age != old.hsts_max_age),
            ("[basalt.inbox] token", new.inbox_token != old.inbox_token),
            ("[basalt.provider] stands_in_for", new.stands_in_for != old.stands_in_for),
            ("[basalt.database] archive", new.archive != old.archive),
            ("[basalt.replicas] expected", new.expected_replicas != old.expected_replicas),
            ("[basalt.shutdown] drain", config.shutdown_drain != self.config.shutdown_drain),
        ]
        .into_iter()
        .filter_map(|(what, is_changed)| is_changed.then_some(what))
        .collect()
    }
}
