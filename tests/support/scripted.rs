//! An apiserver made of a script, for faults and orders of calls that a real one does not produce on demand. Behind
//! the script stands a small [`store`] with one Node and its Lease; it answers whatever the script lets pass.
//!
//! It is HTTP/1.1 over plain TCP, written by hand on threads of its own: a server library would not send half an
//! answer, and the runtime of a test may have stopped its clock.

pub mod store;

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::thread;
use std::time::Duration;

use super::scratch::Scratch;
use store::Store;

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Received {
    pub method: String,
    pub path: String,
    pub query: String,
    /// By name in lower case.
    pub headers: BTreeMap<String, String>,
    /// Null without one.
    pub body: Value,
    /// When, in the time of the test, which may stand still.
    pub at: tokio::time::Instant,
    /// Which connection it came on, counted from 1 in the order of accepting.
    pub connection: usize,
}

impl Received {
    /// What is asked for, in few words: `patch node/status`, `update lease`.
    pub fn call(&self) -> String {
        let collection = matches!(self.resource(), "nodes" | "leases");
        let verb = match self.method.as_str() {
            "GET" if self.parameter("watch") == Some("true") => "watch",
            "GET" if collection => "list",
            "GET" => "get",
            "POST" => "create",
            "PUT" => "update",
            "PATCH" => "patch",
            other => other,
        };
        let object = match self.resource() {
            "nodes" => "node",
            "leases" => "lease",
            resource => resource,
        };
        format!("{verb} {object}")
    }

    /// `nodes` and `leases` for a collection, `node`, `node/status` and `lease` for one object.
    fn resource(&self) -> &'static str {
        let parts: Vec<&str> = self.path.split('/').skip(1).collect();
        match parts.as_slice() {
            ["api", "v1", "nodes"] => "nodes",
            ["api", "v1", "nodes", _] => "node",
            ["api", "v1", "nodes", _, "status"] => "node/status",
            [
                "apis",
                "coordination.k8s.io",
                "v1",
                "namespaces",
                "kube-node-lease",
                "leases",
            ] => "leases",
            [
                "apis",
                "coordination.k8s.io",
                "v1",
                "namespaces",
                "kube-node-lease",
                "leases",
                _,
            ] => "lease",
            _ => "something else",
        }
    }

    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query
            .split('&')
            .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }
}

/// What goes back over the wire.
#[derive(Debug, Clone)]
pub enum Answer {
    Json {
        code: u16,
        headers: Vec<(String, String)>,
        body: Value,
    },
    /// These bytes as they are, then the end of the connection.
    Bytes(Vec<u8>),
    /// A success whose body breaks off.
    Half,
    /// Nothing; the connection stays open.
    Hang,
    /// The connection is reset (TCP RST).
    Reset,
    /// A watch with these events; then it stays open, or ends in good order.
    Events { events: Vec<Value>, ends: bool },
    /// A watch of the store, from after this resource version on.
    Watch(u64),
}

impl Answer {
    pub fn json(code: u16, body: Value) -> Self {
        Self::Json {
            code,
            headers: Vec::new(),
            body,
        }
    }

    /// An error as an apiserver words it.
    pub fn status(code: u16, reason: &str) -> Self {
        let message = format!("scripted: {reason}");
        Self::json(
            code,
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason,
                   "message": message, "code": code}),
        )
    }

    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        if let Self::Json { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }
}

/// What the script makes of a request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// The store answers.
    Store,
    /// This is answered, and the store does not hear of it.
    Instead(Answer),
    /// The store does what was asked for, but this is answered: an answer that gets lost.
    DoneBut(Answer),
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self::Instead(answer)
    }
}

type Script = Box<dyn FnMut(&Received) -> Reply + Send>;

/// The server. It goes away on drop, with all connections.
pub struct Scripted {
    shared: Arc<Shared>,
    address: SocketAddr,
    scratch: Scratch,
}

struct Shared {
    runtime: tokio::runtime::Handle,
    stopped: AtomicBool,
    state: Mutex<State>,
}

struct State {
    script: Script,
    store: Store,
    received: Vec<Received>,
    accepted: usize,
    open: BTreeMap<usize, TcpStream>,
}

impl Shared {
    #[track_caller]
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no script panicked")
    }
}

impl Scripted {
    /// Starts with an empty store and no script. Call it from within the runtime of the test.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind a free port");
        let address = listener.local_addr().expect("the address is known");
        let shared = Arc::new(Shared {
            runtime: tokio::runtime::Handle::current(),
            stopped: AtomicBool::new(false),
            state: Mutex::new(State {
                script: Box::new(|_| Reply::Store),
                store: Store::default(),
                received: Vec::new(),
                accepted: 0,
                open: BTreeMap::new(),
            }),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &accepting));
        Self {
            shared,
            address,
            scratch: Scratch::new(),
        }
    }

    /// From now on this decides.
    pub fn script(&self, script: impl FnMut(&Received) -> Reply + Send + 'static) {
        self.shared.state().script = Box::new(script);
    }

    /// The next requests of the kind `call` are answered so, one after the other; all others are the store's.
    pub fn answers(&self, call: &'static str, answers: impl IntoIterator<Item = Reply>) {
        let mut answers: std::collections::VecDeque<Reply> = answers.into_iter().collect();
        self.script(move |received| {
            if received.call() == call {
                answers.pop_front().unwrap_or(Reply::Store)
            } else {
                Reply::Store
            }
        });
    }

    /// All requests so far.
    pub fn received(&self) -> Vec<Received> {
        self.shared.state().received.clone()
    }

    /// All requests so far in few words.
    pub fn calls(&self) -> Vec<String> {
        self.shared
            .state()
            .received
            .iter()
            .map(Received::call)
            .collect()
    }

    /// All requests so far of the kind `call`.
    pub fn received_of(&self, call: &str) -> Vec<Received> {
        let mut received = self.received();
        received.retain(|request| request.call() == call);
        received
    }

    /// How many requests came in so far.
    pub fn count(&self) -> usize {
        self.shared.state().received.len()
    }

    /// How many connections were accepted so far.
    pub fn accepted(&self) -> usize {
        self.shared.state().accepted
    }

    /// Looks at the store or changes it, as another client would.
    pub fn store<T>(&self, work: impl FnOnce(&mut Store) -> T) -> T {
        work(&mut self.shared.state().store)
    }

    /// Where test files may go that belong to this server.
    pub fn directory(&self) -> &Path {
        self.scratch.path()
    }

    /// A kubeconfig of a user without a credential.
    pub fn kubeconfig(&self) -> PathBuf {
        self.kubeconfig_of(&json!({}))
    }

    /// A kubeconfig of this `user`, under the same path each time.
    pub fn kubeconfig_of(&self, user: &Value) -> PathBuf {
        let path = self.directory().join("kubeconfig");
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "scripted",
            "clusters": [{"name": "scripted", "cluster": {"server": format!("http://{}", self.address)}}],
            "users": [{"name": "me", "user": user}],
            "contexts": [{"name": "scripted", "context": {"cluster": "scripted", "user": "me"}}],
        });
        // Replaced as a whole, so that nobody reads half of it.
        let fresh = self.directory().join("kubeconfig.new");
        std::fs::write(&fresh, kubeconfig.to_string()).expect("write the kubeconfig");
        std::fs::rename(&fresh, &path).expect("put the kubeconfig in place");
        path
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        if let Ok(mut state) = self.shared.state.lock() {
            state.store.end_watches();
            for connection in state.open.values() {
                let _ = connection.shutdown(Shutdown::Both);
            }
        }
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for connection in listener.incoming() {
        if shared.stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(connection) = connection else { continue };
        let number = {
            let mut state = shared.state();
            state.accepted += 1;
            let number = state.accepted;
            state
                .open
                .insert(number, connection.try_clone().expect("clone a socket"));
            number
        };
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            // An error is a client that went away, as it may.
            let _ = serve(&connection, number, &shared);
            if let Ok(mut state) = shared.state.lock() {
                state.open.remove(&number);
            }
        });
    }
}

fn serve(connection: &TcpStream, number: usize, shared: &Shared) -> io::Result<()> {
    let mut reader = BufReader::new(connection);
    while let Some(received) = read_request(&mut reader, number, shared)? {
        let (answer, events) = {
            let mut state = shared.state();
            state.received.push(received.clone());
            let reply = (state.script)(&received);
            let answer = match reply {
                Reply::Store => state.store.answer(&received),
                Reply::Instead(answer) => answer,
                Reply::DoneBut(answer) => {
                    state.store.answer(&received);
                    answer
                }
            };
            let events = match &answer {
                Answer::Watch(version) => Some(state.store.watch(*version)),
                _ => None,
            };
            (answer, events)
        };
        match answer {
            Answer::Json {
                code,
                headers,
                body,
            } => write_json(connection, code, &headers, &body)?,
            Answer::Bytes(bytes) => return write_all(connection, &bytes),
            Answer::Half => {
                let half = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"kind\":";
                return write_all(connection, half.as_bytes());
            }
            Answer::Hang => return wait_for_end(&mut reader),
            Answer::Reset => {
                // The other handle to the socket goes first, or this one would not be the last.
                shared.state().open.remove(&number);
                return socket2::SockRef::from(connection).set_linger(Some(Duration::ZERO));
            }
            Answer::Events { events, ends } => {
                begin_stream(connection)?;
                for event in events {
                    write_event(connection, &event)?;
                }
                if !ends {
                    return wait_for_end(&mut reader);
                }
                write_all(connection, b"0\r\n\r\n")?;
            }
            Answer::Watch(_) => {
                begin_stream(connection)?;
                for event in events.into_iter().flat_map(mpsc::Receiver::into_iter) {
                    write_event(connection, &event)?;
                }
                write_all(connection, b"0\r\n\r\n")?;
            }
        }
    }
    Ok(())
}

fn read_request(
    reader: &mut BufReader<&TcpStream>,
    connection: usize,
    shared: &Shared,
) -> io::Result<Option<Received>> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    let mut request_line = head[0].split(' ');
    let method = request_line.next().unwrap_or_default().to_owned();
    let target = request_line.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers: BTreeMap<String, String> = head[1..]
        .iter()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers
        .get("content-length")
        .map_or(0, |length| length.parse().expect("a number"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let at = {
        let _guard = shared.runtime.enter();
        tokio::time::Instant::now()
    };
    Ok(Some(Received {
        method,
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body: if body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&body).expect("JSON")
        },
        at,
        connection,
    }))
}

fn write_json(
    connection: &TcpStream,
    code: u16,
    headers: &[(String, String)],
    body: &Value,
) -> io::Result<()> {
    let body = body.to_string();
    let headers: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let headers = headers.concat();
    let text = format!(
        "HTTP/1.1 {code} Scripted\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    write_all(connection, text.as_bytes())
}

fn begin_stream(connection: &TcpStream) -> io::Result<()> {
    write_all(
        connection,
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
    )
}

fn write_event(connection: &TcpStream, event: &Value) -> io::Result<()> {
    let line = format!("{event}\n");
    write_all(
        connection,
        format!("{:x}\r\n{line}\r\n", line.len()).as_bytes(),
    )
}

fn write_all(mut connection: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    connection.write_all(bytes)
}

/// Reads on until the client closes.
fn wait_for_end(reader: &mut BufReader<&TcpStream>) -> io::Result<()> {
    io::copy(reader, &mut io::sink()).map(drop)
}
