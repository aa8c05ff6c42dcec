//! Time that passes only when a test lets it, while sockets and threads work on as ever. It needs a runtime with one
//! thread, as `#[tokio::test]` makes it.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use nodelet::clock::Clock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use tokio::time::Instant;

/// How far the time of the test moves while it flows, and how long everything else has in between.
const STEP: Duration = Duration::from_millis(50);
const PAUSE: Duration = Duration::from_millis(1);

/// How long a test waits for what it expects, in real time.
const PATIENCE: Duration = Duration::from_mins(1);

/// The time of a test: also its wall clock.
#[derive(Debug)]
pub struct TestTime {
    start: Instant,
    /// What the wall clock shows at `start`.
    wall: Mutex<Timestamp>,
    /// How often the wall clock was asked.
    asked: AtomicUsize,
    /// Ends the thread that keeps the runtime from moving on by itself.
    _hold: mpsc::Sender<()>,
}

impl TestTime {
    /// Stops the clock of the runtime; the wall clock shows `wall`.
    pub fn stop_at(wall: &str) -> Arc<Self> {
        tokio::time::pause();
        // A paused runtime jumps to its next timer when it has nothing else to do, except while a blocking call runs.
        let (hold, released) = mpsc::channel();
        tokio::task::spawn_blocking(move || {
            let _ = released.recv();
        });
        Arc::new(Self {
            start: Instant::now(),
            wall: Mutex::new(wall.parse().unwrap()),
            asked: AtomicUsize::new(0),
            _hold: hold,
        })
    }

    /// Waits until `condition` gives a value, while no time passes.
    pub async fn still<T>(&self, what: &str, condition: impl FnMut() -> Option<T>) -> T {
        wait(what, Duration::ZERO, condition).await
    }

    /// Lets time flow until `condition` gives a value.
    pub async fn until<T>(&self, what: &str, condition: impl FnMut() -> Option<T>) -> T {
        wait(what, STEP, condition).await
    }

    /// Lets this much time flow.
    pub async fn flow(&self, time: Duration) {
        let end = Instant::now() + time;
        self.until("the time is over", || (Instant::now() >= end).then_some(()))
            .await;
    }

    /// Moves on by this much at once, so that a timer that was set before is over.
    pub async fn jump(&self, time: Duration) {
        // Timers are rounded up to whole milliseconds.
        tokio::time::advance(time + Duration::from_millis(1)).await;
    }

    /// How often the wall clock was asked: a sign of life of what works by it.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// Sets the wall clock, and it alone, back or forth.
    pub fn shift_wall(&self, by: SignedDuration) {
        let mut wall = self.wall.lock().unwrap();
        *wall = wall.checked_add(by).unwrap();
    }
}

impl Clock for TestTime {
    fn now(&self) -> Timestamp {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let elapsed = SignedDuration::try_from(self.start.elapsed()).unwrap();
        self.wall.lock().unwrap().checked_add(elapsed).unwrap()
    }
}

async fn wait<T>(what: &str, step: Duration, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = std::time::Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(
            start.elapsed() < PATIENCE,
            "waited {PATIENCE:?} in vain: {what}"
        );
        if step > Duration::ZERO {
            tokio::time::advance(step).await;
        }
        tokio::task::spawn_blocking(|| thread::sleep(PAUSE))
            .await
            .unwrap();
    }
}
