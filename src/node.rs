//! The Node as an object of the cluster: registration, the status loop, change detection, the patch.

pub mod changed;
pub mod patch;
pub mod register;
pub mod role;
pub mod sync;
