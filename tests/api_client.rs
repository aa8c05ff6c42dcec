//! The API client against faults of the link and of the server: what each is taken for, how many requests each
//! costs, and when a connection is given up. The names of the field cases are in the tests' names.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper that fails fails the test"
)]

mod support;

use nodelet::api::client::{ApiClient, Cluster, Deadlines, FAILURES_BEFORE_REBUILD};
use nodelet::api::failure::{Failure, Kind};
use nodelet::api::request::ApiRequest;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use support::scripted::{Answer, Reply, Scripted};
use support::time::TestTime;
use tokio::task::JoinSet;

const DEADLINES: Deadlines = Deadlines {
    request: Duration::from_secs(10),
    connect: Duration::from_secs(5),
};

struct World {
    time: Arc<TestTime>,
    server: Scripted,
    api: ApiClient,
}

impl World {
    fn start() -> Self {
        Self::start_as(&json!({}))
    }

    fn start_as(user: &Value) -> Self {
        let time = TestTime::stop_at("2025-01-01T00:00:00Z");
        let server = Scripted::start();
        server.store(|store| store.put_node(json!({"kind": "Node", "metadata": {"name": "n1"}})));
        let api = ApiClient::new(
            Cluster::Kubeconfig(server.kubeconfig_of(user)),
            DEADLINES,
            time.clone(),
        );
        Self { time, server, api }
    }

    async fn get(&self) -> Result<Value, Failure> {
        get(&self.api).await
    }

    /// Sends this many requests that are never answered.
    async fn hang(&self, requests: usize) -> JoinSet<Result<Value, Failure>> {
        let before = self.server.count();
        self.server
            .answers("get node", vec![Answer::Hang.into(); requests]);
        let mut hanging = JoinSet::new();
        for _ in 0..requests {
            let api = self.api.clone();
            hanging.spawn(async move { get(&api).await });
        }
        let all_there = || (self.server.count() == before + requests).then_some(());
        self.time.still("the requests are there", all_there).await;
        hanging
    }
}

async fn get(api: &ApiClient) -> Result<Value, Failure> {
    api.send(&ApiRequest::get_node("n1")).await
}

fn tokens(server: &Scripted) -> Vec<String> {
    let bearer = |header: Option<&String>| {
        header
            .map_or("", |text| text.trim_start_matches("Bearer "))
            .to_owned()
    };
    server
        .received()
        .iter()
        .map(|received| bearer(received.headers.get("authorization")))
        .collect()
}

/// A script that lets in whoever has `token`.
fn only(server: &Scripted, token: &'static str) {
    server.script(move |received| {
        match received
            .headers
            .get("authorization")
            .and_then(|header| header.strip_prefix("Bearer "))
        {
            Some(given) if given == token => Reply::Store,
            _ => Answer::status(401, "Unauthorized").into(),
        }
    });
}

#[tokio::test]
async fn a_request_says_who_asks_and_how_long_it_will_wait() {
    let world = World::start();
    world.get().await.unwrap();
    world
        .api
        .send::<Value>(&ApiRequest::patch_node_status("n1", json!({"status": {}})))
        .await
        .unwrap();
    let [get, patch] = world.server.received().try_into().unwrap();
    assert_eq!(
        (get.call().as_str(), get.query.as_str()),
        ("get node", "timeout=10s")
    );
    assert_eq!(
        (patch.call().as_str(), patch.query.as_str()),
        ("patch node/status", "fieldManager=nodelet&timeout=10s")
    );
    assert_eq!(
        patch.headers["content-type"],
        "application/strategic-merge-patch+json"
    );
    assert_eq!(patch.body, json!({"status": {}}));
    assert_eq!(
        get.connection, patch.connection,
        "one connection serves both"
    );
}

#[tokio::test]
async fn a_hanging_answer_ends_at_the_deadline() {
    let world = World::start();
    let mut hanging = world.hang(1).await;
    world.time.jump(Duration::from_secs(9)).await;
    assert!(
        hanging.try_join_next().is_none(),
        "ended before its deadline"
    );
    world.time.jump(Duration::from_secs(1)).await;
    let failure = hanging.join_next().await.unwrap().unwrap().unwrap_err();
    assert_eq!(failure.kind, Kind::Timeout);
    assert_eq!(
        failure.message,
        "get /api/v1/nodes/n1: no answer within 10s"
    );
    assert_eq!(world.server.count(), 1);
}

#[tokio::test]
async fn a_body_that_stops_coming_ends_at_the_deadline_too() {
    let world = World::start();
    // A stream without an end looks like a body that never becomes whole.
    let endless = Answer::Events {
        events: vec![json!({})],
        ends: false,
    };
    world.server.script(move |_| endless.clone().into());
    let mut request = JoinSet::new();
    let api = world.api.clone();
    request.spawn(async move { get(&api).await });
    world
        .time
        .still("the request is there", || {
            (world.server.count() == 1).then_some(())
        })
        .await;
    world.time.jump(DEADLINES.request).await;
    let failure = request.join_next().await.unwrap().unwrap().unwrap_err();
    assert_eq!(failure.kind, Kind::Timeout);
}

#[tokio::test]
async fn no_failure_is_retried_behind_the_callers_back() {
    let world = World::start();
    let json = |code, reason: &str| Answer::status(code, reason);
    for (answer, kind) in [
        (
            json(429, "TooManyRequests").with_header("Retry-After", "1"),
            Kind::TooManyRequests,
        ),
        (
            json(503, "ServiceUnavailable").with_header("Retry-After", "1"),
            Kind::Server,
        ),
        (json(504, "Timeout"), Kind::Server),
        (json(500, "InternalError"), Kind::Server),
        (json(404, "NotFound"), Kind::NotFound),
        (json(409, "Conflict"), Kind::Conflict),
        (json(410, "Expired"), Kind::Gone),
        (json(422, "Invalid"), Kind::Invalid),
        (json(403, "Forbidden"), Kind::Forbidden),
        (Answer::Reset, Kind::Network),
        (Answer::Half, Kind::Network),
        (Answer::Bytes(Vec::new()), Kind::Network),
        (
            Answer::Bytes(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()),
            Kind::Network,
        ),
        (Answer::json(200, json!("no object")), Kind::Garbled),
        (
            Answer::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n<ht>".to_vec()),
            Kind::Garbled,
        ),
    ] {
        let row = format!("{answer:?}");
        let before = world.server.count();
        world.server.script(move |_| answer.clone().into());
        let sent = world
            .api
            .send::<k8s_openapi::api::core::v1::Node>(&ApiRequest::get_node("n1"))
            .await;
        assert_eq!(sent.unwrap_err().kind, kind, "{row}");
        assert_eq!(world.server.count(), before + 1, "{row}");
    }
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_is_sent_once() {
    let world = World::start();
    for answer in [Answer::Reset, Answer::Half, Answer::Bytes(Vec::new())] {
        // The connection has been in use, so that a pool might take its loss for an idle connection's.
        world.get().await.unwrap();
        let before = world.server.count();
        world
            .server
            .answers("create node", [Reply::DoneBut(answer.clone())]);
        world
            .server
            .store(support::scripted::store::Store::delete_node);
        let created = world
            .api
            .send::<Value>(&ApiRequest::create_node(
                json!({"metadata": {"name": "n1"}}),
            ))
            .await;
        assert_eq!(created.unwrap_err().kind, Kind::Network, "{answer:?}");
        assert_eq!(
            world.server.calls()[before..],
            ["create node"],
            "{answer:?}"
        );
    }
}

#[tokio::test]
async fn c107_what_the_server_asks_to_wait_is_handed_on() {
    let world = World::start();
    for (header, wait) in [
        ("2", Some(2)),
        ("Wed, 01 Jan 2025 00:00:05 GMT", Some(5)),
        ("Tue, 31 Dec 2024 23:00:00 GMT", Some(0)),
        ("99999", Some(99_999)),
        ("soon", None),
    ] {
        world.server.script(move |_| {
            Answer::status(429, "TooManyRequests")
                .with_header("Retry-After", header)
                .into()
        });
        let failure = world.get().await.unwrap_err();
        assert_eq!(
            failure.retry_after,
            wait.map(Duration::from_secs),
            "{header}"
        );
    }
}

#[tokio::test]
async fn c102_two_link_failures_in_a_row_give_up_all_connections() {
    assert_eq!(FAILURES_BEFORE_REBUILD, 2);
    let world = World::start();
    for (failures, connections) in [(1, 0), (2, 1)] {
        let hanging = world.hang(failures).await;
        // A connection that works, or seems to, while the others hang.
        world.get().await.unwrap();
        let accepted = world.server.accepted();
        world.time.jump(DEADLINES.request).await;
        for failure in hanging.join_all().await {
            assert_eq!(failure.unwrap_err().kind, Kind::Timeout);
        }
        world.get().await.unwrap();
        assert_eq!(
            world.server.accepted(),
            accepted + connections,
            "after {failures} failures"
        );
    }
}

#[tokio::test]
async fn an_answer_of_any_kind_shows_that_the_link_is_alive() {
    let world = World::start();
    world.get().await.unwrap();
    for _ in 0..5 {
        world
            .server
            .answers("get node", [Answer::status(500, "InternalError").into()]);
        assert_eq!(world.get().await.unwrap_err().kind, Kind::Server);
    }
    world.get().await.unwrap();
    assert_eq!(world.server.accepted(), 1);
}

#[tokio::test]
async fn a_client_of_its_own_has_a_connection_of_its_own() {
    let world = World::start();
    let other = world.api.separate();
    world.get().await.unwrap();
    get(&other).await.unwrap();
    let connections: Vec<usize> = world
        .server
        .received()
        .iter()
        .map(|received| received.connection)
        .collect();
    assert_eq!(connections, [1, 2]);
}

#[tokio::test]
async fn an_answer_too_long_to_be_true_is_refused() {
    let world = World::start();
    world
        .server
        .script(|_| Answer::json(200, json!({"padding": "x".repeat(9 << 20)})).into());
    let failure = world.get().await.unwrap_err();
    assert_eq!(failure.kind, Kind::Garbled, "{failure}");
    assert!(failure.message.contains("8388608 bytes"), "{failure}");
}

#[tokio::test]
async fn c105_a_token_swapped_under_a_projected_volume_is_used_at_once() {
    let world = World::start();
    let directory = world.server.directory().to_owned();
    project(&directory, "a", "tok1");
    symlink("..data/token", directory.join("token")).unwrap();
    world
        .server
        .kubeconfig_of(&json!({"tokenFile": directory.join("token")}));
    world.get().await.unwrap();
    project(&directory, "b", "tok2");
    only(&world.server, "tok2");
    world.get().await.unwrap();
    assert_eq!(
        tokens(&world.server),
        ["tok1", "tok2"],
        "no request was refused on the way"
    );
}

/// What the kubelet does to a projected volume: a new directory, then the link `..data` renamed onto it.
fn project(directory: &Path, generation: &str, token: &str) {
    fs::create_dir(directory.join(generation)).unwrap();
    fs::write(directory.join(generation).join("token"), token).unwrap();
    let link = directory.join("..data.new");
    symlink(generation, &link).unwrap();
    fs::rename(link, directory.join("..data")).unwrap();
}

#[tokio::test]
async fn c105_a_401_has_the_token_read_again_and_one_more_try() {
    let world = World::start();
    let token = world.server.directory().join("token");
    fs::write(&token, "tok1").unwrap();
    world.server.kubeconfig_of(&json!({"tokenFile": token}));
    // Swapped between the look at the file and the answer: the client cannot have seen it before the 401.
    let mut swapped = false;
    world.server.script(move |received| {
        if !swapped {
            swapped = true;
            fs::write(&token, "tok2").unwrap();
        }
        match received.headers["authorization"].as_str() {
            "Bearer tok2" => Reply::Store,
            _ => Answer::status(401, "Unauthorized").into(),
        }
    });
    world.get().await.unwrap();
    assert_eq!(tokens(&world.server), ["tok1", "tok2"]);
}

#[tokio::test]
async fn a_401_that_stays_is_a_failure_after_two_requests() {
    let world = World::start_as(&json!({"token": "old"}));
    only(&world.server, "new");
    assert_eq!(world.get().await.unwrap_err().kind, Kind::Unauthorized);
    assert_eq!(tokens(&world.server), ["old", "old"]);
}

#[tokio::test]
async fn another_kubeconfig_is_used_at_once() {
    let world = World::start_as(&json!({"token": "one"}));
    world.get().await.unwrap();
    world
        .server
        .kubeconfig_of(&json!({"token": "two-and-longer"}));
    world.get().await.unwrap();
    assert_eq!(tokens(&world.server), ["one", "two-and-longer"]);
}

#[tokio::test]
async fn c106_another_certificate_is_used_on_a_new_connection() {
    let world = World::start();
    let directory = world.server.directory().to_owned();
    let issue = |name: &str| {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(vec![name.to_owned()])
            .unwrap()
            .self_signed(&key)
            .unwrap();
        fs::write(directory.join("key.new"), key.serialize_pem()).unwrap();
        fs::write(directory.join("crt.new"), certificate.pem()).unwrap();
        fs::rename(directory.join("key.new"), directory.join("key")).unwrap();
        fs::rename(directory.join("crt.new"), directory.join("crt")).unwrap();
    };
    issue("first");
    world.server.kubeconfig_of(&json!({
        "client-certificate": directory.join("crt"), "client-key": directory.join("key"),
    }));
    world.get().await.unwrap();
    world.get().await.unwrap();
    assert_eq!(world.server.accepted(), 1);
    issue("second");
    world.get().await.unwrap();
    assert_eq!(
        world.server.accepted(),
        2,
        "a connection shows the certificate that it was made with"
    );
}

#[tokio::test]
async fn c106_a_credential_that_cannot_be_read_is_a_failure_until_it_can() {
    let world = World::start();
    let token = world.server.directory().join("token");
    world.server.kubeconfig_of(&json!({"tokenFile": token}));
    let failure = world.get().await.unwrap_err();
    assert_eq!(failure.kind, Kind::Network);
    assert!(
        failure.message.contains("cannot use the credential"),
        "{failure}"
    );
    assert_eq!(world.server.accepted(), 0);
    fs::write(&token, "tok1").unwrap();
    world.get().await.unwrap();
    assert_eq!(tokens(&world.server), ["tok1"]);
}

/// A FIFO that nobody writes to stands for a file of a mount that hangs: to open it takes for ever.
fn hanging_file(path: &Path) {
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
    let path = path.to_owned();
    // Lets go of a client that waits for it on the test's own thread, so that the test fails rather than hangs.
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(30));
        while fs::OpenOptions::new().write(true).open(&path).is_ok() {}
    });
}

#[tokio::test]
async fn a_credential_whose_file_hangs_holds_up_its_own_request_alone() {
    let world = World::start();
    let token = world.server.directory().join("token");
    world.server.kubeconfig_of(&json!({"tokenFile": token}));
    hanging_file(&token);
    let mut asking = JoinSet::new();
    let api = world.api.clone();
    asking.spawn(async move { get(&api).await });
    let failure = world
        .time
        .until("the request gives up", || asking.try_join_next())
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(failure.kind, Kind::Network);
    assert!(failure.message.contains("no answer within 5s"), "{failure}");
    let failure = world.get().await.unwrap_err();
    assert!(failure.message.contains("still hangs"), "{failure}");
}
