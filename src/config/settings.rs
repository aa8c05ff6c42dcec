//! (being written)

/// Settings.
#[derive(Debug, Clone, Default)]
pub struct Settings {}
