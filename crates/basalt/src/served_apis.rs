//! Which further APIs a server has, and the key of its S3 protocol, for its announcement and for `basalt status`.

use gateway::Service;
use gotrue_rs::config::Config;
use serde::{Deserialize, Serialize};

use crate::api_keys::ApiKeys;
use crate::profiles;
use crate::project::Project;
use crate::serve::{data_api, storage};

/// The APIs besides auth and functions that a server answers or forwards, and its inbox.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ServedApis {
    /// Whether `/rest/v1` is answered.
    pub has_data_api: bool,
    /// Whether `/storage/v1` is answered.
    pub has_storage: bool,
    /// `None` if the S3 protocol is off, or that of another server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s3: Option<S3Access>,
    /// Whether messages can be read at `/_dev/inbox`.
    pub has_inbox: bool,
    /// The base URL of the APIs of Mailpit and Inbucket, if they have a port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mailpit_url: Option<String>,
}

/// What clients of the S3 protocol sign with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct S3Access {
    pub region: String,
    /// The id and the secret of the key with all rights, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<(String, String)>,
}

impl ServedApis {
    /// Finds what the settings of a project serve.
    ///
    /// An external database has these APIs only with login roles of their own. `config` are the valid settings of the auth API.
    pub(crate) fn find(project: &Project, config: Option<&Config>, keys: &ApiKeys, is_external: bool) -> Self {
        let basalt = &project.file.basalt;
        let is_forwarded = |service| basalt.upstreams.get(service).is_some();
        let has_own_storage = storage::is_served(project, is_external);
        Self {
            has_data_api: is_forwarded(Service::Rest) || data_api::is_served(project, is_external),
            has_storage: is_forwarded(Service::Storage) || has_own_storage,
            s3: (has_own_storage && basalt.storage.has_s3).then(|| S3Access {
                region: storage::REGION.to_owned(),
                key: storage::find_s3_key(project, keys).map(|(id, secret)| (id.to_owned(), secret.to_owned())),
            }),
            has_inbox: basalt.inbox_token.is_some()
                || config.is_some_and(|config| profiles::has_development_pages(config, basalt)),
            mailpit_url: None,
        }
    }
}
