//! Answers of Supabase Storage to the steps in `tests/recordings/scenarios.json`, compared with those of the API.

use std::fmt::Write;

use serde_json::Value;

use crate::api::TestApi;
use crate::remote::Store;
use crate::steps::Runner;

const SCENARIOS: &str = include_str!("../recordings/scenarios.json");
const RECORDINGS: &str = include_str!("../recordings/recordings.json");
const SETUP: &str = include_str!("../recordings/setup.sql");

/// Describes where an answer is not as recorded.
fn describe(differences: &mut String, place: &str, recorded: &Value, answered: &Value) {
    match (recorded, answered) {
        _ if recorded == answered => {}
        (Value::Object(a), Value::Object(b)) => {
            let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                let (a, b) = (a.get(name).unwrap_or(&Value::Null), b.get(name).unwrap_or(&Value::Null));
                describe(differences, &format!("{place}/{name}"), a, b);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                describe(differences, &format!("{place}/{index}"), a, b);
            }
        }
        _ => writeln!(differences, "  {place}: recorded {recorded}, answered {answered}").unwrap(),
    }
}

/// Runs the steps and describes what is not as recorded.
async fn compare(api: &TestApi) -> String {
    let scenarios: Value = serde_json::from_str(SCENARIOS).unwrap();
    let recordings: Value = serde_json::from_str(RECORDINGS).unwrap();
    api.admin.batch_execute(SETUP).await.unwrap();
    let mut runner = Runner::new(api);
    let mut differences = String::new();
    for step in scenarios["steps"].as_array().unwrap() {
        let id = step["id"].as_str().unwrap();
        let answer = runner.run(step).await;
        if step["quiet"] == true {
            continue;
        }
        let recorded = &recordings["results"][id];
        let is_same = answer == *recorded || recordings["alt"].get(id) == Some(&answer);
        // The reference is wrong there: an answer of the same kind counts.
        let is_better = step.get("quirk").is_some()
            && answer["status"] == recorded["status"]
            && std::mem::discriminant(&answer["json"]) == std::mem::discriminant(&recorded["json"]);
        if !is_same && !is_better {
            writeln!(differences, "{id}").unwrap();
            describe(&mut differences, "", recorded, &answer);
        }
    }
    differences
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_as_recorded() {
    let api = TestApi::start(&[]).await;
    let differences = compare(&api).await;
    assert!(differences.is_empty(), "{differences}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_as_recorded_with_files_behind_the_s3_protocol() {
    let store = Store::start().await;
    let api = TestApi::start_over(&[], Some(store.backend())).await;
    let differences = compare(&api).await;
    assert!(differences.is_empty(), "{differences}");
}
