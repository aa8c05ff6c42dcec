//! The status loop: registers the Node, then keeps its status (`pkg/kubelet/kubelet_node_status.go`).
//!
//! Each round reads the host once; a write that fails is computed again from a fresh Node. Nothing is sent when
//! nothing changed and the report period is not over.

use super::cache::{Cached, NodeCache};
use super::period::{ReportPeriod, jittered};
use super::register::{RegistrationBackoff, initial_node};
use super::role::{self, Refusal, Standing};
use super::wanted::{self, Scope, Wanted};
use crate::api::client::ApiClient;
use crate::api::failure::{Failure, Kind, Next};
use crate::api::request::ApiRequest;
use crate::clock::{Clock, whole_seconds};
use crate::config::settings::{Role, Settings};
use crate::eviction::signals::{Pressures, observe};
use crate::eviction::state::State;
use crate::gather::{Gatherer, Snapshot};
use crate::status::{Inputs, chain};
use crate::telemetry::Complaints;
use k8s_openapi::api::core::v1::Node;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Tries of one round (`nodeStatusUpdateRetry`).
const TRIES: u32 = 5;

/// The status loop.
#[derive(Debug)]
pub struct StatusLoop {
    api: ApiClient,
    cache: NodeCache,
    clock: Arc<dyn Clock>,
    settings: Arc<Settings>,
    node_name: String,
    gatherer: Gatherer,
    /// Tells the Lease which Node, by UID, nodelet keeps.
    keeping: watch::Sender<Option<String>>,
    complaints: Complaints,
    period: ReportPeriod,
    memory: Memory,
}

/// What is remembered from round to round.
#[derive(Debug)]
struct Memory {
    started: Instant,
    /// The Node that was looked at last, by UID, and what nodelet is to it.
    looked_at: Option<(String, Standing)>,
    /// Whether the Node was registered, or was not to be.
    registered: bool,
    /// What the next write brings in order beside the status.
    scope: Scope,
    pressure: Option<State>,
    /// The pod CIDRs that were last taken note of.
    pod_cidrs: String,
    runtime_seen: bool,
}

impl Memory {
    /// Whether this very Node was looked at.
    fn knows(&self, node: &Node) -> bool {
        self.looked_at
            .as_ref()
            .is_some_and(|(uid, _)| Some(uid) == node.metadata.uid.as_ref())
    }

    fn standing(&self) -> Option<Standing> {
        self.looked_at.as_ref().map(|(_, standing)| *standing)
    }
}

/// How one round's work on an existing Node ended.
enum Step {
    /// The Node is as it ought to be, or was not to be written now.
    Done,
    /// There is no Node.
    NoNode,
}

impl StatusLoop {
    /// A loop that has not read or asked anything yet.
    pub fn new(
        api: ApiClient,
        cache: NodeCache,
        clock: Arc<dyn Clock>,
        settings: Arc<Settings>,
        node_name: String,
        gatherer: Gatherer,
        keeping: watch::Sender<Option<String>>,
    ) -> Self {
        Self {
            api,
            cache,
            clock,
            settings,
            node_name,
            gatherer,
            keeping,
            complaints: Complaints::default(),
            period: ReportPeriod::default(),
            memory: Memory {
                started: Instant::now(),
                looked_at: None,
                registered: false,
                scope: Scope::Registration,
                pressure: None,
                pod_cidrs: String::new(),
                runtime_seen: false,
            },
        }
    }

    /// Runs until `stop`.
    ///
    /// # Errors
    /// The role is refused.
    pub async fn run(mut self, stop: CancellationToken) -> Result<(), Refusal> {
        let mut node = self.cache.subscribe();
        let mut backoff = RegistrationBackoff::default();
        loop {
            node.mark_unchanged();
            let snapshot = tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                snapshot = Box::pin(self.gatherer.gather(&self.settings, &self.node_name)) => snapshot,
            };
            self.complaints.hear_all("reading/", snapshot.faults());
            // A request that has begun is not cut off by `stop`: its answer is waited for, within the grace of the
            // supervisor.
            let settled = self.round(&snapshot).await?;
            let wait = if settled {
                backoff = RegistrationBackoff::default();
                jittered(self.settings.node_status_update_frequency)
            } else {
                backoff.next_wait()
            };
            let due = Instant::now() + wait;
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return Ok(()),
                    () = tokio::time::sleep_until(due) => break,
                    Ok(()) = node.changed() => {
                        if self.concerns() {
                            break;
                        }
                    }
                }
            }
        }
    }

    /// Whether what the watch saw is a reason to begin the next round now.
    fn concerns(&self) -> bool {
        match self.cache.get() {
            Cached::Unknown => false,
            Cached::Absent => self.registers_again() && self.memory.looked_at.is_some(),
            Cached::Present(node) => !self.memory.knows(&node),
        }
    }

    fn is_owner_by_choice(&self) -> bool {
        self.settings.role == Role::Owner && self.settings.register_node
    }

    fn registers_again(&self) -> bool {
        self.settings.re_register && self.is_owner_by_choice()
    }

    /// One round; false where the Node still has to be registered.
    async fn round(&mut self, snapshot: &Snapshot) -> Result<bool, Refusal> {
        self.memory.runtime_seen |= snapshot.runtime_answers();
        if !self.memory.registered && self.is_owner_by_choice() {
            let outcome = self.register(snapshot).await;
            self.complaints.hear(
                "registration",
                outcome.as_ref().err().map(|f| f.message.as_str()),
            );
            if outcome.is_err() {
                return Ok(false);
            }
        }
        self.memory.registered = true;
        match self.update(snapshot).await? {
            Ok(Step::Done) => {
                self.complaints.hear("status", None);
                self.complaints.hear("node", None);
            }
            Ok(Step::NoNode) => {
                self.memory.looked_at = None;
                self.keeping.send_replace(None);
                if self.registers_again() {
                    tracing::info!(node = self.node_name, "The Node is gone; registering again");
                    self.memory.registered = false;
                    return Ok(false);
                }
                self.complaints.hear(
                    "node",
                    Some("there is no Node; nothing is written until there is one"),
                );
            }
            Err(failure) => self.complaints.hear("status", Some(&failure.message)),
        }
        Ok(true)
    }

    /// What the thresholds say now. A process that has just started takes over what `node` says of its pressures.
    fn pressures(&mut self, snapshot: &Snapshot, node: &Node) -> Pressures {
        let settings = &self.settings;
        let transition_period = settings.eviction_pressure_transition_period;
        let now = whole_seconds(self.clock.now());
        let elapsed = self.memory.started.elapsed();
        let state = self
            .memory
            .pressure
            .get_or_insert_with(|| State::from_node(node, now, transition_period));
        let thresholds = settings.thresholds();
        state.pass(elapsed, &thresholds, transition_period, &observe(snapshot))
    }

    fn inputs<'a>(&'a self, snapshot: &'a Snapshot, pressures: Pressures) -> Inputs<'a> {
        Inputs {
            now: whole_seconds(self.clock.now()),
            node_name: &self.node_name,
            settings: &self.settings,
            snapshot,
            pressures,
            runtime_seen: self.memory.runtime_seen,
            shutdown: None,
        }
    }

    /// Creates the Node, unless there is one.
    async fn register(&mut self, snapshot: &Snapshot) -> Result<(), Failure> {
        let node = self.new_node(snapshot);
        match self.send_for_node(&ApiRequest::create_node(node)).await {
            Ok(node) => {
                tracing::info!(node = self.node_name, "The Node is registered");
                self.look_at(&node, Standing::Owner);
                self.memory.scope = Scope::Round;
                self.memory.pod_cidrs = wanted::pod_cidrs(&node);
                self.period.sending(true, fastrand::f64());
                self.period.accepted(Instant::now());
                self.cache.saw(node);
                Ok(())
            }
            // The Node may exist although this identity may not create one.
            Err(failure) if matches!(failure.kind, Kind::AlreadyExists | Kind::Forbidden) => {
                let node = self
                    .send_for_node(&ApiRequest::get_node(&self.node_name))
                    .await?;
                tracing::info!(node = self.node_name, "The Node exists already");
                // What was taken over for the creation was nothing; this Node may have pressures.
                self.memory.pressure = None;
                self.cache.saw(node);
                Ok(())
            }
            Err(failure) => Err(failure),
        }
    }

    fn new_node(&mut self, snapshot: &Snapshot) -> Value {
        let pressures = self.pressures(snapshot, &Node::default());
        let inputs = self.inputs(snapshot, pressures);
        let setters = chain::order(&self.settings);
        let mut outcomes = Vec::new();
        let Wanted { node, .. } = wanted::wanted(
            &initial_node(&inputs),
            &inputs,
            Scope::Round,
            &setters,
            |o| outcomes.push(o),
        );
        self.hear_setters(&outcomes);
        serde_json::to_value(node).unwrap_or_default()
    }

    fn hear_setters(&mut self, outcomes: &[wanted::Outcome]) {
        let faults = outcomes
            .iter()
            .filter_map(|(name, result)| Some((*name, result.as_ref().err()?.0.as_str())));
        self.complaints.hear_all("setter/", faults);
    }

    /// Up to five tries to bring the Node in order: the first on what the watch saw, the others on a fresh read.
    async fn update(&mut self, snapshot: &Snapshot) -> Result<Result<Step, Failure>, Refusal> {
        let mut failure = None;
        for _ in 0..TRIES {
            let cached = match (&failure, self.cache.get()) {
                (None, Cached::Absent) => return Ok(Ok(Step::NoNode)),
                (None, Cached::Present(node)) => Some(node),
                (Some(_), _) | (None, Cached::Unknown) => None,
            };
            let error = match self.update_once(cached, snapshot).await? {
                Ok(step) => return Ok(Ok(step)),
                Err(error) => error,
            };
            let next = error.next();
            failure = Some(error);
            match next {
                Next::Reread => {}
                Next::After(wait) => tokio::time::sleep(wait).await,
                Next::NextRound => break,
            }
        }
        Ok(Err(failure.unwrap_or_else(|| {
            Failure::new(Kind::Other, "the status was not tried")
        })))
    }

    async fn update_once(
        &mut self,
        cached: Option<Arc<Node>>,
        snapshot: &Snapshot,
    ) -> Result<Result<Step, Failure>, Refusal> {
        let original = match cached {
            Some(node) => node,
            None => match self
                .send_for_node(&ApiRequest::get_node(&self.node_name))
                .await
            {
                Ok(node) => {
                    self.cache.saw(node.clone());
                    Arc::new(node)
                }
                Err(failure) if failure.kind == Kind::NotFound => {
                    self.cache.saw_none();
                    return Ok(Ok(Step::NoNode));
                }
                Err(failure) => return Ok(Err(failure)),
            },
        };
        if !self.memory.knows(&original)
            && let Err(failure) = self.admit(&original, snapshot).await?
        {
            return Ok(Err(failure));
        }
        if self.memory.standing() != Some(Standing::Owner) {
            return Ok(Ok(Step::Done));
        }
        self.memory.runtime_seen |= wanted::names_runtime(&original);
        let pod_cidrs = wanted::pod_cidrs(&original);
        let pressures = self.pressures(snapshot, &original);
        let inputs = self.inputs(snapshot, pressures);
        let mut outcomes = Vec::new();
        let setters = chain::order(&self.settings);
        let wanted = wanted::wanted(&original, &inputs, self.memory.scope, &setters, |o| {
            outcomes.push(o);
        });
        let changed =
            wanted.changed || (!pod_cidrs.is_empty() && pod_cidrs != self.memory.pod_cidrs);
        self.hear_setters(&outcomes);
        if !changed
            && !self
                .period
                .expired(Instant::now(), self.settings.node_status_report_frequency)
        {
            return Ok(Ok(Step::Done));
        }
        let patch = match wanted::patch(&original, &wanted.node) {
            Ok(Some(patch)) => patch,
            Ok(None) => return Ok(Ok(Step::Done)),
            Err(error) => return Ok(Err(Failure::new(Kind::Garbled, error.to_string()))),
        };
        self.period.sending(changed, fastrand::f64());
        let request = ApiRequest::patch_node_status(&self.node_name, patch);
        Ok(match self.send_for_node(&request).await {
            Ok(node) => {
                self.period.accepted(Instant::now());
                self.memory.scope = Scope::Round;
                self.memory.pod_cidrs = pod_cidrs;
                self.cache.saw(node);
                Ok(Step::Done)
            }
            Err(failure) => Err(failure),
        })
    }

    /// Looks at a Node that this process has not written yet: whether nodelet may keep it.
    async fn admit(
        &mut self,
        node: &Node,
        snapshot: &Snapshot,
    ) -> Result<Result<(), Failure>, Refusal> {
        let keeper = role::keeper(node, &role::instance_of(snapshot));
        let lease = if keeper.shows_by_its_lease() {
            match self.api.find(&ApiRequest::get_lease(&self.node_name)).await {
                Ok(lease) => lease,
                Err(failure) => return Ok(Err(failure)),
            }
        } else {
            None
        };
        let lives = keeper.lives(lease.as_ref(), self.clock.now());
        let standing = role::standing(self.settings.role, &keeper, lives);
        // Whose machine this is cannot be told yet: neither to give up nor to look on for good, but to ask again.
        if standing != Ok(Standing::Owner)
            && matches!(keeper, role::Keeper::OtherInstance(_))
            && let Err(error) = snapshot.machine_id.required()
        {
            let text = format!("cannot tell who keeps the Node: machine id: {error}");
            return Ok(Err(Failure::new(Kind::Other, text)));
        }
        let standing = standing?;
        if standing == Standing::Companion {
            tracing::info!(
                node = self.node_name,
                ?keeper,
                "Companion: nothing of this Node is written"
            );
        }
        self.look_at(node, standing);
        self.memory.scope = Scope::Registration;
        Ok(Ok(()))
    }

    /// From now on `standing` is what nodelet is to this very Node.
    fn look_at(&mut self, node: &Node, standing: Standing) {
        let uid = node.metadata.uid.clone().unwrap_or_default();
        self.keeping
            .send_replace((standing == Standing::Owner).then(|| uid.clone()));
        self.memory.looked_at = Some((uid, standing));
    }

    /// Sends a request whose answer is the own Node.
    async fn send_for_node(&self, request: &ApiRequest) -> Result<Node, Failure> {
        let node = self.api.send::<Node>(request).await?;
        let is_own = node.metadata.name.as_deref() == Some(self.node_name.as_str());
        if is_own && node.metadata.uid.is_some() {
            Ok(node)
        } else {
            Err(Failure::new(
                Kind::Garbled,
                format!("{}: the answer is not this Node", request.path),
            ))
        }
    }
}
