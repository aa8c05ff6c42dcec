//! What a failed request means, and what to do about it. Decided by status code and reason, never by text.

use k8s_openapi::jiff::{Timestamp, fmt::rfc2822};
use serde::Deserialize;
use std::time::Duration;

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// 404: the object does not exist.
    NotFound,
    /// 409 with reason `AlreadyExists`.
    AlreadyExists,
    /// Any other 409: somebody else wrote in between.
    Conflict,
    /// 410: the resource version is too old.
    Gone,
    /// 422: the server refuses the object; of a patch that carries a UID it also means that the object was created
    /// anew.
    Invalid,
    /// 401: the credential is not, or no longer, good.
    Unauthorized,
    /// 403: the credential may not do this.
    Forbidden,
    /// 429: the server is busy.
    TooManyRequests,
    /// 5xx: the server, or what it stands on, is in trouble.
    Server,
    /// There was no whole answer: refused, reset, no name, bad certificate.
    Network,
    /// There was no answer in time.
    Timeout,
    /// The answer makes no sense.
    Garbled,
    /// Any other status code.
    Other,
}

/// A request that did not do what it was for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Its kind.
    pub kind: Kind,
    /// What the server or the link said.
    pub message: String,
    /// How long the server asked to wait.
    pub retry_after: Option<Duration>,
}

/// What to do after a failed try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Read the object afresh and try again now.
    Reread,
    /// Try again after this long.
    After(Duration),
    /// Not in this round.
    NextRound,
}

/// The longest that a server may ask one round to wait; a longer wish ends the round.
pub const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The wait for a busy server that does not say how long.
const BUSY_WAIT: Duration = Duration::from_secs(1);

impl Failure {
    /// A failure without an answer.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after: None,
        }
    }

    /// The failure that an answer with an error status is. `now` is for a Retry-After that names a date.
    pub fn from_answer(code: u16, retry_after: Option<&str>, body: &[u8], now: Timestamp) -> Self {
        let status: StatusBody = serde_json::from_slice(body).unwrap_or_default();
        let kind = match (code, status.reason.as_str()) {
            (404, _) => Kind::NotFound,
            (409, "AlreadyExists") => Kind::AlreadyExists,
            (409, _) => Kind::Conflict,
            (410, _) => Kind::Gone,
            (422, _) => Kind::Invalid,
            (401, _) => Kind::Unauthorized,
            (403, _) => Kind::Forbidden,
            (429, _) => Kind::TooManyRequests,
            (500..=599, _) => Kind::Server,
            _ => Kind::Other,
        };
        let message = match status.message.as_str() {
            "" => format!("the apiserver answered {code}"),
            message => message.to_owned(),
        };
        Self {
            kind,
            message,
            retry_after: retry_after.and_then(|text| parse_retry_after(text, now)),
        }
    }

    /// Whether the link, not the request, is at fault: what counts towards a new connection.
    pub fn is_link(&self) -> bool {
        matches!(self.kind, Kind::Network | Kind::Timeout)
    }

    /// What to do after this failure of a write to an object that is read before it is written.
    pub fn next(&self) -> Next {
        match self.kind {
            Kind::Conflict | Kind::NotFound | Kind::AlreadyExists | Kind::Gone | Kind::Invalid
            // Without an answer the write may have been done all the same.
            | Kind::Network | Kind::Timeout | Kind::Garbled
            // The client has taken the credential afresh.
            | Kind::Unauthorized => Next::Reread,
            Kind::TooManyRequests | Kind::Server => match self.retry_after {
                None if self.kind == Kind::TooManyRequests => Next::After(BUSY_WAIT),
                None => Next::Reread,
                Some(wait) if wait <= LONGEST_WAIT => Next::After(wait),
                Some(_) => Next::NextRound,
            },
            Kind::Forbidden | Kind::Other => Next::NextRound,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
struct StatusBody {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
}

/// A Retry-After header (RFC 9110 §10.2.3): seconds or an HTTP date; anything else is as if it were not there.
fn parse_retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = rfc2822::parse(text).ok()?.timestamp();
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{Failure, Kind, Next, parse_retry_after};
    use k8s_openapi::jiff::Timestamp;
    use std::time::Duration;

    fn now() -> Timestamp {
        "2025-01-01T00:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_status_code_and_a_reason_decide_the_kind() {
        for (code, body, kind) in [
            (
                404,
                r#"{"kind":"Status","reason":"NotFound","code":404}"#,
                Kind::NotFound,
            ),
            (409, r#"{"reason":"AlreadyExists"}"#, Kind::AlreadyExists),
            (409, r#"{"reason":"Conflict"}"#, Kind::Conflict),
            (409, "not json", Kind::Conflict),
            (410, r#"{"reason":"Expired"}"#, Kind::Gone),
            (422, "{}", Kind::Invalid),
            (401, "", Kind::Unauthorized),
            (403, "", Kind::Forbidden),
            (429, "", Kind::TooManyRequests),
            (500, "", Kind::Server),
            (503, "", Kind::Server),
            (418, "", Kind::Other),
        ] {
            assert_eq!(
                Failure::from_answer(code, None, body.as_bytes(), now()).kind,
                kind,
                "{code} {body}"
            );
        }
    }

    #[test]
    fn c107_every_form_of_retry_after() {
        for (text, wait) in [
            ("2", Some(2)),
            (" 99999 ", Some(99_999)),
            ("Wed, 01 Jan 2025 00:00:05 GMT", Some(5)),
            ("Tue, 31 Dec 2024 23:00:00 GMT", Some(0)),
            ("abc", None),
            ("", None),
            ("-3", None),
        ] {
            assert_eq!(
                parse_retry_after(text, now()),
                wait.map(Duration::from_secs),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_busy_server_is_waited_for_within_limits() {
        let busy = |header| Failure::from_answer(429, header, b"", now()).next();
        assert_eq!(busy(Some("2")), Next::After(Duration::from_secs(2)));
        assert_eq!(busy(Some("99999")), Next::NextRound);
        assert_eq!(busy(None), Next::After(Duration::from_secs(1)));
        assert_eq!(Failure::new(Kind::Forbidden, "no").next(), Next::NextRound);
        assert_eq!(Failure::new(Kind::Timeout, "late").next(), Next::Reread);
    }
}
