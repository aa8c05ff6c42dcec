//! A control plane of real programs: etcd and kube-apiserver, and kube-controller-manager where a test asks for it.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use http::Method;

use super::assets::program;
use super::audit::{AUDIT_POLICY, Audit};
use super::client::Client;
use super::pki::Pki;
use super::process::{self, Server};
use super::scratch::Scratch;

/// Generous, because a busy machine with two cores runs everything else beside it.
const START_TIMEOUT: Duration = Duration::from_mins(2);

/// etcd and a kube-apiserver with the Node authorizer and `NodeRestriction`, on loopback ports of its own.
///
/// It goes away on drop, with its files, and also when the test binary is killed.
pub struct ControlPlane {
    // Dropped in this order: what uses the directory ends before the directory does.
    apiserver: Mutex<Option<Server>>,
    _etcd: Server,
    pki: Pki,
    etcd_url: String,
    port: u16,
    directory: Scratch,
}

impl ControlPlane {
    /// The one control plane of this test binary. Tests that share it keep apart by the names of their Nodes.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<ControlPlane> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// A control plane for one test, for those that stop it.
    pub fn start() -> Self {
        let directory = Scratch::new();
        let pki = Pki::new(directory.path().join("pki"));
        fs::write(directory.path().join("audit-policy.yaml"), AUDIT_POLICY)
            .expect("write the audit policy");
        let [client_port, peer_port, port] = free_ports();
        let etcd_url = format!("http://127.0.0.1:{client_port}");
        let etcd = start_etcd(directory.path(), &etcd_url, peer_port);
        let control_plane = Self {
            apiserver: Mutex::new(None),
            _etcd: etcd,
            pki,
            etcd_url,
            port,
            directory,
        };
        control_plane.start_apiserver();
        control_plane
    }

    /// Starts the apiserver after [`Self::stop_apiserver`], at the same address with the same data, and waits until it
    /// is ready.
    pub fn start_apiserver(&self) {
        let mut running = self
            .apiserver
            .lock()
            .expect("no earlier start of the apiserver panicked");
        assert!(running.is_none(), "the apiserver runs already");
        let log = self.directory.path().join("kube-apiserver.log");
        let mut server = Server::start("kube-apiserver", self.apiserver_command(), log);
        let admin = self.admin();
        server.wait_until(START_TIMEOUT, "/readyz said ok", || {
            admin
                .send(Method::GET, "/readyz", "", None)
                .is_ok_and(|answer| answer.status == 200)
        });
        *running = Some(server);
    }

    /// Kills the apiserver: its connections break and its port refuses new ones, as in a crash.
    pub fn stop_apiserver(&self) {
        let mut running = self
            .apiserver
            .lock()
            .expect("no earlier start of the apiserver panicked");
        assert!(running.take().is_some(), "the apiserver does not run");
    }

    /// A running kube-controller-manager with all its usual controllers, until the guard is dropped. `extra_args` come
    /// last and win, for example `--node-monitor-grace-period=5s`.
    pub fn start_controller_manager(&self, extra_args: &[&str]) -> Server {
        let [port] = free_ports();
        let file = |name: &str| self.pki.file(name);
        let kubeconfig = self.kubeconfig("system:kube-controller-manager", None);
        let mut command = process::command(program("kube-controller-manager"));
        command
            .arg(option("kubeconfig", &kubeconfig))
            .arg(option(
                "service-account-private-key-file",
                &file("service-account.key"),
            ))
            .arg(option("root-ca-file", &file("ca.crt")))
            .arg(option("cluster-signing-cert-file", &file("ca.crt")))
            .arg(option("cluster-signing-key-file", &file("ca.key")))
            .arg(option("tls-cert-file", &file("server.crt")))
            .arg(option("tls-private-key-file", &file("server.key")))
            .args(["--use-service-account-credentials", "--leader-elect=false"])
            .arg("--bind-address=127.0.0.1")
            .arg(format!("--secure-port={port}"))
            .args(extra_args);
        let log = self.directory.path().join("kube-controller-manager.log");
        let mut server = Server::start("kube-controller-manager", command, log);
        let local = Client::new(self.pki.kubeconfig(
            "admin",
            Some("system:masters"),
            &format!("https://127.0.0.1:{port}"),
        ));
        server.wait_until(START_TIMEOUT, "/healthz said ok", || {
            local
                .send(Method::GET, "/healthz", "", None)
                .is_ok_and(|answer| answer.status == 200)
        });
        server
    }

    pub fn server_url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// A directory for a test's own files, which goes away with the control plane.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn pki(&self) -> &Pki {
        &self.pki
    }

    pub fn admin_kubeconfig(&self) -> PathBuf {
        self.kubeconfig("admin", Some("system:masters"))
    }

    /// The identity of the Node `name`: `O=system:nodes, CN=system:node:NAME`.
    pub fn node_kubeconfig(&self, name: &str) -> PathBuf {
        self.node_kubeconfig_at(name, &self.server_url())
    }

    /// The same with another address, for a test that puts something between nodelet and the apiserver.
    pub fn node_kubeconfig_at(&self, name: &str, server_url: &str) -> PathBuf {
        let user = format!("system:node:{name}");
        self.pki.kubeconfig(&user, Some("system:nodes"), server_url)
    }

    /// Any other identity.
    pub fn kubeconfig(&self, user: &str, group: Option<&str>) -> PathBuf {
        self.pki.kubeconfig(user, group, &self.server_url())
    }

    /// A client with every right.
    pub fn admin(&self) -> Client {
        Client::new(self.admin_kubeconfig())
    }

    /// A client with the identity of the Node `name`.
    pub fn node(&self, name: &str) -> Client {
        Client::new(self.node_kubeconfig(name))
    }

    /// The real kubectl with every right.
    pub fn kubectl(&self, args: &[&str]) -> Output {
        let mut command = process::command(program("kubectl"));
        command
            .args(args)
            .env("KUBECONFIG", self.admin_kubeconfig())
            .env("KUBECACHEDIR", self.directory.path().join("kubectl-cache"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        process::spawn(command)
            .wait_with_output()
            .expect("wait for kubectl")
    }

    /// What the apiserver was asked.
    pub fn audit(&self) -> Audit {
        Audit::new(self.audit_log())
    }

    fn audit_log(&self) -> PathBuf {
        self.directory.path().join("audit.log")
    }

    fn apiserver_command(&self) -> Command {
        let file = |name: &str| self.pki.file(name);
        let mut command = process::command(program("kube-apiserver"));
        command
            .arg(format!("--etcd-servers={}", self.etcd_url))
            .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"])
            .arg(format!("--secure-port={}", self.port))
            // A loopback address may not stand in the Endpoints of the service "kubernetes".
            .arg("--endpoint-reconciler-type=none")
            .arg("--service-cluster-ip-range=10.0.0.0/24")
            .args([
                "--authorization-mode=Node,RBAC",
                "--enable-bootstrap-token-auth",
            ])
            .arg("--enable-admission-plugins=NodeRestriction")
            .arg(option("client-ca-file", &file("ca.crt")))
            .arg(option("tls-cert-file", &file("server.crt")))
            .arg(option("tls-private-key-file", &file("server.key")))
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .arg(option(
                "service-account-key-file",
                &file("service-account.pub"),
            ))
            .arg(option(
                "service-account-signing-key-file",
                &file("service-account.key"),
            ))
            .arg(option(
                "audit-policy-file",
                &self.directory.path().join("audit-policy.yaml"),
            ))
            .arg(option("audit-log-path", &self.audit_log()));
        command
    }
}

fn start_etcd(directory: &Path, url: &str, peer_port: u16) -> Server {
    let peer_url = format!("http://127.0.0.1:{peer_port}");
    let mut command = process::command(program("etcd"));
    command
        .args(["--name=test", "--log-level=warn"])
        // The data need not survive a power cut.
        .arg("--unsafe-no-fsync")
        .arg(option("data-dir", &directory.join("etcd")))
        .arg(format!("--listen-client-urls={url}"))
        .arg(format!("--advertise-client-urls={url}"))
        .arg(format!("--listen-peer-urls={peer_url}"))
        .arg(format!("--initial-advertise-peer-urls={peer_url}"))
        .arg(format!("--initial-cluster=test={peer_url}"));
    // The apiserver waits for it by itself.
    Server::start("etcd", command, directory.join("etcd.log"))
}

fn option(name: &str, value: &Path) -> String {
    format!("--{name}={}", value.display())
}

/// Ports that nothing listens on, below the range that the kernel gives to outgoing connections: none of those can
/// take the apiserver's port while it is stopped.
fn free_ports<const N: usize>() -> [u16; N] {
    // One test of this binary after the other, so that two never choose the same; others may, at odds of thousands.
    static CHOSEN: Mutex<Vec<u16>> = Mutex::new(Vec::new());
    let mut chosen = CHOSEN.lock().expect("no earlier choice of a port panicked");
    std::array::from_fn(|_| {
        let port = std::iter::repeat_with(|| fastrand::u16(15_000..32_000))
            .find(|port| !chosen.contains(port) && TcpListener::bind(("127.0.0.1", *port)).is_ok())
            .expect("an endless iterator");
        chosen.push(port);
        port
    })
}
