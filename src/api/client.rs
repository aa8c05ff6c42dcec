//! The client: a connection pool of its own, a deadline on everything, no hidden retries.
//!
//! kube's own retries are off (DESIGN §6.3): they can hide a heartbeat for longer than a Lease lives. What a failure
//! means is decided in [`super::failure`]. The pool is thrown away after [`FAILURES_BEFORE_REBUILD`] failures of the
//! link in a row, after a 401, and when one of the files that the credential was read from has changed. These files
//! are looked at and read where a mount that hangs holds up nobody else ([`crate::probe`]).

use super::failure::{Failure, Kind};
use super::request::ApiRequest;
use crate::clock::Clock;
use crate::probe::Prober;
use http_body_util::{BodyExt, LengthLimitError};
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::{Client as HyperClient, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ClientBuilder, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tower::ServiceBuilder;

/// A pool that failed this often in a row may hold dead connections only; it is not asked again.
pub const FAILURES_BEFORE_REBUILD: u32 = 2;

/// No answer that nodelet asks for is longer; a longer one is refused rather than read into memory.
const MAX_ANSWER_BYTES: usize = 8 << 20;

/// What a look at the files of the credential is called.
const FILES: &str = "credential";

/// Where the cluster is and who nodelet is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cluster {
    /// A kubeconfig file.
    Kubeconfig(PathBuf),
    /// The service account of the pod that nodelet runs in.
    Pod,
}

impl std::fmt::Display for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kubeconfig(path) => write!(f, "{}", path.display()),
            Self::Pod => f.write_str("this pod"),
        }
    }
}

/// Deadlines of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// Of one request, from the first byte sent to the last one read.
    pub request: Duration,
    /// Of making a connection.
    pub connect: Duration,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the credential of {cluster}: {reason}")]
pub struct CredentialError {
    cluster: Cluster,
    reason: String,
}

/// A client of one apiserver. Clones share the pool.
#[derive(Debug, Clone)]
pub struct ApiClient {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    cluster: Cluster,
    deadlines: Deadlines,
    clock: Arc<dyn Clock>,
    /// Looks at the files of the credential, for one request at a time.
    files: tokio::sync::Mutex<Prober>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    pool: Option<Pool>,
    link_failures: u32,
}

/// A connection pool, and how the files were that it was made from.
#[derive(Clone)]
struct Pool {
    client: kube::Client,
    stamps: Arc<[Stamp]>,
}

impl Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("link_failures", &self.link_failures)
            .finish_non_exhaustive()
    }
}

/// What tells that a file has been replaced. Symbolic links are followed, so that the swap of a projected volume's
/// `..data` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    state: Option<(std::time::SystemTime, u64, u64)>,
}

impl Stamp {
    fn of(path: PathBuf) -> Self {
        use std::os::unix::fs::MetadataExt;
        let state = std::fs::metadata(&path)
            .ok()
            .and_then(|data| Some((data.modified().ok()?, data.len(), data.ino())));
        Self { path, state }
    }

    fn is_current(&self) -> bool {
        Self::of(self.path.clone()) == *self
    }
}

impl ApiClient {
    /// A client for `cluster`; nothing is read or dialled before the first request.
    pub fn new(cluster: Cluster, deadlines: Deadlines, clock: Arc<dyn Clock>) -> Self {
        Self {
            shared: Arc::new(Shared {
                cluster,
                deadlines,
                clock,
                files: tokio::sync::Mutex::new(Prober::new(1)),
                state: Mutex::default(),
            }),
        }
    }

    /// A client of the same cluster with a pool of its own, so that nothing waits behind another's request.
    #[must_use]
    pub fn separate(&self) -> Self {
        self.separate_within(self.shared.deadlines.request)
    }

    /// The same with requests that may take no longer than `longest` either.
    #[must_use]
    pub fn separate_within(&self, longest: Duration) -> Self {
        let deadlines = Deadlines {
            request: self.shared.deadlines.request.min(longest),
            ..self.shared.deadlines
        };
        Self::new(
            self.shared.cluster.clone(),
            deadlines,
            Arc::clone(&self.shared.clock),
        )
    }

    /// Sends `request` and reads the answer as `T`.
    ///
    /// # Errors
    /// Any [`Failure`]; a 401 is answered once by taking the credential afresh.
    pub async fn send<T: DeserializeOwned>(&self, request: &ApiRequest) -> Result<T, Failure> {
        let mut answer = self.send_once(request).await;
        if matches!(&answer, Err(failure) if failure.kind == Kind::Unauthorized) {
            self.forget_pool();
            answer = self.send_once(request).await;
        }
        serde_json::from_slice(&answer?).map_err(|error| {
            Failure::new(
                Kind::Garbled,
                format!("{}: the answer makes no sense: {error}", request.path),
            )
        })
    }

    /// Reads the object that `request` asks for; `None` where the cluster says that there is none.
    ///
    /// # Errors
    /// Any [`Failure`] but a 404.
    pub async fn find<T: DeserializeOwned>(
        &self,
        request: &ApiRequest,
    ) -> Result<Option<T>, Failure> {
        match self.send(request).await {
            Ok(object) => Ok(Some(object)),
            Err(failure) if failure.kind == Kind::NotFound => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    async fn send_once(&self, request: &ApiRequest) -> Result<Vec<u8>, Failure> {
        let deadline = self.shared.deadlines.request;
        let result = match tokio::time::timeout(deadline, self.exchange(request)).await {
            Ok(result) => result,
            Err(_) => Err(Failure::new(
                Kind::Timeout,
                format!(
                    "{} {}: no answer within {deadline:?}",
                    request.verb.name(),
                    request.path
                ),
            )),
        };
        self.count(result.as_ref().err());
        result
    }

    async fn exchange(&self, request: &ApiRequest) -> Result<Vec<u8>, Failure> {
        let client = self
            .pool()
            .await
            .map_err(|error| Failure::new(Kind::Network, error.to_string()))?;
        let request = request.clone().with_timeout(self.shared.deadlines.request);
        let garbled =
            |error: &dyn std::fmt::Display| Failure::new(Kind::Garbled, error.to_string());
        let body = match &request.body {
            Some(body) => serde_json::to_vec(body).map_err(|error| garbled(&error))?,
            None => Vec::new(),
        };
        let mut builder = http::Request::builder()
            .method(request.verb.method())
            .uri(format!("{}?{}", request.path, request.query))
            .header(http::header::ACCEPT, "application/json");
        if request.body.is_some() {
            builder = builder.header(http::header::CONTENT_TYPE, request.content_type);
        }
        let http_request = builder
            .body(Body::from(body))
            .map_err(|error| garbled(&error))?;
        let answer = client
            .send(http_request)
            .await
            .map_err(|error| Failure::new(Kind::Network, with_causes(&error)))?;
        let code = answer.status().as_u16();
        let retry_after = answer
            .headers()
            .get(http::header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok().map(str::to_owned));
        let success = answer.status().is_success();
        let body = http_body_util::Limited::new(answer.into_body(), MAX_ANSWER_BYTES)
            .collect()
            .await
            .map_err(|error| body_failure(&request.path, &*error))?
            .to_bytes()
            .to_vec();
        if success {
            Ok(body)
        } else {
            Err(Failure::from_answer(
                code,
                retry_after.as_deref(),
                &body,
                self.shared.clock.now(),
            ))
        }
    }

    /// A kube client over the present pool, for a watch.
    ///
    /// # Errors
    /// The credential cannot be read.
    pub async fn pool(&self) -> Result<kube::Client, CredentialError> {
        let files = self.shared.files.lock().await;
        let patience = self.shared.deadlines.connect;
        let present = self.state().pool.clone();
        if let Some(Pool { client, stamps }) = present {
            let look = move || stamps.iter().all(Stamp::is_current);
            // A file that cannot be looked at says nothing against a connection that works.
            if files.run(FILES, patience, look).await.unwrap_or(true) {
                return Ok(client);
            }
        }
        let cluster = self.shared.cluster.clone();
        let deadlines = self.shared.deadlines;
        let runtime = Handle::current();
        let read = move || runtime.block_on(build(&cluster, deadlines));
        let built = match files.run(FILES, patience, read).await {
            Ok(built) => built,
            Err(error) => Err(error.to_string()),
        };
        let pool = built.map_err(|reason| CredentialError {
            cluster: self.shared.cluster.clone(),
            reason,
        })?;
        let client = pool.client.clone();
        self.state().pool = Some(pool);
        Ok(client)
    }

    /// Drops the pool with its connections; the next request dials anew with what the credential files then say.
    pub fn forget_pool(&self) {
        self.state().pool = None;
    }

    fn count(&self, failure: Option<&Failure>) {
        let mut state = self.state();
        if failure.is_some_and(Failure::is_link) {
            state.link_failures += 1;
            if state.link_failures >= FAILURES_BEFORE_REBUILD {
                state.link_failures = 0;
                state.pool = None;
            }
        } else {
            state.link_failures = 0;
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

async fn build(cluster: &Cluster, deadlines: Deadlines) -> Result<Pool, String> {
    let (mut config, files) = match cluster {
        Cluster::Pod => (
            kube::Config::incluster_env().map_err(|e| with_causes(&e))?,
            Vec::new(),
        ),
        Cluster::Kubeconfig(path) => read_kubeconfig(path).await?,
    };
    // Stamped before the files are read again below: a swap in between shows as a change, not as the old one.
    let stamps = files.into_iter().map(Stamp::of).collect();
    config.default_retry = false;
    let client = dial(&config, deadlines).map_err(|e| with_causes(&e))?;
    Ok(Pool { client, stamps })
}

/// What it means that a body did not come to its end.
fn body_failure(path: &str, error: &(dyn std::error::Error + Send + Sync + 'static)) -> Failure {
    if error.is::<LengthLimitError>() {
        return Failure::new(
            Kind::Garbled,
            format!("{path}: the answer is longer than {MAX_ANSWER_BYTES} bytes"),
        );
    }
    Failure::new(Kind::Network, format!("{path}: {}", with_causes(error)))
}

/// The configuration that a kubeconfig file gives, and the files that it hangs on.
async fn read_kubeconfig(path: &std::path::Path) -> Result<(kube::Config, Vec<PathBuf>), String> {
    let kubeconfig = Kubeconfig::read_from(path).map_err(|e| with_causes(&e))?;
    let mut files = vec![path.to_owned()];
    for auth in kubeconfig
        .auth_infos
        .iter()
        .filter_map(|named| named.auth_info.as_ref())
    {
        files.extend(
            [&auth.client_certificate, &auth.client_key, &auth.token_file]
                .into_iter()
                .flatten()
                .map(PathBuf::from),
        );
    }
    for cluster in kubeconfig
        .clusters
        .iter()
        .filter_map(|named| named.cluster.as_ref())
    {
        files.extend(cluster.certificate_authority.as_ref().map(PathBuf::from));
    }
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|e| with_causes(&e))?;
    Ok((config, files))
}

/// A pool over our own connector: dead peers are noticed by the kernel, small writes leave at once.
fn dial(config: &kube::Config, deadlines: Deadlines) -> kube::Result<kube::Client> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(deadlines.connect));
    tcp.set_keepalive(Some(Duration::from_secs(15)));
    tcp.set_keepalive_interval(Some(Duration::from_secs(5)));
    tcp.set_keepalive_retries(Some(3));
    tcp.set_tcp_user_timeout(Some(deadlines.request * 2));
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(tcp)?);
    // The TCP connect has its own deadline above; this one holds for the TLS handshake too.
    connector.set_connect_timeout(Some(deadlines.connect + Duration::from_secs(1)));
    connector.set_write_timeout(Some(deadlines.request));
    let hyper = HyperClient::builder(TokioExecutor::new())
        .pool_max_idle_per_host(1)
        .build::<_, Body>(connector);
    // Of a watch it is the beginning that has a deadline; its stream may be silent for long. A little longer than that
    // of `send`, which says better what happened.
    let deadline = deadlines.request + Duration::from_secs(1);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_future(move |answer| async move {
            Ok::<_, tower::BoxError>(tokio::time::timeout(deadline, answer).await??)
        })
        .service(hyper);
    Ok(ClientBuilder::new(service, config.default_namespace.clone()).build())
}

/// An error with its causes, which libraries tend to keep apart, each said once.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let said = next.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = next.source();
    }
    text
}
