//! The Node as an object of the cluster: what is known of it ([`cache`], [`watch`]), registration ([`register`]), the
//! status loop ([`sync`], [`wanted`], [`period`]), change detection ([`changed`]), the patch ([`patch`]), who may write
//! ([`role`]).

pub mod cache;
pub mod changed;
pub mod patch;
pub mod period;
pub mod register;
pub mod role;
pub mod sync;
pub mod wanted;
pub mod watch;
