//! The link to the apiserver: a request as data ([`request`]), one client with its own deadlines ([`client`]), and
//! what each failure means ([`failure`]).

pub mod client;
pub mod failure;
pub mod request;
