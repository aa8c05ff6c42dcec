//! A temporary directory that goes away even when the test binary is killed.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Waits for the end of its input and removes the directory that it is given. Processes that are being killed at that
/// moment may still write into it, so a failed removal is tried again.
const REMOVE_AT_END_OF_INPUT: &str = r#"
    read -r _
    tries=100
    until rm -rf -- "$1" 2>/dev/null || [ "$tries" -eq 0 ]; do
        tries=$((tries - 1))
        sleep 0.1
    done
"#;

/// A directory with a small shell beside it that removes it. The shell's input is a pipe from this process, so it ends
/// on drop and, statics and `SIGKILL` included, with this process.
pub struct Scratch {
    path: PathBuf,
    remover: Child,
}

impl Scratch {
    pub fn new() -> Self {
        let path = tempfile::Builder::new()
            .prefix("nodelet-test-")
            .tempdir()
            .expect("create a temporary directory")
            .keep();
        let remover = Command::new("sh")
            .args(["-c", REMOVE_AT_END_OF_INPUT, "sh"])
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A Ctrl-C at the terminal is for the tests, not for what cleans up after them.
            .process_group(0)
            .spawn()
            .expect("start a shell");
        Self { path, remover }
    }

    /// The root of a fixture host, to be changed by a test and seen through `--root`.
    pub fn with_host(name: &str) -> Self {
        let scratch = Self::new();
        let hosts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hosts");
        copy_tree(&hosts.join(name).join("root"), scratch.path());
        // The node's filesystem is measured at the directory itself, or at one above it.
        fs::create_dir_all(scratch.path().join("var/lib/kubelet"))
            .expect("create kubelet's directory");
        scratch
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Closes the shell's input and waits for the removal.
        let _ = self.remover.wait();
    }
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("copy a fixture");
    for entry in fs::read_dir(from).expect("copy a fixture") {
        let entry = entry.expect("copy a fixture");
        let target = to.join(entry.file_name());
        let kind = entry.file_type().expect("copy a fixture");
        if kind.is_dir() {
            copy_tree(&entry.path(), &target);
        } else if kind.is_symlink() {
            symlink(fs::read_link(entry.path()).expect("copy a fixture"), target)
                .expect("copy a fixture");
        } else {
            fs::copy(entry.path(), target).expect("copy a fixture");
        }
    }
}
