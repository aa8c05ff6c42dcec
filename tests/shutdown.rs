//! How nodelet ends: promptly when asked to, whatever hangs, and with an exit code that says why.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails the test")]

mod support;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use support::controlplane::ControlPlane;
use support::daemon::Daemon;
use support::nodelet::{Nodelet, Running};
use support::nodes::{await_ready, await_renewals, await_reports, lease};
use support::process;
use support::proxy::Proxy;
use support::scratch::Scratch;

/// It ends within two seconds; a busy machine gets three times that.
const PROMPTLY: Duration = Duration::from_secs(6);

#[track_caller]
fn assert_ends_with(nodelet: &mut Running, code: i32) {
    let status = nodelet.wait(PROMPTLY);
    assert_eq!(status.code(), Some(code), "{status}:\n{}", nodelet.stderr());
}

/// Nothing that was sent is left without its answer, or was refused but for the creation of what is there.
fn assert_nothing_half_sent(cluster: &ControlPlane, name: &str) {
    for stage in [cluster.audit(), cluster.audit().panicked()] {
        for entry in stage.node(name).entries() {
            let code = entry.response_status.code;
            match entry.verb.as_str() {
                "create" => assert!(code == 201 || code == 409, "{entry:?}"),
                "update" | "patch" => assert_eq!(code, 200, "{entry:?}"),
                _ => {}
            }
        }
    }
}

/// Again and again, so that the signal comes at many different moments of the work.
#[test]
fn sigterm_ends_it_with_nothing_half_sent() {
    const NAME: &str = "end-sigterm";
    let cluster = ControlPlane::shared();
    for round in 0..6_u64 {
        let mut nodelet = Daemon::owner(cluster, NAME)
            .set("nodeStatusUpdateFrequency", "100ms")
            .set("nodeStatusReportFrequency", "100ms")
            .spawn();
        await_ready(cluster, NAME, &mut nodelet);
        await_reports(cluster, NAME, &mut nodelet, 1);
        std::thread::sleep(Duration::from_millis(17 * round));
        nodelet.signal(if round % 2 == 0 {
            Signal::TERM
        } else {
            Signal::INT
        });
        assert_ends_with(&mut nodelet, 0);
        assert_eq!(nodelet.stdout(), "");
    }
    assert_nothing_half_sent(cluster, NAME);
}

/// Also before it has reached any cluster.
#[test]
fn sigterm_ends_it_while_the_cluster_cannot_be_reached() {
    const NAME: &str = "end-unreachable";
    let cluster = ControlPlane::shared();
    let proxy = Proxy::start(&cluster.server_url());
    proxy.silence();
    let mut nodelet = Daemon::owner(cluster, NAME)
        .kubeconfig(cluster.node_kubeconfig_at(NAME, &proxy.url()))
        .spawn();
    nodelet.eventually("a try to connect", || (proxy.swallowed() > 0).then_some(()));
    nodelet.terminate();
    assert_ends_with(&mut nodelet, 0);
}

/// A nodelet whose requests get no answer any more.
fn unanswered(cluster: &ControlPlane, name: &str, proxy: &Proxy) -> Running {
    let mut nodelet = Daemon::owner(cluster, name)
        .kubeconfig(cluster.node_kubeconfig_at(name, &proxy.url()))
        .spawn();
    await_ready(cluster, name, &mut nodelet);
    proxy.silence();
    nodelet.eventually("a request that gets no answer", || {
        (proxy.swallowed() > 0).then_some(())
    });
    nodelet
}

#[test]
fn sigterm_ends_it_while_a_request_hangs() {
    let cluster = ControlPlane::shared();
    let proxy = Proxy::start(&cluster.server_url());
    let mut nodelet = unanswered(cluster, "end-request", &proxy);
    nodelet.terminate();
    assert_ends_with(&mut nodelet, 0);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let cluster = ControlPlane::shared();
    let proxy = Proxy::start(&cluster.server_url());
    let mut nodelet = unanswered(cluster, "end-twice", &proxy);
    nodelet.terminate();
    nodelet.signal(Signal::INT);
    assert_ends_with(&mut nodelet, 130);
}

/// Mounts a FUSE filesystem that nobody serves, in a mount namespace of nodelet's own: whoever asks it anything waits
/// in the kernel. It goes away with nodelet, which holds its file descriptor.
const WITH_HANGING_MOUNT: &str = r#"
    at=$1
    shift
    exec 9<>/dev/fuse &&
    mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0 hanging "$at" &&
    exec "$@"
"#;

fn in_namespace_with_hanging_mount(mount_point: &Path) -> Vec<PathBuf> {
    let namespace = [
        "unshare",
        "--map-root-user",
        "--mount",
        "--",
        "sh",
        "-c",
        WITH_HANGING_MOUNT,
        "sh",
    ];
    let namespace = namespace.into_iter().map(PathBuf::from);
    namespace.chain([mount_point.to_owned()]).collect()
}

/// Whether this machine and this user may do what `wrapper` does.
fn can_run(wrapper: &[PathBuf]) -> bool {
    let mut command = process::command(&wrapper[0]);
    command.args(&wrapper[1..]).arg("true");
    let mut child = process::spawn(command);
    process::wait(&mut child, PROMPTLY).is_some_and(|status| status.success())
}

/// Whether a thread of the process waits in the kernel for the FUSE filesystem.
fn a_call_hangs(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    threads.flatten().any(|thread| {
        fs::read_to_string(thread.path().join("wchan")).is_ok_and(|place| place.contains("fuse"))
    })
}

/// The node's filesystem never answers: reports and renewals go on all the same, and so does the end.
#[test]
fn sigterm_ends_it_while_a_call_to_the_host_hangs() {
    const NAME: &str = "end-statfs";
    let cluster = ControlPlane::shared();
    let scratch = Scratch::new();
    let mount_point = scratch.path().join("kubelet");
    fs::create_dir(&mount_point).unwrap();
    let wrapper = in_namespace_with_hanging_mount(&mount_point);
    if !can_run(&wrapper) {
        // Past the test's captured output: nobody should believe that this was tested.
        let _ = writeln!(
            std::io::stderr(),
            "NOT TESTED, for no FUSE filesystem can be mounted here: the end of nodelet while a call to the host hangs"
        );
        return;
    }
    let mut nodelet = Daemon::owner(cluster, NAME)
        .set("rootDirectory", mount_point.to_str().unwrap())
        .set("timeouts", json!({"statfs": "200ms"}))
        .command()
        .under(wrapper)
        .spawn();
    let pid = nodelet.pid();
    nodelet.eventually("a call that hangs", || a_call_hangs(pid).then_some(()));
    nodelet.eventually("the Lease", || lease(cluster, NAME));
    await_reports(cluster, NAME, &mut nodelet, 2);
    await_renewals(cluster, NAME, &mut nodelet, 2);
    assert!(a_call_hangs(pid));
    nodelet.terminate();
    assert_ends_with(&mut nodelet, 0);
}

#[test]
fn every_fault_of_a_configuration_is_named_with_its_place() {
    let scratch = Scratch::new();
    let file = scratch.path().join("config.yaml");
    let config = "role: owner\nnodeStatusUpdateFrequency: often\nmaxPods: -3\nnoSuchKey: 1\n\
                  nodeLabels:\n  node-role.kubernetes.io/worker: \"\"\n  example.com/x: y\n";
    fs::write(&file, config).unwrap();
    let finished = Nodelet::new().arg("--config").arg(&file).run(PROMPTLY);
    assert_eq!(finished.status.code(), Some(2), "{}", finished.stderr);
    assert_eq!(finished.stdout, "");
    for (line, key) in [
        (2, "nodeStatusUpdateFrequency"),
        (3, "maxPods"),
        (4, "noSuchKey"),
        (6, "node-role.kubernetes.io/worker"),
    ] {
        let place = format!("config.yaml:{line}");
        let named = |said: &str| said.contains(&place) && said.contains(key);
        assert!(
            finished.stderr.lines().any(named),
            "{place} {key} is not in:\n{}",
            finished.stderr
        );
    }
    assert!(
        !finished.stderr.contains("example.com/x"),
        "{}",
        finished.stderr
    );
}

#[test]
fn bad_usage_is_told_from_a_failure() {
    for args in [
        &["--no-such-flag"][..],
        &["--config", "/no/such/file"],
        &["--role", "king"],
        &["surplus"],
    ] {
        let finished = Nodelet::new().args(args).run(PROMPTLY);
        assert_eq!(
            finished.status.code(),
            Some(2),
            "{args:?}: {}",
            finished.stderr
        );
        assert_eq!(finished.stdout, "", "{args:?}");
    }
}
