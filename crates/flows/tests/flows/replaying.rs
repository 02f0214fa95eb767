//! Outcomes of replays.

use std::sync::Arc;

use flows::FlowError;
use flows::format::Flow;
use flows::replay::{FileOutcome, FlowFile, Permissions, ReplayOptions, Report, build_client, replay_all};
use flows::targets::{Target, TargetFuture, Targets, WantedServer};
use serde_json::{Map, json};

/// Servers of which one does not open.
struct Failing;

impl Targets for Failing {
    fn open<'a>(&'a self, wanted: &'a WantedServer) -> TargetFuture<'a, Arc<Target>> {
        Box::pin(async move {
            assert!(wanted.flow != "second", "the server of this flow panics");
            Ok(Arc::new(Target::default()))
        })
    }

    fn close<'a>(&'a self, _target: &'a Target) -> TargetFuture<'a, ()> {
        Box::pin(async { Ok::<(), FlowError>(()) })
    }
}

#[tokio::test]
async fn flow_whose_replay_panics_has_failed_and_the_others_keep_their_places() {
    let names = ["first", "second", "third"];
    let files = names.map(|name| {
        let steps = json!([{ "note": name, "expect": name }]);
        let flow = Flow::parse(&json!({ "flow": name, "steps": steps }).to_string()).unwrap();
        FlowFile { path: format!("{name}.json").into(), root: ".".into(), flow }
    });
    let options = ReplayOptions {
        jobs: 2,
        profile: None,
        given: Map::new(),
        permissions: Permissions::ALL,
        has_project: false,
        seeds_users: false,
    };
    let mut reported = 0;
    let done = |_: &FileOutcome| reported += 1;
    let client = build_client(true).unwrap();
    let outcomes = replay_all(files.to_vec(), Arc::new(Failing), &client, &options, done).await;
    let found: Vec<(&str, bool)> =
        outcomes.iter().map(|file| (file.name.as_str(), file.outcome.is_success())).collect();
    assert_eq!(found, [("first", true), ("second", false), ("third", true)]);
    assert_eq!(Report::of(&outcomes), Report { passed: 2, failed: 1 });
    assert_eq!(reported, 3);
    let error = outcomes[1].outcome.error.as_ref().expect("an error");
    assert!(error.problem.contains("panic"), "{error}");
}
