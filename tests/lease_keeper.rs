//! The Lease keeper against a scripted apiserver: which calls in which order, what the Lease then says, and how long
//! it waits. The tests are named after those of `component-helpers/apimachinery/lease/controller_test.go` and after
//! the field cases.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper that fails fails the test"
)]

mod support;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use nodelet::api::client::{ApiClient, Cluster, Deadlines};
use nodelet::lease::{LeaseKeeper, LeaseSettings};
use nodelet::node::cache::NodeCache;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use support::scripted::store::Store;
use support::scripted::{Answer, Received, Reply, Scripted};
use support::time::TestTime;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const GET: &str = "get lease";
const CREATE: &str = "create lease";
const UPDATE: &str = "update lease";

/// A quarter of the Lease's duration: when the next renewal is due.
const INTERVAL: Duration = Duration::from_secs(10);
const DURATION: Duration = Duration::from_secs(40);
/// Of a request, as configured: longer than the Lease keeper itself is willing to wait.
const DEADLINE: Duration = Duration::from_mins(1);

struct World {
    time: Arc<TestTime>,
    server: Scripted,
    cache: NodeCache,
    keeping: watch::Sender<Option<String>>,
    keeper: JoinSet<()>,
}

impl World {
    /// Nothing is kept yet.
    fn new() -> Self {
        let time = TestTime::stop_at("2025-01-01T00:00:00Z");
        Self {
            time,
            server: Scripted::start(),
            cache: NodeCache::default(),
            keeping: watch::Sender::new(None),
            keeper: JoinSet::new(),
        }
    }

    /// The Node `u1` is kept, and `stored` is the Lease.
    fn keeping(stored: Option<Value>) -> Self {
        let world = Self::new();
        world.node("u1");
        world
            .server
            .store(|store| stored.map(|lease| store.put_lease(lease)));
        world
    }

    /// The status loop keeps the Node with this UID.
    fn node(&self, uid: &str) {
        let mut node = Node::default();
        node.metadata.uid = Some(uid.to_owned());
        self.cache.saw(node);
        self.keeping.send_replace(Some(uid.to_owned()));
    }

    fn run(&mut self) {
        let deadlines = Deadlines {
            request: DEADLINE,
            connect: DEADLINE,
        };
        let cluster = Cluster::Kubeconfig(self.server.kubeconfig());
        let keeper = LeaseKeeper::new(
            &ApiClient::new(cluster, deadlines, self.time.clone()),
            self.cache.clone(),
            self.keeping.subscribe(),
            self.time.clone(),
            LeaseSettings {
                node_name: "n1".to_owned(),
                duration_seconds: 40,
            },
        );
        self.keeper.spawn(keeper.run(CancellationToken::new()));
    }

    /// Waits, while no time passes, for this many requests in all, and gives the calls.
    async fn calls(&self, count: usize) -> Vec<String> {
        self.time
            .still("the requests are there", || {
                (self.server.count() >= count).then_some(())
            })
            .await;
        self.server.calls()
    }

    /// Lets time pass up to this many requests in all, and gives the calls.
    async fn later_calls(&self, count: usize) -> Vec<String> {
        self.time
            .until("the requests come", || {
                (self.server.count() >= count).then_some(())
            })
            .await;
        self.server.calls()
    }

    fn lease(&self) -> Value {
        self.server.store(|store| store.lease())
    }
}

fn stored(owners: &Value) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "n1", "namespace": "kube-node-lease", "ownerReferences": owners},
        "spec": {"holderIdentity": "n1", "leaseDurationSeconds": 40, "renewTime": "2024-12-31T23:59:50.000000Z"},
    })
}

fn own(uid: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": uid})
}

fn gap(received: &[Received]) -> Duration {
    let [.., before, last] = received else {
        panic!("fewer than two: {received:?}")
    };
    last.at - before.at
}

fn renew_time(lease: &Value) -> Timestamp {
    lease["spec"]["renewTime"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

#[tokio::test]
async fn test_update_using_latest_lease_no_lease_is_created() {
    let mut world = World::keeping(None);
    world.run();
    assert_eq!(world.calls(2).await, [GET, CREATE]);
    let lease = world.lease();
    assert_eq!(lease["metadata"]["ownerReferences"], json!([own("u1")]));
    assert_eq!(
        lease["spec"],
        json!({"holderIdentity": "n1", "leaseDurationSeconds": 40, "renewTime": "2025-01-01T00:00:00.000000Z"})
    );
    assert_eq!(
        world.later_calls(4).await,
        [GET, CREATE, UPDATE, UPDATE],
        "no GET on the happy path"
    );
}

#[tokio::test]
async fn test_update_using_latest_lease_an_unknown_one_is_read_and_renewed() {
    let mut world = World::keeping(Some(stored(&json!([own("u1")]))));
    world.run();
    assert_eq!(world.calls(2).await, [GET, UPDATE]);
    assert_eq!(world.later_calls(4).await, [GET, UPDATE, UPDATE, UPDATE]);
    let updates = world.server.received_of(UPDATE);
    assert!(gap(&updates) >= INTERVAL, "{updates:?}");
    assert_eq!(updates[0].body["metadata"]["resourceVersion"], "1");
}

/// Upstream sends a second PUT after a 404; nodelet asks whether the Lease is there.
#[tokio::test]
async fn test_update_using_latest_lease_a_404_of_a_put_is_looked_into() {
    let mut world = World::keeping(Some(stored(&json!([own("u1")]))));
    world.run();
    world.calls(2).await;
    world
        .server
        .answers(UPDATE, [Answer::status(404, "NotFound").into()]);
    assert_eq!(world.later_calls(5).await[2..], [UPDATE, GET, UPDATE]);
}

/// Upstream sends five PUTs that all are 404 before it looks.
#[tokio::test]
async fn a_deleted_lease_is_created_again_within_one_renewal() {
    let mut world = World::keeping(Some(stored(&json!([own("u1")]))));
    world.run();
    world.calls(2).await;
    world.server.store(Store::delete_lease);
    assert_eq!(world.later_calls(5).await[2..], [UPDATE, GET, CREATE]);
    assert_eq!(
        world.lease()["metadata"]["ownerReferences"],
        json!([own("u1")])
    );
    assert_eq!(world.later_calls(6).await[5..], [UPDATE]);
}

/// Upstream repeats the PUT as it was; nodelet reads the Lease afresh before each further try.
#[tokio::test]
async fn test_retry_update_node_lease_gives_up_after_five_tries_and_comes_back_early() {
    let mut world = World::keeping(Some(stored(&json!([own("u1")]))));
    world.server.script(|received| {
        if received.call() == UPDATE {
            Answer::status(504, "Timeout").into()
        } else {
            Reply::Store
        }
    });
    world.run();
    assert_eq!(world.calls(10).await, [GET, UPDATE].repeat(5));
    assert_eq!(
        world.later_calls(14).await,
        [GET, UPDATE].repeat(7),
        "then one try each time"
    );
    for next in [10, 12] {
        let between = world.server.received()[next].at - world.server.received()[next - 1].at;
        assert!(between >= INTERVAL / 5, "{between:?}");
        assert!(
            between < INTERVAL,
            "well before the next would be due: {between:?}"
        );
    }
}

#[tokio::test]
async fn test_retry_update_node_lease_a_timeout_a_conflict_and_a_success() {
    let mut world = World::keeping(Some(stored(&json!([own("u1")]))));
    let faults = [
        Answer::status(504, "Timeout").into(),
        Answer::status(409, "Conflict").into(),
    ];
    world.server.answers(UPDATE, faults);
    world.run();
    assert_eq!(
        world.calls(6).await,
        [GET, UPDATE, GET, UPDATE, GET, UPDATE]
    );
    assert_eq!(world.server.accepted(), 1, "the link is not at fault");
    assert_eq!(
        renew_time(&world.lease()),
        "2025-01-01T00:00:00Z".parse().unwrap()
    );
}

/// Upstream asks for the Node itself; nodelet is told by the status loop and by the watch.
#[tokio::test]
async fn c95_test_retry_update_node_lease_without_a_node_there_is_no_call() {
    let mut world = World::new();
    world.run();
    world.time.flow(3 * INTERVAL).await;
    world.cache.saw_none();
    world.time.flow(3 * INTERVAL).await;
    // Known to be kept, but the watch says that it is gone.
    world.keeping.send_replace(Some("u1".to_owned()));
    world.time.flow(3 * INTERVAL).await;
    assert_eq!(world.server.calls(), Vec::<String>::new());
    world.node("u2");
    assert_eq!(
        world.calls(2).await,
        [GET, CREATE],
        "a Node that comes is met at once"
    );
    assert_eq!(
        world.lease()["metadata"]["ownerReferences"],
        json!([own("u2")])
    );
}

#[tokio::test]
async fn c95_a_lease_that_went_with_its_node_is_not_created_again() {
    let mut world = World::keeping(None);
    world.run();
    world.calls(2).await;
    // The watch is quicker than the status loop.
    world.cache.saw_none();
    world.server.store(Store::delete_lease);
    world.time.flow(3 * INTERVAL).await;
    world.keeping.send_replace(None);
    world.time.flow(3 * INTERVAL).await;
    assert_eq!(world.server.calls(), [GET, CREATE]);
}

#[tokio::test]
async fn c96_a_node_created_anew_owns_the_lease_at_once() {
    let mut world = World::keeping(None);
    world.run();
    world.calls(2).await;
    world.node("u2");
    assert_eq!(
        world.calls(3).await,
        [GET, CREATE, UPDATE],
        "no interval is waited for"
    );
    assert_eq!(
        world.lease()["metadata"]["ownerReferences"],
        json!([own("u2")])
    );
}

#[tokio::test]
async fn c96_between_two_nodes_the_lease_is_neithers() {
    let mut world = World::keeping(None);
    world.run();
    world.calls(2).await;
    // The watch shows the new Node, and the status loop has not looked at it yet.
    let mut node = Node::default();
    node.metadata.uid = Some("u2".to_owned());
    world.cache.saw(node);
    world.time.flow(3 * INTERVAL).await;
    assert_eq!(world.server.calls(), [GET, CREATE]);
}

#[tokio::test]
async fn c96_a_stale_owner_is_healed_and_a_foreign_one_stays() {
    let foreign = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "c"});
    let mut world = World::keeping(Some(stored(&json!([foreign, own("old")]))));
    world.run();
    world.calls(2).await;
    assert_eq!(
        world.lease()["metadata"]["ownerReferences"],
        json!([foreign, own("u1")])
    );
}

#[tokio::test]
async fn a_holder_that_somebody_changed_stays_changed() {
    let mut lease = stored(&json!([own("u1")]));
    lease["spec"]["holderIdentity"] = json!("somebody");
    let mut world = World::keeping(Some(lease));
    world.run();
    world.later_calls(3).await;
    assert_eq!(world.lease()["spec"]["holderIdentity"], "somebody");
}

#[tokio::test]
async fn another_writers_change_is_read_and_kept() {
    let mut world = World::keeping(Some(stored(&json!([own("u1")]))));
    world.run();
    world.calls(2).await;
    let mut changed = world.lease();
    changed["metadata"]["labels"] = json!({"theirs": "kept"});
    world.server.store(|store| store.put_lease(changed));
    assert_eq!(
        world.later_calls(5).await[2..],
        [UPDATE, GET, UPDATE],
        "a conflict, then both changes"
    );
    assert_eq!(
        world.lease()["metadata"]["labels"],
        json!({"theirs": "kept"})
    );
}

#[tokio::test]
async fn a_lease_that_another_creates_first_is_taken_up() {
    let mut world = World::keeping(None);
    let mut theirs = stored(&json!([own("u1")]));
    theirs["spec"]["holderIdentity"] = json!("somebody");
    // Created between the GET and the POST.
    world
        .server
        .answers(GET, [Answer::status(404, "NotFound").into()]);
    world.server.store(|store| store.put_lease(theirs));
    world.run();
    assert_eq!(world.calls(4).await, [GET, CREATE, GET, UPDATE]);
    assert_eq!(world.lease()["spec"]["holderIdentity"], "somebody");
}

#[tokio::test]
async fn c98_a_wall_clock_set_back_neither_stops_nor_ages_the_lease() {
    let mut world = World::keeping(None);
    world.run();
    world.calls(2).await;
    let before = renew_time(&world.lease());
    world.time.shift_wall(SignedDuration::from_hours(-1));
    world.later_calls(4).await;
    let updates = world.server.received_of(UPDATE);
    assert!(
        gap(&updates) < DURATION,
        "renewed on the monotonic clock: {updates:?}"
    );
    let times: Vec<Timestamp> = updates
        .iter()
        .map(|update| renew_time(&update.body))
        .collect();
    let microsecond = SignedDuration::from_micros(1);
    assert_eq!(
        times,
        [before + microsecond, before + microsecond + microsecond]
    );
}

#[tokio::test]
async fn c107_a_busy_server_is_waited_for_but_never_longer_than_a_quarter_of_the_duration() {
    let seconds = Duration::from_secs;
    let mut world = World::keeping(Some(stored(&json!([own("u1")]))));
    world.run();
    world.calls(2).await;
    for (header, at_least, less_than) in [
        ("5", seconds(5), INTERVAL),
        ("99999", INTERVAL, DURATION),
        ("0", INTERVAL / 5, INTERVAL),
        ("Wed, 01 Jan 2020 00:00:00 GMT", INTERVAL / 5, INTERVAL),
        ("Wed, 01 Jan 2031 00:00:00 GMT", INTERVAL, DURATION),
        ("18446744073709551615", INTERVAL, DURATION),
    ] {
        let count = world.server.count();
        let busy = Answer::status(429, "TooManyRequests").with_header("Retry-After", header);
        world.server.answers(UPDATE, [busy.into()]);
        assert_eq!(
            world.later_calls(count + 2).await[count..],
            [UPDATE, UPDATE],
            "{header}: one request, then the next"
        );
        let wait = gap(&world.server.received());
        assert!(wait >= at_least && wait < less_than, "{header}: {wait:?}");
    }
}

#[tokio::test]
async fn c107_an_unreadable_retry_after_is_as_none() {
    for header in ["soon", "-3", ""] {
        let failure = nodelet::api::failure::Failure::from_answer(
            429,
            Some(header),
            b"",
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!(failure.retry_after, None, "{header:?}");
    }
    let mut world = World::keeping(Some(stored(&json!([own("u1")]))));
    let busy = Answer::status(429, "TooManyRequests").with_header("Retry-After", "soon");
    world.server.answers(UPDATE, [busy.into()]);
    world.run();
    world.calls(2).await;
    assert_eq!(
        world.later_calls(3).await,
        [GET, UPDATE, UPDATE],
        "no tight loop: the next try comes later, and nothing is read again"
    );
    let wait = gap(&world.server.received());
    assert!(
        wait >= Duration::from_secs(1) && wait < INTERVAL,
        "{wait:?}"
    );
}

#[tokio::test]
async fn c102_a_hanging_renewal_ends_at_its_deadline_and_the_next_has_another_connection() {
    let mut world = World::keeping(Some(stored(&json!([own("u1")]))));
    world.run();
    world.calls(2).await;
    world
        .server
        .answers(UPDATE, [Answer::Hang.into(), Answer::Hang.into()]);
    assert_eq!(
        world.later_calls(5).await[2..],
        [UPDATE; 3],
        "what is known is enough; nothing is read"
    );
    let updates = world.server.received_of(UPDATE);
    let connections: Vec<usize> = updates.iter().map(|update| update.connection).collect();
    assert_eq!(connections, [1, 1, 2, 3]);
    assert_eq!(world.server.accepted(), 3);
    assert!(updates[2].at - updates[1].at >= INTERVAL, "{updates:?}");
    assert!(
        updates[2].at - updates[1].at < DURATION,
        "the Lease is still alive: {updates:?}"
    );
}

#[tokio::test]
async fn a_renewal_whose_answer_was_lost_is_found_out_by_the_conflict() {
    let mut world = World::keeping(Some(stored(&json!([own("u1")]))));
    world.run();
    world.calls(2).await;
    for lost in [Answer::Reset, Answer::Half] {
        let count = world.server.count();
        world.server.answers(UPDATE, [Reply::DoneBut(lost.clone())]);
        assert_eq!(
            world.later_calls(count + 4).await[count..],
            [UPDATE, UPDATE, GET, UPDATE],
            "{lost:?}"
        );
        let received = world.server.received();
        let wait = received[count + 1].at - received[count].at;
        assert!(
            wait >= INTERVAL / 5,
            "a link that fails is not tried at once again: {wait:?}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_is_no_lease_is_not_built_upon() {
    let mut world = World::keeping(Some(stored(&json!([own("u1")]))));
    let nonsense = || Answer::json(200, json!({"spec": {"holderIdentity": "nobody"}}));
    let mut first = true;
    world
        .server
        .script(move |received| match received.call().as_str() {
            GET if std::mem::take(&mut first) => nonsense().into(),
            _ => Reply::Store,
        });
    world.run();
    assert_eq!(world.calls(3).await, [GET, GET, UPDATE]);
    world.server.answers(UPDATE, [Reply::DoneBut(nonsense())]);
    assert_eq!(world.later_calls(6).await[3..], [UPDATE, GET, UPDATE]);
    assert_eq!(world.lease()["spec"]["holderIdentity"], "n1");
}
