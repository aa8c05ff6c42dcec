//! From the command line to one of the things that the program can do, and its exit code (DESIGN §1).

use crate::agent;
use crate::api::client::Cluster;
use crate::cli::{Cli, Environment};
use crate::clock::{Clock, FixedClock, SystemClock};
use crate::config;
use crate::config::node_name::node_name_from;
use crate::config::settings::Settings;
use crate::exit_code;
use crate::gather::Gatherer;
use crate::source::Source;
use crate::source::live::Live;
use crate::source::recording::Cluster as RecordedCluster;
use crate::source::recording::Recorder;
use crate::source::replay::{RecordingHead, Replay};
use crate::supervise::End;
use crate::sync_once::{ClusterAccess, Report, Stored, SyncOnce};
use std::path::Path;
use std::sync::Arc;

/// How the program ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// The exit code.
    pub code: u8,
    /// What belongs on stdout.
    pub stdout: String,
    /// What belongs on stderr beside the log: why, where that is not in the log.
    pub stderr: String,
}

impl Exit {
    fn new(code: u8) -> Self {
        Self {
            code,
            stdout: String::new(),
            stderr: String::new(),
        }
    }

    /// Bad usage or configuration.
    pub fn usage(text: impl std::fmt::Display) -> Self {
        Self {
            stderr: format!("{text}\n"),
            ..Self::new(exit_code::USAGE)
        }
    }

    fn failed(text: impl std::fmt::Display) -> Self {
        Self {
            stderr: format!("nodelet: {text}\n"),
            ..Self::new(exit_code::FAILED)
        }
    }
}

/// Does what the command line says.
pub async fn run(cli: Cli, environment: Environment) -> Exit {
    let replay = match cli.replay.as_deref().map(Replay::open).transpose() {
        Ok(replay) => replay,
        Err(error) => return Exit::usage(error),
    };
    let recorded_settings = replay.as_ref().and_then(|(_, head)| head.settings.clone());
    let settings = match config::merge::load(&cli, &environment, recorded_settings.as_ref()) {
        Ok(settings) => settings,
        Err(faults) => {
            return Exit::usage(
                faults
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join("\n"),
            );
        }
    };
    if cli.check_config {
        return Exit {
            stdout: config::effective::effective_yaml(&settings),
            ..Exit::new(exit_code::DONE)
        };
    }
    for (given, flag) in [
        (cli.takeover, "--takeover"),
        (cli.remove_conditions, "--remove-conditions"),
    ] {
        if given {
            return Exit::usage(format!("{flag}: not in this version"));
        }
    }
    let cluster = cluster(&settings, &environment);
    match replay {
        Some((replay, head)) => Box::pin(sync_replay(&cli, settings, replay, head)).await,
        None if cli.sync_once => Box::pin(sync_live(&cli, settings, cluster)).await,
        None => daemon(settings, cluster).await,
    }
}

/// The cluster that was named, if any: never `~/.kube/config` by itself, or a laptop would register in whatever
/// cluster it was last used with.
fn cluster(settings: &Settings, environment: &Environment) -> Option<Cluster> {
    settings
        .kubeconfig
        .clone()
        .map(Cluster::Kubeconfig)
        .or_else(|| environment.in_cluster.then_some(Cluster::Pod))
}

async fn daemon(settings: Settings, cluster: Option<Cluster>) -> Exit {
    let Some(cluster) = cluster else {
        return Exit::usage(
            "no cluster: name one with --kubeconfig or KUBECONFIG, or run in a pod",
        );
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    if let Err(error) = agent::client(&settings, cluster.clone(), clock)
        .pool()
        .await
    {
        return Exit::usage(error);
    }
    let gatherer = Gatherer::new(Arc::new(Live::new(settings.root.clone())));
    let node_name = match node_name(&settings, &gatherer).await {
        Ok(name) => name,
        Err(exit) => return exit,
    };
    match agent::run(settings, node_name, cluster, gatherer).await {
        Ok(End::Stopped) => Exit::new(exit_code::DONE),
        Ok(End::Aborted) => Exit::new(exit_code::ABORTED),
        Ok(End::Refused(refusal)) => Exit {
            code: exit_code::REFUSED,
            ..Exit::failed(refusal)
        },
        Ok(End::Failed(error)) => Exit::failed(format!("{error:#}")),
        Err(error) => Exit::failed(format!("cannot listen to signals: {error}")),
    }
}

async fn sync_live(cli: &Cli, settings: Settings, cluster: Option<Cluster>) -> Exit {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let cluster = match cluster {
        None => ClusterAccess::None,
        Some(cluster) => {
            let api = agent::client(&settings, cluster, Arc::clone(&clock));
            if let Err(error) = api.pool().await {
                return Exit::usage(error);
            }
            ClusterAccess::Live(api)
        }
    };
    let live: Arc<dyn Source> = Arc::new(Live::new(settings.root.clone()));
    let recorder = cli
        .record
        .as_ref()
        .map(|_| Arc::new(Recorder::new(Arc::clone(&live))));
    let source = recorder
        .clone()
        .map_or(live, |recorder| recorder as Arc<dyn Source>);
    let taken_at = clock.now();
    let as_run = settings.clone();
    let host = Host {
        source,
        clock,
        live: settings.root == Path::new("/"),
    };
    let report = match sync(cli, settings, host, cluster).await {
        Ok(report) => report,
        Err(exit) => return exit,
    };
    let mut exit = Exit {
        stdout: report.stdout,
        ..Exit::new(report.code)
    };
    if let (Some(dir), Some(recorder)) = (&cli.record, recorder) {
        let settings = config::effective::configuration(&as_run);
        let cluster = report.stored.map(|stored| RecordedCluster {
            node: Some(stored.node),
            lease: Some(stored.lease),
            ..RecordedCluster::default()
        });
        if let Err(error) = recorder.finish(dir, taken_at, settings, cluster) {
            exit = Exit {
                stdout: exit.stdout,
                ..Exit::failed(error)
            };
        }
    }
    exit
}

async fn sync_replay(cli: &Cli, settings: Settings, replay: Replay, head: RecordingHead) -> Exit {
    let clock: Arc<dyn Clock> = if let Some(taken_at) = head.taken_at {
        Arc::new(FixedClock(taken_at))
    } else {
        tracing::warn!("The recording does not say when it was taken; taking the present time");
        Arc::new(SystemClock)
    };
    let cluster = match head.cluster {
        Some(RecordedCluster {
            node: Some(node),
            lease,
            ..
        }) => ClusterAccess::Recorded(Stored {
            node,
            lease: lease.flatten(),
        }),
        _ => ClusterAccess::None,
    };
    let host = Host {
        source: Arc::new(replay),
        clock,
        live: false,
    };
    match sync(cli, settings, host, cluster).await {
        Ok(report) => Exit {
            stdout: report.stdout,
            ..Exit::new(report.code)
        },
        Err(exit) => exit,
    }
}

/// The host that a round reads.
struct Host {
    source: Arc<dyn Source>,
    clock: Arc<dyn Clock>,
    live: bool,
}

async fn sync(
    cli: &Cli,
    settings: Settings,
    host: Host,
    cluster: ClusterAccess,
) -> Result<Report, Exit> {
    let gatherer = Gatherer::new(host.source);
    let node_name = node_name(&settings, &gatherer).await?;
    let round = SyncOnce {
        settings,
        node_name,
        gatherer,
        live: host.live,
        clock: host.clock,
        cluster,
        dry_run: cli.is_dry_run(),
        output: cli.output,
        terminal: std::io::IsTerminal::is_terminal(&std::io::stdout()),
    };
    Ok(Box::pin(round.run()).await)
}

/// The Node's name: the configured one, or else the host name.
async fn node_name(settings: &Settings, gatherer: &Gatherer) -> Result<String, Exit> {
    if let Some(name) = &settings.node_name {
        return Ok(name.clone());
    }
    let hostname = gatherer.hostname(settings).await;
    let hostname = hostname
        .required()
        .map_err(|error| Exit::failed(format!("no node name: {error}")))?;
    node_name_from(hostname).map_err(Exit::failed)
}
