//! A nodelet in the owner role, configured for the quick pace of tests.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::controlplane::ControlPlane;
use super::nodelet::{Finished, Nodelet, Running};

/// What will be started. Only one nodelet of a name runs at a time, so that its configuration file is its own.
pub struct Daemon {
    config_file: PathBuf,
    config: Value,
    kubeconfig: PathBuf,
    args: Vec<OsString>,
}

impl Daemon {
    /// Keeps the Node `name` with its own identity: a round and a report each second, a Lease of four seconds, no
    /// container runtime and no port of its own.
    pub fn owner(cluster: &ControlPlane, name: &str) -> Self {
        Self {
            config_file: cluster.directory().join(format!("{name}.yaml")),
            config: json!({
                "kind": "NodeletConfiguration",
                "role": "owner",
                "nodeName": name,
                "nodeStatusUpdateFrequency": "1s",
                "nodeStatusReportFrequency": "1s",
                "nodeLeaseDurationSeconds": 4,
                "containerRuntimeEndpoint": "",
                "listenAddress": "",
            }),
            kubeconfig: cluster.node_kubeconfig(name),
            args: Vec::new(),
        }
    }

    /// Sets a key of the configuration.
    pub fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.config[key] = value.into();
        self
    }

    /// With another identity than the Node's own.
    pub fn kubeconfig(mut self, path: PathBuf) -> Self {
        self.kubeconfig = path;
        self
    }

    /// Sees the host's `/` at `root`.
    pub fn root(mut self, root: &Path) -> Self {
        self.args.extend(["--root".into(), root.into()]);
        self
    }

    /// Writes the configuration file (JSON is YAML) and gives the command line.
    pub fn command(self) -> Nodelet {
        fs::write(&self.config_file, format!("{:#}\n", self.config))
            .expect("write the configuration");
        Nodelet::new()
            .arg("--config")
            .arg(self.config_file)
            .arg("--kubeconfig")
            .arg(self.kubeconfig)
            .args(self.args)
    }

    pub fn spawn(self) -> Running {
        self.command().spawn()
    }

    #[track_caller]
    pub fn run(self, timeout: Duration) -> Finished {
        self.command().run(timeout)
    }
}
