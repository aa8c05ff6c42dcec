use super::*;
use serde_json::json;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A recording in a temporary directory.
struct Dir(tempfile::TempDir);

impl Dir {
    fn new(recording: &Value) -> Self {
        let dir = Self(tempfile::tempdir().unwrap());
        dir.file("recording.json", recording.to_string())
    }

    fn file(self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    fn link(self, path: &str, target: impl AsRef<Path>) -> Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
        self
    }

    fn open(&self) -> (Replay, RecordingHead) {
        Replay::open(self.0.path()).unwrap()
    }

    fn refused(&self) -> String {
        Replay::open(self.0.path()).unwrap_err().to_string()
    }
}

/// A replay of `keys` beside the version.
fn replay(mut keys: Value) -> Replay {
    keys["version"] = json!(1);
    Dir::new(&keys).open().0
}

fn failure<T: std::fmt::Debug>(answer: Result<T, SourceError>) -> String {
    answer.unwrap_err().to_string()
}

fn filesystem(blocks: u64) -> Value {
    json!({"type": "ext4", "blockSize": 4096, "fragmentSize": 1024, "blocks": blocks, "blocksFree": 5,
           "blocksAvailable": 4, "files": 3, "filesFree": 2, "readOnly": true})
}

#[test]
fn version_must_be_known() {
    let refused = Dir::new(&json!({"version": 2})).refused();
    assert!(
        refused.ends_with("recording.json: version: 2 is not known, only 1 is"),
        "{refused}"
    );
    let refused = Dir::new(&json!({})).refused();
    assert!(
        refused.ends_with("recording.json: version: missing, must be 1"),
        "{refused}"
    );
}

#[test]
fn taken_at_settings_and_cluster_are_the_head() {
    let head = |keys: &Value| Dir::new(keys).open().1;
    assert_eq!(head(&json!({"version": 1})), RecordingHead::default());
    let given = head(
        &json!({"version": 1, "takenAt": "2026-11-30T07:00:00Z", "settings": {"maxPods": 5},
        "cluster": {"node": {"kind": "Node"}, "lease": null, "nodeMetric": {"a": 1}, "nodeSLO": {"b": 2},
                    "configMap": null, "pods": [{"c": 3}]}}),
    );
    assert_eq!(given.taken_at.unwrap().to_string(), "2026-11-30T07:00:00Z");
    assert_eq!(given.settings, Some(json!({"maxPods": 5})));
    let cluster = given.cluster.unwrap();
    assert_eq!(cluster.node, Some(Some(json!({"kind": "Node"}))));
    assert_eq!(cluster.lease, Some(None), "null means 404");
    assert_eq!(cluster.node_metric, Some(Some(json!({"a": 1}))));
    assert_eq!(cluster.node_slo, Some(Some(json!({"b": 2}))));
    assert_eq!(cluster.config_map, Some(None));
    assert_eq!(cluster.pods, Some(vec![json!({"c": 3})]));
    assert_eq!(
        head(&json!({"version": 1, "cluster": {}})).cluster,
        Some(Cluster::default())
    );
}

#[test]
fn numbers_and_names_of_the_kernel() {
    let host = replay(
        json!({"hostname": "N1\n", "clockTicksPerSecond": 250, "pageSize": 65536,
        "uname": {"sysname": "Linux", "release": "6.1.0", "machine": "s390x"},
        "clock": {"unsynchronized": true}, "shutdown": true}),
    );
    assert_eq!(host.hostname().unwrap(), "N1\n");
    assert_eq!(host.clock_ticks_per_second(), 250);
    assert_eq!(host.page_size(), 65536);
    let uname = Uname {
        sysname: "Linux".into(),
        release: "6.1.0".into(),
        machine: "s390x".into(),
    };
    assert_eq!(host.uname().unwrap(), uname);
    assert!(host.clock_unsynchronized().unwrap());
    assert!(host.shutdown().unwrap());
}

#[test]
fn what_is_absent_is_a_failed_reading() {
    let host = replay(json!({}));
    assert_eq!(failure(host.hostname()), "hostname: not in the recording");
    assert_eq!(failure(host.uname()), "uname: not in the recording");
    assert_eq!(
        failure(host.interfaces()),
        "interfaces: not in the recording"
    );
    assert_eq!(
        failure(host.lookup("n1")),
        "lookup n1: not in the recording"
    );
    assert_eq!(
        failure(host.clock_unsynchronized()),
        "clock: not in the recording"
    );
    assert_eq!(failure(host.shutdown()), "shutdown: not in the recording");
    assert_eq!(failure(host.statfs("/")), "statfs /: ENOENT");
    assert_eq!(
        failure(host.read("/etc/machine-id")),
        "read /etc/machine-id: ENOENT"
    );
    assert_eq!(failure(host.images()), "cri ListImages: ENOENT");
    assert!(!host.has_runtime());
    assert_eq!(
        (host.clock_ticks_per_second(), host.page_size()),
        (100, 4096)
    );
    assert!(!host.advance());
}

#[test]
fn statfs_takes_the_nearest_listed_parent() {
    let keys = json!({"version": 1, "statfs": {"/": filesystem(1), "/var/lib": filesystem(2), "/data/": filesystem(3)},
        "errors": {"statfs:/mnt/dead": "ESTALE"}});
    let dir = Dir::new(&keys)
        .link("root/var/lib/kubelet", "/data/kubelet")
        .link("root/loop", "loop");
    let (host, _) = dir.open();
    let expected = Statfs {
        fs_type: "ext4".into(),
        block_size: 4096,
        fragment_size: 1024,
        blocks: 1,
        blocks_free: 5,
        blocks_available: 4,
        files: 3,
        files_free: 2,
        read_only: true,
    };
    assert_eq!(host.statfs("/").unwrap(), expected);
    for (path, blocks) in [
        ("/var", 1),
        ("/var/lib", 2),
        ("/var/lib/", 2),
        ("/var/lib/containerd/x", 2),
        ("/var/library", 1),
        ("/var/lib/kubelet", 3),
        ("/data", 3),
    ] {
        assert_eq!(host.statfs(path).unwrap().blocks, blocks, "{path}");
    }
    assert_eq!(
        failure(host.statfs("/mnt/dead")),
        "statfs /mnt/dead: ESTALE"
    );
    assert_eq!(
        failure(host.statfs("/mnt/dead/below")),
        "statfs /mnt/dead/below: ESTALE"
    );
    assert_eq!(failure(host.statfs("/loop")), "statfs /loop: ELOOP");
}

#[test]
fn interfaces_with_their_flags() {
    let device = |flags: &[&str], address_flags: &[&str]| {
        let address = json!({"address": "2001:db8::1", "prefix": 64, "flags": address_flags});
        let device = json!({"name": "eth0", "index": 7, "flags": flags, "addresses": [address]});
        let interfaces = replay(json!({"interfaces": [device]}))
            .interfaces()
            .unwrap();
        assert_eq!(
            (
                interfaces.len(),
                interfaces[0].index,
                interfaces[0].name.as_str()
            ),
            (1, 7, "eth0")
        );
        let address = interfaces[0].addresses[0].clone();
        assert_eq!(
            (address.address.to_string(), address.prefix),
            ("2001:db8::1".to_owned(), 64)
        );
        (interfaces[0].clone(), address)
    };
    let flags = |flag: &str| {
        let (interface, _) = device(&[flag], &[]);
        [interface.up, interface.loopback, interface.point_to_point]
    };
    assert_eq!(flags("UP"), [true, false, false]);
    assert_eq!(flags("LOOPBACK"), [false, true, false]);
    assert_eq!(flags("POINTOPOINT"), [false, false, true]);
    let flags = |flag: &str| {
        let (_, address) = device(&[], &[flag]);
        [
            address.secondary,
            address.temporary,
            address.tentative,
            address.deprecated,
        ]
    };
    assert_eq!(flags("secondary"), [true, false, false, false]);
    assert_eq!(flags("temporary"), [false, true, false, false]);
    assert_eq!(flags("tentative"), [false, false, true, false]);
    assert_eq!(flags("deprecated"), [false, false, false, true]);
}

#[test]
fn lookups_answer_by_name_in_order() {
    let host = replay(json!({"lookups": {"n1": ["2001:db8::1", "127.0.1.1"], "empty": []}}));
    let addresses: Vec<String> = host
        .lookup("n1")
        .unwrap()
        .iter()
        .map(IpAddr::to_string)
        .collect();
    assert_eq!(addresses, ["2001:db8::1", "127.0.1.1"]);
    assert!(host.lookup("empty").unwrap().is_empty());
    assert!(host.lookup("n2").is_err());
}

#[test]
fn cri_answers_each_call() {
    let host = replay(json!({"cri": {
        "version": {"runtimeName": "containerd", "runtimeVersion": "2.3.7"},
        "status": {"conditions": [{"type": "RuntimeReady", "status": true, "reason": "R", "message": "M"}],
                   "runtimeHandlers": [{"name": "kata", "recursiveReadOnlyMounts": true, "userNamespaces": true}],
                   "features": {"supplementalGroupsPolicy": true}},
        "runtimeConfig": {"cgroupDriver": "systemd"},
        "images": [{"id": "sha256:1", "repoTags": ["a:v1"], "repoDigests": ["a@sha256:1"], "size": 1000, "pinned": true}],
        "imageFs": [{"mountpoint": "/images"}], "containerFs": [{"mountpoint": "/containers"}]}}));
    assert!(host.has_runtime());
    let version = cri::RuntimeVersion {
        name: "containerd".into(),
        version: "2.3.7".into(),
    };
    assert_eq!(host.runtime_version().unwrap(), version);
    let condition = cri::RuntimeCondition {
        kind: "RuntimeReady".into(),
        status: true,
        reason: "R".into(),
        message: "M".into(),
    };
    let handler = cri::RuntimeHandler {
        name: "kata".into(),
        recursive_read_only_mounts: true,
        user_namespaces: true,
    };
    let features = Some(cri::RuntimeFeatures {
        supplemental_groups_policy: true,
    });
    let status = cri::RuntimeStatus {
        conditions: vec![condition],
        handlers: vec![handler],
        features,
    };
    assert_eq!(host.runtime_status().unwrap(), status);
    assert_eq!(host.cgroup_driver().unwrap(), "systemd");
    let image = cri::Image {
        id: "sha256:1".into(),
        repo_tags: vec!["a:v1".into()],
        repo_digests: vec!["a@sha256:1".into()],
        size_bytes: 1000,
        pinned: true,
    };
    assert_eq!(host.images().unwrap(), [image]);
    let filesystems = cri::ImageFilesystems {
        image: vec!["/images".into()],
        container: vec!["/containers".into()],
    };
    assert_eq!(host.image_filesystems().unwrap(), filesystems);

    let host = replay(json!({"cri": {}}));
    assert!(
        host.has_runtime(),
        "a runtime that answers nothing is one that fails"
    );
    assert_eq!(
        failure(host.runtime_version()),
        "cri Version: not in the recording"
    );
    assert_eq!(
        failure(host.image_filesystems()),
        "cri ImageFsInfo: not in the recording"
    );
}

#[test]
fn files_directories_and_links() {
    let dir =
        Dir::new(&json!({"version": 1, "directories": ["sys/hugepages/hugepages-foo", "/empty"]}))
            .file("root/usr/lib/os-release", "ID=x\n")
            .file("root/sys/hugepages/hugepages-2048kB/nr_hugepages", "3\n")
            .file("root/proc/1/mountinfo", b"\xff raw \xfe")
            .link("root/etc/os-release", "../usr/lib/os-release");
    let (host, _) = dir.open();
    assert_eq!(host.read("/etc/os-release").unwrap(), b"ID=x\n");
    assert_eq!(host.read("/proc/1/mountinfo").unwrap(), b"\xff raw \xfe");
    assert_eq!(
        host.link("/etc/os-release").unwrap(),
        Path::new("../usr/lib/os-release")
    );
    assert_eq!(failure(host.link("/usr")), "link /usr: EINVAL");
    assert_eq!(
        host.list("/sys/hugepages").unwrap(),
        ["hugepages-2048kB", "hugepages-foo"]
    );
    assert_eq!(
        host.list("/").unwrap(),
        ["empty", "etc", "proc", "sys", "usr"]
    );
    assert!(host.list("/empty").unwrap().is_empty());
    assert_eq!(failure(host.list("/missing")), "list /missing: ENOENT");
    assert_eq!(
        failure(host.list("/etc/os-release")),
        "list /etc/os-release: ENOTDIR"
    );
    assert_eq!(failure(host.read("/usr")), "read /usr: EISDIR");
    assert_eq!(failure(host.read("/empty")), "read /empty: EISDIR");
    assert_eq!(
        failure(host.read("/etc/os-release/x")),
        "read /etc/os-release/x: ENOTDIR"
    );
}

#[test]
fn nothing_outside_of_the_recording_is_read() {
    let dir = Dir::new(&json!({"version": 1, "frames": [{"afterMs": 1, "root": "frames/1"}]}))
        .file("secret", "outside of root/")
        .link("root/up", "../secret")
        .link("root/absolute", "/etc/passwd")
        .link("root/etc", "/etc")
        .file("frames/1/etc/hosts", "of the frame")
        .file("frames/1/absolute/x", "");
    let (host, _) = dir.open();
    for path in ["/up", "/absolute", "/etc/passwd", "/../secret"] {
        assert!(host.read(path).is_err(), "{path}");
        assert!(host.list(path).is_err(), "{path}");
    }
    assert!(host.advance());
    // The link below is hidden by a directory now, and does not lend its target to it.
    assert_eq!(host.list("/etc").unwrap(), ["hosts"]);
    assert_eq!(host.read("/etc/hosts").unwrap(), b"of the frame");
    assert!(host.read("/etc/passwd").is_err());
    assert_eq!(host.list("/absolute").unwrap(), ["x"]);

    let outside = tempfile::tempdir().unwrap();
    let refused = Dir::new(&json!({"version": 1}))
        .link("root", outside.path())
        .refused();
    assert!(refused.ends_with("root: not a directory"), "{refused}");
    let frames = json!({"version": 1, "frames": [{"afterMs": 1, "root": "frames/1"}]});
    fs::create_dir(outside.path().join("1")).unwrap();
    let refused = Dir::new(&frames).link("frames", outside.path()).refused();
    assert!(
        refused.contains("frames[0].root: no directory frames/1"),
        "{refused}"
    );
}

#[test]
fn errors_come_in_place_of_answers() {
    let keys = json!({"version": 1, "hostname": "n1", "interfaces": [], "lookups": {"n1": []},
        "uname": {"sysname": "Linux", "release": "6", "machine": "x"}, "statfs": {"/": filesystem(1)},
        "clock": {"unsynchronized": false}, "cri": {"images": [], "runtimeConfig": {"cgroupDriver": "x"}},
        "errors": {"/both": "EIO", "open:/opened": "EACCES", "read:/read": "EPERM", "list:/listed": "ENOMEM",
            "link:/link": "EBUSY", "/usr/target": "ENXIO",
            "statfs:/": "EINTR", "lookup:n1": "EAGAIN", "cri:ListImages": "ETIMEDOUT",
            "interfaces": "ENODEV", "uname": "ENOSYS", "hostname": "ELOOP", "clock": "ENOTCONN"}});
    let dir = Dir::new(&keys);
    let mut dir = dir
        .link("root/link", "usr/target")
        .file("root/usr/target", "");
    for name in ["both", "opened", "read"] {
        dir = dir.file(&format!("root/{name}"), "there");
    }
    dir = dir.file("root/listed/x", "");
    let (host, _) = dir.open();
    assert_eq!(failure(host.read("/both")), "read /both: EIO");
    assert_eq!(failure(host.list("//both/")), "list //both/: EIO");
    assert_eq!(failure(host.read("/opened")), "read /opened: EACCES");
    assert_eq!(failure(host.list("/opened")), "list /opened: EACCES");
    assert_eq!(failure(host.read("/read")), "read /read: EPERM");
    assert_eq!(failure(host.list("/read")), "list /read: ENOTDIR");
    assert_eq!(failure(host.list("/listed")), "list /listed: ENOMEM");
    assert_eq!(failure(host.read("/listed")), "read /listed: EISDIR");
    assert_eq!(failure(host.link("/link")), "link /link: EBUSY");
    assert_eq!(
        failure(host.read("/link")),
        "read /link: ENXIO",
        "the failure of its target"
    );
    assert_eq!(failure(host.statfs("/")), "statfs /: EINTR");
    assert_eq!(failure(host.lookup("n1")), "lookup n1: EAGAIN");
    assert_eq!(failure(host.images()), "cri ListImages: ETIMEDOUT");
    assert_eq!(host.cgroup_driver().unwrap(), "x");
    assert_eq!(failure(host.interfaces()), "interfaces: ENODEV");
    assert_eq!(failure(host.uname()), "uname: ENOSYS");
    assert_eq!(failure(host.hostname()), "hostname: ELOOP");
    assert_eq!(failure(host.clock_unsynchronized()), "clock: ENOTCONN");
}

#[test]
fn a_hang_does_not_come_back() {
    let host = Arc::new(replay(
        json!({"errors": {"statfs:/mnt": "hang", "/proc/meminfo": "hang", "hostname": "EIO"}}),
    ));
    let (sender, receiver) = channel();
    let questions: [fn(&Replay); 3] = [
        |host| assert!(host.hostname().is_err()),
        |host| drop(host.statfs("/mnt/below")),
        |host| drop(host.read("/proc/meminfo")),
    ];
    for (index, ask) in questions.into_iter().enumerate() {
        let (host, sender) = (Arc::clone(&host), sender.clone());
        std::thread::spawn(move || {
            ask(&host);
            sender.send(index).unwrap();
        });
    }
    assert_eq!(receiver.recv(), Ok(0));
    assert_eq!(
        receiver.recv_timeout(Duration::from_millis(200)),
        Err(RecvTimeoutError::Timeout)
    );
}

#[test]
fn frames_are_laid_over_those_before() {
    let keys = json!({"version": 1, "hostname": "n1", "shutdown": false, "directories": ["d/one", "d/two", "gone/x"],
        "errors": {"/proc/stat": "EIO"},
        "frames": [
            {"afterMs": 1000, "root": "frames/1", "deleted": ["/gone", "d/two", "proc/loadavg"],
             "set": {"hostname": "n2", "errors": {}}},
            {"afterMs": 2500, "deleted": ["etc"], "set": {"shutdown": true, "directories": ["e"]}},
            {"afterMs": 2501, "root": "frames/3"}]});
    let dir = Dir::new(&keys)
        .file("root/proc/stat", "cpu 1")
        .file("root/proc/loadavg", "0 0 0")
        .file("root/etc/a", "a0")
        .file("root/gone/file", "")
        .file("frames/1/proc/stat", "cpu 2")
        .file("frames/1/etc/b", "b1")
        .file("frames/3/etc/c", "c3")
        .file("frames/3/gone/file", "back");
    let (host, head) = dir.open();
    assert_eq!(head.frames, 3);

    assert_eq!(
        (host.after_ms(), host.hostname().unwrap().as_str()),
        (0, "n1")
    );
    assert!(host.read("/proc/stat").is_err());
    assert_eq!(host.list("/gone").unwrap(), ["file", "x"]);
    assert_eq!(host.list("/d").unwrap(), ["one", "two"]);

    assert!(host.advance());
    assert_eq!(
        (host.after_ms(), host.hostname().unwrap().as_str()),
        (1000, "n2")
    );
    assert_eq!(host.read("/proc/stat").unwrap(), b"cpu 2");
    assert_eq!(host.list("/proc").unwrap(), ["stat"]);
    assert!(host.read("/proc/loadavg").is_err());
    assert_eq!(host.list("/etc").unwrap(), ["a", "b"]);
    assert_eq!(failure(host.list("/gone")), "list /gone: ENOENT");
    assert_eq!(host.list("/").unwrap(), ["d", "etc", "proc"]);
    assert_eq!(host.list("/d").unwrap(), ["one"]);

    assert!(host.advance());
    assert_eq!((host.after_ms(), host.shutdown().unwrap()), (2500, true));
    assert_eq!(
        host.hostname().unwrap(),
        "n2",
        "what a frame does not set stays"
    );
    assert_eq!(host.list("/").unwrap(), ["e", "proc"]);

    assert!(host.advance());
    assert_eq!(host.after_ms(), 2501);
    assert_eq!(
        host.list("/etc").unwrap(),
        ["c"],
        "nothing of what was deleted comes back"
    );
    assert_eq!(host.read("/gone/file").unwrap(), b"back");
    assert!(!host.advance());
    assert_eq!(host.after_ms(), 2501);
}

/// Each key of `set` replaces the one above it.
#[test]
fn a_frame_sets_any_reading() {
    let keys = json!({"version": 1, "frames": [{"afterMs": 1, "set": {"hostname": "n2", "clockTicksPerSecond": 1,
        "pageSize": 2, "uname": {"sysname": "L", "release": "r", "machine": "m"}, "statfs": {"/": filesystem(9)},
        "interfaces": [], "lookups": {"n": []}, "cri": {"images": []}, "clock": {"unsynchronized": true},
        "shutdown": true, "directories": ["d"], "errors": {"/x": "EIO"}}}]});
    let (host, _) = Dir::new(&keys).open();
    let answers = |host: &Replay| {
        [
            host.hostname().is_ok(),
            host.clock_ticks_per_second() == 1,
            host.page_size() == 2,
            host.uname().is_ok(),
            host.statfs("/").is_ok(),
            host.interfaces().is_ok(),
            host.lookup("n").is_ok(),
            host.images().is_ok(),
            host.clock_unsynchronized().is_ok(),
            host.shutdown().is_ok(),
            host.list("/d").is_ok(),
            failure(host.read("/x")) == "read /x: EIO",
        ]
    };
    assert_eq!(answers(&host), [false; 12]);
    assert!(host.advance());
    assert_eq!(answers(&host), [true; 12]);
}

/// What is not in the format, and how it is refused.
const REFUSED: [(&str, &str); 23] = [
    (
        "{\"version\": 1,\n\"hostnam\": \"x\"}",
        ":2: unknown field `hostnam`",
    ),
    (
        "{\"version\": 1,\n\n\"uname\": {\"sysname\": \"\", \"release\": \"\", \"machine\": \"\", \"node\": 1}}",
        ":3: unknown field `node`",
    ),
    (
        r#"{"statfs": {"/": {"size": 1}}}"#,
        ":1: unknown field `size`",
    ),
    (
        r#"{"statfs": {"var": {}}}"#,
        ":1: `var`: the path must begin with `/`",
    ),
    (
        r#"{"statfs": {"/": {"blockSize": 1}}}"#,
        ":1: missing field `fragmentSize`",
    ),
    (
        r#"{"interfaces": [{"name": "a", "index": 1, "flags": ["BROADCAST"]}]}"#,
        ":1: unknown variant `BROADCAST`",
    ),
    (
        r#"{"interfaces": [{"name": "a", "index": 1, "mtu": 1}]}"#,
        ":1: unknown field `mtu`",
    ),
    (
        "{\"interfaces\": [{\"name\": \"a\", \"index\": 1, \"addresses\": [\n{\"address\": \"::1\", \"prefix\": 1, \"flags\": [\"permanent\"]}]}]}",
        ":2: unknown variant `permanent`",
    ),
    (
        r#"{"lookups": {"a": ["b"]}}"#,
        ":1: invalid IP address syntax",
    ),
    (
        r#"{"cri": {"podSandboxes": []}}"#,
        ":1: unknown field `podSandboxes`",
    ),
    (
        r#"{"cri": {"images": [{"id": "a", "size": 1, "spec": 1}]}}"#,
        ":1: unknown field `spec`",
    ),
    (
        r#"{"clock": {"unsynchronised": true}}"#,
        ":1: unknown field `unsynchronised`",
    ),
    (
        r#"{"directories": ["../up"]}"#,
        ":1: `../up`: a path with `..`",
    ),
    (
        r#"{"errors": {"proc/stat": "EIO"}}"#,
        ":1: `proc/stat` is not a question",
    ),
    (r#"{"errors": {"/a": "BAD"}}"#, ":1: `BAD` is neither"),
    (
        r#"{"cluster": {"nodeSlo": null}}"#,
        ":1: unknown field `nodeSlo`",
    ),
    (r#"{"hostname": null}"#, ":1: invalid type: null"),
    (r#"{"pageSize": 0}"#, ":1: invalid value: integer `0`"),
    (
        "{\"frames\": [{\"afterMs\": 1,\n\"set\": {\"x\": 1}}]}",
        ":2: unknown field `x`",
    ),
    (
        r#"{"frames": [{"afterMs": 1, "delete": []}]}"#,
        ":1: unknown field `delete`",
    ),
    (r#"{"takenAt": "yesterday"}"#, ":1: "),
    (r#"{"version": 1} x"#, ":1: trailing characters"),
    ("", ":1: EOF while parsing a value"),
];

#[test]
fn what_is_not_in_the_format_is_refused_with_file_and_line() {
    for (text, expected) in REFUSED {
        let dir = Dir::new(&json!({})).file("recording.json", text);
        let refused = dir.refused();
        let start = format!("{}/recording.json{expected}", dir.0.path().display());
        assert!(refused.starts_with(&start), "{text}\n{refused}\n{start}");
    }
}

#[test]
fn faults_are_told_all_at_once() {
    let set = json!({"version": 1, "takenAt": "2026-11-30T07:00:00Z", "settings": {}, "cluster": {}, "frames": []});
    let dir = Dir::new(&json!({"version": 3, "settings": [], "frames": [
        {"afterMs": 5}, {"afterMs": 5, "set": set}]}));
    let refused = dir.refused();
    let name = format!("{}/recording.json: ", dir.0.path().display());
    let faults: Vec<&str> = refused
        .lines()
        .map(|line| line.strip_prefix(&name).unwrap())
        .collect();
    assert_eq!(
        faults,
        [
            "version: 3 is not known, only 1 is",
            "settings: must be an object",
            "frames[1].afterMs: must be later than the frame before",
            "frames[1].set.version: holds for the whole recording",
            "frames[1].set.takenAt: holds for the whole recording",
            "frames[1].set.settings: holds for the whole recording",
            "frames[1].set.cluster: holds for the whole recording",
            "frames[1].set.frames: holds for the whole recording",
        ]
    );
    let empty = tempfile::tempdir().unwrap();
    let refused = Replay::open(empty.path()).unwrap_err().to_string();
    assert!(
        refused.starts_with(&format!(
            "{}/recording.json: No such file",
            empty.path().display()
        )),
        "{refused}"
    );
}
