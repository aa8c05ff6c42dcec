//! The watch of the own Node against a scripted apiserver: when it lists, when it only watches on, and what it makes
//! of a stream that breaks, lies or falls silent.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper that fails fails the test"
)]

mod support;

use nodelet::api::client::{ApiClient, Cluster, Deadlines};
use nodelet::node::cache::{Cached, NodeCache};
use nodelet::node::watch::follow;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use support::scripted::store::Store;
use support::scripted::{Answer, Received, Reply, Scripted};
use support::time::TestTime;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const LIST: &str = "list node";
const WATCH: &str = "watch node";

struct World {
    time: Arc<TestTime>,
    server: Scripted,
    cache: NodeCache,
    deadline: Duration,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl World {
    fn new() -> Self {
        let world = Self {
            time: TestTime::stop_at("2025-01-01T00:00:00Z"),
            server: Scripted::start(),
            cache: NodeCache::default(),
            deadline: Duration::from_hours(1000),
            stop: CancellationToken::new(),
            tasks: JoinSet::new(),
        };
        world.server.store(|store| store.put_node(node("u1")));
        world
    }

    fn run(&mut self) {
        let deadlines = Deadlines {
            request: self.deadline,
            connect: self.deadline,
        };
        let cluster = Cluster::Kubeconfig(self.server.kubeconfig());
        let api = ApiClient::new(cluster, deadlines, self.time.clone());
        self.tasks.spawn(follow(
            api,
            "n1".to_owned(),
            self.cache.clone(),
            self.stop.clone(),
        ));
    }

    /// Lets time pass up to this many requests in all, and gives the calls.
    async fn calls(&self, count: usize) -> Vec<String> {
        self.time
            .until("the requests come", || {
                (self.server.count() >= count).then_some(())
            })
            .await;
        self.server.calls()
    }

    /// Waits, while no time passes, until the cache holds the Node with this UID, or none.
    async fn knows(&self, uid: Option<&str>) {
        let known = || match self.cache.get() {
            Cached::Unknown => None,
            known => (known.uid() == uid).then_some(()),
        };
        self.time.still("the cache knows", known).await;
    }
}

fn node(uid: &str) -> Value {
    json!({"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1", "uid": uid}})
}

fn version(received: &Received) -> Option<&str> {
    received.parameter("resourceVersion")
}

#[tokio::test]
async fn one_list_then_events() {
    let mut world = World::new();
    world.run();
    world.knows(Some("u1")).await;
    assert_eq!(world.calls(2).await, [LIST, WATCH]);
    let [list, watch] = world.server.received().try_into().unwrap();
    for request in [&list, &watch] {
        assert_eq!(
            request.parameter("fieldSelector"),
            Some("metadata.name%3Dn1"),
            "{}",
            request.query
        );
    }
    assert_eq!(version(&watch), Some("1"));
    world.server.store(Store::delete_node);
    world.knows(None).await;
    world.server.store(|store| store.put_node(node("u2")));
    world.knows(Some("u2")).await;
    assert_eq!(world.server.calls(), [LIST, WATCH]);
}

#[tokio::test]
async fn an_empty_list_means_that_there_is_no_node() {
    let mut world = World::new();
    world.server.store(Store::delete_node);
    world.run();
    world.knows(None).await;
}

#[tokio::test]
async fn a_watch_that_ends_in_good_order_goes_on_from_the_last_version() {
    let mut world = World::new();
    world.run();
    world.calls(2).await;
    world
        .server
        .store(|store| store.edit_node(|node| node["metadata"]["labels"] = json!({"a": "b"})));
    let label = || Some(world.cache.get().node()?.metadata.labels.as_ref()?.len());
    world.time.still("the change is seen", label).await;
    world.server.store(Store::end_watches);
    assert_eq!(world.calls(3).await, [LIST, WATCH, WATCH]);
    assert_eq!(version(&world.server.received()[2]), Some("2"));
}

fn expired() -> Value {
    json!({"kind": "Status", "status": "Failure", "reason": "Expired", "message": "too old", "code": 410})
}

#[tokio::test]
async fn c104_an_event_that_says_that_the_version_is_too_old_lists_anew() {
    let event = json!({"type": "ERROR", "object": expired()});
    let mut world = World::new();
    world.server.answers(
        WATCH,
        [Answer::Events {
            events: vec![event],
            ends: true,
        }
        .into()],
    );
    world.run();
    assert_eq!(world.calls(4).await, [LIST, WATCH, LIST, WATCH]);
    world.server.store(Store::delete_node);
    world.knows(None).await;
}

#[tokio::test]
async fn c104_an_answer_that_says_that_the_version_is_too_old_lists_anew() {
    let mut world = World::new();
    world
        .server
        .answers(WATCH, vec![Answer::json(410, expired()).into(); 2]);
    world.run();
    // Once more with the same version, as after any failure, but not for ever.
    assert_eq!(world.calls(5).await, [LIST, WATCH, WATCH, LIST, WATCH]);
    world.server.store(Store::delete_node);
    world.knows(None).await;
}

#[tokio::test]
async fn c103_a_dead_stream_is_given_up_and_watched_on_from_the_last_version() {
    let mut world = World::new();
    world.server.answers(
        WATCH,
        [Answer::Events {
            events: Vec::new(),
            ends: false,
        }
        .into()],
    );
    world.run();
    world.calls(2).await;
    world.knows(Some("u1")).await;
    // Nobody tells nodelet of this.
    world.server.store(Store::delete_node);
    assert_eq!(world.calls(3).await, [LIST, WATCH, WATCH]);
    world.knows(None).await;
    let received = world.server.received();
    assert_eq!(version(&received[2]), Some("1"));
    assert_ne!(received[2].connection, received[1].connection);
    let timeout: u64 = received[1]
        .parameter("timeoutSeconds")
        .unwrap()
        .parse()
        .unwrap();
    let silence = received[2].at - received[1].at;
    assert!(
        silence > Duration::from_secs(timeout),
        "the server ends a watch first: {silence:?}"
    );
}

#[tokio::test]
async fn an_idle_hour_lists_once() {
    let mut world = World::new();
    world.run();
    world.calls(2).await;
    world.knows(Some("u1")).await;
    for count in 3..=15 {
        // The server ends a watch when its time is over.
        world.time.jump(Duration::from_secs(290)).await;
        world.server.store(Store::end_watches);
        world.calls(count).await;
    }
    assert_eq!(
        world.server.received_of(LIST).len(),
        1,
        "{:?}",
        world.server.calls()
    );
}

#[tokio::test]
async fn a_list_or_a_watch_that_never_begins_is_given_up() {
    let mut world = World::new();
    world.deadline = Duration::from_secs(10);
    world.server.answers(LIST, [Answer::Hang.into()]);
    world.run();
    assert_eq!(world.calls(3).await, [LIST, LIST, WATCH]);
    let received = world.server.received();
    assert!(received[1].at - received[0].at >= world.deadline);
    world.knows(Some("u1")).await;
    world.server.answers(WATCH, [Answer::Hang.into()]);
    world.server.store(Store::end_watches);
    assert_eq!(world.calls(5).await[3..], [WATCH, WATCH]);
}

#[tokio::test]
async fn a_list_that_never_ends_is_given_up() {
    let mut world = World::new();
    world.server.answers(
        LIST,
        [Answer::Events {
            events: Vec::new(),
            ends: false,
        }
        .into()],
    );
    world.run();
    assert_eq!(world.calls(3).await, [LIST, LIST, WATCH]);
    world.knows(Some("u1")).await;
}

#[tokio::test]
async fn whatever_breaks_a_watch_it_comes_back() {
    let nonsense = json!({"type": "NONSENSE", "object": 7});
    let mut world = World::new();
    world.server.answers(
        WATCH,
        [
            Answer::Reset.into(),
            Answer::Half.into(),
            Answer::Bytes(b"220 mail.example.com ESMTP\r\n".to_vec()).into(),
            Answer::status(500, "InternalError").into(),
            Answer::status(403, "Forbidden").into(),
            Answer::Events {
                events: vec![nonsense],
                ends: true,
            }
            .into(),
        ],
    );
    world.run();
    world
        .time
        .until("the seventh watch", || {
            (world.server.received_of(WATCH).len() >= 7).then_some(())
        })
        .await;
    world.server.store(Store::delete_node);
    world.knows(None).await;
}

#[tokio::test]
async fn a_server_that_lists_but_lets_nobody_watch_is_not_asked_in_a_tight_loop() {
    let mut world = World::new();
    world.server.script(|received| {
        if received.call() == WATCH {
            Answer::status(403, "Forbidden").into()
        } else {
            Reply::Store
        }
    });
    world.run();
    world.time.flow(Duration::from_mins(10)).await;
    let count = world.server.count();
    assert!(
        (3..=150).contains(&count),
        "{count} requests in ten minutes"
    );
}

#[tokio::test]
async fn a_server_that_refuses_everything_is_not_asked_in_a_tight_loop() {
    let mut world = World::new();
    world
        .server
        .script(|_| Answer::status(403, "Forbidden").into());
    world.run();
    world.time.flow(Duration::from_mins(10)).await;
    let count = world.server.count();
    assert!(
        (2..=100).contains(&count),
        "{count} requests in ten minutes"
    );
    assert!(
        matches!(world.cache.get(), Cached::Unknown),
        "a refusal says nothing of the Node"
    );
}

#[tokio::test]
async fn a_credential_that_comes_late_is_found() {
    let mut world = World::new();
    let token = world.server.directory().join("token");
    world.run();
    world.server.kubeconfig_of(&json!({"tokenFile": token}));
    world.time.flow(Duration::from_secs(20)).await;
    assert_eq!(world.server.count(), 0);
    std::fs::write(&token, "tok").unwrap();
    world.calls(2).await;
    world.knows(Some("u1")).await;
}

#[tokio::test]
async fn it_ends_when_it_is_told_to() {
    let mut world = World::new();
    world.run();
    world.calls(2).await;
    world.stop.cancel();
    world.tasks.join_next().await.unwrap().unwrap();
}
