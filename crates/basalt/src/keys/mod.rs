//! The signing keys and API keys that `basalt keys` changes: rules, stored form and effect.
//!
//! The reasons are in `docs/decisions/0101-keys-rotate-by-overlap.md`.

mod effective;
mod generate;
mod jwk_list;
mod key_set;
mod key_sets;
mod list;
mod sealed;

use platform::statements;

pub(crate) use effective::{EffectiveKeys, build_secret_jwk};
pub(crate) use generate::{SigningAlgorithm, generate_elliptic, generate_signing_key};
pub(crate) use jwk_list::{JwkList, check_private_part};
pub(crate) use key_set::{KeyKind, KeySet, KeyState, ManagedKey, Rotation};
pub(crate) use list::{describe, print_keys};
pub(crate) use sealed::{KeySetStore, VersionedKeys};

statements! {
    modules: key_sets;
}
