//! A keep-alive HTTP/1.1 connection that reconnects after a failure.

use crate::work::Call;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;

pub const PATIENCE: Duration = Duration::from_secs(5);

pub struct Connection {
    target: SocketAddr,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Connection {
    pub fn new(target: SocketAddr) -> Connection {
        Connection { target, sender: None }
    }

    /// Returns status and body, or the kind of failure.
    pub async fn send(&mut self, call: &Call) -> Result<(u16, Bytes), &'static str> {
        let answer = match tokio::time::timeout(PATIENCE, self.exchange(call)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(_)) => Err("connection lost"),
            Err(_) => Err("timeout"),
        };
        self.sender = None;
        answer
    }

    async fn exchange(&mut self, call: &Call) -> Result<(u16, Bytes), Box<dyn std::error::Error>> {
        if self.sender.as_ref().is_none_or(|s| s.is_closed()) {
            let stream = TcpStream::connect(self.target).await?;
            stream.set_nodelay(true)?;
            let (sender, connection) = handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            self.sender = Some(sender);
        }
        let sender = self.sender.as_mut().unwrap();
        let mut request = Request::builder()
            .method(if call.body.is_some() { Method::POST } else { Method::GET })
            .uri(call.path)
            .header("host", self.target.to_string())
            .header("user-agent", "load");
        if let Some(token) = &call.bearer {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if call.body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = call.body.clone().unwrap_or_default();
        sender.ready().await?;
        let response = sender.send_request(request.body(Full::from(body))?).await?;
        let status = response.status().as_u16();
        Ok((status, response.into_body().collect().await?.to_bytes()))
    }
}
