//! Interrupts requests: client disconnect, timeout, panic, failing statement.
//!
//! After each interruption no session is in a transaction, no write is partial, and the next request succeeds.

mod background;
mod cases;
mod connections;
mod database_faults;
mod fixture;
mod request;
mod run;

use std::collections::BTreeSet;

use gotrue_rs::routes::list_routes;

use self::cases::{AREAS, WITHOUT_DATABASE};
use self::fixture::Fixture;
use self::run::{Case, CaseRun, InterruptionKind};

/// Interrupts every request of an area at every wait, and fails and panics at every statement.
///
/// Timeouts expire at the start and end of transactions. If `BASALT_CANCEL` is `all`, they expire at every wait and
/// every other step panics too.
async fn interrupt(cases: Vec<Case>) {
    let is_whole = std::env::var_os("BASALT_CANCEL").is_some_and(|extent| extent == "all");
    let mut faults = Vec::new();
    for case in &cases {
        let mut run = CaseRun::new(case).await;
        run.interrupt_at_all_points(InterruptionKind::Drop).await;
        run.interrupt_at_all_points(InterruptionKind::Fail).await;
        for blow in [InterruptionKind::Panic, InterruptionKind::Deadline] {
            if is_whole {
                run.interrupt_at_all_points(blow).await;
            } else {
                run.interrupt_at_selected_points(blow).await;
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
            // Boxed, so that the futures of tests stay small.
            Box::pin(interrupt(cases())).await;
        }
    )+
        const TESTED: &[&str] = &[$(stringify!($area)),+];
    };
}

areas!(accounts, admin, entry, factors, federation, messages, oauth_server, passkeys);

#[test]
fn every_route_has_cancellation_cases() {
    let routes: BTreeSet<String> = list_routes().iter().map(|line| format!("{} {}", line.method, line.path)).collect();
    let cases = AREAS.iter().flat_map(|(_, cases)| cases()).map(|case| case.route.to_owned());
    let known: BTreeSet<String> = cases.chain(WITHOUT_DATABASE.map(str::to_owned)).collect();
    assert_eq!(known, routes);
    assert_eq!(AREAS.map(|(name, _)| name), TESTED);
}

#[tokio::test]
async fn routes_without_a_database_send_no_statement() {
    let place = Fixture::new(|builder| builder).await;
    for route in WITHOUT_DATABASE {
        let path = route.strip_prefix("GET ").expect("they are read");
        place.world.get(path).await.expect(200);
        let steps = place.world.journal().steps();
        let is_statement = |step: &platform::journal::Step| {
            matches!(step, platform::journal::Step::Statement(_) | platform::journal::Step::Transaction(_))
        };
        assert!(!steps.iter().any(is_statement), "{route}: {steps:?}");
    }
}
