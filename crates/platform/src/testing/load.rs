//! The amount of work of a test: small by default, large in soak runs.

/// `usual`, or `long` where the variable `BASALT_STRESS` is set (`make soak-concurrency`).
#[expect(clippy::disallowed_methods, reason = "tests are told by the environment how long they may take")]
pub fn scaled_load<T>(usual: T, long: T) -> T {
    if std::env::var("BASALT_STRESS").is_ok() { long } else { usual }
}
