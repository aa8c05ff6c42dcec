use super::*;
use crate::source::live::Live;
use crate::source::replay::Replay;
use rustix::io::Errno;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::mpsc::channel;

/// An answer as text, so that answers of every kind can be kept beside each other.
type Answers = Vec<(String, String)>;

/// What a source answers to everything that can be asked.
fn ask(source: &dyn Source, paths: &[&str]) -> Answers {
    let mut answers = Answers::new();
    let mut note = |question: String, answer: String| answers.push((question, answer));
    for path in paths {
        note(
            format!("read {path}"),
            format!("{:?}", source.read(path).map(String::from_utf8)),
        );
        note(format!("list {path}"), format!("{:?}", source.list(path)));
        note(format!("link {path}"), format!("{:?}", source.link(path)));
        note(
            format!("statfs {path}"),
            format!("{:?}", source.statfs(path)),
        );
    }
    note("interfaces".into(), format!("{:?}", source.interfaces()));
    note("uname".into(), format!("{:?}", source.uname()));
    note("hostname".into(), format!("{:?}", source.hostname()));
    note("lookup".into(), format!("{:?}", source.lookup("192.0.2.1")));
    note(
        "no lookup".into(),
        format!("{:?}", source.lookup("no such name").is_ok()),
    );
    note("has_runtime".into(), format!("{:?}", source.has_runtime()));
    note(
        "runtime_version".into(),
        format!("{:?}", source.runtime_version()),
    );
    note(
        "runtime_status".into(),
        format!("{:?}", source.runtime_status()),
    );
    note(
        "cgroup_driver".into(),
        format!("{:?}", source.cgroup_driver()),
    );
    note("images".into(), format!("{:?}", source.images()));
    note(
        "image_filesystems".into(),
        format!("{:?}", source.image_filesystems()),
    );
    note(
        "clock".into(),
        format!("{:?}", source.clock_unsynchronized()),
    );
    note("shutdown".into(), format!("{:?}", source.shutdown().ok()));
    note(
        "clock_ticks_per_second".into(),
        format!("{:?}", source.clock_ticks_per_second()),
    );
    note("page_size".into(), format!("{:?}", source.page_size()));
    answers
}

fn finish(recorder: &Recorder, dir: &Path) {
    let taken_at = "2026-11-30T07:00:00Z".parse().unwrap();
    recorder
        .finish(dir, taken_at, json!({"maxPods": 5}), None)
        .unwrap();
}

/// Records `source` while it is asked, and holds that the recording answers the same.
fn round_trip(source: Arc<dyn Source>, paths: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let recorder = Recorder::new(source);
    let live = ask(&recorder, paths);
    finish(&recorder, dir.path());
    let (replay, head) = Replay::open(dir.path()).unwrap();
    assert_eq!(head.settings, Some(json!({"maxPods": 5})));
    assert_eq!(head.taken_at.unwrap().to_string(), "2026-11-30T07:00:00Z");
    for (live, replayed) in live.into_iter().zip(ask(&replay, paths)) {
        assert_eq!(live, replayed);
    }
    dir
}

/// All paths below `dir` that are not directories, with their links' targets.
fn tree(dir: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut ahead = vec![dir.to_owned()];
    while let Some(here) = ahead.pop() {
        for entry in fs::read_dir(here).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            let name = path.strip_prefix(dir).unwrap().display().to_string();
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => ahead.push(path),
                kind if kind.is_symlink() => {
                    found.insert(format!(
                        "{name} -> {}",
                        fs::read_link(path).unwrap().display()
                    ));
                }
                _ => {
                    found.insert(name);
                }
            }
        }
    }
    found
}

#[test]
fn a_recording_of_a_root_answers_as_the_root() {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    for directory in [
        "etc",
        "usr/lib",
        "proc/1/net",
        "sys/cpu/cpu0",
        "sys/empty",
        "secret",
    ] {
        fs::create_dir_all(at(directory)).unwrap();
    }
    fs::write(at("usr/lib/os-release"), "ID=x\n").unwrap();
    fs::write(at("sys/cpu/online"), "0-3\n").unwrap();
    fs::write(at("sys/cpu/uevent"), "never read").unwrap();
    fs::write(at("secret/key"), "never read").unwrap();
    fs::write(at("proc/1/net/route"), "Iface\n").unwrap();
    fs::File::create(at("long"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    symlink("../usr/lib/os-release", at("etc/os-release")).unwrap();
    symlink("/nowhere", at("etc/dangling")).unwrap();
    symlink("circle", at("circle")).unwrap();
    symlink("self/net", at("proc/net")).unwrap();
    symlink("4242", at("proc/self")).unwrap();
    let paths = [
        "/etc/os-release",
        "/etc/dangling",
        "/circle",
        "/long",
        "/proc/net/route",
        "/proc/1/net/route",
        "/usr/lib/../lib/os-release",
        "/usr/lib/os-release/below",
        "/missing/below",
        "/sys/cpu",
        "/sys/cpu/online",
        "/sys/empty",
    ];
    // These numbers change by themselves; that they are kept is seen by another test.
    let source = Arc::new(Steady(Live::new(root.path().to_owned())));
    let dir = round_trip(source, &paths);
    let expected = [
        "circle -> circle",
        "etc/dangling -> /nowhere",
        "etc/os-release -> ../usr/lib/os-release",
        "long",
        "proc/1/net/route",
        "proc/net -> self/net",
        "proc/self -> 1",
        "sys/cpu/online",
        "usr/lib/os-release",
    ];
    assert_eq!(
        tree(&dir.path().join("root")),
        expected.map(str::to_owned).into(),
        "no more than was read"
    );
    let text = fs::read_to_string(dir.path().join("recording.json")).unwrap();
    assert!(text.ends_with("}\n") && !text.contains("never read"));
    let recording: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        recording["directories"],
        json!(["sys/cpu/cpu0", "sys/cpu/uevent", "sys/empty"])
    );
    assert_eq!(recording["errors"]["read:/circle"], "ELOOP");
}

/// A live host whose filesystems do not fill up while it is looked at.
#[derive(Debug)]
struct Steady(Live);

impl Source for Steady {
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceError> {
        self.0.read(path)
    }
    fn list(&self, path: &str) -> Result<Vec<String>, SourceError> {
        self.0.list(path)
    }
    fn link(&self, path: &str) -> Result<PathBuf, SourceError> {
        self.0.link(path)
    }
    fn statfs(&self, path: &str) -> Result<Statfs, SourceError> {
        self.0.statfs(path).map(|numbers| Statfs {
            blocks: 7,
            ..Statfs {
                fs_type: numbers.fs_type,
                ..Statfs::default()
            }
        })
    }
    fn interfaces(&self) -> Result<Vec<Interface>, SourceError> {
        self.0.interfaces()
    }
    fn uname(&self) -> Result<Uname, SourceError> {
        self.0.uname()
    }
    fn hostname(&self) -> Result<String, SourceError> {
        self.0.hostname()
    }
    fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, SourceError> {
        self.0.lookup(name)
    }
}

#[test]
fn a_recording_of_this_host_answers_as_the_host() {
    let paths = [
        "/proc/1/mountinfo",
        "/proc/1/cgroup",
        "/proc/1/ns/net",
        "/proc/sys/kernel/osrelease",
        "/proc/sys/kernel/pid_max",
        "/proc/sys/kernel/random/boot_id",
        "/proc/version",
        "/sys/devices/system/cpu/online",
        "/sys/devices/system/cpu",
        "/sys/class/net/lo",
        "/etc/os-release",
        "/etc/hostname",
        "/etc/machine-id",
        "/var/lib/dbus/machine-id",
        "/no/such/path",
    ];
    round_trip(Arc::new(Steady(Live::new(PathBuf::from("/")))), &paths);
}

/// A source with every kind of answer and failure is itself a recording.
#[test]
fn a_recording_of_a_replay_is_the_recording() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("root/etc")).unwrap();
    fs::write(dir.path().join("root/etc/machine-id"), "abc\n").unwrap();
    fs::write(dir.path().join("root/etc/denied"), "").unwrap();
    let keys = json!({
        "version": 1, "takenAt": "2026-11-30T07:00:00Z", "settings": {"maxPods": 5},
        "hostname": "n1\n", "clockTicksPerSecond": 100, "pageSize": 65536,
        "uname": {"sysname": "Linux", "release": "6.1.0", "machine": "aarch64"},
        "statfs": {"/": {"type": "xfs", "blockSize": 1, "fragmentSize": 2, "blocks": 3, "blocksFree": 4,
                         "blocksAvailable": 18_446_744_073_709_550_616_u64, "files": 6, "filesFree": 7, "readOnly": true}},
        "interfaces": [{"name": "wg0", "index": 4, "flags": ["UP", "LOOPBACK", "POINTOPOINT"], "addresses": [
            {"address": "fe80::1", "prefix": 64, "flags": ["secondary", "temporary", "tentative", "deprecated"]}]}],
        "lookups": {"192.0.2.1": ["192.0.2.1", "::1"]},
        "cri": {"version": {"runtimeName": "containerd", "runtimeVersion": "2"},
                "status": {"conditions": [{"type": "RuntimeReady", "status": true, "reason": "", "message": ""}],
                           "runtimeHandlers": [{"name": "", "recursiveReadOnlyMounts": true, "userNamespaces": false}],
                           "features": {"supplementalGroupsPolicy": true}},
                "runtimeConfig": {"cgroupDriver": "systemd"},
                "imageFs": [{"mountpoint": "/i"}], "containerFs": []},
        "clock": {"unsynchronized": true}, "shutdown": true,
        "errors": {"read:/etc/denied": "EACCES", "list:/etc": "EIO", "link:/etc/machine-id": "EPERM",
                   "statfs:/etc/denied": "ENOENT", "cri:ListImages": "ENOENT"}});
    fs::write(dir.path().join("recording.json"), keys.to_string()).unwrap();
    let (replay, _) = Replay::open(dir.path()).unwrap();
    let again = round_trip(
        Arc::new(replay),
        &["/etc/machine-id", "/etc/denied", "/etc"],
    );
    let text = fs::read_to_string(again.path().join("recording.json")).unwrap();
    let recording: Value = serde_json::from_str(&text).unwrap();
    for key in [
        "hostname",
        "pageSize",
        "uname",
        "interfaces",
        "lookups",
        "cri",
        "clock",
        "shutdown",
    ] {
        assert_eq!(recording[key], keys[key], "{key}");
    }
    assert_eq!(
        recording["statfs"]["/etc"]["blocksAvailable"],
        keys["statfs"]["/"]["blocksAvailable"]
    );
    for key in [
        "read:/etc/denied",
        "list:/etc",
        "link:/etc/machine-id",
        "statfs:/etc/denied",
        "cri:ListImages",
    ] {
        assert_eq!(recording["errors"][key], keys["errors"][key], "{key}");
    }
}

#[test]
fn what_has_not_come_back_is_written_as_a_hang() {
    let dir = tempfile::tempdir().unwrap();
    let keys = json!({"version": 1, "errors": {"/stuck": "hang", "statfs:/dead": "hang"}});
    fs::write(dir.path().join("recording.json"), keys.to_string()).unwrap();
    let recorder = Arc::new(Recorder::new(Arc::new(Replay::open(dir.path()).unwrap().0)));
    let (sender, receiver) = channel();
    let questions: [fn(&Recorder); 2] = [
        |recorder| drop(recorder.read("/stuck")),
        |recorder| drop(recorder.statfs("/dead")),
    ];
    for ask in questions {
        let (recorder, sender) = (Arc::clone(&recorder), sender.clone());
        std::thread::spawn(move || {
            ask(&recorder);
            sender.send(()).unwrap();
        });
    }
    while recorder.seen().pending.len() < 2 {
        std::thread::yield_now();
    }
    let to = tempfile::tempdir().unwrap();
    finish(&recorder, to.path());
    assert!(receiver.try_recv().is_err());
    let text = fs::read_to_string(to.path().join("recording.json")).unwrap();
    let recording: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        recording["errors"],
        json!({"read:/stuck": "hang", "statfs:/dead": "hang"})
    );
}

#[test]
fn a_recording_is_deterministic_and_overwrites_nothing() {
    let source: Arc<dyn Source> = Arc::new(Live::new(PathBuf::from("/")));
    let write = |dir: &Path| {
        let recorder = Recorder::new(Arc::clone(&source));
        recorder.read("/proc/version").unwrap();
        recorder.uname().unwrap();
        finish(&recorder, dir);
        fs::read_to_string(dir.join("recording.json")).unwrap()
    };
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        write(&dir.path().join("new/one")),
        write(&dir.path().join("new/two"))
    );

    let recorder = Recorder::new(source);
    let refused = recorder
        .finish(dir.path(), Timestamp::UNIX_EPOCH, json!({}), None)
        .unwrap_err();
    assert!(
        matches!(&refused, RecordingError::NotEmpty(path) if path == dir.path()),
        "{refused}"
    );
}

#[test]
fn the_cluster_is_written_with_its_nulls() {
    let dir = tempfile::tempdir().unwrap();
    let cluster = Cluster {
        node: Some(Some(json!({"kind": "Node"}))),
        lease: Some(None),
        ..Cluster::default()
    };
    let recorder = Recorder::new(Arc::new(Live::new(PathBuf::from("/"))));
    recorder
        .finish(
            dir.path(),
            Timestamp::UNIX_EPOCH,
            Value::Null,
            Some(cluster.clone()),
        )
        .unwrap();
    let (_, head) = Replay::open(dir.path()).unwrap();
    assert_eq!((head.cluster, head.settings), (Some(cluster), None));
}

#[test]
fn the_last_answer_counts() {
    let root = tempfile::tempdir().unwrap();
    let recorder = Recorder::new(Arc::new(Live::new(root.path().to_owned())));
    recorder.read("/late").unwrap_err();
    fs::write(root.path().join("late"), "first").unwrap();
    recorder.read("/late").unwrap();
    fs::write(root.path().join("late"), "second").unwrap();
    recorder.read("/late").unwrap();
    let dir = tempfile::tempdir().unwrap();
    finish(&recorder, dir.path());
    let (replay, _) = Replay::open(dir.path()).unwrap();
    assert_eq!(replay.read("/late").unwrap(), b"second");
}

/// A host whose directory becomes a link between two readings must not make the recorder write through it.
#[test]
fn nothing_is_written_through_a_link() {
    let root = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("etc")).unwrap();
    fs::write(root.path().join("etc/hosts"), "mine").unwrap();
    let recorder = Recorder::new(Arc::new(Live::new(root.path().to_owned())));
    recorder.read("/etc/hosts").unwrap();
    fs::remove_dir_all(root.path().join("etc")).unwrap();
    symlink(outside.path(), root.path().join("etc")).unwrap();
    assert_eq!(
        recorder.read("/etc/hosts").unwrap_err().reason,
        Errno::NOENT.into()
    );

    let dir = tempfile::tempdir().unwrap();
    let refused = recorder
        .finish(dir.path(), Timestamp::UNIX_EPOCH, json!({}), None)
        .unwrap_err();
    assert!(
        matches!(&refused, RecordingError::Changed(path) if path == Path::new("/etc/hosts")),
        "{refused}"
    );
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}
