//! Child processes that never outlive the test binary, however it ends.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::wait::eventually;

/// A command for [`spawn`]: `program` replaces a `setpriv` that asked the kernel to kill it when its parent dies.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "--"])
        .arg(program)
        .stdin(Stdio::null());
    command
}

/// Starts `command` from a thread that lives as long as this process: the "parent" whose death the kernel watches is
/// the thread that forked, and a test's own thread ends with the test.
pub fn spawn(command: Command) -> Child {
    type Request = (Command, Sender<std::io::Result<Child>>);
    static SPAWNER: OnceLock<Sender<Request>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (requests, queue) = mpsc::channel::<Request>();
        thread::Builder::new()
            .name("spawner".to_owned())
            .spawn(move || {
                for (mut command, reply) in queue {
                    let _ = reply.send(command.spawn());
                }
            })
            .expect("start the spawning thread");
        requests
    });
    let (reply, answer) = mpsc::channel();
    let shown = format!("{command:?}");
    spawner
        .send((command, reply))
        .expect("the spawning thread lives as long as this process");
    answer
        .recv()
        .expect("the spawning thread answers")
        .unwrap_or_else(|e| panic!("start {shown}: {e}"))
}

pub fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("signal a child that was not waited for");
}

/// Waits until `child` has exited, but not longer than `timeout`.
pub fn wait(child: &mut Child, timeout: Duration) -> Option<ExitStatus> {
    let start = Instant::now();
    eventually(Duration::MAX, "the end of a process", || {
        let exited = child.try_wait().expect("ask for the state of a child");
        (exited.is_some() || start.elapsed() > timeout).then_some(exited)
    })
}

/// A server of the control plane: writes its output to a file and is killed on drop.
pub struct Server {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Server {
    pub fn start(name: &'static str, mut command: Command, log: PathBuf) -> Self {
        let output = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .expect("open the log of a server");
        command
            .stdout(output.try_clone().expect("share a server's log"))
            .stderr(output);
        let child = spawn(command);
        Self { name, child, log }
    }

    /// Waits for `condition`. Panics with the end of the server's log when the server ends first or `timeout` passes.
    #[track_caller]
    pub fn wait_until(&mut self, timeout: Duration, what: &str, condition: impl Fn() -> bool) {
        let start = Instant::now();
        let met = eventually(Duration::MAX, what, || {
            if condition() {
                return Some(Ok(()));
            }
            match self.child.try_wait().expect("ask for the state of a child") {
                Some(status) => Some(Err(format!("ended ({status})"))),
                None if start.elapsed() > timeout => Some(Err(format!("took over {timeout:?}"))),
                None => None,
            }
        });
        if let Err(failure) = met {
            panic!(
                "{} {failure} before {what}:\n{}",
                self.name,
                self.log_tail()
            );
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn log_path(&self) -> &Path {
        &self.log
    }

    fn log_tail(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
