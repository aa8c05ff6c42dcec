//! An idle hour in which nothing happens, shortened by configuration: what nodelet sends in it is counted in the
//! apiserver's audit log.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails the test")]

mod support;

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use support::audit::Entry;
use support::controlplane::ControlPlane;
use support::daemon::Daemon;
use support::nodes::{OWN_CONDITIONS, await_ready, await_renewals, stored, uid};
use support::wait::throughout;

const NAME: &str = "idle";
const HOUR: Duration = Duration::from_secs(40);
const UPDATE: SignedDuration = SignedDuration::from_millis(500);
const REPORT: SignedDuration = SignedDuration::from_secs(6);
/// A quarter of a Lease's duration.
const RENEWAL: SignedDuration = SignedDuration::from_secs(2);

/// How much later than its period something may come on a busy machine. It may never come sooner.
const LATE: SignedDuration = SignedDuration::from_millis(1500);

fn received(entry: &Entry) -> Timestamp {
    entry.request_received_timestamp.0
}

fn gaps(entries: &[Entry]) -> Vec<SignedDuration> {
    let times = entries.windows(2);
    times
        .map(|pair| received(&pair[1]).duration_since(received(&pair[0])))
        .collect()
}

#[track_caller]
fn assert_within(gap: SignedDuration, least: SignedDuration, most: SignedDuration, what: &str) {
    assert!(
        least <= gap && gap <= most,
        "{what}: {gap:?} is not in {least:?} to {most:?}"
    );
}

/// A jittered wait is up to this much longer.
fn jittered(period: SignedDuration) -> SignedDuration {
    SignedDuration::try_from_secs_f64(period.as_secs_f64() * 1.04).unwrap()
}

#[test]
fn an_idle_hour_has_the_writes_of_its_periods_and_no_read() {
    let cluster = ControlPlane::shared();
    let mut nodelet = Daemon::owner(cluster, NAME)
        .set("nodeStatusUpdateFrequency", "500ms")
        .set("nodeStatusReportFrequency", "6s")
        .set("nodeLeaseDurationSeconds", 8)
        .spawn();
    await_ready(cluster, NAME, &mut nodelet);
    await_renewals(cluster, NAME, &mut nodelet, 1);
    let begin = Timestamp::now();
    throughout(HOUR, "nodelet runs", || nodelet.status().is_none());
    let end = Timestamp::now();

    let mut asked = cluster.audit().node(NAME).entries();
    asked.retain(|entry| received(entry) <= end);
    let of = |verb: &str, resource: &str| -> Vec<Entry> {
        let wanted = |entry: &&Entry| entry.verb == verb && entry.resource() == resource;
        asked.iter().filter(wanted).cloned().collect()
    };
    for entry in asked.iter().filter(|entry| received(entry) >= begin) {
        let asked = format!("{} {}", entry.verb, entry.resource());
        // The end of a watch, which the server decides, is the only other thing.
        let allowed = ["patch nodes/status", "update leases", "watch nodes"];
        assert!(allowed.contains(&asked.as_str()), "{entry:?}");
        assert!(
            (200..300).contains(&entry.response_status.code),
            "{entry:?}"
        );
    }
    assert_eq!(of("create", "nodes").len(), 1);
    assert_eq!(of("create", "leases").len(), 1);

    let patches = of("patch", "nodes/status");
    // The creation brought the whole status: it is the first report.
    let mut reports = of("create", "nodes");
    reports.extend(patches.iter().cloned());
    reports_come_when_they_are_due(&reports, end);
    renewals_come_when_they_are_due(&of("update", "leases"), end);
    let node = stored(cluster, NAME).unwrap();
    for patch in &patches {
        assert!(
            patch.request_uri.contains("fieldManager=nodelet"),
            "{}",
            patch.request_uri
        );
        let sent = patch.request_object.as_ref().unwrap();
        assert_eq!(uid(sent), uid(&node));
        assert!(
            sent["status"]
                .as_object()
                .is_some_and(|status| !status.is_empty()),
            "{sent}"
        );
    }
    for patch in &patches {
        is_the_heartbeat_of_a_kubelet(patch.request_object.as_ref().unwrap());
    }
}

fn reports_come_when_they_are_due(reports: &[Entry], end: Timestamp) {
    let round = jittered(UPDATE) + LATE;
    let gaps = gaps(reports);
    assert!(gaps.len() >= 4, "{} reports", reports.len());
    assert_within(
        gaps[0],
        REPORT / 2,
        REPORT * 3 / 2 + round,
        "after the start",
    );
    for gap in &gaps[1..] {
        assert_within(*gap, REPORT, REPORT + round, "after a periodic report");
    }
    let silence = end.duration_since(received(reports.last().unwrap()));
    assert!(silence <= REPORT + round, "no report for {silence:?}");
}

fn renewals_come_when_they_are_due(renewals: &[Entry], end: Timestamp) {
    for gap in gaps(renewals) {
        // The request that is the later one may have been on its way for less time.
        let least = RENEWAL - SignedDuration::from_millis(20);
        assert_within(gap, least, jittered(RENEWAL) + LATE, "renewals");
    }
    let first = received(&renewals[0]);
    let span = received(renewals.last().unwrap()).duration_since(first);
    let mean = span / i32::try_from(renewals.len() - 1).unwrap();
    assert_within(
        mean,
        RENEWAL,
        jittered(RENEWAL) + LATE / 5,
        "mean of the renewals",
    );
    let silence = end.duration_since(received(renewals.last().unwrap()));
    assert!(
        silence <= jittered(RENEWAL) + LATE,
        "no renewal for {silence:?}"
    );
}

/// The heartbeat that kubelet 1.36.3 was seen to send, and the UID. Its body there has 411 bytes; the UID adds 60.
fn is_the_heartbeat_of_a_kubelet(sent: &Value) {
    let time = sent["status"]["conditions"][0]["lastHeartbeatTime"].clone();
    let order: Vec<Value> = OWN_CONDITIONS
        .iter()
        .map(|type_| json!({"type": type_}))
        .collect();
    let conditions: Vec<Value> = OWN_CONDITIONS
        .iter()
        .map(|type_| json!({"lastHeartbeatTime": time, "type": type_}))
        .collect();
    let heartbeat = json!({
        "metadata": {"uid": sent["metadata"]["uid"]},
        "status": {"$setElementOrder/conditions": order, "conditions": conditions},
    });
    assert_eq!(sent, &heartbeat);
    assert!(
        sent.to_string().len() <= 411 + 60,
        "{} bytes",
        sent.to_string().len()
    );
}
