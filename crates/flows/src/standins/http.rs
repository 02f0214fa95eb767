//! Receives HTTP requests: stores them and answers as a flow says.
//!
//! It also serves as an HTTPS proxy in place of the internet.

use std::collections::HashMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsAcceptor;

use super::evaluate::evaluate;
use super::texts::latin;
use crate::FlowError;
use crate::expressions::as_text;

/// The most bytes that one connection may send.
const MAX_RECEIVED: u64 = 64 << 20;

/// What a path answers: each answer once, the last one for all further calls.
#[derive(Debug, Default)]
struct Route {
    answers: Vec<Value>,
    used: usize,
    /// The variables of the flow when it set the answers.
    variables: Arc<Map<String, Value>>,
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<Value>,
    routes: HashMap<String, Route>,
}

/// What the server answers if a flow says nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Defaults {
    /// The answer of paths without one of their own.
    pub answer: Value,
    /// Pages by path.
    pub pages: Map<String, Value>,
}

struct Shared {
    state: Mutex<State>,
    arrived: Notify,
    defaults: Defaults,
    tls: Option<TlsAcceptor>,
}

/// An HTTP server on a loopback port.
pub(super) struct HttpServer {
    /// Its URL.
    pub address: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl HttpServer {
    /// Starts the server on a free port; with `tls` it is a proxy that answers for every host.
    pub(super) async fn start(defaults: Defaults, tls: Option<TlsAcceptor>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared { state: Mutex::default(), arrived: Notify::new(), defaults, tls });
        let accepting = Arc::clone(&shared);
        let task = http_edge::spawn_task(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&accepting);
                http_edge::spawn_task(async move {
                    // A client that breaks off wants no answer.
                    let _ = serve_connection(stream, &shared).await;
                });
            }
        });
        Ok(Self { address, shared, task })
    }

    /// Sets the answers of a path.
    pub(super) fn set_answers(&self, path: &str, answers: &[Value], variables: Map<String, Value>) {
        let route = Route { answers: answers.to_vec(), used: 0, variables: Arc::new(variables) };
        self.state().routes.insert(path.to_owned(), route);
    }

    /// Waits for the oldest call to a path and removes it; `None` if none arrives in time.
    pub(super) async fn take(&self, path: &str, wait: Duration) -> Option<Value> {
        let end = Instant::now() + wait;
        loop {
            let arrived = self.shared.arrived.notified();
            {
                let mut state = self.state();
                if let Some(at) = state.calls.iter().position(|call| without_query(call) == path) {
                    return Some(state.calls.remove(at));
                }
            }
            if timeout_at(end, arrived).await.is_err() && Instant::now() >= end {
                return None;
            }
        }
    }

    pub(super) fn calls(&self) -> Vec<Value> {
        self.state().calls.clone()
    }

    /// Removes the calls.
    pub(super) fn take_calls(&self) -> Vec<Value> {
        std::mem::take(&mut self.state().calls)
    }

    /// Removes calls and answers.
    pub(super) fn clear(&self) {
        *self.state() = State::default();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn without_query(call: &Value) -> &str {
    call["path"].as_str().unwrap_or_default().split('?').next().unwrap_or_default()
}

/// The head of a request.
#[derive(Debug, Default)]
struct Head {
    method: String,
    path: String,
    headers: Map<String, Value>,
}

/// Serves a connection; after CONNECT it continues with TLS in the name of the host.
async fn serve_connection(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let Some((mut stream, authority)) = serve(stream, "", shared).await? else { return Ok(()) };
    let Some(tls) = &shared.tls else {
        return stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n").await;
    };
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    let origin = format!("https://{}", authority.strip_suffix(":443").unwrap_or(&authority));
    let inner = tls.accept(stream).await?;
    serve(inner, &origin, shared).await.map(drop)
}

/// Serves requests until the client ends, or asks for a tunnel: then its connection and the host.
async fn serve<S>(stream: S, origin: &str, shared: &Shared) -> io::Result<Option<(S, String)>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut stream = BufReader::new(stream);
    loop {
        let Some(head) = read_head(&mut stream).await? else { return Ok(None) };
        if head.method == "CONNECT" {
            return Ok(Some((stream.into_inner(), head.path)));
        }
        let header = |name: &str| head.headers.get(name).and_then(Value::as_str);
        let length = header("content-length").and_then(|length| length.parse::<u64>().ok());
        let is_last = header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        let is_head = head.method == "HEAD";
        let mut body = Vec::new();
        (&mut stream).take(length.unwrap_or(0).min(MAX_RECEIVED)).read_to_end(&mut body).await?;
        let answer = answer(&head, origin, &body, shared).await;
        stream.write_all(&format_answer(&answer, is_head)).await?;
        stream.flush().await?;
        if is_last {
            return Ok(None);
        }
    }
}

async fn read_head<R: AsyncBufReadExt + Unpin>(stream: &mut R) -> io::Result<Option<Head>> {
    let mut line = String::new();
    if stream.take(MAX_RECEIVED).read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let mut head = Head {
        method: words.next().unwrap_or_default().to_owned(),
        path: words.next().unwrap_or_default().to_owned(),
        headers: Map::new(),
    };
    loop {
        line.clear();
        if stream.take(MAX_RECEIVED).read_line(&mut line).await? == 0 || line.trim().is_empty() {
            return Ok(Some(head));
        }
        if let Some((name, value)) = line.split_once(':') {
            head.headers.insert(name.to_ascii_lowercase(), value.trim().into());
        }
    }
}

/// Stores a call and returns its answer: `status`, `headers`, and `json` or `text`.
async fn answer(head: &Head, origin: &str, body: &[u8], shared: &Shared) -> Value {
    let path = format!("{origin}{}", head.path);
    let text = std::str::from_utf8(body).map_or_else(|_| latin(body), Value::from);
    let call = json!({ "method": head.method, "path": path, "headers": head.headers, "body": text });
    let plain = path.split('?').next().unwrap_or_default().to_owned();
    let (template, variables) = {
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.calls.push(call.clone());
        next_answer(&mut state, &plain, &shared.defaults)
    };
    shared.arrived.notify_waiters();
    let mut variables = (*variables).clone();
    let mut call = call;
    call["payload"] = serde_json::from_slice(body).unwrap_or(json!({}));
    variables.insert("call".to_owned(), call);
    let answer = evaluate(&template, &variables).unwrap_or_else(|error| refuse(&error));
    if let Some(delay) = answer["delay"].as_f64() {
        tokio::time::sleep(Duration::from_secs_f64(delay.clamp(0.0, 60.0))).await;
    }
    answer
}

fn refuse(error: &FlowError) -> Value {
    json!({ "status": 500, "json": { "error": error.to_string() } })
}

fn next_answer(state: &mut State, path: &str, defaults: &Defaults) -> (Value, Arc<Map<String, Value>>) {
    if let Some(route) = state.routes.get_mut(path) {
        let at = route.used.min(route.answers.len().saturating_sub(1));
        route.used += 1;
        return (route.answers.get(at).cloned().unwrap_or_default(), Arc::clone(&route.variables));
    }
    let answer = match defaults.pages.get(path) {
        Some(page) => json!({ "status": 200, "headers": { "Content-Type": "text/html" }, "page": page }),
        None => defaults.answer.clone(),
    };
    (answer, Arc::default())
}

fn format_answer(answer: &Value, is_head: bool) -> Vec<u8> {
    let status = answer["status"].as_u64().unwrap_or(200);
    let (content, is_json) = match (answer.get("page").or(answer.get("text")), answer.get("json")) {
        (Some(text), _) => (as_text(text).into_owned(), false),
        (None, Some(value)) => (value.to_string(), true),
        (None, None) => (String::new(), false),
    };
    let mut head = format!("HTTP/1.1 {status} Status\r\nContent-Length: {}\r\n", content.len());
    let headers = answer["headers"].as_object();
    let has_type = headers.is_some_and(|headers| headers.keys().any(|name| name.eq_ignore_ascii_case("content-type")));
    if is_json && !has_type {
        head.push_str("Content-Type: application/json\r\n");
    }
    for (name, value) in headers.into_iter().flatten() {
        head.extend([name, ": ", &as_text(value), "\r\n"]);
    }
    head.push_str("\r\n");
    if !is_head {
        head.push_str(&content);
    }
    head.into_bytes()
}
