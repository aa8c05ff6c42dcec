//! A small blocking client for JSON requests to an apiserver, under any identity that has a kubeconfig.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use http::{Method, Request, header};
use http_body_util::BodyExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;

/// Opens a new connection for each request, so that it needs no care when the apiserver is stopped and started.
/// It may be used inside and outside of an async test.
pub struct Client {
    kubeconfig: PathBuf,
}

/// What the apiserver said: a JSON body as it is, any other one as a JSON string.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Answer {
    /// The body of a success. Panics when it is none.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert!(
            (200..300).contains(&self.status),
            "the apiserver refused: {self:#?}"
        );
        self.body
    }
}

impl Client {
    pub fn new(kubeconfig: PathBuf) -> Self {
        Self { kubeconfig }
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, "", None).unwrap()
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, "application/json", Some(body))
            .unwrap()
    }

    #[track_caller]
    pub fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, "application/json", Some(body))
            .unwrap()
    }

    /// `content_type` is for example `application/strategic-merge-patch+json`.
    #[track_caller]
    pub fn patch(&self, path: &str, content_type: &str, body: &Value) -> Answer {
        self.send(Method::PATCH, path, content_type, Some(body))
            .unwrap()
    }

    #[track_caller]
    pub fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, "", None).unwrap()
    }

    /// One request without a retry; an error is a connection that failed, with its reason.
    pub fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Option<&Value>,
    ) -> Result<Answer, String> {
        let mut request = Request::builder().method(method).uri(path);
        if !content_type.is_empty() {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        let bytes = body.map(Value::to_string).unwrap_or_default().into_bytes();
        let request = request.body(bytes.into()).expect("a well-formed request");
        // A thread of its own, because a runtime cannot block inside the runtime of an async test.
        thread::scope(|scope| scope.spawn(|| self.send_blocking(request)).join())
            .expect("the request does not panic")
            .map_err(|e| format!("{path}: {e:?}"))
    }

    fn send_blocking(&self, request: Request<kube::client::Body>) -> anyhow::Result<Answer> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let kubeconfig = Kubeconfig::read_from(&self.kubeconfig)?;
            let options = KubeConfigOptions::default();
            let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
            config.default_retry = false;
            config.connect_timeout = Some(Duration::from_secs(10));
            config.read_timeout = Some(Duration::from_mins(1));
            let response = kube::Client::try_from(config)?.send(request).await?;
            let status = response.status().as_u16();
            let bytes = response.into_body().collect().await?.to_bytes();
            let body = serde_json::from_slice(&bytes)
                .unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned().into());
            Ok(Answer { status, body })
        })
    }
}
