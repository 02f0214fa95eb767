//! The store on a disk: complete files, nothing left behind.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, future, stream};
use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::backend::ContentError;

static PART: [u8; 300_000] = [7; 300_000];

/// A folder that is deleted with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("storage-rs-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn entries(&self, name: &str) -> usize {
        fs::read_dir(self.0.join(name)).unwrap().count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn key(name: &str, version: &str) -> FileKey {
    FileKey { bucket: "b".to_owned(), name: name.to_owned(), version: Some(version.to_owned()) }
}

fn content(parts: &[&'static [u8]]) -> Content {
    let parts: Vec<_> = parts.iter().map(|part| Ok(Bytes::from_static(part))).collect();
    stream::iter(parts).boxed()
}

async fn read(backend: &DiskBackend, key: &FileKey, range: Option<Range<u64>>) -> Vec<u8> {
    let (_, content) = backend.get(key, range).await.unwrap();
    content
        .try_fold(Vec::new(), |mut all, part| async move {
            all.extend_from_slice(&part);
            Ok(all)
        })
        .await
        .unwrap()
}

#[tokio::test]
async fn content_is_read_as_it_was_written() {
    let folder = Folder::new("written");
    let backend = DiskBackend::open(&folder.0).unwrap();
    let headers = ContentHeaders::default();
    let small = key("a/b", "1");
    let facts = backend.put(&small, &headers, content(&[b"hello ", b"world"])).await.unwrap();
    assert_eq!((facts.size, facts.etag.as_str()), (11, "\"5eb63bbbe01eeed093cb22bb8f5acdc3\""));
    assert_eq!(read(&backend, &small, None).await, b"hello world");
    assert_eq!(read(&backend, &small, Some(6..9)).await, b"wor");
    let large = key("a", "1");
    backend.put(&large, &headers, content(&[&PART[..100_000]; 11])).await.unwrap();
    assert_eq!(read(&backend, &large, None).await.len(), 1_100_000);
    assert_eq!(read(&backend, &large, Some(300_000..1_000_001)).await.len(), 700_001);
    let empty = key("empty", "1");
    assert_eq!(backend.put(&empty, &headers, content(&[])).await.unwrap().size, 0);
    assert!(read(&backend, &empty, None).await.is_empty());
    assert_eq!(folder.entries("incoming"), 0);
}

#[tokio::test]
async fn interrupted_writes_leave_nothing() {
    let folder = Folder::new("interrupted");
    let backend = DiskBackend::open(&folder.0).unwrap();
    let broken = stream::iter([Ok(Bytes::from_static(&PART)), Err(ContentError::Incomplete)]).boxed();
    let key = key("a", "1");
    let result = backend.put(&key, &ContentHeaders::default(), broken).await;
    assert!(matches!(result, Err(BackendError::Content(ContentError::Incomplete))));
    let endless = stream::iter([Ok(Bytes::from_static(&PART)), Ok(Bytes::from_static(&PART))]).chain(stream::pending());
    let headers = ContentHeaders::default();
    let put = backend.put(&key, &headers, endless.boxed());
    assert!(tokio::time::timeout(Duration::from_millis(50), put).await.is_err());
    for _ in 0..100 {
        if folder.entries("incoming") == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(folder.entries("incoming"), 0);
    assert!(matches!(backend.head(&key).await, Err(BackendError::NotFound)));
}

#[tokio::test]
async fn copies_stay_when_the_source_is_deleted() {
    let folder = Folder::new("copied");
    let backend = DiskBackend::open(&folder.0).unwrap();
    let headers = ContentHeaders::default();
    let (source, target) = (key("a", "1"), key("b", "2"));
    backend.put(&source, &headers, content(&[b"content"])).await.unwrap();
    assert_eq!(backend.copy(&source, &target, &headers).await.unwrap().size, 7);
    backend.delete(&[source.clone(), key("never", "0")]).await.unwrap();
    assert_eq!(read(&backend, &target, None).await, b"content");
    assert!(matches!(backend.copy(&source, &key("c", "3"), &headers).await, Err(BackendError::NotFound)));
    let listed: Vec<_> = backend.list().try_collect().await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].identity, backend.identify(&target));
    backend.delete_listed(&listed[0]).await.unwrap();
    assert!(matches!(backend.head(&target).await, Err(BackendError::NotFound)));
}

#[tokio::test]
async fn uploads_grow_and_become_files() {
    let folder = Folder::new("staged");
    let backend = DiskBackend::open(&folder.0).unwrap();
    let id = Uuid::from_u128(7);
    let staging = backend.staging();
    staging.create(id, b"first").await.unwrap();
    assert!(staging.create(id, b"again").await.is_err());
    let broken = stream::iter([Ok(Bytes::from_static(b"hello")), Err(ContentError::Incomplete)]).boxed();
    let appended = staging.append(id, 0, broken).await.unwrap();
    assert!(appended.size == 5 && appended.interruption.is_some());
    assert!(staging.append(id, 4, content(&[b"x"])).await.is_err());
    // A crash lost the state of the digest.
    fs::remove_file(folder.0.join(format!("uploads/{id}.md5"))).unwrap();
    let reopened = DiskBackend::open(&folder.0).unwrap();
    assert_eq!(reopened.staging().append(id, 5, content(&[b" world"])).await.unwrap().size, 11);
    staging.describe(id, b"second").await.unwrap();
    assert_eq!(staging.description(id).await.unwrap(), b"second");
    let target = key("t", &id.to_string());
    for _ in 0..2 {
        let facts = staging.finish(id, &target, &ContentHeaders::default()).await.unwrap();
        assert_eq!((facts.size, facts.etag.as_str()), (11, "\"5eb63bbbe01eeed093cb22bb8f5acdc3\""));
    }
    assert_eq!(read(&backend, &target, None).await, b"hello world");
    assert!(matches!(staging.size(id).await, Err(BackendError::NotFound)));
    assert!(staging.list_idle(DateTime::<Utc>::MIN_UTC).await.unwrap().is_empty());
    assert_eq!(staging.list_idle(DateTime::<Utc>::MAX_UTC).await.unwrap(), [id]);
    staging.remove(id).await.unwrap();
    assert_eq!(folder.entries("uploads"), 0);
}

#[tokio::test]
async fn files_take_no_more_than_the_quota() {
    let folder = Folder::new("quota");
    let headers = ContentHeaders::default();
    let old = DiskBackend::open(&folder.0).unwrap();
    old.put(&key("old", "1"), &headers, content(&[b"old!"])).await.unwrap();
    let backend = DiskBackend::open_with_quota(&folder.0, Some(1_000_000)).unwrap();
    let used = async || backend.space().await.unwrap().unwrap().used.unwrap();
    assert!(backend.check_room(999_996).await.is_ok());
    assert!(matches!(backend.check_room(999_997).await, Err(BackendError::Quota)), "what was there counts");
    backend.put(&key("a", "1"), &headers, content(&[&PART[..]; 2])).await.unwrap();
    assert_eq!(used().await, 600_004);
    let refused = backend.put(&key("b", "1"), &headers, content(&[&PART[..]; 2])).await;
    assert!(matches!(refused, Err(BackendError::Quota)), "{refused:?}");
    assert!(matches!(backend.head(&key("b", "1")).await, Err(BackendError::NotFound)));
    assert_eq!((used().await, folder.entries("incoming")), (600_004, 0));
    assert!(matches!(backend.copy(&key("a", "1"), &key("c", "1"), &headers).await, Err(BackendError::Quota)));
    backend.copy(&key("old", "1"), &key("d", "1"), &headers).await.unwrap();
    // A resumable upload keeps what there was room for.
    let (id, staging) = (Uuid::from_u128(9), backend.staging());
    staging.create(id, b"").await.unwrap();
    let appended = staging.append(id, 0, content(&[&PART[..]; 2])).await;
    assert!(matches!(appended, Err(BackendError::Quota)), "{appended:?}");
    assert_eq!(staging.size(id).await.unwrap(), 300_000);
    staging.remove(id).await.unwrap();
    backend.delete(&[key("a", "1"), key("d", "1")]).await.unwrap();
    assert_eq!(used().await, 4);
    backend.put(&key("b", "1"), &headers, content(&[&PART[..]; 3])).await.unwrap();
}

/// The client is gone when all content has arrived, but is not on the disk yet.
#[test]
fn write_that_nobody_waits_for_leaves_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let folder = Folder::new("abandoned");
        let backend = DiskBackend::open_with_quota(&folder.0, Some(1_000_000)).unwrap();
        let (key, headers) = (key("a", "1"), ContentHeaders::default());
        let mut put = backend.put(&key, &headers, content(&[b"content"]));
        assert!((&mut put).now_or_never().is_none());
        drop(put);
        // The only thread for such work does this after the write.
        tokio::task::spawn_blocking(|| ()).await.unwrap();
        assert!(matches!(backend.head(&key).await, Err(BackendError::NotFound)));
        assert_eq!(backend.space().await.unwrap().unwrap().used, Some(0));
        assert_eq!(folder.entries("incoming"), 0);
    });
}

#[tokio::test]
async fn deletions_at_once_give_room_back_once() {
    let folder = Folder::new("deletions");
    let headers = ContentHeaders::default();
    let backend = DiskBackend::open_with_quota(&folder.0, Some(10_000_000)).unwrap();
    backend.put(&key("kept", "1"), &headers, content(&[&PART[..]; 2])).await.unwrap();
    let deleted = [key("deleted", "1")];
    for _ in 0..300 {
        backend.put(&deleted[0], &headers, content(&[b"1000"])).await.unwrap();
        future::join_all((0..8).map(|_| backend.delete(&deleted))).await;
    }
    assert_eq!(backend.space().await.unwrap().unwrap().used, Some(600_000));
}

#[tokio::test]
async fn space_of_a_closed_store_is_read_without_opening_it() {
    let folder = Folder::new("closed");
    let root = folder.0.join("below/files");
    let space = read_space(&root, Some(1000)).unwrap();
    assert_eq!((space.used, space.quota, folder.0.join("below").exists()), (Some(0), Some(1000), false));
    assert!(space.total >= space.available && space.reserved > 0);
    let backend = DiskBackend::open(&root).unwrap();
    backend.put(&key("a", "1"), &ContentHeaders::default(), content(&[b"content"])).await.unwrap();
    assert_eq!(read_space(&root, None).unwrap().used, Some(7));
}

proptest! {
    #[test]
    fn names_never_become_paths(bucket in ".{0,40}", name in ".{0,200}", version in proptest::option::of(".{0,80}")) {
        let file = file_name(&FileKey { bucket, name, version });
        prop_assert!(file.len() <= 110);
        prop_assert!(file.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte)));
    }

    #[test]
    fn different_keys_have_different_files(first in "[a-z/.]{1,6}", second in "[a-z/.]{1,6}") {
        let file = |bucket: &str, name: &str| file_name(&FileKey { bucket: bucket.to_owned(), name: name.to_owned(), version: None });
        prop_assert_eq!(first == second, file("b", &first) == file("b", &second));
        let moved = format!("{second}b");
        prop_assert_ne!(file(&moved, &first), file(&second, &format!("b{first}")));
    }
}
