//! A fake of an API server as far as the provider uses it, and of its controllers, which create and delete
//! pods in the order of the real ones. `kubernetes_real` tests the real ones; the fake is for errors that
//! they do not produce on demand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

pub(crate) struct FakeCluster {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

/// State of a workload "web" with a service "web", which tests may change at any time.
pub(crate) struct State {
    pub(crate) kind: &'static str,
    pub(crate) replicas: usize,
    pub(crate) version: u64,
    pub(crate) scaled_by: &'static str,
    pub(crate) pods: Vec<Value>,
    /// Reason why no more pods are created.
    pub(crate) full: Option<&'static str>,
    /// True if the controllers do nothing.
    pub(crate) idle: bool,
    pub(crate) autoscalers: Vec<Value>,
    pub(crate) ports: Value,
    pub(crate) token: String,
    /// Forbidden actions, as `verb resource`.
    pub(crate) forbidden: Vec<&'static str>,
    /// Errors that occur once each: for a request with this method and this prefix of the path.
    pub(crate) faults: Vec<(&'static str, &'static str, Fault)>,
    /// All requests: method, path with query, body.
    pub(crate) requests: Vec<(String, String, Value)>,
    next: u32,
    closing: bool,
}

#[derive(Clone)]
pub(crate) enum Fault {
    /// Sends this response without executing the request.
    Answer(u16, &'static str),
    /// Executes the request, and closes the connection without a response.
    DoSilently,
    /// Another client scales the workload to this number before the request is executed.
    ScaledMeanwhile(usize),
    /// The workload's status changes before the request is executed.
    TouchedMeanwhile,
}

pub(crate) const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";
pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";
const COST: &str = "controller.kubernetes.io/pod-deletion-cost";

impl FakeCluster {
    pub(crate) fn start(kind: &'static str, replicas: usize) -> Self {
        Self::start_with(kind, replicas, None)
    }

    /// Does the same over https.
    pub(crate) fn start_with(kind: &'static str, replicas: usize, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut state = State {
            kind,
            replicas,
            version: 1,
            scaled_by: "kubectl",
            pods: Vec::new(),
            full: None,
            idle: false,
            autoscalers: Vec::new(),
            ports: json!([{ "name": "", "port": 8080, "protocol": "TCP" }]),
            token: "secret".to_owned(),
            forbidden: Vec::new(),
            faults: Vec::new(),
            requests: Vec::new(),
            next: 0,
            closing: false,
        };
        state.control();
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.lock().unwrap().closing {
                    return;
                }
                let (shared, tls) = (Arc::clone(&shared), tls.clone());
                thread::spawn(move || match tls {
                    None => serve(stream, &shared),
                    Some(config) => {
                        serve(StreamOwned::new(ServerConnection::new(config).unwrap(), stream), &shared);
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

    pub(crate) fn replicas(&self) -> usize {
        self.state().replicas
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.state().pods.iter().map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for FakeCluster {
    fn drop(&mut self) {
        self.state().closing = true;
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(stream: impl Read + Write, state: &Mutex<State>) {
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
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let mut words = head.split(' ');
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let kind = header("content-type");
    assert_eq!(
        kind.as_deref().unwrap_or("none"),
        match method {
            "PATCH" => "application/merge-patch+json",
            "GET" => "none",
            _ => "application/json",
        }
    );

    let mut state = state.lock().unwrap();
    state.requests.push((method.to_owned(), path.to_owned(), body.clone()));
    let of = state.faults.iter().position(|(of, start, _)| *of == method && path.starts_with(start));
    let fault = of.map(|at| state.faults.remove(at).2);
    match fault {
        Some(Fault::ScaledMeanwhile(replicas)) => {
            (state.replicas, state.scaled_by) = (replicas, "kube-controller-manager");
            state.version += 1;
        }
        Some(Fault::TouchedMeanwhile) => state.version += 1,
        _ => {}
    }
    let is_known = header("authorization") == Some(format!("Bearer {}", state.token));
    let (status, body) = match fault {
        Some(Fault::Answer(status, message)) => error(status, message),
        _ if !is_known => error(401, "Unauthorized"),
        _ => state.answer(method, path, &body),
    };
    state.control();
    if matches!(fault, Some(Fault::DoSilently)) {
        return;
    }
    let body = body.to_string();
    let length = body.len();
    let answer =
        format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    // The client may have closed the connection.
    let _ = reader.get_mut().write_all(answer.as_bytes());
}

/// Returns the label selector of a query.
fn labels(query: &str) -> Option<String> {
    let encoded = query.split('&').find_map(|pair| pair.strip_prefix("labelSelector="))?;
    let mut bytes = encoded.bytes();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            plain => plain,
        });
    }
    String::from_utf8(decoded).ok()
}

fn error(status: u16, message: &str) -> (u16, Value) {
    (status, json!({ "kind": "Status", "code": status, "message": message }))
}

impl State {
    fn workload(&self) -> Value {
        let failure =
            self.full.map(|why| json!({ "type": "ReplicaFailure", "status": "True", "message": why }));
        json!({
            "metadata": {
                "name": "web", "uid": "uid-web", "resourceVersion": self.version.to_string(), "creationTimestamp": null,
                "managedFields": [
                    { "manager": self.scaled_by, "subresource": "scale", "fieldsV1": { "f:spec": { "f:replicas": {} } } },
                    { "manager": "other", "fieldsV1": { "f:status": {} } },
                ],
            },
            "spec": {
                "replicas": self.replicas,
                "selector": { "matchLabels": { "app": "web" }, "matchExpressions": [
                    { "key": "tier", "operator": "In", "values": ["a", "b"] } ] },
            },
            "status": { "conditions": failure.into_iter().collect::<Vec<_>>() },
        })
    }

    fn is_forbidden(&self, what: &str) -> bool {
        self.forbidden.contains(&what)
    }

    fn answer(&mut self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let segments: Vec<_> = path.split('/').skip(1).collect();
        let resource = if self.kind == "Deployment" { "deployments" } else { "statefulsets" };
        match (method, segments.as_slice()) {
            ("GET", ["apis", "apps", "v1", "namespaces", "default", of, "web"]) if *of == resource => {
                (200, self.workload())
            }
            ("PUT", ["apis", "apps", "v1", "namespaces", "default", of, "web", "scale"])
                if *of == resource =>
            {
                self.scale(body)
            }
            ("GET", ["apis", "apps", "v1", "namespaces", "default", "replicasets"]) => {
                let owner = |uid| json!([{ "uid": uid, "controller": true }]);
                let set = |name: &str, uid| json!({ "metadata": { "name": name, "uid": name, "ownerReferences": owner(uid) } });
                (
                    200,
                    json!({ "items": [set("set-1", "uid-web"), set("set-2", "uid-web"), set("alien", "uid-other")] }),
                )
            }
            ("GET", ["api", "v1", "namespaces", "default", "pods"]) => {
                assert_eq!(labels(query).as_deref(), Some("app=web,tier in (a,b)"));
                (200, json!({ "items": self.pods }))
            }
            (method, ["api", "v1", "namespaces", "default", "pods", name]) => self.of_pod(method, name, body),
            ("GET", ["apis", "discovery.k8s.io", "v1", "namespaces", "default", "endpointslices"]) => {
                if labels(query).as_deref() != Some("kubernetes.io/service-name=web") {
                    return (200, json!({ "items": [] }));
                }
                let endpoints: Vec<_> = self.pods.iter().filter_map(endpoint).collect();
                (
                    200,
                    json!({ "items": [
                    { "addressType": "IPv6", "endpoints": null, "ports": null },
                    { "addressType": "IPv4", "endpoints": endpoints, "ports": self.ports },
                ] }),
                )
            }
            ("GET", ["apis", "autoscaling", "v2", "namespaces", "default", "horizontalpodautoscalers"]) => {
                if self.is_forbidden("list horizontalpodautoscalers") {
                    return error(403, "may not");
                }
                (200, json!({ "items": self.autoscalers }))
            }
            ("POST", ["apis", "authorization.k8s.io", "v1", "selfsubjectaccessreviews"]) => {
                let of = &body["spec"]["resourceAttributes"];
                let text = |key: &str| of[key].as_str().unwrap_or_default().to_owned();
                let mut what = format!("{} {}", text("verb"), text("resource"));
                if !text("subresource").is_empty() {
                    what += &format!("/{}", text("subresource"));
                }
                (201, json!({ "status": { "allowed": !self.is_forbidden(&what) } }))
            }
            _ => error(404, "the server could not find the requested resource"),
        }
    }

    fn scale(&mut self, body: &Value) -> (u16, Value) {
        if self.is_forbidden("update deployments/scale") {
            return error(
                403,
                "deployments.apps \"web\" is forbidden: User \"weir\" cannot update resource \"deployments/scale\"",
            );
        }
        let version = body["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok());
        if version != Some(self.version) {
            return error(
                409,
                "the object has been modified; please apply your changes to the latest version",
            );
        }
        self.replicas = body["spec"]["replicas"].as_u64().unwrap() as usize;
        self.scaled_by = "weir";
        self.version += 1;
        (200, body.clone())
    }

    fn of_pod(&mut self, method: &str, name: &str, body: &Value) -> (u16, Value) {
        let Some(at) = self.pods.iter().position(|pod| pod["metadata"]["name"] == name) else {
            return error(404, "no such pod");
        };
        if method == "DELETE" {
            assert_eq!(body["preconditions"]["uid"], self.pods[at]["metadata"]["uid"]);
            return (200, self.pods.remove(at));
        }
        let metadata = &mut self.pods[at]["metadata"];
        assert_eq!((method, &body["metadata"]["uid"]), ("PATCH", &metadata["uid"]));
        for (key, value) in body["metadata"]["annotations"].as_object().unwrap() {
            if value.is_null() {
                metadata["annotations"].as_object_mut().unwrap().remove(key);
            } else {
                metadata["annotations"][key] = value.clone();
            }
        }
        (200, self.pods[at].clone())
    }

    /// Runs the controllers until the wanted number of pods exists.
    fn control(&mut self) {
        let own = |pod: &Value| pod["metadata"]["ownerReferences"][0]["uid"] != "alien";
        while !self.idle {
            let active: Vec<usize> = (0..self.pods.len()).filter(|at| own(&self.pods[*at])).collect();
            if active.len() > self.replicas {
                let goes = if self.kind == "Deployment" {
                    active.into_iter().min_by_key(|at| rank(&self.pods[*at])).unwrap()
                } else {
                    *active.last().unwrap()
                };
                self.pods.remove(goes);
            } else if active.len() < self.replicas && self.full.is_none() {
                self.make();
            } else {
                return;
            }
        }
    }

    fn make(&mut self) {
        self.next += 1;
        let at = self.next;
        let (name, owner) = if self.kind == "Deployment" {
            (format!("web-abc-{at}"), "set-1")
        } else {
            let free = (0..).map(|ordinal| format!("web-{ordinal}"));
            let is_free = |name: &String| self.pods.iter().all(|pod| pod["metadata"]["name"] != **name);
            (free.into_iter().find(is_free).unwrap(), "uid-web")
        };
        let ip = format!("10.0.0.{at}");
        self.pods.push(pod(&name, &format!("uid-{at}"), owner, Some(&ip)));
        self.pods.sort_by_key(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned());
    }
}

/// Returns a pod that runs and is ready.
pub(crate) fn pod(name: &str, uid: &str, owner: &str, ip: Option<&str>) -> Value {
    json!({
        "metadata": {
            "name": name, "uid": uid, "annotations": {}, "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{ "uid": owner, "controller": true }],
        },
        "spec": { "nodeName": "node-1" },
        "status": { "phase": "Running", "podIP": ip, "conditions": [{ "type": "Ready", "status": "True" }] },
    })
}

fn endpoint(pod: &Value) -> Option<Value> {
    let ip = pod["status"]["podIP"].as_str()?;
    let target = json!({ "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"] });
    Some(
        json!({ "addresses": [ip], "zone": "az1", "nodeName": "node-1", "targetRef": target, "conditions": {} }),
    )
}

/// Returns the rank of a pod in the order in which a ReplicaSet deletes its pods.
fn rank(pod: &Value) -> (bool, bool, i64) {
    let cost = pod["metadata"]["annotations"][COST].as_str().map_or(0, |cost| cost.parse().unwrap());
    (pod["status"]["phase"] == "Running", pod["status"]["conditions"][0]["status"] == "True", cost)
}
