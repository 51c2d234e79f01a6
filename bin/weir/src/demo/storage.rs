//! Runs the storage nodes of the demo: two processes that serve one directory, behind the balancer.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::child::Child;
use super::config::quoted;
use super::facts::{Files, NodeFacts};

/// Names of the nodes, also in the config.
pub(super) const NODES: [&str; 2] = ["store-1", "store-2"];

/// Path prefix of their files in URLs.
pub(super) const PLACE: &str = "/data/";

/// Time limit for a response. It comes at once, except on a machine under heavy load.
const PATIENCE: Duration = Duration::from_secs(30);

/// Content of the welcome file.
const WELCOME: &str = "This directory is served by two storage nodes behind the balancer.\n\
                       Drop files on the page, or use curl, rclone, davfs2 or any other WebDAV client.\n";

/// Returns the config of a node.
fn text(name: &str, root: &Path) -> Result<String, String> {
    let root = quoted(root)?;
    Ok(format!(
        r#"# Made by `weir demo`, and gone when it ends.

[listener.web]
bind = "127.0.0.1:0"
storage = "data"

[storage-area.data]
root = {root}
access-points = "/data"
listing = true
quota = "1GB"
usage-interval = "5s"

[[storage-area.data.access.policy]]
description = "everybody on this machine may do everything"
effect = "permit"
actions = "all"
principals = {{ type = "anyone" }}

[weir]
node = "{name}"
workers = 1
control = false
state = false
drain-timeout = "1s"
"#
    ))
}

/// Starts the nodes. Returns when they accept connections.
pub(super) async fn start(files: &Files, log: &File) -> Result<(Vec<NodeFacts>, Vec<Child>), String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir(&files.data).map_err(|error| failed(&files.data, error))?;
    let welcome = files.data.join("welcome.txt");
    fs::write(&welcome, WELCOME).map_err(|error| failed(&welcome, error))?;
    let mut children = Vec::new();
    for name in NODES {
        let config = files.node(name);
        fs::write(&config, text(name, &files.data)?).map_err(|error| failed(&config, error))?;
        let arguments = ["run".to_owned(), config.to_string_lossy().into_owned()];
        children.push(Child::start(&format!("storage node {name}"), &arguments, log)?);
    }
    let mut facts = Vec::new();
    for (name, child) in NODES.into_iter().zip(&children) {
        let address = |line: &str| line.split_once("listener web: ")?.1.trim().parse::<SocketAddr>().ok();
        let address = child.wait_for(address).await?;
        child.wait_for(|line| line.contains(" is ready").then_some(())).await?;
        facts.push(NodeFacts { name, address, pid: child.pid() });
    }
    Ok((facts, children))
}

/// Uploads a file through the balancer and reads it from each node. Returns a message about success or
/// failure.
pub(super) async fn prove(site: SocketAddr, nodes: &[NodeFacts]) -> Result<String, String> {
    const CONTENT: &str = "through the balancer";
    let path = format!("{PLACE}from-the-demo.txt");
    let (status, _) = request(site, "PUT", &path, CONTENT).await?;
    if !matches!(status, 201 | 204) {
        return Err(format!("an upload through the balancer was answered {status}"));
    }
    for node in nodes {
        let (status, body) = request(node.address, "GET", &path, "").await?;
        if (status, body.as_str()) != (200, CONTENT) {
            return Err(format!("storage node {} has answered {status}: {body}", node.name));
        }
    }
    let names: Vec<_> = nodes.iter().map(|node| node.name).collect();
    Ok(format!("a file was uploaded through the balancer, and {} have it", names.join(" and ")))
}

/// Sends a request and returns the status and body of the response.
async fn request(to: SocketAddr, method: &str, path: &str, body: &str) -> Result<(u16, String), String> {
    let length = body.len();
    let text = format!(
        "{method} {path} HTTP/1.1\r\nHost: {to}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    let exchange = async {
        let mut stream = TcpStream::connect(to).await?;
        stream.write_all(text.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    let answer = timeout(PATIENCE, exchange).await.map_err(|_| format!("{to} did not answer"))?;
    let answer = answer.map_err(|error: std::io::Error| format!("{to}: {error}"))?;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned();
    status.map(|status| (status, body)).ok_or_else(|| format!("{to} has not answered HTTP"))
}

#[cfg(test)]
mod tests {
    use weir_config::Source;

    use super::*;

    #[test]
    fn the_config_of_a_node_is_right() {
        let text = text(NODES[0], Path::new("/some\"where")).unwrap();
        let source = Source { name: "node.toml".to_owned(), text: text.clone() };
        let loaded = weir_config::load(&[source], &|_| None);
        let loaded = loaded.unwrap_or_else(|problems| panic!("{problems:?}\n{text}"));
        assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
        assert_eq!(loaded.plan.process.node.as_deref(), Some("store-1"));
    }
}
