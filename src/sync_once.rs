//! `--sync-once`: one full round, then exit: read, compute, compare, send, print (DESIGN §1).

mod cluster;
mod print;
mod second;

use crate::api::failure::{Failure, Kind};
use crate::api::request::ApiRequest;
use crate::cli::Output;
use crate::clock::{Clock, whole_seconds};
use crate::config::settings::Settings;
use crate::eviction::signals::observe;
use crate::eviction::state::State;
use crate::exit_code;
use crate::gather::{Gatherer, Snapshot};
use crate::lease::{self, LeaseSettings};
use crate::node::register::initial_node;
use crate::node::role::{self, Keeper, Standing};
use crate::node::wanted::{self, Scope};
use crate::output::summary::SetterRow;
use crate::status::{Explanation, Inputs, chain};
pub use cluster::ClusterAccess;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
use std::sync::Arc;
use tokio::time::Instant;

/// What one round is made of.
#[derive(Debug)]
pub struct SyncOnce {
    /// The configuration.
    pub settings: Settings,
    /// The Node's name.
    pub node_name: String,
    /// Reads the host.
    pub gatherer: Gatherer,
    /// Whether the host is this machine, so that a second reader can be asked.
    pub live: bool,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// The cluster, or what stands for it.
    pub cluster: ClusterAccess,
    /// `--dry-run`.
    pub dry_run: bool,
    /// What to print.
    pub output: Output,
    /// Whether stdout is a terminal, which `-o explain` prints a table on.
    pub terminal: bool,
}

/// How a round ended.
#[derive(Debug)]
pub struct Report {
    /// What belongs on stdout.
    pub stdout: String,
    /// The exit code.
    pub code: u8,
    /// The objects as the cluster had them, for a recording; `None` without a cluster.
    pub stored: Option<Stored>,
}

/// The objects of the cluster before the round; `None` is a 404.
#[derive(Debug, Clone, Default)]
pub struct Stored {
    /// The own Node.
    pub node: Option<Value>,
    /// The own Lease.
    pub lease: Option<Value>,
}

/// What was computed.
struct Computed {
    node: Node,
    /// The request that brings the Node in order; `None` where nothing differs.
    node_request: Option<ApiRequest>,
    setters: Vec<SetterRow>,
    explanations: Vec<Explanation>,
}

/// What there is to print of a round.
struct Round<'a> {
    stored: &'a Stored,
    standing: Standing,
    snapshot: &'a Snapshot,
    computed: &'a Computed,
    /// The requests, and what became of each.
    sent: &'a [(ApiRequest, String)],
    now: Timestamp,
}

impl SyncOnce {
    /// Runs the round.
    pub async fn run(mut self) -> Report {
        let now = self.clock.now();
        let snapshot = Box::pin(self.gatherer.gather(&self.settings, &self.node_name)).await;
        for (reading, fault) in snapshot.faults() {
            tracing::warn!(reading, fault, "A reading failed");
        }
        let mut code = if required_readings_there(&snapshot) {
            exit_code::DONE
        } else {
            exit_code::FAILED
        };
        let stored = match self.cluster.stored(&self.node_name).await {
            Ok(stored) => stored,
            Err(failure) => return failed(&failure),
        };
        let node: Option<Node> = match stored.node.clone().map(serde_json::from_value).transpose() {
            Ok(node) => node.map(|node: Node| self.named(node)),
            Err(error) => {
                let text = format!("the stored Node makes no sense: {error}");
                return failed(&Failure::new(Kind::Garbled, text));
            }
        };
        let standing = match self.standing(node.as_ref(), &stored, &snapshot, now) {
            Ok(standing) => standing,
            Err(refusal) => {
                tracing::error!(%refusal, "Nothing was sent");
                if !self.dry_run {
                    return Report {
                        stdout: String::new(),
                        code: exit_code::REFUSED,
                        stored: Some(stored),
                    };
                }
                Standing::Owner
            }
        };
        let computed = match self.compute(node.as_ref(), &snapshot, now) {
            Ok(computed) => computed,
            Err(error) => return failed(&Failure::new(Kind::Garbled, error.to_string())),
        };
        let mut sent = Vec::new();
        if standing == Standing::Owner {
            code = code.max(
                self.deliver(&computed, node.as_ref(), &stored, now, &mut sent)
                    .await,
            );
        }
        if let Some(why) = self.why_nothing_is_sent(standing) {
            tracing::info!(why, "Nothing was sent");
        }
        let round = Round {
            stored: &stored,
            standing,
            snapshot: &snapshot,
            computed: &computed,
            sent: &sent,
            now,
        };
        let stdout = self.print(&round);
        let stored = self.cluster.is_there().then_some(stored);
        Report {
            stdout,
            code,
            stored,
        }
    }

    /// A stored Node always has its name; one that somebody wrote into a recording may not.
    fn named(&self, mut node: Node) -> Node {
        node.metadata
            .name
            .get_or_insert_with(|| self.node_name.clone());
        node
    }

    fn why_nothing_is_sent(&self, standing: Standing) -> Option<&'static str> {
        match standing {
            _ if !self.cluster.is_there() => Some("no cluster is configured"),
            Standing::Companion => {
                Some("another keeps this Node, or nobody yet and the role is not owner")
            }
            Standing::Owner if self.dry_run => Some("this is a dry run"),
            Standing::Owner => None,
        }
    }

    /// Sends what an owner has to send, or only notes it; the exit code that it means. A Lease has no owner without
    /// a Node: where there is none and none was created, there is no Lease either.
    async fn deliver(
        &self,
        computed: &Computed,
        node: Option<&Node>,
        stored: &Stored,
        now: Timestamp,
        sent: &mut Vec<(ApiRequest, String)>,
    ) -> u8 {
        if node.is_none() && computed.node_request.is_none() {
            tracing::info!("There is no Node, and registerNode says not to create one");
            return exit_code::DONE;
        }
        let sends = self.cluster.is_there() && !self.dry_run;
        let mut uid = node.and_then(|node| node.metadata.uid.clone());
        if let Some(request) = computed.node_request.clone() {
            let outcome = self.send(sends, &request).await;
            if let Ok(Some(answer)) = &outcome {
                uid = answer["metadata"]["uid"]
                    .as_str()
                    .map(str::to_owned)
                    .or(uid);
            }
            let code = self.note(sent, request, &outcome);
            if code != exit_code::DONE {
                return code;
            }
        }
        let request = self.lease_request(
            stored.lease.as_ref(),
            uid.as_deref().unwrap_or_default(),
            now,
        );
        let outcome = self.send(sends, &request).await;
        self.note(sent, request, &outcome)
    }

    fn standing(
        &self,
        node: Option<&Node>,
        stored: &Stored,
        snapshot: &Snapshot,
        now: Timestamp,
    ) -> Result<Standing, role::Refusal> {
        if !self.cluster.is_there() {
            return Ok(Standing::Owner);
        }
        let instance = role::instance_of(snapshot);
        let keeper = node.map_or(Keeper::Nobody, |node| role::keeper(node, &instance));
        let lives = keeper.lives(stored.lease.as_ref(), now);
        role::standing(self.settings.role, &keeper, lives)
    }

    /// The Node as it ought to be, and the request that makes it so.
    fn compute(
        &self,
        stored: Option<&Node>,
        snapshot: &Snapshot,
        now: Timestamp,
    ) -> serde_json::Result<Computed> {
        let settings = &self.settings;
        let now = whole_seconds(now);
        let none = Node::default();
        let transition_period = settings.eviction_pressure_transition_period;
        let mut state = State::for_one_pass(stored.unwrap_or(&none), now, transition_period);
        let thresholds = settings.thresholds();
        let pressures = state.pass(
            std::time::Duration::ZERO,
            &thresholds,
            transition_period,
            &observe(snapshot),
        );
        let inputs = Inputs {
            now,
            node_name: &self.node_name,
            settings,
            snapshot,
            pressures,
            runtime_seen: snapshot.runtime_answers() || stored.is_some_and(wanted::names_runtime),
            shutdown: None,
        };
        let mut setters = Vec::new();
        let mut began = Instant::now();
        let order = chain::order(settings);
        let (original, scope) = match stored {
            Some(stored) => (stored.clone(), Scope::Registration),
            None => (initial_node(&inputs), Scope::Round),
        };
        let wanted = wanted::wanted(&original, &inputs, scope, &order, |(name, result)| {
            let fault = result.err().map(|error| error.0);
            if let Some(fault) = &fault {
                tracing::warn!(
                    setter = name,
                    fault,
                    "A setter could not do all of its work"
                );
            }
            setters.push(SetterRow {
                name,
                fault,
                took: began.elapsed(),
            });
            began = Instant::now();
        });
        let node_request = match stored {
            Some(stored) => wanted::patch(stored, &wanted.node)?
                .map(|patch| ApiRequest::patch_node_status(&self.node_name, patch)),
            None if settings.register_node => {
                Some(ApiRequest::create_node(serde_json::to_value(&wanted.node)?))
            }
            None => None,
        };
        let explanations = order
            .iter()
            .flat_map(|setter| (setter.explain)(&inputs, &original))
            .collect();
        Ok(Computed {
            node: wanted.node,
            node_request,
            setters,
            explanations,
        })
    }

    fn lease_settings(&self) -> LeaseSettings {
        LeaseSettings {
            node_name: self.node_name.clone(),
            duration_seconds: self.settings.node_lease_duration_seconds,
        }
    }

    fn lease_request(&self, stored: Option<&Value>, uid: &str, now: Timestamp) -> ApiRequest {
        let lease = lease::object::renewed(stored, &self.lease_settings(), uid, now);
        match stored {
            Some(_) => ApiRequest::update_lease(&self.node_name, lease),
            None => ApiRequest::create_lease(lease),
        }
    }

    async fn send(&self, sends: bool, request: &ApiRequest) -> Result<Option<Value>, Failure> {
        if sends {
            self.cluster.send(request).await.map(Some)
        } else {
            Ok(None)
        }
    }

    /// Notes what became of a request, and gives the exit code that it means.
    fn note(
        &self,
        sent: &mut Vec<(ApiRequest, String)>,
        request: ApiRequest,
        outcome: &Result<Option<Value>, Failure>,
    ) -> u8 {
        let (text, code) = match outcome {
            Ok(Some(_)) => ("sent".to_owned(), exit_code::DONE),
            Ok(None) => ("not sent".to_owned(), exit_code::DONE),
            Err(failure) => {
                tracing::error!(verb = request.verb.name(), path = request.path, %failure, "A write failed");
                (failure.message.clone(), exit_code::FAILED)
            }
        };
        sent.push((request.with_timeout(self.settings.timeouts.api), text));
        code
    }
}

/// Whether the readings are there without which a Node is not worth sending (DESIGN §1, exit code 1).
fn required_readings_there(snapshot: &Snapshot) -> bool {
    let missing: Vec<&str> = [
        ("online CPUs", snapshot.cpus.required().err()),
        ("MemTotal", snapshot.memory.required().err()),
    ]
    .into_iter()
    .filter_map(|(name, error)| error.map(|_| name))
    .collect();
    if !missing.is_empty() {
        tracing::error!(?missing, "Required readings failed");
    }
    missing.is_empty()
}

fn failed(failure: &Failure) -> Report {
    tracing::error!(%failure, "The round failed");
    Report {
        stdout: String::new(),
        code: exit_code::FAILED,
        stored: None,
    }
}
