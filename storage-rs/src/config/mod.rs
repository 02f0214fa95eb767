//! Settings: the environment of Supabase Storage, or values of the program that holds the API.

mod environment;

use std::path::PathBuf;
use std::time::Duration;

use chrono::TimeDelta;
use postgrest_rs::execute::connect;
use serde_json::Value;

pub use environment::Environment;
use environment::Reader;

use crate::caller::keys::Keys;
use crate::caller::token_check::TokenCheck;
use crate::limits::LoadLimits;

/// 50 MiB: the limit of a local Supabase.
const DEFAULT_FILE_SIZE_LIMIT: u64 = 50 * 1024 * 1024;

/// How long a connection of a server stays open without use.
const DATABASE_IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// Where content is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackendSettings {
    /// In a folder.
    Disk { folder: PathBuf },
    /// In a bucket of a server that speaks the S3 protocol.
    S3(S3BackendSettings),
}

impl BackendSettings {
    /// Says where the files are, for people.
    pub fn describe(&self) -> String {
        match self {
            Self::Disk { folder } => format!("the folder {}", folder.display()),
            Self::S3(S3BackendSettings { bucket, endpoint: Some(endpoint), .. }) => {
                format!("the bucket {bucket} of {endpoint}")
            }
            Self::S3(S3BackendSettings { bucket, region, .. }) => format!("the bucket {bucket} of AWS, {region}"),
        }
    }
}

/// A bucket of a server that speaks the S3 protocol.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct S3BackendSettings {
    pub bucket: String,
    /// The URL of the server; that of AWS when there is none.
    pub endpoint: Option<String>,
    pub region: String,
    /// The access key; when there is none the AWS variables and roles.
    pub access_key_id: Option<String>,
    pub secret_access_key: Option<String>,
    /// Whether the bucket is in the path of URLs instead of their host.
    pub forces_path_style: bool,
}

/// Resumable uploads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TusSettings {
    /// The path in `Location`.
    pub url_path: String,
    /// How long an upload may take.
    pub expiry: Duration,
}

impl TusSettings {
    /// How long an upload is kept without a write: at least a day, so that a client can go on after a night.
    pub fn lifetime(&self) -> TimeDelta {
        let least = TimeDelta::days(1);
        TimeDelta::from_std(self.expiry).unwrap_or(least).max(least)
    }
}

/// The S3 protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct S3Settings {
    /// Whether it is served.
    pub is_enabled: bool,
    /// The path before `/s3` that clients sign.
    pub prefix: String,
    /// The region in signatures.
    pub region: String,
    /// Whether signatures with another region are refused.
    pub enforces_region: bool,
    /// The access key of the server.
    pub access_key_id: Option<String>,
    pub access_key_secret: Option<String>,
    /// Whether the host of signatures may come from `Forwarded`, too.
    pub allows_forwarded_host: bool,
}

/// Transformation of images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSettings {
    /// Whether images are transformed.
    pub is_enabled: bool,
    /// The least width and height in pixels.
    pub min_size: u32,
    /// The greatest width and height in pixels.
    pub max_size: u32,
    /// How long one may take.
    pub timeout: Duration,
}

/// The settings.
#[derive(Debug, Clone)]
pub struct Config {
    /// The connection string of the database.
    pub database_url: String,
    /// The most connections.
    pub database_pool_size: usize,
    /// How long a request waits for a connection.
    pub database_connection_timeout: Duration,
    /// How long a connection stays open without use.
    pub database_idle_timeout: Duration,
    /// How long a statement may take.
    pub statement_timeout: Duration,
    /// The role that row security does not apply to.
    pub service_role: String,
    /// The role of requests without a role.
    pub anon_role: String,
    /// The keys of tokens.
    pub keys: Keys,
    /// The secret: it is the key of the signatures of multipart uploads too.
    pub jwt_secret: String,
    /// The access key of anonymous sessions of the S3 protocol.
    pub anon_key: Option<String>,
    /// The key of the service role.
    pub service_key: Option<String>,
    /// Where the server listens.
    pub host: String,
    pub port: u16,
    /// The path before all routes, `/storage/v1` for instance. Requests without it are answered too.
    pub prefix: String,
    /// The name of the project: the access key of sessions of the S3 protocol, and the first folder of the S3 backend.
    pub project: String,
    /// Where content is kept.
    pub backend: BackendSettings,
    /// The largest object, in bytes.
    pub file_size_limit: u64,
    /// The largest object that is not uploaded in parts, in bytes.
    pub standard_file_size_limit: Option<u64>,
    /// How long URLs for uploads are valid.
    pub signed_upload_lifetime: Duration,
    /// The URL of the API as clients see it; otherwise it is taken from the request.
    pub public_url: Option<String>,
    /// Resumable uploads.
    pub tus: TusSettings,
    /// The S3 protocol.
    pub s3: S3Settings,
    /// Transformation of images.
    pub images: ImageSettings,
    /// Limits of number and rate.
    pub load_limits: LoadLimits,
    /// The most bytes of all files on the disk.
    pub quota: Option<u64>,
    /// The most objects of a bucket that can be emptied.
    pub empty_bucket_max: i64,
    /// Whether a request without the header `Authorization` is told so, as the server without a gateway does, or is treated as
    /// one with an empty token.
    pub requires_authorization_header: bool,
    /// Whether the schema is created when the database does not have it.
    pub creates_schema: bool,
    /// How long the row of an object in a public bucket counts without being read again; what this process writes counts at
    /// once.
    pub public_validity: Duration,
    /// Whether errors of policies say which policies are missing.
    pub explains_policies: bool,
    /// Whether lists by name tell folders that differ in case alone apart, and are in byte order.
    pub lists_by_case: bool,
    /// Judges verified tokens, if not all open the API.
    pub token_check: Option<TokenCheck>,
}

impl Config {
    /// Reads the environment.
    ///
    /// # Errors
    /// All variables that are missing or cannot be used, a line for each.
    pub fn from_environment(environment: &Environment) -> Result<Self, Vec<String>> {
        let mut reader = Reader::new(environment);
        let jwt_secret = reader.required(
            &["AUTH_JWT_SECRET", "PGRST_JWT_SECRET"],
            "set it to the secret with which the auth API signs tokens",
        );
        let database_url = read_database_url(&mut reader);
        let (keys, backend) = (read_keys(&mut reader, jwt_secret.as_deref()), read_backend(&mut reader));
        let (tus, s3, images) = (read_tus(&mut reader), read_s3(&mut reader), read_images(&mut reader));
        let database_pool_size = reader.number(&["DATABASE_MAX_CONNECTIONS"], 20).max(1);
        let database_connection_timeout = reader.milliseconds(&["DATABASE_CONNECTION_TIMEOUT"], 3000);
        let statement_timeout = reader.milliseconds(&["DATABASE_STATEMENT_TIMEOUT"], 30_000);
        let port = reader.number(&["SERVER_PORT", "PORT"], 5000);
        let file_size_limit = reader.number(&["UPLOAD_FILE_SIZE_LIMIT", "FILE_SIZE_LIMIT"], DEFAULT_FILE_SIZE_LIMIT);
        let standard_limit = reader.number(&["UPLOAD_FILE_SIZE_LIMIT_STANDARD", "FILE_SIZE_LIMIT_STANDARD_UPLOAD"], 0);
        let lifetime = ["UPLOAD_SIGNED_URL_EXPIRATION_TIME", "SIGNED_UPLOAD_URL_EXPIRATION_TIME"];
        let signed_upload_lifetime = Duration::from_secs(reader.number(&lifetime, 60));
        let empty_bucket_max = reader.number(&["STORAGE_EMPTY_BUCKET_MAX"], 200_000);
        let public_validity = reader.milliseconds(&["BASALT_STORAGE_PUBLIC_VALIDITY_MS"], 0);
        let (load_limits, quota) = (read_load_limits(&mut reader), read_quota(&mut reader));
        let problems = reader.into_problems();
        let (Some(database_url), Some(jwt_secret), Some(keys), Some(backend), []) =
            (database_url, jwt_secret, keys, backend, &problems[..])
        else {
            return Err(problems);
        };
        let text = |names: &[&str], default: &str| environment.owned(names).unwrap_or_else(|| default.to_owned());
        Ok(Self {
            database_url,
            database_idle_timeout: DATABASE_IDLE_TIMEOUT,
            database_pool_size,
            database_connection_timeout,
            statement_timeout,
            service_role: text(&["DB_SERVICE_ROLE"], "service_role"),
            anon_role: text(&["DB_ANON_ROLE"], "anon"),
            keys,
            jwt_secret,
            anon_key: environment.owned(&["ANON_KEY", "SERVER_ANON_KEY"]),
            service_key: environment.owned(&["SERVICE_KEY", "SERVER_SERVICE_KEY"]),
            host: text(&["SERVER_HOST", "HOST"], "0.0.0.0"),
            port,
            prefix: text(&["BASALT_STORAGE_PREFIX"], "/storage/v1"),
            project: text(&["PROJECT_REF", "TENANT_ID"], "storage-single-tenant"),
            backend,
            file_size_limit,
            standard_file_size_limit: Some(standard_limit).filter(|limit| *limit > 0),
            signed_upload_lifetime,
            public_url: environment.owned(&["STORAGE_PUBLIC_URL"]),
            tus,
            s3,
            images,
            load_limits,
            quota,
            empty_bucket_max,
            requires_authorization_header: true,
            creates_schema: true,
            public_validity,
            token_check: None,
            explains_policies: environment.is_true(&["BASALT_STORAGE_EXPLAIN_POLICIES"]),
            lists_by_case: environment.is_true(&["BASALT_STORAGE_LIST_BY_CASE"]),
        })
    }
}

fn read_database_url(reader: &mut Reader<'_>) -> Option<String> {
    const NAMES: [&str; 2] = ["DATABASE_POOL_URL", "DATABASE_URL"];
    let environment = reader.environment();
    let Some(name) = NAMES.into_iter().find(|name| environment.text(&[name]).is_some()) else {
        reader.refuse("DATABASE_URL is missing: set it to postgres://USER:PASSWORD@HOST:5432/DATABASE".to_owned());
        return None;
    };
    let url = environment.owned(&[name])?;
    match connect::parse(&url) {
        Ok(_) => Some(url),
        Err(error) => {
            let reason = error.strip_prefix("db-uri: ").unwrap_or(&error);
            reader.refuse(format!("{name}: {reason}: set it to postgres://USER:PASSWORD@HOST:5432/DATABASE"));
            None
        }
    }
}

fn read_keys(reader: &mut Reader<'_>, secret: Option<&str>) -> Option<Keys> {
    let key_set = parse_key_set(reader.environment().text(&["JWT_JWKS"]).unwrap_or_default());
    let (key_set, url_key) = reader.keep(key_set)?;
    let keys = reader.keep(Keys::new(secret?, &key_set))?;
    match url_key {
        None => Some(keys),
        Some(key) => {
            reader.keep(keys.with_url_key(&key).map_err(|error| format!("JWT_JWKS: set another key: {error}")))
        }
    }
}

/// Parses a JSON Web Key Set and the key of signed URLs in it; an empty text has no keys.
fn parse_key_set(text: &str) -> Result<(Vec<Value>, Option<Value>), String> {
    if text.trim().is_empty() {
        return Ok((Vec::new(), None));
    }
    let document: Value = serde_json::from_str(text)
        .map_err(|error| format!("JWT_JWKS: {error}: set a JSON Web Key Set, {{\"keys\":[…]}}, or leave it out"))?;
    let keys = document.get("keys").and_then(Value::as_array).cloned().unwrap_or_default();
    Ok((keys, document.get("urlSigningKey").filter(|key| !key.is_null()).cloned()))
}

fn read_tus(reader: &mut Reader<'_>) -> TusSettings {
    let url_path = reader.environment().owned(&["TUS_URL_PATH"]);
    TusSettings {
        url_path: url_path.unwrap_or_else(|| "/upload/resumable".to_owned()),
        expiry: reader.milliseconds(&["TUS_URL_EXPIRY_MS"], 3_600_000),
    }
}

fn read_s3(reader: &mut Reader<'_>) -> S3Settings {
    const KEY: [&str; 2] = ["S3_PROTOCOL_ACCESS_KEY_ID", "S3_PROTOCOL_ACCESS_KEY_SECRET"];
    let environment = reader.environment();
    let [access_key_id, access_key_secret] = KEY.map(|name| environment.owned(&[name]));
    for (name, other, is_half) in [
        (KEY[0], KEY[1], access_key_id.is_some() && access_key_secret.is_none()),
        (KEY[1], KEY[0], access_key_secret.is_some() && access_key_id.is_none()),
    ] {
        if is_half {
            reader.refuse(format!("{other} is missing: set it, too, or leave {name} out"));
        }
    }
    let region = environment.owned(&["STORAGE_S3_REGION", "SERVER_REGION", "REGION"]);
    S3Settings {
        is_enabled: environment.text(&["S3_PROTOCOL_ENABLED"]) != Some("false"),
        prefix: environment.owned(&["S3_PROTOCOL_PREFIX"]).unwrap_or_default(),
        region: region.unwrap_or_else(|| "not-specified".to_owned()),
        enforces_region: environment.is_true(&["S3_PROTOCOL_ENFORCE_REGION"]),
        access_key_id,
        access_key_secret,
        allows_forwarded_host: environment.is_true(&["S3_ALLOW_FORWARDED_HEADER"]),
    }
}

fn read_images(reader: &mut Reader<'_>) -> ImageSettings {
    let switch = ["IMAGE_TRANSFORMATION_ENABLED", "ENABLE_IMAGE_TRANSFORMATION"];
    ImageSettings {
        is_enabled: reader.environment().is_true(&switch),
        min_size: reader.number(&["IMAGE_TRANSFORMATION_LIMIT_MIN_SIZE", "IMG_LIMITS_MIN_SIZE"], 1),
        max_size: reader.number(&["IMAGE_TRANSFORMATION_LIMIT_MAX_SIZE", "IMG_LIMITS_MAX_SIZE"], 2000),
        timeout: Duration::from_secs(reader.number(&["IMGPROXY_REQUEST_TIMEOUT"], 15)),
    }
}

fn read_load_limits(reader: &mut Reader<'_>) -> LoadLimits {
    let usual = LoadLimits::default();
    LoadLimits {
        uploads: reader.number(&["BASALT_STORAGE_MAX_UPLOADS"], usual.uploads),
        uploads_per_network: reader.number(&["BASALT_STORAGE_MAX_UPLOADS_PER_NETWORK"], usual.uploads_per_network),
        open_uploads: reader.number(&["BASALT_STORAGE_MAX_OPEN_UPLOADS"], usual.open_uploads),
        images_per_minute: reader.number(&["BASALT_STORAGE_IMAGES_PER_MINUTE"], usual.images_per_minute),
    }
}

fn read_quota(reader: &mut Reader<'_>) -> Option<u64> {
    const NAME: &str = "BASALT_STORAGE_QUOTA";
    let quota = Some(reader.number(&[NAME], 0)).filter(|quota| *quota > 0)?;
    if reader.environment().text(&["STORAGE_BACKEND"]) == Some("s3") {
        reader.refuse(format!("{NAME} limits files on disk: set STORAGE_BACKEND to file, or leave {NAME} out"));
        return None;
    }
    Some(quota)
}

fn read_backend(reader: &mut Reader<'_>) -> Option<BackendSettings> {
    let environment = reader.environment();
    match environment.text(&["STORAGE_BACKEND"]) {
        Some("s3") => {
            let bucket = reader.required(
                &["STORAGE_S3_BUCKET", "GLOBAL_S3_BUCKET"],
                "set it to the name of the bucket, or STORAGE_BACKEND to file",
            )?;
            Some(BackendSettings::S3(S3BackendSettings {
                bucket,
                endpoint: environment.owned(&["STORAGE_S3_ENDPOINT", "GLOBAL_S3_ENDPOINT"]),
                region: environment.owned(&["STORAGE_S3_REGION", "REGION"]).unwrap_or_else(|| "us-east-1".to_owned()),
                access_key_id: environment.owned(&["AWS_ACCESS_KEY_ID"]),
                secret_access_key: environment.owned(&["AWS_SECRET_ACCESS_KEY"]),
                forces_path_style: environment.is_true(&["STORAGE_S3_FORCE_PATH_STYLE", "GLOBAL_S3_FORCE_PATH_STYLE"]),
            }))
        }
        None | Some("file") => {
            let folder = reader.required(
                &["FILE_STORAGE_BACKEND_PATH", "STORAGE_FILE_BACKEND_PATH"],
                "set it to the folder of the files, or STORAGE_BACKEND to s3",
            )?;
            Some(BackendSettings::Disk { folder: folder.into() })
        }
        Some(other) => {
            reader.refuse(format!("STORAGE_BACKEND: {other:?} is neither file nor s3"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUIRED: [(&str, &str); 3] =
        [("DATABASE_URL", "postgres://a/b"), ("AUTH_JWT_SECRET", "s"), ("FILE_STORAGE_BACKEND_PATH", "/data")];

    fn read(more: &[(&'static str, &'static str)]) -> Result<Config, Vec<String>> {
        Config::from_environment(&Environment::new(REQUIRED.into_iter().chain(more.iter().copied())))
    }

    #[test]
    fn newer_names_win_over_former_ones() {
        let config =
            read(&[("FILE_SIZE_LIMIT", "5"), ("UPLOAD_FILE_SIZE_LIMIT", "7"), ("PORT", "1"), ("SERVER_PORT", "2")]);
        let config = config.unwrap();
        assert_eq!((config.file_size_limit, config.port), (7, 2));
    }

    #[test]
    fn unusable_settings_are_refused() {
        let cases = [
            (("STORAGE_BACKEND", "tape"), "STORAGE_BACKEND: \"tape\" is neither file nor s3"),
            (
                ("STORAGE_BACKEND", "s3"),
                "STORAGE_S3_BUCKET is missing: set it to the name of the bucket, or STORAGE_BACKEND to file",
            ),
            (("FILE_SIZE_LIMIT", "50MB"), "FILE_SIZE_LIMIT: \"50MB\" cannot be used: set a whole number"),
            (("BASALT_STORAGE_QUOTA", "1GB"), "BASALT_STORAGE_QUOTA: \"1GB\" cannot be used: set a whole number"),
            (
                ("S3_PROTOCOL_ACCESS_KEY_ID", "id"),
                "S3_PROTOCOL_ACCESS_KEY_SECRET is missing: set it, too, or leave S3_PROTOCOL_ACCESS_KEY_ID out",
            ),
        ];
        for (variable, message) in cases {
            assert_eq!(read(&[variable]).unwrap_err(), [message]);
        }
    }

    #[test]
    fn all_problems_are_reported_without_secrets() {
        let variables = [
            ("DATABASE_URL", "postgres://user:hunter2@[host"),
            ("JWT_JWKS", "{"),
            ("SERVER_PORT", "70000"),
            ("TUS_URL_EXPIRY_MS", "-1"),
        ];
        let problems = Config::from_environment(&Environment::new(variables)).unwrap_err();
        let names: Vec<&str> = problems.iter().filter_map(|line| line.split([':', ' ']).next()).collect();
        let all = [
            "AUTH_JWT_SECRET",
            "DATABASE_URL",
            "JWT_JWKS",
            "FILE_STORAGE_BACKEND_PATH",
            "TUS_URL_EXPIRY_MS",
            "SERVER_PORT",
        ];
        assert_eq!(names, all, "{problems:?}");
        assert!(problems.iter().all(|line| line.contains(": set ") && !line.contains("hunter2")), "{problems:?}");
    }
}
