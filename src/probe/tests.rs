use super::*;
use crate::source::Source;
use crate::source::live::Live;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::ThreadId;
use tokio::sync::oneshot::Receiver;

/// Longer than any test. Where it passes, the test's clock stands still and jumps to it once all else waits.
const LONG: Duration = Duration::from_mins(10);

/// A call that says when it has begun and hangs until it is let go.
fn hanging() -> (
    impl FnOnce() -> ThreadId + Send + 'static,
    Receiver<()>,
    Sender<()>,
) {
    let (begun, has_begun) = oneshot::channel();
    let (release, released) = channel();
    let call = move || {
        begun.send(()).unwrap();
        // An error as well means that it was let go.
        released.recv().ok();
        thread::current().id()
    };
    (call, has_begun, release)
}

/// Waits until `condition` holds.
async fn eventually(mut condition: impl FnMut() -> bool) {
    while !condition() {
        tokio::task::yield_now().await;
    }
}

/// Makes `prober` hang in a call with this key.
async fn stick(prober: &Prober, key: &str) -> Sender<()> {
    let (call, has_begun, release) = hanging();
    tokio::select! {
        biased;
        _ = prober.run(key, LONG, call) => panic!("a hanging call came back"),
        begun = has_begun => begun.unwrap(),
    }
    release
}

/// Makes `prober` hang in a call with this key until its deadline has passed.
async fn time_out(prober: &Prober, key: &str) -> Sender<()> {
    let (call, has_begun, release) = hanging();
    let pause = async {
        has_begun.await.unwrap();
        tokio::time::pause();
    };
    let (answer, ()) = tokio::join!(prober.run(key, LONG, call), pause);
    tokio::time::resume();
    assert_eq!(answer, Err(ProbeError::TimedOut(LONG)));
    release
}

#[tokio::test]
async fn calls_one_after_the_other_share_a_thread() {
    let prober = Prober::new(4);
    assert_eq!(prober.shared.state().threads, 0);
    let first = prober
        .run("a", LONG, || thread::current().id())
        .await
        .unwrap();
    for _ in 0..50 {
        assert_eq!(
            prober.run("a", LONG, || thread::current().id()).await,
            Ok(first)
        );
    }
    assert_ne!(first, thread::current().id());
}

#[tokio::test]
async fn a_call_that_hangs_is_left_alone_and_its_key_remembered() {
    let prober = Prober::new(4);
    let release = time_out(&prober, "stuck").await;
    for _ in 0..10 {
        assert_eq!(
            prober.run("stuck", LONG, || ()).await,
            Err(ProbeError::Stuck)
        );
    }
    assert_eq!(
        prober.run("other", LONG, || 7).await,
        Ok(7),
        "other keys go on"
    );

    release.send(()).unwrap();
    eventually(|| prober.shared.state().calls.is_empty()).await;
    assert_eq!(prober.run("stuck", LONG, || 8).await, Ok(8), "usable again");
    eventually(|| prober.shared.state().threads == 1).await;
}

#[tokio::test]
async fn no_more_threads_than_allowed() {
    let prober = Prober::new(2);
    let first = stick(&prober, "a").await;
    let _second = stick(&prober, "b").await;
    assert_eq!(prober.shared.state().threads, 2);
    assert_eq!(
        prober.run("c", LONG, || ()).await,
        Err(ProbeError::NoThread)
    );
    first.send(()).unwrap();
    eventually(|| !prober.shared.state().calls.contains_key("a")).await;
    assert_eq!(prober.run("c", LONG, || 1).await, Ok(1));
    assert_eq!(prober.shared.state().threads, 2);
}

#[tokio::test]
async fn more_calls_than_threads_wait_their_turn() {
    let prober = Prober::new(2);
    let keys: Vec<String> = (0..40).map(|key| key.to_string()).collect();
    let calls = keys.iter().map(|key| {
        let answer = key.clone();
        prober.run(key, LONG, move || answer)
    });
    let answers = futures::future::join_all(calls).await;
    assert!(answers.into_iter().map(Result::unwrap).eq(keys));
    eventually(|| prober.shared.state().threads == 1).await;
    assert_eq!(prober.shared.state().idle, 1);
}

#[tokio::test]
async fn a_call_that_never_got_a_thread_is_not_made_later() {
    let prober = Prober::new(1);
    let made = Arc::new(AtomicBool::new(false));
    let (call, has_begun, release) = hanging();
    let running = prober.run("running", 2 * LONG, call);
    let waiting = async {
        has_begun.await.unwrap();
        tokio::time::pause();
        let flag = Arc::clone(&made);
        let waited = prober
            .run("waiting", LONG, move || flag.store(true, Ordering::SeqCst))
            .await;
        tokio::time::resume();
        assert_eq!(waited, Err(ProbeError::NoThread));
        release.send(()).unwrap();
    };
    let (ran, ()) = tokio::join!(running, waiting);
    ran.unwrap();
    assert_eq!(prober.run("waiting", LONG, || 1).await, Ok(1));
    assert!(
        !made.load(Ordering::SeqCst),
        "calls are made in order, so it would have been"
    );
}

#[tokio::test]
async fn a_panic_is_an_error_of_its_call() {
    let prober = Prober::new(1);
    let words = prober.run::<()>("a", LONG, || panic!("words")).await;
    assert_eq!(words, Err(ProbeError::Panicked("words".to_owned())));
    let number = 5;
    let formatted = prober
        .run::<()>("a", LONG, move || panic!("number {number}"))
        .await;
    assert_eq!(formatted, Err(ProbeError::Panicked("number 5".to_owned())));
    assert_eq!(prober.run("a", LONG, || 1).await, Ok(1));
}

/// A dropped call must not take a later one with its key along.
#[tokio::test]
async fn giving_up_concerns_only_the_own_call() {
    let prober = Prober::new(2);
    let id = prober
        .shared
        .submit(Job {
            key: "a".to_owned(),
            call: Box::new(|| Box::new(|| ())),
        })
        .unwrap();
    let old = Waiting {
        shared: &prober.shared,
        key: "a",
        id,
    };
    eventually(|| prober.shared.state().calls.is_empty()).await;
    let _release = stick(&prober, "a").await;
    prober.shared.state().calls.get_mut("a").unwrap().progress = Progress::Running;
    drop(old);
    assert_eq!(prober.shared.state().calls["a"].progress, Progress::Running);
}

#[test]
fn a_hanging_call_holds_up_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let prober = Prober::new(1);
    let release = runtime.block_on(time_out(&prober, "stuck"));
    drop(runtime);
    let shared = Arc::downgrade(&prober.shared);
    drop(prober);
    assert!(shared.upgrade().is_some(), "the thread still hangs");
    release.send(()).unwrap();
    while shared.upgrade().is_some() {
        thread::yield_now();
    }
}

/// The small stacks are large enough for what is called on them.
#[tokio::test]
async fn readings_of_the_host_fit_on_the_stack() {
    let prober = Prober::new(1);
    let answered = prober.run("host", LONG, || {
        let live = Live::new(PathBuf::from("/"));
        live.statfs("/").is_ok()
            && live.interfaces().is_ok()
            && live.read("/proc/1/mountinfo").is_ok()
            && live.lookup("localhost").is_ok()
    });
    assert_eq!(answered.await, Ok(true));
}
