//! `/user`: reading and updating the own user.

mod disabled_phone;
mod email_change;
mod metadata;
mod metadata_limits;
mod notices;
mod order;
mod outbox;
mod password;
mod phone_change;
mod reauthentication;

use chrono::TimeDelta;
use gotrue_rs::testing::{TestUser, World};
use platform::testing::Answer;
use serde_json::Value;

/// Creates a user with a session, a second in the past, so that the mail frequency allows another mail.
pub(crate) async fn create_user(world: &World, name: &str) -> TestUser {
    let user = world.create_user(&format!("{name}@example.com")).await;
    world.advance(TimeDelta::seconds(1));
    user
}

/// Requests of a user and the stored state.
pub(crate) trait Acting {
    /// `PUT /user`.
    async fn change(&self, world: &World, body: Value) -> Answer;
    /// `GET /user`.
    async fn read_user(&self, world: &World) -> Answer;
    /// Updates the row of the user.
    async fn set(&self, world: &World, assignments: &str);
    /// One column of the user's row, as text.
    async fn stored(&self, world: &World, expression: &str) -> String;
    /// The audit log actions of this user, oldest first.
    async fn log(&self, world: &World) -> Vec<String>;
}

impl Acting for TestUser {
    async fn change(&self, world: &World, body: Value) -> Answer {
        world.put_as(&self.access_token, "/user", body).await
    }

    async fn read_user(&self, world: &World) -> Answer {
        world.get_as(&self.access_token, "/user").await.expect(200)
    }

    async fn set(&self, world: &World, assignments: &str) {
        world.database.query(&format!("UPDATE auth.users SET {assignments} WHERE id = '{}'", self.id)).await;
    }

    async fn stored(&self, world: &World, expression: &str) -> String {
        let sql = format!("SELECT {expression} FROM auth.users WHERE id = '{}'", self.id);
        world.database.query(&sql).await.remove(0)
    }

    async fn log(&self, world: &World) -> Vec<String> {
        let sql = format!(
            "SELECT payload ->> 'action' FROM auth.audit_log_entries WHERE payload ->> 'actor_id' = '{}' \
             ORDER BY created_at",
            self.id
        );
        world.database.query(&sql).await
    }
}
