//! A TCP proxy in front of an apiserver that can go silent, as a load balancer or a firewall does: the connections stay
//! open, nothing is refused and nothing comes through.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// How often a quiet connection looks whether it has become silent.
const LOOK: Duration = Duration::from_millis(20);

pub struct Proxy {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Connections below this number are silent.
    silent_below: AtomicUsize,
    accepted: AtomicUsize,
    /// Bytes that clients have sent into the silence.
    swallowed: AtomicUsize,
    /// New connections are silent too.
    closed: AtomicBool,
    ended: AtomicBool,
}

impl Proxy {
    /// In front of `url`, for example `https://127.0.0.1:1234`.
    pub fn start(url: &str) -> Self {
        let target = url
            .strip_prefix("https://")
            .expect("an https URL")
            .to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("a bound address").port();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming() {
                if shared.ended.load(Ordering::SeqCst) {
                    return;
                }
                let number = shared.accepted.fetch_add(1, Ordering::SeqCst);
                // Either end may be gone already; the client then sees a closed connection.
                if let Ok(client) = client
                    && let Ok(server) = TcpStream::connect(&target)
                {
                    forward(number, client, server, &shared);
                }
            }
        });
        Self { port, state }
    }

    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The connections that are open now go silent for ever; new ones work.
    pub fn silence_open_connections(&self) {
        let accepted = self.state.accepted.load(Ordering::SeqCst);
        self.state.silent_below.store(accepted, Ordering::SeqCst);
    }

    /// All connections go silent, new ones too.
    pub fn silence(&self) {
        self.state.closed.store(true, Ordering::SeqCst);
    }

    /// How many bytes clients have sent into the silence.
    pub fn swallowed(&self) -> usize {
        self.state.swallowed.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn forward(number: usize, client: TcpStream, server: TcpStream, state: &Arc<State>) {
    let (Ok(client_too), Ok(server_too)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    for (from, to, from_client) in [(client, server, true), (server_too, client_too, false)] {
        let state = Arc::clone(state);
        thread::spawn(move || copy(number, from, to, from_client, &state));
    }
}

/// Copies until either end closes or the proxy is dropped.
fn copy(number: usize, mut from: TcpStream, mut to: TcpStream, from_client: bool, state: &State) {
    let mut buffer = [0; 16 * 1024];
    let _ = from.set_read_timeout(Some(LOOK));
    while !state.ended.load(Ordering::SeqCst) {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            Err(_) => break,
        };
        let silent = state.closed.load(Ordering::SeqCst)
            || number < state.silent_below.load(Ordering::SeqCst);
        if silent {
            if from_client {
                state.swallowed.fetch_add(count, Ordering::SeqCst);
            }
        } else if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}
