use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::*;

/// A log that is kept in memory.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panicked").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Logs inside and outside a request, and returns the lines.
fn lines(format: LogFormat) -> Vec<String> {
    let written = Written::default();
    let writer = written.clone();
    let subscriber = build_subscriber(BoxMakeWriter::new(move || writer.clone()), format);
    tracing::subscriber::with_default(subscriber, || {
        tracing::info!(address = "::1", "outside");
        let request = tracing::info_span!(
            "request",
            http.route = "/user",
            request.id = "id \"1\"",
            user.id = tracing::field::Empty,
        );
        request.in_scope(|| tracing::info!("before"));
        request.record("user.id", tracing::field::display("u-1"));
        request.in_scope(|| {
            tracing::info_span!("outbound_call", server.address = "a.example").in_scope(|| {
                tracing::warn!(attempt = 2, "inside");
            });
            tracing::info!(request.id = "own", status = 200, "request answered");
        });
    });
    let text = written.0.lock().expect("no writer panicked").clone();
    String::from_utf8(text).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn json_lines_have_request_and_user_once() {
    let lines = lines(LogFormat::Json);
    let fields = |line: &String| -> Vec<Value> {
        let line: Value = serde_json::from_str(line).expect("each line is an object");
        ["message", "level", "request.id", "user.id", "http.route", "span"].map(|name| line[name].clone()).into()
    };
    let null = Value::Null;
    assert_eq!(
        fields(&lines[0]),
        ["outside".into(), "INFO".into(), null.clone(), null.clone(), null.clone(), null.clone()]
    );
    assert_eq!(fields(&lines[1])[2..4], [Value::from("id \"1\""), null]);
    assert_eq!(fields(&lines[2])[..4], ["inside", "WARN", "id \"1\"", "u-1"].map(Value::from));
    assert_eq!(fields(&lines[3])[2..4], ["own", "u-1"].map(Value::from));
    assert!(lines.iter().all(|line| line.matches("request.id").count() <= 1), "{lines:?}");
    assert_eq!(lines.len(), 4);
}

#[test]
fn text_lines_end_with_request_and_user() {
    let lines = lines(LogFormat::Text);
    let rest: Vec<&str> = lines.iter().map(|line| line.split_once("Z ").expect("a time in UTC").1).collect();
    let expected = [
        " INFO outside address=\"::1\"",
        " INFO before request.id=\"id \\\"1\\\"\"",
        " WARN inside attempt=2 request.id=\"id \\\"1\\\"\" user.id=\"u-1\"",
        " INFO request answered request.id=\"own\" status=200 user.id=\"u-1\"",
    ];
    assert_eq!(rest, expected);
}
