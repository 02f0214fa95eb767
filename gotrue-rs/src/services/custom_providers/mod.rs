//! Providers that an administrator stored: used by sign-ins, and held against what may be stored.

mod addresses;
mod discovery;
mod load;

pub use self::addresses::check;
pub use self::discovery::{forget, look_up};
pub use self::load::{Loaded, NotLoaded, load};
