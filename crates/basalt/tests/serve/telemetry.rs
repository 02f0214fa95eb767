//! Metrics, traces and faults of a running server, as a collector and Prometheus receive them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::support::{Basalt, Gotrue, TempFolder, basalt, eventually, free_port, postgres_pid};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// A request to the collector: the head and the body.
type Received = (String, Value);

/// A collector, or a hook, that keeps all requests.
#[derive(Clone)]
struct Collector {
    received: Arc<Mutex<Vec<Received>>>,
    port: u16,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let collector = Self { received: Arc::default(), port };
        let own = collector.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = own.clone();
                std::thread::spawn(move || drop(own.answer(stream)));
            }
        });
        collector
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn answer(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut out = stream.try_clone()?;
        let mut reader = BufReader::new(stream);
        loop {
            let mut head = String::new();
            while reader.read_line(&mut head)? > 2 && !head.ends_with("\r\n\r\n") {}
            let length =
                head.to_lowercase().split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
            let Some(length) = length else { return Ok(()) };
            let mut body = vec![0; length];
            reader.read_exact(&mut body)?;
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            self.received.lock().unwrap_or_else(PoisonError::into_inner).push((head, body));
            out.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")?;
        }
    }

    fn requests(&self, path: &str) -> Vec<Received> {
        let all = self.received.lock().unwrap_or_else(PoisonError::into_inner).clone();
        all.into_iter().filter(|(head, _)| head.starts_with(&format!("POST {path} "))).collect()
    }

    /// All spans with their resource.
    fn spans(&self) -> Vec<(Value, Value)> {
        let mut found = Vec::new();
        for (_, body) in self.requests("/v1/traces") {
            for of_resource in body["resourceSpans"].as_array().into_iter().flatten() {
                for span in of_resource["scopeSpans"][0]["spans"].as_array().into_iter().flatten() {
                    found.push((of_resource["resource"].clone(), span.clone()));
                }
            }
        }
        found
    }

    fn span(&self, name: &str) -> Option<Value> {
        self.spans().into_iter().map(|(_, span)| span).find(|span| span["name"] == name)
    }
}

fn attribute<'a>(of: &'a Value, key: &str) -> &'a Value {
    let found = of["attributes"].as_array().into_iter().flatten().find(|attribute| attribute["key"] == key);
    found.map_or(&Value::Null, |attribute| &attribute["value"])
}

async fn sign_up(server: &Gotrue, client: &reqwest::Client, traceparent: Option<&str>) -> reqwest::Response {
    let number = free_port();
    let mut request = client
        .post(format!("{}/signup", server.url))
        .json(&json!({ "email": format!("user-{number}@example.com"), "password": "a long password" }));
    if let Some(traceparent) = traceparent {
        request = request.header("traceparent", traceparent).header("baggage", "tenant=one");
    }
    request.send().await.expect("an answer")
}

pub(super) async fn metrics(client: &reqwest::Client, port: u16) -> String {
    let response = client.get(format!("http://127.0.0.1:{port}/metrics")).send().await.expect("an answer");
    response.text().await.expect("text")
}

/// The value of a series; zero if it is absent.
pub(super) fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.and_then(|number| number.parse().ok()).unwrap_or_default()
}

#[tokio::test]
async fn collector_receives_spans_of_the_callers_trace_and_metrics() {
    let database = Basalt::serve(&["--ephemeral"]);
    let (collector, hook) = (Collector::start(), Collector::start());
    let (endpoint, hook_url) = (collector.url(), hook.url());
    let server = Gotrue::start(
        &database,
        &[
            ("GOTRUE_TRACING_ENABLED", "true"),
            ("GOTRUE_METRICS_ENABLED", "true"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20key"),
            ("OTEL_SERVICE_NAME", "auth-test"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test"),
            ("OTEL_BSP_SCHEDULE_DELAY", "50"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "200"),
            ("GOTRUE_HOOK_BEFORE_USER_CREATED_ENABLED", "true"),
            ("GOTRUE_HOOK_BEFORE_USER_CREATED_URI", &hook_url),
            ("GOTRUE_HOOK_BEFORE_USER_CREATED_SECRETS", "v1,whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"),
        ],
    );
    let answer = sign_up(&server, &database.client, Some(&format!("00-{TRACE}-{PARENT}-01"))).await;
    assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap_or_default());
    eventually("the span of the request arrives", || collector.span("POST /signup").is_some());

    let (resource, _) = collector.spans().remove(0);
    assert_eq!(attribute(&resource, "service.name")["stringValue"], "auth-test");
    assert_eq!(attribute(&resource, "deployment.environment")["stringValue"], "test");
    let request = collector.span("POST /signup").expect("it has arrived");
    assert_eq!(
        (&request["traceId"], &request["parentSpanId"], &request["kind"]),
        (&json!(TRACE), &json!(PARENT), &json!(2))
    );
    assert_eq!(attribute(&request, "http.response.status_code")["intValue"], "200");
    eventually("the span of the hook arrives", || collector.span("POST before-user-created").is_some());
    let call = collector.span("POST before-user-created").expect("it has arrived");
    for name in ["hashing", "POST before-user-created"] {
        let span = collector.span(name).unwrap_or_else(|| panic!("no span {name}"));
        assert_eq!((&span["traceId"], &span["parentSpanId"]), (&json!(TRACE), &request["spanId"]), "{name}");
    }
    let (head, _) = hook.requests("/").remove(0);
    let expected = format!("traceparent: 00-{TRACE}-{}-01", call["spanId"].as_str().expect("an id"));
    assert!(head.contains(&expected) && head.contains("baggage: tenant=one"), "{head}");
    let spans = collector.spans();
    let statements: Vec<&Value> = spans.iter().map(|(_, span)| attribute(span, "db.query.summary")).collect();
    assert!(statements.iter().any(|name| name["stringValue"].is_string()), "{spans:?}");
    assert!(collector.requests("/v1/traces").iter().all(|(head, _)| head.contains("api-key: a key")));
    let exported = format!("{spans:?}");
    for secret in ["example.com", "a long password", "INSERT", "SELECT"] {
        assert!(!exported.contains(secret), "{secret} in {exported}");
    }
    eventually("the log lines name the trace", || server.text().contains(&format!("\"trace_id\":\"{TRACE}\"")));
    eventually("metrics arrive", || {
        collector
            .requests("/v1/metrics")
            .iter()
            .any(|(_, body)| body.to_string().contains("basalt_http_requests_total"))
    });
}

#[tokio::test]
async fn unsampled_parent_is_propagated_and_not_exported() {
    let database = Basalt::serve(&["--ephemeral"]);
    let collector = Collector::start();
    let endpoint = collector.url();
    let variables = [
        ("GOTRUE_TRACING_ENABLED", "true"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
    ];
    let server = Gotrue::start(&database, &variables);
    sign_up(&server, &database.client, Some(&format!("00-{TRACE}-{PARENT}-00"))).await;
    sign_up(&server, &database.client, Some("00-not-a-trace-01")).await;
    eventually("the span of the second request arrives", || collector.span("POST /signup").is_some());
    assert!(collector.spans().iter().all(|(_, span)| span["traceId"] != TRACE), "the caller does not sample");
    assert!(server.text().contains(&format!("\"trace_id\":\"{TRACE}\"")), "{}", server.text());
}

#[tokio::test]
async fn dead_collector_costs_nothing_and_is_logged_once() {
    let database = Basalt::serve(&["--ephemeral"]);
    let (port, endpoint) = (free_port().to_string(), format!("http://127.0.0.1:{}", free_port()));
    let variables = [
        ("GOTRUE_TRACING_ENABLED", "true"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_BSP_SCHEDULE_DELAY", "20"),
        ("GOTRUE_METRICS_ENABLED", "true"),
        ("GOTRUE_METRICS_EXPORTER", "prometheus"),
        ("OTEL_EXPORTER_PROMETHEUS_HOST", "127.0.0.1"),
        ("OTEL_EXPORTER_PROMETHEUS_PORT", port.as_str()),
    ];
    let server = Gotrue::start(&database, &variables);
    let port: u16 = port.parse().expect("a port");
    for _ in 0..2 {
        let before = value(
            &metrics(&database.client, port).await,
            "basalt_telemetry_dropped_spans_total{reason=\"export_failed\"}",
        );
        assert_eq!(sign_up(&server, &database.client, None).await.status(), 200);
        for _ in 0..200 {
            let text = metrics(&database.client, port).await;
            if value(&text, "basalt_telemetry_dropped_spans_total{reason=\"export_failed\"}") > before {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }
    let text = metrics(&database.client, port).await;
    assert!(value(&text, "basalt_telemetry_exports_total{signal=\"traces\",outcome=\"failed\"}") >= 2.0, "{text}");
    assert_eq!(server.text().matches("telemetry export failed").count(), 1, "{}", server.text());
}

#[test]
fn grpc_is_refused_with_the_supported_protocols() {
    let output = basalt()
        .args(["serve", "--ephemeral", "--port", "0"])
        .envs([("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4317"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")])
        .output()
        .expect("the program starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("http/protobuf or http/json"), "{text}");
}

/// A server with metrics, its log, and the port of the metrics.
fn serve_with_metrics(scratch: &TempFolder, more: &str) -> (Basalt, u16) {
    let port = free_port();
    let config = scratch.write("config.toml", &format!("{more}\n[basalt.metrics]\nport = {port}\n"));
    (Basalt::serve(&["--data", &scratch.path("data"), "--config", &config]), port)
}

#[tokio::test]
async fn faults_of_hook_provider_and_database_are_named_by_metrics() {
    let scratch = TempFolder::new();
    let dead = free_port();
    let more = format!(
        "[auth.hook.before_user_created]\nenabled = true\nuri = \"http://127.0.0.1:{dead}/hook\"\n\
         secrets = \"v1,whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0\"\n"
    );
    let (server, port) = serve_with_metrics(&scratch, &more);
    let account = json!({ "email": "a@example.com", "password": "a long password" });
    let (status, _) = server.auth("/signup", Some(account.clone())).await;
    assert_eq!(status, 422, "the hook is unreachable");
    let text = metrics(&server.client, port).await;
    assert!(value(&text, "basalt_hook_calls_total{hook=\"before-user-created\",outcome=\"failed\"}") >= 1.0, "{text}");
    assert!(
        value(&text, "basalt_outbound_requests_total{service=\"before-user-created\",outcome=\"failed\"}") >= 1.0,
        "{text}"
    );

    let postgres = postgres_pid(&scratch.0.join("data")).expect("it runs");
    kill_process(postgres, Signal::STOP).expect("it lives");
    let processes = children(postgres);
    assert!(!processes.is_empty(), "the server has processes");
    let _ = processes.iter().try_for_each(|process| kill_process(*process, Signal::STOP));
    let token = json!({ "email": "a@example.com", "password": "a long password" });
    let (status, _) = server.auth("/token?grant_type=password", Some(token)).await;
    let text = metrics(&server.client, port).await;
    let _ = processes.iter().try_for_each(|process| kill_process(*process, Signal::CONT));
    kill_process(postgres, Signal::CONT).expect("it lives");
    assert_eq!(status, 503);
    let unavailable: Vec<&str> =
        text.lines().filter(|line| line.starts_with("basalt_database_unavailable_total{")).collect();
    assert!(!unavailable.is_empty(), "{text}");
    let refused = r#"basalt_http_requests_total{area="auth",route="/token",method="POST",status="5xx",code="database_unavailable"}"#;
    assert!(value(&text, refused) >= 1.0, "{text}");
}

/// The child processes of a process.
pub(super) fn children(parent: Pid) -> Vec<Pid> {
    let parent = parent.as_raw_nonzero();
    let listed = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    listed.split_whitespace().filter_map(|id| Pid::from_raw(id.parse().ok()?)).collect()
}

#[tokio::test]
async fn dashboard_alerts_and_guide_name_the_metrics_of_the_server() {
    let scratch = TempFolder::new();
    let (server, port) = serve_with_metrics(&scratch, "");
    let text = metrics(&server.client, port).await;
    let exposed: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    assert!(exposed.len() > 30, "{text}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| fs::read_to_string(root.join(path)).expect("a file of the repository");
    for path in ["deploy/telemetry/dashboard.json", "deploy/telemetry/alerts.yml"] {
        let document = read(path);
        let used = metric_names(&document);
        assert!(used.len() > 5, "{path}: {used:?}");
        for name in used {
            let suffixes = ["_bucket", "_sum", "_count"];
            let base = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(&name);
            assert!(exposed.contains(&base) || exposed.contains(&name.as_str()), "{path}: the server has no {name}");
        }
    }
    let guide = read("docs/guides/telemetry.md");
    for name in exposed {
        assert!(guide.contains(&format!("`{name}`")), "docs/guides/telemetry.md lacks {name}");
    }
    serde_json::from_str::<Value>(&read("deploy/telemetry/dashboard.json")).expect("JSON");
    if let Ok(check) =
        Command::new("promtool").args(["check", "rules"]).arg(root.join("deploy/telemetry/alerts.yml")).output()
    {
        assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
    }
}

/// The names of metrics in a text.
fn metric_names(text: &str) -> Vec<String> {
    let words = text.split(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
    let is_metric = |word: &&str| word.starts_with("basalt_") || word.starts_with("process_");
    words.filter(is_metric).map(str::to_owned).collect()
}
