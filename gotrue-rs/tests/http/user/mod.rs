//! `/user`: the account as it sees and changes itself.

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
use gotrue_rs::testing::{Answer, Person, World};
use serde_json::Value;

/// Somebody with an account and a session. A second passes, so that the next mail is not too soon.
pub async fn person(world: &World, name: &str) -> Person {
    let person = world.person(&format!("{name}@example.com")).await;
    world.advance(TimeDelta::seconds(1));
    person
}

/// What people here do, and what becomes of their accounts.
pub trait Acting {
    /// `PUT /user`.
    async fn change(&self, world: &World, body: Value) -> Answer;
    /// `GET /user`.
    async fn look(&self, world: &World) -> Answer;
    /// Writes into the account's row.
    async fn set(&self, world: &World, assignments: &str);
    /// One value of the account's row, as text.
    async fn stored(&self, world: &World, expression: &str) -> String;
    /// The actions that the audit log tells of this account, oldest first.
    async fn log(&self, world: &World) -> Vec<String>;
}

impl Acting for Person {
    async fn change(&self, world: &World, body: Value) -> Answer {
        world.put_as(&self.access_token, "/user", body).await
    }

    async fn look(&self, world: &World) -> Answer {
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
