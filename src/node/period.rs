//! When the next report is due although nothing changed (`pkg/kubelet/kubelet_node_status.go`,
//! `isUpdateStatusPeriodExpired`, `calculateDelay`).

use std::time::Duration;
use tokio::time::Instant;

/// Upstream's jitter (`wait.JitterUntil` with 0.04): a wait is up to this share longer.
const JITTER: f64 = 0.04;

/// `wait`, a little longer at random, so that a fleet does not walk in step.
pub fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(1.0 + JITTER * fastrand::f64())
}

/// The report period with its one-time offset after a change or a start, which spreads a fleet's reports (C101).
#[derive(Debug, Clone, Default)]
pub struct ReportPeriod {
    last_report: Option<Instant>,
    /// Offset of the next report, as a share of the period: -0.5 up to, not including, 0.5.
    offset: f64,
}

impl ReportPeriod {
    /// Whether a report is due at `now` although nothing changed: always before the first one.
    pub fn expired(&self, now: Instant, period: Duration) -> bool {
        self.last_report.is_none_or(|last| {
            now.saturating_duration_since(last) >= period.mul_f64(1.0 + self.offset)
        })
    }

    /// A report is about to be sent. After a change, and at the start, the next is due a random half period sooner or
    /// later; after a purely periodic one exactly a period later. Kept when the report then fails.
    pub fn sending(&mut self, changed: bool, random: f64) {
        self.offset = if changed || self.last_report.is_none() {
            random - 0.5
        } else {
            0.0
        };
    }

    /// The report was accepted at `now`.
    pub fn accepted(&mut self, now: Instant) {
        self.last_report = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::ReportPeriod;
    use std::time::Duration;
    use tokio::time::Instant;

    const PERIOD: Duration = Duration::from_mins(5);

    #[tokio::test(start_paused = true)]
    async fn test_is_update_status_period_expired() {
        let minutes = |n| Duration::from_mins(n);
        let now = Instant::now() + minutes(60);
        let share = |minutes: f64| minutes / 5.0;
        for (row, last, offset, expired) in [
            ("zero, 0", None, 0.0, true),
            ("zero, 30s", None, share(0.5), true),
            ("-4m, 0", Some(minutes(4)), 0.0, false),
            ("-5m, +1m", Some(minutes(5)), share(1.0), false),
            ("-4m, -2m", Some(minutes(4)), share(-2.0), true),
            ("exactly -5m, 0", Some(minutes(5)), 0.0, true),
        ] {
            let period = ReportPeriod {
                last_report: last.map(|ago| now - ago),
                offset,
            };
            assert_eq!(period.expired(now, PERIOD), expired, "{row}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn test_calculate_delay_is_within_half_a_period() {
        let start = Instant::now();
        for draw in 0..100 {
            let mut period = ReportPeriod::default();
            period.sending(true, f64::from(draw) / 100.0);
            period.accepted(start);
            assert!(
                !period.expired(start + PERIOD.mul_f64(0.49), PERIOD),
                "draw {draw}"
            );
            assert!(
                period.expired(start + PERIOD.mul_f64(1.5), PERIOD),
                "draw {draw}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_periodic_report_is_followed_by_exactly_one_period() {
        let start = Instant::now();
        let mut period = ReportPeriod::default();
        period.sending(false, 0.9);
        period.accepted(start);
        assert!(
            !period.expired(start + PERIOD.mul_f64(1.39), PERIOD),
            "the first report counts as a change"
        );
        period.sending(false, 0.9);
        period.accepted(start);
        assert!(!period.expired(start + PERIOD - Duration::from_millis(1), PERIOD));
        assert!(period.expired(start + PERIOD, PERIOD));
    }

    #[tokio::test(start_paused = true)]
    async fn a_report_that_failed_keeps_its_offset_and_does_not_count() {
        let start = Instant::now();
        let mut period = ReportPeriod::default();
        period.sending(true, 0.0);
        period.accepted(start);
        period.sending(true, 0.99);
        assert!(period.expired(start + PERIOD.mul_f64(1.5), PERIOD));
        assert!(
            !period.expired(start + PERIOD, PERIOD),
            "the offset of the failed report holds"
        );
    }
}
