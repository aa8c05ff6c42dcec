//! The Node's Lease: the heartbeat (`component-helpers/apimachinery/lease/controller.go`).
//!
//! In a task and on a connection of its own, so that nothing that a status write waits for makes it late. Differs
//! from upstream on purpose: the owner reference always names the present Node and is healed when it does not, and a
//! Lease is neither created nor renewed while the cluster says that the Node is gone (C95, C96), or before the status
//! loop has made sure that nodelet keeps this Node.

pub mod object;

use crate::api::client::ApiClient;
use crate::api::failure::{Failure, Kind, Next};
use crate::api::request::ApiRequest;
use crate::clock::Clock;
use crate::node::cache::{Cached, NodeCache};
use crate::node::period::jittered;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Renewals come four times in a Lease's duration.
const RENEWALS_IN_A_DURATION: u32 = 4;

/// However short a Lease is, an answer needs some time.
const SHORTEST_DEADLINE: Duration = Duration::from_secs(1);

/// Tries of one renewal, as long as renewals succeed. After one that failed each has one try until the trouble is over,
/// or a fleet would keep a server down that is in trouble already.
const TRIES: u32 = 5;

/// How the Lease is kept.
#[derive(Debug, Clone)]
pub struct LeaseSettings {
    /// Name of the Node, of the Lease and of its holder.
    pub node_name: String,
    /// `leaseDurationSeconds`.
    pub duration_seconds: u32,
}

impl LeaseSettings {
    fn interval(&self) -> Duration {
        Duration::from_secs(u64::from(self.duration_seconds)) / RENEWALS_IN_A_DURATION
    }
}

/// Keeps one Lease.
#[derive(Debug)]
pub struct LeaseKeeper {
    api: ApiClient,
    cache: NodeCache,
    /// UID of the Node that nodelet keeps.
    keeping: watch::Receiver<Option<String>>,
    clock: Arc<dyn Clock>,
    settings: LeaseSettings,
    /// The Lease as the server last answered with it.
    latest: Option<Value>,
    /// The failure that was logged last, so that a lasting one is said once.
    said: Option<String>,
}

impl LeaseKeeper {
    /// A keeper that has not asked anything yet. It has a link of its own to where `api` leads; a request on it may
    /// not take longer than a renewal is apart from the next, or one that hangs would cost the node its life.
    pub fn new(
        api: &ApiClient,
        cache: NodeCache,
        keeping: watch::Receiver<Option<String>>,
        clock: Arc<dyn Clock>,
        settings: LeaseSettings,
    ) -> Self {
        Self {
            api: api.separate_within(settings.interval().max(SHORTEST_DEADLINE)),
            cache,
            keeping,
            clock,
            settings,
            latest: None,
            said: None,
        }
    }

    /// Renews until `stop`. A failed renewal is tried again well before the next would be due; a Node that comes, or
    /// comes back under a new UID, is met at once.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut keeping = self.keeping.clone();
        loop {
            let owner = keeping.borrow_and_update().clone();
            let started = Instant::now();
            let outcome = self.sync().await;
            let wait = match &outcome {
                Ok(()) => jittered(self.settings.interval()),
                Err(failure) => self.wait_after(failure),
            };
            self.say(outcome.err());
            // Counted from the end of the work, as upstream does, but never beyond a third of the duration in all.
            let due = (Instant::now() + wait).min(started + self.settings.interval().mul_f64(1.3));
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep_until(due) => break,
                    Ok(()) = keeping.changed() => {
                        let now = keeping.borrow_and_update();
                        if now.is_some() && *now != owner {
                            break;
                        }
                    }
                }
            }
        }
    }

    fn wait_after(&self, failure: &Failure) -> Duration {
        let quarter = self.settings.interval();
        let own = quarter / 5;
        // A server that asks for no wait at all gets no tight loop either.
        let wait = failure.retry_after.unwrap_or(own).clamp(own, quarter);
        jittered(wait)
    }

    fn say(&mut self, failure: Option<Failure>) {
        let text = failure.map(|failure| failure.message);
        if text != self.said {
            if let Some(failure) = &text {
                tracing::warn!(%failure, "The Lease was not renewed");
            } else {
                tracing::info!("The Lease is renewed again");
            }
            self.said = text;
        }
    }

    /// One renewal: a PUT of what is known, or a look and a creation.
    async fn sync(&mut self) -> Result<(), Failure> {
        let Some(uid) = self.owner() else {
            self.latest = None;
            return Ok(());
        };
        let mut failure = Failure::new(Kind::Other, "the Lease was not tried");
        let tries = if self.said.is_none() { TRIES } else { 1 };
        for _ in 0..tries {
            match self.renew(&uid).await {
                Ok(lease) => {
                    self.latest = Some(lease);
                    return Ok(());
                }
                Err(error) => failure = error,
            }
            match failure.next() {
                Next::Reread if failure.is_link() => break,
                Next::Reread => self.latest = None,
                Next::After(_) | Next::NextRound => break,
            }
        }
        Err(failure)
    }

    async fn renew(&mut self, uid: &str) -> Result<Value, Failure> {
        let name = &self.settings.node_name;
        let base = if let Some(lease) = self.latest.take() {
            Some(lease)
        } else {
            let found = self.api.find(&ApiRequest::get_lease(name)).await?;
            found.map(a_lease).transpose()?
        };
        let wanted = object::renewed(base.as_ref(), &self.settings, uid, self.clock.now());
        let request = match &base {
            Some(_) => ApiRequest::update_lease(name, wanted),
            None => ApiRequest::create_lease(wanted),
        };
        let answer = self.api.send(&request).await.and_then(a_lease);
        if answer.is_err() {
            // Kept, so that a lost answer costs no GET; a conflict or a 404 drops it in `sync`.
            self.latest = base;
        }
        answer
    }

    /// The UID that owns the Lease: that of the Node that nodelet keeps, unless the cluster says that it is gone.
    fn owner(&self) -> Option<String> {
        let keeping = self.keeping.borrow().clone()?;
        match self.cache.get() {
            Cached::Unknown => Some(keeping),
            Cached::Absent => None,
            Cached::Present(node) => {
                (node.metadata.uid.as_ref() == Some(&keeping)).then_some(keeping)
            }
        }
    }
}

/// The answer if it is a stored Lease: the next renewal keeps of it what it does not know, and must not be blind to
/// another writer.
fn a_lease(answer: Value) -> Result<Value, Failure> {
    if answer["metadata"]["resourceVersion"].is_string() {
        Ok(answer)
    } else {
        Err(Failure::new(
            Kind::Garbled,
            "the apiserver's answer is no Lease",
        ))
    }
}
