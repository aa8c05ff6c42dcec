//! Recordings (DESIGN §1) of a test's own making, replayed by the built nodelet.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::nodelet::{Finished, Nodelet};
use super::scratch::Scratch;

const TIMEOUT: Duration = Duration::from_mins(1);

/// A recording in a directory of its own: a small good host without a cluster, `n1`, of which nodelet is the owner.
/// The methods change it; it can be replayed in between.
pub struct Recording {
    scratch: Scratch,
    facts: Value,
}

impl Recording {
    pub fn new() -> Self {
        let recording = Self {
            scratch: Scratch::new(),
            facts: json!({
                "version": 1, "takenAt": "2026-11-30T07:00:00Z", "hostname": "n1",
                "uname": {"sysname": "Linux", "release": "6.1.0", "machine": "x86_64"},
                "statfs": {"/": disk()},
                "interfaces": [interface("eth0", &["192.0.2.13"])],
                "settings": {"role": "owner"},
            }),
        };
        recording
            .file("sys/devices/system/cpu/online", "0-3\n")
            .file(
                "proc/meminfo",
                "MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\n",
            )
            .file("etc/machine-id", "0123456789abcdef0123456789abcdef\n")
            .file("sys/fs/cgroup/cgroup.controllers", "memory\n")
            .file(
                "sys/fs/cgroup/memory.stat",
                "anon 1000000\nfile 5000000\ninactive_file 3000000\n",
            )
    }

    pub fn dir(&self) -> &Path {
        self.scratch.path()
    }

    /// Replaces a key of `recording.json`.
    pub fn fact(mut self, key: &str, value: Value) -> Self {
        self.facts[key] = value;
        self
    }

    /// Leaves a key of `recording.json` out.
    pub fn without_fact(mut self, key: &str) -> Self {
        if let Some(facts) = self.facts.as_object_mut() {
            facts.remove(key);
        }
        self
    }

    /// Adds an entry to a key of `recording.json` that holds an object.
    pub fn entry(mut self, key: &str, name: &str, value: Value) -> Self {
        self.facts[key][name] = value;
        self
    }

    /// Sets a key of the configuration.
    pub fn setting(self, key: &str, value: Value) -> Self {
        self.entry("settings", key, value)
    }

    /// Says what comes in place of an answer.
    pub fn error(self, question: &str, error: &str) -> Self {
        self.entry("errors", question, json!(error))
    }

    /// Lays a cluster beside the host that has this Node and no Lease.
    pub fn stored(self, node: &Value) -> Self {
        self.fact("cluster", json!({"node": node, "lease": null}))
    }

    /// Writes a file of the host; `path` is relative to its root.
    pub fn file(self, path: &str, contents: impl AsRef<[u8]>) -> Self {
        let path = self.dir().join("root").join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a directory"))
            .expect("make the directory of a file");
        fs::write(path, contents).expect("write a file of the host");
        self
    }

    /// Removes a file of the host.
    pub fn without(self, path: &str) -> Self {
        fs::remove_file(self.dir().join("root").join(path)).expect("remove a file of the host");
        self
    }

    pub fn replay(&self, output: &str) -> Finished {
        fs::write(self.dir().join("recording.json"), self.facts.to_string())
            .expect("write recording.json");
        Nodelet::new()
            .args(["--sync-once", "-o", output, "--replay"])
            .arg(self.dir())
            .run(TIMEOUT)
    }

    /// The Node and what follows it in the list, from a round that must succeed.
    #[track_caller]
    pub fn items(&self) -> Vec<Value> {
        let finished = self.replay("json");
        assert!(finished.status.success(), "{}", finished.stderr);
        finished.list()
    }

    /// The Node that is wanted, from a round that must succeed.
    #[track_caller]
    pub fn node(&self) -> Value {
        self.items().swap_remove(0)
    }

    /// The lines of an output that prints one JSON a line, from a round that must succeed.
    #[track_caller]
    pub fn lines(&self, output: &str) -> Vec<Value> {
        let finished = self.replay(output);
        assert!(finished.status.success(), "{}", finished.stderr);
        finished.lines()
    }

    /// The body of the patch of the Node's status, from a round that must succeed.
    #[track_caller]
    pub fn patch(&self) -> Value {
        let lines = self.lines("patch");
        let patch = lines.iter().find(|line| line["verb"] == "patch");
        patch.unwrap_or_else(|| panic!("no patch: {lines:#?}"))["body"].clone()
    }
}

impl Finished {
    /// The items of the list that `-o json` prints.
    pub fn list(&self) -> Vec<Value> {
        let list: Value = serde_json::from_str(&self.stdout).expect("-o json is JSON");
        list["items"].as_array().expect("a list has items").clone()
    }

    /// The lines of an output that prints one JSON a line.
    pub fn lines(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("a line of JSON"))
            .collect()
    }
}

/// The numbers of a good filesystem: 4 GB, 45 % available.
pub fn disk() -> Value {
    json!({"type": "ext4", "blockSize": 4096, "fragmentSize": 4096, "blocks": 1_000_000, "blocksFree": 500_000,
           "blocksAvailable": 450_000, "files": 65_536, "filesFree": 60_000, "readOnly": false})
}

/// The same with other blocks.
pub fn disk_of(blocks: u64, blocks_available: u64) -> Value {
    let mut disk = disk();
    disk["blocks"] = json!(blocks);
    disk["blocksAvailable"] = json!(blocks_available);
    disk
}

/// A network interface that is up. An address may be followed by its flags: `2001:db8::1 tentative`.
pub fn interface(name: &str, addresses: &[&str]) -> Value {
    let addresses: Vec<Value> = addresses
        .iter()
        .map(|text| {
            let mut words = text.split(' ');
            let address = words.next().expect("an address");
            let prefix = if address.contains(':') { 64 } else { 24 };
            json!({"address": address, "prefix": prefix, "flags": words.collect::<Vec<_>>()})
        })
        .collect();
    json!({"name": name, "index": 2, "flags": ["UP"], "addresses": addresses})
}

/// `/proc/net/route` with a default route by `interface`.
pub fn default_route(interface: &str) -> String {
    format!(
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
         {interface}\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    )
}

/// `/proc/net/ipv6_route` with a default route by `interface`.
pub fn default_route_v6(interface: &str) -> String {
    let zeros = "0".repeat(32);
    format!(
        "{zeros} 00 {zeros} 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003 {interface}\n"
    )
}
