//! Tests how agent replies change servers.

use std::sync::{Arc, Mutex};

use weir_control::{AdminState, Health};
use weir_testkit::RawServer;

use crate::control::tests::{Rig, eventually, plan};

/// An agent that sends its current line to each client.
struct Agent {
    server: RawServer,
    line: Arc<Mutex<String>>,
}

/// Instead of a line: sends nothing and keeps the connection open.
const HOLD: &str = "hold";
/// Instead of a line: sends back the received bytes.
const ECHO: &str = "echo";

impl Agent {
    fn saying(line: &str) -> Self {
        let line = Arc::new(Mutex::new(line.to_owned()));
        let says = Arc::clone(&line);
        let server = RawServer::start(move |peer| {
            let says = says.lock().unwrap().clone();
            match says.as_str() {
                HOLD => peer.take_to_end().map(drop),
                ECHO => {
                    let heard = peer.take("server a\n".len())?;
                    peer.send(heard)
                }
                line => peer.send(line),
            }
        });
        Self { server, line }
    }

    fn now_says(&self, line: &str) {
        line.clone_into(&mut self.line.lock().unwrap());
    }
}

/// Returns a plan with pool `web`: server `a` has this agent, server `b` has no agent that answers.
fn pool(agent: &Agent, more: &str) -> weir_config::Plan {
    let port = agent.server.addr().port();
    plan(&format!(
        "[pool.web]\nservers = [{{ name = \"a\", address = \"127.0.0.1:1\", weight = 2 }}, \
         {{ name = \"b\", address = \"unix:/nowhere\" }}]\n\
         agent = {{ port = {port}, interval = \"5ms\", timeout = \"100ms\"{more} }}"
    ))
}

#[tokio::test]
async fn an_agent_takes_its_server_down_and_only_its_up_brings_it_back() {
    let agent = Agent::saying("down # disk full\n");
    let rig = Rig::running(pool(&agent, ""));
    eventually("a leaves", || rig.rotation() == ["b"]).await;
    let shown = rig.shown("a");
    assert_eq!((shown.health, shown.admin, shown.effective_weight), (Health::Down, AdminState::Ready, 0));
    let told = shown.agent.unwrap();
    assert_eq!((told.says.as_str(), told.remark.as_str()), ("down", "disk full"));
    agent.now_says("ready 100%\n");
    eventually("it says something else", || {
        rig.shown("a").agent.is_some_and(|told| told.says == "down ready 100%")
    })
    .await;
    assert_eq!(rig.rotation(), ["b"]);
    agent.now_says("up\n");
    eventually("a returns", || rig.rotation() == ["a", "b"]).await;
    assert_eq!(rig.shown("a").health, Health::NoCheck);
    let lines = rig.lines();
    assert!(lines[0].ends_with("agent says down; 1 of 2 servers left"), "{lines:?}");
    assert!(lines.last().unwrap().ends_with("agent says up ready 100%; 2 of 2 servers left"), "{lines:?}");
    assert_eq!(rig.shown("b").agent, None, "a Unix socket has no port");
}

#[tokio::test]
async fn a_share_of_the_weight_and_a_limit_are_those_of_the_agent() {
    let agent = Agent::saying("25% maxconn:7");
    let rig = Rig::running(pool(&agent, ""));
    let candidate = || rig.pool("web").view().roster.candidate(0).unwrap().clone();
    eventually("the share is known", || candidate().portion.as_percent() == 25).await;
    assert_eq!(candidate().connections_max, Some(7));
    let shown = rig.shown("a");
    assert_eq!((shown.weight, shown.effective_weight, shown.weight_percent), (2, 1, Some(25)));
    assert_eq!(shown.traffic.active.limit, Some(7));
    agent.now_says("0%\n");
    eventually("nothing counts", || rig.rotation() == ["b"]).await;
    agent.now_says("150% maxconn:0\n");
    eventually("more than all counts", || candidate().portion.as_percent() == 150).await;
    assert_eq!((candidate().connections_max, rig.rotation().len()), (None, 2));
}

#[tokio::test]
async fn the_stricter_of_operator_and_agent_holds_and_ready_takes_back_only_the_agents_own() {
    let agent = Agent::saying("drain\n");
    let rig = Rig::running(pool(&agent, ""));
    eventually("a is drained", || rig.shown("a").admin == AdminState::Drain).await;
    assert_eq!(rig.rotation(), ["b"]);
    agent.now_says("maint\n");
    eventually("a is in maintenance", || rig.shown("a").admin == AdminState::Maintenance).await;
    let drain = r#"{"server-state": {"pool": "web", "server": "a", "state": "drain"}}"#;
    rig.done(drain).await;
    agent.now_says("ready\n");
    eventually("only the operator's wish is left", || rig.shown("a").admin == AdminState::Drain).await;
    rig.done(&drain.replace("drain", "ready")).await;
    assert_eq!(rig.rotation(), ["a", "b"]);
}

#[tokio::test]
async fn silence_changes_nothing_and_is_told_once() {
    let agent = Agent::saying("50%\n");
    let rig = Rig::running(pool(&agent, ""));
    eventually("the share is known", || rig.shown("a").weight_percent == Some(50)).await;
    agent.now_says(HOLD);
    eventually("the agent is silent", || rig.shown("a").agent.is_some_and(|told| told.is_silent)).await;
    assert_eq!((rig.shown("a").weight_percent, rig.rotation().len()), (Some(50), 2));
    let silent: Vec<_> = rig.lines().into_iter().filter(|line| line.contains("holds")).collect();
    assert_eq!(silent.len(), 1, "{silent:?}");
    assert!(silent[0].contains("no answer within 100 ms; what it said before holds"), "{silent:?}");
}

#[tokio::test]
async fn an_agent_is_sent_what_the_config_says_and_nonsense_is_told() {
    let agent = Agent::saying(ECHO);
    let rig = Rig::running(pool(&agent, ", send = \"server a\\n\""));
    eventually("what it says means nothing", || {
        rig.lines().iter().any(|line| line.ends_with("agent: \"server\" means nothing"))
    })
    .await;
    assert_eq!(rig.rotation(), ["a", "b"]);
}

#[tokio::test]
async fn without_agents_in_the_config_what_they_said_is_forgotten() {
    let agent = Agent::saying("down\n");
    let rig = Rig::running(pool(&agent, ""));
    eventually("a leaves", || rig.rotation() == ["b"]).await;
    let without = "[pool.web]\nservers = [{ name = \"a\", address = \"127.0.0.1:1\", weight = 2 }, \
                   { name = \"b\", address = \"unix:/nowhere\" }]";
    rig.reload(plan(without)).await;
    assert_eq!(rig.rotation(), ["a", "b"]);
    assert_eq!(rig.shown("a").agent, None);
}
