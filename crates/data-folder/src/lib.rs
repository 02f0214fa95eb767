//! The folder in which a server keeps its data, locked by one process at a time; files that only their owner may read, and
//! whose names and contents a power cut does not undo.

pub mod durable;
mod folder;
mod private_file;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use folder::{DataFolder, RUNNING_FILE, is_in_use, restrict_permissions};
pub use private_file::PrivateFile;
