//! Files in buckets with rows in PostgreSQL, as Supabase Storage serves them.
//!
//! A bucket is a row of `storage.buckets`, an object a row of `storage.objects` and one file, named by bucket, name and
//! version. Row security of the database decides about every request: a statement runs in a transaction that has the role
//! and the claims of the caller.

pub mod anonymise;
pub mod backend;
pub mod buckets;
pub mod caller;
pub mod clock;
pub mod config;
pub mod database;
pub mod disposition;
pub mod error;
pub mod image;
pub mod limits;
pub mod mime;
pub mod names;
mod object_row;
pub mod objects;
mod policies;
mod public_objects;
pub mod range;
pub mod request;
pub mod response;
pub mod robots;
pub mod s3;
pub mod seed;
pub mod service;
mod signature;
pub mod storage;
pub mod sweep;
pub mod target;
pub mod tus;
mod upload_locks;
