//! What decides the pressure conditions: thresholds as configured, signals as observed.

pub mod signals;
pub mod state;
pub mod thresholds;
