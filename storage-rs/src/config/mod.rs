//! Settings: the environment of Supabase Storage, or values of the program that holds the API.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::caller::keys::Keys;
use crate::caller::token_check::TokenCheck;

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
    /// The most uploads that are written at a time.
    pub max_concurrent: usize,
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
    /// Whether the host of signatures may come from `X-Forwarded-Host`.
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
    /// Judges verified tokens, if not all open the API.
    pub token_check: Option<TokenCheck>,
}

/// The variables of Supabase Storage.
#[derive(Debug, Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The environment of the process.
    pub fn of_process() -> Self {
        Self(
            std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
        )
    }

    /// These variables.
    pub fn new<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// What is logged: `LOG_LEVEL`, where `fatal` and `silent` count as errors alone.
    pub fn log_level(&self) -> &'static str {
        match self.text(&["LOG_LEVEL"]) {
            Some("trace" | "debug") => "debug",
            Some("warn") => "warn",
            Some("error" | "fatal" | "silent") => "error",
            _ => "info",
        }
    }

    /// The first of these variables that is not empty.
    fn text(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.0.get(*name).map(String::as_str).filter(|value| !value.is_empty()))
    }

    fn owned(&self, names: &[&str]) -> Option<String> {
        self.text(names).map(str::to_owned)
    }

    fn is_true(&self, names: &[&str]) -> bool {
        self.text(names) == Some("true")
    }

    fn number<T: std::str::FromStr>(&self, names: &[&str]) -> Result<Option<T>, String> {
        let Some(text) = self.text(names) else { return Ok(None) };
        text.trim().parse().map(Some).map_err(|_| format!("{}: {text:?} is no number that can be used", names[0]))
    }

    fn milliseconds(&self, names: &[&str], default: u64) -> Result<Duration, String> {
        Ok(Duration::from_millis(self.number(names)?.unwrap_or(default)))
    }
}

impl Config {
    /// Reads the environment.
    ///
    /// # Errors
    /// The variable that is missing or cannot be used.
    pub fn from_environment(environment: &Environment) -> Result<Self, String> {
        let required = |names: &[&str]| environment.owned(names).ok_or_else(|| format!("{} is missing", names[0]));
        let jwt_secret = required(&["AUTH_JWT_SECRET", "PGRST_JWT_SECRET"])?;
        let key_set = key_set(environment.text(&["JWT_JWKS"]).unwrap_or_default())?;
        let region = environment.owned(&["SERVER_REGION", "REGION"]).unwrap_or_else(|| "not-specified".to_owned());
        Ok(Self {
            database_url: required(&["DATABASE_POOL_URL", "DATABASE_URL"])?,
            database_idle_timeout: DATABASE_IDLE_TIMEOUT,
            database_pool_size: environment.number(&["DATABASE_MAX_CONNECTIONS"])?.unwrap_or(20).max(1),
            database_connection_timeout: environment.milliseconds(&["DATABASE_CONNECTION_TIMEOUT"], 3000)?,
            statement_timeout: environment.milliseconds(&["DATABASE_STATEMENT_TIMEOUT"], 30_000)?,
            service_role: environment.owned(&["DB_SERVICE_ROLE"]).unwrap_or_else(|| "service_role".to_owned()),
            anon_role: environment.owned(&["DB_ANON_ROLE"]).unwrap_or_else(|| "anon".to_owned()),
            keys: Keys::new(&jwt_secret, &key_set)?,
            jwt_secret,
            anon_key: environment.owned(&["ANON_KEY", "SERVER_ANON_KEY"]),
            service_key: environment.owned(&["SERVICE_KEY", "SERVER_SERVICE_KEY"]),
            host: environment.owned(&["SERVER_HOST", "HOST"]).unwrap_or_else(|| "0.0.0.0".to_owned()),
            port: environment.number(&["SERVER_PORT", "PORT"])?.unwrap_or(5000),
            prefix: environment.owned(&["BASALT_STORAGE_PREFIX"]).unwrap_or_else(|| "/storage/v1".to_owned()),
            project: environment
                .owned(&["PROJECT_REF", "TENANT_ID"])
                .unwrap_or_else(|| "storage-single-tenant".to_owned()),
            backend: backend(environment)?,
            file_size_limit: environment
                .number(&["UPLOAD_FILE_SIZE_LIMIT", "FILE_SIZE_LIMIT"])?
                .unwrap_or(DEFAULT_FILE_SIZE_LIMIT),
            standard_file_size_limit: environment
                .number(&["UPLOAD_FILE_SIZE_LIMIT_STANDARD", "FILE_SIZE_LIMIT_STANDARD_UPLOAD"])?
                .filter(|limit| *limit > 0),
            signed_upload_lifetime: Duration::from_secs(
                environment
                    .number(&["UPLOAD_SIGNED_URL_EXPIRATION_TIME", "SIGNED_UPLOAD_URL_EXPIRATION_TIME"])?
                    .unwrap_or(60),
            ),
            public_url: environment.owned(&["STORAGE_PUBLIC_URL"]),
            tus: TusSettings {
                url_path: environment.owned(&["TUS_URL_PATH"]).unwrap_or_else(|| "/upload/resumable".to_owned()),
                expiry: environment.milliseconds(&["TUS_URL_EXPIRY_MS"], 3_600_000)?,
                max_concurrent: environment.number(&["TUS_MAX_CONCURRENT_UPLOADS"])?.unwrap_or(500),
            },
            s3: S3Settings {
                is_enabled: environment.text(&["S3_PROTOCOL_ENABLED"]) != Some("false"),
                prefix: environment.owned(&["S3_PROTOCOL_PREFIX"]).unwrap_or_default(),
                region: environment.owned(&["STORAGE_S3_REGION"]).unwrap_or(region),
                enforces_region: environment.is_true(&["S3_PROTOCOL_ENFORCE_REGION"]),
                access_key_id: environment.owned(&["S3_PROTOCOL_ACCESS_KEY_ID"]),
                access_key_secret: environment.owned(&["S3_PROTOCOL_ACCESS_KEY_SECRET"]),
                allows_forwarded_host: environment.is_true(&["S3_ALLOW_FORWARDED_HEADER"]),
            },
            images: ImageSettings {
                is_enabled: environment.is_true(&["IMAGE_TRANSFORMATION_ENABLED", "ENABLE_IMAGE_TRANSFORMATION"]),
                min_size: environment
                    .number(&["IMAGE_TRANSFORMATION_LIMIT_MIN_SIZE", "IMG_LIMITS_MIN_SIZE"])?
                    .unwrap_or(1),
                max_size: environment
                    .number(&["IMAGE_TRANSFORMATION_LIMIT_MAX_SIZE", "IMG_LIMITS_MAX_SIZE"])?
                    .unwrap_or(2000),
                timeout: Duration::from_secs(environment.number(&["IMGPROXY_REQUEST_TIMEOUT"])?.unwrap_or(15)),
            },
            empty_bucket_max: environment.number(&["STORAGE_EMPTY_BUCKET_MAX"])?.unwrap_or(200_000),
            requires_authorization_header: true,
            creates_schema: true,
            public_validity: environment.milliseconds(&["BASALT_STORAGE_PUBLIC_VALIDITY_MS"], 0)?,
            token_check: None,
            explains_policies: environment.is_true(&["BASALT_STORAGE_EXPLAIN_POLICIES"]),
        })
    }
}

/// The keys of a JSON Web Key Set; none for an empty text.
fn key_set(text: &str) -> Result<Vec<Value>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let document: Value = serde_json::from_str(text).map_err(|error| format!("JWT_JWKS: {error}"))?;
    Ok(document.get("keys").and_then(Value::as_array).cloned().unwrap_or_default())
}

fn backend(environment: &Environment) -> Result<BackendSettings, String> {
    match environment.text(&["STORAGE_BACKEND"]) {
        Some("s3") => Ok(BackendSettings::S3(S3BackendSettings {
            bucket: environment
                .owned(&["STORAGE_S3_BUCKET", "GLOBAL_S3_BUCKET"])
                .ok_or("STORAGE_S3_BUCKET is missing")?,
            endpoint: environment.owned(&["STORAGE_S3_ENDPOINT", "GLOBAL_S3_ENDPOINT"]),
            region: environment.owned(&["STORAGE_S3_REGION", "REGION"]).unwrap_or_else(|| "us-east-1".to_owned()),
            access_key_id: environment.owned(&["AWS_ACCESS_KEY_ID"]),
            secret_access_key: environment.owned(&["AWS_SECRET_ACCESS_KEY"]),
            forces_path_style: environment.is_true(&["STORAGE_S3_FORCE_PATH_STYLE", "GLOBAL_S3_FORCE_PATH_STYLE"]),
        })),
        None | Some("file") => {
            let folder = environment.owned(&["STORAGE_FILE_BACKEND_PATH", "FILE_STORAGE_BACKEND_PATH"]);
            Ok(BackendSettings::Disk { folder: folder.ok_or("FILE_STORAGE_BACKEND_PATH is missing")?.into() })
        }
        Some(other) => Err(format!("STORAGE_BACKEND: {other:?} is neither file nor s3")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUIRED: [(&str, &str); 3] =
        [("DATABASE_URL", "postgres://a/b"), ("AUTH_JWT_SECRET", "s"), ("FILE_STORAGE_BACKEND_PATH", "/data")];

    fn read(more: &[(&'static str, &'static str)]) -> Result<Config, String> {
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
            (("STORAGE_BACKEND", "s3"), "STORAGE_S3_BUCKET is missing"),
            (("FILE_SIZE_LIMIT", "50MB"), "UPLOAD_FILE_SIZE_LIMIT: \"50MB\" is no number that can be used"),
        ];
        for (variable, message) in cases {
            assert_eq!(read(&[variable]).unwrap_err(), message);
        }
        let without = Environment::new([("DATABASE_URL", "postgres://a/b")]);
        assert_eq!(Config::from_environment(&without).unwrap_err(), "AUTH_JWT_SECRET is missing");
    }
}
