//! `basalt storage` that is killed during uploads, and its memory during large ones.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Output};
use std::time::Duration;

use flate2::write::{DeflateEncoder, ZlibEncoder};
use flate2::{Compression, Crc};
use futures::StreamExt;
use reqwest::{Body, Method, StatusCode};
use serde_json::json;

use super::storage_server::{StorageServer, variables_of};
use crate::support::{Basalt, TempFolder, basalt};

/// How often the server is killed.
const KILLS: usize = 8;
/// The clients that upload at the same time.
const CLIENTS: usize = 4;
/// The size of the large object, in MiB.
const LARGE: usize = 300;
/// How much more memory a large upload or download may need, in KiB.
const MORE_MEMORY: u64 = 16 * 1024;

/// The size of the picture, in MiB, and how many requests transform it at the same time.
const IMAGE: usize = 40;
const IMAGES: usize = 20;

/// The size of an unpacked colour profile that is 1.5 MB in its file, in MiB, and how much more memory such a file may need, in KiB.
const PROFILE: usize = 1500;
const MORE_MEMORY_OF_PROFILE: u64 = 256 * 1024;

/// A database and a folder for files.
struct Place {
    owner: Basalt,
    files: String,
    _folder: TempFolder,
}

impl Place {
    fn new() -> Self {
        let folder = TempFolder::new();
        let files = folder.path("files");
        std::fs::create_dir_all(&files).expect("a folder");
        Self { owner: Basalt::serve(&["--ephemeral"]), files, _folder: folder }
    }

    fn backend(&self) -> Vec<(&'static str, String)> {
        vec![
            ("STORAGE_BACKEND", "file".to_owned()),
            ("FILE_STORAGE_BACKEND_PATH", self.files.clone()),
            ("FILE_SIZE_LIMIT", (1_u64 << 30).to_string()),
        ]
    }

    async fn start(&self) -> StorageServer<'_> {
        StorageServer::start(&self.owner, self.backend()).await
    }

    /// Runs a subcommand of `basalt storage` to its end.
    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = basalt();
        let command = command.arg("storage").args(arguments).envs(variables_of(&self.owner)).envs(self.backend());
        command.output().expect("the command runs")
    }
}

async fn create_bucket(server: &StorageServer<'_>) {
    let created = server.request(Method::POST, "/bucket").json(&json!({"name": "kept"})).send().await;
    assert_eq!(created.expect("a response").status(), StatusCode::OK);
}

/// A figure of the memory of a process, in KiB.
fn memory(process: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// The content that a client uploads under a name for the nth time: small and large ones.
fn content(name: &str, number: usize) -> String {
    let length = if number.is_multiple_of(3) { 600_000 } else { 500 };
    format!("{name} {number} ").repeat(length / (name.len() + 4))
}

/// What a client knows about its objects: the last number that was acknowledged, and the last that was sent.
type Known = BTreeMap<String, (Option<usize>, usize)>;

/// Uploads until the server is gone.
async fn upload_until_it_ends(server: &StorageServer<'_>, client: usize, known: &mut Known) {
    for number in known.len().. {
        // One object is new each time, one is replaced.
        for (name, replaces) in [(format!("new-{client}-{number}"), "false"), (format!("same-{client}"), "true")] {
            known.entry(name.clone()).or_default().1 = number;
            let request = server.request(Method::POST, &format!("/object/kept/{name}")).header("x-upsert", replaces);
            let request = request.header("content-type", "text/plain").body(content(&name, number));
            match request.send().await {
                Ok(answer) if answer.status() == StatusCode::OK => {
                    known.entry(name).or_default().0 = Some(number);
                }
                Ok(answer) => panic!("{name}: {}", answer.text().await.unwrap_or_default()),
                Err(_) => return,
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_server_loses_no_acknowledged_upload_and_keeps_no_orphan() {
    let place = Place::new();
    let mut known: Vec<Known> = vec![Known::new(); CLIENTS];
    for round in 0..KILLS {
        let server = place.start().await;
        if round == 0 {
            create_bucket(&server).await;
        }
        let process = server.process().to_string();
        let clients = known.iter_mut().enumerate().map(|(client, known)| upload_until_it_ends(&server, client, known));
        let kill = async {
            tokio::time::sleep(Duration::from_millis(150 + 70 * round as u64)).await;
            let killed = Command::new("kill").args(["-KILL", &process]).status().expect("the command runs");
            assert!(killed.success());
        };
        tokio::join!(futures::future::join_all(clients), kill);
    }
    let server = place.start().await;
    let (mut acknowledged, mut objects) = (0, 0);
    for (name, (last, sent)) in known.iter().flatten() {
        let read = server.request(Method::GET, &format!("/object/kept/{name}")).send().await.expect("a response");
        let (status, text) = (read.status(), read.text().await.expect("text"));
        objects += usize::from(status == StatusCode::OK);
        let Some(last) = last else { continue };
        acknowledged += 1;
        assert_eq!(status, StatusCode::OK, "{name} was acknowledged");
        assert!((*last..=*sent).any(|number| text == content(name, number)), "{name} has the content of an upload");
    }
    assert!(acknowledged > KILLS * CLIENTS, "{acknowledged} uploads");
    drop(server);
    let check = place.run(&["check", "--delete", "--older-than", "0"]);
    let report = String::from_utf8_lossy(&check.stdout);
    assert!(check.status.success(), "{report}{}", String::from_utf8_lossy(&check.stderr));
    assert!(report.contains(&format!("{objects} objects, {objects} files")), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_upload_and_download_need_little_memory() {
    let place = Place::new();
    let server = place.start().await;
    create_bucket(&server).await;
    let transfer = async |megabytes: usize| {
        let part = bytes::Bytes::from(vec![7_u8; 1 << 20]);
        let parts = futures::stream::iter((0..megabytes).map(move |_| Ok::<_, std::io::Error>(part.clone())));
        let path = format!("/object/kept/{megabytes}");
        let upload = server.request(Method::POST, &path).body(Body::wrap_stream(parts)).send().await;
        assert_eq!(upload.expect("a response").status(), StatusCode::OK);
        let mut content = server.request(Method::GET, &path).send().await.expect("a response").bytes_stream();
        let mut length = 0;
        while let Some(part) = content.next().await {
            length += part.expect("content").len();
        }
        assert_eq!(length, megabytes << 20);
    };
    transfer(4).await;
    let before = memory(server.process(), "VmRSS:");
    std::fs::write(format!("/proc/{}/clear_refs", server.process()), "5").expect("the peak is reset");
    transfer(LARGE).await;
    let more = memory(server.process(), "VmHWM:").saturating_sub(before);
    assert!(more <= MORE_MEMORY, "{more} KiB more than {before} KiB");
}

#[tokio::test]
async fn anonymised_copy_has_other_names_and_content() {
    let place = Place::new();
    let server = place.start().await;
    create_bucket(&server).await;
    let path = "/object/kept/6f7d4d1e-1b6f-4c59-9b50-0b8cf1d0c9a1/ann-smith.txt";
    let upload = server.request(Method::POST, path).header("content-type", "text/plain").body("dear Ann").send().await;
    assert_eq!(upload.expect("a response").status(), StatusCode::OK);
    drop(server);
    let anonymise = ["anonymise", "--seed", "a seed of the tests"];
    assert!(!place.run(&anonymise).status.success(), "without --yes");
    let done = place.run(&[&anonymise[..], &["--yes"]].concat());
    let output = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{output}{}", String::from_utf8_lossy(&done.stderr));
    assert!(output.contains("Replaced 1 object, deleted 0 incomplete uploads."), "{output}");
    let server = place.start().await;
    let prefix = json!({"prefix": "6f7d4d1e-1b6f-4c59-9b50-0b8cf1d0c9a1"});
    let list = server.request(Method::POST, "/object/list/kept").json(&prefix).send().await.expect("a response");
    let list: serde_json::Value = list.json().await.expect("JSON");
    let name = list[0]["name"].as_str().expect("a name");
    assert!(name.strip_suffix(".txt").is_some_and(|stem| stem.starts_with("id-")), "{name}");
    let path = format!("/object/kept/6f7d4d1e-1b6f-4c59-9b50-0b8cf1d0c9a1/{name}");
    let read = server.request(Method::GET, &path).send().await.expect("a response");
    assert_eq!(read.text().await.expect("text"), "This tex");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn images_that_wait_for_their_turn_are_not_in_memory() {
    let place = Place::new();
    let variables = [place.backend(), vec![("IMAGE_TRANSFORMATION_ENABLED", "true".to_owned())]].concat();
    let server = StorageServer::start(&place.owner, variables).await;
    create_bucket(&server).await;
    // It begins as a picture does, and is found to be none once it was read.
    let mut content = b"\x89PNG\r\n\x1a\n".to_vec();
    content.resize(IMAGE * 1024 * 1024, 0);
    let request = server.request(Method::POST, "/object/kept/large.png").header("content-type", "image/png");
    assert_eq!(request.body(content).send().await.expect("a response").status(), StatusCode::OK);
    let before = memory(server.process(), "VmRSS:");
    let renderings = (0..IMAGES).map(|_| async {
        let request = server.request(Method::GET, "/render/image/authenticated/kept/large.png?width=20");
        request.send().await.expect("a response").status().as_u16()
    });
    let statuses = futures::future::join_all(renderings).await;
    assert!(statuses.iter().all(|status| [400, 422, 429].contains(status)), "{statuses:?}");
    let more = memory(server.process(), "VmHWM:").saturating_sub(before);
    let turns = std::thread::available_parallelism().map_or(1, usize::from).div_ceil(2).min(4);
    // A buffer that grows is there twice for a moment, and the allocator keeps one for the next.
    let most = (turns as u64 + 3) * IMAGE as u64 * 1024;
    assert!(more <= most, "{more} KiB more than {before} KiB");
}

/// A chunk of a PNG (ISO/IEC 15948 §5.3).
fn chunk(kind: [u8; 4], data: &[u8]) -> Vec<u8> {
    let mut checksum = Crc::new();
    checksum.update(&kind);
    checksum.update(data);
    let length = u32::try_from(data.len()).expect("a small chunk");
    [&length.to_be_bytes(), &kind[..], data, &checksum.sum().to_be_bytes()].concat()
}

/// A picture of one pixel with a colour profile of so many MiB.
fn picture_with_profile(size: usize) -> Vec<u8> {
    let mut block = DeflateEncoder::new(Vec::new(), Compression::best());
    block.write_all(&vec![0; 1 << 20]).expect("a Vec takes bytes");
    block.flush().expect("a Vec takes bytes");
    let blocks = block.get_ref().repeat(size);
    // The checksum of zeros is their number (RFC 1950 §9).
    let number = u32::try_from((size << 20) % 65_521).expect("a small number");
    let checksum = ((number << 16) | 1).to_be_bytes();
    let profile = [&b"p\0\0\x78\x9c"[..], &blocks, &[3, 0], &checksum].concat();
    let mut pixel = ZlibEncoder::new(Vec::new(), Compression::fast());
    pixel.write_all(&[0, 1, 2, 3, 4]).expect("a Vec takes bytes");
    let pixel = pixel.finish().expect("a Vec takes bytes");
    let head = chunk(*b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0]);
    [&b"\x89PNG\r\n\x1a\n"[..], &head, &chunk(*b"iCCP", &profile), &chunk(*b"IDAT", &pixel), &chunk(*b"IEND", b"")]
        .concat()
}

#[tokio::test]
async fn packed_profiles_of_pictures_and_icons_stay_packed() {
    let place = Place::new();
    let variables = [place.backend(), vec![("IMAGE_TRANSFORMATION_ENABLED", "true".to_owned())]].concat();
    let server = StorageServer::start(&place.owner, variables).await;
    create_bucket(&server).await;
    let picture = picture_with_profile(PROFILE);
    let length = u32::try_from(picture.len()).expect("a small picture").to_le_bytes();
    let icon_head = [&[0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 32, 0][..], &length, &[22, 0, 0, 0]].concat();
    let icon = [icon_head, picture.clone()].concat();
    let plain = picture_with_profile(0);
    for (name, content) in [("plain.png", plain), ("picture.png", picture), ("icon.ico", icon)] {
        let request = server.request(Method::POST, &format!("/object/kept/{name}")).header("content-type", "image/png");
        assert_eq!(request.body(content).send().await.expect("a response").status(), StatusCode::OK, "{name}");
        let before = memory(server.process(), "VmHWM:");
        let path = format!("/render/image/authenticated/kept/{name}?width=20");
        let rendered = server.request(Method::GET, &path).send().await.expect("a response");
        assert_eq!(rendered.status(), StatusCode::OK, "{name}: {:?}", rendered.text().await);
        let more = memory(server.process(), "VmHWM:").saturating_sub(before);
        assert!(more <= MORE_MEMORY_OF_PROFILE, "{name}: {more} KiB more than {before} KiB");
    }
}
