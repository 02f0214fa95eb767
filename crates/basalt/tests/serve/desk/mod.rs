//! The owner's desk over HTTP, in the real binary.

mod access;
mod catalogue;
mod catalogue_files;
mod desk_client;
mod figures;
mod known_devices;
mod openapi;
mod orders;
mod session;
mod setup;
mod sign_in;
mod submissions;
