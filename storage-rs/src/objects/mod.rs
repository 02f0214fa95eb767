//! Objects: upload, download, list, move, copy, remove, sign, info.

mod access;
pub(crate) mod content;
mod form;
pub(crate) mod form_body;
mod header_fields;
mod list;
pub(crate) mod list_v2;
mod read;
pub(crate) mod remove;
mod render;
mod sign;
pub(crate) mod transfer;
mod transformation;
mod upload;
pub(crate) mod user_metadata;
pub(crate) mod write;

use axum::body::Body;
use http::{Method, Response};

use crate::error::Error;
use crate::request::{Call, MalformedPath, decode_path};
use crate::target::Target;

pub use self::access::Door;

/// What a request does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// Reads the content, or the header fields of a response with it.
    Read(Door, Target),
    /// Reads what is known about it.
    Info(Door, Target),
    /// Reads an image that is transformed.
    Render(Door, Target),
    /// Writes it.
    Upload {
        /// The object.
        target: Target,
        /// Whether one that exists is replaced.
        replaces: bool,
    },
    /// Writes it by the token in the URL.
    UploadSigned(Target),
    /// Signs a URL for an upload.
    SignUpload(Target),
    /// Signs a URL for a download.
    Sign(Target),
    /// Signs URLs for downloads.
    SignMany(String),
    /// Lists a level of a bucket.
    List(String),
    /// Lists a bucket by pages.
    ListPages(String),
    /// Gives it another name.
    Move,
    /// Copies it.
    Copy,
    /// Deletes it.
    Remove(Target),
    /// Deletes several.
    RemoveMany(String),
}

impl Route {
    /// The route of a path; `Err` when a part cannot be decoded. `renders` tells whether images are transformed.
    pub fn find(method: &Method, segments: &[&str], renders: bool) -> Option<Result<Self, MalformedPath>> {
        match segments {
            ["render", "image", door, bucket, name @ ..] if renders && !name.is_empty() => {
                let door = match *door {
                    "public" => Door::Public,
                    "authenticated" => Door::Authenticated,
                    "sign" => Door::Signed,
                    _ => return None,
                };
                let is_read = matches!(*method, Method::GET | Method::HEAD);
                is_read.then(|| target(bucket, name).map(|target| Self::Render(door, target)))
            }
            ["object", rest @ ..] => match *method {
                Method::GET | Method::HEAD => Self::find_read(rest),
                Method::POST => Self::find_post(rest),
                Method::PUT => Self::find_put(rest),
                Method::DELETE => match rest {
                    [bucket] if !bucket.is_empty() => {
                        Some(decode_path(bucket).map(Self::RemoveMany).ok_or(MalformedPath))
                    }
                    [bucket, name @ ..] if !name.is_empty() => Some(target(bucket, name).map(Self::Remove)),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    fn find_read(segments: &[&str]) -> Option<Result<Self, MalformedPath>> {
        let door = |text: &str| match text {
            "public" => Some(Door::Public),
            "authenticated" => Some(Door::Authenticated),
            _ => None,
        };
        match segments {
            ["info", kind, bucket, name @ ..] if door(kind).is_some() && !name.is_empty() => {
                let door = door(kind).unwrap_or(Door::Plain);
                Some(target(bucket, name).map(|target| Self::Info(door, target)))
            }
            ["info", bucket, name @ ..] if !name.is_empty() => {
                Some(target(bucket, name).map(|target| Self::Info(Door::Plain, target)))
            }
            ["sign", bucket, name @ ..] if !name.is_empty() => {
                Some(target(bucket, name).map(|target| Self::Read(Door::Signed, target)))
            }
            [kind, bucket, name @ ..] if door(kind).is_some() && !name.is_empty() => {
                let door = door(kind).unwrap_or(Door::Plain);
                Some(target(bucket, name).map(|target| Self::Read(door, target)))
            }
            [bucket, name @ ..] if !name.is_empty() => {
                Some(target(bucket, name).map(|target| Self::Read(Door::Plain, target)))
            }
            _ => None,
        }
    }

    fn find_post(segments: &[&str]) -> Option<Result<Self, MalformedPath>> {
        let bucket = |text: &str, make: fn(String) -> Self| Some(decode_path(text).map(make).ok_or(MalformedPath));
        match segments {
            ["move"] => Some(Ok(Self::Move)),
            ["copy"] => Some(Ok(Self::Copy)),
            ["list", name] if !name.is_empty() => bucket(name, Self::List),
            ["list-v2", name] if !name.is_empty() => bucket(name, Self::ListPages),
            ["sign", name] if !name.is_empty() => bucket(name, Self::SignMany),
            ["upload", "sign", bucket, name @ ..] if !name.is_empty() => {
                Some(target(bucket, name).map(Self::SignUpload))
            }
            ["sign", bucket, name @ ..] if !name.is_empty() => Some(target(bucket, name).map(Self::Sign)),
            [bucket, name @ ..] if !name.is_empty() => {
                Some(target(bucket, name).map(|target| Self::Upload { target, replaces: false }))
            }
            _ => None,
        }
    }

    fn find_put(segments: &[&str]) -> Option<Result<Self, MalformedPath>> {
        match segments {
            ["upload", "sign", bucket, name @ ..] if !name.is_empty() => {
                Some(target(bucket, name).map(Self::UploadSigned))
            }
            [bucket, name @ ..] if !name.is_empty() => {
                Some(target(bucket, name).map(|target| Self::Upload { target, replaces: true }))
            }
            _ => None,
        }
    }

    /// The name of the operation, for policies.
    fn operation(&self, is_head: bool) -> &'static str {
        match self {
            Self::Read(Door::Plain | Door::Authenticated, _) if is_head => "object.head_authenticated_info",
            Self::Read(Door::Public, _) if is_head => "storage.object.info_public",
            Self::Read(Door::Plain | Door::Authenticated, _) => "storage.object.get_authenticated",
            Self::Read(Door::Public, _) => "storage.object.get_public",
            Self::Read(Door::Signed, _) => "storage.object.get_signed",
            Self::Info(Door::Public, _) => "storage.object.info_public",
            Self::Info(..) => "object.get_authenticated_info",
            Self::Render(Door::Public, _) => "storage.render.image_public",
            Self::Render(Door::Signed, _) => "storage.render.image_sign",
            Self::Render(..) => "storage.render.image_authenticated",
            Self::Upload { replaces: false, .. } => "storage.object.upload",
            Self::Upload { replaces: true, .. } => "storage.object.upload_update",
            Self::UploadSigned(_) => "storage.object.upload_signed",
            Self::SignUpload(_) => "storage.object.sign_upload_url",
            Self::Sign(_) => "storage.object.sign",
            Self::SignMany(_) => "storage.object.sign_many",
            Self::List(_) => "storage.object.list",
            Self::ListPages(_) => "storage.object.list_v2",
            Self::Move => "storage.object.move",
            Self::Copy => "storage.object.copy",
            Self::Remove(_) => "storage.object.delete",
            Self::RemoveMany(_) => "storage.object.delete_many",
        }
    }
}

/// The object that the last parts of a path name.
fn target(bucket: &str, name: &[&str]) -> Result<Target, MalformedPath> {
    let bucket = decode_path(bucket).ok_or(MalformedPath)?;
    let name = decode_path(&name.join("/")).ok_or(MalformedPath)?;
    Ok(Target { bucket, name })
}

/// Answers a request about objects.
///
/// # Errors
/// The request is not valid, the caller may not do it, or the database or the backend failed.
pub async fn answer(mut call: Call, route: Route, body: Body) -> Result<Response<Body>, Error> {
    call.operation = route.operation(call.parts.method == Method::HEAD);
    match route {
        Route::Read(door, target) => read::read(call, door, &target).await,
        Route::Info(door, target) => read::info(call, door, &target).await,
        Route::Render(door, target) => render::render(call, door, &target).await,
        Route::Upload { target, replaces } => upload::upload(call, target, replaces, body).await,
        Route::UploadSigned(target) => upload::upload_signed(call, target, body).await,
        Route::SignUpload(target) => sign::sign_upload(call, &target, body).await,
        Route::Sign(target) => sign::sign(call, &target, body).await,
        Route::SignMany(bucket) => sign::sign_many(call, &bucket, body).await,
        Route::List(bucket) => list::list(call, &bucket, body).await,
        Route::ListPages(bucket) => list_v2::list(call, &bucket, body).await,
        Route::Move => transfer::rename(call, body).await,
        Route::Copy => transfer::copy(call, body).await,
        Route::Remove(target) => remove::remove(call, target, body).await,
        Route::RemoveMany(bucket) => remove::remove_many(call, bucket, body).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(bucket: &str, name: &str) -> Target {
        Target { bucket: bucket.to_owned(), name: name.to_owned() }
    }

    fn find(method: &Method, path: &str) -> Option<Result<Route, MalformedPath>> {
        Route::find(method, &path.split('/').collect::<Vec<_>>(), true)
    }

    #[test]
    fn routes_are_found() {
        let cases = [
            (Method::GET, "object/b/a/c.txt", Route::Read(Door::Plain, object("b", "a/c.txt"))),
            (Method::GET, "object/public/b/a%2Fc", Route::Read(Door::Public, object("b", "a/c"))),
            (Method::GET, "object/public/b", Route::Read(Door::Plain, object("public", "b"))),
            (Method::GET, "object/info/authenticated/b/a", Route::Info(Door::Authenticated, object("b", "a"))),
            (Method::GET, "object/info/authenticated/a", Route::Info(Door::Plain, object("authenticated", "a"))),
            (Method::HEAD, "object/sign/b/a", Route::Read(Door::Signed, object("b", "a"))),
            (Method::GET, "render/image/sign/b/a", Route::Render(Door::Signed, object("b", "a"))),
            (Method::POST, "object/list/b", Route::List("b".to_owned())),
            (Method::POST, "object/list/b/a", Route::Upload { target: object("list", "b/a"), replaces: false }),
            (Method::POST, "object/b/", Route::Upload { target: object("b", ""), replaces: false }),
            (Method::POST, "object/sign/b", Route::SignMany("b".to_owned())),
            (Method::POST, "object/upload/sign/b/a", Route::SignUpload(object("b", "a"))),
            (Method::PUT, "object/upload/sign/b/a", Route::UploadSigned(object("b", "a"))),
            (Method::DELETE, "object/b", Route::RemoveMany("b".to_owned())),
            (Method::DELETE, "object/b//a", Route::Remove(object("b", "/a"))),
        ];
        for (method, path, route) in cases {
            assert_eq!(find(&method, path), Some(Ok(route)), "{path}");
        }
        assert_eq!(find(&Method::GET, "object/b/%zz"), Some(Err(MalformedPath)));
        for (method, path) in [(Method::PATCH, "object/b/a"), (Method::POST, "object/b"), (Method::GET, "object")] {
            assert_eq!(find(&method, path), None, "{path}");
        }
    }
}
