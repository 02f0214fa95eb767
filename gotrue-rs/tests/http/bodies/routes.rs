//! The rows of the route table with a caller, a body and a fixture for each.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::body::Body;
use chrono::TimeDelta;
use foundation::limits::Quota;
use gotrue_rs::routes::{RouteSummary, list_routes};
use gotrue_rs::testing::{PASSWORD, TestUser, World};
use http::{Method, Request};
use platform::testing::Answer;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use uuid::Uuid;

use super::sent::RequestBody;
use crate::sso::{metadata, with_saml};

const ANN: &str = "ann@example.com";
/// The id of the enrolled factor.
const FACTOR: Uuid = Uuid::from_u128(0xfac);
/// The id in paths that name something else, an OAuth client if the path names one.
const OTHER_ID: Uuid = Uuid::from_u128(7);

/// The resource id of the SSO provider.
const COMPANY: &str = "acme";

/// A row of the route table with one of its queries.
#[derive(Debug)]
pub(super) struct RouteCase {
    pub line: RouteSummary,
    query: &'static str,
}

/// Every row that reads a body.
pub(super) fn routes_with_bodies() -> Vec<RouteCase> {
    all_routes().into_iter().filter(|route| route.line.method != Method::GET).collect()
}

/// Every row; `/token` once per grant type.
pub(super) fn all_routes() -> Vec<RouteCase> {
    const GRANTS: [&str; 5] = [
        "?grant_type=password",
        "?grant_type=refresh_token",
        "?grant_type=pkce",
        "?grant_type=id_token",
        "?grant_type=web3",
    ];
    let mut routes = Vec::new();
    for line in list_routes() {
        let queries: &[&'static str] = if line.path == "/token" { &GRANTS } else { &[""] };
        for query in queries {
            let RouteSummary { method, path, guards } = &line;
            let line = RouteSummary { method: method.clone(), path: path.clone(), guards: guards.clone() };
            routes.push(RouteCase { line, query });
        }
    }
    routes
}

impl RouteCase {
    pub(super) fn name(&self) -> String {
        format!("{} {}{}", self.line.method, self.line.path, self.query)
    }
}

/// Whether a request ended the session or the user that later requests need.
pub(super) fn has_ended_session(route_case: &RouteCase, answer: &Answer) -> bool {
    let is_gone =
        answer.status.is_success() && (route_case.line.method == Method::DELETE || route_case.line.path == "/logout");
    let codes = ["session_not_found", "session_expired", "user_not_found", "user_banned", "bad_jwt"];
    is_gone || (!route_case.line.guards.is_empty() && codes.contains(&answer.str("error_code")))
}

/// A digest of all rows of each table of the schema.
pub(super) type Tables = BTreeMap<String, String>;

/// A world for one route.
pub(super) struct Fixture {
    world: World,
    user: TestUser,
    database: PgConnection,
    digests: String,
}

impl Fixture {
    pub(super) async fn new() -> Self {
        let many = Quota::Window { events: 1e9, per: Duration::from_hours(1) };
        let world = World::builder()
            .with_phones()
            .policy(|policy| {
                policy.mfa.recovery_codes.enroll_enabled = true;
                policy.mfa.recovery_codes.verify_enabled = true;
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
        let user = world.create_user(ANN).await;
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
            user.id
        );
        world.database.query(&factor).await;
        let client = format!(
            "INSERT INTO auth.oauth_clients (id, registration_type, client_type, token_endpoint_auth_method,
                                             redirect_uris, grant_types)
             VALUES ('{OTHER_ID}', 'manual', 'public', 'none', 'https://app.example.com/cb', 'authorization_code')"
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
        Self { world, user, database, digests }
    }

    /// The members that the route reads: those for which it reports a type error.
    pub(super) async fn members(&self, route: &RouteCase) -> Vec<String> {
        let mut members = Vec::new();
        let bare = self.send_request(route, &RequestBody::json("{}")).await;
        for name in member_names() {
            let sent = RequestBody::json(json!({&*name: [true]}).to_string());
            let answer = self.send_request(route, &sent).await;
            let is_named = answer.text.contains(&format!("the field {name} must be"));
            let is_meant = answer.str("error_code") == "bad_json" && bare.str("error_code") != "bad_json";
            if answer.status.is_client_error() && (is_named || is_meant) {
                members.push(name);
            }
        }
        members
    }

    /// The request with current codes and tokens in its placeholders.
    pub(super) fn fill_placeholders(&self, sent: RequestBody, case: usize) -> RequestBody {
        let mails = self.world.mailbox.all();
        let latest = mails.iter().rev().find(|mail| mail.code.is_some());
        let (to, code) =
            latest.map(|mail| (mail.to.clone(), mail.code.clone().unwrap_or_default())).unwrap_or_default();
        let sent = sent.with("§to§", &to).with("§code§", &code).with("§n§", &format!("{:04}", case % 10_000));
        sent.with("§refresh§", &self.user.refresh_token).with("§id§", &self.user.id)
    }

    /// Sends the request and returns the tables before, the response, and the tables after.
    pub(super) async fn send(&mut self, route: &RouteCase, sent: &RequestBody) -> (Tables, Answer, Tables) {
        self.world.advance(TimeDelta::seconds(1));
        let before = self.tables().await;
        let answer = self.send_request(route, sent).await;
        (before, answer, self.tables().await)
    }

    /// The response if the connection is lost at the `n`-th statement; `None` if there are fewer.
    pub(super) async fn send_without_database(
        &mut self,
        route: &RouteCase,
        sent: &RequestBody,
        n: usize,
    ) -> Option<Answer> {
        self.world.advance(TimeDelta::seconds(1));
        self.world.faults.disconnect(n);
        let answer = self.send_request(route, sent).await;
        let has_struck = self.world.faults.clear_pending() == 0;
        has_struck.then_some(answer)
    }

    async fn send_request(&self, route: &RouteCase, sent: &RequestBody) -> Answer {
        let RouteSummary { method, path, guards } = &route.line;
        let segment = |name: &str| match name {
            "{user_id}" => self.user.id.clone(),
            "{factor_id}" => FACTOR.to_string(),
            "{idp_id}" => format!("resource_{COMPANY}"),
            name if name.starts_with('{') => OTHER_ID.to_string(),
            name => name.to_owned(),
        };
        let path = path.split('/').map(segment).collect::<Vec<_>>().join("/");
        let mut request = Request::builder().method(method).uri(format!(
            "{path}{}{}{}",
            route.query,
            if route.query.is_empty() { "?" } else { "&" },
            sent.query
        ));
        let token = match guards {
            guards if guards.contains(&"Admin") => Some(self.world.service_token()),
            guards if guards.contains(&"Caller") => Some(self.user.access_token.clone()),
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

/// The names of all members that some request body reads.
pub(crate) fn member_names() -> BTreeSet<String> {
    let wire = source_rules::repository_root().join("crates/gotrue-rules/src/wire");
    let mut names = BTreeSet::new();
    for file in
        ["requests", "oauth_server"].iter().flat_map(|folder| source_rules::list_files(&wire.join(folder), &[".rs"]))
    {
        for after in source_rules::read_text(&file).split("(\"").skip(1) {
            let name = after.split('"').next().unwrap_or_default();
            if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
                names.insert(name.to_owned());
            }
        }
    }
    names
}
