//! Files in buckets with rows in PostgreSQL, as Supabase Storage serves them.
//!
//! A bucket is a row of `storage.buckets`, an object a row of `storage.objects` and one file, named by bucket, name and
//! version. Row security of the database decides about every request: a statement runs in a transaction that has the role
//! and the claims of the caller.

pub mod anonymise;
pub mod backend;
pub mod buckets;
pub mod caller;
pub mod config;
pub mod database;
pub mod disposition;
pub mod error;
pub mod image;
pub mod mime;
pub mod names;
pub mod objects;
pub mod range;
pub mod request;
pub mod response;
pub mod robots;
pub mod s3;
pub mod seed;
pub mod service;
pub mod sweep;
pub mod tus;
