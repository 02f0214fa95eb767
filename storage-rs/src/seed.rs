//! Buckets and objects that a project brings: they are created, or brought up to date.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use md5::{Digest, Md5};
use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::backend::{Content, ContentError, ContentHeaders, FileKey};
use crate::database::rows::text as column;
use crate::database::scope::Scope;
use crate::database::{array, nullable, sql, text};
use crate::error::Error;
use crate::names;
use crate::objects::write::{self, BucketLimits, ContentCheck, NewObject};
use crate::storage::Storage;
use crate::target::Target;

/// How long objects of a project may be cached, as the Supabase CLI uploads them.
const CACHE_CONTROL: &str = "max-age=3600";

/// The bytes of a file that are read at once.
const BLOCK: usize = 256 * 1024;

/// The largest number of refused files that are named.
const MAX_NAMED: usize = 5;

/// A bucket of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BucketSeed {
    /// Its id and name.
    pub name: String,
    /// Whether all clients may read its objects.
    pub public: Option<bool>,
    /// The largest object, in bytes.
    pub file_size_limit: Option<u64>,
    /// The types of objects; `None` leaves them as they are.
    pub allowed_mime_types: Option<Vec<String>>,
    /// The folder with its objects.
    pub objects: Option<PathBuf>,
}

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seeded {
    /// Buckets that were created or brought up to date.
    pub buckets: usize,
    /// Objects that were written: they are new or have other content.
    pub objects: usize,
    /// The files that were left out.
    pub refused: Vec<RefusedFile>,
}

impl Seeded {
    /// Names the first files that were left out, if there are some.
    pub fn describe_refused(&self) -> Option<String> {
        let first: Vec<String> = self.refused.iter().take(MAX_NAMED).map(ToString::to_string).collect();
        let more = match self.refused.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!first.is_empty())
            .then(|| format!("files that their buckets do not take are left out: {}{more}", first.join(", ")))
    }
}

/// A file that is too large for its bucket, or of a type that it does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedFile {
    /// The bucket.
    pub bucket: String,
    /// The name that the object would have.
    pub name: String,
    /// What an upload of it would be answered.
    pub reason: String,
}

impl fmt::Display for RefusedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} ({})", self.bucket, self.name, self.reason)
    }
}

/// A file of a folder: its path, the name of its object, and its size in bytes.
struct SeedFile {
    path: PathBuf,
    name: String,
    size: u64,
}

/// Creates the buckets of a project and writes their objects. Objects that are there with the same content stay; files that
/// an upload would refuse for their size or type are left out.
///
/// # Errors
/// A name is not valid, a file cannot be read, or the database or the backend failed.
pub async fn apply(storage: &Arc<Storage>, seeds: &[BucketSeed]) -> Result<Seeded, Error> {
    let mut seeded = Seeded::default();
    let scope = Scope::of_upkeep(&storage.config().service_role, "storage.object.upload");
    for seed in seeds {
        names::check_new_bucket_name(&seed.name)?;
        write_bucket(storage, &scope, seed).await?;
        seeded.buckets += 1;
        if let Some(folder) = &seed.objects {
            write_objects(storage, &scope, &seed.name, folder, &mut seeded).await?;
        }
    }
    Ok(seeded)
}

async fn write_bucket(storage: &Storage, scope: &Scope, seed: &BucketSeed) -> Result<(), Error> {
    let types = seed.allowed_mime_types.as_ref();
    let statement = sql(
        "INSERT INTO storage.buckets (id, name, public, file_size_limit, allowed_mime_types) \
         VALUES ($1, $1, coalesce($2::boolean, false), $3::bigint, $4::text[]) \
         ON CONFLICT (id) DO UPDATE SET public = coalesce($2::boolean, buckets.public), \
         file_size_limit = coalesce($3::bigint, buckets.file_size_limit), \
         allowed_mime_types = coalesce($4::text[], buckets.allowed_mime_types)",
        [
            text(seed.name.as_str()),
            nullable(seed.public.map(|public| public.to_string())),
            nullable(seed.file_size_limit.map(|limit| limit.to_string())),
            types.map_or(postgrest_rs::sql::Value::Null, |types| array(types.iter().map(String::as_str))),
        ],
    );
    storage.database().run(scope, statement).await.map(|_| ())
}

async fn write_objects(
    storage: &Arc<Storage>,
    scope: &Scope,
    bucket: &str,
    folder: &Path,
    seeded: &mut Seeded,
) -> Result<(), Error> {
    let limits = storage.database().run(scope, write::select_limits(bucket)).await?;
    let limits = write::read_limits(&limits, bucket)?;
    let statement = sql("SELECT name, metadata->>'eTag' FROM storage.objects WHERE bucket_id = $1", [text(bucket)]);
    let rows = storage.database().run(scope, statement).await?;
    let known: HashMap<String, String> =
        rows.iter().filter_map(|row| Some((column(row, 0)?, column(row, 1)?))).collect();
    let walked = folder.to_owned();
    let files = tokio::task::spawn_blocking(move || list_files(&walked)).await.map_err(Error::internal)?;
    let files = files.map_err(|error| read_error(folder, &error))?;
    for file in files {
        names::check_object_name(&file.name)?;
        if let Err(refusal) = check_file(storage, &limits, &file) {
            seeded.refused.push(RefusedFile {
                bucket: bucket.to_owned(),
                name: file.name,
                reason: refusal.message.into_owned(),
            });
            continue;
        }
        if let Some(etag) = known.get(&file.name)
            && *etag == compute_etag(&file.path).await.map_err(|error| read_error(&file.path, &error))?
        {
            continue;
        }
        let content = open(&file.path).await.map_err(|error| read_error(&file.path, &error))?;
        write_object(storage, scope, bucket, &file.name, content).await?;
        seeded.objects += 1;
    }
    Ok(())
}

/// Checks a file by the limits of its bucket. Of its type only the essence has to be among the allowed ones: the charset is not
/// the choice of the project.
fn check_file(storage: &Storage, limits: &BucketLimits, file: &SeedFile) -> Result<(), Error> {
    let media_type = media_type(&file.name);
    let essence = media_type.split(';').next().unwrap_or_default();
    let check = |mime_type: &str| {
        let mime_type = Some(mime_type.to_owned());
        let maximum = storage.config().file_size_limit;
        ContentCheck { mime_type, size: Some(file.size), maximum, robots_tag: None }.apply(limits)
    };
    check(media_type).or_else(|_| check(essence)).map(|_| ())
}

/// The content of a file, in blocks.
async fn open(path: &Path) -> io::Result<Content> {
    let file = tokio::fs::File::open(path).await?;
    let blocks = stream::try_unfold(file, async |mut file| {
        let mut block = Vec::with_capacity(BLOCK);
        (&mut file).take(BLOCK as u64).read_to_end(&mut block).await.map_err(ContentError::Read)?;
        Ok((!block.is_empty()).then(|| (Bytes::from(block), file)))
    });
    Ok(blocks.boxed())
}

/// The entity tag that an object with the content of a file has.
async fn compute_etag(path: &Path) -> io::Result<String> {
    let mut digest = Md5::new();
    let mut blocks = open(path).await?;
    while let Some(block) = blocks.try_next().await.map_err(io::Error::other)? {
        digest.update(&block);
    }
    Ok(format!("\"{}\"", hex::encode(digest.finalize())))
}

fn read_error(path: &Path, error: &io::Error) -> Error {
    Error::internal(format!("reading {}: {error}", path.display()))
}

async fn write_object(
    storage: &Arc<Storage>,
    scope: &Scope,
    bucket: &str,
    name: &str,
    content: Content,
) -> Result<(), Error> {
    let headers = ContentHeaders { content_type: media_type(name).to_owned(), cache_control: CACHE_CONTROL.to_owned() };
    let mut object = NewObject {
        target: Target { bucket: bucket.to_owned(), name: name.to_owned() },
        version: write::new_version(),
        owner: None,
        metadata: json!({}),
        user_metadata: Some(json!({})),
        replaces: true,
    };
    let file: FileKey = object.file();
    let facts = storage.backend().put(&file, &headers, content).await?;
    object.metadata = write::metadata(&facts, &headers.content_type, &headers.cache_control, None);
    write::write(Arc::clone(storage), scope.clone(), object).await.map(|_| ())
}

/// The files of a folder and those below it, by their names. Links are not followed.
fn list_files(folder: &Path) -> io::Result<Vec<SeedFile>> {
    let mut files = Vec::new();
    let mut folders = vec![(folder.to_owned(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let (kind, path) = (entry.file_type()?, entry.path());
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if kind.is_dir() {
                folders.push((path, format!("{name}/")));
            } else if kind.is_file() {
                files.push(SeedFile { size: entry.metadata()?.len(), path, name });
            }
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

/// The type of a file by the end of its name.
fn media_type(name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default();
    match extension.as_str() {
        "avif" => "image/avif",
        "bmp" => "image/bmp",
        "css" => "text/css; charset=utf-8",
        "csv" => "text/csv; charset=utf-8",
        "gif" => "image/gif",
        "gz" => "application/gzip",
        "htm" | "html" => "text/html; charset=utf-8",
        "ico" => "image/x-icon",
        "jpeg" | "jpg" => "image/jpeg",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "md" => "text/markdown; charset=utf-8",
        "mov" => "video/quicktime",
        "mp3" => "audio/mpeg",
        "mp4" => "video/mp4",
        "ogg" => "audio/ogg",
        "otf" => "font/otf",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "tif" | "tiff" => "image/tiff",
        "ttf" => "font/ttf",
        "txt" => "text/plain; charset=utf-8",
        "wasm" => "application/wasm",
        "wav" => "audio/wav",
        "webm" => "video/webm",
        "webp" => "image/webp",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "xml" => "text/xml; charset=utf-8",
        "zip" => "application/zip",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_their_paths_below_the_folder() {
        let folder = std::env::temp_dir().join(format!("storage-rs-seed-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("a/b")).unwrap();
        for name in ["z.txt", "a/one.png", "a/b/two.svg"] {
            std::fs::write(folder.join(name), name).unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", folder.join("a/link")).unwrap();
        let names: Vec<_> = list_files(&folder).unwrap().into_iter().map(|file| file.name).collect();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(names, ["a/b/two.svg", "a/one.png", "z.txt"]);
        assert_eq!((media_type("a/one.PNG"), media_type("none")), ("image/png", "application/octet-stream"));
    }
}
