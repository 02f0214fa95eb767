//! Random bytes: one generator for the process, seeded by the system, and a stream of its own for each request.
//! A test seeds it and gets the same ids again.

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
    /// Seeded by the operating system.
    pub fn from_system() -> Self {
        Self(Mutex::new(ChaCha20Rng::from_os_rng()))
    }

    /// The same stream for the same seed: for tests.
    pub fn from_seed(seed: u64) -> Self {
        Self(Mutex::new(ChaCha20Rng::seed_from_u64(seed)))
    }

    /// A new stream that depends on this one: what a request gets.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self(Mutex::new(ChaCha20Rng::from_seed(self.bytes())))
    }

    /// Fills the buffer.
    pub fn fill(&self, buffer: &mut [u8]) {
        self.generator().fill_bytes(buffer);
    }

    /// `N` random bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// A version 4 UUID.
    pub fn uuid(&self) -> Uuid {
        uuid::Builder::from_random_bytes(self.bytes()).into_uuid()
    }

    /// A refresh token of version 1: twelve characters of `[a-z2-7]`.
    pub fn refresh_token(&self) -> String {
        self.base32(12)
    }

    /// That many characters of `[a-z2-7]`, five bits each.
    pub fn base32(&self, length: usize) -> String {
        let mut bytes = vec![0; length];
        self.fill(&mut bytes);
        bytes.iter().map(|byte| char::from(BASE32[usize::from(byte & 31)])).collect()
    }

    /// A one-time code of that many decimal digits, zero-padded, without bias.
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
