//! The status loop against a scripted apiserver: the rows of upstream's `kubelet_node_status_test.go`, named after
//! them, and the field cases of its calls. Where nodelet differs on purpose a line above the test says how. Common to
//! all: the first try of a round takes the Node that the watch saw, so it costs no GET, and what registration brings
//! in order travels in the first status patch.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper that fails fails the test"
)]

mod support;

use k8s_openapi::api::core::v1::Taint;
use nodelet::api::client::{ApiClient, Cluster, Deadlines};
use nodelet::config::settings::{Role, Settings, Timeouts};
use nodelet::gather::Gatherer;
use nodelet::node::cache::NodeCache;
use nodelet::node::role::Refusal;
use nodelet::node::sync::StatusLoop;
use nodelet::quantity::Quantity;
use nodelet::source::replay::Replay;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use support::scratch::Scratch;
use support::scripted::store::Store;
use support::scripted::{Answer, Received, Reply, Scripted};
use support::time::TestTime;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const NAME: &str = "127.0.0.1";
const NOW: &str = "2025-01-01T00:00:00Z";
const CREATE: &str = "create node";
const GET: &str = "get node";
const PATCH: &str = "patch node/status";

const UPDATE_FREQUENCY: Duration = Duration::from_secs(10);
const REPORT_FREQUENCY: Duration = Duration::from_secs(30);

/// So long that only a test that means to can reach it.
const FOR_EVER: Duration = Duration::from_hours(1000);

/// The host of upstream's tests, as a recording.
struct Host {
    scratch: Scratch,
    recording: Value,
}

impl Host {
    fn new() -> Self {
        let host = Self {
            scratch: Scratch::new(),
            recording: json!({
                "version": 1, "hostname": NAME,
                "uname": {"sysname": "Linux", "release": "6.1.0", "machine": "x86_64"},
                "statfs": {"/": {"type": "ext4", "blockSize": 1, "fragmentSize": 1, "blocks": 5000,
                                 "blocksFree": 4000, "blocksAvailable": 4000, "files": 100, "filesFree": 90,
                                 "readOnly": false}},
                "interfaces": [], "directories": ["var/lib/kubelet"],
                "cri": {"version": {"runtimeName": "test", "runtimeVersion": "1.5.0"},
                        "status": {"conditions": [{"type": "RuntimeReady", "status": true},
                                                  {"type": "NetworkReady", "status": true}]},
                        "images": []},
            }),
        };
        host.memory("root", 10_000_000_000);
        for (path, text) in [
            ("root/sys/devices/system/cpu/online", "0-1\n"),
            ("root/etc/machine-id", "123\n"),
            ("root/sys/class/dmi/id/product_uuid", "abc\n"),
            ("root/proc/sys/kernel/random/boot_id", "1b3\n"),
            (
                "root/proc/1/mountinfo",
                "24 1 8:1 / / rw - ext4 /dev/sda1 rw\n",
            ),
        ] {
            host.file(path, text);
        }
        host
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.scratch.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn memory(&self, root: &str, bytes: u64) {
        self.file(
            &format!("{root}/proc/meminfo"),
            &format!("MemTotal: {} kB\n", bytes / 1024),
        );
    }

    fn open(&self) -> Arc<Replay> {
        self.file("recording.json", &self.recording.to_string());
        Arc::new(Replay::open(self.scratch.path()).unwrap().0)
    }
}

struct World {
    time: Arc<TestTime>,
    server: Scripted,
    cache: NodeCache,
    settings: Settings,
    deadline: Duration,
    host: Host,
    keeping: watch::Sender<Option<String>>,
    tasks: JoinSet<Result<(), Refusal>>,
}

impl World {
    fn new() -> Self {
        Self {
            time: TestTime::stop_at(NOW),
            server: Scripted::start(),
            cache: NodeCache::default(),
            settings: Settings {
                role: Role::Owner,
                // Upstream's kubelet has no client to register with.
                register_node: false,
                max_pods: 0,
                eviction_hard: Vec::new(),
                node_status_update_frequency: UPDATE_FREQUENCY,
                node_status_report_frequency: REPORT_FREQUENCY,
                timeouts: Timeouts {
                    api: FOR_EVER,
                    connect: FOR_EVER,
                    cri: FOR_EVER,
                    statfs: FOR_EVER,
                },
                ..Settings::default()
            },
            deadline: FOR_EVER,
            host: Host::new(),
            keeping: watch::Sender::new(None),
            tasks: JoinSet::new(),
        }
    }

    /// This Node is stored, and the watch has seen it.
    fn with_node(node: Value) -> Self {
        let world = Self::new();
        world.store_and_see(node);
        world
    }

    fn store_and_see(&self, node: Value) {
        let node = self.server.store(|store| store.put_node(node));
        self.cache.saw(serde_json::from_value(node).unwrap());
    }

    fn run(&mut self) -> Arc<Replay> {
        let host = self.host.open();
        let deadlines = Deadlines {
            request: self.deadline,
            connect: self.deadline,
        };
        let cluster = Cluster::Kubeconfig(self.server.kubeconfig());
        let status = StatusLoop::new(
            ApiClient::new(cluster, deadlines, self.time.clone()),
            self.cache.clone(),
            self.time.clone(),
            Arc::new(self.settings.clone()),
            NAME.to_owned(),
            Gatherer::new(host.clone()),
            self.keeping.clone(),
        );
        self.tasks.spawn(status.run(CancellationToken::new()));
        host
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

    /// The next request, after time has passed.
    async fn next(&self) -> Received {
        let count = self.server.count();
        self.later_calls(count + 1).await;
        self.server.received()[count].clone()
    }

    /// Lets two whole rounds of a Node that is kept pass, and gives the calls in them.
    async fn two_rounds(&self) -> Vec<String> {
        let (count, asked) = (self.server.count(), self.time.asked());
        // Each round asks for the time twice, and what it sends, it sends before the next begins.
        self.time
            .until("the rounds begin", || {
                (self.time.asked() >= asked + 6).then_some(())
            })
            .await;
        self.server.calls()[count..].to_vec()
    }

    /// The Node is deleted, once the loop has taken note of how it is, and the watch sees that.
    async fn delete_node(&self) {
        let version = self.stored()["metadata"]["resourceVersion"].clone();
        let known = || {
            let known = self.cache.get().node()?.metadata.resource_version.clone();
            (version == known?).then_some(())
        };
        self.time
            .still("the answer to the last write is taken note of", known)
            .await;
        self.server.store(Store::delete_node);
        self.cache.saw_none();
    }

    fn stored(&self) -> Value {
        self.server.store(|store| store.node())
    }

    fn condition(&self, kind: &str) -> Value {
        let node = self.stored();
        let conditions = node["status"]["conditions"].as_array().unwrap();
        conditions
            .iter()
            .find(|condition| condition["type"] == kind)
            .unwrap()
            .clone()
    }
}

fn bare() -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NAME, "uid": "u1"}})
}

fn quantities(amounts: &[(&str, &str)]) -> BTreeMap<String, Quantity> {
    amounts
        .iter()
        .map(|(name, amount)| ((*name).to_owned(), Quantity::parse(amount).unwrap()))
        .collect()
}

fn images(count: usize, tags: impl Fn(usize) -> usize) -> Value {
    let image = |i: usize| {
        let tags: Vec<String> = (0..tags(i))
            .map(|tag| format!("image-{i}:v{tag}"))
            .collect();
        json!({"id": format!("sha256:{i}"), "repoTags": tags, "repoDigests": [], "size": 1000 + i})
    };
    (0..count).map(image).collect()
}

/// A field of each condition, in the order of the list.
fn each<'a>(node: &'a Value, field: &str) -> Vec<&'a str> {
    let conditions = node["status"]["conditions"].as_array().unwrap();
    conditions
        .iter()
        .map(|condition| condition[field].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn s1_test_update_new_node_status() {
    let mut world = World::with_node(bare());
    world.settings.system_reserved = quantities(&[
        ("cpu", "200m"),
        ("memory", "100000000"),
        ("ephemeral-storage", "2000"),
    ]);
    world.settings.node_status_max_images = Some(5);
    world.host.recording["cri"]["images"] = images(6, |i| 6 + 2 * i);
    world.run();
    assert_eq!(world.calls(1).await, [PATCH]);
    let node = world.stored();
    assert_eq!(
        each(&node, "type"),
        ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]
    );
    assert_eq!(each(&node, "status"), ["False", "False", "False", "True"]);
    assert_eq!(
        each(&node, "reason"),
        [
            "KubeletHasSufficientMemory",
            "KubeletHasNoDiskPressure",
            "KubeletHasSufficientPID",
            "KubeletReady"
        ]
    );
    assert_eq!(each(&node, "lastHeartbeatTime"), [NOW; 4]);
    assert_eq!(each(&node, "lastTransitionTime"), [NOW; 4]);
    let status = &node["status"];
    // Written as kubelet writes them: plain bytes of memory in KiB where they are whole.
    let amount =
        |list: &str, name: &str| Quantity::parse(status[list][name].as_str().unwrap()).unwrap();
    for (list, name, expected) in [
        ("capacity", "cpu", "2"),
        ("capacity", "memory", "10000000000"),
        ("capacity", "pods", "0"),
        ("capacity", "ephemeral-storage", "5000"),
        ("allocatable", "cpu", "1800m"),
        ("allocatable", "memory", "9900000000"),
        ("allocatable", "pods", "0"),
        ("allocatable", "ephemeral-storage", "3000"),
    ] {
        assert_eq!(
            amount(list, name),
            Quantity::parse(expected).unwrap(),
            "{list} {name}"
        );
    }
    let info = &status["nodeInfo"];
    assert_eq!(
        [
            &info["machineID"],
            &info["systemUUID"],
            &info["bootID"],
            &info["containerRuntimeVersion"]
        ],
        ["123", "abc", "1b3", "test://1.5.0"]
    );
    assert_eq!(
        status["addresses"],
        json!([{"type": "InternalIP", "address": NAME}, {"type": "Hostname", "address": NAME}])
    );
    let sizes: Vec<usize> = status["images"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| i["names"].as_array().unwrap().len())
        .collect();
    assert_eq!(sizes, [5; 5]);
    assert_eq!(node["metadata"]["labels"]["kubernetes.io/os"], "linux");
    assert_eq!(node["metadata"]["labels"]["kubernetes.io/arch"], "amd64");
}

#[tokio::test]
async fn s2_test_update_new_node_status_without_a_limit_of_images() {
    let mut world = World::with_node(bare());
    world.settings.node_status_max_images = None;
    world.host.recording["cri"]["images"] = images(60, |_| 1);
    world.run();
    assert_eq!(world.calls(1).await, [PATCH]);
    assert_eq!(
        world.stored()["status"]["images"].as_array().unwrap().len(),
        60
    );
}

/// A stored condition of 2012.
fn old(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    const THEN: &str = "2012-01-01T00:00:00Z";
    json!({"type": kind, "status": status, "reason": reason, "message": message,
           "lastHeartbeatTime": THEN, "lastTransitionTime": THEN})
}

#[tokio::test]
async fn s3_test_update_existing_node_status() {
    let mut node = bare();
    let disk = (
        "KubeletHasSufficientDisk",
        "kubelet has sufficient disk space available",
    );
    node["status"] = json!({
        "conditions": [
            old("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
            old("DiskPressure", "False", disk.0, disk.1),
            old("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
            old("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        ],
        "capacity": {"cpu": "3", "memory": "20000000000", "pods": "0"},
        "allocatable": {"cpu": "2800m", "memory": "19900000000", "pods": "0"},
    });
    let mut world = World::with_node(node);
    world.run();
    assert_eq!(world.calls(1).await, [PATCH]);
    let node = world.stored();
    assert_eq!(
        each(&node, "type"),
        ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]
    );
    assert_eq!(each(&node, "lastHeartbeatTime"), [NOW; 4]);
    assert_eq!(
        each(&node, "lastTransitionTime"),
        ["2012-01-01T00:00:00Z"; 4]
    );
    assert_eq!((each(&node, "reason")[1], each(&node, "message")[1]), disk);
    for list in ["capacity", "allocatable"] {
        assert_eq!(node["status"][list]["cpu"], "2", "{list}");
        assert_eq!(node["status"][list]["ephemeral-storage"], "5000", "{list}");
    }
}

#[tokio::test]
async fn s4_test_update_existing_node_status_timeout() {
    let mut world = World::with_node(bare());
    world.deadline = Duration::from_secs(10);
    world.server.script(|_| Answer::Hang.into());
    world.run();
    for count in 1..=5 {
        world.calls(count).await;
        world.time.jump(world.deadline).await;
    }
    assert_eq!(
        world.later_calls(6).await,
        [PATCH, GET, GET, GET, GET, PATCH]
    );
    let received = world.server.received();
    let pause = received[5].at - received[4].at;
    assert!(
        pause >= world.deadline + UPDATE_FREQUENCY,
        "five tries, then the next round: {pause:?}"
    );
    let connections: Vec<usize> = received
        .iter()
        .map(|received| received.connection)
        .collect();
    assert_eq!(
        connections,
        [1, 2, 3, 4, 5, 6],
        "no connection that hung is used again"
    );
}

/// Upstream keeps asking for a Node that is not there, five times; to nodelet a 404 is an answer.
#[tokio::test]
async fn s6_test_update_node_status_error() {
    let mut world = World::with_node(bare());
    world.server.store(Store::delete_node);
    world.run();
    assert_eq!(world.calls(2).await, [PATCH, GET]);
    let mut keeping = world.keeping.subscribe();
    world
        .time
        .still("nothing is kept", || {
            keeping.borrow_and_update().is_none().then_some(())
        })
        .await;
    world.time.flow(5 * UPDATE_FREQUENCY).await;
    assert_eq!(
        world.server.calls(),
        [PATCH, GET],
        "and it is not asked for again"
    );
}

#[tokio::test]
async fn s6_five_tries_and_no_more_with_a_server_in_trouble() {
    let mut world = World::with_node(bare());
    world
        .server
        .script(|received| match received.call().as_str() {
            PATCH => Answer::status(500, "InternalError").into(),
            _ => Reply::Store,
        });
    world.run();
    let round = [PATCH, GET, PATCH, GET, PATCH, GET, PATCH, GET, PATCH];
    assert_eq!(world.calls(9).await, round);
    assert_eq!(world.later_calls(18).await, round.repeat(2));
    let received = world.server.received();
    assert!(received[9].at - received[8].at >= UPDATE_FREQUENCY);
}

#[tokio::test]
async fn s7_test_update_node_status_with_lease() {
    let mut world = World::with_node(bare());
    world.host.recording["frames"] = json!([{"afterMs": 1, "root": "frames/1"}]);
    world.host.memory("frames/1", 40_000_000_000);
    let host = world.run();
    assert_eq!(world.calls(1).await, [PATCH]);
    let first = world.server.received()[0].clone();
    for field in ["lastHeartbeatTime", "lastTransitionTime"] {
        assert_eq!(each(&world.stored(), field), [NOW; 4], "{field}");
    }

    // S7b, S7c: nothing changed, so one report comes up to half a period sooner or later, the others after a period.
    let second = world.next().await;
    assert_only_heartbeats(&second);
    assert!(
        second.at - first.at >= REPORT_FREQUENCY / 2,
        "{:?}",
        second.at - first.at
    );
    let third = world.next().await;
    assert_only_heartbeats(&third);
    assert!(
        third.at - second.at >= REPORT_FREQUENCY,
        "{:?}",
        third.at - second.at
    );
    assert_eq!(each(&world.stored(), "lastTransitionTime"), [NOW; 4]);

    // S7d
    assert!(host.advance());
    let fourth = world.next().await;
    assert!(
        fourth.at - third.at < REPORT_FREQUENCY,
        "a change does not wait for the period"
    );
    assert!(
        fourth.body["status"]["capacity"]["memory"].is_string(),
        "{}",
        fourth.body
    );
    assert_eq!(each(&world.stored(), "lastTransitionTime"), [NOW; 4]);
    assert!(
        each(&world.stored(), "lastHeartbeatTime")
            .iter()
            .all(|time| *time > NOW)
    );

    // S7e
    let mut node = world.stored();
    node["spec"] = json!({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24", "2000::/10"]});
    world.store_and_see(node);
    let fifth = world.next().await;
    assert!(
        fifth.at - fourth.at < REPORT_FREQUENCY / 2,
        "pod CIDRs do not wait for the period"
    );
    assert_only_heartbeats(&fifth);

    // S7f
    let sixth = world.next().await;
    assert!(
        sixth.at - fifth.at >= REPORT_FREQUENCY / 2,
        "the same pod CIDRs are no news"
    );
    assert_eq!(world.server.calls(), [PATCH; 6]);
}

fn assert_only_heartbeats(received: &Received) {
    assert_eq!(received.call(), PATCH);
    let status = received.body["status"].as_object().unwrap();
    let fields: Vec<&String> = status.keys().collect();
    assert_eq!(
        fields,
        ["$setElementOrder/conditions", "conditions"],
        "{}",
        received.body
    );
    for condition in status["conditions"].as_array().unwrap() {
        let fields: Vec<&String> = condition.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["lastHeartbeatTime", "type"], "{}", received.body);
    }
}

/// nodelet has no pod loop, so the list of volumes in use is never its to change (rows S8 to S8d).
#[tokio::test]
async fn s8_test_update_node_status_and_volumes_in_use_with_node_lease() {
    let mut node = bare();
    node["status"] = json!({"volumesInUse": ["kubernetes.io/csi/vol1"]});
    let mut world = World::with_node(node);
    world.settings.node_status_report_frequency = FOR_EVER;
    world.run();
    assert_eq!(world.calls(1).await, [PATCH]);
    assert_eq!(world.two_rounds().await, Vec::<String>::new());
    let mut node = world.stored();
    node["metadata"]["labels"]
        .as_object_mut()
        .unwrap()
        .remove("kubernetes.io/os");
    world.store_and_see(node);
    let healed = world.next().await;
    assert_eq!(
        healed.body["metadata"]["labels"],
        json!({"kubernetes.io/os": "linux"})
    );
    assert_eq!(
        world.stored()["status"]["volumesInUse"],
        json!(["kubernetes.io/csi/vol1"])
    );
    for patch in world.server.received() {
        assert!(
            !patch.body.to_string().contains("volumesInUse"),
            "{}",
            patch.body
        );
    }
}

#[tokio::test]
async fn s10_test_update_new_node_status_too_large_reservation() {
    let mut world = World::with_node(bare());
    world.settings.system_reserved =
        quantities(&[("cpu", "40000m"), ("ephemeral-storage", "1000")]);
    world.host.recording["statfs"]["/"]["blocks"] = json!(3000);
    world.host.recording["statfs"]["/"]["blocksFree"] = json!(2500);
    world.host.recording["statfs"]["/"]["blocksAvailable"] = json!(2500);
    world.run();
    assert_eq!(world.calls(1).await, [PATCH]);
    let allocatable = &world.stored()["status"]["allocatable"];
    assert_eq!(allocatable["cpu"], "0");
    assert_eq!(
        Quantity::parse(allocatable["memory"].as_str().unwrap()),
        Quantity::parse("10000000000")
    );
    assert_eq!(allocatable["pods"], "0");
    assert_eq!(allocatable["ephemeral-storage"], "2000");
}

#[tokio::test]
async fn s11_test_sync_labels() {
    const LABELS: [&str; 2] = ["kubernetes.io/os", "kubernetes.io/arch"];
    let right = json!({LABELS[0]: "linux", LABELS[1]: "amd64"});
    let mut world = World::with_node(bare());
    world.run();
    world.calls(1).await;
    for (row, labels, healed) in [
        ("no labels", json!({}), Some(right.clone())),
        (
            "both wrong",
            json!({LABELS[0]: "dummyos", LABELS[1]: "dummyarch"}),
            Some(right.clone()),
        ),
        (
            "one wrong",
            json!({LABELS[0]: "linux", LABELS[1]: "dummyarch"}),
            Some(json!({LABELS[1]: "amd64"})),
        ),
        ("both right", right.clone(), None),
    ] {
        let mut node = world.stored();
        node["metadata"]["labels"] = labels;
        world.store_and_see(node);
        let patch = world.next().await;
        assert_eq!(
            patch.body["metadata"].get("labels"),
            healed.as_ref(),
            "{row}"
        );
        assert_eq!(world.stored()["metadata"]["labels"], right, "{row}");
    }
}

#[tokio::test]
async fn nothing_changed_and_nothing_due_is_no_call_at_all() {
    let mut world = World::with_node(bare());
    world.settings.node_status_report_frequency = FOR_EVER;
    world.run();
    assert_eq!(world.calls(1).await, [PATCH]);
    for _ in 0..3 {
        assert_eq!(world.two_rounds().await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn c91_a_conflict_is_computed_again_from_a_fresh_node() {
    let kinds = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"];
    let unknown = kinds.map(|kind| {
        old(
            kind,
            "Unknown",
            "NodeStatusUnknown",
            "Kubelet stopped posting node status.",
        )
    });
    let mut node = bare();
    node["status"] = json!({"conditions": unknown});
    let mut world = World::with_node(node);
    // Somebody adds a condition that the watch has not shown yet.
    world.server.store(|store| {
        store.edit_node(|node| {
            let conditions = node["status"]["conditions"].as_array_mut().unwrap();
            conditions.push(old("KernelDeadlock", "False", "KernelHasNoDeadlock", ""));
        });
    });
    world
        .server
        .answers(PATCH, [Answer::status(409, "Conflict").into()]);
    world.run();
    assert_eq!(world.calls(3).await, [PATCH, GET, PATCH]);
    for (kind, status) in kinds.into_iter().zip(["False", "False", "False", "True"]) {
        let condition = world.condition(kind);
        assert_eq!(
            (&condition["status"], &condition["lastTransitionTime"]),
            (&json!(status), &json!(NOW)),
            "{kind}"
        );
    }
    assert_eq!(
        world.condition("KernelDeadlock"),
        old("KernelDeadlock", "False", "KernelHasNoDeadlock", "")
    );
}

#[tokio::test]
async fn a_patch_whose_answer_was_lost_is_found_done() {
    let mut world = World::with_node(bare());
    world.server.answers(PATCH, [Reply::DoneBut(Answer::Reset)]);
    world.run();
    world.calls(2).await;
    let next = world.next().await;
    assert_eq!(world.server.calls(), [PATCH, GET, PATCH]);
    assert_only_heartbeats(&next);
}

#[tokio::test]
async fn c107_a_busy_server_is_waited_for_within_the_round() {
    let mut world = World::with_node(bare());
    let busy = |header| {
        Reply::Instead(Answer::status(429, "TooManyRequests").with_header("Retry-After", header))
    };
    world.server.answers(PATCH, [busy("2"), busy("99999")]);
    world.run();
    assert_eq!(world.later_calls(4).await, [PATCH, GET, PATCH, PATCH]);
    let received = world.server.received();
    assert!(received[1].at - received[0].at >= Duration::from_secs(2));
    assert!(
        received[3].at - received[2].at >= UPDATE_FREQUENCY,
        "not in this round"
    );
}

#[tokio::test]
async fn a_write_meant_for_the_old_node_never_lands_on_the_new_one() {
    let mut world = World::with_node(bare());
    world.server.store(|store| {
        store.delete_node();
        store.put_node(json!({"metadata": {"name": NAME, "uid": "u2"}}));
    });
    world.run();
    assert_eq!(world.calls(3).await, [PATCH, GET, PATCH]);
    let uids: Vec<Value> = world
        .server
        .received_of(PATCH)
        .iter()
        .map(|patch| patch.body["metadata"]["uid"].clone())
        .collect();
    assert_eq!(uids, ["u1", "u2"]);
    let mut keeping = world.keeping.subscribe();
    let kept = || (keeping.borrow_and_update().as_deref() == Some("u2")).then_some(());
    world.time.still("the new Node is kept", kept).await;
}

#[tokio::test]
async fn c97_a_node_that_was_deleted_stays_deleted() {
    let mut world = World::with_node(bare());
    world.settings.register_node = true;
    world.run();
    // It is there, so it is taken up.
    assert_eq!(world.calls(3).await, [CREATE, GET, PATCH]);
    world.delete_node().await;
    world.time.flow(5 * UPDATE_FREQUENCY).await;
    assert_eq!(world.server.calls(), [CREATE, GET, PATCH]);
    assert_eq!(*world.keeping.borrow(), None);
    // Somebody creates it again.
    world.store_and_see(json!({"metadata": {"name": NAME, "uid": "u2"}}));
    assert_eq!(
        world.calls(4).await[3..],
        [PATCH],
        "it is kept again at once"
    );
    assert_eq!(world.server.received()[3].body["metadata"]["uid"], "u2");
}

#[tokio::test]
async fn c97_a_node_that_was_deleted_comes_back_where_that_is_wished() {
    let mut world = World::new();
    world.settings.register_node = true;
    world.settings.re_register = true;
    world.settings.node_labels = [("example.com/rack".to_owned(), "r1".to_owned())].into();
    world.run();
    assert_eq!(world.calls(1).await, [CREATE]);
    let first = world.stored();
    world.delete_node().await;
    world.later_calls(2).await;
    assert_eq!(world.server.calls(), [CREATE, CREATE]);
    let second = world.stored();
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
    for field in ["/metadata/labels", "/metadata/annotations", "/spec"] {
        assert_eq!(first.pointer(field), second.pointer(field), "{field}");
    }
}

fn registering(stored: Option<Value>) -> World {
    let mut world = World::new();
    world.settings.register_node = true;
    world
        .server
        .store(|store| stored.map(|node| store.put_node(node)));
    world
}

/// Upstream patches what registration finds wrong by itself; in nodelet it travels in the first status patch.
#[tokio::test]
async fn r1_r3_test_register_with_api_server_already_exists() {
    let mut node = bare();
    node["metadata"]["labels"] = json!({"kubernetes.io/hostname": "stale", "theirs": "kept"});
    let mut world = registering(Some(node));
    world.settings.node_status_report_frequency = FOR_EVER;
    world.run();
    assert_eq!(world.calls(3).await, [CREATE, GET, PATCH]);
    let labels = &world.stored()["metadata"]["labels"];
    assert_eq!(
        (&labels["kubernetes.io/hostname"], &labels["theirs"]),
        (&json!(NAME), &json!("kept"))
    );
    assert_eq!(
        world.two_rounds().await,
        Vec::<String>::new(),
        "registered once"
    );
}

/// Upstream forgets its pressures when it restarts; a pressure that is on the Node is held for the transition period.
#[tokio::test]
async fn r1_an_owner_that_starts_again_holds_the_pressure_that_the_node_has() {
    let mut node = bare();
    let mut disk = old("DiskPressure", "True", "KubeletHasDiskPressure", "full");
    disk["lastTransitionTime"] = json!("2024-12-31T23:59:00Z");
    node["status"] = json!({"conditions": [disk]});
    let mut world = registering(Some(node));
    world.run();
    assert_eq!(world.calls(3).await, [CREATE, GET, PATCH]);
    assert_eq!(world.condition("DiskPressure")["status"], "True");
    world
        .time
        .until("the pressure is over", || {
            (world.condition("DiskPressure")["status"] == "False").then_some(())
        })
        .await;
    let over = world.condition("DiskPressure")["lastTransitionTime"].clone();
    assert!(
        over.as_str().unwrap() >= "2025-01-01T00:04:00Z",
        "five minutes after it began: {over}"
    );
}

#[tokio::test]
async fn r2_test_try_register_with_api_server_new_node() {
    let mut world = registering(None);
    world.run();
    assert_eq!(world.calls(1).await, [CREATE]);
    assert_eq!(
        each(&world.stored(), "type"),
        ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]
    );
    let created = world.server.received()[0].at;
    let next = world.next().await;
    assert_only_heartbeats(&next);
    assert!(
        next.at - created >= REPORT_FREQUENCY / 2,
        "the POST was the first report"
    );
}

#[tokio::test]
async fn r4_test_try_register_with_api_server_forbidden_but_there() {
    let mut world = registering(Some(bare()));
    world
        .server
        .answers(CREATE, [Answer::status(403, "Forbidden").into()]);
    world.run();
    assert_eq!(world.calls(3).await, [CREATE, GET, PATCH]);
}

/// The annotation is the attach-detach controller's contract with a kubelet; nodelet neither sets nor removes it.
#[tokio::test]
async fn r5_r6_r7_the_attach_detach_annotation_is_left_as_it_is() {
    const ANNOTATION: &str = "volumes.kubernetes.io/controller-managed-attach-detach";
    let mut node = bare();
    node["metadata"]["annotations"] = json!({ANNOTATION: "true"});
    let mut world = registering(Some(node));
    world.run();
    world.calls(3).await;
    assert_eq!(
        world.stored()["metadata"]["annotations"][ANNOTATION],
        "true"
    );
    let patch = &world.server.received()[2].body;
    assert!(!patch.to_string().contains(ANNOTATION), "{patch}");
}

#[tokio::test]
async fn r8_test_try_register_with_api_server_conflict_is_tried_again_from_the_start() {
    let mut world = registering(None);
    world
        .server
        .answers(CREATE, vec![Answer::status(409, "Conflict").into(); 3]);
    world.run();
    assert_eq!(world.later_calls(4).await, [CREATE; 4]);
    let received = world.server.received();
    let waits: Vec<Duration> = received
        .windows(2)
        .map(|pair| pair[1].at - pair[0].at)
        .collect();
    for (wait, at_least) in waits.iter().zip([100, 200, 400]) {
        assert!(*wait >= Duration::from_millis(at_least), "{waits:?}");
    }
}

#[tokio::test]
async fn r10_test_try_register_with_api_server_get_error() {
    let mut world = registering(Some(bare()));
    world
        .server
        .answers(GET, [Answer::status(500, "InternalError").into()]);
    world.run();
    assert_eq!(
        world.later_calls(5).await,
        [CREATE, GET, CREATE, GET, PATCH]
    );
}

/// Upstream registers again from the start; in nodelet the patch is the status loop's, which reads the Node afresh.
#[tokio::test]
async fn r11_test_try_register_with_api_server_patch_error() {
    let mut world = registering(Some(bare()));
    world
        .server
        .answers(PATCH, [Answer::status(500, "InternalError").into()]);
    world.run();
    assert_eq!(world.calls(5).await, [CREATE, GET, PATCH, GET, PATCH]);
    // What registration brings in order is not forgotten by the failure.
    assert_eq!(
        world.stored()["metadata"]["labels"]["kubernetes.io/hostname"],
        NAME
    );
}

#[tokio::test]
async fn r12_test_register_with_api_server_with_taint() {
    let taint = |key: &str| json!({"key": key, "effect": "NoSchedule"});
    let mut world = registering(None);
    world.settings.register_with_taints = Some(vec![Taint {
        key: "node.kubernetes.io/unschedulable".to_owned(),
        effect: "NoSchedule".to_owned(),
        ..Taint::default()
    }]);
    world.run();
    world.calls(1).await;
    assert_eq!(
        world.server.received()[0].body["spec"]["taints"],
        json!([taint("node.kubernetes.io/unschedulable")])
    );
}

/// An owner has no pod loop, so that no pod may come.
#[tokio::test]
async fn r12_without_configured_taints_an_owner_keeps_pods_away() {
    let mut world = registering(None);
    world.run();
    world.calls(1).await;
    let taints = &world.server.received()[0].body["spec"]["taints"];
    assert_eq!(
        *taints,
        json!([{"key": "nodelet/no-pods", "effect": "NoSchedule"}])
    );
}

/// A Node whose heartbeats are those of this manager.
fn kept_by(manager: &str) -> Value {
    let mut node = bare();
    node["metadata"]["managedFields"] = json!([{
        "manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "subresource": "status",
        "fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {"f:lastHeartbeatTime": {}}}}},
    }]);
    node
}

#[tokio::test]
async fn an_owner_of_a_node_that_a_kubelet_keeps_is_refused_before_any_write() {
    let mut world = registering(Some(kept_by("kubelet")));
    world.run();
    let refusal = world.tasks.join_next().await.unwrap().unwrap().unwrap_err();
    assert_eq!(refusal, Refusal::KeptByOther("kubelet".to_owned()));
    assert_eq!(
        world.server.calls(),
        [CREATE, GET],
        "the POST could only be refused"
    );
    assert_eq!(*world.keeping.borrow(), None);
}

#[tokio::test]
async fn a_companion_never_writes() {
    let mut world = World::with_node(kept_by("kubelet"));
    world.settings.role = Role::Auto;
    world.settings.register_node = true;
    world.run();
    world.time.flow(5 * UPDATE_FREQUENCY).await;
    assert_eq!(world.server.calls(), Vec::<String>::new());
    assert_eq!(*world.keeping.borrow(), None);
}

/// A host that cannot say which machine it is must not take its own Node for another's: refused for good, or a
/// companion for good, it would let the Node die.
async fn waits_for_its_machine_id(role: Role) {
    let mut world = World::new();
    world.settings.role = role;
    let mut node = kept_by("nodelet");
    let instance = nodelet::node::role::instance("123");
    node["metadata"]["annotations"] = json!({"nodelet/instance": instance});
    world.store_and_see(node);
    world.server.store(|store| {
        store.put_lease(json!({
            "metadata": {"name": NAME}, "spec": {"leaseDurationSeconds": 40, "renewTime": NOW},
        }))
    });
    world.host.recording["errors"] = json!({"/etc/machine-id": "EIO"});
    world.host.recording["frames"] = json!([{"afterMs": 1000, "set": {"errors": {}}}]);
    let host = world.run();
    world.later_calls(2).await;
    assert_eq!(*world.keeping.borrow(), None, "{role:?}");
    host.advance();
    world
        .time
        .until("the Node is kept", || world.keeping.borrow().clone())
        .await;
    assert!(world.tasks.try_join_next().is_none());
}

#[tokio::test]
async fn an_owner_waits_for_its_machine_id() {
    waits_for_its_machine_id(Role::Owner).await;
}

#[tokio::test]
async fn the_automatic_role_waits_for_its_machine_id() {
    waits_for_its_machine_id(Role::Auto).await;
}
