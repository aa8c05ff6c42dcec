//! The command line and the environment, as data. Nothing is read or decided here; clap refuses combinations that
//! make no sense as bad usage (exit code 2).

use crate::config::settings::Role;
use clap::{Parser, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// The command line.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "nodelet",
    version,
    about = "Keeps a machine's Kubernetes Node true",
    after_help = "The environment gives NODE_NAME and KUBECONFIG, which the flags override, and NODELET_LOG, the log \
                  filter (such as info or nodelet=debug)."
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that stands alone"
)]
pub struct Cli {
    /// Configuration file [default: /etc/nodelet/nodelet.yaml, where it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Directory of *.yaml files that are laid over the configuration file, in the order of their names
    #[arg(long, value_name = "DIR")]
    pub config_dir: Option<PathBuf>,
    /// Names the cluster and the identity to use there [default: the pod that nodelet runs in]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The name of the Node [default: the host name]
    #[arg(long, value_name = "NAME")]
    pub node_name: Option<String>,
    /// Where the host's / is seen
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
    /// What to be for this Node [default: auto]
    #[arg(long, value_enum)]
    pub role: Option<Role>,
    /// Do one full round and exit
    #[arg(long)]
    pub sync_once: bool,
    /// Send nothing, refuse nothing
    #[arg(long, requires = "sync_once")]
    pub dry_run: bool,
    /// What --sync-once prints
    #[arg(
        short,
        long,
        value_enum,
        default_value = "summary",
        requires = "sync_once"
    )]
    pub output: Output,
    /// Check the configuration, print the effective one, and exit
    #[arg(long, conflicts_with_all = ["sync_once", "remove_conditions"])]
    pub check_config: bool,
    /// Also write a recording of everything that was read
    #[arg(
        long,
        value_name = "DIR",
        requires = "sync_once",
        conflicts_with = "replay"
    )]
    pub record: Option<PathBuf>,
    /// Read a recording instead of this host; implies --dry-run
    #[arg(long, value_name = "DIR", requires = "sync_once")]
    pub replay: Option<PathBuf>,
    /// Become owner of a Node that another manager kept
    #[arg(long)]
    pub takeover: bool,
    /// Take nodelet's own conditions off the Node, and exit
    #[arg(long, conflicts_with = "sync_once")]
    pub remove_conditions: bool,
}

impl Cli {
    /// Whether nothing may be sent.
    pub fn is_dry_run(&self) -> bool {
        self.dry_run || self.replay.is_some()
    }
}

/// What `--sync-once` prints (DESIGN §1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A short table of the round.
    Summary,
    /// The wanted objects as YAML.
    Yaml,
    /// The wanted objects as JSON.
    Json,
    /// The requests, one JSON a line.
    Patch,
    /// How the cluster's objects differ, one JSON a line.
    Diff,
    /// Where each value came from.
    Explain,
}

/// What the environment says; read once at start-up and passed on as data. An empty variable counts as unset.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// `NODE_NAME`.
    pub node_name: Option<String>,
    /// `KUBECONFIG`.
    pub kubeconfig: Option<PathBuf>,
    /// `NODELET_LOG`, the log filter.
    pub log: Option<String>,
    /// Whether this process runs in a pod (`KUBERNETES_SERVICE_HOST`).
    pub in_cluster: bool,
}

impl Environment {
    /// The environment of this process.
    pub fn read() -> Self {
        Self::from_variables(|name| std::env::var_os(name))
    }

    /// The environment in which `variable` gives the value of each name.
    pub fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let text = |name| set(name).map(|value| value.to_string_lossy().into_owned());
        Self {
            node_name: text("NODE_NAME"),
            kubeconfig: set("KUBECONFIG").map(PathBuf::from),
            log: text("NODELET_LOG"),
            in_cluster: set("KUBERNETES_SERVICE_HOST").is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use clap::error::ErrorKind;
    use std::path::Path;

    fn parse(arguments: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(["nodelet"].into_iter().chain(arguments.split_whitespace()))
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_flag_is_read() {
        let cli = parse(
            "--config a.yaml --config-dir b --kubeconfig c --node-name d --root /host --role owner --sync-once \
             --dry-run -o patch --record e --takeover",
        )
        .unwrap();
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(
            (cli.config.clone(), cli.config_dir.clone()),
            (path("a.yaml"), path("b"))
        );
        assert_eq!(
            (cli.kubeconfig.clone(), cli.record.clone()),
            (path("c"), path("e"))
        );
        assert_eq!(
            (cli.node_name.as_deref(), cli.root.as_path()),
            (Some("d"), Path::new("/host"))
        );
        assert_eq!((cli.role, cli.output), (Some(Role::Owner), Output::Patch));
        assert!(cli.sync_once && cli.dry_run && cli.takeover && cli.is_dry_run());
        assert!(!cli.check_config && !cli.remove_conditions && cli.replay.is_none());
        assert!(parse("--check-config").unwrap().check_config);
        assert!(parse("--remove-conditions").unwrap().remove_conditions);
        let replay = parse("--sync-once --replay d").unwrap();
        assert!(replay.is_dry_run() && !replay.dry_run);
        let plain = parse("").unwrap();
        assert_eq!(
            (plain.output, plain.role, plain.root),
            (Output::Summary, None, "/".into())
        );
    }

    #[test]
    fn every_output_has_its_name() {
        for (name, output) in [
            ("summary", Output::Summary),
            ("yaml", Output::Yaml),
            ("json", Output::Json),
            ("patch", Output::Patch),
            ("diff", Output::Diff),
            ("explain", Output::Explain),
        ] {
            assert_eq!(
                parse(&format!("--sync-once --output {name}"))
                    .unwrap()
                    .output,
                output
            );
        }
    }

    #[test]
    fn bad_combinations_are_bad_usage() {
        for arguments in [
            "-o json",
            "--dry-run",
            "--record d",
            "--replay d",
            "--sync-once --record d --replay e",
            "--check-config --sync-once",
            "--check-config --remove-conditions",
            "--remove-conditions --sync-once",
            "--role kubelet",
            "--sync-once -o xml",
            "--unknown",
            "stray",
        ] {
            let error = parse(arguments).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{arguments}: {error}");
        }
    }

    #[test]
    fn version_and_help_end_well() {
        for (arguments, kind) in [
            ("--version", ErrorKind::DisplayVersion),
            ("--help", ErrorKind::DisplayHelp),
        ] {
            let shown = parse(arguments).unwrap_err();
            assert_eq!((shown.kind(), shown.exit_code()), (kind, 0));
        }
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let environment = |pairs: &[(&str, &str)]| {
            Environment::from_variables(|name| {
                pairs
                    .iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| (*value).into())
            })
        };
        let full = environment(&[
            ("NODE_NAME", "n1"),
            ("KUBECONFIG", "/k"),
            ("NODELET_LOG", "debug"),
            ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
        ]);
        let expected = Environment {
            node_name: Some("n1".to_owned()),
            kubeconfig: Some("/k".into()),
            log: Some("debug".to_owned()),
            in_cluster: true,
        };
        assert_eq!(full, expected);
        let empty = environment(&[
            ("NODE_NAME", ""),
            ("KUBECONFIG", ""),
            ("NODELET_LOG", ""),
            ("KUBERNETES_SERVICE_HOST", ""),
        ]);
        assert_eq!(empty, Environment::default());
    }
}
