//! Upgrades that end in the middle.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use super::fixture::{UpgradeProject, execute, sign_in, sign_up, stop, texts};
use crate::support::eventually;

/// The number of upgrades that are ended.
const KILLS: u32 = 16;

/// Returns whether a process works in the folder or below it.
fn is_used(folder: &Path) -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.into_iter().any(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder)))
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_upgrade_leaves_a_database_and_the_next_one_completes() {
    let Some(project) = UpgradeProject::new(15, "") else { return };
    let server = project.serve(&project.old, &[]);
    sign_up(&server, "ann").await;
    let filler = "INSERT INTO auth.audit_log_entries (id, payload, created_at)
                  SELECT gen_random_uuid(), json_build_object('filler', repeat('x', 500)), now() FROM generate_series(1, 20000)";
    execute(&server, filler).await;
    stop(server);
    let started = Instant::now();
    let complete = UpgradeProject::new(15, "").expect("installed");
    let status = fs::create_dir_all(complete.home().parent().expect("a folder"))
        .and_then(|()| std::process::Command::new("cp").arg("-a").arg(project.home()).arg(complete.home()).status());
    assert!(status.expect("copied").success());
    let copied = started.elapsed();
    complete.upgrade_successfully();
    let whole = started.elapsed().saturating_sub(copied);

    for kill in 0..KILLS {
        let mut process = project.upgrade().stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        std::thread::sleep(whole * kill / KILLS);
        kill_process(Pid::from_child(&process), Signal::KILL).expect("it runs or is a zombie");
        drop(process.wait());
        if project.release_of("cluster").as_deref() == Some("17") {
            break;
        }
        assert!(
            project.release_of("cluster").as_deref() == Some("15") || project.release_of("cluster.upgraded").is_some()
        );
        if kill % 4 == 3 {
            let server = project.serve(&project.old, &[]);
            assert_eq!(sign_in(&server, "ann").await.0, 200, "after kill {kill}");
            stop(server);
        }
    }
    project.upgrade_successfully();
    assert_eq!(project.release_of("cluster").as_deref(), Some("17"));
    eventually("no server of an ended upgrade remains", || !is_used(&project.home()));
    let server = project.serve(&project.new, &[]);
    assert_eq!(sign_in(&server, "ann").await.0, 200);
    let rows = "SELECT count(*)::text FROM auth.audit_log_entries WHERE payload->>'filler' <> ''";
    assert_eq!(texts(&server, rows).await, ["20000"]);
    stop(server);
}

/// The states between the three renames at the end, which are too short to be met by chance.
#[tokio::test(flavor = "multi_thread")]
async fn interrupted_replacement_is_finished_or_undone_by_the_next_start() {
    let Some(project) = UpgradeProject::new(15, "") else { return };
    let server = project.serve(&project.old, &[]);
    sign_up(&server, "ann").await;
    stop(server);
    project.upgrade_successfully();
    let home = project.home();
    let [cluster, upgraded, kept] =
        ["cluster", "cluster.upgraded", "cluster-before-upgrade-17"].map(|name| home.join(name));

    // Only the last rename is missing.
    fs::rename(&cluster, &upgraded).expect("renamed");
    let number = fs::metadata(&upgraded).expect("a folder").ino();
    let server = project.serve(&project.new, &[]);
    assert_eq!(sign_in(&server, "ann").await.0, 200);
    stop(server);
    assert_eq!(fs::metadata(&cluster).expect("a folder").ino(), number);

    // A backup finds the database, too.
    fs::rename(&cluster, &upgraded).expect("renamed");
    let (is_successful, text) = project.run(&project.new, &["backup", &project.folder.path("shop.tar.gz")]);
    assert!(is_successful && text.contains("1 user"), "{text}");

    // The old one has its name still: the new one is removed, and the upgrade starts over.
    fs::rename(&cluster, &upgraded).expect("renamed");
    fs::rename(&kept, &cluster).expect("renamed");
    let server = project.serve(&project.old, &[]);
    sign_up(&server, "bob").await;
    stop(server);
    assert!(!upgraded.exists());
    project.upgrade_successfully();
    let server = project.serve(&project.new, &[]);
    assert_eq!(sign_in(&server, "bob").await.0, 200);
    stop(server);
}
