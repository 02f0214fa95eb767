//! The HTTP API: routes, authentication and the `OpenAPI` document.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use futures::FutureExt;
use gotrue_rs::app::App;
use gotrue_rs::testing::World;
use http::{HeaderMap, Method};
use http_body_util::BodyExt;
use messages::{MessageSender, MessageStore};
use platform::clock::{Clock, SystemClock};
use platform::entropy::Entropy;
use platform::events::EventLog;
use platform::mail::outbox::{MailDestination, Outbox};
use platform::mail::{EmailMessage, Mailer};
use platform::store::migrate::{DatabaseAdministrator, DatabaseName};
use platform::store::outbox::OutboxTable;
use provider_simulator::{Simulator, SimulatorOptions};
use serde_json::{Map, Value, json};
use test_bench::TestApiError;
use test_bench::api::{TEST_API_PATH, TestApi};
use test_bench::backend::{Backend, BackendBuilder, BackendPlan, DatabaseUrls, WorldKeys, WorldSettings};
use test_bench::faults::FaultRules;
use test_bench::worlds::{WorldDatabases, Worlds};
use tokio::sync::watch;

const KEY: &str = "the-key";
/// The path of the only world.
const WORLD: &str = "/worlds/default";

/// Builds the backend of one world.
struct OneWorld {
    app: Arc<App>,
    outbox: Arc<Outbox>,
}

impl BackendBuilder for OneWorld {
    fn generate_keys(&self) -> Result<WorldKeys, TestApiError> {
        Ok(keys())
    }

    fn build(&self, plan: &BackendPlan) -> Result<Backend, TestApiError> {
        let options = SimulatorOptions {
            base_url: "http://127.0.0.1/_dev/provider".to_owned(),
            auth_url: "http://127.0.0.1/auth/v1".to_owned(),
            page: "",
        };
        let simulator = Simulator::new(options, Arc::clone(&plan.clock), Entropy::from_seed(1)).expect("a simulator");
        let sender = MessageSender { name: String::new(), address: "admin@email.com".to_owned() };
        let (closing, closed) = watch::channel(false);
        Ok(Backend {
            app: Arc::clone(&self.app),
            handler: Arc::new(|_| async { Response::new(Body::empty()) }.boxed()),
            messages: MessageStore::new(self.outbox.inbox(), sender, closed),
            providers: Some(Arc::new(simulator)),
            pause: None,
            closing,
            tasks: Vec::new(),
        })
    }

    fn describe_settings(&self, _: &WorldSettings) -> Map<String, Value> {
        Map::new()
    }

    fn database_urls(&self, _: &DatabaseName) -> DatabaseUrls {
        DatabaseUrls { database_url: "postgres:///world".to_owned(), database_url_tcp: None }
    }
}

fn keys() -> WorldKeys {
    WorldKeys {
        publishable_key: "publishable".to_owned(),
        secret_key: "secret".to_owned(),
        anon_key: "anon".to_owned(),
        service_role_key: "service".to_owned(),
        jwt_secret: "jwt".to_owned(),
        signing_key: Map::new(),
    }
}

/// The test API of a server without other worlds than the default one.
struct TestServer {
    api: TestApi,
    worlds: Worlds,
    outbox: Arc<Outbox>,
    _world: World,
}

/// A response: status, headers and body.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: HeaderMap,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }
}

impl TestServer {
    async fn start() -> Self {
        let world = World::new().await;
        let table = OutboxTable::new(world.database.auth_pool());
        let outbox = Outbox::new(table, Arc::new(SystemClock), Entropy::from_seed(7), MailDestination::Inbox);
        let outbox = Arc::new(outbox);
        let builder = Arc::new(OneWorld { app: Arc::clone(&world.app), outbox: Arc::clone(&outbox) });
        let name = DatabaseName::parse("world").expect("a name");
        let administrator = DatabaseAdministrator::new(world.database.pool().await);
        let databases = WorldDatabases::new(administrator, name.clone(), name.clone());
        let plan = BackendPlan {
            url: "http://127.0.0.1:54321".to_owned(),
            keys: Arc::new(keys()),
            settings: WorldSettings::default(),
            database: name,
            clock: Arc::new(SystemClock),
            faults: Arc::new(FaultRules::new(1)),
            events: EventLog::default(),
        };
        let worlds = Worlds::start(builder, databases, Entropy::from_seed(3), plan).expect("the default world");
        let api = TestApi::new(worlds.clone(), KEY.to_owned());
        Self { api, worlds, outbox, _world: world }
    }

    async fn send(&self, request: Request) -> Answer {
        let (parts, body) = self.api.answer(request).await.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        let text = String::from_utf8(body.to_vec()).expect("text");
        Answer { status: parts.status.as_u16(), headers: parts.headers, text }
    }

    async fn call_with(&self, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        let request = Request::builder().method(method).uri(format!("{TEST_API_PATH}{path}"));
        let request = request.header("authorization", format!("Bearer {KEY}")).body(body.into());
        self.send(request.expect("a request")).await
    }

    async fn call(&self, method: &str, path: &str) -> Answer {
        self.call_with(method, path, Body::empty()).await
    }

    /// Writes a mail and returns its id.
    async fn mail(&self) -> String {
        let message = EmailMessage {
            purpose: "confirmation".into(),
            to: "ann@example.com".to_owned(),
            subject: "Welcome".to_owned(),
            html: "<p>Hello</p>".to_owned(),
            text: None,
            message_id: "one@shop.example".to_owned(),
            date: SystemClock.now(),
            headers: Vec::new(),
            code: None,
            link: None,
        };
        self.outbox.send(&message).await.expect("a mail is written");
        let listed = self.call("GET", &format!("{WORLD}/messages")).await.json();
        listed["messages"][0]["id"].as_str().expect("a message").to_owned()
    }

    async fn document(&self) -> Value {
        self.call("GET", "/openapi.json").await.json()
    }
}

fn not_a_call(method: &str, path: &str) -> Value {
    let message = format!("{method} {TEST_API_PATH}{path} is not a call of the test API");
    json!({"code": "not_found", "message": message, "hint": "docs/testing lists the calls"})
}

#[tokio::test]
async fn each_route_needs_the_key() {
    let server = TestServer::start().await;
    let document = server.document().await;
    let mut paths: Vec<String> = document["paths"].as_object().expect("paths").keys().cloned().collect();
    paths.extend(["", "/nothing", "/worlds/none/nothing", "/worlds/default/faults/"].map(str::to_owned));
    for path in paths {
        for method in [Method::GET, Method::POST, Method::PATCH, Method::DELETE, Method::PUT, Method::OPTIONS] {
            for sent in [None, Some("Bearer wrong"), Some("Basic dGhlLWtleQ=="), Some("the-key")] {
                let uri = format!("{TEST_API_PATH}{}", path.replace("{id}", "default").replace(['{', '}'], ""));
                let mut request = Request::builder().method(&method).uri(uri);
                if let Some(sent) = sent {
                    request = request.header("authorization", sent);
                }
                let answer = server.send(request.body(Body::empty()).expect("a request")).await;
                assert_eq!((answer.status, &answer.json()["code"]), (401, &json!("unauthorized")), "{method} {path}");
            }
        }
    }
    server.worlds.close().await;
}

#[tokio::test]
async fn other_paths_and_methods_are_no_calls() {
    let server = TestServer::start().await;
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/nothing"),
        ("PUT", "/worlds"),
        ("OPTIONS", "/worlds"),
        ("TRACE", "/worlds/default"),
        ("POST", "/worlds/default"),
        ("GET", "/worlds/default/reset"),
        ("POST", "/worlds/default/reset/"),
        ("GET", "/worlds/default/clock/"),
        ("PATCH", "/worlds/default/clock"),
        ("GET", "/worlds/default/users"),
        ("GET", "/worlds/default/snapshots/"),
        ("GET", "/worlds/default/snapshots/a"),
        ("POST", "/worlds/default/snapshots/a/b"),
        ("GET", "/worlds/default/faults/a"),
        ("POST", "/openapi.json"),
    ] {
        let answer = server.call(method, path).await;
        assert_eq!((answer.status, answer.json()), (404, not_a_call(method, path)), "{method} {path}");
        assert!(!answer.headers.contains_key("allow"), "{method} {path}: a path without the method is no path");
    }
    let no_world = server.call("PUT", "/worlds/none/nothing").await.json();
    assert_eq!(no_world["message"], "there is no world \"none\"", "the world is looked up first");
    server.worlds.close().await;
}

#[tokio::test]
async fn head_is_no_call_but_for_messages() {
    let server = TestServer::start().await;
    for (path, status) in [("/worlds", 404), (WORLD, 404), ("/worlds/default/clock", 404), ("/openapi.json", 404)] {
        let answer = server.call("HEAD", path).await;
        let length = not_a_call("HEAD", path).to_string().len().to_string();
        assert_eq!((answer.status, &*answer.text), (status, ""), "{path}");
        assert_eq!(answer.headers["content-length"], length, "{path}");
    }
    assert_eq!(server.call("HEAD", &format!("{WORLD}/messages")).await.status, 200);
    server.worlds.close().await;
}

#[tokio::test]
async fn segments_are_decoded_once_and_encoded_slashes_separate_nothing() {
    let server = TestServer::start().await;
    for (method, path, status, message) in [
        ("GET", "/w%6Frlds/default/cl%6Fck", 200, ""),
        ("GET", "/worlds/a%2Fclock", 404, "there is no world \"a/clock\""),
        ("GET", "/worlds/a%252Fb", 404, "there is no world \"a%2Fb\""),
        ("GET", "/worlds/%E9", 404, "there is no world \"\u{fffd}\""),
        ("GET", "/worlds/", 404, "there is no world \"\""),
        ("DELETE", "/worlds/default/faults/x%2Fy", 404, "there is no rule x/y"),
        ("DELETE", "/worlds/default/faults/x%20y%3F", 404, "there is no rule x y?"),
        ("DELETE", "/worlds/default/faults/", 404, "there is no rule "),
        ("DELETE", "/worlds/default/snapshots/a%2Frestore", 404, "there is no snapshot \"a/restore\""),
        ("POST", "/worlds/default/snapshots/a%2Fb/restore", 404, "there is no snapshot \"a/b\""),
        ("POST", "/worlds/default/snapshots/caf%C3%A9/restore", 404, "there is no snapshot \"café\""),
        ("POST", "/worlds/default/snapshots/", 400, "the name cannot be used"),
        ("POST", "/worlds/default/snapshots//restore", 404, "there is no snapshot \"\""),
        ("DELETE", "/worlds/default/snapshots/", 404, "there is no snapshot \"\""),
    ] {
        let answer = server.call(method, path).await;
        let body = answer.json();
        assert_eq!((answer.status, body["message"].as_str().unwrap_or_default()), (status, message), "{method} {path}");
    }
    let message = server.call("GET", "/worlds%2Fdefault").await.json();
    assert_eq!(message, not_a_call("GET", "/worlds/default"), "the path is shown decoded");
    let long = "%FF".repeat(10_000);
    let message = server.call("GET", &format!("/{long}")).await.json();
    assert_eq!(message, not_a_call("GET", &format!("/{}", "\u{fffd}".repeat(10_000))));
    server.worlds.close().await;
}

#[tokio::test]
async fn messages_say_themselves_what_is_wrong() {
    let server = TestServer::start().await;
    let id = server.mail().await;
    for (method, path, status, code) in [
        ("GET", "/messages/", 200, Value::Null),
        ("POST", "/messages", 405, json!("method_not_allowed")),
        ("PUT", "/messages/x", 404, json!("message_not_found")),
        ("GET", "/messages/x/raw", 404, json!("message_not_found")),
        ("GET", "/messages/{}/nothing/at/all", 404, json!("not_found")),
        ("POST", "/messages/{}/raw", 405, json!("method_not_allowed")),
        ("GET", "/messages/{}/attachments/0", 404, json!("attachment_not_found")),
    ] {
        let answer = server.call(method, &format!("{WORLD}{}", path.replace("{}", &id))).await;
        assert_eq!((answer.status, &answer.json()["code"]), (status, &code), "{method} {path}");
    }
    let raw = server.call("GET", &format!("{WORLD}/messages/{id}/raw")).await;
    assert!(raw.text.contains("Subject: Welcome"), "{}", raw.text);
    server.worlds.close().await;
}

#[tokio::test]
async fn bodies_have_one_limit_on_all_routes() {
    let server = TestServer::start().await;
    let too_large = || Body::from(vec![b' '; (16 << 20) + 1]);
    for path in ["/worlds", "/nothing", "/worlds/none", "/worlds/default/clock", "/worlds/default/users"] {
        let answer = server.call_with("POST", path, too_large()).await;
        assert_eq!((answer.status, &answer.json()["code"]), (413, &json!("too_large")), "{path}");
    }
    let large = format!("{}7", " ".repeat(3 << 20));
    let answer = server.call_with("POST", &format!("{WORLD}/clock"), large).await;
    assert_eq!(answer.status, 400);
    let message = answer.json()["message"].as_str().expect("a message").to_owned();
    assert!(message.starts_with("the body cannot be used: invalid type: integer `7`"), "{message}");
    server.worlds.close().await;
}

/// Returns the members that the message or the hint of an error lists as known ones.
fn known_members(error: &Value) -> BTreeSet<String> {
    let leads = ["known are ", "the members are ", "x is unknown: ", "the parameters are "];
    let texts = [&error["message"], &error["hint"]].map(|text| text.as_str().unwrap_or_default());
    let lists = texts.iter().flat_map(|text| leads.iter().filter_map(|lead| text.split_once(lead)));
    let (_, list) = lists.into_iter().next().unwrap_or_else(|| panic!("{error}"));
    list.trim_end_matches(" are known").replace(" and ", ", ").split(", ").map(str::to_owned).collect()
}

#[tokio::test]
async fn schemas_have_the_members_that_parsers_know() {
    let server = TestServer::start().await;
    let document = server.document().await;
    for (path, body, schema) in [
        ("/clock", json!({"x": 1}), "ClockChanges"),
        ("/sessions", json!({"x": 1}), "NewSession"),
        ("/authenticators/passkeys", json!({"x": 1}), "PasskeyOptions"),
        ("/faults", json!({"x": 1}), "NewFault"),
        ("/faults", json!({"match": {"x": 1}, "do": {"status": 503}}), "FaultConditions"),
        ("/faults", json!({"do": {"x": 1}}), "FaultEffects"),
        ("/providers/google/next", json!({"x": 1}), "NextSignIn"),
    ] {
        let refused = server.call_with("POST", &format!("{WORLD}{path}"), body.to_string()).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        let members = document["components"]["schemas"][schema]["properties"].as_object().expect(schema);
        assert_eq!(members.keys().cloned().collect::<BTreeSet<_>>(), known_members(&refused.json()), "{schema}");
    }
    for (method, path) in [("GET", "/messages"), ("DELETE", "/messages"), ("GET", "/events")] {
        let refused = server.call(method, &format!("{WORLD}{path}?x=1")).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        let operation = &document["paths"][format!("/worlds/{{id}}{path}")][method.to_ascii_lowercase()];
        let parameters = operation["parameters"].as_array().expect("parameters").iter();
        let in_query = parameters.filter(|parameter| parameter["in"] == "query");
        let names: BTreeSet<String> =
            in_query.filter_map(|parameter| parameter["name"].as_str().map(str::to_owned)).collect();
        assert_eq!(names, known_members(&refused.json()), "{method} {path}");
    }
    server.worlds.close().await;
}

/// Checks a value against a schema of the document; returns what is wrong.
fn find_deviation(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return find_deviation(document, &document["components"]["schemas"][name], value);
    }
    if let Some(parts) = schema["allOf"].as_array() {
        return flattened(document, parts, value);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let deviations: Vec<String> =
            choices.iter().filter_map(|choice| find_deviation(document, choice, value)).collect();
        return (deviations.len() == choices.len()).then(|| deviations.join(", or "));
    }
    let types = match &schema["type"] {
        Value::String(name) => vec![name.as_str()],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let has_type = |name: &&str| match *name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => value.is_null(),
    };
    if !types.is_empty() && !types.iter().any(has_type) {
        return Some(format!("{value} is no {}", types.join(" or ")));
    }
    match value {
        Value::Array(items) => items.iter().find_map(|item| find_deviation(document, &schema["items"], item)),
        Value::Object(members) => {
            let mut required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            if let Some(missing) = required.find(|name| !members.contains_key(*name)) {
                return Some(format!("{missing} is missing"));
            }
            let known = schema["properties"].as_object()?;
            members.iter().find_map(|(name, member)| match known.get(name) {
                Some(schema) => Some(format!("{name}: {}", find_deviation(document, schema, member)?)),
                None => schema["additionalProperties"].is_null().then(|| format!("{name} is unknown")),
            })
        }
        _ => None,
    }
}

/// Checks an object against schemas that each describe some of its members.
fn flattened(document: &Value, parts: &[Value], value: &Value) -> Option<String> {
    let mut merged = json!({"type": "object", "properties": {}, "required": []});
    for part in parts {
        let name = part["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
        let part = name.map_or(part, |name| &document["components"]["schemas"][name]);
        for (name, schema) in part["properties"].as_object().into_iter().flatten() {
            merged["properties"][name] = schema.clone();
        }
        if let Value::Array(required) = &mut merged["required"] {
            required.extend(part["required"].as_array().cloned().unwrap_or_default());
        }
        if !part["additionalProperties"].is_null() {
            merged["additionalProperties"] = json!({});
        }
    }
    find_deviation(document, &merged, value)
}

#[tokio::test]
async fn answers_have_the_shapes_of_the_document() {
    let server = TestServer::start().await;
    let document = server.document().await;
    let id = server.mail().await;
    let creation = json!({"options": {"challenge": "AAAA", "rp": {"id": "localhost"}, "user": {"id": "dXNlcg"}},
                          "origin": "http://localhost"});
    let session = |more: Value| {
        let mut body = json!({"email": "ann@example.com"});
        for (name, value) in more.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        body
    };
    let message = format!("/worlds/{{id}}/messages/{id}");
    for (method, path, body, status) in [
        ("GET", "/worlds", Value::Null, 200),
        ("GET", "/worlds/{id}", Value::Null, 200),
        ("GET", "/worlds/{id}/snapshots", Value::Null, 200),
        ("GET", "/worlds/{id}/clock", Value::Null, 200),
        ("POST", "/worlds/{id}/clock", json!({"rate": 60}), 200),
        ("DELETE", "/worlds/{id}/clock", Value::Null, 200),
        ("GET", "/worlds/{id}/messages", Value::Null, 200),
        ("GET", &message, Value::Null, 200),
        ("GET", &format!("{message}/headers"), Value::Null, 200),
        ("POST", "/worlds/{id}/users", json!([{"email": "ann@example.com", "factors": [{}]}]), 201),
        ("POST", "/worlds/{id}/sessions", session(json!({})), 201),
        ("POST", "/worlds/{id}/sessions", session(json!({"format": "ssr", "origin": "http://localhost:3000"})), 201),
        ("POST", "/worlds/{id}/sessions", session(json!({"format": "playwright", "origin": "http://x.example"})), 201),
        ("POST", "/worlds/{id}/authenticators/totp", json!({"secret": "GEZDGNBVGY3TQOJQ"}), 200),
        ("POST", "/worlds/{id}/authenticators/passkeys", creation, 200),
        ("POST", "/worlds/{id}/faults", json!({"match": {"nth": 2}, "target": "http", "do": {"status": 503}}), 201),
        ("GET", "/worlds/{id}/faults", Value::Null, 200),
        ("GET", "/worlds/{id}/config", Value::Null, 200),
        ("PATCH", "/worlds/{id}/config", json!({}), 200),
        ("GET", "/worlds/{id}/events", Value::Null, 200),
        ("DELETE", "/worlds/{id}/faults", Value::Null, 204),
        ("DELETE", &message, Value::Null, 204),
        ("DELETE", "/worlds/{id}/messages", Value::Null, 204),
    ] {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = server.call_with(method, &path.replace("{id}", "default"), body).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text);
        let template = path.replace(&id, "{message}");
        let operation = &document["paths"][&template][method.to_ascii_lowercase()];
        let response = &operation["responses"][status.to_string()];
        assert!(response.is_object(), "{method} {template} has no {status} in the document");
        if status == 204 {
            assert_eq!((answer.text.as_str(), response["content"].is_null()), ("", true), "{method} {template}");
            continue;
        }
        let schema = &response["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{method} {template}: {response}");
        assert_eq!(find_deviation(&document, schema, &answer.json()), None, "{method} {template}: {}", answer.text);
    }
    let refused = server.call("GET", "/worlds/none").await;
    let schema = json!({"$ref": "#/components/schemas/Error"});
    assert_eq!(find_deviation(&document, &schema, &refused.json()), None);
    server.worlds.close().await;
}
