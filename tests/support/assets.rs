//! Finds the programs that the tests run, and builds those that are not there yet.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

/// The Kubernetes version that `go.mod` names; the programs do not know it unless the linker tells them.
const LDFLAGS: &str = "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3 \
                       -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36";

/// The path of `etcd`, `kube-apiserver`, `kube-controller-manager`, `kubectl` or `oracle`.
///
/// A program in `KUBEBUILDER_ASSETS` comes first. The others are built from the Go module under
/// `tests/controlplane`, once for all test binaries, into the user's cache directory.
pub fn program(name: &str) -> PathBuf {
    if let Some(directory) = std::env::var_os("KUBEBUILDER_ASSETS") {
        let given = Path::new(&directory).join(name);
        if given.is_file() {
            return given;
        }
    }
    let cache = cache_directory(name);
    let wanted = cache.join(name);
    fs::create_dir_all(&cache).expect("create the cache of built programs");
    let lock = File::create(cache.join(format!("{name}.lock"))).expect("create a lock file");
    lock.lock().expect("wait for another test binary's build");
    if !wanted.is_file() {
        let unfinished = cache.join(format!("{name}.{}", process::id()));
        build(name, &unfinished);
        fs::rename(&unfinished, &wanted).expect("put the built program in its place");
    }
    wanted
}

fn module_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controlplane")
}

fn package(name: &str) -> &'static str {
    match name {
        "etcd" => "go.etcd.io/etcd/server/v3",
        "kube-apiserver" => "k8s.io/kubernetes/cmd/kube-apiserver",
        "kube-controller-manager" => "k8s.io/kubernetes/cmd/kube-controller-manager",
        "kubectl" => "k8s.io/kubernetes/cmd/kubectl",
        "oracle" => "./oracle",
        other => panic!("tests/controlplane builds no program named {other}"),
    }
}

/// A directory that is another one as soon as anything changes that the program is built from.
fn cache_directory(name: &str) -> PathBuf {
    let mut sources = vec!["go.mod", "go.sum"];
    if name == "oracle" {
        sources.push("oracle/main.go");
    }
    let mut hasher = DefaultHasher::new();
    LDFLAGS.hash(&mut hasher);
    for source in sources {
        let path = module_directory().join(source);
        fs::read(&path)
            .unwrap_or_else(|e| panic!("read {}: {e}", path.display()))
            .hash(&mut hasher);
    }
    let caches = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::home_dir().map(|home| home.join(".cache")))
        .expect("neither XDG_CACHE_HOME nor a home directory is known");
    caches.join(format!("nodelet/controlplane-{:016x}", hasher.finish()))
}

fn build(name: &str, to: &Path) {
    // Written past the test's captured output: the first build takes minutes and must not look like a hang.
    let _ = writeln!(
        std::io::stderr(),
        "building {name} for the tests, once; this may take minutes"
    );
    let output = Command::new("go")
        .args(["build", "-trimpath", "-ldflags", LDFLAGS, "-o"])
        .arg(to)
        .arg(package(name))
        .current_dir(module_directory())
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-buildvcs=false")
        .output()
        .unwrap_or_else(|e| {
            panic!("{name} is not in KUBEBUILDER_ASSETS and go, which would build it, cannot be run: {e}")
        });
    assert!(
        output.status.success(),
        "building {name} in {} failed ({}):\n{}",
        module_directory().display(),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}
