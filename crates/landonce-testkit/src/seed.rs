//! Random numbers that a failed test can be run with again: the seed is told, and `LANDONCE_TEST_SEED` sets it.

use rand::SeedableRng;
use rand::rngs::StdRng;

/// The variable that sets the seed, a decimal number.
pub const VARIABLE: &str = "LANDONCE_TEST_SEED";

/// A generator seeded by [`VARIABLE`], or by chance. Prints the seed, which the test runner shows when the test fails.
///
/// # Panics
///
/// When the variable holds something other than a number.
pub fn rng() -> StdRng {
    let seed = match std::env::var(VARIABLE) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{VARIABLE} must be a number, not `{text}`")),
        Err(_) => rand::random(),
    };
    eprintln!("run again with {VARIABLE}={seed}");
    StdRng::seed_from_u64(seed)
}
