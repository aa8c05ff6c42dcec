//! The one wall clock.
//!
//! Elapsed time is never measured here: that is [`tokio::time::Instant`], which is monotonic and which a test can
//! pause. Wall time is only ever written down (heartbeats, transitions, renew times).

use k8s_openapi::jiff::Timestamp;
use std::fmt::Debug;

/// Gives the wall time. Injected, so that a recording or a test decides what time it is.
pub trait Clock: Debug + Send + Sync {
    /// The present wall time, with whatever precision the clock has.
    fn now(&self) -> Timestamp;
}

/// The clock of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the wall clock"
    )]
    fn now(&self) -> Timestamp {
        // A clock outside of the years that a timestamp can hold reads as the epoch, never as a panic.
        Timestamp::try_from(std::time::SystemTime::now()).unwrap_or_default()
    }
}

/// A clock that stands still: the instant at which a recording was taken.
#[derive(Debug, Clone, Copy)]
pub struct FixedClock(pub Timestamp);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// The whole second that `time` lies in: what Kubernetes keeps of a `metav1.Time`
/// (`apimachinery/pkg/apis/meta/v1/time.go`), so that a value compares equal after a round trip.
pub fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
