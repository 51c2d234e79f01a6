//! Documents of issuers over https: one GET, no redirects, bounded in time and size.

use std::future::poll_fn;
use std::io;
use std::time::Duration;

use tokio::net::lookup_host;
use tokio::time::timeout;
use weir_http::{
    BodyScanner, Dechunker, Framing, HeadLimits, HeaderTable, ResponseTo, parse_response, split_authority,
};
use weir_net::tls::ClientTls;
use weir_net::{Socket, Stream};

/// All of it.
const PATIENCE: Duration = Duration::from_secs(10);
const LIMITS: HeadLimits = HeadLimits { head_bytes_max: 32 * 1024, headers_max: 128, target_bytes_max: 0 };

/// The document at an https URL, of at most `bytes_max`.
///
/// # Errors
/// It cannot be had; the text begins with the URL.
pub(super) async fn get(url: &str, tls: &ClientTls, bytes_max: usize) -> Result<Vec<u8>, String> {
    let fetched = timeout(PATIENCE, fetch(url, tls, bytes_max)).await;
    fetched.unwrap_or_else(|_| Err("no answer in time".to_owned())).map_err(|error| format!("{url}: {error}"))
}

async fn fetch(url: &str, tls: &ClientTls, bytes_max: usize) -> Result<Vec<u8>, String> {
    let rest = url.strip_prefix("https://").ok_or("not an https URL")?;
    let (authority, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, "/"),
    };
    if path.contains(|c: char| c.is_control() || c == ' ') {
        return Err("not a URL".to_owned());
    }
    let (host, port) = split_authority(authority.as_bytes()).ok_or("no host in it")?;
    let host = std::str::from_utf8(host).map_err(|_| "no host in it")?;
    let mut stream = connect(host, port.unwrap_or(443), tls).await?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {authority}\r\nAccept: application/json\r\nUser-Agent: weir\r\nConnection: close\r\n\r\n"
    );
    write(&mut stream, request.as_bytes()).await.map_err(|error| error.to_string())?;
    read(&mut stream, bytes_max).await
}

async fn connect(host: &str, port: u16, tls: &ClientTls) -> Result<Stream, String> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let addresses = lookup_host((bare, port)).await.map_err(|error| error.to_string())?;
    let mut last = "the name has no address".to_owned();
    for address in addresses {
        match Socket::connect_tcp(address).await {
            Ok(socket) => {
                let connector = tls.connector(host).map_err(|error| error.to_string())?;
                let mut stream = connector.connect(socket).map_err(|error| error.to_string())?;
                poll_fn(|cx| stream.poll_handshake(cx)).await.map_err(|error| format!("TLS: {error}"))?;
                return Ok(Stream::Tls(Box::new(stream)));
            }
            Err(error) => last = error.to_string(),
        }
    }
    Err(last)
}

async fn write(stream: &mut Stream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match poll_fn(|cx| stream.poll_write(cx, bytes)).await? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => bytes = &bytes[written..],
        }
    }
    poll_fn(|cx| stream.poll_flush(cx)).await
}

async fn read(stream: &mut Stream, bytes_max: usize) -> Result<Vec<u8>, String> {
    let mut received = Vec::new();
    let mut table = HeaderTable::new();
    let head = loop {
        let parsed = parse_response(&received, ResponseTo::default(), &LIMITS, &mut table);
        match parsed.map_err(|error| error.to_string())? {
            Some(head) if head.is_interim() => drop(received.drain(..head.head_bytes as usize)),
            Some(head) => break head,
            None if more(stream, &mut received).await? == 0 => return Err("broken off".to_owned()),
            None => {}
        }
    };
    if head.status != 200 {
        return Err(format!("status {}", head.status));
    }
    received.drain(..head.head_bytes as usize);
    let mut scanner = BodyScanner::new(head.framing);
    let mut whole = scanner.feed(&received).map_err(|error| error.to_string())?;
    while !scanner.is_done() {
        if received.len() > bytes_max.saturating_mul(2) {
            return Err("too long".to_owned());
        }
        let read = more(stream, &mut received).await?;
        if read == 0 {
            if scanner.may_end_here() {
                break;
            }
            return Err("broken off".to_owned());
        }
        whole += scanner.feed(&received[received.len() - read..]).map_err(|error| error.to_string())?;
    }
    received.truncate(whole);
    let body = match head.framing {
        Framing::Chunked => {
            let mut plain = Vec::new();
            Dechunker::new()
                .feed(&received, |data| plain.extend_from_slice(data))
                .map_err(|error| error.to_string())?;
            plain
        }
        _ => received,
    };
    if body.len() > bytes_max { Err("too long".to_owned()) } else { Ok(body) }
}

async fn more(stream: &mut Stream, received: &mut Vec<u8>) -> Result<usize, String> {
    let mut buffer = [0; 8 * 1024];
    match poll_fn(|cx| stream.poll_read(cx, &mut buffer)).await {
        Ok(read) => {
            received.extend_from_slice(&buffer[..read]);
            Ok(read)
        }
        Err(error) => Err(error.to_string()),
    }
}
