//! Where bodies go: the rows of the route table that take one, each with whoever may ask and something to ask about.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::body::Body;
use chrono::TimeDelta;
use gotrue_rs::routes::{Line, lines};
use gotrue_rs::testing::{Answer, PASSWORD, Person, World};
use gotrue_rules::domain::policy::Quota;
use http::{Method, Request};
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use uuid::Uuid;

use super::sent::Sent;
use crate::sso::{metadata, with_saml};
use crate::structure::source;

const ANN: &str = "ann@example.com";
/// The factor that the account has.
const FACTOR: Uuid = Uuid::from_u128(0xfac);
/// What a path names otherwise: an OAuth client, where it names one.
const NAMED: Uuid = Uuid::from_u128(7);

/// The company that there is, by its resource id.
const COMPANY: &str = "acme";

/// A row with one of its queries.
#[derive(Debug)]
pub struct Door {
    pub line: Line,
    query: &'static str,
}

/// Every row that takes a body.
pub fn taking_bodies() -> Vec<Door> {
    all().into_iter().filter(|door| door.line.method != Method::GET).collect()
}

/// Every row; `/token` once for every grant.
pub fn all() -> Vec<Door> {
    const GRANTS: [&str; 5] = [
        "?grant_type=password",
        "?grant_type=refresh_token",
        "?grant_type=pkce",
        "?grant_type=id_token",
        "?grant_type=web3",
    ];
    let mut doors = Vec::new();
    for line in lines() {
        let queries: &[&'static str] = if line.path == "/token" { &GRANTS } else { &[""] };
        for query in queries {
            let Line { method, path, guards } = &line;
            let line = Line { method: method.clone(), path: path.clone(), guards: guards.clone() };
            doors.push(Door { line, query });
        }
    }
    doors
}

impl Door {
    pub fn name(&self) -> String {
        format!("{} {}{}", self.line.method, self.line.path, self.query)
    }
}

/// Whether a request has ended what the next ones need: the session or the account of whoever asks.
pub fn is_lost(door: &Door, answer: &Answer) -> bool {
    let is_gone = answer.status.is_success() && (door.line.method == Method::DELETE || door.line.path == "/logout");
    let codes = ["session_not_found", "session_expired", "user_not_found", "user_banned", "bad_jwt"];
    is_gone || (!door.line.guards.is_empty() && codes.contains(&answer.str("error_code")))
}

/// Every table of the schema with a digest of all its rows.
pub type Tables = BTreeMap<String, String>;

/// A world for one door.
pub struct Place {
    world: World,
    person: Person,
    database: PgConnection,
    digests: String,
}

impl Place {
    pub async fn new() -> Self {
        let many = Quota::Window { events: 1e9, per: Duration::from_hours(1) };
        let world = World::builder()
            .with_phones()
            .policy(|policy| {
                policy.sign_up.anonymous_enabled = true;
                policy.limits.email_sent = many;
                policy.limits.sms_sent = many;
                policy.oauth_server.enabled = true;
                policy.oauth_server.allow_dynamic_registration = true;
                "/consent".clone_into(&mut policy.oauth_server.authorization_path);
                policy.experimental.cursor_pagination_enabled = true;
                policy.security.sb_forwarded_for_enabled = true;
                policy.security.manual_linking_enabled = true;
                with_saml(policy);
            })
            .build()
            .await;
        let person = world.person(ANN).await;
        world.post("/signup", json!({"email": "bob@example.com", "password": PASSWORD})).await.expect(200);
        world.post("/otp", json!({"phone": "15550100"})).await.expect(200);
        let company = json!({
            "type": "saml", "resource_id": COMPANY, "domains": ["company.example.com"],
            "metadata_xml": metadata("https://idp.example.com", "https://idp.example.com/sso"),
        });
        world.post_as(&world.service_token(), "/admin/sso/providers", company).await.expect(201);
        let factor = format!(
            "INSERT INTO auth.mfa_factors (id, user_id, friendly_name, factor_type, status, secret, created_at, updated_at)
             VALUES ('{FACTOR}', '{}', '', 'totp', 'unverified', 'JBSWY3DPEHPK3PXP', now(), now())",
            person.id
        );
        world.database.query(&factor).await;
        let client = format!(
            "INSERT INTO auth.oauth_clients (id, registration_type, client_type, token_endpoint_auth_method,
                                             redirect_uris, grant_types)
             VALUES ('{NAMED}', 'manual', 'public', 'none', 'https://app.example.com/cb', 'authorization_code')"
        );
        world.database.query(&client).await;
        let mut database = PgConnection::connect_with(&world.database.admin_options()).await.expect("a connection");
        let names = "SELECT tablename FROM pg_tables WHERE schemaname = 'auth' AND tablename <> 'schema_migrations'";
        let rows = sqlx::raw_sql(names).fetch_all(&mut database).await.expect("the tables");
        let digest = |row: &sqlx::postgres::PgRow| {
            let name: String = row.get(0);
            format!("SELECT '{name}', md5(string_agg(t::text, '' ORDER BY t::text)) FROM auth.{name} t")
        };
        let digests = rows.iter().map(digest).collect::<Vec<_>>().join(" UNION ALL ");
        Self { world, person, database, digests }
    }

    /// The members that the door reads: those whose type it complains about, by name or as a body that is no JSON.
    pub async fn members(&self, door: &Door) -> Vec<String> {
        let mut members = Vec::new();
        let bare = self.ask(door, &Sent::json("{}")).await;
        for name in vocabulary() {
            let sent = Sent::json(json!({&*name: [true]}).to_string());
            let answer = self.ask(door, &sent).await;
            let is_named = answer.text.contains(&format!("the field {name} must be"));
            let is_meant = answer.str("error_code") == "bad_json" && bare.str("error_code") != "bad_json";
            if answer.status.is_client_error() && (is_named || is_meant) {
                members.push(name);
            }
        }
        members
    }

    /// What is asked, with today's codes and tokens in their places.
    pub fn filled(&self, sent: Sent, case: usize) -> Sent {
        let mails = self.world.mailbox.all();
        let latest = mails.iter().rev().find(|mail| mail.code.is_some());
        let (to, code) =
            latest.map(|mail| (mail.to.clone(), mail.code.clone().unwrap_or_default())).unwrap_or_default();
        let sent = sent.with("§to§", &to).with("§code§", &code).with("§n§", &format!("{:04}", case % 10_000));
        sent.with("§refresh§", &self.person.refresh_token).with("§id§", &self.person.id)
    }

    /// The answer, and the tables before and after it.
    pub async fn send(&mut self, door: &Door, sent: &Sent) -> (Tables, Answer, Tables) {
        self.world.advance(TimeDelta::seconds(1));
        let before = self.tables().await;
        let answer = self.ask(door, sent).await;
        (before, answer, self.tables().await)
    }

    /// The answer when the connection to the database is lost at its `n`-th statement; none if there was no such one.
    pub async fn send_without_database(&mut self, door: &Door, sent: &Sent, n: usize) -> Option<Answer> {
        self.world.advance(TimeDelta::seconds(1));
        self.world.faults.disconnect(n);
        let answer = self.ask(door, sent).await;
        let has_struck = self.world.faults.clear() == 0;
        has_struck.then_some(answer)
    }

    async fn ask(&self, door: &Door, sent: &Sent) -> Answer {
        let Line { method, path, guards } = &door.line;
        let segment = |name: &str| match name {
            "{user_id}" => self.person.id.clone(),
            "{factor_id}" => FACTOR.to_string(),
            "{idp_id}" => format!("resource_{COMPANY}"),
            name if name.starts_with('{') => NAMED.to_string(),
            name => name.to_owned(),
        };
        let path = path.split('/').map(segment).collect::<Vec<_>>().join("/");
        let mut request = Request::builder().method(method).uri(format!(
            "{path}{}{}{}",
            door.query,
            if door.query.is_empty() { "?" } else { "&" },
            sent.query
        ));
        let token = match guards {
            guards if guards.contains(&"Admin") => Some(self.world.service_token()),
            guards if guards.contains(&"Caller") => Some(self.person.access_token.clone()),
            _ => None,
        };
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in &sent.headers {
            request = request.header(name, value);
        }
        let request = request.header("content-type", sent.content_type).body(Body::from(sent.body.clone()));
        self.world.send(request.expect("a request")).await
    }

    async fn tables(&mut self) -> Tables {
        let sql = AssertSqlSafe(self.digests.clone());
        let rows = sqlx::raw_sql(sql).fetch_all(&mut self.database).await.expect("the digests");
        rows.iter().map(|row| (row.get(0), row.get::<Option<String>, _>(1).unwrap_or_default())).collect()
    }
}

/// Every member that some request body has: the names that its readers are given.
fn vocabulary() -> BTreeSet<String> {
    let wire = source::repository().join("gotrue-rules/src/wire");
    let mut names = BTreeSet::new();
    for file in ["requests", "oauth_server"].iter().flat_map(|folder| source::files(&wire.join(folder), &[".rs"])) {
        for after in source::text(&file).split("(\"").skip(1) {
            let name = after.split('"').next().unwrap_or_default();
            if !name.is_empty() && name.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'_') {
                names.insert(name.to_owned());
            }
        }
    }
    names
}
