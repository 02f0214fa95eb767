//! Runs statements by PostgreSQL's simple query protocol.
//!
//! Rows are returned as text, as `psql -A -t` prints them.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::FlowError;
use crate::text::{split_origin, split_url};

/// The version of the protocol.
const PROTOCOL: i32 = 196_608;
/// The longest message of the server.
const MAX_MESSAGE: usize = 64 << 20;

/// Runs statements on a database without a password and returns the rows of all.
///
/// # Errors
/// The database is unreachable, or a statement fails; the error has the server's words.
pub(crate) async fn query(url: &str, sql: &str) -> Result<String, FlowError> {
    let broken = |error: io::Error| FlowError::new(format!("{url}: {error}"), "check that the database runs");
    let mut stream = connect(url).await.map_err(broken)?;
    let result = run(&mut stream, sql).await.map_err(broken)?;
    // An end that the server does not see in time changes nothing.
    let _ = stream.get_mut().write_all(b"X\0\0\0\x04").await;
    result.map_err(|error| FlowError::new(error, "check the statement"))
}

async fn connect(url: &str) -> io::Result<BufReader<TcpStream>> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "this is no postgres:// URL");
    let (origin, path) = split_origin(split_url(url).base).ok_or_else(invalid)?;
    let (_, authority) = origin.split_once("://").ok_or_else(invalid)?;
    let (user, address) = authority.rsplit_once('@').unwrap_or(("postgres", authority));
    let user = user.split(':').next().unwrap_or_default();
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut startup = PROTOCOL.to_be_bytes().to_vec();
    for text in ["user", user, "database", path.trim_start_matches('/'), "client_encoding", "UTF8"] {
        startup.extend(text.as_bytes());
        startup.push(0);
    }
    startup.push(0);
    let mut stream = BufReader::new(stream);
    let length = i32::try_from(startup.len() + 4).map_err(io::Error::other)?;
    stream.get_mut().write_all(&length.to_be_bytes()).await?;
    stream.get_mut().write_all(&startup).await?;
    loop {
        match read_message(&mut stream).await? {
            (b'Z', _) => return Ok(stream),
            (b'E', body) => return Err(io::Error::other(error_text(&body))),
            (b'R', body) if body.get(..4) != Some(&[0; 4]) => {
                return Err(io::Error::other("the database wants a password"));
            }
            _ => {}
        }
    }
}

async fn read_message(stream: &mut BufReader<TcpStream>) -> io::Result<(u8, Vec<u8>)> {
    let kind = stream.read_u8().await?;
    let length = usize::try_from(stream.read_i32().await?.saturating_sub(4)).map_err(io::Error::other)?;
    if length > MAX_MESSAGE {
        return Err(io::Error::other("the answer of the database is too long"));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok((kind, body))
}

/// Sends the statements; the inner error is that of a statement.
async fn run(stream: &mut BufReader<TcpStream>, sql: &str) -> io::Result<Result<String, String>> {
    let mut message = vec![b'Q'];
    message.extend(i32::try_from(sql.len() + 5).map_err(io::Error::other)?.to_be_bytes());
    message.extend(sql.as_bytes());
    message.push(0);
    stream.get_mut().write_all(&message).await?;
    let mut rows: Vec<String> = Vec::new();
    let mut failure = None;
    loop {
        match read_message(stream).await? {
            (b'D', body) => rows.push(format_row(&body)),
            (b'E', body) => failure = Some(error_text(&body)),
            (b'Z', _) => break,
            _ => {}
        }
    }
    Ok(match failure {
        Some(error) => Err(error),
        None => Ok(rows.join("\n").trim().to_owned()),
    })
}

/// The columns of a row between `|`; NULL is an empty text.
fn format_row(body: &[u8]) -> String {
    let mut columns: Vec<String> = Vec::new();
    let mut rest = body.get(2..).unwrap_or_default();
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let length = usize::try_from(i32::from_be_bytes(*length)).ok();
        let (value, behind) = behind.split_at(length.unwrap_or(0).min(behind.len()));
        columns.push(String::from_utf8_lossy(value).into_owned());
        rest = behind;
    }
    columns.join("|")
}

/// The message of an error.
fn error_text(body: &[u8]) -> String {
    let mut fields = body.split(|byte| *byte == 0);
    let message = fields.find_map(|field| field.strip_prefix(b"M"));
    message.map_or_else(|| "ERROR".to_owned(), |text| format!("ERROR:  {}", String::from_utf8_lossy(text)))
}
