//! The Go program that answers questions about quantities and strategic merge patches with Kubernetes' own packages.
//!
//! Requests and answers are those of `tests/controlplane/oracle/main.go`, for example
//! `{"op": "add", "a": "1Gi", "b": "1"}` and `{"text": "1073741825", "cmp": 0}`; a refusal is `{"error": "…"}`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock};

use serde_json::Value;

use super::assets;

/// A running oracle. It ends by itself when its input ends: on drop, and when this process dies.
pub struct Oracle {
    process: Child,
    pipes: Mutex<Option<(ChildStdin, BufReader<ChildStdout>)>>,
}

impl Oracle {
    /// The one oracle of this test binary.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Oracle> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// A new oracle.
    pub fn start() -> Self {
        let mut process = Command::new(assets::program("oracle"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("start the oracle");
        let input = process.stdin.take().expect("the oracle's input is a pipe");
        let output = process
            .stdout
            .take()
            .expect("the oracle's output is a pipe");
        Self {
            process,
            pipes: Mutex::new(Some((input, BufReader::new(output)))),
        }
    }

    /// Puts one question and waits for its answer. Callers on several threads take turns.
    pub fn ask(&self, question: &Value) -> Value {
        let mut pipes = self
            .pipes
            .lock()
            .expect("no earlier question to the oracle panicked");
        let (input, output) = pipes.as_mut().expect("the oracle runs until it is dropped");
        writeln!(input, "{question}").unwrap_or_else(|e| panic!("ask the oracle {question}: {e}"));
        let mut line = String::new();
        output
            .read_line(&mut line)
            .unwrap_or_else(|e| panic!("the oracle's answer to {question}: {e}"));
        serde_json::from_str(&line)
            .unwrap_or_else(|e| panic!("the oracle answered {line:?} to {question}: {e}"))
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        if let Ok(pipes) = self.pipes.get_mut() {
            pipes.take();
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
