//! One agent check: connects, sends the configured text and reads the reply.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::time::timeout;
use weir_config::plan::AgentPlan;
use weir_net::{Socket, connect_first};
use weir_wire::agent::{self, AgentReply, REPLY_BYTES_MAX};

use crate::state::Endpoint;

/// One agent check of one server.
#[derive(Debug)]
pub(in crate::control) struct Question {
    pub(in crate::control) endpoint: Arc<Endpoint>,
    pub(in crate::control) port: u16,
    pub(in crate::control) plan: AgentPlan,
}

impl Question {
    /// Runs the check within its timeout. Returns the reason if the agent gives no usable reply.
    pub(in crate::control) async fn ask(&self) -> Result<AgentReply, String> {
        let limit = self.plan.timeout.duration();
        match timeout(limit, self.exchange()).await {
            Ok(Ok(said)) => agent::parse(&said).ok_or_else(|| "it said nothing".to_owned()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no answer within {} ms", limit.as_millis())),
        }
    }

    async fn exchange(&self) -> io::Result<Vec<u8>> {
        let mut socket = self.connect().await?;
        let mut rest = self.plan.send.as_deref().unwrap_or("").as_bytes();
        while !rest.is_empty() {
            match poll_fn(|cx| socket.poll_write(cx, rest)).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => rest = &rest[written..],
            }
        }
        let mut said = Vec::new();
        let mut part = [0; 256];
        // Stops at the end of the line, or at the longest permitted reply.
        while !agent::is_complete(&said) && said.len() < REPLY_BYTES_MAX {
            match poll_fn(|cx| socket.poll_read(cx, &mut part)).await? {
                0 => break,
                read => said.extend_from_slice(&part[..read]),
            }
        }
        Ok(said)
    }

    /// Connects to the first address that answers, at the agent's port.
    async fn connect(&self) -> io::Result<Socket> {
        let addresses = match &*self.endpoint {
            Endpoint::Inet(addresses) => addresses.as_slice(),
            Endpoint::Unix(_) | Endpoint::Unresolved => &[],
        };
        let at_port: Vec<_> = addresses.iter().map(|it| SocketAddr::new(it.ip(), self.port)).collect();
        connect_first(at_port).await
    }
}
