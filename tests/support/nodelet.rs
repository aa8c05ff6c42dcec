//! Runs the nodelet binary that this test build made.

use std::ffi::OsStr;
use std::io::{ErrorKind, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::process;
use super::wait::eventually;

/// Generous, because a busy machine with two cores runs the other tests beside it.
const SOON: Duration = Duration::from_mins(1);

/// What the surroundings of the tests must not tell nodelet.
const FORGOTTEN: [&str; 6] = [
    "KUBECONFIG",
    "NODE_NAME",
    "NODELET_LOG",
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
    "NOTIFY_SOCKET",
];

/// A command line of nodelet.
pub struct Nodelet {
    command: Command,
}

/// How a finished nodelet ended and everything that it wrote.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// A nodelet that runs. It is killed on drop.
pub struct Running {
    child: Child,
    stdout: Captured,
    stderr: Captured,
}

impl Nodelet {
    pub fn new() -> Self {
        let mut command = process::command(env!("CARGO_BIN_EXE_nodelet"));
        for name in FORGOTTEN {
            command.env_remove(name);
        }
        Self { command }
    }

    /// Through `wrapper`, a command that ends by replacing itself with the one that its last arguments name.
    pub fn under(self, wrapper: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let mut wrapper = wrapper.into_iter();
        let mut command = process::command(wrapper.next().expect("a wrapper has a name"));
        command.args(wrapper);
        // All but the part that process::command adds to each.
        command.args(
            self.command
                .get_args()
                .skip_while(|arg| *arg != "--")
                .skip(1),
        );
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Self { command }
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs to the end. Panics when that takes longer than `timeout`.
    #[track_caller]
    pub fn run(self, timeout: Duration) -> Finished {
        let mut running = self.spawn();
        let status = running.wait(timeout);
        Finished {
            status,
            stdout: running.stdout.all(),
            stderr: running.stderr.all(),
        }
    }

    pub fn spawn(mut self) -> Running {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = process::spawn(self.command);
        let stdout = Captured::from(child.stdout.take().expect("stdout is a pipe"));
        let stderr = Captured::from(child.stderr.take().expect("stderr is a pipe"));
        Running {
            child,
            stdout,
            stderr,
        }
    }
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        process::signal(&self.child, signal);
    }

    /// Sends `SIGTERM`.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// How it ended, or nothing while it runs.
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("ask for the state of nodelet")
    }

    /// Waits for the end. Panics, with what nodelet wrote to stderr, when that takes longer than `timeout`.
    #[track_caller]
    pub fn wait(&mut self, timeout: Duration) -> ExitStatus {
        match process::wait(&mut self.child, timeout) {
            Some(status) => status,
            None => panic!("nodelet still runs after {timeout:?}:\n{}", self.stderr()),
        }
    }

    /// Waits until `condition` gives a value. Panics, with what nodelet wrote to stderr, when nodelet ends before or
    /// that takes too long.
    #[track_caller]
    pub fn eventually<T>(&mut self, what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
        let start = Instant::now();
        let met = eventually(Duration::MAX, what, || {
            if let Some(value) = condition() {
                return Some(Ok(value));
            }
            match self.status() {
                Some(status) => Some(Err(format!("nodelet ended ({status})"))),
                None if start.elapsed() > SOON => Some(Err(format!("waited {SOON:?} in vain"))),
                None => None,
            }
        });
        match met {
            Ok(value) => value,
            Err(failure) => panic!("{failure} before: {what}:\n{}", self.stderr()),
        }
    }

    /// Panics when nodelet has ended.
    #[track_caller]
    pub fn assert_running(&mut self) {
        if let Some(status) = self.status() {
            panic!("nodelet ended ({status}):\n{}", self.stderr());
        }
    }

    /// What it wrote to stdout so far.
    pub fn stdout(&self) -> String {
        self.stdout.so_far()
    }

    /// What it wrote to stderr so far.
    pub fn stderr(&self) -> String {
        self.stderr.so_far()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A pipe that is read as it fills.
struct Captured {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Captured {
    fn from(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let filled = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut buffer = [0; 8192];
            loop {
                match pipe.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => filled.lock().unwrap().extend_from_slice(&buffer[..count]),
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) => panic!("read what nodelet writes: {e}"),
                }
            }
        });
        Self {
            bytes,
            reader: Some(reader),
        }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    /// Waits for the end of the pipe.
    fn all(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the pipe can be read");
        }
        self.so_far()
    }
}
