//! Finds the user whose process is the other end of a connection over loopback.
//!
//! A reverse proxy on this machine that adds no headers sends the same requests as a browser, but runs as a user of its
//! own. Linux lists the owner of each socket in `/proc/net/tcp` (proc(5)); elsewhere the owner is unknown.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::extract::{ConnectInfo, Request};
use http_edge::LocalAddress;
use rustix::process::geteuid;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// The largest part of a table of sockets that is read: about 100,000 sockets.
const MAX_TABLE_BYTES: u64 = 16 << 20;
/// The superuser, who can read the messages anyway.
const ROOT: u32 = 0;

/// Look-ups at the same time; others wait.
static LOOKUPS: Semaphore = Semaphore::const_new(2);

/// The two ends of a connection over loopback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LoopbackConnection {
    client: SocketAddr,
    server: SocketAddr,
}

impl LoopbackConnection {
    /// Returns the connection of a request; `None` if its ends are not known.
    pub(super) fn of_request(request: &Request) -> Option<Self> {
        let client = request.extensions().get::<ConnectInfo<SocketAddr>>()?.0;
        let server = request.extensions().get::<LocalAddress>()?.0;
        Some(Self { client: canonical(client), server: canonical(server) })
    }

    /// Returns whether the client is a process of the user of this process, or of root.
    ///
    /// A socket without an owner counts as another user's: a client that sends a request and closes the socket at once
    /// leaves none. Systems without the tables of Linux tell no owner, so that every client of this machine counts there.
    pub(super) async fn is_of_own_user(self) -> bool {
        if !cfg!(target_os = "linux") {
            return true;
        }
        let Ok(_permit) = LOOKUPS.acquire().await else { return false };
        let owner = spawn_blocking(move || self.find_client_user()).await.ok().flatten();
        owner.is_some_and(|user| user == ROOT || user == geteuid().as_raw())
    }

    fn find_client_user(self) -> Option<u32> {
        // The socket of a client is in the second table also if it connects to an IPv4 address by IPv6.
        ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().find_map(|table| {
            let table = BufReader::new(File::open(table).ok()?.take(MAX_TABLE_BYTES));
            let mut rows = table.lines().map_while(Result::ok).filter_map(|line| SocketRow::parse(&line));
            rows.find(|row| row.local == self.client && row.remote == self.server).map(|row| row.user)
        })
    }
}

/// A socket in a table.
#[derive(Debug, PartialEq, Eq)]
struct SocketRow {
    local: SocketAddr,
    remote: SocketAddr,
    user: u32,
}

impl SocketRow {
    /// Parses a line; `None` for the head of the table and for a socket that no process has open.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, remote) = (parse_address(fields.next()?)?, parse_address(fields.next()?)?);
        // State, queues, timer and retransmissions precede the user; the timeout precedes the inode.
        let user = fields.nth(4)?.parse().ok()?;
        let inode = fields.nth(1)?;
        (inode != "0").then_some(Self { local, remote, user })
    }
}

/// Parses `0100007F:D431`: words of the address in the byte order of the machine, and the port.
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let word = |at: usize| u32::from_str_radix(address.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    let address = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (number, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(number * 8)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    let port = u16::from_str_radix(port, 16).ok()?;
    Some(canonical(SocketAddr::new(address, port)))
}

/// Returns the address without scope, and as IPv4 if it is mapped to IPv6.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use proptest::prelude::*;

    use super::*;

    /// Formats an address as Linux does.
    fn format_address(address: SocketAddr) -> String {
        let word = |bytes: &[u8]| format!("{:08X}", u32::from_ne_bytes(bytes.try_into().expect("four bytes")));
        let words = match address.ip() {
            IpAddr::V4(ip) => word(&ip.octets()),
            IpAddr::V6(ip) => ip.octets().chunks(4).map(word).collect(),
        };
        format!("{words}:{:04X}", address.port())
    }

    fn address() -> impl Strategy<Value = SocketAddr> {
        let ip = prop_oneof![
            any::<[u8; 4]>().prop_map(IpAddr::from),
            any::<[u8; 16]>().prop_map(IpAddr::from),
            any::<[u8; 4]>().prop_map(|bytes| IpAddr::V6(Ipv4Addr::from(bytes).to_ipv6_mapped())),
        ];
        (ip, any::<u16>()).prop_map(SocketAddr::from)
    }

    proptest! {
        #[test]
        fn formatted_row_is_parsed(local in address(), remote in address(), user: u32, inode in 1_u64..) {
            let (from, to) = (format_address(local), format_address(remote));
            let line = format!("  12: {from} {to} 01 00000000:00000000 02:000A7D8C 00000000 {user:>5} 0 {inode} 2 0 20 4");
            let row = SocketRow { local: canonical(local), remote: canonical(remote), user };
            prop_assert_eq!(SocketRow::parse(&line), Some(row));
        }

        #[test]
        fn arbitrary_line_is_no_panic(line in "\\PC{0,200}", fields in "( {0,2}[0-9A-F:]{0,40}){0,14}") {
            let _ = (SocketRow::parse(&line), SocketRow::parse(&fields));
        }
    }

    #[test]
    fn row_of_a_closed_socket_has_no_user() {
        let line = "1: 0100007F:57E4 0100007F:0050 06 00000000:00000000 03:00001770 00000000 0 0 0 3 0";
        assert_eq!(SocketRow::parse(line), None);
        assert_eq!(SocketRow::parse("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when uid"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn own_connections_belong_to_the_own_user() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(host) else { continue };
            let server = listener.local_addr().expect("an address");
            let stream = TcpStream::connect(server).expect("connected");
            let client = stream.local_addr().expect("an address");
            let user = LoopbackConnection { client, server }.find_client_user();
            assert_eq!(user, Some(geteuid().as_raw()), "{host}");
            let other = LoopbackConnection { client: server, server };
            assert_eq!(other.find_client_user(), None, "no such connection");
        }
    }
}
