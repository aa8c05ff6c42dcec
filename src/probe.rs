//! Calls that may never come back (statfs(2) of a dead NFS server, a file of a stuck FUSE mount, a resolver), each
//! with a deadline.
//!
//! They run on a few threads of their own. tokio's blocking pool is never used for them: its threads hold up the exit
//! of the process, and one that hangs is lost to everybody. A call that misses its deadline is left alone on its
//! thread; until it comes back its key is answered at once, so that one stuck mount costs one thread and not one a
//! round. The threads end with the process, whatever they hang in.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// As much as std gives a thread: a look-up in the C library and a credential that is read have large buffers on the
/// stack, and only the pages that are touched are used.
const STACK_BYTES: usize = 2 << 20;

/// A call without an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// The call has not come back in time.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// An earlier call with this key has not come back.
    #[error("an earlier call still hangs")]
    Stuck,
    /// No thread came free in time, or all of them hang.
    #[error("all threads for such calls are taken by calls that hang")]
    NoThread,
    /// The call panicked, with this message.
    #[error("panicked: {0}")]
    Panicked(String),
}

/// Runs calls with deadlines.
#[derive(Debug)]
pub struct Prober {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    max_threads: usize,
    state: Mutex<State>,
    /// There is work, or there will be none any more.
    wake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Threads that live.
    threads: usize,
    /// Those of them that make no call.
    idle: usize,
    /// Calls that no thread has begun, oldest first.
    queue: VecDeque<Job>,
    /// All calls that have not come back, by key.
    calls: HashMap<String, Call>,
    /// Tells calls with one key apart.
    next_id: u64,
    /// Whether the prober is gone.
    closed: bool,
}

#[derive(Debug)]
struct Call {
    id: u64,
    progress: Progress,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Queued,
    Running,
    /// Running, and nobody waits for it any more.
    Abandoned,
}

struct Job {
    key: String,
    /// Makes the call; what it gives back hands over the answer.
    call: Box<dyn FnOnce() -> Box<dyn FnOnce() + Send> + Send>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl Prober {
    /// A prober that never has more than `max_threads` threads, hanging ones included. It starts with none.
    pub fn new(max_threads: usize) -> Self {
        let shared = Shared {
            max_threads,
            state: Mutex::default(),
            wake: Condvar::new(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// The answer of `call`, if it comes within `deadline`; time spent waiting for a thread counts. `key` names what
    /// can get stuck (`statfs:/mnt/nfs`): there is one call with a key at a time.
    pub async fn run<T: Send + 'static>(
        &self,
        key: &str,
        deadline: Duration,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ProbeError> {
        let (sender, receiver) = oneshot::channel();
        let job = Job {
            key: key.to_owned(),
            call: Box::new(move || {
                let answer =
                    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| panic_message(&*panic));
                // Nobody may be waiting any more.
                Box::new(move || drop(sender.send(answer)))
            }),
        };
        // When this future is dropped early, nobody waits any more either.
        let waiting = Waiting {
            shared: &self.shared,
            key,
            id: self.shared.submit(job)?,
        };
        match tokio::time::timeout(deadline, receiver).await {
            Ok(Ok(answer)) => answer.map_err(ProbeError::Panicked),
            // A call that was begun always answers; one that was not has lost its thread.
            Ok(Err(_)) => Err(ProbeError::NoThread),
            Err(_) => match waiting.give_up() {
                Some(Progress::Queued) => Err(ProbeError::NoThread),
                _ => Err(ProbeError::TimedOut(deadline)),
            },
        }
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.wake.notify_all();
    }
}

/// Somebody waits for this call.
struct Waiting<'a> {
    shared: &'a Shared,
    key: &'a str,
    id: u64,
}

impl Waiting<'_> {
    /// Leaves the call alone, if it has not come back, and says how far it had come.
    fn give_up(&self) -> Option<Progress> {
        let mut state = self.shared.state();
        let call = state
            .calls
            .get_mut(self.key)
            .filter(|call| call.id == self.id)?;
        let before = call.progress;
        if before == Progress::Queued {
            state.calls.remove(self.key);
            state.queue.retain(|job| job.key != self.key);
        } else {
            call.progress = Progress::Abandoned;
        }
        Some(before)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues `job`, sees to it that a thread will take it, and gives the call a number.
    fn submit(self: &Arc<Self>, job: Job) -> Result<u64, ProbeError> {
        let mut state = self.state();
        if state.calls.contains_key(&job.key) {
            return Err(ProbeError::Stuck);
        }
        let abandoned = |call: &&Call| call.progress == Progress::Abandoned;
        if state.calls.values().filter(abandoned).count() >= self.max_threads {
            return Err(ProbeError::NoThread);
        }
        if state.idle <= state.queue.len() && state.threads < self.max_threads {
            let shared = Arc::clone(self);
            let thread = thread::Builder::new()
                .name("probe".to_owned())
                .stack_size(STACK_BYTES);
            if thread.spawn(move || shared.work()).is_ok() {
                state.threads += 1;
                state.idle += 1;
            } else if state.threads == 0 {
                return Err(ProbeError::NoThread);
            }
        }
        let id = state.next_id;
        state.next_id += 1;
        state.calls.insert(
            job.key.clone(),
            Call {
                id,
                progress: Progress::Queued,
            },
        );
        state.queue.push_back(job);
        self.wake.notify_one();
        Ok(id)
    }

    /// A thread's life.
    fn work(&self) {
        while let Some(job) = self.next_job() {
            let deliver = (job.call)();
            let mut state = self.state();
            state.calls.remove(&job.key);
            state.idle += 1;
            drop(state);
            // Only now, so that whoever gets the answer finds the key and this thread free.
            deliver();
        }
    }

    /// The next call for this idle thread; nothing where it is to end, because another one waits already.
    fn next_job(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.queue.pop_front() {
                state.idle -= 1;
                if let Some(call) = state.calls.get_mut(&job.key) {
                    call.progress = Progress::Running;
                }
                return Some(job);
            }
            if state.closed || state.idle > 1 {
                state.idle -= 1;
                state.threads -= 1;
                return None;
            }
            state = self
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The text that a panic came with.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests;
