//! Random bytes from one generator for the process and one derived stream for each request.
//!
//! The system seeds the generator. A test seeds it with a number and gets reproducible ids.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore, SeedableRng};
use uuid::Uuid;

/// Lower-case base32, the alphabet of refresh tokens of version 1 (RFC 4648 §6, without padding).
const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A stream of random bytes from a cryptographic generator.
#[derive(Debug)]
pub struct Entropy(Mutex<ChaCha20Rng>);

impl Entropy {
    /// Creates a generator seeded by the operating system.
    pub fn from_system() -> Self {
        Self(Mutex::new(ChaCha20Rng::from_os_rng()))
    }

    /// Creates a deterministic generator, for tests and for values that need not be secret.
    pub fn from_seed(seed: u64) -> Self {
        Self(Mutex::new(ChaCha20Rng::seed_from_u64(seed)))
    }

    /// Derives a new stream, such as that of a request.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self(Mutex::new(ChaCha20Rng::from_seed(self.bytes())))
    }

    /// Fills the buffer.
    pub fn fill(&self, buffer: &mut [u8]) {
        self.generator().fill_bytes(buffer);
    }

    /// Returns `N` random bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// Returns a version 4 UUID.
    pub fn uuid(&self) -> Uuid {
        uuid::Builder::from_random_bytes(self.bytes()).into_uuid()
    }

    /// Returns a version 1 refresh token: twelve characters of `[a-z2-7]`.
    pub fn refresh_token(&self) -> String {
        self.base32(12)
    }

    /// Returns `length` characters of `[a-z2-7]`, five bits each.
    pub fn base32(&self, length: usize) -> String {
        let mut bytes = vec![0; length];
        self.fill(&mut bytes);
        bytes.iter().map(|byte| char::from(BASE32[usize::from(byte & 31)])).collect()
    }

    /// Returns a one-time code of `length` decimal digits, zero-padded, without bias.
    pub fn digits(&self, length: usize) -> String {
        let mut generator = self.generator();
        let mut digit = || loop {
            let byte = (generator.next_u32() & 0xff) as u8;
            if byte < 250 {
                return char::from(b'0' + byte % 10);
            }
        };
        (0..length).map(|_| digit()).collect()
    }

    fn generator(&self) -> MutexGuard<'_, ChaCha20Rng> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
