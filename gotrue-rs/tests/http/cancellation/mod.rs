//! Requests that end before they are done: dropped with their client, out of time, in a panic, or because a statement
//! fails. After each, no session is in a transaction, nothing is half written, and what comes next is right.

mod asked;
mod background;
mod cases;
mod connections;
mod place;
mod run;

use std::collections::BTreeSet;

use gotrue_rs::routes::lines;

use self::cases::{AREAS, WITHOUT_DATABASE};
use self::place::Place;
use self::run::{Blow, Case, Run};

/// Interrupts every request of an area: dropped at every wait, and every statement fails and panics. Deadlines strike where
/// transactions begin and end; at every wait if `BASALT_CANCEL` is `all`, and then every other step panics too.
async fn interrupt(cases: Vec<Case>) {
    let is_whole = std::env::var_os("BASALT_CANCEL").is_some_and(|extent| extent == "all");
    let mut faults = Vec::new();
    for case in &cases {
        let mut run = Run::new(case).await;
        run.all(Blow::Drop).await;
        run.all(Blow::Fail).await;
        for blow in [Blow::Panic, Blow::Deadline] {
            if is_whole {
                run.all(blow).await;
            } else {
                run.some(blow).await;
            }
        }
        let summary = run.summary();
        faults.extend(run.faults.into_iter().map(|fault| format!("{summary}\n    {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

macro_rules! areas {
    ($($area:ident),+) => {$(
        #[tokio::test]
        async fn $area() {
            let (_, cases) = AREAS.iter().find(|(name, _)| *name == stringify!($area)).expect("an area");
            // On the heap: a test's future would hold it.
            Box::pin(interrupt(cases())).await;
        }
    )+
        const TESTED: &[&str] = &[$(stringify!($area)),+];
    };
}

areas!(accounts, admin, entry, factors, federation, messages, oauth_server, passkeys);

#[test]
fn every_route_is_interrupted() {
    let routes: BTreeSet<String> = lines().iter().map(|line| format!("{} {}", line.method, line.path)).collect();
    let cases = AREAS.iter().flat_map(|(_, cases)| cases()).map(|case| case.route.to_owned());
    let known: BTreeSet<String> = cases.chain(WITHOUT_DATABASE.map(str::to_owned)).collect();
    assert_eq!(known, routes);
    assert_eq!(AREAS.map(|(name, _)| name), TESTED);
}

#[tokio::test]
async fn routes_without_a_database_send_no_statement() {
    let place = Place::new(|builder| builder).await;
    for route in WITHOUT_DATABASE {
        let path = route.strip_prefix("GET ").expect("they are read");
        place.world.get(path).await.expect(200);
        let steps = place.world.journal().steps();
        let is_statement = |step: &gotrue_rs::journal::Step| {
            matches!(step, gotrue_rs::journal::Step::Statement(_) | gotrue_rs::journal::Step::Transaction(_))
        };
        assert!(!steps.iter().any(is_statement), "{route}: {steps:?}");
    }
}
