//! Configuration: a tree with lines ([`tree`]) is checked against the keys there are ([`mod@file`]), laid over the trees
//! below it ([`merge`]), and validated into [`settings`]. [`effective`] writes settings as a file again.

pub mod effective;
pub mod file;
pub mod go_duration;
pub mod labels;
pub mod merge;
pub mod node_ip;
pub mod node_name;
mod reader;
pub mod settings;
pub mod tree;
mod validate;
