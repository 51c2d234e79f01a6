//! A HAProxy to which no servers can be added: its configuration is made from a template, and it is reloaded.
//!
//! The fleet's directory stores the servers that HAProxy should have. Each look compares them with those of
//! the process that answers at the socket, and one reload applies all differences. Drains, removals and
//! additions also take effect at once over the socket. A reloaded process finishes its requests. Until it
//! ends, each draining server that it had counts as having a request.

use std::cell::RefCell;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use weir_config::plan::HaproxyTemplate;
use weir_model::ServerName;
use weir_scale::Sample;

use super::record::{Listed, Record, RecordFile, Standing};
use super::stat::Stat;
use super::states::States;
use super::template::{Entry, State, Template};
use super::{Haproxy, command};
use crate::live::{Balancer, Health, Member};
use crate::process::Mark;
use crate::{Backoff, program, storage, token_of};

/// A backend of a HAProxy that is reloaded.
#[derive(Debug)]
pub(crate) struct Rendered {
    haproxy: Haproxy,
    plan: HaproxyTemplate,
    /// File for the output of commands.
    output: PathBuf,
    state: RefCell<Kept>,
}

#[derive(Debug)]
struct Kept {
    file: RecordFile,
    /// True if nothing was recorded, so that the first look records HAProxy's present servers.
    adopts: bool,
    /// Servers of the process that answered last.
    known: Option<Vec<String>>,
    /// Configuration on disk.
    written: Option<String>,
    backoff: Backoff,
    /// Hash of the latest template tried.
    tried: Option<u64>,
    /// Reason why the configuration is not up to date.
    trouble: Option<String>,
    /// Failed commands over the socket.
    untold: Vec<String>,
    reloaded: Option<Instant>,
    began: Instant,
}

/// State of one HAProxy process.
struct Seen {
    process: Mark,
    members: Vec<Member>,
    states: States,
}

/// Time to wait for the next process while one is ending.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);
/// Consecutive answers of the new process that end a reload. During the handover, either process may answer.
const STEADY: u32 = 3;
/// Minimum time between reloads, because each reload leaves an old process running for a while.
const APART: Duration = Duration::from_secs(1);
const RETRY_FIRST: Duration = Duration::from_secs(2);
const RETRY_LONGEST: Duration = Duration::from_secs(60);

/// Checks a template's file and programs on this machine.
pub(crate) fn check(plan: &HaproxyTemplate) -> Result<(), String> {
    read(&plan.file)?;
    for words in [&plan.validate, &plan.reload] {
        let name = words.first().map_or("", String::as_str);
        program::find(name, Path::new("/")).map_err(|why| format!("haproxy: {why}"))?;
    }
    Ok(())
}

impl Rendered {
    /// Creates a backend with the record from the fleet's directory.
    pub(crate) fn new(haproxy: Haproxy, plan: HaproxyTemplate, directory: &Path) -> Self {
        // Each combination of backend and socket has its own record.
        let place = hash(&haproxy.socket);
        let name = format!("haproxy-{}-{place:016x}", haproxy.backend);
        let (loaded, trouble) = match RecordFile::load(directory, &name) {
            Ok(loaded) => (loaded, None),
            Err(cause) => (None, Some(format!("what HAProxy should have is taken from HAProxy: {cause}"))),
        };
        let kept = Kept {
            adopts: loaded.is_none(),
            file: loaded.unwrap_or_else(|| RecordFile::empty(directory, &name)),
            known: None,
            written: fs::read_to_string(&plan.config).ok(),
            backoff: Backoff::new(RETRY_FIRST, RETRY_LONGEST),
            tried: None,
            trouble,
            untold: Vec::new(),
            reloaded: None,
            began: Instant::now(),
        };
        Self { haproxy, plan, output: directory.join(format!("{name}.log")), state: RefCell::new(kept) }
    }

    /// Checks HAProxy, and validates the configuration made from the template. Changes nothing.
    pub(crate) fn verify(&self) -> Result<(), String> {
        self.haproxy.verify()?;
        self.ask()?;
        let (template, _) = read(&self.plan.file)?;
        let state = self.state.borrow();
        let text = template.render(&entries(&state.file.record, &self.haproxy.options, |_| true));
        let (file, output) =
            (beside(&self.plan.config, "weir-check"), beside(&self.plan.config, "weir-check-log"));
        let validated = self.validate(&file, &text, &output);
        for path in [&file, &output] {
            storage::remove(path).map_err(|cause| cause.to_string())?;
        }
        validated
    }

    /// Reads the state of the process at the socket; `None` = it is about to end.
    fn ask(&self) -> Result<Option<Seen>, String> {
        let backend = &self.haproxy.backend;
        // Uses one connection, so that one process answers all commands.
        let text = self.haproxy.ask(&format!("show info;show stat;show servers state {backend}"))?;
        let named = |why: String| format!("{}: {why}", self.haproxy.socket.display());
        let (info, rest) = text
            .split_once("# pxname")
            .ok_or_else(|| named(format!("not what show info and show stat tell: {:.80}", text.trim())))?;
        let number = |name: &str| -> Option<i32> {
            info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.trim().parse().ok())
        };
        if number("Stopping") == Some(1) {
            return Ok(None);
        }
        let (stat, states) =
            rest.split_once("# be_id").ok_or_else(|| named(format!("there is no backend {backend}")))?;
        let stat = Stat::parse(&format!("# pxname{stat}")).map_err(named)?;
        let states = States::parse(&format!("# be_id{states}")).map_err(named)?;
        let pid = number("Pid").ok_or_else(|| named("show info tells no Pid".to_owned()))?;
        let process = Mark::of(pid)
            .ok_or_else(|| named(format!("HAProxy's process {pid} is none of this machine's")))?;
        let members = stat.members(backend, |name| token_of(&self.haproxy.fleet, name));
        if members.iter().any(|member| member.address.is_none()) {
            return Err(named("show stat tells no addresses: HAProxy 1.8 or newer is needed".to_owned()));
        }
        Ok(Some(Seen { process, members, states }))
    }

    fn look(&self) -> Result<Seen, String> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.ask()? {
                Some(seen) => return Ok(seen),
                None if Instant::now() >= until => {
                    let socket = self.haproxy.socket.display();
                    return Err(format!("{socket}: only a process that is about to end answers"));
                }
                None => std::thread::sleep(LOOK),
            }
        }
    }

    /// Repeats commands that a new process has missed or that failed.
    fn settle(&self, state: &mut Kept, seen: &Seen) {
        state.untold.clear();
        for member in &seen.members {
            let Some(listed) = state.file.record.servers.get(member.server.as_str()) else { continue };
            let is_out = seen.states.is_out(member.server.as_str());
            let told = match listed.standing {
                Standing::Drain if !is_out => self.haproxy.drain(&member.server),
                Standing::New | Standing::Ready if listed.to_begin => self.haproxy.begin(&member.server),
                _ => Ok(()),
            };
            state.untold.extend(told.err().map(|why| format!("{}: {why}", member.server)));
        }
    }

    /// Updates the configuration, and reloads HAProxy if necessary. Returns true if it was reloaded.
    fn apply(&self, state: &mut Kept, seen: &Seen, template: &Template, hash: u64) -> Result<bool, String> {
        let record = &state.file.record;
        let reloads = record.differs(seen) || record.template != Some(hash);
        // The new process would treat each server as healthy, so a server that does not serve now must pass a
        // health check first.
        let is_up = |name: &str| {
            let member = seen.members.iter().find(|member| member.server.as_str() == name);
            member.is_some_and(|member| matches!(member.health, Health::Up(_)))
        };
        let text = template.render(&entries(record, &self.haproxy.options, |name| !reloads || is_up(name)));
        if !reloads {
            if state.written.as_ref() != Some(&text) {
                self.write(&text)?;
                state.written = Some(text);
            }
            return Ok(false);
        }
        if state.reloaded.is_some_and(|at| at.elapsed() < APART) {
            return Ok(false);
        }
        self.write(&text)?;
        state.written = Some(text);
        state.file.save().map_err(|cause| cause.to_string())?;
        self.reload(seen.process)?;
        state.reloaded = Some(Instant::now());
        state.file.record.template = Some(hash);
        Ok(true)
    }

    /// Validates a configuration and replaces the present one.
    fn write(&self, text: &str) -> Result<(), String> {
        let fresh = beside(&self.plan.config, "weir-new");
        if let Err(why) = self.validate(&fresh, text, &self.output) {
            // The file may not exist.
            let _ = fs::remove_file(&fresh);
            return Err(why);
        }
        fs::rename(&fresh, &self.plan.config)
            .and_then(|()| storage::sync_directory_of(&self.plan.config))
            .map_err(|cause| format!("{}: {cause}", self.plan.config.display()))
    }

    fn validate(&self, file: &Path, text: &str, output: &Path) -> Result<(), String> {
        let write = || {
            fs::write(file, text)?;
            // The file may hold secrets: it gets the permissions of the template, whose readers know them.
            fs::set_permissions(file, fs::metadata(&self.plan.file)?.permissions())?;
            fs::File::open(file)?.sync_all()
        };
        write().map_err(|cause| format!("{}: {cause}", file.display()))?;
        let name = file.to_string_lossy();
        command::run(&self.plan.validate, &[("file", &name)], output, self.plan.timeout.duration())
            .map_err(|why| format!("what is made of {} is not valid: {why}", self.plan.file.display()))
    }

    /// Reloads HAProxy, and waits for the new process.
    fn reload(&self, before: Mark) -> Result<(), String> {
        let patience = self.plan.timeout.duration();
        let (config, pid) = (self.plan.config.to_string_lossy(), before.pid.to_string());
        command::run(&self.plan.reload, &[("config", &config), ("pid", &pid)], &self.output, patience)
            .map_err(|why| format!("the reload has failed: {why}"))?;
        let until = Instant::now() + patience;
        let mut answers = 0;
        while answers < STEADY {
            answers = match self.ask() {
                Ok(Some(seen)) if seen.process != before => answers + 1,
                _ => 0,
            };
            if Instant::now() >= until {
                let socket = self.haproxy.socket.display();
                return Err(format!(
                    "{socket}: after the reload no other process answers than {}",
                    before.pid
                ));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Returns the message for a reload that did not have the intended result.
    fn missed(&self) -> String {
        format!(
            "{}: after a reload, backend {} has not the servers that it should have: does the template give it every one, where it is?",
            self.plan.file.display(),
            self.haproxy.backend
        )
    }

    /// Changes the record of a server, if it is known.
    fn change(&self, server: &ServerName, change: impl FnOnce(&mut Listed)) -> Result<(), String> {
        let mut state = self.state.borrow_mut();
        if let Some(listed) = state.file.record.servers.get_mut(server.as_str()) {
            change(listed);
        }
        state.file.save().map_err(|cause| cause.to_string())
    }
}

impl Balancer for Rendered {
    fn sample(&self) -> Sample {
        self.haproxy.sample()
    }

    fn members(&self) -> Result<Vec<Member>, String> {
        let state = &mut *self.state.borrow_mut();
        let mut seen = self.look()?;
        state.learn(&seen);
        self.settle(state, &seen);
        let template = read(&self.plan.file);
        // A changed template is tried at once.
        let tried = template.as_ref().ok().map(|(_, hash)| *hash);
        let is_another = tried.is_some() && state.tried != tried;
        if is_another || state.backoff.wait(state.began.elapsed()).is_none() {
            state.tried = tried;
            match template.and_then(|(template, hash)| self.apply(state, &seen, &template, hash)) {
                Ok(was_reloaded) => {
                    state.trouble = None;
                    if was_reloaded {
                        seen = self.look()?;
                        state.learn(&seen);
                        self.settle(state, &seen);
                        state.trouble = state.file.record.differs(&seen).then(|| self.missed());
                    }
                    match state.trouble {
                        // Another reload would have the same result.
                        Some(_) => state.backoff.failed(state.began.elapsed(), None),
                        None => state.backoff.worked(),
                    }
                }
                Err(why) => {
                    state.backoff.failed(state.began.elapsed(), None);
                    state.trouble = Some(why);
                }
            }
        }
        state.file.save().map_err(|cause| cause.to_string())?;
        Ok(state.members(seen))
    }

    fn troubles(&self) -> Vec<String> {
        let state = self.state.borrow();
        state.trouble.iter().chain(&state.untold).cloned().collect()
    }

    fn admit(&self, server: &ServerName, address: SocketAddr) -> Result<(), String> {
        let mut state = self.state.borrow_mut();
        let new = Listed::new(address, Standing::New);
        let listed = state.file.record.servers.entry(server.to_string()).or_insert(new);
        listed.address = address;
        Ok(())
    }

    fn relocate(&self, server: &ServerName, address: SocketAddr) -> Result<(), String> {
        self.change(server, |listed| *listed = Listed::new(address, Standing::New))?;
        // If the command fails, a reload follows.
        let _ = self.haproxy.relocate(server, address);
        Ok(())
    }

    fn drain(&self, server: &ServerName) -> Result<(), String> {
        self.change(server, |listed| {
            listed.standing = Standing::Drain;
            listed.to_begin = false;
        })?;
        unless_unknown(self.haproxy.drain(server))
    }

    fn recall(&self, server: &ServerName) -> Result<(), String> {
        let was_begun = self.haproxy.states()?.was_begun(server.as_str());
        self.change(server, |listed| {
            listed.standing = if was_begun { Standing::Ready } else { Standing::New };
        })?;
        unless_unknown(self.haproxy.recall(server))
    }

    fn remove(&self, server: &ServerName, force: bool) -> Result<(), String> {
        let told = self.haproxy.take_out(server, force);
        unless_unknown(told)?;
        let mut state = self.state.borrow_mut();
        state.file.record.servers.remove(server.as_str());
        state.file.save().map_err(|cause| cause.to_string())
    }
}

impl Kept {
    /// Records the result of a look.
    fn learn(&mut self, seen: &Seen) {
        let record = &mut self.file.record;
        if std::mem::take(&mut self.adopts) {
            for member in &seen.members {
                let Some(address) = member.address else { continue };
                let standing = match member.health {
                    _ if seen.states.is_out(member.server.as_str()) => Standing::Drain,
                    Health::Up(_) => Standing::Ready,
                    _ => Standing::New,
                };
                record.servers.insert(member.server.to_string(), Listed::new(address, standing));
            }
        }
        let is_new = record.process != Some(seen.process);
        let known = self.known.replace(seen.members.iter().map(|member| member.server.to_string()).collect());
        if is_new {
            let known = known.unwrap_or_else(|| record.servers.keys().cloned().collect());
            record.follow(seen.process, known);
        }
        record.tidy();
        for member in &seen.members {
            let Some(listed) = record.servers.get_mut(member.server.as_str()) else { continue };
            let is_out = seen.states.is_out(member.server.as_str());
            if is_new {
                listed.drained_at_start = listed.standing == Standing::Drain;
                listed.to_begin = listed.standing != Standing::Drain;
            }
            listed.to_begin &= is_out;
            if listed.standing == Standing::New && matches!(member.health, Health::Up(_)) {
                listed.standing = Standing::Ready;
            }
        }
    }

    /// Returns the servers that HAProxy has and should have.
    fn members(&self, seen: Seen) -> Vec<Member> {
        let record = &self.file.record;
        let member = |mut member: Member| {
            let name = member.server.as_str();
            let listed = record.servers.get(name)?;
            member.draining =
                listed.standing == Standing::Drain || seen.states.is_out(name) && !listed.to_begin;
            if member.draining {
                member.active += record.earlier_with(name);
            }
            if listed.to_begin {
                member.health = Health::Down;
            }
            Some(member)
        };
        seen.members.into_iter().filter_map(member).collect()
    }
}

impl Record {
    /// Returns true if HAProxy needs a reload: it has other servers or addresses than recorded, or it started
    /// with a server drained that should now get requests.
    fn differs(&self, seen: &Seen) -> bool {
        let is_as_listed = |member: &Member| {
            let listed = self.servers.get(member.server.as_str());
            listed.is_some_and(|listed| member.address == Some(listed.address))
        };
        self.servers.len() != seen.members.len()
            || !seen.members.iter().all(is_as_listed)
            || self
                .servers
                .values()
                .any(|listed| listed.drained_at_start && listed.standing != Standing::Drain)
    }
}

/// Returns the servers for the template. Servers that are not `fit` start in maintenance.
fn entries<'e>(record: &'e Record, options: &'e str, fit: impl Fn(&str) -> bool) -> Vec<Entry<'e>> {
    let entry = |(name, listed): (&'e String, &'e Listed)| Entry {
        name,
        address: listed.address,
        options,
        state: match listed.standing {
            Standing::Drain => State::Drain,
            Standing::Ready if fit(name) => State::Ready,
            Standing::Ready | Standing::New => State::Maintenance,
        },
    };
    record.servers.iter().map(entry).collect()
}

/// Reads a template, and returns it with its hash.
fn read(file: &Path) -> Result<(Template, u64), String> {
    let named = |why: String| format!("{}: {why}", file.display());
    let text = fs::read_to_string(file).map_err(|cause| named(cause.to_string()))?;
    Ok((Template::parse(&text).map_err(named)?, hash(&text)))
}

/// Returns a hash that is stable within one version of Weir. An update may cause one additional reload.
fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(".");
    path.push(ending);
    path.into()
}

/// Ignores the error for a server that HAProxy does not have yet.
fn unless_unknown(told: Result<(), String>) -> Result<(), String> {
    told.or_else(|why| if why.contains("No such server") { Ok(()) } else { Err(why) })
}
