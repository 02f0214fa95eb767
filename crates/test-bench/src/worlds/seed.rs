//! The data that a world contains from its creation on.

use std::sync::Arc;

use gotrue_rs::app::App;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::TestApiError;

/// Data of a new world.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Seed {
    /// Users, in the form of `POST …/users`.
    #[schema(value_type = Vec<Object>)]
    users: Vec<Value>,
}

impl Seed {
    /// Creates the data.
    pub(crate) async fn apply(&self, app: &Arc<App>) -> Result<(), TestApiError> {
        if self.users.is_empty() {
            return Ok(());
        }
        let body =
            serde_json::to_vec(&self.users).map_err(|error| TestApiError::internal("reading the seed", &error))?;
        crate::users::create(app, &body).await.map(drop)
    }
}
