//! Settings that are valid but make requests fail later.

use gotrue_rs::config::Notice;

use super::ConfigFile;
use super::keys::SMS_PROVIDERS;
use crate::problem::locate;

/// Providers whose clients may have no secret.
const PUBLIC_CLIENTS: [&str; 2] = ["apple", "google"];

impl ConfigFile {
    /// Returns a notice about each enabled part that lacks what its requests need.
    pub(super) fn expected_failures(&self) -> Vec<Notice> {
        let mut notices = self.incomplete_providers();
        notices.extend(self.missing_sms_provider());
        notices.extend(self.limit_notices());
        notices
    }

    fn incomplete_providers(&self) -> Vec<Notice> {
        let mut notices = Vec::new();
        for name in self.values.names_in_table("auth.external") {
            let table = format!("auth.external.{name}");
            let Some(switch) = self.values.get(&format!("{table}.enabled")).filter(|switch| switch.text == "true")
            else {
                continue;
            };
            let required = if PUBLIC_CLIENTS.contains(&name) { &["client_id"][..] } else { &["client_id", "secret"] };
            for key in required {
                if !self.is_set(&format!("{table}.{key}")) {
                    let name = locate(switch.line, &table);
                    notices.push(Notice::warning(name, format!("has no {key}: every sign-in with it fails")));
                }
            }
        }
        notices
    }

    /// Returns a notice if users can sign up by phone, but nothing sends their codes.
    fn missing_sms_provider(&self) -> Option<Notice> {
        let switch = self.values.get("auth.sms.enable_signup").filter(|switch| switch.text == "true")?;
        let is_enabled = |table: String| self.values.is_enabled(&format!("{table}.enabled"), false);
        let has_provider = SMS_PROVIDERS.iter().any(|name| is_enabled(format!("auth.sms.{name}")));
        let has_codes = !self.values.names_in_table("auth.sms.test_otp").is_empty();
        if has_provider || has_codes || is_enabled("auth.hook.send_sms".to_owned()) {
            return None;
        }
        let text = "is on, but there is no provider, no hook send_sms and no test_otp: codes reach no phone";
        Some(Notice::warning(locate(switch.line, "auth.sms.enable_signup"), text))
    }
}
