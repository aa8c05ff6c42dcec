//! Wires the daemon together: clients, caches and loops under one supervisor. The only module that knows them all.

use crate::api::client::{ApiClient, Cluster, Deadlines};
use crate::clock::{Clock, SystemClock};
use crate::config::settings::Settings;
use crate::gather::Gatherer;
use crate::lease::{LeaseKeeper, LeaseSettings};
use crate::node::cache::NodeCache;
use crate::node::sync::StatusLoop;
use crate::node::watch;
use crate::supervise::{End, Supervisor};
use std::sync::Arc;

/// A client of `cluster` with the deadlines of the configuration.
pub fn client(settings: &Settings, cluster: Cluster, clock: Arc<dyn Clock>) -> ApiClient {
    let deadlines = Deadlines {
        request: settings.timeouts.api,
        connect: settings.timeouts.connect,
    };
    ApiClient::new(cluster, deadlines, clock)
}

/// Runs the daemon until a signal, a refused role or a task that ends by itself.
///
/// # Errors
/// Signals cannot be listened to.
pub async fn run(
    settings: Settings,
    node_name: String,
    cluster: Cluster,
    gatherer: Gatherer,
) -> std::io::Result<End> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let cache = NodeCache::default();
    let keeping = tokio::sync::watch::Sender::new(None);
    let status_api = client(&settings, cluster, Arc::clone(&clock));
    let lease = LeaseKeeper::new(
        &status_api,
        cache.clone(),
        keeping.subscribe(),
        Arc::clone(&clock),
        LeaseSettings {
            node_name: node_name.clone(),
            duration_seconds: settings.node_lease_duration_seconds,
        },
    );
    let watch_api = status_api.separate();
    let status = StatusLoop::new(
        status_api,
        cache.clone(),
        clock,
        Arc::new(settings),
        node_name.clone(),
        gatherer,
        keeping,
    );

    let mut supervisor = Supervisor::default();
    let stop = supervisor.stop();
    let status_stop = stop.clone();
    supervisor.start("status", async move {
        Ok(Box::pin(status.run(status_stop)).await?)
    });
    let lease_stop = stop.clone();
    supervisor.start("lease", async move {
        lease.run(lease_stop).await;
        Ok(())
    });
    supervisor.start("watch", async move {
        watch::follow(watch_api, node_name, cache, stop).await;
        Ok(())
    });
    supervisor.run().await
}
