//! `[storage]` of the Supabase CLI, and `[basalt.storage]`.

use super::origins::parse_origin;
use super::read::Values;

/// 50 MiB, as in the CLI.
const DEFAULT_FILE_SIZE_LIMIT: u64 = 50 * 1024 * 1024;

/// The settings of the storage API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StorageSettings {
    /// `[storage] enabled`: whether it is served.
    pub is_enabled: bool,
    /// `[storage] file_size_limit`: the largest object, in bytes.
    pub file_size_limit: u64,
    /// `[storage.s3_protocol] enabled`.
    pub has_s3: bool,
    /// `[storage.image_transformation] enabled`.
    pub has_images: bool,
    /// `[storage.buckets.NAME]`.
    pub buckets: Vec<BucketSettings>,
    /// `[basalt.storage] database_url`: the login role for an external database.
    pub database_url: Option<String>,
    /// `[basalt.storage] s3_access_key_id` and `s3_secret_access_key`: the key of the S3 protocol with all rights.
    pub s3_key: Option<(String, String)>,
    /// `[basalt.storage] content_url`: the origin that stored content is read at.
    pub content_url: Option<String>,
    /// `[basalt.storage] bucket`: keeps the files instead of the data folder.
    pub store: Option<StoreSettings>,
    /// `[basalt.storage] quota`: the most bytes of all files of the data folder.
    pub quota: Option<u64>,
    /// `[basalt.storage] max_uploads`: the most uploads at a time.
    pub max_uploads: Option<usize>,
    /// `[basalt.storage] max_uploads_per_network`: those from one network.
    pub max_uploads_per_network: Option<usize>,
    /// `[basalt.storage] images_per_minute`: the images that are transformed for one network in a minute; 0 for any number.
    pub images_per_minute: Option<u32>,
}

/// A bucket of a server that speaks the S3 protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoreSettings {
    /// Its name.
    pub bucket: String,
    /// The URL of the server; that of AWS when there is none.
    pub endpoint: Option<String>,
    pub region: String,
    pub access_key_id: String,
    pub secret_access_key: String,
    /// Whether the bucket is in the path of URLs instead of their host.
    pub has_path_style: bool,
}

impl StoreSettings {
    fn from_values(values: &Values, refuse: &mut impl FnMut(&str, &str)) -> Option<Self> {
        let text = |name: &str| values.text(&format!("basalt.storage.{name}")).filter(|text| !text.is_empty());
        let Some(bucket) = text("bucket").map(str::to_owned) else {
            for name in ["bucket_endpoint", "bucket_region", "bucket_access_key_id", "bucket_secret_access_key"] {
                if text(name).is_some() {
                    refuse(&format!("basalt.storage.{name}"), "needs basalt.storage.bucket");
                }
            }
            return None;
        };
        let mut required = |name: &str| {
            let given = text(name).map(str::to_owned);
            if given.is_none() {
                refuse("basalt.storage.bucket", &format!("needs basalt.storage.{name}"));
            }
            given
        };
        let (access_key_id, secret_access_key) =
            (required("bucket_access_key_id"), required("bucket_secret_access_key"));
        Some(Self {
            bucket,
            endpoint: text("bucket_endpoint").map(str::to_owned),
            region: text("bucket_region").unwrap_or("us-east-1").to_owned(),
            access_key_id: access_key_id?,
            secret_access_key: secret_access_key?,
            has_path_style: values.is_enabled("basalt.storage.bucket_path_style", false),
        })
    }
}

/// A bucket of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BucketSettings {
    /// Its id and name.
    pub name: String,
    /// Whether all clients may read its objects.
    pub public: Option<bool>,
    /// The largest object, in bytes.
    pub file_size_limit: Option<u64>,
    /// The types of objects.
    pub allowed_mime_types: Option<Vec<String>>,
    /// The folder with its objects, relative to that of the configuration.
    pub objects_path: Option<String>,
}

impl StorageSettings {
    /// Reads the settings; defaults are those of the CLI.
    pub(super) fn from_values(values: &Values, refuse: &mut impl FnMut(&str, &str)) -> Self {
        let text = |key: &str| values.text(key).filter(|text| !text.is_empty()).map(str::to_owned);
        let mut size = |key: &str| {
            let given = text(key)?;
            let size = parse_size(&given);
            if size.is_none() {
                refuse(key, "must be a size, such as \"50MiB\"");
            }
            size
        };
        let file_size_limit = size("storage.file_size_limit").unwrap_or(DEFAULT_FILE_SIZE_LIMIT);
        let quota = size("basalt.storage.quota");
        let mut buckets = Vec::new();
        for name in values.names_in_table("storage.buckets") {
            let key = |field: &str| format!("storage.buckets.{name}.{field}");
            buckets.push(BucketSettings {
                name: name.to_owned(),
                public: values.text(&key("public")).map(|public| public == "true"),
                file_size_limit: size(&key("file_size_limit")),
                allowed_mime_types: values.get(&key("allowed_mime_types")).map(|types| types.items.clone()),
                objects_path: text(&key("objects_path")),
            });
        }
        let (id, secret) = ("basalt.storage.s3_access_key_id", "basalt.storage.s3_secret_access_key");
        let s3_key = match (text(id), text(secret)) {
            (Some(id), Some(secret)) => Some((id, secret)),
            (None, None) => None,
            (Some(_), None) => {
                refuse(id, "needs basalt.storage.s3_secret_access_key");
                None
            }
            (None, Some(_)) => {
                refuse(secret, "needs basalt.storage.s3_access_key_id");
                None
            }
        };
        if quota.is_some() && text("basalt.storage.bucket").is_some() {
            refuse("basalt.storage.quota", "limits the data folder, but basalt.storage.bucket keeps the files");
        }
        let mut uploads = |name: &str| {
            let key = format!("basalt.storage.{name}");
            let number = text(&key)?.parse().ok().filter(|number| *number > 0);
            if number.is_none() {
                refuse(&key, "must be a number above 0");
            }
            number
        };
        let (max_uploads, max_uploads_per_network) = (uploads("max_uploads"), uploads("max_uploads_per_network"));
        let images_per_minute = text("basalt.storage.images_per_minute").and_then(|number| {
            let number = number.parse().ok();
            if number.is_none() {
                refuse("basalt.storage.images_per_minute", "must be a number of images, 0 for any");
            }
            number
        });
        Self {
            quota,
            max_uploads,
            max_uploads_per_network,
            images_per_minute,
            content_url: parse_origin("basalt.storage.content_url", "https://files.example.com", &text, refuse),
            store: StoreSettings::from_values(values, refuse),
            is_enabled: values.is_enabled("storage.enabled", true),
            file_size_limit,
            has_s3: values.is_enabled("storage.s3_protocol.enabled", true),
            has_images: values.is_enabled("storage.image_transformation.enabled", false),
            buckets,
            database_url: text("basalt.storage.database_url"),
            s3_key,
        }
    }
}

/// Reads a size in bytes: a number with a unit or without. `MB` and `MiB` are both 1,048,576 bytes, as in the CLI.
fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits =
        text.len() - text.trim_start_matches(|character: char| character.is_ascii_digit() || character == '.').len();
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_lowercase();
    let unit = unit.strip_suffix("ib").or_else(|| unit.strip_suffix('b')).unwrap_or(&unit);
    let power = match unit {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    let factor = 1024_u64.pow(power);
    if let Ok(number) = number.parse::<u64>() {
        return number.checked_mul(factor);
    }
    let number: f64 = number.parse().ok()?;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the conversion saturates, and a part of a byte does not count"
    )]
    let bytes = (number * factor as f64) as u64;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::ConfigFile;
    use super::*;
    use crate::problem::Problem;

    fn read(lines: &str) -> Result<StorageSettings, Vec<Problem>> {
        ConfigFile::read(Path::new("config.toml"), lines, &|_| Ok(None)).map(|file| file.basalt.storage)
    }

    #[test]
    fn settings_of_the_cli_are_read() {
        let usual = read("").expect("valid");
        assert!(usual.is_enabled && usual.has_s3 && !usual.has_images && usual.buckets.is_empty());
        assert_eq!(usual.file_size_limit, 52_428_800);
        let own = read(
            "[storage]\nfile_size_limit = \"1GiB\"\n[storage.image_transformation]\nenabled = true\n\
             [storage.buckets.images]\npublic = true\nfile_size_limit = \"5MiB\"\n\
             allowed_mime_types = [\"image/png\", \"image/jpeg\"]\nobjects_path = \"./images\"\n\
             [storage.buckets.papers]\npublic = false\n[storage.analytics]\nenabled = false\nmax_namespaces = 5\n",
        );
        let own = own.expect("valid");
        assert_eq!((own.file_size_limit, own.has_images, own.buckets.len()), (1 << 30, true, 2));
        assert_eq!(own.buckets[0].file_size_limit, Some(5 << 20));
        assert_eq!(own.buckets[0].objects_path.as_deref(), Some("./images"));
        assert_eq!(own.buckets[1].public, Some(false));
        let empty = read("[storage.buckets.avatars]\n[storage.buckets.\"a.b\"]\n").expect("valid").buckets;
        assert_eq!(empty.iter().map(|bucket| bucket.name.as_str()).collect::<Vec<_>>(), ["a.b", "avatars"]);
        assert!(read("[storage]\nfile_size_limit = \"much\"").is_err());
        let limited = "[basalt.storage]\nquota = \"100GiB\"\nmax_uploads = 50\nimages_per_minute = 0\n";
        let limited = read(limited).expect("valid");
        assert_eq!((limited.quota, limited.max_uploads), (Some(100 << 30), Some(50)));
        assert_eq!((limited.images_per_minute, limited.max_uploads_per_network), (Some(0), None));
        assert!(read("[basalt.storage]\nquota = \"much\"").is_err());
        assert!(read("[basalt.storage]\nmax_uploads = 0").is_err());
        assert!(read("[basalt.storage]\ns3_access_key_id = \"a\"").is_err());
        assert!(read("[basalt.storage]\ncontent_url = \"files.example.com\"").is_err());
        assert!(read("[basalt.storage]\nbucket = \"a\"\nbucket_access_key_id = \"b\"").is_err());
        let keys = "bucket_access_key_id = \"b\"\nbucket_secret_access_key = \"c\"";
        let with_quota = format!("[basalt.storage]\nquota = \"1GiB\"\nbucket = \"a\"\n{keys}");
        assert!(read(&with_quota).is_err(), "a bucket has no quota");
        let store = read(&format!("[basalt.storage]\nbucket = \"a\"\n{keys}")).expect("valid").store.expect("a store");
        assert_eq!((store.bucket.as_str(), store.region.as_str(), store.endpoint), ("a", "us-east-1", None));
    }

    #[test]
    fn sizes_have_binary_units() {
        for (text, expected) in [
            ("50MiB", Some(50 << 20)),
            ("50MB", Some(50 << 20)),
            ("1.5k", Some(1536)),
            ("7", Some(7)),
            ("x", None),
            ("1 PB", None),
        ] {
            assert_eq!(parse_size(text), expected, "{text}");
        }
    }
}
