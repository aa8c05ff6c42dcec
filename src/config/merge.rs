//! From the command line to settings: the layers of configuration, read and laid over each other.
//!
//! Lowest first: the settings of a recording that is replayed, the configuration file, the drop-ins in the order of
//! their names, the environment, the flags. A later layer wins key by key: mappings are merged, also those with keys
//! of the user's choice (`evictionHard`, `systemReserved`, `nodeLabels`), while lists and single values are replaced
//! whole. So a drop-in can add a threshold, but not take one away (`0%` switches one off). Every value keeps the place
//! it came from. kubelet merges its drop-ins in the same way (`cmd/kubelet/app/server.go`, `mergeKubeletConfigurations`).

use super::file;
use super::settings::{Settings, word_of};
use super::tree::{Fault, Node, Origin, Value};
use crate::cli::{Cli, Environment};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The configuration file that is taken where none is named, if it is there.
pub const DEFAULT_FILE: &str = "/etc/nodelet/nodelet.yaml";

/// The source of the settings of a recording.
pub const RECORDING: &str = "recording.json";

/// All layers in one, not yet validated.
#[derive(Debug, Clone)]
pub struct Merged {
    /// The keys of the configuration.
    pub tree: Node,
    /// `--root`.
    pub root: PathBuf,
    /// `--kubeconfig`, or else `KUBECONFIG`.
    pub kubeconfig: Option<PathBuf>,
    /// `--takeover`.
    pub takeover: bool,
}

/// Reads all that the command line names, and validates it. `recorded` is what a recording holds as its `settings`; a
/// replay takes no default file, so that it is the same on every machine.
pub fn load(
    cli: &Cli,
    environment: &Environment,
    recorded: Option<&serde_json::Value>,
) -> Result<Settings, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut layers = Vec::new();
    if let Some(json) = recorded {
        layers.push(file::read_json(RECORDING, json, &mut faults));
    }
    for path in files(cli, &mut faults) {
        let source = path.display().to_string();
        match read(&path) {
            Ok(text) => layers.push(file::read_yaml(&source, &text, &mut faults)),
            Err(problem) => faults.push(unreadable(&path, &problem)),
        }
    }
    let validated = Settings::validate(&merge(layers, cli, environment));
    match validated {
        Ok(settings) if faults.is_empty() => return Ok(settings),
        Ok(_) => {}
        Err(more) => faults.extend(more),
    }
    faults.sort();
    faults.dedup();
    Err(faults)
}

/// Lays the layers over each other, the first being the lowest, and over them what the environment and the flags say.
pub fn merge(
    layers: impl IntoIterator<Item = Node>,
    cli: &Cli,
    environment: &Environment,
) -> Merged {
    let given = [
        ("nodeName", "NODE_NAME", environment.node_name.as_deref()),
        ("nodeName", "--node-name", cli.node_name.as_deref()),
        ("role", "--role", cli.role.map(word_of)),
    ];
    let given = given.into_iter().filter_map(|(key, source, text)| {
        let entry = (key.to_owned(), Node::text(source, text?));
        let value = Value::Mapping(BTreeMap::from([entry]));
        Some(Node {
            value,
            ..Node::empty(source)
        })
    });
    Merged {
        tree: layers.into_iter().chain(given).fold(Node::empty(""), over),
        root: cli.root.clone(),
        kubeconfig: cli
            .kubeconfig
            .clone()
            .or_else(|| environment.kubeconfig.clone()),
        takeover: cli.takeover,
    }
}

fn over(lower: Node, upper: Node) -> Node {
    match (lower.value, upper.value) {
        (lower_value, Value::Null) => Node {
            origin: lower.origin,
            value: lower_value,
        },
        (Value::Mapping(mut entries), Value::Mapping(upper_entries)) => {
            for (key, node) in upper_entries {
                let merged = match entries.remove(&key) {
                    Some(below) => over(below, node),
                    None => node,
                };
                entries.insert(key, merged);
            }
            Node {
                origin: upper.origin,
                value: Value::Mapping(entries),
            }
        }
        (_, value) => Node {
            origin: upper.origin,
            value,
        },
    }
}

/// The configuration file and its drop-ins.
fn files(cli: &Cli, faults: &mut Vec<Fault>) -> Vec<PathBuf> {
    let default = || {
        let default = PathBuf::from(DEFAULT_FILE);
        (cli.replay.is_none() && default.exists()).then_some(default)
    };
    let mut files: Vec<PathBuf> = cli.config.clone().or_else(default).into_iter().collect();
    if let Some(directory) = &cli.config_dir {
        match drop_ins(directory) {
            Ok(drop_ins) => files.extend(drop_ins),
            Err(problem) => faults.push(unreadable(directory, &problem.to_string())),
        }
    }
    files
}

/// The `*.yaml` of a directory, in the order of their names; hidden files are left out, as a shell would.
fn drop_ins(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden
            && path
                .extension()
                .is_some_and(|extension| extension == "yaml")
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())
}

fn unreadable(path: &Path, problem: &str) -> Fault {
    let origin = Origin {
        source: path.display().to_string().into(),
        line: 0,
    };
    Fault::new(&origin, "", format!("cannot be read: {problem}"))
}

#[cfg(test)]
mod tests;
