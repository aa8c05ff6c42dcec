//! Waiting for a condition instead of sleeping.

use std::thread;
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Many things take no longer than the start of a process.
const FIRST_POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Whether what is shortened for every day has its full length: where `NODELET_TEST_FULL_LENGTH` is set.
pub fn full_length() -> bool {
    std::env::var_os("NODELET_TEST_FULL_LENGTH").is_some()
}

/// Asks `condition` at growing intervals, at least every 50 ms, until it gives a value. Panics, naming `what`, when
/// `timeout` has passed without one.
#[track_caller]
pub fn eventually<T>(timeout: Duration, what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(
            start.elapsed() < timeout,
            "waited {timeout:?} in vain: {what}"
        );
        thread::sleep((start.elapsed() / 8).clamp(FIRST_POLL_INTERVAL, POLL_INTERVAL));
    }
}

/// Asks `condition` every 50 ms for as long as `duration`. Panics, naming `what`, as soon as it does not hold.
#[track_caller]
pub fn throughout(duration: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while start.elapsed() < duration {
        assert!(condition(), "no longer after {:?}: {what}", start.elapsed());
        thread::sleep(POLL_INTERVAL);
    }
}
