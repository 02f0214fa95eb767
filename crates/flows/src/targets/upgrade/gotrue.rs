//! Two servers of the profile `gotrue`: `basalt gotrue`, or GoTrue's server.

use std::net::Ipv4Addr;
use std::path::Path;

use serde_json::{Map, Value, json};
use tokio::process::Command;

use super::process::{Process, create_folder, free_port, is_basalt};
use super::{NAMES, Surroundings, UpgradeTargets};
use crate::FlowError;
use crate::format::Profile;
use crate::sources::message_source::MessageSource;
use crate::targets::target::Target;
use crate::tokens::sign_token;

impl UpgradeTargets {
    /// Starts both with the variables of the flow.
    pub(super) async fn start_gotrue(
        &self,
        surroundings: &Surroundings<'_>,
    ) -> Result<([Process; 2], Target), FlowError> {
        let Surroundings { wanted, url, .. } = surroundings;
        let mut env = surroundings.fill(&wanted.settings.env, url)?;
        self.add_defaults(&mut env, surroundings);
        let folder = self.options.folder.join(surroundings.text("id"));
        create_folder(&folder)?;
        let log = |at: usize| folder.join(format!("{}.log", NAMES[at]));
        // One after the other: each may migrate the database.
        let old = self.start_with_variables(&self.options.old, &env, &log(0)).await?;
        let new = self.start_with_variables(&self.options.new, &env, &log(1)).await?;
        let secret = env["GOTRUE_JWT_SECRET"].as_str().unwrap_or_default().to_owned();
        let token = |role: &str| {
            let claims = json!({ "role": role, "iss": "supabase", "iat": 1_700_000_000, "exp": 4_000_000_000_u64 });
            Some(sign_token(&claims, &secret))
        };
        let target = Target {
            base: url.clone(),
            project: url.clone(),
            profile: Profile::Gotrue,
            publishable_key: token("anon"),
            secret_key: token("service_role"),
            jwt_secret: Some(secret.clone()),
            env,
            names: wanted.names.clone(),
            messages: self.server.announced("mailpit_url").map(|url| MessageSource::Mailpit { url: url.to_owned() }),
            is_alternating: true,
            ..Target::default()
        };
        Ok(([old, new], target))
    }

    /// Adds what the settings of a flow leave to its server.
    fn add_defaults(&self, env: &mut Map<String, Value>, surroundings: &Surroundings<'_>) {
        let mail_port = self.server.announced_number("smtp_port").unwrap_or_default().to_string();
        let defaults = [
            ("GOTRUE_JWT_SECRET", surroundings.text("jwt_secret")),
            ("GOTRUE_SITE_URL", "http://localhost:3000"),
            ("GOTRUE_JWT_AUD", "authenticated"),
            ("GOTRUE_JWT_DEFAULT_GROUP_NAME", "authenticated"),
            ("GOTRUE_JWT_ADMIN_ROLES", "service_role,supabase_admin"),
            ("GOTRUE_JWT_EXP", "3600"),
            ("GOTRUE_EXTERNAL_EMAIL_ENABLED", "true"),
            ("GOTRUE_SMTP_ADMIN_EMAIL", "auth@example.com"),
        ];
        for (name, value) in defaults {
            env.entry(name.to_owned()).or_insert_with(|| value.into());
        }
        let loopback = Ipv4Addr::LOCALHOST.to_string();
        for (name, value) in [
            ("API_EXTERNAL_URL", surroundings.url.as_str()),
            ("GOTRUE_DB_DRIVER", "postgres"),
            ("GOTRUE_DB_MAX_POOL_SIZE", "4"),
            ("GOTRUE_API_HOST", &loopback),
            ("DATABASE_URL", surroundings.text("database_url_tcp")),
            ("GOTRUE_SMTP_HOST", &loopback),
            ("GOTRUE_SMTP_PORT", &mail_port),
            ("GOTRUE_SMTP_USER", "replay"),
            ("GOTRUE_SMTP_PASS", "replay"),
        ] {
            env.insert(name.to_owned(), value.into());
        }
    }

    async fn start_with_variables(
        &self,
        binary: &Path,
        env: &Map<String, Value>,
        log: &Path,
    ) -> Result<Process, FlowError> {
        let is_basalt = is_basalt(binary).await?;
        let port = free_port()?;
        let mut command = Command::new(binary);
        if is_basalt {
            command.arg("gotrue");
        }
        for (name, value) in env {
            let mut value = crate::expressions::as_text(value).into_owned();
            if name == "DATABASE_URL" && !is_basalt {
                // GoTrue's tables are found by the path of its own role.
                value.push_str(if value.contains('?') { "&search_path=auth" } else { "?search_path=auth" });
            }
            command.env(name, value);
        }
        command.env("PORT", port.to_string()).env("LOG_LEVEL", "error").env("GOTRUE_LOG_LEVEL", "error");
        if let Some(folder) = binary.parent().filter(|folder| folder.join("migrations").is_dir()) {
            command.current_dir(folder);
        }
        Process::start(&self.client, (binary, command), (port, "/health"), log).await
    }
}
