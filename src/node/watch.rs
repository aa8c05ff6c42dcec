//! Watches the own Node and feeds the [`NodeCache`]: one list at the start, then events, so that an idle hour has no
//! GET. An answer of 410, in either form, lists again; a watch that stays silent ends on its own deadline.

use super::cache::NodeCache;
use crate::api::client::{ApiClient, FAILURES_BEFORE_REBUILD};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Config, Event, watcher};
use std::pin::pin;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long the server keeps one watch open. The client takes a stream for dead that is silent for a little longer,
/// and watches on from the version that it has (C103).
const WATCH_TIMEOUT_SECONDS: u32 = 290;

/// How long a list may take.
const LIST_PATIENCE: Duration = Duration::from_secs(30);

/// The wait before a link is made anew: doubled each time, up to the longest, until a link has held for longer than
/// that. Without it a fleet would list and dial a server that refuses, or that comes back, about once a second and node.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Follows the Node called `name` until `stop`.
pub async fn follow(api: ApiClient, name: String, cache: NodeCache, stop: CancellationToken) {
    let followed = async {
        let mut wait = SHORTEST_WAIT;
        loop {
            let began = Instant::now();
            follow_once(&api, &name, &cache).await;
            api.forget_pool();
            if began.elapsed() > LONGEST_WAIT {
                wait = SHORTEST_WAIT;
            }
            tokio::time::sleep(wait.mul_f64(0.5 + 0.5 * fastrand::f64())).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = followed => {}
    }
}

/// Follows until the link looks dead.
async fn follow_once(api: &ApiClient, name: &str, cache: &NodeCache) {
    let client = match api.pool().await {
        Ok(client) => client,
        Err(error) => {
            tracing::warn!(%error, "Cannot watch the Node");
            return;
        }
    };
    let config = Config::default()
        .fields(&format!("metadata.name={name}"))
        .timeout(WATCH_TIMEOUT_SECONDS);
    let mut events = pin!(watcher(Api::<Node>::all(client), config).default_backoff());
    let mut failures = 0;
    let mut listing = true;
    let mut listed_any = false;
    loop {
        // A watch may be silent for as long as nothing happens; whether its stream is dead is known to kube alone.
        let event = if listing {
            tokio::time::timeout(LIST_PATIENCE, events.next()).await
        } else {
            Ok(events.next().await)
        };
        let event = match event {
            Ok(Some(event)) => event,
            Ok(None) => return,
            Err(_) => {
                tracing::warn!(patience = ?LIST_PATIENCE, "The list of the Node does not end; dialling anew");
                return;
            }
        };
        match event {
            Ok(Event::Init) => {
                listing = true;
                listed_any = false;
            }
            Ok(Event::InitApply(node)) => {
                listed_any = true;
                cache.listed(node);
            }
            Ok(Event::InitDone) => {
                listing = false;
                failures = 0;
                if !listed_any {
                    cache.saw_none();
                }
            }
            Ok(Event::Apply(node)) => {
                failures = 0;
                cache.saw(node);
            }
            Ok(Event::Delete(node)) => {
                failures = 0;
                cache.saw_deleted(&node);
            }
            Err(error) => {
                failures += 1;
                tracing::debug!(%error, failures, "The watch of the Node failed");
                if failures >= FAILURES_BEFORE_REBUILD {
                    tracing::info!(%error, "The watch of the Node keeps failing; dialling anew");
                    return;
                }
            }
        }
    }
}
