//! A fake of Keystone, Nova, Glance and Neutron as far as the provider uses them, with all kinds of errors.
//! `openstack_real` tests the real services; the fake is for errors that they do not produce on demand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

pub(crate) struct FakeCloud {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

/// State of the fake, which tests may change at any time.
pub(crate) struct State {
    pub(crate) servers: Vec<Value>,
    /// Valid tokens.
    pub(crate) tokens: Vec<String>,
    pub(crate) logins: u32,
    pub(crate) expires_at: String,
    /// Errors that occur once each: for a request with this method and this prefix of the path.
    pub(crate) faults: Vec<(&'static str, &'static str, Fault)>,
    /// All requests except logins: method, path with query, body.
    pub(crate) requests: Vec<(String, String, Value)>,
    pub(crate) page: usize,
    pub(crate) absolute: Value,
    scheme: &'static str,
    next_id: u32,
    closing: bool,
}

#[derive(Clone)]
pub(crate) enum Fault {
    /// Sends this response without executing the request.
    Answer(u16, &'static str, Value),
    /// Closes the connection without executing the request.
    Ignore,
    /// Executes the request, and closes the connection without a response.
    DoSilently,
}

impl FakeCloud {
    pub(crate) fn start() -> Self {
        Self::start_with(None)
    }

    /// Does the same over https.
    pub(crate) fn start_with(tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State {
            servers: Vec::new(),
            tokens: Vec::new(),
            logins: 0,
            expires_at: "2999-01-01T00:00:00.000000Z".to_owned(),
            faults: Vec::new(),
            requests: Vec::new(),
            page: 1000,
            absolute: json!({
                "maxTotalInstances": 13, "totalInstancesUsed": 0, "maxTotalCores": -1, "totalCoresUsed": 0,
                "maxTotalRAMSize": 51_200, "totalRAMUsed": 0,
            }),
            scheme: if tls.is_some() { "https" } else { "http" },
            next_id: 0,
            closing: false,
        }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.lock().unwrap().closing {
                    return;
                }
                let (shared, tls) = (Arc::clone(&shared), tls.clone());
                thread::spawn(move || match tls {
                    None => serve(stream, address, &shared),
                    Some(config) => {
                        let connection = ServerConnection::new(config).unwrap();
                        serve(StreamOwned::new(connection, stream), address, &shared);
                    }
                });
            }
        });
        Self { address, state }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn fail(&self, method: &'static str, path: &'static str, fault: Fault) {
        self.state().faults.push((method, path, fault));
    }

    /// Returns the number of requests with this method and prefix of the path.
    pub(crate) fn count(&self, start: &str) -> usize {
        let of = |(method, path, _): &&(String, String, Value)| format!("{method} {path}").starts_with(start);
        self.state().requests.iter().filter(of).count()
    }
}

impl Drop for FakeCloud {
    fn drop(&mut self) {
        self.state().closing = true;
        let _ = TcpStream::connect(self.address);
    }
}

/// Returns a server in Nova's format.
pub(crate) fn server(id: &str, fleet: &str, status: &str) -> Value {
    json!({
        "id": id, "name": id, "status": status, "OS-EXT-STS:task_state": null, "created": "2026-01-01T00:00:00Z",
        "metadata": { "weir.fleet": fleet, "weir.token": id }, "tags": [format!("weir-fleet-{fleet}")],
        "addresses": { "net": [{ "addr": "10.0.0.5", "version": 4, "OS-EXT-IPS:type": "fixed" }] },
        "flavor": { "original_name": "small" },
    })
}

fn serve(stream: impl Read + Write, address: SocketAddr, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let header = |name: &str| {
        let lines = head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    let length = header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let mut words = head.split(' ');
    let (method, path) = (words.next().unwrap(), words.next().unwrap());

    let mut state = state.lock().unwrap();
    let is_login = path == "/v3/auth/tokens";
    if !is_login {
        state.requests.push((method.to_owned(), path.to_owned(), body.clone()));
    }
    let of = state.faults.iter().position(|(of, start, _)| *of == method && path.starts_with(start));
    let fault = of.map(|at| state.faults.remove(at).2);
    let known = header("x-auth-token").is_some_and(|token| state.tokens.contains(&token));
    let answer = match &fault {
        Some(Fault::Answer(status, headers, body)) => (*status, (*headers).to_owned(), body.clone()),
        Some(Fault::Ignore) => return,
        None | Some(Fault::DoSilently) if is_login => state.login(&body, address),
        None | Some(Fault::DoSilently) if !known => (401, String::new(), error("unauthorized")),
        None | Some(Fault::DoSilently) => {
            if path.starts_with("/compute") {
                assert_eq!(header("openstack-api-version").as_deref(), Some("compute 2.52"));
            }
            let (status, body) = state.answer(method, path, &body);
            (status, String::new(), body)
        }
    };
    if matches!(fault, Some(Fault::DoSilently)) {
        return;
    }
    let (status, headers, body) = answer;
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n{headers}connection: close\r\n\r\n{body}"
    );
    // The client may have closed the connection.
    let _ = reader.get_mut().write_all(answer.as_bytes());
}

pub(crate) fn error(message: &str) -> Value {
    json!({ "itsName": { "code": 0, "message": message } })
}

impl State {
    fn login(&mut self, body: &Value, address: SocketAddr) -> (u16, String, Value) {
        self.logins += 1;
        let identity = &body["auth"]["identity"];
        let good = match identity["methods"][0].as_str() {
            Some("password") => {
                identity["password"]["user"]["password"] == "secret"
                    && body["auth"]["scope"]["project"]["name"] == "web"
            }
            Some("application_credential") => identity["application_credential"]["secret"] == "secret",
            _ => false,
        };
        if !good {
            return (401, String::new(), error("The request you have made requires authentication."));
        }
        let token = format!("token-{}", self.logins);
        self.tokens.push(token.clone());
        let scheme = self.scheme;
        let endpoint = |interface: &str, region: &str, path: &str| json!({ "interface": interface, "region": region, "region_id": region, "url": format!("{scheme}://{address}{path}") });
        let service = |kind: &str, path: &str| {
            let endpoints = [
                endpoint("admin", "North", "/wrong"),
                endpoint("public", "South", "/wrong"),
                endpoint("public", "North", path),
            ];
            json!({ "type": kind, "endpoints": endpoints })
        };
        let catalog = [
            service("compute", "/compute/v2.1"),
            service("image", "/image/v2/"),
            service("network", "/network"),
        ];
        let body = json!({ "token": { "expires_at": self.expires_at, "catalog": catalog } });
        (201, format!("X-Subject-Token: {token}\r\n"), body)
    }

    fn answer(&mut self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parameter = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
        let named = |names: &[(&str, &str)]| -> Vec<Value> {
            let of = names.iter().filter(|(name, _)| Some(*name) == parameter("name"));
            of.map(|(name, id)| json!({ "name": name, "id": id })).collect()
        };
        let Some(path) = path.strip_prefix("/compute/v2.1") else {
            return match path {
                "/image/v2/images" => {
                    (200, json!({ "images": named(&[("img", "image-1"), ("twice", "a"), ("twice", "b")]) }))
                }
                "/network/v2.0/networks" => (200, json!({ "networks": named(&[("net", "network-1")]) })),
                "/network/v2.0/security-groups" => {
                    (200, json!({ "security_groups": named(&[("http", "group-1")]) }))
                }
                _ => (404, error("no such path")),
            };
        };
        let segments: Vec<_> = path.split('/').skip(1).collect();
        match (method, segments.as_slice()) {
            ("GET", ["flavors", "detail"]) => (
                200,
                json!({ "flavors": [{ "id": "f1", "name": "small", "vcpus": 1, "ram": 512, "disk": 1 }] }),
            ),
            ("GET", ["os-server-groups"]) => {
                (200, json!({ "server_groups": [{ "id": "spread-id", "name": "spread" }] }))
            }
            ("GET", ["os-keypairs", "ops"]) => (200, json!({})),
            ("GET", ["limits"]) => (200, json!({ "limits": { "absolute": self.absolute } })),
            ("GET", ["servers", "detail"]) => {
                self.list(parameter("tags"), parameter("name"), parameter("marker"))
            }
            ("POST", ["servers"]) => self.create(&body["server"]),
            (method, ["servers", id, ..]) => self.of_server(method, id, body),
            _ => (404, error("no such path")),
        }
    }

    fn list(&self, tag: Option<&str>, name: Option<&str>, marker: Option<&str>) -> (u16, Value) {
        let after = marker.and_then(|marker| self.servers.iter().position(|server| server["id"] == marker));
        let rest = &self.servers[after.map_or(0, |at| at + 1)..];
        // The filter has the form ^name$ with both signs encoded.
        let name = name.map(|name| name.trim_start_matches("%5E").trim_end_matches("%24"));
        let wanted = rest.iter().filter(|server| {
            tag.is_none_or(|tag| server["tags"].as_array().unwrap().iter().any(|of| of == tag))
                && name.is_none_or(|name| server["name"] == name)
        });
        let all: Vec<_> = wanted.cloned().collect();
        let mut answer = json!({ "servers": all[..all.len().min(self.page)] });
        if all.len() > self.page {
            answer["servers_links"] = json!([{ "rel": "next", "href": "http://elsewhere/" }]);
        }
        (200, answer)
    }

    fn create(&mut self, asked: &Value) -> (u16, Value) {
        if asked["imageRef"] == "" {
            return (400, error("Missing imageRef attribute"));
        }
        self.next_id += 1;
        let id = format!("server-{}", self.next_id);
        let mut made = server(&id, "web", "BUILD");
        for key in ["name", "metadata", "tags"] {
            made[key] = asked[key].clone();
        }
        made["created"] = json!("2999-01-01T00:00:00Z");
        self.servers.push(made);
        (202, json!({ "server": { "id": id, "links": [], "adminPass": "x" } }))
    }

    fn of_server(&mut self, method: &str, id: &str, body: &Value) -> (u16, Value) {
        let Some(at) = self.servers.iter().position(|server| server["id"] == id) else {
            return (404, error(&format!("Instance {id} could not be found.")));
        };
        if method == "DELETE" {
            self.servers.remove(at);
            return (204, Value::Null);
        }
        if method == "GET" {
            return (200, json!({ "server": self.servers[at] }));
        }
        let action = body.as_object().unwrap().keys().next().unwrap().clone();
        let (from, to) = match action.as_str() {
            "os-stop" => ("ACTIVE", "SHUTOFF"),
            "os-start" => ("SHUTOFF", "ACTIVE"),
            "shelve" => ("ACTIVE", "SHELVED_OFFLOADED"),
            "unshelve" => ("SHELVED_OFFLOADED", "ACTIVE"),
            _ => return (400, error("no such action")),
        };
        if self.servers[at]["status"] != from {
            let message = format!("Cannot '{action}' instance {id} while it is in another state");
            return (409, error(&message));
        }
        self.servers[at]["status"] = json!(to);
        (202, Value::Null)
    }
}
