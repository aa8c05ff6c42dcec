//! The cluster that one round works with: a real one, a recorded one, or none.

use super::Stored;
use crate::api::client::ApiClient;
use crate::api::failure::{Failure, Kind};
use crate::api::request::ApiRequest;
use serde_json::Value;

/// The cluster of one round.
#[derive(Debug)]
pub enum ClusterAccess {
    /// There is none.
    None,
    /// An apiserver.
    Live(ApiClient),
    /// What a recording says of one; nothing can be sent to it.
    Recorded(Stored),
}

impl ClusterAccess {
    /// Whether there is a cluster to compare with.
    pub fn is_there(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// The own objects as the cluster has them.
    ///
    /// # Errors
    /// The apiserver gives no answer, or another than the object or a 404.
    pub async fn stored(&self, name: &str) -> Result<Stored, Failure> {
        match self {
            Self::None => Ok(Stored::default()),
            Self::Recorded(stored) => Ok(stored.clone()),
            Self::Live(api) => Ok(Stored {
                node: api.find(&ApiRequest::get_node(name)).await?,
                lease: api.find(&ApiRequest::get_lease(name)).await?,
            }),
        }
    }

    /// Sends a write.
    ///
    /// # Errors
    /// The write is not accepted, or there is nobody to send it to.
    pub async fn send(&self, request: &ApiRequest) -> Result<Value, Failure> {
        match self {
            Self::Live(api) => api.send(request).await,
            Self::None | Self::Recorded(_) => Err(Failure::new(
                Kind::Other,
                "there is no apiserver to send to",
            )),
        }
    }
}
