//! One supervisor owns every task. A task that ends by itself ends the program; SIGTERM and SIGINT end all tasks; a
//! second signal does not wait for them.

use crate::node::role::Refusal;
use std::future::Future;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long tasks may take to finish what they have begun once they are told to stop.
const GRACE: Duration = Duration::from_millis(1500);

/// Why the program ends.
#[derive(Debug)]
pub enum End {
    /// It was told to.
    Stopped,
    /// It was told to twice.
    Aborted,
    /// A task ended by itself.
    Failed(anyhow::Error),
    /// The role is refused.
    Refused(Refusal),
}

/// Why a task ends although nobody stopped it.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The role is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Anything else.
    #[error(transparent)]
    Failed(#[from] anyhow::Error),
}

/// The tasks of the program.
#[derive(Debug, Default)]
pub struct Supervisor {
    tasks: JoinSet<(&'static str, Result<(), TaskError>)>,
    stop: CancellationToken,
}

impl Supervisor {
    /// What the tasks watch to know when to stop.
    pub fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Starts a task. It ends with `Ok` only after [`Supervisor::stop`] was cancelled.
    pub fn start(
        &mut self,
        name: &'static str,
        task: impl Future<Output = Result<(), TaskError>> + Send + 'static,
    ) {
        self.tasks.spawn(async move { (name, task.await) });
    }

    /// Runs until a signal or until a task ends by itself.
    ///
    /// # Errors
    /// Signals cannot be listened to.
    pub async fn run(mut self) -> std::io::Result<End> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let end = tokio::select! {
            _ = terminate.recv() => End::Stopped,
            _ = interrupt.recv() => End::Stopped,
            ended = self.tasks.join_next() => end_of(ended),
        };
        tracing::info!("Stopping");
        self.stop.cancel();
        let finish = async { while self.tasks.join_next().await.is_some() {} };
        let aborted = tokio::select! {
            _ = terminate.recv() => true,
            _ = interrupt.recv() => true,
            _ = tokio::time::timeout(GRACE, finish) => false,
        };
        Ok(if aborted { End::Aborted } else { end })
    }
}

/// What a task ended with, if there was one.
type Ended = Option<Result<(&'static str, Result<(), TaskError>), tokio::task::JoinError>>;

/// The end that the end of a task is.
fn end_of(ended: Ended) -> End {
    match ended {
        None => End::Failed(anyhow::anyhow!("there was no task to run")),
        Some(Err(error)) => End::Failed(anyhow::Error::new(error).context("a task panicked")),
        Some(Ok((_, Err(TaskError::Refused(refusal))))) => End::Refused(refusal),
        Some(Ok((name, Err(TaskError::Failed(error))))) => {
            End::Failed(error.context(format!("task {name}")))
        }
        Some(Ok((name, Ok(())))) => End::Failed(anyhow::anyhow!("task {name} ended by itself")),
    }
}

#[cfg(test)]
mod tests {
    use super::{End, Supervisor, TaskError};
    use crate::node::role::Refusal;

    #[tokio::test]
    async fn a_task_that_ends_by_itself_ends_the_program() {
        for (row, result, expected) in [
            ("well", Ok(()), "task t ended by itself"),
            (
                "with an error",
                Err(TaskError::Failed(anyhow::anyhow!("broken"))),
                "task t: broken",
            ),
        ] {
            let mut supervisor = Supervisor::default();
            let stop = supervisor.stop();
            supervisor.start("t", async move { result });
            supervisor.start("other", async move {
                stop.cancelled().await;
                Ok(())
            });
            match supervisor.run().await.unwrap() {
                End::Failed(error) => assert_eq!(format!("{error:#}"), expected, "{row}"),
                other => panic!("{row}: {other:?}"),
            }
        }
    }

    #[tokio::test]
    async fn a_refused_role_is_told_apart() {
        let mut supervisor = Supervisor::default();
        supervisor.start("t", async {
            Err(Refusal::KeptByOther("kubelet".to_owned()).into())
        });
        assert!(matches!(supervisor.run().await.unwrap(), End::Refused(_)));
    }
}
