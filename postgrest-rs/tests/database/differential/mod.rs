//! Random requests over random schemas: the answer is that of the SQL that the request stands for, which is made here a second time,
//! from the description of the request and not from its URL.

mod model;
mod request;
mod statement;

use std::fmt::Write;

use bytes::Bytes;
use http::{Method, Request};
use proptest::collection::vec;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use serde_json::Value;
use tokio_postgres::Client;

use self::model::{Schema, schema};
use self::request::{Action, Read, Step, step};
use self::statement::{Expected, expect};
use crate::api::{TestApi, collect, text};

/// Schemas of a normal run, which are the same each time. `PROPTEST_CASES` asks for that many others (`make fuzz-data-api`).
const SCHEMAS: u32 = 16;
/// Requests to each schema.
const REQUESTS: usize = 48;

/// The answer that the database gives to the statement of a step.
struct Answer {
    rows: Value,
    total: i64,
}

/// Runs the statement in a transaction that is rolled back.
async fn run(admin: &Client, expected: &Expected) -> Result<Answer, String> {
    admin.batch_execute("BEGIN").await.unwrap();
    let row = admin.query_one(&expected.rows, &[]).await;
    let total = match (&row, &expected.total) {
        (Ok(_), Some(total)) => Some(admin.query_one(total, &[]).await),
        _ => None,
    };
    admin.batch_execute("ROLLBACK").await.unwrap();
    let code =
        |error: tokio_postgres::Error| error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned());
    let rows: String = row.map_err(code)?.get(0);
    let total = total.transpose().map_err(code)?.map_or(0, |row| row.get(0));
    Ok(Answer { rows: serde_json::from_str(&rows).unwrap(), total })
}

/// Rows whose order nothing says are compared as a set.
fn sorted(rows: Value) -> Value {
    let Value::Array(mut rows) = rows else { return rows };
    rows.sort_by_key(ToString::to_string);
    Value::Array(rows)
}

async fn compare(api: &TestApi, schema: &Schema, step: &Step) -> Result<(), String> {
    let (method, target, body) = step.to_http(schema);
    let mut request = Request::builder().method(&method).uri(&target);
    request = request.header("prefer", step.preferences());
    if method != Method::GET {
        request = request.header("content-type", "application/json");
    }
    let (parts, ()) = request.body(()).map_err(|error| format!("{target}: {error}"))?.into_parts();
    let expected = expect(schema, step);
    let answered = collect(api.api.handle(&parts, Bytes::from(body.clone())).await).await;
    let mut described = format!("{method} {target}\n{body}\n{}\n", expected.rows);
    let (status, answer) = (answered.status().as_u16(), text(&answered));
    write!(described, "answered {status} {answer}").unwrap();
    match run(&api.admin, &expected).await {
        Ok(rows) => {
            let is_write = !matches!(step.action, Action::Read(_));
            let order = |rows| if is_write { sorted(rows) } else { rows };
            let parsed = serde_json::from_str(&answer).map_err(|error| format!("{error}: {described}"))?;
            if !(200..300).contains(&status) || order(parsed) != order(rows.rows.clone()) {
                return Err(format!("expected {}\n{described}", rows.rows));
            }
            if let Action::Read(Read { counts: true, .. }) = &step.action {
                let range = answered.headers()["content-range"].to_str().unwrap();
                if range.rsplit('/').next() != Some(&rows.total.to_string()) {
                    return Err(format!("expected the total {}, not {range}\n{described}", rows.total));
                }
            }
        }
        Err(code) => {
            let body: Value = serde_json::from_str(&answer).map_err(|error| format!("{error}: {described}"))?;
            if !(400..500).contains(&status) || body["code"] != code.as_str() {
                return Err(format!("expected {code}\n{described}"));
            }
        }
    }
    Ok(())
}

/// The runner of a normal run, or of the run that the environment asks for.
fn runner() -> TestRunner {
    let environment = Config::default();
    let is_long = std::env::var_os("PROPTEST_CASES").is_some();
    let config = Config {
        cases: if is_long { environment.cases } else { SCHEMAS },
        max_shrink_iters: 300,
        max_shrink_time: 30_000,
        failure_persistence: None,
        ..environment
    };
    if is_long {
        return TestRunner::new(config);
    }
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn answers_are_those_of_the_statements_that_requests_stand_for() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let cases = (schema(), vec(step(), REQUESTS));
    let checked = runner().run(&cases, |(schema, steps)| {
        runtime.block_on(async {
            let settings = [("db-tx-end", "commit-allow-override")];
            let api = TestApi::start(&schema.to_sql(), &settings).await;
            for step in &steps {
                compare(&api, &schema, step).await.map_err(TestCaseError::fail)?;
            }
            Ok(())
        })
    });
    if let Err(error) = checked {
        panic!("{error}");
    }
}
